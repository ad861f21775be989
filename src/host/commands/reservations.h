/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `reservations`: a loop around the connection to the API server only. It ends with the
 * list of claims, or RESERVATIONS_LIMIT_MS after its start.
 */
#ifndef HOST_COMMANDS_RESERVATIONS_H
#define HOST_COMMANDS_RESERVATIONS_H

#include "agent/commands/reservations.h"
#include "command/command.h"
#include "host/apiserver/apilink.h"

/* The command's memory; it replaces that of the loop, which does not run. */
struct reservations_memory {
    struct agent *agent; /* borrowed */
    enum settings_output output;
    uint64_t end_ms; /* end of its time limit */
    struct apilink api;
    struct reservations list;
    struct document document;
    struct writer out;                     /* writes into `part` */
    uint8_t part[COMMAND_PART_BYTES / 2u]; /* room for one claim with every byte escaped */
};

/*
 * Prints the reserved claims, each as soon as it is read; `m` must be all zero. STATUS_OK: the list
 * was complete; *some: it has a claim. Other verdicts: the answer is unknown; `why` gets one line
 * with the reason and the remedy. Calls agent_init; call once.
 */
MUST_USE enum status reservations_print(struct reservations_memory *m,
                                        const struct settings *settings, bool *some,
                                        struct writer *why);

#endif
