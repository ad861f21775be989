/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unary call over a unix socket beside a bare echo of as many bytes: a client in plain C that
 * sends prepared frames, as grpc-go repeats a call (indexed header fields), so that it costs both
 * sides the same. Owns its connection and the echo process; knows nothing of our sources.
 *
 *   roundtrip SOCKET PID      microseconds (median), with the agent PID and the client on one core
 *                             and on two: "LAYOUT ECHO CALL" a line
 *   roundtrip SOCKET - CALLS  makes so many calls and measures nothing (for callgrind)
 *
 * The call is grpc.health.v1.Health/Check. Sources: RFC 9113 §4 and §6, RFC 7541 §6.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define CALLS_PER_ROUND 1000
#define SAMPLES (ROUNDS * CALLS_PER_ROUND)
#define FRAME_HEADER_BYTES 9u
#define MESSAGE_BYTES 5u /* an empty message: prefix alone */

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

struct client {
    int fd;
    uint32_t stream;   /* of the next call */
    uint8_t call[512]; /* HEADERS and DATA of a call */
    size_t call_len;
    size_t data_at; /* where the DATA frame begins in it */
    uint8_t in[65536];
};

static void stop(const char *what)
{
    fprintf(stderr, "roundtrip: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 4; i > 0u; i--) {
        at[i - 1u] = (uint8_t)value;
        value >>= 8;
    }
}

static size_t put_frame(uint8_t *at, size_t length, uint8_t type, uint8_t flags)
{
    put_u32(at, (uint32_t)(length << 8));
    at[3] = type;
    at[4] = flags;
    put_u32(at + 5, 0);
    return FRAME_HEADER_BYTES;
}

static size_t put_text(uint8_t *at, const char *text)
{
    size_t len = strlen(text);
    at[0] = (uint8_t)len;
    memcpy(at + 1, text, len);
    return len + 1u;
}

/* RFC 7541 §6.2.1: a literal that the peer puts into its table; `name` is a static index. */
static size_t put_literal(uint8_t *at, uint8_t name, const char *value)
{
    at[0] = (uint8_t)(0x40u | name);
    return 1u + put_text(at + 1, value);
}

static size_t put_fields(uint8_t *at, int first)
{
    size_t n = 0;
    at[n++] = 0x83; /* :method POST */
    at[n++] = 0x86; /* :scheme http */
    for (uint8_t i = 5; i > 0u && !first; i--) {
        at[n++] = (uint8_t)(0x80u | (61u + i)); /* the five below, oldest first */
    }
    if (!first) {
        return n;
    }
    n += put_literal(at + n, 4, "/grpc.health.v1.Health/Check");
    n += put_literal(at + n, 1, "localhost");
    n += put_literal(at + n, 31, "application/grpc");
    n += put_literal(at + n, 58, "roundtrip/1");
    at[n++] = 0x40;
    n += put_text(at + n, "te");
    return n + put_text(at + n, "trailers");
}

static void prepare_call(struct client *c, int first)
{
    size_t fields = put_fields(c->call + FRAME_HEADER_BYTES, first);
    (void)put_frame(c->call, fields, HEADERS, END_HEADERS);
    c->data_at = FRAME_HEADER_BYTES + fields;
    size_t n = c->data_at + put_frame(c->call + c->data_at, MESSAGE_BYTES, DATA, END_STREAM);
    memset(c->call + n, 0, MESSAGE_BYTES);
    c->call_len = n + MESSAGE_BYTES;
}

static void send_all(int fd, const uint8_t *data, size_t len)
{
    if (write(fd, data, len) != (ssize_t)len) {
        stop("write");
    }
}

static void client_connect(struct client *c, const char *path)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t hello[64];
    size_t n = sizeof preface - 1u;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        stop(path);
    }
    memcpy(hello, preface, n);
    n += put_frame(hello + n, 0, SETTINGS, 0);
    n += put_frame(hello + n, 0, SETTINGS, ACK);
    n += put_frame(hello + n, 4, WINDOW_UPDATE, 0);
    put_u32(hello + n, 0x7fff0000u); /* answers never wait for a window of the connection */
    send_all(c->fd, hello, n + 4u);
    c->stream = 1;
}

