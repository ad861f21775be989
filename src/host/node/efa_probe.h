/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the EFA devices from sysfs: the PCI functions of the kernel driver efa, and their entries
 * among the RDMA devices. Owns no state, opens no device, and validates nothing (dra/efa.h does).
 */
#ifndef HOST_NODE_EFA_PROBE_H
#define HOST_NODE_EFA_PROBE_H

#include "agent/settings.h"
#include "dra/efa.h"

/*
 * Reads the current EFA devices into *found; absent or unreadable values stay empty. A node without
 * the driver has no devices. Makes at most DIRECTORY_READS_MAX reads of each of two directories,
 * and reads one link for each RDMA device and six files and links for each of at most EFAS_MAX
 * devices.
 *
 * Returns 0. On failure (no memory or descriptor left, an existing directory that cannot be read)
 * returns an errno and sets found->unknown: the devices may still exist.
 */
MUST_USE int efas_probe(const struct settings *settings, struct found_efas *found);
/*
 * Finds which EFA device and which device node have uverbs number `number` now, with two system
 * calls. Returns 0, or the errno of the call that failed; members that were not read are 0.
 */
MUST_USE int efa_identify(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);

#endif
