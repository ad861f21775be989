/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What small unit tests share: cmocka, an assertion that ends the test, comparison of views with
 * texts.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/bytes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

__attribute__((weak)) _Noreturn void assert_failed(const char *file, int line,
                                                   const char *condition)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

/* `v` with its NUL, for messages and comparisons; valid until the next call. */
static inline const char *text_of(struct view v)
{
    static char text[65536];
    assert_true(v.len < sizeof text);
    if (v.len > 0) {
        memcpy(text, v.data, v.len);
    }
    text[v.len] = 0;
    return text;
}

static inline void assert_view(struct view v, const char *expected)
{
    assert_string_equal(text_of(v), expected);
    assert_int_equal(v.len, strlen(expected));
}

/* Errors are one line of printable ASCII. */
static inline void assert_one_line(const char *text)
{
    assert_true(text[0] != 0);
    for (const char *c = text; *c != 0; c++) {
        if (*c < ' ' || *c > '~') {
            fail_msg("byte 0x%02x in: %s", (unsigned)(unsigned char)*c, text);
        }
    }
}

/* A small deterministic generator: tests vary by seed, never by time. */
static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
