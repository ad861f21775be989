/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the metrics port in tests of the whole agent. Header only: each test is one file. */
#ifndef TESTS_UNIT_AGENT_PAGE_H
#define TESTS_UNIT_AGENT_PAGE_H

#include "tests/unit/kubelet/agent_kubelet.h"

#define PAGE_MAX 131072

static char page[PAGE_MAX]; /* the answer that was taken last */

UNUSED_OK static int page_connect_from(uint32_t peer)
{
    int link = agent_link_open(world.agent, LINK_METRICS, peer, world.now_ms);
    assert_true(link < 0 || ((unsigned)link >= GRPC_LINKS && (unsigned)link < SERVER_LINKS));
    return link;
}

UNUSED_OK static int page_connect(void)
{
    return page_connect_from(0);
}

UNUSED_OK static void page_ask(int link, const char *text)
{
    struct writer room = agent_link_rx(world.agent, (unsigned)link);
    assert_true(strlen(text) <= room.cap);
    memcpy(room.data, text, strlen(text));
    agent_link_rx_commit(world.agent, (unsigned)link, strlen(text));
    world.poked = true;
    settle();
}

/* Takes at most `most` bytes of what waits; false: nothing did. */
UNUSED_OK static bool page_take(int link, size_t most)
{
    struct view tx = view_first(agent_link_tx(world.agent, (unsigned)link), most);
    size_t at = strlen(page);
    assert_true(at + tx.len < sizeof page);
    memcpy(&page[at], tx.data, tx.len);
    page[at + tx.len] = 0;
    agent_link_tx_commit(world.agent, (unsigned)link, tx.len);
    world.poked = true;
    settle();
    return tx.len > 0;
}

/* The answer over HTTP/1.0, where nothing frames the body: its end is that of the connection. */
UNUSED_OK static const char *page_get(const char *path)
{
    char request[128];
    int link = page_connect();
    assert_true(link >= 0);
    page[0] = 0;
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    page_ask(link, request);
    while (page_take(link, SIZE_MAX)) {
    }
    assert_true(agent_link_done(world.agent, (unsigned)link));
    return page;
}

UNUSED_OK static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

UNUSED_OK static void page_is(const char *path, const char *status, const char *body)
{
    const char *answer = page_get(path);
    char head[64];
    (void)snprintf(head, sizeof head, "HTTP/1.1 %s\r\n", status);
    assert_string_equal(body_of(answer), body);
    assert_true(view_starts(view_text(answer), head));
}

/* The text has the line, the whole of it, once. */
UNUSED_OK static void has_line(const char *line)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    const char *at = strstr(page, whole);
    if (at == NULL) {
        fail_msg("no line \"%s\" in:\n%s", line, page);
    }
    assert_null(strstr(at + 1, whole));
}

UNUSED_OK static void metrics_get(void)
{
    assert_non_null(
        strstr(page_get("/metrics"), "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    /* keeps the newline before the body */
    memmove(page, body_of(page) - 1, strlen(body_of(page)) + 2);
}

#endif
