/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of documents, of any length, in any state of a document. */
#include "dra_stubs.h"

#include "base/document.c"

/* Proof json_write_string. */
void stub_json_string(struct json_writer *w, struct view text)
{
    stub_check_view(text);
    CHECK(w->out->len <= w->out->cap);
    w->out->len += any_length(w->out->cap - w->out->len);
    w->out->full = w->out->full || any_bool();
}

void proof_document_plain(void)
{
    struct view text = any_view(ANY_LENGTH);
    CHECK(!is_plain(text) || text.len > WORD_AMBIGUOUS_MAX);
}

void proof_document_element(void)
{
    struct writer out = any_writer(ANY_LENGTH);
    struct document d = document_of(&out, any_bool());
    size_t before = out.len;
    d.depth = any_unsigned();
    d.dash = any_bool();
    d.element = any_bool();
    ASSUME(!d.yaml ||
           d.element); /* document_array_begin: a document without it fails the assertion */
    document_element(&d, any_view(ANY_LENGTH));
    CHECK(out.len <= out.cap && out.len >= before);
}
