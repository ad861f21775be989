/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /statusz (statusz.c): versions of agent, kubelet and API, the verdict on each device's
 * health (dra/verdict.h), and troubles that do not affect readiness. Owns no state; reads the state
 * of the other folders of src/agent. Internal to src/agent.
 */
#ifndef AGENT_SERVE_STATUSZ_H
#define AGENT_SERVE_STATUSZ_H

#include "base/bytes.h"

struct agent;

/*
 * Appends line number `index` (from 0) of the page without a newline; false: the page has fewer
 * lines.
 */
bool statusz_line(const struct agent *a, unsigned index, struct writer *out);

#endif
