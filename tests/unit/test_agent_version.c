/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent and the versions of resource.k8s.io: the best one that is served is used, a
 * change is followed while running, and no response to the question for the versions misleads it.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define GROUP_PATH "/apis/resource.k8s.io"
#define V1BETA2_PATH "/apis/resource.k8s.io/v1beta2/resourceslices"
#define V1BETA1_PATH "/apis/resource.k8s.io/v1beta1/resourceslices"
#define DAY_MS 86400000u

/* A node whose server serves these versions, running for as long as all retries at start take. */
static void up(unsigned served, enum api_group group)
{
    world_new();
    api.served = served;
    api.group = group;
    node_up();
}

static unsigned group_asked(void)
{
    return api_asked("GET " GROUP_PATH "\n");
}

static unsigned all_asked(void)
{
    return api_asked("GET ") + api_writes();
}

/* The slice is stored whole, and known to be right. */
static void check_published(void)
{
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 16);
    assert_true(publish_current(world.agent));
}

/* A new claim is prepared within that time, and unprepared. */
static void check_prepares_within(unsigned n, uint64_t ms)
{
    (void)claim_add(n);
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(n, 1));
    pass(ms);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), n), "");
    peer_close(p);
    unprepare_well(n, 1);
}

static void check_prepares(unsigned n)
{
    check_prepares_within(n, 0);
}

/* --- what is served is spoken --- */

static void test_each_version_alone(void **state)
{
    static const char *const list[API_VERSIONS] = {"GET " SLICES_PATH "?", "GET " V1BETA2_PATH "?",
                                                   "GET " V1BETA1_PATH "?"};
    static const char *const said[API_VERSIONS] = {
        "resource_api_version_selected version=resource.k8s.io/v1",
        "resource_api_version_selected version=resource.k8s.io/v1beta2",
        "resource_api_version_selected version=resource.k8s.io/v1beta1"};
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        up(SERVES(i), GROUP_TELLS);
        check_published();
        /* group, Node, list, create, watch: the same five for every version */
        assert_int_equal(all_asked(), 5);
        assert_int_equal(group_asked(), 1);
        assert_int_equal(api_asked(list[i]), 2);
        log_has(said[i]);
        check_prepares(0);
        assert_int_equal(api_slices(), 1);
    }
}

static void test_best_of_several(void **state)
{
    (void)state;
    for (unsigned served = 1; served < 8; served++) {
        unsigned best = API_V1;
        while ((served & SERVES(best)) == 0) {
            best++;
        }
        up(served, GROUP_TELLS);
        check_published();
        assert_int_equal(all_asked(), 5);
        assert_int_equal(world.agent->api->version.now, best);
    }
}

/* What is stored is the same object in every version: an upgrade alone writes nothing. */
static void test_restart_in_another_version(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA1), GROUP_TELLS);
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        kill_agent();
        api.served = SERVES(i);
        api_forget();
        start();
        register_driver();
        pass(2000);
        assert_int_equal(api_writes(), 0);
        check_published();
    }
}

/* Whether any reason against readiness has this text. */
static bool has_reason(const char *wanted)
{
    char line[1024];
    bool found = false;
    for (unsigned i = 0; i < 20; i++) {
        struct writer w = writer_of(line, sizeof line);
        bool more = ready_reason(world.agent, i, &w);
        found = found || (more && writer_end_text(&w) == STATUS_OK && strstr(line, wanted) != NULL);
    }
    return found;
}

static void reconnect(void)
{
    unsigned connections = api.connections;
    api_end("the network went away");
    for (unsigned i = 0; i < 1000 && api.connections == connections; i++) {
        pass(10);
    }
    assert_int_equal(api.connections, connections + 1);
    settle();
}

