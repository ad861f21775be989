/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON tokenizer: one token from any state that `sound` allows, in a text of any length. By
 * induction, so is every token of a text. The string writer is proved in the same way.
 */
#include "json_promise.h"

static size_t below; /* index of any container below that of the token to skip */

#include "base/json.c"

_Static_assert((unsigned)NEED_VALUE == (unsigned)EXPECT_VALUE &&
                   (unsigned)NEED_FIRST_NAME == (unsigned)EXPECT_FIRST_NAME &&
                   (unsigned)NEED_FIRST_ELEMENT == (unsigned)EXPECT_FIRST_ELEMENT &&
                   (unsigned)NEED_NEXT == (unsigned)EXPECT_NEXT &&
                   (unsigned)NEED_NOTHING == (unsigned)EXPECT_NOTHING,
               "json_promise.h has the order of enum expect");

static struct json_reader any_json(void)
{
    struct json_reader r;
    r.in = any_reader(ANY_LENGTH);
    ASSUME(json_sound(&r) && r.failed == STATUS_OK);
    return r;
}

enum status stub_read_string(struct reader *in, struct view *text)
{
    stub_check_reader(in);
    size_t start = in->pos;
    in->pos += any_length(in->len - in->pos);
    if (in->pos == start || any_bool()) {
        return PEER_MALFORMED;
    }
    size_t n = in->pos - start - 1u;
    *text = (struct view){(n > 0u) ? in->data + start : NULL, n};
    return STATUS_OK;
}

size_t stub_number_length(struct view v)
{
    stub_check_view(v);
    return any_length(v.len);
}

size_t stub_write_piece(struct writer *out, struct view text, struct view escaped)
{
    stub_check_view(text);
    stub_check_view(escaped);
    CHECK(text.len > 0u && out->len <= out->cap);
    out->len += any_length(out->cap - out->len);
    out->full = out->full || any_bool();
    return 1u + any_length(text.len - 1u);
}

void stub_lead_in(struct json_writer *w)
{
    w->first = false;
}

void proof_json_string(void)
{
    struct reader in = any_reader(ANY_LENGTH);
    struct view all = view_of(in.data, in.len);
    struct view text = {NULL, 0};
    size_t before = in.pos;
    enum status s = read_string(&in, &text);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(in.pos <= in.len && in.pos >= before);
    CHECK(s != STATUS_OK || (view_within(text, all) && text.len < in.pos - before));
}

void proof_json_integer(void)
{
    int64_t value = 0;
    struct view literal = any_view(ANY_LENGTH);
    enum status s = json_integer(literal, &value);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED);
    CHECK(literal.len > 0u || s == PEER_MALFORMED);
}

void proof_json_token(void)
{
    struct json_reader r = any_json();
    struct json_token token;
    size_t before = r.in.pos;
    struct view all = view_of(r.in.data, r.in.len);
    struct json_reader was = r;
    size_t other = any_length(JSON_DEPTH_MAX - 1u);
    enum status s = json_next(&r, &token);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(r.failed == s && r.in.pos >= before);
    if (s == STATUS_OK) {
        CHECK(json_sound(&r) && json_stepped(&was, &token, &r));
        CHECK(r.stack[other] == was.stack[other] ||
              (json_begins(token.kind) && other == was.depth));
        CHECK(token.kind == JSON_END || r.in.pos > before);
        CHECK(view_within(token.text, all));
    }
}

/* A token was just read: the container that it begins is the innermost one. */
void proof_json_skip(void)
{
    struct json_reader r = any_json();
    struct json_token token;
    bool begins = json_begins(token.kind);
    ASSUME(token.kind <= JSON_END && token.depth < JSON_DEPTH_MAX);
    ASSUME(r.depth == token.depth + (begins ? 1u : 0u));
    below = any_length(JSON_DEPTH_MAX - 1u);
    uint8_t bracket = r.stack[below];
    uint8_t expect = r.expect;
    enum status s = json_skip(&r, &token);
    CHECK(s == r.failed && s < STATUS_COUNT);
    CHECK(r.in.pos <= r.in.len);
    if (s == STATUS_OK) {
        CHECK(r.depth == token.depth && (below >= r.depth || r.stack[below] == bracket));
        uint8_t next = r.depth > 0u ? NEED_NEXT : NEED_NOTHING;
        CHECK(r.expect == (begins ? next : expect));
    }
}

void proof_json_open(void)
{
    struct json_reader r;
    json_open(&r, any_view(ANY_LENGTH));
    CHECK(json_sound(&r) && r.expect == NEED_VALUE && r.depth == 0u &&
          (r.failed == STATUS_OK || r.failed == PEER_MALFORMED));
}

static struct view any_escaped(void)
{
    return any_bool() ? view_of("\"\\<>&", 5) : view_of("\"\\", 2);
}

void proof_json_piece(void)
{
    struct writer out = any_writer(ANY_LENGTH);
    struct view text = any_view(ANY_LENGTH);
    ASSUME(text.len > 0u);
    size_t n = write_piece(&out, text, any_escaped());
    CHECK(n >= 1u && n <= text.len && out.len <= out.cap);
}

void proof_json_write_string(void)
{
    struct writer out = any_writer(ANY_LENGTH);
    struct json_writer w = json_writer_of(&out, any_unsigned());
    w.markup = any_bool();
    json_string(&w, any_view(ANY_LENGTH));
    CHECK(out.len <= out.cap);
}

/*
 * Whether an escape starts there that the tokenizer accepts. read_string steps over a string in
 * plain bytes and such escapes, and json_unescape in the same steps.
 */
static bool escape_at(struct view v, size_t at)
{
    return escape_length(view_from(v, at)) != 0u;
}

static bool byte_at(struct view v, size_t at, uint8_t byte)
{
    return v.len > at && v.data[at] == byte;
}

/* Proof json_digits. */
bool stub_consume_digits(struct view v, size_t *at)
{
    stub_check_view(v);
    CHECK(*at <= v.len);
    size_t n = any_length(v.len - *at);
    *at += n;
    return n > 0u;
}

void proof_json_escape(void)
{
    struct view v = any_view(ANY_LENGTH);
    struct writer out = any_writer(ANY_LENGTH);
    size_t before = out.len;
    ASSUME(byte_at(v, 0, '\\') && escape_at(v, 0));
    ASSUME(!byte_at(v, 6, '\\') || escape_at(v, 6));
    size_t n = unescape_one(v, &out);
    CHECK(n <= v.len && (n == 2u || n == 6u || n == 12u));
    CHECK(out.len <= out.cap && out.len - before <= n);
}

/* I4 of base/json.h. */
enum status stub_unescape(struct view raw, struct writer *out)
{
    stub_check_view(raw);
    size_t n = any_length(raw.len);
    if (n > out->cap - out->len) {
        return FULL_BUFFER;
    }
    out->len += n;
    return STATUS_OK;
}

void proof_json_text_is(void)
{
    struct view raw = any_view(ANY_LENGTH);
    CHECK(!json_text_is(raw, "apiVersion") || raw.len >= strlen("apiVersion"));
}

void proof_json_digits(void)
{
    struct view v = any_view(ANY_LENGTH);
    size_t at = any_length(v.len);
    size_t before = at;
    bool digits = consume_digits(v, &at);
    CHECK(at <= v.len && at >= before && digits == (at > before));
}

void proof_json_number(void)
{
    struct view v = any_view(ANY_LENGTH);
    size_t n = number_length(v);
    CHECK(n <= v.len);
}
