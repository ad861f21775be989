/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the steps that a claim can make in the model, while Spin visits all its states:
 * claim.pml includes this file when STEPS is defined. What is seen of a claim, and how it is
 * written, is the same as in tests/sim/virtual/steps.h, which observes the agent. When the search
 * ends, each step is written as a line "WHO BEFORE AFTER".
 */
#ifndef TESTS_MODEL_STEPS_H
#define TESTS_MODEL_STEPS_H

#include <stdio.h>
#include <stdlib.h>

#define STEPS_APIS 5
#define STEPS_SLOTS 4
#define STEPS_SEEN (STEPS_APIS * STEPS_SLOTS * 32)
#define STEPS_ACTORS 4

static const char steps_actors[] = "ACKF";
static unsigned char steps_made[STEPS_ACTORS][STEPS_SEEN][STEPS_SEEN];
static int steps_started;
static int steps_from[2];

static void steps_text(int seen, char text[8])
{
    text[0] = "-farx"[seen / (STEPS_SLOTS * 32)];
    text[1] = ".ehg"[seen / 32 % STEPS_SLOTS];
    for (int bit = 0; bit < 5; bit++) {
        text[2 + bit] = (seen >> bit & 1) ? "CDFTP"[bit] : '-';
    }
    text[7] = 0;
}

static void steps_write(void)
{
    const char *name = getenv("STEPS_FILE");
    FILE *out = fopen(name != NULL ? name : "steps.txt", "w");
    char from[8];
    char to[8];
    if (out == NULL) {
        perror("steps");
        exit(2);
    }
    for (int who = 0; who < STEPS_ACTORS; who++) {
        for (int i = 0; i < STEPS_SEEN * STEPS_SEEN; i++) {
            if (steps_made[who][i / STEPS_SEEN][i % STEPS_SEEN]) {
                steps_text(i / STEPS_SEEN, from);
                steps_text(i % STEPS_SEEN, to);
                fprintf(out, "%c %s %s\n", steps_actors[who], from, to);
            }
        }
    }
    fclose(out);
}

static void steps_count(char who, int claim, int to)
{
    int actor = 0;
    while (steps_actors[actor] != who) {
        actor++;
    }
    if (!steps_started) {
        steps_started = 1;
        atexit(steps_write);
    }
    if (steps_from[claim] != to) {
        steps_made[actor][steps_from[claim]][to] = 1;
    }
}

/* `now` is the state that Spin visits. The slot is that of the agent that has the store open. */
#define STEPS_SLOT_OF(x, i) (1 + now.mem[i].slot[x])
#define STEPS_SLOT(x)                                                                              \
    (now.mem[0].open != 0   ? STEPS_SLOT_OF((x), 0)                                                \
     : now.mem[1].open != 0 ? STEPS_SLOT_OF((x), 1)                                                \
                            : 0)
#define STEPS_DISK(x) ((now.cached[x] != 0 ? 1 : 0) + (now.flushed[x] != 0 ? 2 : 0))
#define STEPS_FILES(x) ((now.cdi[x] != 0 ? 4 : 0) + (now.tombstone[x] != 0 ? 8 : 0))
#define STEPS_OF(x)                                                                                \
    ((now.api[x] * STEPS_SLOTS + STEPS_SLOT(x)) * 32 + STEPS_DISK(x) + STEPS_FILES(x) +            \
     (now.told[x] != 0 ? 16 : 0))
#define STEPS_BEFORE (steps_from[0] = STEPS_OF(0), steps_from[1] = STEPS_OF(1))
#define STEPS_AFTER(who) (steps_count((who), 0, STEPS_OF(0)), steps_count((who), 1, STEPS_OF(1)))

#endif
