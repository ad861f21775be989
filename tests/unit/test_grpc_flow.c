/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC server: deadlines, calls that end early, and little room. */
#include "tests/unit/kubelet/grpc_harness.h"

/* --- time --- */

static void check_timeout(const char *text, uint64_t ms)
{
    struct request r = usual;

    begin();
    r.timeout = text;
    send_message(open_call(&r, false), "m", true);
    settle();
    server_saw(" CALL /s/M m");
    assert_int_equal(grpc_deadline(&server), now + ms);
}

static void test_timeout_units(void **state)
{
    (void)state;
    check_timeout("1H", 3600000);
    check_timeout("2M", 120000);
    check_timeout("3S", 3000);
    check_timeout("44999m", 44999);
    check_timeout("2997810u", 2998);
    check_timeout("1u", 1);
    check_timeout("1000001n", 2);
    check_timeout("99999999H", 99999999ull * 3600000);
}

static void test_malformed_timeouts(void **state)
{
    static const char *const texts[] = {"",     "S",          "5",   "5x",   "-1S",
                                        "1.5S", "123456789m", "1 S", "0x1S", "1Sm"};
    struct request r = usual;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        r.timeout = texts[i];
        check_refused(&r, "0000000000", true, REFUSED("13", "malformed%20grpc-timeout"));
    }
}

static void test_deadline(void **state)
{
    struct request r = usual;
    size_t taken = 7;

    (void)state;
    begin();
    r.timeout = "100m";
    send_message(open_call(&r, false), "m", true);
    settle();
    now += 99;
    settle();
    server_saw(" CALL /s/M m");
    now += 1;
    settle();
    server_saw(" DEADLINE 1");
    client_saw(REFUSED("4", "deadline%20exceeded"));
    /* the owner's answer comes too late and is taken quietly */
    assert_int_equal(grpc_reply_begin(&server, ids[0], 1), PEER_CLOSED);
    assert_int_equal(grpc_reply_bytes(&server, ids[0], view_text("x"), &taken), PEER_CLOSED);
    assert_int_equal(taken, 0);
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("x")), PEER_CLOSED);
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_OK, NULL), STATUS_OK);
    end();
}

static void test_deadline_before_the_request_is_complete(void **state)
{
    struct request r = usual;

    (void)state;
    begin();
    r.timeout = "50m";
    (void)open_call(&r, false);
    settle();
    assert_int_equal(grpc_deadline(&server), now + 50);
    now += 50;
    settle();
    client_saw(REFUSED("4", "deadline%20exceeded") " R1 NO_ERROR");
    server_saw("");
    end();
}

static void test_request_that_never_ends(void **state)
{
    (void)state;
    begin();
    send_bytes(open_call(&usual, false), "\0\0\0\x10\0...", 8, false);
    settle();
    assert_true(buffers.buffers[0].taken);
    assert_int_equal(grpc_deadline(&server), now + GRPC_ARRIVAL_MS);
    now += GRPC_ARRIVAL_MS;
    settle();
    client_saw(REFUSED("4", "request%20did%20not%20arrive%20in%20time") " R1 NO_ERROR");
    end();
}

/* --- calls that end early --- */

static void test_cancel(void **state)
{
    struct grpc_call_id old;

    (void)state;
    begin();
    h2_reset(&client.h2, call("first"), H2_CANCEL);
    settle();
    server_saw(" CALL /s/M first GONE 1");
    old = ids[0];
    (void)call("second");
    /* same entry, another call */
    assert_int_equal(ids[1].index, old.index);
    assert_false(grpc_call_alive(&server, old));
    assert_int_equal(grpc_reply_all(&server, old, view_text("late")), PEER_CLOSED);
    assert_int_equal(grpc_finish(&server, old, GRPC_OK, NULL), STATUS_OK);
    assert_true(grpc_call_alive(&server, ids[1]));
    assert_false(grpc_call_alive(&server, (struct grpc_call_id){0, 0}));
}

static void test_connection_lost(void **state)
{
    struct grpc_event event;

    (void)state;
    begin();
    (void)call("one");
    (void)call("two");
    send_bytes(open_call(&usual, false), "\0\0\0\x10\0...", 8, false);
    settle();
    h2_rx_end(&server.h2);
    serve();
    assert_int_equal(server_said, PEER_CLOSED);
    server_saw(" CALL /s/M one CALL /s/M two GONE 1 GONE 2");
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("x")), PEER_CLOSED);
    assert_int_equal(grpc_finish(&server, ids[1], GRPC_OK, NULL), STATUS_OK);
    assert_int_equal(grpc_next(&server, now, &event), PEER_CLOSED);
    end();
}

