/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manages the streams of one connection and all output: the receive and send buffers, the stream
 * table, the memory of recently closed streams, errors and the abuse credit, the owner's header
 * blocks, DATA and RST_STREAM, the peer's DATA, and the windows of both directions. Owns the send
 * buffer and the lifetime of each struct h2_stream; parses no frame header.
 *
 * Three kinds of output share the send buffer: header blocks and DATA leave H2_TX_RESERVE free,
 * control frames leave room for one GOAWAY, and only the GOAWAY of a failure uses the last octets.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/h2_internal.h"

_Static_assert(H2_TX_RESERVE >= H2_STEP_BYTES, "full data must not stop the reading of frames");
_Static_assert(H2_TX_BYTES_MIN >= 2u * H2_TX_RESERVE, "the least buffer must carry some data");

/* --- reading from the receive buffer --- */

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

void h2_rx_skip(struct h2 *c)
{
    ASSERT(c->padding == 0u);
    c->stage = c->left > 0u ? H2_STAGE_SKIP : H2_STAGE_HEADER;
}

void h2_rx_finish_piece(struct h2 *c)
{
    ASSERT(c->left == 0u);
    c->left = c->padding;
    c->padding = 0;
    h2_rx_skip(c);
}

/* --- appending to the send buffer --- */

size_t h2_tx_room(const struct h2 *c)
{
    ASSERT(c->tx_pos <= c->tx_len && c->tx_len <= c->mem.tx_cap);
    return c->mem.tx_cap - (c->tx_len - c->tx_pos);
}

static struct writer tx_open(struct h2 *c)
{
    ASSERT(!c->building);
    size_t waiting = c->tx_len - c->tx_pos;
    if (c->tx_pos > 0u) {
        memmove(c->mem.tx, c->mem.tx + c->tx_pos, waiting);
        explicit_bzero(c->mem.tx + waiting, c->tx_pos);
        c->tx_pos = 0;
        c->tx_len = waiting;
    }
    return writer_of(c->mem.tx + c->tx_len, c->mem.tx_cap - c->tx_len);
}

static void tx_close(struct h2 *c, const struct writer *w)
{
    ASSERT(!w->full);
    if (c->tx_pos == c->tx_len) {
        c->tx_progress_ms = c->now_ms;
    }
    c->tx_len += w->len;
    ASSERT(c->tx_len <= c->mem.tx_cap);
}

static void tx_frame(struct writer *w, size_t length, uint8_t type, unsigned flags, uint32_t stream)
{
    ASSERT(length <= H2_FRAME_MAX && stream <= H2_STREAM_MAX);
    writer_u24(w, (uint32_t)length);
    writer_u8(w, type);
    writer_u8(w, (uint8_t)flags);
    writer_u32(w, stream);
}

/* --- writing control frames --- */

static void write_setting(struct writer *w, uint16_t id, uint32_t value)
{
    ASSERT(id >= H2_SETTING_HEADER_TABLE_SIZE && id <= H2_SETTING_MAX_HEADER_LIST_SIZE);
    writer_u16(w, id);
    writer_u32(w, value);
}

uint32_t h2_list_max(const struct h2 *c)
{
    return c->role == H2_CLIENT ? H2_CLIENT_LIST_MAX : H2_HEADER_LIST_MAX;
}

static void send_window_update(struct h2 *c, uint32_t stream, uint32_t increment)
{
    ASSERT(increment > 0u && increment <= H2_WINDOW_MAX);
    struct writer w = tx_open(c);
    tx_frame(&w, 4, H2_WINDOW_UPDATE, 0, stream);
    writer_u32(&w, increment);
    tx_close(c, &w);
}

