/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/2 engine with its memory, for the unit tests: octets in, and a text of the events and
 * frames that came out. Header only, because each test is one file.
 *
 * Events: "F1 name=value" ("F1t" in trailers), "H1" ("H1t", "e" at END_STREAM), "D1 octets" with
 * pieces joined (" E" at END_STREAM), "R1 CODE", "G last CODE", "P", "W". Frames: "RST 1 CODE",
 * "GOAWAY last CODE", "PING ACK first+last octet", "HEADERS 1", "DATA 1 length" (" E" at
 * END_STREAM); SETTINGS and WINDOW_UPDATE are counted, not listed.
 */
#ifndef TESTS_UNIT_H2_HARNESS_H
#define TESTS_UNIT_H2_HARNESS_H

#include "tests/unit/unit.h"
#include "wire/h2.h"

#define UNUSED_OK __attribute__((unused))
#define TRACE_BYTES 262144
#define TAG_BASE 1000u

struct trace {
    size_t len;
    char text[TRACE_BYTES];
};

struct conn {
    struct h2 h2;
    struct h2_stream streams[H2_SERVER_STREAMS];
    uint8_t rx[H2_SERVER_RX_BYTES];
    uint8_t tx[H2_SERVER_TX_BYTES];
    uint8_t field[H2_SERVER_FIELD_BYTES];
    uint8_t scratch[H2_SERVER_FIELD_BYTES];
    enum status last;     /* what h2_next returned last */
    uint32_t data_stream; /* the trace ends in DATA of this stream */
    bool log_writable;
    bool hold_output; /* leave tx_data alone */
    unsigned settings_acks;
    uint64_t updates[2]; /* WINDOW_UPDATE increments of the connection, of all streams */
    struct trace events;
    struct trace frames;
    uint8_t out[65536]; /* frames that were sent, incomplete one at its end */
    size_t out_len;
    size_t preface_left;
};

UNUSED_OK static void trace_add(struct trace *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->text + t->len, sizeof t->text - t->len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof t->text - t->len);
    t->len += (size_t)n;
}

UNUSED_OK static const char *code_name(uint32_t code)
{
    static const char *const names[] = {
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    };
    return code < sizeof names / sizeof names[0] ? names[code] : "?";
}

static void trace_bytes(struct trace *t, struct view v)
{
    for (size_t i = 0; i < v.len; i++) {
        uint8_t o = v.data[i];
        bool plain = o > 0x20 && o < 0x7f && o != '%';
        trace_add(t, plain ? "%c" : "%%%02x", o);
    }
}

/* --- life --- */

UNUSED_OK static void conn_init_windows(struct conn *c, enum h2_role role, size_t rx_cap,
                                        uint32_t window, uint32_t connection_window)
{
    struct h2_memory memory = H2_MEMORY_OF(c, window);
    memory.rx_cap = rx_cap;
    memory.connection_window = connection_window;
    memory.table_size = role == H2_SERVER ? HPACK_TABLE_BYTES : 0;
    c->last = STATUS_OK;
    c->data_stream = 0;
    c->log_writable = false;
    c->hold_output = false;
    c->settings_acks = 0;
    c->updates[0] = 0;
    c->updates[1] = 0;
    c->events.len = 0;
    c->events.text[0] = '\0';
    c->frames.len = 0;
    c->frames.text[0] = '\0';
    c->out_len = 0;
    c->preface_left = role == H2_CLIENT ? 24 : 0;
    h2_init(&c->h2, role, &memory, 0);
}

UNUSED_OK static void conn_init_sized(struct conn *c, enum h2_role role, size_t rx_cap,
                                      uint32_t window)
{
    conn_init_windows(c, role, rx_cap, window, H2_WINDOW_DEFAULT);
}

UNUSED_OK static void conn_init(struct conn *c, enum h2_role role)
{
    conn_init_sized(c, role, sizeof c->rx, H2_SERVER_WINDOW);
}

/* --- what came out --- */

