/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several gRPC connections in one process, with the rooms for long messages that they share, under
 * a script of octets, time and output. Checks of src/wire/grpc.h: I7, and I4 to I6 for peers that
 * keep no order: each connection is run once more alone, with the steps that were its own, and must
 * tell and send the same unless the shared rooms were ever used up.
 *
 * Input: a script: octets of several gRPC clients, time, output that waits
 */
#include "tests/fuzz/fuzz_grpc.h"

#define LINKS 3u
#define TEXT_BYTES 4200u

enum step {
    STEP_RAW,
    STEP_FRAME,
    STEP_REQUEST,
    STEP_MESSAGE,
    STEP_LONG,
    STEP_TIME,
    STEP_OUTPUT,
    STEP_END,
    STEP_DRAIN,
    STEP_PREFACE,
    STEPS
};

static struct peer together[LINKS];
static struct peer alone;
static struct grpc_buffers shared;
static struct grpc_buffers own;

/* The peers of a run: all of them, or one whose steps alone count. */
struct run {
    struct fuzz f;
    unsigned only; /* LINKS: all */
};

static struct peer *peer_at(const struct run *r, unsigned at)
{
    return r->only == LINKS ? &together[at] : (r->only == at) ? &alone : NULL;
}

static void receive(struct peer *p, const struct writer *w)
{
    struct fuzz_cuts whole = fuzz_cuts_whole();
    if (p != NULL) {
        CHECK(!w->full);
        peer_receive(p, writer_view(w), &whole, false);
    }
}

/* What a step of octets says; the input is read the same whether the peer takes part or not. */
static void write_step(struct fuzz *f, enum step step, struct writer *w)
{
    uint8_t stream = fuzz_u8(f);
    uint8_t choice = fuzz_u8(f);
    struct view text =
        (step == STEP_LONG || step == STEP_PREFACE) ? view_of(NULL, 0) : fuzz_text(f);
    if (step == STEP_RAW) {
        writer_append(w, text);
    } else if (step == STEP_FRAME) {
        frame_head(w, text.len, choice >> 4, choice & 15u, stream);
        writer_append(w, text);
    } else if (step == STEP_REQUEST) {
        write_request(w, stream | 1u, choice, false);
    } else if (step == STEP_MESSAGE) {
        frame_head(w, GRPC_PREFIX_BYTES + text.len, 0, choice & 1u, stream | 1u);
        writer_u8(w, 0);
        writer_u32(w, (uint32_t)text.len);
        writer_append(w, text);
    } else if (step == STEP_LONG) {
        frame_head(w, GRPC_PREFIX_BYTES + 16u * choice, 0, 0, stream | 1u);
        writer_u8(w, 0);
        writer_u32(w, 300u + 16u * choice);
        for (unsigned i = 0; i < 16u * (unsigned)choice; i++) {
            writer_u8(w, (uint8_t)i);
        }
    } else {
        write_preface(w);
    }
}

static void time_step(const struct run *r, uint64_t ms)
{
    for (unsigned i = 0; i < LINKS; i++) {
        struct peer *p = peer_at(r, i);
        if (p != NULL) {
            peer_time(p, ms, false);
        }
    }
}

static void other_step(struct peer *p, enum step step, uint8_t n)
{
    if (p == NULL) {
        return;
    }
    if (step == STEP_OUTPUT) {
        peer_drain(p, (size_t)n * 16u + 1u);
    } else if (step == STEP_END) {
        h2_rx_end(&p->s.h2);
    } else {
        grpc_drain(&p->s);
    }
    peer_pump(p, false);
}

static void run_script(struct run *r)
{
    static uint8_t bytes[TEXT_BYTES];
    while (fuzz_left(&r->f) > 0u) {
        uint8_t n = fuzz_u8(&r->f);
        struct peer *p = peer_at(r, (n >> 4) % LINKS);
        enum step step = (enum step)((n & 15u) % STEPS);
        if (step == STEP_TIME) {
            time_step(r, (uint64_t)fuzz_u8(&r->f) * 100u);
        } else if (step == STEP_OUTPUT || step == STEP_END || step == STEP_DRAIN) {
            other_step(p, step, fuzz_u8(&r->f));
        } else {
            struct writer w = writer_of(bytes, sizeof bytes);
            write_step(&r->f, step, &w);
            receive(p, &w);
        }
    }
}

static void init(struct peer *p, struct grpc_buffers *rooms, bool hold)
{
    peer_init(p, rooms);
    p->streams = MODEL_STREAMS;
    p->hold = hold;
}

static void empty(struct grpc_buffers *rooms)
{
    rooms->holders = 0;
    rooms->taken = 0;
    for (unsigned i = 0; i < GRPC_BUFFERS; i++) {
        rooms->buffers[i].taken = false;
    }
}

static bool any_full(void)
{
    return together[0].full || together[1].full || together[2].full;
}

static void check_same(const struct peer *a, const struct peer *b)
{
    CHECK(a->failed == b->failed && a->events.value == b->events.value);
    CHECK(view_equal(h2_tx_data(&a->s.h2), h2_tx_data(&b->s.h2)));
    for (unsigned i = 0; i < MODEL_STREAMS; i++) {
        CHECK(a->models[i].sent.value == b->models[i].sent.value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = fuzz_of(data, size);
    bool hold = (fuzz_u8(&f) & 1u) != 0u;
    struct run all = {.f = f, .only = LINKS};
    empty(&shared);
    for (unsigned i = 0; i < LINKS; i++) {
        /* the last one is a socket that strangers reach: it gets no room for long messages */
        init(&together[i], (i == LINKS - 1u) ? NULL : &shared, hold);
    }
    run_script(&all);
    for (unsigned i = 0; i < LINKS && !any_full(); i++) {
        struct run one = {.f = f, .only = i};
        empty(&own);
        init(&alone, (i == LINKS - 1u) ? NULL : &own, hold);
        run_script(&one);
        check_same(&together[i], &alone);
    }
    return 0;
}
