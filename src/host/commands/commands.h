/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All commands but `run`. They read the node, the claim store, CDI files and the agent's HTTP
 * pages; src/command formats this data as text, which the commands print or write into the
 * directory of a bundle. They take no lock and write no file of the agent, so that they do not
 * disturb a running agent. Only `release` changes the agent's state: it asks the agent to release a
 * claim.
 */
#ifndef HOST_COMMANDS_COMMANDS_H
#define HOST_COMMANDS_COMMANDS_H

#include "command/command.h"
#include "host/node/efa_probe.h"
#include "host/node/probe.h"
#include "wire/h2.h"
#include "host/system.h"

/* What `check` finds: a reason why the node is not ready, or something else that is wrong. */
enum finding_kind { FINDING_REASON, FINDING_WARNING };

/* A claim of the claim store, as far as it is compared with its CDI file. */
struct stored_claim {
    uint64_t numbers; /* bit N: the claim holds device N; all bits: the claim is released */
    char uid[UID_CAP];
};

/* Memory of a command. It shares the memory of the loop, which does not run. */
struct command_memory {
    const struct settings *settings;
    /* The command of the settings; for a bundle, the command whose output is being written. */
    enum settings_command command;
    enum settings_output output;
    int out_fd;    /* descriptor for the output */
    int member_fd; /* anonymous file for one file of a bundle's archive */
    int store_fd;  /* claim store, open for reading; -1: not open */
    struct probe probe;
    struct found_efas efas;
    struct inventory inventory;
    struct document document;
    struct writer out;   /* writes into `part`, the buffer for one piece of output */
    bool answer_no;      /* the exit code of probe, check or bundle is 1 */
    bool incomplete;     /* a file of the bundle is missing */
    bool agent_responds; /* check: an agent responded to the request for /readyz */
    /* --watch: the output is not written, but only added to the checksum `sum` */
    bool compares;
    uint32_t sum;
    /* `slices`: why no running agent reported its slices; empty: an agent did, or --board is set */
    struct view forecast;
    bool status_asked;  /* the agent was asked for its page /statusz */
    struct view status; /* body of /statusz; empty: not available, and status_why has the reason */
    size_t status_why_len;
    enum status holders; /* why the claim store could not be read, while devices were printed */
    enum finding_kind finding; /* check: kind of the findings that are printed now */
    struct claim_record record;
    struct store_outline outline;
    enum driver_kind driver;  /* driver whose claim store is read */
    char state_dir[PATH_CAP]; /* state directory of `driver` */
    uint8_t half[2][STORE_HALF_BYTES];
    struct directory directory; /* the directory of CDI files, while it is read */
    unsigned stored_claims;     /* entries of `stored` */
    struct stored_claim stored[CLAIMS_MAX];
    uint8_t cdi[2][CDI_BYTES_MAX];
    uint8_t part[COMMAND_PART_BYTES];
    uint8_t page[PAGE_BYTES_MAX]; /* body of the agent's page that was read last */
    struct h2 h2;                 /* HTTP/2 connection of `release` */
    struct h2_stream stream;
    uint8_t line[HOST_TEXT_CAP];   /* check: the finding that is being written */
    uint8_t reason[HOST_TEXT_CAP]; /* why a file of the bundle is missing */
    uint8_t status_why[HOST_TEXT_CAP];
};

/* Initializes the memory. Call once, before the other functions. `m` must be all zero. */
void commands_begin(struct command_memory *m, const struct settings *settings);
/*
 * Prints the output of m->command (not COMMAND_BUNDLE or COMMAND_RESERVATIONS) to m->out_fd, in the
 * form m->output. STATUS_OK: the output is complete, and m->answer_no is set if the exit code must
 * be 1. PEER_MALFORMED: the usage is wrong. HOST_*: the command failed. On each failure `why` gets
 * one line with reason and remedy.
 */
MUST_USE enum status commands_print(struct command_memory *m, struct writer *why);
/*
 * Like commands_print; with --watch, prints again whenever the output has changed, until a signal
 * ends the process or the reader of standard output closes it.
 */
MUST_USE enum status commands_watch(struct command_memory *m, struct writer *why);
/* Writes `out` to the descriptor and empties it. HOST_*: `why` gets one line. */
MUST_USE enum status output_flush(struct writer *out, int fd, struct writer *why);

#endif
