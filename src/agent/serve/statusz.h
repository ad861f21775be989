/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /statusz (statusz.c): versions of agent, kubelet and API, and troubles that leave the
 * agent ready. Owns no state; reads that of the other rooms. Internal to src/agent.
 */
#ifndef AGENT_SERVE_STATUSZ_H
#define AGENT_SERVE_STATUSZ_H

#include "base/bytes.h"

struct agent;

/* Appends line `index` (from 0) without its end; false: there is none. */
bool statusz_line(const struct agent *a, unsigned index, struct writer *out);

#endif
