/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes waits after failed requests to the API server, and writes what a refusal says (retry.c).
 * Owns no state: each owner of requests keeps its own backoff.
 */
#ifndef AGENT_API_RETRY_H
#define AGENT_API_RETRY_H

#include "agent/api/client.h"

/*
 * Returns the wait before a failed request is repeated. The wait doubles with each failure, is at
 * least as long as the server asks, at most API_BUSY_MAX_MS with its jitter if the server is busy
 * (retry_is_busy) unless it asks for more, at most twice API_RETRY_LEAST_MS while the agent's roles
 * may be new (`roles_new`), and at least API_REFUSED_MS after any other 403, which only an operator
 * can remedy.
 */
uint64_t retry_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/*
 * Returns the wait before a watch that ended with this result is reopened. The wait doubles each
 * time, unless the watch ran for API_REFUSED_MS or longer.
 */
uint64_t retry_watch_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/* Whether the watch ended normally, so that the next one can continue from its resource version. */
bool retry_watch_goes_on(const struct api_result *r);
/* Whether the failure is transient: there was no response, or the server is busy. */
bool retry_passes(const struct api_result *r);
/*
 * Whether the server refused the request because it is busy, fails or has just started: 429, a 5xx
 * status, or a 403 with `roles_unread`.
 */
bool retry_is_busy(const struct api_result *r);
/*
 * Appends the end of a message about a refused request: the HTTP status, and the server's message
 * or, for 401, the remedy.
 */
void retry_refusal_write(const struct api_result *r, struct writer *out);

#endif
