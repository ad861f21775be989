/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the commands' output share. Internal to them. */
#ifndef COMMAND_COMMAND_INTERNAL_H
#define COMMAND_COMMAND_INTERNAL_H

#include "command/command.h"

/*
 * Writes the health of a device of the inventory (NULL: not shown by the kernel): "healthy", or
 * with its reasons, "unhealthy: hbm, sram".
 */
void command_health_text(const struct inventory *v, const struct device *d, struct writer *out);
/* Writes the same as the member health and, if there are any, the member reasons. */
void command_health_document(const struct inventory *v, const struct device *device,
                             struct document *d);
/*
 * Writes one device of a result; for a result that stands for the whole node, the one with this
 * number. Shows its health, the nearest devices of the other driver, and its attributes (as text
 * only place, groups and cores).
 */
void command_device_text(const struct inventory *v, const struct claim_result *result,
                         unsigned number, struct writer *out);
void command_device_document(const struct inventory *v, const struct claim_result *result,
                             unsigned number, struct document *d);
/* Writes members for the attributes and for the capacities, where there are any. */
void command_attributes(const struct attributes *all, struct document *d);

#endif
