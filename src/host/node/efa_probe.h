/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the EFA devices from sysfs: the PCI functions of the kernel driver efa, and their entries
 * among the RDMA devices. Owns no state and validates nothing (dra/efa.h does); opens no device.
 */
#ifndef HOST_NODE_EFA_PROBE_H
#define HOST_NODE_EFA_PROBE_H

#include "agent/settings.h"
#include "dra/efa.h"

/*
 * Probes the EFA devices: *found is the current state. Absent or unreadable values stay empty.
 * Bounded: DIRECTORY_READS_MAX reads of two directories, a link of each RDMA device, and six files
 * and links for each of EFAS_MAX devices. A node without the driver has none.
 *
 * Returns 0, or the errno of a failure that proves nothing about the node (no memory or descriptor
 * left, a directory that exists and cannot be read): found->unknown is set then.
 */
MUST_USE int efas_probe(const struct settings *settings, struct found_efas *found);
/*
 * Identifies the entry and the node of uverbs number `number` now: two system calls. Returns 0, or
 * the errno of the one that failed; members that were not reached are 0.
 */
MUST_USE int efa_identify(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);

#endif
