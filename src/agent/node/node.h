/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Node object of this node (node.c): the UID of the Node, which owns the slices; its labels,
 * which become attributes; and the kubelet's version. Owns struct node_object; never writes to the
 * API server. Internal to src/agent.
 */
#ifndef AGENT_NODE_NODE_H
#define AGENT_NODE_NODE_H

#include "agent/api/watch.h"
#include "agent/report/refusal.h"
#include "dra/device.h"

/*
 * The facts of a Node that the agent uses. Bytes after the end of a text are zero, so that two
 * structs can be compared by memcmp.
 */
struct node_facts {
    char uid[UID_CAP]; /* UID of the Node; empty: no Node with the name of this node was read */
    char resource_version[RESOURCE_VERSION_CAP];
    /* value of the instance type label; may start with "ml."; empty: no label */
    char instance_type[ATTRIBUTE_VALUE_CAP];
    struct node_labels labels;
    char drain[ATTRIBUTE_VALUE_CAP];           /* value of the label DRAIN_KEY; empty: no label */
    char kubelet_version[KUBELET_VERSION_CAP]; /* version of the kubelet; empty: unknown */
};

/* Whether a Node with the name of this node exists. */
enum node_presence { NODE_UNKNOWN, NODE_PRESENT, NODE_ABSENT };

/* The init, step and deadline functions of this file, see frame.h. */
void node_init(struct agent *a);
void node_step(struct agent *a);
uint64_t node_deadline(const struct agent *a);
/*
 * node_record handles a record of the response to a GET of the Node; node_end handles the end of
 * that GET.
 */
void node_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void node_end(struct agent *a, const struct api_result *r);
/*
 * node_watch_record handles a record of the watch of the Node; node_watch_end handles the end of
 * that watch.
 */
void node_watch_record(struct agent *a, const struct api_result *r,
                       const struct kube_record *record);
void node_watch_end(struct agent *a, const struct api_result *r);
/* Handles a lost API connection: a watch that worked reopens at once on the next connection. */
void node_disconnected(struct agent *a);
/* Whether the Node's UID, labels, presence or kubelet version changed since the last call. */
bool node_changed(struct agent *a);
/*
 * Called when a round of the publisher starts: plans a read of the Node if the watch of the Node is
 * unusable.
 */
void node_refresh(struct agent *a);
/* Plans a GET of the Node now, even if the watch of the Node reports no change. */
void node_read(struct agent *a);
/*
 * Whether the publisher's current round may go on: the Node's UID and labels are known, and no GET
 * of the Node is awaited.
 */
bool node_ready(const struct agent *a);
/* The facts of the Node as last read; the texts are empty before the first read. Never NULL. */
const struct node_facts *node_facts(const struct agent *a);
/* Returns whether the Node is known to exist or to be absent. */
enum node_presence node_presence(const struct agent *a);
/* When a GET last found the Node, on the clock of now_ms; 0: no GET has found it yet. */
uint64_t node_read_ms(const struct agent *a);
/*
 * Compares the instance type in the Node's label with the type that the probe found; logs a
 * difference once.
 */
void node_check_type(struct agent *a);

/* Whether the Node, as last read, asks for a drain: its label DRAIN_KEY has the value "true". */
bool node_drains(const struct agent *a);
/* Whether the node held no claim in this drain, so that none is prepared until the drain ends. */
bool node_is_drained(const struct agent *a);
/* Sets what node_is_drained returns; only recovery/node_drain.c calls it. */
void node_set_drained(struct agent *a, bool drained);

/* The minor version of the kubelet (x in 1.x), as stated in the Node; 0: it is unknown. */
unsigned node_kubelet_minor(const struct agent *a);

#endif
