/* SPDX-License-Identifier: Apache-2.0 */
/* What a hostile or broken peer costs: credit, refused streams, back-pressure, time-outs. */
#include "tests/unit/wire/h2_harness.h"

static struct conn c;

#define PING_8 "0102030405060708"

/* --- the credit --- */

struct abuse {
    const char *what;
    unsigned type;
    unsigned flags;
    uint32_t stream;
    const char *payload;
};

/* Each GOAWAY after the first one costs credit; the one that ends the connection sweeps nothing. */
static void repeated_goaways_use_up_the_credit(void **state)
{
    (void)state;
    for (unsigned role = 0; role < 2u; role++) {
        conn_start(&c, role == 0u ? H2_SERVER : H2_CLIENT);
        conn_frame(&c, 4, ACK, 0, "");
        unsigned credit = c.h2.credit;
        for (unsigned n = 0; n <= credit; n++) {
            conn_frame(&c, 7, 0, 0, "0000000500000000");
        }
        assert_int_equal(c.last, STATUS_MORE);
        assert_int_equal(c.h2.credit, 0);
        c.h2.sweeping = false;
        conn_frame(&c, 7, 0, 0, "0000000300000000");
        assert_int_equal(c.last, FULL_BUDGET);
        assert_false(c.h2.sweeping);
        assert_non_null(strstr(c.frames.text, " ENHANCE_YOUR_CALM"));
    }
}

/* H2_CREDIT_MAX of each are borne, one more ends the connection. */
static void cheap_frames_use_up_the_credit(void **state)
{
    (void)state;
    static const struct abuse cases[] = {
        {"PING", 6, 0, 0, PING_8},
        {"PING acknowledgement", 6, ACK, 0, PING_8},
        {"SETTINGS", 4, 0, 0, ""},
        {"SETTINGS acknowledgement", 4, ACK, 0, ""},
        {"PRIORITY", 2, 0, 9, "0000000010"},
        {"WINDOW_UPDATE of one octet", 8, 0, 1, "00000001"},
        {"WINDOW_UPDATE of the connection", 8, 0, 0, "00000001"},
        {"empty DATA", 0, 0, 1, ""},
        {"DATA of padding", 0, PADDED, 1, "0100"},
        {"RST_STREAM of a stream that ended", 3, 0, 3, "00000000"},
        {"late HEADERS", 1, END_STREAM | END_HEADERS, 5, ""},
        {"late empty DATA", 0, 0, 5, ""},
        {"late DATA of padding", 0, PADDED, 5, "0100"},
        {"frame of an unknown type", 0x42, 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct abuse *k = &cases[i];
        conn_start(&c, H2_SERVER);
        conn_frame(&c, 4, ACK, 0, "");
        conn_frame(&c, 1, END_HEADERS, 1, POST);
        conn_frame(&c, 1, END_STREAM | END_HEADERS, 3, GET);
        assert_int_equal(send_list(&c, 3, true), STATUS_OK); /* ended by both: gives one back */
        conn_frame(&c, 1, END_HEADERS, 5, POST);
        h2_reset(&c.h2, 5, H2_CANCEL);
        assert_int_equal(c.h2.credit, H2_CREDIT_MAX);
        for (unsigned n = 0; n < H2_CREDIT_MAX; n++) {
            conn_frame(&c, k->type, k->flags, k->stream, k->payload);
        }
        if (c.last != STATUS_MORE) {
            fail_msg("%s: ended too early, %s", k->what, c.frames.text);
        }
        conn_frame(&c, k->type, k->flags, k->stream, k->payload);
        if (c.last != FULL_BUDGET) {
            fail_msg("%s: not ended", k->what);
        }
        assert_non_null(strstr(c.frames.text, " GOAWAY 5 ENHANCE_YOUR_CALM"));
        assert_int_equal(h2_streams_open(&c.h2), 0);
    }
}

/* CVE-2023-44487: open, reset, open, reset … */
static void rapid_reset(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    uint32_t id = 1;
    for (unsigned n = 0; n < H2_CREDIT_MAX; n++, id += 2) {
        conn_frame(&c, 1, END_STREAM | END_HEADERS, id, GET);
        conn_frame(&c, 3, 0, id, "00000008");
    }
    assert_int_equal(c.last, STATUS_MORE);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, id, GET);
    conn_frame(&c, 3, 0, id, "00000008");
    assert_int_equal(c.last, FULL_BUDGET);
}

