/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, output and DATA of HTTP/2: each function once, from any state of a connection that
 * connection_sound of h2_state.h allows, and the same again after it. The table has two streams
 * and the one of HPACK, which is unread, two entries (h2_stream.toml).
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_state.h"

#include "wire/h2_stream.c"

/* I1 of base/bytes.h; a field takes an octet at least (RFC 7541 §6). */
void stub_hpack_encode(struct writer *out, struct view name, struct view value, bool never_indexed)
{
    (void)never_indexed;
    stub_check_view(name);
    stub_check_view(value);
    CHECK(writer_sound(out));
    if (out->full || out->len == out->cap || any_bool()) {
        out->full = true;
    } else {
        out->len += 1u + any_length(out->cap - out->len - 1u);
    }
}

/* What becomes of a closed stream; proof_h2_closed_memory has the functions themselves. */
void stub_remember_closed(struct h2 *c, uint32_t id, enum h2_past past)
{
    CHECK(id != 0u && past <= H2_PAST_RESET_BY_US && c->closed_next < H2_CLOSED_MEMORY);
    c->closed_next = any_u8() % H2_CLOSED_MEMORY;
}

enum h2_past stub_past(const struct h2 *c, uint32_t id)
{
    (void)c;
    CHECK(id != 0u);
    return (enum h2_past)(any_u8() % (H2_PAST_RESET_BY_US + 1u));
}

/* What the frames of proof_h2_frames take of the send buffer. */
static void take_room(struct h2 *c, size_t bytes)
{
    CHECK(!c->building && room_of(c) >= bytes);
    c->tx_len = c->tx_len - c->tx_pos + bytes;
    c->tx_pos = 0;
}

void stub_send_window_update(struct h2 *c, uint32_t stream, uint32_t increment)
{
    CHECK(stream <= H2_STREAM_MAX && increment > 0u && increment <= H2_WINDOW_MAX);
    take_room(c, H2_UPDATE_BYTES);
}

void stub_send_rst(struct h2 *c, uint32_t stream, uint32_t code)
{
    (void)code;
    CHECK(stream != 0u && stream <= H2_STREAM_MAX);
    take_room(c, H2_RST_BYTES);
}

void stub_send_goaway(struct h2 *c, uint32_t last_stream, uint32_t code)
{
    (void)code;
    CHECK(last_stream <= H2_STREAM_MAX);
    take_room(c, H2_GOAWAY_BYTES);
}

void proof_h2_pieces(void)
{
    struct h2 *c = any_state();
    struct view piece = h2_rx_piece(c);
    CHECK(piece.len <= c->left);
    CHECK(view_within(piece, view_of(c->mem.rx, c->rx_len)));
    size_t n = any_length(piece.len);
    uint32_t left = c->left;
    h2_rx_consume(c, n);
    CHECK(c->left == left - n && connection_sound(c));
    if (c->left == 0u) {
        h2_rx_finish_piece(c);
        CHECK(c->padding == 0u && (c->stage == H2_STAGE_SKIP) == (c->left > 0u));
        CHECK(connection_sound(c));
    }
}

void proof_h2_frames(void)
{
    struct h2 *c = any_step();
    size_t before = room_of(c);
    size_t used = H2_FRAME_HEADER_BYTES;
    CHECK(h2_tx_room(c) == before);
    switch (any_u8()) {
    case 0:
        h2_send_settings_ack(c);
        break;
    case 1:
        h2_send_ping(c, any_u64(), any_bool() ? H2_FLAG_ACK : 0u);
        used = H2_PING_BYTES;
        break;
    case 2:
        send_rst(c, any_stream(c)->id, any_u32());
        used = H2_RST_BYTES;
        break;
    case 3:
        send_goaway(c, any_u32() & H2_STREAM_MAX, any_u32());
        used = H2_GOAWAY_BYTES;
        break;
    default: {
        uint32_t increment = any_u32() & H2_WINDOW_MAX;
        ASSUME(increment > 0u);
        send_window_update(c, any_u32() & H2_STREAM_MAX, increment);
        used = H2_UPDATE_BYTES;
        break;
    }
    }
    CHECK(room_of(c) == before - used && connection_sound(c));
}

