/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a connection: its start, its time-outs, the stages of receiving a frame with the rules for
 * each frame type, control frames (RFC 9113 §6.3 to §6.9), and h2_next, which returns the events.
 * Owns the order of the stages. h2_headers.c handles HEADERS and CONTINUATION; h2_stream.c handles
 * DATA and all output.
 */
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "wire/h2_internal.h"

_Static_assert(H2_RX_BYTES_MIN >= H2_SETTINGS_MAX * H2_SETTING_BYTES,
               "a whole SETTINGS must fit into the least receive buffer");
_Static_assert(1000u % H2_CREDIT_PER_SECOND == 0u, "the credit comes back in whole milliseconds");

/* --- starting and checking a connection --- */

static void check_memory(const struct h2_memory *m)
{
    ASSERT(m->rx != NULL && m->rx_cap >= H2_RX_BYTES_MIN);
    ASSERT(m->tx != NULL && m->tx_cap >= H2_TX_BYTES_MIN && m->tx_cap <= H2_FRAME_MAX);
    ASSERT(m->field != NULL && m->field_cap > 0u && m->field_cap <= UINT16_MAX);
    ASSERT(m->scratch != NULL && m->scratch_cap >= m->field_cap);
    ASSERT(m->streams != NULL && m->streams_cap > 0u);
    ASSERT(m->table_size <= HPACK_TABLE_BYTES);
}

static void check_windows(const struct h2_memory *m)
{
    ASSERT(m->window >= 1u && m->window <= H2_WINDOW_MAX);
    ASSERT(m->connection_window >= H2_WINDOW_DEFAULT && m->connection_window <= H2_WINDOW_MAX);
}

void h2_init(struct h2 *c, enum h2_role role, const struct h2_memory *memory, uint64_t now_ms)
{
    check_memory(memory);
    check_windows(memory);
    memset(c, 0, sizeof *c);
    memset(memory->streams, 0, memory->streams_cap * sizeof *memory->streams);
    c->role = role;
    c->mem = *memory;
    hpack_decoder_init(&c->hpack, memory->table_size);
    c->failure = STATUS_OK;
    c->now_ms = now_ms;
    c->started_ms = now_ms;
    c->tx_progress_ms = now_ms;
    c->credit_ms = now_ms;
    c->credit = H2_CREDIT_MAX;
    c->stage = role == H2_SERVER ? H2_STAGE_PREFACE : H2_STAGE_HEADER;
    c->starved = true;
    c->peer_window = H2_WINDOW_DEFAULT;
    c->peer_frame_max = H2_FRAME_MAX;
    c->peer_streams_max = UINT32_MAX;
    c->send_window = H2_WINDOW_DEFAULT;
    c->recv_window = memory->connection_window;
    c->next_id = 1;
    c->accept_max = H2_STREAM_MAX;
    c->goaway_last = H2_STREAM_MAX;
    h2_send_preface(c);
    ASSERT(h2_valid(c));
}

static bool stream_valid(const struct h2 *c, const struct h2_stream *s)
{
    if (s->id == 0u) {
        return true;
    }
    bool parity = s->id % 2u == 1u && s->id <= H2_STREAM_MAX;
    bool windows = s->send_window <= (int64_t)H2_WINDOW_MAX &&
                   s->recv_window + (int64_t)s->consumed <= (int64_t)H2_WINDOW_MAX;
    unsigned both = H2_STREAM_LOCAL_ENDED | H2_STREAM_REMOTE_ENDED;
    bool ended = (s->flags & both) == both && s->state == H2_STREAM_OPEN;
    bool reserved = s->state == H2_STREAM_RESERVED && c->role == H2_SERVER;
    return parity && windows && !ended && !reserved && s->state <= H2_STREAM_RESET_DUE;
}

static bool buffers_valid(const struct h2 *c)
{
    return c->rx_pos <= c->rx_len && c->rx_len <= c->mem.rx_cap && c->tx_pos <= c->tx_len &&
           c->tx_len <= c->mem.tx_cap && c->block.carried <= c->mem.field_cap;
}

