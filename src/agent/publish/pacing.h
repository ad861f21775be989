/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next round of the publisher starts (pacing.c). Owns struct pacing. Internal to
 * src/agent.
 */
#ifndef AGENT_PUBLISH_PACING_H
#define AGENT_PUBLISH_PACING_H

#include "agent/agent.h"

/* When rounds start. */
struct pacing {
    uint64_t due_ms;        /* the next round; UINT64_MAX: not planned */
    uint64_t wait_ms;       /* until then rounds wait for the kubelet's registration */
    uint64_t spread_ms;     /* by which the first round waits longer; 0 once it started */
    uint64_t not_before_ms; /* no round starts earlier, whatever asks for it */
    uint64_t backoff_ms;    /* after a failure */
    uint64_t invalid_ms;    /* after content that the server calls invalid; 0: it does not */
    uint64_t repair_ms;     /* between writes that follow each other closely */
    uint64_t write_ms;      /* last write */
    unsigned writes;        /* that followed each other closely */
};

/* The first round: late enough for the kubelet, and not all nodes of a cluster at once. */
void pacing_init(struct agent *a);
/* When the next round starts; UINT64_MAX: it is not planned. */
uint64_t pacing_due(const struct pacing *p);
/* No next round is planned; whatever asks for one plans it again. */
void pacing_cancel(struct pacing *p);
/* A round starts: until something asks for it, none follows. */
void pacing_started(struct pacing *p);
/* The next round starts at this time at the latest. */
void pacing_by(struct pacing *p, uint64_t at_ms);
/* The kubelet knows the driver: no round waits for that any more. */
void pacing_registered(struct pacing *p);
/* The earliest start of a round that is asked for at now_ms. */
uint64_t pacing_soon(const struct pacing *p, uint64_t now_ms);
/*
 * The round was given up, and is made again at `due_ms`; `firm`: nothing that asks for a round
 * brings that forward.
 */
void pacing_failed(struct pacing *p, uint64_t due_ms, bool firm);
/* The server calls the content invalid: returns how long that content waits. */
uint64_t pacing_invalid(struct agent *a);
/* The content changed: it does not wait because the server refused the one before. */
void pacing_content_changed(struct pacing *p);
/* The round did all that it could. */
void pacing_over(struct agent *a);
/* A round that wrote is over; `lossy`: the server stores less than it is sent. */
void pacing_wrote(struct agent *a, bool lossy);

#endif
