/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 server engine; see http1.h. Reads requests line by line and parses a line when its CRLF
 * has arrived, so that the result does not depend on how the bytes arrive. Owns the rules of RFC
 * 9112.
 */
#include "wire/http1.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "base/ip.h"

/* --- status codes, and sending the head of a response --- */

/* Status codes and their reason phrases, RFC 9110 §15. */
static const char *const code_texts[HTTP1_CODES] = {
    [HTTP1_OK] = "200 OK",
    [HTTP1_NOT_FOUND] = "404 Not Found",
    [HTTP1_UNAVAILABLE] = "503 Service Unavailable",
    [HTTP1_BAD_REQUEST] = "400 Bad Request",
    [HTTP1_BAD_METHOD] = "405 Method Not Allowed",
    [HTTP1_TIMEOUT] = "408 Request Timeout",
    [HTTP1_HAS_BODY] = "413 Content Too Large",
    [HTTP1_LINE_TOO_LONG] = "414 URI Too Long",
    [HTTP1_FIELDS_TOO_LONG] = "431 Request Header Fields Too Large",
    [HTTP1_NOT_IMPLEMENTED] = "501 Not Implemented",
    [HTTP1_VERSION_UNKNOWN] = "505 HTTP Version Not Supported",
};

const char *http1_code_text(enum http1_code code)
{
    ASSERT((unsigned)code < HTTP1_CODES);
    return code_texts[code];
}

static void write_head(struct http1 *h, enum http1_code code, const char *content_type)
{
    h->moved_ms = h->now_ms;
    WRITE(&h->tx, "HTTP/1.1 %\r\nContent-Type: %\r\n", TEXT(http1_code_text(code)),
          TEXT(content_type));
}

/* Fails the connection and sends a response with `code`, or none if `code` is HTTP1_OK. */
static void fail_connection(struct http1 *h, enum status why, enum http1_code code)
{
    ASSERT(h->phase != HTTP1_FAILED && why != STATUS_OK);
    h->phase = HTTP1_FAILED;
    h->failed = why;
    h->code = code;
    h->since_ms = h->now_ms;
    h->rx_len = 0;
    if (code == HTTP1_OK) {
        return;
    }
    const char *text = http1_code_text(code);
    ASSERT(h->tx.len == 0u);
    write_head(h, code, "text/plain");
    WRITE(&h->tx, "%Connection: close\r\nContent-Length: %\r\n\r\n%",
          TEXT((code == HTTP1_BAD_METHOD) ? "Allow: GET, HEAD\r\n" : ""), NUMBER(strlen(text)),
          TEXT(h->head ? "" : text));
}

static void fail_malformed(struct http1 *h)
{
    fail_connection(h, PEER_MALFORMED, HTTP1_BAD_REQUEST);
}

/* --- checking words (RFC 9110 §5.6) --- */

/* Whether `v` equals `text`, ignoring the case of letters; `text` is in lower case. */
static bool same_word(struct view v, const char *text)
{
    size_t i = 0;
    while (i < v.len && text[i] != '\0' && to_lower(v.data[i]) == (uint8_t)text[i]) {
        i++;
    }
    return i == v.len && text[i] == '\0';
}

/* Whether all bytes are visible ASCII, and none is in `never`. */
static bool all_visible(struct view v, const char *never)
{
    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        if (!is_visible(c) || memchr(never, c, strlen(never)) != NULL) {
            return false;
        }
    }
    return true;
}

static bool is_token(struct view v)
{
    return v.len > 0u && all_visible(v, "\"(),/:;<=>?@[\\]{}");
}

/* --- checking hosts with ports (RFC 9110 §7.2) --- */

/* Whether the byte may stand in a reg-name as it is (RFC 3986 §3.2.2). */
static bool is_name_byte(uint8_t c)
{
    static const char marks[] = "-._~!$&'()*+,;=";
    return is_alphanumeric(c) || memchr(marks, c, sizeof marks - 1u) != NULL;
}

/* Length of the reg-name at the front of `v`; an IPv4 address is a reg-name, too. */
static size_t name_len(struct view v)
{
    size_t len = 0;
    while (len < v.len) {
        if (is_name_byte(v.data[len])) {
            len++;
        } else if (v.data[len] == '%' && v.len - len > 2u && is_hex_digit(v.data[len + 1u]) &&
                   is_hex_digit(v.data[len + 2u])) {
            len += 3u;
        } else {
            break;
        }
    }
    return len;
}