/* CVE-2025-8671: the peer makes us reset. */
static void made_you_reset(void **state)
{
    (void)state;
    static const struct abuse cases[] = {
        {"DATA behind the end", 0, 0, 0, "61"},
        {"HEADERS behind the end", 1, END_STREAM | END_HEADERS, 0, ""},
        {"PRIORITY on itself", 2, 0, 0, NULL},
        {"PRIORITY of 4", 2, 0, 0, "00000000"},
        {"PRIORITY of 7", 2, 0, 0, "00000000100000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        conn_start(&c, H2_SERVER);
        uint32_t id = 1;
        for (unsigned n = 0; n <= H2_CREDIT_MAX; n++, id += 2) {
            char self[16];
            (void)snprintf(self, sizeof self, "%08x10", id);
            assert_int_equal(c.last, STATUS_MORE);
            conn_frame(&c, 1, END_STREAM | END_HEADERS, id, GET);
            conn_frame(&c, cases[i].type, cases[i].flags, id,
                       cases[i].payload == NULL ? self : cases[i].payload);
        }
        assert_int_equal(c.last, FULL_BUDGET);
    }
}

static void calls_and_time_give_credit_back(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    for (unsigned n = 0; n < 100; n++) {
        conn_frame(&c, 2, 0, 9, "0000000010");
    }
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 100);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    assert_int_equal(send_list(&c, 1, true), STATUS_OK);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 99);
    h2_set_time(&c.h2, 99);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 99);
    h2_set_time(&c.h2, 100);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 98);
    h2_set_time(&c.h2, 1199);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 88);
    h2_set_time(&c.h2, 1200);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 87);
    h2_set_time(&c.h2, UINT64_MAX / 2);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX);
}

/* A health stream with grpc-go's answer to each DATA may live for ever. */
static void answers_to_our_frames_are_free(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    assert_int_equal(send_list(&c, 1, false), STATUS_OK);
    for (unsigned n = 0; n < 5000; n++) {
        assert_int_equal(h2_data(&c.h2, 1, view_text("12345678"), false), STATUS_OK);
        c.frames.len = 0;
        conn_frame(&c, 8, 0, 0, "00000008");
        conn_frame(&c, 8, 0, 1, "00000008");
        conn_frame(&c, 6, 0, 0, "02041010090e0707");
        assert_int_equal(c.last, STATUS_MORE);
        assert_true(c.h2.credit >= H2_CREDIT_MAX - 3);
    }
}

/* --- header blocks --- */

static void continuation_flood(void **state)
{
    (void)state;
    for (unsigned over = 0; over < 2; over++) {
        conn_start(&c, H2_SERVER);
        conn_frame(&c, 1, END_STREAM, 1, GET);
        for (unsigned n = 1; n < H2_CONTINUATIONS_MAX + over; n++) {
            conn_frame(&c, 9, 0, 1, "0001780179");
        }
        assert_int_equal(c.last, STATUS_MORE);
        conn_frame(&c, 9, END_HEADERS, 1, "");
        assert_string_equal(c.frames.text, over == 0 ? "" : " GOAWAY 1 ENHANCE_YOUR_CALM");
        assert_int_equal(strstr(c.events.text, " H1e") != NULL, over == 0);
    }
}

static void empty_pieces_of_a_block_cost(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM, 1, "");
    conn_frame(&c, 9, 0, 1, "");
    conn_frame(&c, 9, 0, 1, GET);
    conn_frame(&c, 9, END_HEADERS, 1, "");
    assert_non_null(strstr(c.events.text, " H1e"));
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 2);
}

