/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC engine of src/wire behind a unix socket, with methods that the agent has no use for:
 * any status text, streams of replies, a health service that streams, GOAWAY on demand. Clients of
 * other makers are held against it. Owns sockets and replies under way; knows no agent.
 *
 *   engine SOCKET     serves until its standard input ends
 *
 *   /engine/Status    NOT_FOUND with the request as its text
 *   /engine/Stream    one message for each size that the request lists: 'a', 'b', …
 *   /engine/Echo      the request
 *   /engine/Drain     an empty message, and GOAWAY on this connection
 *   /engine/Gone      one octet: how many calls ended without our answer
 *   /engine/Change    the next state on every health stream
 *   /engine/Finish    the end of every health stream
 *   /grpc.health.v1.Health/Watch
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "wire/grpc.h"

#define CONNECTIONS 16
#define SIZES_MAX 16u
#define TEXT_MAX 512
#define MESSAGE_MAX 256u
#define PIECE_BYTES 4096u
/* A method may change what goes out on a connection that was looked at before. */
#define WAKE_MS 20u
#define POLL_STDIN 0
#define POLL_LISTENER 1
#define POLL_FIRST 2

/* The reply of one call: messages of these sizes, then a status. */
struct job {
    bool used;
    bool watch; /* stays when all is sent */
    bool begun; /* the prefix of message `at` is out */
    unsigned at;
    unsigned count;
    uint32_t left;
    struct grpc_call_id id;
    enum grpc_status code;
    uint32_t sizes[SIZES_MAX];
    uint8_t message[MESSAGE_MAX]; /* of a job with one message that is no pattern */
    bool pattern;
    char text[TEXT_MAX];
};

struct connection {
    int fd; /* -1: free */
    struct grpc_server grpc;
    struct job job[H2_SERVER_STREAMS];
};

static struct connection connections[CONNECTIONS];
static struct grpc_buffers buffers;
static unsigned gone;

/* What ASSERT calls. */
void assert_failed(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "engine: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "engine: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ms(void)
{
    struct timespec t = {0};
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) {
        fail("clock_gettime");
    }
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* --- replies --- */

/* The bytes of the message under way that are still to send, some of them. */
static struct view job_bytes(const struct job *j)
{
    static uint8_t piece[PIECE_BYTES];
    uint32_t size = j->sizes[j->at % SIZES_MAX];
    if (!j->pattern) {
        return view_from(view_of(j->message, size), size - j->left);
    }
    memset(piece, 'a' + (int)j->at, sizeof piece);
    return view_of(piece, (j->left < sizeof piece) ? j->left : sizeof piece);
}

/* false: no room now, or the call is gone. */
static bool job_message(struct grpc_server *s, struct job *j)
{
    enum status st = STATUS_OK;
    size_t taken = 1;
    if (!j->begun) {
        j->left = j->sizes[j->at % SIZES_MAX];
        st = grpc_reply_begin(s, j->id, j->left);
        j->begun = st == STATUS_OK;
    }
    while (st == STATUS_OK && j->left > 0u && taken > 0u) {
        st = grpc_reply_bytes(s, j->id, job_bytes(j), &taken);
        j->left -= (uint32_t)taken;
    }
    j->used = st == STATUS_OK || st == STATUS_MORE;
    return st == STATUS_OK && j->left == 0u;
}

static void watch_next(struct job *j)
{
    j->message[0] = 8; /* field 1, varint: SERVING, then NOT_SERVING */
    j->message[1] = (uint8_t)(1u + j->at);
    j->sizes[j->at % SIZES_MAX] = 2;
}

static void job_step(struct grpc_server *s, struct job *j)
{
    while (j->used && j->at < j->count) {
        if (j->watch) {
            watch_next(j);
        }
        if (!job_message(s, j)) {
            return;
        }
        j->at++;
        j->begun = false;
    }
    if (j->used && !j->watch) {
        j->used = grpc_finish(s, j->id, j->code, j->text) == STATUS_MORE;
    }
}

static void jobs_step(struct connection *c)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        job_step(&c->grpc, &c->job[i]);
    }
}

