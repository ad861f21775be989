/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of the node's devices over time (device_states.c), and how an unhealthy device is
 * published. Owns struct device_states; dra/health.h owns the meaning of a reading. Internal to
 * src/agent.
 *
 * An unhealthy device is published with the taint of --unhealthy-taint. If the API server does not
 * keep taints or the setting is empty, the device is left out. A device that a claim holds is
 * always published, even when it is gone.
 */
#ifndef AGENT_NODE_DEVICE_STATES_H
#define AGENT_NODE_DEVICE_STATES_H

#include "agent/agent.h"
#include "dra/health.h"
#include "dra/verdict.h"

/* The ways to publish a device: without taint, with the taint, or not at all. */
enum device_listing { LISTED, LISTED_TAINTED, LISTED_NOT };

/*
 * The health of all devices over time. Arrays are indexed by device number; bit N of a mask is the
 * device with number N.
 */
struct device_states {
    struct health_track device[DEVICES_MAX];
    uint32_t logged[DEVICES_MAX]; /* element N: reasons logged since device N was last healthy */
    uint64_t unhealthy;
    uint64_t held; /* mask of the devices that claims hold */
    bool shared;   /* a claim holds only a share of a device */
    uint64_t kept; /* mask of the held devices that the last probe did not find */
    /* mask of the unhealthy devices whose taint the API server did not keep */
    uint64_t untaintable;
    uint32_t changes; /* how often a device's health or its reasons have changed */
};

/*
 * Applies a probe whose devices are in a->devices; returns whether the published content changes.
 * `held`: mask of the devices that claims hold; `shared`: a claim holds only a share of a device
 * (--efa-share or --share-cores). If `certain` is false, the last probe failed or found no device,
 * and a->devices comes from an earlier probe.
 */
bool device_states_apply(struct agent *a, uint64_t held, bool shared, bool certain);
/* Returns how the device with this number must be published. */
enum device_listing device_states_listing(const struct agent *a, unsigned number);
/*
 * device_states_track returns the health of the device with this number. device_states_changes
 * returns how often the health of any device, or a reason for it, has changed.
 */
const struct health_track *device_states_track(const struct agent *a, unsigned number);
uint32_t device_states_changes(const struct agent *a);
/*
 * Returns the verdict on the health of the device with this number. Its member `given` is false if
 * no probe ever found the device and no claim holds it.
 */
struct device_verdict device_states_verdict(const struct agent *a, unsigned number);
/* Whether a claim holds this device although the last probe did not find it. */
bool device_states_keeps(const struct agent *a, unsigned number);
/* Whether a claim holds only a share of a device (--efa-share or --share-cores). */
bool device_states_are_shared(const struct agent *a);
/* Whether the API server did not keep the taint of at least one of these devices. */
bool device_states_lack_taint(const struct agent *a, uint64_t devices);
/*
 * Records that the API server stored these devices but dropped the taint that was sent with them.
 */
void device_states_untaintable(struct agent *a, uint64_t devices);

#endif
