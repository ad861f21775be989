/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agent of the node owns the claim store (handover.c). In a rolling update two agents run at
 * a time: the owner serves claims and publishes slices, and hands the store over as soon as the
 * kubelet has registered the other agent. Owns struct handover and the two locks of agent/files.h.
 * Internal to src/agent.
 *
 * Invariants:
 * I1 An agent that does not own the store neither reads nor writes it, and writes no slice.
 * I2 An agent that gave the store away asks for it again only while a call of the kubelet waits;
 *    without asking, it takes the store once no other agent owns or awaits it.
 * I3 A call that came before the owner entered HANDOVER_LEAVING is answered by this owner, or
 *    fails, so that the kubelet repeats it.
 */
#ifndef AGENT_LEDGER_HANDOVER_H
#define AGENT_LEDGER_HANDOVER_H

#include "agent/agent.h"

/*
 * Which lock this agent holds, and whether it owned the store before; handover_states.h lists the
 * legal moves.
 */
enum handover_state {
    HANDOVER_WAITING,   /* it never had the store, and holds no lock */
    HANDOVER_NEXT,      /* it never had the store, and holds LOCK_NEXT */
    HANDOVER_OWNER,     /* it holds LOCK_OWNER */
    HANDOVER_LEAVING,   /* it holds LOCK_OWNER, and another agent is next: new calls wait */
    HANDOVER_RETIRED,   /* it gave the store away, or lost it, and holds no lock */
    HANDOVER_RETURNING, /* it gave the store away, or lost it, and holds LOCK_NEXT */
    HANDOVER_STATES
};

/* The state of the handover, and facts that do not depend on that state. */
struct handover {
    enum handover_state state;
    bool wanted;         /* the kubelet sends its calls to this agent */
    bool called;         /* a call that arrived after `leaving_ms` is waiting */
    bool older;          /* the owner runs a release that cannot hand the store over */
    unsigned looks;      /* checks for a next agent, counted from 0 to HANDOVER_LOCK_LOOKS - 1 */
    uint64_t leaving_ms; /* when the owner last checked for a next agent, or found one */
    uint64_t check_ms;   /* when the owner checks again for a next agent */
};

/* Moves the handover to the state `to`; ASSERTs that the move is legal. */
void handover_move(struct handover *h, enum handover_state to);
/* Whether this agent holds LOCK_OWNER: no other agent changes the store. */
bool handover_owns(const struct agent *a);
/* When the owner last checked for a next agent, or found one. */
uint64_t handover_leaving_ms(const struct agent *a);
/* Whether the owner runs a release that cannot hand the store over. */
bool handover_is_older(const struct agent *a);
/* Whether a call that came at `start_ms` has to wait, because the store is being handed over. */
bool handover_defers(const struct agent *a, uint64_t start_ms);
/*
 * Locks LOCK_OWNER, so that this agent owns the store. HOST_BUSY: another agent owns the store or
 * becomes its next owner, and this agent may have asked for the store; other HOST_*: the lock file
 * cannot be locked.
 */
MUST_USE enum status handover_acquire(struct agent *a);
/*
 * Records whether a call that came after `leaving_ms` waits (`called`). To be called before
 * handover_acquire, which uses this fact.
 */
void handover_called(struct agent *a, bool called);
/*
 * Checks for a next agent when that is due. `wanted`: the kubelet has registered this agent, and
 * the devices of the node are known.
 */
void handover_step(struct agent *a, bool wanted);
/*
 * Whether the owner must give the store up now, because another agent becomes the next owner, and
 * - no call that came before `leaving_ms` is `running` any more, or
 * - HANDOVER_MS have passed since `leaving_ms`.
 */
MUST_USE bool handover_ends(const struct agent *a, bool running);
uint64_t handover_deadline(const struct agent *a);
/* Releases LOCK_OWNER; the caller has closed the store. */
void handover_retire(struct agent *a);

#endif
