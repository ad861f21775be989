/* SPDX-License-Identifier: Apache-2.0 */
/* A gRPC client in plain C; see client.h. */
#include "tests/bench/wire/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FRAME_HEADER_BYTES 9u
#define PREFIX_BYTES CLIENT_PREFIX_BYTES
#define STATIC_FIELDS 61u

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

void client_stop(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 4; i > 0u; i--) {
        at[i - 1u] = (uint8_t)value;
        value >>= 8;
    }
}

static uint32_t get_u32(const uint8_t *at)
{
    return ((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
}

static size_t put_frame(uint8_t *at, size_t length, uint8_t type, uint8_t flags, uint32_t stream)
{
    put_u32(at, (uint32_t)(length << 8));
    at[3] = type;
    at[4] = flags;
    put_u32(at + 5, stream);
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
static size_t put_literal(struct client *c, uint8_t *at, uint8_t name, const char *value)
{
    c->inserted++;
    at[0] = (uint8_t)(0x40u | name);
    return 1u + put_text(at + 1, value);
}

/* RFC 7541 §6.1: a field of the peer's table, where the newest one comes first. */
static size_t put_indexed(const struct client *c, uint8_t *at, unsigned serial)
{
    at[0] = (uint8_t)(0x80u | (STATIC_FIELDS + c->inserted - serial));
    return 1u;
}

static size_t put_path(struct client *c, uint8_t *at, struct client_method *m)
{
    if (m->known) {
        return put_indexed(c, at, m->serial);
    }
    m->known = 1;
    m->serial = c->inserted;
    return put_literal(c, at, 4, m->path);
}

static size_t put_common(struct client *c, uint8_t *at)
{
    enum { COMMON = 4 };
    size_t n = 0;
    if (c->stream > 1u) {
        for (unsigned i = 0; i < COMMON; i++) {
            n += put_indexed(c, at + n, c->common + i);
        }
        return n;
    }
    c->common = c->inserted;
    n += put_literal(c, at, 1, "localhost");
    n += put_literal(c, at + n, 31, "application/grpc");
    n += put_literal(c, at + n, 58, "bench/1");
    at[n++] = 0x40; /* a name that is not in the static table */
    c->inserted++;
    n += put_text(at + n, "te");
    return n + put_text(at + n, "trailers");
}

static void put_call(struct client *c, struct client_method *m, const uint8_t *message, size_t len)
{
    uint8_t *fields = c->frames + FRAME_HEADER_BYTES;
    size_t n = 0;
    fields[n++] = 0x83; /* :method POST */
    fields[n++] = 0x86; /* :scheme http */
    n += put_path(c, fields + n, m);
    n += put_common(c, fields + n);
    (void)put_frame(c->frames, n, HEADERS, END_HEADERS, c->stream);
    n += FRAME_HEADER_BYTES;
    if (n + FRAME_HEADER_BYTES + PREFIX_BYTES + len > sizeof c->frames) {
        errno = EMSGSIZE;
        client_stop("a call is too long");
    }
    n += put_frame(c->frames + n, PREFIX_BYTES + len, DATA, END_STREAM, c->stream);
    c->frames[n] = 0;
    put_u32(c->frames + n + 1u, (uint32_t)len);
    n += PREFIX_BYTES;
    memcpy(c->frames + n, message, len);
    c->frames_len = n + len;
}

void client_send(int fd, const uint8_t *data, size_t len)
{
    if (write(fd, data, len) != (ssize_t)len) {
        client_stop("write");
    }
}

void client_connect(struct client *c, const char *path)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t hello[64];
    size_t n = sizeof preface - 1u;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        client_stop(path);
    }
    memcpy(hello, preface, n);
    n += put_frame(hello + n, 0, SETTINGS, 0, 0);
    n += put_frame(hello + n, 0, SETTINGS, ACK, 0);
    n += put_frame(hello + n, 4, WINDOW_UPDATE, 0, 0);
    put_u32(hello + n, 0x7fff0000u); /* answers never wait for a window of the connection */
    client_send(c->fd, hello, n + 4u);
    c->stream = 1;
}

/* Appends what a DATA frame carries to the message; the prefix may have a frame of its own. */
static void keep(struct client *c, const uint8_t *data, size_t len)
{
    if (c->message_len + len > sizeof c->message) {
        errno = EMSGSIZE;
        client_stop("an answer is too long");
    }
    memcpy(c->message + c->message_len, data, len);
    c->message_len += len;
}

/* Whether the frame is the last of the answer on the stream. */
static int last_frame(struct client *c, const uint8_t *frame, size_t length, uint32_t stream)
{
    if (frame[3] == GOAWAY || frame[3] == RST_STREAM) {
        errno = EPROTO;
        client_stop("the server refused the call");
    }
    if (get_u32(frame + 5) != stream || frame[3] > HEADERS) {
        return 0;
    }
    if (frame[3] == DATA) {
        keep(c, frame + FRAME_HEADER_BYTES, length - FRAME_HEADER_BYTES);
    }
    return (frame[4] & END_STREAM) != 0;
}

/* Octets of the answer; reads until its last frame. */
static size_t take_answer(struct client *c, uint32_t stream)
{
    size_t have = 0;
    size_t at = 0;
    c->message_len = 0;
    for (;;) {
        ssize_t n = read(c->fd, c->in + have, sizeof c->in - have);
        if (n <= 0) {
            client_stop("read");
        }
        have += (size_t)n;
        while (have - at >= FRAME_HEADER_BYTES) {
            size_t length = FRAME_HEADER_BYTES + (get_u32(c->in + at) >> 8);
            if (have - at < length) {
                break;
            }
            if (last_frame(c, c->in + at, length, stream)) {
                return have;
            }
            at += length;
        }
    }
}

static struct client_method *find_method(struct client *c, const char *path)
{
    for (size_t i = 0; i < c->method_count; i++) {
        if (strcmp(c->methods[i].path, path) == 0) {
            return &c->methods[i];
        }
    }
    if (c->method_count == CLIENT_METHODS_MAX) {
        errno = ENOSPC;
        client_stop(path);
    }
    c->methods[c->method_count].path = path;
    return &c->methods[c->method_count++];
}

size_t client_call(struct client *c, const char *method, const uint8_t *message, size_t len)
{
    uint32_t stream = c->stream;
    put_call(c, find_method(c, method), message, len);
    c->stream += 2u;
    client_send(c->fd, c->frames, c->frames_len);
    return take_answer(c, stream);
}
