/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and serves the connection to the API server, phase by phase (enum apilink_phase); see
 * apilink.h. If an attempt to connect fails, calls agent_api_failed; if an open connection fails,
 * calls agent_api_ended. Both calls pass the agent one line of text.
 */
#include "host/apiserver/apilink.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/report/log_catalogue.h"
#include "base/assert.h"
#include "base/time.h"
#include "host/sockets.h"
#include "host/system.h"

void apilink_init(struct apilink *l, struct agent *agent, const struct settings *settings)
{
    ASSERT(agent != NULL && settings != NULL);
    l->agent = agent;
    l->settings = settings;
    l->phase = APILINK_IDLE;
    l->fd = -1;
    l->resolver.fd = -1;
}

static void socket_close(struct apilink *l)
{
    if (l->tls) {
        tls_end();
        l->tls = false;
    }
    if (l->fd >= 0) {
        (void)close(l->fd);
        l->fd = -1;
    }
}

void apilink_close(struct apilink *l)
{
    socket_close(l);
    resolver_end(&l->resolver);
    credentials_wipe(&l->credentials);
    l->phase = APILINK_IDLE;
    l->unsent = 0;
    l->read_wants_write = false;
}

/*
 * Ends the attempt to connect to the API server and reports "<doing> <authority>: <reason>" to the
 * agent. If `doing` is empty, reports only the reason.
 */
static void fail_attempt(struct apilink *l, enum status status, const char *doing,
                         struct view reason, uint64_t now_ms)
{
    char text[HOST_TEXT_CAP];
    struct writer w = writer_of(text, sizeof text - 1u);
    ASSERT(status != STATUS_OK && status != STATUS_MORE);
    if (doing[0] != '\0') {
        WRITE(&w, "% %: ", TEXT(doing), TEXT(l->credentials.authority));
    }
    writer_append(&w, view_first(reason, writer_room(&w)));
    text[w.len] = 0;
    l->turn++;
    apilink_close(l);
    agent_api_failed(l->agent, status, text, now_ms);
}

/* --- the TLS handshake with the API server --- */

static void report_opened(struct apilink *l, uint64_t now_ms)
{
    const struct credentials *c = &l->credentials;
    /* the open connection needs only the token, not the keys and certificates */
    credentials_wipe(&l->credentials);
    l->phase = APILINK_OPEN;
    l->worked = true;
    l->token_ms = now_ms + TOKEN_REFRESH_MS;
    agent_api_identity(l->agent, view_text(c->token), view_text(c->authority));
    agent_api_opened(l->agent, now_ms);
}

static void shake_turn(struct apilink *l, uint64_t now_ms)
{
    char text[HOST_TEXT_CAP];
    struct writer why = writer_of(text, sizeof text);
    enum status s = tls_handshake(&why);
    if (s == STATUS_MORE && now_ms >= l->attempt_ms) {
        fail_attempt(l, PEER_TIMEOUT, "TLS with", view_text("no complete handshake within 10 s"),
                     now_ms);
    } else if (s == STATUS_OK) {
        report_opened(l, now_ms);
    } else if (s != STATUS_MORE) {
        fail_attempt(l, s, "TLS with", writer_view(&why), now_ms);
    }
}

static void shake_start(struct apilink *l, uint64_t now_ms)
{
    char text[HOST_TEXT_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct tls_identity id = credentials_identity(&l->credentials);
    id.with_tls12 = l->settings->tls_min == TLS_MIN_1_2;
    enum status s = tls_start(l->fd, &id, &why);
    if (s != STATUS_OK) {
        fail_attempt(l, s, "TLS with", writer_view(&why), now_ms);
        return;
    }
    l->tls = true;
    l->phase = APILINK_SHAKING;
    shake_turn(l, now_ms);
}

/* --- the TCP connection to the API server --- */

static void socket_tune(int fd)
{
    int on = 1;
    unsigned unacked = API_UNACKED_MS;
    /*
     * TCP_NODELAY avoids delays of small writes; TCP_USER_TIMEOUT ends the connection if the server
     * acknowledges no data for API_UNACKED_MS. Failures are ignored, because the connection works
     * without these options.
     */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof unacked);
}

