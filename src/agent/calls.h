/* SPDX-License-Identifier: Apache-2.0 */
/* What calls.c and replies.c share: the answer of a call. Internal to src/agent. */
#ifndef AGENT_CALLS_H
#define AGENT_CALLS_H

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

/*
 * Sends as much of the answer of a complete call as there is room for. true: all is out or its peer
 * is gone, and the call is over.
 */
bool call_reply(struct agent *a, unsigned index);

#endif
