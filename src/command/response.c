/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a response of the agent's metrics port. The agent sends the body in chunks, so that a page
 * which it could not complete differs from a whole one.
 */
#include "command/command.h"

#define STATUS_LINE "HTTP/1.1 "
#define CHUNKED "\r\nTransfer-Encoding: chunked\r\n"
#define CODE_DIGITS 3u
#define SIZE_DIGITS 8u /* longest size of a chunk; the agent writes four digits */

unsigned command_response(struct view response, struct view *body)
{
    uint64_t code = 0;
    *body = view_from(response, response.len);
    if (!view_starts(response, STATUS_LINE) ||
        view_decimal(view_first(view_from(response, sizeof STATUS_LINE - 1u), CODE_DIGITS), 999u,
                     &code) != STATUS_OK) {
        return 0;
    }
    for (size_t i = 0; i + 4u <= response.len; i++) {
        if (view_starts(view_from(response, i), "\r\n\r\n")) {
            *body = view_from(response, i + 4u);
            return (unsigned)code;
        }
    }
    return 0;
}

/* Reads one byte of a line between two chunks: the end of a chunk, or the size of the next one. */
static void read_frame(struct chunks *c, uint8_t byte)
{
    uint64_t digit = 16;
    if (byte >= '0' && byte <= '9') {
        digit = (uint64_t)byte - '0';
    } else if (byte >= 'a' && byte <= 'f') {
        digit = (uint64_t)byte - 'a' + 10u;
    } else {
        /* not a digit */
    }
    if (digit < 16u && c->digits < SIZE_DIGITS) {
        c->size = c->size * 16u + digit;
        c->digits++;
    } else if (byte == '\n' && c->digits > 0u) {
        c->over = c->size == 0u;
        c->left = c->size;
        c->size = 0;
        c->digits = 0;
    } else {
        c->bad = c->bad || (byte != '\r' && byte != '\n');
    }
}

struct chunks command_chunks_begin(struct view head)
{
    struct chunks c = {.plain = true};
    for (size_t i = 0; i < head.len && c.plain; i++) {
        c.plain = !view_starts(view_from(head, i), CHUNKED);
    }
    return c;
}

size_t command_chunks(struct chunks *c, uint8_t *bytes, size_t len)
{
    size_t kept = 0;
    if (c->plain) {
        return len;
    }
    for (size_t i = 0; i < len && !c->over && !c->bad; i++) {
        if (c->left > 0u) {
            bytes[kept] = bytes[i];
            kept++;
            c->left--;
        } else {
            read_frame(c, bytes[i]);
        }
    }
    return kept;
}
