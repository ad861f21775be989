/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the metrics port, and the progress of each connection with its page. Any process can
 * connect to this port, so a step writes at most one send buffer for each connection.
 */
#include "agent/serve/pages.h"

#include "agent/frame.h"
#include "agent/pods/claim_pods.h"
#include "agent/publish/listing.h"
#include "agent/publish/publish.h"
#include "agent/report/log.h"
#include "agent/report/log_catalogue.h"
#include "agent/serve/peer_failures.h"
#include "agent/serve/readiness.h"
#include "agent/serve/room.h"
#include "agent/serve/statusz.h"
#include "base/assert.h"
#include "base/time.h"

/* Applies X to every page: X(identifier, path, description). */
#define PAGES(X)                                                                                   \
    X(PAGE_METRICS, "/metrics", "the metrics in Prometheus' text format 0.0.4")                    \
    X(PAGE_READY, "/readyz", "200 and ok while ready; else 503 and one line for each reason")      \
    X(PAGE_HEALTH, "/healthz", "200 and ok while the agent's loop runs")                           \
    X(PAGE_STATUS, "/statusz", "versions, health of each device, troubles that /readyz lacks")     \
    X(PAGE_SLICES, "/slicesz", "the ResourceSlices that the agent publishes, as YAML")             \
    X(PAGE_SLICES_JSON, "/slicesz.json", "the ResourceSlices that the agent publishes, as JSON")   \
    X(PAGE_LOG, "/logz", "the last log lines; 404 for a peer outside the agent's network namespace")

#define PAGE_NUMBER(id, path, response) id,
enum { PAGES(PAGE_NUMBER) PAGE_UNKNOWN, PAGE_BUSY, PAGE_NO_SLICES, PAGE_COUNT };
#define PAGE_PATH(id, path, response) [id] = (path),
static const char *const paths[PAGE_UNKNOWN] = {PAGES(PAGE_PATH)};
#define PAGE_NAMED(id, path, response) " " path

/* --- table of the connections to the metrics port --- */

/* Whether the page shows the published slices. */
static bool is_slices(unsigned page)
{
    return page == (unsigned)PAGE_SLICES || page == (unsigned)PAGE_SLICES_JSON;
}

/*
 * Whether a page can be long: the metrics or the slices. At most METRICS_SCRAPES long pages are
 * sent at the same time.
 */
static bool is_long(unsigned page)
{
    return page == (unsigned)PAGE_METRICS || is_slices(page);
}

/* Whether the connection is receiving a long page. */
static bool is_scrape(const struct page_link *p)
{
    bool sends = p->writing || http1_tx_data(&p->http).len > 0u;
    return p->open && sends && is_long(p->page);
}

/*
 * Earliest time at which this entry of the table of connections is free, or its connection may be
 * closed. A connection that has sent a second request, and is not receiving a long page, may be
 * closed at any time, so that no peer keeps the entry forever by repeated requests.
 */
static uint64_t place_ms(const struct page_link *p)
{
    bool at_once = !p->open || (p->http.again && !is_scrape(p));
    return at_once ? 0u : http1_yields_ms(&p->http);
}

bool pages_free(const struct agent *a)
{
    bool free = false;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        free = free || !a->serve->page[i].open;
    }
    return free;
}

uint64_t pages_room_ms(const struct agent *a)
{
    uint64_t at_ms = UINT64_MAX;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        at_ms = earlier(at_ms, place_ms(&a->serve->page[i]));
    }
    return at_ms;
}

/*
 * Number of connections of a peer; with `scrapes_only`, only those that are receiving a long page.
 */
static unsigned places_of(const struct agent *a, uint32_t peer, bool scrapes_only)
{
    unsigned n = 0;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        const struct page_link *p = &a->serve->page[i];
        bool counts = scrapes_only ? is_scrape(p) : p->open;
        n += (counts && p->peer == peer) ? 1u : 0u;
    }
    return n;
}

/*
 * Whether connection p must be closed rather than q (NULL: there is no q). `held` and `most`:
 * numbers of connections of the peers of p and q. The connection whose peer has more connections is
 * closed; if both numbers are equal, the connection with the lower place_ms.
 */
static bool goes_before(const struct page_link *p, unsigned held, const struct page_link *q,
                        unsigned most)
{
    ASSERT(q != NULL || held > most); /* whoever has this connection holds one at least */
    return held > most || (held == most && place_ms(p) < place_ms(q));
}

bool pages_show_metrics(const struct agent *a)
{
    bool shows = false;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        const struct page_link *p = &a->serve->page[i];
        shows = shows || (p->open && p->writing && p->page == (unsigned)PAGE_METRICS);
    }
    return shows;
}

static void give_way(struct page_link *p)
{
    http1_yield(&p->http);
    p->writing = false;
}

