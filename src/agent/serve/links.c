/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of connections: server links with their gRPC engines, and the byte ports of all links,
 * the API connection included. Owns which link is open; yields the events of their engines and
 * knows no method.
 */
#include <string.h>

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

/* Whether one more line may be written now about a stranger. */
static bool failure_said(struct agent *a)
{
    struct link_failures *f = &a->failures;
    bool said = f->said < CONNECTION_LINES_MAX;
    if (f->said == 0u) {
        f->window_ms = a->now_ms + CONNECTION_LINES_MS;
    }
    f->said += said ? 1u : 0u;
    f->suppressed += said ? 0u : 1u;
    return said;
}

void connection_failed(struct agent *a, unsigned link, enum status why, const char *answer,
                       uint32_t code)
{
    bool stranger = link >= kinds[LINK_HEALTH].first;
    if (stranger && !failure_said(a)) {
        log_count(a, LOG_ID_CONNECTION_FAILED, 1);
        return;
    }
    log_begin(a, LOG_ID_CONNECTION_FAILED);
    log_number(a, "link", (int64_t)link);
    log_text(a, "status", status_name(why));
    if (answer != NULL) {
        log_text(a, "answer", answer);
        log_remedy(a, "this port answers GET and HEAD over HTTP/1.1; see who else connects");
    } else {
        log_number(a, "h2_code", (int64_t)code);
    }
    log_end(a);
}

void links_step(struct agent *a)
{
    struct link_failures *f = &a->failures;
    if (f->said == 0u || a->now_ms < f->window_ms) {
        return;
    }
    if (f->suppressed > 0u) {
        log_begin(a, LOG_ID_CONNECTION_FAILURES_SUPPRESSED);
        log_number(a, "suppressed", (int64_t)f->suppressed);
        log_end(a);
    }
    *f = (struct link_failures){0};
}

static void link_fail(struct agent *a, unsigned link)
{
    struct server_link *l = &a->link[link];
    uint32_t code = 0;
    enum status why = h2_failure(&l->grpc.h2, &code);
    l->failed = true;
    l->close_ms = a->now_ms + LINK_CLOSE_MS;
    if (why != PEER_CLOSED) {
        connection_failed(a, link, why, NULL, code);
    }
}

static void link_begin(struct agent *a, unsigned link, enum link_kind kind, uint64_t now_ms)
{
    struct server_link *l = &a->link[link];
    l->open = true;
    l->failed = false;
    l->busy = false;
    l->kind = kind;
    l->opened_ms = now_ms;
    answers_drop(a, link);
    memset(l->watch, 0, sizeof l->watch);
    /* Strangers reach the health port: they must not hold what the kubelet needs. */
    grpc_init(&l->grpc, (kind == LINK_HEALTH) ? NULL : &a->buffers, now_ms);
    /* No GOAWAY: a client with nobody else to go to would come back at once, again and again. */
    l->grpc.refusing = a->stopping;
    l->grpc.serves = kubelet_serves;
    l->grpc.of = (unsigned)kind;
}

/* Links that a peer has among `count` from the first one on. */
static unsigned links_of(const struct server_link *first, unsigned count, uint32_t peer)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        n += (first[i].open && first[i].peer == peer) ? 1u : 0u;
    }
    return n;
}

/*
 * How much a link, whose peer has `held`, is the one to give way to a newcomer whose peer has
 * `own`; 0: it stays. One that failed and waits for its peer to take that goes first; else the more
 * its peer has, the sooner, idle ones before those with calls. These go only when their peer has
 * more even so, idle ones also to a newcomer of the same peer. A flood of one peer ends its own
 * connections, not the kubelet's.
 */
static uint32_t gives_way(const struct server_link *l, unsigned held, unsigned own, bool same)
{
    /* Health is answered at once: a call that is open there is half sent, and may go. So may a
     * watch anywhere. */
    bool quiet = l->kind == LINK_HEALTH || grpc_calls_open(&l->grpc) == health_watches(l);
    unsigned tolerated = quiet ? own : own + 1u;
    bool may = (quiet && same) || held > tolerated;
    uint32_t rank = may ? held * 2u + (quiet ? 1u : 0u) : 0u;
    return l->failed ? UINT32_MAX : rank;
}

/* Ends the link that gives way to a newcomer, if there is one: its place is free at once. */
static void make_room(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms)
{
    struct server_link *first = &a->link[kinds[kind].first];
    unsigned own = links_of(first, kinds[kind].count, peer);
    struct server_link *gone = NULL;
    uint32_t most = 0;
    for (unsigned i = 0; i < kinds[kind].count; i++) {
        struct server_link *l = &first[i];
        unsigned held = links_of(first, kinds[kind].count, l->peer);
        uint32_t rank = gives_way(l, held, own, l->peer == peer);
        bool sooner = rank > most || (rank > 0u && rank == most && l->opened_ms < gone->opened_ms);
        gone = sooner ? l : gone;
        most = sooner ? rank : most;
    }
    if (gone == NULL) {
        return;
    }
    /* Its peer connects again; what it does not take at once of our farewell is lost. */
    h2_goaway(&gone->grpc.h2, H2_NO_ERROR, true);
    grpc_abandon(&gone->grpc);
    calls_gone(a, &gone->grpc, (struct grpc_call_id){0});
    gone->failed = true;
    gone->close_ms = now_ms;
}

