/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations of the kubelet's calls and of requests to the API server, as histograms (durations.c).
 * Owns struct durations. The rooms that measure durations record them here; the metrics page reads
 * them. Internal to src/agent.
 */
#ifndef AGENT_REPORT_DURATIONS_H
#define AGENT_REPORT_DURATIONS_H

#include "agent/api/client.h"

/* Number of buckets with an upper bound. One more bucket counts all longer durations. */
#define DURATION_BUCKETS 12u

/* Upper bound of each bucket in milliseconds, ascending, inclusive. */
extern const uint16_t duration_bounds_ms[DURATION_BUCKETS];

/* Durations in milliseconds. */
struct histogram {
    uint32_t bucket[DURATION_BUCKETS + 1u]; /* count of each bucket, not cumulative */
    uint64_t sum_ms;
};

/* The kubelet's calls that are measured. */
enum kubelet_method { METHOD_PREPARE, METHOD_UNPREPARE, KUBELET_METHODS };

/* Number of classes of HTTP status codes: the first digit of the code, or 0 for no response. */
#define HTTP_STATUS_CLASSES 6u

/* All histograms. */
struct durations {
    struct histogram call[KUBELET_METHODS];
    struct histogram request[API_KINDS][HTTP_STATUS_CLASSES];
    struct histogram flush; /* flushes of the claim store */
};

/* Records a call of the kubelet whose response was sent completely. */
void durations_call(struct agent *a, enum kubelet_method method, uint64_t duration_ms);
/* Records a completed request to the API server; `http_status` 0: no response. */
void durations_api_request(struct agent *a, enum api_kind kind, unsigned http_status,
                           uint64_t duration_ms);
/* Records a flush of the claim store to the disk. */
void durations_flush(struct agent *a, uint64_t duration_ms);
/* All histograms with the durations recorded so far. Never NULL. */
const struct durations *durations_of(const struct agent *a);
/* Number of durations in a histogram. */
uint64_t histogram_count(const struct histogram *h);

#endif
