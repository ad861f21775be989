/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of the node's devices over time (device_states.c), and the way an unhealthy one is
 * published: with the taint of --unhealthy-taint; or not at all, where the API server does not keep
 * taints or the setting is empty; but always while a claim holds it, even when it is gone. Owns
 * struct device_states; dra/health.h owns the meaning of a reading. Internal to src/agent.
 */
#ifndef AGENT_NODE_DEVICE_STATES_H
#define AGENT_NODE_DEVICE_STATES_H

#include "agent/agent.h"
#include "dra/health.h"

/* How a device is published. */
enum device_listing { LISTED, LISTED_TAINTED, LISTED_NOT };

/* Arrays by device number; in masks, bit N is the device with number N. */
struct device_states {
    struct health_track device[DEVICES_MAX];
    uint32_t logged[DEVICES_MAX]; /* reasons logged since it was last healthy */
    uint64_t unhealthy;
    uint64_t held;        /* held by a claim */
    bool shared;          /* claims hold shares of devices */
    uint64_t kept;        /* those of `held` that the last probe did not find */
    uint64_t untaintable; /* devices whose taint the API server did not keep */
    uint32_t changes;     /* number of changes of a state or its reasons */
};

/*
 * Applies a probe: a->devices is the node. `held`: devices that claims hold; `shared`: some are
 * held by shares. `certain` false: the probe failed, and a->devices is from an older one. true: the
 * published content changes.
 */
bool device_states_apply(struct agent *a, uint64_t held, bool shared, bool certain);
/* The way the device with this number is published. */
enum device_listing device_states_listing(const struct agent *a, unsigned number);
/* The health of the device with this number; it changed as often as device_states_changes says. */
const struct health_track *device_states_track(const struct agent *a, unsigned number);
uint32_t device_states_changes(const struct agent *a);
/* Whether a claim holds this device, which the last probe did not find. */
bool device_states_keeps(const struct agent *a, unsigned number);
/* Whether claims hold shares of devices. */
bool device_states_are_shared(const struct agent *a);
/* Whether the API server did not keep the taint of one of these devices. */
bool device_states_lack_taint(const struct agent *a, uint64_t devices);
/* Records that the API server stored these devices without the taint that was sent. */
void device_states_untaintable(struct agent *a, uint64_t devices);

#endif
