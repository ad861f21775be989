/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of one TCP port without a link in the agent: those whose peer has sent nothing
 * yet, those that wait for a place, and those that are closing. A place in the agent holds buffers,
 * so only a peer that has sent something gets one; an entry here is only a descriptor. Owns these
 * descriptors; reads no clock.
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

/* The pending connections of one port. */
struct pending {
    struct pending_link link[PENDING_LINKS];
};

/* Initializes without connections. */
void pending_init(struct pending *p);
/*
 * Whether another connection may be accepted: there is a free entry, one whose peer was silent for
 * STRANGER_ROUND_MS, or one that is closing. Otherwise it waits in the kernel's queue.
 */
bool pending_room(struct pending *p, uint64_t now_ms);
/* Adds an accepted connection, in such an entry. */
void pending_add(struct pending *p, int fd, uint32_t peer, uint64_t now_ms);
/*
 * Closes a connection whose last bytes are already in the kernel. Closing it with unread input
 * would reset the connection, and the reset can overtake those bytes. So this shuts down the
 * sending side, and drops the peer's input for LINK_CLOSE_MS or until the peer closes.
 */
void pending_linger(struct pending *p, int fd, uint64_t now_ms);
/* Sets the slots for poll(2). */
void pending_interest(const struct pending *p, struct pollfd slots[PENDING_LINKS]);
/* Handles the result of poll(2), and closes connections whose time is over. */
void pending_handle(struct pending *p, const struct pollfd slots[PENDING_LINKS], uint64_t now_ms);
/* Whether an entry waits for a place in the agent. */
bool pending_waits(const struct pending *p, bool heard);
/* Removes a connection, which the caller owns from now on. */
struct pending_link pending_remove(struct pending *p, unsigned i);
/* The latest time for the next pending_handle, which closes connections whose time is over. */
uint64_t pending_due(const struct pending *p);
/* Closes all connections. */
void pending_close(struct pending *p);

#endif
