/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, server role: method path, time-out, one request message in, reply messages and
 * status out. Owns the calls of one connection; knows no service. Source: gRPC "PROTOCOL-HTTP2"
 * text; statuses as its "statuscodes" text.
 *
 * Invariants:
 * I1. A CALL event holds one whole message, exactly the octets that the peer sent behind the
 *     message's prefix, of a request that is valid and complete.
 * I2. Every such request of up to GRPC_SMALL_BYTES becomes a CALL, unless its stream was over the
 * limit, or its deadline, a drain, the peer or the connection ended it first. I3. Split
 * independence: calls, messages, and what is answered on each stream are the same however the
 * peer's octets are cut. I4. A buffer is held by one live call alone; with the connection all of
 * its buffers are free. I5. Bounded: grpc_valid after every call; a message is never longer than
 * its room. I6. Each call that was reported ends once: by its response, or by GONE or DEADLINE. The
 * first failure of the connection is final, and no call outlives it. I7. Independence: events and
 * output of a connection do not depend on other connections, unless these hold all of the shared
 * buffers.
 *
 * A call is identified by its index in `calls` plus its serial number, so that a response for a
 * call that was cancelled, and whose entry was reused, is recognised.
 */
#ifndef WIRE_GRPC_H
#define WIRE_GRPC_H

#include "wire/h2.h"

/* Codes of the gRPC "statuscodes" text; those that this server uses. */
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
    const char *path; /* "/package.Service/Method" */
    uint8_t id;       /* the owner's number for it; paths may share one */
};

/* Room for one long request message. */
struct grpc_buffer {
    bool taken;
    uint8_t bytes[GRPC_MESSAGE_BYTES_MAX];
};

/* The rooms of all connections: one for each, and some for whoever comes first. */
struct grpc_buffers {
    unsigned holders; /* connections that have one at least */
    unsigned taken;
    struct grpc_buffer buffers[GRPC_BUFFERS];
};

/* Identifies a call, even after the call has ended. */
struct grpc_call_id {
    uint16_t index;
    uint32_t serial; /* 0: no call */
};

#define GRPC_PREFIX_BYTES 5u /* compressed flag, length */

struct grpc_call {   /* internal */
    uint32_t stream; /* 0: free entry */
    uint32_t serial;
    uint8_t state;
    uint8_t flags;
    uint8_t refusal; /* why we answer without asking the owner */
    uint8_t method;  /* id of its row in the table of methods */
    uint8_t buffer;  /* index in grpc_buffers, or GRPC_BUFFERS when `small` serves */
    /* received octets of the request's prefix; later unsent ones of a reply's */
    uint8_t prefix_len;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    uint32_t message_len; /* announced by the prefix */
    uint32_t message_have;
    uint32_t reply_left;  /* bytes of the reply message still to come */
    uint64_t arrival_ms;  /* when the request must be complete; later: when the reply is taken */
    uint64_t deadline_ms; /* of grpc-timeout; UINT64_MAX: none */
    char path[GRPC_PATH_CAP];
    uint8_t small[GRPC_SMALL_BYTES];
};

/* One connection. */
struct grpc_server {
    struct h2 h2;
    struct grpc_buffers *buffers; /* borrowed; NULL: no message over GRPC_SMALL_BYTES is taken */
    unsigned held;                /* of the buffers */
    uint32_t next_serial;
    uint64_t now_ms;
    bool refusing;                     /* the owner's: new calls are answered UNAVAILABLE */
    const struct grpc_method *methods; /* borrowed: those of this socket */
    unsigned methods_count;            /* 0: every path is method 0 */
    struct grpc_call calls[H2_SERVER_STREAMS];
    struct h2_stream streams[H2_SERVER_STREAMS];
    uint8_t rx[H2_SERVER_RX_BYTES];
    uint8_t tx[H2_SERVER_TX_BYTES];
    uint8_t field[H2_SERVER_FIELD_BYTES];
    uint8_t scratch[H2_SERVER_FIELD_BYTES];
};

enum grpc_event_kind {
    /* a request is complete: path, message; answer it with grpc_reply… and grpc_finish */
    GRPC_EVENT_CALL,
    GRPC_EVENT_GONE, /* the call ended without our answer (cancelled, connection lost) */
    /*
     * its grpc-timeout passed, or its peer did not take a message in GRPC_REPLY_MS:
     * DEADLINE_EXCEEDED was sent, the call has ended
     */
    GRPC_EVENT_DEADLINE,
    GRPC_EVENT_WRITABLE /* a started reply may be continued */
};

/* An event of grpc_next. */
struct grpc_event {
    enum grpc_event_kind kind;
    struct grpc_call_id call; /* not for WRITABLE */
    struct view path;         /* CALL: "/package.Service/Method", valid while the call lives */
    unsigned method;          /* CALL: id of its row in the table of methods */
    struct view message;      /* CALL: valid until the next grpc_next */
    uint64_t deadline_ms;     /* CALL: of its grpc-timeout; UINT64_MAX: none */
};