void h2_send_preface(struct h2 *c)
{
    ASSERT(c->tx_len == 0u);
    struct writer w = tx_open(c);
    if (c->role == H2_CLIENT) {
        writer_text(&w, H2_PREFACE);
    }
    tx_frame(&w, (size_t)5u * H2_SETTING_BYTES, H2_SETTINGS, 0, 0);
    write_setting(&w, H2_SETTING_HEADER_TABLE_SIZE, c->mem.table_size);
    write_setting(&w, H2_SETTING_ENABLE_PUSH, 0);
    write_setting(&w, H2_SETTING_MAX_CONCURRENT_STREAMS,
                  c->role == H2_SERVER ? c->mem.streams_cap : 0u);
    write_setting(&w, H2_SETTING_INITIAL_WINDOW_SIZE, c->mem.window);
    /*
     * RFC 9113 §6.5.2: a client that keeps to this size must lose neither the list nor the
     * connection, so it is the size of the longest field. The 32 octets that each field adds exceed
     * the at most 9 octets that a literal adds to its name and value. RFC 7541 §5.2 leaves the
     * choice of the Huffman code to the encoder; encoders use it only where it is shorter.
     */
    write_setting(&w, H2_SETTING_MAX_HEADER_LIST_SIZE, (uint32_t)c->mem.field_cap);
    tx_close(c, &w);
    /*
     * RFC 9113 §6.9.2: the connection's window can be enlarged by WINDOW_UPDATE only, not by
     * SETTINGS
     */
    if (c->mem.connection_window > H2_WINDOW_DEFAULT) {
        send_window_update(c, 0, c->mem.connection_window - H2_WINDOW_DEFAULT);
    }
}

void h2_send_settings_ack(struct h2 *c)
{
    ASSERT(h2_tx_room(c) >= H2_FRAME_HEADER_BYTES + H2_GOAWAY_BYTES);
    struct writer w = tx_open(c);
    tx_frame(&w, 0, H2_SETTINGS, H2_FLAG_ACK, 0);
    tx_close(c, &w);
}

void h2_send_ping(struct h2 *c, uint64_t payload, unsigned flags)
{
    ASSERT((flags & ~H2_FLAG_ACK) == 0u);
    struct writer w = tx_open(c);
    tx_frame(&w, 8, H2_PING, flags, 0);
    writer_u64(&w, payload);
    tx_close(c, &w);
}

static void send_rst(struct h2 *c, uint32_t stream, uint32_t code)
{
    ASSERT(stream != 0u);
    struct writer w = tx_open(c);
    tx_frame(&w, 4, H2_RST_STREAM, 0, stream);
    writer_u32(&w, code);
    tx_close(c, &w);
}

static void send_goaway(struct h2 *c, uint32_t last_stream, uint32_t code)
{
    ASSERT(last_stream <= H2_STREAM_MAX);
    struct writer w = tx_open(c);
    tx_frame(&w, 8, H2_GOAWAY, 0, 0);
    writer_u32(&w, last_stream);
    writer_u32(&w, code);
    tx_close(c, &w);
}

/* --- the stream table --- */

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

