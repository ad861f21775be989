/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives requests: collects the header fields and the DATA of a call into one complete message,
 * and handles calls that end before their response (reset, time-out). Sends nothing itself;
 * grpc_send.c sends replies and refusals.
 */
#include "wire/grpc.h"

#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "wire/grpc_internal.h"

#define NO_DEADLINE UINT64_MAX
/* gRPC PROTOCOL-HTTP2: TimeoutValue is at most eight digits. */
#define TIMEOUT_DIGITS_MAX 8u
#define TIMEOUT_VALUE_MAX 99999999u

_Static_assert(GRPC_BUFFERS < UINT8_MAX, "an index of a buffer is one octet");

/* --- the call table --- */

static struct grpc_call_id call_id(const struct grpc_server *s, const struct grpc_call *call)
{
    ptrdiff_t at = call - s->calls;
    return (struct grpc_call_id){.index = (uint16_t)at, .serial = call->serial};
}

static struct grpc_call *call_of(struct grpc_server *s, uint32_t stream)
{
    ASSERT(stream != 0u);
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (s->calls[i].stream == stream) {
            return &s->calls[i];
        }
    }
    return NULL;
}

/*
 * Initializes a free entry of the call table for a new stream. A free entry always exists,
 * because every call has a live stream, and the stream table is no larger than the call table.
 */
static struct grpc_call *call_new(struct grpc_server *s, uint32_t stream, uint64_t now_ms)
{
    unsigned i = 0;

    while (s->calls[i].stream != 0u) {
        i++;
        ASSERT(i < H2_SERVER_STREAMS);
    }
    s->next_serial = s->next_serial == UINT32_MAX ? 1u : s->next_serial + 1u;
    memset(&s->calls[i], 0, sizeof s->calls[i]);
    s->calls[i].stream = stream;
    s->calls[i].serial = s->next_serial;
    s->calls[i].state = GRPC_CALL_HEAD;
    s->calls[i].buffer = GRPC_BUFFERS;
    s->calls[i].arrival_ms = now_ms + GRPC_ARRIVAL_MS;
    s->calls[i].deadline_ms = NO_DEADLINE;
    return &s->calls[i];
}

/* --- the header fields of a request --- */

static void parse_method(struct grpc_call *call, struct view value, uint64_t now_ms)
{
    (void)now_ms;
    if (view_is(value, "POST")) {
        call->flags |= GRPC_FLAG_POST;
    }
    if (view_is(value, "HEAD")) {
        call->flags |= GRPC_FLAG_BODILESS;
    }
}

static void parse_path(struct grpc_call *call, struct view value, uint64_t now_ms)
{
    (void)now_ms;
    if (text_copy(call->path, sizeof call->path, value) != STATUS_OK) {
        call->flags |= GRPC_FLAG_PATH_LONG;
    }
}

/*
 * Accepts "application/grpc" and "application/grpc+proto", with or without parameters. Refuses
 * all other content-types, because the server supports only protobuf.
 */
static void parse_type(struct grpc_call *call, struct view value, uint64_t now_ms)
{
    struct view type = view_first(value, view_find(value, ';'));

    (void)now_ms;
    if (view_is(type, "application/grpc") || view_is(type, "application/grpc+proto")) {
        call->flags |= GRPC_FLAG_TYPE;
    }
}

/* Converts a TimeoutValue to milliseconds, rounded up. false: unknown TimeoutUnit. */
static bool timeout_ms(uint64_t value, uint8_t unit, uint64_t *ms)
{
    bool known = true;

    switch (unit) {
    case 'H':
        *ms = value * 3600000u;
        break;
    case 'M':
        *ms = value * 60000u;
        break;
    case 'S':
        *ms = value * 1000u;
        break;
    case 'm':
        *ms = value;
        break;
    case 'u':
        *ms = (value + 999u) / 1000u;
        break;
    case 'n':
        *ms = (value + 999999u) / 1000000u;
        break;
    default:
        known = false;
        break;
    }
    return known;
}