/* On a new connection an older server has not said yet what it serves: what waits says so. */
static void test_versions_are_awaited(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA2), GROUP_TELLS);
    (void)claim_add(0);
    prepare_well(0, 1);
    api.group = GROUP_HANGS;
    restart();
    register_driver();
    for (unsigned i = 0; i < 1000 && !api_ready(world.agent); i++) {
        pass(10);
    }
    assert_true(has_reason("the API server cannot be asked: it has not reported yet which versions "
                           "of resource.k8s.io it serves"));
    struct peer *p = service_open();
    const struct peer_call *held_one = call_send(p, PREPARE, claims_request(0, 1));
    (void)claim_add(1);
    const struct peer_call *new_one = call_send(p, PREPARE, claims_request(1, 1));
    pass(CLAIM_COMPARE_MS - 1);
    assert_false(held_one->ended || new_one->ended);
    pass(1);
    assert_string_equal(prepare_error(call_reply_of(held_one), 0), "");
    assert_false(new_one->ended);
    pass(VERSION_GET_MS + 2000);
    assert_string_equal(prepare_error(call_reply_of(new_one), 1), "");
}

/* While requests pause, on a server of a version that is known to work, claims are read in it. */
static void test_claims_in_a_pause(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA2), GROUP_TELLS);
    for (unsigned n = 0; n < 4; n++) {
        (void)claim_add(n);
    }
    prepare_well(0, 1);
    api.claim[1].http = 429;
    api.retry_after = 20;
    (void)call_send(service_open(), PREPARE, claims_request(1, 1));
    settle();
    assert_true(api_paused(world.agent));
    reconnect();
    api_forget();
    assert_false(version_settled(world.agent));
    prepare_well(2, 1);
    assert_int_equal(group_asked(), 0);
    pass(60000);
    assert_int_equal(group_asked(), 1);
    assert_true(version_settled(world.agent));
    /* nor does a refused token, of which each claim is told by the server itself */
    world.token = "another";
    api.authorization = "Bearer the third";
    (void)prepare_soon(3, 1);
    reconnect();
    assert_true(api_token_refused(world.agent) && !version_settled(world.agent));
    api_forget();
    const char *error = prepare_error(prepare_soon(3, 1), 3);
    assert_non_null(strstr(error, "401 Unauthorized"));
    assert_int_equal(group_asked(), 0);
    assert_true(api_asked("GET /apis/resource.k8s.io/v1beta2/namespaces/ml/") > 0);
}

/* A server of an older version that only moves the agent serves the same: nothing waits for it. */
static void test_moved_by_an_older_server(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA2), GROUP_TELLS);
    unsigned connections = api.connections;
    api_forget();
    sim_api_goaway(&server, api.link, false);
    for (unsigned i = 0; i < 1000 && api.connections == connections; i++) {
        pass(10);
    }
    assert_int_equal(api.connections, connections + 1);
    assert_true(version_settled(world.agent));
    assert_int_equal(group_asked(), 0);
    check_prepares_within(0, 0);
    pass(API_START_MS + 1000);
    assert_int_equal(group_asked(), 1); /* after what was pending */
    check_published();
}

/* The versions cannot be looked up again: those that are known to work go on being used. */
static void test_check_that_fails(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA2), GROUP_TELLS);
    api_forget();
    api.group = GROUP_REFUSES;
    pass(2 * (VERSION_CHECK_MS + VERSION_CHECK_MS / 4));
    assert_in_range(group_asked(), 1, 3);
    assert_true(version_settled(world.agent));
    check_prepares_within(0, 0);
    check_published();
    api.group = GROUP_TELLS;
    api.served = SERVES(API_V1BETA2) | SERVES(API_V1);
    pass(VERSION_CHECK_MS + VERSION_CHECK_MS / 4);
    assert_int_equal(version_now(world.agent), API_V1);
}

/* What others do to a slice is noticed in the layout of v1beta1 too. */
static void test_repair_in_v1beta1(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA1), GROUP_TELLS);
    for (unsigned i = 0; i < 3; i++) {
        api_slice_cut(api_slice_only());
        pass(1000);
        check_published();
        api_slice_delete(api_slice_only());
        pass(1000);
        check_published();
    }
    assert_int_equal(api_asked("PUT " V1BETA1_PATH "/"), 3);
    assert_int_equal(api_asked("POST " V1BETA1_PATH "\n"), 4);
    (void)api_slice_double(api_slice_only(), "another");
    pass(1000);
    check_published();
    assert_int_equal(api_asked("DELETE " V1BETA1_PATH "/"), 1);
}

