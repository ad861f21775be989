/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the slices of this node are to hold (wanted.c). Owns struct wanted and struct left_out. It
 * stays the same while a round is under way. Internal to src/agent.
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

/* What was logged as left out, because the API server would refuse it. */
struct left_out {
    unsigned count;
    uint32_t sum[OMITTED_LOGGED_MAX]; /* checksums of item and value */
};

/* Takes the devices and the Node as they are known now; logs what is left out of them. */
void wanted_take(struct agent *a);

#endif
