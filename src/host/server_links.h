/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that peers opened to the agent: moves bytes between their descriptors and the agent's
 * links, on the TCP ports within the limits of pace.h. Owns these descriptors; decides no answer.
 */
#ifndef HOST_SERVER_LINKS_H
#define HOST_SERVER_LINKS_H

#include <poll.h>

#include "agent/agent.h"
#include "host/pace.h"
#include "host/pending.h"
#include "host/sockets.h"

/* One connection that a peer opened to us. */
struct host_link {
    int fd;        /* -1: none */
    bool ended;    /* the peer has closed its side */
    bool broken;   /* nothing more can be sent */
    uint32_t peer; /* see agent_link_open */
};

/* All of them, by the agent's link index. */
struct server_links {
    struct agent *agent; /* borrowed */
    struct pace pace;
    bool paced; /* a link waits until pace_next_ms */
    struct pending health;
    struct pending metrics;
    struct host_link link[SERVER_LINKS];
};

/* Initializes without connections. */
void server_links_init(struct server_links *s, struct agent *agent);
/*
 * Begins a link for an accepted connection, or closes it if the agent has no place. false: another
 * connection was closed for it. Input that a TCP peer has sent already is read at once.
 */
bool server_link_begin(struct server_links *s, enum link_kind kind, const struct accepted *peer,
                       uint64_t now_ms);
/* Sets the slots for poll(2) on each link. */
void server_links_interest(struct server_links *s, struct pollfd slots[SERVER_LINKS],
                           uint64_t now_ms);
/* When links that wait for their share must be polled again. */
uint64_t server_links_due(const struct server_links *s);
/* Reads once, at most the agent's room, so that every link has its turn. */
void server_link_read(struct server_links *s, unsigned i, short revents, uint64_t now_ms);
/*
 * Writes once on each link with output; then closes those that the agent has finished. Returns
 * whether any bytes were written.
 */
bool server_links_flush(struct server_links *s, uint64_t now_ms);
/* Closes all connections. */
void server_links_close(struct server_links *s);

#endif
