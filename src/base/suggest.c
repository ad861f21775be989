/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the most similar known word by edit distance (Levenshtein); keeps only one row of the table
 * of distances.
 */
#include "base/suggest.h"

#include <string.h>

#include "base/assert.h"

/*
 * Minimum number of bytes of an abbreviated word: a known word that starts with it may be
 * suggested, even if the known word is much longer.
 */
enum { PREFIX_MIN = 3 };

/*
 * Smallest number of characters to insert, delete or replace to turn `a` into `b`; both have at
 * most SUGGEST_BYTES_MAX bytes.
 */
static size_t distance_between(struct view a, struct view b)
{
    /* after row i: row[j] is the distance from the first i bytes of `a` to the first j of `b` */
    uint8_t row[SUGGEST_BYTES_MAX + 1u];
    ASSERT(a.len <= SUGGEST_BYTES_MAX && b.len <= SUGGEST_BYTES_MAX);
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = (uint8_t)j;
    }
    for (size_t i = 0; i < a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = (uint8_t)(i + 1u);
        for (size_t j = 0; j < b.len; j++) {
            unsigned replaced = diagonal + ((a.data[i] == b.data[j]) ? 0u : 1u);
            unsigned shorter = ((row[j] < row[j + 1u]) ? row[j] : row[j + 1u]) + 1u;
            diagonal = row[j + 1u];
            row[j + 1u] = (uint8_t)((replaced < shorter) ? replaced : shorter);
        }
    }
    return row[b.len];
}

struct suggestion suggestion_of(struct view word)
{
    /*
     * a suggestion may differ from the word in about a third of its characters; "chekc" is two
     * changes away from "check"
     */
    return (struct suggestion){.word = word, .best = NULL, .distance = (word.len + 4u) / 3u};
}

void suggestion_try(struct suggestion *s, const char *known)
{
    struct view other = view_text(known);
    if (s->word.len > SUGGEST_BYTES_MAX || other.len > SUGGEST_BYTES_MAX) {
        return;
    }
    size_t distance = distance_between(s->word, other);
    bool begins = s->word.len >= (size_t)PREFIX_MIN && other.len > s->word.len &&
                  memcmp(s->word.data, other.data, s->word.len) == 0;
    if (begins && distance >= s->distance && s->best == NULL) {
        /*
         * `known` is suggested only because it starts with the word; if a later known word is
         * similar to the word, that one replaces `known`
         */
        s->best = known;
    } else if (distance < s->distance) {
        s->best = known;
        s->distance = distance;
    } else {
        /* ignores `known`, which is not similar enough to the word */
    }
}

void suggestion_write(const struct suggestion *s, struct writer *out)
{
    if (s->best != NULL) {
        WRITE(out, " (did you mean %?)", TEXT(s->best));
    }
}
