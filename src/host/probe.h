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
 * Fills *out. What is absent stays empty, and so does a value that the kernel refuses to tell; a
 * value longer than its room is cut. `settings` gives the roots, and the instance type where it is
 * set. Bounded: DIRECTORY_READS_MAX reads of the class directory and two files for each of
 * DEVICES_MAX devices.
 *
 * Returns 0, or the errno of a failure that says nothing about the node: no memory or no descriptor
 * left, a class directory that is there and cannot be read. *out is not to be used then, since
 * what it lacks may well be there.
 */
MUST_USE int probe_node(const struct settings *settings, struct found_node *out);

#endif
