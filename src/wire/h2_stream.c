/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of one connection: the table, what is remembered of closed ones, errors and the abuse
 * credit. Owns the life of struct h2_stream; parses nothing.
 */
#include "base/assert.h"
#include "wire/h2_internal.h"

struct h2_stream *h2_stream_find(const struct h2 *c, uint32_t id)
{
    ASSERT(c->mem.streams_cap > 0u);
    if (id == 0u) {
        return NULL;
    }
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id == id) {
            return s->state == H2_STREAM_RESET_DUE ? NULL : s;
        }
    }
    return NULL;
}

struct h2_stream *h2_stream_owned(const struct h2 *c, uint32_t id)
{
    return c->failure == STATUS_OK ? h2_stream_find(c, id) : NULL;
}

struct h2_stream *h2_stream_new(struct h2 *c, uint32_t id)
{
    ASSERT(id != 0u && h2_stream_find(c, id) == NULL);
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id != 0u) {
            continue;
        }
        /*
         * Until the peer acknowledged our SETTINGS it may use the default window (RFC 9113
         * §6.9.2).
         */
        *s = (struct h2_stream){
            .id = id,
            .state = H2_STREAM_OPEN,
            .send_window = c->peer_window,
            .recv_window = c->settings_acked ? c->mem.window : H2_WINDOW_DEFAULT,
        };
        return s;
    }
    return NULL;
}

unsigned h2_streams_open(const struct h2 *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        const struct h2_stream *s = &c->mem.streams[i];
        if (s->id != 0u && s->state != H2_STREAM_RESET_DUE) {
            count++;
        }
    }
    ASSERT(count <= c->mem.streams_cap);
    return count;
}

void h2_remember(struct h2 *c, uint32_t id, enum h2_past past)
{
    ASSERT(c->closed_next < H2_CLOSED_MEMORY);
    struct h2_closed *slot = &c->closed[c->closed_next];
    for (unsigned i = 0; i < H2_CLOSED_MEMORY; i++) {
        if (c->closed[i].id == id) {
            c->closed[i].past = (uint8_t)past;
            return;
        }
    }
    if (slot->id > c->closed_floor) {
        c->closed_floor = slot->id;
    }
    *slot = (struct h2_closed){.id = id, .past = (uint8_t)past};
    c->closed_next = (uint8_t)((c->closed_next + 1u) % H2_CLOSED_MEMORY);
}

void h2_stream_close(struct h2 *c, struct h2_stream *s, enum h2_past past)
{
    ASSERT(s->id != 0u);
    h2_remember(c, s->id, past);
    s->id = 0;
}

enum h2_past h2_stream_past(const struct h2 *c, uint32_t id)
{
    ASSERT(id != 0u);
    for (unsigned i = 0; i < H2_CLOSED_MEMORY; i++) {
        if (c->closed[i].id == id) {
            return (enum h2_past)c->closed[i].past;
        }
    }
    /* Nobody promises streams to us and we promise none: even numbers stay idle for ever. */
    if (id % 2u == 0u) {
        return H2_PAST_IDLE;
    }
    /* RFC 9113 §6.8: what comes above the last of our GOAWAY is dropped, whatever it is. */
    if (c->role == H2_SERVER && id > c->accept_max) {
        return H2_PAST_RESET_BY_US;
    }
    bool opened = c->role == H2_SERVER ? id <= c->last_peer_id : id < c->next_id;
    if (!opened) {
        return H2_PAST_IDLE;
    }
    /* Our own streams have no gaps. */
    return c->role == H2_CLIENT || id <= c->closed_floor ? H2_PAST_FORGOTTEN : H2_PAST_SKIPPED;
}

void h2_stream_end(struct h2 *c, struct h2_stream *s, unsigned ended_flag)
{
    ASSERT(ended_flag == H2_STREAM_LOCAL_ENDED || ended_flag == H2_STREAM_REMOTE_ENDED);
    ASSERT((s->flags & ended_flag) == 0u);
    s->flags |= (uint8_t)ended_flag;
    unsigned both = H2_STREAM_LOCAL_ENDED | H2_STREAM_REMOTE_ENDED;
    if ((s->flags & both) != both) {
        return;
    }
    h2_stream_close(c, s, H2_PAST_ENDED);
    if (c->credit < H2_CREDIT_MAX) {
        c->credit++;
    }
}

void h2_fail(struct h2 *c, enum status failure, enum h2_error code)
{
    ASSERT(failure != STATUS_OK && failure != STATUS_MORE);
    if (c->failure != STATUS_OK) {
        return;
    }
    c->failure = failure;
    c->failure_code = (uint32_t)code;
    c->sweeping = true;
    c->sweep_above = 0;
    /* Streams cut off by an end that is nobody's error did not end well all the same. */
    c->sweep_code = code == H2_NO_ERROR ? (uint32_t)H2_INTERNAL_ERROR : (uint32_t)code;
    if (failure == PEER_CLOSED) {
        return;
    }
    h2_send_goaway(c, c->last_peer_id, (uint32_t)code);
}

enum h2_step h2_connection_error(struct h2 *c, enum h2_error code)
{
    ASSERT(code != H2_NO_ERROR);
    enum status failure = PEER_PROTOCOL;
    if (code == H2_FRAME_SIZE_ERROR || code == H2_COMPRESSION_ERROR) {
        failure = PEER_MALFORMED;
    } else if (code == H2_ENHANCE_YOUR_CALM) {
        failure = FULL_BUDGET;
    }
    h2_fail(c, failure, code);
    return H2_STEP_AGAIN;
}

enum h2_step h2_stream_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                             struct h2_event *event)
{
    ASSERT(s->id != 0u && s->state == H2_STREAM_OPEN);
    *event = (struct h2_event){
        .kind = H2_EVENT_RESET,
        .stream = s->id,
        .tag = s->tag,
        .code = (uint32_t)code,
    };
    h2_send_rst(c, s->id, (uint32_t)code);
    h2_stream_close(c, s, H2_PAST_RESET_BY_US);
    h2_charge(c);
    return H2_STEP_EVENT;
}

enum h2_step h2_stranger_error(struct h2 *c, uint32_t id, enum h2_error code)
{
    ASSERT(h2_stream_find(c, id) == NULL);
    h2_send_rst(c, id, (uint32_t)code);
    h2_remember(c, id, H2_PAST_RESET_BY_US);
    h2_charge(c);
    return H2_STEP_AGAIN;
}

void h2_charge(struct h2 *c)
{
    ASSERT(c->credit <= H2_CREDIT_MAX);
    if (c->credit == 0u) {
        h2_fail(c, FULL_BUDGET, H2_ENHANCE_YOUR_CALM);
        return;
    }
    c->credit--;
}

void h2_charge_refundable(struct h2 *c)
{
    ASSERT(c->charged <= H2_CREDIT_MAX);
    h2_charge(c);
    if (c->charged < H2_CREDIT_MAX) {
        c->charged++;
    }
}
