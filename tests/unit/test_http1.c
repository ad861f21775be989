/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/1.1 engine alone, with an owner that responds to every request with its path, repeated
 * as often as a test asks, and a peer that takes all it gets. Each input runs whole, cut at every
 * place, and byte by byte; requests and responses must not differ (invariant 1).
 */
#include "unit.h"
#include "wire/http1.h"

#define OUT_MAX 65536

struct run {
    char out[OUT_MAX];
    size_t out_len;
    char paths[512]; /* of the requests, each followed by a blank */
    enum status failed;
    enum http1_code code;
    bool done;
};

static struct http1 engine;
static size_t body_bytes; /* of each answer; 0: the path and a newline */

static void answer(struct run *r, struct view path)
{
    (void)snprintf(&r->paths[strlen(r->paths)], sizeof r->paths - strlen(r->paths), "%.*s ",
                   (int)path.len, (const char *)path.data);
    if (!http1_respond(&engine, HTTP1_OK, "text/x")) {
        return;
    }
    if (body_bytes == 0) {
        struct writer room = http1_body_space(&engine);
        writer_append(&room, path);
        writer_text(&room, "\n");
        http1_body_commit(&engine, room.len);
        http1_body_end(&engine);
    }
}

static void take(struct run *r, size_t most)
{
    struct view tx = view_first(http1_tx_data(&engine), most);
    assert_true(tx.len <= HTTP1_TX_BYTES && r->out_len + tx.len < OUT_MAX);
    memcpy(&r->out[r->out_len], tx.data, tx.len);
    r->out_len += tx.len;
    r->out[r->out_len] = 0;
    http1_tx_commit(&engine, tx.len);
}

static void pump(struct run *r)
{
    struct view path;
    enum status s = STATUS_OK;
    while (s == STATUS_OK || http1_tx_data(&engine).len > 0) {
        s = http1_next(&engine, &path);
        if (s == STATUS_OK) {
            answer(r, path);
        }
        take(r, SIZE_MAX);
    }
    r->failed = (s == STATUS_MORE) ? STATUS_OK : s;
}

/* The input in two pieces, or in pieces of one byte when `cut` is SIZE_MAX; then the peer ends. */
static void run(struct run *r, const char *in, size_t cut, bool end)
{
    size_t len = strlen(in);
    size_t at = 0;
    memset(r, 0, sizeof *r);
    http1_init(&engine, 1000);
    while (at < len) {
        size_t n = (cut == SIZE_MAX) ? 1 : (at < cut) ? cut - at : len - at;
        struct writer room = http1_rx_space(&engine);
        n = (n < room.cap) ? n : room.cap;
        n = (n < len - at) ? n : len - at;
        if (n == 0) {
            break; /* it takes nothing any more */
        }
        memcpy(room.data, &in[at], n);
        http1_rx_commit(&engine, n);
        at += n;
        pump(r);
    }
    if (end) {
        http1_rx_end(&engine);
        pump(r);
    }
    r->code = engine.code;
    r->done = http1_done(&engine);
}

/* Runs the input every way; all must come out as the whole one does. */
static struct run *run_all(const char *in)
{
    static struct run whole;
    static struct run other;
    run(&whole, in, strlen(in), false);
    for (size_t cut = 0; cut <= strlen(in) && strlen(in) < 600; cut++) {
        run(&other, in, (cut == 0) ? SIZE_MAX : cut, false);
        assert_string_equal(other.out, whole.out);
        assert_string_equal(other.paths, whole.paths);
        assert_int_equal(other.failed, whole.failed);
        assert_int_equal(other.code, whole.code);
        assert_int_equal(other.done, whole.done);
    }
    run(&whole, in, strlen(in), false);
    return &whole;
}

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"
#define CHUNKED OK_HEAD "Transfer-Encoding: chunked\r\n"

