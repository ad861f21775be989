/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how much of the agent's time the peers of the TCP ports get, because any process can
 * connect to these ports. Owns only counters; reads no clock and uses no descriptor. The kubelet's
 * sockets and the API server are not limited.
 */
#ifndef HOST_PACE_H
#define HOST_PACE_H

#include "agent/agent.h"

/*
 * Index of the first link for TCP connections. The links of the health port precede those of the
 * metrics port.
 */
#define STRANGER_FIRST (REGISTRATION_LINKS + SERVICE_LINKS)
#define STRANGER_LINKS (SERVER_LINKS - STRANGER_FIRST)

/* Counters of transfers on all TCP connections, and of rounds (strangers.h) on each port. */
struct pace {
    uint64_t window_ms; /* end of the current time window for transfers */
    /*
     * number of transfers of all TCP connections in this window, without the free transfers of new
     * connections
     */
    unsigned used;
    /* For each TCP link: how many free transfers its connection still has. */
    uint8_t first[STRANGER_LINKS];
    /* Counters of one TCP port. */
    struct pace_port {
        uint64_t window_ms; /* end of the port's current time window */
        /*
         * Number of rounds begun, of connections accepted, and of connections that got a link, in
         * this window.
         */
        unsigned rounds;
        unsigned accepts;
        unsigned places;
    } port[2];
};

/* Gives a new connection on a TCP link its free transfers; does nothing for other links. */
void pace_begin(struct pace *p, unsigned link);
/* Returns when a port's next round (strangers.h) may begin: `now_ms`, or the end of its window. */
uint64_t pace_round_ms(const struct pace *p, enum link_kind kind, uint64_t now_ms);
/* Counts a round that pace_round_ms allowed. */
void pace_round(struct pace *p, enum link_kind kind, uint64_t now_ms);
/*
 * pace_accept: whether the port may accept one more connection in this window. pace_place: whether
 * it may give a link to one more connection in this window. Both count the connection if they
 * return true.
 */
MUST_USE bool pace_accept(struct pace *p, enum link_kind kind);
MUST_USE bool pace_place(struct pace *p, enum link_kind kind);
/* Whether the link may make one transfer now: one read(2) or one send(2). */
bool pace_allows(const struct pace *p, unsigned link, uint64_t now_ms);
/* Counts a transfer that pace_allows allowed. */
void pace_count(struct pace *p, unsigned link, uint64_t now_ms);
/* Returns when the links for which pace_allows returns false may transfer again. */
uint64_t pace_next_ms(const struct pace *p);

#endif
