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

/* What holds of a call before and after each piece of DATA. */
static bool call_sound(const struct grpc_call *c)
{
    size_t room = c->buffer == GRPC_BUFFERS ? GRPC_SMALL_BYTES : GRPC_MESSAGE_BYTES_MAX;
    bool body =
        c->state != GRPC_CALL_BODY || (c->message_len <= room && c->message_have < c->message_len);
    bool prefix =
        c->state != GRPC_CALL_PREFIX ||
        (c->prefix_len < GRPC_PREFIX_BYTES && c->buffer == GRPC_BUFFERS && c->message_have == 0u);
    return body && prefix && c->state < GRPC_CALL_STATES;
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