static bool counters_valid(const struct h2 *c)
{
    bool windows = c->send_window <= (int64_t)H2_WINDOW_MAX && c->recv_window >= 0 &&
                   c->recv_window + (int64_t)c->consumed <= (int64_t)c->mem.connection_window;
    return windows && c->block.continuations <= H2_CONTINUATIONS_MAX &&
           c->credit <= H2_CREDIT_MAX && c->charged <= H2_CREDIT_MAX && c->stage < H2_STAGES &&
           c->peer_frame_max >= H2_FRAME_MAX;
}

bool h2_valid(const struct h2 *c)
{
    if (!buffers_valid(c) || !counters_valid(c)) {
        return false;
    }
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        if (!stream_valid(c, &c->mem.streams[i])) {
            return false;
        }
    }
    return true;
}

uint32_t h2_streams_max(const struct h2 *c)
{
    ASSERT(c->role == H2_CLIENT);
    return c->peer_streams_max;
}

enum status h2_failure(const struct h2 *c, uint32_t *code)
{
    ASSERT(c->failure < STATUS_COUNT);
    if (code != NULL) {
        *code = c->failure_code;
    }
    return c->failure;
}

/* --- deadlines of a connection, and the refill of its abuse credit --- */

static uint64_t preface_deadline(const struct h2 *c)
{
    ASSERT(c->started_ms <= c->now_ms);
    return c->settings_seen ? UINT64_MAX : c->started_ms + H2_PREFACE_MS;
}

static uint64_t block_deadline(const struct h2 *c)
{
    ASSERT(c->block.stream == 0u || c->block.since_ms <= c->now_ms);
    return c->block.stream == 0u ? UINT64_MAX : c->block.since_ms + H2_HEADER_BLOCK_MS;
}

static uint64_t stall_deadline(const struct h2 *c)
{
    ASSERT(c->tx_progress_ms <= c->now_ms);
    return c->tx_pos == c->tx_len ? UINT64_MAX : c->tx_progress_ms + H2_STALL_MS;
}

uint64_t h2_deadline(const struct h2 *c)
{
    ASSERT(c->tx_pos <= c->tx_len);
    if (c->failure != STATUS_OK) {
        return stall_deadline(c);
    }
    return earlier(preface_deadline(c), earlier(block_deadline(c), stall_deadline(c)));
}

static void refill_credit(struct h2 *c)
{
    ASSERT(c->credit_ms <= c->now_ms && c->credit <= H2_CREDIT_MAX);
    uint64_t ms_each = 1000u / H2_CREDIT_PER_SECOND;
    uint64_t earned = (c->now_ms - c->credit_ms) / ms_each;
    uint64_t missing = H2_CREDIT_MAX - c->credit;
    c->credit += (uint32_t)(earned < missing ? earned : missing);
    c->credit_ms += earned * ms_each;
}

void h2_set_time(struct h2 *c, uint64_t now_ms)
{
    ASSERT(now_ms >= c->now_ms && !c->building);
    c->now_ms = now_ms;
    refill_credit(c);
    if (c->failure != STATUS_OK) {
        if (now_ms >= stall_deadline(c)) {
            /* the peer does not read the pending bytes, so drop them, the GOAWAY included */
            c->tx_pos = c->tx_len;
        }
        return;
    }
    if (now_ms >= preface_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_PROTOCOL_ERROR);
    } else if (now_ms >= block_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_ENHANCE_YOUR_CALM);
    } else if (now_ms >= stall_deadline(c)) {
        h2_fail(c, PEER_TIMEOUT, H2_NO_ERROR);
    }
    ASSERT(counters_valid(c));
}

/* --- received bytes and bytes to send --- */

struct writer h2_rx_space(struct h2 *c)
{
    ASSERT(buffers_valid(c));
    if (!c->starved || c->rx_ended || c->failure != STATUS_OK) {
        return writer_of(NULL, 0);
    }
    /*
     * Moves the unread bytes to the front of mem.rx. This may invalidate the views of the last
     * event into mem.rx. They are no longer needed, because h2_next sets `starved` only when it
     * returns no event.
     */
    size_t waiting = c->rx_len - c->rx_pos;
    if (c->rx_pos > 0u) {
        memmove(c->mem.rx, c->mem.rx + c->rx_pos, waiting);
        c->rx_pos = 0;
        c->rx_len = waiting;
    }
    ASSERT(c->rx_len < c->mem.rx_cap);
    return writer_of(c->mem.rx + c->rx_len, c->mem.rx_cap - c->rx_len);
}

