/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes in the background, see outgoing.h: bodies as far as there is room, and what an answer
 * means for the next request. Owns no table.
 */
#include "agent/api/outgoing.h"

#include "agent/api/retry.h"
#include "agent/state.h"
#include "base/assert.h"

bool outgoing_ready(const struct agent *a, const struct outgoing *o)
{
    return !o->running && api_ready(a) && a->now_ms >= o->due_ms;
}

uint64_t outgoing_deadline(const struct agent *a, const struct outgoing *o)
{
    return (!o->running && api_ready(a)) ? o->due_ms : UINT64_MAX;
}

bool outgoing_sends(const struct outgoing *o)
{
    ASSERT(o->sent <= o->len);
    return o->running && o->sent < o->len;
}

void outgoing_stop(struct agent *a, struct outgoing *o, unsigned index)
{
    ASSERT(o->running);
    o->running = false;
    api_cancel(a, index);
}

void outgoing_push(struct agent *a, struct outgoing *o, unsigned index, struct view body)
{
    uint32_t stream = a->api.request[index].stream;
    ASSERT(o->running);
    if (body.len != o->len) {
        outgoing_stop(a, o, index);
        return;
    }
    while (o->sent < body.len) {
        struct view rest = view_from(body, o->sent);
        struct view piece = view_first(rest, h2_data_room(&a->api.h2, stream));
        bool stays = piece.len > 0u &&
                     h2_data(&a->api.h2, stream, piece, piece.len == rest.len) == STATUS_OK;
        if (!stays) {
            return; /* no room now; or the stream is gone, and its RESET event ends the request */
        }
        o->sent += (uint32_t)piece.len;
    }
}

bool outgoing_begin(struct agent *a, struct outgoing *o, unsigned index, struct kube_request *head,
                    struct view body)
{
    enum request_kind kind = (index == REQUEST_RECORDER) ? REQUEST_EVENT : REQUEST_CLAIM_STATUS;
    ASSERT(outgoing_ready(a, o) && body.len > 0u);
    head->has_body = true;
    head->body_len = body.len;
    if (api_send(a, index, kind, KUBE_SHAPE_STATUS, head) != STATUS_OK) {
        o->due_ms = api_later(a);
        return false;
    }
    o->running = true;
    o->len = (uint32_t)body.len;
    o->sent = 0;
    outgoing_push(a, o, index, body);
    return true;
}

/* Nothing can be created any more in a namespace that is on its way out: no matter of rights. */
static bool namespace_ends(const struct request *r)
{
    return view_ends(view_text(r->message), "because it is being terminated");
}

static enum outcome refusal(const struct request *r)
{
    uint16_t http = r->answer.http_status;
    switch (http) {
    case 403:
        return namespace_ends(r) ? OUTCOME_MOOT : OUTCOME_DENIED;
    case 404:
    case 409:
        return OUTCOME_MOOT;
    case 401:
    case 429:
        return OUTCOME_LATER;
    default:
        return (http < 400u || http >= 500u) ? OUTCOME_LATER : OUTCOME_REJECTED;
    }
}

static enum outcome outcome_of(const struct request *r, enum status status)
{
    uint16_t http = r->answer.http_status;
    if (http >= HTTP_OK && http <= HTTP_OK_LAST) {
        return OUTCOME_DONE; /* even when the rest of the answer never came */
    }
    if (status == PEER_UNSUPPORTED) {
        /* the version of resource.k8s.io is chosen anew; of events.k8s.io there is but one */
        return (r->kind == REQUEST_EVENT) ? OUTCOME_DENIED : OUTCOME_LATER;
    }
    return refusal(r);
}

/* How long until the writer's next request. */
static uint64_t wait_after(struct agent *a, struct outgoing *o, const struct request *r,
                           enum outcome outcome)
{
    uint64_t wait = OUTGOING_GAP_MS;
    if (outcome == OUTCOME_DENIED) {
        wait = agent_jitter(a, OUTGOING_DENIED_MS);
    } else if (outcome == OUTCOME_LATER) {
        wait = retry_wait(a, r, &o->backoff_ms);
    } else {
        o->backoff_ms = 0;
    }
    return wait;
}

static void say_refusal(struct agent *a, struct outgoing *o, const struct request *r,
                        enum log_id event)
{
    if (o->said == r->answer.http_status) {
        return;
    }
    o->said = r->answer.http_status;
    log_begin(a, event);
    log_number(a, "http", r->answer.http_status);
    log_text(a, "reason", r->reason);
    log_text(a, "message", r->message);
    log_end(a);
}

enum outcome outgoing_end(struct agent *a, struct outgoing *o, unsigned index, enum status status,
                          enum log_id event)
{
    const struct request *r = &a->api.request[index];
    enum outcome outcome = outcome_of(r, status);
    ASSERT(o->running);
    o->running = false;
    o->due_ms = a->now_ms + wait_after(a, o, r, outcome);
    if (outcome == OUTCOME_DONE) {
        o->said = 0;
    }
    if (outcome == OUTCOME_DENIED || outcome == OUTCOME_REJECTED) {
        say_refusal(a, o, r, event);
    }
    return outcome;
}
