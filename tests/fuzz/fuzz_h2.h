/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/2 connection under a fuzzer: its memory, octets in by pieces, output out by pieces, and
 * the invariants of src/wire/h2.h that hold for every event and every octet sent. Owns no script:
 * fuzz_h2_script.h does.
 */
#ifndef TESTS_FUZZ_H2_H
#define TESTS_FUZZ_H2_H

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_frame.h"
#include "wire/h2.h"

#define SEEN_STREAMS 2048u /* ids 1, 3, … below twice this are followed event by event */
#define OWNED_STREAMS 64u

/* Where a stream's events stand: `seen` of struct link. */
enum { SEEN_NOTHING, SEEN_FIELD, SEEN_HEAD, SEEN_TRAILER, SEEN_END, SEEN_RESET };

/* What the owner may still send on a stream. */
struct owned {
    uint32_t id;
    bool head_sent;
    bool ended;
};

/* A parser of what was sent, frame by frame. */
struct sent {
    uint8_t head[FRAME_HEAD];
    size_t have;      /* octets of `head` */
    uint32_t left;    /* octets of the payload still to come */
    uint32_t preface; /* octets of the client's preface still to come */
    uint64_t frames;
    bool first_seen;
    bool over;           /* the connection failed, and all that was left is sent */
    bool counted;        /* this frame's octets belong into the sum */
    struct fuzz_sum sum; /* of all frames but WINDOW_UPDATE, whose sizes depend on the pieces */
    uint64_t granted;    /* sum of the increments of WINDOW_UPDATE */
    uint32_t increment;
};

struct link {
    struct h2 c;
    struct h2_stream streams[H2_CLIENT_STREAMS]; /* those of either role */
    _Static_assert(H2_CLIENT_STREAMS >= H2_SERVER_STREAMS, "enough for either role");
    uint8_t rx[H2_CLIENT_RX_BYTES];
    uint8_t tx[H2_CLIENT_TX_BYTES];
    uint8_t field[H2_CLIENT_FIELD_BYTES];
    uint8_t scratch[H2_CLIENT_FIELD_BYTES];
    bool hold; /* the script drains the output, not every step */
    uint64_t now_ms;
    uint64_t octets_in;
    uint64_t events;
    uint64_t commits;
    uint64_t opened;      /* by the owner */
    enum status failed;   /* what h2_next said first that was neither OK nor MORE */
    uint32_t data_stream; /* of the last event, when it was DATA */
    struct fuzz_sum sum;  /* of all events but WRITABLE; DATA as one run of octets */
    uint8_t seen[SEEN_STREAMS];
    struct owned owned[OWNED_STREAMS];
    unsigned owned_next;
    struct sent sent;
};

/* --- life --- */

struct link_size {
    size_t rx;
    size_t tx;
    size_t field;
    unsigned streams;
    uint32_t window;
    uint32_t connection_window;
    uint32_t table;
};

static void link_init(struct link *l, enum h2_role role, const struct link_size *size)
{
    struct h2_memory memory = {
        .rx = l->rx,
        .rx_cap = size->rx,
        .tx = l->tx,
        .tx_cap = size->tx,
        .field = l->field,
        .field_cap = size->field,
        .scratch = l->scratch,
        .scratch_cap = size->field,
        .streams = l->streams,
        .streams_cap = size->streams,
        .window = size->window,
        .connection_window = size->connection_window,
        .table_size = size->table,
    };
    l->hold = false;
    l->now_ms = 1000;
    l->octets_in = 0;
    l->events = 0;
    l->commits = 0;
    l->opened = 0;
    l->failed = STATUS_OK;
    l->data_stream = 0;
    l->sum = fuzz_sum_of();
    memset(l->seen, SEEN_NOTHING, sizeof l->seen);
    memset(l->owned, 0, sizeof l->owned);
    l->owned_next = 0;
    memset(&l->sent, 0, sizeof l->sent);
    l->sent.preface = (role == H2_CLIENT) ? 24u : 0u;
    l->sent.sum = fuzz_sum_of();
    h2_init(&l->c, role, &memory, l->now_ms);
}

/* --- streams that the owner may send on --- */

static inline struct owned *owned_find(struct link *l, uint32_t id)
{
    for (unsigned i = 0; i < OWNED_STREAMS; i++) {
        if (l->owned[i].id == id) {
            return &l->owned[i];
        }
    }
    return NULL;
}

static inline void owned_add(struct link *l, uint32_t id)
{
    if (owned_find(l, id) == NULL) {
        l->owned[l->owned_next % OWNED_STREAMS] = (struct owned){.id = id};
        l->owned_next++;
    }
}

/* --- events (I2: order of a stream's events; I8: their number) --- */

