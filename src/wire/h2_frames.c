/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per control frame, RFC 9113 §6.3 to §6.9; DATA is in h2_body.c, HEADERS and
 * CONTINUATION in h2_block.c. Lengths and the kind of stream identifier were checked by the
 * dispatch table. Each frame has its price in abuse credit.
 */
#include "base/assert.h"
#include "wire/h2_internal.h"

/* A value that the dispatch table already made sure is there. */
static uint32_t take_u32(struct reader *r)
{
    uint32_t value = 0;
    enum status s = reader_u32(r, &value);
    ASSERT(s == STATUS_OK);
    return value;
}

static bool is_idle(const struct h2 *c, uint32_t id, const struct h2_stream *s)
{
    ASSERT(id != 0u && (s == NULL || s->id == id));
    bool past_idle = s == NULL && h2_stream_past(c, id) == H2_PAST_IDLE;
    return past_idle || (s != NULL && s->state == H2_STREAM_RESERVED);
}

/* An error that a frame makes on whatever its stream is now. */
static enum h2_step error_on(struct h2 *c, uint32_t id, enum h2_error code, struct h2_event *event)
{
    ASSERT(id != 0u && code != H2_NO_ERROR);
    struct h2_stream *s = h2_stream_find(c, id);
    if (s == NULL || s->state == H2_STREAM_RESERVED) {
        return h2_connection_error(c, code); /* no RST_STREAM on idle streams (§6.4) */
    }
    return h2_stream_error(c, s, code, event);
}

/* §6.3: checked and ignored, no priority tree (CVE-2019-9513). */
enum h2_step h2_on_priority(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_PRIORITY && c->frame.stream != 0u);
    if (c->frame.length != 5u) {
        return error_on(c, c->frame.stream, H2_FRAME_SIZE_ERROR, event);
    }
    struct reader r = reader_of(fixed);
    if ((take_u32(&r) & H2_STREAM_MAX) == c->frame.stream) {
        return error_on(c, c->frame.stream, H2_PROTOCOL_ERROR, event);
    }
    h2_charge(c);
    return H2_STEP_AGAIN;
}

/* §6.4; each costs, because opening and resetting is cheap for the peer (CVE-2023-44487). */
enum h2_step h2_on_rst_stream(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_RST_STREAM && fixed.len == 4u);
    struct reader r = reader_of(fixed);
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (is_idle(c, c->frame.stream, s)) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    h2_charge(c);
    if (s == NULL || c->failure != STATUS_OK) {
        return H2_STEP_AGAIN;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_RESET,
        .stream = s->id,
        .tag = s->tag,
        .code = take_u32(&r),
    };
    h2_stream_close(c, s, H2_PAST_RESET_BY_PEER);
    return H2_STEP_EVENT;
}

/* --- SETTINGS, §6.5 --- */

/* §6.9.2: the difference applies to all streams; windows may become negative. */
static enum h2_error set_peer_window(struct h2 *c, uint32_t value)
{
    ASSERT(c->peer_window <= H2_WINDOW_MAX);
    if (value > H2_WINDOW_MAX) {
        return H2_FLOW_CONTROL_ERROR;
    }
    int64_t delta = (int64_t)value - (int64_t)c->peer_window;
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id != 0u && s->send_window + delta > (int64_t)H2_WINDOW_MAX) {
            return H2_FLOW_CONTROL_ERROR;
        }
        s->send_window += delta;
    }
    c->peer_window = value;
    return H2_NO_ERROR;
}

/* §6.5.2; unknown settings are ignored, and so are those that bound what we never do. */
static enum h2_error apply_setting(struct h2 *c, uint16_t id, uint32_t value)
{
    ASSERT(c->frame.type == H2_SETTINGS);
    if (id == H2_SETTING_ENABLE_PUSH) {
        uint32_t max = c->role == H2_SERVER ? 1 : 0;
        return value > max ? H2_PROTOCOL_ERROR : H2_NO_ERROR;
    }
    if (id == H2_SETTING_INITIAL_WINDOW_SIZE) {
        return set_peer_window(c, value);
    }
    if (id == H2_SETTING_MAX_CONCURRENT_STREAMS) {
        c->peer_streams_max = value;
    }
    if (id == H2_SETTING_MAX_FRAME_SIZE) {
        if (value < H2_FRAME_MAX || value > H2_FRAME_MAX_HIGH) {
            return H2_PROTOCOL_ERROR;
        }
        c->peer_frame_max = value;
    }
    return H2_NO_ERROR;
}

/* From the acknowledgement on, our window holds for all streams instead of the default. */
static enum h2_step settings_ack(struct h2 *c)
{
    ASSERT((c->frame.flags & H2_FLAG_ACK) != 0u);
    if (c->frame.length != 0u) {
        return h2_connection_error(c, H2_FRAME_SIZE_ERROR);
    }
    if (c->settings_acked) {
        h2_charge(c);
        return H2_STEP_AGAIN;
    }
    c->settings_acked = true;
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        c->mem.streams[i].recv_window += (int64_t)c->mem.window - (int64_t)H2_WINDOW_DEFAULT;
    }
    return H2_STEP_AGAIN;
}

