/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC connections of peers to the agent's sockets (links.c), and their requests. Owns struct
 * server_link: which links are open, and which one is closed for a new connection when all links of
 * a socket are in use. Internal to src/agent.
 */
#ifndef AGENT_SERVE_LINKS_H
#define AGENT_SERVE_LINKS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One connection of a peer to one of the agent's sockets. */
struct server_link {
    bool open;
    /*
     * the connection failed, or is being closed in favour of a new one; only the remaining output
     * is sent
     */
    bool failed;
    bool busy; /* the last step did not handle all events of the link */
    enum link_kind kind;
    uint32_t peer; /* number that distinguishes peers, see agent_link_open */
    uint64_t opened_ms;
    /* if `failed`: when the link is closed even if the peer has not read all output */
    uint64_t close_ms;
    struct grpc_server grpc;
};

/*
 * Opens a link for a connection; returns the index of the link. -1: all links of this kind are in
 * use; one of them may be closing, so the caller may try again later.
 */
int links_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/* Whether a link of this kind is free. */
bool links_free(const struct agent *a, enum link_kind kind);
/* Earliest time at which a link of this kind is free, or may be closed for a new connection. */
uint64_t links_room_ms(const struct agent *a, enum link_kind kind);
/*
 * Space for bytes received on an open link; empty: the host must not read from the connection now.
 */
struct writer links_rx(struct agent *a, unsigned link);
/* Accepts `n` received bytes, which the caller wrote into the space of links_rx. */
void links_rx_commit(struct agent *a, unsigned link, size_t n);
/* Records that the peer of a link will send no more bytes. */
void links_rx_end(struct agent *a, unsigned link);
/* Bytes to send on a link; empty: there are none now, or the link is closed. */
struct view links_tx(struct agent *a, unsigned link);
/*
 * Removes the first `n` bytes of the link's output after they were sent. true: links_step has more
 * work for the link, for example because the send buffer has space again.
 */
MUST_USE bool links_tx_commit(struct agent *a, unsigned link, size_t n);
/* Whether the host must close the link's connection now. If so, this call also frees the link. */
bool links_done(struct agent *a, unsigned link);

/*
 * Handles the events of all links. If events remain for the next step, links_deadline returns the
 * current time.
 */
void links_step(struct agent *a);
/* The latest time at which links_step must run again. */
uint64_t links_deadline(const struct agent *a);
/* Number of calls on all links that still need a response. */
unsigned links_calls_open(const struct agent *a);
/* Whether no link has output to send. */
bool links_quiet(struct agent *a);
/* Refuses new calls on every link; running calls continue. */
void links_drain(struct agent *a);

#endif