static void streams_over_the_limit_are_refused(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    for (uint32_t n = 0; n < H2_SERVER_STREAMS; n++) {
        conn_frame(&c, 1, END_HEADERS, 2 * n + 1, POST);
    }
    assert_int_equal(h2_streams_open(&c.h2), H2_SERVER_STREAMS);
    c.events.len = 0;
    conn_frame(&c, 1, END_HEADERS, 33, POST "4001780179"); /* x: y goes into the table */
    conn_frame(&c, 0, END_STREAM, 33, "61");               /* was already on its way */
    assert_string_equal(c.frames.text, " RST 33 REFUSED_STREAM");
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 2);
    assert_int_equal(c.events.len, 0);
    assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
    conn_frame(&c, 3, 0, 7, "00000008");
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 35, "838684be");
    assert_string_equal(c.events.text, " R7 CANCEL F35 :method=POST F35 :scheme=http F35 :path=/"
                                       " F35 x=y H35e");
    assert_int_equal(h2_streams_open(&c.h2), H2_SERVER_STREAMS);
}

/* Streams whose end is long forgotten get the milder answer; those never opened do not. */
static void long_closed_streams(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    uint32_t id = 11;
    for (unsigned n = 0; n < H2_CLOSED_MEMORY + 8; n++, id += 4) {
        conn_frame(&c, 1, END_STREAM | END_HEADERS, id, GET);
        assert_int_equal(send_list(&c, id, true), STATUS_OK);
        conn_pump(&c);
    }
    c.frames.len = 0;
    c.frames.text[0] = '\0';
    conn_frame(&c, 0, 0, 11, "61");
    conn_frame(&c, 0, 0, 11, "62");
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 15, "");
    assert_string_equal(c.frames.text, " RST 11 STREAM_CLOSED RST 15 STREAM_CLOSED");
    conn_frame(&c, 1, END_STREAM | END_HEADERS, id - 6, GET);
    assert_non_null(strstr(c.frames.text, " PROTOCOL_ERROR"));
    assert_int_equal(c.last, PEER_PROTOCOL);
}

/* --- back-pressure --- */

/* Nobody takes our output: input is no longer read, and nothing is lost once somebody does. */
static void full_output_stops_reading(void **state)
{
    (void)state;
    static uint8_t ping[17];
    struct writer w = writer_of(ping, sizeof ping);
    put_frame(&w, 6, 0, 0, PING_8);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    assert_int_equal(send_list(&c, 1, false), STATUS_OK);
    static uint8_t data[H2_SERVER_TX_BYTES];
    assert_int_equal(h2_data(&c.h2, 1, view_of(data, h2_data_room(&c.h2, 1)), false), STATUS_OK);
    c.hold_output = true;
    unsigned fed = 0;
    for (unsigned n = 0; n < 100; n++) {
        if (h2_rx_space(&c.h2).cap == 0) {
            break;
        }
        conn_feed(&c, ping, sizeof ping);
        fed++;
    }
    assert_in_range(fed, 4, H2_TX_RESERVE / 17 + 1);
    assert_int_equal(c.last, STATUS_MORE);
    assert_true(h2_tx_data(&c.h2).len <= sizeof c.tx - 17);
    conn_pump(&c);
    assert_int_equal(h2_rx_space(&c.h2).cap, 0);
    c.hold_output = false;
    conn_pump(&c);
    unsigned answers = 0;
    for (const char *p = c.frames.text; (p = strstr(p, " PING ACK")) != NULL; p++) {
        answers++;
    }
    assert_int_equal(answers, fed);
    assert_int_equal(h2_rx_space(&c.h2).cap, sizeof c.rx);
}