/*
 * Length of the IPv6 address in brackets at the front of `v`; 0: there is none. The grammar also
 * has addresses of later versions of IP, which do not exist.
 */
static size_t literal_len(struct view v)
{
    struct ip_address address;
    struct view rest = view_from(v, 1u);
    size_t end = view_find(rest, ']');
    bool is_ip = end < rest.len && ip_parse(view_first(rest, end), &address);
    return is_ip && address.v6 ? end + 2u : 0u;
}

/*
 * Whether `v` is a host, followed by a colon and a port or not. The port may be empty; the host may
 * only if `nameless`.
 */
static bool is_authority(struct view v, bool nameless)
{
    size_t host = view_starts(v, "[") ? literal_len(v) : name_len(v);
    struct view port = view_from(v, host);
    size_t i = view_starts(port, ":") ? 1u : 0u;
    while (i > 0u && i < port.len && is_digit(port.data[i])) {
        i++;
    }
    return i == port.len && (host > 0u || nameless);
}

/* --- parsing the request line (RFC 9112 §3) --- */

/* Returns the bytes before the next space of the line; *line then begins after that space. */
static struct view split_word(struct view *line)
{
    size_t end = view_find(*line, ' ');
    struct view v = view_first(*line, end);
    *line = view_from(*line, end + 1u);
    return v;
}

static void parse_version(struct http1 *h, struct view v)
{
    bool form = v.len == 8u && view_starts(v, "HTTP/") && v.data[6] == '.';
    uint8_t major = form ? (uint8_t)(v.data[5] - '0') : 10u;
    uint8_t minor = form ? (uint8_t)(v.data[7] - '0') : 10u;
    if (major > 9u || minor > 9u) {
        fail_malformed(h);
    } else if (major != 1u) {
        fail_connection(h, PEER_UNSUPPORTED, HTTP1_VERSION_UNKNOWN);
    } else {
        h->old = minor == 0u;
        h->close = h->old;
    }
}

/*
 * Whether HTTP defines the method: a defined method other than GET and HEAD gets a 405, an unknown
 * method a 501 (RFC 9110 §9.1).
 */
static bool is_method(struct view v)
{
    static const char *const methods[] = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                          "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    bool known = false;
    for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        known = known || view_is(v, methods[i]);
    }
    return known;
}

static void parse_method(struct http1 *h, struct view v)
{
    h->head = view_is(v, "HEAD");
    if (!h->head && !view_is(v, "GET")) {
        fail_connection(h, PEER_UNSUPPORTED,
                        is_method(v) ? HTTP1_BAD_METHOD : HTTP1_NOT_IMPLEMENTED);
    }
}

/*
 * Keeps the path of the request target, which may be in origin form ("/path") or, as a server must
 * accept (RFC 9112 §3.2.2), in absolute form ("http://host/path"), whose host must not be empty
 * (RFC 9110 §4.2.1).
 */
static void parse_target(struct http1 *h, struct view v)
{
    static const char scheme[] = "http://";
    struct view path = view_first(v, view_find(v, '?'));
    bool valid = v.len > 0u && all_visible(v, "#");
    if (same_word(view_first(path, sizeof scheme - 1u), scheme)) {
        path = view_from(path, sizeof scheme - 1u);
        size_t end = view_find(path, '/');
        valid = valid && is_authority(view_first(path, end), false);
        path = view_from(path, end);
    }
    if (!valid || (path.len > 0u && path.data[0] != '/')) {
        fail_malformed(h);
        return;
    }
    h->path[0] = 0;
    if (text_copy(h->path, sizeof h->path, path) != STATUS_OK) {
        h->path[0] = 0; /* the path is longer than that of every page: treat it as empty */
    }
}

static void request_line(struct http1 *h, struct view line)
{
    if (line.len == 0u && h->part == HTTP1_LINE) {
        /* RFC 9112 §2.2: one empty line before the request line is ignored */
        h->part = HTTP1_LINE_AFTER_EMPTY;
        return;
    }
    struct view rest = line;
    struct view method = split_word(&rest);
    struct view target = split_word(&rest);
    h->part = HTTP1_FIELDS;
    if (is_token(method)) {
        parse_version(h, rest);
    } else {
        fail_malformed(h);
    }
    if (h->phase == HTTP1_READING) {
        parse_method(h, method);
    }
    if (h->phase == HTTP1_READING) {
        parse_target(h, target);
    }
}

