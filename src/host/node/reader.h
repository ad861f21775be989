/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads sysfs for the agent, because a read can hang (reading.h), and so that the
 * process which talks to other programs has no access to sysfs. It is forked before the sandbox and
 * has a sandbox of its own. Its tasks are a probe of the node, the memory use of devices, and the
 * class files of an UltraServer. It also waits for errors that the kernel module reports. Owns the
 * descriptors of the files that stay open and, from question to answer, its page.
 *
 * Question and answer are one byte each on a socket pair; their content is in the page, which both
 * processes map. The end of either process closes the pair, and the other one ends.
 */
#ifndef HOST_NODE_READER_H
#define HOST_NODE_READER_H

#include "dra/efa.h"
#include "dra/telemetry.h"
#include "host/node/probe.h"
#include "host/node/reading.h"

/* The result of a probe of the node; all zero before the first. */
struct sysfs_probe {
    int error; /* errno of a failed probe, which proves nothing about the node; 0: none */
    int efa_error;
    struct probe probe;
    struct found_efas efas;     /* if requested */
    struct telemetry telemetry; /* last member: stays untouched without --device-metrics */
};

/* The tasks of a reader. */
enum reader_task { READER_PROBE, READER_MEMORY, READER_ULTRASERVER };
/* The bytes for a question, an answer, and an error reported by a device. */
enum { READER_ASK = 1, READER_ANSWER, READER_EVENT };

/* Shared by one reader and the agent. */
struct reader_page {
    struct reading_note note; /* written by the reader */
    /* this and the next four: written by the agent before it asks */
    struct reading_left_out left_out;
    bool efas;        /* READER_PROBE: include the EFA devices */
    uint32_t task;    /* enum reader_task */
    uint64_t numbers; /* READER_MEMORY: bit N: device N */
    /* another reader probes from now on: close all files, and clear this */
    bool forget;
    /* The answer, valid until the next question: bytes in use by device and core, or -errno. */
    int64_t memory[DEVICES_MAX][TELEMETRY_CORES_MAX];
    int ultraserver_error; /* errno of a failed read; 0: none */
    struct found_ultraserver ultraserver;
    struct sysfs_probe result;
};

/*
 * Runs a reader, in a process of its own: enters the sandbox, then answers on `fd`. Ends when the
 * other end closes; the kernel kills it when the agent dies.
 */
__attribute__((noreturn)) void reader_run(const struct settings *settings, struct reader_page *page,
                                          int fd);

#endif
