/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations: recording and counts. The callers measure the durations. */
#include "agent/report/durations.h"

#include "agent/frame.h"
#include "agent/report/room.h"
#include "base/assert.h"

/* The kubelet gives up a call after 45 s. Watches usually last longer than every bound. */
const uint16_t duration_bounds_ms[DURATION_BUCKETS] = {5,   10,   25,   50,   100,   250,
                                                       500, 1000, 2500, 5000, 10000, 30000};

static void record_duration(struct histogram *h, uint64_t duration_ms)
{
    unsigned at = 0;
    while (at < DURATION_BUCKETS && duration_ms > duration_bounds_ms[at]) {
        at++;
    }
    h->bucket[at]++;
    h->sum_ms += duration_ms;
}

void durations_call(struct agent *a, enum kubelet_method method, uint64_t duration_ms)
{
    ASSERT((unsigned)method < (unsigned)KUBELET_METHODS);
    record_duration(&a->report->durations.call[method], duration_ms);
}

void durations_api_request(struct agent *a, enum api_kind kind, unsigned http_status,
                           uint64_t duration_ms)
{
    ASSERT(kind != API_NONE && (unsigned)kind < API_KINDS);
    unsigned code = http_status / 100u;
    record_duration(&a->report->durations.request[kind][(code < HTTP_STATUS_CLASSES) ? code : 0u],
                    duration_ms);
}

void durations_flush(struct agent *a, uint64_t duration_ms)
{
    record_duration(&a->report->durations.flush, duration_ms);
}

const struct durations *durations_of(const struct agent *a)
{
    return &a->report->durations;
}

uint64_t histogram_count(const struct histogram *h)
{
    uint64_t n = 0;
    for (unsigned i = 0; i <= DURATION_BUCKETS; i++) {
        n += h->bucket[i];
    }
    return n;
}