/* Starts a TCP connection to one address. Returns false if connect(2) failed at once. */
static bool connect_start(struct apilink *l, const struct ip_address *a)
{
    l->fd = socket(a->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0) {
        l->error = errno;
        return false;
    }
    socket_tune(l->fd);
    if (address_connect(l->fd, a, l->credentials.port) != 0 && errno != EINPROGRESS) {
        l->error = errno;
        socket_close(l);
        return false;
    }
    return true;
}

static enum status connect_status(int error)
{
    if (error == ETIMEDOUT) {
        return PEER_TIMEOUT;
    }
    return (error == ECONNREFUSED) ? PEER_REFUSED : HOST_IO;
}

/*
 * Tries the remaining addresses in turn until connect(2) to one of them starts. Divides the time
 * left equally among the remaining addresses.
 */
static void connect_next(struct apilink *l, uint64_t now_ms)
{
    const struct ip_addresses *found = &l->resolver.found;
    bool started = false;
    while (l->next < found->count && !started) {
        uint64_t left = (l->attempt_ms > now_ms) ? l->attempt_ms - now_ms : 0u;
        l->address_ms = now_ms + left / (found->count - l->next);
        l->address = found->address[(l->first + l->next) % found->count];
        started = connect_start(l, &l->address);
        l->next++;
    }
    if (started) {
        l->phase = APILINK_CONNECTING;
        return;
    }
    char text[ERRNO_WORDS_CAP];
    struct view reason = view_text(errno_words(l->error, text));
    fail_attempt(l, connect_status(l->error), "connect to", reason, now_ms);
}

static void connect_turn(struct apilink *l, short revents, uint64_t now_ms)
{
    int error = ETIMEDOUT;
    socklen_t len = sizeof error;
    if (revents == 0 && now_ms < l->address_ms) {
        return;
    }
    if (revents != 0 && getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error == 0) {
        shake_start(l, now_ms);
        return;
    }
    l->error = error;
    socket_close(l);
    connect_next(l, now_ms);
}

/* --- the addresses of the API server's name --- */

static const char *resolve_words(enum status s)
{
    if (s == PEER_MALFORMED) {
        return "not a host name; correct the kubeconfig's server";
    }
    if (s == PEER_NOT_FOUND) {
        return "the name has no address; use the right name or an IP address in the kubeconfig's "
               "server";
    }
    if (s == PEER_TIMEOUT) {
        return "no name server gave an address; use an IP address in the kubeconfig's server";
    }
    return "no socket for a DNS query could be opened";
}

/*
 * Returns the index of the first address to try. If the last attempt succeeded and its address is
 * still in the list, starts with that address. Otherwise uses l->turn modulo the number of
 * addresses; each failed attempt advances l->turn.
 */
static unsigned first_address(const struct apilink *l)
{
    const struct ip_addresses *found = &l->resolver.found;
    ASSERT(found->count > 0u);
    for (unsigned i = 0; i < found->count && l->worked; i++) {
        if (ip_equal(&found->address[i], &l->address)) {
            return i;
        }
    }
    return l->turn % found->count;
}

static void handle_resolved(struct apilink *l, enum status s, uint64_t now_ms)
{
    if (s == STATUS_MORE) {
        l->phase = APILINK_RESOLVING;
    } else if (s == STATUS_OK) {
        l->first = first_address(l);
        l->worked = false; /* report_opened sets `worked` again if this attempt succeeds */
        l->next = 0;
        connect_next(l, now_ms);
    } else {
        fail_attempt(l, s, "resolve", view_text(resolve_words(s)), now_ms);
    }
}

void apilink_start(struct apilink *l, uint64_t now_ms)
{
    char text[HOST_TEXT_CAP];
    struct writer why = writer_of(text, sizeof text);
    apilink_close(l);
    l->attempt_ms = now_ms + API_CONNECT_MS;
    l->error = ETIMEDOUT;
    enum status s = credentials_load(&l->credentials, l->settings->kubeconfig, &why);
    if (s != STATUS_OK) {
        fail_attempt(l, s, "", writer_view(&why), now_ms);
        return;
    }
    s = resolver_start(&l->resolver, view_text(l->credentials.host), now_ms);
    handle_resolved(l, s, now_ms);
}

/* --- the open connection --- */

