/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive path: preface, frame header, the rules that hold for every frame of a type, and the
 * dispatch to one handler per type. Owns the stages of a frame; what a frame means is in the
 * handlers.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/h2_internal.h"

/* `stream_rule`: the streams on which a frame may come. */
enum { ON_STREAM, ON_CONNECTION, ON_ANY };

struct frame_rule {
    h2_handler handler;
    uint32_t length_min;
    uint32_t length_max;
    enum h2_error too_long;
    /* octets of the payload that the handler gets in one piece, as far as they are there */
    uint32_t fixed;
    uint8_t stream_rule;
    uint8_t prefix_flags; /* of PADDED and PRIORITY: those that put octets in front */
};

/* RFC 9113 §6 */
static const struct frame_rule frame_rules[H2_FRAME_TYPES] = {
    [H2_DATA] = {h2_on_data, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 0, ON_STREAM, H2_FLAG_PADDED},
    [H2_HEADERS] = {h2_on_headers, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 0, ON_STREAM,
                    H2_FLAG_PADDED | H2_FLAG_PRIORITY},
    /* A wrong length of PRIORITY is an error of the stream (§6.3), left to its handler. */
    [H2_PRIORITY] = {h2_on_priority, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 5, ON_STREAM, 0},
    [H2_RST_STREAM] = {h2_on_rst_stream, 4, 4, H2_FRAME_SIZE_ERROR, 4, ON_STREAM, 0},
    [H2_SETTINGS] = {h2_on_settings, 0, H2_SETTINGS_MAX *H2_SETTING_BYTES, H2_ENHANCE_YOUR_CALM,
                     H2_SETTINGS_MAX *H2_SETTING_BYTES, ON_CONNECTION, 0},
    [H2_PUSH_PROMISE] = {h2_on_push_promise, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 0, ON_ANY, 0},
    [H2_PING] = {h2_on_ping, 8, 8, H2_FRAME_SIZE_ERROR, 8, ON_CONNECTION, 0},
    [H2_GOAWAY] = {h2_on_goaway, 8, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 8, ON_CONNECTION, 0},
    [H2_WINDOW_UPDATE] = {h2_on_window_update, 4, 4, H2_FRAME_SIZE_ERROR, 4, ON_ANY, 0},
    [H2_CONTINUATION] = {h2_on_continuation, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 0, ON_STREAM, 0},
};

/* §5.5: frames of unknown types are ignored. */
static enum h2_step on_unknown(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(fixed.len == 0u);
    (void)event;
    h2_charge(c);
    return H2_STEP_AGAIN;
}

static const struct frame_rule unknown_rule = {on_unknown, 0, H2_FRAME_MAX, H2_FRAME_SIZE_ERROR, 0,
                                               ON_ANY,     0};

static const struct frame_rule *rule_of(const struct h2_frame *f)
{
    return f->type < H2_FRAME_TYPES ? &frame_rules[f->type] : &unknown_rule;
}

/* §3.4: octet by octet, so that a wrong first one is seen at once. */
static enum h2_step stage_preface(struct h2 *c, struct h2_event *event)
{
    static const uint8_t preface[] = H2_PREFACE;
    (void)event;
    ASSERT(c->role == H2_SERVER && c->preface_have < H2_PREFACE_BYTES);
    size_t here = c->rx_len - c->rx_pos;
    size_t missing = H2_PREFACE_BYTES - c->preface_have;
    size_t n = here < missing ? here : missing;
    if (n == 0u) {
        return H2_STEP_STARVED;
    }
    if (memcmp(&c->mem.rx[c->rx_pos], &preface[c->preface_have], n) != 0) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    c->rx_pos += n;
    c->preface_have = (uint8_t)(c->preface_have + n);
    if (c->preface_have == H2_PREFACE_BYTES) {
        c->stage = H2_STAGE_HEADER;
    }
    return H2_STEP_AGAIN;
}

/*
 * The order in which frames may come: SETTINGS first (§3.4), nothing inside a header block
 * (§6.10).
 */
static bool order_valid(const struct h2 *c)
{
    ASSERT(c->stage == H2_STAGE_HEADER);
    const struct h2_frame *f = &c->frame;
    if (!c->settings_seen) {
        /* An acknowledgement with a payload is FRAME_SIZE_ERROR (§6.5). */
        return f->type == H2_SETTINGS && ((f->flags & H2_FLAG_ACK) == 0u || f->length > 0u);
    }
    if (c->block.stream != 0u) {
        return f->type == H2_CONTINUATION && f->stream == c->block.stream;
    }
    return f->type != H2_CONTINUATION;
}

