/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header blocks: HEADERS and CONTINUATION, RFC 9113 §4.3, §6.2, §6.10, and the rules for the header
 * lists in them, §8. Decodes a block field by field as its octets arrive; keeps only an incomplete
 * field and the state that the rules need (struct h2_list).
 *
 * Decodes every block to its end, because the compression state belongs to the connection. A block
 * that cannot be delivered is discarded: block.discard is true, and block.reset_code is the code of
 * the RST_STREAM to send at the end of the block (H2_NO_ERROR: none).
 */
#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "wire/h2_internal.h"
#include "wire/http_status.h"

/* --- which fields a header list may have (RFC 9113 §8.2 and §8.3) --- */

/* Values of `kind` in struct h2_list: kinds of header lists with different rules (RFC 9113 §8). */
enum { H2_LIST_REQUEST, H2_LIST_RESPONSE, H2_LIST_TRAILERS };

/* Bits of `pseudo` in struct h2_list: the pseudo-header fields received so far. */
#define PSEUDO_METHOD 0x01u
#define PSEUDO_SCHEME 0x02u
#define PSEUDO_AUTHORITY 0x04u
#define PSEUDO_PATH 0x08u
#define PSEUDO_STATUS 0x10u

static void list_begin(struct h2_list *list, uint8_t kind)
{
    ASSERT(kind == H2_LIST_REQUEST || kind == H2_LIST_RESPONSE || kind == H2_LIST_TRAILERS);
    *list = (struct h2_list){.kind = kind};
}

/*
 * RFC 9113 §8.2.1: a name has at least one character, only visible ASCII characters, no upper-case
 * letter, and a colon only as its first character.
 */
static bool name_valid(struct view name)
{
    ASSERT(name.len == 0u || name.data != NULL);
    for (size_t i = 0; i < name.len; i++) {
        uint8_t o = name.data[i];
        if (!is_visible(o) || is_upper(o) || (o == ':' && i > 0u)) {
            return false;
        }
    }
    return name.len > 0u;
}

/* RFC 9113 §8.2.1: a value has no NUL, CR or LF, and no space or tab at either end. */
static bool value_valid(struct view value)
{
    ASSERT(value.len == 0u || value.data != NULL);
    for (size_t i = 0; i < value.len; i++) {
        uint8_t o = value.data[i];
        if (o == 0x00u || o == '\n' || o == '\r') {
            return false;
        }
    }
    return value.len == 0u || (!is_blank(value.data[0]) && !is_blank(value.data[value.len - 1u]));
}

static bool method_valid(struct h2_list *list, struct view value)
{
    ASSERT((list->pseudo & PSEUDO_METHOD) != 0u);
    list->is_connect = view_is(value, "CONNECT");
    return value.len > 0u;
}

static bool scheme_valid(struct h2_list *list, struct view value)
{
    (void)list;
    return value.len > 0u;
}

static bool authority_valid(struct h2_list *list, struct view value)
{
    (void)list;
    (void)value;
    /*
     * accepts any :authority, because kubelets send an encoded socket path, "localhost" or ""
     */
    return true;
}

/* RFC 9113 §8.3.1: accepts an absolute path, or "*", which OPTIONS uses. */
static bool path_valid(struct h2_list *list, struct view value)
{
    (void)list;
    return view_starts(value, "/") || view_is(value, "*");
}

/*
 * RFC 9113 §8.3.2: accepts three digits from 100 on (RFC 9110 §15), except 101, which does not
 * exist in HTTP/2 (RFC 9113 §8.6).
 */
static bool status_valid(struct h2_list *list, struct view value)
{
    ASSERT(list->kind == H2_LIST_RESPONSE && list->status == 0u);
    uint64_t status;
    if (value.len != 3u || view_decimal(value, 999, &status) != STATUS_OK) {
        return false;
    }
    list->status = (uint16_t)status;
    return status >= 100u && status != 101u;
}

static const struct {
    const char *name;
    uint8_t kind;
    uint8_t bit;
    bool (*valid)(struct h2_list *list, struct view value);
} pseudo_fields[] = {
    {":method", H2_LIST_REQUEST, PSEUDO_METHOD, method_valid},
    {":scheme", H2_LIST_REQUEST, PSEUDO_SCHEME, scheme_valid},
    {":authority", H2_LIST_REQUEST, PSEUDO_AUTHORITY, authority_valid},
    {":path", H2_LIST_REQUEST, PSEUDO_PATH, path_valid},
    {":status", H2_LIST_RESPONSE, PSEUDO_STATUS, status_valid},
};
#define PSEUDO_FIELDS (sizeof pseudo_fields / sizeof pseudo_fields[0])

/*
 * RFC 9113 §8.3: accepts a pseudo-header field that the kind of list allows, once, with a valid
 * value, and only before all regular fields.
 */
