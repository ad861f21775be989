/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions: conditions that only a bug of this program can violate, never the input of a peer.
 * They stay enabled in release builds. A failed assertion ends the process; a restart loses
 * nothing, because the claim store on disk has every prepared claim. Owns no state.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#ifdef __cplusplus
#error "this header is for C only"
#endif

/*
 * Reports a failed condition with its file and line, and ends the process. The pure layers only
 * call this function: src/host defines it for the product, and a test may define its own version.
 * Does not return.
 */
__attribute__((noreturn)) void assert_failed(const char *file, int line, const char *condition);

/* Ends the process unless `condition` is true. `condition` has no side effect. */
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            assert_failed(__FILE__, __LINE__, #condition);                                         \
        }                                                                                          \
    } while (0)

#endif
