/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agent of the node owns the claim store (handover.c). In a rolling update two run at a time:
 * the owner serves claims and publishes, and hands the store over as soon as the kubelet has
 * registered the other one. Owns struct handover and the two locks of agent/files.h. Internal to
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

/* Where this agent stands with the two locks; handover_states.h lists the legal moves. */
enum handover_state {
    HANDOVER_WAITING,   /* it never had the store, and holds no lock */
    HANDOVER_NEXT,      /* it never had the store, and holds LOCK_NEXT */
    HANDOVER_OWNER,     /* it holds LOCK_OWNER */
    HANDOVER_LEAVING,   /* it holds LOCK_OWNER, and another agent is next: new calls wait */
    HANDOVER_RETIRED,   /* it gave the store away, or lost it, and holds no lock */
    HANDOVER_RETURNING, /* it gave the store away, or lost it, and holds LOCK_NEXT */
    HANDOVER_STATES
};

/* The state, and facts that are independent of it. */
struct handover {
    enum handover_state state;
    bool wanted;    /* the kubelet sends its calls to this agent */
    bool called;    /* a call waits that came after `leaving_ms` */
    bool older;     /* the owner is an agent of a release that hands nothing over */
    unsigned looks; /* checks since the lock file itself was checked, see HANDOVER_LOCK_LOOKS */
    uint64_t leaving_ms; /* when the owner last checked for a next agent, or found one */
    uint64_t check_ms;   /* when the owner checks again for a next agent */
};

/* Moves the state; ASSERTs that the move is legal. */
void handover_move(struct handover *h, enum handover_state to);
/* Whether this agent holds LOCK_OWNER: no other agent changes the store. */
bool handover_owns(const struct agent *a);
/* When the owner last checked for a next agent, or found one. */
uint64_t handover_leaving_ms(const struct agent *a);
/* Whether the owner is an agent of a release that hands nothing over. */
bool handover_is_older(const struct agent *a);
/* Whether a call that came at `start_ms` has to wait, because the store is being handed over. */
bool handover_defers(const struct agent *a, uint64_t start_ms);
/*
 * Takes the store if nobody has it. HOST_BUSY: another agent has it; HOST_*: it cannot be locked.
 */
MUST_USE enum status handover_take(struct agent *a);
/* `called`: a call that came after `leaving_ms` waits. The frame calls it before handover_take. */
void handover_called(struct agent *a, bool called);
/* `wanted`: the kubelet knows this agent, and the node was looked at. */
void handover_step(struct agent *a, bool wanted);
/* Whether the owner must retire now; `running`: a call runs that came before `leaving_ms`. */
MUST_USE bool handover_ends(const struct agent *a, bool running);
uint64_t handover_deadline(const struct agent *a);
/* Releases LOCK_OWNER; the caller has closed the store. */
void handover_retire(struct agent *a);

#endif
