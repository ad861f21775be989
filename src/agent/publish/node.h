/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Node object of this node (node.c): its UID, which owns the slices, the labels that become
 * attributes, and the kubelet's version. Owns struct node_object; never writes to the API server.
 * Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_NODE_H
#define AGENT_PUBLISH_NODE_H

#include "agent/api/watch.h"
#include "agent/report/refusal.h"
#include "dra/device.h"

/* What matters of a Node. Bytes after a text are zero, so that two can be compared as memory. */
struct node_facts {
    char uid[UID_CAP]; /* empty: no object of our name was read */
    char resource_version[RESOURCE_VERSION_CAP];
    char instance_type[ATTRIBUTE_VALUE_CAP]; /* of the label; may carry "ml."; empty: no label */
    struct node_labels labels;
    char kubelet_version[KUBELET_VERSION_CAP]; /* empty: not known */
};

/* Whether there is a Node of our name. */
enum node_presence { NODE_UNKNOWN, NODE_PRESENT, NODE_ABSENT };

/* The Node as last read, and its watch and reads. */
struct node_object {
    enum node_presence presence;
    bool changed;            /* what slices are made of changed: see node_changed */
    bool awaited;            /* a round waits for the GET under way */
    struct kube_watch watch; /* while it is unusable, rounds read the Node */
    uint64_t get_due_ms;     /* when the Node is read; UINT64_MAX: the watch reports it */
    uint64_t get_backoff_ms;
    uint64_t read_ms; /* when a read found it last; 0: never */
    struct refusal refusal;
    char type_logged[ATTRIBUTE_VALUE_CAP]; /* label's value whose difference was logged */
    struct node_facts facts;
    struct node_facts now; /* of the object under way */
};

/* The module's verbs, see state.h. */
void node_init(struct agent *a);
void node_step(struct agent *a);
uint64_t node_deadline(const struct agent *a);
/* A record, and the end, of the response to a GET. */
void node_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void node_end(struct agent *a, const struct api_result *r);
/* The same of the watch. */
void node_watch_record(struct agent *a, const struct api_result *r,
                       const struct kube_record *record);
void node_watch_end(struct agent *a, const struct api_result *r);
/* The API connection is gone, and what was in flight has ended. */
void node_disconnected(struct agent *a);
/* Whether UID, labels or presence changed since this was asked last. */
bool node_changed(struct agent *a);
/* A round starts: reads the Node first where its watch is unusable. */
void node_refresh(struct agent *a);
/* The Node is read again, though its watch may report no change. */
void node_read(struct agent *a);
/* Whether UID and labels are known, and no round waits for a read of them. */
bool node_ready(const struct agent *a);
/* Compares the label of the instance type with the node's own; logs a difference once. */
void node_check_type(struct agent *a);

/* The x of the kubelet's version 1.x, as its Node has it; 0: not known. */
unsigned node_kubelet_minor(const struct agent *a);

#endif
