/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP/1.1 engine in states that a usual exchange does not show: calls out of turn, responses
 * that are not taken, words that differ in their last byte. */
#include "unit.h"
#include "wire/http1.h"

static struct http1 engine;

static void feed(const char *in)
{
    struct writer room = http1_rx_space(&engine);
    assert_true(room.cap >= strlen(in));
    memcpy(room.data, in, strlen(in));
    http1_rx_commit(&engine, strlen(in));
}

static void sent(void)
{
    http1_tx_commit(&engine, http1_tx_data(&engine).len);
}

static void begin(const char *in, enum status want)
{
    struct view path;
    http1_init(&engine, 1000);
    feed(in);
    assert_int_equal(http1_next(&engine, &path), want);
}

#define REQUEST "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

static void respond(void)
{
    assert_true(http1_respond(&engine, HTTP1_OK, "text/x"));
    struct writer room = http1_body_space(&engine);
    writer_text(&room, "b");
    http1_body_commit(&engine, room.len);
    http1_body_end(&engine);
}

static void test_words_that_differ_at_their_end(void **state)
{
    (void)state;
    static const struct {
        const char *connection;
        bool closes;
    } rows[] = {{"close", true}, {"clos", false}, {"closed", false}, {"clone", false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char in[128];
        (void)snprintf(in, sizeof in, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n",
                       rows[i].connection);
        begin(in, STATUS_OK);
        respond();
        sent();
        assert_int_equal(http1_done(&engine), rows[i].closes);
    }
}

static void test_request_lines(void **state)
{
    (void)state;
    static const char *const rows[] = {"GET  HTTP/1.1\r\nHost: a\r\n\r\n",
                                       "GET /a HTTP/1x1\r\nHost: a\r\n\r\n",
                                       "GET /a HTTX/1.1\r\nHost: a\r\n\r\n"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        begin(rows[i], PEER_MALFORMED);
        assert_true(view_starts(http1_tx_data(&engine), "HTTP/1.1 400 "));
    }
}

/* A refusal of HEAD has the length of its body, and not the body. */
static void test_refused_head(void **state)
{
    (void)state;
    begin("HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", PEER_MALFORMED);
    assert_true(view_ends(http1_tx_data(&engine), "Content-Length: 15\r\n\r\n"));
    begin("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", PEER_MALFORMED);
    assert_true(view_ends(http1_tx_data(&engine), "\r\n\r\n400 Bad Request"));
}

/* The peer has sent a whole request and its FIN: it gets its response all the same. */
static void test_request_before_the_end_of_input(void **state)
{
    (void)state;
    struct view path;
    http1_init(&engine, 1000);
    feed(REQUEST);
    http1_rx_end(&engine);
    assert_int_equal(http1_rx_space(&engine).cap, 0);
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    assert_view(path, "/a");
    respond();
    assert_true(view_ends(http1_tx_data(&engine), "0\r\n\r\n"));
    assert_false(http1_done(&engine));
    sent();
    assert_int_equal(http1_next(&engine, &path), PEER_CLOSED);
    assert_true(http1_done(&engine));
}

/* A connection that closes takes no bytes and is done once its response is sent. */
static void test_closing(void **state)
{
    (void)state;
    begin("GET /a HTTP/1.0\r\n\r\n", STATUS_OK);
    respond();
    assert_false(http1_done(&engine));
    assert_int_equal(http1_rx_space(&engine).cap, 0);
    sent();
    assert_true(http1_done(&engine));
}

static void test_failed_connection(void **state)
{
    (void)state;
    begin("GET /a\r\n", PEER_MALFORMED);
    assert_true(http1_tx_data(&engine).len > 0);
    assert_false(http1_done(&engine)); /* the peer has not got its 400 */
    assert_int_equal(http1_yields_ms(&engine), 1000 + HTTP1_PAUSE_MS);
    assert_false(http1_respond(&engine, HTTP1_OK, "text/x"));
    assert_true(view_starts(http1_tx_data(&engine), "HTTP/1.1 400 "));
    sent();
    assert_false(http1_done(&engine)); /* nor has it closed */
    assert_int_equal(http1_yields_ms(&engine), 1000);
    http1_rx_end(&engine);
    assert_true(http1_done(&engine));
}

/* To give way a failed connection drops its response and waits for nothing. */
static void test_failed_connection_gives_way(void **state)
{
    (void)state;
    struct view path;
    begin("GET /a\r\n", PEER_MALFORMED);
    assert_false(http1_done(&engine));
    http1_yield(&engine);
    assert_int_equal(http1_tx_data(&engine).len, 0);
    assert_true(http1_done(&engine));
    assert_int_equal(http1_next(&engine, &path), PEER_MALFORMED); /* the first reason stays */
}

/* Between the request and its response the owner may be slow. */
static void test_response_is_not_begun(void **state)
{
    (void)state;
    begin(REQUEST, STATUS_OK);
    assert_int_equal(http1_tx_data(&engine).len, 0);
    assert_int_equal(http1_yields_ms(&engine), 1000 + HTTP1_PAUSE_MS);
}

/* Bytes of the next request, while the last response is unsent, begin no time of their own. */
static void test_next_request_behind_an_unsent_response(void **state)
{
    (void)state;
    struct view path;
    begin(REQUEST, STATUS_OK);
    respond();
    http1_set_time(&engine, 1500);
    feed("GET");
    assert_int_equal(http1_deadline(&engine), 1000 + HTTP1_ANSWER_MS);
    sent();
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    assert_int_equal(http1_deadline(&engine), 1500 + HTTP1_REQUEST_MS);
}

static void test_body_without_a_response(void **state)
{
    (void)state;
    http1_init(&engine, 0);
    assert_int_equal(http1_body_space(&engine).cap, 0);
    http1_body_commit(&engine, 5);
    http1_body_end(&engine);
    assert_int_equal(http1_tx_data(&engine).len, 0);
    begin(REQUEST, STATUS_OK); /* it serves as one that was not asked so */
    respond();
    assert_true(view_ends(http1_tx_data(&engine), "0001\r\nb\r\n0\r\n\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_that_differ_at_their_end),
        cmocka_unit_test(test_request_lines),
        cmocka_unit_test(test_refused_head),
        cmocka_unit_test(test_request_before_the_end_of_input),
        cmocka_unit_test(test_closing),
        cmocka_unit_test(test_failed_connection),
        cmocka_unit_test(test_failed_connection_gives_way),
        cmocka_unit_test(test_response_is_not_begun),
        cmocka_unit_test(test_next_request_behind_an_unsent_response),
        cmocka_unit_test(test_body_without_a_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
