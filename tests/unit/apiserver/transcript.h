/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of a parser shows, as one text, so that two runs can be compared. Header only, because
 * each test is one file.
 */
#ifndef TESTS_UNIT_TRANSCRIPT_H
#define TESTS_UNIT_TRANSCRIPT_H

#include <string.h>

#include "tests/unit/unit.h"

#define TRANSCRIPT_MAX 262144

struct transcript {
    size_t len;
    char text[TRANSCRIPT_MAX];
};

/* Appends `text`. */
static inline void note(struct transcript *t, const char *text)
{
    size_t n = strlen(text);

    assert_true(t->len + n < sizeof t->text);
    memcpy(t->text + t->len, text, n + 1);
    t->len += n;
}

#endif
