/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a failed assertion: one line on stderr, exit 1. The store makes the restart lose
 * nothing. Uses nothing that could itself assert, and cannot block on a reader that went away.
 */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"

enum { PANIC_WAIT_MS = 100, PANIC_DIGITS = 10 };

/* Decimal digits of `number` at the end of `text`; returns where they begin. */
static char *decimal(char text[PANIC_DIGITS + 1], int number)
{
    unsigned left = (number < 0) ? 0u : (unsigned)number;
    char *at = &text[PANIC_DIGITS];
    *at = 0;
    for (unsigned i = 0; i < PANIC_DIGITS && (left > 0u || i == 0u); i++) {
        at--;
        *at = (char)('0' + left % 10u);
        left /= 10u;
    }
    return at;
}

static struct iovec piece(const char *text)
{
    /* writev only reads; its type just does not say so. */
    return (struct iovec){.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
}

_Noreturn void assert_failed(const char *file, int line)
{
    char digits[PANIC_DIGITS + 1];
    struct iovec pieces[] = {
        piece("level=error event=assertion_failed at="),
        piece(file),
        piece(":"),
        piece(decimal(digits, line)),
        piece(" remedy=\"report this line; the next start continues from the claim store\"\n"),
    };
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, PANIC_WAIT_MS) == 1) {
        ssize_t written = writev(STDERR_FILENO, pieces, (int)(sizeof pieces / sizeof pieces[0]));
        (void)written;
    }
    _exit(1);
}
