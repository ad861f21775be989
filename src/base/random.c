/* SPDX-License-Identifier: Apache-2.0 */
/* Implements base/random.h with xorshift64*: predictable, but jitter and names need no secrets. */
#include "base/random.h"

#include "base/assert.h"

void randomness_init(struct randomness *r, uint64_t seed)
{
    r->state = (seed == 0u) ? 1u : seed;
}

uint64_t randomness_next(struct randomness *r)
{
    uint64_t x = r->state;
    ASSERT(x != 0u);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->state = x;
    return x * UINT64_C(2685821657736338717);
}
