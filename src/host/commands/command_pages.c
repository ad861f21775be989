/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pages from the agent's metrics port for the commands, over HTTP/1.1 and with a time limit.
 * Holds no state.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/commands/commands_internal.h"
#include "host/sockets.h"
#include "host/system.h"

/*
 * Time limit for connecting and reading a page. The agent normally responds much faster, within one
 * turn of its loop.
 */
#define PAGE_MAX_MS 5000u

/* A page of the agent that is being read. */
struct page {
    int fd;
    uint64_t end_ms;
    int sink;      /* descriptor for the body; -1: the body stays in `bytes` */
    unsigned code; /* HTTP status code; 0: no complete head was received yet */
    bool only_ok;  /* only a response with status code 200 is written to the sink */
    struct chunks chunks; /* progress in the body */
    struct writer bytes;
};

/*
 * Waits until the socket has one of the events. Returns 0 or an errno; ETIMEDOUT: the time limit
 * has passed.
 */
static int page_wait(const struct page *p, short events)
{
    uint64_t now_ms = clock_now_ms();
    struct pollfd wait = {.fd = p->fd, .events = events};
    uint64_t left_ms = (now_ms < p->end_ms) ? p->end_ms - now_ms : 0u;
    int ready = poll(&wait, 1, (int)left_ms);
    return (ready == 1) ? 0 : ((ready == 0) ? ETIMEDOUT : errno);
}

/* Opens a socket and starts to connect to the agent's metrics port. Returns 0 or an errno. */
static int page_socket(struct page *p, const struct settings *s)
{
    struct ip_address address;
    const char *text = (s->metrics_address[0] != '\0') ? s->metrics_address : "127.0.0.1";
    if (!ip_parse(view_text(text), &address)) {
        return EINVAL;
    }
    p->fd = socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool connects =
        p->fd >= 0 &&
        (address_connect(p->fd, &address, (uint16_t)s->metrics_port) == 0 || errno == EINPROGRESS);
    return connects ? 0 : errno;
}

static int page_connect(struct page *p, const struct settings *s)
{
    int refused = 0;
    socklen_t len = sizeof refused;
    int error = page_socket(p, s);
    error = (error == 0) ? page_wait(p, POLLOUT) : error;
    if (error == 0 && getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &refused, &len) != 0) {
        error = errno;
    }
    return (error == 0) ? refused : error;
}

static int page_ask(const struct page *p, const char *path)
{
    uint8_t bytes[96];
    struct writer request = writer_of(bytes, sizeof bytes);
    int error = 0;
    WRITE(&request, "GET % HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n", TEXT(path));
    ASSERT(!request.full);
    enum status s = descriptor_write(p->fd, writer_view(&request), -1, &error);
    return (s == STATUS_OK) ? 0 : error;
}

/*
 * Parses the response head if that has not been done yet, then writes the received body bytes to
 * the sink, if there is one. Returns 0 or an errno.
 */
static int page_pass(struct page *p)
{
    int error = 0;
    struct view body = writer_view(&p->bytes);
    size_t head = 0;
    if (p->code == 0u) {
        p->code = command_response(writer_view(&p->bytes), &body);
        head = p->bytes.len - body.len;
        p->chunks = command_chunks_begin(view_first(writer_view(&p->bytes), head));
    }
    /* the content takes the place of the chunks, after the head */
    body.len = command_chunks(&p->chunks, &p->bytes.data[head], body.len);
    p->bytes.len = head + body.len;
    if (p->chunks.bad) {
        return EPROTO;
    }
    if (p->sink < 0 || p->code == HTTP_NOT_FOUND || (p->only_ok && p->code != HTTP_OK)) {
        return 0;
    }
    p->bytes.len = 0;
    /* escape the body: another program on the port must not control the terminal */
    if (p->only_ok) {
        struct writer discarded = writer_of(NULL, 0);
        return (commands_write(p->sink, body, false, &discarded) == STATUS_OK) ? 0 : EIO;
    }
    enum status s = descriptor_write(p->sink, body, -1, &error);
    return (s == STATUS_OK) ? 0 : error;
}

/*
 * Waits for bytes of the response, then reads once. *end: the peer has closed the connection.
 * Returns 0 or an errno.
 */
