/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DATA of a peer: the start of a frame and its body as it arrives, in any state of the windows of
 * connection and streams. The stream table and what is sent are stubs.
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_stubs.h"

#include "wire/h2_stream.c"

#define STREAMS 2u

static struct h2 connection;
static struct h2_stream streams[STREAMS];

void stub_send_window_update(struct h2 *c, uint32_t stream, uint32_t increment)
{
    (void)c;
    CHECK(stream <= H2_STREAM_MAX && increment > 0u && increment <= H2_WINDOW_MAX);
}

/* What h2_valid demands of a stream. */
static bool stream_sound(const struct h2_stream *s)
{
    return s->recv_window >= -(int64_t)H2_WINDOW_MAX &&
           s->recv_window + (int64_t)s->consumed <= (int64_t)H2_WINDOW_MAX &&
           s->id <= H2_STREAM_MAX;
}

/* The windows of the connection, with `due` octets received and not consumed yet. */
static bool windows_sound(const struct h2 *c, int64_t due)
{
    return c->recv_window >= 0 && c->recv_window <= (int64_t)H2_WINDOW_MAX &&
           c->recv_window + (int64_t)c->consumed + due <= (int64_t)c->mem.connection_window;
}

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
    ASSUME(connection.mem.connection_window >= H2_WINDOW_DEFAULT);
    ASSUME(connection.mem.connection_window <= H2_WINDOW_MAX);
    ASSUME(connection.mem.window >= 1u && connection.mem.window <= H2_WINDOW_MAX);
    ASSUME(connection.frame.type == H2_DATA && connection.frame.stream != 0u);
    ASSUME(connection.frame.stream <= H2_STREAM_MAX);
    ASSUME(connection.frame.length <= H2_FRAME_MAX && connection.failure == STATUS_OK);
    ASSUME(stream_sound(&streams[0]) && stream_sound(&streams[1]));
    return &connection;
}

void proof_h2_data_frame(void)
{
    struct h2 *c = any_connection();
    struct h2_event event;
    bool padded = any_bool();
    struct view fixed = {any_memory(padded ? 1u : 0u), padded ? 1u : 0u};
    ASSUME(windows_sound(c, 0) && c->padding == 0u);
    ASSUME(c->left + fixed.len == c->frame.length);
    CHECK(step_known(h2_on_data(c, fixed, &event)));
    CHECK(c->failure != STATUS_OK || windows_sound(c, 0));
}

void proof_h2_data_body(void)
{
    struct h2 *c = any_connection();
    struct h2_event event;
    ASSUME(windows_sound(c, c->left) && c->padding <= UINT8_MAX);
    ASSUME(c->left + c->padding <= c->frame.length);
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    ASSUME(s == NULL || (s->flags & H2_STREAM_REMOTE_ENDED) == 0u);
    ASSUME(s == NULL || s->recv_window + (int64_t)s->consumed + c->left <= (int64_t)H2_WINDOW_MAX);
    CHECK(step_known(h2_stage_body(c, &event)));
    CHECK(c->rx_pos <= c->rx_len && windows_sound(c, 0));
}
