/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of HTTP/1.1: one byte, one request line and one field line in any state of the engine.
 * What holds before and after each byte is `sound`; by induction it holds for input of any length.
 */
#include "stubs.h"

#include "wire/http1.c"

static struct http1 engine;

static bool sound(const struct http1 *h)
{
    return h->line_len <= sizeof h->line && h->rx_len <= sizeof h->rx && h->phase <= HTTP1_FAILED &&
           h->part <= HTTP1_FIELDS && h->fields_len <= HTTP1_FIELDS_BYTES_MAX + 1u;
}

static struct http1 *any_engine(void)
{
    struct http1 h;
    engine = h;
    engine.tx = writer_of(engine.sent, sizeof engine.sent);
    ASSUME(sound(&engine) && engine.phase == HTTP1_READING);
    ASSUME(engine.fields_len <= HTTP1_FIELDS_BYTES_MAX);
    return &engine;
}

/* What fail_connection asks of its caller, and does to the state that the parser reads. */
void stub_fail_connection(struct http1 *h, enum status why, enum http1_code code)
{
    CHECK(h->phase != HTTP1_FAILED && why != STATUS_OK);
    h->phase = HTTP1_FAILED;
    h->failed = why;
    h->code = code;
    h->rx_len = 0;
}

bool stub_all_visible(struct view v, const char *never)
{
    (void)never;
    stub_check_view(v);
    return v.len == 0u || any_bool();
}

bool stub_same_word(struct view v, const char *text)
{
    (void)text;
    stub_check_view(v);
    return any_bool();
}

bool stub_is_method(struct view v)
{
    stub_check_view(v);
    return any_bool();
}

void stub_parse_connection(struct http1 *h, struct view value)
{
    stub_check_view(value);
    h->close = h->close || any_bool();
}

struct view stub_view_trim(struct view a)
{
    stub_check_view(a);
    size_t begin = any_length(a.len);
    size_t len = any_length(a.len - begin);
    return (struct view){(len > 0u) ? a.data + begin : NULL, len};
}

void stub_line_over(struct http1 *h)
{
    CHECK(h->phase == HTTP1_READING);
    h->line_len = 0;
    h->phase = any_bool() ? HTTP1_FAILED : HTTP1_READING;
}

void proof_http1_words(void)
{
    struct view v = any_view(ANY_LENGTH);
    struct view line = v;
    struct view word = split_word(&line);
    CHECK(view_within(word, v) && view_within(line, v));
    CHECK(!is_token(v) || v.len > 0u);
    CHECK(field_kind(v) <= (unsigned)FIELD_OTHER);
    CHECK(!is_method(v) || v.len >= 3u);
}

static struct view any_line(struct http1 *h)
{
    return (struct view){h->line, any_length(sizeof h->line)};
}

void proof_http1_request_line(void)
{
    struct http1 *h = any_engine();
    ASSUME(h->part == HTTP1_LINE || h->part == HTTP1_LINE_AFTER_EMPTY);
    request_line(h, any_line(h));
    CHECK(sound(h) && (h->phase == HTTP1_READING || h->phase == HTTP1_FAILED));
}

void proof_http1_field(void)
{
    struct http1 *h = any_engine();
    field_line(h, any_line(h));
    CHECK(sound(h) && (h->phase == HTTP1_READING || h->phase == HTTP1_FAILED));
}

void proof_http1_byte(void)
{
    struct http1 *h = any_engine();
    consume_byte(h, any_u8());
    CHECK(sound(h));
    CHECK(h->phase == HTTP1_FAILED || h->fields_len <= HTTP1_FIELDS_BYTES_MAX);
}
