/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that peers opened to the agent: moves bytes between their descriptors and the agent's
 * links. On the TCP ports the limits of pace.h apply. Owns these descriptors; knows nothing of the
 * protocols.
 */
#ifndef HOST_SERVER_LINKS_H
#define HOST_SERVER_LINKS_H

#include <poll.h>

#include "agent/agent.h"
#include "host/pace.h"
#include "host/pending.h"
#include "host/sockets.h"

/* One connection. Its index in struct server_links is also the index of its link in the agent. */
struct host_link {
    int fd;        /* descriptor of the connection; -1: the link has no connection */
    bool ended;    /* the peer has closed its side of the connection */
    bool broken;   /* the connection has failed, so nothing more can be sent */
    uint32_t peer; /* number that distinguishes peers; see agent_link_open */
};

/* All connections that peers opened to one driver. */
struct server_links {
    struct agent *agent; /* the agent of the driver; borrowed */
    struct pace pace;
    bool paced; /* at least one link must not transfer bytes before the time of pace_next_ms */
    struct pending health;
    struct pending metrics;
    struct host_link link[SERVER_LINKS];
};

/* Initializes `s` without connections; `agent` is borrowed until the process ends. */
void server_links_init(struct server_links *s, struct agent *agent);
/*
 * Begins a link for an accepted connection, or closes the connection if the agent has no link for
 * it. Reads input that a TCP peer has already sent. Returns false if the new connection has its
 * link only because the agent closed another connection.
 */
bool server_link_begin(struct server_links *s, enum link_kind kind, const struct accepted *peer,
                       uint64_t now_ms);
/* Sets the slots for poll(2), one for each link. */
void server_links_interest(struct server_links *s, struct pollfd slots[SERVER_LINKS],
                           uint64_t now_ms);
/*
 * Returns when the links whose transfers pace.h delays may transfer again; UINT64_MAX: no link is
 * delayed.
 */
uint64_t server_links_due(const struct server_links *s);
/*
 * Reads from a link at most once, as much as fits into the agent's buffer, so that no peer keeps
 * the agent from reading other links.
 */
void server_link_read(struct server_links *s, unsigned i, short revents, uint64_t now_ms);
/*
 * Sends once on each link that has output, then closes the connections that the agent has finished
 * with. Returns whether any bytes were sent or dropped.
 */
bool server_links_flush(struct server_links *s, uint64_t now_ms);
/* Closes all connections that peers opened to the driver. */
void server_links_close(struct server_links *s);

#endif