static uint32_t prefix_bytes(const struct h2_frame *f, const struct frame_rule *rule)
{
    ASSERT((rule->prefix_flags & ~(H2_FLAG_PADDED | H2_FLAG_PRIORITY)) == 0u);
    unsigned flags = f->flags & rule->prefix_flags;
    uint32_t padding = (flags & H2_FLAG_PADDED) != 0u ? 1u : 0u;
    return padding + ((flags & H2_FLAG_PRIORITY) != 0u ? 5u : 0u);
}

static bool stream_allowed(const struct h2_frame *f, const struct frame_rule *rule)
{
    return rule->stream_rule == ON_ANY || (rule->stream_rule == ON_STREAM) == (f->stream != 0u);
}

static enum h2_error check_frame(const struct h2 *c, const struct frame_rule *rule)
{
    ASSERT(rule->handler != NULL && c->frame.stream <= H2_STREAM_MAX);
    const struct h2_frame *f = &c->frame;
    if (!order_valid(c)) {
        return H2_PROTOCOL_ERROR;
    }
    if (f->length > H2_FRAME_MAX) {
        return H2_FRAME_SIZE_ERROR;
    }
    if (f->length > rule->length_max) {
        return rule->too_long;
    }
    if (f->length < rule->length_min || f->length < prefix_bytes(f, rule)) {
        return H2_FRAME_SIZE_ERROR;
    }
    return stream_allowed(f, rule) ? H2_NO_ERROR : H2_PROTOCOL_ERROR;
}

static enum h2_step stage_header(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->left == 0u);
    (void)event;
    if (c->rx_len - c->rx_pos < H2_FRAME_HEADER_BYTES) {
        return H2_STEP_STARVED;
    }
    const uint8_t *head = &c->mem.rx[c->rx_pos];
    c->frame = (struct h2_frame){
        .length = ((uint32_t)head[0] << 16) | ((uint32_t)head[1] << 8) | head[2],
        .type = head[3],
        .flags = head[4],
        /* §4.1: the reserved bit is ignored */
        .stream = (((uint32_t)head[5] << 24) | ((uint32_t)head[6] << 16) |
                   ((uint32_t)head[7] << 8) | head[8]) &
                  H2_STREAM_MAX,
    };
    const struct h2_frame *f = &c->frame;
    c->rx_pos += H2_FRAME_HEADER_BYTES;
    const struct frame_rule *rule = rule_of(f);
    enum h2_error error = check_frame(c, rule);
    if (error != H2_NO_ERROR) {
        return h2_connection_error(c, error);
    }
    uint32_t fixed = f->length < rule->fixed ? f->length : rule->fixed;
    c->fixed = fixed + prefix_bytes(f, rule);
    c->left = f->length;
    c->padding = 0;
    c->stage = H2_STAGE_FIXED;
    return H2_STEP_AGAIN;
}

static enum h2_step stage_fixed(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->fixed <= c->left && c->fixed <= H2_RX_BYTES_MIN);
    struct view piece = h2_rx_piece(c);
    if (piece.len < c->fixed) {
        return H2_STEP_STARVED;
    }
    h2_rx_consume(c, c->fixed);
    c->stage = H2_STAGE_SKIP;
    return rule_of(&c->frame)->handler(c, view_first(piece, c->fixed), event);
}

static enum h2_step stage_skip(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->padding == 0u && c->left <= H2_FRAME_MAX);
    (void)event;
    struct view piece = h2_rx_piece(c);
    if (c->left > 0u && piece.len == 0u) {
        return H2_STEP_STARVED;
    }
    h2_rx_consume(c, piece.len);
    if (c->left == 0u) {
        c->stage = H2_STAGE_HEADER;
    }
    return H2_STEP_AGAIN;
}

enum h2_step h2_receive(struct h2 *c, struct h2_event *event)
{
    static enum h2_step (*const stages[H2_STAGES])(struct h2 *, struct h2_event *) = {
        [H2_STAGE_PREFACE] = stage_preface, [H2_STAGE_HEADER] = stage_header,
        [H2_STAGE_FIXED] = stage_fixed,     [H2_STAGE_FRAGMENT] = h2_stage_fragment,
        [H2_STAGE_BODY] = h2_stage_body,    [H2_STAGE_SKIP] = stage_skip,
    };
    ASSERT(c->stage < H2_STAGES && h2_tx_room(c) >= H2_STEP_BYTES);
    return stages[c->stage](c, event);
}
