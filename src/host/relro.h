/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects relocated constants (PT_GNU_RELRO, elf(5)). In other programs the dynamic loader
 * protects them; in a static position-independent program, musl's start-up code does not. Owns
 * nothing.
 */
#ifndef HOST_RELRO_H
#define HOST_RELRO_H

#include "base/status.h"

/*
 * Makes the constants that hold addresses read-only. Must be the first call in main. HOST_ABSENT:
 * the program has no PT_GNU_RELRO segment. HOST_IO: mprotect(2) failed.
 */
MUST_USE enum status relro_protect(void);

#endif
