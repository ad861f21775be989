/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC client; see sim_grpc.h. */
#include "tests/sim/kubelet/sim_grpc.h"

#include <string.h>

#include "base/assert.h"
#include "tests/sim/sim_percent.h"

#define NO_STATUS (-1)
#define TIMEOUT_CAP 24

void sim_grpc_init(struct sim_grpc *c, uint64_t now_ms)
{
    const struct h2_memory memory = H2_MEMORY_OF(c, SIM_WINDOW);
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        c->call[i].stream = 0;
    }
    c->now_ms = now_ms;
    h2_init(&c->h2, H2_CLIENT, &memory, now_ms);
}

/* --- asking --- */

static struct sim_call *free_call(struct sim_grpc *c)
{
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        if (c->call[i].stream == 0) {
            return &c->call[i];
        }
    }
    return NULL;
}

static void header(struct h2 *h, const char *name, const char *value)
{
    h2_header(h, name, view_text(value), false);
}

static enum status send_head(struct sim_grpc *c, const struct sim_grpc_request *r, uint32_t stream)
{
    uint8_t bytes[TIMEOUT_CAP];
    struct writer timeout = writer_of(bytes, sizeof bytes);
    writer_decimal(&timeout, r->limit_ms);
    writer_u8(&timeout, 'm');
    h2_headers_begin(&c->h2, stream);
    header(&c->h2, ":method", "POST");
    header(&c->h2, ":scheme", "http");
    header(&c->h2, ":path", r->path);
    header(&c->h2, ":authority", r->authority);
    header(&c->h2, "content-type", "application/grpc");
    header(&c->h2, "user-agent", "grpc-sim/1");
    header(&c->h2, "te", "trailers");
    h2_header(&c->h2, "grpc-timeout", writer_view(&timeout), false);
    return h2_headers_end(&c->h2, false);
}

static void send_rest(struct sim_grpc *c, struct sim_call *call)
{
    bool moved = true;
    while (moved && !call->ended && call->sent < call->len) {
        size_t room = h2_data_room(&c->h2, call->stream);
        struct view left = view_of(call->request + call->sent, call->len - call->sent);
        struct view piece = view_first(left, room);
        moved = piece.len > 0 &&
                h2_data(&c->h2, call->stream, piece, piece.len == left.len) == STATUS_OK;
        call->sent += moved ? piece.len : 0;
    }
}

enum status sim_grpc_call(struct sim_grpc *c, uint64_t now_ms, const struct sim_grpc_request *r)
{
    struct sim_call *call = free_call(c);
    uint32_t stream = 0;
    ASSERT(r->message.len <= GRPC_MESSAGE_BYTES_MAX && r->limit_ms > 0 && now_ms >= c->now_ms);
    c->now_ms = now_ms; /* while the connection is idle, no step sets its time */
    h2_set_time(&c->h2, now_ms);
    if (call == NULL) {
        return FULL_TABLE;
    }
    enum status s = h2_open(&c->h2, r->tag, &stream);
    if (s == STATUS_OK) {
        s = send_head(c, r, stream);
    }
    if (s != STATUS_OK) {
        if (stream != 0) {
            h2_reset(&c->h2, stream, H2_CANCEL);
        }
        return s == FULL_BUFFER ? STATUS_MORE : s;
    }
    struct writer w = writer_of(call->request, sizeof call->request);
    writer_u8(&w, 0);
    writer_u32(&w, (uint32_t)r->message.len);
    writer_append(&w, r->message);
    ASSERT(!w.full);
    call->stream = stream;
    call->tag = r->tag;
    call->ended = false;
    call->deadline_ms = c->now_ms + r->limit_ms;
    call->http = 0;
    call->code = NO_STATUS;
    call->text[0] = 0;
    call->sent = 0;
    call->len = w.len;
    call->have = 0;
    send_rest(c, call);
    return STATUS_OK;
}

/* --- answers --- */

static void end_call(struct sim_call *call, int code, const char *text)
{
    call->ended = true;
    call->code = code;
    text_cut(call->text, sizeof call->text, view_text(text));
}

/* grpc-message is percent-encoded; what does not decode stays as it is. */
static void take_message(struct sim_call *call, struct view v)
{
    struct writer w = writer_of(call->text, sizeof call->text - 1);
    for (size_t i = 0; i < v.len; i++) {
        int octet = sim_percent_octet(view_from(v, i));
        if (octet >= 0) {
            writer_u8(&w, (uint8_t)octet);
            i += 2;
        } else {
            writer_u8(&w, v.data[i]);
        }
    }
    call->text[w.len] = 0;
}

