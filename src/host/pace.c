/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of strangers; see pace.h. A window has a number of transfers for all of them together.
 * The first transfers of a connection are its own: a probe needs no more, so that it is served
 * while others use up every window.
 */
#include "host/pace.h"

#include "base/assert.h"

static bool is_stranger(unsigned link)
{
    ASSERT(link < SERVER_LINKS);
    return link >= STRANGER_FIRST;
}

static bool is_port(enum link_kind kind)
{
    return kind == LINK_HEALTH || kind == LINK_METRICS;
}

static unsigned port_of(enum link_kind kind)
{
    ASSERT(is_port(kind));
    return (unsigned)kind - (unsigned)LINK_HEALTH;
}

void pace_accepted(struct pace *p, enum link_kind kind, unsigned link, uint64_t now_ms)
{
    if (is_port(kind)) {
        ASSERT(is_stranger(link));
        p->first[link - STRANGER_FIRST] = STRANGER_FIRST_TRANSFERS;
        p->accept_ms[port_of(kind)] = now_ms + STRANGER_ACCEPT_MS;
    }
}

uint64_t pace_accept_ms(const struct pace *p, enum link_kind kind)
{
    return is_port(kind) ? p->accept_ms[port_of(kind)] : 0u;
}

bool pace_allows(const struct pace *p, unsigned link, uint64_t now_ms)
{
    bool free = !is_stranger(link) || p->first[link - STRANGER_FIRST] > 0u;
    return free || now_ms >= p->window_ms || p->used < STRANGER_TRANSFERS;
}

void pace_take(struct pace *p, unsigned link, uint64_t now_ms)
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
