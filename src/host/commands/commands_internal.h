/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by sources.c, which reads and writes for all commands, by command_pages.c and
 * command_release.c, which talk to the agent, by command_check.c, by commands.c, which joins them,
 * and by bundle.c. No other file includes this one.
 */
#ifndef HOST_COMMANDS_COMMANDS_INTERNAL_H
#define HOST_COMMANDS_COMMANDS_INTERNAL_H

#include "host/commands/commands.h"
#include "wire/http_status.h"

/* Room for the path of a file: a directory from the settings and the longest file name. */
#define COMMAND_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP + 16u)

/* Whether the output is text for people, and not a document. */
bool commands_are_text(const struct command_memory *m);
/*
 * Writes text to `fd` and escapes characters that a terminal would obey or not show (writer_safe).
 * Commands write their output by this function, except copies of files and of pages. `colour`: does
 * not escape the colours of the command `devices`. HOST_*: `why` gets a line.
 */
MUST_USE enum status commands_write(int fd, struct view text, bool colour, struct writer *why);
/* Writes m->out to m->out_fd by commands_write and empties it. HOST_*: a line in `why`. */
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
 * Replaces the devices in m->inventory by the EFA devices: those of the node or, if `offline`, of
 * the type of --board. HOST_*: `why` gets a line.
 */
MUST_USE enum status commands_efas(struct command_memory *m, bool offline, struct writer *why);
/* Loads the devices of a driver on this node. HOST_*: `why` gets a line. */
MUST_USE enum status commands_devices(struct command_memory *m, unsigned driver,
                                      struct writer *why);
/*
 * Opens the store of the selected driver. STATUS_OK: it has a valid header. HOST_ABSENT: there is
 * no store.
 */
MUST_USE enum status commands_store(struct command_memory *m);
/* Reads a slot of the open store into m->record or m->outline. */
enum slot_state commands_slot(struct command_memory *m, unsigned slot);
/* Appends why commands_store failed with `s`, and the remedy. */
void commands_store_trouble(const struct command_memory *m, enum status s, struct writer *why);
/*
 * Loads which claims hold devices of a driver, also from records that a newer agent wrote. HOST_*:
 * the store cannot be read; `why` gets a line.
 */
MUST_USE enum status commands_holders(struct command_memory *m, enum driver_kind driver,
                                      struct writer *why);
/* The command `check`: prints to m->out_fd, and sets m->answer_no if the node is not ready. */
MUST_USE enum status command_check(struct command_memory *m, struct writer *why);
/*
 * Reads a page of the agent. Returns its HTTP status code, or 0 with a line in `why` if the agent
 * does not respond. *body is valid until the next page is read; a body that exceeds m->cdi[0] is
 * cut.
 */
unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                  struct writer *why);
/*
 * Writes a whole page to m->out_fd. HOST_*: the page is missing or cannot be written, and `why`
 * gets one line.
 */
MUST_USE enum status page_copy(struct command_memory *m, const char *path, struct writer *why);
/*
 * Like page_copy, but writes nothing unless the status code is 200. *served: the agent serves the
 * page; if the function fails nevertheless, it has nothing to show yet (503), or a part of the page
 * may already be written.
 */
MUST_USE enum status page_copy_ok(struct command_memory *m, const char *path, bool *served,
                                  struct writer *why);
/*
 * Makes the agent behind this service socket unprepare the claim, as the kubelet would. HOST_*: the
 * claim is not released, and `why` gets one line.
 */
MUST_USE enum status release_call(struct command_memory *m, const char *socket_path,
                                  const struct claim_id *id, struct writer *why);

#endif
