/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/2 engine as its owner sees it: start, calls, windows, GOAWAY, the end of a connection.
 */
#include "tests/unit/wire/h2_harness.h"

static struct conn c;

#define XY "0001 78 01 79"

/* --- the start --- */

static void first_octets(void **state)
{
    (void)state;
    static const char settings[] = "00001e 04 00 00000000"
                                   "0001 00001000 0002 00000000 0003 00000010"
                                   "0004 00008000 0006 00001000";
    uint8_t expected[64];
    size_t n = hex_bytes(settings, expected, sizeof expected);
    conn_init(&c, H2_SERVER);
    struct view sent = h2_tx_data(&c.h2);
    assert_int_equal(sent.len, n);
    assert_memory_equal(sent.data, expected, n);

    conn_init(&c, H2_CLIENT);
    sent = h2_tx_data(&c.h2);
    assert_int_equal(sent.len, 24 + n);
    assert_memory_equal(sent.data, PREFACE, 24);
    /* HEADER_TABLE_SIZE 0, ENABLE_PUSH 0, MAX_CONCURRENT_STREAMS 0 */
    n = hex_bytes("0001 00000000 0002 00000000 0003 00000000", expected, sizeof expected);
    assert_memory_equal(sent.data + 24 + 9, expected, n);
    /* MAX_HEADER_LIST_SIZE: as long as the longest field of this role */
    n = hex_bytes("0006 00001000", expected, sizeof expected);
    assert_memory_equal(sent.data + 24 + 9 + 24, expected, n);
}

/*
 * What grpc-go sends, as captured: preface and an empty SETTINGS; then the acknowledgement,
 * HEADERS whose literals are indexed and Huffman coded, DATA; after our DATA a WINDOW_UPDATE and
 * its bandwidth PING. The second call consists of table references but for its time-out.
 */
static void grpc_go_calls(void **state)
{
    (void)state;
    static const char fields[] = " F%u :method=POST F%u :scheme=http"
                                 " F%u :path=/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"
                                 "NodePrepareResources F%u :authority=localhost"
                                 " F%u content-type=application/grpc F%u user-agent=grpc-go/1.81.1"
                                 " F%u te=trailers F%u grpc-timeout=%s H%u"
                                 " D%u %%00%%00%%00%%00%%00 E";
    static const char *const blocks[] = {
        "838644ad63abc85cc75fadb19682a57afaccb8eb321792c1afdc2bdfdb0eba2d98d531a4f2175d85ac7617695"
        "07b6c21514186a0e41d139d095f8b1d75d0620d263d4c4d65647a8a9acac8b4c7602bbc15c34082497f864d83"
        "3505b11f40899acac8b24d494f6a7f8613efbaf0416f",
        "8386c3c2c1c0bf7e8613efbaf0436f"};
    static const char *const timeouts[] = {"2997810u", "2997811u"};
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 4, ACK, 0, "");
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t id = 2 * i + 1;
        char expected[600];
        c.events.len = 0;
        c.frames.len = 0;
        conn_frame(&c, 1, END_HEADERS, id, blocks[i]);
        conn_frame(&c, 0, END_STREAM, id, "0000000000");
        (void)snprintf(expected, sizeof expected, fields, id, id, id, id, id, id, id, id,
                       timeouts[i], id, id);
        assert_string_equal(c.events.text, expected);
        assert_int_equal(send_list(&c, id, false), STATUS_OK);
        assert_int_equal(h2_data(&c.h2, id, view_of("\0\0\0\0\0", 5), false), STATUS_OK);
        assert_int_equal(send_trailers(&c, id), STATUS_OK);
        conn_frame(&c, 8, 0, 0, "00000005");
        conn_frame(&c, 6, 0, 0, "02041010090e0707");
        (void)snprintf(expected, sizeof expected,
                       " HEADERS %u DATA %u 5 HEADERS %u E PING ACK 0207", id, id, id);
        assert_string_equal(c.frames.text, expected);
    }
    assert_int_equal(h2_streams_open(&c.h2), 0);
    conn_frame(&c, 7, 0, 0, "00000000 00000000 636c69656e74");
    h2_rx_end(&c.h2);
    conn_pump(&c);
    assert_int_equal(c.last, PEER_CLOSED);
}

