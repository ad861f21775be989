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
 * D4 A process that starts, or gets the claim store from another one, takes the node for drained if
 *    the file exists, even before it has read the Node. If a claim is held, it removes the file.
 * D5 The file is removed when the drain ends, and when an agent starts on a node without a drain. A
 *    removal that failed is tried again. Only the process that owns the claim store does either.
 */
#ifndef AGENT_RECOVERY_NODE_DRAIN_H
#define AGENT_RECOVERY_NODE_DRAIN_H

#include "agent/agent.h"
#include "base/bytes.h"

/* Name of the file in the CDI root that exists while the node is drained. */
#define DRAINED_FILE "neuron.aws.com-drained"

/* The drain of the node. */
struct node_drain {
    bool looked;       /* DRAINED_FILE was looked for */
    bool owns;         /* the process owned the claim store at the last step */
    bool begun;        /* the conditions of rule D2 are being watched */
    bool clean;        /* DRAINED_FILE does not exist */
    bool unwritten;    /* the last attempt to write DRAINED_FILE failed */
    uint64_t quiet_ms; /* if `begun`: since when the conditions of rule D2 hold */
    uint64_t again_ms; /* unless `clean`: when DRAINED_FILE may be removed (again) */
};

/*
 * Follows the label of the Node; finds out when the node is drained, and logs that. Must run before
 * the step that answers the kubelet's calls, because node_is_drained refuses some of them.
 */
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
