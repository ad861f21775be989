/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocated, read-only constants: what the dynamic loader does for other programs (DT_RELR and
 * PT_GNU_RELRO, elf(5)) and musl's start-up of a static position-independent one does not, or not
 * in each release. Owns nothing.
 */
#ifndef HOST_RELRO_H
#define HOST_RELRO_H

#include "base/status.h"

/*
 * Once, first thing in main: before it, no constant that holds an address may be read. Does nothing
 * when musl has done it.
 */
void relro_relocate(void);
/*
 * Once, then. HOST_ABSENT: the program has no such segment; HOST_IO: the kernel
 * refused.
 */
MUST_USE enum status relro_protect(void);

#endif