/* --- header blocks --- */

static void first_block_clears_the_peers_table(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 3, GET);
    for (uint32_t id = 1; id <= 3; id += 2) {
        h2_headers_begin(&c.h2, id);
        h2_header(&c.h2, ":status", view_text("200"), false);
        assert_int_equal(h2_headers_end(&c.h2, true), STATUS_OK);
    }
    uint8_t expected[32];
    size_t n = hex_bytes("000002 01 05 00000001 20 88 000001 01 05 00000003 88", expected,
                         sizeof expected);
    struct view sent = h2_tx_data(&c.h2);
    assert_int_equal(sent.len, n);
    assert_memory_equal(sent.data, expected, n);
}

static void block_without_room_is_taken_back(void **state)
{
    (void)state;
    static uint8_t value[H2_SERVER_TX_BYTES];
    memset(value, 'v', sizeof value);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    size_t room = h2_headers_room(&c.h2, 1);
    h2_headers_begin(&c.h2, 1);
    h2_header(&c.h2, ":status", view_text("200"), false);
    h2_header(&c.h2, "x", view_of(value, room), false);
    assert_int_equal(h2_headers_end(&c.h2, true), FULL_BUFFER);
    assert_int_equal(h2_tx_data(&c.h2).len, 0);
    assert_int_equal(h2_headers_room(&c.h2, 1), room);
    /* 1 for :status, 1 + 2 for the name, 3 for the length of the value: exactly full. */
    h2_headers_begin(&c.h2, 1);
    h2_header(&c.h2, ":status", view_text("200"), false);
    h2_header(&c.h2, "x", view_of(value, room - 7), false);
    assert_int_equal(h2_headers_end(&c.h2, true), STATUS_OK);
    assert_int_equal(h2_tx_data(&c.h2).len, room + 10);
    assert_int_equal(h2_headers_room(&c.h2, 1), 0);
}

static void sending_on_a_stream_that_is_gone(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    conn_frame(&c, 3, 0, 1, "00000008");
    assert_int_equal(h2_headers_room(&c.h2, 1), 0);
    assert_int_equal(h2_data_room(&c.h2, 1), 0);
    assert_int_equal(send_list(&c, 1, false), PEER_CLOSED);
    assert_int_equal(h2_data(&c.h2, 1, view_text("x"), true), PEER_CLOSED);
    h2_reset(&c.h2, 1, H2_CANCEL);
    h2_set_tag(&c.h2, 1, 7);
    assert_int_equal(h2_tx_data(&c.h2).len, 0);
}

/* --- windows that we grant --- */

static void refill_at_half(void **state)
{
    (void)state;
    static char hex[2 * 1000 + 1];
    memset(hex, '0', 2 * 1000);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 4, ACK, 0, "");
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    for (unsigned n = 1; n <= 70; n++) {
        conn_frame(&c, 0, 0, 1, hex);
        assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
        assert_int_equal(c.streams[0].recv_window + c.streams[0].consumed, H2_SERVER_WINDOW);
        /* Half of 65535 is reached by 33 frames of 1000, half of 32768 by 17. */
        assert_int_equal(c.updates[0], n / 33 * 33000);
        assert_int_equal(c.updates[1], n / 17 * 17000);
    }
    assert_int_equal(c.last, STATUS_MORE);
}

/* Padding is paid for and given back like data; the last frame refills the connection alone. */
static void padding_counts(void **state)
{
    (void)state;
    static char hex[2 * 256 + 1] = "ff";
    memset(hex + 2, '0', 2 * 255);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    for (unsigned n = 1; n <= 200; n++) {
        conn_frame(&c, 0, PADDED, 1, hex);
    }
    assert_int_equal(c.updates[0], 128 * 256);
    assert_int_equal(c.updates[1], 3 * 64 * 256);
    conn_frame(&c, 0, PADDED | END_STREAM, 1, hex);
    assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
    assert_int_equal(c.updates[1], 3 * 64 * 256);
    assert_int_equal(c.last, STATUS_MORE);
}

