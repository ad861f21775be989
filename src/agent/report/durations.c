/* SPDX-License-Identifier: Apache-2.0 */
/* Records durations in histograms, and counts them. The callers measure the durations. */
#include "agent/report/durations.h"

#include "agent/api/retry.h"
#include "agent/frame.h"
#include "agent/report/room.h"
#include "base/assert.h"

/*
 * The bounds range from less than the 60 us of an unprepare that does not wait for the disk, to
 * 45 s, when the kubelet gives up on a call. Most watches last longer than the largest bound.
 */
const uint32_t duration_bounds_us[DURATION_BUCKETS] = {
    50,     100,    250,    500,     1000,    2500,    5000,     10000,    25000,   50000,
    100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 45000000};

static void record_duration(struct histogram *h, uint64_t duration_us)
{
    unsigned at = 0;
    while (at < DURATION_BUCKETS && duration_us > duration_bounds_us[at]) {
        at++;
    }
    h->bucket[at]++;
    h->sum_us += duration_us;
}

void durations_call(struct agent *a, enum kubelet_method method, enum duration_result result,
                    uint64_t duration_us)
{
    ASSERT((unsigned)method < (unsigned)KUBELET_METHODS && result < DURATION_RESULTS);
    record_duration(&a->report->durations.call[method][result], duration_us);
}

unsigned durations_request_kind(enum api_kind kind, bool creates)
{
    if (creates) {
        ASSERT(kind == API_WRITE_SLICE || kind == API_WRITE_EVENT);
        return (kind == API_WRITE_SLICE) ? REQUEST_CREATE_SLICE : REQUEST_CREATE_EVENT;
    }
    return (kind == API_LOOK_CLAIM) ? (unsigned)API_GET_CLAIM : (unsigned)kind;
}

/*
 * Whether a request that got a 2xx code counts as a success. A watch also counts as a success if
 * the server or the agent ended it normally.
 */
static bool ended_well(const struct api_result *r)
{
    bool watch = r->kind == API_WATCH_SLICES || r->kind == API_WATCH_NODE;
    return r->status == STATUS_OK || (watch && retry_watch_goes_on(r));
}

void durations_api_request(struct agent *a, const struct api_result *r)
{
    ASSERT(r->kind != API_NONE && (unsigned)r->kind < API_KINDS);
    unsigned code = r->http / 100u;
    unsigned ending = (code < (unsigned)ENDING_2XX_ERROR) ? code : 0u;
    if (ending == (unsigned)ENDING_2XX && !ended_well(r)) {
        ending = ENDING_2XX_ERROR;
    }
    record_duration(
        &a->report->durations.request[durations_request_kind(r->kind, r->creates)][ending],
        r->elapsed_us);
}

void durations_flush(struct agent *a, enum duration_result result, uint64_t duration_us)
{
    ASSERT(result < DURATION_RESULTS);
    record_duration(&a->report->durations.flush[result], duration_us);
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
