/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load that the whole agent puts on the API server: how many requests and connections, how
 * long it waits and what does not shorten that, tokens that are rotated or refused, responses that
 * never come. Claims are read all the while.
 */
#include "agent/api/backoff.h"
#include "tests/unit/kubelet/agent_kubelet.h"

#define LISTS "GET " SLICES_PATH "?"

static void up(void)
{
    node_up_for_a_while();
    api.own = 0;
}

static void devices_change(unsigned count)
{
    world.found.count = (uint16_t)count;
    agent_found(world.agent, &world.found);
    world.poked = true;
}

/* What a distant server may send before it hears of us: a claim of 1.4 MB takes few round trips. */
static void test_windows(void **state)
{
    (void)state;
    up();
    const struct h2 *its = &server.connection[api.link].h2;
    assert_in_range(its->peer_window, 256 * 1024, H2_CLIENT_WINDOW);
    assert_in_range(its->send_window, H2_CLIENT_CONNECTION_WINDOW / 2, H2_CLIENT_CONNECTION_WINDOW);
}

/* --- how many --- */

/* The most requests but those for claims within any second. */
static unsigned most_in_a_second(void)
{
    unsigned most = 0;
    for (unsigned i = 0; i < api.own; i++) {
        unsigned n = 0;
        while (i + n < api.own && api.own_ms[i + n] < api.own_ms[i] + 1000) {
            n++;
        }
        most = (n > most) ? n : most;
    }
    return most;
}

static void test_five_requests_in_any_second(void **state)
{
    (void)state;
    world_new();
    node_up();
    for (unsigned i = 0; i < 600; i++) {
        devices_change(1 + i % 16);
        if (api_slices() == 1 && i % 3 == 0) {
            api_slice_cut(api_slice_only());
        }
        pass(70);
    }
    assert_true(api.own > 60);
    assert_int_equal(most_in_a_second(), API_REQUESTS_PER_SECOND);
    pass(60000);
    assert_true(publish_current(world.agent));
}

/* Claims are the kubelet's: all of a call are read at once, whatever else was asked just before. */
static void test_claims_are_not_counted(void **state)
{
    (void)state;
    up();
    for (unsigned n = 4; n < 24; n++) {
        (void)claim_add(n);
    }
    devices_change(15);
    settle();
    devices_change(14);
    settle();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(4, 9));
    pass(0);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 4), "");
}

/* The next connection comes within the time in which those of all agents are spread. */
static void pass_until_connected(unsigned connections)
{
    for (unsigned i = 0; i < API_RECONNECT_MS / 100 && api.connections < connections; i++) {
        pass(100);
    }
    assert_int_equal(api.connections, connections);
}

/* A server that ends each connection after `ms`: how many there are in a minute. */
static unsigned connections_when_ended_after(uint64_t ms)
{
    up();
    unsigned before = api.connections;
    uint64_t end = world.now_ms + 60000;
    while (world.now_ms < end) {
        if (world.agent->api->connection.state == API_UP) {
            pass(ms);
            api_end("");
        }
        pass(50);
    }
    return api.connections - before;
}

static void test_connections_are_rare(void **state)
{
    (void)state;
    assert_in_range(connections_when_ended_after(0), 4, 9);
    assert_in_range(connections_when_ended_after(700), 4, 9);
    assert_in_range(connections_when_ended_after(3000), 4, 9);
    /* it serves for most of the time */
    assert_in_range(connections_when_ended_after(10000), 2, 6);
    up();
    api.reachable = false;
    api_end("");
    for (unsigned i = 0; i < 4; i++) {
        uint64_t tried = world.agent->api->connection.tried_ms;
        while (world.agent->api->connection.tried_ms == tried) {
            pass(10);
        }
        assert_true(world.agent->api->connection.tried_ms >= tried + API_CONNECT_EVERY_MS);
    }
}

/* --- Retry-After --- */

