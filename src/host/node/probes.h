/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of the node's devices: when a reader (readers.h) starts one, and how the agent gets the
 * result. Owns the last result, and the readers.
 */
#ifndef HOST_NODE_PROBES_H
#define HOST_NODE_PROBES_H

#include "agent/agent.h"
#include "host/node/readers.h"

/* The probes of both drivers, and the agents that read them. */
struct probes {
    const struct settings *settings;
    struct agent *agent; /* of the first driver */
    struct agent *efa;   /* of the second driver; NULL: none, or ended */
    bool efas;           /* probe the EFA devices too */
    struct readers readers;
    uint64_t due_ms; /* time of the next probe */
    bool wanted;     /* a probe is due as soon as a reader can do it */
    bool told;       /* the agent has received a result */
    int error;       /* errno of the last probe; 0: it succeeded */
    int efa_error;
    struct sysfs_probe result; /* the last result; the agent uses its telemetry from the start on */
};

/* Forks the readers, see readers_begin, and starts the first probe; `efas`: with EFA devices. */
MUST_USE enum status probes_begin(struct probes *l, const struct settings *settings, bool efas,
                                  struct writer *why);
/*
 * Sets the agents; borrowed. Waits for the first probe, READ_FIRST_MS at most: without it the
 * agent's devices are unknown.
 */
void probes_first(struct probes *l, struct agent *agent, struct agent *efa);
/* Sets the slots for poll(2). */
void probes_interest(const struct probes *l, struct pollfd slots[READERS]);
/*
 * Receives the readers' answers; call before the agent's step. true: a probe is due, so other
 * periodic scans are too.
 */
bool probes_turn(struct probes *l, const struct pollfd slots[READERS], uint64_t now_ms);
/* The latest time for the next probes_turn. */
uint64_t probes_deadline(const struct probes *l);
/* Ends the readers. */
void probes_end(struct probes *l);

#endif
