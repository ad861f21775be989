/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_give_back() for the build with the memory sanitizer, put before the agent's by the linker.
 * It looks for zeros in memory that mbedTLS used, whose structures have padding that nothing
 * writes. No decision but that of giving back depends on what it reads: for its duration the memory
 * counts as written, and afterwards what was not written counts as not written again.
 */
#include <sanitizer/msan_interface.h>
#include <stdlib.h>

#include "cfg/limits.h"

/* Weak: a test that is linked without src/host/system.c has no such function. */
void __real_memory_give_back(unsigned char *memory, size_t bytes) __attribute__((weak));
void __wrap_memory_give_back(unsigned char *memory, size_t bytes);

void __wrap_memory_give_back(unsigned char *memory, size_t bytes)
{
    static unsigned char written[TLS_ARENA_BYTES];
    if (bytes > sizeof written) {
        abort();
    }
    __msan_copy_shadow(written, memory, bytes);
    __msan_unpoison(memory, bytes);
    __real_memory_give_back(memory, bytes);
    __msan_copy_shadow(memory, written, bytes);
}
