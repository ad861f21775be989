/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that only the files of src/command use. */
#ifndef COMMAND_COMMAND_INTERNAL_H
#define COMMAND_COMMAND_INTERNAL_H

#include "command/command.h"

/*
 * Writes the health of a device, such as "healthy" or, with the reasons, "unhealthy: hbm, sram".
 * `d` is NULL if the kernel does not show the device.
 */
void command_health_text(const struct inventory *v, const struct device *d, struct writer *out);
/*
 * Writes the health of a device as a member "health" of a JSON or YAML object and, if there are
 * reasons, the reasons as a member "reasons". `device` is NULL if the kernel does not show the
 * device.
 */
void command_health_document(const struct inventory *v, const struct device *device,
                             struct document *d);
/*
 * Write one device of a claim's allocation result: its health, the nearest devices of the other
 * driver (Neuron or EFA), and its attributes. The text output shows only the attributes about
 * topology, groups and logical cores. `number`: number of the device if the result is for the whole
 * node; otherwise ignored.
 */
void command_device_text(const struct inventory *v, const struct claim_result *result,
                         unsigned number, struct writer *out);
void command_device_document(const struct inventory *v, const struct claim_result *result,
                             unsigned number, struct document *d);

#endif