static void test_nothing_shortens_a_retry_after(void **state)
{
    (void)state;
    up();
    api.list_http = 429;
    api.retry_after = 60;
    devices_change(15);
    settle();
    assert_int_equal(api_asked(LISTS), 1);
    unsigned asked = api.own;
    uint64_t from = world.now_ms;
    api.list_http = 0;
    for (unsigned i = 0; world.now_ms < from + 56000; i++) {
        devices_change(i % 16);
        if (i % 8 == 7) {
            api_end("");
        } else if (api_watch_of(SIM_SLICE) != NULL) {
            api_slice_cut(api_slice_only());
        }
        if (i % 4 == 2) {
            /* on the first connection and on the next ones */
            assert_string_equal(prepare_error(prepare_soon(i / 4 % 4, 1), i / 4 % 4), "");
            unprepare_well(i / 4 % 4, 1);
        }
        pass(1000);
        assert_int_equal(api.own, asked);
    }
    assert_true(api.connections > 3);
    devices_change(15);
    pass(from + 75000 - world.now_ms + 3000);
    assert_true(publish_current(world.agent));
    assert_true(api.own_ms[asked] >= from + 60000 && api.own_ms[asked] < from + 75000);
}

/* After a list that asks for a pause: none before `least_ms`, one with what chance adds. */
static void check_pause(unsigned retry_after, uint64_t least_ms)
{
    up();
    api.list_http = 503;
    api.retry_after = retry_after;
    devices_change(15);
    settle();
    unsigned asked = api.own;
    pass(least_ms - 1);
    assert_int_equal(api.own, asked);
    pass(API_RECONNECT_MS + 1);
    assert_true(api.own > asked);
}

/* The longest pause that is kept; one that nobody can mean is not. */
static void test_retry_after_is_bounded(void **state)
{
    (void)state;
    check_pause(API_RETRY_AFTER_MAX_MS / 1000, API_RETRY_AFTER_MAX_MS);
    check_pause(API_RETRY_AFTER_MAX_MS / 1000 + 1, API_REFUSED_MS);
    check_pause(UINT32_MAX, API_REFUSED_MS);
}

/* A server that lets no request begin is given up, and another connection tried. */
static void test_no_stream_is_allowed(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    api.streams_max = 0;
    api_end("");
    pass_until_connected(connections + 1);
    pass(API_REQUEST_MS + 1000);
    assert_non_null(strstr(world.log, "its SETTINGS_MAX_CONCURRENT_STREAMS is 0"));
    api.streams_max = SIM_STREAMS_MAX;
    pass(API_BACKOFF_MAX_MS + API_BACKOFF_MAX_MS / 4);
    devices_change(15);
    settle();
    assert_true(publish_current(world.agent));
}

/* A claim that is answered by 429 makes our own requests wait, but no other claim. */
static void test_claim_makes_others_wait(void **state)
{
    (void)state;
    up();
    api.claim[0].http = 429;
    api.retry_after = 20;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    prepare_well(1, 1);
    devices_change(15);
    pass(19999);
    assert_int_equal(api.own, 0);
    api.claim[0].http = 0;
    pass(API_RECONNECT_MS + 1000);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_true(publish_current(world.agent));
}

/* --- tokens --- */

/* Rotated between two readings of the file: a claim whose GET was refused is read all the same. */
static void test_rotated_token_fails_no_claim(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    world.token = "fresh";
    api.authorization = "Bearer fresh";
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 3));
    pass(2000);
    assert_true(c->ended);
    for (unsigned n = 0; n < 3; n++) {
        assert_string_equal(prepare_error(call_reply_of(c), n), "");
    }
    assert_int_equal(world.token_reads, 1);
    assert_int_equal(api.connections, connections + 1);
    pass(20000);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_writes(), 0);
    log_has("repeated with the new token");
    assert_null(strstr(world.log, "level=error"));
}

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define MAKE_READABLE(data, len) __msan_unpoison(data, len)
#endif
#endif
#ifndef MAKE_READABLE
#define MAKE_READABLE(data, len) ((void)(len))
#endif

/* Whether what both drivers share has the text anywhere, in bytes that nobody reads too. */
static bool shared_has(const char *text)
{
    static struct shared_state copy;
    const struct agents *all = (const struct agents *)world.agent;
    memcpy(&copy, &all->shared, sizeof copy);
    MAKE_READABLE(&copy, sizeof copy);
    return memmem(&copy, sizeof copy, text, strlen(text)) != NULL;
}

/* A token that was replaced is nowhere: not behind the shorter one, and in no buffer. */
static void test_rotated_token_is_wiped(void **state)
{
    (void)state;
    up();
    world.token = "longer-by-its-end";
    api.authorization = "Bearer longer-by-its-end";
    devices_change(15);
    pass(10000);
    assert_true(publish_current(world.agent));
    assert_true(shared_has("by-its-end"));
    assert_false(shared_has("Bearer"));
    world.token = "fresh";
    api.authorization = "Bearer fresh";
    devices_change(14);
    pass(10000);
    assert_true(publish_current(world.agent));
    assert_false(shared_has("by-its-end"));
}