/* DATA of streams that are gone still fills and refills the connection's window. */
static void dropped_data_is_given_back(void **state)
{
    (void)state;
    static char hex[2 * 10000 + 1];
    memset(hex, '0', 2 * 10000);
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    h2_reset(&c.h2, 1, H2_CANCEL);
    for (unsigned n = 1; n <= 20; n++) {
        conn_frame(&c, 0, 0, 1, hex);
        assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
        assert_int_equal(c.updates[0], n / 4 * 40000);
    }
    /* Reset by the owner in the middle of a frame. */
    conn_frame(&c, 1, END_HEADERS, 3, POST);
    uint8_t part[9 + 100];
    struct writer w = writer_of(part, sizeof part);
    writer_u24(&w, 10000);
    writer_u8(&w, 0);
    writer_u8(&w, 0);
    writer_u32(&w, 3);
    memset(part + 9, 'x', 100);
    conn_feed(&c, part, sizeof part);
    h2_reset(&c.h2, 3, H2_CANCEL);
    hex[2 * 9900] = '\0';
    static uint8_t rest[9900];
    conn_feed(&c, rest, hex_bytes(hex, rest, sizeof rest));
    assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
    assert_int_equal(c.last, STATUS_MORE);
    conn_frame(&c, 6, 0, 0, "0000000000000001");
    assert_non_null(strstr(c.frames.text, " PING ACK 0001"));
}

/* DATA behind END_STREAM ends the stream alone: the connection gets its octets back. */
static void data_in_error_is_given_back(void **state)
{
    (void)state;
    static char hex[2 * 10000 + 1];
    memset(hex, '0', 2 * 10000);
    conn_start(&c, H2_SERVER);
    for (uint32_t n = 1; n <= 7; n++) {
        conn_frame(&c, 1, END_STREAM | END_HEADERS, 2 * n - 1, GET);
        c.frames.len = 0;
        conn_frame(&c, 0, 0, 2 * n - 1, hex);
        assert_non_null(strstr(c.frames.text, " STREAM_CLOSED"));
        assert_int_equal(c.h2.recv_window + c.h2.consumed, 65535);
        assert_int_equal(c.updates[0], n / 4 * 40000);
    }
    assert_int_equal(c.last, STATUS_MORE);
}

static void more_than_granted(void **state)
{
    (void)state;
    static char hex[2 * 101 + 1];
    for (unsigned over = 0; over < 2; over++) {
        uint8_t start[64];
        struct writer w = writer_of(start, sizeof start);
        memset(hex, '0', 2 * 101);
        hex[2 * (100 + over)] = '\0';
        conn_init_sized(&c, H2_SERVER, sizeof c.rx, 100);
        put_start(&w, H2_SERVER);
        put_frame(&w, 4, ACK, 0, "");
        conn_feed(&c, start, w.len);
        conn_frame(&c, 1, END_HEADERS, 1, POST);
        conn_frame(&c, 0, 0, 1, hex);
        assert_string_equal(c.frames.text, over == 0 ? "" : " GOAWAY 1 FLOW_CONTROL_ERROR");
    }
}

/*
 * Before our SETTINGS are acknowledged the default window holds; afterwards ours, even if that is
 * negative.
 */
static void window_before_the_acknowledgement(void **state)
{
    (void)state;
    static char hex[2 * 16384 + 1];
    memset(hex, '0', 2 * 16384);
    uint8_t start[64];
    struct writer w = writer_of(start, sizeof start);
    conn_init_sized(&c, H2_SERVER, sizeof c.rx, 40000);
    put_start(&w, H2_SERVER);
    conn_feed(&c, start, w.len);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    conn_frame(&c, 0, 0, 1, hex);
    assert_int_equal(c.streams[0].recv_window, 65535 - 16384);
    conn_frame(&c, 4, ACK, 0, "");
    assert_int_equal(c.streams[0].recv_window, 40000 - 16384);
    assert_int_equal(c.streams[0].consumed, 16384);
    conn_frame(&c, 4, ACK, 0, "");
    assert_int_equal(c.streams[0].recv_window, 40000 - 16384);
    conn_frame(&c, 1, END_HEADERS, 3, POST);
    assert_int_equal(c.streams[1].recv_window, 40000);
}

/* --- windows of the API connection --- */

