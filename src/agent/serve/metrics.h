/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics as text in Prometheus' exposition format 0.0.4 (metrics.c). Owns no state: reads each
 * value from its room when it writes the line. Internal to src/agent.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/report/durations.h"
#include "base/bytes.h"

/* A reader's position in the text. All zero: the start. */
struct metrics_cursor {
    uint8_t family;
    uint16_t row; /* 0: HELP and TYPE; from 1 on: series */
    uint8_t line; /* line of a histogram */
    /* copy of the histogram being written, so that its lines are consistent */
    struct histogram now;
};

/*
 * Writes as many whole lines from the cursor on as `out` has room for. true: the text is complete.
 * An empty writer of METRICS_LINE_BYTES_MAX always holds one line.
 */
bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out);

/* Verb and resource of a request, as in the metric's labels; not for API_NONE. */
const char *metrics_verb(enum api_kind kind);
const char *metrics_resource(enum api_kind kind);

#endif