/* Rotated while a write is refused: it is repeated, and there is one slice. */
static void test_rotated_token_and_a_write(void **state)
{
    (void)state;
    up();
    world.token = "fresh";
    api.authorization = "Bearer fresh";
    devices_change(15);
    pass(3000);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_slices(), 1);
    assert_int_equal(api_asked("PUT "), 1);
    assert_int_equal(world.token_reads, 1);
}

/* The same token is not shown again for some time; a claim hears why; a new one mends it. */
static void test_refused_token(void **state)
{
    (void)state;
    up();
    api.authorization = "Bearer fresh";
    devices_change(15);
    settle();
    unsigned asked = api.own;
    assert_int_equal(api_asked(LISTS), 1);
    assert_int_equal(world.token_reads, 1);
    log_has("401 Unauthorized, and there is no other token yet\" remedy=\"" API_TOKEN_REMEDY "\"");
    /* the roles of 403 are not at fault */
    log_has("remedy=\"" API_TOKEN_REMEDY "\"");
    assert_int_equal(said("check RBAC") + said("the agent reconnects"), 0);
    pass(5000);
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0),
                        "claim ml/claim-0 cannot be read from the API server: HTTP 401 "
                        "Unauthorized: the token is not accepted; " API_TOKEN_REMEDY);
    pass(API_REFUSED_MS - 8000 - 1);
    assert_int_equal(api.own, asked);
    pass(600000);
    assert_in_range(api.own - asked, 10, 60);
    assert_true(world.agent->api->connection.state != API_CONNECTING);
    world.token = "fresh";
    pass(60000);
    assert_true(publish_current(world.agent));
    prepare_well(0, 1);
}

/* An agent whose first request is refused says why it is not ready, and the remedy. */
static void test_refused_token_at_the_start(void **state)
{
    char text[1024] = "";
    (void)state;
    world_new();
    api.authorization = "Bearer fresh";
    node_up();
    pass(5000);
    assert_false(agent_ready(world.agent));
    for (unsigned i = 0; strstr(text, "the API server cannot be asked") == NULL; i++) {
        struct writer why = writer_of(text, sizeof text - 1);
        memset(text, 0, sizeof text);
        assert_true(ready_reason(world.agent, i, &why));
    }
    assert_string_equal(text, "the API server cannot be asked: it does not accept the agent's "
                              "token: " API_TOKEN_REMEDY);
    world.token = "fresh";
    pass(60000);
    assert_true(agent_ready(world.agent));
}

/* Who was refused need not wait with another token. */
static void test_new_token_ends_the_pause(void **state)
{
    (void)state;
    up();
    api.authorization = "Bearer fresh";
    devices_change(15);
    settle();
    assert_int_equal(world.token_reads, 1);
    world.token = "fresh"; /* read for the next connection */
    pass(3000);
    assert_true(publish_current(world.agent));
}

/* The same when it comes soon after the next connection: the token is looked at until then. */
static void test_token_that_comes_late(void **state)
{
    (void)state;
    up();
    api.authorization = "Bearer fresh";
    devices_change(15);
    pass(5000);
    assert_false(publish_current(world.agent));
    world.token = "fresh";
    pass(TOKEN_REFUSED_MS + 1000);
    assert_true(publish_current(world.agent));
}

/* --- answers that never come --- */

static void test_mute_server_is_left(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    api.hangs = true;
    devices_change(15);
    /* three time-outs, two waits between them, and the attempt's own */
    pass(3 * API_REQUEST_MS + 5000);
    pass_until_connected(connections + 1);
    log_has("answers no request in time");
    api.hangs = false;
    pass(60000);
    assert_true(publish_current(world.agent));
}

/* Requests that hang side by side say nothing of the connection. */
static void test_hanging_claims_keep_the_connection(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    for (unsigned n = 0; n < 4; n++) {
        api.claim[n].fault = API_HANGS;
    }
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 4));
    pass(CLAIM_GET_MS);
    assert_true(c->ended);
    assert_int_equal(api.connections, connections);
}

