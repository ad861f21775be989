/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC client over a unix socket in plain C. It sends prepared frames, as grpc-go repeats a call
 * (indexed header fields), so that a call costs the client next to nothing. Owns its connection;
 * knows nothing of the agent's sources. Whatever fails ends the program.
 *
 * Sources: RFC 9113 §4 and §6, RFC 7541 §6.
 */
#ifndef TESTS_BENCH_WIRE_CLIENT_H
#define TESTS_BENCH_WIRE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#define CLIENT_METHODS_MAX 4
#define CLIENT_PREFIX_BYTES 5u /* of a gRPC message: compressed or not, length */

struct client_method {
    const char *path;
    unsigned serial; /* of the path among the fields that the server's table took */
    int known;       /* the server's table has the path */
};

struct client {
    int fd;
    uint32_t stream;      /* of the next call */
    unsigned inserted;    /* fields that the server's table took so far */
    unsigned common;      /* serial of the first field that all calls share */
    uint8_t frames[1024]; /* HEADERS and DATA of the last call */
    size_t frames_len;
    uint8_t in[65536];
    uint8_t message[65536]; /* of the last answer, behind its prefix */
    size_t message_len;     /* with the prefix; 0: there is none */
    size_t method_count;
    struct client_method methods[CLIENT_METHODS_MAX];
};

/* Prints what failed, with errno, and ends the program. */
void client_stop(const char *what) __attribute__((noreturn));
/* Writes all octets. */
void client_send(int fd, const uint8_t *data, size_t len);
void client_connect(struct client *c, const char *path);
/* Calls a method and waits for the answer; returns its octets on the socket. */
size_t client_call(struct client *c, const char *method, const uint8_t *message, size_t len);

#endif