static void report_lost(struct apilink *l)
{
    char text[HOST_TEXT_CAP];
    struct writer why = writer_of(text, sizeof text - 1u);
    tls_explain(&why);
    text[why.len] = 0;
    apilink_close(l);
    agent_api_ended(l->agent, text);
}

/*
 * Advances read_us by the time that a read of `bytes` bytes is charged (API_READ_US). If the server
 * sends without pause, read_us runs ahead of the clock.
 */
static void count_read(struct apilink *l, uint64_t now_ms, size_t bytes)
{
    uint64_t now_us = now_ms * 1000u;
    uint64_t cost_us = API_READ_US + (uint64_t)bytes / API_READ_BYTES_PER_US;
    l->read_us = ((l->read_us > now_us) ? l->read_us : now_us) + cost_us;
}

/*
 * Reads the TLS records that arrived with one read of the socket, as long as the agent has buffer
 * space for them; the next turn of the main loop reads the remaining records.
 */
static enum status read_records(struct writer *w, size_t *got)
{
    enum status s = STATUS_OK;
    bool more = true;
    for (unsigned i = 0; i < API_READS_PER_TURN && more; i++) {
        size_t at = w->len + *got;
        size_t n = 0;
        s = tls_read(&w->data[at], w->cap - at, &n);
        *got += (s == STATUS_OK) ? n : 0u;
        ASSERT(*got <= writer_room(w));
        more = s == STATUS_OK && *got < writer_room(w) && tls_pending() > 0u;
    }
    return s;
}

/* Reads from TLS once, if the agent has buffer space, and passes the bytes to the agent. */
static void read_once(struct apilink *l, uint64_t now_ms)
{
    struct writer w = agent_link_rx(l->agent, LINK_API);
    size_t n = 0;
    if (writer_room(&w) == 0u) {
        return;
    }
    enum status s = read_records(&w, &n);
    count_read(l, now_ms, n);
    if (n > 0u) {
        agent_link_rx_commit(l->agent, LINK_API, n);
    }
    l->read_wants_write = s == STATUS_MORE && (tls_wants() & (unsigned)TLS_WANTS_WRITE) != 0u;
    if (s != STATUS_OK && s != STATUS_MORE) {
        report_lost(l);
    }
}

void apilink_read_token(struct apilink *l)
{
    char text[HOST_TEXT_CAP];
    struct writer why = writer_of(text, sizeof text - 1u);
    bool changed = false;
    enum status s = credentials_refresh(&l->credentials, &changed, &why);
    if (s != STATUS_OK && !l->token_trouble) {
        text[why.len] = 0;
        agent_host_log(l->agent, LOG_ID_TOKEN_READ_FAILED, text);
    }
    l->token_trouble = s != STATUS_OK;
    agent_api_identity(l->agent, view_text(l->credentials.token),
                       view_text(l->credentials.authority));
}

static void open_turn(struct apilink *l, short revents, uint64_t now_ms)
{
    bool more = (revents & (POLLIN | POLLOUT | POLLHUP | POLLERR)) != 0 || tls_pending() > 0u;
    struct writer room = agent_link_rx(l->agent, LINK_API);
    if (writer_room(&room) == 0u && (revents & (POLLHUP | POLLERR)) != 0) {
        /*
         * Report the loss now, even if TLS still has bytes for which the agent has no buffer space.
         * Otherwise poll(2) would report the broken connection in each turn of the main loop.
         */
        report_lost(l);
        return;
    }
    if (more && !l->slow) {
        read_once(l, now_ms);
    }
    if (l->phase == APILINK_OPEN && now_ms >= l->token_ms) {
        l->token_ms = now_ms + TOKEN_REFRESH_MS;
        apilink_read_token(l);
    }
}

bool apilink_write(struct apilink *l)
{
    if (l->phase != APILINK_OPEN) {
        return false;
    }
    struct view tx = agent_link_tx(l->agent, LINK_API);
    size_t n = 0;
    if (tx.len == 0u) {
        return false;
    }
    ASSERT(l->unsent <= tx.len);
    struct view piece = (l->unsent > 0u) ? view_first(tx, l->unsent) : tx;
    enum status s = tls_write(piece, &n);
    l->unsent = (s == STATUS_MORE) ? piece.len : 0u;
    if (s == STATUS_OK) {
        ASSERT(n > 0u && n <= piece.len);
        agent_link_tx_commit(l->agent, LINK_API, n);
    } else if (s != STATUS_MORE) {
        report_lost(l);
    }
    return s == STATUS_OK;
}