/* Nor do requests whose callers had little time: a server that takes its time is no dead one. */
static void test_short_calls_keep_the_connection(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    for (unsigned i = 0; i < 2 * API_TIMEOUTS_MAX; i++) {
        const struct peer_call *c = call_send_within(p, PREPARE, claims_request(0, 1), "3S");
        pass(3000);
        assert_true(c->ended);
    }
    assert_int_equal(api.connections, connections);
}

/* What the server did not look at is asked once more at once, and then after a wait. */
static void test_refused_stream(void **state)
{
    (void)state;
    up();
    api.refuses = 1;
    prepare_well(0, 1);
    assert_int_equal(api.refuses, 0);
    api.refuses = 2;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    settle();
    assert_int_equal(api.refuses, 0);
    assert_false(c->ended);
    pass(1000);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 1), "");
    assert_int_equal(world.agent->api->connection.state, API_UP);
}

/* The write is done though its answer says nothing of it: the stored slices are read first. */
static void test_done_and_not_answered(void **state)
{
    (void)state;
    world_new();
    api.write_lost = true;
    node_up();
    pass(1000);
    api.write_lost = false;
    pass(10000);
    assert_int_equal(api_asked("POST "), 1);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

/* --- the version --- */

/* A claim finds that its version is not served while a list hangs: the group is asked at once. */
static void test_doubt_waits_for_no_list(void **state)
{
    (void)state;
    up();
    api.hangs = true;
    devices_change(15);
    settle();
    assert_int_equal(api_slot_kind(world.agent, API_SLOT_SLICES), API_LIST_SLICES);
    api.hangs = false;
    api.served = SERVES(API_V1BETA1);
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(100);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_int_equal(api_slot_kind(world.agent, API_SLOT_SLICES), API_LIST_SLICES);
}

/* --- refusals --- */

/* A Status with a text that is no UTF-8 says no more than its HTTP status does. */
static void test_unreadable_status(void **state)
{
    static const char status[] = "\x1a\x04no\xff\xfe"
                                 "\x22\x09"
                                 "Forbidden";
    uint8_t bytes[128];
    struct writer page = writer_of(bytes, sizeof bytes);
    (void)state;
    up();
    put_envelope(&page, "v1", "Status", view_text(status));
    api.page = writer_view(&page);
    api.page_http = 403;
    api.page_asked = SIM_ASK_CLAIM;
    assert_string_equal(prepare_error(prepare_now(0, 1), 0),
                        "claim ml/claim-0 cannot be read from the API server: HTTP 403 ");
    api.page_asked = 0;
    prepare_well(0, 1);
}

/* --- after a stall --- */

/* Turns of the host's loop in which the time is that of before the stall. */
static void turns_of_old_time(void)
{
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < PEERS; k++) {
            (void)peer_to_agent(&world.peer[k]);
        }
        (void)step();
        assert_true(agent_deadline(world.agent) <= world.now_ms);
    }
}

static void test_stall_costs_no_time_of_a_request(void **state)
{
    (void)state;
    up();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    agent_time_old(world.agent);
    turns_of_old_time();
    assert_int_equal(links_calls_open(world.agent), 1);
    assert_int_equal(api_asked("GET "), 0);
    set_time(world.now_ms + 2 * CLAIM_GET_MS);
    settle();
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
}

static void test_flush_costs_no_time_of_a_request(void **state)
{
    (void)state;
    up();
    struct peer *p = service_open();
    prepare_well(0, 1);
    disk.flush_us = 2 * CLAIM_GET_MS * UINT64_C(1000);
    const struct peer_call *freed = call_send(p, UNPREPARE, claims_request(0, 1));
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    api_forget();
    turns_of_old_time();

    assert_string_equal(unprepare_error(call_reply_of(freed), 0), "");
    assert_int_equal(api_asked("GET "), 0);
    disk.flush_us = 0;
    set_time(world.now_ms + 2 * CLAIM_GET_MS);
    settle();
    assert_string_equal(prepare_error(call_reply_of(c), 1), "");
}

/*
 * The API server restarts: agents of 300 nodes come back within 17 s after it is ready, and no
 * second has many of them. In a large fleet none has more than 10 %.
 */
