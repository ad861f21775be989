/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readiness (readiness.c): whether pods that ask for devices of this node get them. Owns no state;
 * reads the state of the other folders of src/agent. Internal to src/agent.
 *
 * Ready means: the kubelet has registered the driver, the stored slices have the wanted content,
 * the last writes to the claim store and the CDI root succeeded, no device plugin or other driver
 * gives out the same devices, and the agent is not stopping.
 */
#ifndef AGENT_SERVE_READINESS_H
#define AGENT_SERVE_READINESS_H

#include "base/bytes.h"

struct agent;

/* Whether the agent is ready. */
bool agent_ready(const struct agent *a);
/*
 * Appends reason number `index` (from 0) against readiness as one line; false: there are fewer
 * reasons.
 */
bool ready_reason(const struct agent *a, unsigned index, struct writer *out);

#endif
