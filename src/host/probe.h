/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the node says about its devices: texts of the Neuron kernel module, the DMI product
 * name and the boot id. Owns no state and validates nothing (dra/device.h does); never opens
 * /dev/neuron*, because the next user of an opened device waits for a reset.
 */
#ifndef HOST_PROBE_H
#define HOST_PROBE_H

#include "agent/settings.h"
#include "dra/device.h"

/*
 * Fills *out. What is absent or cannot be read stays empty; a value longer than its room is cut.
 * `settings` gives the roots, and the instance type where it is set. Bounded: DIRECTORY_READS_MAX
 * reads of the class directory and two files for each of DEVICES_MAX devices.
 *
 * Returns 0, or the errno of a failure that says nothing about the node: no memory or no descriptor
 * left, a class directory that exists and cannot be read. *out must not be used then: what it lacks
 * may exist.
 */
MUST_USE int probe_node(const struct settings *settings, struct found_node *out);
/*
 * Looks where the device of this number is now: two system calls. Returns 0, or the errno of the
 * first of the two places that cannot be reached; what was not seen is 0 in *out.
 */
MUST_USE int probe_device(const char *sysfs_root, const char *dev_root, unsigned number,
                          struct device_place *out);

#endif
