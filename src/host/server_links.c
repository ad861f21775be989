/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes between connections that peers opened and the agent's links; see server_links.h. */
#include "host/server_links.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

void server_links_init(struct server_links *s, struct agent *agent)
{
    s->agent = agent;
    pending_init(&s->health);
    pending_init(&s->metrics);
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        s->link[i].fd = -1;
    }
}

static void link_close(struct host_link *l)
{
    (void)close(l->fd);
    *l = (struct host_link){.fd = -1};
}

/*
 * Closes a connection that the agent has finished with. If a TCP peer may still send, hands the
 * connection to pending_linger instead, so that the peer gets the last bytes before the connection
 * is closed.
 */
static void link_leave(struct server_links *s, unsigned i, uint64_t now_ms)
{
    struct host_link *l = &s->link[i];
    if (i < STRANGER_FIRST || l->ended || l->broken) {
        link_close(l);
        return;
    }
    pending_linger((i < GRPC_LINKS) ? &s->health : &s->metrics, l->fd, now_ms);
    *l = (struct host_link){.fd = -1};
}

static void link_end(struct server_links *s, unsigned i, bool broken)
{
    struct host_link *l = &s->link[i];
    l->broken = l->broken || broken;
    if (!l->ended) {
        l->ended = true;
        agent_link_end(s->agent, i);
    }
}

/* --- reading from and writing to connections --- */

/*
 * Whether to read from a link now: poll(2) reported input or the end of the input, and pace.h
 * allows a transfer.
 */
static bool link_readable(const struct server_links *s, unsigned i, short revents, uint64_t now_ms)
{
    const struct host_link *l = &s->link[i];
    bool something = (revents & (POLLIN | POLLHUP | POLLERR)) != 0;
    return something && l->fd >= 0 && !l->ended && pace_allows(&s->pace, i, now_ms);
}

void server_link_read(struct server_links *s, unsigned i, short revents, uint64_t now_ms)
{
    if (!link_readable(s, i, revents, now_ms)) {
        return;
    }
    struct writer room = agent_link_rx(s->agent, i);
    if (writer_room(&room) == 0u) {
        if ((revents & (POLLHUP | POLLERR)) != 0) {
            link_end(s, i, true);
        }
        return;
    }
    pace_count(&s->pace, i, now_ms);
    ssize_t n = read(s->link[i].fd, &room.data[room.len], writer_room(&room));
    if (n > 0) {
        agent_link_rx_commit(s->agent, i, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        link_end(s, i, n < 0);
    }
}

/*
 * Drops the output for a peer that is gone, so that the agent can end the link. The drop does not
 * count as a transfer (pace.h). Otherwise the drop might wait for the next time window, and
 * nothing would wake the main loop at that time, because a broken connection is not polled.
 */
static bool link_drop(struct server_links *s, unsigned i)
{
    size_t n = agent_link_tx(s->agent, i).len;
    if (n > 0u) {
        agent_link_tx_commit(s->agent, i, n);
    }
    return n > 0u;
}

/*
 * Sends the agent's output on a link by at most one send(2). Returns whether any bytes were sent or
 * dropped.
 */
static bool link_write(struct server_links *s, unsigned i, uint64_t now_ms)
{
    const struct host_link *l = &s->link[i];
    if (l->broken) {
        return link_drop(s, i);
    }
    if (l->fd < 0 || !pace_allows(&s->pace, i, now_ms)) {
        return false;
    }
    struct view tx = agent_link_tx(s->agent, i);
    if (tx.len == 0u) {
        return false;
    }
    pace_count(&s->pace, i, now_ms);
    ssize_t n = send(l->fd, tx.data, tx.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (n < 0) {
        link_end(s, i, true);
        return link_drop(s, i);
    }
    agent_link_tx_commit(s->agent, i, (size_t)n);
    return true;
}

bool server_links_flush(struct server_links *s, uint64_t now_ms)
{
    bool moved = false;
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        moved = link_write(s, i, now_ms) || moved;
        if (s->link[i].fd >= 0 && agent_link_done(s->agent, i)) {
            link_leave(s, i, now_ms);
        }
    }
    return moved;
}

/* --- start and end of a connection --- */

bool server_link_begin(struct server_links *s, enum link_kind kind, const struct accepted *peer,
                       uint64_t now_ms)
{
    int i = agent_link_open(s->agent, kind, peer->peer, now_ms);
    bool free = i >= 0;
    if (!free) {
        /*
         * agent_link_open may have ended another connection. The link of that connection becomes
         * free when its last bytes are sent.
         */
        (void)server_links_flush(s, now_ms);
        i = agent_link_open(s->agent, kind, peer->peer, now_ms);
    }
    if (i < 0) {
        (void)close(peer->fd);
        return true;
    }
    ASSERT((unsigned)i < SERVER_LINKS && s->link[i].fd == -1);
    s->link[i] = (struct host_link){.fd = peer->fd, .peer = peer->peer};
    pace_begin(&s->pace, (unsigned)i);
    if (peer->heard) {
        server_link_read(s, (unsigned)i, POLLIN, now_ms);
    }
    return free;
}

void server_links_close(struct server_links *s)
{
    pending_close(&s->health);
    pending_close(&s->metrics);
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        if (s->link[i].fd >= 0) {
            link_close(&s->link[i]);
        }
    }
}

/* --- the events for which poll(2) waits --- */

static struct pollfd link_interest(struct server_links *s, unsigned i, uint64_t now_ms)
{
    const struct host_link *l = &s->link[i];
    struct pollfd p = {.fd = -1};
    if (l->fd < 0 || l->broken) {
        return p;
    }
    bool out = agent_link_tx(s->agent, i).len > 0u;
    struct writer room = agent_link_rx(s->agent, i);
    bool in = !l->ended && writer_room(&room) > 0u;
    p.events = in ? POLLIN : 0;
    p.events |= out ? POLLOUT : 0;
    /*
     * After the end of the input, poll the descriptor only while there is output. Otherwise poll(2)
     * would return at once in each turn of the main loop, because it reports a hang-up even if no
     * events are requested.
     */
    p.fd = (l->ended && !out) ? -1 : l->fd;
    if (!pace_allows(&s->pace, i, now_ms)) {
        s->paced = true;
        p.fd = -1;
    }
    return p;
}

void server_links_interest(struct server_links *s, struct pollfd slots[SERVER_LINKS],
                           uint64_t now_ms)
{
    s->paced = false;
    for (unsigned i = 0; i < SERVER_LINKS; i++) {
        slots[i] = link_interest(s, i, now_ms);
    }
}

uint64_t server_links_due(const struct server_links *s)
{
    return s->paced ? pace_next_ms(&s->pace) : UINT64_MAX;
}
