/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the share of the agent's time that peers of the TCP ports get, because any process can
 * reach these ports. Owns only the counts; reads no clock and uses no descriptor. The kubelet's
 * sockets and the API server are never paced.
 */
#ifndef HOST_PACE_H
#define HOST_PACE_H

#include "agent/agent.h"

/* Links from this one on are TCP connections: health, then metrics. */
#define STRANGER_FIRST (REGISTRATION_LINKS + SERVICE_LINKS)
#define STRANGER_LINKS (SERVER_LINKS - STRANGER_FIRST)

/* The transfers and rounds used so far. */
struct pace {
    uint64_t window_ms;            /* end of the current window */
    unsigned used;                 /* transfers of all TCP connections in it */
    uint8_t first[STRANGER_LINKS]; /* transfers that a new connection still has of its own */
    /* Counters of one port's current window. */
    struct pace_port {
        uint64_t window_ms; /* end of the current window */
        unsigned rounds;    /* rounds in it, and their accepts and places */
        unsigned accepts;
        unsigned places;
    } port[2];
};

/* A new connection uses the link `link` from now on. */
void pace_begin(struct pace *p, unsigned link);
/* When the next round of a port may begin: now, or at the end of its window. */
uint64_t pace_round_ms(const struct pace *p, enum link_kind kind, uint64_t now_ms);
/* Counts a round that pace_round_ms allowed. */
void pace_round(struct pace *p, enum link_kind kind, uint64_t now_ms);
/* Whether one more connection may be accepted, or get a place, in this window; counts it. */
MUST_USE bool pace_accept(struct pace *p, enum link_kind kind);
MUST_USE bool pace_place(struct pace *p, enum link_kind kind);
/* Whether the link may transfer now: one read(2) or one send(2). */
bool pace_allows(const struct pace *p, unsigned link, uint64_t now_ms);
/* Counts a transfer that pace_allows allowed. */
void pace_count(struct pace *p, unsigned link, uint64_t now_ms);
/* When links without a share may transfer again. */
uint64_t pace_next_ms(const struct pace *p);

#endif