static void log_event(struct conn *c, const struct h2_event *e)
{
    struct trace *t = &c->events;
    bool joins = e->kind == H2_EVENT_DATA && c->data_stream == e->stream;
    if (e->kind != H2_EVENT_WRITABLE) {
        c->data_stream = e->kind == H2_EVENT_DATA && !e->end_stream ? e->stream : 0;
    }
    const char *end = e->end_stream ? "e" : "";
    switch (e->kind) {
    case H2_EVENT_FIELD:
        trace_add(t, " F%u%s ", e->stream, e->trailers ? "t" : "");
        trace_bytes(t, e->name);
        trace_add(t, "=");
        trace_bytes(t, e->value);
        break;
    case H2_EVENT_HEADERS_END:
        trace_add(t, " H%u%s%s", e->stream, e->trailers ? "t" : "", end);
        break;
    case H2_EVENT_DATA:
        if (!joins) {
            trace_add(t, " D%u ", e->stream);
        }
        trace_bytes(t, e->data);
        trace_add(t, "%s", e->end_stream ? " E" : "");
        break;
    case H2_EVENT_RESET:
        trace_add(t, " R%u %s", e->stream, code_name(e->code));
        break;
    case H2_EVENT_GOAWAY:
        trace_add(t, " G%u %s", e->last_stream, code_name(e->code));
        break;
    case H2_EVENT_PING_ACK:
        trace_add(t, " P");
        break;
    case H2_EVENT_WRITABLE:
        trace_add(t, "%s", c->log_writable ? " W" : "");
        break;
    }
}

