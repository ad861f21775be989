/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured, and its text in Prometheus' exposition format 0.0.4 (metrics.c). Owns struct
 * metrics: durations that no other module keeps; everything else is read where it lives when it is
 * asked for. Internal to src/agent.
 */
#ifndef AGENT_SERVE_METRICS_H
#define AGENT_SERVE_METRICS_H

#include "agent/api/api.h"
#include "base/bytes.h"

/* Upper bounds of the buckets of every histogram, the one without bound not counted. */
#define METRICS_BUCKETS 12u

/* Durations in milliseconds. */
struct histogram {
    uint32_t bucket[METRICS_BUCKETS + 1u]; /* how many fell into each one; the last has no bound */
    uint64_t sum_ms;
};

/* Classes of HTTP status codes: by their first digit, and 0 for no answer. */
#define METRICS_CODES 6u

/* Calls of the kubelet whose time is taken. */
enum metrics_method { METHOD_PREPARE, METHOD_UNPREPARE, METRICS_METHODS };

/* The durations, and when slices were last known to be right. */
struct metrics {
    struct histogram call[METRICS_METHODS];
    struct histogram request[REQUEST_KINDS][METRICS_CODES];
    uint64_t published_ms; /* Unix milliseconds; 0: never */
};

/* Where one reader is in the text. All zero: at its begin. */
struct metrics_cursor {
    uint8_t family;
    uint16_t row;         /* 0: HELP and TYPE; from 1: series */
    uint8_t line;         /* of a histogram */
    struct histogram now; /* the histogram under way: its lines tell of one moment */
};

/* A call of the kubelet is answered in full. */
void metrics_call(struct agent *a, enum metrics_method method, uint64_t duration_ms);
/* A request to the API server ended. `http_status` 0: without an answer. */
void metrics_api_call(struct agent *a, enum request_kind kind, unsigned http_status,
                      uint64_t duration_ms);
/* The stored slices are the wanted ones: written just now, or found so. */
void metrics_published(struct agent *a);
/*
 * Writes as many whole lines from the cursor on as `out` has room for. True: the text is complete.
 * An empty writer of METRICS_LINE_BYTES_MAX always takes one.
 */
bool metrics_write(const struct agent *a, struct metrics_cursor *c, struct writer *out);

#endif