/* Closes a connection, if one may be closed, so that its entry becomes free. */
static void make_room(struct agent *a, uint64_t now_ms)
{
    struct page_link *gone = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        struct page_link *p = &a->serve->page[i];
        unsigned held = places_of(a, p->peer, false);
        if (place_ms(p) <= now_ms && goes_before(p, held, gone, most)) {
            gone = p;
            most = held;
        }
    }
    if (gone != NULL) {
        give_way(gone);
    }
}

int pages_open(struct agent *a, uint32_t peer, uint64_t now_ms)
{
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        struct page_link *p = &a->serve->page[i];
        if (!p->open) {
            p->open = true;
            p->peer = peer;
            p->page = PAGE_UNKNOWN;
            p->reported = false;
            p->writing = false;
            http1_init(&p->http, now_ms);
            return (int)i;
        }
    }
    make_room(a, now_ms);
    return -1;
}

/*
 * Whether this connection may start to receive a long page now. If METRICS_SCRAPES long pages are
 * being sent, this first ends one whose peer stalls, or one of a peer that receives at least two
 * more long pages than the newcomer's peer.
 */
static bool scrape_allowed(struct agent *a, const struct page_link *newcomer)
{
    unsigned own = places_of(a, newcomer->peer, true);
    unsigned count = 0;
    struct page_link *gone = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        struct page_link *p = &a->serve->page[i];
        if (!is_scrape(p)) {
            continue;
        }
        count++;
        unsigned held = places_of(a, p->peer, true);
        bool may = place_ms(p) <= a->now_ms || held > own + 1u;
        if (may && goes_before(p, held, gone, most)) {
            gone = p;
            most = held;
        }
    }
    if (count >= METRICS_SCRAPES && gone != NULL) {
        give_way(gone);
        count--;
    }
    return count < METRICS_SCRAPES;
}

/* --- writing one page of the metrics port --- */

/*
 * The first driver whose published slices are not known yet; NULL: those of all drivers are known.
 */
static const struct agent *unknown_driver(const struct agent *a)
{
    const struct agent *d = a;
    while (d != NULL && listing_known(d)) {
        d = d->next;
    }
    return d;
}

static uint8_t page_at(const struct page_link *p, struct view path)
{
    uint8_t page = 0;
    while (page < (unsigned)PAGE_UNKNOWN && !view_is(path, paths[page])) {
        page++;
    }
    bool refused = page == (unsigned)PAGE_LOG && p->peer != 0u;
    return refused ? (uint8_t)PAGE_UNKNOWN : page;
}

static void start_page(struct agent *a, struct page_link *p, struct view path)
{
    enum http1_code code = HTTP1_OK;
    p->page = page_at(p, path);
    if (is_long(p->page) && !scrape_allowed(a, p)) {
        p->page = PAGE_BUSY;
        code = HTTP1_UNAVAILABLE;
    }
    if (is_slices(p->page) && unknown_driver(a) != NULL) {
        p->page = PAGE_NO_SLICES;
        code = HTTP1_UNAVAILABLE;
    }
    p->cursor = (struct metrics_cursor){0};
    slicesz_begin(a, &p->slices, p->page == (unsigned)PAGE_SLICES);
    p->pods = claim_pods_version(a);
    p->line = 0;
    p->log_at = 0;
    p->log_end = report_end(a);
    if (p->page == (unsigned)PAGE_READY) {
        code = agent_ready(a) ? HTTP1_OK : HTTP1_UNAVAILABLE;
    }
    if (p->page == (unsigned)PAGE_UNKNOWN) {
        code = HTTP1_NOT_FOUND;
    }
    p->writing = http1_respond(&p->http, code,
                               (p->page == (unsigned)PAGE_METRICS)
                                   ? "text/plain; version=0.0.4; charset=utf-8"
                                   : "text/plain; charset=utf-8");
}

/* Writes the next line of the page /readyz or /statusz; false: the page has no more lines. */
static bool write_line(const struct agent *a, const struct page_link *p, struct writer *out)
{
    return (p->page == (unsigned)PAGE_READY) ? ready_reason(a, p->line, out)
                                             : statusz_line(a, p->line, out);
}

/*
 * Writes as many lines of the page /readyz or /statusz as fit into `out`; true: the page is
 * complete.
 */
static bool write_lines(const struct agent *a, struct page_link *p, struct writer *out)
{
    struct writer line = *out;
    while (write_line(a, p, &line)) {
        /* replace control characters, because text from a peer must stay on one line */
        for (size_t i = out->len; i < line.len; i++) {
            line.data[i] = (line.data[i] < ' ') ? ' ' : line.data[i];
        }
        writer_text(&line, "\n");
        if (line.full) {
            return false;
        }
        *out = line;
        p->line++;
    }
    writer_text(out, (p->line == 0u) ? "ok\n" : "");
    return true;
}

/*
 * Writes as much of the log as fits into `out`. If the log has dropped lines since the last piece
 * was written, continues with the oldest line that the log still has.
 */
