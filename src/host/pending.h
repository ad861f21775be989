/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one TCP port that have no link in the agent: those whose peer has sent nothing
 * yet, those that wait for a link, and those that are closing. A pending connection needs only a
 * descriptor, whereas a link needs buffers. So a connection whose peer has sent nothing waits here,
 * and never takes a link from another connection. Owns these descriptors; reads no clock.
 */
#ifndef HOST_PENDING_H
#define HOST_PENDING_H

#include <poll.h>

#include "base/bytes.h"
#include "cfg/limits.h"

/* A pending connection, or a free entry. */
struct pending_link {
    int fd;            /* descriptor of the connection; -1: the entry is free */
    uint32_t peer;     /* number that distinguishes peers; see agent_link_open */
    uint64_t since_ms; /* when the connection was accepted, or when its closing began */
    bool heard;        /* the peer has sent at least one byte */
    /*
     * the agent's sending side is shut down; input is dropped until the peer closes the connection
     */
    bool closing;
};

/* The pending connections of one TCP port. */
struct pending {
    struct pending_link link[PENDING_LINKS];
    unsigned used; /* entries that are not free; nearly always 0, and then no table is searched */
};

/* Initializes the table of a port's pending connections as empty. */
void pending_init(struct pending *p);
/*
 * Whether one more connection may be accepted: an entry is free, or holds a connection that may be
 * replaced. A connection may be replaced if its peer has been silent for STRANGER_ROUND_MS, or if
 * it is closing. If false, new connections must wait in the kernel's queue.
 */
bool pending_room(struct pending *p, uint64_t now_ms);
/*
 * Adds an accepted connection. Call only if pending_room allows it. If no entry is free, closes the
 * connection that the new one replaces.
 */
void pending_add(struct pending *p, int fd, uint32_t peer, uint64_t now_ms);
/*
 * Begins to close a connection to which the agent has written its last bytes. close(2) with unread
 * input would reset the connection, and the reset can overtake these bytes. So this function only
 * shuts down the sending side and puts the connection into an entry; pending_handle drops its input
 * until the peer closes it, for at most LINK_CLOSE_MS.
 */
void pending_linger(struct pending *p, int fd, uint64_t now_ms);
/* Sets the slots for poll(2), one for each entry of `p`. */
void pending_interest(const struct pending *p, struct pollfd slots[PENDING_LINKS]);
/*
 * Handles the events of poll(2) in `slots`, and closes pending connections whose time limit has
 * passed.
 */
void pending_handle(struct pending *p, const struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/*
 * Whether any connection waits for a link in the agent. If `heard` is true, considers only
 * connections whose peer has sent something; if false, only those whose peer has sent nothing.
 */
bool pending_waits(const struct pending *p, bool heard);
/* Removes entry `i` and returns its connection, which the caller owns from now on. */
struct pending_link pending_remove(struct pending *p, unsigned i);
/*
 * Returns the time by which pending_handle must be called: the earliest time limit of a connection.
 */
uint64_t pending_due(const struct pending *p);
/* Closes all pending connections of the port. */
void pending_close(struct pending *p);

#endif
