/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait after a request to the API server that failed (retry.c). Owns no state: each
 * owner of requests keeps its own backoff.
 */
#ifndef AGENT_API_RETRY_H
#define AGENT_API_RETRY_H

#include "agent/api/client.h"

/*
 * Until the request may be made again: doubled from time to time, longer when the server asks for
 * it, long when only an operator can change the answer (403).
 */
uint64_t retry_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/*
 * Until a watch that ends with this result is opened again: longer each time, unless it ran for
 * some time.
 */
uint64_t retry_watch_wait(struct agent *a, const struct api_result *r, uint64_t *backoff_ms);
/* Whether a watch ended as watches do: the next one continues from the last version. */
bool retry_watch_goes_on(const struct api_result *r);
/* Whether the failure passes by itself: a server or a path that fails, or has too much to do. */
bool retry_passes(uint16_t http);

#endif
