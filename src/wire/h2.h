/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 connection engine, RFC 9113, server and client role. Owns the state of one connection and
 * its streams; does no I/O, keeps no clock, has no callbacks, queues nothing whose length the peer
 * chooses. Bytes go in by rx_space/rx_commit, events come out by h2_next, bytes to send leave by
 * tx_data/tx_commit.
 *
 * The first failure is final: a GOAWAY with its code goes into the send buffer (RFC 9113 §5.4.1),
 * every open stream ends by a RESET event, h2_next returns the failure from then on, and the owner
 * closes once tx_data is empty.
 *
 * The engine checks header lists by the rules of RFC 9113 §8.2 and §8.3 for its role. It does not
 * store them, so it may already have returned FIELD events when a later field is malformed or makes
 * the list longer than H2_HEADER_LIST_MAX (client: H2_CLIENT_LIST_MAX). It then resets the stream
 * and returns a RESET event (PROTOCOL_ERROR or ENHANCE_YOUR_CALM) instead of HEADERS_END; therefore
 * an owner acts on HEADERS_END only. 1xx responses are checked and not reported.
 *
 * Invariants:
 * I1. Split independence: events (all DATA events of a frame count as one) and frames sent are the
 *     same however the peer's octets are cut. Only the sizes of WINDOW_UPDATE depend on the cuts,
 *     and therefore also when a peer that overruns its windows gets the error.
 * I2. Order: a stream's events are FIELD, HEADERS_END, DATA, and FIELD, HEADERS_END of trailers.
 *     After end_stream only RESET may follow, after RESET or h2_reset nothing. FIELD holds no
 *     name or value that RFC 9113 §8.2.1 forbids.
 * I3. Output is well-formed frames of at most H2_FRAME_MAX, our SETTINGS first; at most tx_cap
 *     octets are pending, and nothing follows the frames of a failure.
 * I4. Sticky failure: h2_next returns the first one from then on, no stream stays open.
 * I5. A call that sends for the owner (h2_open to h2_ping) and does not return STATUS_OK sends
 *     nothing and changes none of its outputs.
 * I6. h2_valid holds after every call.
 * I7. Bounded memory: all state is in struct h2 and its struct h2_memory.
 * I8. Bounded work: the number of events other than WRITABLE is at most the number of octets
 *     received plus the number of streams that the owner opened.
 * I9. Until the connection fails, h2_deadline is later than the time of the last h2_set_time.
 *
 * The owner's loop: h2_next until STATUS_MORE, send h2_tx_data, read into h2_rx_space. After every
 * h2_tx_commit call h2_next again, because input stays unread while the send buffer has no room for
 * the frames that it may cause.
 */
#ifndef WIRE_H2_H
#define WIRE_H2_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "wire/hpack.h"

/* RFC 9113 §6.9.2: initial window of a stream before SETTINGS, and of the connection. */
#define H2_WINDOW_DEFAULT 65535u

/* Error codes, RFC 9113 §7. */
enum h2_error {
    H2_NO_ERROR = 0,
    H2_PROTOCOL_ERROR = 1,
    H2_INTERNAL_ERROR = 2,
    H2_FLOW_CONTROL_ERROR = 3,
    H2_SETTINGS_TIMEOUT = 4,
    H2_STREAM_CLOSED = 5,
    H2_FRAME_SIZE_ERROR = 6,
    H2_REFUSED_STREAM = 7,
    H2_CANCEL = 8,
    H2_COMPRESSION_ERROR = 9,
    H2_CONNECT_ERROR = 10,
    H2_ENHANCE_YOUR_CALM = 11,
    H2_INADEQUATE_SECURITY = 12,
    H2_HTTP_1_1_REQUIRED = 13
};

/* The role of this side of the connection. */
enum h2_role { H2_SERVER, H2_CLIENT };

/* Kinds of events that an HTTP/2 connection delivers. */
enum h2_event_kind {
    H2_EVENT_FIELD, /* one header or trailer field: name, value */
    /* the header list (or trailers) is complete; end_stream: no more input follows */
    H2_EVENT_HEADERS_END,
    /* `data`, which may be empty if end_stream is set; the engine sends the WINDOW_UPDATEs */
    H2_EVENT_DATA,
    /*
     * the stream ended: reset by the peer, reset here for a stream error, or lost with the
     * connection; `code` is the error code
     */
    H2_EVENT_RESET,
    /*
     * the peer accepts no more streams and did not process those above `last_stream`; `code` is the
     * peer's error code
     */
    H2_EVENT_GOAWAY,
    H2_EVENT_PING_ACK, /* acknowledgement of h2_ping */
    H2_EVENT_WRITABLE  /* room or window for DATA may have grown: call h2_data_room again */
};

