/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of the node's devices from look to look (device_states.c), and how an unhealthy one is
 * published: with the taint of --unhealthy-taint; left out where the API server does not keep
 * taints or the setting is empty; but listed as long as a claim holds it, also when it is gone.
 * Owns struct device_states; what a look means is dra/health.h's. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_DEVICE_STATES_H
#define AGENT_PUBLISH_DEVICE_STATES_H

#include "agent/agent.h"
#include "dra/health.h"

/* How a device is published. */
enum device_listing { LISTED, LISTED_TAINTED, LISTED_NOT };

/* Index and bit N: the device with this number. */
struct device_states {
    struct health_track device[DEVICES_MAX];
    uint32_t logged[DEVICES_MAX]; /* reasons that were logged since it was healthy */
    uint64_t unhealthy;
    uint64_t held;        /* by a claim */
    bool shared;          /* claims hold shares of devices */
    uint64_t kept;        /* of these, those that no look finds */
    uint64_t untaintable; /* the API server did not keep their taint */
    uint32_t changes;     /* how often a state or its reasons changed */
};

/*
 * Takes a look: a->devices is the node. `held`: what claims hold, `shared`: by shares, some of it.
 * `certain` false: the devices are those of an older look, and nothing is known of them. True:
 * other content is to be published.
 */
bool device_states_take(struct agent *a, uint64_t held, bool shared, bool certain);
/* How the device with this number is published. */
enum device_listing device_states_listing(const struct agent *a, unsigned number);
/* The API server stored these devices without the taint that was sent. */
void device_states_untaintable(struct agent *a, uint64_t devices);

#endif
