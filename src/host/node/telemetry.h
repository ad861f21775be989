/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of --device-metrics, one device in a look: the cost of a look is that of one
 * device, however many there are. Never opens /dev/neuron*. What the texts mean is
 * dra/telemetry.h's.
 */
#ifndef HOST_NODE_TELEMETRY_H
#define HOST_NODE_TELEMETRY_H

#include "agent/settings.h"
#include "dra/device.h"
#include "dra/telemetry.h"

/*
 * Reads the files of the device whose turn it is, of those that a look at the node found: at most
 * TELEMETRY_VALUES files of three system calls each. A file that cannot be read is not known then.
 */
void telemetry_look(const struct settings *settings, const struct found_node *found,
                    struct telemetry *t);

#endif
