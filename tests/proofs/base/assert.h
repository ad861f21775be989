/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ASSERT as an expression, in place of src/base/assert.h: the do-while of a statement would be a
 * loop without a contract inside loops that have one. It means the same.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

__attribute__((noreturn)) void assert_failed(const char *file, int line, const char *condition);

#define ASSERT(condition) ((condition) ? (void)0 : assert_failed(__FILE__, __LINE__, #condition))

#endif
