/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics as text in Prometheus' exposition format 0.0.4 (metrics.c). Owns no state: each value
 * is read where it is kept when its line is written. Internal to src/agent.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/report/durations.h"
#include "base/bytes.h"

/* How far one reader has got in the text. All zero: at its start. */
struct metrics_cursor {
    uint8_t family;
    uint16_t row;         /* 0: HELP and TYPE; from 1: series */
    uint8_t line;         /* of a histogram */
    struct histogram now; /* the histogram being written: its lines are of one moment */
};

/*
 * Writes as many whole lines from the cursor on as `out` has room for. True: the text is complete.
 * An empty writer of METRICS_LINE_BYTES_MAX always takes one.
 */
bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out);

/* Verb and resource of a request, as in the labels of its metric; not of API_NONE. */
const char *metrics_verb(enum api_kind kind);
const char *metrics_resource(enum api_kind kind);

#endif
