/* SPDX-License-Identifier: Apache-2.0 */
/* Background writes, see outgoing.h. Derives from each response when the next request may start. */
#include "agent/api/outgoing.h"

#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/frame.h"
#include "base/assert.h"

bool outgoing_ready(const struct agent *a, const struct outgoing *o)
{
    return !o->running && api_ready(a) && a->now_ms >= o->due_ms;
}

uint64_t outgoing_deadline(const struct agent *a, const struct outgoing *o)
{
    return (!o->running && api_ready(a)) ? o->due_ms : UINT64_MAX;
}

void outgoing_stop(struct agent *a, struct outgoing *o, unsigned slot)
{
    ASSERT(o->running);
    o->running = false;
    api_cancel(a, slot);
}

struct view outgoing_piece(const struct outgoing *o, struct view body, uint32_t offset, size_t room)
{
    ASSERT(offset < o->len);
    if (body.len != o->len) {
        return view_of(NULL, 0);
    }
    return view_first(view_from(body, offset), room);
}

bool outgoing_start(struct agent *a, struct outgoing *o, unsigned slot, const struct api_request *r)
{
    ASSERT(outgoing_ready(a, o) && r->body != NULL && r->shape == KUBE_SHAPE_STATUS);
    o->running = true;
    o->len = (uint32_t)r->head.body_len;
    if (api_start(a, slot, r) != STATUS_OK) {
        o->running = false;
        o->due_ms = api_later(a);
    }
    return o->running;
}

/*
 * Whether a 403 says that the namespace is being terminated. If so, the agent lacks no permission:
 * the server lets no client create an object in that namespace.
 */
static bool namespace_ends(const struct api_result *r)
{
    return view_ends(view_text(r->message), "because it is being terminated");
}

static enum outcome refusal_outcome(const struct api_result *r)
{
    switch (r->http) {
    case HTTP_FORBIDDEN:
        if (r->roles_unread) {
            return OUTCOME_LATER;
        }
        return namespace_ends(r) ? OUTCOME_IGNORED : OUTCOME_DENIED;
    case HTTP_NOT_FOUND:
    case HTTP_CONFLICT:
        return OUTCOME_IGNORED;
    case HTTP_UNAUTHORIZED:
    case HTTP_TOO_MANY_REQUESTS:
        return OUTCOME_LATER;
    default:
        return (r->http < 400u || r->http >= HTTP_SERVER_ERROR_FIRST) ? OUTCOME_LATER
                                                                      : OUTCOME_REJECTED;
    }
}

static enum outcome outcome_of(const struct api_result *r)
{
    if (r->status == FULL_BUFFER) {
        return OUTCOME_CHANGED;
    }
    if (http_is_success(r->http)) {
        /* the server stored the object, even if the body of the response is incomplete */
        return OUTCOME_DONE;
    }
    if (r->status == PEER_UNSUPPORTED) {
        /*
         * a retry helps only for resource.k8s.io, because version.c then tries another version of
         * it
         */
        return (r->kind == API_WRITE_EVENT) ? OUTCOME_DENIED : OUTCOME_LATER;
    }
    return refusal_outcome(r);
}

/* The wait before the writer's next request, which depends on the outcome of the last request. */
static uint64_t wait_after(struct agent *a, struct outgoing *o, const struct api_result *r,
                           enum outcome outcome)
{
    uint64_t wait = OUTGOING_GAP_MS;
    if (outcome == OUTCOME_CHANGED) {
        wait = 0;
    } else if (outcome == OUTCOME_DENIED) {
        wait = agent_jitter(a, OUTGOING_DENIED_MS);
    } else if (outcome == OUTCOME_LATER) {
        wait = retry_wait(a, r, &o->backoff_ms);
    } else {
        o->backoff_ms = 0;
    }
    return wait;
}

enum outcome outgoing_end(struct agent *a, struct outgoing *o, const struct api_result *r)
{
    enum outcome outcome = outcome_of(r);
    ASSERT(o->running);
    o->running = false;
    o->due_ms = a->now_ms + wait_after(a, o, r, outcome);
    return outcome;
}
