/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, server role: receives the method path, the time-out and the one request message
 * of a call; sends reply messages and a status. Owns the calls of one connection; knows no service.
 * Sources: the gRPC documents "PROTOCOL-HTTP2" and, for statuses, "statuscodes".
 *
 * Invariants:
 * I1. A CALL event belongs to a valid and complete request and holds its whole message: exactly the
 *     octets after the message's prefix.
 * I2. Every valid and complete request of up to GRPC_SMALL_BYTES becomes a CALL event, unless its
 *     stream exceeded the stream limit, or its deadline, a drain, `refusing`, the peer or the end
 *     of the connection ended the request earlier.
 * I3. Split independence: calls, messages, and the answers on each stream do not depend on how the
 *     peer's octets are split into reads.
 * I4. Each buffer belongs to at most one live call; the end of a connection frees all its buffers.
 * I5. Bounded: grpc_valid holds after every call; a message is never longer than its buffer.
 * I6. Each reported call ends once: by its response, or by a GONE or DEADLINE event. The first
 *     failure of the connection is final, and no call outlives it.
 * I7. Independence: the events and the output of a connection do not depend on other connections,
 *     except that buffers held by others may prevent it from getting a second buffer.
 *
 * A call is identified by its index in `calls` plus its serial number, so that the server
 * recognises a response to a cancelled call even if another call has reused the entry.
 */
#ifndef WIRE_GRPC_H
#define WIRE_GRPC_H

#include "wire/h2.h"

/* The codes of the gRPC "statuscodes" text that this server uses. */
enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14
};

/* One method that a socket serves. */
struct grpc_method {
    const char *path; /* path of the method, as "/package.Service/Method" */
    uint8_t id; /* the owner's number for the method; several paths may have the same number */
};

/* Memory for one request message that is longer than GRPC_SMALL_BYTES. */
struct grpc_buffer {
    bool taken;
    uint8_t bytes[GRPC_MESSAGE_BYTES_MAX];
};

/* The long-message buffers, shared by all connections; each connection can always get one. */
struct grpc_buffers {
    unsigned holders; /* number of connections that hold at least one buffer */
    unsigned taken;
    struct grpc_buffer buffers[GRPC_BUFFERS];
};

/* Identifies a call, even after the call has ended. */
struct grpc_call_id {
    uint16_t index;
    uint32_t serial; /* serial number of the call; 0: no call */
};

#define GRPC_PREFIX_BYTES 5u /* octets of a message prefix: compressed flag 1, message length 4 */

struct grpc_call {   /* a call, as an entry of the call table; all members are internal */
    uint32_t stream; /* id of the HTTP/2 stream; 0: free entry */
    uint32_t serial;
    uint8_t state;
    uint8_t flags;
    /* why the call is refused, as enum grpc_refusal; valid in state GRPC_CALL_REFUSED */
    uint8_t refusal;
    uint8_t method; /* the id of the grpc_method that the path names */
    uint8_t buffer; /* index in grpc_buffers, or GRPC_BUFFERS: the message is in `small` */
    /*
     * while the request arrives: number of received octets of the request message's prefix; later:
     * number of unsent octets of a reply message's prefix
     */
    uint8_t prefix_len;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    bool encoded;         /* the request's grpc-encoding names an encoding other than identity */
    uint32_t message_len; /* message length that the prefix announces */
    uint32_t message_have;
    uint32_t reply_left; /* number of bytes of the response message that are not sent yet */
    /*
     * time by which the request must be complete; later: time by which the peer must have received
     * the reply
     */
    uint64_t arrival_ms;
    uint64_t deadline_ms; /* time limit from the request's grpc-timeout; UINT64_MAX: none */
    char path[GRPC_PATH_CAP];
    uint8_t small[GRPC_SMALL_BYTES];
};

