/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody may have meant by a word that is not known: the most similar one of the known
 * words. Owns the measure of similarity: the number of characters to insert, delete or replace.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/bytes.h"

/* The search for the known word that is most similar to `word`. */
struct suggestion {
    struct view word; /* borrowed */
    const char *best; /* borrowed; NULL: no known word is similar */
    size_t
        distance; /* changes from `word` to `best`; without `best`: the fewest that are too many */
};

/* Starts a search. A word longer than SUGGEST_BYTES_MAX is similar to none. */
struct suggestion suggestion_of(struct view word);
/* Compares the word with a known one. Of several equally similar ones the first one stays. */
void suggestion_try(struct suggestion *s, const char *known);
/* Appends ` (did you mean "<best>"?)`, or nothing. */
void suggestion_write(const struct suggestion *s, struct writer *out);

#endif
