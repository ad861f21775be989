/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 streams and connections in rare states: opened and not yet used, reset without room for
 * the frame, reset while their header block still arrives, failed a second time. */
#include "tests/unit/wire/h2_harness.h"

static struct conn c;

/* A client of which the server knows two streams, the third is opened only. */
static void client_with_a_reserved_stream(void)
{
    uint32_t stream = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 1, &stream), STATUS_OK);
    assert_int_equal(stream, 1);
}

static void saw_frames(const char *want)
{
    assert_string_equal(c.frames.text, want);
    c.frames.len = 0;
    c.frames.text[0] = '\0';
}

static void saw_events(const char *want)
{
    assert_string_equal(c.events.text, want);
    c.events.len = 0;
    c.events.text[0] = '\0';
}

/* §6.4: RST_STREAM must not name a stream that the peer does not know. */
static void test_bad_frame_on_a_reserved_stream(void **state)
{
    (void)state;
    client_with_a_reserved_stream();
    conn_frame(&c, 2, 0, 1, "00000000"); /* PRIORITY of four octets */
    assert_int_equal(c.last, PEER_MALFORMED);
    saw_frames(" GOAWAY 0 FRAME_SIZE_ERROR");
}

static void test_no_ids_left(void **state)
{
    uint32_t stream = 0;
    (void)state;
    conn_start(&c, H2_CLIENT);
    c.h2.next_id = 0x7fffffffu;
    assert_int_equal(h2_open(&c.h2, 1, &stream), STATUS_OK);
    assert_int_equal(stream, 0x7fffffff);
    assert_int_equal(send_list(&c, stream, true), STATUS_OK);
    assert_int_equal(h2_open(&c.h2, 1, &stream), PEER_CLOSED);
    assert_int_equal(h2_streams_open(&c.h2), 1);
}

/* Nothing of a header list for a stream that is gone, such as a token, stays in the send buffer. */
static void test_headers_for_a_forgotten_stream(void **state)
{
    uint8_t before[sizeof c.tx];
    uint32_t stream = 0;
    (void)state;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 0, &stream), STATUS_OK);
    h2_reset(&c.h2, stream, H2_CANCEL);
    h2_headers_begin(&c.h2, stream);
    memcpy(before, c.tx, sizeof before);
    h2_header(&c.h2, "authorization", view_text("Bearer secret"), true);
    assert_memory_equal(c.tx, before, sizeof before);
    assert_int_equal(h2_headers_end(&c.h2, true), PEER_CLOSED);
}

/* A client forgets streams that ended long ago; late frames for them are no error. */
static void test_frames_for_a_forgotten_stream(void **state)
{
    uint32_t stream = 0;
    (void)state;
    conn_start(&c, H2_CLIENT);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(h2_open(&c.h2, 0, &stream), STATUS_OK);
        assert_int_equal(send_list(&c, stream, false), STATUS_OK);
        h2_reset(&c.h2, stream, H2_CANCEL);
        conn_pump(&c);
    }
    c.frames.len = 0;
    c.frames.text[0] = '\0';
    conn_frame(&c, 8, 0, 1, "00000001"); /* WINDOW_UPDATE */
    assert_int_equal(c.last, STATUS_MORE);
    saw_frames("");
    conn_frame(&c, 0, 0, 1, "61"); /* DATA */
    assert_int_equal(c.last, STATUS_MORE);
    saw_frames(" RST 1 STREAM_CLOSED");
}

/* RFC 9110 §15.3.5: a response 204 has no content, whatever its content-length says. */
static void test_length_of_no_content(void **state)
{
    static const struct {
        const char *block;
        const char *want;
    } rows[] = {
        {"89 0f0d0135", " F1 :status=204 F1 content-length=5 H1e"},
        {"8b 0f0d0135", " F1 :status=304 F1 content-length=5 H1e"},
        {"88 0f0d0135", " F1 :status=200 F1 content-length=5 R1 PROTOCOL_ERROR"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        client_with_a_reserved_stream();
        assert_int_equal(send_list(&c, 1, true), STATUS_OK);
        conn_frame(&c, 1, END_HEADERS | END_STREAM, 1, rows[i].block);
        saw_events(rows[i].want);
    }
}

/* §8.2.1: LF in a value, as CR and NUL. */
static void test_line_feed_in_a_value(void **state)
{
    static const char *const octets[] = {"0a", "0d", "00"};
    (void)state;
    for (size_t i = 0; i < COUNT(octets); i++) {
        char block[64];
        (void)snprintf(block, sizeof block, GET " 00 0178 0361%s62", octets[i]);
        conn_start(&c, H2_SERVER);
        conn_frame(&c, 1, END_HEADERS | END_STREAM, 1, block);
        saw_frames(" RST 1 PROTOCOL_ERROR");
        assert_null(strstr(c.events.text, "x="));
    }
}

/* --- a stream that its owner resets while a header block arrives --- */

static void test_reset_inside_a_header_block(void **state)
{
    static const char *const first[] = {"8286", "00 0158 0161", GET}; /* good; malformed; whole */
    static const char *const second[] = {"84 010161", "84 010161", ""};
    (void)state;
    for (size_t i = 0; i < COUNT(first); i++) {
        conn_start(&c, H2_SERVER);
        conn_frame(&c, 1, END_STREAM, 1, first[i]);
        h2_reset(&c.h2, 1, H2_CANCEL);
        conn_pump(&c);
        saw_frames(" RST 1 CANCEL");
        conn_frame(&c, 9, END_HEADERS, 1, second[i]);
        assert_int_equal(c.last, STATUS_MORE);
        saw_frames(""); /* one RST_STREAM is enough */
        assert_null(strstr(c.events.text, "H1"));
    }
}

/* A stream that is refused anyway is not also reported for what it depends on. */
static void test_refused_stream_that_depends_on_itself(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    uint32_t id = 1;
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        conn_frame(&c, 1, END_HEADERS, id, GET);
        id += 2;
    }
    saw_frames("");
    char block[64];
    (void)snprintf(block, sizeof block, "%08x 10 " GET, id);
    conn_frame(&c, 1, END_HEADERS | PRIORITY_FLAG, id, block);
    char want[64];
    (void)snprintf(want, sizeof want, " RST %u REFUSED_STREAM", id);
    saw_frames(want);
}

