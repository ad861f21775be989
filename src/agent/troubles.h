/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts about troubles of the node that the agent's pages and the commands beside `run` share
 * (troubles.c). Owns no state; looks at nothing.
 */
#ifndef AGENT_TROUBLES_H
#define AGENT_TROUBLES_H

#include "agent/settings.h"
#include "base/bytes.h"

/* Begins each line of /statusz about a trouble; the command `check` repeats what follows. */
#define TROUBLE_LINE "trouble: "

/* Appends that the device plugin with a socket of this name gives away the driver's devices. */
void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out);
/* Appends that another program serves the driver of this name at `path`. */
void trouble_other_driver(const char *driver, const char *path, struct writer *out);

#endif
