/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src/base/assert.h for the build that measures coverage, found before it: a condition that holds
 * always is a branch that no test can take, so only its type is asked for. No other build sees this
 * file.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

_Noreturn void assert_failed(const char *file, int line, const char *condition);

#define ASSERT(condition) ((void)sizeof(__typeof__(condition)))

#endif