/* allNodes is in every slice of v1beta1, and means something only when it is true. */
static void test_all_nodes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        up(SERVES(i), GROUP_TELLS);
        struct sim_object *s = api_slice_only();
        api_slice_add(s, view_of("\x28\x01", 2)); /* field 5, true */
        pass(1000);
        assert_int_equal(api_asked("PUT "), 1);
        check_published();
    }
}

/* --- changes while running --- */

static void test_change_with_the_connection(void **state)
{
    static const unsigned served[] = {SERVES(API_V1BETA1), SERVES(API_V1),
                                      SERVES(API_V1BETA1) | SERVES(API_V1BETA2), SERVES(API_V1),
                                      SERVES(API_V1BETA1)};
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    for (unsigned i = 0; i < sizeof served / sizeof served[0]; i++) {
        pass(API_BACKOFF_MAX_MS); /* it was good for some time: the next one is tried soon */
        pass(API_BACKOFF_MAX_MS); /* connections that end soon are waited for longer each time */
        api.served = served[i];
        api_forget();
        api_end("the server restarts");
        check_prepares_within(i, 3000); /* asked while there is no connection yet */
        check_published();
        assert_int_equal(api_writes(), 0);
        assert_int_equal(group_asked(), 1);
        assert_true(all_asked() <= 8); /* three, the claim, and what v1 was asked in vain */
        assert_non_null(api_watch_of(SIM_SLICE));
    }
}

/* A proxy keeps the connection while the server behind it changes: a claim finds out. */
static void test_change_found_by_a_claim(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    for (unsigned i = 0; i < 4; i++) {
        api.served = (i % 2 == 0) ? SERVES(API_V1BETA1) : SERVES(API_V1);
        api_forget();
        check_prepares(i);
        assert_int_equal(group_asked(), 1);
        assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/namespaces/"), 1);
        assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1beta1/namespaces/"), 1);
        pass(2000);
        check_published();
    }
    assert_int_equal(api.connections, 1);
}

/* The same by the watch, which ends and cannot be opened again, or by the rounds. */
static void test_change_found_without_a_claim(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    for (unsigned i = 0; i < 4; i++) {
        pass(2 * API_REFUSED_MS); /* a watch that ends soon is opened again more slowly */
        api.served = (i % 2 == 0) ? SERVES(API_V1BETA2) : SERVES(API_V1);
        api_watch_end(SIM_SLICE);
        pass(3000);
        check_published();
        assert_non_null(api_watch_of(SIM_SLICE));
        assert_int_equal(api_watch_of(SIM_SLICE)->target.version, world.agent->api->version.now);
    }
    api.served = SERVES(API_V1BETA1);
    pass(900000);
    assert_int_equal(world.agent->api->version.now, API_V1BETA1);
    check_published();
    assert_int_equal(api.connections, 1);
}

/* Written in the version that the server stopped serving just now. */
static void test_change_between_list_and_write(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    for (unsigned i = 0; i < 2; i++) {
        api.write_http = 500;
        api_slice_cut(api_slice_only());
        pass(300);
        assert_false(publish_current(world.agent));
        api.write_http = 0;
        api.served = (i == 0) ? SERVES(API_V1BETA1) : SERVES(API_V1);
        pass(3000);
        check_published();
    }
}

/* Claims under way at the moment of the change are asked for again. */
static void test_change_under_many_claims(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    for (unsigned n = 0; n < 12; n++) {
        (void)claim_add(n);
    }
    api.served = SERVES(API_V1BETA2);
    prepare_well(0, 12);
    assert_true(group_asked() <= 3);
    assert_int_equal(held(), 12);
}

/* An older version is left as soon as a better one is served, without a new connection too. */
static void test_better_one_is_found_in_time(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA1), GROUP_TELLS);
    api.served = SERVES(API_V1BETA1) | SERVES(API_V1);
    pass(VERSION_CHECK_MS + VERSION_CHECK_MS / 4);
    assert_int_equal(world.agent->api->version.now, API_V1);
    api_forget();
    pass(DAY_MS);
    assert_int_equal(group_asked(), 0);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(api.connections, 1);
}

static void test_quiet_day_in_v1beta1(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA1), GROUP_TELLS);
    api_forget();
    pass(DAY_MS);
    assert_true(group_asked() <= 24);
    assert_true(group_asked() >= 18);
    assert_int_equal(api_writes(), 0);
    check_published();
}

