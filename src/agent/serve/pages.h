/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the metrics port (pages.c): /metrics, /healthz, /readyz. Owns struct page_link, one
 * connection each. Internal to src/agent.
 */
#ifndef AGENT_SERVE_PAGES_H
#define AGENT_SERVE_PAGES_H

#include "agent/serve/metrics.h"
#include "wire/http1.h"

/* One connection and the page that it is sent. */
struct page_link {
    bool open;
    bool reported; /* its failure was logged */
    bool writing;  /* a page is under way */
    uint8_t page;
    uint16_t line; /* next one of /readyz */
    struct metrics_cursor cursor;
    struct http1 http;
};

/* Takes a connection: its link, or -1; a waiting one may have given way. */
int page_open(struct agent *a, uint64_t now_ms);
/* When page_open takes a connection, now or by then; UINT64_MAX: not known. */
uint64_t pages_room_ms(const struct agent *a);
/* The module's verbs, see state.h. */
void pages_step(struct agent *a);
uint64_t pages_deadline(const struct agent *a);

#endif
