/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header blocks: HEADERS and CONTINUATION, RFC 9113 §4.3, §6.2, §6.10. Owns the decoding of a
 * block field by field as its octets come; nothing is kept but one incomplete field.
 *
 * Every block is decoded to its end, because the compression state belongs to the connection.
 * What cannot be delivered is discarded: block.discard, with block.reset_code as the code
 * of the RST_STREAM at the end of the block (H2_NO_ERROR: none).
 */
#include <string.h>

#include "base/assert.h"
#include "wire/h2_internal.h"
#include "wire/http_status.h"

/* --- which list a block carries --- */

static void discard(struct h2 *c, enum h2_error code)
{
    ASSERT(c->block.stream != 0u);
    c->block.discard = true;
    c->block.reset_code = (uint32_t)code;
}

/* A block on a stream that is in the table. */
static enum h2_step begin_on_open(struct h2 *c, const struct h2_stream *s)
{
    ASSERT(s->id == c->block.stream);
    struct h2_block *b = &c->block;
    if (s->state == H2_STREAM_RESERVED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if ((s->flags & H2_STREAM_REMOTE_ENDED) != 0u) {
        discard(c, H2_STREAM_CLOSED);
    } else if ((s->flags & H2_STREAM_LIST_RECEIVED) == 0u) {
        h2_list_begin(&b->list, H2_LIST_RESPONSE);
    } else if (b->end_stream) {
        h2_list_begin(&b->list, H2_LIST_TRAILERS);
    } else {
        discard(c, H2_PROTOCOL_ERROR); /* §8.1: trailers end the stream */
    }
    return H2_STEP_AGAIN;
}

/* A block on a stream that nobody has opened yet. */
static enum h2_step begin_on_idle(struct h2 *c, uint32_t id)
{
    ASSERT(id == c->block.stream && id != 0u);
    if (c->role == H2_CLIENT || id % 2u == 0u) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR); /* §5.1.1 */
    }
    c->last_peer_id = id;
    if (h2_stream_new(c, id) == NULL) {
        discard(c, H2_REFUSED_STREAM); /* §5.1.2 */
    } else {
        h2_list_begin(&c->block.list, H2_LIST_REQUEST);
    }
    return H2_STEP_AGAIN;
}

/* §5.1 "closed" */
static enum h2_step begin_on_closed(struct h2 *c, enum h2_past past)
{
    ASSERT(past != H2_PAST_IDLE);
    if (past == H2_PAST_ENDED) {
        return h2_connection_error(c, H2_STREAM_CLOSED);
    }
    if (past == H2_PAST_SKIPPED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR); /* §5.1.1: ids only grow */
    }
    h2_charge(c);
    discard(c, past == H2_PAST_RESET_BY_US ? H2_NO_ERROR : H2_STREAM_CLOSED);
    return H2_STEP_AGAIN;
}

static enum h2_step begin_block(struct h2 *c)
{
    ASSERT(c->block.stream == 0u);
    uint32_t id = c->frame.stream;
    c->block = (struct h2_block){
        .stream = id,
        .end_stream = (c->frame.flags & H2_FLAG_END_STREAM) != 0u,
        .since_ms = c->now_ms,
    };
    const struct h2_stream *s = h2_stream_find(c, id);
    if (s != NULL) {
        return begin_on_open(c, s);
    }
    enum h2_past past = h2_stream_past(c, id);
    return past == H2_PAST_IDLE ? begin_on_idle(c, id) : begin_on_closed(c, past);
}

/* An empty piece of an incomplete block makes no progress (CVE-2019-9518). */
static void charge_empty(struct h2 *c)
{
    ASSERT(c->frame.type == H2_HEADERS || c->frame.type == H2_CONTINUATION);
    if (c->left == 0u && (c->frame.flags & H2_FLAG_END_HEADERS) == 0u) {
        h2_charge(c);
    }
}

enum h2_step h2_on_headers(struct h2 *c, struct view fixed, struct h2_event *event)
{
    (void)event;
    struct reader r = reader_of(fixed);
    uint8_t padding = 0;
    uint32_t dependency = 0;
    bool whole = true;
    if ((c->frame.flags & H2_FLAG_PADDED) != 0u) {
        whole = reader_u8(&r, &padding) == STATUS_OK;
    }
    if ((c->frame.flags & H2_FLAG_PRIORITY) != 0u) {
        whole = whole && reader_u32(&r, &dependency) == STATUS_OK;
    }
    ASSERT(whole && c->block.stream == 0u);
    if (padding > c->left) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    c->left -= padding;
    c->padding = padding;
    c->stage = H2_STAGE_FRAGMENT;
    charge_empty(c);
    enum h2_step step = begin_block(c);
    if ((dependency & H2_STREAM_MAX) == c->frame.stream && !c->block.discard) {
        discard(c, H2_PROTOCOL_ERROR);
    }
    return step;
}

