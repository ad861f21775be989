/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a connection: start, buffers, time-outs, and h2_next, which hands out what the stages
 * of receiving find. Owns the order of things; the frames themselves are in the other h2_*.c.
 */
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "wire/h2_internal.h"

_Static_assert(H2_RX_BYTES_MIN >= H2_SETTINGS_MAX * H2_SETTING_BYTES,
               "a whole SETTINGS must fit into the least receive buffer");
_Static_assert(1000u % H2_CREDIT_PER_SECOND == 0u, "the credit comes back in whole milliseconds");

/* --- life --- */

static void check_memory(const struct h2_memory *m)
{
    ASSERT(m->rx != NULL && m->rx_cap >= H2_RX_BYTES_MIN);
    ASSERT(m->tx != NULL && m->tx_cap >= H2_TX_BYTES_MIN && m->tx_cap <= H2_FRAME_MAX);
    ASSERT(m->field != NULL && m->field_cap > 0u && m->field_cap <= UINT16_MAX);
    ASSERT(m->scratch != NULL && m->scratch_cap > 0u);
    ASSERT(m->streams != NULL && m->streams_cap > 0u);
    ASSERT(m->window >= 1u && m->window <= H2_WINDOW_MAX && m->table_size <= HPACK_TABLE_BYTES);
}

void h2_init(struct h2 *c, enum h2_role role, const struct h2_memory *memory, uint64_t now_ms)
{
    check_memory(memory);
    memset(c, 0, sizeof *c);
    memset(memory->streams, 0, memory->streams_cap * sizeof *memory->streams);
    c->role = role;
    c->mem = *memory;
    hpack_decoder_init(&c->hpack, memory->table_size);
    c->failure = STATUS_OK;
    c->now_ms = now_ms;
    c->started_ms = now_ms;
    c->tx_progress_ms = now_ms;
    c->credit_ms = now_ms;
    c->credit = H2_CREDIT_MAX;
    c->stage = role == H2_SERVER ? H2_STAGE_PREFACE : H2_STAGE_HEADER;
    c->starved = true;
    c->peer_window = H2_WINDOW_DEFAULT;
    c->peer_frame_max = H2_FRAME_MAX;
    c->peer_streams_max = UINT32_MAX;
    c->send_window = H2_WINDOW_DEFAULT;
    c->recv_window = H2_WINDOW_DEFAULT;
    c->next_id = 1;
    c->accept_max = H2_STREAM_MAX;
    c->goaway_last = H2_STREAM_MAX;
    h2_send_preface(c);
    ASSERT(h2_valid(c));
}

static bool stream_valid(const struct h2 *c, const struct h2_stream *s)
{
    if (s->id == 0u) {
        return true;
    }
    bool parity = s->id % 2u == 1u && s->id <= H2_STREAM_MAX;
    bool windows = s->send_window <= (int64_t)H2_WINDOW_MAX &&
                   s->recv_window + (int64_t)s->consumed <= (int64_t)H2_WINDOW_MAX;
    unsigned both = H2_STREAM_LOCAL_ENDED | H2_STREAM_REMOTE_ENDED;
    bool ended = (s->flags & both) == both && s->state == H2_STREAM_OPEN;
    bool reserved = s->state == H2_STREAM_RESERVED && c->role == H2_SERVER;
    return parity && windows && !ended && !reserved && s->state <= H2_STREAM_RESET_DUE;
}

static bool buffers_valid(const struct h2 *c)
{
    return c->rx_pos <= c->rx_len && c->rx_len <= c->mem.rx_cap && c->tx_pos <= c->tx_len &&
           c->tx_len <= c->mem.tx_cap && c->block.carried <= c->mem.field_cap;
}

static bool counters_valid(const struct h2 *c)
{
    bool windows = c->send_window <= (int64_t)H2_WINDOW_MAX && c->recv_window >= 0 &&
                   c->recv_window + (int64_t)c->consumed <= (int64_t)H2_WINDOW_DEFAULT;
    return windows && c->block.continuations <= H2_CONTINUATIONS_MAX &&
           c->credit <= H2_CREDIT_MAX && c->charged <= H2_CREDIT_MAX && c->stage < H2_STAGES &&
           c->peer_frame_max >= H2_FRAME_MAX;
}

