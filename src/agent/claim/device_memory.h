/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks, before a new claim gets a device, whether a process still uses memory of that device. The
 * kubelet and the API server do not report a container that outlives its pod, but the kernel module
 * counts the memory in use on each core (dra/core_memory.h). Owns struct device_memory: the devices
 * for which claims were refused for this reason. agent/recovery/memory_watch.h looks at these
 * devices again until their memory is free. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_DEVICE_MEMORY_H
#define AGENT_CLAIM_DEVICE_MEMORY_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Devices for which new claims are refused, because their memory is still in use. */
struct device_memory {
    uint64_t used; /* bit N: a claim was refused because memory of device N is in use */
    uint8_t cores[DEVICES_MAX]; /* element N, bit K: memory of core K of device N was in use */
};

/*
 * Reads the files with the memory use of the record's devices; device_memory_check needs their
 * content. STATUS_OK: the files are read; call device_memory_check in the same step. STATUS_MORE:
 * the files are still being read; call again in a later step. HOST_BUSY: the read of a file hangs;
 * `why` names the file.
 */
MUST_USE enum status device_memory_read(const struct agent *a, const struct claim_record *r,
                                        struct writer *why);
/*
 * Checks whether memory of the record's devices, or of their cores in the record, is in use; skips
 * devices that the claim already holds, unless the record is `rebuilt`. STATUS_OK: no memory is in
 * use, or its use is unknown: --check-device-memory is off, the kernel module has no such file, or
 * the file cannot be read. HOST_BUSY: `why` names the device, the claim that last had the device,
 * and the remedy. `parts` true: checks the record only if it has a part of a device, whose cores
 * must be chosen before the call; `parts` false: checks any other record only. Returns STATUS_OK
 * for a record that it does not check.
 */
MUST_USE enum status device_memory_check(struct agent *a, const struct claim_record *r, bool parts,
                                         struct writer *why);
/* Bit N: new claims for device N are refused, because its memory is in use. */
uint64_t device_memory_used(const struct agent *a);
/* The cores of a device in device_memory_used whose memory was in use when a claim was refused. */
uint8_t device_memory_refused_cores(const struct agent *a, unsigned number);
/* Forgets that claims were refused device `number`, because its memory is free. */
void device_memory_forget(struct agent *a, unsigned number);
/* Writes one line for an operator about device `number`, whose memory is in use. */
void device_memory_text(const struct agent *a, unsigned number, struct writer *out);
/*
 * Writes which claim held the device last, and how to find the process that still uses its memory.
 */
void device_memory_last(const struct agent *a, unsigned number, struct writer *out);

/*
 * Reads the files with the memory use of the devices in `numbers` (bit N: device N), as
 * device_memory_read does; device_memory_cores needs their content.
 */
MUST_USE enum status device_memory_read_of(const struct agent *a, uint64_t numbers);
/*
 * Returns the cores of the device whose memory processes use, and sets *bytes to the size of that
 * memory. Looks only at the cores in `of`; 0: at all cores.
 */
uint8_t device_memory_cores(const struct agent *a, unsigned number, uint8_t of, uint64_t *bytes);

#endif
