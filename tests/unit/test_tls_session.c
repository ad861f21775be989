/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the TLS client: data in both directions under backpressure, how they end, that the
 * arena gets everything back, and the calendar that dates of certificates are read by.
 */
#include <time.h>

#include <mbedtls/platform_time.h>
#include <mbedtls/platform_util.h>

#include "tests/unit/apiserver/tls_peer.h"

/* --- data --- */

#define LINE_BYTES 64
#define LINES 4000

/* Line `i` as it is sent, or as the server gives it back. */
static void make_line(uint8_t line[LINE_BYTES], unsigned i, bool reversed)
{
    char text[LINE_BYTES + 1];
    (void)snprintf(text, sizeof text, "%063u\n", i * 2654435761u);
    for (unsigned k = 0; k < LINE_BYTES; k++) {
        line[k] = (uint8_t)((reversed && k < LINE_BYTES - 1) ? text[LINE_BYTES - 2 - k] : text[k]);
    }
}

static unsigned check_lines(const uint8_t *data, size_t *have, unsigned next)
{
    uint8_t line[LINE_BYTES];
    size_t used = 0;
    while (*have - used >= LINE_BYTES) {
        make_line(line, next++, true);
        assert_memory_equal(data + used, line, LINE_BYTES);
        used += LINE_BYTES;
    }
    memmove((uint8_t *)(uintptr_t)data, data + used, *have - used);
    *have -= used;
    return next;
}

/*
 * 256 KiB through narrow buffers to a server that is held until its buffers are full, so that
 * writes are cut short and taken up again.
 */
static void exchange(int fd, const struct server *server)
{
    static uint8_t out[LINES * LINE_BYTES];
    static uint8_t in[8192];
    size_t sent = 0;
    size_t have = 0;
    unsigned next = 0;
    unsigned stops = 0;
    for (unsigned i = 0; i < LINES; i++) {
        make_line(out + (size_t)i * LINE_BYTES, i, false);
    }
    assert_int_equal(kill(server->pid, SIGSTOP), 0);
    while (next < LINES) {
        size_t n = 0;
        enum status s = STATUS_MORE;
        if (sent < sizeof out) {
            size_t len = (sizeof out - sent < 10000) ? sizeof out - sent : 10000;
            s = tls_write(view_of(out + sent, len), &n);
            sent += (s == STATUS_OK) ? n : 0;
        }
        if (s == STATUS_OK) {
            continue;
        }
        assert_int_equal(s, STATUS_MORE);
        stops += (sent < sizeof out) ? 1u : 0u;
        assert_int_equal(kill(server->pid, SIGCONT), 0);
        s = tls_read(in + have, sizeof in - have, &n);
        if (s == STATUS_MORE) {
            short events = (sent < sizeof out) ? POLLIN | POLLOUT : POLLIN;
            struct pollfd p = {.fd = fd, .events = events};
            assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
            continue;
        }
        assert_int_equal(s, STATUS_OK);
        have += n;
        next = check_lines(in, &have, next);
    }
    assert_int_equal(sent, sizeof out);
    assert_true(stops > 0);
}

static void test_exchange(void **state)
{
    (void)state;
    static const char *const options[] = {"-alpn h2 -tls1_3", "-alpn h2 -tls1_2"};
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", options[i]);
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int narrow = 4096;
        int fd = dial(server.port);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &narrow, sizeof narrow), 0);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
        exchange(fd, &server);
        end(fd);
        server_stop(&server);
    }
}

/* Decrypted bytes that did not fit the caller's buffer are announced. */
static void test_pending(void **state)
{
    (void)state;
    struct server server = server_start("ec", "-alpn h2");
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    uint8_t byte = 0;
    size_t n = 0;
    int fd = dial(server.port);
    assert_int_equal(tls_pending(), 0);
    assert_int_equal(start(fd, &id), STATUS_OK);
    assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
    assert_int_equal(tls_write(view_text("12345\n"), &n), STATUS_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(read_some(fd, &byte, 1, &n), STATUS_OK);
        assert_int_equal(byte, "54321\n"[i]);
        assert_int_equal(tls_pending(), 5 - i);
    }
    end(fd);
    server_stop(&server);
}

