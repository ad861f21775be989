/* SPDX-License-Identifier: Apache-2.0 */
/* Manages accepted TCP connections that have no link in the agent; see pending.h. */
#include "host/pending.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/time.h"

void pending_init(struct pending *p)
{
    p->used = 0;
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        p->link[i] = (struct pending_link){.fd = -1};
    }
}

static void entry_free(struct pending *p, struct pending_link *l)
{
    ASSERT(l->fd >= 0 && p->used > 0u);
    *l = (struct pending_link){.fd = -1};
    p->used--;
}

static void entry_close(struct pending *p, struct pending_link *l)
{
    int fd = l->fd;
    entry_free(p, l);
    (void)close(fd);
}

/* Fills an entry with a connection, and closes the one that it replaces. */
static void entry_fill(struct pending *p, struct pending_link *l, struct pending_link with)
{
    if (l->fd >= 0) {
        entry_close(p, l);
    }
    *l = with;
    p->used++;
}

/* --- entries of the table of pending connections --- */

static bool is_older(const struct pending_link *l, const struct pending_link *than)
{
    return than == NULL || l->since_ms < than->since_ms;
}

/*
 * Returns the oldest pending connection with these values of `heard` and `closing`; NULL: there is
 * none.
 */
static struct pending_link *find_oldest(struct pending *p, bool heard, bool closing)
{
    struct pending_link *found = NULL;
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        struct pending_link *l = &p->link[i];
        bool fits = l->fd >= 0 && l->heard == heard && l->closing == closing;
        found = (fits && is_older(l, found)) ? l : found;
    }
    return found;
}

static struct pending_link *free_entry(struct pending *p)
{
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        if (p->link[i].fd < 0) {
            return &p->link[i];
        }
    }
    return NULL;
}

/*
 * Returns the entry for a new connection: a free entry; or else the entry of the oldest silent
 * connection, if its peer has been silent for STRANGER_ROUND_MS; or else the entry of the oldest
 * closing connection. NULL: no connection may be replaced.
 */
static struct pending_link *entry_for(struct pending *p, uint64_t now_ms)
{
    struct pending_link *l = free_entry(p);
    if (l != NULL) {
        return l;
    }
    l = find_oldest(p, false, false);
    bool silent = l != NULL && now_ms >= l->since_ms + STRANGER_ROUND_MS;
    return silent ? l : find_oldest(p, false, true);
}

bool pending_room(struct pending *p, uint64_t now_ms)
{
    return entry_for(p, now_ms) != NULL;
}

void pending_add(struct pending *p, int fd, uint32_t peer, uint64_t now_ms)
{
    struct pending_link *l = entry_for(p, now_ms);
    ASSERT(fd >= 0 && l != NULL);
    entry_fill(p, l, (struct pending_link){.fd = fd, .peer = peer, .since_ms = now_ms});
}

void pending_linger(struct pending *p, int fd, uint64_t now_ms)
{
    unsigned closing = 0;
    ASSERT(fd >= 0);
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        closing += p->link[i].closing ? 1u : 0u;
    }
    struct pending_link *l =
        (closing < PENDING_CLOSING) ? free_entry(p) : find_oldest(p, false, true);
    if (l == NULL || shutdown(fd, SHUT_WR) != 0) {
        (void)close(fd);
        return;
    }
    entry_fill(p, l, (struct pending_link){.fd = fd, .since_ms = now_ms, .closing = true});
}

struct pending_link pending_remove(struct pending *p, unsigned i)
{
    ASSERT(i < PENDING_LINKS && p->link[i].fd >= 0 && !p->link[i].closing);
    struct pending_link l = p->link[i];
    entry_free(p, &p->link[i]);
    return l;
}

bool pending_waits(const struct pending *p, bool heard)
{
    bool waits = false;
    for (unsigned i = 0; i < PENDING_LINKS && p->used > 0u; i++) {
        const struct pending_link *l = &p->link[i];
        waits = waits || (l->fd >= 0 && !l->closing && l->heard == heard);
    }
    return waits;
}

/* --- input of pending connections --- */

void pending_interest(const struct pending *p, struct pollfd slots[PENDING_LINKS])
{
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        const struct pending_link *l = &p->link[i];
        /*
         * Do not poll a connection whose peer has sent something, because the connection already
         * waits for a link, and more input would wake the main loop without need.
         */
        slots[i] = (struct pollfd){.fd = l->heard ? -1 : l->fd, .events = POLLIN};
    }
}

/*
 * Reads once from a closing connection and drops the input. Returns false if the peer has closed
 * the connection or the read failed.
 */
static bool drop_input(const struct pending_link *l)
{
    uint8_t bytes[PENDING_DROP_BYTES];
    ssize_t n = read(l->fd, bytes, sizeof bytes);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/*
 * Sets l->heard if the peer has sent something; leaves the input unread. Returns false if the
 * connection is closed or broken and has no input, so that it needs no link.
 */
static bool check_input(struct pending_link *l)
{
    uint8_t byte = 0;
    ssize_t n = recv(l->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    l->heard = n > 0;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static uint64_t over_ms(const struct pending_link *l)
{
    return l->since_ms + (l->closing ? LINK_CLOSE_MS : PENDING_MS);
}

void pending_handle(struct pending *p, const struct pollfd slots[PENDING_LINKS], uint64_t now_ms)
{
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        struct pending_link *l = &p->link[i];
        bool something = l->fd >= 0 && slots[i].fd == l->fd && slots[i].revents != 0;
        bool goes_on = true;
        if (something) {
            goes_on = l->closing ? drop_input(l) : check_input(l);
        }
        if (l->fd >= 0 && (!goes_on || now_ms >= over_ms(l))) {
            entry_close(p, l);
        }
    }
}

uint64_t pending_due(const struct pending *p)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < PENDING_LINKS && p->used > 0u; i++) {
        at = (p->link[i].fd >= 0) ? earlier(at, over_ms(&p->link[i])) : at;
    }
    return at;
}

void pending_close(struct pending *p)
{
    for (unsigned i = 0; i < PENDING_LINKS; i++) {
        if (p->link[i].fd >= 0) {
            entry_close(p, &p->link[i]);
        }
    }
}
