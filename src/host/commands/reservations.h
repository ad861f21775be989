/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `reservations`: runs a loop with the connection to the API server as its only
 * descriptor. The command ends when the list of claims is complete, or RESERVATIONS_LIMIT_MS after
 * its start.
 */
#ifndef HOST_COMMANDS_RESERVATIONS_H
#define HOST_COMMANDS_RESERVATIONS_H

#include "agent/commands/reservations.h"
#include "command/command.h"
#include "host/apiserver/apilink.h"

/*
 * Memory of the command `reservations`. Overlaps the memory of the main loop, which does not run in
 * this process.
 */
struct reservations_memory {
    struct agent *agent; /* the agent that connects to the API server; borrowed */
    enum settings_output output;
    uint64_t end_ms; /* time at which the command's time limit ends */
    struct apilink api;
    struct reservations list;
    struct document document;
    struct writer out; /* writes into the buffer `part` */
    /* buffer for the output about one claim; large enough even if every byte is escaped */
    uint8_t part[COMMAND_PART_BYTES / 2u];
};

/*
 * Prints the reserved claims, each as soon as it is read. `m` must be all zero. STATUS_OK: the list
 * is complete; *some: the list has at least one claim. Other statuses: the list could not be read
 * completely, and `why` gets one line with the reason and the remedy. Calls agent_init; call once.
 */
MUST_USE enum status reservations_print(struct reservations_memory *m,
                                        const struct settings *settings, bool *some,
                                        struct writer *why);

#endif
