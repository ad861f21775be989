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

/* The Node as last read, and its watch and reads. */
struct node_object {
    enum node_presence presence;
    bool changed;            /* facts used by the slices have changed since the last node_changed */
    bool awaited;            /* a round waits for the end of a GET of the Node */
    struct kube_watch watch; /* while this watch is unusable, rounds read the Node */
    uint64_t get_due_ms;     /* when to read the Node; UINT64_MAX: no read is planned */
    uint64_t get_backoff_ms;
    uint64_t read_ms; /* when a GET last found the Node; 0: never */
    struct refusal refusal;
    char type_logged[ATTRIBUTE_VALUE_CAP]; /* label value whose mismatch was logged */
    struct node_facts facts;
    struct node_facts now; /* facts of the object being read */
};

/* The state of this room for one driver. */
struct node {
    struct node_inventory inventory;
    struct device_states device_states;
};

#endif
