/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The looks at the node's devices: when the readers (readers.h) are asked for one, and how
 * the agent gets the result. Owns the look that was taken last, and the readers.
 */
#ifndef HOST_NODE_LOOKS_H
#define HOST_NODE_LOOKS_H

#include "agent/agent.h"
#include "host/node/readers.h"

struct looks {
    const struct settings *settings;
    struct agent *agent; /* that of the first driver */
    struct agent *efa;   /* that of the second; NULL: there is none, or not any more */
    bool efas;           /* the looks are at the EFA devices too */
    struct readers readers;
    uint64_t due_ms; /* when the node is looked at again */
    bool wanted;     /* it is to be, as soon as a reader can */
    bool told;       /* the agent has received one look at least */
    int error;       /* errno of the last look, 0 when it succeeded */
    int efa_error;
    struct sysfs_look look; /* the last one; its telemetry is the agent's from the start on */
};

/* Forks the readers, see readers_begin, and asks for the first look; `efas`: with EFA devices. */
MUST_USE enum status looks_begin(struct looks *l, const struct settings *settings, bool efas,
                                 struct writer *why);
/*
 * The agent is there; borrowed. Waits for the first look, but READ_FIRST_MS at most: without it the
 * agent's devices are unknown.
 */
void looks_first(struct looks *l, struct agent *agent, struct agent *efa);
/* What poll(2) waits for. */
void looks_interest(const struct looks *l, struct pollfd slots[READERS]);
/*
 * Takes what the readers said. Before the agent's step. true: the time of a look has come, for what
 * else is looked at then.
 */
bool looks_turn(struct looks *l, const struct pollfd slots[READERS], uint64_t now_ms);
/* When looks_turn must be called at the latest. */
uint64_t looks_deadline(const struct looks *l);
/* Ends the readers. */
void looks_end(struct looks *l);

#endif
