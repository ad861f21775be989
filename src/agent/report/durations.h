/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations of the kubelet's calls, of requests to the API server, and of flushes of the claim
 * store, as histograms (durations.c). Owns struct durations. The file of src/agent that measures a
 * duration records it here; the metrics page shows the histograms. Internal to src/agent.
 */
#ifndef AGENT_REPORT_DURATIONS_H
#define AGENT_REPORT_DURATIONS_H

#include "agent/api/client.h"

/* Number of buckets with an upper bound. One more bucket counts all longer durations. */
#define DURATION_BUCKETS 19u

/* Upper bound of each bucket in microseconds, ascending, inclusive. */
extern const uint32_t duration_bounds_us[DURATION_BUCKETS];

/* A histogram of durations, which are in microseconds. */
struct histogram {
    uint32_t bucket[DURATION_BUCKETS + 1u]; /* number of durations in each bucket, not cumulative */
    uint64_t sum_us;
};

/* The kubelet's calls whose duration is measured. */
enum kubelet_method { METHOD_PREPARE, METHOD_UNPREPARE, KUBELET_METHODS };

/* Whether the measured call or flush succeeded. */
enum duration_result { RESULT_OK, RESULT_ERROR, DURATION_RESULTS };

/*
 * Kinds of requests as Kubernetes counts them, by verb and resource: the values of enum api_kind,
 * and one more for each of the two kinds of writes that can also create an object (POST).
 */
enum {
    REQUEST_CREATE_SLICE = API_KINDS,
    REQUEST_CREATE_EVENT,
    REQUEST_KINDS /* number of kinds of requests, API_NONE included */
};

/*
 * How a request ended: the first digit of the HTTP status code, or 0 for no response.
 * ENDING_2XX_ERROR: the code was 2xx, but the body was invalid or incomplete.
 */
enum { ENDING_2XX = 2, ENDING_2XX_ERROR = 6, REQUEST_ENDINGS };

/*
 * The histograms of the kubelet's calls, of requests to the API server, and of flushes of the claim
 * store.
 */
struct durations {
    struct histogram call[KUBELET_METHODS][DURATION_RESULTS];
    struct histogram request[REQUEST_KINDS][REQUEST_ENDINGS];
    /* durations of flushes of the claim store, by result */
    struct histogram flush[DURATION_RESULTS];
};

/*
 * Records a call of the kubelet that ended; the result is RESULT_ERROR also if the kubelet did not
 * get the whole response.
 */
void durations_call(struct agent *a, enum kubelet_method method, enum duration_result result,
                    uint64_t duration_us);
/* Records the duration of a completed request to the API server. */
void durations_api_request(struct agent *a, const struct api_result *r);
/*
 * Index of a request in durations.request: its enum api_kind or, if it creates an object,
 * REQUEST_CREATE_SLICE or REQUEST_CREATE_EVENT.
 */
unsigned durations_request_kind(enum api_kind kind, bool creates);
/* Records the duration of a flush of the claim store to the disk. */
void durations_flush(struct agent *a, enum duration_result result, uint64_t duration_us);
/* All histograms with the durations recorded so far. Never NULL. */
const struct durations *durations_of(const struct agent *a);
/* Number of durations in a histogram. */
uint64_t histogram_count(const struct histogram *h);

#endif
