/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts about problems of the node, which the agent's pages and the commands other than `run` share
 * (troubles.c). Owns no state; does not detect problems.
 */
#ifndef AGENT_TROUBLES_H
#define AGENT_TROUBLES_H

#include "agent/settings.h"
#include "base/bytes.h"

/* Prefix of each /statusz line about a problem; the command `check` prints the text after it. */
#define TROUBLE_LINE "trouble: "

/* Appends the text for a device plugin that offers the driver's devices; `name`: its socket. */
void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out);
/*
 * Appends the text for another program that serves a driver of the same name; `path`: its socket.
 */
void trouble_other_driver(const char *driver, const char *path, struct writer *out);
/* Appends the text for devices of a refused instance family (devices_refusal is not NULL). */
void trouble_refused_type(const struct devices *devices, struct writer *out);

#endif
