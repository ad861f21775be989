/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 frames: the header, the preface and each control frame, in any state of the connection
 * that h2_valid allows. What closes streams and sends frames is a stub of its declaration in
 * h2_internal.h; HEADERS, CONTINUATION and DATA are in the other sources of the engine.
 */
#include "stubs.h"

#include "wire/h2.c"

#define STREAMS 2u

static struct h2 connection;
static struct h2_stream streams[STREAMS];

static struct h2 *any_connection(void)
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
    /* windows change by 31-bit numbers, and their sums stay far from the ends of int64_t */
    ASSUME(connection.recv_window <= (int64_t)H2_WINDOW_MAX);
    for (unsigned i = 0; i < STREAMS; i++) {
        ASSUME(streams[i].recv_window <= (int64_t)H2_WINDOW_MAX);
        ASSUME(streams[i].recv_window >= -(int64_t)H2_WINDOW_MAX);
        ASSUME(streams[i].send_window >= -(int64_t)H2_WINDOW_MAX);
    }
    ASSUME(counters_valid(&connection) && connection.peer_window <= H2_WINDOW_MAX);
    ASSUME(connection.mem.window >= 1u && connection.mem.window <= H2_WINDOW_MAX);
    ASSUME(stream_valid(&connection, &streams[0]) && stream_valid(&connection, &streams[1]));
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
    struct h2_stream *s = any_bool() ? &c->mem.streams[0] : &c->mem.streams[1];
    return (id != 0u && s->id == id && s->state != H2_STREAM_RESET_DUE) ? s : NULL;
}

enum h2_past stub_stream_past(const struct h2 *c, uint32_t id)
{
    CHECK(id != 0u && c->failure == STATUS_OK);
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

struct view stub_rx_piece(const struct h2 *c)
{
    CHECK(c->rx_pos <= c->rx_len);
    size_t here = c->rx_len - c->rx_pos;
    size_t n = here < c->left ? here : c->left;
    return (struct view){(n > 0u) ? c->mem.rx + c->rx_pos : NULL, n};
}

void stub_rx_consume(struct h2 *c, size_t n)
{
    CHECK(n <= c->left && n <= c->rx_len - c->rx_pos);
    c->rx_pos += n;
    c->left -= (uint32_t)n;
}

/* What stage_header promises to the stage after it. */
enum h2_step stub_stage_fixed(struct h2 *c, struct h2_event *event)
{
    (void)event;
    CHECK(c->stage == H2_STAGE_FIXED && c->fixed <= c->left && c->fixed <= H2_RX_BYTES_MIN);
    CHECK(c->left == c->frame.length && c->left <= H2_FRAME_MAX && c->padding == 0u);
    CHECK(c->frame.stream <= H2_STREAM_MAX);
    return H2_STEP_STARVED;
}

enum h2_error stub_apply_setting(struct h2 *c, uint16_t id, uint32_t value)
{
    (void)id;
    CHECK(c->frame.type == H2_SETTINGS);
    if (any_bool()) {
        return H2_PROTOCOL_ERROR;
    }
    c->peer_streams_max = value;
    return H2_NO_ERROR;
}

static bool step_known(enum h2_step step)
{
    return step == H2_STEP_AGAIN || step == H2_STEP_EVENT || step == H2_STEP_STARVED ||
           step == H2_STEP_IDLE;
}

void proof_h2_frame_header(void)
{
    struct h2 *c = any_connection();
    struct h2_event event;
    ASSUME(c->left == 0u && c->stage == H2_STAGE_HEADER);
    size_t before = c->rx_pos;
    enum h2_step step = stage_header(c, &event);
    CHECK(step == H2_STEP_AGAIN || step == H2_STEP_STARVED);
    CHECK(c->rx_pos == before || c->rx_pos == before + H2_FRAME_HEADER_BYTES);
    CHECK(c->rx_pos <= c->rx_len);
}

void proof_h2_preface(void)
{
    struct h2 *c = any_connection();
    struct h2_event event;
    if (any_bool()) {
        ASSUME(c->role == H2_SERVER && c->preface_have < H2_PREFACE_BYTES);
        CHECK(step_known(stage_preface(c, &event)));
        CHECK(c->preface_have <= H2_PREFACE_BYTES);
    } else {
        ASSUME(c->padding == 0u && c->left <= H2_FRAME_MAX);
        CHECK(step_known(stage_skip(c, &event)));
    }
    CHECK(c->rx_pos <= c->rx_len);
}

/* The first `n` octets of a payload. */
static struct view any_fixed(size_t n)
{
    return (struct view){any_memory(n), n};
}

void proof_h2_ping_goaway(void)
{
    struct h2 *c = any_connection();
    struct h2_event event = {.kind = H2_EVENT_WRITABLE};
    struct view fixed = any_fixed(8);
    if (any_bool()) {
        ASSUME(c->frame.type == H2_PING);
        CHECK(step_known(on_ping(c, fixed, &event)));
    } else {
        uint32_t before = c->goaway_last;
        ASSUME(c->frame.type == H2_GOAWAY);
        CHECK(on_goaway(c, fixed, &event) == H2_STEP_EVENT);
        CHECK(event.kind == H2_EVENT_GOAWAY && c->goaway_last <= before);
    }
    CHECK(c->charged <= H2_CREDIT_MAX);
}

void proof_h2_priority_reset(void)
{
    struct h2 *c = any_connection();
    struct h2_event event = {.kind = H2_EVENT_WRITABLE};
    ASSUME(c->frame.stream != 0u && c->frame.stream <= H2_STREAM_MAX);
    if (any_bool()) {
        ASSUME(c->frame.type == H2_PRIORITY && c->frame.length <= H2_FRAME_MAX);
        size_t n = c->frame.length < 5u ? c->frame.length : 5u;
        CHECK(step_known(on_priority(c, any_fixed(n), &event)));
    } else {
        ASSUME(c->frame.type == H2_RST_STREAM);
        CHECK(step_known(on_rst_stream(c, any_fixed(4), &event)));
    }
}

void proof_h2_window_update(void)
{
    struct h2 *c = any_connection();
    struct h2_event event = {.kind = H2_EVENT_WRITABLE};
    ASSUME(c->frame.type == H2_WINDOW_UPDATE && c->frame.stream <= H2_STREAM_MAX);
    ASSUME(c->send_window >= -(int64_t)H2_WINDOW_MAX);
    CHECK(step_known(on_window_update(c, any_fixed(4), &event)));
    CHECK(c->send_window <= (int64_t)H2_WINDOW_MAX);
    CHECK(streams[0].id == 0u || streams[0].send_window <= (int64_t)H2_WINDOW_MAX);
}

void proof_h2_settings(void)
{
    struct h2 *c = any_connection();
    struct h2_event event = {.kind = H2_EVENT_WRITABLE};
    ASSUME(c->frame.type == H2_SETTINGS && c->frame.stream == 0u);
    ASSUME(c->frame.length <= H2_SETTINGS_MAX * H2_SETTING_BYTES);
    CHECK(step_known(on_settings(c, any_fixed(c->frame.length), &event)));
}