bool h2_valid(const struct h2 *c)
{
    if (!buffers_valid(c) || !counters_valid(c)) {
        return false;
    }
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        if (!stream_valid(c, &c->mem.streams[i])) {
            return false;
        }
    }
    return true;
}

uint32_t h2_streams_max(const struct h2 *c)
{
    ASSERT(c->role == H2_CLIENT);
    return c->peer_streams_max;
}

enum status h2_failure(const struct h2 *c, uint32_t *code)
{
    ASSERT(c->failure < STATUS_COUNT);
    if (code != NULL) {
        *code = c->failure_code;
    }
    return c->failure;
}

/* --- time --- */

static uint64_t preface_deadline(const struct h2 *c)
{
    ASSERT(c->started_ms <= c->now_ms);
    return c->settings_seen ? UINT64_MAX : c->started_ms + H2_PREFACE_MS;
}

static uint64_t block_deadline(const struct h2 *c)
{
    ASSERT(c->block.stream == 0u || c->block.since_ms <= c->now_ms);
    return c->block.stream == 0u ? UINT64_MAX : c->block.since_ms + H2_HEADER_BLOCK_MS;
}

static uint64_t stall_deadline(const struct h2 *c)
{
    ASSERT(c->tx_progress_ms <= c->now_ms);
    return c->tx_pos == c->tx_len ? UINT64_MAX : c->tx_progress_ms + H2_STALL_MS;
}

uint64_t h2_deadline(const struct h2 *c)
{
    ASSERT(c->tx_pos <= c->tx_len);
    if (c->failure != STATUS_OK) {
        return stall_deadline(c);
    }
    return earlier(preface_deadline(c), earlier(block_deadline(c), stall_deadline(c)));
}

static void refill_credit(struct h2 *c)
{
    ASSERT(c->credit_ms <= c->now_ms && c->credit <= H2_CREDIT_MAX);
    uint64_t ms_each = 1000u / H2_CREDIT_PER_SECOND;
    uint64_t earned = (c->now_ms - c->credit_ms) / ms_each;
    uint64_t missing = H2_CREDIT_MAX - c->credit;
    c->credit += (uint32_t)(earned < missing ? earned : missing);
    c->credit_ms += earned * ms_each;
}

void h2_set_time(struct h2 *c, uint64_t now_ms)
{
    ASSERT(now_ms >= c->now_ms && !c->building);
    c->now_ms = now_ms;
    refill_credit(c);
    if (c->failure != STATUS_OK) {
        if (now_ms >= stall_deadline(c)) {
            c->tx_pos = c->tx_len; /* nobody takes the GOAWAY */
        }
        return;
    }
    if (now_ms >= preface_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_PROTOCOL_ERROR);
    } else if (now_ms >= block_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_ENHANCE_YOUR_CALM);
    } else if (now_ms >= stall_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_NO_ERROR);
    }
    ASSERT(counters_valid(c));
}

/* --- bytes --- */

struct writer h2_rx_space(struct h2 *c)
{
    ASSERT(buffers_valid(c));
    if (!c->starved || c->rx_ended || c->failure != STATUS_OK) {
        return writer_of(NULL, 0);
    }
    /* Views in events point into the buffer, but starved means that the last event is behind us. */
    size_t waiting = c->rx_len - c->rx_pos;
    if (c->rx_pos > 0u) {
        memmove(c->mem.rx, c->mem.rx + c->rx_pos, waiting);
        c->rx_pos = 0;
        c->rx_len = waiting;
    }
    ASSERT(c->rx_len < c->mem.rx_cap);
    return writer_of(c->mem.rx + c->rx_len, c->mem.rx_cap - c->rx_len);
}

void h2_rx_commit(struct h2 *c, size_t n)
{
    ASSERT(h2_valid(c) && n <= c->mem.rx_cap - c->rx_len);
    ASSERT(n == 0u || c->starved);
    c->rx_len += n;
    if (n > 0u) {
        c->starved = false;
    }
}