static void test_answer_between_failure_and_its_report(void **state)
{
    struct writer space;
    size_t taken = 0;

    (void)state;
    begin();
    (void)call("one");
    (void)call("two");
    (void)call("three");
    /* DATA on stream 0 fails the connection; the owner answers after the first GONE */
    space = h2_rx_space(&server.h2);
    memcpy(space.data, "\0\0\0\0\0\0\0\0\0", 9);
    h2_rx_commit(&server.h2, 9);
    struct grpc_event event;
    assert_int_equal(grpc_next(&server, now, &event), STATUS_OK);
    assert_int_equal(event.kind, GRPC_EVENT_GONE);
    assert_int_equal(number_of(event.call), 1);
    assert_int_equal(grpc_reply_begin(&server, ids[1], 3), PEER_CLOSED);
    assert_int_equal(grpc_reply_bytes(&server, ids[1], view_text(""), &taken), PEER_CLOSED);
    assert_int_equal(grpc_finish(&server, ids[1], GRPC_OK, NULL), STATUS_OK);
    serve();
    server_saw(" CALL /s/M one CALL /s/M two CALL /s/M three GONE 3");
    assert_int_equal(server_said, PEER_PROTOCOL);
    end();
}

/* What runs is finished; what comes later never happened, and the client knows by GOAWAY. */
static void test_drain(void **state)
{
    (void)state;
    begin();
    (void)call("running");
    hold_server = true;
    grpc_drain(&server);
    send_message(open_call(&usual, false), "late", true);
    settle();
    hold_server = false;
    settle();
    server_saw(" CALL /s/M running");
    client_saw(" G1 NO_ERROR R3 REFUSED_STREAM");
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("done")), STATUS_OK);
    settle();
    assert_non_null(strstr(client.events.text, "done F1t grpc-status=0"));
    assert_int_equal(grpc_calls_open(&server), 0);
    end();
}

/* A call whose header block is on its way is served: GOAWAY names it. */
static void test_drain_inside_a_header_block(void **state)
{
    (void)state;
    begin();
    cut = 1;
    uint32_t stream = open_call(&usual, false);
    while (server.h2.last_peer_id == 0u) {
        assert_true(move_to_server());
        serve();
    }
    assert_int_equal(calls, 0);
    grpc_drain(&server);
    settle();
    send_message(stream, "m", true);
    settle();
    server_saw(" CALL /s/M m");
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("done")), STATUS_OK);
    settle();
    assert_non_null(strstr(client.events.text, "done F1t grpc-status=0"));
    end();
}

static void test_refusing(void **state)
{
    (void)state;
    begin();
    server.refusing = true;
    (void)open_call(&usual, false);
    settle();
    server_saw("");
    client_saw(" F1 :status=200 F1 content-type=application/grpc F1 grpc-status=14"
               " F1 grpc-message=the%20server%20is%20shutting%20down H1e R1 NO_ERROR");
    end();
}

/* --- little room --- */

static void test_reply_through_a_small_window(void **state)
{
    static const uint32_t windows[] = {1, 4, 5, 64, 1000};
    enum status st = STATUS_MORE;

    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        begin_with(&buffers, windows[i]);
        (void)call("m");
        st = STATUS_MORE;
        for (int round = 0; round < 5000 && st == STATUS_MORE; round++) {
            st = grpc_reply_all(&server, ids[0], view_text(long_text(1500)));
            settle();
        }
        assert_int_equal(st, STATUS_OK);
        join_data(1);
        assert_non_null(strstr(client.events.text, " D1 %00%00%00%05%dcabc"));
        assert_non_null(strstr(client.events.text, " F1t grpc-status=0 H1te"));
        end();
    }
}

static void test_http_refusal_through_a_small_window(void **state)
{
    struct request r = usual;

    (void)state;
    r.method = "GET";
    begin_with(&buffers, 1);
    (void)open_call(&r, true);
    settle();
    join_data(1);
    client_saw(" F1 :status=405 F1 content-type=text/plain F1 allow=POST H1"
               " D1 gRPC%20calls%20use%20the%20method%20POST%0a E");
    assert_int_equal(grpc_deadline(&server), UINT64_MAX);
    end();
}

#define NOT_POST                                                                                   \
    " F1 :status=405 F1 content-type=text/plain F1 allow=POST H1"                                  \
    " D1 gRPC%20calls%20use%20the%20method%20POST%0a E"
#define NOT_GRPC                                                                                   \
    " F1 :status=415 F1 content-type=text/plain H1"                                                \
    " D1 content-type%20must%20be%20application/grpc%0a E"
