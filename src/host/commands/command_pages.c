/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pages from the agent's metrics port for the commands, over HTTP/1.1 and with a time limit.
 * Repeats the request if a page ends early. Holds no state.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "host/commands/commands_internal.h"
#include "host/sockets.h"
#include "host/system.h"

/* A page of the agent that is being read. */
struct page {
    const char *path;
    int fd;
    uint64_t end_ms;
    /*
     * descriptor to which the body is written, unless the status code is 404; -1: the body stays in
     * m->page
     */
    int sink;
    size_t sunk;         /* number of bytes written to `sink` */
    bool write_failed;   /* a write to `sink` failed, and `why` has a line about the failure */
    struct writer bytes; /* received bytes of the response that are not parsed yet */
    struct writer body;  /* the body, if `sink` is -1 */
    struct page_response response;
    struct writer *why;
};

/* Result of a request if the page ended before its last chunk; any other failure is an errno. */
#define PAGE_CUT ECONNRESET

/*
 * Waits until the socket of the page has one of the events `events`. Returns 0 or an errno;
 * ETIMEDOUT: the time limit has passed.
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

/*
 * Sends the HTTP request. It asks the agent to close the connection after the page, so that the
 * agent's link becomes free. Returns 0 or an errno.
 */
static int page_ask(const struct page *p)
{
    uint8_t bytes[96];
    struct writer request = writer_of(bytes, sizeof bytes);
    WRITE(&request, "GET % HTTP/1.1\r\nHost: " AGENT_NAME "\r\nConnection: close\r\n\r\n",
          TEXT(p->path));
    ASSERT(!request.full);
    /*
     * an agent without a free link may have closed the connection; send must not raise SIGPIPE then
     */
    ssize_t n = send(p->fd, request.data, request.len, MSG_NOSIGNAL);
    return (n == (ssize_t)request.len) ? 0 : ((n < 0 && errno != EPIPE) ? errno : PAGE_CUT);
}

/*
 * Writes a piece of the body to `sink`. Extends the time limit by the duration of this write,
 * because the limit is only for the time in which the agent responds.
 */
static int page_sink(struct page *p, struct view piece)
{
    uint64_t begin_ms = clock_now_ms();
    if (piece.len > BUNDLE_FILE_BYTES_MAX - p->sunk) {
        return EFBIG;
    }
    p->sunk += piece.len;
    p->write_failed = output_write(p->sink, piece, p->why) != STATUS_OK;
    p->end_ms += clock_now_ms() - begin_ms;
    return p->write_failed ? EIO : 0;
}

/*
 * Keeps a piece of the body: writes it to `sink`, or appends it to p->body. Returns 0 or an errno.
 */
static int page_keep(struct page *p, struct view piece)
{
    if (p->sink >= 0 && p->response.code != HTTP_NOT_FOUND) {
        return page_sink(p, piece);
    }
    if (piece.len > writer_room(&p->body)) {
        return EFBIG;
    }
    writer_append(&p->body, piece);
    return 0;
}

/*
 * Parses the received bytes of the response, and keeps the pieces of the body among them. Returns 0
 * or an errno.
 */
static int page_parse(struct page *p)
{
    int error = 0;
    struct view rest = writer_view(&p->bytes);
    struct view piece = command_response(&p->response, &rest);
    while (piece.len > 0u && error == 0) {
        error = page_keep(p, piece);
        piece = command_response(&p->response, &rest);
    }
    if (rest.len > 0u) {
        memmove(p->bytes.data, rest.data, rest.len);
    }
    p->bytes.len = rest.len;
    bool bad = p->response.stage == RESPONSE_BAD || writer_room(&p->bytes) == 0u;
    return (error == 0 && bad) ? EPROTO : error;
}

/*
 * Waits for bytes of the response, then reads once. *end: the agent has closed the connection.
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
 * Reads until the response is complete or the agent closes the connection. Returns 0 or an errno.
 */
static int page_read(struct page *p)
{
    int error = 0;
    bool end = false;
    /*
     * This loop ends at p->end_ms at the latest, because each iteration compares that time with the
     * clock.
     */
    while (!end && error == 0 && p->response.stage != RESPONSE_WHOLE) {
        error = (clock_now_ms() < p->end_ms) ? page_read_some(p, &end) : ETIMEDOUT;
        error = (error == 0) ? page_parse(p) : error;
    }
    return (error == 0 && !command_response_whole(&p->response)) ? PAGE_CUT : error;
}

