/* SPDX-License-Identifier: Apache-2.0 */
/* What calls.c and replies.c share: the life of a call and its answer. Internal to src/agent. */
#ifndef AGENT_CALLS_H
#define AGENT_CALLS_H

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

/* Frees a call and its operations; fetches that still run are cancelled. */
void call_release(struct agent *a, unsigned index);
/*
 * Sends as much of the answer of a complete call as there is room for; releases the call when all
 * is out or its peer is gone.
 */
void call_reply(struct agent *a, unsigned index);

#endif
