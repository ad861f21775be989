/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC server: calls, responses, and requests that it refuses by itself. */
#include "tests/unit/kubelet/grpc_harness.h"

/* --- answers --- */

static void test_unary_call(void **state)
{
    static const size_t cuts[] = {1, 2, 7, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        begin();
        cut = cuts[i];
        (void)call("hello");
        server_saw(" CALL /s/M hello");
        assert_int_equal(grpc_reply_all(&server, ids[0], view_text("ok")), STATUS_OK);
        assert_false(grpc_call_alive(&server, ids[0]));
        settle();
        client_saw(" " HEAD " H1 D1 %00%00%00%00%02ok F1t grpc-status=0 H1te");
        end();
    }
}

static void test_longest_path(void **state)
{
    char path[GRPC_PATH_CAP] = "/";
    struct request r = usual;

    (void)state;
    begin();
    memset(path + 1, 'p', sizeof path - 2);
    r.path = path;
    send_message(open_call(&r, false), "m", true);
    settle();
    assert_int_equal(calls, 1);
    assert_int_equal(strlen(path), GRPC_PATH_CAP - 1);
    assert_non_null(strstr(seen.text, path));
}

static void test_empty_messages(void **state)
{
    (void)state;
    begin();
    (void)call("");
    server_saw(" CALL /s/M ");
    assert_int_equal(grpc_reply_all(&server, ids[0], view_text("")), STATUS_OK);
    settle();
    client_saw(" " HEAD " H1 D1 %00%00%00%00%00 F1t grpc-status=0 H1te");
    end();
}

static void test_content_types(void **state)
{
    static const char *const types[] = {"application/grpc+proto", "application/grpc;charset=x",
                                        "application/grpc+proto;a=b"};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct request r = usual;
        begin();
        r.type = types[i];
        send_message(open_call(&r, false), "m", true);
        settle();
        server_saw(" CALL /s/M m");
    }
}

static void test_error_is_trailers_only(void **state)
{
    (void)state;
    begin();
    (void)call("m");
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_NOT_FOUND, "no claim\n\xe2\x82\xac 100%"),
                     STATUS_OK);
    settle();
    client_saw(" " HEAD " F1 grpc-status=5"
               " F1 grpc-message=no%20claim%250A%25E2%2582%25AC%20100%2525 H1e");
    (void)call("m");
    assert_int_equal(grpc_finish(&server, ids[1], GRPC_INTERNAL, long_text(2000)), STATUS_OK);
    settle();
    assert_non_null(strstr(client.events.text, "grpc-status=13"));
    assert_int_equal(strcspn(strstr(client.events.text, "message=") + 8, " "),
                     GRPC_STATUS_TEXT_CAP - 1);
    end();
}

static void test_error_after_a_message(void **state)
{
    (void)state;
    begin();
    (void)call("m");
    assert_int_equal(grpc_reply_begin(&server, ids[0], 0), STATUS_OK);
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_UNAVAILABLE, "later"), STATUS_OK);
    settle();
    client_saw(" " HEAD " H1 D1 %00%00%00%00%00 F1t grpc-status=14 F1t grpc-message=later H1te");
    end();
}

static void test_stream_of_messages(void **state)
{
    size_t taken = 0;

    (void)state;
    begin();
    (void)call("watch");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(grpc_reply_begin(&server, ids[0], 4), STATUS_OK);
        assert_int_equal(grpc_reply_bytes(&server, ids[0], view_text("up"), &taken), STATUS_OK);
        assert_int_equal(taken, 2);
        assert_int_equal(grpc_reply_bytes(&server, ids[0], view_text("!!"), &taken), STATUS_OK);
        assert_int_equal(taken, 2);
        settle();
    }
    client_saw(" " HEAD " H1 D1 %00%00%00%00%04up!!%00%00%00%00%04up!!%00%00%00%00%04up!!");
    assert_true(grpc_call_alive(&server, ids[0]));
    assert_int_equal(grpc_deadline(&server), UINT64_MAX);
    h2_reset(&client.h2, 1, H2_CANCEL);
    settle();
    server_saw(" CALL /s/M watch GONE 1");
    end();
}

/* --- requests that are refused without the owner --- */