void h2_rx_commit(struct h2 *c, size_t n)
{
    ASSERT(h2_valid(c) && n <= c->mem.rx_cap - c->rx_len);
    ASSERT(n == 0u || c->starved);
    c->rx_len += n;
    if (n > 0u) {
        c->starved = false;
    }
}

void h2_rx_end(struct h2 *c)
{
    ASSERT(h2_valid(c));
    c->rx_ended = true;
}

struct view h2_tx_data(const struct h2 *c)
{
    ASSERT(!c->building && c->tx_pos <= c->tx_len);
    return view_of(c->mem.tx + c->tx_pos, c->tx_len - c->tx_pos);
}

void h2_tx_commit(struct h2 *c, size_t n)
{
    ASSERT(!c->building && n <= c->tx_len - c->tx_pos);
    if (n == 0u) {
        return;
    }
    explicit_bzero(c->mem.tx + c->tx_pos, n);
    c->tx_pos += n;
    c->tx_progress_ms = c->now_ms;
    h2_send_due(c);
    c->writable_due = c->writable_due || h2_streams_open(c) > 0u;
    ASSERT(buffers_valid(c));
}

/* --- handling PRIORITY and RST_STREAM (RFC 9113 §6.3, §6.4), and errors of control frames --- */

/*
 * Charges the abuse credit for a frame that the peer may have sent in reaction to one of our
 * frames; refund_credit gives such charges back when we send HEADERS or DATA.
 */
static void charge_refundable(struct h2 *c)
{
    ASSERT(c->charged <= H2_CREDIT_MAX);
    h2_charge(c);
    if (c->charged < H2_CREDIT_MAX) {
        c->charged++;
    }
}

/* Reads a 32-bit number. The length of the frame was checked before, so four octets are present. */
static uint32_t read_u32(struct reader *r)
{
    uint32_t value = 0;
    enum status s = reader_u32(r, &value);
    ASSERT(s == STATUS_OK);
    return value;
}

static bool is_idle(const struct h2 *c, uint32_t id, const struct h2_stream *s)
{
    ASSERT(id != 0u && (s == NULL || s->id == id));
    bool past_idle = s == NULL && h2_stream_past(c, id) == H2_PAST_IDLE;
    return past_idle || (s != NULL && s->state == H2_STREAM_RESERVED);
}

/* Raises the error of a frame: a stream error if the stream is open, else a connection error. */
static enum h2_step error_on(struct h2 *c, uint32_t id, enum h2_error code, struct h2_event *event)
{
    ASSERT(id != 0u && code != H2_NO_ERROR);
    struct h2_stream *s = h2_stream_find(c, id);
    if (s == NULL || s->state == H2_STREAM_RESERVED) {
        /* RFC 9113 §6.4: RST_STREAM must not name an idle stream */
        return h2_connection_error(c, code);
    }
    return h2_stream_error(c, s, code, event);
}

/*
 * RFC 9113 §6.3: checks a PRIORITY frame and ignores it; this engine has no priority tree
 * (CVE-2019-9513).
 */
static enum h2_step on_priority(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_PRIORITY && c->frame.stream != 0u);
    if (c->frame.length != 5u) {
        return error_on(c, c->frame.stream, H2_FRAME_SIZE_ERROR, event);
    }
    struct reader r = reader_of(fixed);
    if ((read_u32(&r) & H2_STREAM_MAX) == c->frame.stream) {
        return error_on(c, c->frame.stream, H2_PROTOCOL_ERROR, event);
    }
    h2_charge(c);
    return H2_STEP_AGAIN;
}

/*
 * RFC 9113 §6.4: closes the stream that the peer reset. Each RST_STREAM is charged against the
 * abuse credit, because opening and resetting streams is cheap for the peer (CVE-2023-44487).
 */
