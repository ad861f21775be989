/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DATA, RFC 9113 §6.1, and the windows that we grant, §5.2 and §6.9. Owns receive windows: taken
 * off for a whole frame at its header, given back as its octets are handed out or dropped.
 */
#include "base/assert.h"
#include "wire/h2_internal.h"

/* Gives octets back to the connection window, half a window at a time. */
static void consumed_by_connection(struct h2 *c, uint32_t n)
{
    ASSERT(c->recv_window + (int64_t)c->consumed + (int64_t)n <= (int64_t)H2_WINDOW_DEFAULT);
    c->consumed += n;
    if (c->consumed < H2_WINDOW_DEFAULT / 2u) {
        return;
    }
    h2_send_window_update(c, 0, c->consumed);
    c->recv_window += (int64_t)c->consumed;
    c->consumed = 0;
}

/* Same for a stream; none after its last frame. */
static void consumed_by_stream(struct h2 *c, struct h2_stream *s, uint32_t n)
{
    ASSERT(s->id == c->frame.stream && n <= c->frame.length);
    s->consumed += n;
    bool last_frame = (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    if (s->consumed == 0u || s->consumed < c->mem.window / 2u || last_frame) {
        return;
    }
    h2_send_window_update(c, s->id, s->consumed);
    s->recv_window += (int64_t)s->consumed;
    s->consumed = 0;
}

/*
 * An error of a stream whose DATA is being received: the connection gets the rest of the frame
 * back.
 */
static enum h2_step data_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                               struct h2_event *event)
{
    ASSERT(s->id == c->frame.stream && code != H2_NO_ERROR);
    consumed_by_connection(c, c->frame.length);
    return h2_stream_error(c, s, code, event);
}

/* DATA of a stream that is not in the table. */
static enum h2_step stray_data(struct h2 *c)
{
    ASSERT(h2_stream_find(c, c->frame.stream) == NULL);
    uint32_t id = c->frame.stream;
    enum h2_past past = h2_stream_past(c, id);
    if (past == H2_PAST_IDLE) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if (past == H2_PAST_ENDED || past == H2_PAST_SKIPPED) {
        return h2_connection_error(c, H2_STREAM_CLOSED);
    }
    consumed_by_connection(c, c->frame.length);
    if (past == H2_PAST_RESET_BY_PEER || past == H2_PAST_FORGOTTEN) {
        return h2_stranger_error(c, id, H2_STREAM_CLOSED);
    }
    h2_charge(c); /* a few are on the way when we reset; the others go on for ever */
    return H2_STEP_AGAIN;
}

/* What is wrong with this DATA frame for its stream, H2_NO_ERROR: nothing. */
static enum h2_error check_data(const struct h2 *c, const struct h2_stream *s, uint32_t length)
{
    ASSERT(s->id == c->frame.stream && length <= c->frame.length);
    if ((s->flags & H2_STREAM_REMOTE_ENDED) != 0u) {
        return H2_STREAM_CLOSED;
    }
    if ((s->flags & H2_STREAM_LIST_RECEIVED) == 0u) {
        return H2_PROTOCOL_ERROR; /* §8.1: a message begins with its header list */
    }
    bool end = (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    bool known = (s->flags & H2_STREAM_LENGTH_KNOWN) != 0u;
    if (known && (length > s->body_left || (end && length < s->body_left))) {
        return H2_PROTOCOL_ERROR; /* §8.1.1 */
    }
    return H2_NO_ERROR;
}

/* The frame is in order: its body is handed out by h2_stage_body. */
static enum h2_step accept_data(struct h2 *c, struct h2_stream *s, uint32_t length)
{
    ASSERT(c->left == length && length + c->padding <= c->frame.length);
    bool end = (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    s->recv_window -= (int64_t)c->frame.length;
    if ((s->flags & H2_STREAM_LENGTH_KNOWN) != 0u) {
        s->body_left -= length;
    }
    consumed_by_connection(c, c->frame.length - length);
    consumed_by_stream(c, s, c->frame.length - length);
    if (length > 0u || end) {
        c->stage = H2_STAGE_BODY;
        return H2_STEP_AGAIN;
    }
    h2_charge(c); /* moves nothing (CVE-2019-9518) */
    h2_rx_finish_piece(c);
    return H2_STEP_AGAIN;
}

enum h2_step h2_on_data(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(fixed.len <= 1u && c->frame.type == H2_DATA);
    uint32_t padding = fixed.len > 0u ? fixed.data[0] : 0u;
    if (padding > c->left) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if ((int64_t)c->frame.length > c->recv_window) {
        return h2_connection_error(c, H2_FLOW_CONTROL_ERROR);
    }
    c->recv_window -= (int64_t)c->frame.length;
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (s == NULL) {
        return stray_data(c);
    }
    if (s->state == H2_STREAM_RESERVED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    uint32_t length = c->left - padding;
    enum h2_error error = check_data(c, s, length);
    if (error != H2_NO_ERROR) {
        return data_error(c, s, error, event);
    }
    if ((int64_t)c->frame.length > s->recv_window) {
        return h2_connection_error(c, H2_FLOW_CONTROL_ERROR);
    }
    c->left = length;
    c->padding = padding;
    return accept_data(c, s, length);
}

/* The owner reset the stream in the middle of a frame. */
static enum h2_step drop_body(struct h2 *c)
{
    ASSERT(c->left + c->padding <= c->frame.length);
    consumed_by_connection(c, c->left);
    c->left += c->padding; /* the padding was given back at the frame header */
    c->padding = 0;
    c->stage = H2_STAGE_SKIP;
    return H2_STEP_AGAIN;
}

enum h2_step h2_stage_body(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_DATA && c->left <= c->frame.length);
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (s == NULL) {
        return drop_body(c);
    }
    struct view piece = h2_rx_piece(c);
    if (piece.len == 0u && c->left > 0u) {
        return H2_STEP_STARVED;
    }
    h2_rx_consume(c, piece.len);
    bool end = c->left == 0u && (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    *event = (struct h2_event){
        .kind = H2_EVENT_DATA,
        .stream = s->id,
        .tag = s->tag,
        .data = piece,
        .end_stream = end,
    };
    consumed_by_connection(c, (uint32_t)piece.len);
    consumed_by_stream(c, s, (uint32_t)piece.len);
    if (c->left == 0u) {
        h2_rx_finish_piece(c);
    }
    if (end) {
        h2_stream_end(c, s, H2_STREAM_REMOTE_ENDED);
    }
    return H2_STEP_EVENT;
}
