/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header list rules of RFC 9113 §8.2 and §8.3: what is delivered, what is malformed, and the
 * limits of a list.
 */
#include "tests/unit/wire/h2_harness.h"

static struct conn c;
static uint8_t block[200000];

#define REQUEST ":method: POST\n:scheme: http\n:authority: localhost\n:path: /s/m\n"
#define RESPONSE ":status: 200\n"

/* "name: value\n…" as a block; the name may itself begin with a colon, and \x1f stands for NUL. */
static size_t encode_list(const char *list, uint8_t *out, size_t cap)
{
    struct writer w = writer_of(out, cap);
    while (*list != '\0') {
        const char *colon = strchr(list + 1, ':');
        const char *end = strstr(list, "\n");
        assert_true(colon != NULL && end != NULL && colon < end && colon[1] == ' ');
        uint8_t value[64];
        size_t len = (size_t)(end - colon - 2);
        assert_true(len <= sizeof value);
        memcpy(value, colon + 2, len);
        for (size_t i = 0; i < len; i++) {
            value[i] = value[i] == 0x1f ? 0 : value[i];
        }
        hpack_encode(&w, view_of(list, (size_t)(colon - list)), view_of(value, len), false);
        list = end + 1;
    }
    assert_false(w.full);
    return w.len;
}

static void feed_headers(unsigned flags, uint32_t stream, size_t len)
{
    static uint8_t frames[210000];
    struct writer w = writer_of(frames, sizeof frames);
    size_t pos = 0;
    unsigned type = 1;
    do {
        size_t n = len - pos < 16384 ? len - pos : 16384;
        unsigned end = pos + n == len ? END_HEADERS : 0u;
        put_frame_bytes(&w, type, type == 1 ? flags | end : end, stream, view_of(block + pos, n));
        pos += n;
        type = 9;
    } while (pos < len);
    conn_feed(&c, frames, w.len);
}

struct list_case {
    const char *list;
    bool good;
};

static void run_lists(const struct list_case *cases, size_t n, enum h2_role role, bool trailers)
{
    for (size_t i = 0; i < n; i++) {
        conn_start(&c, role);
        uint32_t id = 1;
        if (role == H2_CLIENT) {
            assert_int_equal(h2_open(&c.h2, 0, &id), STATUS_OK);
            assert_int_equal(send_list(&c, id, true), STATUS_OK);
        }
        if (trailers) {
            size_t first = encode_list(role == H2_CLIENT ? RESPONSE : REQUEST, block, sizeof block);
            feed_headers(0, id, first);
        }
        feed_headers(END_STREAM, id, encode_list(cases[i].list, block, sizeof block));
        bool delivered = strstr(c.events.text, trailers ? " H1te" : " H1e") != NULL;
        bool reset = strstr(c.events.text, " R1 PROTOCOL_ERROR") != NULL &&
                     strstr(c.frames.text, " RST 1 PROTOCOL_ERROR") != NULL;
        if (delivered != cases[i].good || reset == cases[i].good || c.last != STATUS_MORE) {
            fail_msg("%s->%s", cases[i].list, c.events.text);
        }
    }
}

#define RUN(cases, role, trailers) run_lists(cases, sizeof cases / sizeof cases[0], role, trailers)

