/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of an HTTP/2 connection: start, times, buffers, SETTINGS, the dispatch of stages and the
 * order of events, from any state that connection_sound of h2_state.h allows, and the same again
 * after it. The functions of h2_stream.c and h2_headers.c are stand-ins, which check what
 * h2_internal.h asks of their callers; h2_stream.c and h2_headers.c of this folder prove them.
 */
#define PROOF_CONTENT_IS_ANY
#include "h2_rx_stubs.h"
#include "h2_state.h"

#include "wire/h2.c"

/* --- stand-ins for h2_stream.c --- */

/* A failure, after which nothing but the failure is promised. */
static void fail_with(struct h2 *c, enum status why)
{
    if (c->failure == STATUS_OK) {
        c->failure = why;
        c->sweeping = true;
        c->sweep_above = 0;
        c->sweep_code = H2_INTERNAL_ERROR;
    }
}

void h2_fail(struct h2 *c, enum status failure, enum h2_error code)
{
    (void)code;
    CHECK(failure != STATUS_OK && failure != STATUS_MORE);
    CHECK(c->failure != STATUS_OK || failure == PEER_CLOSED || room_of(c) >= H2_GOAWAY_BYTES);
    fail_with(c, failure);
}

enum h2_step h2_connection_error(struct h2 *c, enum h2_error code)
{
    CHECK(code != H2_NO_ERROR);
    h2_fail(c, PEER_PROTOCOL, code);
    return H2_STEP_AGAIN;
}

void h2_charge(struct h2 *c)
{
    CHECK(c->credit <= H2_CREDIT_MAX);
    if (c->credit == 0u) {
        h2_fail(c, FULL_BUDGET, H2_ENHANCE_YOUR_CALM);
    } else {
        c->credit--;
    }
}

struct h2_stream *h2_stream_find(const struct h2 *c, uint32_t id)
{
    for (unsigned i = 0; i < TABLE; i++) {
        if (id != 0u && i < c->mem.streams_cap && streams[i].id == id) {
            return streams[i].state == H2_STREAM_RESET_DUE ? NULL : &streams[i];
        }
    }
    return NULL;
}

enum h2_past h2_stream_past(const struct h2 *c, uint32_t id)
{
    (void)c;
    CHECK(id != 0u);
    return (enum h2_past)(any_u8() % (H2_PAST_RESET_BY_US + 1u));
}

void h2_stream_close(struct h2 *c, struct h2_stream *s, enum h2_past past)
{
    (void)c;
    CHECK(s->id != 0u && past <= H2_PAST_RESET_BY_US);
    s->id = 0;
}

enum h2_step h2_stream_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                             struct h2_event *event)
{
    CHECK(s->id != 0u && s->state == H2_STREAM_OPEN);
    *event = (struct h2_event){.kind = H2_EVENT_RESET, .stream = s->id, .code = (uint32_t)code};
    s->id = 0;
    h2_charge(c);
    return H2_STEP_EVENT;
}

unsigned h2_streams_open(const struct h2 *c)
{
    unsigned open = any_unsigned();
    ASSUME(open <= c->mem.streams_cap);
    return open;
}

size_t h2_tx_room(const struct h2 *c)
{
    CHECK(c->tx_pos <= c->tx_len && c->tx_len <= c->mem.tx_cap);
    return room_of(c);
}

/* What a frame takes of the send buffer, behind what waits there. */
static void take_room(struct h2 *c, size_t bytes)
{
    CHECK(!c->building && room_of(c) >= bytes);
    c->tx_len = c->tx_len - c->tx_pos + bytes;
    c->tx_pos = 0;
}

void h2_send_preface(struct h2 *c)
{
    CHECK(c->tx_len == 0u);
    take_room(c, 76u);
}

void h2_send_settings_ack(struct h2 *c)
{
    take_room(c, H2_FRAME_HEADER_BYTES);
}

void h2_send_ping(struct h2 *c, uint64_t payload, unsigned flags)
{
    (void)payload;
    CHECK((flags & ~H2_FLAG_ACK) == 0u);
    take_room(c, H2_PING_BYTES);
}

void h2_send_due(struct h2 *c)
{
    CHECK(!c->building);
    if (c->failure == STATUS_OK && room_of(c) >= 2u * H2_GOAWAY_BYTES && any_bool()) {
        take_room(c, H2_GOAWAY_BYTES);
        c->goaway_due = H2_GOAWAY_NONE;
    }
}

void h2_rx_skip(struct h2 *c)
{
    CHECK(c->padding == 0u);
    c->stage = c->left > 0u ? H2_STAGE_SKIP : H2_STAGE_HEADER;
}

/* --- stand-ins for the handlers of HEADERS, CONTINUATION and DATA --- */

static enum h2_step any_step_of(struct h2 *c)
{
    /* h2_connection_error and h2_charge: a step that fails is not starved */
    bool fails = any_bool();
    if (fails) {
        fail_with(c, PEER_PROTOCOL);
    }
    return any_bool() ? H2_STEP_AGAIN : fails || any_bool() ? H2_STEP_EVENT : H2_STEP_STARVED;
}

