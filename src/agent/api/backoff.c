/* SPDX-License-Identifier: Apache-2.0 */
/* Computes waits before retries, see backoff.h. */
#include "agent/api/backoff.h"

#include "agent/frame.h"
#include "base/assert.h"

uint64_t agent_random(struct agent *a)
{
    return randomness_next(&a->randomness);
}

uint64_t agent_jitter(struct agent *a, uint64_t base_ms)
{
    uint64_t spread = base_ms / 4u;
    return base_ms + ((spread == 0u) ? 0u : agent_random(a) % spread);
}

uint64_t agent_spread(struct agent *a, uint64_t base_ms)
{
    uint64_t spread = (base_ms < API_RECONNECT_MS) ? base_ms : API_RECONNECT_MS;
    return base_ms + ((spread == 0u) ? 0u : agent_random(a) % spread);
}

uint64_t agent_backoff_within(struct agent *a, uint64_t *backoff_ms, uint64_t least_ms,
                              uint64_t most_ms)
{
    ASSERT(least_ms <= most_ms && most_ms <= UINT64_MAX / 4u);
    uint64_t next = (*backoff_ms < least_ms) ? least_ms : *backoff_ms * 2u;
    *backoff_ms = (next < most_ms) ? next : most_ms;
    return agent_jitter(a, *backoff_ms);
}

uint64_t agent_backoff(struct agent *a, uint64_t *backoff_ms)
{
    return agent_backoff_within(a, backoff_ms, API_BACKOFF_MIN_MS, API_BACKOFF_MAX_MS);
}
