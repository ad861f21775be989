/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of src/agent/node: the devices of each driver, and one Node object for all drivers.
 * Only the files of this folder and agent/state.h include this header.
 */
#ifndef AGENT_NODE_ROOM_H
#define AGENT_NODE_ROOM_H

#include "agent/api/watch.h"
#include "agent/node/device_states.h"
#include "agent/node/inventory.h"
#include "agent/node/node.h"
#include "agent/report/refusal.h"

/* The Node as it was last read, and the state of its watch and reads. */
struct node_object {
    enum node_presence presence;
    /* facts about the Node that slices use have changed since the last node_changed */
    bool changed;
    bool awaited; /* a round of the publisher waits for the end of a GET of the Node */
    /* watch of the Node; while it is unusable, the publisher's rounds read the Node by a GET */
    struct kube_watch watch;
    uint64_t get_due_ms; /* when to GET the Node; UINT64_MAX: no GET is planned */
    uint64_t get_backoff_ms;
    uint64_t read_ms; /* when a GET last found the Node; 0: no GET has found it yet */
    struct refusal refusal;
    /* value of the Node's instance type label when its mismatch with the probe was last logged */
    char type_logged[ATTRIBUTE_VALUE_CAP];
    uint64_t drain_ms; /* when the drain began, if the Node's label asks for one */
    bool drained;      /* the node was found to be free in this drain */
    struct node_facts facts;
    struct node_facts now; /* facts of the Node so far, while records of it are being parsed */
};

/* The state of src/agent/node for one driver. */
struct node {
    struct node_inventory inventory;
    struct device_states device_states;
};

#endif
