/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the node: texts of the Neuron kernel module, the DMI product name and the boot id, as
 * they are. Owns no state and judges nothing (dra/device.h does); never opens /dev/neuron*, because
 * opening a device makes its user wait for a reset.
 */
#ifndef HOST_PROBE_H
#define HOST_PROBE_H

#include "agent/settings.h"
#include "dra/device.h"

/*
 * Fills *out. What is absent or unreadable stays empty; a value longer than its room is cut.
 * `settings` gives the roots, and the instance type where it is set. Bounded: DIRECTORY_READS_MAX
 * reads of the class directory and four files for each of DEVICES_MAX devices.
 */
void probe_node(const struct settings *settings, struct found_node *out);

#endif
