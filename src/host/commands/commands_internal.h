/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the commands share: commands.c, which prints, command_pages.c, which reads the
 * agent's pages, and bundle.c. Internal to them.
 */
#ifndef HOST_COMMANDS_COMMANDS_INTERNAL_H
#define HOST_COMMANDS_COMMANDS_INTERNAL_H

#include "host/commands/commands.h"
#include "wire/http_status.h"

/* A directory of the settings, and the longest file name in it. */
#define COMMAND_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP + 16u)

/* Writes m->out to m->out_fd and empties it. HOST_*: a line in `why`. */
MUST_USE enum status commands_flush(struct command_memory *m, struct writer *why);
/* Selects the driver whose directory m->state_dir is. */
void commands_driver(struct command_memory *m, enum driver_kind driver);
/* Number of drivers in the settings. */
unsigned commands_drivers(const struct command_memory *m);
/* Probes the node: sets m->inventory, without holders. HOST_*: a line in `why`. */
MUST_USE enum status commands_node(struct command_memory *m, struct writer *why);
/*
 * Reads a page of the agent; returns its code, or 0 with a line in `why` when there is no response.
 * The body is valid until the next page; a body larger than m->cdi[0] is cut.
 */
unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                  struct writer *why);
/*
 * Writes a whole page to m->out_fd. HOST_*: the page is missing or cannot be written; a line in
 * `why`.
 */
MUST_USE enum status page_copy(struct command_memory *m, const char *path, struct writer *why);
/*
 * Makes the agent behind this service socket unprepare the claim, as the kubelet would. HOST_*: it
 * did not; `why` gets one line.
 */
MUST_USE enum status release_call(struct command_memory *m, const char *socket_path,
                                  const struct claim_id *id, struct writer *why);

#endif
