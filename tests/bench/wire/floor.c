/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of a call: a server that makes the system calls of the agent's prepare, repeated
 * prepare and unprepare, as strace shows them, and computes nothing. Its client measures it beside
 * the agent, by turns in one run, so that what else the machine does hits both alike.
 *
 *   floor SOCKET CLAIMS STORES CDI
 *
 * SOCKET is the agent's, CLAIMS a file with a line "NAMESPACE UID NAME" for each claim that the API
 * server has, STORES and CDI directories on the file systems of the agent's. It prints
 * "FIGURE MICROSECONDS" for each call of each side; "echo" is the bare exchange of a call's octets.
 *
 * Owns two processes: the server, and an echo over TCP that stands for the API server ("-get": the
 * floor with the exchange that the GET of the claim is). Not in the floor: the agent's question to
 * its reader, because it is one process's to another of the same program, and TLS.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/wire/client.h"

/* Octets as strace shows them for one device; those of the CDI file and the record vary by 20. */
#define REQUEST_BYTES 91
#define PREPARED_BYTES 244
#define UNPREPARED_BYTES 118
#define GET_BYTES 229
#define CLAIM_BYTES 1172
#define CDI_BYTES 941
#define RECORD_BYTES 251
#define GONE_BYTES 24
#define LOG_BYTES 397
#define SLOT_BYTES 8192
#define STORE_BYTES 4202496
#define POLLED 19 /* places of the agent's poll */
#define CLAIMS_MAX 100000
#define WARM 20

enum what { ECHO, FRESH, FRESH_GET, AGAIN, AGAIN_GET, GIVE_BACK, WHATS };

struct floor {
    int kubelet; /* the server's end of the client's socket */
    int api;     /* to the echo over TCP */
    int store;
    int log;
    char store_path[256];
    char part[256]; /* CDI file that is being written */
    char file[256];
    char gone[256];
    const char *directory; /* stands for that of the device in sysfs, and for its node */
    struct pollfd polled[POLLED];
};

static uint8_t bytes[65536];

static void must(int well, const char *what)
{
    if (!well) {
        client_stop(what);
    }
}

/* --- the server --- */

static void arrives(struct floor *f, int fd, size_t most)
{
    must(poll(f->polled, POLLED, 60000) > 0, "poll");
    must(read(fd, bytes, most) > 0, "read");
}

static void look(const char *path)
{
    struct stat s;
    must(stat(path, &s) == 0, path);
}

static void ask_api(struct floor *f)
{
    must(send(f->api, bytes, GET_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL) == GET_BYTES, "send");
    arrives(f, f->api, sizeof bytes);
}

static void write_cdi_file(struct floor *f)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644);
    must(fd >= 0, f->part);
    must(fcntl(fd, F_OFD_SETLK, &lock) == 0, "lock");
    must(pwrite(fd, bytes, CDI_BYTES, 0) == CDI_BYTES, f->part);
    must(rename(f->part, f->file) == 0, f->file);
    must(close(fd) == 0, f->file);
}

static void write_record(struct floor *f, size_t len)
{
    look(f->store_path);
    must(pwrite(f->store, bytes, len, 2 * SLOT_BYTES) == (ssize_t)len, f->store_path);
    must(fdatasync(f->store) == 0, f->store_path);
}

