/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of the whole cluster that somebody holds, or waits to use (reservations.c), for the
 * command `reservations`: what the API server lists as allocated by this driver and reserved. The
 * host steps this in place of the agent, in a process that serves no kubelet. Owns nothing: struct
 * reservations is the caller's.
 *
 * Invariants:
 * I1 RESERVATIONS_END comes only after a list that the API server answered whole, and of which
 *    every claim was understood.
 * I2 No claim is reported twice: a list that breaks off after one was reported is not read again.
 */
#ifndef AGENT_COMMANDS_RESERVATIONS_H
#define AGENT_COMMANDS_RESERVATIONS_H

#include "agent/agent.h"
#include "dra/claim.h"

/* What a step has come to. */
enum reservations_state {
    RESERVATIONS_WAIT,  /* for bytes or time */
    RESERVATIONS_CLAIM, /* `claim` is one that is reserved; step again at once */
    RESERVATIONS_END,   /* there are no more */
    RESERVATIONS_FAILED /* it cannot be told; see reservations_trouble */
};

/* The list while it is read. */
struct reservations {
    enum reservations_state state;
    bool running;    /* a page is in flight */
    bool described;  /* the page's own metadata came */
    bool broken;     /* something of the page could not be read */
    bool ours;       /* the claim that is being read has devices of this driver */
    uint64_t due_ms; /* no page is asked for before */
    uint64_t backoff_ms;
    uint32_t found; /* claims that were reported */
    struct claim_reservation claim;
    char token[CONTINUE_CAP];  /* of the next page; empty: the first one */
    char why[CLAIM_ERROR_CAP]; /* why the last page failed; empty: none did */
};

/* Once, after agent_init; `k` is all zero before, and has no other duty. */
void reservations_init(struct agent *a, const struct reservations *k);
/*
 * Does what bytes and time allow, up to one claim; after it orders are carried out as after
 * agent_step. What passes by itself is tried again for ever: the caller sets the limit.
 */
enum reservations_state reservations_step(struct agent *a, struct reservations *k);
/* When it must be stepped at the latest. */
uint64_t reservations_deadline(const struct agent *a, const struct reservations *k);
/* Why there is no end yet, or none will come. Never NULL; server's text may be in it. */
const char *reservations_trouble(const struct agent *a, const struct reservations *k);

#endif
