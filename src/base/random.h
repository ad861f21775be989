/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers for jitter and names. They are predictable: never use them for secrets. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* The state of one sequence of pseudo-random numbers. */
struct randomness {
    uint64_t state; /* state of the generator; never 0 */
};

/* Starts a sequence of pseudo-random numbers; `seed` may be any number, including 0. */
void randomness_init(struct randomness *r, uint64_t seed);
/* The next pseudo-random number of the sequence. */
uint64_t randomness_next(struct randomness *r);

#endif