/* --- failures --- */

static void test_failed_while_starved(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, 0, 1, "82");
    assert_true(h2_rx_space(&c.h2).cap > 0);
    assert_false(h2_has_work(&c.h2));
    h2_set_time(&c.h2, h2_deadline(&c.h2));
    assert_int_equal(h2_failure(&c.h2, NULL), PEER_TIMEOUT);
    assert_int_equal(h2_rx_space(&c.h2).cap, 0);
    assert_true(h2_has_work(&c.h2)); /* its stream is to be reported */
    conn_pump(&c);
    saw_events(" F1 :method=GET R1 ENHANCE_YOUR_CALM");
    assert_false(h2_has_work(&c.h2));
}

/* The credit ends with the same frame that has another error: the first failure counts. */
static void test_second_failure(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    c.h2.credit = 0;
    conn_frame(&c, 1, 0, 2, "");
    assert_int_equal(c.last, FULL_BUDGET);
    saw_frames(" GOAWAY 0 ENHANCE_YOUR_CALM");
}

/* --- no room to send --- */

/* Three streams, and a send buffer so full that no frame of the peer is read any more. */
static void fill_the_output(void)
{
    conn_start(&c, H2_SERVER);
    for (uint32_t id = 1; id <= 5; id += 2) {
        conn_frame(&c, 1, END_HEADERS, id, GET);
    }
    c.events.len = 0;
    c.events.text[0] = '\0';
    static uint8_t zeros[H2_SERVER_TX_BYTES];
    c.hold_output = true;
    assert_int_equal(send_list(&c, 5, false), STATUS_OK);
    size_t room = h2_data_room(&c.h2, 5);
    assert_int_equal(h2_data(&c.h2, 5, view_of(zeros, room), false), STATUS_OK);
    for (unsigned i = 0; i < 20u && h2_rx_space(&c.h2).cap > 0; i++) {
        conn_frame(&c, 6, 0, 0, "0000000000000000");
    }
    assert_int_equal(h2_rx_space(&c.h2).cap, 0);
    assert_int_equal(c.last, STATUS_MORE);
    h2_reset(&c.h2, 1, H2_CANCEL);
    h2_reset(&c.h2, 3, H2_CANCEL);
    assert_true(c.h2.resets_due);
}

static void test_resets_wait_for_room(void **state)
{
    (void)state;
    fill_the_output();
    /* what is reset is not there any more for its owner, though its frame is not sent */
    assert_int_equal(h2_streams_open(&c.h2), 1);
    h2_reset(&c.h2, 3, H2_NO_ERROR);
    assert_int_equal(h2_data_room(&c.h2, 3), 0);
    c.hold_output = false;
    conn_pump(&c);
    assert_false(c.h2.resets_due);
    assert_true(view_ends(view_text(c.frames.text), " RST 1 CANCEL RST 3 CANCEL"));
    assert_int_equal(c.last, STATUS_MORE);
}

/* Nobody hears of a stream twice: neither the owner that reset it, nor the peer. */
static void test_failure_with_resets_due(void **state)
{
    (void)state;
    fill_the_output();
    h2_set_time(&c.h2, h2_deadline(&c.h2));
    assert_int_equal(h2_failure(&c.h2, NULL), PEER_TIMEOUT);
    conn_pump(&c);
    saw_events(" R5 INTERNAL_ERROR");
    c.hold_output = false;
    conn_pump(&c);
    assert_null(strstr(c.frames.text, "RST 3"));
    assert_true(view_ends(view_text(c.frames.text), " GOAWAY 5 NO_ERROR"));
}

/* The last GOAWAY of two that wait is the final one, whichever was asked for first. */
static void test_goaways_wait_for_room(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        fill_the_output();
        h2_goaway(&c.h2, H2_NO_ERROR, first == 0);
        h2_goaway(&c.h2, H2_NO_ERROR, first != 0);
        c.hold_output = false;
        conn_pump(&c);
        const char *goaway = strstr(c.frames.text, "GOAWAY");
        assert_non_null(goaway);
        assert_true(view_starts(view_text(goaway), "GOAWAY 5 NO_ERROR"));
        assert_null(strstr(goaway + 1, "GOAWAY"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_frame_on_a_reserved_stream),
        cmocka_unit_test(test_no_ids_left),
        cmocka_unit_test(test_frames_for_a_forgotten_stream),
        cmocka_unit_test(test_headers_for_a_forgotten_stream),
        cmocka_unit_test(test_length_of_no_content),
        cmocka_unit_test(test_line_feed_in_a_value),
        cmocka_unit_test(test_reset_inside_a_header_block),
        cmocka_unit_test(test_refused_stream_that_depends_on_itself),
        cmocka_unit_test(test_failed_while_starved),
        cmocka_unit_test(test_second_failure),
        cmocka_unit_test(test_resets_wait_for_room),
        cmocka_unit_test(test_failure_with_resets_due),
        cmocka_unit_test(test_goaways_wait_for_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
