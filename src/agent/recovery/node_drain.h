/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains the node when the label DRAIN_KEY of its Node asks for that, so that an operator can
 * unload the kernel module without a pod that loses its devices (node_drain.c). Owns struct
 * node_drain, which only the first driver uses. Internal to src/agent.
 *
 * Rules:
 * D1 While the node drains, its devices are tainted or left out (agent/node/device_states.h).
 *    Prepared claims stay, and a claim that was allocated before is still prepared.
 * D2 The node is drained once all drivers know their claims, hold none, and have published the
 *    drain, for DRAIN_SETTLE_MS without a break.
 * D3 From then on no claim is prepared until the drain ends. The file DRAINED_FILE in the CDI root
 *    exists during that time: a pod on the node waits for it.
 * D4 An agent that starts finds the file of the process before it: it skips the time of rule D2.
 * D5 The file is removed when the drain ends, and when an agent starts on a node without a drain.
 */
#ifndef AGENT_RECOVERY_NODE_DRAIN_H
#define AGENT_RECOVERY_NODE_DRAIN_H

#include "agent/agent.h"
#include "base/bytes.h"

/* Name of the file in the CDI root that exists while the node is drained. */
#define DRAINED_FILE "neuron.aws.com-drained"

/* What the Node asks for. */
enum drain_state { DRAIN_UNKNOWN, DRAIN_OFF, DRAIN_ON };

/* The drain of the node. */
struct node_drain {
    enum drain_state state; /* what the Node asked for at the last step; UNKNOWN: it was not read */
    bool found;             /* DRAINED_FILE existed when the drain began (rule D4) */
    uint64_t quiet_ms;      /* since when the conditions of rule D2 hold */
};

/* Follows the label of the Node; finds out when the node is drained, and logs that. */
void node_drain_step(struct agent *a);
uint64_t node_drain_deadline(const struct agent *a);
/*
 * Writes line `index` of /statusz about the drain: its progress, then one line for each claim that
 * is held. false: there is no such line.
 */
bool node_drain_line(const struct agent *a, unsigned index, struct writer *out);
/*
 * Called when a probe adopted in `a` shows that the kernel module was unloaded or reloaded: if
 * claims of this driver are held, logs that with the names of the first LOST_CLAIMS_NAMED claims.
 */
void node_drain_module_lost(struct agent *a);

#endif
