/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of both drivers share: device.c builds that of the Neuron devices, efa.c that of
 * the EFA devices. Internal to them.
 */
#ifndef DRA_DEVICE_INTERNAL_H
#define DRA_DEVICE_INTERNAL_H

#include "dra/device.h"

/* Adds an issue; bytes of `value` that are not printable ASCII become '?'. */
void probe_issue_add(struct probe_issues *issues, enum probe_issue_kind kind, uint16_t number,
                     struct view value);
/* Adds an issue of no single device. */
void probe_issue_node(struct probe_issues *issues, enum probe_issue_kind kind, struct view value);
/* The same for a number. */
void probe_issue_count(struct probe_issues *issues, enum probe_issue_kind kind, unsigned value);
/*
 * Inserts the device at its place among the ascending numbers; the table must not have its number.
 */
void devices_insert(struct devices *d, const struct device *device);

#endif
