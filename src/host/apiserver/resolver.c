/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DNS stub resolver for one name at a time. Each try sends the A and the AAAA query to one
 * server, from a new socket and with new query ids, so that the local port and the ids differ from
 * those of the last try (RFC 5452 §4).
 */
#include "host/apiserver/resolver.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/chars.h"
#include "host/sockets.h"
#include "host/system.h"

#define DNS_PORT 53u
#define ANSWERED_A 1u
#define ANSWERED_AAAA 2u
#define ANSWERED_ALL 3u

/* --- lines of /etc/hosts and /etc/resolv.conf --- */

/*
 * Removes the first word from `rest` and returns it; empty: the line has ended, or a comment
 * starts.
 */
static struct view word_next(struct view *rest)
{
    struct view v = view_trim(*rest);
    size_t len = 0;
    while (len < v.len && v.data[len] != ' ' && v.data[len] != '\t' && v.data[len] != '#') {
        len++;
    }
    *rest = view_from(v, len);
    return view_first(v, len);
}

static struct view line_next(struct view *rest)
{
    size_t len = view_find(*rest, '\n');
    struct view line = view_first(*rest, len);
    *rest = view_from(*rest, len + 1u);
    return line;
}

static bool same_name(struct view a, const char *b)
{
    size_t len = strlen(b);
    if (a.len != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (to_lower(a.data[i]) != to_lower((uint8_t)b[i])) {
            return false;
        }
    }
    return true;
}

static void address_add(struct ip_addresses *list, const struct ip_address *a)
{
    if (list->count < API_ADDRESSES_MAX) {
        list->address[list->count] = *a;
        list->count++;
    }
}

/* Adds the address in a line of /etc/hosts (hosts(5)) if the line contains the wanted name. */
static void hosts_line(struct resolver *r, struct view line)
{
    struct ip_address a;
    if (!ip_parse(word_next(&line), &a)) {
        return;
    }
    struct view name = word_next(&line);
    while (name.len > 0u) {
        if (same_name(name, r->name)) {
            address_add(&r->found, &a);
            return;
        }
        name = word_next(&line);
    }
}

/* Adds the server in a "nameserver" line of resolv.conf(5); ignores all other lines. */
static void servers_line(struct resolver *r, struct view line)
{
    struct ip_address a;
    if (!view_is(word_next(&line), "nameserver") || !ip_parse(word_next(&line), &a)) {
        return;
    }
    if (r->servers < NAMESERVERS_MAX) {
        r->server[r->servers] = a;
        r->servers++;
    }
}

static void file_lines(struct resolver *r, const char *path,
                       void (*take)(struct resolver *, struct view))
{
    struct writer text = writer_of(r->file, sizeof r->file);
    int error = 0;
    if (file_read_start(path, &text, &error) != STATUS_OK) {
        return; /* the file cannot be read, so the caller uses the next source of addresses */
    }
    struct view rest = writer_view(&text);
    while (rest.len > 0u) {
        take(r, line_next(&rest));
    }
}

/* --- DNS queries --- */

static enum status query_send(const struct resolver *r, uint16_t id, enum dns_type type)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    struct writer w = writer_of(bytes, sizeof bytes);
    enum status s = dns_query(&w, id, type, view_text(r->name));
    if (s != STATUS_OK) {
        return s;
    }
    /* A failed send is treated like a lost datagram, so the next server is tried at r->try_ms. */
    (void)send(r->fd, w.data, w.len, MSG_NOSIGNAL);
    return STATUS_OK;
}

/*
 * Sends the A and the AAAA query to the next name server of the list. PEER_TIMEOUT: DNS_TRIES_MAX
 * tries have failed.
 */