/* An event of h2_next; only members of its kind are set. */
struct h2_event {
    enum h2_event_kind kind;
    uint32_t stream;  /* 0 for connection events */
    uint32_t tag;     /* number that the owner gave the stream: h2_open, h2_set_tag */
    struct view name; /* FIELD; all views are valid until the next call of h2_next */
    struct view value;
    struct view data;     /* DATA */
    bool end_stream;      /* HEADERS_END, DATA */
    bool trailers;        /* FIELD, HEADERS_END: the list is trailers */
    uint32_t code;        /* RESET, GOAWAY */
    uint32_t last_stream; /* GOAWAY */
};

/* Entry of the stream table. */
struct h2_stream {
    uint32_t id; /* 0: free entry */
    uint32_t tag;
    uint8_t state; /* this and all later members are internal */
    uint8_t flags;
    uint8_t informational; /* 1xx header lists received */
    uint32_t reset_code;   /* code of an RST_STREAM that waits for room in the send buffer */
    uint32_t consumed;     /* octets delivered, not yet returned by WINDOW_UPDATE */
    int64_t send_window;
    int64_t recv_window; /* octets that the peer may still send */
    uint64_t body_left;  /* octets still to come if content-length is known (RFC 9113 §8.1.1) */
};

struct h2_frame { /* internal: header of the frame being received (RFC 9113 §4.1) */
    uint32_t length;
    uint32_t stream;
    uint8_t type;
    uint8_t flags;
};

/* internal: state of a header list that the rules of RFC 9113 §8 need */
struct h2_list {
    uint8_t kind;
    uint8_t pseudo; /* set of pseudo-header fields received */
    bool regular;   /* a regular field was received */
    bool is_connect;
    bool has_length;
    uint16_t status; /* status code of a response list */
    uint64_t length; /* content-length */
};

struct h2_block {        /* internal: the header block being received (RFC 9113 §4.3) */
    uint32_t stream;     /* stream of the block; 0: no block is open */
    uint32_t listed;     /* decoded size so far, counted by RFC 9113 §6.5.2 */
    uint32_t reset_code; /* RST_STREAM code for the end of the block; H2_NO_ERROR: none */
    uint16_t carried;    /* octets of an incomplete field in h2_memory.field */
    uint8_t continuations;
    uint8_t size_updates;
    bool started; /* a field was decoded: no size update may follow */
    bool discard; /* decode only to keep the compression table in step; deliver nothing */
    bool end_stream;
    uint64_t since_ms;
    struct h2_list list;
};

struct h2_closed { /* internal: a recently closed stream and how it ended */
    uint32_t id;
    uint8_t past;
};

/* Buffers (sizes in bytes) and stream table of a connection, all borrowed for its life. */
struct h2_memory {
    uint8_t *rx;
    size_t rx_cap; /* >= H2_RX_BYTES_MIN */
    uint8_t *tx;
    /* H2_TX_BYTES_MIN to H2_FRAME_MAX: one header block is always one frame */
    size_t tx_cap;
    uint8_t *field; /* one undecoded header field carried between frames */
    size_t field_cap;
    uint8_t *scratch; /* one decoded header field */
    size_t scratch_cap;
    struct h2_stream *streams;
    unsigned streams_cap; /* announced as MAX_CONCURRENT_STREAMS by a server */
    uint32_t window;      /* SETTINGS_INITIAL_WINDOW_SIZE that we announce, >= 1 */
    /* limit for DATA in flight on all streams together, >= H2_WINDOW_DEFAULT */
    uint32_t connection_window;
    uint32_t table_size; /* SETTINGS_HEADER_TABLE_SIZE that we announce, <= HPACK_TABLE_BYTES */
};

/*
 * Fills struct h2_memory for an owner that has the arrays rx, tx, field, scratch and streams as
 * members. `stream_window` becomes `window`; the connection's window and the header table get the
 * protocol's defaults.
 */