/* --- a 404 that is about the object --- */

static void test_missing_claim_is_not_a_missing_version(void **state)
{
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        up(SERVES(i), GROUP_TELLS);
        api_forget();
        struct view reply = prepare_now(7, 1);
        assert_string_equal(prepare_error(reply, 7),
                            "claim ml/claim-7 not found on the API server");
        assert_int_equal(group_asked(), 0);
        assert_int_equal(all_asked(), 1);
        assert_true(publish_current(world.agent));
    }
}

/* Somebody between us and the server answers with a 404 of his own: the list is the judge. */
static void test_claim_refused_by_a_stranger(void **state)
{
    static const enum api_group groups[] = {GROUP_TELLS, GROUP_ABSENT, GROUP_LIES};
    (void)state;
    for (unsigned g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        up(SERVES(API_V1), groups[g]);
        claim_add(3)->http = 999; /* a line of text, with 404 */
        struct peer *p = service_open();
        const struct peer_call *c = call_send(p, PREPARE, claims_request(3, 1));
        pass(1000);
        assert_true(c->ended);
        assert_string_equal(prepare_error(call_reply_of(c), 3),
                            "claim ml/claim-3 cannot be read from the API server: "
                            "HTTP 404 404 page not found");
        peer_close(p);
        pass(1000);
        assert_int_equal(world.agent->api->version.now, API_V1);
        assert_int_equal(api_asked("GET " V1BETA2_PATH), 0);
        check_published();
        check_prepares(4);
    }
}

/* The API server restarts: watch of the Node, list and watch of the slices. */
static void test_requests_after_a_restart(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    pass(API_BACKOFF_MAX_MS);
    api_forget();
    api_end("the server restarts");
    pass(API_RECONNECT_MS + 1000);
    check_published();
    assert_non_null(api_watch_of(SIM_SLICE));
    assert_int_equal(all_asked(), 3);
    assert_int_equal(api_writes(), 0);
}

/* --- answers that tell nothing --- */

static void test_group_tells_nothing(void **state)
{
    static const enum api_group groups[] = {GROUP_ABSENT, GROUP_REFUSES, GROUP_OTHER,
                                            GROUP_TRUNCATED, GROUP_JSON};
    (void)state;
    for (unsigned g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (unsigned i = 0; i < API_VERSIONS; i++) {
            up(SERVES(i), groups[g]);
            check_published();
            check_prepares(0);
            /* one list more for each version that is tried in vain */
            assert_int_equal(all_asked() - api_asked("GET /apis/resource.k8s.io/v1/namespaces/") -
                                 api_asked("GET /apis/resource.k8s.io/v1beta2/namespaces/") -
                                 api_asked("GET /apis/resource.k8s.io/v1beta1/namespaces/"),
                             5 + i);
            assert_int_equal(world.agent->api->version.now, i);
        }
    }
}

/* The first claim comes before the first list: it waits until that has told the version. */
static void test_claim_before_the_first_list(void **state)
{
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        world_new();
        api.served = SERVES(i);
        api.group = GROUP_ABSENT;
        start();
        pass(1000);
        (void)claim_add(0);
        struct peer *p = service_open();
        struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
        settle();
        assert_int_equal(c->ended, i == API_V1);
        register_driver();
        pass(1000);
        assert_true(c->ended);
        assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    }
}

static void test_group_is_huge(void **state)
{
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        up(SERVES(i), GROUP_HUGE);
        pass(1000);
        check_published();
        assert_int_equal(world.agent->api->version.now, i);
    }
}

static void test_group_hangs(void **state)
{
    (void)state;
    up(SERVES(API_V1BETA2), GROUP_HANGS);
    pass(VERSION_GET_MS + 1000);
    check_published();
    check_prepares(0);
}

/* Versions that are named but not served are left for the next ones. */
static void test_group_lies(void **state)
{
    (void)state;
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        up(SERVES(i), GROUP_LIES);
        check_published();
        assert_int_equal(world.agent->api->version.now, i);
        assert_int_equal(group_asked(), 1 + i);
        check_prepares(0);
    }
    api_forget();
    pass(DAY_MS);
    assert_true(group_asked() < 80);
    assert_true(publish_current(world.agent));
}