static void test_refused_by_header(void **state)
{
    char path[GRPC_PATH_CAP + 1] = "/";
    struct request r = usual;

    (void)state;
    r.method = "GET";
    check_refused(&r, "", true,
                  " F1 :status=405 F1 content-type=text/plain F1 allow=POST H1"
                  " D1 gRPC%20calls%20use%20the%20method%20POST%0a E");
    r.method = "HEAD"; /* RFC 9110 §9.3.2: no content */
    check_refused(&r, "", true, " F1 :status=405 F1 content-type=text/plain F1 allow=POST H1e");
    r = usual;
    r.type = "application/json";
    check_refused(&r, "0000000000", true,
                  " F1 :status=415 F1 content-type=text/plain H1"
                  " D1 content-type%20must%20be%20application/grpc%0a E");
    r.type = "application/grpcx";
    check_refused(&r, "", true,
                  " F1 :status=415 F1 content-type=text/plain H1"
                  " D1 content-type%20must%20be%20application/grpc%0a E");
    r = usual;
    memset(path + 1, 'p', sizeof path - 2);
    r.path = path;
    check_refused(&r, "0000000000", true,
                  REFUSED("12", "unknown%20method:%20its%20path%20is%20too%20long"));
}

static void test_refused_by_message(void **state)
{
    (void)state;
    check_refused(&usual, "", true, REFUSED("13", "request%20has%20no%20message"));
    check_refused(&usual, "00000000", true,
                  REFUSED("13", "request%20ends%20inside%20its%20message"));
    check_refused(&usual, "000000000261", true,
                  REFUSED("13", "request%20ends%20inside%20its%20message"));
    check_refused(&usual, "00000000016162", true,
                  REFUSED("13", "request%20has%20more%20than%20one%20message"));
    check_refused(&usual, "00000000000000000000", false,
                  REFUSED("13", "request%20has%20more%20than%20one%20message") " R1 NO_ERROR");
    check_refused(&usual, "0200000000", true, REFUSED("13", "malformed%20message%20prefix"));
    /* the length is enough: no body is waited for */
    check_refused(&usual, "0000006001", false,
                  REFUSED("8", "request%20message%20is%20too%20large") " R1 NO_ERROR");
    check_refused(&usual, "00ffffffff", false,
                  REFUSED("8", "request%20message%20is%20too%20large") " R1 NO_ERROR");
}

/* compression.md of gRPC, test cases 1 and 6: the code depends on the encoding that is named */
static void test_compressed_message(void **state)
{
    static const char *const none[] = {NULL, "", "identity"};
    static const char *const named[] = {"gzip", "identit", "Identity"};
    struct request r = usual;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        r.encoding = none[i];
        check_refused(&r, "0100000000", true,
                      REFUSED("13", "message%20is%20compressed,%20but%20grpc-encoding%20names%20no"
                                    "%20encoding"));
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        r.encoding = named[i];
        check_refused(&r, "0100000000", true,
                      " " HEAD " F1 grpc-status=12"
                      " F1 grpc-message=compressed%20messages%20are%20not%20supported"
                      " F1 grpc-accept-encoding=identity H1e");
    }
}

/* An encoding alone refuses nothing: a message without the flag is not compressed. */
static void test_encoding_without_compression(void **state)
{
    struct request r = usual;

    (void)state;
    begin();
    r.encoding = "gzip";
    send_message(open_call(&r, false), "m", true);
    settle();
    server_saw(" CALL /s/M m");
}

static void test_largest_request(void **state)
{
    static uint8_t prefix[5];
    uint32_t stream;
    struct writer w = writer_of(prefix, sizeof prefix);

    (void)state;
    begin();
    stream = open_call(&usual, false);
    writer_u8(&w, 0);
    writer_u32(&w, GRPC_MESSAGE_BYTES_MAX);
    send_bytes(stream, prefix, sizeof prefix, false);
    send_bytes(stream, long_text(GRPC_MESSAGE_BYTES_MAX), GRPC_MESSAGE_BYTES_MAX, true);
    settle();
    server_saw(" CALL /s/M abcdefghijklmnopqrstuvwxyzabcdefghijklmn(24576)");
    assert_int_equal(grpc_finish(&server, ids[0], GRPC_OK, NULL), STATUS_OK);
    end();
}

static void test_message_kept_in_the_call_or_in_a_buffer(void **state)
{
    (void)state;
    for (size_t len = GRPC_SMALL_BYTES - 1; len <= GRPC_SMALL_BYTES + 1; len++) {
        struct grpc_event event;
        begin();
        send_message(open_call(&usual, false), long_text(len), true);
        while (move_to_server()) {
            if (grpc_next(&server, now, &event) == STATUS_OK && event.kind == GRPC_EVENT_CALL) {
                assert_true(view_is(event.message, long_text(len)));
                assert_int_equal(buffers.buffers[0].taken, len > GRPC_SMALL_BYTES);
            }
        }
        /* the next call of grpc_next takes the buffer back, though the call runs on */
        assert_int_equal(grpc_next(&server, now, &event), STATUS_MORE);
        assert_false(buffers.buffers[0].taken);
        assert_int_equal(grpc_calls_open(&server), 1);
    }
}

