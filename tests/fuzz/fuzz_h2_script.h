/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to an HTTP/2 connection, read from a fuzzer's input: octets of the peer, frames with
 * a true length, time, output that drains, calls of the owner. Owns the steps; the invariants stand
 * in fuzz_h2.h.
 *
 * Each step is one byte and what it needs; the same script runs twice with the peer's octets cut in
 * other places, and must tell the same events and send the same frames.
 */
#ifndef TESTS_FUZZ_H2_SCRIPT_H
#define TESTS_FUZZ_H2_SCRIPT_H

#include "tests/fuzz/fuzz_h2.h"

#define FILL_BYTES 16384u

enum step {
    STEP_RAW,      /* octets as they are */
    STEP_FRAME,    /* type, flags, stream, payload */
    STEP_CONTROL,  /* the same for the types 2 to 8 with a payload of the right length */
    STEP_BLOCK,    /* HEADERS of the list that often comes */
    STEP_LITERALS, /* HEADERS with fields from the input */
    STEP_DATA,     /* DATA of many zeros */
    STEP_TIME,
    STEP_DRAIN,
    STEP_OPEN,
    STEP_HEADERS,
    STEP_SEND,
    STEP_RESET,
    STEP_PING,
    STEP_GOAWAY,
    STEP_END,
    STEP_TAG,
    STEPS
};

/* A run of the script: connection, cuts, and what is left of the input. */
struct run {
    struct link *l;
    struct fuzz f;
    struct fuzz_cuts cuts;
};

/* --- the peer --- */

static void run_receive(struct run *r, struct view bytes)
{
    link_receive(r->l, bytes, &r->cuts);
}

static void run_frame(struct run *r, uint8_t type, uint8_t flags, uint32_t stream,
                      struct view payload)
{
    static uint8_t bytes[FRAME_HEAD + FILL_BYTES + 256u];
    struct writer w = writer_of(bytes, sizeof bytes);
    frame_put(&w, type, flags, stream, payload);
    CHECK(!w.full);
    run_receive(r, writer_view(&w));
}

/* Small numbers for most bytes; four more octets for the last. */
static uint32_t take_stream(struct fuzz *f)
{
    uint8_t n = fuzz_u8(f);
    return (n == 255u) ? fuzz_u32(f) : n;
}

static void step_raw(struct run *r)
{
    run_receive(r, fuzz_text(&r->f));
}

static void step_frame(struct run *r)
{
    uint8_t type = fuzz_u8(&r->f);
    uint8_t flags = fuzz_u8(&r->f);
    uint32_t stream = take_stream(&r->f);
    run_frame(r, type, flags, stream, fuzz_text(&r->f));
}

static void step_control(struct run *r)
{
    static const uint8_t lengths[] = {5, 4, 6, 0, 8, 8, 4};
    uint8_t n = fuzz_u8(&r->f);
    uint8_t type = (uint8_t)(2u + (n & 15u) % 7u);
    bool connection = type == 4u || type == 6u || type == 7u;
    uint32_t stream = connection ? 0u : take_stream(&r->f);
    run_frame(r, type, n >> 7, stream, fuzz_bytes(&r->f, lengths[type - 2u]));
}

/* Lists that peers send, in HPACK without Huffman; the last two are not in order. */
static struct view known_block(unsigned n)
{
    static const struct {
        const char *octets;
        size_t len;
    } blocks[] = {
#define BLOCK(text) {text, sizeof text - 1u}
        BLOCK("\x83\x86\x04\x04/a.b\x0f\x10\x10"
              "application/grpc"),
        BLOCK("\x82\x87\x84\x41\x03"
              "a.b"),
        BLOCK("\x88\x0f\x0d\x01"
              "5"),
        BLOCK("\x88"),
        BLOCK("\x08\x03"
              "103"),
        BLOCK("\x08\x03"
              "204"),
        BLOCK("\x40\x0b"
              "grpc-status\x01"
              "0"),
        BLOCK("\x83\x87\x84\x0f\x0d\x02"
              "10"),
        BLOCK("\x82\x86\x84\x82"),
        BLOCK("\x40\x01X\x01y"),
#undef BLOCK
    };
    unsigned at = n % (unsigned)(sizeof blocks / sizeof blocks[0]);
    return view_of(blocks[at].octets, blocks[at].len);
}

static void step_block(struct run *r)
{
    uint8_t n = fuzz_u8(&r->f);
    uint32_t stream = take_stream(&r->f);
    run_frame(r, 1, (n & 0x80u) != 0u ? 5u : 4u, stream, known_block(n & 0x7fu));
}

static void step_literals(struct run *r)
{
    uint8_t bytes[2048];
    struct writer w = writer_of(bytes, sizeof bytes);
    uint8_t flags = fuzz_u8(&r->f);
    uint32_t stream = take_stream(&r->f);
    for (unsigned left = (unsigned)flags >> 5; left > 0u; left--) {
        struct view name = fuzz_text(&r->f);
        struct view value = fuzz_text(&r->f);
        if (name.len > 0u) {
            hpack_encode(&w, view_first(name, 64), view_first(value, 200), false);
        }
    }
    run_frame(r, 1, flags & 5u, stream, writer_view(&w));
}

