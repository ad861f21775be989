/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is looked at when a script of the whole agent ended: a kubelet that comes now is answered,
 * and the pages are whole. Owns the words of metrics; knows nothing of the script.
 */
#ifndef TESTS_FUZZ_AGENT_END_H
#define TESTS_FUZZ_AGENT_END_H

#include "tests/fuzz/agent_begin.h"

#define GOOD_MS 4000u /* before anybody who says nothing is given up (H2_PREFACE_MS) */

/* A new kubelet comes; the connections of the old one ended. */
static void kubelet_restarts(bool knows_v1)
{
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        if (world.kubelet_link[k] >= 0 && !world.exited) {
            agent_link_end(agent, (unsigned)world.kubelet_link[k]);
        }
    }
    world.poked = true;
    settle();
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        world.kubelet_link[k] = -1;
    }
    kubelet_new(knows_v1);
    kubelet_sees(!world.exited);
}

/* How many octets from `from` on are of the set. */
static size_t span(struct view v, size_t from, const char *set)
{
    size_t n = from;
    while (n < v.len && memchr(set, v.data[n], strlen(set)) != NULL) {
        n++;
    }
    return n - from;
}

/* Whether the name of a metric begins the text: one of the agent's own, or of its process. */
static bool starts_metric(struct view text)
{
    return view_starts(text, "neuron_dra_") || view_starts(text, "process_");
}

/* I8: every line is of the exposition format: a comment, or a name, labels and a number. */
static void check_metrics_line(struct view line)
{
    if (view_starts(line, "# HELP ") || view_starts(line, "# TYPE ")) {
        CHECK(starts_metric(view_from(line, sizeof "# HELP " - 1u)));
        return;
    }
    size_t name = span(line, 0, "abcdefghijklmnopqrstuvwxyz_0123456789");
    const uint8_t *blank = memrchr(line.data, ' ', line.len);
    CHECK(starts_metric(line) && blank != NULL);
    size_t at = (size_t)(blank - line.data);
    bool labels = at > name && line.data[name] == '{' && line.data[at - 1u] == '}';
    size_t number = span(line, at + 1u, "0123456789.-");
    CHECK(labels || at == name);
    CHECK(number > 0u && at + 1u + number == line.len);
}

static void check_page(struct view page, bool metrics)
{
    const uint8_t *body = memmem(page.data, page.len, "\r\n\r\n", 4);
    CHECK(view_starts(page, "HTTP/1.1 ") && body != NULL);
    struct view rest = view_from(page, (size_t)(body - page.data) + 4u);
    CHECK(rest.len > 0u && rest.data[rest.len - 1u] == '\n');
    CHECK(view_is_utf8(rest) && !has_text(rest, TOKEN_MARK));
    bool busy = view_starts(page, "HTTP/1.1 503 "); /* others scrape */
    while (metrics && !busy && rest.len > 0u) {
        size_t n = (size_t)((const uint8_t *)memchr(rest.data, '\n', rest.len) - rest.data);
        check_metrics_line(view_first(rest, n));
        rest = view_from(rest, n + 1u);
    }
}

static size_t read_page(unsigned link, const char *request, uint8_t *bytes, size_t cap)
{
    struct writer page = writer_of(bytes, cap);
    struct mangle none = {0};
    size_t n = copy(agent_link_rx(agent, link), view_text(request), &none);
    CHECK(n == strlen(request));
    check_input(link, n);
    agent_link_rx_commit(agent, link, n);
    bool done = false;
    for (unsigned i = 0; i < TURNS_MAX && !done && !world.killed; i++) {
        (void)process_turn();
        struct writer to = writer_of(bytes + page.len, cap - page.len);
        page.len += take_output(link, &to);
        done = agent_link_done(agent, link);
    }
    CHECK(done || world.killed);
    return page.len;
}

/* HTTP/1.0 without more: the connection ends with the page. */
static void check_pages(void)
{
    static uint8_t bytes[262144];
    static const char *const requests[] = {"GET /metrics HTTP/1.0\r\n\r\n",
                                           "GET /readyz HTTP/1.0\r\n\r\n"};
    for (unsigned i = 0; i < 2u; i++) {
        int link = agent_link_open(agent, LINK_METRICS, 0, world.now_ms);
        if (link >= 0) {
            told_begin((unsigned)link);
            size_t n = read_page((unsigned)link, requests[i], bytes, sizeof bytes);
            check_page(view_of(bytes, n), i == 0u);
        }
    }
}

/* I7: a kubelet that comes now is answered, whatever was before. */
static void check_registered(void)
{
    unsigned before = world.registered;
    disk.fault = FAULT_NONE;
    world.kubelet_mangle.in = 0;
    if (world.exited || agent->stopping) {
        process_start();
    }
    kubelet_restarts(true);
    uint64_t end = world.now_ms + GOOD_MS;
    while (world.registered == before && world.now_ms < end) {
        pass(500);
    }
    CHECK(world.registered > before);
    check_promises();
}

#endif
