/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the harnesses of src/dra share beyond stubs.h: promises of functions that other proofs show,
 * each named beside its stub, and a model of strlen for texts of any length.
 */
#ifndef PROOF_DRA_STUBS_H
#define PROOF_DRA_STUBS_H

#include "stubs.h"

/* A part of `a`: proof text_scan. */
struct view stub_view_trim(struct view a)
{
    stub_check_view(a);
    struct view part = view_from(a, any_length(a.len));
    return view_first(part, any_length(part.len));
}

/* A NUL that lies in the memory of `text`: the standard's promise to a caller with such a text. */
size_t stub_strlen(const char *text)
{
    CHECK(__CPROVER_r_ok(text, 1));
    size_t room = __CPROVER_OBJECT_SIZE(text) - (size_t)__CPROVER_POINTER_OFFSET(text);
    size_t len = any_length(ANY_LENGTH);
    ASSUME(len < room && text[len] == '\0');
    return len;
}

/* No byte of `text` that is compared matters to what the proofs check: proof text_ends. */
bool stub_view_ends(struct view a, const char *suffix)
{
    stub_check_view(a);
    return a.len >= strlen(suffix) && (suffix[0] == '\0' || any_bool());
}

/* Writes a text and its NUL, not longer than the array: proof text_arrays. */
void stub_text_cut(char *text, size_t cap, struct view v)
{
    CHECK(cap >= 1u && __CPROVER_w_ok(text, cap));
    stub_check_view(v);
    size_t len = any_length(v.len);
    ASSUME(len < cap);
    text[len] = '\0';
}

/* Appends a form and its values: proof text_form. */
void stub_writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count)
{
    CHECK(w->len <= w->cap && __CPROVER_r_ok(form, 1));
    CHECK(count == 0u || __CPROVER_r_ok(fills, count * sizeof *fills));
    w->len += any_length(w->cap - w->len);
    w->full = w->full || any_bool();
}

/* A text in an array of `cap` characters that ends in NUL somewhere, as text_copy leaves it. */
static void any_text_in(char *text, size_t cap)
{
    size_t len = any_length(ANY_LENGTH);
    ASSUME(len < cap);
    text[len] = '\0';
}

#endif