/* --- none --- */

static void test_none_is_served(void **state)
{
    static const enum api_group groups[] = {GROUP_TELLS, GROUP_LIES, GROUP_OTHER, GROUP_HANGS};
    (void)state;
    for (unsigned g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        up(0, groups[g]);
        pass(10000);
        log_has("resource_api_not_served");
        log_has("--runtime-config=resource.k8s.io/v1beta1=true");
        assert_int_equal(api_slices(), 0);
        assert_true(world.agent->serve->registration.registered);
        struct peer *p = service_open();
        const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
        pass(CLAIM_GET_MS);
        assert_true(c->ended);
        assert_non_null(
            strstr(prepare_error(call_reply_of(c), 0), "it serves none of resource.k8s.io/v1"));
        peer_close(p);
        unprepare_well(0, 1);
        log_forget();
        api_forget();
        pass(DAY_MS);
        /* slow: at most eight requests (lies are asked thrice) every five minutes */
        assert_true(all_asked() <= 8 * (DAY_MS / VERSION_NONE_MAX_MS) + 40);
        assert_true(all_asked() > 200);
        api.served = SERVES(API_V1BETA1);
        pass(VERSION_NONE_MAX_MS + VERSION_NONE_MAX_MS / 4 + VERSION_GET_MS);
        check_published();
        check_prepares(0);
    }
}

/* A list exists as long as its version does: whatever its 404 says, the version is not served. */
static void test_named_but_not_listed(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    api.list_http = 404;
    api_end("the server restarts");
    pass(5000 + API_RECONNECT_MS);
    log_has("resource_api_not_served");
    assert_false(publish_current(world.agent));
    api.list_http = 0;
    pass(VERSION_NONE_MAX_MS);
    check_published();
    assert_int_equal(api_writes(), 1);
}

/* The API is switched off under a running agent, and on again by a restart of the server. */
static void test_none_for_a_time(void **state)
{
    (void)state;
    up(SERVES(API_V1), GROUP_TELLS);
    (void)claim_add(0);
    (void)claim_add(1);
    prepare_well(0, 2);
    api.served = 0;
    api_end("the server restarts");
    pass(5000 + API_RECONNECT_MS);
    log_has("resource_api_not_served");
    assert_false(publish_current(world.agent));
    prepare_well(1, 1); /* known: needs no server */
    unprepare_well(0, 1);
    api.served = SERVES(API_V1BETA2);
    api_forget();
    pass(VERSION_NONE_MAX_MS);
    check_published();
    assert_non_null(api_watch_of(SIM_NODE));
    assert_int_equal(api_slices(), 1);
    assert_int_equal(held(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_version_alone),
        cmocka_unit_test(test_best_of_several),
        cmocka_unit_test(test_restart_in_another_version),
        cmocka_unit_test(test_versions_are_awaited),
        cmocka_unit_test(test_claims_in_a_pause),
        cmocka_unit_test(test_moved_by_an_older_server),
        cmocka_unit_test(test_check_that_fails),
        cmocka_unit_test(test_repair_in_v1beta1),
        cmocka_unit_test(test_all_nodes),
        cmocka_unit_test(test_change_with_the_connection),
        cmocka_unit_test(test_requests_after_a_restart),
        cmocka_unit_test(test_change_found_by_a_claim),
        cmocka_unit_test(test_change_found_without_a_claim),
        cmocka_unit_test(test_change_between_list_and_write),
        cmocka_unit_test(test_change_under_many_claims),
        cmocka_unit_test(test_better_one_is_found_in_time),
        cmocka_unit_test(test_quiet_day_in_v1beta1),
        cmocka_unit_test(test_missing_claim_is_not_a_missing_version),
        cmocka_unit_test(test_claim_refused_by_a_stranger),
        cmocka_unit_test(test_group_tells_nothing),
        cmocka_unit_test(test_claim_before_the_first_list),
        cmocka_unit_test(test_group_is_huge),
        cmocka_unit_test(test_group_hangs),
        cmocka_unit_test(test_group_lies),
        cmocka_unit_test(test_none_is_served),
        cmocka_unit_test(test_named_but_not_listed),
        cmocka_unit_test(test_none_for_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