static void come_back(uint64_t away_ms, unsigned most)
{
    unsigned in_second[API_RETRY_LEAST_MS / 1000 + API_RETRY_SPREAD_MS / 1000 + 1] = {0};
    up();
    for (unsigned node = 0; node < 300; node++) {
        pass(API_BACKOFF_MAX_MS);
        randomness_init(&world.agent->randomness, node * UINT64_C(0x9e3779b97f4a7c15));
        api.reachable = false;
        api_end("the server restarts");
        pass(away_ms);
        api.reachable = true;
        uint64_t ready_ms = world.now_ms;
        unsigned connections = api.connections;
        while (api.connections == connections) {
            pass(100);
        }
        uint64_t second = (world.now_ms - ready_ms) / 1000;
        assert_true(second < sizeof in_second / sizeof in_second[0]);
        in_second[second]++;
        api.own = 0;
    }
    for (unsigned i = 0; i < sizeof in_second / sizeof in_second[0]; i++) {
        if (in_second[i] > most) {
            fail_msg("%u in second %u after %u ms", in_second[i], i, (unsigned)away_ms);
        }
    }
}

static void test_reconnects_are_spread(void **state)
{
    (void)state;
    come_back(0, 36);
    come_back(5000, 48);
    come_back(120000, 42);
}

static void test_stall_costs_no_time_of_a_connection(void **state)
{
    (void)state;
    up();
    api_end("the network went away");
    settle();
    unsigned connects = world.connects;
    set_time(world.now_ms + API_BACKOFF_MAX_MS);
    agent_time_old(world.agent);
    turns_of_old_time();
    assert_int_equal(world.connects, connects);
    set_time(world.now_ms + API_CONNECT_MS);
    settle();
    assert_int_equal(world.connects, connects + 1);
}

/* An attempt may take long within a turn: the wait for the next one begins when it has failed. */
static void test_wait_begins_at_the_failure(void **state)
{
    (void)state;
    up();
    api.reachable = false;
    api_end("the network went away");
    settle();
    world.agent->api->connection.connect_at_ms = world.now_ms;
    (void)agent_step(world.agent);
    enum agent_order order = ORDER_NONE;
    for (unsigned i = 0; i < 4 && order != ORDER_CONNECT_API; i++) {
        order = agent_next_order(world.agent);
    }
    assert_int_equal(order, ORDER_CONNECT_API);
    /* while it is under way no other one is due */
    assert_true(agent_deadline(world.agent) > world.now_ms);
    (void)agent_step(world.agent);
    assert_int_equal(agent_next_order(world.agent), ORDER_NONE);
    uint64_t failed_ms = world.now_ms + API_CONNECT_MS;
    agent_api_failed(world.agent, PEER_TIMEOUT, "10.0.0.1:443: no answer", failed_ms);
    assert_true(world.agent->api->connection.connect_at_ms >= failed_ms + API_RETRY_LEAST_MS);
    assert_true(world.agent->api->connection.hurry_at_ms > failed_ms);
    set_time(failed_ms);
    take_log();
    log_has("event=api_connect_failed status=peer-timeout text=\"10.0.0.1:443: no answer\"");
}

/* A token so long that the heads of several requests do not fit at once; the server stalls. */
static void test_long_token(void **state)
{
    static char authorization[TOKEN_CAP + 8];
    (void)state;
    memset(authorization, 't', sizeof authorization - 1);
    memcpy(authorization, "Bearer ", 7);
    authorization[7 + TOKEN_CAP - 1] = '\0';
    world_new();
    world.token = authorization + 7;
    api.authorization = authorization;
    for (unsigned n = 0; n < FETCHES_MAX; n++) {
        (void)claim_add(n);
    }
    node_up();
    pass(20000);
    world.api_deaf = true;
    const struct peer_call *c[2];
    for (unsigned i = 0; i < 2; i++) {
        c[i] = call_send(service_open(), PREPARE, claims_request(i * 4, 4));
        settle();
    }
    assert_int_equal(c[0]->status, -1);
    world.api_deaf = false;
    pass(1000);
    for (unsigned n = 0; n < FETCHES_MAX; n++) {
        assert_string_equal(prepare_error(call_reply_of(c[n / 4]), n), "");
    }
    assert_int_equal(api.connections, 1);
}

