/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 engine of one connection, server role, for read-only pages: GET and HEAD without a body
 * (RFC 9110, RFC 9112). Owns the state of the connection; does no I/O, reads no clock (so its
 * responses have no Date field), knows no page. The owner passes received bytes with http1_rx_space
 * and http1_rx_commit, gets requests from http1_next, and takes the bytes to send with
 * http1_tx_data and http1_tx_commit.
 *
 * Invariants:
 * I1. Split independence: requests and responses do not depend on how the input is split into
 *     reads.
 * I2. Bounded: memory is sizeof(struct http1); a response of any length passes through a buffer of
 *     HTTP1_TX_BYTES; the peer chooses no size.
 * I3. Sequential: the next request is parsed only after the response to the previous one is sent
 *     completely; pipelined requests wait in the receive buffer and in the kernel's buffer.
 * I4. Sticky failure: the first failure is final. If it concerns a request that is being received,
 *     the peer gets a response with the failure's status code, unless the peer has closed its side.
 *     Later input is dropped unparsed for LINK_CLOSE_MS, so that the response reaches a peer that
 *     still sends (RFC 9112 §9.6).
 * I5. Unambiguous framing: a request whose length two readers could see differently (RFC 9112
 *     §11.2: bare CR or LF, folded fields, a blank before the colon, doubled or mixed
 *     Content-Length and Transfer-Encoding) gets 400 and ends the connection. A request with a body
 *     ends the connection as well, with 413 or, for an unknown coding, 501.
 */
#ifndef WIRE_HTTP1_H
#define WIRE_HTTP1_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* What an HTTP/1.1 connection is doing. */
enum http1_phase {
    HTTP1_READING,    /* a request is arriving or may arrive */
    HTTP1_REQUESTED,  /* a request is complete: http1_next returns it */
    HTTP1_RESPONDING, /* the owner writes the response */
    HTTP1_CLOSING,    /* no request follows: the connection closes when its output is sent */
    HTTP1_FAILED
};

/* Progress of receiving a request. */
enum http1_part {
    HTTP1_NOTHING,
    HTTP1_LINE,             /* the request line, or an empty line before it, is arriving */
    HTTP1_LINE_AFTER_EMPTY, /* an empty line was received; the request line must follow */
    HTTP1_FIELDS            /* the request line is complete; fields are arriving */
};

/* The Content-Length of a request. */
enum http1_length { HTTP1_NO_LENGTH, HTTP1_LENGTH_ZERO, HTTP1_LENGTH_OF_BODY };

/* The Transfer-Encoding of a request. */
enum http1_coding { HTTP1_NO_CODING, HTTP1_CHUNKED, HTTP1_OTHER_CODING };

/* Status codes (RFC 9110 §15); owners respond only with the first three. */
enum http1_code {
    HTTP1_OK,
    HTTP1_NOT_FOUND,
    HTTP1_UNAVAILABLE,
    HTTP1_BAD_REQUEST,
    HTTP1_BAD_METHOD,
    HTTP1_TIMEOUT,
    HTTP1_HAS_BODY,
    HTTP1_LINE_TOO_LONG,
    HTTP1_FIELDS_TOO_LONG,
    HTTP1_NOT_IMPLEMENTED,
    HTTP1_VERSION_UNKNOWN
};
/* Number of values of enum http1_code. */
#define HTTP1_CODES ((unsigned)HTTP1_VERSION_UNKNOWN + 1u)
/* Returns code and reason phrase, such as "404 Not Found": a static text, never NULL. */
const char *http1_code_text(enum http1_code code);