int agent_link_open(struct agent *a, enum link_kind kind, uint32_t peer, uint64_t now_ms)
{
    if (kind == LINK_METRICS) {
        return page_open(a, now_ms);
    }
    ASSERT((unsigned)kind < sizeof kinds / sizeof kinds[0]);
    unsigned first = kinds[kind].first;
    for (unsigned i = first; i < first + kinds[kind].count; i++) {
        if (!a->link[i].open) {
            link_begin(a, i, kind, now_ms);
            a->link[i].peer = peer;
            return (int)i;
        }
    }
    make_room(a, kind, peer, now_ms);
    return -1;
}

uint64_t agent_link_room_ms(const struct agent *a, enum link_kind kind)
{
    return (kind == LINK_METRICS) ? pages_room_ms(a) : 0u;
}

/* --- bytes: links of the kubelet and of health, then those of pages, then the API's --- */

/* The engine of a link that speaks HTTP/1.1, or NULL. */
static struct http1 *page_engine(struct agent *a, unsigned link)
{
    ASSERT(link < LINKS_TOTAL);
    bool page = link >= GRPC_LINKS && link < SERVER_LINKS;
    ASSERT(!page || a->page[link - GRPC_LINKS].open);
    return page ? &a->page[link - GRPC_LINKS].http : NULL;
}

/* The engine of a link that speaks gRPC. */
static struct h2 *engine(struct agent *a, unsigned link)
{
    ASSERT(link < GRPC_LINKS);
    return &a->link[link].grpc.h2;
}

struct writer agent_link_rx(struct agent *a, unsigned link)
{
    if (link == LINK_API) {
        return api_rx(a);
    }
    struct http1 *page = page_engine(a, link);
    if (page != NULL) {
        return http1_rx_space(page);
    }
    ASSERT(a->link[link].open);
    return a->link[link].failed ? writer_of(0, 0) : h2_rx_space(engine(a, link));
}

void agent_link_rx_commit(struct agent *a, unsigned link, size_t n)
{
    if (link == LINK_API) {
        api_rx_commit(a, n);
        return;
    }
    struct http1 *page = page_engine(a, link);
    if (page != NULL) {
        http1_set_time(page, a->now_ms);
        http1_rx_commit(page, n);
        return;
    }
    h2_rx_commit(engine(a, link), n);
}

void agent_link_end(struct agent *a, unsigned link)
{
    struct http1 *page = page_engine(a, link);
    ASSERT(link < SERVER_LINKS); /* the API connection ends by agent_api_ended */
    if (page != NULL) {
        http1_rx_end(page);
    } else {
        h2_rx_end(engine(a, link));
    }
}

static bool link_open(const struct agent *a, unsigned link)
{
    ASSERT(link < SERVER_LINKS);
    return (link < GRPC_LINKS) ? a->link[link].open : a->page[link - GRPC_LINKS].open;
}

struct view agent_link_tx(struct agent *a, unsigned link)
{
    if (link == LINK_API) {
        return api_tx(a);
    }
    if (!link_open(a, link)) {
        return view_of(0, 0);
    }
    const struct http1 *page = page_engine(a, link);
    return (page != NULL) ? http1_tx_data(page) : h2_tx_data(engine(a, link));
}

void agent_link_tx_commit(struct agent *a, unsigned link, size_t n)
{
    if (link == LINK_API) {
        api_tx_commit(a, n);
        a->step_now = a->step_now || n > 0u;
        return;
    }
    struct http1 *page = page_engine(a, link);
    if (page != NULL) {
        http1_set_time(page, a->now_ms);
        http1_tx_commit(page, n);
    } else {
        h2_tx_commit(engine(a, link), n);
    }
    /* An answer that went out whole leaves nothing to do: most turns end here. */
    bool rest = page != NULL || h2_stirs(engine(a, link));
    a->step_now = a->step_now || (n > 0u && (rest || a->stopping));
}

static bool server_link_done(const struct agent *a, struct server_link *l)
{
    uint32_t code = 0;
    if (!l->failed) {
        return false;
    }
    bool gone = h2_failure(&l->grpc.h2, &code) == PEER_CLOSED;
    bool late = a->now_ms >= l->close_ms;
    return gone || late || h2_tx_data(&l->grpc.h2).len == 0u;
}

bool agent_link_done(struct agent *a, unsigned link)
{
    if (link == LINK_API || !link_open(a, link)) {
        return false; /* ORDER_CLOSE_API ends the API connection */
    }
    const struct http1 *page = page_engine(a, link);
    bool done = (page != NULL) ? http1_done(page) : server_link_done(a, &a->link[link]);
    bool *open = (page != NULL) ? &a->page[link - GRPC_LINKS].open : &a->link[link].open;
    *open = !done;
    return done;
}

bool link_next(struct agent *a, unsigned link, struct grpc_event *event)
{
    ASSERT(link < GRPC_LINKS);
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
    uint64_t at = (a->failures.said > 0u) ? a->failures.window_ms : UINT64_MAX;
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
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
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (a->link[i].open && !a->link[i].failed) {
            n += grpc_calls_open(&a->link[i].grpc);
        }
    }
    return n;
}

void links_drain(struct agent *a)
{
    for (unsigned i = 0; i < GRPC_LINKS; i++) {
        if (a->link[i].open && !a->link[i].failed) {
            grpc_drain(&a->link[i].grpc);
        }
    }
}
