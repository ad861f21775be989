/* SPDX-License-Identifier: Apache-2.0 */
/* Shared system calls: directories, whole writes, clocks; names without a server; the last line of
 * a failed assertion. */
#include "tests/unit/disk/host_harness.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/assert.h"
#include "host/apiserver/resolver.h"
#include "host/system.h"

static mode_t mode_of(const char *rest)
{
    struct stat st;
    assert_int_equal(stat(at(rest), &st), 0);
    return st.st_mode & 07777;
}

static void test_directories_are_made(void **state)
{
    (void)state;
    int error = 0;
    mode_t before = umask(022);
    make_directories("kept");
    assert_int_equal(chmod(at("kept"), 0700), 0);
    assert_int_equal(directory_make(at("kept/b/c"), 0750, &error), STATUS_OK);
    assert_int_equal(mode_of("kept"), 0700);
    assert_int_equal(mode_of("kept/b"), 0750);
    assert_int_equal(mode_of("kept/b/c"), 0750);
    assert_int_equal(directory_make(at("kept/b/c"), 0750, &error), STATUS_OK);
    assert_int_equal(directory_make(at("kept/d/"), 0750, &error), STATUS_OK);
    (void)umask(before);
}

static void test_directories_that_cannot_be_made(void **state)
{
    (void)state;
    int error = 0;
    put("file", "");
    assert_int_equal(directory_make(at("file"), 0755, &error), HOST_ABSENT);
    assert_int_equal(error, ENOTDIR);
    assert_int_equal(directory_make(at("file/below"), 0755, &error), HOST_ABSENT);
    assert_int_equal(error, ENOTDIR);
    assert_int_equal(directory_make("/sys/neuron-dra-unit", 0755, &error), HOST_DENIED);
}

static void test_write_fails_in_words(void **state)
{
    (void)state;
    int error = 0;
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0);
    assert_int_equal(descriptor_write(full, view_text("x"), -1, &error), HOST_NO_SPACE);
    assert_int_equal(error, ENOSPC);
    assert_int_equal(descriptor_write(full, view_text(""), -1, &error), STATUS_OK);
    assert_int_equal(close(full), 0);
}

static void test_clocks(void **state)
{
    (void)state;
    uint64_t a = clock_now_ms();
    uint64_t b = clock_now_ms();
    assert_true(b >= a);
    assert_true(clock_wall_ms() > UINT64_C(1700000000000));
    assert_true(random_seed() != random_seed());
}

/* --- names that need no server --- */

static struct resolver resolver = {.fd = -1};

static void test_literals(void **state)
{
    (void)state;
    static const uint8_t four[] = {10, 96, 0, 1};
    assert_int_equal(resolver_start(&resolver, view_text("10.96.0.1"), 0), STATUS_OK);
    assert_int_equal(resolver.found.count, 1);
    assert_false(resolver.found.address[0].v6);
    assert_memory_equal(resolver.found.address[0].bytes, four, sizeof four);
    assert_int_equal(resolver_start(&resolver, view_text("fd00::1"), 0), STATUS_OK);
    assert_int_equal(resolver.found.count, 1);
    assert_true(resolver.found.address[0].v6);
    assert_int_equal(resolver.found.address[0].bytes[0], 0xfd);
    assert_int_equal(resolver.fd, -1);
}

static void test_localhost(void **state)
{
    (void)state;
    assert_int_equal(resolver_start(&resolver, view_text("localhost"), 0), STATUS_OK);
    assert_true(resolver.found.count >= 1);
    assert_int_equal(resolver.fd, -1);
}

static void test_names_that_are_none(void **state)
{
    (void)state;
    char large[API_HOST_CAP + 1];
    memset(large, 'a', sizeof large);
    large[API_HOST_CAP] = 0;
    assert_int_equal(resolver_start(&resolver, view_text(large), 0), PEER_MALFORMED);
    assert_int_equal(resolver_start(&resolver, view_text("a..b"), 0), PEER_MALFORMED);
    resolver_end(&resolver);
}

/* --- name servers --- */

