/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects relocated constants (PT_GNU_RELRO, elf(5)). In other programs the dynamic loader does
 * this; musl's start-up code of a static position-independent program does not. Owns nothing.
 */
#ifndef HOST_RELRO_H
#define HOST_RELRO_H

#include "base/status.h"

/*
 * Makes the constants that hold addresses read-only. main calls it first. HOST_ABSENT: the program
 * has no PT_GNU_RELRO segment. HOST_IO: mprotect(2) failed.
 */
MUST_USE enum status relro_protect(void);

#endif
