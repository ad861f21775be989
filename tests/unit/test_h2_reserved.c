/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's stream between h2_open and its header block is idle for the peer (RFC 9113 §5.1):
 * what may come for it, and what a reset by the owner does in the middle of a header list.
 */
#include "tests/unit/wire/h2_harness.h"

static struct conn peer;

static uint32_t open_one(void)
{
    uint32_t id = 0;
    conn_start(&peer, H2_CLIENT);
    assert_int_equal(h2_open(&peer.h2, 1, &id), STATUS_OK);
    assert_int_equal(id, 1);
    return id;
}

/* §5.1: on an idle stream everything but HEADERS and PRIORITY is a connection error. */
static void test_idle(void **state)
{
    (void)state;
    static const struct {
        unsigned type;
        unsigned flags;
        const char *payload;
    } frames[] = {
        {0, 0, "6162"},         /* DATA */
        {1, END_HEADERS, "88"}, /* a response before the request */
        {3, 0, "00000008"},     /* RST_STREAM */
        {8, 0, "00000001"},     /* WINDOW_UPDATE */
    };
    for (unsigned i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        uint32_t code = 0;
        uint32_t id = open_one();
        conn_frame(&peer, frames[i].type, frames[i].flags, id, frames[i].payload);
        assert_int_equal(peer.last, PEER_PROTOCOL);
        assert_int_equal(h2_failure(&peer.h2, &code), PEER_PROTOCOL);
        assert_int_equal(code, H2_PROTOCOL_ERROR);
        assert_int_equal(h2_streams_open(&peer.h2), 0);
    }
    uint32_t id = open_one();
    conn_frame(&peer, 2, 0, id, "0000000010"); /* PRIORITY */
    assert_int_equal(peer.last, STATUS_MORE);
}

/* The rest of a list that the owner does not want is decoded, to keep the table, and not
 * reported. */
static void test_reset_inside_list(void **state)
{
    (void)state;
    struct h2_event event;
    uint32_t id = open_one();
    assert_int_equal(send_list(&peer, id, true), STATUS_OK);
    conn_pump(&peer);
    /* HEADERS of :status 200 and two fields "a: b" as literals */
    static const uint8_t frame[] = {0, 0, 11,  1, 4,   0, 0, 0,   1, 0x88,
                                    0, 1, 'a', 1, 'b', 0, 1, 'a', 1, 'b'};
    struct writer space = h2_rx_space(&peer.h2);
    assert_true(space.cap >= sizeof frame);
    memcpy(space.data, frame, sizeof frame);
    h2_rx_commit(&peer.h2, sizeof frame);
    assert_int_equal(h2_next(&peer.h2, &event), STATUS_OK);
    assert_int_equal(event.kind, H2_EVENT_FIELD);
    h2_reset(&peer.h2, id, H2_CANCEL);
    assert_int_equal(h2_next(&peer.h2, &event), STATUS_MORE);
    assert_int_equal(h2_streams_open(&peer.h2), 0);
    assert_int_equal(h2_failure(&peer.h2, NULL), STATUS_OK);
    conn_pump(&peer);
    assert_non_null(strstr(peer.frames.text, "CANCEL"));
}

/* §6.9.1: more than the connection's window is a connection error, whatever the stream's allows. */
static void test_connection_window(void **state)
{
    (void)state;
    uint32_t code = 0;
    uint32_t id = open_one();
    assert_int_equal(send_list(&peer, id, true), STATUS_OK);
    conn_pump(&peer);
    conn_frame(&peer, 1, END_HEADERS, id, "88");
    peer.h2.recv_window = 3; /* what is left of 65,535 octets that other streams used */
    peer.h2.consumed = 0;
    conn_frame(&peer, 0, 0, id, "61626364");
    assert_int_equal(peer.last, PEER_PROTOCOL);
    assert_int_equal(h2_failure(&peer.h2, &code), PEER_PROTOCOL);
    assert_int_equal(code, H2_FLOW_CONTROL_ERROR);
}

/* After a failure only the last bytes have a deadline, and nothing more is read. */
static void test_after_failure(void **state)
{
    (void)state;
    uint32_t id = open_one();
    peer.hold_output = true;
    conn_frame(&peer, 0, 0, id, "6162");
    assert_int_equal(peer.last, PEER_PROTOCOL);
    assert_true(h2_tx_data(&peer.h2).len > 0);
    assert_int_equal(h2_rx_space(&peer.h2).cap, 0);
    uint64_t deadline = h2_deadline(&peer.h2);
    assert_true(deadline < UINT64_MAX);
    h2_reset(&peer.h2, id, H2_CANCEL); /* it is gone: nothing */
    h2_tx_commit(&peer.h2, h2_tx_data(&peer.h2).len);
    assert_int_equal(h2_deadline(&peer.h2), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_reset_inside_list),
        cmocka_unit_test(test_connection_window),
        cmocka_unit_test(test_after_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
