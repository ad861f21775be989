/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of a TCP port over loopback: silent connections keep no probe out, take nobody's place,
 * and last words reach a peer that still sends. */
#include "tests/unit/kubelet/agent_kubelet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/strangers.h"

#define SILENT 300u

static struct server_links links;
static struct server port;

static void port_open(void)
{
    int error = 0;
    world_new();
    start();
    memset(&links, 0, sizeof links);
    server_links_init(&links, world.agent);
    port = (struct server){.listener = {.fd = -1, .address = "127.0.0.1"}, .kind = LINK_METRICS};
    assert_int_equal(listener_open(&port.listener, &error), STATUS_OK);
}

static void port_close(void)
{
    listener_close(&port.listener);
    server_links_close(&links);
}

static int stranger(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port.listener.port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* A round, and what the agent does then. */
static void round_once(void)
{
    strangers_round(&links, &port, world.now_ms);
    for (unsigned i = STRANGER_FIRST; i < SERVER_LINKS; i++) {
        server_link_read(&links, i, (links.link[i].fd >= 0) ? POLLIN : 0, world.now_ms);
    }
    world.poked = true;
    settle();
    (void)server_links_flush(&links, world.now_ms);
}

static bool answered(int fd)
{
    char text[512];
    return recv(fd, text, sizeof text, MSG_DONTWAIT) > 0;
}

static void test_silent_ones_keep_nobody_out(void **state)
{
    static int silent[SILENT];
    (void)state;
    port_open();
    for (unsigned i = 0; i < SILENT; i++) {
        silent[i] = stranger();
    }
    int probe = stranger();
    say(probe, "GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n");
    uint64_t begun_ms = world.now_ms;
    bool done = false;
    for (unsigned i = 0; i < 20u && !done; i++) {
        round_once();
        done = answered(probe);
        /* a window has one round that accepts all it may */
        assert_int_equal(pace_round_ms(&links.pace, LINK_METRICS, world.now_ms),
                         done ? world.now_ms : world.now_ms + STRANGER_ROUND_MS);
        pass(done ? 0u : STRANGER_ROUND_MS);
    }
    assert_true(done);
    /* the places were all taken by silent ones: one of them gives its place up after a moment */
    assert_in_range(world.now_ms - begun_ms, SILENT / STRANGER_ACCEPTS * STRANGER_ROUND_MS,
                    SILENT / STRANGER_ACCEPTS * STRANGER_ROUND_MS + HTTP1_GRACE_MS);
    for (unsigned i = 0; i < SILENT; i++) {
        assert_int_equal(close(silent[i]), 0);
    }
    assert_int_equal(close(probe), 0);
    port_close();
}

/* However long the places are taken: who has sent nothing takes none of them. */
static void test_silent_ones_take_no_place(void **state)
{
    int first[METRICS_LINKS];
    int descriptor[METRICS_LINKS];
    (void)state;
    port_open();
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        first[i] = stranger();
    }
    round_once();
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        descriptor[i] = links.link[GRPC_LINKS + i].fd;
        assert_true(descriptor[i] >= 0);
    }
    int later_one = stranger();
    pass(10u * HTTP1_GRACE_MS);
    round_once();
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        assert_int_equal(links.link[GRPC_LINKS + i].fd, descriptor[i]);
    }
    assert_true(pending_waits(&links.metrics, false));
    /* the first byte earns it one */
    say(later_one, "GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n");
    round_once();
    assert_true(answered(later_one));
    for (unsigned i = 0; i < METRICS_LINKS; i++) {
        assert_int_equal(close(first[i]), 0);
    }
    assert_int_equal(close(later_one), 0);
    port_close();
}

/* What a peer sends after our last word is read and dropped: unread it would be a reset. */
static void test_last_words_arrive(void **state)
{
    char text[512];
    (void)state;
    port_open();
    int peer = stranger();
    say(peer, "GET /healthz HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
    say(peer, "and more that is never read");
    round_once();
    say(peer, "and still more");
    round_once();
    assert_true(answered(peer));
    say(peer, "and more");
    assert_int_equal(recv(peer, text, sizeof text, MSG_DONTWAIT), 0); /* an end, no reset */
    assert_int_equal(pending_due(&links.metrics), world.now_ms + LINK_CLOSE_MS);
    pass(LINK_CLOSE_MS);
    round_once();
    assert_int_equal(pending_due(&links.metrics), UINT64_MAX);
    assert_int_equal(close(peer), 0);
    port_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_ones_keep_nobody_out),
        cmocka_unit_test(test_silent_ones_take_no_place),
        cmocka_unit_test(test_last_words_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