static enum h2_step on_rst_stream(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_RST_STREAM && fixed.len == 4u);
    struct reader r = reader_of(fixed);
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (is_idle(c, c->frame.stream, s)) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    h2_charge(c);
    if (s == NULL || c->failure != STATUS_OK) {
        return H2_STEP_AGAIN;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_RESET,
        .stream = s->id,
        .tag = s->tag,
        .code = read_u32(&r),
    };
    h2_stream_close(c, s, H2_PAST_RESET_BY_PEER);
    return H2_STEP_EVENT;
}

/* --- handling SETTINGS, PUSH_PROMISE, PING and GOAWAY (RFC 9113 §6.5 to §6.8) --- */

/*
 * RFC 9113 §6.9.2: a new initial window changes the windows of all streams by the difference; a
 * window may become negative.
 */
static enum h2_error set_peer_window(struct h2 *c, uint32_t value)
{
    ASSERT(c->peer_window <= H2_WINDOW_MAX);
    if (value > H2_WINDOW_MAX) {
        return H2_FLOW_CONTROL_ERROR;
    }
    int64_t delta = (int64_t)value - (int64_t)c->peer_window;
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id != 0u && s->send_window + delta > (int64_t)H2_WINDOW_MAX) {
            return H2_FLOW_CONTROL_ERROR;
        }
        s->send_window += delta;
    }
    c->peer_window = value;
    return H2_NO_ERROR;
}

/*
 * RFC 9113 §6.5.2: applies one setting; ignores unknown settings, and settings that limit a feature
 * which this engine never uses.
 */
static enum h2_error apply_setting(struct h2 *c, uint16_t id, uint32_t value)
{
    ASSERT(c->frame.type == H2_SETTINGS);
    if (id == H2_SETTING_ENABLE_PUSH) {
        uint32_t max = c->role == H2_SERVER ? 1 : 0;
        return value > max ? H2_PROTOCOL_ERROR : H2_NO_ERROR;
    }
    if (id == H2_SETTING_INITIAL_WINDOW_SIZE) {
        return set_peer_window(c, value);
    }
    if (id == H2_SETTING_MAX_CONCURRENT_STREAMS) {
        c->peer_streams_max = value;
    }
    if (id == H2_SETTING_MAX_FRAME_SIZE) {
        if (value < H2_FRAME_MAX || value > H2_FRAME_MAX_HIGH) {
            return H2_PROTOCOL_ERROR;
        }
        c->peer_frame_max = value;
    }
    return H2_NO_ERROR;
}

/*
 * Handles the acknowledgement of our SETTINGS. If the window that we announced is smaller than the
 * default, it applies to all streams from now on. A larger window applies to each stream from its
 * start (h2_stream_new).
 */
static enum h2_step settings_ack(struct h2 *c)
{
    ASSERT((c->frame.flags & H2_FLAG_ACK) != 0u);
    if (c->frame.length != 0u) {
        return h2_connection_error(c, H2_FRAME_SIZE_ERROR);
    }
    if (c->settings_acked) {
        h2_charge(c);
        return H2_STEP_AGAIN;
    }
    c->settings_acked = true;
    if (c->mem.window >= H2_WINDOW_DEFAULT) {
        return H2_STEP_AGAIN;
    }
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        c->mem.streams[i].recv_window += (int64_t)c->mem.window - (int64_t)H2_WINDOW_DEFAULT;
    }
    return H2_STEP_AGAIN;
}

static enum h2_step on_settings(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.stream == 0u && fixed.len == c->frame.length);
    (void)event;
    if ((c->frame.flags & H2_FLAG_ACK) != 0u) {
        return settings_ack(c);
    }
    if (fixed.len % H2_SETTING_BYTES != 0u) {
        return h2_connection_error(c, H2_FRAME_SIZE_ERROR);
    }
    if (c->settings_seen) {
        h2_charge(c);
    }
    struct reader r = reader_of(fixed);
    for (size_t n = fixed.len / H2_SETTING_BYTES; n > 0u; n--) {
        uint16_t id = 0;
        enum status s = reader_u16(&r, &id);
        ASSERT(s == STATUS_OK);
        enum h2_error error = apply_setting(c, id, read_u32(&r));
        if (error != H2_NO_ERROR) {
            return h2_connection_error(c, error);
        }
    }
    if (c->failure == STATUS_OK) {
        h2_send_settings_ack(c);
        c->settings_seen = true;
        c->writable_due = h2_streams_open(c) > 0u;
    }
    return H2_STEP_AGAIN;
}