#define H2_MEMORY_OF(owner, stream_window)                                                         \
    ((struct h2_memory){                                                                           \
        .rx = (owner)->rx,                                                                         \
        .rx_cap = sizeof(owner)->rx,                                                               \
        .tx = (owner)->tx,                                                                         \
        .tx_cap = sizeof(owner)->tx,                                                               \
        .field = (owner)->field,                                                                   \
        .field_cap = sizeof(owner)->field,                                                         \
        .scratch = (owner)->scratch,                                                               \
        .scratch_cap = sizeof(owner)->scratch,                                                     \
        .streams = (owner)->streams,                                                               \
        .streams_cap = sizeof(owner)->streams / sizeof(owner)->streams[0],                         \
        .window = (stream_window),                                                                 \
        .connection_window = H2_WINDOW_DEFAULT,                                                    \
        .table_size = HPACK_TABLE_BYTES,                                                           \
    })

/* One connection. Owners read role and mem, and write nothing. */
struct h2 {
    enum h2_role role;
    struct h2_memory mem;
    struct hpack_decoder hpack;
    /* this and all later members are internal */
    enum status failure; /* sticky */
    uint32_t failure_code;
    uint64_t now_ms;
    uint64_t started_ms;
    uint64_t tx_progress_ms; /* when the send buffer last became non-empty or shrank */
    uint64_t credit_ms;      /* time up to which the credit is refilled */
    uint32_t credit;
    uint32_t charged; /* used credit that our own frames refund */
    /* the members from here to `block` are the state of receiving */
    uint8_t stage;
    uint8_t preface_have; /* octets of the client's preface seen */
    bool starved;         /* no progress without more octets */
    bool rx_ended;
    bool settings_seen;  /* the peer's first SETTINGS arrived */
    bool settings_acked; /* the peer acknowledged our SETTINGS */
    size_t rx_pos;       /* mem.rx[rx_pos .. rx_len) is unprocessed */
    size_t rx_len;
    struct h2_frame frame;
    /* octets at the front of the payload that the handler needs in one piece */
    uint32_t fixed;
    uint32_t left; /* octets of the payload still to come, padding excluded */
    uint32_t padding;
    struct h2_block block;
    /* the members from here to `pings` are the state of sending */
    size_t tx_pos; /* mem.tx[tx_pos .. tx_len) is unsent */
    size_t tx_len;
    bool building;   /* between h2_headers_begin and h2_headers_end */
    bool build_head; /* the request being built is a HEAD */
    /* our first block has announced that our compression table stays empty */
    bool table_cleared;
    uint32_t build_stream; /* 0: the stream has ended */
    struct writer build;
    bool writable_due;
    bool ping_waiting;
    uint64_t pings;
    /* the members from here on are the state of both directions */
    uint32_t peer_window; /* values of the peer's SETTINGS */
    uint32_t peer_frame_max;
    uint32_t peer_streams_max;
    int64_t send_window; /* windows of the connection, in octets */
    int64_t recv_window;
    uint32_t consumed;
    uint32_t late_granted; /* octets of DATA that may be in flight for streams that we reset */
    uint32_t next_id;      /* client: the next stream that we open */
    uint32_t last_peer_id; /* server: highest stream that the peer opened */
    uint32_t accept_max;   /* server: after the final GOAWAY, higher streams are dropped */
    uint32_t goaway_last;  /* client: lowest last-stream of received GOAWAYs */
    bool goaway_received;
    bool closing; /* we sent or will send GOAWAY */
    uint8_t goaway_due;
    bool resets_due; /* an RST_STREAM waits for room */
    uint32_t goaway_code;
    bool sweeping; /* h2_next ends the streams above sweep_above with RESET events */
    uint32_t sweep_above;
    uint32_t sweep_code;
    uint8_t closed_next;
    /* streams up to this one are closed, and the way they ended is forgotten */
    uint32_t closed_floor;
    struct h2_closed closed[H2_CLOSED_MEMORY];
};

/* --- start, time and state of a connection --- */

/*
 * Starts a connection and puts the preface and SETTINGS into the send buffer (RFC 9113 §3.4).
 * now_ms must not decrease from one call of this module to the next.
 */
void h2_init(struct h2 *c, enum h2_role role, const struct h2_memory *memory, uint64_t now_ms);
/* Whether the state is consistent: for assertions and tests. */
bool h2_valid(const struct h2 *c);
/*
 * Sets the current time, refills the abuse credit, and fails the connection when the preface, a
 * header block or the sending of output has taken too long.
 */
void h2_set_time(struct h2 *c, uint64_t now_ms);
/* When to call h2_set_time at the latest; UINT64_MAX: no deadline. */
uint64_t h2_deadline(const struct h2 *c);
/* Number of open streams. */
unsigned h2_streams_open(const struct h2 *c);
/* SETTINGS_MAX_CONCURRENT_STREAMS of the peer; UINT32_MAX: not received yet. */
uint32_t h2_streams_max(const struct h2 *c);
/*
 * The sticky failure, or STATUS_OK; *code (may be NULL) gets the HTTP/2 error code that was or will
 * be sent.
 */