#define NOT_SERVED REFUSED("12", "unknown%20method%20on%20this%20socket")

static void begin_serving(void)
{
    static const struct grpc_method methods[] = {{"/s/L", 2}, {"/s/M", 3}};
    begin();
    server.methods = methods;
    server.methods_count = 2;
}

/* Its only legal form, RFC 9110 §9.3.6: no path, no scheme, and no end. */
static uint32_t open_connect(void)
{
    uint32_t stream = 0;
    assert_int_equal(h2_open(&client.h2, 0, &stream), STATUS_OK);
    h2_headers_begin(&client.h2, stream);
    h2_header(&client.h2, ":method", view_text("CONNECT"), false);
    h2_header(&client.h2, ":authority", view_text("other:443"), false);
    assert_int_equal(h2_headers_end(&client.h2, false), STATUS_OK);
    return stream;
}

static const struct {
    struct request r;
    const char *want;
} answered[] = {
    {{"CONNECT", NULL, NULL, NULL, NULL}, NOT_POST},
    {{"GET", "/s/M", "application/grpc", NULL, NULL}, NOT_POST},
    {{"POST", "/s/M", "text/plain", NULL, NULL}, NOT_GRPC},
    {{"POST", "/s/M", NULL, NULL, NULL}, NOT_GRPC},
    {{"POST", "/s/N", "application/grpc", NULL, NULL}, NOT_SERVED},
};

/* What the header list decides: no request is waited for. */
static uint32_t answered_at_once(unsigned i)
{
    const struct request *r = &answered[i].r;
    begin_serving();
    uint32_t stream = r->path == NULL ? open_connect() : open_call(r, false);
    settle();
    client_saw(answered[i].want);
    assert_int_equal(grpc_calls_open(&server), 0);
    assert_int_equal(grpc_deadline(&server), now + GRPC_ARRIVAL_MS);
    return stream;
}

#define EACH_ANSWERED(i) (unsigned i = 0; i < sizeof answered / sizeof answered[0]; i++)

static void test_answer_before_the_end(void **state)
{
    (void)state;
    for
        EACH_ANSWERED(i)
        {
            uint32_t stream = answered_at_once(i);
            send_bytes(stream, "rest", 4, true);
            settle();
            client_saw("");
            assert_int_equal(grpc_deadline(&server), UINT64_MAX);
            assert_int_equal(h2_streams_open(&server.h2), 0);
            (void)call("next");
            server_saw(" CALL /s/M next");
        }
}

/* What it goes on to send is dropped and its windows are opened again, but not for ever. */
static void test_answered_request_that_never_ends(void **state)
{
    (void)state;
    for
        EACH_ANSWERED(i)
        {
            uint32_t stream = answered_at_once(i);
            for (unsigned k = 0; k < 3; k++) {
                send_bytes(stream, long_text(H2_SERVER_WINDOW), H2_SERVER_WINDOW, false);
            }
            now += GRPC_ARRIVAL_MS - 1;
            settle();
            client_saw("");
            now += 1;
            settle();
            client_saw(" R1 NO_ERROR");
            assert_int_equal(grpc_deadline(&server), UINT64_MAX);
            server_saw("");
            end();
            (void)call("next");
            server_saw(" CALL /s/M next");
        }
}

static void test_answered_request_is_cancelled(void **state)
{
    (void)state;
    for
        EACH_ANSWERED(i)
        {
            h2_reset(&client.h2, answered_at_once(i), H2_CANCEL);
            settle();
            server_saw("");
            assert_int_equal(grpc_deadline(&server), UINT64_MAX);
            assert_int_equal(h2_streams_open(&server.h2), 0);
        }
}

/* Its text waits for the window of a peer that gives none: for a bounded time. */
static void test_http_refusal_that_is_not_taken(void **state)
{
    (void)state;
    begin_with(&buffers, 1);
    client.hold_output = true;
    hold_server = true;
    (void)open_connect();
    settle();
    assert_int_equal(grpc_calls_open(&server), 1);
    assert_int_equal(grpc_deadline(&server), now + GRPC_ARRIVAL_MS);
    now += GRPC_ARRIVAL_MS;
    settle();
    hold_server = false;
    settle();
    client_saw(" F1 :status=405 F1 content-type=text/plain F1 allow=POST H1 D1 g R1 CANCEL");
    end();
}

