/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON tokenizer: one token from any state that `sound` allows, in a text of any length. By
 * induction, so is every token of a text. The string writer is proved in the same way.
 */
#include "stubs.h"

#include "base/json.c"

/* What json_open establishes and every token keeps (I1, I2 of base/json.h). */
static bool sound(const struct json_reader *r)
{
    bool inside = r->expect == EXPECT_FIRST_NAME || r->expect == EXPECT_FIRST_ELEMENT ||
                  r->expect == EXPECT_NEXT;
    return r->in.pos <= r->in.len && r->depth <= JSON_DEPTH_MAX && r->expect <= EXPECT_NOTHING &&
           (!inside || r->depth > 0u);
}

static struct json_reader any_json(void)
{
    struct json_reader r;
    r.in = any_reader(ANY_LENGTH);
    ASSUME(sound(&r) && r.failed == STATUS_OK);
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

enum status stub_json_next(struct json_reader *r, struct json_token *token)
{
    CHECK(r->in.pos <= r->in.len && r->depth <= JSON_DEPTH_MAX);
    enum json_kind kind;
    ASSUME(kind <= JSON_END);
    token->kind = kind;
    token->depth = any_unsigned();
    if (r->in.pos == r->in.len || any_bool()) {
        r->failed = PEER_MALFORMED;
        return r->failed;
    }
    r->in.pos += 1u + any_length(r->in.len - r->in.pos - 1u);
    r->depth = any_u8();
    ASSUME(r->depth <= JSON_DEPTH_MAX);
    return STATUS_OK;
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
    enum status s = json_next(&r, &token);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(r.failed == s && r.in.pos >= before);
    if (s == STATUS_OK) {
        CHECK(sound(&r));
        CHECK(token.kind <= JSON_END && token.depth <= JSON_DEPTH_MAX);
        CHECK(token.kind == JSON_END || r.in.pos > before);
        CHECK(view_within(token.text, all));
    }
}

void proof_json_skip(void)
{
    struct json_reader r = any_json();
    struct json_token token;
    enum status s = json_skip(&r, &token);
    CHECK(s < STATUS_COUNT && r.in.pos <= r.in.len);
}

void proof_json_open(void)
{
    struct json_reader r;
    json_open(&r, any_view(ANY_LENGTH));
    CHECK(sound(&r) && (r.failed == STATUS_OK || r.failed == PEER_MALFORMED));
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
