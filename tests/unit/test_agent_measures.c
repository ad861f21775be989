/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics measure: durations of calls, requests and flushes, and the agent's process. */
#include "tests/unit/kubelet/agent_kubelet.h"

static char page[131072];

static void metrics_get(void)
{
    struct metrics_cursor c = {0};
    struct writer out = writer_of(&page[1], sizeof page - 2u);
    page[0] = '\n';
    assert_true(metrics_write(world.agent, &c, &out));
    page[1 + out.len] = 0;
}

/* The text has the line, the whole of it. */
static void has_line(const char *line)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strstr(page, whole) == NULL) {
        fail_msg("no line \"%s\"", line);
    }
}

static void has_bucket(const char *le, unsigned count)
{
    char line[160];
    (void)snprintf(line, sizeof line,
                   "neuron_dra_kubelet_call_duration_seconds_bucket{"
                   "method=\"NodeUnprepareResources\",result=\"error\","
                   "le=\"%s\"} %u",
                   le, count);
    has_line(line);
}

static void test_durations(void **state)
{
    (void)state;
    world_new();
    start();
    struct agent *a = world.agent;
    static const struct {
        uint64_t us;
        unsigned bucket;
    } samples[] = {{0, 0},         {50, 0},        {51, 1},          {250, 2},       {251, 3},
                   {500, 3},       {900, 4},       {4000, 6},        {30000000, 17}, {30000001, 18},
                   {45000000, 18}, {45000001, 19}, {86400000000, 19}};
    const struct histogram *h = &a->report->durations.call[METHOD_UNPREPARE][RESULT_ERROR];
    for (unsigned i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        uint32_t before = h->bucket[samples[i].bucket];
        durations_call(a, METHOD_UNPREPARE, RESULT_ERROR, samples[i].us);
        assert_int_equal(h->bucket[samples[i].bucket], before + 1);
    }
    metrics_get();
    has_bucket("0.00005", 2);
    has_bucket("0.0001", 3);
    has_bucket("0.00025", 4);
    has_bucket("0.0005", 6);
    has_bucket("0.001", 7);
    has_bucket("0.0025", 7);
    has_bucket("0.005", 8);
    has_bucket("30", 9);
    has_bucket("45", 11);
    has_bucket("+Inf", 13);
    has_line("neuron_dra_kubelet_call_duration_seconds_sum{"
             "method=\"NodeUnprepareResources\",result=\"error\"} 86550.006004");
    has_line("neuron_dra_kubelet_call_duration_seconds_count{method=\"NodeUnprepareResources\","
             "result=\"error\"} 13");
}

/* A line of flushes that succeeded; what: bucket with le, or count. */
static void has_flushes(const char *what, const char *le, uint64_t count)
{
    char line[160];
    (void)snprintf(line, sizeof line,
                   "neuron_dra_store_flush_duration_seconds_%s{result=\"ok\"%s} %llu", what, le,
                   (unsigned long long)count);
    has_line(line);
}

/* A flush, and each kind of request with each way to end. */
static void test_flushes_and_requests(void **state)
{
    (void)state;
    world_new();
    start();
    struct agent *a = world.agent;
    const struct histogram *ok = &durations_of(a)->flush[RESULT_OK];
    uint64_t at_start = histogram_count(ok); /* the files of a test take no time to flush */
    assert_int_equal(ok->bucket[0], at_start);
    durations_flush(a, RESULT_OK, 77001);
    durations_flush(a, RESULT_ERROR, 5);
    static const struct api_result requests[] = {
        {.kind = API_WRITE_EVENT, .creates = true, .status = PEER_TIMEOUT, .elapsed_us = 15000000},
        {.kind = API_WRITE_EVENT, .http = 200, .elapsed_us = 1},
        {.kind = API_WRITE_SLICE, .http = 200, .elapsed_us = 20},
        {.kind = API_APPLY_CLAIM_STATUS, .status = PEER_CLOSED, .http = 999, .elapsed_us = 2505000},
        {.kind = API_GET_NODE, .status = PEER_MALFORMED, .http = 100, .elapsed_us = 250},
        {.kind = API_GET_NODE, .status = PEER_MALFORMED, .http = 201, .elapsed_us = 300},
        {.kind = API_LOOK_CLAIM, .status = PEER_NOT_FOUND, .http = 404, .elapsed_us = 400},
        {.kind = API_GET_CLAIM, .status = PEER_NOT_FOUND, .http = 404, .elapsed_us = 500},
        {.kind = API_WATCH_NODE, .status = PEER_TIMEOUT, .http = 200, .elapsed_us = 9}};
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        durations_api_request(a, &requests[i]);
    }
    metrics_get();
    has_line("# TYPE neuron_dra_store_flush_duration_seconds histogram");
    has_flushes("bucket", ",le=\"0.05\"", at_start);
    has_flushes("bucket", ",le=\"0.1\"", at_start + 1);
    has_line("neuron_dra_store_flush_duration_seconds_sum{result=\"ok\"} 0.077001");
    has_flushes("count", "", at_start + 1);
    has_line("neuron_dra_store_flush_duration_seconds_sum{result=\"error\"} 0.000005");
