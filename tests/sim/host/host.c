/* SPDX-License-Identifier: Apache-2.0 */
/* Shared parts of the stand-in programs; see host.h. */
#include "tests/sim/host/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

#define WAIT_MS_MAX 3600000

static struct {
    char text[HOST_LINE_BYTES];
    size_t len;  /* bytes that came */
    size_t used; /* of them, handed out */
} input;

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

_Noreturn void host_fail(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ms(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0) {
        host_fail("clock");
    }
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t host_now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

uint64_t host_now_s(void)
{
    return clock_ms(CLOCK_REALTIME) / 1000;
}

int host_wait_ms(uint64_t at_ms)
{
    uint64_t now = host_now_ms();
    uint64_t left = at_ms > now ? at_ms - now : 0;
    return (int)(left > WAIT_MS_MAX ? WAIT_MS_MAX : left);
}

/* --- commands --- */

bool host_read(void)
{
    memmove(input.text, input.text + input.used, input.len - input.used);
    input.len -= input.used;
    input.used = 0;
    if (input.len == sizeof input.text) {
        errno = EMSGSIZE;
        host_fail("command");
    }
    ssize_t n = read(STDIN_FILENO, input.text + input.len, sizeof input.text - input.len);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        host_fail("stdin");
    }
    input.len += n > 0 ? (size_t)n : 0;
    return n != 0;
}

static void split(char *line, struct host_words *words)
{
    char *rest = NULL;
    words->count = 0;
    for (char *word = strtok_r(line, " ", &rest); word != NULL && words->count < HOST_WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        words->at[words->count++] = word;
    }
}

bool host_command(struct host_words *words)
{
    char *line = input.text + input.used;
    char *end = memchr(line, '\n', input.len - input.used);
    if (end == NULL) {
        return false;
    }
    *end = 0;
    input.used = (size_t)(end + 1 - input.text);
    split(line, words);
    return true;
}

/* --- answers --- */

static void end_line(void)
{
    if (putchar('\n') == EOF || fflush(stdout) != 0) {
        exit(1); /* whom it would interest is gone */
    }
}

void host_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    end_line();
}

void host_say_bytes(const char *text, struct view bytes)
{
    (void)fputs(text, stdout);
    (void)fputs(bytes.len > 0 ? " " : " -", stdout);
    for (size_t i = 0; i < bytes.len; i++) {
        (void)printf("%02x", (unsigned)bytes.data[i]);
    }
    end_line();
}

bool host_bytes(const char *hex, struct writer *out)
{
    size_t len = strlen(hex);
    for (size_t i = 0; i + 1 < len; i += 2) {
        const char pair[3] = {hex[i], hex[i + 1], 0};
        char *end = NULL;
        unsigned long value = strtoul(pair, &end, 16);
        if (*end != 0) {
            return false;
        }
        writer_u8(out, (uint8_t)value);
    }
    return len % 2 == 0 && !out->full;
}

/* --- arguments --- */

const char *host_option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], name) == 0) {
            return argv[i + 1];
        }
    }
    return otherwise;
}

static bool listed(const char *word, const char *const *names)
{
    for (unsigned i = 0; names[i] != NULL; i++) {
        if (strcmp(word, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void host_usage(int argc, char **argv, const char *const *names)
{
    for (int i = 1; i < argc; i += 2) {
        if (!listed(argv[i], names) || i + 1 == argc) {
            (void)fprintf(stderr, "%s: %s: unknown, or without a value\n", argv[0], argv[i]);
            exit(2);
        }
    }
}
