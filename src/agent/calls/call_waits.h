/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons that make a call wait or end early and do not depend on its claims (call_waits.c): the
 * claim store, and the streams of the kubelet's connection, some of which hanging prepares give up
 * for unprepares. A prepare counts as hanging if it has no answer PREPARE_STALL_MS after the API
 * server could be asked. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALL_WAITS_H
#define AGENT_CALLS_CALL_WAITS_H

#include "agent/agent.h"

struct call;

/*
 * Whether the call waits for the store: another agent owns it, or gets it once earlier calls have
 * ended, or the next step recreates it. While the disk refuses the lock, another agent may own the
 * store and hold the claim: an unprepare then waits for a later try to lock it, at most
 * STORE_WAIT_MS.
 */
bool call_waits_for_store(const struct agent *a, const struct call *c);
/*
 * Whether a prepare has to end and free its stream, because PREPARES_STALLED_MAX earlier prepares
 * of the same connection hang.
 */
bool call_yields(const struct agent *a, const struct call *c);
/* When call_yields must be called again at the latest; UINT64_MAX: there is no such time. */
uint64_t call_yield_deadline(const struct agent *a, const struct call *c);

#endif
