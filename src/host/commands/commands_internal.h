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
/* From now on m->state_dir is the directory of this driver. */
void commands_driver(struct command_memory *m, enum driver_kind driver);
/* How many drivers the settings have. */
unsigned commands_drivers(const struct command_memory *m);
/* Looks at the node: m->inventory without holders. HOST_*: a line in `why`. */
MUST_USE enum status commands_node(struct command_memory *m, struct writer *why);
/*
 * A page of the agent: its code, 0 with a line in `why` when nobody responds. The body is valid
 * until the next page; one that is larger than m->cdi[0] is cut.
 */
unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                  struct writer *why);
/* Writes a whole page to m->out_fd. HOST_*: it is not there or cannot be written; as above. */
MUST_USE enum status page_copy(struct command_memory *m, const char *path, struct writer *why);
/*
 * Has the agent behind this service socket unprepare the claim, as the kubelet does. HOST_*: it did
 * not; `why` gets one line.
 */
MUST_USE enum status release_call(struct command_memory *m, const char *socket_path,
                                  const struct claim_id *id, struct writer *why);

#endif
