/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agent of the node owns the claim store (handover.c). In a rolling update two run at a time:
 * the owner serves claims and publishes, and gives the store to the other one as soon as the
 * kubelet knows that one. Owns struct handover and the two locks of agent/files.h. Internal to
 * src/agent.
 *
 * Invariants:
 * I1 An agent that does not own the store reads and writes nothing of it, and writes no slice.
 * I2 An agent that gave the store away asks for it again only for a call of the kubelet; it takes
 *    it when nobody else has it.
 * I3 A call that came before the owner began to leave ends there, or fails so that it is repeated.
 */
#ifndef AGENT_LEDGER_HANDOVER_H
#define AGENT_LEDGER_HANDOVER_H

#include "agent/agent.h"

/* Where this agent stands. */
struct handover {
    bool wanted;         /* the kubelet sends its calls to this agent */
    bool called;         /* a call waits that came after `leaving_ms` */
    bool next;           /* LOCK_NEXT is ours */
    bool owned;          /* the store was ours once */
    bool locked;         /* LOCK_OWNER is ours */
    bool older;          /* the owner is an agent of a release that hands nothing over */
    bool leaving;        /* another agent is next: no new call begins */
    unsigned looks;      /* since the lock file was last looked at, see HANDOVER_LOCK_LOOKS */
    uint64_t leaving_ms; /* since when, if at all */
    uint64_t check_ms;   /* when the owner looks next whether another agent is next */
};

/*
 * Takes the store if nobody has it. HOST_BUSY: another agent has it; HOST_*: it cannot be locked.
 */
MUST_USE enum status handover_take(struct agent *a);
/* `called`: a call waits that came after `leaving_ms`. Before handover_take. */
void handover_called(struct agent *a, bool called);
/* `wanted`: the kubelet knows this agent, and the node was looked at. */
void handover_step(struct agent *a, bool wanted);
/* Whether the owner must retire now; `running`: a call runs that came before `leaving_ms`. */
MUST_USE bool handover_ends(const struct agent *a, bool running);
uint64_t handover_deadline(const struct agent *a);
/* The store is given up. */
void handover_retire(struct agent *a);

#endif
