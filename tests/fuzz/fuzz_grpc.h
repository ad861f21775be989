/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC connections under a fuzzer: an owner that answers calls in every way there is, what was sent
 * on each stream, and a model of each request that says what the owner must be told. Owns the
 * invariants of src/wire/grpc.h that hold for every event; the scripts stand in the targets.
 */
#ifndef TESTS_FUZZ_GRPC_H
#define TESTS_FUZZ_GRPC_H

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_frame.h"
#include "wire/grpc.h"

#define MODEL_STREAMS 128u /* a script opens no more on one connection */
#define REPLY_BYTES 6000u

/* What the peer said on one stream, and what was sent on it. */
struct model {
    bool opened;
    bool in_order; /* POST, gRPC's content-type, path and time-out as they should be */
    bool timed;    /* it has a time-out, which may be 0 */
    bool ended;
    bool reset;
    bool told; /* a CALL event came */
    uint64_t octets;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    struct fuzz_sum message; /* of the octets behind the prefix */
    struct fuzz_sum sent;    /* header blocks and data, without the borders of DATA frames */
    bool sent_end;
};

/* An answer that is not complete. */
struct pending {
    struct grpc_call_id call; /* serial 0: free */
    unsigned kind;
    uint32_t len;
    uint32_t done;
    bool begun;
};

struct peer {
    struct grpc_server s;
    uint64_t now_ms;
    bool hold; /* the script drains the output */
    enum status failed;
    bool drained;
    bool late; /* time passed: a request may end by it */
    bool full; /* the rooms for whoever comes first were all taken once */
    struct fuzz_sum events;
    struct pending pending[H2_SERVER_STREAMS];
    struct model models[MODEL_STREAMS];
    unsigned streams;
    uint8_t head[FRAME_HEAD]; /* of the frame being sent */
    size_t have;
    uint32_t left;
};

static void peer_init(struct peer *p, struct grpc_buffers *buffers)
{
    p->now_ms = 1000;
    p->hold = false;
    p->failed = STATUS_OK;
    p->drained = false;
    p->late = false;
    p->full = false;
    p->events = fuzz_sum_of();
    memset(p->pending, 0, sizeof p->pending);
    memset(p->models, 0, sizeof p->models);
    p->streams = 0;
    p->have = 0;
    p->left = 0;
    for (unsigned i = 0; i < MODEL_STREAMS; i++) {
        p->models[i].message = fuzz_sum_of();
        p->models[i].sent = fuzz_sum_of();
    }
    grpc_init(&p->s, buffers, NULL, 0, p->now_ms);
}

static inline struct model *model_of(struct peer *p, uint32_t stream)
{
    uint32_t at = stream / 2u;
    return (stream % 2u == 1u && at < p->streams) ? &p->models[at] : NULL;
}

/* --- what was sent --- */

FUZZ_UNSEEN static inline void peer_sent(struct peer *p, uint8_t octet)
{
    bool payload = p->left > 0u;
    if (payload) {
        p->left--;
    } else {
        p->head[p->have] = octet;
        p->have = (p->have + 1u) % FRAME_HEAD;
        if (p->have > 0u) {
            return;
        }
        p->left = (uint32_t)p->head[0] << 16 | (uint32_t)p->head[1] << 8 | p->head[2];
    }
    struct model *m = model_of(p, (uint32_t)p->head[7] << 8 | p->head[8]);
    if (m == NULL || p->head[3] > 1u) {
        return;
    }
    if (payload) {
        fuzz_sum_bytes(&m->sent, &octet, 1);
    }
    CHECK(!m->sent_end); /* nothing behind the end of a stream */
    m->sent_end = p->left == 0u && (p->head[4] & 1u) != 0u;
}

FUZZ_UNSEEN static inline void peer_drain(struct peer *p, size_t n)
{
    struct view out = view_first(h2_tx_data(&p->s.h2), n);
    for (size_t i = 0; i < out.len; i++) {
        peer_sent(p, out.data[i]);
    }
    if (out.len > 0u) {
        h2_tx_commit(&p->s.h2, out.len);
    }
}

/* --- the owner --- */

static const uint8_t reply[REPLY_BYTES];