/* A response of which only the header list has come. */
static uint32_t client_response(bool acknowledged)
{
    uint8_t start[64];
    struct writer w = writer_of(start, sizeof start);
    uint32_t id = 0;
    conn_init_windows(&c, H2_CLIENT, sizeof c.rx, H2_CLIENT_WINDOW, H2_CLIENT_CONNECTION_WINDOW);
    put_start(&w, H2_CLIENT);
    if (acknowledged) {
        put_frame(&w, 4, ACK, 0, "");
    }
    conn_feed(&c, start, w.len);
    assert_int_equal(h2_open(&c.h2, TAG_BASE, &id), STATUS_OK);
    assert_int_equal(send_list(&c, id, true), STATUS_OK);
    conn_frame(&c, 1, END_HEADERS, id, OK200);
    return id;
}

/* A request by `method`, to which `response` comes, and then a frame of DATA with `data`. */
static void answered(const char *method, const char *response, unsigned flags, const char *data)
{
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, TAG_BASE, &id), STATUS_OK);
    h2_headers_begin(&c.h2, id);
    h2_header_text(&c.h2, ":method", method);
    h2_header_text(&c.h2, ":scheme", "https");
    h2_header_text(&c.h2, ":path", "/");
    assert_int_equal(h2_headers_end(&c.h2, true), STATUS_OK);
    conn_frame(&c, 1, END_HEADERS, id, response);
    conn_frame(&c, 0, flags, id, data);
}

/* RFC 9110 §6.4.1: octets of DATA make the response malformed; content-length says nothing. */
static void response_without_content(void **state)
{
    (void)state;
    static const char *const no_content = "89";
    static const char *const not_modified = "8b 0f0d0135";
    answered("GET", no_content, 0, "61");
    assert_non_null(strstr(c.events.text, " R1 PROTOCOL_ERROR"));
    answered("GET", not_modified, 0, "6162636465");
    assert_non_null(strstr(c.events.text, " R1 PROTOCOL_ERROR"));
    answered("HEAD", OK200 "0f0d0135", 0, "6162636465");
    assert_non_null(strstr(c.events.text, " R1 PROTOCOL_ERROR"));
    answered("GET", no_content, END_STREAM, "");
    assert_non_null(strstr(c.events.text, " D1  E"));
    answered("GET", not_modified, END_STREAM, "");
    assert_non_null(strstr(c.events.text, " D1  E"));
    answered("HEAD", OK200 "0f0d0135", END_STREAM, "");
    assert_non_null(strstr(c.events.text, " D1  E"));
}

/* Feeds `octets` of DATA in frames of at most `each`. */
static void client_data(uint32_t id, size_t octets, size_t each)
{
    static uint8_t payload[16384];
    static uint8_t bytes[9 + sizeof payload];
    memset(payload, 'x', sizeof payload);
    while (octets > 0) {
        size_t n = octets < each ? octets : each;
        struct writer w = writer_of(bytes, sizeof bytes);
        put_frame_bytes(&w, 0, 0, id, view_of(payload, n));
        conn_feed(&c, bytes, w.len);
        assert_int_equal(c.last, STATUS_MORE);
        c.events.len = 0;
        octets -= n;
    }
}

/*
 * A claim of 1.4 MB: the server sends all that it was granted, and learns a round trip later what
 * was given back.
 */
static void large_claim_takes_few_round_trips(void **state)
{
    (void)state;
    uint32_t id = client_response(true);
    uint64_t sent = 0;
    unsigned trips = 0;
    assert_int_equal(65535 + c.updates[0], H2_CLIENT_CONNECTION_WINDOW);
    for (; sent < 1400000; trips++) {
        uint64_t of_stream = H2_CLIENT_WINDOW + c.updates[1];
        uint64_t of_connection = 65535 + c.updates[0];
        uint64_t granted = of_stream < of_connection ? of_stream : of_connection;
        uint64_t end = granted < 1400000 ? granted : 1400000;
        assert_true(end > sent);
        client_data(id, end - sent, 16384);
        sent = end;
    }
    assert_int_equal(trips, 6);
}

