/* SPDX-License-Identifier: Apache-2.0 */
/* Words of any length; the table of distances has the real maximum of SUGGEST_BYTES_MAX. */
#include "dra_stubs.h"

#include "base/suggest.c"

/* Proof suggest_distance. */
size_t stub_distance_between(struct view a, struct view b)
{
    stub_check_view(a);
    stub_check_view(b);
    CHECK(a.len <= SUGGEST_BYTES_MAX && b.len <= SUGGEST_BYTES_MAX);
    size_t distance = any_length(a.len + b.len);
    return distance;
}

void proof_suggest_distance(void)
{
    struct view a = any_view(SUGGEST_BYTES_MAX);
    struct view b = any_view(SUGGEST_BYTES_MAX);
    size_t distance = distance_between(a, b);
    CHECK(distance <= a.len + b.len);
    CHECK(a.len > 0u || distance == b.len);
}

void proof_suggest_try(void)
{
    struct suggestion s = suggestion_of(any_view(ANY_LENGTH));
    CHECK(s.best == NULL);
    const char *first = any_bool() ? "claims" : NULL;
    s.best = first;
    s.distance = any_length(s.distance); /* what an earlier word may have left */
    size_t before = s.distance;
    size_t len = any_length(ANY_LENGTH);
    char *known = malloc(len + 1u);
    ASSUME(known != NULL);
    known[len] = '\0';
    suggestion_try(&s, known);
    CHECK((s.best == first || s.best == known) && s.distance <= before);
    CHECK(s.word.len <= SUGGEST_BYTES_MAX || s.best == first);
}

void proof_suggest_write(void)
{
    struct writer out = any_writer(ANY_LENGTH);
    struct suggestion s = suggestion_of(any_view(ANY_LENGTH));
    s.best = any_bool() ? "claims" : NULL;
    size_t before = out.len;
    suggestion_write(&s, &out);
    CHECK(out.len <= out.cap && (s.best != NULL || out.len == before));
}