/*
 * Starts a connection. `buffers` (borrowed, may be NULL) serve requests over GRPC_SMALL_BYTES: a
 * socket that strangers reach gets none, so that it cannot use up what the others need. `methods`
 * (borrowed) are what the socket serves; without any, every path is served as method 0. New calls
 * are not refused until the owner sets `refusing`.
 */
void grpc_init(struct grpc_server *s, struct grpc_buffers *buffers,
               const struct grpc_method *methods, unsigned methods_count, uint64_t now_ms);
/* Whether the state holds together: for assertions and tests. */
bool grpc_valid(const struct grpc_server *s);
/*
 * Next event; STATUS_MORE: none; others: the connection failed (sticky), every call was reported
 * GONE before. Bytes go in and out by s->h2.
 *
 * Answered here, without an event (gRPC PROTOCOL-HTTP2; the codes are those of grpc-go): not POST
 * (HTTP 405), content-type not application/grpc (HTTP 415), both with a short text and reset
 * (CANCEL) when its peer does not take it in GRPC_ARRIVAL_MS; path that is not served or too long,
 * or a compressed message (UNIMPLEMENTED), malformed grpc-timeout, no message, half a message
 * or more than one (INTERNAL), message over GRPC_MESSAGE_BYTES_MAX (RESOURCE_EXHAUSTED, before any
 * of it is taken), no buffer or refusing (UNAVAILABLE), request not complete in GRPC_ARRIVAL_MS or
 * by its time-out (DEADLINE_EXCEEDED).
 *
 * A refusal that follows from the header list is sent at once, even before the request is complete
 * (RFC 9113 §8.1). The rest of the request is stopped by RST_STREAM with NO_ERROR. After 405, 415
 * and an unknown path, the rest is dropped for up to GRPC_ARRIVAL_MS before that: most of it is
 * already on its way, and HTTP/2 errors in it still get their own codes.
 */
MUST_USE enum status grpc_next(struct grpc_server *s, uint64_t now_ms, struct grpc_event *event);
/*
 * Gives the connection up: frees every call without an event. A GOAWAY may still be sent; grpc_next
 * is not called again.
 */
void grpc_abandon(struct grpc_server *s);
/* When grpc_next must be called at the latest because of a deadline or the connection's timers. */
uint64_t grpc_deadline(const struct grpc_server *s);
/* Whether the call still waits for a response. */
bool grpc_call_alive(const struct grpc_server *s, struct grpc_call_id call);
/* Calls that wait for a response, including those that were not reported to the owner (yet). */
unsigned grpc_calls_open(const struct grpc_server *s);
/* Of these, those whose requests have been arriving for GRPC_SLOW_MS and are not complete. */
unsigned grpc_calls_slow(const struct grpc_server *s, uint64_t now_ms);

/*
 * Response message of `len` bytes: grpc_reply_begin once, then grpc_reply_bytes until all are sent.
 * grpc_reply_begin returns STATUS_MORE while there is no send room: try again after WRITABLE. It
 * sends the response headers first, unless they were sent before. *taken is how many bytes were
 * accepted now; when it is 0, WRITABLE follows. PEER_CLOSED: the call has ended. A unary call sends
 * one message, a streaming one any number.
 */
MUST_USE enum status grpc_reply_begin(struct grpc_server *s, struct grpc_call_id call,
                                      uint32_t len);
MUST_USE enum status grpc_reply_bytes(struct grpc_server *s, struct grpc_call_id call,
                                      struct view bytes, size_t *taken);
/*
 * Sends a whole message, as far as there is room. STATUS_MORE: call again after WRITABLE with a
 * message of the same length; it continues where it stopped, because a peer's window may be smaller
 * than any message. PEER_CLOSED: the call has ended. After STATUS_OK another message may follow.
 */
MUST_USE enum status grpc_reply_message(struct grpc_server *s, struct grpc_call_id call,
                                        struct view message);
/* Sends the only message of a call, then status OK. Returns what grpc_reply_message does. */
MUST_USE enum status grpc_reply_all(struct grpc_server *s, struct grpc_call_id call,
                                    struct view message);
/*
 * Ends the call with a status; `text` is percent-encoded and cut at GRPC_STATUS_TEXT_CAP. Sends
 * trailers, or trailers-only when no header went out. STATUS_MORE: no room yet, try after WRITABLE.
 * For a call that has ended, STATUS_OK.
 */
MUST_USE enum status grpc_finish(struct grpc_server *s, struct grpc_call_id call,
                                 enum grpc_status code, const char *text);
/*
 * Accepts no new calls from here on: GOAWAY names the last one that is served, and running ones may
 * end. Later ones are dropped without a response: gRPC clients send them again on another
 * connection, whereas a response would fail them. The owner closes when grpc_calls_open is 0.
 */
void grpc_drain(struct grpc_server *s);

#endif
