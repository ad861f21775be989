/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON pull tokenizer, RFC 8259. One state, `expect`, says what may come next; the stack of open
 * containers is an array. Strings are checked where they are read, so that whoever resolves them
 * later cannot fail for their form.
 */
#include "base/json.h"

#include "base/assert.h"
#include "base/chars.h"

enum expect {
    EXPECT_VALUE,         /* a value: at the top, or after ':' */
    EXPECT_FIRST_NAME,    /* a name, or the end of an object just begun */
    EXPECT_FIRST_ELEMENT, /* a value, or the end of an array just begun */
    EXPECT_NEXT,          /* ',' or the end of the container */
    EXPECT_NOTHING        /* the top value is complete */
};

void json_open(struct json_reader *r, struct view text)
{
    r->in = reader_of(text);
    r->depth = 0;
    r->expect = EXPECT_VALUE;
    r->failed = view_is_utf8(text) ? STATUS_OK : PEER_MALFORMED;
}

static void skip_blanks(struct reader *in)
{
    while (in->pos < in->len) {
        uint8_t c = in->data[in->pos];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            return;
        }
        in->pos++;
    }
}

/* --- strings --- */

/* Bytes of the escape at the front of `v` (which begins with a backslash), 0 when it is none. */
static size_t escape_length(struct view v)
{
    static const char simple[] = "\"\\/bfnrt";
    if (v.len < 2u) {
        return 0;
    }
    if (v.data[1] != 'u') {
        struct view known = view_text(simple);
        return (view_find(known, v.data[1]) < known.len) ? 2u : 0u;
    }
    if (v.len < 6u) {
        return 0;
    }
    for (unsigned i = 2; i < 6u; i++) {
        if (!is_hex_digit(v.data[i])) {
            return 0;
        }
    }
    return 6;
}

/* Reads to the closing quote; the opening one is already taken. */
static enum status read_string(struct reader *in, struct view *text)
{
    size_t start = in->pos;
    while (in->pos < in->len) {
        struct view rest = view_from(view_of(in->data, in->len), in->pos);
        uint8_t c = rest.data[0];
        if (c == '"') {
            *text = view_first(view_from(view_of(in->data, in->len), start), in->pos - start);
            in->pos++;
            return STATUS_OK;
        }
        size_t n = (c == '\\') ? escape_length(rest) : 1u;
        if (n == 0u || c < 0x20u) {
            return PEER_MALFORMED;
        }
        in->pos += n;
    }
    return PEER_MALFORMED;
}

/* --- numbers and words --- */

static bool byte_is(struct view v, size_t at, uint8_t a, uint8_t b)
{
    return at < v.len && (v.data[at] == a || v.data[at] == b);
}

/* One digit at least; moves *at behind them. */
static bool take_digits(struct view v, size_t *at)
{
    size_t start = *at;
    while (*at < v.len && is_digit(v.data[*at])) {
        (*at)++;
    }
    return *at > start;
}

/* Length of the number at the front, 0 when it is none: int [frac] [exp] (RFC 8259 §6). */
static size_t number_length(struct view v)
{
    size_t first = byte_is(v, 0, '-', '-') ? 1u : 0u;
    size_t at = first;
    if (!take_digits(v, &at) || (v.data[first] == '0' && at > first + 1u)) {
        return 0;
    }
    if (byte_is(v, at, '.', '.')) {
        at++;
        if (!take_digits(v, &at)) {
            return 0;
        }
    }
    if (byte_is(v, at, 'e', 'E')) {
        at++;
        at += byte_is(v, at, '+', '-') ? 1u : 0u;
        if (!take_digits(v, &at)) {
            return 0;
        }
    }
    return at;
}

static enum status read_scalar(struct json_reader *r, struct json_token *token)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
    struct view rest = view_from(view_of(r->in.data, r->in.len), r->in.pos);
    for (unsigned i = 0; i < 3u; i++) {
        if (view_starts(rest, words[i].word)) {
            token->kind = words[i].kind;
            token->text = view_first(rest, view_text(words[i].word).len);
            r->in.pos += token->text.len;
            return STATUS_OK;
        }
    }
    size_t n = number_length(rest);
    if (n == 0u) {
        return PEER_MALFORMED;
    }
    token->kind = JSON_NUMBER;
    token->text = view_first(rest, n);
    r->in.pos += n;
    return STATUS_OK;
}

