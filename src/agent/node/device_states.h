/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of the node's devices over time (device_states.c), and how an unhealthy device is
 * published. Owns struct device_states; dra/health.h owns the meaning of a reading. Internal to
 * src/agent.
 *
 * An unhealthy device is published with the taint of --unhealthy-taint. If the API server does not
 * keep taints or the setting is empty, the device is left out. A device that a claim holds is
 * always published, even when it is gone.
 *
 * A device whose memory stays in use while no claim holds it is published with the taint of
 * --memory-held-taint too. If the API server does not keep taints or the setting is empty, the
 * device is published without it and not left out: it may work, and no claim gets it while its
 * memory is in use (agent/claim/device_memory.h).
 *
 * While the Node's label asks for a drain (node_drains), all devices are published with the taint
 * DRAIN_KEY. If the API server does not keep taints, devices that no claim holds are left out.
 */
#ifndef AGENT_NODE_DEVICE_STATES_H
#define AGENT_NODE_DEVICE_STATES_H

#include "agent/agent.h"
#include "dra/health.h"
#include "dra/taint.h"
#include "dra/verdict.h"

/*
 * The health of all devices over time. Arrays are indexed by device number; bit N of a mask is the
 * device with number N.
 */
struct device_states {
    struct health_track device[DEVICES_MAX];
    uint32_t logged[DEVICES_MAX]; /* element N: reasons logged since device N was last healthy */
    uint64_t unhealthy;
    uint64_t held;        /* mask of the devices that claims hold */
    bool shared;          /* a claim holds only a share of a device */
    uint64_t kept;        /* mask of the held devices that the last probe did not find */
    uint64_t memory_held; /* mask of the devices whose memory stays in use without a claim */
    uint64_t memory_ms[DEVICES_MAX]; /* element N: since when device N is in memory_held */
    /* element i: mask of the devices whose taint i the API server did not keep */
    uint64_t untaintable[TAINTS];
    uint32_t changes; /* how often a device's health or its reasons have changed */
};

/*
 * Applies a probe whose devices are in a->devices; returns whether the published content changes.
 * `held`: mask of the devices that claims hold; `shared`: a claim holds only a share of a device
 * (--efa-share or --share-cores). If `certain` is false, the last probe failed or found no device,
 * and a->devices comes from an earlier probe.
 */
bool device_states_apply(struct agent *a, uint64_t held, bool shared, bool certain);
/*
 * Sets the mask of the devices whose memory stays in use while no claim holds them. Returns whether
 * the published content changes.
 */
bool device_states_hold_memory(struct agent *a, uint64_t devices);
/* Bit N: the memory of device N stays in use while no claim holds the device. */
uint64_t device_states_memory_held(const struct agent *a);
/* The taints with which the device with this number must be published, as a mask of TAINT_BIT. */
uint8_t device_states_taints(const struct agent *a, unsigned number);
/* Since when the device has the state for which it may get this taint. */
uint64_t device_states_since(const struct agent *a, unsigned number, enum taint_reason reason);
/* Whether the device with this number must be left out of the slices. */
bool device_states_omit(const struct agent *a, unsigned number);
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
/* The taints that the API server did not keep on one of these devices, as a mask of TAINT_BIT. */
unsigned device_states_lack_taints(const struct agent *a, uint64_t devices);
/*
 * Records that the API server stored the devices in element i but dropped taint i, which was sent
 * with them.
 */
void device_states_untaintable(struct agent *a, const uint64_t devices[TAINTS]);

#endif
