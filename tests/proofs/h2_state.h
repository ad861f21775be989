/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant of a whole HTTP/2 connection, stronger than h2_valid of wire/h2.c, and a connection
 * in any state that it allows. It holds across SETTINGS:
 *
 * - The send window of an entry differs from the peer's initial window by what was sent and what
 *   WINDOW_UPDATE granted. SETTINGS changes both numbers alike, so their difference stays between
 *   -(2^31-1) and 2^31-1, also in a free entry, which SETTINGS changes too.
 * - The receive window of an entry and its consumed octets never exceed the window that the peer
 *   may use. Only the acknowledgement of our SETTINGS lowers a receive window below zero, once.
 *
 * A failed connection sends no DATA and receives no frame, so its windows need no such bounds.
 */
#ifndef PROOF_H2_STATE_H
#define PROOF_H2_STATE_H

#include "stubs.h"
#include "wire/h2_internal.h"

/*
 * Entries of the table in all proofs. Most functions reach it through h2_stream_find and
 * h2_stream_new, so two entries stand for a table of any size: the one that is found, and any
 * other. The loops over the table (h2_valid, SETTINGS, sweep, due frames) are proved for two
 * entries only.
 */
#ifndef TABLE
#define TABLE 2u
#endif

#define WINDOW_TOP ((int64_t)H2_WINDOW_MAX)
#define STREAM_BOTH (H2_STREAM_LOCAL_ENDED | H2_STREAM_REMOTE_ENDED)

static struct h2 connection;
static struct h2_stream streams[TABLE];

/* The memory under the send buffer has any content, so that only its bounds matter. */
void explicit_bzero(void *memory, size_t n)
{
    __CPROVER_assert(n == 0u || __CPROVER_w_ok(memory, n), "explicit_bzero writes inside memory");
}

/* The window that the peer may use on a stream: ours, or the default until it knows ours. */
static int64_t window_granted(const struct h2 *c)
{
    bool ours = c->settings_acked || c->mem.window > H2_WINDOW_DEFAULT;
    return ours ? (int64_t)c->mem.window : (int64_t)H2_WINDOW_DEFAULT;
}

static int64_t window_lowest(const struct h2 *c)
{
    bool lowered = c->settings_acked && c->mem.window < H2_WINDOW_DEFAULT;
    return lowered ? (int64_t)c->mem.window - (int64_t)H2_WINDOW_DEFAULT : 0;
}

/* Whether the stream's DATA is being received: `left` octets of it are not consumed yet. */
static bool in_body(const struct h2 *c, const struct h2_stream *s)
{
    return c->stage == H2_STAGE_BODY && s->id != 0u && s->id == c->frame.stream &&
           s->state != (uint8_t)H2_STREAM_RESET_DUE;
}

static bool stream_windows_sound(const struct h2 *c, const struct h2_stream *s)
{
    int64_t behind = s->send_window - (int64_t)c->peer_window;
    int64_t left = in_body(c, s) ? (int64_t)c->left : 0;
    return behind >= -WINDOW_TOP && behind <= WINDOW_TOP && s->recv_window >= window_lowest(c) &&
           s->recv_window + (int64_t)s->consumed + left <= window_granted(c);
}

static bool stream_sound(const struct h2 *c, const struct h2_stream *s)
{
    bool bounded = s->send_window >= -3 * WINDOW_TOP && s->send_window <= 3 * WINDOW_TOP &&
                   s->recv_window >= -WINDOW_TOP && s->recv_window <= WINDOW_TOP;
    bool windows = bounded && (c->failure != STATUS_OK || stream_windows_sound(c, s));
    if (s->id == 0u || !windows) {
        return windows;
    }
    bool used = s->id % 2u == 1u && s->id <= H2_STREAM_MAX && s->state <= H2_STREAM_RESET_DUE &&
                s->send_window <= WINDOW_TOP && s->recv_window + (int64_t)s->consumed <= WINDOW_TOP;
    bool reserved = s->state == H2_STREAM_RESERVED;
    bool flags = reserved
                     ? c->role == H2_CLIENT && s->flags == 0u
                     : s->state == H2_STREAM_RESET_DUE || (s->flags & STREAM_BOTH) != STREAM_BOTH;
    bool body = !in_body(c, s) || (!reserved && (s->flags & H2_STREAM_REMOTE_ENDED) == 0u);
    return used && flags && body;
}

static bool streams_sound(const struct h2 *c)
{
    /* an id is used once: h2_stream_new gives the next, and the peer's ids grow */
    bool good = c->mem.streams_cap < 2u || streams[0].id == 0u || streams[0].id != streams[1].id;
    for (unsigned i = 0; i < TABLE; i++) {
        good = good && (i >= c->mem.streams_cap || stream_sound(c, &streams[i]));
    }
    return good;
}