static void request_pseudo_fields(void **state)
{
    (void)state;
    static const struct list_case cases[] = {
        {REQUEST, true},
        {":path: /s/m\n:authority: x\n:scheme: http\n:method: POST\n", true}, /* any order */
        {":method: GET\n:scheme: https\n:path: /\n", true},                   /* no authority */
        {":method: GET\n:scheme: http\n:authority: %2Fvar%2Frun\n:path: /\n", true},
        {":method: GET\n:scheme: http\n:authority: \n:path: /\n", true},
        {":method: OPTIONS\n:scheme: http\n:path: *\n", true},
        {":method: CONNECT\n:authority: host:80\n", true},
        {":method: CONNECT\n:authority: host:80\n:path: /\n", false},
        {":method: CONNECT\n:scheme: http\n:authority: host:80\n", false},
        {":method: CONNECT\n", false},
        {"", false},
        {":scheme: http\n:path: /\n", false},
        {":method: GET\n:path: /\n", false},
        {":method: GET\n:scheme: http\n", false},
        {":method: GET\n:scheme: http\n:path: \n", false},
        {":method: GET\n:scheme: http\n:path: x\n", false},
        {":method: \n:scheme: http\n:path: /\n", false},
        {":method: GET\n:scheme: \n:path: /\n", false},
        {REQUEST ":method: POST\n", false},
        {REQUEST ":scheme: http\n", false},
        {REQUEST ":authority: localhost\n", false},
        {REQUEST ":path: /s/m\n", false},
        {REQUEST ":unknown: x\n", false},
        {REQUEST ":protocol: websocket\n", false},
        {REQUEST ":: x\n", false},
        {REQUEST ":status: 200\n", false},
        {":method: GET\n:scheme: http\nx: y\n:path: /\n", false},
    };
    RUN(cases, H2_SERVER, false);
}

static void regular_fields(void **state)
{
    (void)state;
    static const struct list_case cases[] = {
        {REQUEST "te: trailers\nuser-agent: grpc-go/1.81.1\nx-bin: AAE\n", true},
        {REQUEST "x: \n", true},
        {REQUEST "cookie: a=b\ncookie: c=d\n", true},
        {REQUEST "x: \xc3\xa9\tz\n", true}, /* obs-text and an inner tab */
        {REQUEST "!#$%&'*+-.^_`|~09: y\n", true},
        {REQUEST "host: elsewhere\n", true},
        {REQUEST "x: \rz\n", false},
        {REQUEST "x: \x1fz\n", false},
        {REQUEST "X: y\n", false},
        {REQUEST "x-Upper: y\n", false},
        {REQUEST "x y: z\n", false},
        {REQUEST "x\x7f: z\n", false},
        {REQUEST "x\xc3: z\n", false},
        {REQUEST "x\x01: z\n", false},
        {REQUEST "connection: close\n", false},
        {REQUEST "proxy-connection: close\n", false},
        {REQUEST "keep-alive: 1\n", false},
        {REQUEST "transfer-encoding: chunked\n", false},
        {REQUEST "upgrade: h2c\n", false},
        {REQUEST "te: gzip\n", false},
        {REQUEST "te: trailers, deflate\n", false},
        {REQUEST "te: \n", false},
        {REQUEST "x: a\rb\n", false},
        {REQUEST "x: a\x1f"
                 "b\n",
         false},
        {REQUEST "x:  y\n", false},
        {REQUEST "x: y \n", false},
        {REQUEST "x: \ty\n", false},
        {REQUEST "x: y\t\n", false},
        {REQUEST "content-length: 0\n", true},
        {REQUEST "content-length: 0\ncontent-length: 0\n", true},
        {REQUEST "content-length: 0\ncontent-length: 1\n", false},
        {REQUEST "content-length: 1\n", false},
        {REQUEST "content-length: \n", false},
        {REQUEST "content-length: -0\n", false},
        {REQUEST "content-length: 0, 0\n", false},
        {REQUEST "content-length: 9223372036854775808\n", false},
        {REQUEST "content-length: 18446744073709551616\n", false},
    };
    RUN(cases, H2_SERVER, false);
}

/* Names that the text form above cannot say. */
static void names_with_colons_or_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"x:y", "x:", "", "x\n"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        conn_start(&c, H2_SERVER);
        size_t len = encode_list(REQUEST, block, sizeof block);
        struct writer w = writer_of(block + len, sizeof block - len);
        writer_u8(&w, 0x00);
        writer_u8(&w, (uint8_t)strlen(names[i]));
        writer_text(&w, names[i]);
        writer_u8(&w, 0x00);
        feed_headers(END_STREAM, 1, len + w.len);
        assert_string_equal(c.frames.text, " RST 1 PROTOCOL_ERROR");
    }
}