void h2_rx_end(struct h2 *c)
{
    ASSERT(h2_valid(c));
    c->rx_ended = true;
}

struct view h2_tx_data(const struct h2 *c)
{
    ASSERT(!c->building && c->tx_pos <= c->tx_len);
    return view_of(c->mem.tx + c->tx_pos, c->tx_len - c->tx_pos);
}

void h2_tx_commit(struct h2 *c, size_t n)
{
    ASSERT(!c->building && n <= c->tx_len - c->tx_pos);
    if (n == 0u) {
        return;
    }
    c->tx_pos += n;
    c->tx_progress_ms = c->now_ms;
    h2_send_due(c);
    c->writable_due = c->writable_due || h2_streams_open(c) > 0u;
    ASSERT(buffers_valid(c));
}

/* --- events --- */

bool h2_stirs(const struct h2 *c)
{
    ASSERT(!c->building);
    return !c->starved || c->writable_due || c->sweeping;
}

/* Ends one more stream that the connection's end or the peer's GOAWAY takes with it. */
static enum h2_step sweep(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->sweeping);
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id == 0u || s->id <= c->sweep_above || s->state == H2_STREAM_RESET_DUE) {
            continue;
        }
        *event = (struct h2_event){
            .kind = H2_EVENT_RESET,
            .stream = s->id,
            .tag = s->tag,
            .code = c->sweep_code,
        };
        h2_stream_close(c, s, H2_PAST_RESET_BY_US);
        return H2_STEP_EVENT;
    }
    c->sweeping = false;
    return H2_STEP_AGAIN;
}

static enum h2_step starved(struct h2 *c)
{
    ASSERT(c->failure == STATUS_OK);
    if (c->rx_ended) {
        h2_fail(c, PEER_CLOSED, H2_NO_ERROR);
        return H2_STEP_AGAIN;
    }
    c->starved = true;
    return H2_STEP_IDLE;
}

static enum h2_step next_step(struct h2 *c, struct h2_event *event)
{
    if (c->sweeping) {
        return sweep(c, event);
    }
    if (c->failure != STATUS_OK) {
        return H2_STEP_IDLE;
    }
    if (c->writable_due) {
        c->writable_due = false;
        *event = (struct h2_event){.kind = H2_EVENT_WRITABLE};
        return H2_STEP_EVENT;
    }
    if (h2_tx_room(c) < H2_STEP_BYTES) {
        return H2_STEP_IDLE;
    }
    enum h2_step step = h2_receive(c, event);
    return step == H2_STEP_STARVED ? starved(c) : step;
}

enum status h2_next(struct h2 *c, struct h2_event *event)
{
    ASSERT(buffers_valid(c) && !c->building);
    h2_send_due(c);
    /*
     * A step takes an octet or changes the stage, and no stage changes more than five times
     * without an octet.
     */
    size_t steps_max = 6u * (c->rx_len - c->rx_pos) + 64u;
    for (size_t i = 0; i < steps_max; i++) {
        enum h2_step step = next_step(c, event);
        if (step == H2_STEP_EVENT) {
            return STATUS_OK;
        }
        if (step == H2_STEP_IDLE) {
            return c->failure == STATUS_OK ? STATUS_MORE : c->failure;
        }
        ASSERT(step == H2_STEP_AGAIN);
    }
    ASSERT(false);
    return PEER_PROTOCOL;
}

void h2_goaway(struct h2 *c, enum h2_error code, bool final)
{
    ASSERT(h2_valid(c));
    if (c->failure != STATUS_OK || c->accept_max != H2_STREAM_MAX) {
        return;
    }
    c->closing = true;
    c->goaway_code = (uint32_t)code;
    if (final || c->goaway_due != H2_GOAWAY_FINAL) {
        c->goaway_due = final ? H2_GOAWAY_FINAL : H2_GOAWAY_GRACEFUL;
    }
    h2_send_due(c);
}

void h2_set_tag(struct h2 *c, uint32_t stream, uint32_t tag)
{
    ASSERT(h2_valid(c));
    struct h2_stream *s = h2_stream_owned(c, stream);
    if (s != NULL) {
        s->tag = tag;
    }
}
