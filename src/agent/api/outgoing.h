/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes in the background (outgoing.c): one request at a time on one entry of the API client, its
 * body built whole, and the waits between them. Owns struct outgoing, one for each writer (Events,
 * claim status); decides nothing about what is written. Internal to src/agent.
 */
#ifndef AGENT_API_OUTGOING_H
#define AGENT_API_OUTGOING_H

#include "agent/api/api.h"
#include "agent/report/log_catalogue.h"

/* What came of a write. */
enum outcome {
    OUTCOME_DONE,    /* stored */
    OUTCOME_MOOT,    /*
                       * 404, 409: the object is not there, or is another one, or was there before;
                       * also 403 when its namespace is being terminated
                       */
    OUTCOME_LATER,   /* the server or the path failed; a wait has begun */
    OUTCOME_DENIED,  /* 403, or not served: a long wait has begun */
    OUTCOME_REJECTED /* the server does not want it, now or later */
};

/* One writer. */
struct outgoing {
    bool running;    /* its request is in flight */
    uint16_t said;   /* HTTP status of the refusal that was logged; 0: none since a success */
    uint32_t len;    /* bytes of its body */
    uint32_t sent;   /* of them, bytes that are out */
    uint64_t due_ms; /* no request before this time */
    uint64_t backoff_ms;
};

/* Whether the writer's next request may begin now. */
bool outgoing_ready(const struct agent *a, const struct outgoing *o);
/* When outgoing_ready may become true; UINT64_MAX: not by time. */
uint64_t outgoing_deadline(const struct agent *a, const struct outgoing *o);
/*
 * Begins a request on entry `index` with a body that outgoing_push sends; `head` lacks body_len.
 * False: not now, it is asked for again.
 */
bool outgoing_begin(struct agent *a, struct outgoing *o, unsigned index, struct kube_request *head,
                    struct view body);
/* Whether outgoing_push has something left to send. */
bool outgoing_sends(const struct outgoing *o);
/*
 * Sends what there is room for of the running request's body, which is handed in whole. A body of
 * another length is not the one that was begun: the request is ended, and may begin anew.
 */
void outgoing_push(struct agent *a, struct outgoing *o, unsigned index, struct view body);
/* Ends the running request on entry `index` without an answer. */
void outgoing_stop(struct agent *a, struct outgoing *o, unsigned index);
/*
 * The request on entry `index` ended with `status`: what that means, and the wait that follows. A
 * refusal is logged as `event`, once for each HTTP status.
 */
enum outcome outgoing_end(struct agent *a, struct outgoing *o, unsigned index, enum status status,
                          enum log_id event);

#endif
