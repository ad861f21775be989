/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent when calls cross, hang, are cancelled, or their peer is slow: nobody waits for
 * somebody else's claim, nothing is left behind, and no wait is longer than promised.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 64; n++) {
        claim_add(n)->result[0].admin = n >= 16;
    }
    node_up();
    api_forget();
}

/* --- hanging and absent API server --- */

static void test_hanging_get(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *slow = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    struct view fast = call_now(p, PREPARE, claims_request(1, 1));
    assert_string_equal(prepare_error(fast, 1), "");
    pass(9999);
    assert_false(slow->ended);
    pass(1);
    assert_string_equal(prepare_error(call_reply_of(slow), 0),
                        "claim ml/claim-0 cannot be read from the API server: no response in time");
    assert_int_equal(api_asked("(reset "), 1);
    assert_null(cdi_of(0));
    check_idle();
}

/* A call whose claims all hang delays no other call. */
static void test_hanging_call_and_another(void **state)
{
    (void)state;
    begin();
    for (unsigned n = 0; n < 12; n++) {
        api.claim[n].fault = API_HANGS;
    }
    struct peer *p = service_open();
    const struct peer_call *slow = call_send(p, PREPARE, claims_request(0, 13));
    settle();
    assert_int_equal(api_asked("GET "), FETCHES_PER_CALL_MAX);
    struct view other = call_now(p, PREPARE, claims_request(13, 3));
    assert_string_equal(prepare_error(other, 15), "");
    pass(9999);
    assert_false(slow->ended);
    pass(1);
    struct view reply = call_reply_of(slow);
    assert_int_equal(proto_count(reply, 1), 13);
    assert_non_null(strstr(prepare_error(reply, 0), "no response in time"));
    assert_non_null(strstr(prepare_error(reply, 12), "all requests are busy"));
    check_idle();
}

/* It comes late to its first GET, while others hang: all its claims are read, not the first few. */
static void test_queued_call(void **state)
{
    (void)state;
    begin();
    struct peer *p = NULL;
    for (unsigned n = 0; n < 2u * FETCHES_MAX; n++) {
        p = (n % PREPARES_STALLED_MAX == 0u) ? service_open() : p;
        api.claim[n].fault = API_HANGS;
        (void)call_send(p, PREPARE, claims_request(n, 1));
        settle();
    }
    pass(500);
    const struct peer_call *late = call_send(service_open(), PREPARE, claims_request(16, 6));
    pass(CLAIM_GET_MS + CLAIM_GET_MS - 501);
    assert_false(late->ended);
    pass(1);
    struct view reply = call_reply_of(late);
    for (unsigned n = 16; n < 22; n++) {
        assert_string_equal(prepare_error(reply, n), "");
    }
}

static unsigned connect_failures(void)
{
    return (unsigned)world.agent->report->count[LOG_ID_API_CONNECT_FAILED];
}

/*
 * A file of the host is missing from the start: the kubelet is served, readiness names the file,
 * one line is logged for as long as it is missing, and there is a connection once it is there.
 */
static void test_file_missing(void **state)
{
    (void)state;
    static const char file[] = "token file /t cannot be read: no such file or directory";
    char text[1024];
    struct writer why = writer_of(text, sizeof text);
    world_new();
    api.reachable = false;
    world.missing = file;
    claim_add(0);
    node_up();
    assert_false(agent_ready(world.agent));
    assert_true(ready_reason(world.agent, 1, &why));
    assert_true(view_is(writer_view(&why), "the API server cannot be asked: token file /t cannot "
                                           "be read: no such file or directory"));
    unprepare_well(0, 1);
    unsigned tried = world.connects;
    pass(600000);
    assert_in_range(world.connects - tried, 10, 80); /* paced: neither given up nor a flood */
    assert_int_equal(connect_failures(), 1);
    log_has(file);
    /* another failure is worth a line, and the same again after it */
    world.missing = "kubeconfig /k is empty";
    pass(120000);
    assert_int_equal(connect_failures(), 2);
    world.missing = file;
    pass(120000);
    assert_int_equal(connect_failures(), 3);
    api.reachable = true;
    pass(40000);
    assert_true(api.connected);
    assert_true(agent_ready(world.agent));
    prepare_well(0, 1);
    /* it vanishes later */
    api.reachable = false;
    agent_api_ended(world.agent, "");
    world.poked = true;
    pass(600000);
    assert_int_equal(connect_failures(), 4);
    unprepare_well(0, 1);
}