/* Those that nobody has a right to, and its own. */
#define BUFFERS_OF_ONE (GRPC_BUFFERS - GRPC_SHARES + 1)

static void test_buffers_used_up(void **state)
{
    uint32_t streams[BUFFERS_OF_ONE + 1];

    (void)state;
    begin();
    for (unsigned i = 0; i <= BUFFERS_OF_ONE; i++) {
        streams[i] = open_call(&usual, false);
        send_bytes(streams[i], "\0\0\0\x10\0...", 8, false);
    }
    settle();
    client_saw(
        " F11 :status=200 F11 content-type=application/grpc F11 grpc-status=14"
        " F11 grpc-message=too%20many%20large%20requests%20at%20one%20time H11e R11 NO_ERROR");
    /* one that is given up makes room */
    h2_reset(&client.h2, streams[3], H2_CANCEL);
    send_message(open_call(&usual, false), long_text(1000), true);
    settle();
    server_saw(" CALL /s/M abcdefghijklmnopqrstuvwxyzabcdefghijklmn(1000)");
    assert_int_equal(grpc_calls_open(&server), BUFFERS_OF_ONE);
    /* what is left is for the others, one each; the whole message's buffer is free again */
    assert_int_equal(buffers.taken, BUFFERS_OF_ONE - 1);
    assert_int_equal(buffers.holders, 1);
    grpc_abandon(&server);
    assert_int_equal(buffers.holders, 0);
    end();
}

/* Each connection finds a buffer, whatever the others have begun and left. */
static void test_buffers_are_shared(void **state)
{
    (void)state;
    begin();
    buffers.holders = GRPC_SHARES - 1;
    buffers.taken = GRPC_BUFFERS - 1;
    for (unsigned i = 0; i < GRPC_BUFFERS; i++) {
        buffers.buffers[i].taken = i != 5;
    }
    send_bytes(open_call(&usual, false), "\0\0\0\x10\0...", 8, false);
    settle();
    client_saw("");
    assert_true(buffers.buffers[5].taken);
    assert_int_equal(buffers.holders, GRPC_SHARES);
    send_bytes(open_call(&usual, false), "\0\0\0\x10\0...", 8, false);
    settle();
    assert_non_null(strstr(client.events.text, "F3 grpc-status=14"));
    grpc_abandon(&server);
    assert_false(buffers.buffers[5].taken);
    assert_int_equal(buffers.taken, GRPC_BUFFERS - 1);
}

static void test_server_without_buffers(void **state)
{
    (void)state;
    begin_with(NULL, H2_SERVER_WINDOW);
    (void)call(long_text(GRPC_SMALL_BYTES));
    assert_int_equal(calls, 1);
    send_bytes(open_call(&usual, false), "\0\0\0\x01\x01", 5, false);
    settle();
    assert_non_null(strstr(client.events.text, "F3 grpc-status=8"));
}

static void test_request_trailers_end_the_input(void **state)
{
    uint32_t stream;

    (void)state;
    begin();
    stream = open_call(&usual, false);
    send_message(stream, "m", false);
    settle();
    server_saw("");
    h2_headers_begin(&client.h2, stream);
    h2_header(&client.h2, "content-type", view_text("ignored"), false);
    assert_int_equal(h2_headers_end(&client.h2, true), STATUS_OK);
    settle();
    server_saw(" CALL /s/M m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_call),
        cmocka_unit_test(test_longest_path),
        cmocka_unit_test(test_empty_messages),
        cmocka_unit_test(test_content_types),
        cmocka_unit_test(test_error_is_trailers_only),
        cmocka_unit_test(test_error_after_a_message),
        cmocka_unit_test(test_stream_of_messages),
        cmocka_unit_test(test_refused_by_header),
        cmocka_unit_test(test_refused_by_message),
        cmocka_unit_test(test_compressed_message),
        cmocka_unit_test(test_encoding_without_compression),
        cmocka_unit_test(test_largest_request),
        cmocka_unit_test(test_message_kept_in_the_call_or_in_a_buffer),
        cmocka_unit_test(test_buffers_used_up),
        cmocka_unit_test(test_buffers_are_shared),
        cmocka_unit_test(test_server_without_buffers),
        cmocka_unit_test(test_request_trailers_end_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