static inline enum status answer_in_pieces(struct peer *p, struct pending *a)
{
    enum status s = STATUS_OK;
    if (!a->begun) {
        s = grpc_reply_begin(&p->s, a->call, a->len);
        a->begun = s == STATUS_OK;
    }
    while (s == STATUS_OK && a->done < a->len) {
        size_t taken = 0;
        uint32_t n = (a->len - a->done < 1000u) ? a->len - a->done : 1000u;
        s = grpc_reply_bytes(&p->s, a->call, view_of(reply, n), &taken);
        CHECK(taken <= n);
        a->done += (uint32_t)taken;
        s = (s == STATUS_OK && taken == 0u) ? STATUS_MORE : s;
    }
    return s == STATUS_OK ? grpc_finish(&p->s, a->call, GRPC_OK, NULL) : s;
}

static inline void answer(struct peer *p, struct pending *a)
{
    enum status s = STATUS_OK;
    if (a->kind == 0u) {
        s = grpc_reply_all(&p->s, a->call, view_of(reply, a->len));
    } else if (a->kind == 1u) {
        s = grpc_finish(&p->s, a->call, GRPC_NOT_FOUND, "100 % of \xc3\xbc\n");
    } else if (a->kind == 2u) {
        s = answer_in_pieces(p, a);
    } else if (a->kind == 3u) {
        s = grpc_finish(&p->s, a->call, GRPC_OK, NULL);
    } else {
        return; /* none, until the peer or time ends it */
    }
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    if (s == STATUS_OK) {
        CHECK(!grpc_call_alive(&p->s, a->call));
        a->call.serial = 0;
    }
}

static inline void answer_all(struct peer *p)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (p->pending[i].call.serial != 0u) {
            answer(p, &p->pending[i]);
        }
    }
}

/* --- events --- */

/* The message is what the peer sent, whole, with a true prefix (I1, I2). */
static inline void check_call(struct peer *p, const struct grpc_event *e)
{
    struct model *m = model_of(p, p->s.calls[e->call.index].stream);
    struct fuzz_sum message = fuzz_sum_of();
    fuzz_sum_bytes(&message, e->message.data, e->message.len);
    CHECK(e->message.len <= (p->s.buffers != NULL ? GRPC_MESSAGE_BYTES_MAX : GRPC_SMALL_BYTES));
    CHECK(m != NULL);
    CHECK(!m->told && m->in_order && m->ended);
    CHECK(m->octets == GRPC_PREFIX_BYTES + e->message.len && m->prefix[0] == 0u);
    CHECK(message.value == m->message.value);
    m->told = true;
}

static inline void on_call(struct peer *p, const struct grpc_event *e, bool modelled)
{
    struct pending *a = &p->pending[e->call.index];
    CHECK(e->call.serial != 0u && grpc_call_alive(&p->s, e->call));
    CHECK(a->call.serial != e->call.serial);
    if (modelled) {
        check_call(p, e);
    }
    fuzz_sum_view(&p->events, e->path);
    fuzz_sum_view(&p->events, e->message);
    uint32_t sum = (uint32_t)e->message.len;
    for (size_t i = 0; i < e->message.len && i < 4u; i++) {
        sum += e->message.data[i];
    }
    *a = (struct pending){.call = e->call, .kind = sum % 5u, .len = sum * 37u % REPLY_BYTES};
    answer(p, a);
}

static inline void on_end(struct peer *p, const struct grpc_event *e)
{
    struct pending *a = &p->pending[e->call.index];
    CHECK(a->call.serial == e->call.serial && !grpc_call_alive(&p->s, e->call));
    fuzz_sum_u64(&p->events, (uint64_t)e->kind << 32 | e->call.serial);
    a->call.serial = 0;
    /* answers that come too late */
    size_t taken = 1;
    CHECK(grpc_reply_all(&p->s, e->call, view_of(reply, 1)) == PEER_CLOSED);
    CHECK(grpc_reply_begin(&p->s, e->call, 1) == PEER_CLOSED);
    CHECK(grpc_reply_bytes(&p->s, e->call, view_of(reply, 1), &taken) == PEER_CLOSED);
    CHECK(taken == 0u && grpc_finish(&p->s, e->call, GRPC_OK, NULL) == STATUS_OK);
}

static inline void on_event(struct peer *p, const struct grpc_event *e, bool modelled)
{
    CHECK(p->failed == STATUS_OK);
    if (e->kind == GRPC_EVENT_CALL) {
        on_call(p, e, modelled);
    } else if (e->kind == GRPC_EVENT_WRITABLE) {
        answer_all(p);
    } else {
        CHECK(e->kind == GRPC_EVENT_GONE || e->kind == GRPC_EVENT_DEADLINE);
        on_end(p, e);
    }
    CHECK(grpc_valid(&p->s));
}

