/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of connections: server links with their gRPC engines, and the byte ports of all links,
 * the API connection included. Owns which link is open; yields the events of their engines and
 * knows no method.
 */
#include "agent/state.h"
#include "base/assert.h"

#define LINK_KINDS ((unsigned)LINK_HEALTH + 1u)
/* First link and number of links of each kind: one row per enum link_kind. */
static const struct {
    uint8_t first;
    uint8_t count;
} kinds[LINK_KINDS] = {
    [LINK_REGISTRATION] = {0, REGISTRATION_LINKS},
    [LINK_SERVICE] = {REGISTRATION_LINKS, SERVICE_LINKS},
    [LINK_HEALTH] = {REGISTRATION_LINKS + SERVICE_LINKS, HEALTH_LINKS},
};

static void link_fail(struct agent *a, unsigned link)
{
    struct server_link *l = &a->link[link];
    uint32_t code = 0;
    enum status why = h2_failure(&l->grpc.h2, &code);
    l->failed = true;
    l->close_ms = a->now_ms + LINK_CLOSE_MS;
    if (why == PEER_CLOSED) {
        return;
    }
    event_begin(a, EVENT_CONNECTION_FAILED);
    event_number(a, "link", (int64_t)link);
    event_text(a, "status", status_name(why));
    event_number(a, "h2_code", (int64_t)code);
    event_end(a);
}

static void link_begin(struct agent *a, unsigned link, enum link_kind kind, uint64_t now_ms)
{
    struct server_link *l = &a->link[link];
    l->open = true;
    l->failed = false;
    l->busy = false;
    l->kind = kind;
    l->opened_ms = now_ms;
    /* Strangers reach the health port: they must not hold what the kubelet needs. */
    grpc_init(&l->grpc, (kind == LINK_HEALTH) ? NULL : &a->buffers, now_ms);
    if (a->stopping) {
        grpc_drain(&l->grpc);
    }
}

/* The oldest link of the kind that has no calls, or -1. */
static int idle_link(const struct agent *a, enum link_kind kind)
{
    int idle = -1;
    for (unsigned i = kinds[kind].first; i < (unsigned)kinds[kind].first + kinds[kind].count; i++) {
        const struct server_link *l = &a->link[i];
        /* Health is answered at once: a call that is open there is half sent, and may go. */
        bool quiet = !l->failed && (kind == LINK_HEALTH || grpc_calls_open(&l->grpc) == 0u);
        if (quiet && (idle < 0 || l->opened_ms < a->link[idle].opened_ms)) {
            idle = (int)i;
        }
    }
    return idle;
}

int agent_link_open(struct agent *a, enum link_kind kind, uint64_t now_ms)
{
    ASSERT((unsigned)kind < sizeof kinds / sizeof kinds[0]);
    for (unsigned i = kinds[kind].first; i < (unsigned)kinds[kind].first + kinds[kind].count; i++) {
        if (!a->link[i].open) {
            link_begin(a, i, kind, now_ms);
            return (int)i;
        }
    }
    int idle = idle_link(a, kind);
    if (idle >= 0) {
        /* It gives way; the caller's peer connects again and finds the place. */
        h2_goaway(&a->link[idle].grpc.h2, H2_NO_ERROR, true);
        a->link[idle].failed = true;
        a->link[idle].close_ms = now_ms + LINK_CLOSE_MS;
    }
    return -1;
}

struct writer agent_link_rx(struct agent *a, unsigned link)
{
    ASSERT(link < LINKS_TOTAL);
    if (link == LINK_API) {
        return h2_rx_space(&a->api.h2);
    }
    ASSERT(a->link[link].open);
    return a->link[link].failed ? writer_of(0, 0) : h2_rx_space(&a->link[link].grpc.h2);
}

void agent_link_rx_commit(struct agent *a, unsigned link, size_t n)
{
    ASSERT(link < LINKS_TOTAL);
    if (link == LINK_API) {
        a->api.heard_ms = a->now_ms;
        h2_rx_commit(&a->api.h2, n);
        return;
    }
    h2_rx_commit(&a->link[link].grpc.h2, n);
}

void agent_link_end(struct agent *a, unsigned link)
{
    ASSERT(link < SERVER_LINKS); /* the API connection ends by agent_api_ended */
    h2_rx_end(&a->link[link].grpc.h2);
}

struct view agent_link_tx(struct agent *a, unsigned link)
{
    ASSERT(link < LINKS_TOTAL);
    if (link == LINK_API) {
        return h2_tx_data(&a->api.h2);
    }
    return a->link[link].open ? h2_tx_data(&a->link[link].grpc.h2) : view_of(0, 0);
}

void agent_link_tx_commit(struct agent *a, unsigned link, size_t n)
{
    ASSERT(link < LINKS_TOTAL);
    h2_tx_commit((link == LINK_API) ? &a->api.h2 : &a->link[link].grpc.h2, n);
}

bool agent_link_done(struct agent *a, unsigned link)
{
    ASSERT(link < LINKS_TOTAL);
    if (link == LINK_API) {
        return false; /* ORDER_CLOSE_API ends it */
    }
    struct server_link *l = &a->link[link];
    if (!l->open || !l->failed) {
        return false;
    }
    uint32_t code = 0;
    bool gone = h2_failure(&l->grpc.h2, &code) == PEER_CLOSED;
    bool late = a->now_ms >= l->close_ms;
    if (!gone && !late && h2_tx_data(&l->grpc.h2).len > 0u) {
        return false;
    }
    l->open = false;
    return true;
}

bool link_next(struct agent *a, unsigned link, struct grpc_event *event)
{
    ASSERT(link < SERVER_LINKS);
    struct server_link *l = &a->link[link];
    if (!l->open || l->failed) {
        return false;
    }
    enum status s = grpc_next(&l->grpc, a->now_ms, event);
    l->busy = s == STATUS_OK;
    if (s != STATUS_OK && s != STATUS_MORE) {
        link_fail(a, link);
    }
    return l->busy;
}

static uint64_t link_deadline(const struct agent *a, const struct server_link *l)
{
    if (l->failed) {
        return l->close_ms;
    }
    return l->busy ? a->now_ms : grpc_deadline(&l->grpc);
}

uint64_t links_deadline(const struct agent *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        if (a->link[i].open) {
            uint64_t d = link_deadline(a, &a->link[i]);
            at = (d < at) ? d : at;
        }
    }
    return at;
}

unsigned links_calls_open(const struct agent *a)
{
    unsigned n = 0;
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        if (a->link[i].open && !a->link[i].failed) {
            n += grpc_calls_open(&a->link[i].grpc);
        }
    }
    return n;
}

void links_drain(struct agent *a)
{
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        if (a->link[i].open && !a->link[i].failed) {
            grpc_drain(&a->link[i].grpc);
        }
    }
}