static struct h2_stream *stream_owned(const struct h2 *c, uint32_t id)
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
         * Until the peer acknowledges our SETTINGS, it may use the default window (RFC 9113
         * §6.9.2), or our window if it has read the SETTINGS: allow the larger window.
         */
        bool ours = c->settings_acked || c->mem.window > H2_WINDOW_DEFAULT;
        *s = (struct h2_stream){
            .id = id,
            .state = H2_STREAM_OPEN,
            .send_window = c->peer_window,
            .recv_window = ours ? c->mem.window : H2_WINDOW_DEFAULT,
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

static void remember_closed(struct h2 *c, uint32_t id, enum h2_past past)
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

/*
 * When we reset a stream, DATA of the peer may be in flight: at most as many octets as the window
 * of the stream still allows. Adds this number to late_granted, so that these octets cost the peer
 * no abuse credit. late_granted never exceeds the connection's window.
 */
static void grant_late(struct h2 *c, const struct h2_stream *s)
{
    ASSERT(c->late_granted <= c->mem.connection_window);
    if ((s->flags & H2_STREAM_REMOTE_ENDED) != 0u) {
        return;
    }
    int64_t unused = (int64_t)c->mem.connection_window - (int64_t)c->late_granted;
    int64_t granted = s->recv_window < unused ? s->recv_window : unused;
    /* RFC 9113 §6.9.2: a window may be negative */
    c->late_granted += granted > 0 ? (uint32_t)granted : 0u;
}

void h2_stream_close(struct h2 *c, struct h2_stream *s, enum h2_past past)
{
    ASSERT(s->id != 0u);
    remember_closed(c, s->id, past);
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
    /* Neither side pushes, so streams with even ids stay idle forever. */
    if (id % 2u == 0u) {
        return H2_PAST_IDLE;
    }
    /* RFC 9113 §6.8: we drop the frames of streams above the last stream of our GOAWAY. */
    if (c->role == H2_SERVER && id > c->accept_max) {
        return H2_PAST_RESET_BY_US;
    }
    bool opened = c->role == H2_SERVER ? id <= c->last_peer_id : id < c->next_id;
    if (!opened) {
        return H2_PAST_IDLE;
    }
    /* As a client, we use every odd id in turn, so no id is skipped. */
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

/* --- connection errors, stream errors and the abuse credit --- */

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
    /*
     * A connection that ends with NO_ERROR still cuts off its open streams; their RESET events
     * report an error.
     */
    c->sweep_code = code == H2_NO_ERROR ? (uint32_t)H2_INTERNAL_ERROR : (uint32_t)code;
    if (failure == PEER_CLOSED) {
        return;
    }
    send_goaway(c, c->last_peer_id, (uint32_t)code);
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
    send_rst(c, s->id, (uint32_t)code);
    grant_late(c, s);
    h2_stream_close(c, s, H2_PAST_RESET_BY_US);
    h2_charge(c);
    return H2_STEP_EVENT;
}

enum h2_step h2_stranger_error(struct h2 *c, uint32_t id, enum h2_error code)
{
    ASSERT(h2_stream_find(c, id) == NULL);
    send_rst(c, id, (uint32_t)code);
    remember_closed(c, id, H2_PAST_RESET_BY_US);
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

/* --- control frames that wait for room in the send buffer --- */

/*
 * Number of octets of a header block besides its fields: the frame header and one table size
 * update.
 */
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
    send_goaway(c, final ? c->last_peer_id : H2_STREAM_MAX, c->goaway_code);
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
            send_rst(c, s->id, s->reset_code);
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

/* --- streams that the owner opens and resets --- */

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

void h2_set_tag(struct h2 *c, uint32_t stream, uint32_t tag)
{
    ASSERT(!c->building);
    struct h2_stream *s = stream_owned(c, stream);
    if (s != NULL) {
        s->tag = tag;
    }
}

void h2_reset(struct h2 *c, uint32_t stream, enum h2_error code)
{
    ASSERT(!c->building);
    struct h2_stream *s = h2_stream_find(c, stream);
    if (s == NULL) {
        return;
    }
    if (s->state == H2_STREAM_RESERVED) {
        c->next_id = s->id; /* the peer never saw the stream, so its id can be reused */
        s->id = 0;
        return;
    }
    grant_late(c, s);
    remember_closed(c, s->id, H2_PAST_RESET_BY_US);
    s->state = H2_STREAM_RESET_DUE;
    s->reset_code = (uint32_t)code;
    c->resets_due = true;
    h2_send_due(c);
}

/*
 * Refunds charges of charge_refundable when we send HEADERS or DATA, because the peer may react to
 * our frame with the kind of frame that was charged.
 */
static void refund_credit(struct h2 *c)
{
    ASSERT(c->credit <= H2_CREDIT_MAX);
    uint32_t n = c->charged < H2_REFUND_PER_FRAME ? c->charged : H2_REFUND_PER_FRAME;
    uint32_t used = H2_CREDIT_MAX - c->credit;
    c->charged -= n;
    c->credit += n < used ? n : used;
}

static void frame_sent(struct h2 *c, struct h2_stream *s, bool end_stream)
{
    ASSERT(s->state == H2_STREAM_OPEN && c->failure == STATUS_OK);
    refund_credit(c);
    if (end_stream) {
        h2_stream_end(c, s, H2_STREAM_LOCAL_ENDED);
    }
}

/* --- header blocks that the owner sends --- */

size_t h2_headers_room(const struct h2 *c, uint32_t stream)
{
    ASSERT(!c->building);
    size_t room = h2_tx_room(c);
    if (stream_owned(c, stream) == NULL || room < H2_TX_RESERVE + BLOCK_OVERHEAD) {
        return 0;
    }
    return room - H2_TX_RESERVE - BLOCK_OVERHEAD;
}

void h2_headers_begin(struct h2 *c, uint32_t stream)
{
    ASSERT(!c->building);
    const struct h2_stream *s = stream_owned(c, stream);
    ASSERT(s == NULL || (s->flags & H2_STREAM_LOCAL_ENDED) == 0u);
    struct writer w = tx_open(c);
    size_t tail = H2_TX_RESERVE + H2_FRAME_HEADER_BYTES;
    c->build = writer_of(NULL, 0);
    if (w.cap > tail) {
        c->build = writer_of(w.data + H2_FRAME_HEADER_BYTES, w.cap - tail);
    }
    /*
     * RFC 7541 §4.2: if the peer lowers SETTINGS_HEADER_TABLE_SIZE, we must confirm the new value
     * with a size update. This engine never indexes, so one update to zero in the first block
     * confirms every value that the peer may announce later.
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

void h2_header_text(struct h2 *c, const char *name, const char *text)
{
    h2_header(c, name, view_text(text), false);
}

enum status h2_headers_end(struct h2 *c, bool end_stream)
{
    ASSERT(c->building);
    c->building = false;
    struct h2_stream *s = stream_owned(c, c->build_stream);
    if (s == NULL) {
        return PEER_CLOSED;
    }
    if (c->build.full) {
        if (c->build.len > 0u) { /* build.data is NULL if there was no room to begin a block */
            explicit_bzero(c->build.data, c->build.len);
        }
        return FULL_BUFFER;
    }
    ASSERT(c->build.len > 0u && c->build.len <= c->peer_frame_max);
    /* The header block is already in the send buffer, after the room for its frame header. */
    struct writer w = tx_open(c);
    ASSERT(w.data + H2_FRAME_HEADER_BYTES == c->build.data);
    tx_frame(&w, c->build.len, H2_HEADERS,
             H2_FLAG_END_HEADERS | (end_stream ? H2_FLAG_END_STREAM : 0u), s->id);
    w.len += c->build.len;
    tx_close(c, &w);
    c->table_cleared = true;
    s->state = H2_STREAM_OPEN;
    s->flags |= (uint8_t)(H2_STREAM_LIST_SENT | (c->build_head ? H2_STREAM_HEAD : 0u));
    frame_sent(c, s, end_stream);
    return STATUS_OK;
}