FUZZ_UNSEEN static inline void seen_step(struct link *l, uint32_t id, unsigned allowed, uint8_t now)
{
    if (id / 2u >= SEEN_STREAMS) {
        return;
    }
    CHECK((allowed & 1u << l->seen[id / 2u]) != 0u);
    l->seen[id / 2u] = now;
}

/* I2: what RFC 9113 §8.2.1 forbids in names and values is never told. */
FUZZ_UNSEEN static inline void check_field(const struct h2_event *e)
{
    CHECK(e->name.len > 0u && !e->end_stream);
    for (size_t i = 0; i < e->name.len; i++) {
        uint8_t c = e->name.data[i];
        CHECK(c > ' ' && c < 0x7fu && (c < 'A' || c > 'Z') && (c != ':' || i == 0u));
    }
    for (size_t i = 0; i < e->value.len; i++) {
        uint8_t c = e->value.data[i];
        CHECK(c != 0u && c != '\r' && c != '\n');
    }
}

FUZZ_UNSEEN static inline void check_order(struct link *l, const struct h2_event *e)
{
    unsigned none = 1u << SEEN_NOTHING;
    unsigned field = 1u << SEEN_FIELD;
    unsigned head = 1u << SEEN_HEAD;
    unsigned trailer = 1u << SEEN_TRAILER;
    uint8_t after = e->end_stream ? SEEN_END : SEEN_HEAD;
    if (e->kind == H2_EVENT_FIELD) {
        check_field(e);
        seen_step(l, e->stream, e->trailers ? head | trailer : none | field,
                  e->trailers ? SEEN_TRAILER : SEEN_FIELD);
    } else if (e->kind == H2_EVENT_HEADERS_END) {
        CHECK(!e->trailers || e->end_stream);
        seen_step(l, e->stream, e->trailers ? head | trailer : field, after);
    } else if (e->kind == H2_EVENT_DATA) {
        CHECK(e->data.len > 0u || e->end_stream);
        seen_step(l, e->stream, head, after);
    } else if (e->kind == H2_EVENT_RESET) {
        seen_step(l, e->stream, ~(1u << SEEN_RESET), SEEN_RESET);
    } else {
        CHECK(e->stream == 0u);
    }
}

FUZZ_UNSEEN static inline void sum_event(struct link *l, const struct h2_event *e)
{
    if (e->kind == H2_EVENT_WRITABLE) {
        return;
    }
    if (e->kind != H2_EVENT_DATA || l->data_stream != e->stream) {
        fuzz_sum_u64(&l->sum, e->kind);
        fuzz_sum_u64(&l->sum, (uint64_t)e->stream << 32 | e->tag);
    }
    l->data_stream = (e->kind == H2_EVENT_DATA) ? e->stream : 0u;
    if (e->kind == H2_EVENT_FIELD) {
        fuzz_sum_view(&l->sum, e->name);
        fuzz_sum_view(&l->sum, e->value);
    }
    if (e->kind == H2_EVENT_DATA) {
        fuzz_sum_bytes(&l->sum, e->data.data, e->data.len);
    } else {
        fuzz_sum_u64(&l->sum, (uint64_t)e->code << 32 | e->last_stream);
    }
    if (e->end_stream || e->kind != H2_EVENT_DATA) {
        fuzz_sum_u64(&l->sum, (e->end_stream ? 2u : 0u) | (e->trailers ? 1u : 0u));
    }
}

FUZZ_UNSEEN static inline void link_event(struct link *l, const struct h2_event *e)
{
    CHECK(e->kind <= H2_EVENT_WRITABLE);
    CHECK(l->failed == STATUS_OK);
    check_order(l, e);
    sum_event(l, e);
    if (e->kind != H2_EVENT_WRITABLE) {
        l->events++;
    }
    /* Each event takes an octet at least, or ends a stream, which took more than one. */
    CHECK(l->events <= l->octets_in + l->opened);
    if (e->kind == H2_EVENT_HEADERS_END && !e->trailers && l->c.role == H2_SERVER) {
        owned_add(l, e->stream);
    }
    struct owned *o = owned_find(l, e->stream);
    if (o != NULL && e->kind == H2_EVENT_RESET) {
        o->ended = true;
    }
}

/* --- output (I3) --- */

