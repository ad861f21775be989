/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one step of the JSON tokenizer promises. The proof json_token checks it of json_next; the
 * stub below, which json_skip and the readers of src/dra call, promises no more than it.
 */
#ifndef PROOF_JSON_PROMISE_H
#define PROOF_JSON_PROMISE_H

#include "stubs.h"

#include "base/json.h"

/* Values of json_reader.expect, in the order of enum expect in json.c, which json.c asserts. */
enum { NEED_VALUE, NEED_FIRST_NAME, NEED_FIRST_ELEMENT, NEED_NEXT, NEED_NOTHING };

/* What json_open establishes and every token keeps (I1, I2 of base/json.h). */
static bool json_sound(const struct json_reader *r)
{
    bool inside =
        r->expect == NEED_FIRST_NAME || r->expect == NEED_FIRST_ELEMENT || r->expect == NEED_NEXT;
    return r->in.pos <= r->in.len && r->depth <= JSON_DEPTH_MAX && r->expect <= NEED_NOTHING &&
           (!inside || r->depth > 0u);
}

static bool json_begins(enum json_kind kind)
{
    return kind == JSON_OBJECT_BEGIN || kind == JSON_ARRAY_BEGIN;
}

static bool json_ends(enum json_kind kind)
{
    return kind == JSON_OBJECT_END || kind == JSON_ARRAY_END;
}

static bool json_starts_value(enum json_kind kind)
{
    return json_begins(kind) || (kind >= JSON_STRING && kind <= JSON_NULL);
}

/* Whether the grammar allows a token of this kind next. */
static bool json_allowed(const struct json_reader *r, enum json_kind kind)
{
    bool object = r->depth > 0u && r->stack[r->depth - 1u] == (uint8_t)'{';
    enum json_kind end = object ? JSON_OBJECT_END : JSON_ARRAY_END;
    switch (r->expect) {
    case NEED_VALUE:
        return json_starts_value(kind);
    case NEED_FIRST_NAME:
        return kind == JSON_NAME || kind == end;
    case NEED_FIRST_ELEMENT:
        return json_starts_value(kind) || kind == end;
    case NEED_NEXT:
        return kind == end || (object ? kind == JSON_NAME : json_starts_value(kind));
    default:
        return kind == JSON_END;
    }
}

/* The depth and what the tokenizer expects, after a token of this kind. */
static bool json_moved(const struct json_reader *before, enum json_kind kind,
                       const struct json_reader *after)
{
    unsigned under = before->depth > 0u ? before->depth - 1u : 0u;
    unsigned depth = json_begins(kind) ? before->depth + 1u
                     : json_ends(kind) ? under
                                       : before->depth;
    uint8_t next = depth > 0u ? NEED_NEXT : NEED_NOTHING;
    next = kind == JSON_OBJECT_BEGIN ? NEED_FIRST_NAME : next;
    next = kind == JSON_ARRAY_BEGIN ? NEED_FIRST_ELEMENT : next;
    next = kind == JSON_NAME ? NEED_VALUE : next;
    return after->depth == depth && after->expect == (kind == JSON_END ? before->expect : next);
}

/* A token that was read: `before` and `after` are the tokenizer before and after it. */
static bool json_stepped(const struct json_reader *before, const struct json_token *t,
                         const struct json_reader *after)
{
    unsigned under = before->depth > 0u ? before->depth - 1u : 0u;
    unsigned depth = json_ends(t->kind) ? under : before->depth;
    uint8_t bracket = t->kind == JSON_OBJECT_BEGIN ? (uint8_t)'{' : (uint8_t)'[';
    return t->kind <= JSON_END && json_allowed(before, t->kind) && t->depth == depth &&
           json_moved(before, t->kind, after) &&
           (!json_begins(t->kind) || after->stack[before->depth] == bracket);
}

/*
 * Whether the text may be malformed. A second pass over a text that a first one read to its end
 * meets no failure: json_next depends on the text alone.
 */
static bool json_may_fail = true;

enum status stub_json_next(struct json_reader *r, struct json_token *token)
{
    CHECK(json_sound(r));
    if (r->failed != STATUS_OK) {
        return r->failed;
    }
    struct json_reader before = *r;
    r->in.pos += any_length(r->in.len - r->in.pos);
    if (json_may_fail && any_bool()) {
        r->failed = any_bool() ? PEER_MALFORMED : FULL_BUFFER;
        return r->failed;
    }
    struct json_token any;
    ASSUME(any.kind <= JSON_END && (any.kind == JSON_END || r->in.pos > before.in.pos));
    size_t from = any_length(r->in.pos);
    size_t len = any_length(r->in.pos - from);
    any.text = (struct view){len > 0u ? r->in.data + from : NULL, len};
    *token = any;
    r->depth = any_unsigned();
    r->expect = any_u8();
    if (json_begins(any.kind)) {
        ASSUME(before.depth < JSON_DEPTH_MAX);
        r->stack[before.depth] = any.kind == JSON_OBJECT_BEGIN ? (uint8_t)'{' : (uint8_t)'[';
    }
    ASSUME(json_stepped(&before, token, r));
    return STATUS_OK;
}

#endif