static uint32_t be(const uint8_t *p, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static void log_frame(struct conn *c, const uint8_t *p, uint32_t length)
{
    uint8_t type = p[3];
    uint8_t flags = p[4];
    uint32_t stream = be(p + 5, 4);
    const uint8_t *payload = p + 9;
    struct trace *t = &c->frames;
    switch (type) {
    case 0:
        trace_add(t, " DATA %u %u%s", stream, length, (flags & 1) != 0 ? " E" : "");
        break;
    case 1:
        assert_true((flags & 4) != 0);
        trace_add(t, " HEADERS %u%s", stream, (flags & 1) != 0 ? " E" : "");
        break;
    case 3:
        trace_add(t, " RST %u %s", stream, code_name(be(payload, 4)));
        break;
    case 4:
        c->settings_acks += flags & 1u;
        break;
    case 6:
        trace_add(t, " PING%s %02x%02x", (flags & 1) != 0 ? " ACK" : "", payload[0], payload[7]);
        break;
    case 7:
        trace_add(t, " GOAWAY %u %s", be(payload, 4), code_name(be(payload + 4, 4)));
        break;
    case 8:
        assert_true(be(payload, 4) > 0);
        c->updates[stream == 0 ? 0 : 1] += be(payload, 4);
        break;
    default:
        fail_msg("frame of type %u was sent", type);
    }
}

/* Takes `n` sent octets and lists the frames that are complete. */
static void conn_sent(struct conn *c, const uint8_t *data, size_t n)
{
    assert_true(n <= sizeof c->out - c->out_len);
    memcpy(c->out + c->out_len, data, n);
    c->out_len += n;
    size_t pos = c->preface_left <= c->out_len ? c->preface_left : c->out_len;
    c->preface_left -= pos;
    while (c->preface_left == 0 && c->out_len - pos >= 9) {
        uint32_t length = be(c->out + pos, 3);
        assert_true(length <= 16384);
        if (c->out_len - pos < 9 + length) {
            break;
        }
        log_frame(c, c->out + pos, length);
        pos += 9 + length;
    }
    memmove(c->out, c->out + pos, c->out_len - pos);
    c->out_len -= pos;
}

UNUSED_OK static void conn_drain(struct conn *c)
{
    struct view v = h2_tx_data(&c->h2);
    if (!c->hold_output && v.len > 0) {
        conn_sent(c, v.data, v.len);
        h2_tx_commit(&c->h2, v.len);
    }
}

/* Takes events until there are none; what the engine sends is taken as well. */
UNUSED_OK static void conn_pump(struct conn *c)
{
    for (unsigned i = 0; i < 200000; i++) {
        struct h2_event event;
        c->last = h2_next(&c->h2, &event);
        assert_true(h2_valid(&c->h2));
        assert_true(hpack_valid(&c->h2.hpack));
        if (c->last == STATUS_OK) {
            log_event(c, &event);
            continue;
        }
        if (c->hold_output || h2_tx_data(&c->h2).len == 0) {
            return;
        }
        conn_drain(c);
    }
    fail_msg("events without end");
}

/* Feeds octets in pieces of at most `cut`; octets after a failure are dropped. */
UNUSED_OK static void conn_feed_cut(struct conn *c, const uint8_t *data, size_t len, size_t cut)
{
    size_t pos = 0;
    conn_pump(c);
    while (pos < len && c->last == STATUS_MORE) {
        struct writer space = h2_rx_space(&c->h2);
        size_t n = len - pos;
        n = n < cut ? n : cut;
        n = n < space.cap ? n : space.cap;
        if (n == 0) {
            return;
        }
        memcpy(space.data, data + pos, n);
        h2_rx_commit(&c->h2, n);
        pos += n;
        conn_pump(c);
    }
}

UNUSED_OK static void conn_feed(struct conn *c, const void *data, size_t len)
{
    conn_feed_cut(c, data, len, len > 0 ? len : 1);
}

/* --- bytes to feed --- */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define END_STREAM 0x1
#define ACK 0x1
#define END_HEADERS 0x4
#define PADDED 0x8
#define PRIORITY_FLAG 0x20

/* Blocks in hexadecimal: GET http / with :authority "a"; POST of the same; a response 200. */
#define GET "828684010161"
#define POST "838684010161"
#define OK200 "88"

UNUSED_OK static size_t hex_bytes(const char *hex, uint8_t *out, size_t cap)
{
    size_t n = 0;
    unsigned nibble = 0;
    bool half = false;
    for (const char *p = hex; *p != '\0'; p++) {
        if (*p == ' ') {
            continue;
        }
        const char *digits = "0123456789abcdef";
        const char *at = strchr(digits, *p);
        assert_non_null(at);
        nibble = nibble << 4 | (unsigned)(at - digits);
        half = !half;
        if (!half) {
            assert_true(n < cap);
            out[n++] = (uint8_t)nibble;
            nibble = 0;
        }
    }
    assert_false(half);
    return n;
}

UNUSED_OK static void put_frame_bytes(struct writer *w, unsigned type, unsigned flags,
                                      uint32_t stream, struct view payload)
{
    writer_u24(w, (uint32_t)payload.len);
    writer_u8(w, (uint8_t)type);
    writer_u8(w, (uint8_t)flags);
    writer_u32(w, stream);
    writer_append(w, payload);
    assert_false(w->full);
}

UNUSED_OK static void put_frame(struct writer *w, unsigned type, unsigned flags, uint32_t stream,
                                const char *payload_hex)
{
    static uint8_t payload[32768];
    size_t n = hex_bytes(payload_hex, payload, sizeof payload);
    put_frame_bytes(w, type, flags, stream, view_of(payload, n));
}

/* Preface and empty SETTINGS to a server, or SETTINGS to a client. */
UNUSED_OK static void put_start(struct writer *w, enum h2_role role)
{
    if (role == H2_SERVER) {
        writer_text(w, PREFACE);
    }
    put_frame(w, 4, 0, 0, "");
}

UNUSED_OK static void conn_frame(struct conn *c, unsigned type, unsigned flags, uint32_t stream,
                                 const char *payload_hex)
{
    static uint8_t bytes[40000];
    struct writer w = writer_of(bytes, sizeof bytes);
    put_frame(&w, type, flags, stream, payload_hex);
    conn_feed(c, bytes, w.len);
}

UNUSED_OK static void conn_start(struct conn *c, enum h2_role role)
{
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    conn_init(c, role);
    put_start(&w, role);
    conn_feed(c, bytes, w.len);
    assert_int_equal(c->last, STATUS_MORE);
    assert_int_equal(c->settings_acks, 1);
}

/* --- what the owner does --- */

UNUSED_OK static enum status send_list(struct conn *c, uint32_t stream, bool end_stream)
{
    h2_headers_begin(&c->h2, stream);
    if (c->h2.role == H2_CLIENT) {
        h2_header(&c->h2, ":method", view_text("POST"), false);
        h2_header(&c->h2, ":scheme", view_text("http"), false);
        h2_header(&c->h2, ":authority", view_text("localhost"), false);
        h2_header(&c->h2, ":path", view_text("/s/m"), false);
        h2_header(&c->h2, "authorization", view_text("Bearer x"), true);
    } else {
        h2_header(&c->h2, ":status", view_text("200"), false);
        h2_header(&c->h2, "content-type", view_text("application/grpc"), false);
    }
    return h2_headers_end(&c->h2, end_stream);
}

UNUSED_OK static enum status send_trailers(struct conn *c, uint32_t stream)
{
    h2_headers_begin(&c->h2, stream);
    h2_header(&c->h2, "grpc-status", view_text("0"), false);
    return h2_headers_end(&c->h2, true);
}

#endif
