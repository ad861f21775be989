/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 frames: the header, the preface and each control frame, in any state of the connection
 * that h2_valid allows. What closes streams and sends frames is a stub of its declaration in
 * h2_internal.h; HEADERS, CONTINUATION and DATA are in the other sources of the engine.
 */
#include "h2_stubs.h"

#include "wire/h2.c"

/* A connection whose windows and counters are as h2_valid says. */
static struct h2 *any_connection(void)
{
    (void)any_engine();
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
        ASSUME(c->padding == 0u && c->left > 0u && c->left <= H2_FRAME_MAX);
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
