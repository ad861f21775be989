/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured, and its text in Prometheus' exposition format 0.0.4 (metrics.c). Owns struct
 * metrics: durations that no other module keeps; everything else is read where it lives when it is
 * asked for. Internal to src/agent.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/report/durations.h"
#include "base/bytes.h"

/* Where one reader is in the text. All zero: at its begin. */
struct metrics_cursor {
    uint8_t family;
    uint16_t row;         /* 0: HELP and TYPE; from 1: series */
    uint8_t line;         /* of a histogram */
    struct histogram now; /* the histogram under way: its lines tell of one moment */
};

/*
 * Writes as many whole lines from the cursor on as `out` has room for. True: the text is complete.
 * An empty writer of METRICS_LINE_BYTES_MAX always takes one.
 */
bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out);

#endif
