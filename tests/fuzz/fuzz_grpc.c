/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC requests on one connection whose frames are in order: calls, messages in pieces of every
 * size, true and false prefixes, cancellation, time, output that waits. Checks of src/wire/grpc.h:
 * I1 to I6.
 *
 * Input: a script: gRPC calls of one client, whole or cut, time, output that waits
 */
#include "tests/fuzz/fuzz_grpc.h"

#define FILL_BYTES 4096u
#define STREAM_OCTETS_MAX 30000u /* below the window that a stream has at its begin */

enum step {
    STEP_CALL,
    STEP_MESSAGE,
    STEP_OCTETS,
    STEP_FILL,
    STEP_END,
    STEP_CANCEL,
    STEP_TIME,
    STEP_OUTPUT,
    STEP_DRAIN,
    STEP_WINDOW,
    STEPS
};

struct run {
    struct peer *p;
    struct fuzz f;
    struct fuzz_cuts cuts;
};

static void receive(struct run *r, const struct writer *w)
{
    CHECK(!w->full);
    peer_receive(r->p, writer_view(w), &r->cuts, true);
}

/* --- the model --- */

static void model_data(struct model *m, struct view data, bool end)
{
    for (size_t i = 0; i < data.len; i++) {
        if (m->octets < GRPC_PREFIX_BYTES) {
            m->prefix[m->octets] = data.data[i];
        } else {
            fuzz_sum_bytes(&m->message, &data.data[i], 1);
        }
        m->octets++;
    }
    m->ended = m->ended || end;
}

static uint32_t told_length(const struct model *m)
{
    struct reader r = reader_of(view_of(m->prefix + 1, 4));
    uint32_t length = 0;
    return reader_u32(&r, &length) == STATUS_OK ? length : UINT32_MAX;
}

/* Whether the owner must have been told, as far as nothing but the request decides. */
static bool must_tell(const struct model *m)
{
    bool whole = m->octets >= GRPC_PREFIX_BYTES && m->prefix[0] == 0u &&
                 told_length(m) == m->octets - GRPC_PREFIX_BYTES;
    bool untroubled = m->in_order && !m->timed && !m->reset;
    return untroubled && m->ended && whole && told_length(m) <= GRPC_SMALL_BYTES;
}

static void check_told(const struct peer *p)
{
    if (p->failed != STATUS_OK || p->late || p->drained) {
        return;
    }
    for (unsigned i = 0; i < p->streams; i++) {
        CHECK(!must_tell(&p->models[i]) || p->models[i].told || i >= H2_SERVER_STREAMS);
    }
}

/* --- steps --- */

static void step_call(struct run *r)
{
    uint8_t bytes[700];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct peer *p = r->p;
    uint8_t choice = fuzz_u8(&r->f);
    if (p->streams == MODEL_STREAMS) {
        return;
    }
    struct model *m = &p->models[p->streams];
    uint8_t wrong = HEAD_GET | HEAD_TYPE | HEAD_PATH | HEAD_TIMEOUT;
    m->opened = true;
    m->in_order = (choice & wrong) == 0u;
    m->timed = (choice & HEAD_SHORT) != 0u;
    p->streams++;
    write_request(&w, p->streams * 2u - 1u, choice, false);
    receive(r, &w);
}

/* DATA on one of the streams that still may carry some. */
static void send_data(struct run *r, uint8_t pick, struct view data, bool end)
{
    static uint8_t bytes[FILL_BYTES + 512u];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct peer *p = r->p;
    if (p->streams == 0u) {
        return;
    }
    unsigned at = p->streams - 1u - pick % p->streams;
    struct model *m = &p->models[at];
    if (m->ended || m->reset || m->octets + data.len > STREAM_OCTETS_MAX) {
        return;
    }
    model_data(m, data, end);
    frame_head(&w, data.len, 0, end ? 1 : 0, at * 2u + 1u);
    writer_append(&w, data);
    receive(r, &w);
}

/* A whole message; its prefix is true but for the highest bits of the choice. */
static void step_message(struct run *r)
{
    uint8_t bytes[GRPC_PREFIX_BYTES + 255u];
    struct writer w = writer_of(bytes, sizeof bytes);
    uint8_t pick = fuzz_u8(&r->f);
    uint8_t choice = fuzz_u8(&r->f);
    struct view data = fuzz_text(&r->f);
    writer_u8(&w, choice >> 6);
    writer_u32(&w, (uint32_t)data.len + ((choice & 0x20u) != 0u ? 1u : 0u));
    writer_append(&w, data);
    send_data(r, pick, writer_view(&w), (choice & 1u) != 0u);
}

