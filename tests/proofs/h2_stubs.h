/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HTTP/2 engine ask of each other (wire/h2_internal.h), in place of their
 * code: errors, the stream table of two streams, the receive buffer and the frames that are sent.
 */
#ifndef PROOF_H2_STUBS_H
#define PROOF_H2_STUBS_H

#include "h2_rx_stubs.h"
#include "stubs.h"
#include "wire/h2_internal.h"

#define STREAMS 2u

static struct h2 connection;
static struct h2_stream streams[STREAMS];

/*
 * A connection of either role that has not failed, with a receive buffer of any length and any
 * content, and two streams in any state. The callers add what their functions rely on.
 */
static struct h2 *any_engine(void)
{
    struct h2 c;
    connection = c;
    struct h2_stream s0;
    struct h2_stream s1;
    streams[0] = s0;
    streams[1] = s1;
    struct view rx = any_view(ANY_LENGTH);
    connection.mem.rx = (uint8_t *)rx.data;
    connection.mem.rx_cap = rx.len;
    connection.mem.streams = streams;
    connection.mem.streams_cap = STREAMS;
    connection.rx_len = any_length(rx.len);
    connection.rx_pos = any_length(connection.rx_len);
    ASSUME(connection.role == H2_SERVER || connection.role == H2_CLIENT);
    ASSUME(connection.failure == STATUS_OK);
    return &connection;
}

enum h2_step stub_connection_error(struct h2 *c, enum h2_error code)
{
    CHECK(code <= H2_HTTP_1_1_REQUIRED);
    c->failure = PEER_PROTOCOL;
    return H2_STEP_AGAIN;
}

enum h2_step stub_stream_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                               struct h2_event *event)
{
    CHECK(s != NULL && s->id != 0u && code != H2_NO_ERROR);
    event->kind = H2_EVENT_RESET;
    if (any_bool()) {
        c->failure = FULL_BUDGET;
    }
    return H2_STEP_EVENT;
}

struct h2_stream *stub_stream_find(const struct h2 *c, uint32_t id)
{
    struct h2_stream *s = c->mem.streams[0].id == id ? &c->mem.streams[0] : &c->mem.streams[1];
    return (id != 0u && s->id == id && s->state != H2_STREAM_RESET_DUE) ? s : NULL;
}

enum h2_past stub_stream_past(const struct h2 *c, uint32_t id)
{
    (void)c;
    CHECK(id != 0u);
    enum h2_past past;
    ASSUME(past >= H2_PAST_IDLE && past <= H2_PAST_RESET_BY_US);
    return past;
}

void stub_stream_close(struct h2 *c, struct h2_stream *s, enum h2_past past)
{
    (void)c;
    (void)past;
    CHECK(s->id != 0u);
    s->id = 0;
}

unsigned stub_streams_open(const struct h2 *c)
{
    unsigned open = any_unsigned();
    ASSUME(open <= c->mem.streams_cap);
    return open;
}

void stub_charge(struct h2 *c)
{
    if (any_bool()) {
        c->failure = FULL_BUDGET;
    }
}

void stub_send_ping(struct h2 *c, uint64_t payload, unsigned flags)
{
    (void)payload;
    CHECK(c->failure == STATUS_OK && flags <= UINT8_MAX);
}

void stub_send_settings_ack(struct h2 *c)
{
    CHECK(c->failure == STATUS_OK);
}

enum h2_step stub_stranger_error(struct h2 *c, uint32_t id, enum h2_error code)
{
    CHECK(id != 0u && code != H2_NO_ERROR);
    stub_charge(c);
    return H2_STEP_AGAIN;
}

struct h2_stream *stub_stream_new(struct h2 *c, uint32_t id)
{
    CHECK(id != 0u);
    struct h2_stream *s = &c->mem.streams[0];
    if (s->id != 0u || any_bool()) {
        return NULL;
    }
    *s = (struct h2_stream){.id = id, .state = H2_STREAM_OPEN};
    return s;
}

void stub_stream_end(struct h2 *c, struct h2_stream *s, unsigned ended_flag)
{
    (void)c;
    CHECK(s->id != 0u && (s->flags & ended_flag) == 0u);
    s->flags |= (uint8_t)ended_flag;
    s->id = any_bool() ? 0u : s->id;
}

void stub_rx_finish_piece(struct h2 *c)
{
    CHECK(c->left == 0u);
    c->left = c->padding;
    c->padding = 0;
    c->stage = c->left > 0u ? H2_STAGE_SKIP : H2_STAGE_HEADER;
}

static bool step_known(enum h2_step step)
{
    return step == H2_STEP_AGAIN || step == H2_STEP_EVENT || step == H2_STEP_STARVED ||
           step == H2_STEP_IDLE;
}

#endif
