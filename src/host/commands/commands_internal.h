/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that only these files share: commands.c, which prints; command_pages.c and
 * command_release.c, which talk to the agent; and bundle.c. No other file includes this header.
 */
#ifndef HOST_COMMANDS_COMMANDS_INTERNAL_H
#define HOST_COMMANDS_COMMANDS_INTERNAL_H

#include "host/commands/commands.h"
#include "wire/http_status.h"

/* Room for the path of a file: a directory from the settings and the longest file name. */
#define COMMAND_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP + 16u)

/* Writes m->out to m->out_fd and empties m->out. HOST_*: `why` gets one line. */
MUST_USE enum status commands_flush(struct command_memory *m, struct writer *why);
/* Selects the driver whose store is read: sets m->driver and m->state_dir. */
void commands_driver(struct command_memory *m, enum driver_kind driver);
/* Returns how many drivers the settings enable. */
unsigned commands_drivers(const struct command_memory *m);
/*
 * Probes the node and sets the devices of m->inventory, but not their holders. HOST_*: `why` gets
 * one line.
 */
MUST_USE enum status commands_node(struct command_memory *m, struct writer *why);
/*
 * Reads a page of the agent. Returns its HTTP status code. 0: the agent does not respond, and `why`
 * gets one line. *body is valid until the next page is read; a body that exceeds m->cdi[0] is cut.
 */
unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                  struct writer *why);
/*
 * Writes a whole page to m->out_fd. HOST_*: the page is missing or cannot be written, and `why`
 * gets one line.
 */
MUST_USE enum status page_copy(struct command_memory *m, const char *path, struct writer *why);
/*
 * Makes the agent behind this service socket unprepare the claim, as the kubelet would. HOST_*: the
 * claim is not released, and `why` gets one line.
 */
MUST_USE enum status release_call(struct command_memory *m, const char *socket_path,
                                  const struct claim_id *id, struct writer *why);

#endif
