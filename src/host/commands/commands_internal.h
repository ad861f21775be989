/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by sources.c, which reads and writes for all commands, by command_pages.c and
 * command_release.c, which talk to the agent, by command_check.c, by commands.c, which joins them,
 * and by bundle.c. No other file includes this one.
 */
#ifndef HOST_COMMANDS_COMMANDS_INTERNAL_H
#define HOST_COMMANDS_COMMANDS_INTERNAL_H

#include "host/commands/commands.h"
#include "wire/grpc_client.h"
#include "wire/http_status.h"

/*
 * Size of a buffer for the path of a file: a directory from the settings and the longest file name.
 */
#define COMMAND_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP + 16u)

/* Whether the output format is text, not JSON or YAML. */
bool commands_are_text(const struct command_memory *m);
/*
 * Writes bytes to `fd` unchanged. On failure (HOST_*) `why` gets one line that names the output and
 * the reason.
 */
MUST_USE enum status output_write(int fd, struct view bytes, struct writer *why);
/*
 * Writes text to `fd` and escapes characters that a terminal would interpret or not show
 * (writer_safe). The commands print all text from files and from the agent by this function, except
 * for what `bundle` copies into its files, and the lines of `reservations`, whose values are
 * already escaped. `colour`: does not escape the colours of the command `devices`. On failure
 * (HOST_*) `why` gets one line.
 */
MUST_USE enum status commands_write(int fd, struct view text, bool colour, struct writer *why);
/*
 * Writes m->out to m->out_fd by commands_write, and empties m->out. On failure (HOST_*) `why` gets
 * one line.
 */
MUST_USE enum status commands_flush(struct command_memory *m, struct writer *why);
/* Selects the driver whose claim store is read: sets m->driver and m->state_dir. */
void commands_driver(struct command_memory *m, enum driver_kind driver);
/* Returns how many drivers the settings enable. */
unsigned commands_drivers(const struct command_memory *m);
/*
 * Probes the node and sets the devices of m->inventory, but not their holders. On failure (HOST_*)
 * `why` gets one line.
 */
MUST_USE enum status commands_node(struct command_memory *m, struct writer *why);
/*
 * Replaces the devices in m->inventory with the EFA devices: those of the node or, if `offline`, of
 * the instance type of --board. On failure (HOST_*) `why` gets one line.
 */
MUST_USE enum status commands_efas(struct command_memory *m, bool offline, struct writer *why);
/*
 * Loads the devices of a driver on this node, and the agent's verdicts on their health. On failure
 * (HOST_*) `why` gets one line.
 */
MUST_USE enum status commands_devices(struct command_memory *m, unsigned driver,
                                      struct writer *why);
/*
 * Opens the claim store of the selected driver. STATUS_OK: the store has a valid header.
 * HOST_ABSENT: there is no store. HOST_BUSY: a directory or a special file has the name of the
 * store.
 */
MUST_USE enum status commands_store(struct command_memory *m);
/* Reads a slot of the open claim store into m->record or m->outline. */
enum slot_state commands_slot(struct command_memory *m, unsigned slot);
/* Appends the reason why commands_store returned the status `s`, and the remedy. */
void commands_store_trouble(const struct command_memory *m, enum status s, struct writer *why);
/*
 * Replaces the holders in m->inventory with the claims that hold devices of a driver, also from
 * records that a newer agent wrote and, for claims that the store lacks, from CDI files. On failure
 * (HOST_*) the store cannot be read, `why` gets one line, and the holders are those that the CDI
 * files show.
 */
MUST_USE enum status commands_holders(struct command_memory *m, enum driver_kind driver,
                                      struct writer *why);
/* --- the agent's verdicts (verdicts.c) --- */

/*
 * Returns the body of the agent's page /statusz, which is read once for each output; empty: no
 * agent serves that page. Valid until another page is read.
 */
struct view commands_status(struct command_memory *m);
/*
 * Forgets the body of the page /statusz, because another page was read into the same memory.
 * `absent`: no agent runs, so commands_status does not request the page again.
 */
void commands_status_forget(struct command_memory *m, bool absent);
/* Sets the running agent's verdicts on the health of the devices in m->inventory. */
void commands_verdicts(struct command_memory *m);

/* --- CDI files (cdi_files.c) --- */