static void read_back(struct floor *f)
{
    look(f->store_path);
    must(pread(f->store, bytes, SLOT_BYTES, 2 * SLOT_BYTES) > 0, f->store_path);
    look(f->directory);
    look(f->store_path);
    int fd = open(f->file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    must(fd >= 0, f->file);
    must(pread(fd, bytes, sizeof bytes, 0) > 0, f->file);
    must(close(fd) == 0, f->file);
}

static void prepare(struct floor *f, enum what what)
{
    if (what == FRESH_GET || what == AGAIN_GET) {
        ask_api(f);
    }
    if (what == AGAIN || what == AGAIN_GET) {
        read_back(f);
    } else {
        look(f->directory);
        look(f->store_path);
        write_cdi_file(f);
        write_record(f, RECORD_BYTES);
    }
}

static void give_back(struct floor *f)
{
    must(rename(f->file, f->gone) == 0, f->gone);
    write_record(f, GONE_BYTES);
    must(unlink(f->gone) == 0, f->gone);
}

static void answer(struct floor *f, size_t len)
{
    must(send(f->kubelet, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len, "send");
}

static void serve(struct floor *f)
{
    for (;;) {
        must(poll(f->polled, POLLED, 60000) > 0, "poll");
        if (read(f->kubelet, bytes, 4096) <= 0) {
            _exit(0);
        }
        enum what what = (enum what)bytes[0];
        if (what == ECHO) {
            answer(f, PREPARED_BYTES);
            continue;
        }
        if (what == GIVE_BACK) {
            give_back(f);
        } else {
            prepare(f, what);
        }
        answer(f, what == GIVE_BACK ? UNPREPARED_BYTES : PREPARED_BYTES);
        must(write(f->log, bytes, LOG_BYTES) == LOG_BYTES, "log");
    }
}

/* --- what it needs --- */

static void name(char *to, const char *dir, const char *file)
{
    must(snprintf(to, 256, "%s/%s", dir, file) < 256, dir);
}

/* A process that answers each request with the octets of a claim; returns the socket to it. */
static int start_api(pid_t *pid)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int yes = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    must(listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 &&
             listen(listener, 1) == 0 &&
             getsockname(listener, (struct sockaddr *)&address, &len) == 0,
         "listen");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&address, len) == 0, "connect");
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
    *pid = fork();
    must(*pid >= 0, "fork");
    if (*pid == 0) {
        (void)close(fd);
        fd = accept(listener, NULL, NULL);
        must(fd >= 0, "accept");
        must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
        while (read(fd, bytes, sizeof bytes) > 0) {
            client_send(fd, bytes, CLAIM_BYTES);
        }
        _exit(0);
    }
    (void)close(listener);
    return fd;
}

