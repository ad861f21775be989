/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons for a call to wait beside its own claims (call_waits.c): the claim store and, for an
 * unprepare, a stream of the kubelet's connection, which hanging prepares give up. A prepare hangs
 * once it could have been answered for PREPARE_STALL_MS. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALL_WAITS_H
#define AGENT_CALLS_CALL_WAITS_H

#include "agent/agent.h"

struct call;

/*
 * Whether another agent has the store, or gets it once earlier calls have ended, or the next step
 * recreates it. While the disk refuses the lock, another agent may have the store and keep holding
 * the claim: an unprepare then waits for a later try, for a limited time.
 */
bool call_waits_for_store(const struct agent *a, const struct call *c);
/* Whether a prepare gives up its stream: PREPARES_STALLED_MAX prepares before it hang. */
bool call_yields(const struct agent *a, const struct call *c);
/* The latest time for the next call_yields; UINT64_MAX: no timer runs. */
uint64_t call_yield_deadline(const struct agent *a, const struct call *c);

#endif