static bool write_log(const struct agent *a, struct page_link *p, struct writer *out)
{
    uint64_t at = p->log_at;
    struct view lines = report_last(a, &at);
    uint64_t left = (p->log_end > at) ? p->log_end - at : 0u;
    writer_text(out, (at != p->log_at && p->log_at > 0u) ? "\n" : "");
    lines = view_first(view_first(lines, (size_t)left), writer_room(out));
    writer_append(out, lines);
    p->log_at = at + lines.len;
    return p->log_at >= p->log_end;
}

/* Writes the next piece of a page; true: the page is complete. */
static bool write_page(struct agent *a, struct page_link *p, struct writer *out)
{
    if (is_slices(p->page)) {
        return slicesz_write(a, &p->slices, out);
    }
    if (p->page == (unsigned)PAGE_METRICS) {
        return metrics_write(a, &p->cursor, out);
    }
    if (p->page == (unsigned)PAGE_READY || p->page == (unsigned)PAGE_STATUS) {
        return write_lines(a, p, out);
    }
    if (p->page == (unsigned)PAGE_LOG) {
        return write_log(a, p, out);
    }
    if (p->page == (unsigned)PAGE_NO_SLICES) {
        /* start_page found this driver in this step, and no slices become known within a step */
        const struct agent *d = unknown_driver(a);
        ASSERT(d != NULL);
        WRITE(out, "the agent publishes no slices yet: %\n", TEXT(publish_reason(d)));
        return true;
    }
    static const char *const texts[PAGE_COUNT] = {
        [PAGE_HEALTH] = "ok\n",
        [PAGE_UNKNOWN] = "no such page; there are" PAGES(PAGE_NAMED) "\n",
        [PAGE_BUSY] = "too many scrapes at one time; try again\n"};
    writer_text(out, texts[p->page]);
    return true;
}

/* Whether what the page shows has changed since the response began, so that a part is wrong. */
static bool is_outdated(const struct agent *a, const struct page_link *p)
{
    return (is_slices(p->page) && slicesz_outdated(a, &p->slices)) ||
           (p->page == (unsigned)PAGE_METRICS && p->pods != claim_pods_version(a));
}

/*
 * Fills the send buffer of a connection. Any line fits into an empty buffer, so each call makes
 * progress. If the page is outdated, closes the connection before the last chunk, so that the peer
 * sees that the page is incomplete.
 */
static void continue_page(struct agent *a, struct page_link *p)
{
    if (is_outdated(a, p)) {
        give_way(p);
        return;
    }
    struct writer room = http1_body_space(&p->http);
    if (room.cap == 0u) {
        return;
    }
    bool last = write_page(a, p, &room);
    ASSERT(!room.full);
    http1_body_commit(&p->http, room.len);
    if (last) {
        http1_body_end(&p->http);
        p->writing = false;
        if (p->page == (unsigned)PAGE_METRICS) {
            claim_pods_want(a); /* not before, so that its result does not wait for this page */
        }
    }
}

bool pages_is_open(const struct agent *a, unsigned place)
{
    ASSERT(place < METRICS_LINKS);
    return a->serve->page[place].open;
}

struct http1 *pages_engine(struct agent *a, unsigned place)
{
    ASSERT(pages_is_open(a, place));
    return &a->serve->page[place].http;
}

bool pages_done(struct agent *a, unsigned place)
{
    ASSERT(place < METRICS_LINKS);
    struct page_link *p = &a->serve->page[place];
    bool done = p->open && http1_done(&p->http);
    p->open = p->open && !done;
    return done;
}

/* --- one step of all connections to the metrics port --- */

static void report_failure(struct agent *a, unsigned at)
{
    struct page_link *p = &a->serve->page[at];
    enum status why = p->http.failed;
    p->reported = true;
    if (why != PEER_CLOSED && why != PEER_TIMEOUT) {
        peer_failed(a, GRPC_LINKS + at, why, http1_code_text(p->http.code), 0);
    }
}

static void serve_page(struct agent *a, unsigned at)
{
    struct page_link *p = &a->serve->page[at];
    struct view path;
    http1_set_time(&p->http, a->now_ms);
    /* One page at a time: the next request is not read before the whole page is sent. */
    if (!p->writing && http1_next(&p->http, &path) == STATUS_OK) {
        start_page(a, p, path);
    }
    if (p->writing) {
        continue_page(a, p);
    }
    if (p->http.failed != STATUS_OK && !p->reported) {
        report_failure(a, at);
    }
}

void pages_step(struct agent *a)
{
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        if (a->serve->page[i].open) {
            serve_page(a, i);
        }
    }
}

uint64_t pages_deadline(const struct agent *a)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        const struct page_link *p = &a->serve->page[i];
        if (p->open) {
            uint64_t d = http1_deadline(&p->http);
            at = (d < at) ? d : at;
        }
    }
    return at;
}
