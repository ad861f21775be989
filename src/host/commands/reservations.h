/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `reservations`: a loop around the connection to the API server alone, which ends when
 * the list of claims does, or RESERVATIONS_LIMIT_MS after its start.
 */
#ifndef HOST_COMMANDS_RESERVATIONS_H
#define HOST_COMMANDS_RESERVATIONS_H

#include "agent/claims/reservations.h"
#include "command/command.h"
#include "host/apiserver/apilink.h"

/* What the command needs; in the place of the loop's memory, because the loop does not run. */
struct reservations_memory {
    struct agent *agent; /* borrowed */
    enum settings_output output;
    uint64_t end_ms; /* when its time is over */
    struct apilink api;
    struct reservations list;
    struct document document;
    struct writer out;                     /* over `part` */
    uint8_t part[COMMAND_PART_BYTES / 2u]; /* one claim, each byte of it escaped */
};

/*
 * Prints the claims that are reserved, each as soon as it is read; `m` is all zero before.
 * STATUS_OK: the list was complete, and *some says whether there is one. Other verdicts: it cannot
 * be told; `why` gets one line with the reason and the remedy. Calls agent_init; call once.
 */
MUST_USE enum status reservations_print(struct reservations_memory *m,
                                        const struct settings *settings, bool *some,
                                        struct writer *why);

#endif
