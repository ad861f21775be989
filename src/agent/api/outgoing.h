/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background writes (outgoing.c). Each writer has one slot of the client, sends one request at a
 * time, and waits between requests. For each piece that is sent, the writer builds the whole body
 * again. Owns struct outgoing, one for each writer (Events, claim status). Does not decide what is
 * written, and logs nothing.
 */
#ifndef AGENT_API_OUTGOING_H
#define AGENT_API_OUTGOING_H

#include "agent/api/client.h"

/* The outcome of a request that writes an object. */
enum outcome {
    OUTCOME_DONE, /* the server stored the object */
    /*
     * 404 or 409: the object is absent, was replaced, or exists already; also 403 when its
     * namespace is being terminated
     */
    OUTCOME_IGNORED,
    /* the server or the connection failed; a wait before the next request has begun */
    OUTCOME_LATER,
    /* 403, or the server does not serve the API: a long wait before the next request has begun */
    OUTCOME_DENIED,
    OUTCOME_REJECTED, /* the server will never accept this body */
    OUTCOME_CHANGED   /* the body changed during sending: the request may start again at once */
};

/* State of one writer of background requests. */
struct outgoing {
    bool running;    /* a request of this writer is in flight */
    uint32_t len;    /* length of the running request's body */
    uint64_t due_ms; /* earliest start of the next request of this writer */
    uint64_t backoff_ms;
};

/* Whether the writer that owns `o` may start its next request now. */
bool outgoing_ready(const struct agent *a, const struct outgoing *o);
/* When outgoing_ready may next become true; UINT64_MAX: no timer runs. */
uint64_t outgoing_deadline(const struct agent *a, const struct outgoing *o);
/*
 * Starts a request; r->body must return pieces made by outgoing_piece. false: the request cannot
 * start now; call again later.
 */
bool outgoing_start(struct agent *a, struct outgoing *o, unsigned slot,
                    const struct api_request *r);
/*
 * Returns the piece at `offset` of `body`, which is the complete body. Returns nothing if the
 * length of the body has changed since the request started, because the content is then different.
 */
struct view outgoing_piece(const struct outgoing *o, struct view body, uint32_t offset,
                           size_t room);
/* Cancels the running request of this writer. */
void outgoing_stop(struct agent *a, struct outgoing *o, unsigned slot);
/*
 * Handles the end of the running request: returns its outcome, and starts the wait before the next
 * request.
 */
enum outcome outgoing_end(struct agent *a, struct outgoing *o, const struct api_result *r);

#endif