/* Even with a full send buffer there is room for the GOAWAY of a failure. */
static void goaway_always_fits(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    c.hold_output = true;
    unsigned pings = 0;
    while (h2_ping(&c.h2) == STATUS_OK) {
        pings++;
    }
    assert_int_equal(pings, sizeof c.tx / 17 - 1);
    h2_set_time(&c.h2, H2_STALL_MS);
    c.hold_output = false;
    conn_pump(&c);
    assert_non_null(strstr(c.frames.text, " GOAWAY 0 NO_ERROR"));
    assert_int_equal(c.last, PEER_TIMEOUT);
}

/* --- time-outs --- */

static void preface_time_out(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        conn_init(&c, H2_SERVER);
        conn_feed(&c, PREFACE, 24);
        assert_int_equal(h2_deadline(&c.h2), H2_PREFACE_MS);
        h2_set_time(&c.h2, H2_PREFACE_MS - 1 + late);
        conn_frame(&c, 4, 0, 0, "");
        assert_int_equal(c.last, late == 0 ? STATUS_MORE : PEER_TIMEOUT);
        assert_string_equal(c.frames.text, late == 0 ? "" : " GOAWAY 0 PROTOCOL_ERROR");
        if (late == 0) {
            assert_true(h2_deadline(&c.h2) == UINT64_MAX);
        }
    }
}

static void open_block_time_out(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    h2_set_time(&c.h2, 1000);
    conn_frame(&c, 1, END_STREAM, 1, GET);
    assert_int_equal(h2_deadline(&c.h2), 1000 + H2_HEADER_BLOCK_MS);
    h2_set_time(&c.h2, 1000 + H2_HEADER_BLOCK_MS - 1);
    conn_frame(&c, 9, 0, 1, "");
    assert_int_equal(c.last, STATUS_MORE); /* a CONTINUATION buys no time */
    assert_int_equal(h2_deadline(&c.h2), 1000 + H2_HEADER_BLOCK_MS);
    h2_set_time(&c.h2, 1000 + H2_HEADER_BLOCK_MS);
    conn_pump(&c);
    assert_int_equal(c.last, PEER_TIMEOUT);
    assert_string_equal(c.frames.text, " GOAWAY 1 ENHANCE_YOUR_CALM");
}

static void stalled_output_time_out(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    c.hold_output = true;
    h2_set_time(&c.h2, 500);
    conn_frame(&c, 6, 0, 0, PING_8);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    assert_int_equal(h2_deadline(&c.h2), 500 + H2_STALL_MS);
    h2_set_time(&c.h2, 20000);
    h2_tx_commit(&c.h2, 1); /* one octet is progress */
    assert_int_equal(h2_deadline(&c.h2), 20000 + H2_STALL_MS);
    h2_set_time(&c.h2, 20000 + H2_STALL_MS);
    conn_pump(&c);
    assert_int_equal(c.last, PEER_TIMEOUT);
    assert_non_null(strstr(c.events.text, " R1 INTERNAL_ERROR"));
    assert_true(h2_tx_data(&c.h2).len > 0);
    h2_set_time(&c.h2, 20000 + 2 * H2_STALL_MS);
    assert_int_equal(h2_tx_data(&c.h2).len, 0); /* the owner may close */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheap_frames_use_up_the_credit),
        cmocka_unit_test(rapid_reset),
        cmocka_unit_test(made_you_reset),
        cmocka_unit_test(calls_and_time_give_credit_back),
        cmocka_unit_test(answers_to_our_frames_are_free),
        cmocka_unit_test(continuation_flood),
        cmocka_unit_test(empty_pieces_of_a_block_cost),
        cmocka_unit_test(streams_over_the_limit_are_refused),
        cmocka_unit_test(long_closed_streams),
        cmocka_unit_test(full_output_stops_reading),
        cmocka_unit_test(repeated_goaways_use_up_the_credit),
        cmocka_unit_test(goaway_always_fits),
        cmocka_unit_test(preface_time_out),
        cmocka_unit_test(open_block_time_out),
        cmocka_unit_test(stalled_output_time_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