static bool pseudo_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(name.len > 0u && name.data[0] == ':');
    for (size_t i = 0; i < PSEUDO_FIELDS; i++) {
        if (!view_is(name, pseudo_fields[i].name)) {
            continue;
        }
        uint8_t bit = pseudo_fields[i].bit;
        bool allowed = pseudo_fields[i].kind == list->kind && (list->pseudo & bit) == 0u;
        list->pseudo |= bit;
        return allowed && !list->regular && pseudo_fields[i].valid(list, value);
    }
    return false;
}

/* RFC 9113 §8.2.2: whether the field is an HTTP/1.1 connection field, which HTTP/2 forbids. */
static bool connection_specific(struct view name)
{
    static const char *const names[] = {"connection", "proxy-connection", "keep-alive",
                                        "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (view_is(name, names[i])) {
            return true;
        }
    }
    return false;
}

/*
 * RFC 9113 §8.1.1: stores content-length; a repeated one must have the same value (RFC 9110 §8.6).
 */
static bool content_length(struct h2_list *list, struct view value)
{
    ASSERT(list->kind != H2_LIST_TRAILERS);
    uint64_t length;
    if (view_decimal(value, INT64_MAX, &length) != STATUS_OK) {
        return false;
    }
    bool same = !list->has_length || list->length == length;
    list->has_length = true;
    list->length = length;
    return same;
}

static bool regular_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(name.len > 0u && name.data[0] != ':');
    list->regular = true;
    if (connection_specific(name)) {
        return false;
    }
    if (view_is(name, "te")) {
        return view_is(value, "trailers");
    }
    if (view_is(name, "content-length") && list->kind != H2_LIST_TRAILERS) {
        return content_length(list, value);
    }
    return true;
}

static bool list_field(struct h2_list *list, struct view name, struct view value)
{
    ASSERT(list->kind <= H2_LIST_TRAILERS);
    if (!name_valid(name) || !value_valid(value)) {
        return false;
    }
    return name.data[0] == ':' ? pseudo_field(list, name, value) : regular_field(list, name, value);
}

/* Whether a request has all mandatory pseudo-header fields (RFC 9113 §8.3.1; for CONNECT §8.5). */
static bool request_complete(const struct h2_list *list)
{
    ASSERT(list->kind == H2_LIST_REQUEST);
    unsigned mandatory = PSEUDO_METHOD | PSEUDO_SCHEME | PSEUDO_PATH;
    if (list->is_connect) {
        return list->pseudo == (PSEUDO_METHOD | PSEUDO_AUTHORITY);
    }
    return (list->pseudo & mandatory) == mandatory;
}

static bool list_end(const struct h2_list *list)
{
    ASSERT(list->kind <= H2_LIST_TRAILERS);
    if (list->kind == H2_LIST_REQUEST) {
        return request_complete(list);
    }
    return list->kind == H2_LIST_TRAILERS || list->pseudo == PSEUDO_STATUS;
}

/* --- beginning a header block --- */

static void discard_block(struct h2 *c, enum h2_error code)
{
    ASSERT(c->block.stream != 0u);
    c->block.discard = true;
    c->block.reset_code = (uint32_t)code;
}

