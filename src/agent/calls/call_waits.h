/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a call waits or ends early, for reasons that do not depend on its claims
 * (call_waits.c). A call waits while the claim store is not available. A prepare ends early if too
 * many earlier prepares of its connection hang, so that the kubelet's connection has free streams
 * for unprepares. A prepare counts as hanging if it has no answer PREPARE_STALL_MS after the API
 * server could be asked. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALL_WAITS_H
#define AGENT_CALLS_CALL_WAITS_H

#include "agent/agent.h"

struct call;

/*
 * Whether the call waits for the store:
 * - any call, while another agent owns the store;
 * - a call that arrived after a handover to another agent began, until the handover has ended;
 * - a prepare, if the store was removed and the next step recreates it;
 * - an unprepare, at most STORE_WAIT_MS, while this agent has not locked the store, because another
 *   agent may own the store and hold the claim.
 */
bool call_waits_for_store(const struct agent *a, const struct call *c);
/*
 * Whether a prepare must end and free its stream, because PREPARES_STALLED_MAX earlier prepares of
 * the same connection hang.
 */
bool call_yields(const struct agent *a, const struct call *c);
/* The latest time at which call_yields must be called again; UINT64_MAX: there is no such time. */
uint64_t call_yield_deadline(const struct agent *a, const struct call *c);

#endif
