/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our Node object (node.c): its UID, which owns the slices, and the labels that become attributes.
 * Owns struct node_object. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_NODE_H
#define AGENT_PUBLISH_NODE_H

#include "agent/api/watch.h"
#include "agent/report/refusal.h"
#include "dra/device.h"

/* What matters of a Node. Bytes after a text are zero, so that two can be compared as memory. */
struct node_facts {
    char uid[UID_CAP]; /* empty: no object of our name was told */
    char resource_version[RESOURCE_VERSION_CAP];
    char instance_type[ATTRIBUTE_VALUE_CAP]; /* of the label; may carry "ml."; empty: no label */
    struct node_labels labels;
};

/* What is known of the Node, and how it is asked for. */
struct node_object {
    bool settled;            /* whether there is a Node was answered at least once */
    bool present;            /* there is one, as far as is known */
    bool changed;            /* what slices are made of is another: see node_changed */
    bool looking;            /* a round waits for the GET under way */
    struct kube_watch watch; /* while it is unusable, rounds read the Node */
    uint64_t get_due_ms;     /* when the Node is read; UINT64_MAX: the watch tells */
    uint64_t get_backoff_ms;
    struct refusal refusal;
    char type_said[ATTRIBUTE_VALUE_CAP]; /* label's value whose difference was said */
    struct node_facts facts;
    struct node_facts now; /* of the object under way */
};

/* The module's verbs, see state.h. */
void node_init(struct agent *a);
void node_step(struct agent *a);
uint64_t node_deadline(const struct agent *a);
/* A record, and the end, of the answer to a GET. */
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
/* A round begins: reads the Node first where the watch does not tell of it. */
void node_look(struct agent *a);
/* Whether UID and labels are known, and no look is under way. */
bool node_ready(const struct agent *a);
/* Compares the instance type's label with what the node itself says; says a difference once. */
void node_check_type(struct agent *a);

#endif