static enum status try_next(struct resolver *r, uint64_t now_ms)
{
    resolver_end(r);
    if (r->tries >= DNS_TRIES_MAX) {
        return PEER_TIMEOUT;
    }
    const struct ip_address *server = &r->server[r->tries % r->servers];
    r->tries++;
    r->try_ms = now_ms + DNS_TRY_MS;
    r->answered = 0;
    r->refused = false;
    r->found.count = 0;
    r->id = (uint16_t)random_seed();
    r->fd = socket(server->v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->fd < 0) {
        return errno_status(errno);
    }
    if (address_connect(r->fd, server, DNS_PORT) != 0) {
        /*
         * there is no route to this name server, so the next call of resolver_step tries the next
         * server
         */
        r->try_ms = now_ms;
        return STATUS_MORE;
    }
    enum status s = query_send(r, r->id, DNS_A);
    if (s == STATUS_OK) {
        s = query_send(r, (uint16_t)(r->id + 1u), DNS_AAAA);
    }
    return (s == STATUS_OK) ? STATUS_MORE : s;
}

enum status resolver_start(struct resolver *r, struct view host, uint64_t now_ms)
{
    static const struct ip_address loopback = {.v6 = false, .bytes = {127, 0, 0, 1}};
    struct ip_address literal;
    resolver_end(r);
    r->found.count = 0;
    r->servers = 0;
    r->tries = 0;
    if (text_copy(r->name, sizeof r->name, host) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    if (ip_parse(host, &literal)) {
        address_add(&r->found, &literal);
        return STATUS_OK;
    }
    file_lines(r, "/etc/hosts", hosts_line);
    if (r->found.count == 0u && same_name(host, "localhost")) {
        address_add(&r->found, &loopback);
    }
    if (r->found.count > 0u) {
        return STATUS_OK;
    }
    file_lines(r, "/etc/resolv.conf", servers_line);
    if (r->servers == 0u) {
        /* resolv.conf(5): without a nameserver line, the server is the local machine. */
        r->server[0] = loopback;
        r->servers = 1;
    }
    return try_next(r, now_ms);
}

/*
 * Evaluates a datagram as the response to the query of type `type`; ignores the datagram if its id
 * or its name differs from that of the query.
 */
static void answer_note(struct resolver *r, struct view message, enum dns_type type)
{
    unsigned bit = (type == DNS_A) ? ANSWERED_A : ANSWERED_AAAA;
    uint16_t id = (type == DNS_A) ? r->id : (uint16_t)(r->id + 1u);
    enum status s = dns_answer(message, id, type, view_text(r->name), &r->found);
    if (s != STATUS_MORE) {
        r->answered |= bit;
        r->refused = r->refused || (s != STATUS_OK && s != PEER_NOT_FOUND);
    }
}

/*
 * Reads one datagram from the name server; false: no datagram has arrived. A failed socket counts
 * as an error response to both queries.
 */
static bool read_answer(struct resolver *r)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    ssize_t n = read(r->fd, bytes, sizeof bytes);
    if (n < 0) {
        bool later = errno == EAGAIN || errno == EINTR;
        r->refused = r->refused || !later;
        r->answered |= later ? 0u : ANSWERED_ALL;
        return false;
    }
    answer_note(r, view_of(bytes, (size_t)n), DNS_A);
    answer_note(r, view_of(bytes, (size_t)n), DNS_AAAA);
    return true;
}

enum status resolver_step(struct resolver *r, uint64_t now_ms)
{
    bool more = true;
    ASSERT(r->fd >= 0 && r->servers > 0u);
    /*
     * Two responses are expected; the limit leaves excess datagrams to the next turn of the main
     * loop.
     */
    for (unsigned i = 0; i < DNS_DATAGRAMS_PER_STEP && more && r->answered != ANSWERED_ALL; i++) {
        more = read_answer(r);
    }
    if (r->answered != ANSWERED_ALL && now_ms < r->try_ms) {
        return STATUS_MORE;
    }
    if (r->found.count > 0u) {
        resolver_end(r);
        return STATUS_OK;
    }
    if (r->answered == ANSWERED_ALL && !r->refused) {
        resolver_end(r);
        return PEER_NOT_FOUND;
    }
    return try_next(r, now_ms);
}

void resolver_end(struct resolver *r)
{
    if (r->fd >= 0) {
        (void)close(r->fd);
        r->fd = -1;
    }
    ASSERT(r->fd == -1);
}