static uint32_t get_u32(const uint8_t *at)
{
    return ((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
}

/* Whether the frame is the last of the answer on the stream. */
static int last_frame(const uint8_t *frame, uint32_t stream)
{
    if (frame[3] == GOAWAY || frame[3] == RST_STREAM) {
        errno = EPROTO;
        stop("the server refused the call");
    }
    return get_u32(frame + 5) == stream && frame[3] <= HEADERS && (frame[4] & END_STREAM) != 0;
}

/* Octets of the answer; reads until its last frame. */
static size_t take_answer(struct client *c, uint32_t stream)
{
    size_t have = 0;
    size_t at = 0;
    for (;;) {
        ssize_t n = read(c->fd, c->in + have, sizeof c->in - have);
        if (n <= 0) {
            stop("read");
        }
        have += (size_t)n;
        while (have - at >= FRAME_HEADER_BYTES) {
            size_t length = FRAME_HEADER_BYTES + (get_u32(c->in + at) >> 8);
            if (have - at < length) {
                break;
            }
            if (last_frame(c->in + at, stream)) {
                return have;
            }
            at += length;
        }
    }
}

static size_t call(struct client *c)
{
    uint32_t stream = c->stream;
    put_u32(c->call + 5, stream);
    put_u32(c->call + c->data_at + 5, stream);
    c->stream += 2u;
    send_all(c->fd, c->call, c->call_len);
    return take_answer(c, stream);
}

/* Octets of an answer, once the calls are such as are measured. */
static size_t warm(struct client *c)
{
    size_t answer = 0;
    prepare_call(c, 1);
    (void)call(c);
    prepare_call(c, 0);
    for (int i = 0; i < 100; i++) {
        answer = call(c);
    }
    return answer;
}

/* --- echo --- */

static void pin(pid_t pid, size_t core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(pid, sizeof set, &set) != 0) {
        stop("sched_setaffinity");
    }
}

static pid_t echo_start(int *fd, size_t answer)
{
    static uint8_t bytes[65536];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        stop("socketpair");
    }
    pid_t pid = fork();
    if (pid < 0) {
        stop("fork");
    }
    if (pid == 0) {
        (void)close(pair[0]);
        while (read(pair[1], bytes, sizeof bytes) > 0) {
            send_all(pair[1], bytes, answer);
        }
        _exit(0);
    }
    (void)close(pair[1]);
    *fd = pair[0];
    return pid;
}

static void echo(struct client *c, int fd, size_t answer)
{
    send_all(fd, c->call, c->call_len);
    for (size_t have = 0; have < answer;) {
        ssize_t n = read(fd, c->in + have, answer - have);
        if (n <= 0) {
            stop("echo");
        }
        have += (size_t)n;
    }
}

/* --- measuring --- */

static double now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples)
{
    qsort(samples, SAMPLES, sizeof *samples, compare);
    return samples[SAMPLES / 2];
}

/* By turns, so that what else the machine does hits both alike. */
static void measure(struct client *c, int echo_fd, size_t answer, const char *layout)
{
    static double echoes[SAMPLES];
    static double calls[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        int turn = (i / 100) % 2;
        for (int k = 0; k < 2; k++) {
            double begun = now_us();
            if (k == turn) {
                echo(c, echo_fd, answer);
                echoes[i] = now_us() - begun;
            } else {
                (void)call(c);
                calls[i] = now_us() - begun;
            }
        }
    }
    printf("%s %.1f %.1f\n", layout, median(echoes), median(calls));
}

int main(int argc, char **argv)
{
    static struct client c;
    static const char *const layouts[] = {"one-core", "two-cores"};
    if (argc < 3) {
        fprintf(stderr, "usage: roundtrip SOCKET PID | roundtrip SOCKET - CALLS\n");
        return 2;
    }
    client_connect(&c, argv[1]);
    size_t answer = warm(&c);
    if (argc > 3) {
        for (long i = atol(argv[3]); i > 0; i--) {
            (void)call(&c);
        }
        return 0;
    }
    int fd = -1;
    pid_t agent = (pid_t)atol(argv[2]);
    pid_t echoer = echo_start(&fd, answer);
    cpu_set_t before;
    if (sched_getaffinity(agent, sizeof before, &before) != 0) {
        stop("sched_getaffinity");
    }
    for (size_t i = 0; i < 2u; i++) {
        pin(0, 0);
        pin(echoer, i);
        pin(agent, i);
        measure(&c, fd, answer, layouts[i]);
    }
    (void)sched_setaffinity(agent, sizeof before, &before);
    (void)kill(echoer, SIGTERM);
    (void)waitpid(echoer, NULL, 0);
    return 0;
}