static void test_api_away(void **state)
{
    (void)state;
    begin();
    api.reachable = false;
    agent_api_ended(world.agent, "");
    world.poked = true;
    settle();
    log_has("the API server closed the connection");
    assert_false(agent_link_done(world.agent, LINK_API)); /* its end is an order of its own */
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(9999);
    assert_false(c->ended);
    pass(1);
    assert_string_equal(prepare_error(call_reply_of(c), 0),
                        "the claim cannot be read from the API server: 10.0.0.1:443: connection "
                        "refused");
    log_has("api_connect_failed");
    log_has("if it names none, see that the API server runs at that address, and that the node can "
            "reach it\"");
    unprepare_well(0, 1);
    /* the tries go on, slower and slower, and end when it is back */
    pass(600000);
    api.reachable = true;
    pass(40000);
    assert_true(api.connected);
    prepare_well(0, 1);
    check_idle();
}

static void test_api_comes_in_time(void **state)
{
    (void)state;
    begin();
    api.reachable = false;
    agent_api_ended(world.agent, "");
    world.poked = true;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(300);
    api.reachable = true;
    pass(9000);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
}

/* A GET whose connection ends is asked again on the next one. */
static void test_connection_ends_in_a_get(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    agent_api_ended(world.agent, "");
    world.poked = true;
    settle();
    api.claim[0].fault = API_ANSWERS;
    pass(2000);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_int_equal(api.connections, 2);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/"), 2);
    check_idle();
}

static void test_api_silent(void **state)
{
    (void)state;
    begin();
    unsigned connections = api.connections;
    /* an idle connection is asked and answers */
    pass(3600000);
    assert_int_equal(api.connections, connections);
    world.api_deaf = true;
    pass(41000);
    log_has("is silent and did not answer");
    pass(API_RECONNECT_MS);
    assert_int_equal(api.connections, connections + 1);
}

static void test_goaway(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    unsigned connections = api.connections;
    sim_api_goaway(&server, api.link, false);
    settle();
    /* what runs may end; new requests wait for the new connection */
    assert_true(api.connected);
    const struct peer_call *next = call_send(p, PREPARE, claims_request(1, 1));
    settle();
    assert_false(next->ended);
    api_release();
    pass(2000);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_string_equal(prepare_error(call_reply_of(next), 1), "");
    assert_int_equal(api.connections, connections + 1);
    check_idle();
}

static void test_unauthorized(void **state)
{
    (void)state;
    begin();
    unsigned connections = api.connections;
    api.claim[0].http = 401;
    struct view reply = prepare_now(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "HTTP 401 Unauthorized"));
    pass(2000);
    assert_int_equal(api.connections, connections + 1);
    api.claim[0].http = 0;
    prepare_well(0, 1);
}

/* --- crossing calls --- */

static void test_unprepare_while_prepare_runs(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 2));
    settle();
    struct view reply = call_now(p, UNPREPARE, claims_request(0, 1));
    assert_string_equal(unprepare_error(reply, 0), "");
    /* without time passing */
    reply = call_reply_of(c);
    assert_string_equal(prepare_error(reply, 0),
                        "the claim was unprepared while it was being prepared");
    assert_string_equal(prepare_error(reply, 1), "");
    api_release();
    pass(1000);
    assert_null(cdi_of(0));
    assert_int_equal(held(), 1);
    check_idle();
}

static void test_prepare_twice_at_once(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *first = call_send(p, PREPARE, claims_request(0, 1));
    const struct peer_call *second = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    api_release();
    settle();
    struct view a = call_reply_of(first);
    struct view b = call_reply_of(second);
    assert_string_equal(prepare_error(a, 0), "");
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_int_equal(held(), 1);
}

