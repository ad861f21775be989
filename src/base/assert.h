/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions: statements about this program itself, never about what a peer sent. They stay on in
 * release builds; a failed one ends the process, and the store makes the restart lose nothing.
 * Owns no state.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#ifdef __cplusplus
#error "this header is for C only"
#endif

/*
 * Reports the place of the failed condition (its text would cost the binary 16 KiB) and ends the
 * process. Pure layers only declare it: src/host defines it for the product, tests may define their
 * own. Does not return.
 */
__attribute__((noreturn)) void assert_failed(const char *file, int line);

/* States what must hold here; `condition` has no side effect. Returns only when it is true. */
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            assert_failed(__FILE__, __LINE__);                                                     \
        }                                                                                          \
    } while (0)

#endif