/*
 * RFC 9113 §8.4: PUSH_PROMISE is always an error: clients cannot push, and our SETTINGS forbid
 * servers to push.
 */
static enum h2_step on_push_promise(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(fixed.len == 0u);
    (void)event;
    return h2_connection_error(c, H2_PROTOCOL_ERROR);
}

/*
 * RFC 9113 §6.7: answers a PING at once. Answers are never queued: while there is no send room, the
 * engine leaves the PING unread (CVE-2019-9512).
 */
static enum h2_step on_ping(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_PING && fixed.len == 8u);
    struct reader r = reader_of(fixed);
    uint64_t payload = 0;
    enum status s = reader_u64(&r, &payload);
    ASSERT(s == STATUS_OK);
    bool ack = (c->frame.flags & H2_FLAG_ACK) != 0u;
    if (ack && c->ping_waiting && payload == c->pings) {
        c->ping_waiting = false;
        *event = (struct h2_event){.kind = H2_EVENT_PING_ACK};
        return H2_STEP_EVENT;
    }
    charge_refundable(c);
    if (!ack && c->failure == STATUS_OK) {
        h2_send_ping(c, payload, H2_FLAG_ACK);
    }
    return H2_STEP_AGAIN;
}

/* RFC 9113 §6.8: reports a GOAWAY; skips the debug data, which follow its 8 fixed octets. */
static enum h2_step on_goaway(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_GOAWAY && fixed.len == 8u);
    struct reader r = reader_of(fixed);
    uint32_t last = read_u32(&r) & H2_STREAM_MAX;
    uint32_t code = read_u32(&r);
    if (c->goaway_received) {
        h2_charge(c);
    }
    c->goaway_received = true;
    if (last < c->goaway_last) {
        c->goaway_last = last;
    }
    /*
     * the charge for a repeated GOAWAY may have used up the abuse credit, which fails the
     * connection
     */
    if (c->role == H2_CLIENT && c->failure == STATUS_OK) {
        c->sweeping = true;
        c->sweep_above = c->goaway_last;
        c->sweep_code = H2_REFUSED_STREAM;
    }
    *event = (struct h2_event){
        .kind = H2_EVENT_GOAWAY,
        .code = code,
        .last_stream = c->goaway_last,
    };
    return H2_STEP_EVENT;
}

/* --- handling WINDOW_UPDATE (RFC 9113 §6.9) --- */

static enum h2_step connection_update(struct h2 *c, uint32_t increment)
{
    ASSERT(c->frame.stream == 0u && c->send_window <= (int64_t)H2_WINDOW_MAX);
    if (increment == 0u) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if (c->send_window + (int64_t)increment > (int64_t)H2_WINDOW_MAX) {
        return h2_connection_error(c, H2_FLOW_CONTROL_ERROR);
    }
    c->send_window += (int64_t)increment;
    c->writable_due = h2_streams_open(c) > 0u;
    return H2_STEP_AGAIN;
}

static enum h2_step on_window_update(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(c->frame.type == H2_WINDOW_UPDATE && fixed.len == 4u);
    struct reader r = reader_of(fixed);
    uint32_t increment = read_u32(&r) & H2_WINDOW_MAX;
    charge_refundable(c);
    if (c->failure != STATUS_OK) {
        return H2_STEP_AGAIN;
    }
    if (c->frame.stream == 0u) {
        return connection_update(c, increment);
    }
    struct h2_stream *s = h2_stream_find(c, c->frame.stream);
    if (is_idle(c, c->frame.stream, s)) {
        return h2_connection_error(c, H2_PROTOCOL_ERROR);
    }
    if (s == NULL) {
        /*
         * RFC 9113 §5.1 "closed": ignores the WINDOW_UPDATE, which the peer may have sent before it
         * received our END_STREAM or RST_STREAM
         */
        return H2_STEP_AGAIN;
    }
    if (increment == 0u) {
        return h2_stream_error(c, s, H2_PROTOCOL_ERROR, event);
    }
    if (s->send_window + (int64_t)increment > (int64_t)H2_WINDOW_MAX) {
        return h2_stream_error(c, s, H2_FLOW_CONTROL_ERROR, event);
    }
    s->send_window += (int64_t)increment;
    c->writable_due = true;
    return H2_STEP_AGAIN;
}