/* A frame header is complete: what holds for each frame that we send. */
FUZZ_UNSEEN static inline void sent_head(struct link *l)
{
    static const uint8_t rules[] = {0, 0, 4, 4, 0xff, 0xff, 8, 8, 4, 0xff};
    struct sent *s = &l->sent;
    struct reader r = reader_of(view_of(s->head, FRAME_HEAD));
    uint16_t high = 0;
    uint8_t low = 0;
    uint8_t type = 0;
    uint8_t flags = 0;
    uint32_t stream = 0;
    CHECK(reader_u16(&r, &high) == STATUS_OK && reader_u8(&r, &low) == STATUS_OK &&
          reader_u8(&r, &type) == STATUS_OK && reader_u8(&r, &flags) == STATUS_OK &&
          reader_u32(&r, &stream) == STATUS_OK);
    uint32_t length = ((uint32_t)high << 8) + low;
    CHECK(!s->over && length <= H2_FRAME_MAX && type <= 8u && type != 2u && type != 5u);
    CHECK(rules[type] == 0xffu || rules[type] == 0u || rules[type] == length);
    CHECK(s->first_seen || (type == 4u && flags == 0u));
    bool connection = type == 4u || type == 6u || type == 7u;
    CHECK(connection ? stream == 0u : stream != 0u || type == 8u);
    s->first_seen = true;
    s->counted = type != 8u;
    s->left = length;
    s->increment = 0;
    s->frames++;
    if (s->counted) {
        fuzz_sum_bytes(&s->sum, s->head, FRAME_HEAD);
    }
}

FUZZ_UNSEEN static inline void sent_octet(struct link *l, uint8_t octet)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct sent *s = &l->sent;
    if (s->preface > 0u) {
        CHECK(octet == (uint8_t)preface[24u - s->preface]);
        s->preface--;
    } else if (s->left > 0u) {
        s->left--;
        s->increment = s->increment << 8 | octet;
        if (s->counted) {
            fuzz_sum_bytes(&s->sum, &octet, 1);
        } else if (s->left == 0u) {
            CHECK(s->increment > 0u && s->increment <= INT32_MAX);
            s->granted += s->increment;
        }
    } else {
        s->head[s->have] = octet;
        s->have = (s->have + 1u) % FRAME_HEAD;
        if (s->have == 0u) {
            sent_head(l);
        }
    }
}

/* Sends at most `n` octets. */
static inline void link_drain(struct link *l, size_t n)
{
    struct view out = view_first(h2_tx_data(&l->c), n);
    if (out.len == 0u) {
        return;
    }
    for (size_t i = 0; i < out.len; i++) {
        sent_octet(l, out.data[i]);
    }
    h2_tx_commit(&l->c, out.len);
    l->commits++;
}

/* --- steps --- */

/* Takes events until there are none; sends all output unless the script does. */
static inline void link_pump(struct link *l)
{
    struct h2_event e;
    enum status s = STATUS_OK;
    bool again = true;
    while (again) {
        s = h2_next(&l->c, &e);
        while (s == STATUS_OK) {
            link_event(l, &e);
            s = h2_next(&l->c, &e);
        }
        CHECK(h2_tx_data(&l->c).len <= l->c.mem.tx_cap && h2_valid(&l->c));
        again = !l->hold && h2_tx_data(&l->c).len > 0u;
        if (again) {
            link_drain(l, SIZE_MAX);
        }
    }
    if (s == STATUS_MORE) {
        CHECK(l->failed == STATUS_OK);
        return;
    }
    /* I4: the first failure stays, and nothing is read any more. */
    uint32_t code = 0;
    CHECK(l->failed == STATUS_OK || l->failed == s);
    CHECK(h2_failure(&l->c, &code) == s && h2_next(&l->c, &e) == s);
    CHECK(h2_streams_open(&l->c) == 0u);
    l->failed = s;
    l->sent.over = h2_tx_data(&l->c).len == 0u;
}

/* Receives one piece; what there is no room for is lost with the connection or waits in vain. */
static inline bool link_piece(struct link *l, struct view *bytes, size_t n)
{
    struct writer room = h2_rx_space(&l->c);
    n = (n < room.cap) ? n : room.cap;
    if (n == 0u) {
        return false;
    }
    CHECK(room.len == 0u && room.data != NULL);
    memcpy(room.data, bytes->data, n);
    h2_rx_commit(&l->c, n);
    l->octets_in += n;
    l->commits++;
    *bytes = view_from(*bytes, n);
    link_pump(l);
    return true;
}

static inline void link_receive(struct link *l, struct view bytes, struct fuzz_cuts *cuts)
{
    while (bytes.len > 0u && link_piece(l, &bytes, fuzz_cut(cuts, bytes.len))) {
    }
}

/* I9 */
static inline void link_time(struct link *l, uint64_t ms)
{
    l->now_ms += ms;
    h2_set_time(&l->c, l->now_ms);
    if (h2_failure(&l->c, NULL) == STATUS_OK) {
        CHECK(h2_deadline(&l->c) > l->now_ms);
    }
    link_pump(l);
}

#endif
