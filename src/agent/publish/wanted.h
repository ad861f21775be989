/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content that the slices of this node should have (wanted.c). Owns struct wanted and struct
 * left_out. Unchanged during a round. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_WANTED_H
#define AGENT_PUBLISH_WANTED_H

#include "agent/agent.h"
#include "dra/device.h"

/* The wanted content of the pool. */
struct wanted {
    const char *driver;    /* its name; borrowed */
    const char *node_name; /* also the name of the pool; borrowed */
    char owner[UID_CAP];   /* UID of the Node */
    struct devices devices;
};

/* Items that were logged as left out because the API server would refuse them. */
struct left_out {
    unsigned count;
    uint32_t sum[OMITTED_LOGGED_MAX]; /* checksums of item and value */
};

/* Names the pool, and builds its content the first time. */
void wanted_init(struct agent *a);
/* Rebuilds the content from the current devices and Node; logs what is left out. */
void wanted_rebuild(struct agent *a);

#endif