static void response_fields(void **state)
{
    (void)state;
    static const struct list_case cases[] = {
        {RESPONSE, true},
        {":status: 999\nx: y\n", true},
        {"", false},
        {"x: y\n", false},
        {":status: 20\n", false},
        {":status: 2000\n", false},
        {":status: 20a\n", false},
        {":status: 099\n", false},
        {":status: 101\n", false},
        {":status: +20\n", false},
        {":status: \n", false},
        {RESPONSE ":status: 200\n", false},
        {"x: y\n" RESPONSE, false},
        {RESPONSE ":path: /\n", false},
        {RESPONSE "connection: close\n", false},
        {RESPONSE "X: y\n", false},
    };
    RUN(cases, H2_CLIENT, false);
}

static void trailer_fields(void **state)
{
    (void)state;
    static const struct list_case cases[] = {
        {"grpc-status: 0\ngrpc-message: \n", true},
        {"", true},
        {"content-length: 7\n", true}, /* says nothing there */
        {":method: GET\n", false},
        {":status: 200\n", false},
        {"grpc-status: 0\n:path: /\n", false},
        {"connection: close\n", false},
        {"Grpc-Status: 0\n", false},
    };
    RUN(cases, H2_SERVER, true);
    RUN(cases, H2_CLIENT, true);
}

/* --- size of a list --- */

/*
 * The request and one field whose value makes the list count `listed`; not indexed, so each copy
 * costs its octets.
 */
static size_t list_of(size_t listed)
{
    static uint8_t value[4000];
    memset(value, 'v', sizeof value);
    struct writer w = writer_of(block, sizeof block);
    hpack_encode(&w, view_text(":method"), view_text("GET"), false);
    hpack_encode(&w, view_text(":scheme"), view_text("http"), false);
    hpack_encode(&w, view_text(":path"), view_text("/"), false);
    size_t sum = 7 + 3 + 32 + 7 + 4 + 32 + 5 + 1 + 32;
    while (sum < listed) {
        size_t left = listed - sum;
        size_t len = left > 2 * 4000 ? 3900 : left > 4000 ? left / 2 - 33 : left - 33;
        assert_true(left >= 33);
        hpack_encode(&w, view_text("x"), view_of(value, len), false);
        sum += 33 + len;
    }
    assert_int_equal(sum, listed);
    assert_false(w.full);
    return w.len;
}

static void longest_list(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    feed_headers(END_STREAM, 1, list_of(H2_HEADER_LIST_MAX));
    assert_string_equal(c.frames.text, "");
    assert_non_null(strstr(c.events.text, " H1e"));
}

/* One octet more: the stream is reset, the table stays in step, the next request is served. */
static void list_over_the_limit(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    size_t len = list_of(H2_HEADER_LIST_MAX + 1);
    uint8_t indexed[] = {0x40, 1, 'x', 1, 'y'};
    memcpy(block + len, indexed, sizeof indexed);
    feed_headers(END_STREAM, 1, len + sizeof indexed);
    assert_string_equal(c.frames.text, " RST 1 ENHANCE_YOUR_CALM");
    assert_null(strstr(c.events.text, " H1"));
    assert_non_null(strstr(c.events.text, " R1 ENHANCE_YOUR_CALM"));
    conn_frame(&c, 1, END_STREAM | END_HEADERS, 3, "828684be");
    assert_non_null(strstr(c.events.text, " F3 x=y H3e"));
    assert_int_equal(c.last, STATUS_MORE);
}

static void list_over_the_hard_limit(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    feed_headers(END_STREAM, 1, list_of(H2_HEADER_LIST_HARD_MAX));
    assert_string_equal(c.frames.text, " RST 1 ENHANCE_YOUR_CALM");
    conn_start(&c, H2_SERVER);
    feed_headers(END_STREAM, 1, list_of(H2_HEADER_LIST_HARD_MAX + 1));
    assert_string_equal(c.frames.text, " GOAWAY 1 ENHANCE_YOUR_CALM");
    assert_int_equal(c.last, FULL_BUDGET);
}

/* A small block that decodes to much: references to one large entry. */
static void compression_bomb(void **state)
{
    (void)state;
    conn_start(&c, H2_SERVER);
    struct writer w = writer_of(block, sizeof block);
    writer_text(&w, "\x82\x86\x84\x40\x01x\x7f\x81\x1e"); /* a value of 127 + 1 + 30 * 128 */
    for (unsigned i = 0; i < 127 + 1 + 30 * 128; i++) {
        writer_u8(&w, 'b');
    }
    for (unsigned i = 0; i < 100; i++) {
        writer_u8(&w, 0xbe);
    }
    feed_headers(END_STREAM, 1, w.len);
    assert_string_equal(c.frames.text, " GOAWAY 1 ENHANCE_YOUR_CALM");
}