/* What check_memory and check_windows of h2.c check at the start of a connection. */
static bool memory_sound(const struct h2_memory *m)
{
    return m->rx_cap >= H2_RX_BYTES_MIN && m->tx_cap >= H2_TX_BYTES_MIN &&
           m->tx_cap <= H2_FRAME_MAX && m->field_cap > 0u && m->field_cap <= UINT16_MAX &&
           m->scratch_cap >= m->field_cap && m->streams_cap > 0u && m->streams_cap <= TABLE &&
           m->table_size <= HPACK_TABLE_BYTES && m->window >= 1u && m->window <= H2_WINDOW_MAX &&
           m->connection_window >= H2_WINDOW_DEFAULT && m->connection_window <= H2_WINDOW_MAX;
}

/* Free bytes of the send buffer; a connection that works has room for the GOAWAY of a failure. */
static size_t room_of(const struct h2 *c)
{
    return c->mem.tx_cap - (c->tx_len - c->tx_pos);
}

static bool buffers_sound(const struct h2 *c)
{
    return c->rx_pos <= c->rx_len && c->rx_len <= c->mem.rx_cap && c->tx_pos <= c->tx_len &&
           c->tx_len <= c->mem.tx_cap && c->block.carried <= c->mem.field_cap &&
           (c->failure != STATUS_OK || room_of(c) >= H2_GOAWAY_BYTES);
}

/* What a frame in H2_STAGE_BODY has left counts in the windows already. */
static bool body_sound(const struct h2 *c)
{
    return c->stage != H2_STAGE_BODY ||
           (c->frame.type == H2_DATA && c->frame.length <= H2_FRAME_MAX &&
            c->left <= c->frame.length && c->padding <= c->frame.length - c->left);
}

static bool counters_sound(const struct h2 *c)
{
    int64_t left = c->stage == H2_STAGE_BODY ? (int64_t)c->left : 0;
    bool bounded = c->send_window >= -WINDOW_TOP && c->send_window <= WINDOW_TOP &&
                   c->recv_window >= 0 && c->recv_window <= WINDOW_TOP;
    bool windows = bounded && c->recv_window + (int64_t)c->consumed + left <=
                                  (int64_t)c->mem.connection_window;
    return windows && c->credit <= H2_CREDIT_MAX && c->charged <= H2_CREDIT_MAX &&
           c->late_granted <= c->mem.connection_window && c->peer_window <= H2_WINDOW_MAX &&
           c->peer_frame_max >= H2_FRAME_MAX && c->peer_frame_max <= H2_FRAME_MAX_HIGH &&
           c->stage < H2_STAGES && c->block.continuations <= H2_CONTINUATIONS_MAX;
}

static bool ids_sound(const struct h2 *c)
{
    return c->next_id % 2u == 1u && c->next_id <= H2_STREAM_MAX + 2u &&
           c->last_peer_id <= H2_STREAM_MAX && c->accept_max <= H2_STREAM_MAX &&
           c->goaway_last <= H2_STREAM_MAX && c->goaway_due <= H2_GOAWAY_FINAL &&
           c->closed_next < H2_CLOSED_MEMORY && c->failure < STATUS_COUNT &&
           c->failure != STATUS_MORE && c->frame.stream <= H2_STREAM_MAX;
}

static bool connection_sound(const struct h2 *c)
{
    return memory_sound(&c->mem) && buffers_sound(c) && body_sound(c) && counters_sound(c) &&
           ids_sound(c) && streams_sound(c);
}

/* A window within the bounds of stream_sound; its upper bits are alike, which spares CBMC work. */
static int64_t any_window(void)
{
    return any_i64() >> 30;
}

/* A connection of either role in any state that connection_sound allows, building no block. */
static struct h2 *any_state(void)
{
    __CPROVER_havoc_object(&connection);
    __CPROVER_havoc_object(streams);
    for (unsigned i = 0; i < TABLE; i++) {
        streams[i].send_window = any_window();
        streams[i].recv_window = any_window();
    }
    connection.send_window = any_window();
    connection.recv_window = any_window();
    struct h2_memory *m = &connection.mem;
    struct view rx = any_view(ANY_LENGTH);
    m->rx = (uint8_t *)rx.data;
    m->rx_cap = rx.len;
    m->tx_cap = any_length(H2_FRAME_MAX);
    m->tx = any_memory(m->tx_cap);
    m->streams = streams;
    ASSUME(connection.role == H2_SERVER || connection.role == H2_CLIENT);
    connection.building = false;
    ASSUME(connection_sound(&connection));
    return &connection;
}

/* The same with room for the frames of a step, which receive_step of h2.c checks. */
static struct h2 *any_step(void)
{
    struct h2 *c = any_state();
    ASSUME(c->failure == STATUS_OK && room_of(c) >= H2_STEP_BYTES);
    return c;
}

/* Any entry of the table that is in use. */
static struct h2_stream *any_stream(const struct h2 *c)
{
    unsigned i = any_unsigned();
    ASSUME(i < c->mem.streams_cap && streams[i].id != 0u);
    return &streams[i];
}

#endif