void proof_h2_send_buffer(void)
{
    struct h2 *c = any_state();
    size_t waiting = c->tx_len - c->tx_pos;
    struct writer w = tx_open(c);
    CHECK(c->tx_pos == 0u && c->tx_len == waiting && w.cap == room_of(c));
    CHECK(w.cap == 0u || __CPROVER_w_ok(w.data, w.cap));
    CHECK(h2_list_max(c) >= H2_HEADER_LIST_MAX);
}

void proof_h2_first_frames(void)
{
    struct h2 *c = any_state();
    ASSUME(c->tx_len == 0u && c->failure == STATUS_OK);
    h2_send_preface(c);
    CHECK(c->tx_len > 0u && connection_sound(c));
}

void proof_h2_table(void)
{
    struct h2 *c = any_state();
    uint32_t id = any_u32();
    struct h2_stream *s = h2_stream_find(c, id);
    CHECK(s == NULL || (s->id == id && id != 0u && s->state != H2_STREAM_RESET_DUE));
    CHECK(s == NULL || (s >= streams && s < streams + c->mem.streams_cap));
    CHECK(stream_owned(c, id) == (c->failure == STATUS_OK ? s : NULL));
    CHECK(h2_streams_open(c) <= c->mem.streams_cap);
    CHECK(connection_sound(c));
}

void proof_h2_new_stream(void)
{
    struct h2 *c = any_state();
    uint32_t id = any_u32() & H2_STREAM_MAX;
    /* h2_on_headers and h2_open: a new id, and no DATA is being received */
    ASSUME(id % 2u == 1u && streams[0].id != id && streams[1].id != id);
    ASSUME(c->stage != H2_STAGE_BODY);
    const struct h2_stream *s = h2_stream_new(c, id);
    CHECK(s == NULL || (s->id == id && s->state == H2_STREAM_OPEN && s->flags == 0u));
    CHECK(connection_sound(c));
}

/* Recently closed streams in any order, of a connection of either role. */
static struct h2 *any_closed(void)
{
    __CPROVER_havoc_object(&connection);
    ASSUME(connection.closed_next < H2_CLOSED_MEMORY);
    ASSUME(connection.role == H2_SERVER || connection.role == H2_CLIENT);
    return &connection;
}

static bool remembers(const struct h2 *c, uint32_t id, enum h2_past past)
{
    bool known = false;
    for (unsigned i = 0; i < H2_CLOSED_MEMORY; i++) {
        known = known || (c->closed[i].id == id && c->closed[i].past == (uint8_t)past);
    }
    return known;
}

void proof_h2_past(void)
{
    struct h2 *c = any_closed();
    uint32_t id = any_u32();
    ASSUME(id != 0u);
    /* an even id that nothing remembers stays idle, and no id counts as skipped at a client */
    enum h2_past past = h2_stream_past(c, id);
    bool known = remembers(c, id, past);
    CHECK(known || id % 2u == 1u || past == H2_PAST_IDLE);
    CHECK(known || c->role == H2_SERVER || past == H2_PAST_IDLE || past == H2_PAST_FORGOTTEN);
}

void proof_h2_closing(void)
{
    struct h2 *c = any_state();
    struct h2_stream *s = any_stream(c);
    uint32_t id = s->id;
    if (any_bool()) {
        h2_stream_close(c, s, (enum h2_past)(any_u8() % (H2_PAST_RESET_BY_US + 1u)));
        CHECK(s->id == 0u);
    } else {
        unsigned flag = any_bool() ? H2_STREAM_LOCAL_ENDED : H2_STREAM_REMOTE_ENDED;
        ASSUME(s->state == H2_STREAM_OPEN && (s->flags & flag) == 0u);
        /* h2_on_headers and h2_stage_body: the peer's end comes with its last octet */
        ASSUME(flag == H2_STREAM_LOCAL_ENDED || c->stage != H2_STAGE_BODY);
        h2_stream_end(c, s, flag);
        CHECK(s->id == 0u || (s->id == id && (s->flags & flag) != 0u));
    }
    CHECK(connection_sound(c));
}

