/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits before retries (backoff.c). Each wait is twice as long as the last one, up to a bound, and
 * has jitter, so that the agents of a cluster do not all retry at the same moment. Owns the random
 * numbers.
 */
#ifndef AGENT_API_BACKOFF_H
#define AGENT_API_BACKOFF_H

#include "agent/agent.h"

/* Returns the next 64-bit random number from a->randomness. */
uint64_t agent_random(struct agent *a);
/* Returns `base_ms` plus a random time of less than a quarter of `base_ms`. */
uint64_t agent_jitter(struct agent *a, uint64_t base_ms);
/*
 * Returns `base_ms` plus a random time of less than `base_ms`, at most API_RECONNECT_MS: for a wait
 * that the server asks of many agents at once.
 */
uint64_t agent_spread(struct agent *a, uint64_t base_ms);
/*
 * Doubles *backoff_ms, limits it to the range from least_ms to most_ms, and returns it with jitter.
 */
uint64_t agent_backoff_within(struct agent *a, uint64_t *backoff_ms, uint64_t least_ms,
                              uint64_t most_ms);
/* Like agent_backoff_within, with the bounds API_BACKOFF_MIN_MS and API_BACKOFF_MAX_MS. */
uint64_t agent_backoff(struct agent *a, uint64_t *backoff_ms);

#endif