/* A peer that gives no window, or very little, holds its call for a bounded time. */
static void test_reply_that_is_not_taken(void **state)
{
    (void)state;
    begin_with(&buffers, 1);
    (void)call("m");
    assert_int_equal(grpc_deadline(&server), UINT64_MAX);
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text(long_text(1500))), STATUS_MORE);
    assert_int_equal(grpc_deadline(&server), now + GRPC_REPLY_MS);
    now += GRPC_REPLY_MS - 1;
    settle();
    assert_true(grpc_call_alive(&server, ids[0]));
    now++;
    settle();
    server_saw(" CALL /s/M m DEADLINE 1");
    assert_non_null(strstr(client.events.text, " F1t grpc-status=4"));
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text(long_text(1500))), PEER_CLOSED);
    end();
}

static void test_large_reply_in_pieces(void **state)
{
    struct view left;
    size_t taken = 0;
    unsigned rounds = 0;

    (void)state;
    begin_with(&buffers, 3000);
    (void)call("m");
    left = view_text(long_text(30000));
    assert_int_equal(grpc_reply_begin(&server, ids[0], 30000), STATUS_OK);
    while (left.len > 0 && rounds < 1000) {
        unsigned before = writables;
        assert_int_equal(grpc_reply_bytes(&server, ids[0], left, &taken), STATUS_OK);
        left = view_from(left, taken);
        settle();
        assert_true(writables > before);
        rounds++;
    }
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_OK, NULL), STATUS_OK);
    settle();
    join_data(1);
    assert_non_null(strstr(client.events.text, long_text(30000)));
    assert_in_range(rounds, 10, 100);
    end();
}

static void test_statuses_wait_for_room(void **state)
{
    char text[GRPC_STATUS_TEXT_CAP];
    unsigned held = 0;

    (void)state;
    memset(text, '%', sizeof text - 1); /* each becomes three */
    text[sizeof text - 1] = '\0';
    begin();
    for (unsigned i = 0; i < 10; i++) {
        (void)call("m");
    }
    hold_server = true;
    while (held < 10 && grpc_finish(&server, ids[held], GRPC_UNKNOWN, text) == STATUS_OK) {
        held++;
    }
    /* the send buffer is full before all are answered */
    assert_in_range(held, 5, 9);
    assert_true(grpc_call_alive(&server, ids[held]));
    while (grpc_finish(&server, ids[held], GRPC_UNKNOWN, "") == STATUS_OK) {
        held++;
        assert_in_range(held, 5, 9);
    }
    /* a refusal is remembered, and is no call of the owner */
    (void)open_call(&usual, true);
    settle();
    assert_int_equal(grpc_calls_open(&server), 10 - held + 1);
    client_saw("");
    hold_server = false;
    settle();
    assert_non_null(
        strstr(client.events.text, "F21 grpc-message=request%20has%20no%20message H21e"));
    assert_int_equal(grpc_calls_open(&server), 10 - held);
    while (held < 10) {
        assert_int_equal(grpc_finish(&server, ids[held], GRPC_OK, NULL), STATUS_OK);
        held++;
    }
    end();
}

static void test_many_calls(void **state)
{
    uint32_t stream = 0;

    (void)state;
    begin();
    for (unsigned round = 0; round < 40; round++) {
        calls = 0;
        for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
            (void)call(i % 4 == 0 ? long_text(400) : "small");
        }
        assert_int_equal(h2_open(&client.h2, 0, &stream), STATUS_MORE);
        assert_int_equal(calls, H2_SERVER_STREAMS);
        assert_int_equal(grpc_calls_open(&server), H2_SERVER_STREAMS);
        for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
            unsigned turn = (i * 7 + round) % H2_SERVER_STREAMS;
            assert_int_equal(grpc_reply_all(&server, ids[turn], view_text("r")), STATUS_OK);
            settle();
        }
        assert_int_equal(grpc_calls_open(&server), 0);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout_units),
        cmocka_unit_test(test_malformed_timeouts),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_deadline_before_the_request_is_complete),
        cmocka_unit_test(test_request_that_never_ends),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_answer_between_failure_and_its_report),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_inside_a_header_block),
        cmocka_unit_test(test_refusing),
        cmocka_unit_test(test_reply_through_a_small_window),
        cmocka_unit_test(test_http_refusal_through_a_small_window),
        cmocka_unit_test(test_answer_before_the_end),
        cmocka_unit_test(test_answered_request_that_never_ends),
        cmocka_unit_test(test_answered_request_is_cancelled),
        cmocka_unit_test(test_http_refusal_that_is_not_taken),
        cmocka_unit_test(test_reply_that_is_not_taken),
        cmocka_unit_test(test_large_reply_in_pieces),
        cmocka_unit_test(test_statuses_wait_for_room),
        cmocka_unit_test(test_many_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