/* --- DATA that the owner sends --- */

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
    const struct h2_stream *s = stream_owned(c, stream);
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
    struct h2_stream *s = stream_owned(c, stream);
    if (s == NULL) {
        return PEER_CLOSED;
    }
    ASSERT((s->flags & H2_STREAM_LIST_SENT) != 0u && (s->flags & H2_STREAM_LOCAL_ENDED) == 0u);
    ASSERT(data.len <= h2_data_room(c, stream) && (data.len > 0u || end_stream));
    if (h2_tx_room(c) < H2_TX_RESERVE + H2_FRAME_HEADER_BYTES) {
        return STATUS_MORE;
    }
    struct writer w = tx_open(c);
    tx_frame(&w, data.len, H2_DATA, end_stream ? H2_FLAG_END_STREAM : 0u, stream);
    writer_append(&w, data);
    tx_close(c, &w);
    c->send_window -= (int64_t)data.len;
    s->send_window -= (int64_t)data.len;
    frame_sent(c, s, end_stream);
    return STATUS_OK;
}

/* --- DATA that the peer sends, and the windows that we grant (RFC 9113 §6.1, §5.2, §6.9) --- */

/*
 * Counts `n` octets of DATA as consumed. Once half of the connection's window is consumed, grants
 * the consumed octets to the peer again, by WINDOW_UPDATE.
 */