/* Four streams that are read at once do not wait for each other's window. */
static void connection_window_holds_four_streams(void **state)
{
    (void)state;
    uint32_t ids[4] = {client_response(true)};
    for (unsigned n = 1; n < 4; n++) {
        assert_int_equal(h2_open(&c.h2, TAG_BASE, &ids[n]), STATUS_OK);
        assert_int_equal(send_list(&c, ids[n], true), STATUS_OK);
        conn_frame(&c, 1, END_HEADERS, ids[n], OK200);
    }
    assert_int_equal(c.h2.recv_window, (int64_t)4 * H2_CLIENT_WINDOW);
    for (unsigned n = 0; n < 4; n++) {
        client_data(ids[n], H2_CLIENT_WINDOW, 16384);
    }
    assert_int_equal(h2_streams_open(&c.h2), 4);
    assert_int_equal(c.h2.recv_window + c.h2.consumed, H2_CLIENT_CONNECTION_WINDOW);
}

/* A window above the default is granted from the start: the peer may have read our SETTINGS. */
static void large_window_before_the_acknowledgement(void **state)
{
    (void)state;
    uint32_t id = client_response(false);
    client_data(id, 100000, 10000);
    assert_int_equal(c.streams[0].recv_window, H2_CLIENT_WINDOW - 100000);
    conn_frame(&c, 4, ACK, 0, "");
    assert_int_equal(c.streams[0].recv_window, H2_CLIENT_WINDOW - 100000);
}

/* What was on the way when we reset is free in frames of some size; what comes beyond costs. */
static void late_data_within_its_window_is_free(void **state)
{
    (void)state;
    uint32_t id = client_response(true);
    client_data(id, 1000, 1000);
    h2_reset(&c.h2, id, H2_CANCEL);
    client_data(id, H2_CLIENT_WINDOW - 1000, 4096);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX);
    assert_int_equal(c.h2.recv_window + c.h2.consumed, H2_CLIENT_CONNECTION_WINDOW);
    client_data(id, 1, 1);
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 1);
    client_data(id, H2_CREDIT_MAX - 1, 1);
    assert_int_equal(c.h2.credit, 0);
    conn_frame(&c, 0, 0, id, "61");
    assert_non_null(strstr(c.frames.text, " ENHANCE_YOUR_CALM"));
}

/* DATA that carries nothing costs its price, on a stream that was reset as on any other. */
static void late_data_that_carries_nothing_costs(void **state)
{
    (void)state;
    uint32_t id = client_response(true);
    h2_reset(&c.h2, id, H2_CANCEL);
    conn_frame(&c, 0, 0, id, "");
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 1);
    conn_frame(&c, 0, PADDED, id, "020000");
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 2);
    conn_frame(&c, 0, PADDED, id, "02610000");
    assert_int_equal(c.h2.credit, H2_CREDIT_MAX - 2);
}

/* --- windows that the peer grants --- */

static void send_windows(void **state)
{
    (void)state;
    static uint8_t data[70000];
    conn_start(&c, H2_SERVER);
    c.log_writable = true;
    conn_frame(&c, 4, 0, 0, "0004 0000000a");
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    assert_int_equal(send_list(&c, 1, false), STATUS_OK);
    assert_int_equal(h2_data_room(&c.h2, 1), 10);
    assert_int_equal(h2_data(&c.h2, 1, view_of(data, 10), false), STATUS_OK);
    assert_int_equal(h2_data_room(&c.h2, 1), 0);
    conn_frame(&c, 4, 0, 0, "0004 00000003"); /* now -7 */
    assert_int_equal(c.streams[0].send_window, -7);
    conn_frame(&c, 8, 0, 1, "00000007");
    assert_int_equal(h2_data_room(&c.h2, 1), 0);
    c.events.len = 0;
    conn_drain(&c);
    conn_frame(&c, 8, 0, 1, "00000001");
    assert_non_null(strstr(c.events.text, " W"));
    assert_int_equal(h2_data_room(&c.h2, 1), 1);
    /* An empty last frame needs no window. */
    assert_int_equal(h2_data(&c.h2, 1, view_of(data, 1), false), STATUS_OK);
    assert_int_equal(h2_data(&c.h2, 1, view_of(NULL, 0), true), STATUS_OK);
    assert_int_equal(h2_streams_open(&c.h2), 0);
}

