/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports whether new claims wait for the list of claims at the API server, and why (unlisted.c).
 * rebuild.c reads that list. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_RECOVERY_UNLISTED_H
#define AGENT_RECOVERY_UNLISTED_H

#include "agent/agent.h"
#include "base/bytes.h"

/* Whether new claims must wait until all claims at the API server and all CDI files are listed. */
bool unlisted_blocks(const struct agent *a);
/* Whether new claims have to wait, and the last listing of claims or of CDI files failed. */
bool unlisted_failing(const struct agent *a);
/* Appends, as one line, why new claims have to wait. */
void unlisted_reason(const struct agent *a, struct writer *out);

#endif
