/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of gRPC connections, each of which has its own engine, and the methods that each socket
 * serves. Decides which connection is closed for a new one.
 */
#include "agent/serve/links.h"

#include "agent/calls/calls.h"
#include "agent/frame.h"
#include "agent/serve/device_streams.h"
#include "agent/serve/grpc_health.h"
#include "agent/serve/peer_failures.h"
#include "agent/serve/responses.h"
#include "agent/serve/room.h"
#include "base/assert.h"
#include "base/time.h"

/* --- gRPC methods that each socket serves --- */

enum method { GET_INFO, NOTIFY_STATUS, PREPARE, UNPREPARE, WATCH_DEVICES, CHECK, WATCH };

/*
 * The methods of grpc.health.v1, which the service socket and the health port serve.
 *
 * Sources of this table and the next ones: grpc.health.v1, and the kubelet's APIs
 * pluginregistration v1, dra v1 and v1beta1, dra-health v1 and v1alpha1. Both versions of an API
 * have the same field numbers.
 */
#define GRPC_HEALTH_METHODS                                                                        \
    {"/grpc.health.v1.Health/Check", CHECK}, {"/grpc.health.v1.Health/Watch", WATCH},

static const struct grpc_method registration_methods[] = {
    {"/pluginregistration.Registration/GetInfo", GET_INFO},
    {"/pluginregistration.Registration/NotifyRegistrationStatus", NOTIFY_STATUS},
};
static const struct grpc_method service_methods[] = {
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", PREPARE},
    {"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", UNPREPARE},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources", PREPARE},
    {"/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources", UNPREPARE},
    {"/v1.DRAResourceHealth/NodeWatchResources", WATCH_DEVICES},
    {"/v1alpha1.DRAResourceHealth/NodeWatchResources", WATCH_DEVICES},
    GRPC_HEALTH_METHODS /* methods for the kubelet, which checks the health of the service socket */
};
static const struct grpc_method grpc_health_methods[] = {GRPC_HEALTH_METHODS};

/*
 * Starts a prepare or unprepare call. src/agent/calls answers the call; but if calls_start refuses
 * the call, this function sends the refusal.
 */
static void start_call(struct agent *a, unsigned link, const struct grpc_event *event,
                       bool unprepares)
{
    const char *text = "";
    enum grpc_status code = calls_start(a, &a->serve->link[link].grpc, event, unprepares, &text);
    if (code != GRPC_OK) {
        response_refuse(a, link, event, code, text);
    }
}

/*
 * Handles a complete request of a link by the function for its method. The method is always one
 * that the socket serves: wire/grpc itself answers a request for another path with UNIMPLEMENTED.
 */
static void method_call(struct agent *a, unsigned link, const struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    switch ((enum method)event->method) {
    case GET_INFO:
        registration_get_info(a, link, event);
        break;
    case NOTIFY_STATUS:
        registration_notify(a, link, event);
        break;
    case PREPARE:
        start_call(a, link, event, false);
        break;
    case UNPREPARE:
        start_call(a, link, event, true);
        break;
    case WATCH_DEVICES:
        device_streams_watch(a, link, event);
        break;
    case CHECK:
        grpc_health_check(a, link, event);
        break;
    case WATCH:
        grpc_health_watch(a, link, event);
        break;
    default:
        /* wire/grpc returns only methods of the tables in this file */
        ASSERT(false);
        break;
    }
}

/* --- opening and closing gRPC connections --- */

#define LINK_KINDS ((unsigned)LINK_GRPC_HEALTH + 1u)
#define METHODS(table) .method = (table), .methods = sizeof(table) / sizeof(table)[0]
/*
 * For each kind of link: index of its first link, number of links, and the methods that its socket
 * serves.
 */
static const struct {
    uint8_t first;
    uint8_t count;
    uint8_t methods;
    const struct grpc_method *method;
} kinds[LINK_KINDS] = {
    [LINK_REGISTRATION] = {0, REGISTRATION_LINKS, METHODS(registration_methods)},
    [LINK_SERVICE] = {REGISTRATION_LINKS, SERVICE_LINKS, METHODS(service_methods)},
    [LINK_GRPC_HEALTH] = {REGISTRATION_LINKS + SERVICE_LINKS, GRPC_HEALTH_LINKS,
                          METHODS(grpc_health_methods)},
};

static void link_fail(struct agent *a, unsigned link)
{
    struct server_link *l = &a->serve->link[link];
    uint32_t code = 0;
    enum status why = h2_failure(&l->grpc.h2, &code);
    l->failed = true;
    l->close_ms = a->now_ms + LINK_CLOSE_MS;
    if (why != PEER_CLOSED) {
        peer_failed(a, link, why, NULL, code);
    }
}