static void test_get(void **state)
{
    (void)state;
    const struct run *r = run_all("GET /metrics HTTP/1.1\r\nHost: 10.0.0.1:51516\r\n\r\n");
    assert_string_equal(r->out, CHUNKED "\r\n0009\r\n/metrics\n\r\n0\r\n\r\n");
    assert_string_equal(r->paths, "/metrics ");
    assert_int_equal(r->failed, STATUS_OK);
    assert_false(r->done);
    r = run_all("GET /metrics HTTP/1.1\r\nhOST:x\r\nConnection: foo , CLOSE\r\n\r\n");
    assert_string_equal(r->out, CHUNKED "Connection: close\r\n\r\n0009\r\n/metrics\n\r\n0\r\n\r\n");
    assert_true(r->done);
}

static void test_head(void **state)
{
    (void)state;
    const struct run *r = run_all("HEAD /a HTTP/1.1\r\nHost:\r\n\r\n"
                                  "GET /b HTTP/1.1\r\nHost:\r\n\r\nX\r\n\r\n");
    assert_string_equal(r->paths, "/a /b ");
    assert_memory_equal(r->out, CHUNKED "\r\n" CHUNKED "\r\n0003\r\n/b\n",
                        2 * strlen(CHUNKED "\r\n") + 9);
    /* the failure after it is answered with a body: HEAD was the other one */
    assert_true(view_ends(view_text(r->out), "400 Bad Request"));
}

static void test_version_1_0(void **state)
{
    (void)state;
    const struct run *r = run_all("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_string_equal(r->out, OK_HEAD "Connection: close\r\n\r\n/healthz\n");
    assert_true(r->done);
    /* a later minor version is spoken to as 1.1 */
    r = run_all("GET /x HTTP/1.7\r\nHost: a\r\n\r\n");
    assert_string_equal(r->paths, "/x ");
    assert_false(r->done);
}

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *paths;
    } good[] = {
        {"/metrics?name[]=a&b=/c", "/metrics "},
        {"http://node:51516/metrics?x", "/metrics "},
        {"HTTP://[::1]:5/", "/ "},
        {"http://node", " "},
        {"http://node?/a", " "},
        {"http://n%6Fde:/?http://", "/ "},
        {"/0123456789012345678901234567890", " "}, /* longer than any page's */
        {"/012345678901234567890123456789", "/012345678901234567890123456789 "},
    };
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", good[i].target);
        assert_string_equal(run_all(text)->paths, good[i].paths);
    }
}

static void test_pipelining(void **state)
{
    (void)state;
    static char many[8192];
    many[0] = 0;
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(&many[strlen(many)], 80, "%sGET /%u HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n",
                       (i % 2 == 0) ? "" : "\r\n", i % 10);
    }
    many[strlen(many)] = 0;
    struct run *r = run_all(many);
    assert_int_equal(strlen(r->paths), 300);
    assert_int_equal(r->failed, STATUS_OK);
    static struct run bytes;
    run(&bytes, many, SIZE_MAX, false);
    assert_string_equal(bytes.out, r->out);
}

