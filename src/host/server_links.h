/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections that peers opened to us: bytes between their descriptors and the agent's links,
 * at the pace of strangers on the TCP ports. Owns these descriptors; decides no answer.
 */
#ifndef HOST_SERVER_LINKS_H
#define HOST_SERVER_LINKS_H

#include <poll.h>

#include "agent/agent.h"
#include "host/pace.h"
#include "host/pending.h"
#include "host/sockets.h"

struct host_link {
    int fd;        /* -1: none */
    bool ended;    /* nothing more arrives */
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

/* No connection is there yet. */
void server_links_init(struct server_links *s, struct agent *agent);
/*
 * A connection of the kind was accepted. It is closed when the agent has no place for it. False:
 * another one gave way to it. What a stranger has sent by now is read at once.
 */
bool server_link_begin(struct server_links *s, enum link_kind kind, const struct accepted *peer,
                       uint64_t now_ms);
/* What poll(2) waits for on each link. */
void server_links_interest(struct server_links *s, struct pollfd slots[SERVER_LINKS],
                           uint64_t now_ms);
/* When links that are not polled now, because they wait for their share, are to be. */
uint64_t server_links_due(const struct server_links *s);
/* One read of at most the agent's room, so that every link has its turn. */
void server_link_read(struct server_links *s, unsigned i, short revents, uint64_t now_ms);
/*
 * One write on each link that has bytes to send; then closes those that the agent is done with.
 * Whether any bytes were taken.
 */
bool server_links_flush(struct server_links *s, uint64_t now_ms);
/* Closes all. */
void server_links_close(struct server_links *s);

#endif