/* Two claims of one device at once: one gets it, the other is told who has it. */
static void test_race_for_a_device(void **state)
{
    (void)state;
    begin();
    api.claim[1].result[0].device = "neuron-device-0";
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 2));
    settle();
    struct view reply = call_reply_of(c);
    assert_string_equal(prepare_error(reply, 0), "");
    assert_non_null(strstr(prepare_error(reply, 1), "already held by claim ml/claim-0"));
    assert_int_equal(held(), 1);
}

static void test_cancelled(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    call_cancel(p, call_send(p, PREPARE, claims_request(0, 1)));
    assert_int_equal(api_asked("GET "), 0);
    struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    assert_int_equal(api_asked("GET "), 1);
    call_cancel(p, c);
    assert_int_equal(api_asked("(reset "), 1);
    check_idle();
    /* all that the connection carried ends with it */
    (void)call_send(p, PREPARE, claims_request(0, 3));
    settle();
    peer_close(p);
    check_idle();
    api_release();
    prepare_well(0, 1);
}

static void test_deadline_of_the_kubelet(void **state)
{
    (void)state;
    begin();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send_within(p, PREPARE, claims_request(0, 1), "3S");
    settle();
    /* a quarter of the time is left for the reply, so that it names the reason */
    pass(2249);
    assert_false(c->ended);
    pass(1);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "no response in time"));
    check_idle();
}

/* Prepares that hang use up the operations: the rest is told to try again, unprepares are not. */
static void test_operations_used_up(void **state)
{
    const struct peer_call *c[3];
    unsigned waiting = (OPERATIONS_MAX - CLAIMS_PER_CALL_MAX) / CLAIMS_PER_CALL_MAX;
    (void)state;
    begin();
    prepare_well(0, 16);
    api.hangs = true;
    struct peer *p = service_open();
    assert_in_range(waiting, 1, 2);
    for (unsigned i = 0; i <= waiting; i++) {
        c[i] = call_send(p, PREPARE, claims_request(16, 64));
        settle();
    }
    assert_int_equal(c[waiting]->status, GRPC_RESOURCE_EXHAUSTED);
    assert_false(c[0]->ended);
    unprepare_well(0, 64);
    pass(60000);
    assert_int_equal(proto_count(call_reply_of(c[0]), 1), 64);
    check_idle();
}

/*
 * A kubelet sends no more calls than the connection has streams. Prepares that hang leave some to
 * unprepares; a burst of prepares does not, as long as none of them hangs.
 */
static void test_unprepares_find_a_place(void **state)
{
    const struct peer_call *c[H2_SERVER_STREAMS];
    (void)state;
    begin();
    prepare_well(0, 16);
    api.hangs = true;
    struct peer *p = service_open();
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        c[i] = call_send(p, PREPARE, claims_request(16 + i, 1));
        pass(1);
    }
    pass(PREPARE_STALL_MS + PREPARES_STALLED_MAX - 1 - H2_SERVER_STREAMS - 1);
    assert_false(c[H2_SERVER_STREAMS - 1]->ended);
    pass(1);
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        assert_true(c[i]->ended == (i >= PREPARES_STALLED_MAX));
    }
    assert_int_equal(c[PREPARES_STALLED_MAX]->status, GRPC_UNAVAILABLE);
    assert_non_null(strstr(c[PREPARES_STALLED_MAX]->text, "hang"));
    const struct peer_call *gone = call_send(p, UNPREPARE, claims_request(0, 16));
    const struct peer_call *refused = call_send(p, PREPARE, claims_request(40, 1));
    settle();
    assert_true(gone->ended);
    assert_int_equal(gone->status, GRPC_OK);
    assert_int_equal(refused->status, GRPC_UNAVAILABLE);
    pass(60000);
    check_idle();
}

