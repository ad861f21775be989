/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of --device-metrics for one device at a time, so that a call costs the same
 * however many devices there are. Never opens /dev/neuron*. dra/telemetry.h owns the meaning of the
 * texts.
 */
#ifndef HOST_NODE_TELEMETRY_H
#define HOST_NODE_TELEMETRY_H

#include "agent/settings.h"
#include "dra/device.h"
#include "dra/telemetry.h"

/*
 * Reads the files of the next device in turn, of those that a probe found: at most TELEMETRY_VALUES
 * files of three system calls each. Values of unreadable files become unknown.
 */
void telemetry_read(const struct settings *settings, const struct found_node *found,
                    struct telemetry *t);

#endif
