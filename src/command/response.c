/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a response of the agent's metrics port to an HTTP/1.1 request, piece by piece. The agent
 * sends the body in chunks (RFC 9112 section 7.1), so that a body that ends early is detected. The
 * body of a response without chunks, which only another program sends, ends with the connection.
 */
#include "base/chars.h"
#include "command/command.h"

#define STATUS_LINE "HTTP/1.1 "
#define CODE_DIGITS 3u
#define LINE_END "\r\n"
#define HEAD_END "\r\n\r\n"
#define CHUNKED "\r\nTransfer-Encoding: chunked\r\n"
/*
 * Maximum number of hexadecimal digits of a chunk's size: more digits than the agent sends, but few
 * enough for a value of 32 bits.
 */
#define SIZE_DIGITS_MAX 7u

/* Index of the first occurrence of `text` in `v`; v.len: there is none. */
static size_t index_of_text(struct view v, const char *text)
{
    size_t i = 0;
    while (i < v.len && !view_starts(view_from(v, i), text)) {
        i++;
    }
    return i;
}

static bool go_to(struct page_response *r, enum response_stage stage)
{
    r->stage = stage;
    return true;
}

/* Removes the first `n` bytes of *rest, and makes `stage` the stage that is parsed next. */
static bool go_on(struct page_response *r, struct view *rest, size_t n, enum response_stage stage)
{
    *rest = view_from(*rest, n);
    return go_to(r, stage);
}

/* Parses the head of the HTTP response. Returns false if *rest does not have the whole head yet. */
static bool read_head(struct page_response *r, struct view *rest)
{
    uint64_t code = 0;
    size_t end = index_of_text(*rest, HEAD_END);
    struct view head = view_first(*rest, end + sizeof LINE_END - 1u);
    if (end == rest->len) {
        return false;
    }
    if (!view_starts(head, STATUS_LINE) ||
        view_decimal(view_first(view_from(head, sizeof STATUS_LINE - 1u), CODE_DIGITS), 999u,
                     &code) != STATUS_OK) {
        return go_to(r, RESPONSE_BAD);
    }
    r->code = (unsigned)code;
    r->chunked = index_of_text(head, CHUNKED) < head.len;
    return go_on(r, rest, end + sizeof HEAD_END - 1u, r->chunked ? RESPONSE_SIZE : RESPONSE_BODY);
}

static bool read_size(struct page_response *r, struct view *rest)
{
    size_t n = 0;
    uint32_t size = 0;
    while (n < rest->len && n < SIZE_DIGITS_MAX && is_hex_digit(rest->data[n])) {
        size = size << 4u | hex_value(rest->data[n]);
        n++;
    }
    if (rest->len < n + sizeof LINE_END - 1u) {
        return false;
    }
    if (n == 0u || !view_starts(view_from(*rest, n), LINE_END)) {
        return go_to(r, RESPONSE_BAD);
    }
    r->left = size;
    return go_on(r, rest, n + sizeof LINE_END - 1u, (size == 0u) ? RESPONSE_LAST : RESPONSE_BODY);
}

/*
 * Consumes a line end of the HTTP response: the one after a chunk, or the empty line after the last
 * chunk.
 */
static bool read_line_end(struct page_response *r, struct view *rest, enum response_stage next)
{
    if (rest->len < sizeof LINE_END - 1u) {
        return false;
    }
    return view_starts(*rest, LINE_END) ? go_on(r, rest, sizeof LINE_END - 1u, next)
                                        : go_to(r, RESPONSE_BAD);
}

/* Consumes and returns the next piece of the HTTP response's body; empty if *rest is empty. */
static struct view read_body(struct page_response *r, struct view *rest)
{
    struct view piece = r->chunked ? view_first(*rest, r->left) : *rest;
    *rest = view_from(*rest, piece.len);
    if (r->chunked) {
        r->left -= (uint32_t)piece.len;
        r->stage = (r->left == 0u) ? RESPONSE_CHUNK_END : r->stage;
    }
    return piece;
}

/*
 * Parses the current stage of the HTTP response, and sets the next stage. Returns false if *rest
 * has too few bytes.
 */
static bool next_stage(struct page_response *r, struct view *rest)
{
    switch (r->stage) {
    case RESPONSE_HEAD:
        return read_head(r, rest);
    case RESPONSE_SIZE:
        return read_size(r, rest);
    case RESPONSE_CHUNK_END:
        return read_line_end(r, rest, RESPONSE_SIZE);
    case RESPONSE_LAST:
        return read_line_end(r, rest, RESPONSE_WHOLE);
    case RESPONSE_BODY:
    case RESPONSE_WHOLE:
    case RESPONSE_BAD:
    default:
        return false;
    }
}

struct view command_response(struct page_response *r, struct view *rest)
{
    bool moved = true;
    while (moved && r->stage != RESPONSE_BODY) {
        moved = next_stage(r, rest);
    }
    return (r->stage == RESPONSE_BODY) ? read_body(r, rest) : view_of(NULL, 0);
}

bool command_response_whole(const struct page_response *r)
{
    return r->stage == RESPONSE_WHOLE || (r->stage == RESPONSE_BODY && !r->chunked);
}
