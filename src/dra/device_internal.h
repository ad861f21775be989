/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of both drivers share: device.c builds that of the Neuron devices, efa.c that of
 * the EFA devices. Internal to them.
 */
#ifndef DRA_DEVICE_INTERNAL_H
#define DRA_DEVICE_INTERNAL_H

#include "dra/device.h"

/* Notes an issue; what is not printable ASCII in `value` becomes '?'. */
void probe_issue_add(struct probe_issues *issues, enum probe_issue_kind kind, uint16_t number,
                     struct view value);
/* Puts the device where it belongs among the ascending numbers; its number is not there yet. */
void devices_insert(struct devices *d, const struct device *device);

#endif