static void link_start(struct agent *a, unsigned link, enum link_kind kind, uint64_t now_ms)
{
    struct server_link *l = &a->serve->link[link];
    l->open = true;
    l->failed = false;
    l->busy = false;
    l->kind = kind;
    l->opened_ms = now_ms;
    /* Any process can reach the health port, so its links get none of the kubelet's buffers. */
    struct grpc_buffers *buffers = (kind == LINK_GRPC_HEALTH) ? NULL : &a->serve->buffers;
    grpc_init(&l->grpc, buffers, kinds[kind].method, kinds[kind].methods, now_ms);
    /*
     * While the agent is stopping, refuse calls but send no GOAWAY, because a client with no other
     * server would then reconnect at once, again and again.
     */
    l->grpc.refusing = a->stopping;
}

/* Number of open links of this kind that belong to the peer. */
static unsigned links_of(const struct agent *a, enum link_kind kind, uint32_t peer)
{
    const struct server_link *first = &a->serve->link[kinds[kind].first];
    unsigned n = 0;
    for (unsigned i = 0; i < kinds[kind].count; i++) {
        n += (first[i].open && first[i].peer == peer) ? 1u : 0u;
    }
    return n;
}

bool links_free(const struct agent *a, enum link_kind kind)
{
    ASSERT((unsigned)kind < LINK_KINDS);
    bool free = false;
    for (unsigned i = 0; i < kinds[kind].count; i++) {
        free = free || !a->serve->link[kinds[kind].first + i].open;
    }
    return free;
}

/* The largest number of open links of this kind that belong to one peer. */
static unsigned links_most(const struct agent *a, enum link_kind kind)
{
    unsigned most = 0;
    for (unsigned i = 0; i < kinds[kind].count; i++) {
        const struct server_link *l = &a->serve->link[kinds[kind].first + i];
        unsigned held = l->open ? links_of(a, kind, l->peer) : 0u;
        most = (held > most) ? held : most;
    }
    return most;
}

/*
 * Earliest time at which a link of the table can be used for a new connection:
 * - An open link of the health port that has not failed: LINK_GRACE_MS after it was opened, or
 *   never (UINT64_MAX) while another peer has more links than its peer.
 * - Any other link: at once (0).
 */
static uint64_t yields_ms(const struct agent *a, const struct server_link *l)
{
    if (!l->open || l->failed || l->kind != LINK_GRPC_HEALTH) {
        return 0;
    }
    bool most = links_of(a, l->kind, l->peer) == links_most(a, l->kind);
    return most ? l->opened_ms + LINK_GRACE_MS : UINT64_MAX;
}

uint64_t links_room_ms(const struct agent *a, enum link_kind kind)
{
    ASSERT((unsigned)kind < LINK_KINDS);
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < kinds[kind].count; i++) {
        at = earlier(at, yields_ms(a, &a->serve->link[kinds[kind].first + i]));
    }
    return at;
}

/*
 * Rank of a link: the link of the highest rank is closed for a new connection of `peer`. `held`:
 * number of links of the link's peer; `own`: number of links of `peer`.
 * - A failed link has the highest rank, because it only waits for its peer to read the last bytes.
 * - An idle link may be closed if its peer is `peer`, or has more links than `peer`.
 * - A link with calls may be closed if its peer would still have more links than `peer`.
 * - Any other link must not be closed: rank 0.
 *
 * The rank grows with `held`; for equal `held`, an idle link has a higher rank than a link with
 * calls. So a flood of connections by one peer closes that peer's links, not the kubelet's.
 */
static uint32_t rank_of(const struct agent *a, unsigned link, unsigned held, unsigned own,
                        uint32_t peer)
{
    const struct server_link *l = &a->serve->link[link];
    /*
     * A link is idle if all of its calls may be cut off; these are subscriptions, health streams,
     * and requests that arrive too slowly. A link of the health port is always idle, because the
     * agent answers a complete check at once, so that an open check has sent only a part of its
     * request.
     */
    unsigned cut = grpc_health_subscriptions(a, link) + device_streams_open(a, link) +
                   grpc_calls_slow(&l->grpc, a->now_ms);
    bool idle = l->kind == LINK_GRPC_HEALTH || grpc_calls_open(&l->grpc) == cut;
    unsigned tolerated = idle ? own : own + 1u;
    bool may = (idle && l->peer == peer) || held > tolerated;
    uint32_t rank = may ? held * 2u + (idle ? 1u : 0u) : 0u;
    return l->failed ? UINT32_MAX : rank;
}

/*
 * Closes the link with the highest rank (rank_of), if any may be closed, so that the next
 * links_open can use it.
 */