/* One request at a time is slow, and no reason to leave the server. */
static void test_one_stream_at_a_time(void **state)
{
    (void)state;
    up();
    unsigned connections = api.connections;
    api.streams_max = 1;
    api_end("");
    pass_until_connected(connections + 1);
    pass(5000);
    prepare_well(0, 4);
    claim_add(4)->fault = API_HANGS;
    (void)claim_add(5);
    struct peer *p = service_open();
    const struct peer_call *slow = call_send(p, PREPARE, claims_request(4, 1));
    settle();
    const struct peer_call *next = call_send(service_open(), PREPARE, claims_request(5, 1));
    pass(5000);
    assert_false(slow->ended || next->ended);
    pass(20000);
    assert_non_null(strstr(prepare_error(call_reply_of(slow), 4), "no response in time"));
    assert_string_equal(prepare_error(call_reply_of(next), 5), "");
    assert_int_equal(api.connections, connections + 1);
}

/* Requests time out in the very step in which the server is found silent: it is lost once. */
static void test_lost_for_two_reasons(void **state)
{
    (void)state;
    up();
    pass(1000);
    world.api_deaf = true;
    struct api_connection *c = &world.agent->api->connection;
    for (unsigned i = 0; i < 100 && c->ping_ms == 0; i++) {
        pass(1000);
    }
    assert_int_not_equal(c->ping_ms, 0);
    pass(c->ping_ms + API_PING_ANSWER_MS - 1 - world.now_ms);
    assert_true(api_connected(world.agent));
    world.agent->api->client.timeouts_in_a_row = API_TIMEOUTS_MAX;
    log_forget();
    set_time(world.now_ms + 1);
    settle();
    assert_false(api_connected(world.agent));
    assert_int_equal(said("event=api_connection_lost"), 1);
    log_has("answers no request in time");
    pass(API_BACKOFF_MAX_MS);
    assert_true(api_connected(world.agent));
}

/* A wait that is too short to be spread stays what it is. */
static void test_shortest_wait(void **state)
{
    (void)state;
    up();
    for (uint64_t ms = 0; ms < 4; ms++) {
        assert_int_equal(agent_jitter(world.agent, ms), ms);
    }
    assert_in_range(agent_jitter(world.agent, 100), 100, 124);
}

/* --- what is measured --- */

static void test_ends_are_measured(void **state)
{
    (void)state;
    up();
    const struct histogram *h = world.agent->report->durations.request[API_GET_CLAIM];
    prepare_well(0, 1);
    api.claim[1].http = 403;
    (void)prepare_now(1, 1);
    api.claim[2].fault = API_HANGS;
    struct peer *p = service_open();
    (void)call_send(p, PREPARE, claims_request(2, 1));
    pass(CLAIM_GET_MS);
    assert_int_equal(h[2].bucket[0], 1);
    assert_int_equal(h[4].bucket[0], 1);
    assert_int_equal(h[0].sum_us, CLAIM_GET_MS * 1000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_five_requests_in_any_second),
        cmocka_unit_test(test_claims_are_not_counted),
        cmocka_unit_test(test_connections_are_rare),
        cmocka_unit_test(test_nothing_shortens_a_retry_after),
        cmocka_unit_test(test_retry_after_is_bounded),
        cmocka_unit_test(test_no_stream_is_allowed),
        cmocka_unit_test(test_claim_makes_others_wait),
        cmocka_unit_test(test_rotated_token_fails_no_claim),
        cmocka_unit_test(test_rotated_token_and_a_write),
        cmocka_unit_test(test_rotated_token_is_wiped),
        cmocka_unit_test(test_refused_token),
        cmocka_unit_test(test_refused_token_at_the_start),
        cmocka_unit_test(test_new_token_ends_the_pause),
        cmocka_unit_test(test_token_that_comes_late),
        cmocka_unit_test(test_mute_server_is_left),
        cmocka_unit_test(test_hanging_claims_keep_the_connection),
        cmocka_unit_test(test_short_calls_keep_the_connection),
        cmocka_unit_test(test_refused_stream),
        cmocka_unit_test(test_done_and_not_answered),
        cmocka_unit_test(test_doubt_waits_for_no_list),
        cmocka_unit_test(test_unreadable_status),
        cmocka_unit_test(test_stall_costs_no_time_of_a_request),
        cmocka_unit_test(test_flush_costs_no_time_of_a_request),
        cmocka_unit_test(test_reconnects_are_spread),
        cmocka_unit_test(test_stall_costs_no_time_of_a_connection),
        cmocka_unit_test(test_wait_begins_at_the_failure),
        cmocka_unit_test(test_long_token),
        cmocka_unit_test(test_one_stream_at_a_time),
        cmocka_unit_test(test_lost_for_two_reasons),
        cmocka_unit_test(test_shortest_wait),
        cmocka_unit_test(test_ends_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
