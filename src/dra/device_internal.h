/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that both builders of device tables use: device.c builds the table of the Neuron
 * devices, efa.c the table of the EFA devices. No other file includes this header.
 */
#ifndef DRA_DEVICE_INTERNAL_H
#define DRA_DEVICE_INTERNAL_H

#include "dra/device.h"

/* Adds an issue with the text `value`, whose bytes become '?' if they are not printable ASCII. */
void probe_issue_add(struct probe_issues *issues, enum probe_issue_kind kind, uint16_t number,
                     struct view value);
/* Adds an issue that concerns the whole node, with `value` as its text. */
void probe_issue_node(struct probe_issues *issues, enum probe_issue_kind kind, struct view value);
/* Adds an issue that concerns the whole node, with `value` in decimal as its text. */
void probe_issue_count(struct probe_issues *issues, enum probe_issue_kind kind, unsigned value);
/* Inserts a device in the order of numbers; the table must not have the device's number yet. */
void devices_insert(struct devices *d, const struct device *device);

#endif
