/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of peers between sockets and the whole agent: shares of strangers, and peers that
 * are gone. */
#include "tests/unit/kubelet/agent_kubelet.h"

#include <sys/socket.h>
#include <unistd.h>

#include "host/server_links.h"

static struct server_links links;

/* A stranger on the metrics port has asked for a page. Its end of the connection; *link: ours. */
static int asked(unsigned *link)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n";
    int ends[2];
    world_new();
    start();
    memset(&links, 0, sizeof links);
    server_links_init(&links, world.agent);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct accepted peer = {.fd = ends[0], .peer = 1};
    assert_true(server_link_begin(&links, LINK_METRICS, &peer, world.now_ms));
    *link = GRPC_LINKS;
    assert_int_equal(links.link[*link].fd, ends[0]);
    assert_int_equal(write(ends[1], request, sizeof request - 1u), sizeof request - 1u);
    server_link_read(&links, *link, POLLIN, world.now_ms);
    world.poked = true;
    settle();
    assert_true(agent_link_tx(world.agent, *link).len > 0u);
    return ends[1];
}

/* Takes what strangers may transfer now, but the last `left` transfers. */
static void use_up(unsigned link, unsigned left)
{
    while (links.pace.first[link - STRANGER_FIRST] > 0u) {
        pace_count(&links.pace, link, world.now_ms);
    }
    while (links.pace.used < STRANGER_TRANSFERS - left) {
        pace_count(&links.pace, link, world.now_ms);
    }
    assert_int_equal(pace_allows(&links.pace, link, world.now_ms), left > 0u);
}

/* Flushes as long as bytes move, as the loop does. */
static void flush_links(void)
{
    unsigned rounds = 0;
    while (server_links_flush(&links, world.now_ms)) {
        world.poked = true;
        settle();
        rounds++;
        assert_true(rounds < 1000u);
    }
}

static void test_a_share_is_waited_for(void **state)
{
    unsigned link = 0;
    struct pollfd slots[SERVER_LINKS];
    char page[16];
    (void)state;
    int end = asked(&link);
    use_up(link, 0);
    flush_links();
    assert_int_equal(recv(end, page, sizeof page, MSG_DONTWAIT), -1);
    server_links_interest(&links, slots, world.now_ms);
    assert_int_equal(slots[link].fd, -1);
    assert_int_equal(server_links_due(&links), world.now_ms + STRANGER_WINDOW_MS);
    world.now_ms += STRANGER_WINDOW_MS;
    server_links_interest(&links, slots, world.now_ms);
    assert_int_equal(slots[link].fd, links.link[link].fd);
    assert_int_equal(server_links_due(&links), UINT64_MAX);
    (void)server_links_flush(&links, world.now_ms);
    assert_int_equal(recv(end, page, sizeof page, MSG_DONTWAIT), sizeof page);
    server_links_close(&links);
    assert_int_equal(close(end), 0);
}

/* The end of a connection takes the last transfer: its place is free at once all the same. */
static void test_a_broken_link_waits_for_no_share(void **state)
{
    unsigned link = 0;
    struct pollfd slots[SERVER_LINKS];
    (void)state;
    int end = asked(&link);
    /* what a peer leaves unread makes a reset of its close */
    assert_int_equal(write(links.link[link].fd, "x", 1), 1);
    assert_int_equal(close(end), 0);
    use_up(link, 1);
    server_link_read(&links, link, POLLIN | POLLHUP, world.now_ms);
    assert_true(links.link[link].broken);
    assert_false(pace_allows(&links.pace, link, world.now_ms));
    flush_links();
    assert_int_equal(links.link[link].fd, -1);
    server_links_interest(&links, slots, world.now_ms);
    assert_int_equal(server_links_due(&links), UINT64_MAX);
}

static void test_a_write_finds_the_peer_gone(void **state)
{
    unsigned link = 0;
    (void)state;
    int end = asked(&link);
    assert_int_equal(close(end), 0);
    use_up(link, 1);
    flush_links();
    assert_int_equal(links.link[link].fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_share_is_waited_for),
        cmocka_unit_test(test_a_broken_link_waits_for_no_share),
        cmocka_unit_test(test_a_write_finds_the_peer_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
