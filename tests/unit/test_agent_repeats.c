/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim GETs that fail for a reason that passes: they are made again while the kubelet waits, paced
 * and bounded, and the reason is in the error when the call's time ends first.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define CLAIM_GETS "GET /apis/resource.k8s.io/v1/namespaces/"
/* When a call without a grpc-timeout ends at the latest. */
#define CALL_END_MS (CLAIM_CALL_MS - CLAIM_REPLY_MS)

static struct peer *kubelet;

static void up(void)
{
    node_up_for_a_while();
    kubelet = service_open();
}

static struct peer_call *ask(unsigned first, unsigned count)
{
    return call_send(kubelet, PREPARE, claims_request(first, count));
}

static const char *error_of(const struct peer_call *c, unsigned n)
{
    assert_true(c->ended);
    return prepare_error(call_reply_of(c), n);
}

/* With Retry-After or without, and any server error. */
static void test_busy_for_a_while(void **state)
{
    static const struct {
        unsigned http;
        unsigned retry_after;
        unsigned ms;
    } cases[] = {{429, 0, 20000}, {503, 0, 20000}, {500, 0, 20000}, {429, 1, 20000},
                 {503, 5, 20000}, {429, 25, 1000}, {503, 30, 1000}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        up();
        api.claim[0].http = cases[i].http;
        api.retry_after = cases[i].retry_after;
        const struct peer_call *c = ask(0, 1);
        pass(cases[i].ms);
        assert_false(c->ended);
        api.claim[0].http = 0;
        pass(CALL_END_MS - cases[i].ms);
        assert_string_equal(error_of(c, 0), "");
        assert_non_null(cdi_of(0));
        assert_in_range(api_asked(CLAIM_GETS), 2, 10);
    }
}

/* What the server asks for is kept to, when the call has time for it. */
static void test_retry_after_is_kept(void **state)
{
    (void)state;
    up();
    api.claim[0].http = 429;
    api.retry_after = 20;
    const struct peer_call *c = ask(0, 1);
    pass(19999);
    assert_int_equal(api_asked(CLAIM_GETS), 1);
    api.claim[0].http = 0;
    pass(5001);
    assert_int_equal(api_asked(CLAIM_GETS), 2);
    assert_string_equal(error_of(c, 0), "");
}

/* Busy for longer than the call has time: few GETs, and the reason in time. */
static void test_busy_for_long(void **state)
{
    static const unsigned retry_after[] = {0, 1, 60};
    (void)state;
    for (unsigned i = 0; i < sizeof retry_after / sizeof retry_after[0]; i++) {
        up();
        api.claim[0].http = 429;
        api.retry_after = retry_after[i];
        const struct peer_call *c = ask(0, 1);
        pass(CALL_END_MS * 3u / 4u);
        assert_false(c->ended);
        pass(CALL_END_MS / 4u);
        assert_non_null(strstr(error_of(c, 0), "HTTP 429 too many requests"));
        assert_in_range(api_asked(CLAIM_GETS), 5, 12);
        assert_null(cdi_of(0));
    }
}

/* The other claims of the call, and those of other calls, are read meanwhile. */
static void test_others_are_read(void **state)
{
    (void)state;
    up();
    api.claim[0].http = 503;
    const struct peer_call *c = ask(0, 3);
    settle();
    assert_non_null(cdi_of(1));
    assert_non_null(cdi_of(2));
    prepare_well(3, 1);
    pass(CALL_END_MS);
    assert_non_null(strstr(error_of(c, 0), "HTTP 503"));
    assert_string_equal(error_of(c, 1), "");
    assert_string_equal(error_of(c, 2), "");
    assert_int_equal(api_asked(CLAIM_GETS "ml/resourceclaims/claim-1"), 1);
}

/* Answers that stay as they are. */
static void test_definite_answers(void **state)
{
    static const unsigned http[] = {400, 401, 403, 404, 409, 422};
    (void)state;
    for (unsigned i = 0; i < sizeof http / sizeof http[0]; i++) {
        up();
        api.claim[0].http = http[i];
        api.retry_after = 1;
        const struct peer_call *c = ask(0, 1);
        settle();
        assert_string_not_equal(error_of(c, 0), "");
        assert_int_equal(api_asked(CLAIM_GETS), 1);
    }
}

/* The server goes away while it is asked for a claim. */
static const struct peer_call *lose_connection(void)
{
    up();
    api.claim[0].fault = API_HANGS;
    const struct peer_call *c = ask(0, 1);
    settle();
    api.reachable = false;
    api_end("10.0.0.1:443: connection reset by peer");
    return c;
}

/* The connection goes while the GET is in flight, and the server is away for a time. */
static void test_connection_lost(void **state)
{
    (void)state;
    const struct peer_call *c = lose_connection();
    pass(12000);
    assert_false(c->ended);
    api.reachable = true;
    api.claim[0].fault = API_ANSWERS;
    pass(10000);
    assert_string_equal(error_of(c, 0), "");
}

/* It stays away: the claim fails in time by what is wrong with the server. */
static void test_connection_stays_lost(void **state)
{
    (void)state;
    const struct peer_call *c = lose_connection();
    pass(CALL_END_MS);
    assert_non_null(strstr(error_of(c, 0), "the claim cannot be read from the API server: "));
    assert_null(strstr(error_of(c, 0), "all requests are busy"));
}

/* GOAWAY, and the GET is answered on no connection but the next. */
static void test_connection_moved(void **state)
{
    (void)state;
    up();
    api.claim[0].fault = API_HANGS;
    const struct peer_call *c = ask(0, 1);
    settle();
    sim_api_goaway(&server, api.link, false);
    settle();
    api.claim[0].fault = API_ANSWERS;
    api_end("");
    pass(15000);
    assert_string_equal(error_of(c, 0), "");
}

/* A stream that is reset again and again. */
static void test_resets(void **state)
{
    (void)state;
    up();
    api.claim[0].fault = API_RESETS;
    const struct peer_call *c = ask(0, 1);
    pass(15000);
    assert_false(c->ended);
    assert_in_range(api_asked(CLAIM_GETS), 4, 8);
    api.claim[0].fault = API_ANSWERS;
    pass(10000);
    assert_string_equal(error_of(c, 0), "");
}

/* An unprepare ends the wait. */
static void test_unprepared_meanwhile(void **state)
{
    (void)state;
    up();
    api.claim[0].http = 503;
    const struct peer_call *c = ask(0, 1);
    pass(1000);
    unprepare_well(0, 1);
    assert_non_null(strstr(error_of(c, 0), "was unprepared"));
    api_forget();
    pass(CALL_END_MS);
    assert_int_equal(api_asked(CLAIM_GETS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy_for_a_while),
        cmocka_unit_test(test_retry_after_is_kept),
        cmocka_unit_test(test_busy_for_long),
        cmocka_unit_test(test_others_are_read),
        cmocka_unit_test(test_definite_answers),
        cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_connection_stays_lost),
        cmocka_unit_test(test_connection_moved),
        cmocka_unit_test(test_resets),
        cmocka_unit_test(test_unprepared_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
