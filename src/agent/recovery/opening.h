/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the claim store as part of a step (opening.c), and adopts claims that have only a CDI file.
 * Owns no state. Internal to src/agent.
 */
#ifndef AGENT_RECOVERY_OPENING_H
#define AGENT_RECOVERY_OPENING_H

struct agent;

/* Opens the store when that is due, compares it with the CDI root, and flushes pending changes. */
void opening_step(struct agent *a);

#endif
