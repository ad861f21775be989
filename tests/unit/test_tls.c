/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS client against OpenSSL's server: which servers are accepted, which are refused and
 * with which reason.
 */
#include "host/apiserver/tls_hello.h"
#include "tests/unit/apiserver/tls_peer.h"

struct row {
    const char *cert;    /* of the server */
    const char *options; /* of the server, besides -alpn h2 */
    const char *ca;
    const char *client; /* NULL: no client certificate */
    const char *name;
    enum status expected;
    const char *words; /* within the reason of a failure */
};

static void try_row(const struct row *row)
{
    char options[300];
    (void)snprintf(options, sizeof options, "-alpn h2 %s", row->options);
    struct server server = server_start(row->cert, options);
    struct tls_identity id = identity(row->ca, row->client, row->name);
    int fd = dial(server.port);
    enum status s = start(fd, &id);
    if (s == STATUS_OK) {
        s = shake(fd, ALL_STEPS);
    }
    if (s == STATUS_OK) {
        s = talk(fd);
        struct writer why = writer_of(why_text, sizeof why_text);
        tls_explain(&why);
        assert_int_equal(writer_end_text(&why), STATUS_OK);
    }
    end(fd);
    server_stop(&server);
    if (s != row->expected || strstr(why_text, row->words) == NULL) {
        fail_msg("%s %s %s: %s, \"%s\"", row->cert, row->options, row->name, status_name(s),
                 why_text);
    }
}

#define DIFFERENT "the server's certificate cannot be trusted: "

static void test_accepted(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ec", "-tls1_3", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"rsa", "-tls1_3", "rsaca.pem", NULL, "api.test", STATUS_OK, ""},
        {"rsa", "-tls1_2", "rsaca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec384", "", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "", "bundle.pem", NULL, "a.wild.test", STATUS_OK, ""},
        {"ec", "", "ca.pem", NULL, "127.0.0.1", STATUS_OK, ""},
        {"ec", "", "ca.pem", NULL, "api.test.", STATUS_OK, ""},
        {"rsa", "-tls1_2", "rsaca.pem", NULL, "::1", STATUS_OK, ""},
        /* The key share is for X25519: these groups ask for a HelloRetryRequest. */
        {"ec", "-tls1_3 -groups P-256", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 -groups P-384", "ca.pem", NULL, "127.0.0.1", STATUS_OK, ""},
        {"ec", "-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "ca.pem", NULL, "api.test", STATUS_OK,
         ""},
        {"ec", "-num_tickets 8", "ca.pem", NULL, "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "me", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "me", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "mersa", "api.test", STATUS_OK, ""},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "mersa", "api.test", STATUS_OK, ""},
        /* Asked for, but not required. */
        {"ec", "-verify 1 -CAfile ca.pem", "ca.pem", NULL, "api.test", STATUS_OK, ""},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        try_row(&rows[i]);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ec", "", "other.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it is not signed by the given certificate authority"},
        {"ec", "-tls1_2", "other.pem", NULL, "127.0.0.1", PEER_UNTRUSTED,
         DIFFERENT "it is not signed by the given certificate authority"},
        {"ec", "", "ca.pem", NULL, "else.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list else.test among its subject alternative names"},
        {"ec", "-tls1_2", "ca.pem", NULL, "a.b.wild.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list a.b.wild.test"},
        {"wrong", "", "ca.pem", NULL, "127.0.0.1", PEER_UNTRUSTED,
         DIFFERENT "it does not list 127.0.0.1"},
        /* As in Go: with a dot it is no address. */
        {"ec", "", "ca.pem", NULL, "127.0.0.1.", PEER_UNTRUSTED,
         DIFFERENT "it does not list 127.0.0.1."},
        {"ed", "", "ca.pem", NULL, "api.test", PEER_UNSUPPORTED,
         "or its key is Ed25519 (RSA and EC are supported)"},
        {"many", "-cert_chain many.chain", "other.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it has no issuer among the first 32 certificates that were sent"},
        {"wrong", "-tls1_2", "ca.pem", NULL, "::1", PEER_UNTRUSTED,
         DIFFERENT "it does not list ::1"},
        /* The name is the subject's common name, and nowhere else. */
        {"nosan", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it does not list api.test"},
        {"expired", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED, DIFFERENT "it has expired"},
        {"expired", "-tls1_2", "other.pem", NULL, "x.test", PEER_UNTRUSTED,
         DIFFERENT "it has expired"},
        {"future", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it is not valid yet; check the clock of this node"},
        {"clientonly", "", "ca.pem", NULL, "api.test", PEER_UNTRUSTED,
         DIFFERENT "it has an extended key usage that does not allow servers"},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", NULL, "api.test", PEER_REFUSED,
         "the server requires a client certificate, and none is configured"},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", NULL, "api.test", PEER_UNSUPPORTED,
         "it requires a client certificate"},
        {"ec", "-tls1_3 " CLIENT_WANTED, "ca.pem", "stranger", "api.test", PEER_REFUSED,
         "the server does not accept our client certificate"},
        {"ec", "-tls1_2 " CLIENT_WANTED, "ca.pem", "stranger", "api.test", PEER_REFUSED,
         "the server does not accept our client certificate"},
        {"ec", "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", "ca.pem", NULL, "api.test",
         PEER_UNSUPPORTED, "no cipher suite of TLS 1.2 or 1.3 that the agent supports"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        try_row(&rows[i]);
    }
}

/* Four authorities of the right name, none of which signed: others come between the signatures. */
static void test_one_signature_a_turn(void **state)
{
    static const char *const options[] = {"-tls1_3", "-tls1_2"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", options[i]);
        int fd = dial(server.port);
        struct tls_identity id = identity("namesakes.pem", NULL, "api.test");
        unsigned turns = 0;
        assert_int_equal(start(fd, &id), STATUS_OK);
        enum status s = shake(fd, 1);
        for (unsigned step = 0; step < ALL_STEPS && s == STATUS_MORE; step++) {
            turns += (tls_wants() == TLS_WANTS_TURN) ? 1u : 0u;
            wait_for(fd, tls_wants());
            s = shake(fd, 1);
        }
        assert_int_equal(s, PEER_UNTRUSTED);
        assert_non_null(strstr(why_text, "\"ca\" has another key than the one that signed"));
        assert_int_equal(turns, 4);
        end(fd);
        server_stop(&server);
    }
}

/* --- what else a server can do --- */

static void test_no_alpn(void **state)
{
    (void)state;
    static const char *const options[] = {"-tls1_3", "-tls1_2", "-alpn http/1.1"};
    for (unsigned i = 0; i < 3; i++) {
        struct server server = server_start("ec", options[i]);
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), PEER_UNSUPPORTED);
        assert_non_null(strstr(why_text, "does not offer HTTP/2 by ALPN (h2)"));
        /* Failures stay. */
        assert_int_equal(shake(fd, 1), PEER_UNSUPPORTED);
        end(fd);
        server_stop(&server);
    }
}