static int page_read_some(struct page *p, bool *end)
{
    int error = page_wait(p, POLLIN);
    if (error != 0) {
        return error;
    }
    ssize_t n = read(p->fd, &p->bytes.data[p->bytes.len], writer_room(&p->bytes));
    *end = n <= 0;
    p->bytes.len += (n > 0) ? (size_t)n : 0u;
    return (n < 0) ? errno : 0;
}

/*
 * Reads until the peer closes the connection, or `bytes` is full and does not go to the sink.
 * Returns 0 or an errno.
 */
static int page_read(struct page *p)
{
    int error = 0;
    bool end = false;
    /* The time limit bounds this loop: each iteration reads bytes or waits. */
    while (!end && error == 0) {
        error = (clock_now_ms() < p->end_ms) ? page_read_some(p, &end) : ETIMEDOUT;
        bool full = writer_room(&p->bytes) == 0u;
        if (error == 0 && (end || full)) {
            error = page_pass(p);
            end = end || p->bytes.len > 0u;
        }
    }
    return error;
}

static void page_failed(const struct settings *s, const char *path, int error, struct writer *why)
{
    WRITE(why, "no agent responds to % at port %: %; is it running here, with this --metrics-port?",
          TEXT(path), NUMBER((uint64_t)s->metrics_port), ERRNO(error));
}

/* Requests and reads the page. Returns its HTTP status code; 0: `why` gets one line. */
static unsigned page_run(struct command_memory *m, const char *path, struct page *p,
                         struct writer *why)
{
    if (m->settings->metrics_port <= 0) {
        WRITE(why, "--metrics-port must be the agent's port, from 1 on: % is asked there",
              TEXT(path));
        return 0;
    }
    p->bytes = writer_of(m->cdi[0], sizeof m->cdi[0]);
    p->end_ms = clock_now_ms() + PAGE_MAX_MS;
    int error = page_connect(p, m->settings);
    error = (error == 0) ? page_ask(p, path) : error;
    error = (error == 0) ? page_read(p) : error;
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    if (error != 0 || p->code == 0u) {
        page_failed(m->settings, path, (error == 0) ? EPROTO : error, why);
        return 0;
    }
    if (p->sink >= 0 && !p->chunks.over && !p->chunks.plain) {
        WRITE(why,
              "the agent at port % broke off % before its end, because what it shows changed, or "
              "the agent was busy or stopped; run the command again",
              NUMBER((uint64_t)m->settings->metrics_port), TEXT(path));
        return 0;
    }
    return p->code;
}

unsigned page_get(struct command_memory *m, const char *path, struct view *body, struct writer *why)
{
    struct page p = {.fd = -1, .sink = -1};
    *body = view_of(NULL, 0);
    unsigned code = page_run(m, path, &p, why);
    return (code != 0u) ? command_response(writer_view(&p.bytes), body) : 0u;
}

enum status page_copy(struct command_memory *m, const char *path, struct writer *why)
{
    struct page p = {.fd = -1, .sink = m->out_fd};
    unsigned code = page_run(m, path, &p, why);
    if (code == HTTP_NOT_FOUND) {
        WRITE(why,
              "the agent does not serve % here; it serves the log in its own pod alone, and older "
              "agents do not",
              TEXT(path));
    }
    return (code == 0u || code == HTTP_NOT_FOUND) ? HOST_ABSENT : STATUS_OK;
}

enum status page_copy_ok(struct command_memory *m, const char *path, bool *served,
                         struct writer *why)
{
    struct page p = {.fd = -1, .sink = m->out_fd, .only_ok = true};
    unsigned code = page_run(m, path, &p, why);
    struct view body = view_of(NULL, 0);
    *served = p.code == HTTP_OK || p.code == HTTP_SERVICE_UNAVAILABLE;
    if (code == HTTP_SERVICE_UNAVAILABLE) {
        (void)command_response(writer_view(&p.bytes), &body);
        writer_shown(why, view_trim(body), HOST_TEXT_CAP);
    } else if (code != 0u && code != HTTP_OK) {
        WRITE(why, "the agent at port % does not serve %: status %",
              NUMBER((uint64_t)m->settings->metrics_port), TEXT(path), NUMBER(code));
    }
    return (code == HTTP_OK) ? STATUS_OK : HOST_ABSENT;
}