/* Requests the page once and reads it. Returns 0 or an errno. */
static int page_try(struct command_memory *m, struct page *p)
{
    p->fd = -1;
    p->response = (struct page_response){.stage = RESPONSE_HEAD};
    p->bytes = writer_of(m->cdi[0], sizeof m->cdi[0]);
    p->body = writer_of(m->page, sizeof m->page);
    p->end_ms = clock_now_ms() + PAGE_MAX_MS;
    int error = page_connect(p, m->settings);
    error = (error == 0) ? page_ask(p) : error;
    error = (error == 0) ? page_read(p) : error;
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    return error;
}

/*
 * Prepares a new request after a page that ended early: waits, and empties the file `sink`. Returns
 * false if the file cannot be emptied.
 */
static bool page_again(struct page *p)
{
    (void)poll(NULL, 0, (int)PAGE_RETRY_MS);
    p->sunk = 0;
    p->write_failed =
        p->sink >= 0 && (ftruncate(p->sink, 0) != 0 || lseek(p->sink, 0, SEEK_SET) != 0);
    if (p->write_failed) {
        WRITE(p->why, "the file cannot be written: %", ERRNO(errno));
    }
    return !p->write_failed;
}

static void page_failed(const struct settings *s, const struct page *p, int error)
{
    if (p->write_failed) {
        return;
    }
    if (error == PAGE_CUT || error == EFBIG) {
        WRITE(p->why, "the agent at port % %: %", NUMBER((uint64_t)s->metrics_port),
              TEXT((error == EFBIG) ? "sends a page that is too long" : "ends a page early"),
              TEXT(p->path));
        writer_text(p->why, (error == EFBIG) ? "; check that --metrics-port is the agent's"
                                             : "; try again");
        return;
    }
    WRITE(p->why, "no agent responds to % at port %: ", TEXT(p->path),
          NUMBER((uint64_t)s->metrics_port));
    if (error == EPROTO) {
        writer_text(p->why,
                    "another program has this port; find it by ss -ltnp, and check --metrics-port");
    } else if (error == ETIMEDOUT) {
        WRITE(p->why, "%; if the agent runs here, it hangs: delete its pod", ERRNO(error));
    } else {
        WRITE(p->why, "%; check that the agent runs here, with this --metrics-port", ERRNO(error));
    }
}

/*
 * Requests and reads the page, and repeats this if the page ends early. Returns 0, or an errno
 * after p->why got one line. ECONNREFUSED: no agent runs, or the agent that runs serves no pages.
 */
static int page_run(struct command_memory *m, struct page *p)
{
    int error = PAGE_CUT;
    if (m->settings->metrics_port <= 0) {
        WRITE(p->why, "--metrics-port must be the agent's port, from 1 on: % is asked there",
              TEXT(p->path));
        return ECONNREFUSED;
    }
    for (unsigned i = 0; i <= PAGE_RETRIES_MAX && error == PAGE_CUT; i++) {
        bool ready = i == 0u || page_again(p);
        error = ready ? page_try(m, p) : EIO;
    }
    if (error != 0) {
        page_failed(m->settings, p, error);
    }
    return error;
}

unsigned page_get(struct command_memory *m, const char *path, struct view *body, struct writer *why)
{
    struct page p = {.path = path, .sink = -1, .why = why};
    int error = page_run(m, &p);
    *body = writer_view(&p.body);
    return (error == 0) ? p.response.code : 0u;
}

enum status page_copy(struct command_memory *m, const char *path, struct writer *why)
{
    struct page p = {.path = path, .sink = m->out_fd, .why = why};
    int error = page_run(m, &p);
    if (error == 0 && p.response.code == HTTP_NOT_FOUND) {
        WRITE(why,
              "the agent does not serve % here; it serves the log in its own pod alone, and older "
              "agents do not",
              TEXT(path));
    }
    return (error != 0 || p.response.code == HTTP_NOT_FOUND) ? HOST_ABSENT : STATUS_OK;
}

enum status page_print(struct command_memory *m, const char *path, bool *absent, struct writer *why)
{
    struct page p = {.path = path, .sink = -1, .why = why};
    int error = page_run(m, &p);
    unsigned code = p.response.code;
    *absent = error == ECONNREFUSED || (error == 0 && code == HTTP_NOT_FOUND);
    if (error == 0 && code == HTTP_OK) {
        /* escape the body, because another program on the port must not control the terminal */
        return commands_write(m->out_fd, writer_view(&p.body), false, why);
    }
    if (error == 0) {
        struct view reason = writer_view(&p.body);
        WRITE(why, "the agent at port % does not serve %: status %: %",
              NUMBER((uint64_t)m->settings->metrics_port), TEXT(path), NUMBER(code),
              SHOWN_LONG(view_first(reason, view_find(reason, '\n')), HOST_TEXT_CAP / 2u));
    }
    return HOST_ABSENT;
}
