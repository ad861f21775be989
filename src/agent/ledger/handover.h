/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agent of the node owns the claim store (handover.c). In a rolling update two agents run at
 * the same time: the owner of the store serves claims and publishes slices, and hands the store
 * over to the other agent as soon as the kubelet has registered it. Owns struct handover and the
 * two locks of agent/files.h. Internal to src/agent.
 *
 * Invariants:
 * I1 An agent that does not own the store neither reads nor writes it, and writes no slice.
 * I2 An agent that handed the store over asks for it again only while a kubelet call waits. Without
 *    asking, it takes the store as soon as no other agent owns the store or waits for it.
 * I3 The owner answers each call that arrived before it entered HANDOVER_LEAVING, or fails the
 *    call, so that the kubelet repeats it.
 */
#ifndef AGENT_LEDGER_HANDOVER_H
#define AGENT_LEDGER_HANDOVER_H

#include "agent/agent.h"

/*
 * Which lock this agent holds, and whether it owned the store before; handover_states.h lists the
 * legal moves.
 */
enum handover_state {
    HANDOVER_WAITING,   /* this agent never owned the store, and holds no lock */
    HANDOVER_NEXT,      /* this agent never owned the store, and holds LOCK_NEXT */
    HANDOVER_OWNER,     /* this agent holds LOCK_OWNER */
    HANDOVER_LEAVING,   /* this agent holds LOCK_OWNER, but new calls wait for the next owner */
    HANDOVER_RETIRED,   /* this agent handed over or lost the store, and holds no lock */
    HANDOVER_RETURNING, /* this agent handed over or lost the store, and holds LOCK_NEXT */
    HANDOVER_STATES
};

/* The state of the handover, and facts that do not depend on that state. */
struct handover {
    enum handover_state state;
    bool wanted; /* this agent can serve claims: value of `wanted` in the last handover_step */
    bool called; /* a kubelet call that arrived after `leaving_ms` is waiting */
    bool older;  /* the owner of the store runs an agent version that cannot hand the store over */
    unsigned looks;      /* number of checks whether an agent waits, modulo HANDOVER_LOCK_LOOKS */
    uint64_t leaving_ms; /* when the owner last checked whether another agent waits for the store */
    uint64_t check_ms;   /* when the owner next checks whether an agent waits for the store */
};

/* Moves the handover to the state `to`; ASSERTs that the move is legal. */
void handover_move(struct handover *h, enum handover_state to);
/* Whether this agent holds LOCK_OWNER, so that no other agent changes the store. */
bool handover_owns(const struct agent *a);
/* When the owner last checked whether another agent waits for the store. */
uint64_t handover_leaving_ms(const struct agent *a);
/* Whether the store's owner runs an agent version that cannot hand the store over. */
bool handover_is_older(const struct agent *a);
/* Whether a call that arrived at `start_ms` must wait, because the store is being handed over. */
bool handover_defers(const struct agent *a, uint64_t start_ms);
/*
 * Locks LOCK_OWNER, so that this agent owns the store. HOST_BUSY: another agent owns the store or
 * is waiting for it; this agent may then have asked for the store by locking LOCK_NEXT. Other
 * HOST_*: the lock file cannot be locked.
 */
MUST_USE enum status handover_acquire(struct agent *a);
/*
 * Records whether a call that arrived after `leaving_ms` is waiting (`called`). Call this before
 * handover_acquire, which uses the value.
 */
void handover_called(struct agent *a, bool called);
/*
 * Checks, when a check is due, whether another agent waits for the store. `wanted`: the kubelet has
 * registered this agent, the devices of the node are known, and the agent is not stopping.
 */
void handover_step(struct agent *a, bool wanted);
/*
 * Whether the owner must now hand the store over to the agent that waits for it. `running`: a call
 * that arrived before `leaving_ms` is still running. The owner waits for such calls, but no longer
 * than HANDOVER_MS after `leaving_ms`.
 */
MUST_USE bool handover_ends(const struct agent *a, bool running);
uint64_t handover_deadline(const struct agent *a);
/* Releases LOCK_OWNER; the caller has closed the store. */
void handover_retire(struct agent *a);

#endif
