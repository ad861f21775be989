/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the owner sends on streams: header blocks, DATA, RST_STREAM; and the frames that waited for
 * room. Never looks at input. h2_buffer.c says who may fill the send buffer how far.
 */
#include "base/assert.h"
#include "wire/h2_internal.h"

_Static_assert(H2_TX_RESERVE >= H2_STEP_BYTES, "full data must not stop the reading of frames");
_Static_assert(H2_TX_BYTES_MIN >= 2u * H2_TX_RESERVE, "the least buffer must carry some data");

/* What a header block may need in front: its frame header and one table size update. */
#define BLOCK_OVERHEAD (H2_FRAME_HEADER_BYTES + 1u)

static bool control_room(const struct h2 *c, size_t bytes)
{
    ASSERT(bytes <= H2_GOAWAY_BYTES);
    return c->failure == STATUS_OK && h2_tx_room(c) >= bytes + H2_GOAWAY_BYTES;
}

static void send_due_goaway(struct h2 *c)
{
    ASSERT(c->goaway_due != H2_GOAWAY_NONE && c->failure == STATUS_OK);
    bool final = c->goaway_due == H2_GOAWAY_FINAL;
    c->goaway_due = H2_GOAWAY_NONE;
    if (final) {
        c->accept_max = c->last_peer_id;
    }
    h2_send_goaway(c, final ? c->last_peer_id : H2_STREAM_MAX, c->goaway_code);
}

void h2_send_due(struct h2 *c)
{
    ASSERT(!c->building);
    if (c->goaway_due != H2_GOAWAY_NONE && control_room(c, H2_GOAWAY_BYTES)) {
        send_due_goaway(c);
    }
    bool left = false;
    for (unsigned i = 0; c->resets_due && i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id == 0u || s->state != H2_STREAM_RESET_DUE) {
            continue;
        }
        if (control_room(c, H2_RST_BYTES)) {
            h2_send_rst(c, s->id, s->reset_code);
            s->id = 0;
        } else {
            left = true;
        }
    }
    c->resets_due = left;
}

enum status h2_ping(struct h2 *c)
{
    ASSERT(!c->building);
    if (c->failure != STATUS_OK) {
        return PEER_CLOSED;
    }
    if (!control_room(c, H2_PING_BYTES)) {
        return STATUS_MORE;
    }
    c->pings++;
    c->ping_waiting = true;
    h2_send_ping(c, c->pings, 0);
    return STATUS_OK;
}

/* --- streams --- */

enum status h2_open(struct h2 *c, uint32_t tag, uint32_t *stream)
{
    ASSERT(c->role == H2_CLIENT);
    const struct h2_stream *last = h2_stream_find(c, c->next_id - 2u);
    ASSERT(last == NULL || last->state != H2_STREAM_RESERVED);
    if (c->failure != STATUS_OK || c->goaway_received || c->closing || c->next_id > H2_STREAM_MAX) {
        return PEER_CLOSED;
    }
    if (h2_streams_open(c) >= c->peer_streams_max ||
        h2_tx_room(c) < H2_TX_RESERVE + BLOCK_OVERHEAD) {
        return STATUS_MORE;
    }
    struct h2_stream *s = h2_stream_new(c, c->next_id);
    if (s == NULL) {
        return FULL_TABLE;
    }
    s->state = H2_STREAM_RESERVED;
    s->tag = tag;
    c->next_id += 2u;
    *stream = s->id;
    return STATUS_OK;
}

void h2_reset(struct h2 *c, uint32_t stream, enum h2_error code)
{
    ASSERT(!c->building);
    struct h2_stream *s = h2_stream_find(c, stream);
    if (s == NULL) {
        return;
    }
    if (s->state == H2_STREAM_RESERVED) {
        c->next_id = s->id; /* the peer never saw it */
        s->id = 0;
        return;
    }
    h2_remember(c, s->id, H2_PAST_RESET_BY_US);
    s->state = H2_STREAM_RESET_DUE;
    s->reset_code = (uint32_t)code;
    c->resets_due = true;
    h2_send_due(c);
}

/* Frames of ours may have caused frames of the peer: their price is refunded. */
static void refund(struct h2 *c)
{
    ASSERT(c->credit <= H2_CREDIT_MAX);
    uint32_t n = c->charged < H2_REFUND_PER_FRAME ? c->charged : H2_REFUND_PER_FRAME;
    uint32_t used = H2_CREDIT_MAX - c->credit;
    c->charged -= n;
    c->credit += n < used ? n : used;
}

static void sent(struct h2 *c, struct h2_stream *s, bool end_stream)
{
    ASSERT(s->state == H2_STREAM_OPEN && c->failure == STATUS_OK);
    refund(c);
    if (end_stream) {
        h2_stream_end(c, s, H2_STREAM_LOCAL_ENDED);
    }
}

/* --- header blocks --- */