/* --- methods --- */

static void serve_status(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    j->count = 0;
    j->code = GRPC_NOT_FOUND;
    text_cut(j->text, sizeof j->text, request);
}

static void serve_stream(struct connection *c, struct job *j, struct view request)
{
    char list[TEXT_MAX];
    char *next = list;
    (void)c;
    text_cut(list, sizeof list, request);
    j->pattern = true;
    j->count = 0;
    while (*next != '\0' && j->count < SIZES_MAX) {
        j->sizes[j->count++] = (uint32_t)strtoul(next, &next, 10);
    }
}

static void serve_echo(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    ASSERT(request.len <= sizeof j->message);
    if (request.len > 0u) {
        memcpy(j->message, request.data, request.len);
    }
    j->sizes[0] = (uint32_t)request.len;
}

static void serve_drain(struct connection *c, struct job *j, struct view request)
{
    (void)j;
    (void)request;
    grpc_drain(&c->grpc);
}

static void serve_gone(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    (void)request;
    j->message[0] = (uint8_t)gone;
    j->sizes[0] = 1;
}

static void watches(bool end)
{
    for (unsigned c = 0; c < CONNECTIONS; c++) {
        for (unsigned i = 0; connections[c].fd >= 0 && i < H2_SERVER_STREAMS; i++) {
            struct job *w = &connections[c].job[i];
            w->count += (w->used && w->watch && !end) ? 1u : 0u;
            w->watch = w->watch && !end;
        }
    }
}

static void serve_change(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    (void)j;
    (void)request;
    watches(false);
}

static void serve_finish(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    (void)j;
    (void)request;
    watches(true);
}

static void serve_watch(struct connection *c, struct job *j, struct view request)
{
    (void)c;
    (void)request;
    j->watch = true;
}

static void serve(struct connection *c, const struct grpc_event *event)
{
    static const struct {
        const char *path;
        void (*serve)(struct connection *c, struct job *j, struct view request);
    } methods[] = {
        {"/engine/Status", serve_status}, {"/engine/Stream", serve_stream},
        {"/engine/Echo", serve_echo},     {"/engine/Drain", serve_drain},
        {"/engine/Gone", serve_gone},     {"/engine/Change", serve_change},
        {"/engine/Finish", serve_finish}, {"/grpc.health.v1.Health/Watch", serve_watch},
    };
    struct job *j = &c->job[event->call.index];
    /* One empty message and OK, unless the method says otherwise. */
    *j = (struct job){.used = true, .id = event->call, .count = 1, .code = GRPC_OK};
    for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (view_is(event->path, methods[i].path)) {
            methods[i].serve(c, j, event->message);
            return;
        }
    }
    j->count = 0;
    j->code = GRPC_UNIMPLEMENTED;
}

/* --- connections --- */

static void take(struct connection *c, const struct grpc_event *event)
{
    if (event->kind == GRPC_EVENT_CALL) {
        serve(c, event);
    } else if (event->kind != GRPC_EVENT_WRITABLE) {
        gone += (event->kind == GRPC_EVENT_GONE) ? 1u : 0u;
        c->job[event->call.index].used = false;
    }
}

/* false: nothing went. */
static bool flush(struct connection *c)
{
    bool some = false;
    struct view out = h2_tx_data(&c->grpc.h2);
    while (out.len > 0u) {
        ssize_t n = send(c->fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            if (errno != EAGAIN) {
                h2_rx_end(&c->grpc.h2);
            }
            return some;
        }
        some = true;
        h2_tx_commit(&c->grpc.h2, (size_t)n);
        out = h2_tx_data(&c->grpc.h2);
    }
    return some;
}

