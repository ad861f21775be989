/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promises of json.c for the readers of src/dra. The proofs json_open, json_skip, json_text_is and
 * json_integer show them; that of json_unescape is I4 of base/json.h, which fuzz_json checks.
 */
#ifndef PROOF_DRA_JSON_H
#define PROOF_DRA_JSON_H

#include "dra_stubs.h"
#include "json_promise.h"

void stub_json_open(struct json_reader *r, struct view text)
{
    stub_check_view(text);
    struct json_reader any;
    *r = any;
    r->in = reader_of(text);
    r->depth = 0;
    r->expect = NEED_VALUE;
    r->failed = (!json_may_fail || any_bool()) ? STATUS_OK : PEER_MALFORMED;
}

enum status stub_json_skip(struct json_reader *r, const struct json_token *token)
{
    CHECK(json_sound(r) && token->kind <= JSON_END);
    if (!json_begins(token->kind) || r->failed != STATUS_OK) {
        return r->failed;
    }
    CHECK(r->depth == token->depth + 1u);
    r->in.pos += any_length(r->in.len - r->in.pos);
    if (json_may_fail && any_bool()) {
        r->failed = any_bool() ? PEER_MALFORMED : FULL_BUFFER;
        return r->failed;
    }
    r->depth = token->depth; /* the brackets below it stay */
    r->expect = r->depth > 0u ? NEED_NEXT : NEED_NOTHING;
    return STATUS_OK;
}

enum status stub_json_unescape(struct view raw, struct writer *out)
{
    stub_check_view(raw);
    CHECK(out->len <= out->cap);
    size_t n = any_length(raw.len);
    if (out->full || n > out->cap - out->len) {
        return FULL_BUFFER;
    }
    out->len += n;
    return STATUS_OK;
}

bool stub_json_text_is(struct view raw, const char *text)
{
    stub_check_view(raw);
    return raw.len >= strlen(text) && (raw.len == 0u || any_bool());
}

enum status stub_json_integer(struct view literal, int64_t *value)
{
    stub_check_view(literal);
    if (literal.len == 0u || any_bool()) {
        return PEER_MALFORMED;
    }
    *value = any_i64();
    return STATUS_OK;
}

#endif
