/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands beside `run`: reads the node, the claim store, CDI files and the agent's own pages,
 * and prints what src/command makes of them, or writes it into the directory of a bundle. Takes no
 * lock and writes no file of the agent, so that it disturbs none that runs beside it; `release` has
 * the agent itself release a claim.
 */
#ifndef HOST_COMMANDS_COMMANDS_H
#define HOST_COMMANDS_COMMANDS_H

#include "command/command.h"
#include "host/node/efa_probe.h"
#include "host/node/probe.h"
#include "wire/h2.h"
#include "host/system.h"

/* What a command needs; in the place of the loop's memory, because the loop does not run. */
struct command_memory {
    const struct settings *settings;
    enum settings_command command; /* of the settings; of `bundle` the one that prints now */
    enum settings_output output;
    int out_fd;   /* where the output goes */
    int store_fd; /* of the claim store, for reading; -1 */
    struct probe probe;
    struct found_efas efas;
    struct inventory inventory;
    struct document document;
    struct writer out; /* over `part` */
    bool answer_no;    /* probe, check and bundle: exit code 1 */
    bool incomplete;   /* a file of a bundle is missing */
    unsigned reasons;
    struct claim_record record;
    struct store_outline outline;
    enum driver_kind driver;  /* whose store is read */
    char state_dir[PATH_CAP]; /* its directory */
    uint8_t half[2][STORE_HALF_BYTES];
    struct directory directory; /* whose files the bundle gets */
    uint8_t cdi[2][CDI_BYTES_MAX];
    uint8_t part[COMMAND_PART_BYTES];
    struct h2 h2; /* of `release` */
    struct h2_stream stream;
    uint8_t reason[HOST_TEXT_CAP]; /* why a file of a bundle is missing */
};

/* Before the others, once; `m` is all zero before. */
void commands_begin(struct command_memory *m, const struct settings *settings);
/*
 * Prints what m->command prints, but COMMAND_BUNDLE and COMMAND_RESERVATIONS, in the form of
 * m->output to m->out_fd. STATUS_OK: done, with m->answer_no for what it says. PEER_MALFORMED: bad
 * usage. HOST_*: it could not; `why` gets one line with reason and remedy.
 */
MUST_USE enum status commands_print(struct command_memory *m, struct writer *why);
/* Writes `out` to the descriptor and empties it. HOST_*: `why` gets one line. */
MUST_USE enum status output_flush(struct writer *out, int fd, struct writer *why);

#endif