/* Begins a header block on a stream of the stream table. */
static enum h2_step begin_on_open(struct h2 *c, const struct h2_stream *s)
{
    ASSERT(s->id == c->block.stream);
    struct h2_block *b = &c->block;
    if (s->state == H2_STREAM_RESERVED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if ((s->flags & H2_STREAM_REMOTE_ENDED) != 0u) {
        discard_block(c, H2_STREAM_CLOSED);
    } else if ((s->flags & H2_STREAM_LIST_RECEIVED) == 0u) {
        list_begin(&b->list, H2_LIST_RESPONSE);
    } else if (b->end_stream) {
        list_begin(&b->list, H2_LIST_TRAILERS);
    } else {
        discard_block(c, H2_PROTOCOL_ERROR); /* RFC 9113 §8.1: trailers must end the stream */
    }
    return H2_STEP_AGAIN;
}

/* Begins a header block on a stream that is not open yet. */
static enum h2_step begin_on_idle(struct h2 *c, uint32_t id)
{
    ASSERT(id == c->block.stream && id != 0u);
    if (c->role == H2_CLIENT || id % 2u == 0u) {
        /* RFC 9113 §5.1.1: a server opens no streams, and a client opens none with an even id */
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    c->last_peer_id = id;
    if (h2_stream_new(c, id) == NULL) {
        discard_block(c, H2_REFUSED_STREAM); /* RFC 9113 §5.1.2: too many open streams */
    } else {
        list_begin(&c->block.list, H2_LIST_REQUEST);
    }
    return H2_STEP_AGAIN;
}

/*
 * Begins a header block on a closed stream; the reaction depends on how the stream was closed
 * (`past`; RFC 9113 §5.1 "closed").
 */
static enum h2_step begin_on_closed(struct h2 *c, enum h2_past past)
{
    ASSERT(past != H2_PAST_IDLE);
    if (past == H2_PAST_ENDED) {
        return h2_connection_error(c, H2_STREAM_CLOSED);
    }
    if (past == H2_PAST_SKIPPED) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR); /* RFC 9113 §5.1.1: ids only increase */
    }
    h2_charge(c);
    discard_block(c, past == H2_PAST_RESET_BY_US ? H2_NO_ERROR : H2_STREAM_CLOSED);
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

/*
 * Charges the abuse credit if the frame is empty and does not end its header block, because such
 * frames cost work and make no progress (CVE-2019-9518).
 */
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
    ASSERT(c->block.stream == 0u);
    if ((c->frame.flags & H2_FLAG_PADDED) != 0u) {
        enum status s = reader_u8(&r, &padding);
        ASSERT(s == STATUS_OK);
    }
    if ((c->frame.flags & H2_FLAG_PRIORITY) != 0u) {
        enum status s = reader_u32(&r, &dependency);
        ASSERT(s == STATUS_OK);
    }
    if (padding > c->left) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    c->left -= padding;
    c->padding = padding;
    c->stage = H2_STAGE_FRAGMENT;
    charge_empty(c);
    enum h2_step step = begin_block(c);
    if ((dependency & H2_STREAM_MAX) == c->frame.stream && !c->block.discard) {
        discard_block(c, H2_PROTOCOL_ERROR);
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

/* --- decoding of header fields --- */

/* Appends `in` to the incomplete field in mem.field. FULL_BUFFER: the field does not fit. */
static enum status carry_field(struct h2 *c, struct view in, size_t *used)
{
    ASSERT(c->block.carried <= c->mem.field_cap);
    struct h2_block *b = &c->block;
    size_t room = c->mem.field_cap - b->carried;
    if (in.len >= room) {
        return FULL_BUFFER; /* the field is longer than mem.field */
    }
    memcpy(c->mem.field + b->carried, in.data, in.len);
    b->carried = (uint16_t)(b->carried + in.len);
    *used = in.len;
    return STATUS_MORE;
}

/*
 * Decodes a field from the octets kept in mem.field and the octets of `in` that follow them.
 * STATUS_MORE: the field is still incomplete, and mem.field now keeps `in` as well.
 */
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
        return carry_field(c, in, used);
    }
    if (s == STATUS_OK) {
        ASSERT(r.pos > b->carried);
        *used = r.pos - b->carried;
        b->carried = 0;
    }
    return s;
}

/*
 * Decodes one field from the front of `in`. STATUS_MORE: all of `in` was consumed, and the field is
 * incomplete.
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
        return carry_field(c, in, used);
    }
    *used = r.pos;
    return s;
}

/* Checks a field by the limits and rules of its header list; may discard the block. */
static void judge_field(struct h2 *c, const struct hpack_field *field)
{
    ASSERT(!field->size_update && c->block.started);
    struct h2_block *b = &c->block;
    if (h2_stream_find(c, b->stream) == NULL && !b->discard) {
        /* the owner reset the stream while its header list was arriving */
        discard_block(c, H2_NO_ERROR);
    }
    if (b->discard) {
        return;
    }
    if (b->listed > h2_list_max(c)) {
        discard_block(c, H2_ENHANCE_YOUR_CALM);
    } else if (!list_field(&b->list, field->name, field->value)) {
        discard_block(c, H2_PROTOCOL_ERROR);
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
    /* RFC 9113 §6.5.2: each field adds 32 octets of overhead */
    b->listed += (uint32_t)(field->name.len + field->value.len) + 32u;
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

/* --- ending a header block --- */

/*
 * RFC 9113 §8.1.1: stores how many octets of DATA must follow, if that is known: as many as
 * content-length says, and none if the response has no content (RFC 9110 §6.4.1), whatever its
 * content-length.
 */
static void expect_body(struct h2_stream *s, const struct h2_list *list)
{
    ASSERT(list->kind != H2_LIST_TRAILERS && (s->flags & H2_STREAM_LENGTH_KNOWN) == 0u);
    bool none = (s->flags & H2_STREAM_HEAD) != 0u || list->status == HTTP_NO_CONTENT ||
                list->status == HTTP_NOT_MODIFIED;
    if (list->has_length || none) {
        s->flags |= H2_STREAM_LENGTH_KNOWN;
        s->body_left = none ? 0u : list->length;
    }
}

/*
 * RFC 9110 §15.2: checks and counts a 1xx response, but returns no event for it; another response
 * list follows.
 */
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
    if (!list_end(&b->list)) {
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

/*
 * Handles the end of the header block fragment in a frame; ends the header block if the frame has
 * the flag END_HEADERS.
 */
static enum h2_step end_fragment(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->left == 0u && c->block.stream != 0u);
    h2_rx_finish_piece(c);
    if ((c->frame.flags & H2_FLAG_END_HEADERS) == 0u) {
        return H2_STEP_AGAIN;
    }
    if (c->block.carried > 0u) {
        return h2_connection_error(c, H2_COMPRESSION_ERROR); /* the block ends inside a field */
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