/* A field of exactly the carry buffer passes however it is cut; one octet more never does. */
static void longest_field(void **state)
{
    (void)state;
    static const size_t cuts[] = {1, 7, 1000, 100000};
    for (size_t over = 0; over < 2; over++) {
        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
            static uint8_t frame[8192];
            conn_start(&c, H2_SERVER);
            struct writer w = writer_of(block, sizeof block);
            writer_text(&w, "\x82\x86\x84\x40\x01x\x7f");
            size_t len = H2_SERVER_FIELD_BYTES - 3 - 3 + over; /* behind 3 and the length's 3 */
            writer_u8(&w, (uint8_t)(0x80u | ((len - 127) & 0x7fu)));
            writer_u8(&w, (uint8_t)((len - 127) >> 7));
            for (size_t n = 0; n < len; n++) {
                writer_u8(&w, 'b');
            }
            struct writer f = writer_of(frame, sizeof frame);
            put_frame_bytes(&f, 1, END_STREAM | END_HEADERS, 1, writer_view(&w));
            conn_feed_cut(&c, frame, f.len, cuts[i]);
            assert_string_equal(c.frames.text, over == 0 ? "" : " GOAWAY 1 ENHANCE_YOUR_CALM");
        }
    }
}

static uint32_t announced_list(void)
{
    struct view sent = h2_tx_data(&c.h2);
    struct reader r = reader_of(view_from(sent, sent.len - 4));
    uint32_t size = 0;
    assert_int_equal(reader_u32(&r, &size), STATUS_OK);
    return size;
}

/*
 * RFC 9113 6.5.2: a list of the announced size is served, even if it is one long field, however it
 * is encoded and cut. 'X' has a Huffman code of 8 bits, so that the octets are as many either way.
 */
static void longest_field_of_an_announced_list(void **state)
{
    (void)state;
    static const size_t cuts[] = {1, 7, 1000, 100000};
    static uint8_t frame[8192];
    for (unsigned n = 0; n < 2 * sizeof cuts / sizeof cuts[0]; n++) {
        bool huffman = n % 2 == 1;
        conn_init(&c, H2_SERVER);
        size_t left = announced_list() - (7 + 3 + 32 + 7 + 4 + 32 + 5 + 1 + 32) - 32 - 1;
        conn_start(&c, H2_SERVER);
        struct writer w = writer_of(block, sizeof block);
        writer_text(&w, "\x82\x86\x84\x40\x01x");
        writer_u8(&w, huffman ? 0xff : 0x7f);
        writer_u8(&w, (uint8_t)(0x80u | ((left - 127) & 0x7fu)));
        writer_u8(&w, (uint8_t)((left - 127) >> 7));
        for (size_t i = 0; i < left; i++) {
            writer_u8(&w, huffman ? 0xfc : 'X');
        }
        struct writer f = writer_of(frame, sizeof frame);
        put_frame_bytes(&f, 1, END_STREAM | END_HEADERS, 1, writer_view(&w));
        conn_feed_cut(&c, frame, f.len, cuts[n / 2]);
        assert_string_equal(c.frames.text, "");
        assert_non_null(strstr(c.events.text, " F1 x=XXXX"));
        assert_non_null(strstr(c.events.text, " H1e"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_pseudo_fields),
        cmocka_unit_test(regular_fields),
        cmocka_unit_test(names_with_colons_or_nothing),
        cmocka_unit_test(response_fields),
        cmocka_unit_test(trailer_fields),
        cmocka_unit_test(longest_list),
        cmocka_unit_test(list_over_the_limit),
        cmocka_unit_test(list_over_the_hard_limit),
        cmocka_unit_test(compression_bomb),
        cmocka_unit_test(longest_field),
        cmocka_unit_test(longest_field_of_an_announced_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