/* The state of one gRPC connection; this side is the server. */
struct grpc_server {
    struct h2 h2;
    /* buffers for long messages, borrowed; NULL: messages over GRPC_SMALL_BYTES are refused */
    struct grpc_buffers *buffers;
    unsigned held; /* number of buffers that this connection holds */
    uint32_t next_serial;
    uint64_t now_ms;
    bool refusing;                     /* set by the owner: refuse new calls with UNAVAILABLE */
    const struct grpc_method *methods; /* the methods of this socket, borrowed */
    unsigned methods_count;            /* number of methods; 0: every path is served as method 0 */
    struct grpc_call calls[H2_SERVER_STREAMS];
    struct h2_stream streams[H2_SERVER_STREAMS];
    uint8_t rx[H2_SERVER_RX_BYTES];
    uint8_t tx[H2_SERVER_TX_BYTES];
    uint8_t field[H2_SERVER_FIELD_BYTES];
    uint8_t scratch[H2_SERVER_FIELD_BYTES];
};

/* Kinds of events that a gRPC connection delivers. */
enum grpc_event_kind {
    /* a request is complete; the owner answers it with grpc_reply_… and grpc_finish */
    GRPC_EVENT_CALL,
    GRPC_EVENT_GONE, /* the call ended without our answer (cancelled, connection lost) */
    /*
     * the call ended with DEADLINE_EXCEEDED: its grpc-timeout passed, or the peer did not receive a
     * whole reply message within GRPC_REPLY_MS
     */
    GRPC_EVENT_DEADLINE,
    /*
     * the peer's window or the send buffer has room again: the owner continues the replies that it
     * has begun
     */
    GRPC_EVENT_WRITABLE
};

/* An event that grpc_next returned. */
struct grpc_event {
    enum grpc_event_kind kind;
    struct grpc_call_id call; /* call that the event concerns; set for all kinds except WRITABLE */
    struct view path;         /* CALL: path of the method, valid until the call ends */
    unsigned method;          /* CALL: grpc_method.id of the path */
    struct view message;      /* CALL: the request message, valid until the next grpc_next */
    /* CALL: time at which the call's grpc-timeout ends; UINT64_MAX: no grpc-timeout */
    uint64_t deadline_ms;
};

/*
 * Starts a connection. `buffers` (borrowed, may be NULL) serve requests over GRPC_SMALL_BYTES: a
 * socket that any process can reach gets none, so that its peers cannot use up the buffers that
 * other sockets need. `methods` (borrowed) are the methods of the socket; if there are none, every
 * path is served as method 0. New calls are accepted until the owner sets `refusing`.
 */
void grpc_init(struct grpc_server *s, struct grpc_buffers *buffers,
               const struct grpc_method *methods, unsigned methods_count, uint64_t now_ms);
/* Whether the state of the connection is consistent; for assertions and tests. */
bool grpc_valid(const struct grpc_server *s);
/*
 * Returns the next event. STATUS_MORE: there is no event yet. Any other status: the connection has
 * failed, and every reported call has already got its GONE event; every later call returns the same
 * status. The owner passes bytes in both directions through s->h2.
 *
 * grpc_next answers these requests itself, without an event (gRPC PROTOCOL-HTTP2 and, for
 * compressed messages, compression.md; codes as in grpc-go):
 * - HTTP 405: the method is not POST. HTTP 415: the content-type is not application/grpc. Both
 *   responses have a short text; if the peer does not take the text within GRPC_ARRIVAL_MS, the
 *   stream is reset (CANCEL).
 * - UNIMPLEMENTED: path not served or too long, message compressed by the encoding that
 *   grpc-encoding names.
 * - INTERNAL: malformed grpc-timeout, malformed prefix, message marked as compressed although
 *   grpc-encoding names no encoding, no message, incomplete message, more than one message.
 * - RESOURCE_EXHAUSTED: message over GRPC_MESSAGE_BYTES_MAX or, without `buffers`, over
 *   GRPC_SMALL_BYTES; refused before any byte of the message is received.
 * - UNAVAILABLE: no free buffer, or the owner has set `refusing`.
 * - DEADLINE_EXCEEDED: request not complete within GRPC_ARRIVAL_MS or its grpc-timeout.
 *
 * If the header list alone is the reason, the refusal is sent at once, even before the request is
 * complete (RFC 9113 §8.1). RST_STREAM with NO_ERROR then stops the rest of the request. After 405,
 * 415 and an unknown path, the server instead drops the rest of the request for up to
 * GRPC_ARRIVAL_MS, because most of it is already in flight; HTTP/2 errors in that rest still get
 * their own codes.
 */
