/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of the whole cluster that are held or awaited (reservations.c), for the command
 * `reservations`: those that the API server lists as allocated by this driver and reserved. The
 * host steps this instead of the agent, in a process that serves no kubelet. Owns nothing: struct
 * reservations is the caller's.
 *
 * Invariants:
 * I1 RESERVATIONS_END comes only after a list that the API server answered completely, and of which
 *    every claim was understood.
 * I2 No claim is reported twice: a list that fails after a report is not read again.
 */
#ifndef AGENT_COMMANDS_RESERVATIONS_H
#define AGENT_COMMANDS_RESERVATIONS_H

#include "agent/agent.h"
#include "dra/claim.h"

/* The result of a step. */
enum reservations_state {
    RESERVATIONS_WAIT,  /* wait for bytes or time */
    RESERVATIONS_CLAIM, /* `claim` is a reserved one; step again at once */
    RESERVATIONS_END,   /* there are no more */
    RESERVATIONS_FAILED /* the answer is unknown; see reservations_trouble */
};

/* The state of reading the list. */
struct reservations {
    enum reservations_state state;
    bool running;    /* a page is in flight */
    bool described;  /* the page's own metadata was received */
    bool broken;     /* a part of the page was unreadable */
    bool ours;       /* the current claim has devices of this driver */
    uint64_t due_ms; /* earliest time for the next page */
    uint64_t backoff_ms;
    uint32_t found; /* number of claims reported */
    struct claim_reservation claim;
    char token[CONTINUE_CAP];  /* token of the next page; empty: the first one */
    char why[CLAIM_ERROR_CAP]; /* why the last page failed; empty: it did not */
};

/* Call once, after agent_init; `k` must be all zero, and is used for nothing else. */
void reservations_init(struct agent *a, const struct reservations *k);
/*
 * Does what bytes and time allow, up to one claim; execute orders afterwards, as after agent_step.
 * Transient failures are retried forever: the caller sets the limit.
 */
enum reservations_state reservations_step(struct agent *a, struct reservations *k);
/* The latest time for the next step. */
uint64_t reservations_deadline(const struct agent *a, const struct reservations *k);
/* Why the list is not complete, or will never be. Never NULL; may contain text of the server. */
const char *reservations_trouble(const struct agent *a, const struct reservations *k);

#endif
