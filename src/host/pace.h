/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the agent's time the peers of the TCP ports get: anybody reaches these ports. Owns
 * the counts alone; reads no clock and touches no descriptor. The kubelet's sockets and the API
 * server are never paced.
 */
#ifndef HOST_PACE_H
#define HOST_PACE_H

#include "agent/agent.h"

/* Links from this one on belong to strangers: health, then metrics. */
#define STRANGER_FIRST (REGISTRATION_LINKS + SERVICE_LINKS)
#define STRANGER_LINKS (SERVER_LINKS - STRANGER_FIRST)

/* What was used so far. */
struct pace {
    uint64_t window_ms;            /* end of the window under way */
    unsigned used;                 /* transfers of all strangers in it */
    uint8_t first[STRANGER_LINKS]; /* transfers that a new connection still has of its own */
    struct pace_port {
        uint64_t window_ms; /* end of the window under way */
        unsigned rounds;    /* in it, and what they took */
        unsigned accepts;
        unsigned places;
    } port[2];
};

/* A connection has the link `link` from now on. */
void pace_begin(struct pace *p, unsigned link);
/* When the next round of a port may be: now, or when its window is over. */
uint64_t pace_round_ms(const struct pace *p, enum link_kind kind, uint64_t now_ms);
/* Counts a round that pace_round_ms allowed. */
void pace_round(struct pace *p, enum link_kind kind, uint64_t now_ms);
/* Whether one more connection may be accepted, or get a place, in this window; counts it. */
MUST_USE bool pace_accept(struct pace *p, enum link_kind kind);
MUST_USE bool pace_place(struct pace *p, enum link_kind kind);
/* Whether the link may transfer now: one read(2) or one send(2). */
bool pace_allows(const struct pace *p, unsigned link, uint64_t now_ms);
/* Counts a transfer that pace_allows allowed. */
void pace_take(struct pace *p, unsigned link, uint64_t now_ms);
/* When links that are not allowed to transfer are again. */
uint64_t pace_next_ms(const struct pace *p);

#endif