/* --- parsing the fields of a request (RFC 9112 §5) --- */

/* RFC 9112 §6.3: with an invalid length the end of the request is unknown, so the request fails. */
static void parse_length(struct http1 *h, struct view value)
{
    uint64_t length = 0;
    if (h->length != HTTP1_NO_LENGTH || view_decimal(value, UINT64_MAX, &length) != STATUS_OK) {
        fail_malformed(h);
        return;
    }
    h->length = (length > 0u) ? HTTP1_LENGTH_OF_BODY : HTTP1_LENGTH_ZERO;
}

static void parse_coding(struct http1 *h, struct view value)
{
    if (h->coding != HTTP1_NO_CODING) {
        fail_malformed(h);
        return;
    }
    h->coding = same_word(value, "chunked") ? HTTP1_CHUNKED : HTTP1_OTHER_CODING;
}

/* RFC 9112 §3.2: an invalid Host gets a 400; an empty one is valid. */
static void parse_host(struct http1 *h, struct view value)
{
    if (h->host || !is_authority(value, true)) {
        fail_malformed(h);
        return;
    }
    h->host = true;
}

static void parse_connection(struct http1 *h, struct view value)
{
    struct view rest = value;
    /* The loop ends, because each iteration consumes at least one byte. */
    while (rest.len > 0u) {
        size_t end = view_find(rest, ',');
        h->close = h->close || same_word(view_trim(view_first(rest, end)), "close");
        rest = view_from(rest, end + 1u);
    }
}

enum { FIELD_LENGTH, FIELD_CODING, FIELD_HOST, FIELD_CONNECTION, FIELD_OTHER };

static unsigned field_kind(struct view name)
{
    static const char *const names[FIELD_OTHER] = {[FIELD_LENGTH] = "content-length",
                                                   [FIELD_CODING] = "transfer-encoding",
                                                   [FIELD_HOST] = "host",
                                                   [FIELD_CONNECTION] = "connection"};
    unsigned kind = 0;
    while (kind < (unsigned)FIELD_OTHER && !same_word(name, names[kind])) {
        kind++;
    }
    return kind;
}

static void parse_field(struct http1 *h, struct view name, struct view value)
{
    unsigned kind = field_kind(name);
    if (h->cut && kind != FIELD_OTHER) {
        fail_connection(h, FULL_BUFFER, HTTP1_FIELDS_TOO_LONG);
    } else if (kind == FIELD_LENGTH) {
        parse_length(h, value);
    } else if (kind == FIELD_CODING) {
        parse_coding(h, value);
    } else if (kind == FIELD_HOST) {
        parse_host(h, value);
    } else if (kind == FIELD_CONNECTION) {
        parse_connection(h, value);
    }
}

static void field_line(struct http1 *h, struct view line)
{
    size_t colon = view_find(line, ':');
    struct view name = view_first(line, colon);
    /* is_token also refuses a folded line and a blank before the colon. */
    if (colon == line.len || !is_token(name)) {
        fail_malformed(h);
        return;
    }
    parse_field(h, name, view_trim(view_from(line, colon + 1u)));
    h->cut = false;
}

/* Ends the header section: decides whether the request may be served. */
static void request_end(struct http1 *h)
{
    bool nameless = !h->host && !h->old;
    bool coded = h->coding != HTTP1_NO_CODING;
    if (nameless || (coded && (h->length != HTTP1_NO_LENGTH || h->old))) {
        fail_malformed(h);
    } else if (h->coding == HTTP1_OTHER_CODING) {
        fail_connection(h, PEER_UNSUPPORTED, HTTP1_NOT_IMPLEMENTED);
    } else if (coded || h->length == HTTP1_LENGTH_OF_BODY) {
        fail_connection(h, PEER_UNSUPPORTED, HTTP1_HAS_BODY);
    } else {
        h->phase = HTTP1_REQUESTED;
    }
}

/* --- splitting received bytes into lines --- */

static void line_over(struct http1 *h)
{
    struct view line = view_of(h->line, h->line_len);
    h->line_len = 0;
    if (h->part != HTTP1_FIELDS) {
        request_line(h, line);
    } else if (line.len > 0u) {
        field_line(h, line);
    } else {
        request_end(h);
    }
}

static void line_byte(struct http1 *h, uint8_t c)
{
    if (h->line_len < sizeof h->line) {
        h->line[h->line_len] = c;
        h->line_len++;
    } else if (h->part == HTTP1_FIELDS) {
        /* drop the rest of the field line: no page reads long fields, such as tokens and cookies */
        h->cut = true;
    } else {
        fail_connection(h, FULL_BUFFER, HTTP1_LINE_TOO_LONG);
    }
}

