/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC server without room to send, with a window smaller than a prefix, and with identifiers
 * that name no running call. */
#include "tests/unit/kubelet/grpc_harness.h"

/* Two calls run; statuses of others fill the send buffer, which nobody takes. */
static void fill_the_output(void)
{
    char text[GRPC_STATUS_TEXT_CAP];
    unsigned at = 2;

    memset(text, '%', sizeof text - 1); /* each becomes three */
    text[sizeof text - 1] = '\0';
    begin();
    for (unsigned i = 0; i < 12; i++) {
        (void)call("m");
    }
    client_saw("");
    hold_server = true;
    while (grpc_finish(&server, ids[at], GRPC_UNKNOWN, text) == STATUS_OK) {
        at++;
        assert_in_range(at, 3, 11);
    }
    while (grpc_finish(&server, ids[at], GRPC_UNKNOWN, "") == STATUS_OK) {
        at++;
        assert_in_range(at, 3, 11);
    }
    for (; at < 12; at++) {
        h2_reset(&client.h2, 2 * at + 1, H2_CANCEL);
    }
    settle();
}

static void test_reply_without_room_for_its_head(void **state)
{
    (void)state;
    fill_the_output();
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("r")), STATUS_MORE);
    assert_int_equal(grpc_reply_message(&server, ids[1], view_text("s")), STATUS_MORE);
    assert_true(grpc_call_alive(&server, ids[0]));
    hold_server = false;
    settle();
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("r")), STATUS_OK);
    assert_int_equal(grpc_reply_message(&server, ids[1], view_text("s")), STATUS_OK);
    assert_int_equal(grpc_finish(&server, ids[1], GRPC_OK, NULL), STATUS_OK);
    settle();
    assert_non_null(strstr(client.events.text, " D1 %00%00%00%00%01r F1t grpc-status=0"));
    assert_non_null(strstr(client.events.text, " D3 %00%00%00%00%01s F3t grpc-status=0"));
    end();
}

static void test_http_refusal_without_room_for_its_head(void **state)
{
    struct request get = usual;

    (void)state;
    get.method = "GET";
    fill_the_output();
    (void)open_call(&get, true);
    settle();
    assert_int_equal(grpc_calls_open(&server), 3);
    assert_null(strstr(client.events.text, "F25"));
    hold_server = false;
    settle();
    assert_non_null(strstr(client.events.text, "F25 :status=405"));
    assert_int_equal(grpc_calls_open(&server), 2);
}

/* Of an empty message the prefix is all there is: the next one, or the status, waits for it. */
static void test_prefix_larger_than_the_window(void **state)
{
    (void)state;
    begin_with(&buffers, 3);
    hold_server = true;
    (void)call("m");
    assert_int_equal(grpc_reply_message(&server, ids[0], view_text("")), STATUS_OK);
    assert_int_equal(grpc_reply_message(&server, ids[0], view_text("")), STATUS_MORE);
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_OK, NULL), STATUS_MORE);
    hold_server = false;
    settle();
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_OK, NULL), STATUS_OK);
    settle();
    client_saw(" " HEAD " H1 D1 %00%00%00%00%00 F1t grpc-status=0 H1te");
    end();
}

/* The connection fails; its owner answers before it hears of it. */
static void test_answers_on_a_failed_connection(void **state)
{
    struct grpc_event event;

    (void)state;
    begin_with(&buffers, 3);
    hold_server = true;
    (void)call("one");
    (void)call("two");
    (void)call("three");
    (void)call("four");
    assert_int_equal(grpc_reply_message(&server, ids[1], view_text("ab")), STATUS_MORE);
    assert_int_equal(grpc_reply_message(&server, ids[2], view_text("")), STATUS_OK);
    struct writer space = h2_rx_space(&server.h2);
    memcpy(space.data, "\0\0\0\0\0\0\0\0\0", 9); /* DATA on stream 0 */
    h2_rx_commit(&server.h2, 9);
    assert_int_equal(grpc_next(&server, now, &event), STATUS_OK);
    assert_int_equal(event.kind, GRPC_EVENT_GONE);
    assert_int_equal(number_of(event.call), 1);
    assert_int_equal(grpc_reply_message(&server, ids[1], view_text("ab")), PEER_CLOSED);
    assert_int_equal(grpc_finish(&server, ids[2], GRPC_OK, NULL), STATUS_OK);
    assert_false(grpc_call_alive(&server, ids[2]));
    assert_int_equal(grpc_reply_all(&server, ids[3], view_text("x")), PEER_CLOSED);
    serve();
    server_saw(" CALL /s/M one CALL /s/M two CALL /s/M three CALL /s/M four GONE 2 GONE 4");
    end();
}

static void test_identifiers(void **state)
{
    (void)state;
    begin();
    send_bytes(open_call(&usual, false), "\0\0", 2, false);
    settle();
    /* a request that has not come in whole is no call of the owner yet */
    struct grpc_call_id half = {.serial = server.calls[0].serial, .index = 0};
    assert_true(half.serial != 0 && server.calls[0].stream == 1);
    assert_false(grpc_call_alive(&server, half));
    assert_int_equal(grpc_reply_message(&server, half, view_text("x")), PEER_CLOSED);
    (void)call("m");
    struct grpc_call_id outside = {.serial = ids[0].serial, .index = H2_SERVER_STREAMS};
    assert_false(grpc_call_alive(&server, outside));
    outside.index = ids[0].index;
    assert_true(grpc_call_alive(&server, outside));
}

/* Serials begin again, and none is 0, which names no call. */
static void test_serials_begin_again(void **state)
{
    (void)state;
    begin();
    server.next_serial = UINT32_MAX - 1;
    (void)call("last");
    (void)call("first");
    assert_int_equal(ids[0].serial, UINT32_MAX);
    assert_int_equal(ids[1].serial, 1);
    assert_int_equal(grpc_reply_all(&server, ids[1], view_text("r")), STATUS_OK);
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("r")), STATUS_OK);
    settle();
    end();
}

static void test_end_without_a_message(void **state)
{
    (void)state;
    begin();
    send_bytes(open_call(&usual, false), "", 0, true);
    settle();
    client_saw(REFUSED("13", "request%20has%20no%20message"));
    begin();
    uint32_t stream = open_call(&usual, false);
    send_bytes(stream, "\0\0\0\0\2a", 6, false);
    send_bytes(stream, "", 0, true);
    settle();
    client_saw(REFUSED("13", "request%20ends%20inside%20its%20message"));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reply_without_room_for_its_head),
        cmocka_unit_test(test_http_refusal_without_room_for_its_head),
        cmocka_unit_test(test_prefix_larger_than_the_window),
        cmocka_unit_test(test_answers_on_a_failed_connection),
        cmocka_unit_test(test_identifiers),
        cmocka_unit_test(test_serials_begin_again),
        cmocka_unit_test(test_end_without_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