static void parse_timeout(struct grpc_call *call, struct view value, uint64_t now_ms)
{
    size_t digits = value.len == 0u ? 0u : value.len - 1u;
    uint64_t number = 0;
    uint64_t ms = 0;

    if (digits > TIMEOUT_DIGITS_MAX ||
        view_decimal(view_first(value, digits), TIMEOUT_VALUE_MAX, &number) != STATUS_OK ||
        !timeout_ms(number, value.data[digits], &ms)) {
        call->flags |= GRPC_FLAG_TIMEOUT_BAD;
        return;
    }
    call->deadline_ms = now_ms + ms;
}

/* Only "identity" and an empty value say that no message of the request is compressed. */
static void parse_encoding(struct grpc_call *call, struct view value, uint64_t now_ms)
{
    (void)now_ms;
    if (value.len > 0u && !view_is(value, "identity")) {
        call->encoded = true;
    }
}

static void parse_field(struct grpc_call *call, const struct h2_event *field, uint64_t now_ms)
{
    static const struct {
        const char *name;
        void (*take)(struct grpc_call *call, struct view value, uint64_t now_ms);
    } fields[] = {
        {":method", parse_method},         {":path", parse_path},
        {"content-type", parse_type},      {"grpc-timeout", parse_timeout},
        {"grpc-encoding", parse_encoding},
    };

    ASSERT(call->state == GRPC_CALL_HEAD);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (view_is(field->name, fields[i].name)) {
            fields[i].take(call, field->value, now_ms);
        }
    }
}

/*
 * Sets call->method to the method that serves call->path. false: the socket does not serve the
 * path.
 */
static bool find_served_path(const struct grpc_server *s, struct grpc_call *call)
{
    for (unsigned i = 0; i < s->methods_count; i++) {
        if (text_is(call->path, s->methods[i].path)) {
            call->method = s->methods[i].id;
            return true;
        }
    }
    call->method = 0;
    return s->methods_count == 0u;
}

static void head_complete(struct grpc_server *s, struct grpc_call *call)
{
    ASSERT(call->state == GRPC_CALL_HEAD);
    call->state = GRPC_CALL_PREFIX;
    if ((call->flags & GRPC_FLAG_POST) == 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_METHOD);
    } else if ((call->flags & GRPC_FLAG_TYPE) == 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_TYPE);
    } else if (s->refusing) {
        grpc_refuse(s, call, GRPC_REFUSE_STOPPING);
    } else if ((call->flags & GRPC_FLAG_PATH_LONG) != 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_PATH);
    } else if (!find_served_path(s, call)) {
        grpc_refuse(s, call, GRPC_REFUSE_UNKNOWN);
    } else if ((call->flags & GRPC_FLAG_TIMEOUT_BAD) != 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_TIMEOUT);
    }
}

/* --- the message of a request --- */

/*
 * Reserves a shared buffer for a long message. A connection that already holds a buffer gets
 * another one only if a free buffer remains for every connection that holds none. The incomplete
 * messages of one peer thus never cause the refusal of another peer. false: no buffer is available.
 */
static bool reserve_buffer(struct grpc_server *s, struct grpc_call *call)
{
    struct grpc_buffers *all = s->buffers;
    uint8_t i = 0;

    ASSERT(call->buffer == GRPC_BUFFERS && all->holders <= GRPC_SHARES);
    if (s->held > 0u && all->taken + GRPC_SHARES >= all->holders + GRPC_BUFFERS) {
        return false;
    }
    while (all->buffers[i].taken) {
        i++;
        ASSERT(i < GRPC_BUFFERS);
    }
    all->buffers[i].taken = true;
    call->buffer = i;
    all->taken++;
    all->holders += (s->held == 0u) ? 1u : 0u;
    s->held++;
    return true;
}

static uint8_t *message_of(struct grpc_server *s, struct grpc_call *call)
{
    return call->buffer == GRPC_BUFFERS ? call->small : s->buffers->buffers[call->buffer].bytes;
}