static void step_data(struct run *r)
{
    static const uint8_t zeros[FILL_BYTES];
    uint8_t n = fuzz_u8(&r->f);
    uint32_t stream = take_stream(&r->f);
    size_t len = (size_t)(n & 0x7fu) * 130u;
    run_frame(r, 0, n >> 7, stream, view_of(zeros, (len < FILL_BYTES) ? len : FILL_BYTES));
}

static void step_time(struct run *r)
{
    uint8_t n = fuzz_u8(&r->f);
    link_time(r->l, (n < 128u) ? n : (uint64_t)(n - 127u) * 500u);
}

static void step_drain(struct run *r)
{
    link_drain(r->l, (size_t)fuzz_u8(&r->f) * 8u + 1u);
    link_pump(r->l);
}

static void step_end(struct run *r)
{
    h2_rx_end(&r->l->c);
    link_pump(r->l);
}

/* --- the owner --- */

/* A stream that a call may name: one that was told or opened, now and then any other. */
static struct owned *take_owned(struct run *r)
{
    return &r->l->owned[fuzz_u8(&r->f) % OWNED_STREAMS];
}

static void step_open(struct run *r)
{
    struct link *l = r->l;
    uint32_t id = 0;
    uint8_t n = fuzz_u8(&r->f);
    if (l->c.role == H2_SERVER) {
        return;
    }
    enum status s = h2_open(&l->c, n, &id);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == FULL_TABLE || s == PEER_CLOSED);
    CHECK(l->failed == STATUS_OK || s == PEER_CLOSED);
    if (s != STATUS_OK) {
        CHECK(id == 0u);
        return;
    }
    l->opened++;
    owned_add(l, id);
    if ((n & 3u) == 0u) {
        h2_reset(&l->c, id, H2_CANCEL); /* the peer never sees it: the number is used again */
        owned_find(l, id)->id = 0;
        return;
    }
    h2_headers_begin(&l->c, id);
    h2_header(&l->c, ":method", view_text((n & 4u) != 0u ? "HEAD" : "GET"), false);
    h2_header(&l->c, ":scheme", view_text("https"), false);
    h2_header(&l->c, ":path", view_text("/api/v1/nodes/n"), false);
    h2_header(&l->c, "authorization", view_text("Bearer abc"), true);
    s = h2_headers_end(&l->c, (n & 8u) != 0u);
    if (s == STATUS_OK) {
        owned_find(l, id)->head_sent = true;
        owned_find(l, id)->ended = (n & 8u) != 0u;
    } else {
        h2_reset(&l->c, id, H2_CANCEL);
        owned_find(l, id)->id = 0;
    }
}

static void step_headers(struct run *r)
{
    struct link *l = r->l;
    struct owned *o = take_owned(r);
    uint8_t n = fuzz_u8(&r->f);
    struct view value = fuzz_text(&r->f);
    if (o->id == 0u || o->ended) {
        return;
    }
    bool end = o->head_sent || (n & 1u) != 0u;
    size_t before = h2_tx_data(&l->c).len;
    h2_headers_begin(&l->c, o->id);
    h2_header(&l->c, o->head_sent ? "grpc-status" : ":status", view_text("200"), false);
    for (unsigned left = n >> 4; left > 0u; left--) {
        h2_header(&l->c, "x-long", value, (n & 2u) != 0u);
    }
    enum status s = h2_headers_end(&l->c, end);
    CHECK(s == STATUS_OK || s == FULL_BUFFER || s == PEER_CLOSED);
    CHECK(s == STATUS_OK || h2_tx_data(&l->c).len == before);
    if (s == STATUS_OK) {
        o->head_sent = true;
        o->ended = end;
    }
}

static void step_send(struct run *r)
{
    static const uint8_t zeros[FILL_BYTES];
    struct link *l = r->l;
    struct owned *o = take_owned(r);
    uint8_t n = fuzz_u8(&r->f);
    if (o->id == 0u || o->ended || !o->head_sent) {
        return;
    }
    size_t room = h2_data_room(&l->c, o->id);
    size_t len = (size_t)(n >> 1) * 128u;
    len = (len < room) ? len : room;
    CHECK(room <= l->c.mem.tx_cap && room <= FILL_BYTES);
    if (len == 0u && (n & 1u) == 0u) {
        return;
    }
    size_t before = h2_tx_data(&l->c).len;
    enum status s = h2_data(&l->c, o->id, view_of(zeros, len), (n & 1u) != 0u);
    CHECK(s == STATUS_OK || h2_tx_data(&l->c).len == before); /* I5 */
    CHECK(s == STATUS_OK || s == PEER_CLOSED || (s == STATUS_MORE && len == 0u));
    o->ended = s != STATUS_MORE && ((n & 1u) != 0u || s == PEER_CLOSED);
}