/* A peer that answers the ClientHello with `answer` and closes. */
static enum status shake_with(const void *answer, size_t len)
{
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    uint8_t hello[2000];
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(start(ends[0], &id), STATUS_OK);
    assert_int_equal(shake(ends[0], 1), STATUS_MORE);
    assert_int_equal(tls_wants(), TLS_WANTS_READ);
    ssize_t n = read(ends[1], hello, sizeof hello);
    assert_in_range(n, 100, sizeof hello);
    assert_int_equal(hello[0], 22);
    assert_int_equal(write(ends[1], answer, len), (ssize_t)len);
    assert_int_equal(close(ends[1]), 0);
    enum status s = shake(ends[0], ALL_STEPS);
    end(ends[0]);
    return s;
}

static void test_odd_answers(void **state)
{
    (void)state;
    static const char plain[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n";
    static const uint8_t part[] = {22, 3, 3, 0, 80, 2, 0, 0, 76};
    static const uint8_t old_version[] = {21, 3, 1, 0, 2, 2, 70};
    static const uint8_t unknown_alert[] = {21, 3, 3, 0, 2, 2, 99};
    static const uint8_t huge[] = {22, 3, 3, 0xff, 0xff, 2, 0, 0, 76};
    assert_int_equal(shake_with(plain, sizeof plain - 1), PEER_PROTOCOL);
    assert_non_null(strstr(why_text, "is not TLS; is this the https port"));
    assert_int_equal(shake_with("", 0), PEER_CLOSED);
    assert_string_equal(why_text, "the server closed the connection");
    assert_int_equal(shake_with(part, sizeof part), PEER_CLOSED);
    assert_int_equal(shake_with(old_version, sizeof old_version), PEER_UNSUPPORTED);
    assert_non_null(strstr(why_text, "no cipher suite of TLS 1.2 or 1.3"));
    assert_int_equal(shake_with(unknown_alert, sizeof unknown_alert), PEER_PROTOCOL);
    assert_string_equal(why_text, "the server ended TLS with alert 99");
    assert_int_equal(shake_with(huge, sizeof huge), PEER_PROTOCOL);
}

/* --- versions --- */

static void test_only_tls13(void **state)
{
    (void)state;
    static const char *const options[] = {"-tls1_2", "-tls1_3"};
    for (unsigned i = 0; i < 2; i++) {
        char words[60];
        (void)snprintf(words, sizeof words, "-alpn h2 %s", options[i]);
        struct server server = server_start("ec", words);
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        id.with_tls12 = false;
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), (i == 0) ? PEER_UNSUPPORTED : STATUS_OK);
        assert_true(i == 1 || strstr(why_text, "only TLS 1.2 set --tls-min-version=1.2") != NULL);
        end(fd);
        server_stop(&server);
    }
}

