/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one TCP port that have no link of the agent: those whose peer has sent
 * nothing yet, those that wait for a place, and those that are closing. A place of the agent is
 * dear, and is given to a peer that has sent something; an entry here is a descriptor alone. Owns
 * these descriptors; reads no clock.
 */
#ifndef HOST_PENDING_H
#define HOST_PENDING_H

#include <poll.h>

#include "base/bytes.h"
#include "cfg/limits.h"

/* One connection. */
struct pending_link {
    int fd;            /* -1: none */
    uint32_t peer;     /* see agent_link_open */
    uint64_t since_ms; /* when it was accepted, or began to close */
    bool heard;        /* its peer has sent something */
    bool closing;      /* nothing more is sent; what arrives is dropped until the peer ends */
};

/* Those of one port. */
struct pending {
    struct pending_link link[PENDING_LINKS];
};

/* No connection is there yet. */
void pending_init(struct pending *p);
/*
 * Whether another connection may be accepted: there is a free entry, one whose peer was silent for
 * STRANGER_ROUND_MS, or one that is closing. Else it waits in the kernel's queue.
 */
bool pending_room(struct pending *p, uint64_t now_ms);
/* Takes a connection that was accepted, with pending_room, in the place of such a one. */
void pending_add(struct pending *p, int fd, uint32_t peer, uint64_t now_ms);
/*
 * Closes a connection whose last bytes were given to the kernel. A close with bytes of the peer
 * unread would reset the connection, and the reset can overtake them. So this shuts the sending
 * side down, and drops what the peer sends for LINK_CLOSE_MS or until the peer closes.
 */
void pending_linger(struct pending *p, int fd, uint64_t now_ms);
/* What poll(2) waits for. */
void pending_interest(const struct pending *p, struct pollfd slots[PENDING_LINKS]);
/* Takes what poll(2) found, and closes what is over. */
void pending_look(struct pending *p, const struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/* Whether an entry waits for a place of the agent. */
bool pending_waits(const struct pending *p, bool heard);
/* Gives a connection away. */
struct pending_link pending_take(struct pending *p, unsigned i);
/* When pending_look must be called at the latest: a connection is over then. */
uint64_t pending_due(const struct pending *p);
/* Closes all. */
void pending_close(struct pending *p);

#endif