/* --- the stages of receiving a frame --- */

typedef enum h2_step (*handler)(struct h2 *c, struct view fixed, struct h2_event *event);

/* Values of `stream_rule`: whether a frame belongs to a stream, the connection, or either. */
enum { ON_STREAM, ON_CONNECTION, ON_ANY };

struct frame_rule {
    handler handle;
    uint32_t length_min;
    uint32_t length_max;
    /* number of payload octets that the handler gets in one piece; fewer if the frame is shorter */
    uint32_t fixed;
    uint8_t stream_rule;
    /* which of the flags PADDED and PRIORITY the type has; each adds octets before the payload */
    uint8_t prefix_flags;
};

/* Handler and limits of each frame type, RFC 9113 §6. */
static const struct frame_rule frame_rules[H2_FRAME_TYPES] = {
    [H2_DATA] = {h2_on_data, 0, H2_FRAME_MAX, 0, ON_STREAM, H2_FLAG_PADDED},
    [H2_HEADERS] = {h2_on_headers, 0, H2_FRAME_MAX, 0, ON_STREAM,
                    H2_FLAG_PADDED | H2_FLAG_PRIORITY},
    /*
     * PRIORITY has no length limits here: a wrong length is a stream error (RFC 9113 §6.3), which
     * on_priority raises.
     */
    [H2_PRIORITY] = {on_priority, 0, H2_FRAME_MAX, 5, ON_STREAM, 0},
    [H2_RST_STREAM] = {on_rst_stream, 4, 4, 4, ON_STREAM, 0},
    [H2_SETTINGS] = {on_settings, 0, H2_SETTINGS_MAX *H2_SETTING_BYTES,
                     H2_SETTINGS_MAX *H2_SETTING_BYTES, ON_CONNECTION, 0},
    [H2_PUSH_PROMISE] = {on_push_promise, 0, H2_FRAME_MAX, 0, ON_ANY, 0},
    [H2_PING] = {on_ping, 8, 8, 8, ON_CONNECTION, 0},
    [H2_GOAWAY] = {on_goaway, 8, H2_FRAME_MAX, 8, ON_CONNECTION, 0},
    [H2_WINDOW_UPDATE] = {on_window_update, 4, 4, 4, ON_ANY, 0},
    [H2_CONTINUATION] = {h2_on_continuation, 0, H2_FRAME_MAX, 0, ON_STREAM, 0},
};

/* RFC 9113 §5.5: ignores a frame of an unknown type, and charges it against the abuse credit. */
static enum h2_step on_unknown(struct h2 *c, struct view fixed, struct h2_event *event)
{
    ASSERT(fixed.len == 0u);
    (void)event;
    h2_charge(c);
    return H2_STEP_AGAIN;
}

static const struct frame_rule unknown_rule = {on_unknown, 0, H2_FRAME_MAX, 0, ON_ANY, 0};

static const struct frame_rule *rule_of(const struct h2_frame *f)
{
    return f->type < H2_FRAME_TYPES ? &frame_rules[f->type] : &unknown_rule;
}

/*
 * RFC 9113 §3.4: compares the part of the preface that has arrived, so that the connection fails at
 * the first wrong octet.
 */
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
 * Whether the received frame is allowed now: the first frame must be SETTINGS (RFC 9113 §3.4);
 * while a header block is incomplete, only its own CONTINUATION frames are allowed; at any other
 * time, CONTINUATION is forbidden (§6.10).
 */
