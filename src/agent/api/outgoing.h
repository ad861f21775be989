/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes in the background (outgoing.c): one request at a time in one slot of the client, the body
 * built whole for each piece of it, and the waits between requests. Owns struct outgoing, one for
 * each writer (Events, claim status); decides nothing about what is written, and logs nothing.
 */
#ifndef AGENT_API_OUTGOING_H
#define AGENT_API_OUTGOING_H

#include "agent/api/client.h"

/* What came of a write. */
enum outcome {
    OUTCOME_DONE, /* stored */
    /*
     * 404, 409: the object is not there, or is another one, or was there before; also 403 when its
     * namespace is being terminated
     */
    OUTCOME_IGNORED,
    OUTCOME_LATER,    /* the server or the path failed; a wait has begun */
    OUTCOME_DENIED,   /* 403, or not served: a long wait has begun */
    OUTCOME_REJECTED, /* the server does not want it, now or later */
    OUTCOME_CHANGED   /* the body changed while it was sent: the request may start again at once */
};

/* One writer. */
struct outgoing {
    bool running;    /* its request is in flight */
    uint32_t len;    /* bytes of its body */
    uint64_t due_ms; /* no request before this time */
    uint64_t backoff_ms;
};

/* Whether the writer's next request may start now. */
bool outgoing_ready(const struct agent *a, const struct outgoing *o);
/* When outgoing_ready may become true; UINT64_MAX: not by time. */
uint64_t outgoing_deadline(const struct agent *a, const struct outgoing *o);
/*
 * Starts a request, whose body r->body hands out by outgoing_piece. False: not now, it is asked for
 * again.
 */
bool outgoing_start(struct agent *a, struct outgoing *o, unsigned slot,
                    const struct api_request *r);
/*
 * The piece that the client asks for, of a body that was built whole. One of another length is not
 * the body that was started: empty.
 */
struct view outgoing_piece(const struct outgoing *o, struct view body, uint32_t offset,
                           size_t room);
/* Ends the running request without a response. */
void outgoing_stop(struct agent *a, struct outgoing *o, unsigned slot);
/* The running request ended: what that means, and the wait that follows. */
enum outcome outgoing_end(struct agent *a, struct outgoing *o, const struct api_result *r);

#endif