static void prefix_complete(struct grpc_server *s, struct grpc_call *call)
{
    struct reader in = reader_of(view_of(call->prefix, sizeof call->prefix));
    uint32_t limit = s->buffers == NULL ? GRPC_SMALL_BYTES : GRPC_MESSAGE_BYTES_MAX;
    uint8_t compressed = 0;
    enum status flag = reader_u8(&in, &compressed);
    enum status length = reader_u32(&in, &call->message_len);

    ASSERT(flag == STATUS_OK && length == STATUS_OK);
    if (compressed == 1u) {
        grpc_refuse(s, call, call->encoded ? GRPC_REFUSE_COMPRESSED : GRPC_REFUSE_UNENCODED);
    } else if (compressed != 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_PREFIX);
    } else if (call->message_len > limit) {
        grpc_refuse(s, call, GRPC_REFUSE_SIZE);
    } else if (call->message_len > GRPC_SMALL_BYTES && !reserve_buffer(s, call)) {
        grpc_refuse(s, call, GRPC_REFUSE_BUFFERS);
    } else {
        call->state = call->message_len == 0u ? GRPC_CALL_WHOLE : GRPC_CALL_BODY;
    }
}

/*
 * Moves up to `want` bytes from the front of *data to `to`; returns the number of bytes moved, at
 * least 1, because neither `want` nor *data is empty.
 */
static uint32_t move_front(uint8_t *to, uint32_t want, struct view *data)
{
    uint32_t n = data->len < want ? (uint32_t)data->len : want;

    memcpy(to, data->data, n);
    *data = view_from(*data, n);
    return n;
}

static void consume_prefix(struct grpc_server *s, struct grpc_call *call, struct view *data)
{
    uint32_t want = (uint32_t)(GRPC_PREFIX_BYTES - call->prefix_len);
    uint32_t n = move_front(call->prefix + call->prefix_len, want, data);

    call->prefix_len = (uint8_t)(call->prefix_len + n);
    if (call->prefix_len == GRPC_PREFIX_BYTES) {
        prefix_complete(s, call);
    }
}

static void consume_body(struct grpc_server *s, struct grpc_call *call, struct view *data)
{
    uint32_t want = call->message_len - call->message_have;

    ASSERT(call->message_have < call->message_len);
    call->message_have += move_front(message_of(s, call) + call->message_have, want, data);
    if (call->message_have == call->message_len) {
        call->state = GRPC_CALL_WHOLE;
    }
}

static void consume_data(struct grpc_server *s, struct grpc_call *call, struct view data)
{
    if (call->state == GRPC_CALL_PREFIX && data.len > 0u) {
        consume_prefix(s, call, &data);
    }
    if (call->state == GRPC_CALL_BODY && data.len > 0u) {
        consume_body(s, call, &data);
    }
    if (call->state == GRPC_CALL_WHOLE && data.len > 0u) {
        grpc_refuse(s, call, GRPC_REFUSE_SECOND);
    }
}

/*
 * Handles the end of a stream's input. true: the request is complete, and *out is its CALL event.
 */
static bool input_end(struct grpc_server *s, struct grpc_call *call, struct grpc_event *out)
{
    call->flags |= GRPC_FLAG_INPUT_ENDED;
    if (call->state == GRPC_CALL_ANSWERED) {
        grpc_call_free(s, call);
        return false;
    }
    if (call->state == GRPC_CALL_REFUSED) {
        return false;
    }
    if (call->state != GRPC_CALL_WHOLE) {
        ASSERT(call->state == GRPC_CALL_PREFIX || call->state == GRPC_CALL_BODY);
        grpc_refuse(s, call, call->prefix_len == 0u ? GRPC_REFUSE_EMPTY : GRPC_REFUSE_HALF);
        return false;
    }
    call->state = GRPC_CALL_RUNNING;
    call->prefix_len = 0;
    out->kind = GRPC_EVENT_CALL;
    out->call = call_id(s, call);
    out->path = view_text(call->path);
    out->method = call->method;
    out->message = view_of(message_of(s, call), call->message_len);
    out->deadline_ms = call->deadline_ms;
    return true;
}

/* --- handlers of HTTP/2 events; each returns true if it has filled in *out --- */

static bool on_field(struct grpc_server *s, const struct h2_event *event, uint64_t now_ms)
{
    struct grpc_call *call = call_of(s, event->stream);

    if (!event->trailers) {
        call = call == NULL ? call_new(s, event->stream, now_ms) : call;
        parse_field(call, event, now_ms);
    }
    return false;
}