#define VERSIONS_13 0x00, 0x2b, 0x00, 0x02, 0x03, 0x04
#define RENEGOTIATION 0xff, 0x01, 0x00, 0x01, 0x00
#define KEY_SHARE 0x00, 0x33, 0x00, 0x02, 0x00, 0x17
#define ZEROS_7 0, 0, 0, 0, 0, 0, 0
#define RETRY_RANDOM                                                                               \
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,      \
        0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,  \
        0x33, 0x9c
#define PLAIN_RANDOM 1, 2, 3, 4, ZEROS_7, ZEROS_7, ZEROS_7, ZEROS_7
/* A ServerHello of that version without session id, with extensions of `len` bytes; its length. */
#define HELLO(minor, random, suite, low, len, ...)                                                 \
    {2, 0, 0, 40 + (len), 3, (minor), random, 0, (suite), (low), 0, 0, (len), __VA_ARGS__},        \
        44 + (len)

struct hello_row {
    uint8_t message[64];
    size_t len;
    enum tls_hello_verdict expected;
};

/* Records of `piece` bytes. */
static enum tls_hello_verdict read_message(struct tls_hello *h, const struct hello_row *row,
                                           size_t piece)
{
    enum tls_hello_verdict v = TLS_HELLO_GOOD;
    for (size_t at = 0; at < row->len && v == TLS_HELLO_GOOD; at += piece) {
        size_t n = (row->len - at < piece) ? row->len - at : piece;
        uint8_t record[5] = {22, 3, 3, 0, (uint8_t)n};
        static const uint8_t change[] = {20, 3, 3, 0, 1, 1};
        assert_int_equal(tls_hello_read(h, view_of(change, sizeof change)), TLS_HELLO_GOOD);
        assert_int_equal(tls_hello_read(h, view_of(record, sizeof record)), TLS_HELLO_GOOD);
        v = tls_hello_read(h, view_of(&row->message[at], n));
    }
    return v;
}

static void test_versions_of_hello(void **state)
{
    (void)state;
    static const struct hello_row rows[] = {
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 6, VERSIONS_13), TLS_HELLO_GOOD},
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 12, KEY_SHARE, VERSIONS_13), TLS_HELLO_GOOD},
        {HELLO(3, PLAIN_RANDOM, 0xc0, 0x2b, 5, RENEGOTIATION), TLS_HELLO_GOOD},
        /* CVE-2026-115490, and what is like it. */
        {HELLO(4, PLAIN_RANDOM, 0x13, 1, 5, RENEGOTIATION), TLS_HELLO_MIXED},
        {HELLO(4, PLAIN_RANDOM, 0xc0, 0x2b, 5, RENEGOTIATION), TLS_HELLO_MIXED},
        {HELLO(4, PLAIN_RANDOM, 0x13, 1, 6, VERSIONS_13), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 5, RENEGOTIATION), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0xc0, 0x2b, 6, VERSIONS_13), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0xc0, 0x2b, 6, KEY_SHARE), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 11, VERSIONS_13, RENEGOTIATION), TLS_HELLO_MIXED},
        {HELLO(2, PLAIN_RANDOM, 0x13, 1, 6, VERSIONS_13), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 6, 0, 0x2b, 0, 2, 3, 3), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 12, VERSIONS_13, VERSIONS_13), TLS_HELLO_MIXED},
        {HELLO(3, RETRY_RANDOM, 0xc0, 0x2b, 5, RENEGOTIATION), TLS_HELLO_MIXED},
        /* Not whole. */
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 6, 0, 0x2b, 0, 9, 3, 4), TLS_HELLO_MIXED},
        {{2, 0, 0, 2, 3, 3}, 6, TLS_HELLO_MIXED},
        {{2, 0, 4, 0}, 4, TLS_HELLO_MIXED},
        {{11, 0, 0, 1, 0}, 5, TLS_HELLO_MIXED},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t piece = 1; piece <= 60; piece += 59) {
            struct tls_hello h = {.tls12 = true};
            enum tls_hello_verdict v = read_message(&h, &rows[i], piece);
            if (v != rows[i].expected || h.done != (v == TLS_HELLO_GOOD)) {
                fail_msg("row %u by %zu: %d", i, piece, (int)v);
            }
        }
    }
    struct tls_hello only = {.tls12 = false};
    assert_int_equal(read_message(&only, &rows[2], 50), TLS_HELLO_OLD);
}