/* The server's close_notify, and its death. */
static void test_close(void **state)
{
    (void)state;
    uint8_t data[16];
    size_t n = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct server server = server_start("ec", "-alpn h2");
        struct tls_identity id = identity("ca.pem", NULL, "api.test");
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        assert_int_equal(shake(fd, ALL_STEPS), STATUS_OK);
        assert_int_equal(talk(fd), STATUS_OK);
        if (i == 0) {
            /* What -rev takes as the end of the conversation. */
            assert_int_equal(tls_write(view_text("CLOSE\n"), &n), STATUS_OK);
        } else {
            server_stop(&server);
        }
        assert_int_equal(read_some(fd, data, sizeof data, &n), PEER_CLOSED);
        assert_int_equal(tls_read(data, sizeof data, &n), PEER_CLOSED);
        assert_int_equal(tls_write(view_text("x"), &n), PEER_CLOSED);
        end(fd);
        if (i == 0) {
            server_stop(&server);
        }
    }
}

/* --- life --- */

/* Sessions one after the other on one arena, many of them given up at every stage. */
static void test_many(void **state)
{
    (void)state;
    struct server server = server_start("rsa", "-alpn h2 " CLIENT_WANTED);
    unsigned good = 0;
    for (unsigned i = 0; i < 60; i++) {
        struct tls_identity id = identity("rsaca.pem", "me", "api.test");
        int fd = dial(server.port);
        assert_int_equal(start(fd, &id), STATUS_OK);
        enum status s = shake(fd, (i % 3 == 0) ? ALL_STEPS : i % 7);
        if (s == STATUS_OK) {
            good++;
            assert_int_equal(talk(fd), STATUS_OK);
        } else {
            assert_int_equal(s, STATUS_MORE);
        }
        end(fd);
    }
    assert_in_range(good, 20, 60);
    server_stop(&server);
}

/* A second start ends the first session. */
static void test_restart(void **state)
{
    (void)state;
    struct server server = server_start("ec", "-alpn h2");
    struct tls_identity id = identity("ca.pem", NULL, "api.test");
    int first = dial(server.port);
    int second = dial(server.port);
    assert_int_equal(start(first, &id), STATUS_OK);
    id = identity("ca.pem", NULL, "api.test");
    assert_int_equal(start(second, &id), STATUS_OK);
    assert_int_equal(tls_arena_leak(), 0);
    assert_int_equal(close(first), 0);
    /* The server talks to one client at a time: the first one is gone now. */
    assert_int_equal(shake(second, ALL_STEPS), STATUS_OK);
    assert_int_equal(talk(second), STATUS_OK);
    end(second);
    tls_end();
    server_stop(&server);
}

/* The calendar against the C library's, day by day and at both sides of each midnight. */
static void test_calendar(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 400 * 366; day += 7) {
        for (int64_t shift = -1; shift <= 1; shift++) {
            mbedtls_time_t t = (mbedtls_time_t)(day * 86400 + shift);
            struct tm ours;
            struct tm theirs;
            if (t < 0) {
                assert_null(mbedtls_platform_gmtime_r(&t, &ours));
                continue;
            }
            assert_ptr_equal(mbedtls_platform_gmtime_r(&t, &ours), &ours);
            assert_non_null(gmtime_r(&t, &theirs));
            assert_true(ours.tm_year == theirs.tm_year && ours.tm_mon == theirs.tm_mon &&
                        ours.tm_mday == theirs.tm_mday && ours.tm_hour == theirs.tm_hour &&
                        ours.tm_min == theirs.tm_min && ours.tm_sec == theirs.tm_sec);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange), cmocka_unit_test(test_pending),
        cmocka_unit_test(test_close),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_restart),  cmocka_unit_test(test_calendar),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
