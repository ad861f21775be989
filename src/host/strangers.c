/* SPDX-License-Identifier: Apache-2.0 */
/* Handles new connections to the TCP ports; see strangers.h. */
#include "host/strangers.h"

#include "base/assert.h"
#include "base/time.h"

bool strangers_come(enum link_kind kind)
{
    return kind == LINK_GRPC_HEALTH || kind == LINK_METRICS;
}

static const struct pending *pending_of(const struct server_links *l, enum link_kind kind)
{
    ASSERT(strangers_come(kind));
    return (kind == LINK_GRPC_HEALTH) ? &l->health : &l->metrics;
}

static struct pending *pending_at(struct server_links *l, enum link_kind kind)
{
    ASSERT(strangers_come(kind));
    return (kind == LINK_GRPC_HEALTH) ? &l->health : &l->metrics;
}

bool strangers_may(const struct server_links *l, enum link_kind kind, uint64_t now_ms)
{
    return pace_round_ms(&l->pace, kind, now_ms) <= now_ms;
}

void strangers_interest(const struct server_links *l, enum link_kind kind,
                        struct pollfd slots[PENDING_LINKS], uint64_t now_ms)
{
    pending_interest(pending_of(l, kind), slots);
    for (unsigned i = 0; i < PENDING_LINKS && !strangers_may(l, kind, now_ms); i++) {
        slots[i].fd = -1;
    }
}

uint64_t strangers_due(const struct server_links *l, enum link_kind kind, uint64_t now_ms)
{
    const struct pending *p = pending_of(l, kind);
    uint64_t at = pending_due(p);
    if (pending_waits(p, true)) {
        at = earlier(at, agent_link_room_ms(l->agent, kind));
    }
    if (pending_waits(p, false) && agent_link_free(l->agent, kind)) {
        at = 0;
    }
    /*
     * If round_ms is later than now_ms, the port has reached the limits of its time window (pace.h)
     * and waits for the next window.
     */
    uint64_t round_ms = pace_round_ms(&l->pace, kind, now_ms);
    return (round_ms > now_ms) ? round_ms : at;
}

/* --- one round of a TCP port --- */

static void poll_pending(struct pending *p, uint64_t now_ms)
{
    struct pollfd slots[PENDING_LINKS];
    pending_interest(p, slots);
    int ready = poll(slots, PENDING_LINKS, 0);
    for (unsigned i = 0; i < PENDING_LINKS && ready < 0; i++) {
        slots[i].revents = 0;
    }
    pending_handle(p, slots, now_ms);
}

static void accept_some(struct server_links *l, struct server *s, uint64_t now_ms)
{
    struct pending *p = pending_at(l, s->kind);
    bool more = server_poll(s, now_ms) >= 0;
    while (more && pending_room(p, now_ms) && pace_accept(&l->pace, s->kind)) {
        struct accepted peer;
        more = server_accept(s, l->agent, now_ms, &peer) == STATUS_OK;
        if (more) {
            pending_add(p, peer.fd, peer.peer, now_ms);
        }
    }
}

/* Returns how many links of the port have connections of this peer. */
static unsigned links_of(const struct server_links *l, enum link_kind kind, uint32_t peer)
{
    unsigned n = 0;
    unsigned first = (kind == LINK_GRPC_HEALTH) ? STRANGER_FIRST : GRPC_LINKS;
    unsigned end = (kind == LINK_GRPC_HEALTH) ? GRPC_LINKS : SERVER_LINKS;
    for (unsigned i = first; i < end; i++) {
        n += (l->link[i].fd >= 0 && l->link[i].peer == peer) ? 1u : 0u;
    }
    return n;
}

/*
 * Returns the index of the next pending connection that gets a link, among those whose peer has
 * sent something (`heard`) or nothing (not `heard`). PENDING_LINKS: there is none.
 */
static unsigned next_of(const struct server_links *l, enum link_kind kind, bool heard)
{
    const struct pending *p = pending_of(l, kind);
    unsigned next = PENDING_LINKS;
    unsigned least = 0;
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        const struct pending_link *at = &p->link[i];
        unsigned held = links_of(l, kind, at->peer);
        if (at->fd < 0 || at->closing || at->heard != heard) {
            continue;
        }
        if (next == PENDING_LINKS || held < least ||
            (held == least && at->since_ms < p->link[next].since_ms)) {
            next = i;
            least = held;
        }
    }
    return next;
}

/*
 * Gives a link to one pending connection. Returns whether this round may give a link to another
 * connection.
 */
static bool place_one(struct server_links *l, enum link_kind kind, uint64_t now_ms)
{
    struct pending *p = pending_at(l, kind);
    bool free = agent_link_free(l->agent, kind);
    unsigned i = next_of(l, kind, true);
    if (i == PENDING_LINKS && free) {
        i = next_of(l, kind, false);
    }
    if (i == PENDING_LINKS || agent_link_room_ms(l->agent, kind) > now_ms ||
        !pace_place(&l->pace, kind)) {
        return false;
    }
    struct pending_link taken = pending_remove(p, i);
    struct accepted peer = {.fd = taken.fd, .peer = taken.peer, .heard = taken.heard};
    /*
     * If no link is free, the agent closes another connection, and the round ends. If the round
     * continued, clients that reconnect immediately would keep replacing each other, and the agent
     * would answer none of them.
     */
    return server_link_begin(l, kind, &peer, now_ms) && free;
}

void strangers_round(struct server_links *l, struct server *s, uint64_t now_ms)
{
    struct pending *p = pending_at(l, s->kind);
    if (!strangers_may(l, s->kind, now_ms)) {
        return;
    }
    pace_round(&l->pace, s->kind, now_ms);
    /*
     * Poll the pending connections first, because a connection whose peer has sent something since
     * the last poll must not be replaced.
     */
    poll_pending(p, now_ms);
    accept_some(l, s, now_ms);
    poll_pending(p, now_ms);
    bool more = true;
    for (unsigned i = 0; i < STRANGER_PLACES && more; i++) {
        more = place_one(l, s->kind, now_ms);
    }
}
