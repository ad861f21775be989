/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's TLS client as a program, for tests/conformance/verdict_test.go. Each line of input
 * is "port<TAB>file of authorities<TAB>server's name"; each line of output is the status of one
 * handshake with 127.0.0.1 at that port, a tab and the reason.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cfg/limits.h"
#include "host/apiserver/tls.h"

#define PATIENCE_MS 20000
#define LINE_BYTES 2048

static uint8_t bundle[CA_BYTES_MAX];
static char reason[2048];

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static size_t read_bundle(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        give_up(path);
    }
    size_t n = fread(bundle, 1, sizeof bundle, file);
    if (n == sizeof bundle || fclose(file) != 0) {
        give_up(path);
    }
    return n;
}

static int dial(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        give_up("connect");
    }
    return fd;
}

static enum status shake(int fd, struct writer *why)
{
    enum status s = tls_handshake(why);
    while (s == STATUS_MORE) {
        if (tls_wants() == (unsigned)TLS_WANTS_TURN) {
            s = tls_handshake(why);
            continue;
        }
        short events = ((tls_wants() & (unsigned)TLS_WANTS_READ) != 0u) ? POLLIN : POLLOUT;
        struct pollfd p = {.fd = fd, .events = events};
        if (poll(&p, 1, PATIENCE_MS) != 1) {
            give_up("poll");
        }
        s = tls_handshake(why);
    }
    return s;
}

static enum status try_one(unsigned port, const char *path, const char *name)
{
    struct writer why = writer_of(reason, sizeof reason - 1u);
    struct tls_identity id = {
        .ca_pem = bundle, .ca_len = read_bundle(path), .server_name = name, .with_tls12 = true};
    int fd = dial(port);
    enum status s = tls_start(fd, &id, &why);
    s = (s == STATUS_OK) ? shake(fd, &why) : s;
    reason[why.len] = '\0';
    tls_end();
    if (close(fd) != 0 || tls_arena_leak() != 0u) {
        give_up("end");
    }
    return s;
}

int main(void)
{
    char line[LINE_BYTES];
    if (tls_setup() != STATUS_OK) {
        give_up("tls_setup");
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *path = strchr(line, '\t');
        char *name = (path != NULL) ? strchr(path + 1, '\t') : NULL;
        if (name == NULL) {
            give_up("input");
        }
        *path = '\0';
        *name = '\0';
        enum status s = try_one((unsigned)strtoul(line, NULL, 10), path + 1, name + 1);
        printf("%s\t%s\n", status_name(s), reason);
        if (fflush(stdout) != 0) {
            give_up("output");
        }
    }
    return 0;
}