void apilink_end(struct apilink *l)
{
    bool moved = true;
    for (unsigned i = 0; i < API_WRITES_AT_END && moved; i++) {
        moved = apilink_write(l);
    }
    apilink_close(l);
}

/* --- the events for which poll(2) waits --- */

static short open_events(const struct apilink *l)
{
    struct writer room = agent_link_rx(l->agent, LINK_API);
    bool out = agent_link_tx(l->agent, LINK_API).len > 0u || l->read_wants_write;
    short events = (writer_room(&room) > 0u && !l->slow) ? POLLIN : 0;
    events |= out ? POLLOUT : 0;
    return events;
}

static short shaking_events(const struct apilink *l)
{
    if ((tls_wants() & (unsigned)TLS_WANTS_WRITE) != 0u) {
        return POLLOUT;
    }
    if (l->slow) {
        return 0;
    }
    return POLLIN;
}

int apilink_interest(struct apilink *l, short *events)
{
    *events = 0;
    switch (l->phase) {
    case APILINK_RESOLVING:
        *events = POLLIN;
        return l->resolver.fd;
    case APILINK_CONNECTING:
        *events = POLLOUT;
        return l->fd;
    case APILINK_SHAKING:
        *events = shaking_events(l);
        return l->fd;
    case APILINK_OPEN:
        *events = open_events(l);
        return l->fd;
    case APILINK_IDLE:
        break;
    }
    return -1;
}

/*
 * Continues the TLS handshake. While reads are paused because the server sent too fast, returns at
 * once, unless the deadline of the attempt has passed.
 */
static void shake_on(struct apilink *l, uint64_t now_ms)
{
    if (l->slow && now_ms < l->attempt_ms) {
        return;
    }
    /*
     * An estimate, because the number of bytes is not known here: each turn of the handshake counts
     * as a read of one TLS record of maximum size.
     */
    count_read(l, now_ms, H2_FRAME_MAX);
    shake_turn(l, now_ms);
}

void apilink_turn(struct apilink *l, short revents, uint64_t now_ms)
{
    l->slow = l->read_us > (now_ms + API_READ_BURST_MS) * 1000u;
    switch (l->phase) {
    case APILINK_RESOLVING:
        handle_resolved(l, resolver_step(&l->resolver, now_ms), now_ms);
        break;
    case APILINK_CONNECTING:
        connect_turn(l, revents, now_ms);
        break;
    case APILINK_SHAKING:
        shake_on(l, now_ms);
        break;
    case APILINK_OPEN:
        open_turn(l, revents, now_ms);
        break;
    case APILINK_IDLE:
        break;
    }
}

bool apilink_eager(struct apilink *l)
{
    if (!l->tls || l->slow) {
        return false;
    }
    if (l->phase != APILINK_OPEN) {
        /*
         * The handshake can continue without a new event if TLS still has received bytes, or if the
         * last step of the handshake asked for another turn.
         */
        return tls_pending() > 0u || (tls_wants() & (unsigned)TLS_WANTS_TURN) != 0u;
    }
    if (tls_pending() == 0u) {
        return false;
    }
    struct writer room = agent_link_rx(l->agent, LINK_API);
    return writer_room(&room) > 0u;
}

/*
 * Returns the time by which apilink_turn must be called again: normally `at_ms`. While reads are
 * paused because the server sent too fast, returns the time when they may resume, if that is
 * earlier.
 */
static uint64_t slowed_deadline(const struct apilink *l, uint64_t at_ms)
{
    uint64_t read_ms = (l->read_us + 999u) / 1000u - API_READ_BURST_MS;
    return l->slow ? earlier(read_ms, at_ms) : at_ms;
}

uint64_t apilink_deadline(const struct apilink *l)
{
    switch (l->phase) {
    case APILINK_RESOLVING:
        return l->resolver.try_ms;
    case APILINK_CONNECTING:
        return l->address_ms;
    case APILINK_SHAKING:
        return slowed_deadline(l, l->attempt_ms);
    case APILINK_OPEN:
        return slowed_deadline(l, l->token_ms);
    case APILINK_IDLE:
        break;
    }
    return UINT64_MAX;
}