/* Whether the byte is forbidden in a line: a control character other than tab (RFC 9110 §5.5). */
static bool is_forbidden(uint8_t c)
{
    return is_control(c) && c != '\t';
}

static void consume_byte(struct http1 *h, uint8_t c)
{
    bool after_cr = h->cr;
    if (h->part == HTTP1_NOTHING) {
        h->part = HTTP1_LINE;
    }
    h->cr = c == '\r' && !after_cr;
    h->fields_len += (h->part == HTTP1_FIELDS) ? 1u : 0u;
    if (h->fields_len > HTTP1_FIELDS_BYTES_MAX) {
        fail_connection(h, FULL_BUFFER, HTTP1_FIELDS_TOO_LONG);
    } else if (h->cr) {
        return;
    } else if (after_cr && c == '\n') {
        line_over(h);
    } else if (after_cr || is_forbidden(c)) {
        fail_malformed(h);
    } else {
        line_byte(h, c);
    }
}

/* Parses received bytes until a request is complete or the connection fails. */
static void parse_input(struct http1 *h)
{
    size_t at = 0;
    ASSERT(h->rx_len <= sizeof h->rx);
    while (at < h->rx_len && h->phase == HTTP1_READING) {
        consume_byte(h, h->rx[at]);
        at++;
    }
    if (h->phase == HTTP1_FAILED) {
        return;
    }
    ASSERT(at <= h->rx_len && h->rx_len <= sizeof h->rx);
    size_t left = h->rx_len - at;
    memmove(h->rx, &h->rx[at], left);
    h->rx_len = (uint16_t)left;
    if (h->ended && h->phase == HTTP1_READING) {
        fail_connection(h, PEER_CLOSED, HTTP1_OK);
    }
}

/* --- start and deadlines of a connection --- */

void http1_init(struct http1 *h, uint64_t now_ms)
{
    memset(h, 0, sizeof *h);
    h->tx = writer_of(h->sent, sizeof h->sent);
    h->now_ms = now_ms;
    h->since_ms = now_ms;
}

/* Whether a response was sent and no byte of another request has arrived yet. */
static bool is_idle(const struct http1 *h)
{
    return h->phase == HTTP1_READING && h->served && h->part == HTTP1_NOTHING && h->rx_len == 0u;
}

uint64_t http1_deadline(const struct http1 *h)
{
    if (h->phase == HTTP1_FAILED) {
        return h->since_ms + LINK_CLOSE_MS;
    }
    if (h->phase != HTTP1_READING || h->tx.len > 0u) {
        return h->since_ms + HTTP1_ANSWER_MS;
    }
    return h->since_ms + (is_idle(h) ? HTTP1_IDLE_MS : HTTP1_REQUEST_MS);
}

uint64_t http1_yields_ms(const struct http1 *h)
{
    /* a failed connection serves no further request, and closes within LINK_CLOSE_MS by itself */
    bool over = h->phase == HTTP1_FAILED;
    if (h->tx.len > 0u || (!over && h->phase != HTTP1_READING)) {
        return h->moved_ms + HTTP1_PAUSE_MS;
    }
    return h->since_ms + ((over || h->served) ? 0u : HTTP1_GRACE_MS);
}

void http1_yield(struct http1 *h)
{
    h->tx.len = 0;
    if (h->phase != HTTP1_FAILED) {
        fail_connection(h, PEER_CLOSED, HTTP1_OK);
    }
    h->code = HTTP1_OK;
}

void http1_set_time(struct http1 *h, uint64_t now_ms)
{
    ASSERT(now_ms >= h->now_ms);
    h->now_ms = now_ms;
    if (h->phase == HTTP1_FAILED || now_ms < http1_deadline(h)) {
        return;
    }
    bool half = h->phase == HTTP1_READING && h->part != HTTP1_NOTHING; /* nothing is being sent */
    h->tx.len = 0;
    fail_connection(h, PEER_TIMEOUT, half ? HTTP1_TIMEOUT : HTTP1_OK);
}

bool http1_done(const struct http1 *h)
{
    if (h->phase == HTTP1_FAILED) {
        bool over = h->tx.len == 0u && (h->ended || h->code == HTTP1_OK);
        return over || h->now_ms >= http1_deadline(h);
    }
    return h->phase == HTTP1_CLOSING && h->tx.len == 0u;
}