enum h2_step h2_on_continuation(struct h2 *c, struct view fixed, struct h2_event *event)
{
    (void)event;
    ASSERT(fixed.len == 0u && c->block.stream == c->frame.stream);
    if (c->block.continuations == H2_CONTINUATIONS_MAX) {
        return h2_connection_error(c, H2_ENHANCE_YOUR_CALM);
    }
    c->block.continuations++;
    c->stage = H2_STAGE_FRAGMENT;
    charge_empty(c);
    return H2_STEP_AGAIN;
}

/* --- decoding --- */

/* Appends to the incomplete field. FULL_BUFFER: the field is longer than its bound. */
static enum status carry(struct h2 *c, struct view in, size_t *used)
{
    ASSERT(c->block.carried <= c->mem.field_cap);
    struct h2_block *b = &c->block;
    size_t room = c->mem.field_cap - b->carried;
    if (in.len >= room) {
        return FULL_BUFFER; /* what would fill the buffer is still no complete field */
    }
    memcpy(c->mem.field + b->carried, in.data, in.len);
    b->carried = (uint16_t)(b->carried + in.len);
    *used = in.len;
    return STATUS_MORE;
}

/* The front of `in` completes the carried field, or is carried as well. */
static enum status decode_carried(struct h2 *c, struct view in, size_t *used,
                                  struct hpack_field *field)
{
    ASSERT(c->block.carried > 0u && c->block.carried < c->mem.field_cap);
    struct h2_block *b = &c->block;
    struct view front = view_first(in, c->mem.field_cap - b->carried);
    memcpy(c->mem.field + b->carried, front.data, front.len);
    struct reader r = reader_of(view_of(c->mem.field, b->carried + front.len));
    struct writer scratch = writer_of(c->mem.scratch, c->mem.scratch_cap);
    enum status s = hpack_decode(&c->hpack, &r, !b->started, &scratch, field);
    if (s == STATUS_MORE) {
        return carry(c, in, used);
    }
    if (s == STATUS_OK) {
        ASSERT(r.pos > b->carried);
        *used = r.pos - b->carried;
        b->carried = 0;
    }
    return s;
}

/*
 * One field from the front of `in`. STATUS_MORE: all of `in` was taken and the field is still not
 * complete.
 */
static enum status decode_field(struct h2 *c, struct view in, size_t *used,
                                struct hpack_field *field)
{
    ASSERT(in.len > 0u);
    if (c->block.carried > 0u) {
        return decode_carried(c, in, used, field);
    }
    struct reader r = reader_of(view_first(in, c->mem.field_cap));
    struct writer scratch = writer_of(c->mem.scratch, c->mem.scratch_cap);
    enum status s = hpack_decode(&c->hpack, &r, !c->block.started, &scratch, field);
    if (s == STATUS_MORE) {
        return carry(c, in, used);
    }
    *used = r.pos;
    return s;
}

/* Counts the field and checks it against limits and rules; sets block.discard. */
static void judge_field(struct h2 *c, const struct hpack_field *field)
{
    ASSERT(!field->size_update && c->block.started);
    struct h2_block *b = &c->block;
    if (h2_stream_find(c, b->stream) == NULL && !b->discard) {
        discard(c, H2_NO_ERROR); /* the owner reset it in the middle of its list */
    }
    if (b->discard) {
        return;
    }
    if (b->listed > h2_list_max(c)) {
        discard(c, H2_ENHANCE_YOUR_CALM);
    } else if (!h2_list_field(&b->list, field->name, field->value)) {
        discard(c, H2_PROTOCOL_ERROR);
    }
}

static bool is_informational(const struct h2_list *list)
{
    return list->kind == H2_LIST_RESPONSE && list->status >= 100u && list->status <= 199u;
}

static enum h2_step on_field(struct h2 *c, const struct hpack_field *field, struct h2_event *event)
{
    ASSERT(c->block.stream != 0u);
    struct h2_block *b = &c->block;
    if (field->size_update) {
        b->size_updates++;
        return b->size_updates > HPACK_SIZE_UPDATES_MAX
                   ? h2_connection_error(c, H2_COMPRESSION_ERROR)
                   : H2_STEP_AGAIN;
    }
    b->started = true;
    b->listed += (uint32_t)(field->name.len + field->value.len) + 32u; /* RFC 9113 §6.5.2 */
    if (b->listed > H2_HEADER_LIST_HARD_MAX) {
        return h2_connection_error(c, H2_ENHANCE_YOUR_CALM);
    }
    judge_field(c, field);
    if (b->discard || is_informational(&b->list)) {
        return H2_STEP_AGAIN;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_FIELD,
        .stream = b->stream,
        .tag = h2_stream_find(c, b->stream)->tag,
        .name = field->name,
        .value = field->value,
        .trailers = b->list.kind == H2_LIST_TRAILERS,
    };
    return H2_STEP_EVENT;
}

