/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates a call from a request of the kubelet, with one operation for each claim UID in the
 * request. Owns nothing: calls.h owns calls and operations.
 */
#include <string.h>

#include "agent/calls/call_log.h"
#include "agent/calls/calls.h"
#include "agent/calls/room.h"
#include "agent/frame.h"
#include "base/time.h"
#include "generated/dra.pb.h"
#include "pb_decode.h"
#include "wire/decode.h"

static int free_call(const struct agent *a)
{
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        if (a->calls->call[i].state == CALL_FREE) {
            return (int)i;
        }
    }
    return -1;
}

/*
 * Index of a free operation; -1: there is none. The last CLAIMS_PER_CALL_MAX operations are
 * reserved for unprepares, which do not use the API server, so that a hanging server never delays
 * unprepares.
 */
static int free_operation(const struct agent *a, bool unprepare)
{
    unsigned end = unprepare ? OPERATIONS_MAX : OPERATIONS_MAX - CLAIMS_PER_CALL_MAX;
    for (unsigned i = 0; i < end; i++) {
        if (a->calls->operation[i].state == OPERATION_FREE) {
            return (int)i;
        }
    }
    return -1;
}

/*
 * Whether the call already has an operation for this UID: a UID that the request repeats is one
 * operation, because the reply is a map by UID.
 */
static bool call_has(const struct agent *a, const struct call *c, const char *uid)
{
    for (unsigned i = 0; i < c->count; i++) {
        if (text_is(a->calls->operation[c->operation[i]].id.uid, uid)) {
            return true;
        }
    }
    return false;
}

/*
 * Adds an operation for a claim of the request. Returns GRPC_OK, or the code with which the call is
 * refused; *text is then the message.
 */
static enum grpc_status add_claim(struct agent *a, unsigned index, const dra_Claim *claim,
                                  const char **text)
{
    struct call *c = &a->calls->call[index];
    if (call_has(a, c, claim->uid)) {
        return GRPC_OK;
    }
    if (c->count >= CLAIMS_PER_CALL_MAX) {
        *text = "the call has more claims than this driver takes; --version prints its limits";
        return GRPC_RESOURCE_EXHAUSTED;
    }
    int at = free_operation(a, c->unprepare);
    if (at < 0) {
        *text = "too many claims in running calls; try again";
        return GRPC_RESOURCE_EXHAUSTED;
    }
    struct operation *o = &a->calls->operation[at];
    o->state = OPERATION_WAITING;
    o->call = (uint16_t)index;
    o->history = 0;
    o->fresh = false;
    o->compares = false;
    o->store_awaited = false;
    o->devices_len = 0;
    o->deadline_ms = a->now_ms + CLAIM_GET_MS;
    o->next_ms = 0;
    o->waits = 0;
    o->error[0] = '\0';
    memcpy(o->id.uid, claim->uid, sizeof o->id.uid);
    memcpy(o->id.namespace_, claim->namespace, sizeof o->id.namespace_);
    memcpy(o->id.name, claim->name, sizeof o->id.name);
    c->operation[c->count] = (uint16_t)at;
    c->count++;
    return GRPC_OK;
}

_Static_assert(sizeof((dra_Claim *)0)->uid == UID_CAP, "proto/dra.options and cfg/limits.h agree");
_Static_assert(sizeof((dra_Claim *)0)->name == NAME_CAP,
               "proto/dra.options and cfg/limits.h agree");
_Static_assert(sizeof((dra_Claim *)0)->namespace == NAMESPACE_CAP,
               "proto/dra.options and cfg/limits.h agree");

/*
 * Reads the next field of a request. *found: whether the field is a claim; other fields are
 * skipped. false: the request is malformed.
 */
static bool read_claim(pb_istream_t *in, dra_Claim *claim, bool *found)
{
    pb_wire_type_t type = PB_WT_VARINT;
    uint32_t tag = 0;
    bool end = false;
    pb_istream_t message;
    *found = false;
    if (!pb_decode_tag(in, &type, &tag, &end) || tag == 0u) {
        return false;
    }
    if (tag != (uint32_t)dra_NodePrepareResourcesRequest_claims_tag) {
        return pb_skip_field(in, type);
    }
    if (type != PB_WT_STRING || !pb_make_string_substream(in, &message)) {
        return false;
    }
    *found = true;
    return pb_decode(&message, dra_Claim_fields, claim) && pb_close_string_substream(in, &message);
}

/*
 * Adds the claims of a request to the call. Prepare and unprepare requests have the same form:
 * repeated Claim claims = 1.
 */
static enum grpc_status read_claims(struct agent *a, unsigned index, struct view message,
                                    const char **text)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    enum grpc_status code = GRPC_OK;
    while (in.bytes_left > 0u && code == GRPC_OK) {
        dra_Claim claim = dra_Claim_init_zero;
        bool found = false;
        if (!read_claim(&in, &claim, &found)) {
            *text = "the request is not readable as protobuf";
            code = GRPC_INVALID_ARGUMENT;
        } else if (found) {
            code = add_claim(a, index, &claim, text);
        }
    }
    return code;
}
_Static_assert(dra_NodePrepareResourcesRequest_claims_tag ==
                   dra_NodeUnprepareResourcesRequest_claims_tag,
               "both requests have the same form");

/*
 * Returns when the last GET of a call must have ended, so that the reply arrives before the
 * kubelet's deadline for the call (deadline_ms).
 */
static uint64_t call_end(uint64_t now_ms, uint64_t deadline_ms)
{
    uint64_t limit = earlier(later(deadline_ms, now_ms) - now_ms, CLAIM_CALL_MS);
    if (limit < CLAIM_REPEAT_MS) {
        return now_ms + CLAIM_CALL_MS; /* the deadline is too near to reserve time for the reply */
    }
    return now_ms + limit - earlier(limit / 4u, CLAIM_REPLY_MS);
}

enum grpc_status calls_start(struct agent *a, struct grpc_server *server,
                             const struct grpc_event *event, bool unprepare, const char **text)
{
    struct call call = {.state = CALL_RUNNING,
                        .unprepare = unprepare,
                        .server = server,
                        .id = event->call,
                        .start_ms = a->now_ms,
                        .start_us = agent_clock_us(a),
                        .end_ms = call_end(a->now_ms, event->deadline_ms)};
    int at = free_call(a);
    if (at < 0) {
        *text = "too many calls are running; try again";
        call_log(a, &call, *text);
        call_measure(a, &call, RESULT_ERROR);
        return GRPC_RESOURCE_EXHAUSTED;
    }
    struct call *c = &a->calls->call[at];
    *c = call;
    enum grpc_status code = read_claims(a, (unsigned)at, event->message, text);
    if (code != GRPC_OK) {
        call_log(a, c, *text);
        call_measure(a, c, RESULT_ERROR);
        calls_release(a, (unsigned)at);
    }
    return code;
}