/* --- receiving requests --- */

struct writer http1_rx_space(struct http1 *h)
{
    if (h->ended || h->phase == HTTP1_CLOSING) {
        return writer_of(NULL, 0);
    }
    return writer_of(&h->rx[h->rx_len], sizeof h->rx - h->rx_len);
}

void http1_rx_commit(struct http1 *h, size_t n)
{
    ASSERT(n <= sizeof h->rx - h->rx_len);
    if (h->phase == HTTP1_FAILED) {
        return; /* drops the bytes: a failed connection parses no more input */
    }
    if (is_idle(h) && h->tx.len == 0u) {
        h->since_ms = h->now_ms;
    }
    h->rx_len = (uint16_t)(h->rx_len + n);
}

void http1_rx_end(struct http1 *h)
{
    h->ended = true;
}

enum status http1_next(struct http1 *h, struct view *path)
{
    if (h->phase == HTTP1_READING && h->tx.len == 0u) {
        parse_input(h);
    }
    if (h->phase == HTTP1_REQUESTED) {
        h->phase = HTTP1_RESPONDING;
        h->again = h->served;
        h->since_ms = h->now_ms;
        h->moved_ms = h->now_ms;
        *path = view_text(h->path);
        return STATUS_OK;
    }
    return (h->phase == HTTP1_FAILED) ? h->failed : STATUS_MORE;
}

/* --- writing responses --- */

/*
 * Lengths of "XXXX\r\n" before a chunk, "\r\n" after it, and "0\r\n\r\n" at the end (RFC 9112
 * §7.1).
 */
#define CHUNK_HEAD 6u
#define CHUNK_TAIL 2u
#define CHUNK_LAST 5u

static void response_over(struct http1 *h)
{
    h->phase = h->close ? HTTP1_CLOSING : HTTP1_READING;
    h->served = true;
    h->head = false;
    h->part = HTTP1_NOTHING;
    h->host = false;
    h->length = HTTP1_NO_LENGTH;
    h->fields_len = 0;
}

bool http1_respond(struct http1 *h, enum http1_code code, const char *content_type)
{
    if (h->phase == HTTP1_FAILED) {
        return false;
    }
    ASSERT(h->phase == HTTP1_RESPONDING && h->tx.len == 0u);
    write_head(h, code, content_type);
    WRITE(&h->tx, "%%", TEXT(h->old ? "" : "Transfer-Encoding: chunked\r\n"),
          TEXT(h->close ? "Connection: close\r\n\r\n" : "\r\n"));
    if (h->head) {
        response_over(h);
        return false;
    }
    return true;
}

struct writer http1_body_space(struct http1 *h)
{
    const size_t head = h->old ? 0u : CHUNK_HEAD;
    const size_t around = h->old ? 0u : CHUNK_HEAD + CHUNK_TAIL + CHUNK_LAST;
    if (h->phase != HTTP1_RESPONDING || writer_room(&h->tx) <= around) {
        return writer_of(NULL, 0);
    }
    return writer_of(&h->sent[h->tx.len + head], writer_room(&h->tx) - around);
}

void http1_body_commit(struct http1 *h, size_t n)
{
    if (n == 0u || h->phase != HTTP1_RESPONDING) {
        return;
    }
    if (!h->old) {
        writer_hex(&h->tx, n, 4);
        writer_text(&h->tx, "\r\n");
    }
    ASSERT(n <= writer_room(&h->tx));
    h->tx.len += n; /* the owner has already written the bytes into http1_body_space */
    writer_text(&h->tx, h->old ? "" : "\r\n");
}

void http1_body_end(struct http1 *h)
{
    if (h->phase != HTTP1_RESPONDING) {
        return;
    }
    writer_text(&h->tx, h->old ? "" : "0\r\n\r\n");
    response_over(h);
}

struct view http1_tx_data(const struct http1 *h)
{
    return writer_view(&h->tx);
}

void http1_tx_commit(struct http1 *h, size_t n)
{
    ASSERT(n <= h->tx.len && !h->tx.full);
    h->moved_ms = (n > 0u) ? h->now_ms : h->moved_ms;
    h->tx.len -= n;
    memmove(h->sent, &h->sent[n], h->tx.len);
    if (h->tx.len == 0u && h->phase == HTTP1_READING) {
        h->since_ms = h->now_ms;
    }
}
