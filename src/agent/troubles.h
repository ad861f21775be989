/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts about troubles of the node, shared by the agent's pages and the commands other than `run`
 * (troubles.c). Owns no state; does not look for troubles.
 */
#ifndef AGENT_TROUBLES_H
#define AGENT_TROUBLES_H

#include "agent/settings.h"
#include "base/bytes.h"

/* Prefix of each /statusz line about a trouble; the command `check` repeats the rest of it. */
#define TROUBLE_LINE "trouble: "

/* Appends the text for a device plugin that offers the driver's devices; `name`: its socket. */
void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out);
/* Appends the text for another program that serves the driver of this name; `path`: its socket. */
void trouble_other_driver(const char *driver, const char *path, struct writer *out);

#endif
