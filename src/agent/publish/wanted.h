/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content that the slices of this node should have (wanted.c). Owns struct wanted and struct
 * left_out. The content does not change during a round. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_WANTED_H
#define AGENT_PUBLISH_WANTED_H

#include "agent/agent.h"
#include "dra/device.h"

/* The content that the pool of this node should have. */
struct wanted {
    const char *driver;    /* name of the driver; borrowed */
    const char *node_name; /* name of the node, which is also the name of the pool; borrowed */
    char owner[UID_CAP];   /* UID of the Node, which owns the slices */
    struct devices devices;
    uint32_t made; /* number of times that the wanted content was built */
};

/*
 * Devices and attributes that are left out because the API server would refuse them. Each is logged
 * only once.
 */
struct left_out {
    unsigned count;
    /* checksum of name and value of each left-out item that was logged */
    uint32_t sum[OMITTED_LOGGED_MAX];
};

/* Sets the names of driver and pool, and builds the wanted content for the first time. */
void wanted_init(struct agent *a);
/* Rebuilds the wanted content from the current devices and the Node; logs what is left out. */
void wanted_rebuild(struct agent *a);

#endif
