/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the metrics port over HTTP/1.1 (pages.c): /metrics, /healthz, /readyz, /statusz and
 * /logz. Owns struct page_link, one connection each. Internal to src/agent.
 */
#ifndef AGENT_SERVE_PAGES_H
#define AGENT_SERVE_PAGES_H

#include "agent/serve/metrics.h"
#include "wire/http1.h"

/* One connection and the page that it gets. */
struct page_link {
    bool open;
    uint32_t peer;    /* see agent_link_open */
    bool reported;    /* its failure was logged */
    bool writing;     /* a page is being sent */
    uint8_t page;     /* which one */
    uint16_t line;    /* of /readyz and /statusz: the next one */
    uint64_t log_at;  /* of /logz: position of the next byte */
    uint64_t log_end; /* where the log ended when the page started */
    struct metrics_cursor cursor;
    struct http1 http;
};

/* Takes a connection: its place; -1: none is free now. Another one may have given way. */
int pages_open(struct agent *a, uint32_t peer, uint64_t now_ms);
/* Whether a place has no connection. */
bool pages_free(const struct agent *a);
/* When pages_open takes a connection, now or by then. */
uint64_t pages_room_ms(const struct agent *a);
/* Whether a place has a connection. */
bool pages_is_open(const struct agent *a, unsigned place);
/* The engine of an open place. */
struct http1 *pages_engine(struct agent *a, unsigned place);
/* Whether the descriptor must be closed now; true also says that the place is free again. */
bool pages_done(struct agent *a, unsigned place);
/* The module's verbs, see state.h. */
void pages_step(struct agent *a);
uint64_t pages_deadline(const struct agent *a);

#endif
