/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call waits for beside its own claims (call_waits.c): the claim store, and for an unprepare
 * a stream of the kubelet's connection, which prepares that hang give up. A prepare hangs once it
 * could have been answered for PREPARE_STALL_MS. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALL_WAITS_H
#define AGENT_CALLS_CALL_WAITS_H

#include "agent/agent.h"

struct call;

/*
 * Whether another agent has the store, or gets it once the calls that came before have ended, or
 * the next step makes it again. While the disk refuses the lock, another agent may have the store
 * and hold the claim on: an unprepare waits for a later try, but not for ever.
 */
bool call_waits_for_store(const struct agent *a, const struct call *c);
/* Whether a prepare gives its stream up: PREPARES_STALLED_MAX that came before it hang. */
bool call_yields(const struct agent *a, const struct call *c);
/* When call_yields has to be asked again, not in the past; UINT64_MAX: not by time. */
uint64_t call_yield_deadline(const struct agent *a, const struct call *c);

#endif