MUST_USE enum status grpc_next(struct grpc_server *s, uint64_t now_ms, struct grpc_event *event);
/*
 * Abandons the connection: frees every call without an event. A GOAWAY may still be sent; grpc_next
 * must not be called again.
 */
void grpc_abandon(struct grpc_server *s);
/*
 * Returns the latest time for the next call of grpc_next: the earliest deadline of the connection
 * and its calls. UINT64_MAX: no deadline.
 */
uint64_t grpc_deadline(const struct grpc_server *s);
/* Whether the call still needs a response. */
bool grpc_call_alive(const struct grpc_server *s, struct grpc_call_id call);
/* Number of calls that need a response, including those not reported to the owner. */
unsigned grpc_calls_open(const struct grpc_server *s);
/* Number of calls whose request has been incomplete for at least GRPC_SLOW_MS. */
unsigned grpc_calls_slow(const struct grpc_server *s, uint64_t now_ms);

/*
 * Send a response message of `len` bytes: call grpc_reply_begin once, then grpc_reply_bytes until
 * all bytes are sent. grpc_reply_begin sends the response headers first if necessary; STATUS_MORE:
 * there is no send room, call grpc_reply_begin again after WRITABLE. grpc_reply_bytes sets *taken
 * to the number of bytes accepted; if that is 0, WRITABLE follows. PEER_CLOSED: the call has ended.
 * A unary call sends one message, a streaming call any number.
 */
MUST_USE enum status grpc_reply_begin(struct grpc_server *s, struct grpc_call_id call,
                                      uint32_t len);
MUST_USE enum status grpc_reply_bytes(struct grpc_server *s, struct grpc_call_id call,
                                      struct view bytes, size_t *taken);
/*
 * Sends a whole message, in parts if send room is short. STATUS_MORE: after WRITABLE, call this
 * function again with a message of the same length; it continues with the bytes that are not sent
 * yet. Several such calls may be necessary, because the peer's window may be smaller than the
 * message. PEER_CLOSED: the call has ended. After STATUS_OK another message may follow.
 */
MUST_USE enum status grpc_reply_message(struct grpc_server *s, struct grpc_call_id call,
                                        struct view message);
/*
 * Sends the only message of a call, then status OK. STATUS_MORE and PEER_CLOSED: as for
 * grpc_reply_message.
 */
MUST_USE enum status grpc_reply_all(struct grpc_server *s, struct grpc_call_id call,
                                    struct view message);
/*
 * Ends the call with a status; `text` is cut at GRPC_STATUS_TEXT_CAP and percent-encoded. Sends
 * trailers, or Trailers-Only if no response header was sent. STATUS_MORE: no send room; call again
 * after WRITABLE. STATUS_OK: the status was sent, or the call had already ended.
 */
MUST_USE enum status grpc_finish(struct grpc_server *s, struct grpc_call_id call,
                                 enum grpc_status code, const char *text);
/*
 * Stops accepting calls: sends a GOAWAY with the id of the last stream to be served; running calls
 * may finish. Later calls are dropped without a response, because gRPC clients then send them again
 * on another connection, whereas a response would fail them. The owner closes the connection when
 * grpc_calls_open is 0.
 */
void grpc_drain(struct grpc_server *s);

#endif