static bool order_valid(const struct h2 *c)
{
    ASSERT(c->stage == H2_STAGE_HEADER);
    const struct h2_frame *f = &c->frame;
    if (!c->settings_seen) {
        /*
         * The first SETTINGS must not be an acknowledgement. An acknowledgement with a payload
         * passes here, so that settings_ack reports it as FRAME_SIZE_ERROR (RFC 9113 §6.5).
         */
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

/*
 * Error of a frame that is longer than its rule allows. RFC 9113 §6.5 gives the errors of a
 * malformed SETTINGS whatever its length; the number of settings is a limit of this engine only, so
 * it counts last.
 */
static enum h2_error length_error(const struct h2_frame *f)
{
    if (f->type != H2_SETTINGS) {
        return H2_FRAME_SIZE_ERROR;
    }
    if (f->stream != 0u) {
        return H2_PROTOCOL_ERROR;
    }
    bool formed = (f->flags & H2_FLAG_ACK) == 0u && f->length % H2_SETTING_BYTES == 0u;
    return formed ? H2_ENHANCE_YOUR_CALM : H2_FRAME_SIZE_ERROR;
}

static enum h2_error check_frame(const struct h2 *c, const struct frame_rule *rule, uint32_t prefix)
{
    ASSERT(rule->handle != NULL && c->frame.stream <= H2_STREAM_MAX);
    const struct h2_frame *f = &c->frame;
    if (!order_valid(c)) {
        return H2_PROTOCOL_ERROR;
    }
    if (f->length > H2_FRAME_MAX) {
        return H2_FRAME_SIZE_ERROR;
    }
    if (f->length > rule->length_max) {
        return length_error(f);
    }
    if (f->length < rule->length_min || f->length < prefix) {
        return H2_FRAME_SIZE_ERROR;
    }
    return stream_allowed(f, rule) ? H2_NO_ERROR : H2_PROTOCOL_ERROR;
}

static enum h2_step stage_fixed(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->fixed <= c->left && c->fixed <= H2_RX_BYTES_MIN);
    struct view piece = h2_rx_piece(c);
    if (piece.len < c->fixed) {
        return H2_STEP_STARVED;
    }
    h2_rx_consume(c, c->fixed);
    h2_rx_skip(c);
    return rule_of(&c->frame)->handle(c, view_first(piece, c->fixed), event);
}

static enum h2_step stage_header(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->left == 0u);
    if (c->rx_len - c->rx_pos < H2_FRAME_HEADER_BYTES) {
        return H2_STEP_STARVED;
    }
    const uint8_t *head = &c->mem.rx[c->rx_pos];
    c->frame = (struct h2_frame){
        .length = ((uint32_t)head[0] << 16) | ((uint32_t)head[1] << 8) | head[2],
        .type = head[3],
        .flags = head[4],
        /* RFC 9113 §4.1: the reserved bit before the stream id is ignored */
        .stream = (((uint32_t)head[5] << 24) | ((uint32_t)head[6] << 16) |
                   ((uint32_t)head[7] << 8) | head[8]) &
                  H2_STREAM_MAX,
    };
    const struct h2_frame *f = &c->frame;
    c->rx_pos += H2_FRAME_HEADER_BYTES;
    const struct frame_rule *rule = rule_of(f);
    uint32_t prefix = prefix_bytes(f, rule);
    enum h2_error error = check_frame(c, rule, prefix);
    if (error != H2_NO_ERROR) {
        return h2_connection_error(c, error);
    }
    uint32_t fixed = f->length < rule->fixed ? f->length : rule->fixed;
    c->fixed = fixed + prefix;
    c->left = f->length;
    c->padding = 0;
    c->stage = H2_STAGE_FIXED;
    return stage_fixed(c, event);
}

static enum h2_step stage_skip(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->padding == 0u && c->left <= H2_FRAME_MAX);
    (void)event;
    struct view piece = h2_rx_piece(c);
    if (piece.len == 0u) {
        /* in this stage c->left is above 0, so an empty piece means that more octets must arrive */
        return H2_STEP_STARVED;
    }
    h2_rx_consume(c, piece.len);
    if (c->left == 0u) {
        c->stage = H2_STAGE_HEADER;
    }
    return H2_STEP_AGAIN;
}