#define REQUEST_SUM(verb, resource, code, result, sum)                                             \
    has_line("neuron_dra_api_request_duration_seconds_sum{verb=\"" verb "\",resource=\"" resource  \
             "\",code=\"" code "\",result=\"" result "\"} " sum)
    REQUEST_SUM("create", "events", "none", "error", "15");
    REQUEST_SUM("patch", "events", "2xx", "ok", "0.000001");
    REQUEST_SUM("update", "resourceslices", "2xx", "ok", "0.00002");
    REQUEST_SUM("patch", "resourceclaims/status", "none", "error", "2.505");
    REQUEST_SUM("get", "nodes", "1xx", "error", "0.00025");
    REQUEST_SUM("get", "nodes", "2xx", "error", "0.0003");
    REQUEST_SUM("get", "resourceclaims", "4xx", "error", "0.0009");
    REQUEST_SUM("watch", "nodes", "2xx", "ok", "0.000009");
}

static struct files timed;
static uint64_t ticks_us;

/* A clock that is a quarter of a millisecond further each time that it is read. */
static uint64_t ticking_us(void *ctx)
{
    (void)ctx;
    ticks_us += 250;
    return ticks_us;
}

static unsigned measured;

static void process_of_test(void *ctx, uint64_t value[PROCESS_VALUES])
{
    static const uint64_t values[PROCESS_VALUES] = {
        [PROCESS_CPU_US] = 1020304,        [PROCESS_RESIDENT_BYTES] = 1048576,
        [PROCESS_VIRTUAL_BYTES] = 5242880, [PROCESS_START_MS] = 1700000000125,
        [PROCESS_OPEN_FDS] = UINT64_MAX,   [PROCESS_MAX_FDS] = 1024};
    (void)ctx;
    measured++;
    memcpy(value, values, sizeof values);
}

/* Calls and requests are measured by the clock, while the time of the step stands still. */
static void test_durations_below_a_millisecond(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    claim_add(1)->http = 404;
    node_up();
    timed = *world.agent->files;
    timed.clock_us = ticking_us;
    world.agent->files = &timed;
    ticks_us = world.now_ms * 1000u;
    prepare_well(0, 1);
    (void)prepare_now(1, 1);
    metrics_get();
    const struct durations *d = durations_of(world.agent);
    for (unsigned result = 0; result < DURATION_RESULTS; result++) {
        const struct histogram *h = &d->call[METHOD_PREPARE][result];
        assert_int_equal(histogram_count(h), 1);
        assert_in_range(h->sum_us, 500, 10000);
        assert_int_equal(h->sum_us % 250u, 0);
    }
    const struct histogram *get = &d->request[API_GET_CLAIM][ENDING_2XX];
    assert_int_equal(histogram_count(get), 1);
    assert_in_range(get->sum_us, 250, d->call[METHOD_PREPARE][RESULT_OK].sum_us - 250u);
    has_line("neuron_dra_kubelet_call_duration_seconds_count{method=\"NodePrepareResources\","
             "result=\"error\"} 1");
    world.agent->files = &disk_files;
}

/* The process: one measurement for all families of a scrape; what is unknown has no series. */
static void test_metrics_of_the_process(void **state)
{
    (void)state;
    world_new();
    start();
    metrics_get();
    has_line("# TYPE process_cpu_seconds_total counter");
    assert_null(strstr(page, "\nprocess_"));
    timed = *world.agent->files;
    timed.process = process_of_test;
    world.agent->files = &timed;
    measured = 0;
    metrics_get();
    assert_int_equal(measured, 1);
    has_line("# TYPE process_cpu_seconds_total counter\n"
             "process_cpu_seconds_total 1.020304");
    has_line("# TYPE process_resident_memory_bytes gauge\n"
             "process_resident_memory_bytes 1048576");
    has_line("# TYPE process_virtual_memory_bytes gauge\n"
             "process_virtual_memory_bytes 5242880");
    has_line("# TYPE process_start_time_seconds gauge\n"
             "process_start_time_seconds 1700000000.125");
    has_line("# TYPE process_open_fds gauge");
    assert_null(strstr(page, "\nprocess_open_fds "));
    has_line("# TYPE process_max_fds gauge\nprocess_max_fds 1024");
    world.agent->files = &disk_files;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_flushes_and_requests),
        cmocka_unit_test(test_durations_below_a_millisecond),
        cmocka_unit_test(test_metrics_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