/* What is pipelined waits: nothing of it is looked at before the answer is taken. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    static const char in[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";
    struct view path;
    static struct run r;
    memset(&r, 0, sizeof r);
    http1_init(&engine, 0);
    struct writer room = http1_rx_space(&engine);
    memcpy(room.data, in, sizeof in - 1);
    http1_rx_commit(&engine, sizeof in - 1);
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    answer(&r, path);
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    take(&r, http1_tx_data(&engine).len - 1);
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    take(&r, 1);
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    assert_true(view_is(path, "/b"));
}

/* A receive buffer that is full takes no more until the answer before is out. */
static void test_backpressure(void **state)
{
    (void)state;
    struct view path;
    http1_init(&engine, 0);
    static const char in[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    struct writer room = http1_rx_space(&engine);
    memcpy(room.data, in, sizeof in - 1);
    http1_rx_commit(&engine, sizeof in - 1);
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    size_t taken = 0;
    while (http1_rx_space(&engine).cap > 0) {
        room = http1_rx_space(&engine);
        memset(room.data, 'G', room.cap);
        taken += room.cap;
        http1_rx_commit(&engine, room.cap);
        assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    }
    assert_int_equal(taken, HTTP1_RX_BYTES);
}

/* --- refusals --- */

#define H "Host: a\r\n"
static const struct {
    const char *in;
    const char *answer;
    enum status failed;
} bad[] = {
    {"\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n\r\n", "400 ", PEER_MALFORMED}, /* no Host */
    {"GET / HTTP/1.1\r\n" H H "\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400 ", PEER_MALFORMED}, /* blank */
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n", "400 ", PEER_MALFORMED}, /* obs-fold */
    {"GET / HTTP/1.1\r\n" H "A: b\r\n\tc\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "A\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H ": a\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "A: b\rc\r\n\r\n", "400 ", PEER_MALFORMED}, /* bare CR */
    {"GET / HTTP/1.1\r\n" H "\r\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\n" H "\r\n", "400 ", PEER_MALFORMED}, /* bare LF */
    {"GET / HTTP/1.1\r\n" H "\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "A: \x01\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "A: \x7f\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", "400 ",
     PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: 0, 0\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 ",
     PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
     "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", "501 ", PEER_UNSUPPORTED},
    {"GET / HTTP/1.1\r\n" H "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", "413 ",
     PEER_UNSUPPORTED},
    {"GET / HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\nx", "413 ", PEER_UNSUPPORTED},
    {"GET /\r\n", "400 ", PEER_MALFORMED}, /* HTTP/0.9 */
    {"GET  / HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.1 \r\n", "400 ", PEER_MALFORMED},
    {"GET / HTTP/1.x\r\n", "400 ", PEER_MALFORMED},
    {"GET / http/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET a HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET * HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET http:// HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET http://?a HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET http://a/# HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET /#a HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"GET /\xc3\xa4 HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"G(T / HTTP/1.1\r\n", "400 ", PEER_MALFORMED},
    {"\x16\x03\x01\x02", "400 ", PEER_MALFORMED},                   /* TLS */
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 ", PEER_UNSUPPORTED}, /* HTTP/2 */
    {"GET / HTTP/0.9\r\n", "505 ", PEER_UNSUPPORTED},
    {"POST /metrics HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello", "405 ", PEER_UNSUPPORTED},
    {"OPTIONS * HTTP/1.1\r\n" H "\r\n", "405 ", PEER_UNSUPPORTED},
    {"get / HTTP/1.1\r\n", "501 ", PEER_UNSUPPORTED},
    {"BREW / HTTP/1.1\r\n", "501 ", PEER_UNSUPPORTED},
};

static void test_refusals(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct run *r = run_all(bad[i].in);
        char head[64];
        (void)snprintf(head, sizeof head, "HTTP/1.1 %s", bad[i].answer);
        assert_true(view_starts(view_text(r->out), head));
        assert_non_null(strstr(r->out, "Connection: close\r\n"));
        assert_string_equal(r->paths, "");
        assert_int_equal(r->failed, bad[i].failed);
        /* it lingers until the peer has heard, or for LINK_CLOSE_MS */
        assert_false(r->done);
        assert_int_equal(http1_deadline(&engine), 1000 + LINK_CLOSE_MS);
        http1_rx_end(&engine);
        assert_true(http1_done(&engine));
    }
    const struct run *r = run_all("DELETE / HTTP/1.1\r\n\r\n");
    assert_string_equal(r->out, "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\n"
                                "Allow: GET, HEAD\r\nConnection: close\r\nContent-Length: 22\r\n"
                                "\r\n405 Method Not Allowed");
}

/* RFC 9112 3.2: whether a Host value is one, and a target with it as its authority is valid. */
static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool valid;
        bool named;
    } rows[] = {
        {"", true, false},
        {":", true, false},
        {":80", true, false},
        {"a", true, true},
        {"localhost:", true, true},
        {"localhost:123456", true, true},
        {"10.0.0.1:51516", true, true},
        {"aZ09-._~!$&'()*+,;=", true, true},
        {"%41%ff%Ff:1", true, true},
        {"[::1]", true, true},
        {"[fe80::1:2]:51516", true, true},
        {"[::ffff:10.0.0.1]", true, true},
        {"a^b", false, false},
        {"a@b", false, false},
        {"a|", false, false},
        {"a\\b", false, false},
        {"localhost:abc", false, false},
        {"localhost:1a", false, false},
        {"localhost:1:2", false, false},
        {"::1", false, false},
        {"[::1", false, false},
        {"[", false, false},
        {"[]", false, false},
        {"[::1]1", false, false},
        {"[::g]", false, false},
        {"[10.0.0.1]", false, false},
        {"[fe80::1%25eth0]", false, false},
        {"a[::1]", false, false},
        {"%zz", false, false},
        {"%4z", false, false},
        {"%z4", false, false},
        {"a%", false, false},
        {"a%4", false, false},
        {"\xc3\xa4", false, false},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].host);
        const struct run *r = run_all(text);
        assert_string_equal(r->paths, rows[i].valid ? "/a " : "");
        assert_true(rows[i].valid || view_starts(view_text(r->out), "HTTP/1.1 400 "));
        (void)snprintf(text, sizeof text, "GET http://%s/a HTTP/1.1\r\nHost: a\r\n\r\n",
                       rows[i].host);
        r = run_all(text);
        assert_string_equal(r->paths, rows[i].named ? "/a " : "");
        assert_true(rows[i].named || view_starts(view_text(r->out), "HTTP/1.1 400 "));
    }
}