static void connection_window_binds_all_streams(void **state)
{
    (void)state;
    static uint8_t data[H2_SERVER_TX_BYTES];
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 4, 0, 0, "0004 7fffffff");
    size_t total = 0;
    for (uint32_t id = 1; id <= 3; id += 2) {
        conn_frame(&c, 1, END_STREAM | END_HEADERS, id, GET);
        assert_int_equal(send_list(&c, id, false), STATUS_OK);
        conn_pump(&c);
    }
    for (unsigned i = 0; i < 100; i++) {
        uint32_t id = i % 2 * 2 + 1;
        size_t room = h2_data_room(&c.h2, id);
        assert_true(room <= sizeof data);
        if (room > 0) {
            assert_int_equal(h2_data(&c.h2, id, view_of(data, room), false), STATUS_OK);
            total += room;
        }
        conn_pump(&c);
    }
    assert_int_equal(total, 65535);
    conn_frame(&c, 8, 0, 0, "00000009");
    assert_int_equal(h2_data_room(&c.h2, 1), 9);
    assert_int_equal(h2_data_room(&c.h2, 3), 9);
}

/* --- a client's streams --- */

static void opening(void **state)
{
    (void)state;
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    for (uint32_t n = 0; n < H2_SERVER_STREAMS; n++) {
        assert_int_equal(h2_open(&c.h2, TAG_BASE + n, &id), STATUS_OK);
        assert_int_equal(id, 2 * n + 1);
        assert_int_equal(send_list(&c, id, true), STATUS_OK);
        conn_pump(&c);
    }
    assert_int_equal(h2_open(&c.h2, 0, &id), FULL_TABLE);
    conn_frame(&c, 4, 0, 0, "0003 00000010");
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_MORE);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 5, OK200);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
    /* Reset before its header block: nothing goes out, and the number is used again. */
    c.frames.len = 0;
    c.frames.text[0] = '\0';
    h2_reset(&c.h2, id, H2_CANCEL);
    conn_pump(&c);
    assert_string_equal(c.frames.text, "");
    uint32_t again = 0;
    assert_int_equal(h2_open(&c.h2, 0, &again), STATUS_OK);
    assert_int_equal(again, id);
    assert_int_equal(send_list(&c, id, true), STATUS_OK);
    conn_frame(&c, 7, 0, 0, "00000021 00000000");
    assert_int_equal(h2_open(&c.h2, 0, &id), PEER_CLOSED);
}

static void events_carry_the_tag(void **state)
{
    (void)state;
    struct h2_event event;
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 42, &id), STATUS_OK);
    assert_int_equal(send_list(&c, id, true), STATUS_OK);
    conn_pump(&c);
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    put_frame(&w, 1, END_HEADERS, 1, OK200);
    put_frame(&w, 0, END_STREAM, 1, "61");
    memcpy(h2_rx_space(&c.h2).data, bytes, w.len);
    h2_rx_commit(&c.h2, w.len);
    static const enum h2_event_kind kinds[] = {H2_EVENT_FIELD, H2_EVENT_HEADERS_END, H2_EVENT_DATA};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(h2_rx_space(&c.h2).cap, 0); /* events wait */
        assert_int_equal(h2_next(&c.h2, &event), STATUS_OK);
        assert_int_equal(event.kind, kinds[i]);
        assert_int_equal(event.tag, i < 2 ? 42 : 43);
        h2_set_tag(&c.h2, id, i == 0 ? 42 : 43);
    }
    assert_int_equal(h2_next(&c.h2, &event), STATUS_MORE);
    assert_int_equal(h2_rx_space(&c.h2).cap, sizeof c.rx);
}

/* RFC 9113 §8.1.1: the answer to HEAD names a length and has no body. */
static void answer_to_head(void **state)
{
    (void)state;
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
    h2_headers_begin(&c.h2, id);
    h2_header(&c.h2, ":method", view_text("HEAD"), false);
    h2_header(&c.h2, ":scheme", view_text("http"), false);
    h2_header(&c.h2, ":path", view_text("/"), false);
    assert_int_equal(h2_headers_end(&c.h2, true), STATUS_OK);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, OK200 "0f0d 01 34");
    assert_string_equal(c.events.text, " F1 :status=200 F1 content-length=4 H1e");
}