static inline void note_rooms(struct peer *p)
{
    const struct grpc_buffers *all = p->s.buffers;
    p->full = p->full || (all != NULL && all->taken + GRPC_SHARES >= all->holders + GRPC_BUFFERS);
}

static inline void peer_pump(struct peer *p, bool modelled)
{
    struct grpc_event e;
    enum status s = STATUS_OK;
    bool again = true;
    while (again) {
        s = grpc_next(&p->s, p->now_ms, &e);
        while (s == STATUS_OK) {
            on_event(p, &e, modelled);
            note_rooms(p);
            s = grpc_next(&p->s, p->now_ms, &e);
        }
        note_rooms(p);
        again = !p->hold && h2_tx_data(&p->s.h2).len > 0u;
        if (again) {
            peer_drain(p, SIZE_MAX);
        }
    }
    CHECK(grpc_valid(&p->s) && h2_valid(&p->s.h2));
    CHECK(grpc_calls_open(&p->s) <= H2_SERVER_STREAMS);
    if (s != STATUS_MORE) {
        CHECK(p->failed == STATUS_OK || p->failed == s);
        CHECK(grpc_calls_open(&p->s) == 0u && grpc_next(&p->s, p->now_ms, &e) == s);
        p->failed = s;
    } else {
        CHECK(p->failed == STATUS_OK && grpc_deadline(&p->s) >= p->now_ms);
    }
}

static inline void peer_receive(struct peer *p, struct view bytes, struct fuzz_cuts *cuts,
                                bool modelled)
{
    bool going = true;
    while (going && bytes.len > 0u) {
        struct writer room = h2_rx_space(&p->s.h2);
        size_t n = fuzz_cut(cuts, bytes.len);
        n = (n < room.cap) ? n : room.cap;
        if (n > 0u) {
            memcpy(room.data, bytes.data, n);
            h2_rx_commit(&p->s.h2, n);
            bytes = view_from(bytes, n);
            peer_pump(p, modelled);
        }
        going = n > 0u;
    }
}

static inline void peer_time(struct peer *p, uint64_t ms, bool modelled)
{
    p->now_ms += ms;
    p->late = p->late || ms > 0u;
    peer_pump(p, modelled);
}

/* --- what the peer sends --- */

/* Preface, SETTINGS and the acknowledgement of ours. */
static inline void write_preface(struct writer *w)
{
    writer_text(w, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame_head(w, 0, 4, 0, 0);
    frame_head(w, 0, 4, 1, 0);
}

#define HEAD_GET 1u /* bits of the choice below */
#define HEAD_TYPE 2u
#define HEAD_PATH 4u
#define HEAD_TIMEOUT 8u
#define HEAD_SHORT 16u /* a time-out in order, in the unit that the upper bits choose */

/* The header list of a request; `choice` says what is wrong with it. */
static inline void write_request(struct writer *w, uint32_t stream, uint8_t choice, bool end)
{
    uint8_t block[512];
    struct writer b = writer_of(block, sizeof block);
    char path[120];
    memset(path, 'p', sizeof path);
    path[0] = '/';
    size_t len = (choice & HEAD_PATH) != 0u ? sizeof path : 1u + (choice >> 5);
    bool wrong = (choice & HEAD_TYPE) != 0u;
    hpack_encode(&b, view_text(":method"), view_text((choice & HEAD_GET) != 0u ? "GET" : "POST"),
                 false);
    hpack_encode(&b, view_text(":scheme"), view_text("http"), false);
    hpack_encode(&b, view_text(":path"), view_of(path, len), false);
    hpack_encode(&b, view_text("content-type"),
                 view_text(wrong ? "application/json" : "application/grpc;a=b"), false);
    if ((choice & (HEAD_TIMEOUT | HEAD_SHORT)) != 0u) {
        static const char *const good[] = {"900m",    "1S",        "1M", "1H",
                                           "900000u", "99999999n", "0m", "99999999H"};
        static const char *const bad[] = {"1x", "", "m", "123456789m", "-1m", "1", "1 m", "1mm"};
        hpack_encode(&b, view_text("grpc-timeout"),
                     view_text(((choice & HEAD_TIMEOUT) != 0u ? bad : good)[choice >> 5]), false);
    }
    CHECK(!b.full);
    frame_head(w, b.len, 1, end ? 5 : 4, stream);
    writer_append(w, writer_view(&b));
}

#endif
