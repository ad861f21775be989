/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what the agent asked of the API server, by verb and by second. Owns the counts; knows
 * nothing of why.
 */
#ifndef TESTS_SIM_VIRTUAL_TALLY_H
#define TESTS_SIM_VIRTUAL_TALLY_H

#include "tests/sim/sim_api.h"

/* Requests of one second that are told apart: far more than are allowed. */
#define TALLY_RECENT 1024

enum tally_verb {
    TALLY_GET, TALLY_LIST, TALLY_WATCH, TALLY_POST, TALLY_PUT, TALLY_DELETE, TALLY_EVENT,
    TALLY_STATUS, TALLY_CLAIM, TALLY_VERBS
};

struct tally {
    unsigned verb[TALLY_VERBS];
    unsigned connects;             /* connection attempts */
    unsigned most;                 /* own requests in any one second */
    uint64_t most_ms;              /* when that was */
    unsigned first;                /* of `recent` */
    unsigned count;
    uint64_t recent[TALLY_RECENT]; /* when the requests of the last second were */
};

void tally_request(struct tally *t, const struct sim_api_event *e, uint64_t now_ms);
/* All requests but claim GETs: they are as many as there are pods. */
unsigned tally_own(const struct tally *t);
/* Writes of slices. */
unsigned tally_writes(const struct tally *t);

#endif