static void informational_responses_are_counted(void **state)
{
    (void)state;
    for (unsigned over = 0; over < 2; over++) {
        uint32_t id = 0;
        conn_start(&c, H2_CLIENT);
        assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
        assert_int_equal(send_list(&c, id, true), STATUS_OK);
        for (unsigned i = 0; i < H2_INFORMATIONAL_MAX + over; i++) {
            conn_frame(&c, 1, END_HEADERS, 1, "0803313033" XY);
        }
        conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, OK200);
        assert_string_equal(c.events.text,
                            over == 0 ? " F1 :status=200 H1e" : " R1 ENHANCE_YOUR_CALM");
    }
}

/* --- PING, RST_STREAM, GOAWAY of the owner --- */

static void ping_and_its_answer(void **state)
{
    (void)state;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_ping(&c.h2), STATUS_OK);
    assert_int_equal(h2_ping(&c.h2), STATUS_OK);
    conn_frame(&c, 6, ACK, 0, "0000000000000001"); /* of the first, which was given up */
    assert_string_equal(c.events.text, "");
    conn_frame(&c, 6, ACK, 0, "0000000000000002");
    conn_frame(&c, 6, ACK, 0, "0000000000000002");
    assert_string_equal(c.events.text, " P");
    assert_string_equal(c.frames.text, " PING 0001 PING 0002");
}

static size_t fill_output(uint32_t stream)
{
    static uint8_t data[H2_SERVER_TX_BYTES];
    size_t room = h2_data_room(&c.h2, stream);
    assert_int_equal(h2_data(&c.h2, stream, view_of(data, room), false), STATUS_OK);
    unsigned pings = 0;
    while (h2_ping(&c.h2) == STATUS_OK) {
        pings++;
    }
    assert_true(pings > 0);
    return h2_tx_data(&c.h2).len;
}

static void output_that_waits_for_room(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    conn_frame(&c, 1, END_HEADERS, 3, POST);
    assert_int_equal(send_list(&c, 1, false), STATUS_OK);
    c.hold_output = true;
    size_t full = fill_output(1);
    h2_reset(&c.h2, 3, H2_CANCEL);
    h2_goaway(&c.h2, H2_NO_ERROR, true);
    assert_int_equal(h2_tx_data(&c.h2).len, full);
    assert_int_equal(h2_streams_open(&c.h2), 1);
    assert_int_equal(h2_headers_room(&c.h2, 1), 0);
    assert_int_equal(h2_data(&c.h2, 1, view_of(NULL, 0), true), STATUS_MORE);
    c.hold_output = false;
    conn_pump(&c);
    assert_non_null(strstr(c.frames.text, " RST 3 CANCEL"));
    assert_non_null(strstr(c.frames.text, " GOAWAY 3 NO_ERROR"));
    assert_int_equal(h2_data(&c.h2, 1, view_of(NULL, 0), true), STATUS_OK);
}

/* A client with a full send buffer opens nothing. */
static void opening_needs_room(void **state)
{
    (void)state;
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
    assert_int_equal(send_list(&c, id, false), STATUS_OK);
    static uint8_t data[H2_SERVER_TX_BYTES];
    size_t room = h2_data_room(&c.h2, 1);
    /* Leaves what a block needs besides its fields, less one octet. */
    assert_int_equal(h2_data(&c.h2, 1, view_of(data, room - 9), false), STATUS_OK);
    assert_int_equal(h2_tx_data(&c.h2).len, sizeof c.tx - H2_TX_RESERVE - 9);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_MORE);
    conn_drain(&c);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
    assert_int_equal(id, 3);
}

static void going_away(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 1, GET);
    h2_goaway(&c.h2, H2_NO_ERROR, false);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 3, GET); /* sent before it saw the GOAWAY */
    h2_goaway(&c.h2, H2_NO_ERROR, true);
    h2_goaway(&c.h2, H2_NO_ERROR, true);
    h2_goaway(&c.h2, H2_NO_ERROR, false);
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 5, GET);
    assert_string_equal(c.frames.text, " GOAWAY 2147483647 NO_ERROR GOAWAY 3 NO_ERROR");
    assert_null(strstr(c.events.text, "F5"));
    assert_int_equal(h2_streams_open(&c.h2), 2);
    assert_int_equal(send_list(&c, 3, true), STATUS_OK);
    assert_int_equal(send_list(&c, 1, true), STATUS_OK);
    assert_int_equal(h2_streams_open(&c.h2), 0);
    conn_start(&c, H2_CLIENT);
    uint32_t id = 0;
    h2_goaway(&c.h2, H2_NO_ERROR, true);
    assert_int_equal(h2_open(&c.h2, 0, &id), PEER_CLOSED);
}