static void make_room(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms)
{
    unsigned first = kinds[kind].first;
    unsigned end = first + kinds[kind].count;
    unsigned own = links_of(a, kind, peer);
    struct server_link *gone = NULL;
    uint32_t most = 0;
    for (unsigned i = first; i < end; i++) {
        struct server_link *l = &a->serve->link[i];
        bool yields = yields_ms(a, l) <= now_ms;
        uint32_t rank = yields ? rank_of(a, i, links_of(a, kind, l->peer), own, peer) : 0u;
        bool sooner = rank > most || (rank > 0u && rank == most && l->opened_ms < gone->opened_ms);
        gone = sooner ? l : gone;
        most = sooner ? rank : most;
    }
    if (gone == NULL) {
        return;
    }
    /*
     * The GOAWAY makes the peer reconnect. Bytes of the GOAWAY that the peer does not read at once
     * are lost.
     */
    h2_goaway(&gone->grpc.h2, H2_NO_ERROR, true);
    grpc_abandon(&gone->grpc);
    calls_gone(a, &gone->grpc, (struct grpc_call_id){0});
    gone->failed = true;
    gone->close_ms = now_ms;
}

int links_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms)
{
    ASSERT((unsigned)kind < LINK_KINDS);
    unsigned first = kinds[kind].first;
    for (unsigned i = first; i < first + kinds[kind].count; i++) {
        if (!a->serve->link[i].open) {
            link_start(a, i, kind, now_ms);
            a->serve->link[i].peer = peer;
            return (int)i;
        }
    }
    make_room(a, kind, peer, now_ms);
    return -1;
}

/* --- receiving and sending on a gRPC connection --- */

struct writer links_rx(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS && a->serve->link[link].open);
    struct server_link *l = &a->serve->link[link];
    return l->failed ? writer_of(NULL, 0) : h2_rx_space(&l->grpc.h2);
}

void links_rx_commit(struct agent *a, unsigned link, size_t n)
{
    ASSERT(link < GRPC_LINKS);
    h2_rx_commit(&a->serve->link[link].grpc.h2, n);
}

void links_rx_end(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    h2_rx_end(&a->serve->link[link].grpc.h2);
}

struct view links_tx(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    struct server_link *l = &a->serve->link[link];
    return l->open ? h2_tx_data(&l->grpc.h2) : view_of(NULL, 0);
}

bool links_tx_commit(struct agent *a, unsigned link, size_t n)
{
    ASSERT(link < GRPC_LINKS);
    struct h2 *h2 = &a->serve->link[link].grpc.h2;
    h2_tx_commit(h2, n);
    return n > 0u && h2_has_work(h2);
}

bool links_done(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    struct server_link *l = &a->serve->link[link];
    uint32_t code = 0;
    if (!l->open || !l->failed) {
        return false;
    }
    bool gone = h2_failure(&l->grpc.h2, &code) == PEER_CLOSED;
    bool expired = a->now_ms >= l->close_ms;
    l->open = !(gone || expired || h2_tx_data(&l->grpc.h2).len == 0u);
    return !l->open;
}

/* --- events of the gRPC connections --- */

/* Gets the next event of a link; false: no event is complete now, or the link is closed. */
static bool next_event(struct agent *a, unsigned link, struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
    struct server_link *l = &a->serve->link[link];
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

static void link_event(struct agent *a, unsigned link, const struct grpc_event *event)
{
    switch (event->kind) {
    case GRPC_EVENT_CALL:
        method_call(a, link, event);
        break;
    case GRPC_EVENT_GONE:
    case GRPC_EVENT_DEADLINE:
        calls_gone(a, &a->serve->link[link].grpc, event->call);
        break;
    case GRPC_EVENT_WRITABLE:
        break; /* no work is needed here, because calls_step retries every waiting reply */
    }
}

void links_step(struct agent *a)
{
    for (unsigned link = 0; link < GRPC_LINKS; link++) {
        struct grpc_event event;
        /*
         * Each event consumes a frame of the input or ends a call, so the number of events is
         * bounded.
         */
        for (unsigned i = 0; i < LINK_EVENTS_PER_STEP && next_event(a, link, &event); i++) {
            link_event(a, link, &event);
        }
    }
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
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (a->serve->link[i].open) {
            uint64_t d = link_deadline(a, &a->serve->link[i]);
            at = (d < at) ? d : at;
        }
    }
    return at;
}

unsigned links_calls_open(const struct agent *a)
{
    unsigned n = 0;
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (a->serve->link[i].open && !a->serve->link[i].failed) {
            n += grpc_calls_open(&a->serve->link[i].grpc);
        }
    }
    return n;
}

bool links_quiet(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (links_tx(a, i).len > 0u) {
            return false;
        }
    }
    return true;
}

void links_drain(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (a->serve->link[i].open && !a->serve->link[i].failed) {
            grpc_drain(&a->serve->link[i].grpc);
        }
    }
}