/* One connection; its owner reads only `failed`, `code` and `again`. */
struct http1 {
    enum http1_phase phase;
    enum status failed;   /* first failure; STATUS_OK: none */
    enum http1_code code; /* code of the response to the failure; HTTP1_OK: no response */
    bool ended;           /* the peer closed its side */
    bool served;          /* at least one request got its response */
    bool again;           /* the current request is not the first on this connection */
    bool cut;             /* the current field line was too long: its rest was dropped */
    bool cr;              /* the last byte parsed was CR, so LF must follow */
    bool head;            /* the method is HEAD: send no body */
    bool old;             /* the request is HTTP/1.0 */
    bool close;           /* close the connection after the response */
    bool host;            /* the request has a Host field */
    enum http1_part part; /* progress of the current request */
    enum http1_length length;
    enum http1_coding coding;
    uint64_t now_ms;
    uint64_t since_ms; /* when the current wait, request, response or failure began */
    /* time at which the response began or, if later, the peer last received bytes of it */
    uint64_t moved_ms;
    uint32_t fields_len;
    uint16_t line_len; /* number of bytes in `line`: what has arrived of the current line */
    uint16_t rx_len;
    char path[HTTP1_PATH_CAP];
    uint8_t line[HTTP1_LINE_BYTES_MAX];
    uint8_t rx[HTTP1_RX_BYTES];
    struct writer tx; /* the bytes that wait to be sent */
    uint8_t sent[HTTP1_TX_BYTES];
};

/* Initializes an accepted connection. */
void http1_init(struct http1 *h, uint64_t now_ms);
/*
 * Sets the current time; call it before the other functions. After the deadline the connection
 * fails with PEER_TIMEOUT.
 */
void http1_set_time(struct http1 *h, uint64_t now_ms);
/* Returns the latest time for the next call of http1_set_time. */
uint64_t http1_deadline(const struct http1 *h);
/*
 * Returns when the connection may be closed in favour of a new one:
 * - before its first request is complete: HTTP1_GRACE_MS after its start;
 * - while a response is pending: HTTP1_PAUSE_MS after the peer last received bytes of it;
 * - after its first response, until the next request is complete: at once;
 * - after a failure, while it waits for the peer to close (LINK_CLOSE_MS): at once.
 */
uint64_t http1_yields_ms(const struct http1 *h);
/* Closes the connection in favour of a new one: nothing more is sent or read. */
void http1_yield(struct http1 *h);
/*
 * Whether the owner should close the connection now: the last response is sent, or the connection
 * has failed and need not wait any longer for the peer to receive the response or to close.
 */
bool http1_done(const struct http1 *h);

/* Returns the room for received bytes; empty: the owner must not read now. */
struct writer http1_rx_space(struct http1 *h);
/* Accepts `n` bytes that were written into the room of http1_rx_space. */
void http1_rx_commit(struct http1 *h, size_t n);
/* Records that the peer closed its side; its earlier requests still get their responses. */
void http1_rx_end(struct http1 *h);

/*
 * Returns the next request. STATUS_OK: a request for *path; call http1_respond. *path has no query,
 * is valid until the next call, and is empty if the requested path is longer than the path of every
 * page. STATUS_MORE: no request yet. Any other status is the first failure: PEER_MALFORMED,
 * PEER_UNSUPPORTED (method, version, coding, a body), FULL_BUFFER (line or fields too long),
 * PEER_TIMEOUT, PEER_CLOSED.
 */
MUST_USE enum status http1_next(struct http1 *h, struct view *path);
/*
 * Starts the response. true: write the body, then call http1_body_end. false: the request was HEAD,
 * and the response is complete.
 */
bool http1_respond(struct http1 *h, enum http1_code code, const char *content_type);
/* Returns the room for a piece of the body; empty: no room now, or the connection failed. */
struct writer http1_body_space(struct http1 *h);
/* Accepts `n` bytes of the body that were written into http1_body_space; 0 changes nothing. */
void http1_body_commit(struct http1 *h, size_t n);
/* Ends the body and with it the response. */
void http1_body_end(struct http1 *h);

/* Returns the bytes to send, possibly none; valid until the next call of this module. */
struct view http1_tx_data(const struct http1 *h);
/* Removes the first `n` bytes of http1_tx_data after they were sent. */
void http1_tx_commit(struct http1 *h, size_t n);

#endif