static void make_files(struct floor *f, const char *stores, const char *cdi)
{
    f->directory = cdi;
    name(f->store_path, stores, "floor.store");
    name(f->part, cdi, "floor.tmp");
    name(f->file, cdi, "floor.json");
    name(f->gone, cdi, "floor.gone");
    f->store = open(f->store_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(f->store >= 0, f->store_path);
    for (size_t at = 0; at < STORE_BYTES; at += SLOT_BYTES) {
        must(pwrite(f->store, bytes, SLOT_BYTES, (off_t)at) == SLOT_BYTES, f->store_path);
    }
    must(fsync(f->store) == 0, f->store_path);
    char log[256];
    name(log, stores, "floor.log");
    f->log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    must(f->log >= 0, log);
}

/* The server's process; returns the client's end of the socket to it. */
static int start_server(struct floor *f, pid_t *pid)
{
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    *pid = fork();
    must(*pid >= 0, "fork");
    if (*pid == 0) {
        (void)close(pair[0]);
        f->kubelet = pair[1];
        for (size_t i = 0; i < POLLED; i++) {
            f->polled[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        }
        f->polled[2].fd = f->api;
        f->polled[POLLED - 1].fd = f->kubelet;
        serve(f);
    }
    (void)close(pair[1]);
    return pair[0];
}

/* --- the client --- */

static double now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void ask_floor(int fd, enum what what)
{
    static uint8_t request[REQUEST_BYTES];
    size_t want = what == GIVE_BACK ? UNPREPARED_BYTES : PREPARED_BYTES;
    request[0] = (uint8_t)what;
    client_send(fd, request, sizeof request);
    for (size_t have = 0; have < want;) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        must(n > 0, "the floor's server is gone");
        have += (size_t)n;
    }
}

struct claim {
    char namespace[64];
    char uid[64];
    char name[64];
};

static size_t put_field(uint8_t *at, uint8_t tag, const char *text)
{
    size_t len = strlen(text);
    at[0] = tag;
    at[1] = (uint8_t)len;
    memcpy(at + 2, text, len);
    return 2 + len;
}

/* NodePrepareResourcesRequest and NodeUnprepareResourcesRequest are alike: `claims` is field 1. */
static void ask_agent(struct client *c, enum what what, const struct claim *claim)
{
    static const char service[] = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
    static char prepare_path[96];
    static char unprepare_path[96];
    uint8_t message[256];
    (void)snprintf(prepare_path, sizeof prepare_path, "%sNodePrepareResources", service);
    (void)snprintf(unprepare_path, sizeof unprepare_path, "%sNodeUnprepareResources", service);
    size_t n = 2;
    n += put_field(message + n, 0x0a, claim->namespace);
    n += put_field(message + n, 0x12, claim->uid);
    n += put_field(message + n, 0x1a, claim->name);
    message[0] = 0x0a;
    message[1] = (uint8_t)(n - 2);
    (void)client_call(c, what == GIVE_BACK ? unprepare_path : prepare_path, message, n);
    /* A map entry of the UID with no error and, of a prepare, with a CDI device that names it. */
    size_t bare = CLIENT_PREFIX_BYTES + 2 + 2 + strlen(claim->uid) + 2;
    char id[80];
    (void)snprintf(id, sizeof id, "claim=%s", claim->uid);
    errno = EPROTO;
    must(c->message_len > 0, "the agent answered no message");
    if (what == GIVE_BACK ? c->message_len != bare
                          : memmem(c->message, c->message_len, id, strlen(id)) == NULL) {
        (void)fprintf(stderr, "floor: claim %s refused: %.*s\n", claim->name, (int)c->message_len,
                      (const char *)c->message);
        client_stop("refused");
    }
}

/* Which side goes first changes with `turn`. */
static void measure(struct client *c, int fd, const struct claim *claim, unsigned turn, int loud)
{
    static const struct {
        const char *name;
        enum what what;
        int agent;
    } steps[2][9] = {
        {{"echo", ECHO, 0},
         {"fresh-floor", FRESH, 0},
         {"unprepare-floor", GIVE_BACK, 0},
         {"fresh-floor-get", FRESH_GET, 0},
         {"fresh-agent", FRESH, 1},
         {"again-floor-get", AGAIN_GET, 0},
         {"again-agent", AGAIN, 1},
         {"unprepare-floor", GIVE_BACK, 0},
         {"unprepare-agent", GIVE_BACK, 1}},
        {{"fresh-agent", FRESH, 1},
         {"fresh-floor-get", FRESH_GET, 0},
         {"again-agent", AGAIN, 1},
         {"again-floor-get", AGAIN_GET, 0},
         {"unprepare-agent", GIVE_BACK, 1},
         {"unprepare-floor", GIVE_BACK, 0},
         {"fresh-floor", FRESH, 0},
         {"unprepare-floor", GIVE_BACK, 0},
         {"echo", ECHO, 0}},
    };
    for (size_t i = 0; i < 9; i++) {
        double begun = now_us();
        if (steps[turn % 2][i].agent) {
            ask_agent(c, steps[turn % 2][i].what, claim);
        } else {
            ask_floor(fd, steps[turn % 2][i].what);
        }
        if (loud) {
            (void)printf("%s %.1f\n", steps[turn % 2][i].name, now_us() - begun);
        }
    }
}

static void measure_all(struct client *c, int fd, const char *path)
{
    struct claim claim;
    FILE *in = fopen(path, "re");
    must(in != NULL, path);
    for (unsigned turn = 0; turn < CLAIMS_MAX; turn++) {
        if (fscanf(in, "%63s %63s %63s", claim.namespace, claim.uid, claim.name) != 3) {
            must(turn > WARM, "too few claims to measure anything");
            break;
        }
        measure(c, fd, &claim, turn, turn >= WARM);
    }
    (void)fclose(in);
}

int main(int argc, char **argv)
{
    static struct client c;
    static struct floor f;
    pid_t api = 0;
    pid_t server = 0;
    if (argc != 5) {
        (void)fprintf(stderr, "usage: floor SOCKET CLAIMS STORES CDI\n");
        return 2;
    }
    make_files(&f, argv[3], argv[4]);
    f.api = start_api(&api);
    int fd = start_server(&f, &server);
    (void)close(f.api);
    client_connect(&c, argv[1]);
    measure_all(&c, fd, argv[2]);
    (void)close(fd); /* both end with their sockets */
    (void)waitpid(server, NULL, 0);
    (void)waitpid(api, NULL, 0);
    return 0;
}