/* --- the end --- */

static void peer_closes(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    conn_frame(&c, 1, END_HEADERS, 1, POST);
    conn_frame(&c, 1, END_HEADERS, 3, POST);
    uint8_t bytes[64];
    struct writer w = writer_of(bytes, sizeof bytes);
    put_frame(&w, 0, END_STREAM, 3, "61");
    memcpy(h2_rx_space(&c.h2).data, bytes, w.len);
    h2_rx_commit(&c.h2, w.len);
    h2_rx_end(&c.h2);
    c.events.len = 0;
    conn_pump(&c);
    assert_string_equal(c.events.text, " D3 a E R1 INTERNAL_ERROR R3 INTERNAL_ERROR");
    assert_int_equal(c.last, PEER_CLOSED);
    assert_string_equal(c.frames.text, "");
    assert_int_equal(h2_streams_open(&c.h2), 0);
}

static void after_a_failure(void **state)
{
    (void)state;
    uint32_t code = 0;
    uint32_t id = 0;
    conn_start(&c, H2_CLIENT);
    assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
    assert_int_equal(send_list(&c, id, false), STATUS_OK);
    conn_frame(&c, 6, 0, 1, "0000000000000000");
    assert_string_equal(c.events.text, " R1 PROTOCOL_ERROR");
    assert_int_equal(h2_failure(&c.h2, &code), PEER_PROTOCOL);
    assert_int_equal(code, H2_PROTOCOL_ERROR);
    assert_int_equal(h2_open(&c.h2, 0, &id), PEER_CLOSED);
    assert_int_equal(h2_ping(&c.h2), PEER_CLOSED);
    assert_int_equal(h2_data(&c.h2, 1, view_text("x"), true), PEER_CLOSED);
    assert_int_equal(send_list(&c, 1, true), PEER_CLOSED);
    h2_reset(&c.h2, 1, H2_CANCEL);
    h2_goaway(&c.h2, H2_NO_ERROR, true);
    struct h2_event event;
    assert_int_equal(h2_next(&c.h2, &event), PEER_PROTOCOL);
    assert_int_equal(h2_tx_data(&c.h2).len, 0);
    assert_int_equal(h2_rx_space(&c.h2).cap, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_octets),
        cmocka_unit_test(grpc_go_calls),
        cmocka_unit_test(first_block_clears_the_peers_table),
        cmocka_unit_test(block_without_room_is_taken_back),
        cmocka_unit_test(sending_on_a_stream_that_is_gone),
        cmocka_unit_test(refill_at_half),
        cmocka_unit_test(padding_counts),
        cmocka_unit_test(dropped_data_is_given_back),
        cmocka_unit_test(data_in_error_is_given_back),
        cmocka_unit_test(more_than_granted),
        cmocka_unit_test(window_before_the_acknowledgement),
        cmocka_unit_test(response_without_content),
        cmocka_unit_test(large_claim_takes_few_round_trips),
        cmocka_unit_test(connection_window_holds_four_streams),
        cmocka_unit_test(large_window_before_the_acknowledgement),
        cmocka_unit_test(late_data_within_its_window_is_free),
        cmocka_unit_test(late_data_that_carries_nothing_costs),
        cmocka_unit_test(send_windows),
        cmocka_unit_test(connection_window_binds_all_streams),
        cmocka_unit_test(opening),
        cmocka_unit_test(events_carry_the_tag),
        cmocka_unit_test(answer_to_head),
        cmocka_unit_test(informational_responses_are_counted),
        cmocka_unit_test(ping_and_its_answer),
        cmocka_unit_test(output_that_waits_for_room),
        cmocka_unit_test(opening_needs_room),
        cmocka_unit_test(going_away),
        cmocka_unit_test(peer_closes),
        cmocka_unit_test(after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
