/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about peers that broke the protocol (peer_failures.c). Owns struct peer_failures, which
 * limits the number of lines, because any process can reach the TCP ports. Internal to src/agent.
 */
#ifndef AGENT_SERVE_PEER_FAILURES_H
#define AGENT_SERVE_PEER_FAILURES_H

#include "agent/agent.h"

/* Numbers of failed connections to the TCP ports in the current time window. */
struct peer_failures {
    uint64_t window_ms;  /* end of the current time window */
    uint32_t logged;     /* number of lines logged in this window; 0: no window has started */
    uint32_t suppressed; /* number of failures in this window that were not logged */
};

/*
 * Counts a peer that broke the protocol, and logs it with the HTTP/1.1 status sent to it or, when
 * `response` is NULL, with the HTTP/2 error code. On the TCP ports at most CONNECTION_LINES_MAX
 * lines are logged in CONNECTION_LINES_MS; peer_failures_step logs the number of further failures.
 */
void peer_failed(struct agent *a, unsigned link, enum status why, const char *response,
                 uint32_t code);
/* When a window ends, logs how many failures were not logged in it. */
void peer_failures_step(struct agent *a);
/* The latest time at which peer_failures_step must run. */
uint64_t peer_failures_deadline(const struct agent *a);

#endif
