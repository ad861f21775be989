/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of HTTP/1.1: one byte, one request line and one field line in any state of the engine.
 * What holds before and after each byte is `sound`; by induction it holds for input of any length.
 */
#define PROOF_CONTENT_IS_ANY
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

void stub_write_head(struct http1 *h, enum http1_code code, const char *content_type)
{
    CHECK((unsigned)code < HTTP1_CODES && content_type != NULL);
    h->tx.len += any_length(h->tx.cap - h->tx.len);
    h->tx.full = h->tx.full || any_bool();
}

void stub_consume_byte(struct http1 *h, uint8_t c)
{
    (void)c;
    CHECK(h->phase == HTTP1_READING);
    h->phase = any_bool() ? HTTP1_READING : any_bool() ? HTTP1_REQUESTED : HTTP1_FAILED;
    h->failed = h->phase == HTTP1_FAILED ? PEER_MALFORMED : STATUS_OK;
    h->rx_len = h->phase == HTTP1_FAILED ? 0u : h->rx_len;
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

bool stub_ip_parse(struct view text, struct ip_address *out)
{
    stub_check_view(text);
    out->v6 = any_bool();
    return any_bool();
}

bool stub_is_authority(struct view v, bool nameless)
{
    stub_check_view(v);
    return (v.len > 0u || nameless) && any_bool();
}

bool stub_is_method(struct view v)
{
    stub_check_view(v);
    return any_bool();
}

void stub_parse_target(struct http1 *h, struct view v)
{
    stub_check_view(v);
    if (any_bool()) {
        fail_malformed(h);
    }
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

void proof_http1_authority(void)
{
    struct view v = any_view(ANY_LENGTH);
    bool nameless = any_bool();
    bool good = is_authority(v, nameless);
    CHECK(!good || nameless || v.len > 0u);
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

void proof_http1_target(void)
{
    struct http1 *h = any_engine();
    parse_target(h, any_line(h));
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

/* An engine in any phase, with times that stay far below the end of the clock. */
static struct http1 *any_phase(void)
{
    struct http1 h;
    engine = h;
    size_t len = any_length(sizeof engine.sent);
    engine.tx = (struct writer){engine.sent, sizeof engine.sent, len, false};
    ASSUME(sound(&engine));
    ASSUME(engine.now_ms <= INT64_MAX && engine.since_ms <= engine.now_ms);
    ASSUME(engine.moved_ms <= engine.now_ms);
    return &engine;
}

void proof_http1_input(void)
{
    struct http1 *h = any_phase();
    ASSUME(h->phase == HTTP1_READING);
    parse_input(h);
    CHECK(sound(h));
}

void proof_http1_end(void)
{
    struct http1 *h = any_engine();
    request_end(h);
    CHECK(sound(h) && (h->phase == HTTP1_REQUESTED || h->phase == HTTP1_FAILED));
}

void proof_http1_times(void)
{
    struct http1 *h = any_phase();
    CHECK(http1_deadline(h) >= h->since_ms);
    CHECK(http1_yields_ms(h) >= (h->moved_ms < h->since_ms ? h->moved_ms : h->since_ms));
    if (any_bool()) {
        uint64_t now = any_u64();
        ASSUME(now >= h->now_ms && now <= INT64_MAX);
        http1_set_time(h, now);
    } else {
        http1_yield(h);
    }
    CHECK(sound(h));
    bool done = http1_done(h);
    CHECK(!done || h->phase == HTTP1_FAILED || h->phase == HTTP1_CLOSING);
}

void proof_http1_transport(void)
{
    struct http1 *h = any_phase();
    size_t n = any_size();
    switch (any_u8()) {
    case 0: {
        struct writer room = http1_rx_space(h);
        CHECK(room.cap == 0u || __CPROVER_w_ok(room.data, room.cap));
        break;
    }
    case 1:
        ASSUME(n <= sizeof h->rx - h->rx_len);
        http1_rx_commit(h, n);
        break;
    case 2:
        ASSUME(n <= h->tx.len);
        http1_tx_commit(h, n);
        CHECK(h->tx.len <= sizeof h->sent);
        break;
    default: {
        struct writer room = http1_body_space(h);
        CHECK(room.cap == 0u || __CPROVER_w_ok(room.data, room.cap));
        break;
    }
    }
    CHECK(sound(h));
}

/* A form and its fills take as many bytes as all of them together (base/text.c). */
void stub_writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count)
{
    size_t len = strlen(form) - count;
    for (size_t i = 0; i < count; i++) {
        CHECK(fills[i].kind == FILL_TEXT || fills[i].kind == FILL_NUMBER);
        /* NUMBER is the length of a short text here */
        len += fills[i].kind == FILL_TEXT ? strlen(fills[i].data) : 2u;
    }
    CHECK(writer_sound(w));
    if (w->full || len > w->cap - w->len) {
        w->full = true;
    } else {
        w->len += len;
    }
}

void stub_line(struct http1 *h, struct view line)
{
    stub_check_view(line);
    CHECK(h->phase == HTTP1_READING && line.len <= sizeof h->line && h->line_len == 0u);
    h->phase = any_bool() ? HTTP1_READING : HTTP1_FAILED;
}

void stub_request_end(struct http1 *h)
{
    CHECK(h->phase == HTTP1_READING && h->part == HTTP1_FIELDS);
    h->phase = any_bool() ? HTTP1_REQUESTED : HTTP1_FAILED;
}

void stub_parse_input(struct http1 *h)
{
    CHECK(h->phase == HTTP1_READING && h->tx.len == 0u);
    h->phase = any_bool() ? HTTP1_READING : any_bool() ? HTTP1_REQUESTED : HTTP1_FAILED;
    h->failed = h->phase == HTTP1_FAILED ? PEER_MALFORMED : STATUS_OK;
}

void proof_http1_lines(void)
{
    struct http1 *h = any_engine();
    if (any_bool()) {
        line_over(h);
    } else {
        parse_connection(h, any_line(h));
        CHECK(h->phase == HTTP1_READING);
    }
    CHECK(sound(h));
}

void proof_http1_next(void)
{
    struct http1 *h = any_phase();
    h->path[sizeof h->path - 1u] = '\0'; /* parse_target copies with text_copy */
    ASSUME((h->phase == HTTP1_FAILED) == (h->failed != STATUS_OK)); /* fail_connection */
    ASSUME(h->failed < STATUS_COUNT && h->failed != STATUS_MORE);
    struct view path = {NULL, 0};
    if (any_bool()) {
        http1_init(h, any_u64());
        CHECK(h->phase == HTTP1_READING && h->tx.len == 0u);
    } else {
        http1_rx_end(h);
    }
    CHECK(sound(h));
    enum status s = http1_next(h, &path);
    CHECK(sound(h) && (s == STATUS_OK) == (path.data != NULL) && path.len < sizeof h->path);
    CHECK(s != STATUS_OK || h->phase == HTTP1_RESPONDING);
    struct view waiting = http1_tx_data(h);
    CHECK(waiting.len == 0u || __CPROVER_r_ok(waiting.data, waiting.len));
}

/* A response of each kind fits into an empty send buffer: the writer never becomes full. */
void proof_http1_heads(void)
{
    struct http1 *h = any_engine();
    enum http1_code code = (enum http1_code)(any_u8() % HTTP1_CODES);
    if (any_bool()) {
        fail_connection(h, PEER_MALFORMED, code);
        CHECK(h->phase == HTTP1_FAILED && h->code == code && h->rx_len == 0u);
        CHECK((h->tx.len > 0u) == (code != HTTP1_OK));
    } else {
        h->phase = any_bool() ? HTTP1_RESPONDING : HTTP1_FAILED;
        bool head = h->head;
        bool body = http1_respond(h, code, "text/plain; version=0.0.4; charset=utf-8");
        CHECK(body == (h->phase == HTTP1_RESPONDING) && (!body || !head));
    }
    CHECK(sound(h) && !h->tx.full);
}

void proof_http1_body(void)
{
    struct http1 *h = any_phase();
    struct writer room = http1_body_space(h);
    size_t n = any_length(sizeof h->sent);
    ASSUME(n <= room.cap);
    http1_body_commit(h, n);
    CHECK(sound(h) && writer_sound(&h->tx) && !h->tx.full);
    if (room.cap > 0u) {
        http1_body_end(h); /* the room of a piece includes the last chunk */
        CHECK(!h->tx.full && h->phase != HTTP1_RESPONDING);
    }
    CHECK(sound(h));
}
