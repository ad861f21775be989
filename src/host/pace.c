/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the transfers of TCP connections; see pace.h. In each time window a fixed number of
 * transfers is allowed for all TCP connections together. The first transfers of a new connection do
 * not count: a health check needs no more than these transfers, so the agent answers it even if
 * other connections use up every window. The rounds of strangers.h, which accept connections, have
 * separate limits and a separate time window for each port.
 */
#include "host/pace.h"

#include "base/assert.h"

static bool is_stranger(unsigned link)
{
    ASSERT(link < SERVER_LINKS);
    return link >= STRANGER_FIRST;
}

static unsigned port_of(enum link_kind kind)
{
    ASSERT(kind == LINK_GRPC_HEALTH || kind == LINK_METRICS);
    return (unsigned)kind - (unsigned)LINK_GRPC_HEALTH;
}

void pace_begin(struct pace *p, unsigned link)
{
    if (is_stranger(link)) {
        p->first[link - STRANGER_FIRST] = STRANGER_FIRST_TRANSFERS;
    }
}

uint64_t pace_round_ms(const struct pace *p, enum link_kind kind, uint64_t now_ms)
{
    const struct pace_port *port = &p->port[port_of(kind)];
    bool left = port->rounds < STRANGER_ROUNDS && port->accepts < STRANGER_ACCEPTS &&
                port->places < STRANGER_PLACES;
    return (left || now_ms >= port->window_ms) ? now_ms : port->window_ms;
}

void pace_round(struct pace *p, enum link_kind kind, uint64_t now_ms)
{
    struct pace_port *port = &p->port[port_of(kind)];
    ASSERT(pace_round_ms(p, kind, now_ms) <= now_ms);
    if (now_ms >= port->window_ms) {
        *port = (struct pace_port){.window_ms = now_ms + STRANGER_ROUND_MS};
    }
    port->rounds++;
}

bool pace_accept(struct pace *p, enum link_kind kind)
{
    struct pace_port *port = &p->port[port_of(kind)];
    bool may = port->accepts < STRANGER_ACCEPTS;
    port->accepts += may ? 1u : 0u;
    return may;
}

bool pace_place(struct pace *p, enum link_kind kind)
{
    struct pace_port *port = &p->port[port_of(kind)];
    bool may = port->places < STRANGER_PLACES;
    port->places += may ? 1u : 0u;
    return may;
}

bool pace_allows(const struct pace *p, unsigned link, uint64_t now_ms)
{
    bool free = !is_stranger(link) || p->first[link - STRANGER_FIRST] > 0u;
    return free || now_ms >= p->window_ms || p->used < STRANGER_TRANSFERS;
}

void pace_count(struct pace *p, unsigned link, uint64_t now_ms)
{
    ASSERT(pace_allows(p, link, now_ms));
    if (!is_stranger(link)) {
        return;
    }
    uint8_t *first = &p->first[link - STRANGER_FIRST];
    if (*first > 0u) {
        (*first)--;
        return;
    }
    if (now_ms >= p->window_ms) {
        p->window_ms = now_ms + STRANGER_WINDOW_MS;
        p->used = 0;
    }
    p->used++;
}

uint64_t pace_next_ms(const struct pace *p)
{
    return p->window_ms;
}
