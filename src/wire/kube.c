/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of one response: headers, watch frames, and the choice of rules once the type of an
 * object is known. kube_filter.c walks through the object.
 */
#include "wire/kube.h"

#include "base/assert.h"
#include "base/chars.h"
#include "wire/kube_rules.h"

#define MEDIA_TYPE_PROTOBUF "application/vnd.kubernetes.protobuf"
#define HTTP_STATUS_MAX 999u

/* `phase` of struct kube_answer. */
enum {
    PHASE_START,  /* no byte of the body taken yet */
    PHASE_OBJECT, /* one enveloped object */
    PHASE_PREFIX, /* between watch frames, or in the length of the next */
    PHASE_FRAME,  /* in a watch frame */
    PHASE_TEXT    /* a body that is no protobuf */
};

static bool shape_is_watch(enum kube_shape shape)
{
    return shape == KUBE_SHAPE_SLICE_WATCH || shape == KUBE_SHAPE_NODE_WATCH;
}

void kube_answer_init(struct kube_answer *a, enum kube_shape shape)
{
    ASSERT((unsigned)shape <= (unsigned)KUBE_SHAPE_GROUP);
    a->shape = shape;
    a->http_status = 0;
    a->is_protobuf = false;
    a->retry_after_s = 0;
    a->message[0] = '\0';
    a->message_len = 0;
    a->message_ended = false;
    a->failed = STATUS_OK;
    a->phase = PHASE_START;
    a->prefix_have = 0;
}

/* --- header --- */

static void take_status(struct kube_answer *a, struct view value)
{
    uint64_t status = 0;

    a->is_protobuf = false;
    a->retry_after_s = 0;
    a->http_status = 0;
    /* RFC 9110 §15.2: interim responses (1xx) precede the final one. */
    if (view_decimal(value, HTTP_STATUS_MAX, &status) == STATUS_OK && status >= HTTP_OK) {
        a->http_status = (uint16_t)status;
    }
}

static void take_content_type(struct kube_answer *a, struct view value)
{
    struct view type = view_trim(view_first(value, view_find(value, ';')));

    a->is_protobuf = view_is(type, MEDIA_TYPE_PROTOBUF);
}

/* RFC 9110 §10.2.3: seconds, or a date, which begins with a letter and is treated as none. */
static uint32_t retry_after(struct view value)
{
    uint64_t seconds = 0;

    if (view_decimal(value, UINT32_MAX, &seconds) == STATUS_OK) {
        return (uint32_t)seconds;
    }
    bool large = value.len >= 10u && is_digit(value.data[0]);
    return large ? UINT32_MAX : 0u;
}

void kube_answer_field(struct kube_answer *a, struct view name, struct view value)
{
    ASSERT(a->phase <= PHASE_TEXT);
    if (a->phase != PHASE_START) {
        return;
    }
    if (view_is(name, ":status")) {
        take_status(a, value);
    } else if (view_is(name, "content-type")) {
        take_content_type(a, value);
    } else if (view_is(name, "retry-after")) {
        a->retry_after_s = retry_after(value);
    } else {
        /* nothing that matters */
    }
}

/* --- body that is no protobuf --- */

static void keep_text_byte(struct kube_answer *a, uint8_t byte)
{
    bool ends = byte == '\n' || byte == '\r';
    bool printable = byte >= ' ' && byte <= '~';

    if (ends || a->message_len + 1u >= sizeof a->message) {
        a->message_ended = a->message_len > 0u;
        return;
    }
    a->message[a->message_len] = '?';
    if (printable) {
        a->message[a->message_len] = (char)byte;
    }
    a->message_len++;
    a->message[a->message_len] = '\0';
}

static enum status take_text(struct kube_answer *a, struct reader *in)
{
    struct view bytes = {0};
    enum status taken = reader_take(in, reader_left(in), &bytes);

    ASSERT(taken == STATUS_OK);
    ASSERT(a->message_len < sizeof a->message);
    for (size_t i = 0; i < bytes.len && !a->message_ended; i++) {
        keep_text_byte(a, bytes.data[i]);
    }
    /* Text is no success, see kube_answer_end: more of it is not waited for. */
    return (a->http_status <= HTTP_OK_LAST) ? PEER_MALFORMED : STATUS_MORE;
}

/* --- protobuf body --- */

/*
 * Last text under `field` in a record of text fields; what follows a field of another type is not
 * seen.
 */
static struct view record_text(struct view message, uint64_t field)
{
    struct reader in = reader_of(message);
    struct view found = {0};
    struct view text = {0};
    uint64_t tag = 0;
    uint64_t len = 0;

