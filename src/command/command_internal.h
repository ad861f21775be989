/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the commands' texts share. Internal to them. */
#ifndef COMMAND_COMMAND_INTERNAL_H
#define COMMAND_COMMAND_INTERNAL_H

#include "command/command.h"

/*
 * The health of a device of the inventory, NULL where the kernel shows none: "healthy", or with the
 * reasons, "unhealthy: hbm, sram".
 */
void command_health_text(const struct inventory *v, const struct device *d, struct writer *out);
/* The same as the members health and, where there are reasons, reasons. */
void command_health_document(const struct inventory *v, const struct device *device,
                             struct document *d);
/*
 * One device of a result: that of this number where the result is the whole node. Its health, the
 * devices of the other driver that are nearest to it, and its attributes; of these, text has the
 * place, the groups and the cores.
 */
void command_device_text(const struct inventory *v, const struct claim_result *result,
                         unsigned number, struct writer *out);
void command_device_document(const struct inventory *v, const struct claim_result *result,
                             unsigned number, struct document *d);
/* Members with the attributes, and those with the capacities, where there are any. */
void command_attributes(const struct attributes *all, struct document *d);

#endif