size_t h2_headers_room(const struct h2 *c, uint32_t stream)
{
    ASSERT(!c->building);
    size_t room = h2_tx_room(c);
    if (h2_stream_owned(c, stream) == NULL || room < H2_TX_RESERVE + BLOCK_OVERHEAD) {
        return 0;
    }
    return room - H2_TX_RESERVE - BLOCK_OVERHEAD;
}

void h2_headers_begin(struct h2 *c, uint32_t stream)
{
    ASSERT(!c->building);
    const struct h2_stream *s = h2_stream_owned(c, stream);
    ASSERT(s == NULL || (s->flags & H2_STREAM_LOCAL_ENDED) == 0u);
    struct writer w = h2_tx_open(c);
    size_t tail = H2_TX_RESERVE + H2_FRAME_HEADER_BYTES;
    c->build = writer_of(NULL, 0);
    if (w.cap > tail) {
        c->build = writer_of(w.data + H2_FRAME_HEADER_BYTES, w.cap - tail);
    }
    /*
     * RFC 7541 §4.2: a smaller SETTINGS_HEADER_TABLE_SIZE of the peer has to be confirmed by a
     * size update. We never index, so one update to zero in our first block confirms every value
     * that the peer may ever announce.
     */
    if (!c->table_cleared) {
        writer_u8(&c->build, 0x20);
    }
    c->building = true;
    c->build_head = false;
    c->build_stream = s == NULL ? 0u : stream;
}

void h2_header(struct h2 *c, const char *name, struct view value, bool sensitive)
{
    ASSERT(c->building);
    if (c->build_stream == 0u) {
        return;
    }
    struct view field_name = view_text(name);
    if (view_is(field_name, ":method") && view_is(value, "HEAD")) {
        c->build_head = true;
    }
    hpack_encode(&c->build, field_name, value, sensitive);
}

enum status h2_headers_end(struct h2 *c, bool end_stream)
{
    ASSERT(c->building);
    c->building = false;
    struct h2_stream *s = h2_stream_owned(c, c->build_stream);
    if (s == NULL) {
        return PEER_CLOSED;
    }
    if (c->build.full) {
        return FULL_BUFFER;
    }
    ASSERT(c->build.len > 0u && c->build.len <= c->peer_frame_max);
    /* The block already stands in the buffer, behind the room of its frame header. */
    struct writer w = h2_tx_open(c);
    ASSERT(w.data + H2_FRAME_HEADER_BYTES == c->build.data);
    h2_tx_frame(&w, c->build.len, H2_HEADERS,
                H2_FLAG_END_HEADERS | (end_stream ? H2_FLAG_END_STREAM : 0u), s->id);
    w.len += c->build.len;
    h2_tx_close(c, &w);
    c->table_cleared = true;
    s->state = H2_STREAM_OPEN;
    s->flags |= (uint8_t)(H2_STREAM_LIST_SENT | (c->build_head ? H2_STREAM_HEAD : 0u));
    sent(c, s, end_stream);
    return STATUS_OK;
}

/* --- DATA --- */

static size_t at_most(size_t value, int64_t bound)
{
    if (bound <= 0) {
        return 0;
    }
    return value < (uint64_t)bound ? value : (size_t)bound;
}

size_t h2_data_room(const struct h2 *c, uint32_t stream)
{
    ASSERT(c->send_window <= (int64_t)H2_WINDOW_MAX && !c->building);
    const struct h2_stream *s = h2_stream_owned(c, stream);
    size_t room = h2_tx_room(c);
    if (s == NULL || room <= H2_TX_RESERVE + H2_FRAME_HEADER_BYTES) {
        return 0;
    }
    room -= H2_TX_RESERVE + H2_FRAME_HEADER_BYTES;
    room = at_most(room, c->peer_frame_max);
    room = at_most(room, c->send_window);
    return at_most(room, s->send_window);
}

enum status h2_data(struct h2 *c, uint32_t stream, struct view data, bool end_stream)
{
    ASSERT(!c->building);
    struct h2_stream *s = h2_stream_owned(c, stream);
    if (s == NULL) {
        return PEER_CLOSED;
    }
    ASSERT((s->flags & H2_STREAM_LIST_SENT) != 0u && (s->flags & H2_STREAM_LOCAL_ENDED) == 0u);
    ASSERT(data.len <= h2_data_room(c, stream) && (data.len > 0u || end_stream));
    if (h2_tx_room(c) < H2_TX_RESERVE + H2_FRAME_HEADER_BYTES) {
        return STATUS_MORE;
    }
    struct writer w = h2_tx_open(c);
    h2_tx_frame(&w, data.len, H2_DATA, end_stream ? H2_FLAG_END_STREAM : 0u, stream);
    writer_append(&w, data);
    h2_tx_close(c, &w);
    c->send_window -= (int64_t)data.len;
    s->send_window -= (int64_t)data.len;
    sent(c, s, end_stream);
    return STATUS_OK;
}
