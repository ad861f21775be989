/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which prepares give their streams up so that unprepares find one (places.c). A prepare hangs once
 * it could have been answered for PREPARE_STALL_MS. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIMS_PLACES_H
#define AGENT_CLAIMS_PLACES_H

#include "agent/agent.h"

struct call;

/* Whether a prepare gives its place up: PREPARES_STALLED_MAX that came before it hang. */
bool places_yields(const struct agent *a, const struct call *c);
/* When places_yields has to be asked again, not in the past; UINT64_MAX: not by time. */
uint64_t places_deadline(const struct agent *a, const struct call *c);

#endif
