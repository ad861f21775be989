/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a failed assertion: writes one line to stderr and exits with code 1. A restart loses no
 * claim, because the store is on disk. Calls no function that contains an assertion. If no process
 * reads stderr, drops the line and does not block.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

enum { PANIC_WAIT_MS = 100, PANIC_DIGITS = 10 };
/* Size of a line with fixed text, a path, a line number and a condition with each byte escaped. */
#define PANIC_LINE_BYTES 640u
/* Maximum number of bytes of the condition to print; the rest is cut off. */
#define PANIC_CONDITION_BYTES 224u

/* Writes `number` as decimal digits to the end of `text`. Returns a pointer to the first digit. */
static char *write_decimal(char text[PANIC_DIGITS + 1], int number)
{
    unsigned left = (number < 0) ? 0u : (unsigned)number;
    char *at = &text[PANIC_DIGITS];
    *at = '\0';
    for (unsigned i = 0; i < PANIC_DIGITS && (left > 0u || i == 0u); i++) {
        at--;
        *at = (char)('0' + left % 10u);
        left /= 10u;
    }
    return at;
}

/* Appends as much of `text` as fits after the first `len` bytes; returns the new length. */
static size_t append_text(char line[PANIC_LINE_BYTES], size_t len, const char *text)
{
    size_t room = PANIC_LINE_BYTES - len;
    size_t n = strlen(text);
    n = (n < room) ? n : room;
    memcpy(&line[len], text, n);
    return len + n;
}

/*
 * Like append_text, but escapes the characters of `text` that may not stand between the quotation
 * marks of a log line.
 */
static size_t append_quoted(char line[PANIC_LINE_BYTES], size_t len, const char *text)
{
    size_t end = len;
    for (size_t i = 0; i < PANIC_CONDITION_BYTES && text[i] != '\0'; i++) {
        const char one[] = {text[i], '\0'};
        bool escaped = one[0] == '"' || one[0] == '\\';
        end = append_text(line, end, escaped ? "\\" : "");
        end = append_text(line, end, one);
    }
    return end;
}

void assert_failed(const char *file, int line, const char *condition)
{
    char digits[PANIC_DIGITS + 1];
    char text[PANIC_LINE_BYTES];
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, PANIC_WAIT_MS) == 1) {
        size_t len = append_text(text, 0, "level=error event=assertion_failed at=");
        len = append_text(text, len, file);
        len = append_text(text, len, ":");
        len = append_text(text, len, write_decimal(digits, line));
        len = append_text(text, len, " condition=\"");
        len = append_quoted(text, len, condition);
        len = append_text(text, len, "\" remedy=\"report this line; ");
        len = append_text(text, len, "the next start continues from the claim store\"\n");
        ssize_t written = write(STDERR_FILENO, text, len);
        (void)written;
    }
    _exit(1);
}
