/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC connections of peers to the agent's sockets (links.c), and their requests. Owns struct
 * server_link: which links are open, and which one gives way when all places of a socket are taken.
 * Internal to src/agent.
 */
#ifndef AGENT_SERVE_LINKS_H
#define AGENT_SERVE_LINKS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One connection of a peer to one of the agent's sockets. */
struct server_link {
    bool open;
    bool failed; /* its engine failed and was reported, or it gave way; only output is left */
    bool busy;   /* events were left over in the last step */
    enum link_kind kind;
    uint32_t peer; /* see agent_link_open */
    uint64_t opened_ms;
    uint64_t close_ms; /* failed: closed now even if its peer takes no more output */
    struct grpc_server grpc;
};

/* Takes a connection: its link; -1: no place is free now. Another link may have given way. */
int links_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms);
/* Whether a place of the kind is free. */
bool links_free(const struct agent *a, enum link_kind kind);
/* When links_open finds a place, free or one that another link gives up. */
uint64_t links_room_ms(const struct agent *a, enum link_kind kind);
/* Room for received bytes of an open link; empty: read nothing now. */
struct writer links_rx(struct agent *a, unsigned link);
/* Says that `n` bytes were written into that room. */
void links_rx_commit(struct agent *a, unsigned link, size_t n);
/* The peer sends nothing more. */
void links_rx_end(struct agent *a, unsigned link);
/* Bytes to send on a link; empty: nothing now, or the link is closed. */
struct view links_tx(struct agent *a, unsigned link);
/* Says that the first `n` of them are sent; true: that made room for work that waits. */
MUST_USE bool links_tx_commit(struct agent *a, unsigned link, size_t n);
/* Whether the descriptor must be closed now; true also says that the link is free again. */
bool links_done(struct agent *a, unsigned link);

/*
 * The next event of a link; false: none now, or the link is closed. While events are left over for
 * the next step, links_deadline is now.
 */
bool links_next(struct agent *a, unsigned link, struct grpc_event *event);
/* When links_next must be called at the latest for one of the links. */
uint64_t links_deadline(const struct agent *a);
/* Calls that peers still wait for. */
unsigned links_calls_open(const struct agent *a);
/* Whether nothing waits to be sent on any link. */
bool links_quiet(struct agent *a);
/* Refuses new calls on every link; running ones go on. */
void links_drain(struct agent *a);

/*
 * Serves one complete request of a link. Nothing is logged for a path that its socket does not
 * serve: the kubelet asks every 5 s for streams that the agent does not serve.
 */
void method_call(struct agent *a, unsigned link, const struct grpc_event *event);

#endif