static char *long_text(const char *before, size_t n, const char *after)
{
    static char text[65536];
    (void)snprintf(text, sizeof text, "%s", before);
    size_t at = strlen(text);
    memset(&text[at], 'a', n);
    (void)snprintf(&text[at + n], sizeof text - at - n, "%s", after);
    return text;
}

static void test_limits(void **state)
{
    (void)state;
    size_t around = strlen("GET / HTTP/1.1");
    const struct run *r =
        run_all(long_text("GET /", HTTP1_LINE_BYTES_MAX - around, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_string_equal(r->paths, " ");
    r = run_all(
        long_text("GET /", HTTP1_LINE_BYTES_MAX - around + 1, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_true(view_starts(view_text(r->out), "HTTP/1.1 414 "));
    assert_int_equal(r->failed, FULL_BUFFER);
    /* a token of 8 KiB, which nobody here reads, is passed over */
    r = run_all(
        long_text("GET /a HTTP/1.1\r\nHost: a\r\nAuthorization: ", 8192, "\r\nB: c\r\n\r\n"));
    assert_string_equal(r->paths, "/a ");
    /* one that is read is not */
    r = run_all(long_text("GET /a HTTP/1.1\r\nHost: ", 2000, "\r\n\r\n"));
    assert_true(view_starts(view_text(r->out), "HTTP/1.1 431 "));
    r = run_all(long_text("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: ", 2000, "\r\n\r\n"));
    assert_true(view_starts(view_text(r->out), "HTTP/1.1 431 "));
    /* a name without end is no field */
    r = run_all(long_text("GET /a HTTP/1.1\r\n", 2000, ": a\r\n\r\n"));
    assert_true(view_starts(view_text(r->out), "HTTP/1.1 400 "));
    /* the header section as a whole */
    size_t fields = strlen("Host: a\r\nA: \r\n\r\n");
    r = run_all(long_text("GET /a HTTP/1.1\r\nHost: a\r\nA: ", HTTP1_FIELDS_BYTES_MAX - fields,
                          "\r\n\r\n"));
    assert_string_equal(r->paths, "/a ");
    r = run_all(long_text("GET /a HTTP/1.1\r\nHost: a\r\nA: ", HTTP1_FIELDS_BYTES_MAX - fields + 1,
                          "\r\n\r\n"));
    assert_true(view_starts(view_text(r->out), "HTTP/1.1 431 "));
    assert_int_equal(r->failed, FULL_BUFFER);
}

/* What comes after the failure is dropped, and changes nothing (invariant 4). */
static void test_failure_is_final(void **state)
{
    (void)state;
    struct view path;
    static struct run r;
    run(&r, "NONSENSE\r\n", 99, false);
    assert_int_equal(r.failed, PEER_MALFORMED);
    for (unsigned i = 0; i < 100; i++) {
        struct writer room = http1_rx_space(&engine);
        assert_int_equal(room.cap, HTTP1_RX_BYTES);
        memset(room.data, 'G', room.cap);
        http1_rx_commit(&engine, room.cap);
        assert_int_equal(http1_next(&engine, &path), PEER_MALFORMED);
        assert_int_equal(http1_tx_data(&engine).len, 0);
    }
    http1_set_time(&engine, 1000 + LINK_CLOSE_MS - 1);
    assert_false(http1_done(&engine));
    http1_set_time(&engine, 1000 + LINK_CLOSE_MS);
    assert_true(http1_done(&engine));
    assert_int_equal(http1_body_space(&engine).cap, 0);
}

/* --- bodies --- */

/* A body of any length, in pieces as there is room, to a peer that takes `bite` bytes at a time. */
static void send_body(struct run *r, const char *in, size_t bytes, size_t bite)
{
    struct view path;
    body_bytes = bytes;
    run(r, in, SIZE_MAX, false);
    r->out_len = strlen(r->out);
    size_t sent = 0;
    while (engine.phase == HTTP1_RESPONDING) {
        struct writer room = http1_body_space(&engine);
        /* a chunk of a few bytes would be framing for the most part */
        size_t n = (room.cap < 100) ? 0 : room.cap;
        n = (n < bytes - sent) ? n : bytes - sent;
        for (size_t i = 0; i < n; i++) {
            writer_u8(&room, (uint8_t)('a' + (sent + i) % 26));
        }
        http1_body_commit(&engine, n);
        sent += n;
        if (sent == bytes && http1_body_space(&engine).cap > 0) {
            http1_body_end(&engine);
        }
        take(r, bite);
    }
    while (http1_tx_data(&engine).len > 0) {
        take(r, bite);
    }
    body_bytes = 0;
    assert_true(http1_next(&engine, &path) == STATUS_MORE);
}

/* Bytes of a chunked body, the framing taken off. */
static size_t unchunk(const char *in, char *out)
{
    size_t len = 0;
    for (;;) {
        char *after = NULL;
        unsigned long n = strtoul(in, &after, 16);
        assert_ptr_equal(after, in + ((n == 0) ? 1 : 4));
        assert_memory_equal(after, "\r\n", 2);
        in = after + 2;
        memcpy(&out[len], in, n);
        len += n;
        assert_memory_equal(&in[n], "\r\n", 2);
        in += n + 2;
        if (n == 0) {
            assert_string_equal(in, "");
            return len;
        }
    }
}

static void test_long_bodies(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 1900, 2048, 20000};
    static const size_t bites[] = {1, 7, 2048};
    static struct run r;
    static char body[OUT_MAX];
    for (unsigned i = 0; i < 12; i++) {
        size_t bytes = sizes[i % 4];
        send_body(&r, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", bytes, bites[i / 4]);
        char *start = strstr(r.out, "\r\n\r\n");
        assert_non_null(start);
        assert_int_equal(unchunk(start + 4, body), bytes);
        assert_int_equal(body[bytes - 1], 'a' + (bytes - 1) % 26);
        assert_false(http1_done(&engine));
        send_body(&r, "GET /a HTTP/1.0\r\n\r\n", bytes, bites[i / 4]);
        start = strstr(r.out, "\r\n\r\n");
        assert_int_equal(strlen(start + 4), bytes);
        assert_memory_equal(start + 4, body, bytes);
        assert_true(http1_done(&engine));
    }
}

/* --- the end of the peer, and time --- */

static void test_peer_ends(void **state)
{
    (void)state;
    static struct run r;
    /* what was asked before is answered */
    run(&r, "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 5, true);
    assert_string_equal(r.paths, "/a /b ");
    assert_int_equal(r.failed, PEER_CLOSED);
    assert_true(r.done);
    run(&r, "GET /a HTTP/1.1\r\nHo", 99, true);
    assert_string_equal(r.out, "");
    assert_int_equal(r.failed, PEER_CLOSED);
    assert_true(r.done);
}

static void feed(const char *in)
{
    struct writer room = http1_rx_space(&engine);
    memcpy(room.data, in, strlen(in));
    http1_rx_commit(&engine, strlen(in));
}

static void test_request_does_not_come(void **state)
{
    (void)state;
    struct view path;
    http1_init(&engine, 5000);
    assert_int_equal(http1_deadline(&engine), 5000 + HTTP1_REQUEST_MS);
    http1_set_time(&engine, 5000 + HTTP1_REQUEST_MS);
    assert_int_equal(http1_next(&engine, &path), PEER_TIMEOUT);
    assert_true(http1_done(&engine)); /* it sent nothing, and gets nothing */
    http1_init(&engine, 5000);
    http1_set_time(&engine, 9000);
    feed("GET / HTTP/1.1\r\n");
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    http1_set_time(&engine, 5000 + HTTP1_REQUEST_MS - 1);
    feed("A: b\r\n"); /* bytes that trickle in win no time */
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    http1_set_time(&engine, 5000 + HTTP1_REQUEST_MS);
    assert_int_equal(http1_next(&engine, &path), PEER_TIMEOUT);
    assert_true(view_starts(http1_tx_data(&engine), "HTTP/1.1 408 "));
}

static void test_answer_is_not_taken(void **state)
{
    (void)state;
    struct view path;
    static struct run r;
    memset(&r, 0, sizeof r);
    http1_init(&engine, 0);
    http1_set_time(&engine, 100);
    feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    answer(&r, path);
    assert_int_equal(http1_yields_ms(&engine), 100 + HTTP1_PAUSE_MS);
    http1_set_time(&engine, 100 + HTTP1_ANSWER_MS - 1);
    take(&r, 1); /* one byte now and then wins no time either, but the place */
    assert_int_equal(http1_yields_ms(&engine), 100 + HTTP1_ANSWER_MS - 1 + HTTP1_PAUSE_MS);
    assert_int_equal(http1_deadline(&engine), 100 + HTTP1_ANSWER_MS);
    http1_set_time(&engine, 100 + HTTP1_ANSWER_MS);
    assert_int_equal(http1_next(&engine, &path), PEER_TIMEOUT);
    assert_int_equal(http1_tx_data(&engine).len, 0);
    assert_true(http1_done(&engine));
}

static void test_waiting_and_giving_way(void **state)
{
    (void)state;
    struct view path;
    static struct run r;
    memset(&r, 0, sizeof r);
    http1_init(&engine, 0);
    assert_int_equal(http1_yields_ms(&engine), HTTP1_GRACE_MS);
    feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    answer(&r, path);
    http1_set_time(&engine, 500);
    take(&r, SIZE_MAX);
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    assert_int_equal(http1_yields_ms(&engine), 500);
    assert_int_equal(http1_deadline(&engine), 500 + HTTP1_IDLE_MS);
    http1_set_time(&engine, 500 + HTTP1_IDLE_MS - 1);
    feed("G");
    assert_int_equal(http1_deadline(&engine), 499 + HTTP1_IDLE_MS + HTTP1_REQUEST_MS);
    assert_int_equal(http1_next(&engine, &path), STATUS_MORE);
    assert_int_equal(http1_yields_ms(&engine), 499 + HTTP1_IDLE_MS); /* it was served */
    http1_yield(&engine);
    assert_true(http1_done(&engine));
    assert_int_equal(http1_next(&engine, &path), PEER_CLOSED);
    /* one that waited too long ends without a word */
    http1_init(&engine, 0);
    feed("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(http1_next(&engine, &path), STATUS_OK);
    answer(&r, path);
    take(&r, SIZE_MAX);
    http1_set_time(&engine, HTTP1_IDLE_MS);
    assert_int_equal(http1_next(&engine, &path), PEER_TIMEOUT);
    assert_true(http1_done(&engine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_version_1_0),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_backpressure),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_failure_is_final),
        cmocka_unit_test(test_long_bodies),
        cmocka_unit_test(test_peer_ends),
        cmocka_unit_test(test_request_does_not_come),
        cmocka_unit_test(test_answer_is_not_taken),
        cmocka_unit_test(test_waiting_and_giving_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
