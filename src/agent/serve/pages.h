/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the metrics port over HTTP/1.1 (pages.c): /metrics, /healthz, /readyz, /statusz,
 * /slicesz and /logz. Owns struct page_link, one connection each. Internal to src/agent.
 */
#ifndef AGENT_SERVE_PAGES_H
#define AGENT_SERVE_PAGES_H

#include "agent/serve/metrics.h"
#include "agent/serve/slicesz.h"
#include "wire/http1.h"

/* A connection to the metrics port, and the page that it receives. */
struct page_link {
    bool open;
    uint32_t peer;   /* number that distinguishes peers, see agent_link_open */
    bool reported;   /* the failure of the connection has been logged */
    bool writing;    /* a page is being sent on the connection */
    uint8_t page;    /* index of the page that is being sent */
    uint32_t pods;   /* for the page /metrics: claim_pods_version when the response began */
    uint16_t line;   /* if the page consists of lines (/readyz, /statusz): index of the next line */
    uint64_t log_at; /* for the page /logz: position of the next byte in the log */
    uint64_t log_end; /* for the page /logz: end of the log when the response began */
    struct metrics_cursor cursor;
    struct slicesz slices;
    struct http1 http;
};

/*
 * Opens a connection; returns its place, which is its index in the table of connections. -1: all
 * places are in use now. After -1 one of the connections may be closing, so that a later call
 * succeeds.
 */
int pages_open(struct agent *a, uint32_t peer, uint64_t now_ms);
/*
 * Whether the table of connections has a free place; if not, pages_open returns -1 and may close
 * another connection.
 */
bool pages_free(const struct agent *a);
/* Earliest time at which a place is free, or its connection may be closed for a new one. */
uint64_t pages_room_ms(const struct agent *a);
/* Whether a page of metrics is being sent, of which lines are still to be written. */
bool pages_show_metrics(const struct agent *a);
/* Whether this place of the table of connections has an open connection. */
bool pages_is_open(const struct agent *a, unsigned place);
/* The HTTP engine of the connection in this place of the table of connections. */
struct http1 *pages_engine(struct agent *a, unsigned place);
/*
 * Whether the connection in this place of the table has ended. If so, this call also frees the
 * place, and the caller must close the descriptor of the connection.
 */
bool pages_done(struct agent *a, unsigned place);
/*
 * pages_step reads requests and sends pages on all connections; pages_deadline returns when to call
 * pages_step again (frame.h).
 */
void pages_step(struct agent *a);
uint64_t pages_deadline(const struct agent *a);

#endif