enum h2_step h2_on_data(struct h2 *c, struct view fixed, struct h2_event *event)
{
    (void)event;
    CHECK(fixed.len <= 1u && c->frame.type == H2_DATA && c->frame.stream != 0u);
    return any_step_of(c);
}

enum h2_step h2_on_headers(struct h2 *c, struct view fixed, struct h2_event *event)
{
    (void)event;
    CHECK(fixed.len <= 6u && c->frame.type == H2_HEADERS && c->frame.stream != 0u);
    return any_step_of(c);
}

enum h2_step h2_on_continuation(struct h2 *c, struct view fixed, struct h2_event *event)
{
    (void)event;
    CHECK(fixed.len == 0u && c->frame.type == H2_CONTINUATION && c->frame.stream != 0u);
    return any_step_of(c);
}

enum h2_step h2_stage_fragment(struct h2 *c, struct h2_event *event)
{
    (void)event;
    CHECK(c->stage == H2_STAGE_FRAGMENT);
    return any_step_of(c);
}

enum h2_step h2_stage_body(struct h2 *c, struct h2_event *event)
{
    (void)event;
    CHECK(c->stage == H2_STAGE_BODY);
    return any_step_of(c);
}

void hpack_decoder_init(struct hpack_decoder *d, uint32_t allowed_size)
{
    (void)d;
    CHECK(allowed_size <= HPACK_TABLE_BYTES);
}

/* One setting, as proof_h2_setting has it. */
enum h2_error stub_apply_setting(struct h2 *c, uint16_t id, uint32_t value)
{
    (void)id;
    CHECK(c->frame.type == H2_SETTINGS);
    if (any_bool()) {
        return H2_PROTOCOL_ERROR;
    }
    c->peer_streams_max = value;
    return H2_NO_ERROR;
}

enum h2_step stub_receive_step(struct h2 *c, struct h2_event *event)
{
    (void)event;
    CHECK(c->failure == STATUS_OK && room_of(c) >= H2_STEP_BYTES);
    return any_step_of(c);
}

static bool step_known(enum h2_step step)
{
    return step == H2_STEP_AGAIN || step == H2_STEP_EVENT || step == H2_STEP_STARVED ||
           step == H2_STEP_IDLE;
}

void proof_h2_valid(void)
{
    struct h2 *c = any_state();
    CHECK(h2_valid(c));
    uint32_t code = 0;
    CHECK(h2_failure(c, any_bool() ? &code : NULL) == c->failure);
    CHECK(c->role == H2_SERVER || h2_streams_max(c) == c->peer_streams_max);
}

/* Times lie in the past. */
static bool times_sound(const struct h2 *c)
{
    return c->started_ms <= c->now_ms && c->credit_ms <= c->now_ms &&
           c->tx_progress_ms <= c->now_ms && c->block.since_ms <= c->now_ms;
}

/* A clock that stays far below its end. */
static struct h2 *any_times(void)
{
    struct h2 *c = any_state();
    ASSUME(c->now_ms <= INT64_MAX && times_sound(c));
    return c;
}

void proof_h2_deadlines(void)
{
    struct h2 *c = any_times();
    uint64_t when = h2_deadline(c);
    CHECK(when >= c->started_ms || when >= c->block.since_ms || when >= c->tx_progress_ms);
}

void proof_h2_transport(void)
{
    struct h2 *c = any_state();
    ASSUME(!c->starved || c->rx_len - c->rx_pos < c->mem.rx_cap); /* I6: some room to read */
    switch (any_u8()) {
    case 0: {
        struct writer room = h2_rx_space(c);
        CHECK(room.cap == 0u || __CPROVER_w_ok(room.data, room.cap));
        size_t n = any_length(room.cap);
        h2_rx_commit(c, n);
        break;
    }
    case 1:
        h2_rx_end(c);
        CHECK(c->rx_ended);
        break;
    default: {
        struct view waiting = h2_tx_data(c);
        CHECK(waiting.len == 0u || __CPROVER_r_ok(waiting.data, waiting.len));
        h2_tx_commit(c, any_length(waiting.len));
        break;
    }
    }
    CHECK(connection_sound(c));
}

/* SETTINGS: the windows of all streams change together with the peer's initial window. */
void proof_h2_setting(void)
{
    struct h2 *c = any_step();
    ASSUME(c->frame.type == H2_SETTINGS && c->stage != H2_STAGE_BODY);
    enum h2_error error = apply_setting(c, any_u16(), any_u32());
    /* after an error on_settings fails the connection */
    if (error != H2_NO_ERROR) {
        c->failure = PEER_PROTOCOL;
    }
    CHECK(connection_sound(c));
}

void proof_h2_settings_ack(void)
{
    struct h2 *c = any_step();
    ASSUME(c->frame.type == H2_SETTINGS && (c->frame.flags & H2_FLAG_ACK) != 0u);
    ASSUME(c->stage != H2_STAGE_BODY);
    CHECK(settings_ack(c) == H2_STEP_AGAIN);
    CHECK(connection_sound(c));
}