/* What follows a HelloRetryRequest is of its version and suite, and no second one. */
static void test_versions_of_retry(void **state)
{
    (void)state;
    static const struct hello_row retry = {
        HELLO(3, RETRY_RANDOM, 0x13, 1, 12, VERSIONS_13, KEY_SHARE), TLS_HELLO_GOOD};
    static const struct hello_row rows[] = {
        {HELLO(3, PLAIN_RANDOM, 0x13, 1, 6, VERSIONS_13), TLS_HELLO_GOOD},
        {HELLO(3, PLAIN_RANDOM, 0x13, 2, 6, VERSIONS_13), TLS_HELLO_MIXED},
        {HELLO(3, PLAIN_RANDOM, 0xc0, 0x2b, 5, RENEGOTIATION), TLS_HELLO_MIXED},
        {HELLO(3, RETRY_RANDOM, 0x13, 1, 12, VERSIONS_13, KEY_SHARE), TLS_HELLO_MIXED},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tls_hello h = {.tls12 = true};
        assert_int_equal(read_message(&h, &retry, 60), TLS_HELLO_GOOD);
        assert_false(h.done);
        assert_int_equal(read_message(&h, &rows[i], 60), rows[i].expected);
    }
}

/* CVE-2026-115490 from a peer: mbedTLS 3.6.7 goes on with TLS 1.3 and no secret. */
static void test_mixed_hello(void **state)
{
    (void)state;
    static const struct hello_row mixed = {HELLO(4, PLAIN_RANDOM, 0x13, 1, 5, RENEGOTIATION),
                                           TLS_HELLO_MIXED};
    uint8_t answer[80] = {22, 3, 3, 0, (uint8_t)mixed.len};
    memcpy(&answer[5], mixed.message, mixed.len);
    assert_int_equal(shake_with(answer, 5 + mixed.len), PEER_PROTOCOL);
    assert_non_null(strstr(why_text, "mixes versions of TLS"));
}

/* The server's name is in the ClientHello, an address is not (RFC 6066 §3). */
static void test_sni(void **state)
{
    (void)state;
    static const char *const names[] = {"api.test", "127.0.0.1", "::1"};
    for (unsigned i = 0; i < 3; i++) {
        struct tls_identity id = identity("ca.pem", NULL, names[i]);
        uint8_t hello[2000];
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        assert_int_equal(start(ends[0], &id), STATUS_OK);
        assert_int_equal(shake(ends[0], 1), STATUS_MORE);
        ssize_t n = read(ends[1], hello, sizeof hello);
        assert_true(n > 44);
        assert_int_equal(hello[43], 32); /* a session id for middleboxes: RFC 8446 §D.4 */
        bool sent = memmem(hello, (size_t)n, names[i], strlen(names[i])) != NULL;
        assert_int_equal(sent, i == 0);
        end(ends[0]);
        assert_int_equal(close(ends[1]), 0);
    }
}

/* --- identities --- */

static void expect_unusable(const struct tls_identity *id, const char *words)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(start(ends[0], id), PEER_MALFORMED);
    if (strstr(why_text, words) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", why_text, words);
    }
    end(ends[0]);
    assert_int_equal(close(ends[1]), 0);
}

