/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /statusz (statusz.c): versions of what the agent works with, and troubles that leave it
 * ready. Owns no state; reads what the other rooms know. Internal to src/agent.
 */
#ifndef AGENT_SERVE_STATUSZ_H
#define AGENT_SERVE_STATUSZ_H

#include "base/bytes.h"

struct agent;

/* Before each line about a trouble; the command `check` repeats what follows. */
#define STATUSZ_TROUBLE "trouble: "

/* Appends line `index` (from 0) without its end; false: there is none. */
bool statusz_line(const struct agent *a, unsigned index, struct writer *out);

#endif
