/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of the node's devices: when a reader (readers.h) starts one, and how the agent gets the
 * result. Owns the last result, and the readers.
 */
#ifndef HOST_NODE_LOOKS_H
#define HOST_NODE_LOOKS_H

#include "agent/agent.h"
#include "host/node/readers.h"

struct looks {
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
    struct sysfs_look look; /* the last result; the agent uses its telemetry from the start on */
};

/* Forks the readers, see readers_begin, and starts the first probe; `efas`: with EFA devices. */
MUST_USE enum status looks_begin(struct looks *l, const struct settings *settings, bool efas,
                                 struct writer *why);
/*
 * Sets the agents; borrowed. Waits for the first probe, READ_FIRST_MS at most: without it the
 * agent's devices are unknown.
 */
void looks_first(struct looks *l, struct agent *agent, struct agent *efa);
/* Sets the slots for poll(2). */
void looks_interest(const struct looks *l, struct pollfd slots[READERS]);
/*
 * Receives the readers' answers; call before the agent's step. true: a probe is due, so other
 * periodic scans are too.
 */
bool looks_turn(struct looks *l, const struct pollfd slots[READERS], uint64_t now_ms);
/* The latest time for the next looks_turn. */
uint64_t looks_deadline(const struct looks *l);
/* Ends the readers. */
void looks_end(struct looks *l);

#endif
