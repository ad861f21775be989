/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim store's part of a step (opening.c): opens it, and adds what its records lack from the
 * CDI root. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_RECOVERY_OPENING_H
#define AGENT_RECOVERY_OPENING_H

struct agent;

/* Opens the store when that is due, compares it with the CDI root, and flushes pending changes. */
void opening_step(struct agent *a);

#endif