static enum h2_step receive_step(struct h2 *c, struct h2_event *event)
{
    static enum h2_step (*const stages[H2_STAGES])(struct h2 *, struct h2_event *) = {
        [H2_STAGE_PREFACE] = stage_preface, [H2_STAGE_HEADER] = stage_header,
        [H2_STAGE_FIXED] = stage_fixed,     [H2_STAGE_FRAGMENT] = h2_stage_fragment,
        [H2_STAGE_BODY] = h2_stage_body,    [H2_STAGE_SKIP] = stage_skip,
    };
    ASSERT(c->stage < H2_STAGES && h2_tx_room(c) >= H2_STEP_BYTES);
    return stages[c->stage](c, event);
}

/* --- returning events --- */

bool h2_has_work(const struct h2 *c)
{
    ASSERT(!c->building);
    return !c->starved || c->writable_due || c->sweeping;
}

/*
 * Closes one of the streams that cannot continue, because the connection ended or the peer's GOAWAY
 * excludes them, and reports that stream as reset. H2_STEP_AGAIN: no such stream is left.
 */
static enum h2_step sweep_stream(struct h2 *c, struct h2_event *event)
{
    ASSERT(c->sweeping);
    for (unsigned i = 0; i < c->mem.streams_cap; i++) {
        struct h2_stream *s = &c->mem.streams[i];
        if (s->id == 0u || s->id <= c->sweep_above || s->state == H2_STREAM_RESET_DUE) {
            continue;
        }
        *event = (struct h2_event){
            .kind = H2_EVENT_RESET,
            .stream = s->id,
            .tag = s->tag,
            .code = c->sweep_code,
        };
        h2_stream_close(c, s, H2_PAST_RESET_BY_US);
        return H2_STEP_EVENT;
    }
    c->sweeping = false;
    return H2_STEP_AGAIN;
}

static enum h2_step wait_for_input(struct h2 *c)
{
    ASSERT(c->failure == STATUS_OK);
    if (c->rx_ended) {
        h2_fail(c, PEER_CLOSED, H2_NO_ERROR);
        return H2_STEP_AGAIN;
    }
    c->starved = true;
    return H2_STEP_IDLE;
}

static enum h2_step next_step(struct h2 *c, struct h2_event *event)
{
    if (c->sweeping) {
        return sweep_stream(c, event);
    }
    if (c->failure != STATUS_OK) {
        return H2_STEP_IDLE;
    }
    if (c->writable_due) {
        c->writable_due = false;
        *event = (struct h2_event){.kind = H2_EVENT_WRITABLE};
        return H2_STEP_EVENT;
    }
    if (h2_tx_room(c) < H2_STEP_BYTES) {
        return H2_STEP_IDLE;
    }
    enum h2_step step = receive_step(c, event);
    return step == H2_STEP_STARVED ? wait_for_input(c) : step;
}

enum status h2_next(struct h2 *c, struct h2_event *event)
{
    ASSERT(buffers_valid(c) && !c->building);
    h2_send_due(c);
    /*
     * Bound of the loop: a step consumes an octet or changes the stage, and at most five
     * consecutive changes of the stage consume no octet.
     */
    size_t steps_max = 6u * (c->rx_len - c->rx_pos) + 64u;
    size_t steps = 1;
    enum h2_step step = next_step(c, event);
    while (step == H2_STEP_AGAIN) {
        ASSERT(steps < steps_max);
        steps++;
        step = next_step(c, event);
    }
    if (step == H2_STEP_EVENT) {
        return STATUS_OK;
    }
    ASSERT(step == H2_STEP_IDLE);
    return c->failure == STATUS_OK ? STATUS_MORE : c->failure;
}

void h2_goaway(struct h2 *c, enum h2_error code, bool final)
{
    ASSERT(h2_valid(c));
    if (c->failure != STATUS_OK || c->accept_max != H2_STREAM_MAX) {
        return;
    }
    c->closing = true;
    c->goaway_code = (uint32_t)code;
    if (final || c->goaway_due != H2_GOAWAY_FINAL) {
        c->goaway_due = final ? H2_GOAWAY_FINAL : H2_GOAWAY_GRACEFUL;
    }
    h2_send_due(c);
}
