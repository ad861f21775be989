/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what the agent asked of the API server, by verb and by the second in which it sent it,
 * because a slow path may let requests of a minute arrive at once. Owns the counts; knows nothing
 * of why.
 */
#ifndef TESTS_SIM_VIRTUAL_TALLY_H
#define TESTS_SIM_VIRTUAL_TALLY_H

#include "tests/sim/apiserver/sim_api.h"

/* Requests of the last time that are told apart: far more than one second may have. */
#define TALLY_RECENT 128
/* Streams of a connection whose begin is remembered. */
#define TALLY_STREAMS 512
/* HTTP/2: octets before the first frame, of a frame's header, and the type of HEADERS. */
#define TALLY_PREFACE 24
#define TALLY_HEAD 9
#define TALLY_HEADERS 1

enum tally_verb {
    TALLY_GET,
    TALLY_LIST,
    TALLY_WATCH,
    TALLY_POST,
    TALLY_PUT,
    TALLY_DELETE,
    TALLY_EVENT,
    TALLY_STATUS,
    TALLY_CLAIM,
    TALLY_VERBS
};

struct tally {
    unsigned verb[TALLY_VERBS];
    unsigned connects;             /* connection attempts */
    unsigned most;                 /* own requests in any one second */
    uint64_t most_ms;              /* when that was */
    unsigned next;                 /* of `recent` */
    uint64_t recent[TALLY_RECENT]; /* when own requests were sent; 0: unused */
    /* frames that the agent sends on its connection */
    size_t skip;   /* octets until the next frame's header */
    unsigned have; /* of `head` */
    uint8_t head[TALLY_HEAD];
    uint64_t sent_ms[TALLY_STREAMS]; /* by stream: when its HEADERS went out */
};

/* A connection was opened; the agent sends `bytes` on it: when its requests begin. */
void tally_connected(struct tally *t);
void tally_sent(struct tally *t, struct view bytes, uint64_t now_ms);
/* A request arrived; it counts for the second in which it was sent. */
void tally_request(struct tally *t, const struct sim_api_event *e);
/* Another process asks from now on: it has a second of its own. */
void tally_process(struct tally *t);
/* All requests but claim GETs: they are as many as there are pods. */
unsigned tally_own(const struct tally *t);
/* Writes of slices. */
unsigned tally_writes(const struct tally *t);

#endif
