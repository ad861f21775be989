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
#include "command/pods.h"
#include "host/node/efa_probe.h"
#include "host/node/probe.h"
#include "wire/h2.h"
#include "host/system.h"

/*
 * Kinds of findings of the command `check`: a reason why the node is not ready, or a warning about
 * something else that is wrong.
 */
enum finding_kind { FINDING_REASON, FINDING_WARNING };

/* The part of a claim of the claim store that the commands compare with the claim's CDI file. */
struct stored_claim {
    uint64_t numbers; /* bit N: the claim holds device N; all bits: the claim is released */
    char uid[UID_CAP];
};

/* A directory that is open while the directories above it are open too. */
struct directory_level {
    struct directory directory;
    size_t parent_len; /* length of the path of the directory above */
};

/*
 * Memory of a command. It overlaps the memory of the main loop, which does not run in a process of
 * a command.
 */
struct command_memory {
    const struct settings *settings;
    /*
     * The command that the settings name; for `bundle`, the command whose output is being written.
     */
    enum settings_command command;
    enum settings_output output;
    int out_fd; /* descriptor to which the command writes its output */
    /* descriptor of the anonymous file that has the content of one file of a bundle's archive */
    int member_fd;
    int store_fd; /* descriptor of the claim store, open for reading; -1: not open */
    struct probe probe;
    struct found_efas efas;
    struct inventory inventory;
    struct document document;
    struct writer out; /* writes into `part`, the buffer for one piece of output */
    bool answer_no;  /* the command succeeded, but its exit code must be 1 (probe, check, bundle) */
    bool incomplete; /* a file of the bundle is missing */
    bool agent_responds; /* `check`: an agent responded to the request for its page /readyz */
    /* --watch: the output is only added to the checksum `sum`, and not written */
    bool compares;
    uint32_t sum;
    /*
     * `slices`: why no running agent reported its slices; empty: an agent reported them, or --board
     * is set
     */
    struct view forecast;
    bool status_asked; /* the agent was asked for its page /statusz */
    /*
     * body of the agent's page /statusz; empty: the page is not available, and status_why has the
     * reason
     */
    struct view status;
    size_t status_why_len;
    /* `devices`: status of the first failed read of a claim store; STATUS_OK: no read failed */
    enum status holders;
    enum finding_kind finding; /* `check`: kind of the findings that are printed now */
    struct claim_record record;
    struct store_outline outline;
    enum driver_kind driver;  /* driver whose claim store is read */
    char state_dir[PATH_CAP]; /* directory that contains the claim store of `driver` */
    uint8_t half[2][STORE_HALF_BYTES];
    struct directory directory; /* the directory of CDI files, while it is read */
    union {
        struct directory_level levels[SYSFS_COPY_LEVELS_MAX]; /* `bundle` */
        struct pods pods;                                     /* `claims` with --pod */
    };
    bool pods_known;        /* `pods` has the kubelet's list; false: the kubelet did not give it */
    unsigned stored_claims; /* number of elements of `stored` in use */
    struct stored_claim stored[CLAIMS_MAX];
    uint8_t cdi[2][CDI_BYTES_MAX];
    uint8_t part[COMMAND_PART_BYTES];
    uint8_t page[PAGE_BYTES_MAX]; /* body of the agent's page that was read last */
    struct h2 h2;                 /* HTTP/2 state of the connection of a gRPC call */
    struct h2_stream stream;
    uint8_t line[HOST_TEXT_CAP];   /* `check`: the finding that is being written */
    uint8_t reason[HOST_TEXT_CAP]; /* why a file of the bundle is missing */
    uint8_t status_why[HOST_TEXT_CAP];
};

/*
 * Initializes the memory of a command. Call once, before the other functions of this header. `m`
 * must be all zero.
 */
void commands_begin(struct command_memory *m, const struct settings *settings);
/*
 * Prints the output of m->command (not COMMAND_BUNDLE or COMMAND_RESERVATIONS) to m->out_fd, in the
 * format m->output. STATUS_OK: the output is complete, and m->answer_no is set if the exit code
 * must be 1. PEER_MALFORMED: the usage is wrong. HOST_*: the command failed. On each failure `why`
 * gets one line with reason and remedy.
 */
MUST_USE enum status commands_print(struct command_memory *m, struct writer *why);
/*
 * Like commands_print; with --watch, prints again whenever the output has changed, until a signal
 * ends the process or the reader of standard output closes it.
 */
MUST_USE enum status commands_watch(struct command_memory *m, struct writer *why);
/*
 * Writes the content of `out` to the descriptor `fd`, and empties `out`. On failure (HOST_*) `why`
 * gets one line.
 */
MUST_USE enum status output_flush(struct writer *out, int fd, struct writer *why);

#endif
