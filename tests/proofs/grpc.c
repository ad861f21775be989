/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of gRPC: the message's prefix and bytes as they arrive, and the header fields that a
 * call reads. Refusals are a stub: they only change the state of the call.
 */
#define PROOF_CONTENT_IS_ANY
#include "stubs.h"

#include "wire/grpc.c"

/* of its members the functions below read the call and the buffers alone */
static struct grpc_server server;
static struct grpc_buffers buffers;

void stub_refuse(struct grpc_server *s, struct grpc_call *call, enum grpc_refusal why)
{
    (void)s;
    CHECK(call->stream != 0u && why < GRPC_REFUSALS);
    call->state = any_bool() ? GRPC_CALL_REFUSED : GRPC_CALL_ANSWERED;
}

bool stub_reserve_buffer(struct grpc_server *s, struct grpc_call *call)
{
    CHECK(s->buffers != NULL && call->buffer == GRPC_BUFFERS);
    uint8_t i = any_u8();
    if (i >= GRPC_BUFFERS) {
        return false;
    }
    call->buffer = i;
    return true;
}

static struct grpc_call *any_call(void)
{
    struct grpc_call call;
    server.calls[0] = call;
    server.buffers = any_bool() ? &buffers : NULL;
    struct grpc_call *c = &server.calls[0];
    ASSUME(c->stream != 0u && c->state < GRPC_CALL_STATES && c->buffer <= GRPC_BUFFERS);
    ASSUME(c->buffer == GRPC_BUFFERS || server.buffers != NULL);
    return c;
}

static bool whole_sound(const struct grpc_call *c, size_t room)
{
    return c->state != GRPC_CALL_WHOLE || c->message_len <= room;
}

/* What holds of a call before and after each piece of DATA. */
static bool call_sound(const struct grpc_call *c)
{
    size_t room = c->buffer == GRPC_BUFFERS ? GRPC_SMALL_BYTES : GRPC_MESSAGE_BYTES_MAX;
    bool body =
        c->state != GRPC_CALL_BODY || (c->message_len <= room && c->message_have < c->message_len);
    bool prefix =
        c->state != GRPC_CALL_PREFIX ||
        (c->prefix_len < GRPC_PREFIX_BYTES && c->buffer == GRPC_BUFFERS && c->message_have == 0u);
    return body && prefix && whole_sound(c, room) && c->state < GRPC_CALL_STATES;
}

void proof_grpc_message(void)
{
    struct grpc_call *c = any_call();
    ASSUME(call_sound(c));
    consume_data(&server, c, any_view(ANY_LENGTH));
    CHECK(call_sound(c));
}

/* Like stub_view_decimal, for numbers of 32 bits: the upper bits are constant. */
enum status stub_timeout_decimal(struct view a, uint64_t max, uint64_t *value)
{
    stub_check_view(a);
    uint32_t n = any_u32();
    if (a.len == 0u || n > max || any_bool()) {
        return PEER_MALFORMED;
    }
    *value = n;
    return STATUS_OK;
}

static struct grpc_call request;

void proof_grpc_field(void)
{
    struct view value = any_view(ANY_LENGTH);
    if (any_bool()) {
        parse_method(&request, value, 0);
    } else if (any_bool()) {
        parse_path(&request, value, 0);
    } else if (any_bool()) {
        parse_encoding(&request, value, 0);
    } else {
        parse_type(&request, value, 0);
    }
}

void proof_grpc_timeout(void)
{
    /* hours of the longest timeout stay far below the end of the clock */
    uint64_t now = any_u64() >> 1;
    request.deadline_ms = UINT64_MAX;
    parse_timeout(&request, any_view(ANY_LENGTH), now);
    CHECK(request.deadline_ms >= now);
}

/* --- the end of a header list and of a request --- */

bool stub_text_is(const char *a, const char *b)
{
    CHECK(a == request.path && b != NULL);
    return any_bool();
}

void stub_call_free(struct grpc_server *s, struct grpc_call *call)
{
    (void)s;
    CHECK(call->stream != 0u);
    call->stream = 0;
}

static const struct grpc_method methods[2] = {{"/a/b", 1}, {"/c/d", 2}};

void proof_grpc_head(void)
{
    request.stream = 1;
    request.state = GRPC_CALL_HEAD;
    request.buffer = GRPC_BUFFERS;
    request.flags = any_u8();
    server.refusing = any_bool();
    server.methods = methods;
    server.methods_count = any_unsigned();
    ASSUME(server.methods_count <= 2u);
    head_complete(&server, &request);
    CHECK(call_sound(&request) && request.state != GRPC_CALL_HEAD);
    CHECK(request.state != GRPC_CALL_PREFIX || !server.refusing);
}

void proof_grpc_input_end(void)
{
    struct grpc_call *c = any_call();
    struct grpc_event out = {0};
    ASSUME(call_sound(c) && c->state != GRPC_CALL_HEAD && c->state != GRPC_CALL_RUNNING);
    c->path[sizeof c->path - 1u] = '\0';
    bool whole = c->state == GRPC_CALL_WHOLE;
    bool ready = input_end(&server, c, &out);
    CHECK(ready == whole && (!ready || (c->state == GRPC_CALL_RUNNING && c->prefix_len == 0u)));
    CHECK(!ready || __CPROVER_r_ok(out.message.data, out.message.len));
    CHECK(!ready || out.message.len <= GRPC_MESSAGE_BYTES_MAX);
}

/* --- the start of a connection, and its table of calls --- */

static void check_buffer(const uint8_t *data, size_t cap, size_t least, size_t most)
{
    CHECK(cap >= least && cap <= most && __CPROVER_w_ok(data, cap));
}

/* What check_memory and check_windows of h2.c ask. */
void stub_h2_init(struct h2 *c, enum h2_role role, const struct h2_memory *m, uint64_t now_ms)
{
    (void)now_ms;
    CHECK(c == &server.h2 && role == H2_SERVER);
    check_buffer(m->rx, m->rx_cap, H2_RX_BYTES_MIN, SIZE_MAX);
    check_buffer(m->tx, m->tx_cap, H2_TX_BYTES_MIN, H2_FRAME_MAX);
    check_buffer(m->field, m->field_cap, 1u, UINT16_MAX);
    check_buffer(m->scratch, m->scratch_cap, m->field_cap, SIZE_MAX);
    CHECK(m->streams == server.streams && m->streams_cap == H2_SERVER_STREAMS);
    CHECK(m->table_size <= HPACK_TABLE_BYTES && m->window >= 1u && m->window <= INT32_MAX);
    CHECK(m->connection_window >= H2_WINDOW_DEFAULT && m->connection_window <= INT32_MAX);
}

/* All calls are as call_sound and grpc_valid have them. */
static bool calls_sound(const struct grpc_server *s)
{
    bool good = grpc_valid(s);
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        good = good && (s->calls[i].stream == 0u || call_sound(&s->calls[i]));
    }
    return good;
}

void proof_grpc_init(void)
{
    static const struct grpc_method method = {"/a/b", 1};
    __CPROVER_havoc_object(&server);
    grpc_init(&server, any_bool() ? &buffers : NULL, &method, any_bool() ? 1u : 0u, any_u64());
    CHECK(calls_sound(&server) && server.held == 0u && !server.refusing);
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        CHECK(server.calls[i].stream == 0u);
    }
}
