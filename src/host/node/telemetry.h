/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files for --device-metrics and --neuron-monitor-metrics. Each call reads one device, so
 * that its cost does not depend on the number of devices. Never opens /dev/neuron*. dra/telemetry.h
 * interprets the texts.
 */
#ifndef HOST_NODE_TELEMETRY_H
#define HOST_NODE_TELEMETRY_H

#include "agent/settings.h"
#include "dra/device.h"
#include "dra/telemetry.h"

/*
 * Reads the files of one device of *found, the next one in each call: at most TELEMETRY_VALUES
 * files with three system calls each, and only the files that a flag asks for. Values of unreadable
 * files become unknown.
 */
void telemetry_read(const struct settings *settings, const struct found_node *found,
                    struct telemetry *t);

#endif