/* Our question "a" of the given id and type as a response without records. */
static size_t respond(uint8_t *message, uint16_t id, enum dns_type type, bool truncated)
{
    struct writer w = writer_of(message, 64);
    assert_int_equal(dns_query(&w, id, type, view_text("a")), STATUS_OK);
    message[2] |= truncated ? 0x82u : 0x80u;
    return w.len;
}

/*
 * A response that was cut before its first address does not mean that there is none: the next
 * server is asked. With an address of either question it is good enough.
 */
static void test_truncated_response(void **state)
{
    (void)state;
    static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1};
    for (unsigned address = 0; address < 2; address++) {
        uint8_t message[128];
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
        resolver = (struct resolver){.name = "a", .fd = ends[0], .id = 7, .try_ms = 1000};
        resolver.servers = 1;
        resolver.server[0] = (struct ip_address){.bytes = {127, 0, 0, 1}};
        size_t len = respond(message, 7, DNS_A, true);
        if (address == 1) {
            memcpy(message + len, record, sizeof record);
            len += sizeof record;
            message[7] = 2; /* answers, one of which was cut off */
        }
        assert_int_equal(send(ends[1], message, len, 0), len);
        len = respond(message, 8, DNS_AAAA, false);
        assert_int_equal(send(ends[1], message, len, 0), len);
        enum status s = resolver_step(&resolver, 0);
        assert_int_equal(resolver.found.count, address);
        assert_int_equal(resolver.tries, 1 - address);
        assert_int_equal(s, (address == 1) ? STATUS_OK : STATUS_MORE);
        resolver_end(&resolver);
        assert_int_equal(close(ends[1]), 0);
    }
}

/* --- memory given back --- */

static unsigned char given[4 * 4096] __attribute__((aligned(4096)));

static bool in_memory(unsigned page)
{
    unsigned char resident = 0;
    assert_int_equal(mincore(&given[page * 4096u], 4096, &resident), 0);
    return (resident & 1u) != 0u;
}

/* Page 0 holds zeros, page 1 has a last byte, page 2 a first byte, page 3 is not given whole. */
static void test_pages_of_zeros_are_given_back(void **state)
{
    (void)state;
    if (getpagesize() != 4096) {
        skip();
    }
    memset(given, 0, sizeof given);
    given[2u * 4096u - 1u] = 0x5a;
    given[2u * 4096u] = 0xa5;
    memory_give_back(given, 4u * 4096u - 1u);
    assert_false(in_memory(0));
    assert_true(in_memory(1) && in_memory(2) && in_memory(3));
    assert_int_equal(given[2u * 4096u - 1u], 0x5a);
    assert_int_equal(given[2u * 4096u], 0xa5);
    assert_int_equal(given[0], 0);
    assert_true(in_memory(0));
    memory_give_back(&given[3u * 4096u + 1u], 4095);
    memory_give_back(&given[1], 4096);
    assert_true(in_memory(0) && in_memory(3));
}

/* --- the end --- */

static void test_assertion_ends_the_process(void **state)
{
    (void)state;
    char text[512] = {0};
    int ends[2];
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        assert_failed("src/x.c", 1042, "text[0] != '\"' && text[1] != '\\\\'");
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_true(read(ends[0], text, sizeof text - 1u) > 0);
    assert_non_null(strstr(text,
                           "event=assertion_failed at=src/x.c:1042 condition=\"text[0] != '\\\"' "
                           "&& text[1] != '\\\\\\\\'\" remedy=\""));
    assert_int_equal(strchr(text, '\n') - text + 1, (long)strlen(text));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_directories_are_made),
        HOST_TEST(test_directories_that_cannot_be_made),
        HOST_TEST(test_write_fails_in_words),
        HOST_TEST(test_clocks),
        HOST_TEST(test_literals),
        HOST_TEST(test_localhost),
        HOST_TEST(test_names_that_are_none),
        HOST_TEST(test_truncated_response),
        HOST_TEST(test_pages_of_zeros_are_given_back),
        HOST_TEST(test_assertion_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
