/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads sysfs for the agent, because a read can hang (reading.h), and so that
 * the process which speaks to strangers has no way to sysfs. It is forked before the sandbox, has
 * one of its own, and does what it is asked: a look at the node, how much memory of devices is in
 * use, or what the class files of an UltraServer say. It also waits for the errors that the kernel
 * module reports. Owns the descriptors of the files that stay open, and its page while it has been
 * asked.
 *
 * Question and answer are one byte each on a pair of sockets; their content is in the page, which
 * both processes map. The end of either closes the pair, and the other one ends.
 */
#ifndef HOST_NODE_READER_H
#define HOST_NODE_READER_H

#include "dra/efa.h"
#include "dra/telemetry.h"
#include "host/node/probe.h"
#include "host/node/reading.h"

/* What a look at the node gives; all zero before the first. */
struct sysfs_look {
    int error; /* errno of a look that says nothing about the node; 0: none */
    int efa_error;
    struct probe probe;
    struct found_efas efas;     /* where they were asked for */
    struct telemetry telemetry; /* last: never touched without --device-metrics */
};

/* What a reader can be asked for. */
enum reader_task { READER_LOOK, READER_MEMORY, READER_ULTRASERVER };
/* The byte that asks, and those of an answer and of an error that a device reported. */
enum { READER_ASK = 1, READER_ANSWER, READER_EVENT };

/* What one reader and the agent share. */
struct reader_page {
    struct reading_note note;         /* the reader's */
    struct reading_left_out left_out; /* this and the next four: the agent's, until it asks */
    bool efas;                        /* of READER_LOOK: the EFA devices too */
    uint32_t task;                    /* enum reader_task */
    uint64_t numbers;                 /* of READER_MEMORY: bit N: device N */
    bool forget;                      /* another does the looks: close all files, and clear this */
    /* The answers, until the next question: bytes in use by device and core, or -errno. */
    int64_t memory[DEVICES_MAX][TELEMETRY_CORES_MAX];
    int ultraserver_error; /* errno of a failure that says nothing; 0: none */
    struct found_ultraserver ultraserver;
    struct sysfs_look look;
};

/*
 * The life of a reader, in a process of its own: takes the sandbox, then answers on `fd`. Ends when
 * the other end is closed, and is killed when the agent dies.
 */
__attribute__((noreturn)) void reader_run(const struct settings *settings, struct reader_page *page,
                                          int fd);

#endif