static bool on_input(struct grpc_server *s, const struct h2_event *event, struct grpc_event *out)
{
    struct grpc_call *call = call_of(s, event->stream);

    ASSERT(call != NULL && call->state != GRPC_CALL_RUNNING);
    if (event->kind == H2_EVENT_DATA) {
        consume_data(s, call, event->data);
    } else if (!event->trailers) {
        /*
         * `flags` is updated before head_complete runs, because a refusal by head_complete depends
         * on GRPC_FLAG_INPUT_ENDED
         */
        call->flags |= event->end_stream ? GRPC_FLAG_INPUT_ENDED : 0u;
        head_complete(s, call);
    }
    /* head_complete or consume_data may have refused and freed the call */
    return event->end_stream && call->stream == event->stream && input_end(s, call, out);
}

static bool on_reset(struct grpc_server *s, const struct h2_event *event, struct grpc_event *out)
{
    struct grpc_call *call = call_of(s, event->stream);
    bool known = call != NULL && call->state == GRPC_CALL_RUNNING;

    if (known) {
        out->kind = GRPC_EVENT_GONE;
        out->call = call_id(s, call);
    }
    if (call != NULL) {
        grpc_call_free(s, call);
    }
    return known;
}

static bool on_event(struct grpc_server *s, const struct h2_event *event, uint64_t now_ms,
                     struct grpc_event *out)
{
    switch (event->kind) {
    case H2_EVENT_FIELD:
        return on_field(s, event, now_ms);
    case H2_EVENT_HEADERS_END:
    case H2_EVENT_DATA:
        return on_input(s, event, out);
    case H2_EVENT_RESET:
        return on_reset(s, event, out);
    case H2_EVENT_WRITABLE:
        grpc_refuse_due(s);
        out->kind = GRPC_EVENT_WRITABLE;
        return true;
    default: /* ignores GOAWAY; PING_ACK cannot occur, because servers send no PING */
        return false;
    }
}

/* --- deadlines of calls --- */

/*
 * Returns the time at which the call times out. NO_DEADLINE if the HTTP/2 engine already limits the
 * time:
 * - while the header block is incomplete: no response can be sent yet;
 * - while a gRPC refusal is pending: it waits only for send room.
 * A pending HTTP refusal has a deadline, because it also waits for the stream's flow-control
 * window.
 */
static uint64_t due_ms(const struct grpc_call *call)
{
    const unsigned is_grpc = GRPC_FLAG_POST | GRPC_FLAG_TYPE;

    if (call->stream == 0u || call->state == GRPC_CALL_HEAD) {
        return NO_DEADLINE;
    }
    if (call->state == GRPC_CALL_REFUSED) {
        return (call->flags & is_grpc) == is_grpc ? NO_DEADLINE : call->arrival_ms;
    }
    if (call->state == GRPC_CALL_ANSWERED) {
        return call->arrival_ms;
    }
    bool replies = call->prefix_len > 0u || call->reply_left > 0u;
    bool waits = call->state == GRPC_CALL_RUNNING && !replies;
    return waits ? call->deadline_ms : earlier(call->deadline_ms, call->arrival_ms);
}

/* Ends a call whose deadline (due_ms) has passed. true: *out is a DEADLINE event for the owner. */
static bool expire_call(struct grpc_server *s, struct grpc_call *call, struct grpc_event *out)
{
    bool known = call->state == GRPC_CALL_RUNNING;
    bool slow = !known && call->arrival_ms <= call->deadline_ms;

    if (call->state >= GRPC_CALL_REFUSED) {
        bool answered = call->state == GRPC_CALL_ANSWERED;
        h2_reset(&s->h2, call->stream, answered ? H2_NO_ERROR : H2_CANCEL);
        grpc_call_free(s, call);
        return false;
    }
    if (known) {
        out->kind = GRPC_EVENT_DEADLINE;
        out->call = call_id(s, call);
    }
    grpc_refuse(s, call, slow ? GRPC_REFUSE_SLOW : GRPC_REFUSE_DEADLINE);
    return known;
}

static bool expire_due(struct grpc_server *s, uint64_t now_ms, struct grpc_event *out)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (due_ms(&s->calls[i]) <= now_ms && expire_call(s, &s->calls[i], out)) {
            return true;
        }
    }
    return false;
}

