/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug line about a call of the kubelet that has ended, and the duration of that call
 * (call_log.c). Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_CALL_LOG_H
#define AGENT_CALLS_CALL_LOG_H

#include "agent/calls/calls.h"
#include "agent/report/durations.h"

/*
 * Logs the end of a call: its method, claims, result and duration. Must be called before the call's
 * operations are released. `text`: why the call failed as a whole; NULL: the call was answered.
 * Does nothing without --log-level=debug.
 */
void call_log(struct agent *a, const struct call *c, const char *text);
/* Records the duration of a call that is ending now. */
void call_measure(struct agent *a, const struct call *c, enum duration_result result);

#endif