/* One prepare that hangs for a reason of its own refuses no other one. */
static void test_one_prepare_hangs(void **state)
{
    const struct peer_call *c[H2_SERVER_STREAMS];
    (void)state;
    begin();
    api.hangs = true;
    struct peer *p = service_open();
    (void)call_send(p, PREPARE, claims_request(0, 1));
    pass(PREPARE_STALL_MS + 100);
    for (unsigned i = 1; i < H2_SERVER_STREAMS; i++) {
        c[i] = call_send(p, PREPARE, claims_request(i, 1));
    }
    settle();
    for (unsigned i = 1; i < H2_SERVER_STREAMS; i++) {
        assert_false(c[i]->ended);
    }
}

/* After a start no prepare is answered before the API server is connected: none of them hangs. */
static void test_prepares_wait_for_the_first_connection(void **state)
{
    const struct peer_call *c[H2_SERVER_STREAMS];
    (void)state;
    begin();
    restart();
    struct peer *p = service_open();
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        c[i] = call_send(p, PREPARE, claims_request(i, 1));
    }
    pass(PREPARE_STALL_MS + 100);
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        assert_true(!c[i]->ended || c[i]->status == GRPC_OK);
    }
}

/* --- slow peers --- */

static struct view big_reply(uint32_t window, size_t cut)
{
    struct peer *p = peer_open(LINK_SERVICE, window);
    p->cut = cut;
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 64));
    settle();
    return call_reply_of(c);
}

static void test_tiny_windows(void **state)
{
    static const uint32_t windows[] = {64, 1, 100, 65535};
    static uint8_t want[REPLY_MAX];
    (void)state;
    begin();
    struct view reply = prepare_now(0, 64);
    size_t len = reply.len;
    assert_true(len > 8000);
    memcpy(want, reply.data, len);
    for (unsigned i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        reply = big_reply(windows[i], windows[i] == 100 ? 7 : 4096);
        assert_int_equal(reply.len, len);
        assert_memory_equal(reply.data, want, len);
        peer_close(&world.peer[0]);
    }
    check_idle();
}

/* A kubelet that takes nothing for long: others are served, its connection ends in the end. */
static void test_deaf_peer(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 64);
    struct peer *p = service_open();
    p->deaf = true;
    (void)call_send(p, PREPARE, claims_request(0, 64));
    settle();
    struct peer *other = service_open();
    struct view reply = call_now(other, PREPARE, claims_request(1, 1));
    assert_string_equal(prepare_error(reply, 1), "");
    pass(60000);
    assert_true(p->closed_by_agent);
    check_idle();
}

/* The reply waits for its peer while a claim in it goes: the call ends, and not with a lie. */
static void test_unprepared_while_replying(void **state)
{
    (void)state;
    begin();
    struct peer *p = peer_open(LINK_SERVICE, 4096);
    p->deaf = true;
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 64));
    settle();
    unprepare_well(63, 1);
    p->deaf = false;
    settle();
    assert_true(c->ended);
    assert_true(c->reset || c->status == GRPC_INTERNAL);
    check_idle();
    assert_int_equal(held(), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hanging_get),
        cmocka_unit_test(test_hanging_call_and_another),
        cmocka_unit_test(test_queued_call),
        cmocka_unit_test(test_file_missing),
        cmocka_unit_test(test_api_away),
        cmocka_unit_test(test_api_comes_in_time),
        cmocka_unit_test(test_connection_ends_in_a_get),
        cmocka_unit_test(test_api_silent),
        cmocka_unit_test(test_goaway),
        cmocka_unit_test(test_unauthorized),
        cmocka_unit_test(test_unprepare_while_prepare_runs),
        cmocka_unit_test(test_prepare_twice_at_once),
        cmocka_unit_test(test_race_for_a_device),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_deadline_of_the_kubelet),
        cmocka_unit_test(test_operations_used_up),
        cmocka_unit_test(test_unprepares_find_a_place),
        cmocka_unit_test(test_one_prepare_hangs),
        cmocka_unit_test(test_prepares_wait_for_the_first_connection),
        cmocka_unit_test(test_tiny_windows),
        cmocka_unit_test(test_deaf_peer),
        cmocka_unit_test(test_unprepared_while_replying),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