/* false: nothing came. */
static bool receive(struct connection *c)
{
    struct writer room = h2_rx_space(&c->grpc.h2);
    if (writer_room(&room) == 0u) {
        return false;
    }
    ssize_t n = recv(c->fd, room.data, writer_room(&room), MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return false;
    }
    if (n <= 0) {
        h2_rx_end(&c->grpc.h2);
    } else {
        h2_rx_commit(&c->grpc.h2, (size_t)n);
    }
    return n > 0;
}

/* Takes all events there are. false: the connection failed, or its peer has left. */
static bool events_take(struct connection *c)
{
    struct grpc_event event;
    enum status st = grpc_next(&c->grpc, now_ms(), &event);
    while (st == STATUS_OK) {
        take(c, &event);
        jobs_step(c);
        st = grpc_next(&c->grpc, now_ms(), &event);
    }
    jobs_step(c);
    return st == STATUS_MORE;
}

/* After GOAWAY the peer closes: what it still writes would fail else, and more with it. */
static void connection_step(struct connection *c)
{
    bool good = events_take(c);
    bool moved = flush(c);
    moved = receive(c) || moved;
    while (good && moved) {
        good = events_take(c);
        moved = flush(c);
        moved = receive(c) || moved;
    }
    if (!good) {
        uint32_t code = 0;
        if (h2_failure(&c->grpc.h2, &code) != PEER_CLOSED) {
            (void)fprintf(stderr, "engine: a connection failed with HTTP/2 code %u\n", code);
        }
        (void)flush(c);
        (void)close(c->fd);
        c->fd = -1;
    }
}

static void connection_accept(int listener)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) {
        fail("accept");
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        if (connections[i].fd < 0) {
            memset(&connections[i], 0, sizeof connections[i]);
            connections[i].fd = fd;
            grpc_init(&connections[i].grpc, &buffers, NULL, 0, now_ms());
            return;
        }
    }
    (void)fprintf(stderr, "engine: more than %d connections\n", CONNECTIONS);
    exit(1);
}

/* --- the loop --- */

static int listen_on(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = strlen(path);
    if (fd < 0 || n >= sizeof address.sun_path) {
        fail(path);
    }
    memcpy(address.sun_path, path, n);
    bool bound = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (!bound || listen(fd, CONNECTIONS) != 0) {
        fail(path);
    }
    return fd;
}

/* Waits for any of the descriptors, or until a connection is due. */
static void wait_for(struct pollfd polled[POLL_FIRST + CONNECTIONS], int listener)
{
    uint64_t due = UINT64_MAX;
    uint64_t now = now_ms();
    polled[POLL_STDIN] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    polled[POLL_LISTENER] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct connection *c = &connections[i];
        bool open = c->fd >= 0;
        short out = (open && h2_tx_data(&c->grpc.h2).len > 0u) ? POLLOUT : 0;
        polled[POLL_FIRST + i] = (struct pollfd){.fd = c->fd, .events = (short)(POLLIN | out)};
        uint64_t own = open ? grpc_deadline(&c->grpc) : UINT64_MAX;
        due = (own < due) ? own : due;
    }
    uint64_t left = (due > now) ? due - now : 0u;
    left = (left > WAKE_MS) ? WAKE_MS : left;
    if (poll(polled, POLL_FIRST + CONNECTIONS, (int)left) < 0) {
        fail("poll");
    }
}

int main(int argc, char **argv)
{
    struct pollfd polled[POLL_FIRST + CONNECTIONS] = {0};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: engine SOCKET\n");
        return 2;
    }
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        connections[i].fd = -1;
    }
    int listener = listen_on(argv[1]);
    while (polled[POLL_STDIN].revents == 0) {
        wait_for(polled, listener);
        if (polled[POLL_LISTENER].revents != 0) {
            connection_accept(listener);
        }
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            if (connections[i].fd >= 0) {
                connection_step(&connections[i]);
            }
        }
    }
    return 0;
}
