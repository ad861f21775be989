/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process still uses memory of a device that a new claim is to get: neither the kubelet
 * nor the API server knows of a container that outlives its pod, but the kernel module counts the
 * memory of its cores. Owns struct device_memory: the devices whose claims were refused for that,
 * which are checked until their memory is free. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_DEVICE_MEMORY_H
#define AGENT_CLAIM_DEVICE_MEMORY_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Devices that new claims are refused because their memory is still in use. */
struct device_memory {
    uint64_t used;     /* bit N: a new claim was refused device N, whose memory is in use */
    uint64_t stuck;    /* those of them that were reported after DEVICE_MEMORY_STUCK_MS */
    uint64_t check_ms; /* next check of these devices */
    bool reading;      /* the check is running: their files are being read */
    uint64_t since_ms[DEVICES_MAX]; /* time of the first refusal */
    uint8_t cores[DEVICES_MAX];     /* bit K: memory of core K was in use */
};

/*
 * Has the files read that device_memory_check needs in the same step. STATUS_MORE: still reading,
 * call again in a later step; HOST_BUSY: a file hangs, which `why` names.
 */
MUST_USE enum status device_memory_read(const struct agent *a, const struct claim_record *r,
                                        struct writer *why);
/*
 * Checks the devices, or cores, of the record that its claim does not hold yet. STATUS_OK: none of
 * their memory is in use; or that is unknown: --check-device-memory is off, the kernel module has
 * no such file, or it cannot be read. A claim for a part of a device is checked with `parts`, once
 * it has its cores, any other one without. HOST_BUSY: `why` names the device, the claim that had it
 * last, and what to do.
 */
MUST_USE enum status device_memory_check(struct agent *a, const struct claim_record *r, bool parts,
                                         struct writer *why);
/* Devices that a new claim was refused, because their memory is in use: bit N is device N. */
uint64_t device_memory_used(const struct agent *a);
/* Writes one line about such a device for an operator. */
void device_memory_text(const struct agent *a, unsigned number, struct writer *out);
/* Checks the devices for which claims were refused again, every DEVICE_MEMORY_LOOK_MS. */
void device_memory_step(struct agent *a);
uint64_t device_memory_deadline(const struct agent *a);

#endif
