/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent when the API server moves it to another connection or asks it to wait: what was
 * started ends well, nothing waits longer than it must, and nothing is logged as a failure.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void up(uint32_t window)
{
    world_new();
    claim_add(0);
    api.window = window;
    node_up();
    pass(20000);
    assert_true(publish_current(world.agent));
    log_forget();
    api_forget();
}

/* GOAWAY comes while a PUT waits for the server's window: the rest of it still goes out. */
static void test_put_ends_while_the_connection_drains(void **state)
{
    bool sent = false;
    (void)state;
    up(2000);
    const struct api_exchange *x = &world.agent->api->client.exchange[API_SLOT_SLICES];
    world.found.count = 15;
    agent_found(world.agent, &world.found);
    world.poked = true;
    for (unsigned i = 0; i < 1000 && !sent; i++) {
        (void)api_to_agent();
        step();
        sent = x->result.kind == API_WRITE_SLICE && x->body_sent > 0 && x->body_sent < x->body_len;
    }
    assert_true(sent);
    sim_api_goaway(&server, api.link, false);
    struct peer *kubelet = service_open();
    const struct peer_call *call = call_send(kubelet, PREPARE, claims_request(0, 1));
    pass(5000);
    assert_true(call->ended);
    assert_string_equal(prepare_error(call_reply_of(call), 0), "");
    assert_int_equal(world.agent->api->connection.state, API_UP);
    assert_true(publish_current(world.agent));
    assert_int_equal(world.agent->publish->wanted.devices.count, 15);
    log_has("event=api_connection_drained");
    assert_null(strstr(world.log, "event=api_connection_lost"));
}

/* A server that moves its clients now and then is met soon on the next connection. */
static void test_goaway_is_no_failure(void **state)
{
    (void)state;
    up(65535);
    pass(API_BACKOFF_MAX_MS);
    sim_api_goaway(&server, api.link, false);
    settle();
    pass(API_MOVE_MS);
    assert_int_equal(world.agent->api->connection.state, API_UP);
    log_has("event=api_connection_drained");
    assert_null(strstr(world.log, "level=warn"));
}

/* One that does it on every connection is met more and more slowly. */
static void test_goaway_for_ever_is_slowed_down(void **state)
{
    unsigned connections = 0;
    (void)state;
    up(65535);
    for (unsigned i = 0; i < 200; i++) {
        if (world.agent->api->connection.state == API_UP) {
            connections++;
            sim_api_goaway(&server, api.link, false);
        }
        pass(100);
    }
    assert_in_range(connections, 3, 20);
}

/* One that does it before each answer is served all the same, and nobody is alarmed. */
static void test_goaway_before_each_answer(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    api.moves = true;
    node_up();
    pass(20000);
    assert_int_equal(api_writes(), 1);
    assert_true(publish_current(world.agent));
    assert_in_range(api.connections, 3, 10);
    struct peer *kubelet = service_open();
    const struct peer_call *call = call_send(kubelet, PREPARE, claims_request(0, 1));
    pass(API_MOVE_MAX_MS);
    assert_true(call->ended);
    assert_string_equal(prepare_error(call_reply_of(call), 0), "");
    log_has("event=api_connection_drained");
    assert_null(strstr(world.log, "api_connection_lost"));
    assert_null(strstr(world.log, "api_request_failed"));
}

/* What was listed on one connection is written on the next, without another list. */
static void test_round_goes_on_elsewhere(void **state)
{
    (void)state;
    up(65535);
    world.found.count = 15;
    agent_found(world.agent, &world.found);
    world.poked = true;
    api.hangs = true;
    step();
    assert_int_equal(world.agent->publish->round.step, ROUND_LIST);
    assert_true(api_slot_busy(world.agent, API_SLOT_SLICES));
    sim_api_goaway(&server, api.link, true);
    pass(10);
    assert_int_equal(world.agent->api->connection.state, API_DRAINING);
    api_forget();
    api_release();
    pass(5000);
    assert_int_equal(world.agent->publish->wanted.devices.count, 15);
    assert_true(publish_current(world.agent));
    log_has("event=api_connection_drained");
    assert_null(strstr(world.log, "api_connection_lost"));
    assert_null(strstr(world.log, "api_request_failed"));
    assert_int_equal(api_lists(), 1); /* the one that waited */
    assert_int_equal(api_writes(), 1);
}

static void test_long_retry_after_is_kept(void **state)
{
    (void)state;
    up(65535);
    api.list_http = 429;
    api.retry_after = 60;
    world.found.count = 15;
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(50000);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/resourceslices"), 1);
    pass(30000);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/resourceslices"), 2);
}

/* The start of a reason that is longer than an error may be is told. */
static void test_reason_of_a_refusal_is_told(void **state)
{
    (void)state;
    up(65535);
    api.claim[0].http = 403;
    const char *error = prepare_error(prepare_now(0, 1), 0);
    const char *reason = strstr(error, "HTTP 403 ");
    assert_non_null(reason);
    assert_true(strlen(reason) > strlen("HTTP 403 ") + 10);
}

/* Claims that hang in two calls, or in more than there are GETs, delay no other call for long. */
static void test_hanging_claims_delay_nobody(void **state)
{
    (void)state;
    up(65535);
    for (unsigned n = 1; n < 16; n++) {
        claim_add(n)->fault = API_HANGS;
    }
    struct peer *p = service_open();
    (void)call_send(p, PREPARE, claims_request(1, 4));
    (void)call_send(p, PREPARE, claims_request(5, 4));
    settle();
    prepare_well(0, 1);
    unprepare_well(0, 1);
    for (unsigned n = 9; n < 15; n++) {
        (void)call_send(p, PREPARE, claims_request(n, 1));
    }
    struct peer *q = service_open();
    const struct peer_call *c = call_send(q, PREPARE, claims_request(0, 1));
    pass(2u * CLAIM_GET_MS);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
}

/* A finding that comes later is said, and said once. */
static void test_findings_are_said_once(void **state)
{
    (void)state;
    up(65535);
    (void)snprintf(world.found.devices[3].connected_devices, SYSFS_VALUE_CAP, "x, y");
    for (unsigned i = 0; i < 5; i++) {
        agent_found(world.agent, &world.found);
        world.poked = true;
        pass(100);
    }
    const char *first = strstr(world.log, "event=device_issue_found");
    assert_non_null(first);
    assert_null(strstr(first + 1, "event=device_issue_found"));
    assert_int_equal(api_writes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_ends_while_the_connection_drains),
        cmocka_unit_test(test_goaway_is_no_failure),
        cmocka_unit_test(test_goaway_for_ever_is_slowed_down),
        cmocka_unit_test(test_goaway_before_each_answer),
        cmocka_unit_test(test_round_goes_on_elsewhere),
        cmocka_unit_test(test_long_retry_after_is_kept),
        cmocka_unit_test(test_reason_of_a_refusal_is_told),
        cmocka_unit_test(test_hanging_claims_delay_nobody),
        cmocka_unit_test(test_findings_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
