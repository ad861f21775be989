/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps: the devices of each driver, and the Node object for all of them.
 * Included by the files of this room and by agent/state.h alone.
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
    bool changed;            /* facts that slices depend on changed: see node_changed */
    bool awaited;            /* a round waits for the running GET */
    struct kube_watch watch; /* while this watch is unusable, rounds read the Node */
    uint64_t get_due_ms;     /* when to read the Node; UINT64_MAX: never, the watch reports it */
    uint64_t get_backoff_ms;
    uint64_t read_ms; /* last read that found the Node; 0: never */
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