    while (reader_varint(&in, &tag) == STATUS_OK && (tag & 7u) == 2u &&
           reader_varint(&in, &len) == STATUS_OK &&
           reader_take(&in, (size_t)len, &text) == STATUS_OK) {
        if (tag >> 3 == field) {
            found = text;
        }
    }
    return found;
}

/* The type of an object is known: Status and older API versions have rules of their own. */
static void choose_rules(struct kube_answer *a, struct view type_meta)
{
    bool framed = a->phase == PHASE_FRAME;
    struct view api_version = record_text(type_meta, 1);
    struct view kind = record_text(type_meta, 2);

    kube_filter_switch(&a->filter, kube_rules_of(a->shape, framed, kind, api_version));
}

static void begin_object(struct kube_answer *a, bool framed, uint64_t length)
{
    struct view unknown = {0};

    kube_filter_init(&a->filter, kube_rules_of(a->shape, framed, unknown, unknown), length);
    a->phase = framed ? PHASE_FRAME : PHASE_OBJECT;
}

static void begin_body(struct kube_answer *a)
{
    ASSERT(a->phase == PHASE_START);
    if (!a->is_protobuf) {
        a->phase = PHASE_TEXT;
    } else if (shape_is_watch(a->shape) && a->http_status == HTTP_OK) {
        a->phase = PHASE_PREFIX;
    } else {
        begin_object(a, false, UINT64_MAX);
    }
}

/* Takes bytes of a frame's length; STATUS_OK when a frame has begun. */
static enum status take_prefix(struct kube_answer *a, struct reader *in)
{
    struct reader prefix = reader_of(view_of(a->prefix, sizeof a->prefix));
    uint32_t length = 0;
    enum status st;

    while (a->prefix_have < sizeof a->prefix) {
        st = reader_u8(in, &a->prefix[a->prefix_have]);
        if (st != STATUS_OK) {
            return st;
        }
        a->prefix_have++;
    }
    st = reader_u32(&prefix, &length);
    ASSERT(st == STATUS_OK);
    if (length > KUBE_WATCH_FRAME_MAX) {
        return PEER_MALFORMED;
    }
    a->prefix_have = 0;
    begin_object(a, true, length);
    return STATUS_OK;
}

static enum status take_object(struct kube_answer *a, struct reader *in, struct kube_record *record)
{
    enum status st = kube_filter_next(&a->filter, in, record);

    if (st == STATUS_OK && record->record == KUBE_TYPE_META) {
        choose_rules(a, record->message);
    }
    return st;
}

/* Each round takes a prefix or the bytes of one frame; empty frames cost their four bytes. */
static enum status take_frames(struct kube_answer *a, struct reader *in, struct kube_record *record)
{
    enum status st = STATUS_OK;

    while (st == STATUS_OK) {
        if (a->phase == PHASE_PREFIX) {
            st = take_prefix(a, in);
            continue;
        }
        st = take_object(a, in, record);
        if (st != STATUS_MORE || !kube_filter_done(&a->filter)) {
            return st;
        }
        a->phase = PHASE_PREFIX;
        st = STATUS_OK;
    }
    return st;
}

enum status kube_answer_next(struct kube_answer *a, struct reader *in, struct kube_record *record)
{
    enum status st;

    ASSERT(a->phase <= PHASE_TEXT);
    if (a->failed != STATUS_OK) {
        return a->failed;
    }
    if (a->phase == PHASE_START && reader_left(in) > 0u) {
        begin_body(a);
    }
    switch (a->phase) {
    case PHASE_START:
        return STATUS_MORE;
    case PHASE_TEXT:
        st = take_text(a, in);
        break;
    case PHASE_OBJECT:
        st = take_object(a, in, record);
        break;
    default:
        st = take_frames(a, in, record);
        break;
    }
    if (st != STATUS_OK && st != STATUS_MORE) {
        a->failed = st;
    }
    return st;
}

enum status kube_answer_end(struct kube_answer *a)
{
    /* Success without an object is no API server's: a page of text does not mean no slices. */
    bool success = http_is_success(a->http_status);
    bool whole = true;

    if (a->failed != STATUS_OK) {
        return a->failed;
    }
    switch (a->phase) {
    case PHASE_START:
        whole = a->is_protobuf ? shape_is_watch(a->shape) && a->http_status == HTTP_OK : !success;
        break;
    case PHASE_OBJECT:
        whole = kube_filter_end(&a->filter) == STATUS_OK;
        break;
    case PHASE_PREFIX:
        whole = a->prefix_have == 0u;
        break;
    case PHASE_FRAME:
        whole = false;
        break;
    default:
        ASSERT(a->phase == PHASE_TEXT);
        whole = !success;
        break;
    }
    if (!whole) {
        a->failed = PEER_MALFORMED;
    }
    return a->failed;
}