/* Returns how the CDI file of the claim in m->record compares with that record. */
enum cdi_state commands_cdi_state(struct command_memory *m);
/*
 * Maintain the list m->stored of the claims in the selected driver's store. commands_stored_begin
 * empties the list. commands_stored_add adds the claim in the slot that commands_slot read last;
 * `state`: what commands_slot returned for that slot.
 */
void commands_stored_begin(struct command_memory *m);
void commands_stored_add(struct command_memory *m, enum slot_state state);
/* A CDI file that shows a claim or devices that the claim store lacks. */
struct cdi_witness {
    bool read; /* m->record is the claim of the file; false: the file cannot be read */
    /* the store lacks the claim; false: the store has the claim, but with fewer devices */
    bool alone;
    /* bit N: according to this file, but not to the store, the claim holds device N */
    uint64_t numbers;
    char file[CDI_FILE_NAME_CAP];
};
/*
 * Iterate over the CDI files of the selected driver that show claims or devices that the list
 * m->stored lacks. commands_witness_end returns 0, or an errno if a directory that exists could not
 * be read completely.
 */
void commands_witness_begin(struct command_memory *m);
bool commands_witness_next(struct command_memory *m, struct cdi_witness *w);
int commands_witness_end(struct command_memory *m);
/* Adds the claims that only CDI files show to the holders in m->inventory. */
void commands_witness_hold(struct command_memory *m);

/* The command `check`: prints to m->out_fd, and sets m->answer_no if the node is not ready. */
MUST_USE enum status command_check(struct command_memory *m, struct writer *why);
/*
 * If a page ends early, the page_ functions repeat the request, up to PAGE_RETRIES_MAX times.
 *
 * Reads a page of the agent. Returns the HTTP status code of the response, or 0 with one line in
 * `why` if the response is missing or incomplete. *body is valid until the next page is read.
 */
unsigned page_get(struct command_memory *m, const char *path, struct view *body,
                  struct writer *why);
/*
 * Writes the body of a page, with any status code except 404, to m->out_fd, which must be an empty
 * file. Fails (HOST_*) if the page is missing (404) or incomplete, has more than
 * BUNDLE_FILE_BYTES_MAX bytes, or cannot be written; then `why` gets one line, and the file may
 * have a part of the page.
 */
MUST_USE enum status page_copy(struct command_memory *m, const char *path, struct writer *why);
/*
 * Prints a page to m->out_fd by commands_write, if the page is complete and its status code is 200;
 * otherwise prints nothing. On failure (HOST_*) `why` gets one line. *absent: no agent runs, or the
 * running agent has no such page.
 */
MUST_USE enum status page_print(struct command_memory *m, const char *path, bool *absent,
                                struct writer *why);
/* --- a gRPC call over a unix socket (command_call.c) --- */

/* A call of a command. */
struct grpc_out {
    uint64_t end_ms; /* set by the caller: time limit of the call, on the clock of clock_now_ms */
    int fd;
    struct grpc_client call;
};
/*
 * Connects, and sends the request: a message with its prefix. Uses m->h2, m->half and m->cdi[0]
 * until grpc_call_end, which must follow in any case. Returns 0 or an errno; EPROTO: the peer does
 * not speak HTTP/2.
 */
int grpc_call_begin(struct command_memory *m, struct grpc_out *c, const char *socket_path,
                    const char *method, struct view request);
/*
 * Waits for the next piece of the response message, which starts with its prefix and is valid until
 * the next call; empty: the response has ended. Returns 0 or an errno as grpc_call_begin.
 */
int grpc_call_next(struct grpc_out *c, struct view *piece);
void grpc_call_end(const struct grpc_out *c);
/*
 * Fills m->pods with the pods of a namespace and their claims, as the kubelet lists them. If the
 * kubelet gives no list, m->pods_known is false; then, and if the list is not complete, writes a
 * line about that to standard error. On failure (HOST_*) that line cannot be written, and `why`
 * gets one line.
 */
MUST_USE enum status pods_ask(struct command_memory *m, struct view namespace_, struct writer *why);
/*
 * Makes the agent that serves this service socket unprepare the claim, as the kubelet would. On
 * failure (HOST_*) the claim may still be held, and `why` gets one line.
 */
MUST_USE enum status release_call(struct command_memory *m, const char *socket_path,
                                  const struct claim_id *id, struct writer *why);

#endif