static void step_octets(struct run *r)
{
    uint8_t pick = fuzz_u8(&r->f);
    struct view data = fuzz_text(&r->f);
    send_data(r, pick, data, false);
}

static void step_fill(struct run *r)
{
    static const uint8_t zeros[FILL_BYTES];
    uint8_t pick = fuzz_u8(&r->f);
    uint8_t n = fuzz_u8(&r->f);
    send_data(r, pick, view_of(zeros, (size_t)(n + 1u) * 16u), false);
}

static void step_end(struct run *r)
{
    uint8_t pick = fuzz_u8(&r->f);
    send_data(r, pick, view_of(NULL, 0), true);
}

static void step_cancel(struct run *r)
{
    uint8_t bytes[13];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct peer *p = r->p;
    uint8_t pick = fuzz_u8(&r->f);
    if (p->streams == 0u || p->models[pick % p->streams].reset) {
        return;
    }
    p->models[pick % p->streams].reset = true;
    frame_head(&w, 4, 3, 0, pick % p->streams * 2u + 1u);
    writer_u32(&w, H2_CANCEL);
    receive(r, &w);
}

static void step_time(struct run *r)
{
    peer_time(r->p, (uint64_t)fuzz_u8(&r->f) * 50u, true);
}

static void step_output(struct run *r)
{
    peer_drain(r->p, (size_t)fuzz_u8(&r->f) * 8u + 1u);
    peer_pump(r->p, true);
}

static void step_drain(struct run *r)
{
    r->p->drained = true;
    grpc_drain(&r->p->s);
}

/* More window for our answers. */
static void step_window(struct run *r)
{
    uint8_t bytes[13];
    struct writer w = writer_of(bytes, sizeof bytes);
    uint8_t n = fuzz_u8(&r->f);
    frame_head(&w, 4, 8, 0, 0);
    writer_u32(&w, 1u + n * 256u);
    receive(r, &w);
}

/* --- runs --- */

static void run_script(struct run *r)
{
    static void (*const steps[STEPS])(struct run *) = {
        [STEP_CALL] = step_call,     [STEP_MESSAGE] = step_message, [STEP_OCTETS] = step_octets,
        [STEP_FILL] = step_fill,     [STEP_END] = step_end,         [STEP_CANCEL] = step_cancel,
        [STEP_TIME] = step_time,     [STEP_OUTPUT] = step_output,   [STEP_DRAIN] = step_drain,
        [STEP_WINDOW] = step_window,
    };
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    write_preface(&w);
    receive(r, &w);
    while (fuzz_left(&r->f) > 0u) {
        steps[fuzz_u8(&r->f) % STEPS](r);
        if (!r->p->hold) {
            peer_pump(r->p, true);
            check_told(r->p);
        }
    }
    r->p->hold = false;
    peer_pump(r->p, true);
}

/* Gives back what calls of the connection hold, as its end does: nothing stays taken (I4). */
static void finish(struct run *r, const struct grpc_buffers *rooms)
{
    h2_rx_end(&r->p->s.h2);
    peer_pump(r->p, true);
    CHECK(r->p->failed != STATUS_OK);
    for (unsigned i = 0; i < GRPC_BUFFERS; i++) {
        CHECK(!rooms->buffers[i].taken);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct grpc_buffers rooms[2];
    static struct peer peers[2];
    struct fuzz f = fuzz_of(data, size);
    uint8_t kind = fuzz_u8(&f);
    struct run runs[2] = {
        {.p = &peers[0], .f = f, .cuts = fuzz_cuts_whole()},
        {.p = &peers[1], .f = f, .cuts = fuzz_cuts_of(data, size, 1)},
    };
    unsigned count = (kind & 1u) != 0u ? 1u : 2u; /* held output goes in other pieces */
    for (unsigned i = 0; i < count; i++) {
        rooms[i].holders = 0;
        rooms[i].taken = 0;
        for (unsigned k = 0; k < GRPC_BUFFERS; k++) {
            rooms[i].buffers[k].taken = false;
        }
        peer_init(&peers[i], (kind & 2u) != 0u ? NULL : &rooms[i]);
        peers[i].hold = count == 1u;
        run_script(&runs[i]);
        finish(&runs[i], &rooms[i]);
    }
    if (count == 1u || peers[0].failed == FULL_BUDGET || peers[1].failed == FULL_BUDGET) {
        return 0;
    }
    CHECK(peers[0].failed == peers[1].failed && peers[0].events.value == peers[1].events.value);
    for (unsigned i = 0; i < peers[0].streams; i++) {
        CHECK(peers[0].models[i].told == peers[1].models[i].told);
        CHECK(peers[0].models[i].sent.value == peers[1].models[i].sent.value);
    }
    return 0;
}
