/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC connections of peers to the agent's sockets (links.c), and their requests. Owns struct
 * server_link: which links are open, and which one is closed for a new connection when a socket has
 * no free place. Internal to src/agent.
 */
#ifndef AGENT_SERVE_LINKS_H
#define AGENT_SERVE_LINKS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One connection of a peer to one of the agent's sockets. */
struct server_link {
    bool open;
    /* its engine failed and was reported, or it is being closed for another; only output is left */
    bool failed;
    bool busy; /* the last step left events over */
    enum link_kind kind;
    uint32_t peer; /* see agent_link_open */
    uint64_t opened_ms;
    /* failed: time at which it is closed even if its peer has not taken all output */
    uint64_t close_ms;
    struct grpc_server grpc;
};

/*
 * Opens a connection; returns its link, or -1: no place is free now. May have begun to close
 * another link.
 */
int links_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/* Whether this kind of link has a free place. */
bool links_free(const struct agent *a, enum link_kind kind);
/* When links_open can succeed: there is a free place, or a link that can be closed. */
uint64_t links_room_ms(const struct agent *a, enum link_kind kind);
/* Room for received bytes of an open link; empty: do not read now. */
struct writer links_rx(struct agent *a, unsigned link);
/* Accepts `n` bytes that were written into that room. */
void links_rx_commit(struct agent *a, unsigned link, size_t n);
/* The peer closed its side. */
void links_rx_end(struct agent *a, unsigned link);
/* Bytes to send on a link; empty: none now, or the link is closed. */
struct view links_tx(struct agent *a, unsigned link);
/* Removes the first `n` of them after they were sent; true: waiting output may now have room. */
MUST_USE bool links_tx_commit(struct agent *a, unsigned link, size_t n);
/* Whether the descriptor must be closed now; if true, the link is free again. */
bool links_done(struct agent *a, unsigned link);

/*
 * Handles the events of all links. While events are left for the next step, links_deadline is now.
 */
void links_step(struct agent *a);
/* The latest time for the next links_step. */
uint64_t links_deadline(const struct agent *a);
/* Number of calls that need an answer. */
unsigned links_calls_open(const struct agent *a);
/* Whether no link has output to send. */
bool links_quiet(struct agent *a);
/* Refuses new calls on every link; running ones continue. */
void links_drain(struct agent *a);

#endif
