/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a process still uses memory of a device that a new claim is to get: neither the
 * kubelet nor the API server knows of a container that outlives its pod, but the kernel module
 * counts the memory that each core has in use. Owns struct device_memory: the devices for which
 * claims were refused because of that, and which are checked until their memory is free. Internal
 * to src/agent.
 */
#ifndef AGENT_CLAIM_DEVICE_MEMORY_H
#define AGENT_CLAIM_DEVICE_MEMORY_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Devices for which new claims are refused, because their memory is still in use. */
struct device_memory {
    uint64_t used;     /* bit N: a claim for device N was refused, its memory is in use */
    uint64_t stuck;    /* the bits of `used` that were reported after DEVICE_MEMORY_STUCK_MS */
    uint64_t check_ms; /* next check of the devices in `used` */
    bool reading;      /* a check is running: the files are being read */
    uint64_t since_ms[DEVICES_MAX]; /* time of the first refusal */
    uint8_t cores[DEVICES_MAX];     /* bit K: memory of core K was in use */
};

/*
 * Starts or continues to read the files for device_memory_check. STATUS_OK: they are read; check in
 * the same step. STATUS_MORE: they are still being read; call again in a later step. HOST_BUSY: the
 * read of a file hangs; `why` names the file.
 */
MUST_USE enum status device_memory_read(const struct agent *a, const struct claim_record *r,
                                        struct writer *why);
/*
 * Checks the memory of those devices, or cores, of the record that its claim does not hold yet.
 * STATUS_OK: none of it is in use, or nothing is known about it: --check-device-memory is off, the
 * kernel module has no such file, or the file cannot be read. HOST_BUSY: `why` names the device,
 * the claim that had it last, and what to do. `parts`: checks only a claim for a part of a device,
 * whose cores must be chosen before the call; not `parts`: checks only any other claim. For a claim
 * that is not checked, it returns STATUS_OK.
 */
MUST_USE enum status device_memory_check(struct agent *a, const struct claim_record *r, bool parts,
                                         struct writer *why);
/* Bit N: new claims for device N are refused, because its memory is in use. */
uint64_t device_memory_used(const struct agent *a);
/* Writes one line for an operator about a device of device_memory_used. */
void device_memory_text(const struct agent *a, unsigned number, struct writer *out);
/* Every DEVICE_MEMORY_LOOK_MS, checks again the devices for which claims were refused. */
void device_memory_step(struct agent *a);
uint64_t device_memory_deadline(const struct agent *a);

#endif