void proof_h2_ping(void)
{
    struct h2 *c = any_state();
    if (any_bool()) {
        ASSUME(c->pings < UINT64_MAX); /* each costs a round trip */
        enum status s = h2_ping(c);
        CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_CLOSED);
    } else {
        h2_set_tag(c, any_u32(), any_u32());
    }
    CHECK(connection_sound(c));
}

void proof_h2_open(void)
{
    struct h2 *c = any_state();
    ASSUME(c->role == H2_CLIENT);
    for (unsigned i = 0; i < TABLE; i++) {
        /* next_id is above all ids in use, and the owner has sent or reset the last (h2.h) */
        ASSUME(i >= c->mem.streams_cap || streams[i].id < c->next_id);
        ASSUME(i >= c->mem.streams_cap || streams[i].id == 0u ||
               streams[i].state != H2_STREAM_RESERVED);
    }
    /* DATA that arrives belongs to a stream that was opened: stray_data refuses idle ones */
    ASSUME(c->stage != H2_STAGE_BODY || c->frame.stream < c->next_id);
    uint32_t id = 0;
    enum status s = h2_open(c, any_u32(), &id);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == FULL_TABLE || s == PEER_CLOSED);
    CHECK((s == STATUS_OK) == (id != 0u) && id <= H2_STREAM_MAX);
    CHECK(connection_sound(c));
}

/* Between h2_headers_begin and h2_headers_end the block stands behind what waits to be sent. */
static bool building_sound(const struct h2 *c)
{
    size_t tail = H2_TX_RESERVE + H2_FRAME_HEADER_BYTES;
    bool roomy = room_of(c) > tail;
    const struct writer *w = &c->build;
    bool at = roomy ? w->data == c->mem.tx + c->tx_len + H2_FRAME_HEADER_BYTES &&
                          w->cap == room_of(c) - tail
                    : w->data == NULL && w->cap == 0u;
    return c->building && c->tx_pos == 0u && at && w->len <= w->cap;
}

static struct h2 *any_building(void)
{
    struct h2 *c = any_state();
    c->building = true;
    c->tx_pos = 0;
    ASSUME(connection_sound(c));
    size_t tail = H2_TX_RESERVE + H2_FRAME_HEADER_BYTES;
    c->build.data = NULL;
    c->build.cap = 0;
    if (room_of(c) > tail) {
        c->build.data = c->mem.tx + c->tx_len + H2_FRAME_HEADER_BYTES;
        c->build.cap = room_of(c) - tail;
    }
    ASSUME(building_sound(c));
    return c;
}

void proof_h2_block_begin(void)
{
    struct h2 *c = any_state();
    uint32_t id = any_u32();
    const struct h2_stream *s = h2_stream_find(c, id);
    ASSUME(s == NULL || (s->flags & H2_STREAM_LOCAL_ENDED) == 0u); /* the owner's part */
    size_t room = h2_headers_room(c, id);
    CHECK(room <= c->mem.tx_cap);
    h2_headers_begin(c, id);
    CHECK(building_sound(c) && connection_sound(c));
    CHECK(c->build.cap == 0u || __CPROVER_w_ok(c->build.data, c->build.cap));
}

void proof_h2_block_field(void)
{
    struct h2 *c = any_building();
    if (any_bool()) {
        h2_header(c, ":method", any_view(ANY_LENGTH), any_bool());
    } else {
        h2_header_text(c, "te", "trailers");
    }
    CHECK(building_sound(c) && connection_sound(c));
}

void proof_h2_block_end(void)
{
    struct h2 *c = any_building();
    /* the owner added a field, or the stream had ended (h2_header) */
    ASSUME(c->build.full || c->build.len > 0u || c->build_stream == 0u);
    const struct h2_stream *s = h2_stream_find(c, c->build_stream);
    ASSUME(s == NULL || (s->flags & H2_STREAM_LOCAL_ENDED) == 0u);
    enum status status = h2_headers_end(c, any_bool());
    CHECK(status == STATUS_OK || status == FULL_BUFFER || status == PEER_CLOSED);
    CHECK(!c->building && connection_sound(c));
    CHECK(status != STATUS_OK || room_of(c) >= H2_TX_RESERVE);
}

