/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that suit jitter and names, not secrets (random.c). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* The state of one sequence of numbers. */
struct randomness {
    uint64_t state; /* never 0 */
};

/* `seed` is any number. */
void randomness_init(struct randomness *r, uint64_t seed);
/* The next number of the sequence. */
uint64_t randomness_next(struct randomness *r);

#endif