static void consumed_by_connection(struct h2 *c, uint32_t n)
{
    ASSERT(c->recv_window + (int64_t)c->consumed + (int64_t)n <= (int64_t)c->mem.connection_window);
    c->consumed += n;
    if (c->consumed < c->mem.connection_window / 2u) {
        return;
    }
    send_window_update(c, 0, c->consumed);
    c->recv_window += (int64_t)c->consumed;
    c->consumed = 0;
}

/*
 * Like consumed_by_connection, for a stream's window. Sends no WINDOW_UPDATE if this is the peer's
 * last frame on the stream.
 */
static void consumed_by_stream(struct h2 *c, struct h2_stream *s, uint32_t n)
{
    ASSERT(s->id == c->frame.stream && n <= c->frame.length);
    s->consumed += n;
    bool last_frame = (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    if (s->consumed == 0u || s->consumed < c->mem.window / 2u || last_frame) {
        return;
    }
    send_window_update(c, s->id, s->consumed);
    s->recv_window += (int64_t)s->consumed;
    s->consumed = 0;
}

/* Raises a stream error for a DATA frame and counts the frame as consumed. */
static enum h2_step data_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                               struct h2_event *event)
{
    ASSERT(s->id == c->frame.stream && code != H2_NO_ERROR);
    consumed_by_connection(c, c->frame.length);
    return h2_stream_error(c, s, code, event);
}

/* Handles DATA of a stream that is not in the table; `length` excludes the padding. */
static enum h2_step stray_data(struct h2 *c, uint32_t length)
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
    /*
     * DATA that was in flight when we reset the stream costs no abuse credit. A frame shorter than
     * H2_LATE_FRAME_BYTES counts as that many octets, so that a peer cannot send many tiny frames
     * at no cost.
     */
    uint32_t used = c->frame.length < H2_LATE_FRAME_BYTES ? H2_LATE_FRAME_BYTES : c->frame.length;
    if (length == 0u || used > c->late_granted) {
        h2_charge(c);
        return H2_STEP_AGAIN;
    }
    c->late_granted -= used;
    return H2_STEP_AGAIN;
}

/* Returns the stream error that this DATA frame causes; H2_NO_ERROR: the frame is valid. */
static enum h2_error check_data(const struct h2 *c, const struct h2_stream *s, uint32_t length)
{
    ASSERT(s->id == c->frame.stream && length <= c->frame.length);
    if ((s->flags & H2_STREAM_REMOTE_ENDED) != 0u) {
        return H2_STREAM_CLOSED;
    }
    if ((s->flags & H2_STREAM_LIST_RECEIVED) == 0u) {
        return H2_PROTOCOL_ERROR; /* RFC 9113 §8.1: a message starts with a header list */
    }
    bool end = (c->frame.flags & H2_FLAG_END_STREAM) != 0u;
    bool known = (s->flags & H2_STREAM_LENGTH_KNOWN) != 0u;
    if (known && (length > s->body_left || (end && length < s->body_left))) {
        /* RFC 9113 §8.1.1: the length of the body differs from content-length */
        return H2_PROTOCOL_ERROR;
    }
    return H2_NO_ERROR;
}

/* Accepts a valid DATA frame; h2_stage_body returns the events for its body. */
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
    h2_charge(c); /* charges an empty frame, because it makes no progress (CVE-2019-9518) */
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
    uint32_t length = c->left - padding;
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (s == NULL) {
        return stray_data(c, length);
    }
    if (s->state == H2_STREAM_RESERVED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
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

/* Drops the rest of a DATA frame whose stream the owner has reset. */
static enum h2_step drop_body(struct h2 *c)
{
    ASSERT(c->left + c->padding <= c->frame.length);
    consumed_by_connection(c, c->left);
    c->left += c->padding; /* the padding is skipped too; accept_data counted it as consumed */
    c->padding = 0;
    h2_rx_skip(c);
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
    event->kind = H2_EVENT_DATA;
    event->stream = s->id;
    event->tag = s->tag;
    event->data = piece;
    event->end_stream = end;
    event->trailers = false;
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
