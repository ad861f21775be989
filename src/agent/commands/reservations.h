/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the claims of the whole cluster that are in use, or for which a pod waits (reservations.c),
 * for the command `reservations`: the claims that the API server lists as reserved, with devices of
 * this driver. The host calls reservations_step instead of agent_step, in a process that serves no
 * kubelet. Owns nothing: the caller owns struct reservations.
 *
 * Invariants:
 * I1 RESERVATIONS_END is returned only after a list that the API server answered completely, and in
 *    which every claim was readable.
 * I2 No claim is reported twice: a list that fails after a report is not read again.
 */
#ifndef AGENT_COMMANDS_RESERVATIONS_H
#define AGENT_COMMANDS_RESERVATIONS_H

#include "agent/agent.h"
#include "dra/claim.h"

/* The results of reservations_step. */
enum reservations_state {
    /*
     * call reservations_step again when bytes have arrived, or at the time of reservations_deadline
     */
    RESERVATIONS_WAIT,
    RESERVATIONS_CLAIM, /* `claim` is a reserved claim; call reservations_step again at once */
    RESERVATIONS_END,   /* all reserved claims were reported */
    RESERVATIONS_FAILED /* reading the list failed; reservations_trouble has the reason */
};

/* The progress of reading the list of claims. */
struct reservations {
    enum reservations_state state;
    bool running;    /* the request for a page of the list is in flight */
    bool described;  /* the metadata of the list has arrived */
    bool broken;     /* a part of the current page of the list was unreadable */
    bool ours;       /* the current claim has devices of this driver */
    uint64_t due_ms; /* earliest time of the request for the next page of the list */
    uint64_t backoff_ms;
    uint32_t found; /* number of reserved claims that were reported */
    struct claim_reservation claim;
    char token[CONTINUE_CAP]; /* token of the next page; empty: the first page is next */
    /* why the last failed request for a page failed; empty: no request has failed yet */
    char why[CLAIM_ERROR_CAP];
    /* HTTP status of the last failed request for a page; 0: the server sent no response */
    uint16_t http;
};

/* Must be called once, after agent_init. `k` must be all zero, which this function only asserts. */
void reservations_init(struct agent *a, const struct reservations *k);
/*
 * Advances the list as far as the received bytes and the time allow, up to one claim; the host then
 * executes the orders of agent_next_order, as after agent_step. Transient failures are retried
 * without a limit, so the caller must set a time limit.
 */
enum reservations_state reservations_step(struct agent *a, struct reservations *k);
/* The latest time at which reservations_step must be called again. */
uint64_t reservations_deadline(const struct agent *a, const struct reservations *k);
/* Why the list is not complete yet, or has failed. Never NULL; may contain text from the server. */
const char *reservations_trouble(const struct agent *a, const struct reservations *k);
/*
 * The remedy for the problem that reservations_trouble states, as a static text to append; empty:
 * reservations_trouble already states the remedy.
 */
const char *reservations_remedy(const struct agent *a, const struct reservations *k);

#endif
