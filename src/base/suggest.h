/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggests what a user may have meant by an unknown word: the most similar known word. Owns the
 * measure of similarity: the number of characters to insert, delete or replace.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/bytes.h"

/* The search for the known word that is most similar to `word`. */
struct suggestion {
    struct view word; /* the word that the user wrote; borrowed */
    const char *best; /* the most similar known word; borrowed; NULL: no known word is similar */
    /*
     * number of changes that turn `word` into `best`; if `best` is NULL: the smallest number that
     * is too many for a suggestion
     */
    size_t distance;
};

/* Starts a search. No known word is similar to a word longer than SUGGEST_BYTES_MAX. */
struct suggestion suggestion_of(struct view word);
/*
 * Compares the word with a known word. If several known words are equally similar, the first one is
 * suggested.
 */
void suggestion_try(struct suggestion *s, const char *known);
/* Appends " (did you mean BEST?)" with the suggested word; nothing if no known word is similar. */
void suggestion_write(const struct suggestion *s, struct writer *out);

#endif