/* --- consistency checks, start, end and events of a connection --- */

static bool call_valid(const struct grpc_server *s, const struct grpc_call *call)
{
    bool lent = call->buffer < GRPC_BUFFERS;
    uint32_t room = lent ? GRPC_MESSAGE_BYTES_MAX : GRPC_SMALL_BYTES;

    if (call->stream == 0u) {
        return call->serial == 0u;
    }
    if (call->serial == 0u || call->state >= GRPC_CALL_STATES || call->buffer > GRPC_BUFFERS) {
        return false;
    }
    if (lent && (s->buffers == NULL || !s->buffers->buffers[call->buffer].taken)) {
        return false;
    }
    return call->state != GRPC_CALL_BODY || call->message_len <= room;
}

bool grpc_valid(const struct grpc_server *s)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (!call_valid(s, &s->calls[i])) {
            return false;
        }
    }
    return true;
}

void grpc_init(struct grpc_server *s, struct grpc_buffers *buffers,
               const struct grpc_method *methods, unsigned methods_count, uint64_t now_ms)
{
    const struct h2_memory memory = H2_MEMORY_OF(s, H2_SERVER_WINDOW);

    s->buffers = buffers;
    s->held = 0;
    s->now_ms = now_ms;
    s->next_serial = 0;
    s->refusing = false;
    s->methods = methods;
    s->methods_count = methods_count;
    memset(s->calls, 0, sizeof s->calls);
    h2_init(&s->h2, H2_SERVER, &memory, now_ms);
    ASSERT(grpc_valid(s));
}

/* Releases the buffer of the last CALL event, whose message was valid until now. */
static void release_lent(struct grpc_server *s)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (s->calls[i].stream != 0u && s->calls[i].state == GRPC_CALL_RUNNING) {
            grpc_buffer_release(s, &s->calls[i]);
        }
    }
}

enum status grpc_next(struct grpc_server *s, uint64_t now_ms, struct grpc_event *event)
{
    struct h2_event input;
    enum status st;

    ASSERT(grpc_valid(s));
    *event = (struct grpc_event){0};
    s->now_ms = now_ms;
    release_lent(s);
    h2_set_time(&s->h2, now_ms);
    grpc_refuse_due(s);
    if (expire_due(s, now_ms, event)) {
        return STATUS_OK;
    }
    st = h2_next(&s->h2, &input);
    /* the loop ends, because each event consumes received bytes or ends a stream */
    while (st == STATUS_OK && !on_event(s, &input, now_ms, event)) {
        st = h2_next(&s->h2, &input);
    }
    ASSERT(st == STATUS_OK || st == STATUS_MORE || grpc_calls_open(s) == 0u);
    return st;
}

void grpc_abandon(struct grpc_server *s)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (s->calls[i].stream != 0u) {
            grpc_call_free(s, &s->calls[i]);
        }
    }
    ASSERT(s->held == 0u);
}

uint64_t grpc_deadline(const struct grpc_server *s)
{
    uint64_t first = h2_deadline(&s->h2);

    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        uint64_t due = due_ms(&s->calls[i]);
        first = earlier(due, first);
    }
    return first;
}

unsigned grpc_calls_open(const struct grpc_server *s)
{
    unsigned count = 0;

    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        const struct grpc_call *call = &s->calls[i];
        count += (call->stream != 0u && call->state != GRPC_CALL_ANSWERED) ? 1u : 0u;
    }
    ASSERT(count <= H2_SERVER_STREAMS);
    return count;
}

unsigned grpc_calls_slow(const struct grpc_server *s, uint64_t now_ms)
{
    unsigned count = 0;

    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        const struct grpc_call *call = &s->calls[i];
        bool slow = now_ms + (GRPC_ARRIVAL_MS - GRPC_SLOW_MS) >= call->arrival_ms;
        count += (call->stream != 0u && call->state <= GRPC_CALL_WHOLE && slow) ? 1u : 0u;
    }
    return count;
}

void grpc_drain(struct grpc_server *s)
{
    ASSERT(grpc_valid(s));
    h2_goaway(&s->h2, H2_NO_ERROR, true);
}