/* --- containers --- */

static void after_value(struct json_reader *r)
{
    r->expect = (r->depth == 0u) ? EXPECT_NOTHING : EXPECT_NEXT;
}

static enum status begin(struct json_reader *r, struct json_token *token, uint8_t bracket)
{
    if (r->depth >= JSON_DEPTH_MAX) {
        return FULL_BUFFER;
    }
    token->kind = (bracket == '{') ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
    r->in.pos++;
    r->stack[r->depth] = bracket;
    r->depth++;
    r->expect = (bracket == '{') ? EXPECT_FIRST_NAME : EXPECT_FIRST_ELEMENT;
    return STATUS_OK;
}

static enum status end(struct json_reader *r, struct json_token *token, uint8_t bracket)
{
    ASSERT(r->depth > 0u);
    bool object = r->stack[r->depth - 1u] == '{';
    uint8_t closing = object ? (uint8_t)'}' : (uint8_t)']';
    if (bracket != closing) {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    r->depth--;
    token->kind = object ? JSON_OBJECT_END : JSON_ARRAY_END;
    token->depth = r->depth;
    after_value(r);
    return STATUS_OK;
}

static enum status value(struct json_reader *r, struct json_token *token, uint8_t c)
{
    if (c == '{' || c == '[') {
        return begin(r, token, c);
    }
    enum status s = STATUS_OK;
    if (c == '"') {
        r->in.pos++;
        token->kind = JSON_STRING;
        s = read_string(&r->in, &token->text);
    } else {
        s = read_scalar(r, token);
    }
    after_value(r);
    return s;
}

static enum status name(struct json_reader *r, struct json_token *token, uint8_t c)
{
    if (c != '"') {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    token->kind = JSON_NAME;
    enum status s = read_string(&r->in, &token->text);
    if (s != STATUS_OK) {
        return s;
    }
    skip_blanks(&r->in);
    if (r->in.pos >= r->in.len || r->in.data[r->in.pos] != ':') {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    r->expect = EXPECT_VALUE;
    return STATUS_OK;
}

/* The token after a comma: a name in an object, a value in an array. */
static enum status after_comma(struct json_reader *r, struct json_token *token)
{
    r->in.pos++;
    skip_blanks(&r->in);
    if (r->in.pos >= r->in.len) {
        return PEER_MALFORMED;
    }
    uint8_t c = r->in.data[r->in.pos];
    return (r->stack[r->depth - 1u] == '{') ? name(r, token, c) : value(r, token, c);
}

static enum status next(struct json_reader *r, struct json_token *token)
{
    skip_blanks(&r->in);
    token->depth = r->depth;
    token->text = view_of(0, 0);
    if (r->in.pos >= r->in.len) {
        token->kind = JSON_END;
        return ((enum expect)r->expect == EXPECT_NOTHING) ? STATUS_OK : PEER_MALFORMED;
    }
    uint8_t c = r->in.data[r->in.pos];
    switch ((enum expect)r->expect) {
    case EXPECT_VALUE:
        return value(r, token, c);
    case EXPECT_FIRST_NAME:
        return (c == '}') ? end(r, token, c) : name(r, token, c);
    case EXPECT_FIRST_ELEMENT:
        return (c == ']') ? end(r, token, c) : value(r, token, c);
    case EXPECT_NEXT:
        return (c == ',') ? after_comma(r, token) : end(r, token, c);
    case EXPECT_NOTHING:
        break;
    }
    return PEER_MALFORMED;
}

enum status json_next(struct json_reader *r, struct json_token *token)
{
    if (r->failed == STATUS_OK) {
        r->failed = next(r, token);
    }
    return r->failed;
}

enum status json_skip(struct json_reader *r, const struct json_token *token)
{
    struct json_token t;
    if (token->kind != JSON_OBJECT_BEGIN && token->kind != JSON_ARRAY_BEGIN) {
        return r->failed;
    }
    /* Every token takes at least one byte of what is left. */
    for (size_t i = reader_left(&r->in); i > 0u; i--) {
        enum status s = json_next(r, &t);
        if (s != STATUS_OK) {
            return s;
        }
        bool ends = t.kind == JSON_OBJECT_END || t.kind == JSON_ARRAY_END;
        if (ends && t.depth == token->depth) {
            return STATUS_OK;
        }
    }
    r->failed = PEER_MALFORMED;
    return r->failed;
}
