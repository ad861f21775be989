/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-only relocated constants: what the dynamic loader does for other programs (PT_GNU_RELRO,
 * elf(5)) and musl's start-up of a static position-independent one does not. Owns nothing.
 */
#ifndef HOST_RELRO_H
#define HOST_RELRO_H

#include "base/status.h"

/*
 * Once, first thing in main. HOST_ABSENT: the program has no such segment; HOST_IO: the kernel
 * refused.
 */
MUST_USE enum status relro_protect(void);

#endif