static void step_reset(struct run *r)
{
    struct owned *o = take_owned(r);
    uint32_t id = (o->id != 0u) ? o->id : take_stream(&r->f);
    h2_reset(&r->l->c, id, (enum h2_error)(fuzz_u8(&r->f) % 14u));
    o->ended = true;
    /* no event follows */
    if (h2_failure(&r->l->c, NULL) == STATUS_OK && id % 2u == 1u && id / 2u < SEEN_STREAMS &&
        r->l->seen[id / 2u] != SEEN_NOTHING) {
        r->l->seen[id / 2u] = SEEN_RESET;
    }
}

static void step_ping(struct run *r)
{
    enum status s = h2_ping(&r->l->c);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    CHECK(s != STATUS_OK || r->l->failed == STATUS_OK);
}

static void step_goaway(struct run *r)
{
    uint8_t n = fuzz_u8(&r->f);
    h2_goaway(&r->l->c, (enum h2_error)((n >> 1) % 14u), (n & 1u) != 0u);
}

static void step_tag(struct run *r)
{
    h2_set_tag(&r->l->c, take_stream(&r->f), fuzz_u8(&r->f));
}

/* --- runs --- */

static void run_script(struct run *r)
{
    static void (*const steps[STEPS])(struct run *) = {
        [STEP_RAW] = step_raw,           [STEP_FRAME] = step_frame,
        [STEP_CONTROL] = step_control,   [STEP_BLOCK] = step_block,
        [STEP_LITERALS] = step_literals, [STEP_DATA] = step_data,
        [STEP_TIME] = step_time,         [STEP_DRAIN] = step_drain,
        [STEP_OPEN] = step_open,         [STEP_HEADERS] = step_headers,
        [STEP_SEND] = step_send,         [STEP_RESET] = step_reset,
        [STEP_PING] = step_ping,         [STEP_GOAWAY] = step_goaway,
        [STEP_END] = step_end,           [STEP_TAG] = step_tag,
    };
    link_pump(r->l);
    while (fuzz_left(&r->f) > 0u) {
        steps[fuzz_u8(&r->f) % STEPS](r);
        CHECK(h2_valid(&r->l->c));
        if (!r->l->hold) {
            link_pump(r->l);
        }
    }
    r->l->hold = false;
    link_pump(r->l);
}

/* The first byte: whether output waits for steps that drain it, and the sizes of the memory. */
static struct link_size take_size(struct fuzz *f, enum h2_role role, bool *hold)
{
    static const struct link_size sizes[2][2] = {
        [H2_SERVER] = {{H2_SERVER_RX_BYTES, H2_SERVER_TX_BYTES, H2_SERVER_FIELD_BYTES,
                        H2_SERVER_STREAMS, H2_SERVER_WINDOW, H2_WINDOW_DEFAULT, HPACK_TABLE_BYTES},
                       {H2_RX_BYTES_MIN, H2_TX_BYTES_MIN, 64, 2, 100, H2_WINDOW_DEFAULT, 128}},
        [H2_CLIENT] = {{H2_CLIENT_RX_BYTES, H2_CLIENT_TX_BYTES, H2_CLIENT_FIELD_BYTES,
                        H2_CLIENT_STREAMS, H2_CLIENT_WINDOW, H2_CLIENT_CONNECTION_WINDOW, 0},
                       {H2_RX_BYTES_MIN, H2_TX_BYTES_MIN, 64, 2, 1, H2_WINDOW_DEFAULT, 0}},
    };
    uint8_t n = fuzz_u8(f);
    *hold = (n & 1u) != 0u;
    return sizes[role][n >> 1 & 1u];
}

/* Whether the windows that were told decide: their updates depend on the pieces. */
static bool flow_failed(const struct link *l)
{
    uint32_t code = 0;
    return h2_failure(&l->c, &code) != STATUS_OK && code == H2_FLOW_CONTROL_ERROR;
}

static int run_role(enum h2_role role, const uint8_t *data, size_t size)
{
    static struct link whole;
    static struct link cut;
    struct fuzz f = fuzz_of(data, size);
    bool hold = false;
    struct link_size sizes = take_size(&f, role, &hold);
    struct run first = {.l = &whole, .f = f, .cuts = fuzz_cuts_whole()};
    link_init(&whole, role, &sizes);
    whole.hold = hold;
    run_script(&first);
    if (hold) {
        return 0;
    }
    struct run second = {.l = &cut, .f = f, .cuts = fuzz_cuts_of(data, size, 1)};
    link_init(&cut, role, &sizes);
    run_script(&second);
    if (!flow_failed(&whole) && !flow_failed(&cut)) {
        CHECK(whole.failed == cut.failed && whole.sum.value == cut.sum.value);
        CHECK(whole.sent.sum.value == cut.sent.sum.value);
        CHECK(whole.sent.frames > 0u && whole.sent.left == 0u && whole.sent.have == 0u);
    }
    return 0;
}

#endif
