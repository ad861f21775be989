/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall() for the build with the memory sanitizer, put before the library's by the linker: what
 * the kernel writes for a call without a wrapper of its own is known to be written.
 */
#include <sanitizer/msan_interface.h>
#include <stdarg.h>
#include <sys/syscall.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++) {
        argument[i] = va_arg(list, long);
    }
    va_end(list);
    __msan_unpoison(argument, sizeof argument);
    long n = __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                            argument[5]);
    if (number == SYS_getdents64 && n > 0) {
        void *entries = (void *)argument[1];
        __msan_unpoison(entries, (size_t)n);
    }
    return n;
}