MUST_USE enum status h2_failure(const struct h2 *c, uint32_t *code);

/* --- bytes received and sent --- */

/* Free room of the receive buffer; empty while unread events or unsent output block the input. */
struct writer h2_rx_space(struct h2 *c);
/* Accepts `n` bytes that were written into the room of h2_rx_space. */
void h2_rx_commit(struct h2 *c, size_t n);
/*
 * The peer closed its side. h2_next still returns events for earlier input, open streams end with
 * RESET events (INTERNAL_ERROR), then h2_next fails with PEER_CLOSED.
 */
void h2_rx_end(struct h2 *c);
/* Bytes to send, valid until the next call; may be empty. */
struct view h2_tx_data(const struct h2 *c);
/*
 * Wipes and removes the first `n` bytes of h2_tx_data after they were sent; they may hold tokens.
 */
void h2_tx_commit(struct h2 *c, size_t n);

/* Whether h2_next may return an event without more input or time. */
bool h2_has_work(const struct h2 *c);

/*
 * Returns the next event. STATUS_MORE: there is none until more input or send room comes, or time
 * passes. Any other status: the sticky failure.
 */
MUST_USE enum status h2_next(struct h2 *c, struct h2_event *event);

/* --- sending --- */

/*
 * Client: opens a stream. STATUS_MORE: the peer's MAX_CONCURRENT_STREAMS or the send buffer is
 * exhausted. FULL_TABLE: no free entry. PEER_CLOSED: a GOAWAY was received or sent, the connection
 * failed, or stream ids are used up. Before the owner opens the next stream, it sends the header
 * block of this one or resets it, because streams begin in the order of their ids (RFC 9113
 * §5.1.1).
 */
MUST_USE enum status h2_open(struct h2 *c, uint32_t tag, uint32_t *stream);
/* Changes the tag of a stream; ignored when the stream has ended. */
void h2_set_tag(struct h2 *c, uint32_t stream, uint32_t tag);
/*
 * Sends one header block: begin, fields, end, with no other call between. The caller ensures room
 * by h2_headers_room. The block is one HEADERS frame, because the send buffer is no larger than the
 * smallest frame limit that a peer can set. Names are lower-case, pseudo-header fields first.
 */
void h2_headers_begin(struct h2 *c, uint32_t stream);
/* Adds a field; `sensitive` makes it never-indexed (RFC 7541 §7.1.3). */
void h2_header(struct h2 *c, const char *name, struct view value, bool sensitive);
/* Like h2_header, for a text that is not sensitive. */
void h2_header_text(struct h2 *c, const char *name, const char *text);
/*
 * Ends and sends the block. FULL_BUFFER: it did not fit, nothing was sent, the stream is unchanged.
 * PEER_CLOSED: the stream has ended.
 */
MUST_USE enum status h2_headers_end(struct h2 *c, bool end_stream);
/* Free bytes of the send buffer for a header block; 0: no room, or the stream has ended. */
size_t h2_headers_room(const struct h2 *c, uint32_t stream);
/*
 * Number of DATA bytes that h2_data accepts now: the least of stream window, connection window, the
 * peer's frame limit and the free send buffer.
 */
size_t h2_data_room(const struct h2 *c, uint32_t stream);
/*
 * Sends data.len <= h2_data_room bytes in one frame (an empty one only with end_stream).
 * PEER_CLOSED: the stream has ended. STATUS_MORE: no room for an empty frame now.
 */
MUST_USE enum status h2_data(struct h2 *c, uint32_t stream, struct view data, bool end_stream);
/*
 * Ends a stream with RST_STREAM, at once or when there is room; no event follows. Ignored when the
 * stream has ended.
 */
void h2_reset(struct h2 *c, uint32_t stream, enum h2_error code);

/*
 * Sends PING; H2_EVENT_PING_ACK follows when the peer acknowledges it. STATUS_MORE: no room now.
 * PEER_CLOSED: the connection failed.
 */
MUST_USE enum status h2_ping(struct h2 *c);
/*
 * Sends a GOAWAY (RFC 9113 §6.8), at once or when there is room. Running streams continue; a client
 * opens no more.
 * - Graceful (`final` is false): names stream 2^31-1; new streams of the peer are still served.
 * - Final: names the last stream of the peer; higher streams are dropped.
 */
void h2_goaway(struct h2 *c, enum h2_error code, bool final);

#endif
