/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that reads sysfs for the agent. It is a separate process because a read can hang
 * (reading.h), and so that the agent, which talks to other programs, needs no access to sysfs. The
 * agent forks the reader before entering the sandbox; the reader enters a separate sandbox. Its
 * tasks are a probe of the node, the memory use of devices, and the UltraServer files of
 * class/neuron_device. It also waits for errors that the kernel module reports. Owns the
 * descriptors of the files that it keeps open. From a question to its answer, the reader owns the
 * shared page.
 *
 * A question and its answer are one byte each on a socket pair; the shared page, which both
 * processes map, holds their content. When one process ends, the socket pair closes and the other
 * process ends too.
 */
#ifndef HOST_NODE_READER_H
#define HOST_NODE_READER_H

#include "dra/efa.h"
#include "dra/telemetry.h"
#include "host/node/probe.h"
#include "host/node/reading.h"

/* The findings of a probe of the node; all zero before the first probe. */
struct sysfs_probe {
    int error; /* errno if the probe failed and the devices are unknown; 0: success */
    int efa_error;
    struct probe probe;
    struct found_efas efas; /* the EFA devices, if `efas` in struct reader_page is set */
    /*
     * last member, so that its memory pages are never written if no flag asks for metrics of
     * devices
     */
    struct telemetry telemetry;
};

/* What a reader can be asked to read: the node, memory use of devices, or UltraServer files. */
enum reader_task { READER_PROBE, READER_MEMORY, READER_ULTRASERVER };
/* Bytes on the socket pair: a question, its answer, and the report of an error event. */
enum { READER_ASK = 1, READER_ANSWER, READER_EVENT };

/* Memory that one reader process and the agent share. */
struct reader_page {
    struct reading_note note; /* what the reader is reading; only the reader writes this member */
    /* The agent writes left_out, efas, task, numbers and forget; the reader only clears forget. */
    struct reading_left_out left_out;
    bool efas;        /* READER_PROBE: include the EFA devices */
    uint32_t task;    /* the task that the reader must do, as enum reader_task */
    uint64_t numbers; /* READER_MEMORY: devices to read; bit N: device N */
    /*
     * Set when another reader takes over the probes: this reader then closes its open files and
     * clears the flag.
     */
    bool forget;
    /*
     * The reader's answer: this member and all members after it, valid until the next question.
     * memory[device][core]: bytes in use, or -errno.
     */
    int64_t memory[DEVICES_MAX][TELEMETRY_CORES_MAX];
    int ultraserver_error; /* errno with which reading the UltraServer files failed; 0: success */
    struct found_ultraserver ultraserver;
    struct sysfs_probe result;
};

/*
 * Runs a reader until the agent ends: enters the sandbox, then answers questions on `fd`. Call in a
 * new process. If the agent dies, the kernel kills the reader.
 */
__attribute__((noreturn)) void reader_run(const struct settings *settings, struct reader_page *page,
                                          int fd);

#endif