static void test_identities(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    static uint8_t none[] = "no certificate";
    static uint8_t unreadable[] = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    struct tls_identity id = identity("ca.pem", "me", "api.test");
    id.ca_pem = none;
    id.ca_len = sizeof none - 1;
    expect_unusable(&id, "the certificate authority holds no PEM certificate");
    id.ca_len = 0;
    expect_unusable(&id, "no certificate authority is given");
    id.ca_pem = unreadable;
    id.ca_len = sizeof unreadable - 1;
    expect_unusable(&id, "the certificate authority's certificate cannot be read: encoding (DER)");
    id = identity("ca.pem", "me", "api.test");
    id.cert_pem = none;
    id.cert_len = sizeof none - 1;
    expect_unusable(&id, "the client certificate is not a PEM certificate");
    id = identity("ca.pem", "me", "api.test");
    id.key_len = pem("garbage.key", 2).len;
    expect_unusable(&id, "the client key is not a PEM key");
    id = identity("ca.pem", "me", "api.test");
    id.key_len = pem("ec384.key", 2).len;
    expect_unusable(&id, "the client key does not belong to the client certificate");
    id = identity("ca.pem", "me", "api.test");
    id.key_len = pem("mersa.key", 2).len;
    expect_unusable(&id, "the client key does not belong to the client certificate");
    id = identity("ca.pem", "ed", "api.test");
    expect_unusable(&id,
                    "the client certificate cannot be read: key, which is Ed25519; RSA and EC");
    id = identity("ca.pem", NULL, name);
    expect_unusable(&id, "the server's name is empty or longer than 255 bytes");
    id = identity("ca.pem", NULL, "");
    expect_unusable(&id, "the server's name is empty");
}

/* A key comes in three forms of PEM; what a password protects is none of them. */
static void test_forms_of_keys(void **state)
{
    (void)state;
    static const struct {
        const char *certificate;
        const char *file;
        bool good;
    } rows[] = {
        {"me.pem", "me.key", true},         {"me.pem", "pkcs8.key", true},
        {"me.pem", "parameters.key", true}, {"me.pem", "lines.key", true},
        {"mersa.pem", "mersa.key", true},   {"mersa.pem", "pkcs1.key", true},
        {"me.pem", "locked.key", false},    {"me.pem", "locked8.key", false},
        {"me.pem", "garbled.key", false},   {"me.pem", "garbage.key", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tls_identity id = identity("ca.pem", "me", "api.test");
        id.cert_len = pem(rows[i].certificate, 1).len;
        id.key_len = pem(rows[i].file, 2).len;
        if (rows[i].good) {
            int ends[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
            assert_int_equal(start(ends[0], &id), STATUS_OK);
            end(ends[0]);
            assert_int_equal(close(ends[1]), 0);
        } else {
            expect_unusable(&id, "the client key is not a PEM key (RSA or EC, no password)");
        }
    }
}

/* Bundles take room and time, and nothing of the arena. */
static void test_large_bundles(void **state)
{
    (void)state;
    static uint8_t bundle[CA_BYTES_MAX];
    static const char *const clients[] = {NULL, "mersa"};
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", "-alpn h2 -tls1_3 -verify 1 -CAfile ca.pem");
        struct tls_identity id = identity("ca.pem", clients[i], "api.test");
        size_t last = id.ca_len;
        size_t len = sizeof bundle - 1 - last;
        memcpy(bundle + len, id.ca_pem, last);
        memset(bundle, '\n', len);
        /* identity uses the buffer of the CA, so the others come from the second read. */
        struct view other = pem("rsaca.pem", 0);
        for (size_t at = 0; at + other.len <= len; at += other.len) {
            memcpy(bundle + at, other.data, other.len);
        }
        id.ca_pem = bundle;
        id.ca_len = sizeof bundle - 1;
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
        end(fd);
        server_stop(&server);
    }
}

/* A client certificate that the arena cannot hold is refused by what it takes. */
static void test_exhausted(void **state)
{
    (void)state;
    struct tls_identity id = identity("ca.pem", "me", "api.test");
    size_t one = id.cert_len;
    size_t len = one;
    while (len + one < PEM_CAP) {
        memcpy(id.cert_pem + len, id.cert_pem, one);
        len += one;
    }
    id.cert_len = len;
    struct server server = server_start("ec", "-alpn h2");
    int fd = dial(server.port);
    assert_int_equal(start(fd, &id), FULL_BUFFER);
    assert_non_null(strstr(why_text, "need more memory than the 72 KiB reserved for TLS"));
    id = identity("ca.pem", NULL, "api.test");
    assert_int_equal(start(fd, &id), STATUS_OK);
    assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
    end(fd);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_one_signature_a_turn),
        cmocka_unit_test(test_no_alpn),
        cmocka_unit_test(test_odd_answers),
        cmocka_unit_test(test_sni),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_forms_of_keys),
        cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_large_bundles),
        cmocka_unit_test(test_only_tls13),
        cmocka_unit_test(test_versions_of_hello),
        cmocka_unit_test(test_versions_of_retry),
        cmocka_unit_test(test_mixed_hello),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
