/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unary call over a unix socket beside a bare echo of as many bytes, by the client of client.h,
 * so that it costs both sides the same. Owns the echo process; knows nothing of our sources.
 *
 *   roundtrip SOCKET PID      microseconds (median), with the agent PID and the client on one core
 *                             and on two: "LAYOUT ECHO CALL" a line
 *   roundtrip SOCKET - CALLS  makes so many calls and measures nothing (for callgrind)
 *
 * The call is grpc.health.v1.Health/Check.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/wire/client.h"

#define ROUNDS 20
#define CALLS_PER_ROUND 1000
#define SAMPLES (ROUNDS * CALLS_PER_ROUND)

static size_t call(struct client *c)
{
    return client_call(c, "/grpc.health.v1.Health/Check", (const uint8_t *)"", 0);
}

/* Octets of an answer, once the calls are such as are measured. */
static size_t warm(struct client *c)
{
    size_t answer = 0;
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
        client_stop("sched_setaffinity");
    }
}

static pid_t echo_start(int *fd, size_t answer)
{
    static uint8_t bytes[65536];
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        client_stop("socketpair");
    }
    pid_t pid = fork();
    if (pid < 0) {
        client_stop("fork");
    }
    if (pid == 0) {
        (void)close(pair[0]);
        while (read(pair[1], bytes, sizeof bytes) > 0) {
            client_send(pair[1], bytes, answer);
        }
        _exit(0);
    }
    (void)close(pair[1]);
    *fd = pair[0];
    return pid;
}

static void echo(struct client *c, int fd, size_t answer)
{
    client_send(fd, c->frames, c->frames_len);
    for (size_t have = 0; have < answer;) {
        ssize_t n = read(fd, c->in + have, answer - have);
        if (n <= 0) {
            client_stop("echo");
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
        client_stop("sched_getaffinity");
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
