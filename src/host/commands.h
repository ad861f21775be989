/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands beside `run`: reads the node, the claim store, CDI files and the agent's own pages,
 * and prints what src/command makes of them. Takes no lock and writes no file, so that it disturbs
 * no agent that runs beside it.
 */
#ifndef HOST_COMMANDS_H
#define HOST_COMMANDS_H

#include "command/command.h"
#include "host/probe.h"

/* What a command needs; in the place of the loop's memory, because the loop does not run. */
struct command_memory {
    const struct settings *settings;
    int store_fd; /* of the claim store, for reading; -1 */
    struct probe probe;
    struct inventory inventory;
    struct document document;
    struct writer out; /* over `part` */
    bool answer_no;    /* probe and check: exit code 1 */
    unsigned reasons;
    struct claim_record record;
    struct store_outline outline;
    char state_dir[PATH_CAP];
    uint8_t half[2][STORE_HALF_BYTES];
    uint8_t cdi[2][CDI_BYTES_MAX];
    uint8_t part[COMMAND_PART_BYTES];
};

/*
 * Runs the command of the settings. STATUS_OK: done, with m->answer_no for what it says.
 * PEER_MALFORMED: bad usage. HOST_*: it could not; `why` gets one line with reason and remedy.
 * `m` is all zero before.
 */
MUST_USE enum status commands_run(struct command_memory *m, const struct settings *settings,
                                  struct writer *why);

#endif
