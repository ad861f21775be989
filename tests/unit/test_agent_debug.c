/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug events: each request to the API server and each call of the kubelet, with what it was
 * about, its result and its duration; no token, and nothing at any other level.
 */
#include "agent/calls/call_log.h"
#include "tests/unit/kubelet/agent_kubelet.h"

static void begin(const char *level)
{
    const char *const flags[] = {"--log-level", level, "--claim-status", "true"};
    world_new();
    settings_set(flags, 4);
    for (unsigned i = 0; i < 3; i++) {
        (void)claim_add(i);
    }
    node_up();
}

#define REQUEST "level=debug event=api_request_ended "
#define CALL "level=debug event=kubelet_call_ended "
#define CLAIMS_PATH "path=/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/"

static void test_requests(void **state)
{
    (void)state;
    begin("debug");
    prepare_well(0, 1);
    pass(5000);
    log_has(REQUEST "verb=get path=/apis/resource.k8s.io http=200 status=ok elapsed_us=");
    log_has("path=/apis/resource.k8s.io/v1/resourceslices http=20");
    log_has(CLAIMS_PATH "claim-0 http=200 status=ok elapsed_us=");
    log_has(CLAIMS_PATH "claim-0/status http=200 status=ok elapsed_us=");
    /* a query has no place in it, a token has none anywhere */
    assert_int_equal(said("path=/") - said("http="), 0);
    assert_null(strchr(strstr(world.log, "path="), '?'));
    assert_int_equal(said("secret") + said("Bearer"), 0);
}

static void test_failed_request(void **state)
{
    (void)state;
    begin("debug");
    api.claim[1].http = 403;
    (void)prepare_now(1, 1);
    log_has(CLAIMS_PATH "claim-1 http=403 status=peer-refused elapsed_us=");
    log_has(CALL "method=NodePrepareResources claims=1 names=ml/claim-1 failed=1 result=answered "
                 "elapsed_us=");
}

static void test_calls(void **state)
{
    (void)state;
    begin("debug");
    api.claim[1].results = 0;
    (void)prepare_now(0, 3);
    log_has(CALL "method=NodePrepareResources claims=3 names=ml/claim-0,ml/claim-1,ml/claim-2 "
                 "failed=1 result=answered elapsed_us=");
    unprepare_well(0, 3);
    log_has(CALL "method=NodeUnprepareResources claims=3 names=ml/claim-0,ml/claim-1,ml/claim-2 "
                 "failed=0 result=answered elapsed_us=");
    assert_int_equal(said(CALL), 2);
}

static void test_calls_that_end_otherwise(void **state)
{
    (void)state;
    begin("debug");
    api.hangs = true;
    struct peer *p = service_open();
    struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    call_cancel(p, c);
    log_has(CALL "method=NodePrepareResources claims=1 names=ml/claim-0 failed=0 result=\"the "
                 "kubelet ended the call before its answer\" elapsed_us=");
    (void)call_send(p, PREPARE, claims_request(1, 2));
    settle();
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
    pass(SHUTDOWN_MS + 1000);
    log_has(CALL "method=NodePrepareResources claims=2 names=ml/claim-1,ml/claim-2 failed=0 "
                 "result=\"the agent is stopping; try again\" elapsed_us=");
    assert_int_equal(said(CALL), 2);
}

static uint64_t prepares(enum duration_result result)
{
    return histogram_count(&durations_of(world.agent)->call[METHOD_PREPARE][result]);
}

/* Calls that the kubelet gives up, or that are refused as a whole, are failed calls with a line. */
static void test_calls_without_answer(void **state)
{
    (void)state;
    begin("debug");
    api.hangs = true;
    struct peer *p = service_open();
    struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    call_cancel(p, c);
    assert_int_equal(prepares(RESULT_ERROR), 1);
    (void)call_send(p, PREPARE, view_text("\xff"));
    settle();
    log_has(CALL "method=NodePrepareResources claims=0 names=\"\" failed=0 result=\"the request is "
                 "not readable as protobuf\" elapsed_us=");
    assert_int_equal(prepares(RESULT_ERROR), 2);
    assert_int_equal(prepares(RESULT_OK), 0);
    assert_int_equal(said(CALL), 2);
}

/* Names that do not fit are left out whole, and so are all after them. */
static void test_names_that_do_not_fit(void **state)
{
    (void)state;
    begin("debug");
    struct call call = {.count = 5};
    struct operation *o = world.agent->calls->operation;
    for (unsigned i = 0; i < call.count; i++) {
        call.operation[i] = (uint16_t)i;
        text_cut(o[i].id.namespace_, sizeof o[i].id.namespace_, view_text("ml"));
        memset(o[i].id.name, 'a' + (int)i, (i < 4) ? 250 : 1);
        o[i].id.name[(i < 4) ? 250 : 1] = '\0';
    }
    call_log(world.agent, &call, NULL);
    world.poked = true;
    settle();
    log_has("cccccc failed=0 ");
    assert_int_equal(said("ml/e"), 0);
}

/* At any other level there is no line, no text is kept, and the counters stay at zero. */
static void test_quiet(void **state)
{
    (void)state;
    begin("info");
    prepare_well(0, 3);
    unprepare_well(0, 3);
    pass(5000);
    assert_int_equal(said("level=debug"), 0);
    assert_int_equal(report_count(world.agent, LOG_ID_API_REQUEST_ENDED), 0);
    assert_int_equal(report_count(world.agent, LOG_ID_KUBELET_CALL_ENDED), 0);
    for (unsigned i = 0; i < API_PLACES; i++) {
        assert_int_equal(world.agent->api->client.exchange[i].result.path[0], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_failed_request),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_calls_that_end_otherwise),
        cmocka_unit_test(test_calls_without_answer),
        cmocka_unit_test(test_names_that_do_not_fit),
        cmocka_unit_test(test_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
