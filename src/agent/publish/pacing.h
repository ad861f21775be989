/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the next round of the publisher starts (pacing.c). Owns struct pacing. Internal to
 * src/agent.
 */
#ifndef AGENT_PUBLISH_PACING_H
#define AGENT_PUBLISH_PACING_H

#include "agent/agent.h"

/* What determines when the next round starts. */
struct pacing {
    uint64_t due_ms;  /* start of the next round; UINT64_MAX: no round is planned */
    uint64_t wait_ms; /* until this time, rounds wait for the kubelet to register the driver */
    /* random extra wait before the first round; 0 once that round has started */
    uint64_t spread_ms;
    uint64_t not_before_ms; /* no round starts before this time, even if one is requested */
    /* wait before the next round after a failed one; it grows while rounds fail */
    uint64_t backoff_ms;
    /* current wait after the server refused a slice as invalid; 0: there is none */
    uint64_t invalid_ms;
    /* current wait before the next round, while rounds write slices in quick succession */
    uint64_t repair_ms;
    uint64_t write_ms; /* when a round last wrote a slice */
    unsigned writes;   /* number of rounds in quick succession that wrote a slice */
};

/*
 * Plans the first round: late enough for the kubelet's registration, and spread over the nodes of a
 * cluster.
 */
void pacing_init(struct agent *a);
/* Start of the next round; UINT64_MAX: no round is planned. */
uint64_t pacing_due(const struct pacing *p);
/* Cancels the planned round; a later request plans one again. */
void pacing_cancel(struct pacing *p);
/* Records that a round starts: no further round is planned until one is requested. */
void pacing_started(struct pacing *p);
/* Plans the next round for at_ms, unless an earlier round is planned. */
void pacing_by(struct pacing *p, uint64_t at_ms);
/* Ends the wait for the kubelet's registration. */
void pacing_registered(struct pacing *p);
/* Earliest start of a round that is requested at now_ms. */
uint64_t pacing_soon(const struct pacing *p, uint64_t now_ms);
/*
 * Plans the next round for `due_ms`, because a round was given up. If `firm`, no round starts
 * earlier, even if one is requested.
 */
void pacing_failed(struct pacing *p, uint64_t due_ms, bool firm);
/* Delays the next round because the server refused a slice as invalid; returns the wait in ms. */
uint64_t pacing_invalid(struct agent *a);
/* Ends the wait that pacing_invalid began, because the wanted content has changed. */
void pacing_content_changed(struct pacing *p);
/*
 * Records that a round has completed, and plans the next one: at the interval, or at once if one
 * was requested meanwhile.
 */
void pacing_over(struct agent *a);
/*
 * Limits how soon the next round may follow a round that wrote a slice; `lossy`: the server does
 * not keep all fields of the slice.
 */
void pacing_wrote(struct agent *a, bool lossy);

#endif
