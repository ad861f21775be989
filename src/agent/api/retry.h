/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits after failed requests to the API server (retry.c). Owns no state: each owner of requests
 * keeps its own backoff.
 */
#ifndef AGENT_API_RETRY_H
#define AGENT_API_RETRY_H

#include "agent/api/client.h"

/*
 * Wait before the request is repeated: doubles each time, at least as long as the server asks, and
 * long when only an operator can change the answer (403).
 */
uint64_t retry_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/*
 * Wait before a watch that ended with this result is reopened: doubles each time, unless the watch
 * ran for API_REFUSED_MS or longer.
 */
uint64_t retry_watch_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/* Whether a watch ended normally: the next one continues from its last version. */
bool retry_watch_goes_on(const struct api_result *r);
/* Whether the failure is transient: no response, 429 or a 5xx status. */
bool retry_passes(uint16_t http);

#endif