void proof_h2_send_data(void)
{
    struct h2 *c = any_state();
    uint32_t id = any_u32();
    const struct h2_stream *s = h2_stream_find(c, id);
    /* what the owner promises: it has sent the header block, and not ended the stream */
    ASSUME(s == NULL ||
           ((s->flags & H2_STREAM_LIST_SENT) != 0u && (s->flags & H2_STREAM_LOCAL_ENDED) == 0u));
    size_t room = h2_data_room(c, id);
    CHECK(room <= c->mem.tx_cap);
    struct view data = any_view(room);
    bool end = any_bool();
    ASSUME(data.len > 0u || end);
    enum status status = h2_data(c, id, data, end);
    CHECK(status == STATUS_OK || status == STATUS_MORE || status == PEER_CLOSED);
    CHECK(status != STATUS_OK || data.len == 0u || c->send_window >= 0);
    CHECK(connection_sound(c));
}

static bool step_known(enum h2_step step)
{
    return step == H2_STEP_AGAIN || step == H2_STEP_EVENT || step == H2_STEP_STARVED;
}

/* --- errors, frames that are due, and DATA --- */

void proof_h2_errors(void)
{
    struct h2 *c = any_state();
    ASSUME(c->failure != STATUS_OK || room_of(c) >= H2_GOAWAY_BYTES);
    enum h2_error code = (enum h2_error)(any_u8() % (H2_HTTP_1_1_REQUIRED + 1u));
    switch (any_u8()) {
    case 0: {
        enum status why = (enum status)(any_u8() % STATUS_COUNT);
        ASSUME(why != STATUS_OK && why != STATUS_MORE);
        h2_fail(c, why, code);
        CHECK(c->failure != STATUS_OK);
        break;
    }
    case 1:
        ASSUME(code != H2_NO_ERROR);
        CHECK(h2_connection_error(c, code) == H2_STEP_AGAIN && c->failure != STATUS_OK);
        break;
    default:
        h2_charge(c);
        break;
    }
    CHECK(connection_sound(c));
}

void proof_h2_stream_errors(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    enum h2_error code = (enum h2_error)(any_u8() % (H2_HTTP_1_1_REQUIRED + 1u));
    if (any_bool()) {
        struct h2_stream *s = any_stream(c);
        ASSUME(s->state == H2_STREAM_OPEN);
        CHECK(h2_stream_error(c, s, code, &event) == H2_STEP_EVENT);
        CHECK(s->id == 0u && event.kind == H2_EVENT_RESET);
    } else {
        uint32_t id = any_u32() & H2_STREAM_MAX;
        ASSUME(id != 0u && h2_stream_find(c, id) == NULL);
        CHECK(h2_stranger_error(c, id, code) == H2_STEP_AGAIN);
    }
    CHECK(connection_sound(c));
}

void proof_h2_due(void)
{
    struct h2 *c = any_state();
    if (any_bool()) {
        h2_send_due(c);
    } else {
        h2_reset(c, any_u32(), (enum h2_error)(any_u8() % (H2_HTTP_1_1_REQUIRED + 1u)));
    }
    CHECK(connection_sound(c));
}

void proof_h2_on_data(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    struct h2_frame *f = &c->frame;
    f->type = H2_DATA;
    ASSUME(f->stream != 0u && f->length <= H2_FRAME_MAX);
    /* stage_fixed of h2.c has consumed the octet of the padding's length */
    uint8_t octet = any_u8();
    size_t n = (f->flags & H2_FLAG_PADDED) != 0u ? 1u : 0u;
    ASSUME(f->length >= n && c->left == f->length - n && c->padding == 0u);
    ASSUME(c->stage == (c->left > 0u ? H2_STAGE_SKIP : H2_STAGE_HEADER));
    CHECK(step_known(h2_on_data(c, (struct view){&octet, n}, &event)));
    CHECK(connection_sound(c));
}

void proof_h2_body(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    ASSUME(c->stage == H2_STAGE_BODY);
    CHECK(step_known(h2_stage_body(c, &event)));
    CHECK(connection_sound(c));
}