static void take_field(struct sim_call *call, const struct h2_event *e)
{
    uint64_t number = 0;
    if (view_is(e->name, ":status") && view_decimal(e->value, 999, &number) == STATUS_OK) {
        call->http = (unsigned)number;
    } else if (view_is(e->name, "grpc-status") &&
               view_decimal(e->value, 99, &number) == STATUS_OK) {
        call->code = (int)number;
    } else if (view_is(e->name, "grpc-message")) {
        take_message(call, e->value);
    }
}

/* grpc-go's codes for what is no gRPC answer. */
static void judge(struct sim_call *call)
{
    struct reader in = reader_of(view_of(call->reply, call->have));
    uint8_t compressed = 1;
    uint32_t len = 0;
    if (call->ended) {
        return;
    }
    call->ended = true;
    if (call->http != 200) {
        end_call(call, GRPC_UNKNOWN, "unexpected HTTP status");
    } else if (call->code == NO_STATUS) {
        end_call(call, GRPC_INTERNAL, "no grpc-status");
    } else if (call->code == GRPC_OK &&
               (reader_u8(&in, &compressed) != STATUS_OK || reader_u32(&in, &len) != STATUS_OK ||
                compressed != 0 || len != reader_left(&in))) {
        end_call(call, GRPC_INTERNAL, "malformed reply message");
    }
}

static void take_data(struct sim_grpc *c, struct sim_call *call, struct view data)
{
    if (data.len > sizeof call->reply - call->have) {
        h2_reset(&c->h2, call->stream, H2_CANCEL);
        end_call(call, GRPC_RESOURCE_EXHAUSTED, "reply is too long");
        return;
    }
    if (data.len > 0) {
        memcpy(call->reply + call->have, data.data, data.len);
        call->have += data.len;
    }
}

static struct sim_call *call_of(struct sim_grpc *c, uint32_t stream)
{
    for (unsigned i = 0; i < SIM_CALLS_MAX && stream != 0; i++) {
        if (c->call[i].stream == stream && !c->call[i].ended) {
            return &c->call[i];
        }
    }
    return NULL;
}

static void take_event(struct sim_grpc *c, const struct h2_event *e)
{
    struct sim_call *call = call_of(c, e->stream);
    if (call == NULL) {
        return;
    }
    if (e->kind == H2_EVENT_FIELD) {
        take_field(call, e);
    } else if (e->kind == H2_EVENT_DATA) {
        take_data(c, call, e->data);
    } else if (e->kind == H2_EVENT_RESET) {
        end_call(call, GRPC_UNAVAILABLE, "the stream was reset or its connection ended");
    }
    if ((e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END) && e->end_stream) {
        judge(call);
    }
}

static void take_time(struct sim_grpc *c, uint64_t now_ms)
{
    c->now_ms = now_ms;
    h2_set_time(&c->h2, now_ms);
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        struct sim_call *call = &c->call[i];
        if (call->stream != 0 && !call->ended && call->deadline_ms <= now_ms) {
            h2_reset(&c->h2, call->stream, H2_CANCEL);
            end_call(call, GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
        }
    }
}

static bool take_result(struct sim_grpc *c, struct sim_grpc_result *r)
{
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        struct sim_call *call = &c->call[i];
        if (call->stream == 0 || !call->ended) {
            continue;
        }
        bool good = call->code == GRPC_OK;
        r->tag = call->tag;
        r->code = call->code;
        r->text = call->text;
        r->message = good ? view_of(call->reply + GRPC_PREFIX_BYTES, call->have - GRPC_PREFIX_BYTES)
                          : view_of(NULL, 0);
        call->stream = 0;
        return true;
    }
    return false;
}

enum status sim_grpc_next(struct sim_grpc *c, uint64_t now_ms, struct sim_grpc_result *r)
{
    struct h2_event e;
    ASSERT(now_ms >= c->now_ms);
    take_time(c, now_ms);
    enum status s = h2_next(&c->h2, &e);
    while (s == STATUS_OK) {
        take_event(c, &e);
        s = h2_next(&c->h2, &e);
    }
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        if (c->call[i].stream != 0) {
            send_rest(c, &c->call[i]);
        }
    }
    return take_result(c, r) ? STATUS_OK : s;
}

uint64_t sim_grpc_deadline(const struct sim_grpc *c)
{
    uint64_t at = h2_deadline(&c->h2);
    for (unsigned i = 0; i < SIM_CALLS_MAX; i++) {
        const struct sim_call *call = &c->call[i];
        if (call->stream != 0 && call->deadline_ms < at) {
            at = call->deadline_ms;
        }
    }
    return at;
}