/* The state of a frame whose header was checked: check_frame, and stage_header after it. */
static bool fixed_sound(const struct h2 *c)
{
    const struct h2_frame *f = &c->frame;
    const struct frame_rule *rule = rule_of(f);
    uint32_t prefix = prefix_bytes(f, rule);
    uint32_t fixed = f->length < rule->fixed ? f->length : rule->fixed;
    return f->length <= H2_FRAME_MAX && f->length <= rule->length_max &&
           f->length >= rule->length_min && f->length >= prefix && stream_allowed(f, rule) &&
           c->left == f->length && c->padding == 0u && c->fixed == fixed + prefix;
}

void proof_h2_fixed(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    c->stage = H2_STAGE_FIXED;
    ASSUME(fixed_sound(c) && connection_sound(c));
    CHECK(step_known(stage_fixed(c, &event)));
    CHECK(c->rx_pos <= c->rx_len && c->left <= H2_FRAME_MAX);
    CHECK(connection_sound(c));
}

/* h2_init clears these two, each as a whole: CBMC follows its own memset by bytes, and not here. */
void *memset(void *to, int byte, size_t n)
{
    CHECK(byte == 0 && __CPROVER_w_ok(to, n));
    if (to == &connection) {
        CHECK(n == sizeof connection);
        connection = (struct h2){0};
    } else {
        CHECK(to == streams && n % sizeof streams[0] == 0u);
        for (unsigned i = 0; i < TABLE; i++) {
            streams[i] = i < n / sizeof streams[0] ? (struct h2_stream){0} : streams[i];
        }
    }
    return to;
}

/* What the stages leave to each other; receive_step finds it at each step. */
static bool stage_sound(const struct h2 *c)
{
    switch (c->stage) {
    case H2_STAGE_PREFACE:
        return c->role == H2_SERVER && c->preface_have < H2_PREFACE_BYTES && c->left == 0u &&
               c->padding == 0u;
    case H2_STAGE_HEADER:
        return c->left == 0u && c->padding == 0u;
    case H2_STAGE_FIXED:
        return fixed_sound(c);
    case H2_STAGE_SKIP:
        return c->left > 0u && c->left <= H2_FRAME_MAX && c->padding == 0u;
    default:
        return true; /* the stages of the other files: proof_h2_fragment and proof_h2_body */
    }
}

void proof_h2_receive(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    ASSUME(stage_sound(c));
    CHECK(step_known(receive_step(c, &event)));
    CHECK(connection_sound(c));
    CHECK(c->failure != STATUS_OK || stage_sound(c));
}

/* The base case of the induction: what the owner gives is as h2.h asks, and nothing else is set. */
void proof_h2_init(void)
{
    __CPROVER_havoc_object(&connection);
    __CPROVER_havoc_object(streams);
    struct view rx = any_view(ANY_LENGTH);
    uint8_t other;
    struct h2_memory m = {
        .rx = (uint8_t *)rx.data,
        .rx_cap = rx.len,
        .tx_cap = any_length(H2_FRAME_MAX),
        .field = &other,
        .field_cap = any_u16(),
        .scratch = &other,
        .scratch_cap = any_u16(),
        .streams = streams,
        .streams_cap = any_unsigned(),
        .window = any_u32(),
        .connection_window = any_u32(),
        .table_size = any_u32(),
    };
    m.tx = any_memory(m.tx_cap);
    ASSUME(memory_sound(&m));
    h2_init(&connection, any_bool() ? H2_SERVER : H2_CLIENT, &m, any_u64());
    CHECK(connection_sound(&connection) && stage_sound(&connection));
    CHECK(connection.failure == STATUS_OK && !connection.building);
    CHECK(times_sound(&connection));
    CHECK(streams[0].id == 0u && (m.streams_cap < 2u || streams[1].id == 0u));
}

void proof_h2_set_time(void)
{
    struct h2 *c = any_times();
    uint64_t now = c->now_ms + any_u32(); /* the clock moves by 49 days at most at a time */
    ASSUME(now - c->credit_ms <= UINT32_MAX);
    h2_set_time(c, now);
    CHECK(c->now_ms == now && times_sound(c) && connection_sound(c));
}

void proof_h2_refused(void)
{
    struct h2 *c = any_step();
    struct h2_event event;
    struct view none = {NULL, 0};
    if (any_bool()) {
        CHECK(on_push_promise(c, none, &event) == H2_STEP_AGAIN && c->failure != STATUS_OK);
    } else {
        CHECK(on_unknown(c, none, &event) == H2_STEP_AGAIN);
    }
    CHECK(connection_sound(c));
}

void proof_h2_next_step(void)
{
    struct h2 *c = any_state();
    struct h2_event event;
    CHECK(step_known(next_step(c, &event)));
    CHECK(connection_sound(c));
    (void)h2_has_work(c);
}

void proof_h2_goaway(void)
{
    struct h2 *c = any_state();
    h2_goaway(c, (enum h2_error)(any_u8() % (H2_HTTP_1_1_REQUIRED + 1u)), any_bool());
    CHECK(connection_sound(c));
    CHECK(c->closing || c->failure != STATUS_OK || c->accept_max != H2_STREAM_MAX);
}
