/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts about problems of the node, which the agent's pages and the commands other than `run` share
 * (troubles.c). Owns no state; the callers detect the problems.
 */
#ifndef AGENT_TROUBLES_H
#define AGENT_TROUBLES_H

#include "agent/settings.h"
#include "base/bytes.h"

/*
 * Prefix of each line of /statusz about a problem. The command `check` prints the text after the
 * prefix.
 */
#define TROUBLE_LINE "trouble: "
/* Starts of the line of /statusz about a drain, which the command `devices` prints too. */
#define DRAINING_LINE TROUBLE_LINE "the node is draining"
#define DRAINED_LINE TROUBLE_LINE "the node is drained"

/*
 * Appends the text about a device plugin that offers the same devices as the driver of kind
 * `driver`. `name`: file name of the plugin's socket.
 */
void trouble_device_plugin(const struct settings *settings, enum driver_kind driver,
                           const char *name, struct writer *out);
/*
 * Appends the text about another program that serves a driver named `driver`; `path`: the socket of
 * that program.
 */
void trouble_other_driver(const char *driver, const char *path, struct writer *out);
/* Appends why no device of this instance type is published; devices_refusal must not be NULL. */
void trouble_refused_type(const struct devices *devices, struct writer *out);

#endif
