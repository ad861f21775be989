/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a reader (readers.h) probes the node's devices, and passes the findings to the
 * agents. Owns the readers and the findings of the last probe.
 */
#ifndef HOST_NODE_PROBES_H
#define HOST_NODE_PROBES_H

#include "agent/agent.h"
#include "host/node/readers.h"

/* The probes of both drivers, and the agents that get their findings. */
struct probes {
    const struct settings *settings;
    struct agent *agent; /* agent of the first driver, borrowed */
    struct agent *efa;   /* agent of the EFA driver, borrowed; NULL: the driver does not run */
    bool efas;           /* each probe includes the EFA devices */
    struct readers readers;
    uint64_t due_ms; /* time of the next periodic probe of the node */
    bool wanted;     /* a probe must start as soon as a reader is idle */
    /* the first probe has ended: its findings, or that none arrived in time, are reported */
    bool told;
    int error; /* errno with which the last probe failed; 0: the last probe succeeded */
    int efa_error;
    /*
     * Findings of the last probe. The first agent borrows the member telemetry, see
     * agent_telemetry.
     */
    struct sysfs_probe result;
};

/*
 * Forks the readers (see readers_begin) and starts the first probe. `efas`: also probe the EFA
 * devices.
 */
MUST_USE enum status probes_begin(struct probes *l, const struct settings *settings, bool efas,
                                  struct writer *why);
/*
 * Sets the agents, which are borrowed, and passes them the findings of the first probe. Waits for
 * these findings for at most READ_FIRST_MS; if they do not arrive by then, the agents treat all
 * devices as unknown.
 */
void probes_first(struct probes *l, struct agent *agent, struct agent *efa);
/* Sets the slots for poll(2), one for each reader. */
void probes_interest(const struct probes *l, struct pollfd slots[READERS]);
/*
 * Receives the answers of the readers and starts probes. Call in each turn of the main loop, before
 * agent_step. Returns whether the periodic probe is due, which is also the time for other periodic
 * scans.
 */
bool probes_turn(struct probes *l, const struct pollfd slots[READERS], uint64_t now_ms);
/* Returns the time by which probes_turn must be called again. */
uint64_t probes_deadline(const struct probes *l);
/* Ends the reader processes. */
void probes_end(struct probes *l);

#endif
