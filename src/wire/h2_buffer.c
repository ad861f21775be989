/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two buffers of a connection: pieces of payload that are received, and control frames appended
 * to what is sent. Knows no stream and decides nothing.
 *
 * Three tiers share the send buffer: header blocks and DATA leave H2_TX_RESERVE free, control
 * frames leave room for one GOAWAY, and only the GOAWAY of a failure uses the last octets.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/h2_internal.h"

/* --- received --- */

struct view h2_rx_piece(const struct h2 *c)
{
    ASSERT(c->rx_pos <= c->rx_len);
    size_t here = c->rx_len - c->rx_pos;
    return view_of(c->mem.rx + c->rx_pos, here < c->left ? here : c->left);
}

void h2_rx_consume(struct h2 *c, size_t n)
{
    ASSERT(n <= c->left && n <= c->rx_len - c->rx_pos);
    c->rx_pos += n;
    c->left -= (uint32_t)n;
}

void h2_rx_finish_piece(struct h2 *c)
{
    ASSERT(c->left == 0u);
    c->left = c->padding;
    c->padding = 0;
    c->stage = H2_STAGE_SKIP;
}

/* --- sent --- */

size_t h2_tx_room(const struct h2 *c)
{
    ASSERT(c->tx_pos <= c->tx_len && c->tx_len <= c->mem.tx_cap);
    return c->mem.tx_cap - (c->tx_len - c->tx_pos);
}

struct writer h2_tx_open(struct h2 *c)
{
    ASSERT(!c->building);
    size_t waiting = c->tx_len - c->tx_pos;
    if (c->tx_pos > 0u) {
        memmove(c->mem.tx, c->mem.tx + c->tx_pos, waiting);
        c->tx_pos = 0;
        c->tx_len = waiting;
    }
    return writer_of(c->mem.tx + c->tx_len, c->mem.tx_cap - c->tx_len);
}

void h2_tx_close(struct h2 *c, const struct writer *w)
{
    ASSERT(!w->full);
    if (c->tx_pos == c->tx_len) {
        c->tx_progress_ms = c->now_ms;
    }
    c->tx_len += w->len;
    ASSERT(c->tx_len <= c->mem.tx_cap);
}

void h2_tx_frame(struct writer *w, size_t length, uint8_t type, unsigned flags, uint32_t stream)
{
    ASSERT(length <= H2_FRAME_MAX && stream <= H2_STREAM_MAX);
    writer_u24(w, (uint32_t)length);
    writer_u8(w, type);
    writer_u8(w, (uint8_t)flags);
    writer_u32(w, stream);
}

/* --- control frames --- */

static void setting(struct writer *w, uint16_t id, uint32_t value)
{
    ASSERT(id >= H2_SETTING_HEADER_TABLE_SIZE && id <= H2_SETTING_MAX_HEADER_LIST_SIZE);
    writer_u16(w, id);
    writer_u32(w, value);
}

uint32_t h2_list_max(const struct h2 *c)
{
    return c->role == H2_CLIENT ? H2_CLIENT_LIST_MAX : H2_HEADER_LIST_MAX;
}

void h2_send_preface(struct h2 *c)
{
    ASSERT(c->tx_len == 0u);
    struct writer w = h2_tx_open(c);
    if (c->role == H2_CLIENT) {
        writer_text(&w, H2_PREFACE);
    }
    h2_tx_frame(&w, (size_t)5u * H2_SETTING_BYTES, H2_SETTINGS, 0, 0);
    setting(&w, H2_SETTING_HEADER_TABLE_SIZE, c->mem.table_size);
    setting(&w, H2_SETTING_ENABLE_PUSH, 0);
    setting(&w, H2_SETTING_MAX_CONCURRENT_STREAMS, c->role == H2_SERVER ? c->mem.streams_cap : 0u);
    setting(&w, H2_SETTING_INITIAL_WINDOW_SIZE, c->mem.window);
    setting(&w, H2_SETTING_MAX_HEADER_LIST_SIZE, h2_list_max(c));
    h2_tx_close(c, &w);
}

void h2_send_settings_ack(struct h2 *c)
{
    ASSERT(h2_tx_room(c) >= H2_FRAME_HEADER_BYTES + H2_GOAWAY_BYTES);
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, 0, H2_SETTINGS, H2_FLAG_ACK, 0);
    h2_tx_close(c, &w);
}

void h2_send_ping(struct h2 *c, uint64_t payload, unsigned flags)
{
    ASSERT((flags & ~H2_FLAG_ACK) == 0u);
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, 8, H2_PING, flags, 0);
    writer_u64(&w, payload);
    h2_tx_close(c, &w);
}

void h2_send_rst(struct h2 *c, uint32_t stream, uint32_t code)
{
    ASSERT(stream != 0u);
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, 4, H2_RST_STREAM, 0, stream);
    writer_u32(&w, code);
    h2_tx_close(c, &w);
}

void h2_send_window_update(struct h2 *c, uint32_t stream, uint32_t increment)
{
    ASSERT(increment > 0u && increment <= H2_WINDOW_MAX);
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, 4, H2_WINDOW_UPDATE, 0, stream);
    writer_u32(&w, increment);
    h2_tx_close(c, &w);
}

void h2_send_goaway(struct h2 *c, uint32_t last_stream, uint32_t code)
{
    ASSERT(last_stream <= H2_STREAM_MAX);
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, 8, H2_GOAWAY, 0, 0);
    writer_u32(&w, last_stream);
    writer_u32(&w, code);
    h2_tx_close(c, &w);
}
