/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics as text in Prometheus' exposition format 0.0.4 (metrics.c). Owns no state; each value
 * is read, when its line is written, from the folder of src/agent that owns the value. Internal to
 * src/agent.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/report/durations.h"
#include "base/bytes.h"

/*
 * Position of one connection in the text of the metrics. If all bytes are zero, the position is the
 * start.
 */
struct metrics_cursor {
    uint8_t family;
    uint16_t row; /* 0: the HELP and TYPE lines; 1 and higher: a series of the family */
    uint8_t line; /* index of the line within the series of a histogram */
    /*
     * copies of the histogram and the process values being written, so that all their lines show
     * one moment
     */
    struct histogram now;
    uint64_t process[PROCESS_VALUES];
};

/*
 * Writes whole lines, starting at the cursor, until the next line does not fit into `out`. true:
 * the text is complete. Any line fits into an empty writer of METRICS_LINE_BYTES_MAX.
 */
bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out);

/*
 * metrics_verb returns the Kubernetes verb of a request, and metrics_resource its resource: the
 * values of the labels `verb` and `resource` of the metric about durations of requests. `kind` must
 * not be API_NONE. `creates`: the request is a POST.
 */
const char *metrics_verb(enum api_kind kind, bool creates);
const char *metrics_resource(enum api_kind kind);

#endif