/* --- the end of a block --- */

/* §8.1.1: what the DATA frames must add up to. */
static void expect_body(struct h2_stream *s, const struct h2_list *list)
{
    ASSERT(list->kind != H2_LIST_TRAILERS && (s->flags & H2_STREAM_LENGTH_KNOWN) == 0u);
    bool none = (s->flags & H2_STREAM_HEAD) != 0u || list->status == HTTP_NO_CONTENT ||
                list->status == HTTP_NOT_MODIFIED;
    if (list->has_length && !none) {
        s->flags |= H2_STREAM_LENGTH_KNOWN;
        s->body_left = list->length;
    }
}

/* RFC 9110 §15.2: checked, counted, not delivered; the next list is again a response. */
static enum h2_error end_informational(const struct h2_block *b, struct h2_stream *s)
{
    ASSERT(is_informational(&b->list));
    if (b->end_stream) {
        return H2_PROTOCOL_ERROR;
    }
    s->informational++;
    return s->informational > H2_INFORMATIONAL_MAX ? H2_ENHANCE_YOUR_CALM : H2_NO_ERROR;
}

static enum h2_error end_list(const struct h2_block *b, struct h2_stream *s)
{
    ASSERT(!b->discard && s->state == H2_STREAM_OPEN);
    if (!h2_list_end(&b->list)) {
        return H2_PROTOCOL_ERROR;
    }
    if (is_informational(&b->list)) {
        return end_informational(b, s);
    }
    s->flags |= H2_STREAM_LIST_RECEIVED;
    if (b->list.kind != H2_LIST_TRAILERS) {
        expect_body(s, &b->list);
    }
    bool missing = (s->flags & H2_STREAM_LENGTH_KNOWN) != 0u && s->body_left > 0u;
    return b->end_stream && missing ? H2_PROTOCOL_ERROR : H2_NO_ERROR;
}

static enum h2_step end_discarded(struct h2 *c, struct h2_stream *s, struct h2_event *event)
{
    ASSERT(c->block.stream == 0u);
    enum h2_error code = (enum h2_error)c->block.reset_code;
    uint32_t id = c->frame.stream;
    if (code == H2_NO_ERROR) {
        return H2_STEP_AGAIN;
    }
    if (s != NULL) {
        return h2_stream_error(c, s, code, event);
    }
    bool settled = h2_stream_past(c, id) == H2_PAST_RESET_BY_US;
    return settled ? H2_STEP_AGAIN : h2_stranger_error(c, id, code);
}

static enum h2_step end_block(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->block.carried == 0u && c->block.stream == c->frame.stream);
    struct h2_block *b = &c->block;
    struct h2_stream *s = h2_stream_find(c, b->stream);
    b->stream = 0;
    if (b->discard || s == NULL) {
        return end_discarded(c, s, event);
    }
    enum h2_error error = end_list(b, s);
    if (error != H2_NO_ERROR) {
        return h2_stream_error(c, s, error, event);
    }
    if (is_informational(&b->list)) {
        return H2_STEP_AGAIN;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_HEADERS_END,
        .stream = s->id,
        .tag = s->tag,
        .end_stream = b->end_stream,
        .trailers = b->list.kind == H2_LIST_TRAILERS,
    };
    if (b->end_stream) {
        h2_stream_end(c, s, H2_STREAM_REMOTE_ENDED);
    }
    return H2_STEP_EVENT;
}

/* The fragment of one frame is used up. */
static enum h2_step end_fragment(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->left == 0u && c->block.stream != 0u);
    h2_rx_finish_piece(c);
    if ((c->frame.flags & H2_FLAG_END_HEADERS) == 0u) {
        return H2_STEP_AGAIN;
    }
    if (c->block.carried > 0u) {
        return h2_connection_error(c, H2_COMPRESSION_ERROR); /* ends inside a field */
    }
    return end_block(c, event);
}

enum h2_step h2_stage_fragment(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->block.stream != 0u);
    if (c->left == 0u) {
        return end_fragment(c, event);
    }
    struct view piece = h2_rx_piece(c);
    if (piece.len == 0u) {
        return H2_STEP_STARVED;
    }
    size_t used = 0;
    struct hpack_field field;
    enum status s = decode_field(c, piece, &used, &field);
    if (s == STATUS_OK || s == STATUS_MORE) {
        h2_rx_consume(c, used);
        return s == STATUS_OK ? on_field(c, &field, event) : H2_STEP_AGAIN;
    }
    return h2_connection_error(c, s == FULL_BUFFER ? H2_ENHANCE_YOUR_CALM : H2_COMPRESSION_ERROR);
}