enum h2_step h2_on_settings(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.stream == 0u && fixed.len == c->frame.length);
    (void)event;
    if ((c->frame.flags & H2_FLAG_ACK) != 0u) {
        return settings_ack(c);
    }
    if (fixed.len % H2_SETTING_BYTES != 0u) {
        return h2_connection_error(c, H2_FRAME_SIZE_ERROR);
    }
    if (c->settings_seen) {
        h2_charge(c);
    }
    struct reader r = reader_of(fixed);
    for (size_t n = fixed.len / H2_SETTING_BYTES; n > 0u; n--) {
        uint16_t id = 0;
        enum status s = reader_u16(&r, &id);
        ASSERT(s == STATUS_OK);
        enum h2_error error = apply_setting(c, id, take_u32(&r));
        if (error != H2_NO_ERROR) {
            return h2_connection_error(c, error);
        }
    }
    if (c->failure == STATUS_OK) {
        h2_send_settings_ack(c);
        c->settings_seen = true;
        c->writable_due = h2_streams_open(c) > 0u;
    }
    return H2_STEP_AGAIN;
}

/* §8.4: a client cannot push, and our SETTINGS forbid it to servers. */
enum h2_step h2_on_push_promise(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(fixed.len == 0u);
    (void)event;
    return h2_connection_error(c, H2_PROTOCOL_ERROR);
}

/* §6.7; no answer is queued: without send room the frame is not even looked at (CVE-2019-9512). */
enum h2_step h2_on_ping(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_PING && fixed.len == 8u);
    struct reader r = reader_of(fixed);
    uint64_t payload = 0;
    enum status s = reader_u64(&r, &payload);
    ASSERT(s == STATUS_OK);
    bool ack = (c->frame.flags & H2_FLAG_ACK) != 0u;
    if (ack && c->ping_waiting && payload == c->pings) {
        c->ping_waiting = false;
        *event = (struct h2_event){.kind = H2_EVENT_PING_ACK};
        return H2_STEP_EVENT;
    }
    h2_charge_refundable(c);
    if (!ack && c->failure == STATUS_OK) {
        h2_send_ping(c, payload, H2_FLAG_ACK);
    }
    return H2_STEP_AGAIN;
}

/* §6.8; debug data behind the fixed part is skipped. */
enum h2_step h2_on_goaway(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_GOAWAY && fixed.len == 8u);
    struct reader r = reader_of(fixed);
    uint32_t last = take_u32(&r) & H2_STREAM_MAX;
    uint32_t code = take_u32(&r);
    if (c->goaway_received) {
        h2_charge(c);
    }
    c->goaway_received = true;
    if (last < c->goaway_last) {
        c->goaway_last = last;
    }
    if (c->role == H2_CLIENT && c->failure == STATUS_OK) {
        c->sweeping = true;
        c->sweep_above = c->goaway_last;
        c->sweep_code = H2_REFUSED_STREAM;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_GOAWAY,
        .code = code,
        .last_stream = c->goaway_last,
    };
    return H2_STEP_EVENT;
}

/* --- WINDOW_UPDATE, §6.9 --- */

static enum h2_step connection_update(struct h2 *c, uint32_t increment)
{
    ASSERT(c->frame.stream == 0u && c->send_window <= (int64_t)H2_WINDOW_MAX);
    if (increment == 0u) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if (c->send_window + (int64_t)increment > (int64_t)H2_WINDOW_MAX) {
        return h2_connection_error(c, H2_FLOW_CONTROL_ERROR);
    }
    c->send_window += (int64_t)increment;
    c->writable_due = h2_streams_open(c) > 0u;
    return H2_STEP_AGAIN;
}

enum h2_step h2_on_window_update(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_WINDOW_UPDATE && fixed.len == 4u);
    struct reader r = reader_of(fixed);
    uint32_t increment = take_u32(&r) & H2_WINDOW_MAX;
    h2_charge_refundable(c);
    if (c->failure != STATUS_OK) {
        return H2_STEP_AGAIN;
    }
    if (c->frame.stream == 0u) {
        return connection_update(c, increment);
    }
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (is_idle(c, c->frame.stream, s)) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if (s == NULL) {
        return H2_STEP_AGAIN; /* §5.1 "closed": may cross our END_STREAM or RST_STREAM */
    }
    if (increment == 0u) {
        return h2_stream_error(c, s, H2_PROTOCOL_ERROR, event);
    }
    if (s->send_window + (int64_t)increment > (int64_t)H2_WINDOW_MAX) {
        return h2_stream_error(c, s, H2_FLOW_CONTROL_ERROR, event);
    }
    s->send_window += (int64_t)increment;
    c->writable_due = true;
    return H2_STEP_AGAIN;
}
