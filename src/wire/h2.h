/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 connection engine, RFC 9113, server and client role. Owns the state of one connection and
 * its streams; does no I/O, reads no clock, has no callbacks, and queues nothing whose length the
 * peer chooses. The owner passes received bytes with h2_rx_space and h2_rx_commit, gets events from
 * h2_next, and takes the bytes to send with h2_tx_data and h2_tx_commit.
 *
 * The first failure is final: the engine puts a GOAWAY with the error code into the send buffer
 * (RFC 9113 §5.4.1; not if the peer closed its side), ends every open stream with a RESET event,
 * and then returns the failure from every call of h2_next. The owner closes the connection once
 * h2_tx_data is empty.
 *
 * The engine checks header lists by the rules of RFC 9113 §8.2 and §8.3 for its role, but does not
 * store them. It may therefore already have returned FIELD events of a list when a later field
 * turns out to be malformed or makes the list longer than H2_HEADER_LIST_MAX (client:
 * H2_CLIENT_LIST_MAX). It then resets the stream and returns a RESET event (PROTOCOL_ERROR or
 * ENHANCE_YOUR_CALM) instead of HEADERS_END, so an owner must not act before HEADERS_END. The
 * engine checks 1xx responses but does not report them.
 *
 * Invariants:
 * I1. Split independence: events (all DATA events of a frame count as one) and sent frames do not
 *     depend on how the peer's octets are split into reads. Exceptions: the sizes of WINDOW_UPDATE,
 *     and therefore the moment at which a peer that overruns its windows gets the error.
 * I2. Order: the events of a stream are FIELD, HEADERS_END, DATA, then FIELD and HEADERS_END of the
 *     trailers. After end_stream only RESET may follow; after RESET or h2_reset, no event follows.
 *     FIELD holds no name or value that RFC 9113 §8.2.1 forbids.
 * I3. Output consists of well-formed frames of at most H2_FRAME_MAX, and starts with our SETTINGS.
 *     At most tx_cap octets are pending. No frame follows the GOAWAY of a failure.
 * I4. Sticky failure: after the first failure, h2_next ends the open streams with RESET events
 *     and then always returns that failure.
 * I5. A sending function (h2_open to h2_ping) that does not return STATUS_OK has sent nothing and
 *     has changed none of its outputs.
 * I6. h2_valid holds after every call.
 * I7. Bounded memory: all state is in struct h2 and its struct h2_memory.
 * I8. Bounded work: the number of events other than WRITABLE is at most the number of octets
 *     received plus the number of streams that the owner opened.
 * I9. Until the connection fails, h2_deadline is later than the time of the last h2_set_time.
 *
 * The owner's loop: call h2_next until it returns STATUS_MORE, send h2_tx_data, read into
 * h2_rx_space. After every h2_tx_commit, call h2_next again: the engine leaves input unread while
 * the send buffer has no room for the frames that the input may cause.
 */
#ifndef WIRE_H2_H
#define WIRE_H2_H

#include "base/bytes.h"
#include "cfg/limits.h"
#include "wire/hpack.h"

/* RFC 9113 §6.9.2: initial window of the connection, and of a stream until SETTINGS change it. */
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
    /*
     * the header list or the trailers are complete; end_stream: no more input follows on the stream
     */
    H2_EVENT_HEADERS_END,
    /*
     * `data` is the next piece of the body, empty only if end_stream is set; the engine itself
     * sends the WINDOW_UPDATEs for it
     */
    H2_EVENT_DATA,
    /*
     * the stream ended: reset by the peer, reset by this side for a stream error, excluded by the
     * peer's GOAWAY, or lost with the connection; `code` is the error code
     */
    H2_EVENT_RESET,
    /*
     * the peer accepts no more streams and did not process those above `last_stream`; `code` is the
     * peer's error code
     */
    H2_EVENT_GOAWAY,
    H2_EVENT_PING_ACK, /* the peer acknowledged the PING that h2_ping sent */
    H2_EVENT_WRITABLE  /* room or window for DATA may have grown: call h2_data_room again */
};

/* An event of h2_next; only the members that belong to its kind are set. */
struct h2_event {
    enum h2_event_kind kind;
    uint32_t stream; /* id of the stream; 0 for events of the connection */
    uint32_t tag;    /* number that the owner gave the stream with h2_open or h2_set_tag */
    /* name of the field, set for FIELD; all views are valid until the next call of h2_next */
    struct view name;
    struct view value;
    struct view data; /* piece of the body, set for DATA */
    bool end_stream;  /* no more input follows on the stream; set for HEADERS_END and DATA */
    bool trailers;    /* the list consists of trailers; set for FIELD and HEADERS_END */
    uint32_t code;    /* HTTP/2 error code, set for RESET and GOAWAY */
    /* id of the last stream that the peer may have processed; set for GOAWAY */
    uint32_t last_stream;
};

/* Entry of the stream table. */
struct h2_stream {
    uint32_t id; /* id of the stream; 0: free entry */
    uint32_t tag;
    uint8_t state; /* this and all later members are internal */
    uint8_t flags;
    uint8_t informational; /* number of 1xx header lists received */
    uint32_t reset_code;   /* code of an RST_STREAM that waits for room in the send buffer */
    /* number of octets of DATA consumed, but not yet granted to the peer again by WINDOW_UPDATE */
    uint32_t consumed;
    int64_t send_window;
    int64_t recv_window; /* number of octets of DATA that the peer may still send */
    /* number of octets of the peer's body still to come, if that is known (RFC 9113 §8.1.1) */
    uint64_t body_left;
};

struct h2_frame { /* internal: header of the frame being received (RFC 9113 §4.1) */
    uint32_t length;
    uint32_t stream;
    uint8_t type;
    uint8_t flags;
};

/* internal: facts about a header list that the rules of RFC 9113 §8 need */
struct h2_list {
    uint8_t kind;
    uint8_t pseudo; /* bits PSEUDO_… of the pseudo-header fields received */
    bool regular;   /* a field other than a pseudo-header field was received */
    bool is_connect;
    bool has_length;
    uint16_t status; /* status code of a response list */
    uint64_t length; /* value of content-length */
};

struct h2_block {    /* internal: the header block being received (RFC 9113 §4.3) */
    uint32_t stream; /* stream of the block; 0: no block is open */
    /* size of the list decoded so far, counted as in RFC 9113 §6.5.2 */
    uint32_t listed;
    /* code of the RST_STREAM due at the end of the block; H2_NO_ERROR: none */
    uint32_t reset_code;
    uint16_t carried; /* number of octets that h2_memory.field holds of an incomplete field */
    uint8_t continuations;
    uint8_t size_updates;
    bool started; /* a field of the block was decoded: no table size update may follow */
    /* decode the block only to keep the compression table in sync; return no FIELD events */
    bool discard;
    bool end_stream;
    uint64_t since_ms;
    struct h2_list list;
};

struct h2_closed { /* internal: a recently closed stream and how it ended */
    uint32_t id;
    uint8_t past;
};

/* Buffers (sizes in bytes) and stream table of a connection, borrowed until the connection ends. */
struct h2_memory {
    uint8_t *rx;
    size_t rx_cap; /* size of the receive buffer, >= H2_RX_BYTES_MIN */
    uint8_t *tx;
    /*
     * size of the send buffer, H2_TX_BYTES_MIN to H2_FRAME_MAX, so that every header block that
     * fits into the buffer also fits into one frame
     */
    size_t tx_cap;
    uint8_t *field; /* one undecoded header field carried between frames */
    /* at most UINT16_MAX; announced as SETTINGS_MAX_HEADER_LIST_SIZE, though longer lists pass */
    size_t field_cap;
    uint8_t *scratch;   /* one decoded header field */
    size_t scratch_cap; /* >= field_cap */
    struct h2_stream *streams;
    /* number of entries of `streams`; a server announces it as MAX_CONCURRENT_STREAMS */
    unsigned streams_cap;
    uint32_t window; /* SETTINGS_INITIAL_WINDOW_SIZE that we announce, >= 1 */
    /* number of octets of DATA that may be in flight on all streams, >= H2_WINDOW_DEFAULT */
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

/* One connection. Owners may read `role` and `mem`, and write no member. */
struct h2 {
    enum h2_role role;
    struct h2_memory mem;
    struct hpack_decoder hpack;
    /* this and all later members are internal */
    enum status failure; /* the first failure, which is final; STATUS_OK: none */
    uint32_t failure_code;
    uint64_t now_ms;
    uint64_t started_ms;
    /* time at which the send buffer last became non-empty or bytes of it were sent */
    uint64_t tx_progress_ms;
    uint64_t credit_ms; /* time up to which the abuse credit was refilled */
    uint32_t credit;
    uint32_t charged; /* abuse credit that our next HEADERS or DATA frames refund */
    /* the members from here to `block` are the state of receiving */
    uint8_t stage;
    /* number of octets of the client's preface (H2_PREFACE) received so far */
    uint8_t preface_have;
    bool starved; /* h2_next cannot continue without more octets */
    bool rx_ended;
    bool settings_seen;  /* the peer's first SETTINGS arrived */
    bool settings_acked; /* the peer acknowledged our SETTINGS */
    size_t rx_pos;       /* mem.rx[rx_pos .. rx_len) is unprocessed */
    size_t rx_len;
    struct h2_frame frame;
    /* number of octets at the front of the payload that the handler needs in one piece */
    uint32_t fixed;
    uint32_t left; /* number of octets of the payload still to come, padding excluded */
    uint32_t padding;
    struct h2_block block;
    /* the members from here to `pings` are the state of sending */
    size_t tx_pos; /* mem.tx[tx_pos .. tx_len) is unsent */
    size_t tx_len;
    bool building;   /* the owner has called h2_headers_begin, but not yet h2_headers_end */
    bool build_head; /* the header block being built is that of a HEAD request */
    /* our first header block was sent; it told the peer that our compression table stays empty */
    bool table_cleared;
    /* stream of the block being built; 0: that stream has ended */
    uint32_t build_stream;
    struct writer build;
    bool writable_due;
    bool ping_waiting;
    uint64_t pings;
    /* the members from here on are the state of both directions */
    /* this and the next two members: values of the peer's SETTINGS */
    uint32_t peer_window;
    uint32_t peer_frame_max;
    uint32_t peer_streams_max;
    /* this and the next member: windows of the connection, in octets */
    int64_t send_window;
    int64_t recv_window;
    uint32_t consumed;
    /*
     * allowance for DATA on streams that we reset: number of octets that may still arrive before a
     * frame on such a stream costs the peer abuse credit
     */
    uint32_t late_granted;
    uint32_t next_id;      /* client: id of the next stream to open */
    uint32_t last_peer_id; /* server: highest id of a stream that the peer opened */
    /* server: last stream id of our final GOAWAY; frames of higher streams are dropped */
    uint32_t accept_max;
    uint32_t goaway_last; /* lowest last-stream id of the received GOAWAYs */
    bool goaway_received;
    bool closing; /* we sent or will send GOAWAY */
    uint8_t goaway_due;
    bool resets_due; /* an RST_STREAM waits for room in the send buffer */
    uint32_t goaway_code;
    bool sweeping; /* h2_next ends the streams above sweep_above with RESET events */
    uint32_t sweep_above;
    uint32_t sweep_code;
    uint8_t closed_next;
    /* highest stream id that was evicted from `closed` */
    uint32_t closed_floor;
    struct h2_closed closed[H2_CLOSED_MEMORY];
};

/* --- start, time and state of a connection --- */

/*
 * Starts a connection and puts the preface and SETTINGS into the send buffer (RFC 9113 §3.4).
 * now_ms must not decrease from one call of this module to the next.
 */
void h2_init(struct h2 *c, enum h2_role role, const struct h2_memory *memory, uint64_t now_ms);
/* Whether the state of the connection is consistent; for assertions and tests. */
bool h2_valid(const struct h2 *c);
/*
 * Sets the current time, refills the abuse credit, and fails the connection when the preface, a
 * header block or the sending of output has taken too long.
 */
void h2_set_time(struct h2 *c, uint64_t now_ms);
/* Returns the latest time for the next call of h2_set_time; UINT64_MAX: no deadline. */
uint64_t h2_deadline(const struct h2 *c);
/* Number of open streams. */
unsigned h2_streams_open(const struct h2 *c);
/* Client: SETTINGS_MAX_CONCURRENT_STREAMS of the peer; UINT32_MAX: the peer has not sent it. */
uint32_t h2_streams_max(const struct h2 *c);
/*
 * Returns the first failure of the connection; STATUS_OK: no failure. *code (`code` may be NULL) is
 * the HTTP/2 error code of the failure.
 */
MUST_USE enum status h2_failure(const struct h2 *c, uint32_t *code);

/* --- received bytes, bytes to send, and events --- */

/*
 * Returns the free room of the receive buffer. There is no room until h2_next has processed all
 * earlier input (for which it may need send room). After h2_rx_end or a failure, there is no room
 * at all.
 */
struct writer h2_rx_space(struct h2 *c);
/* Accepts `n` bytes that were written into the room of h2_rx_space. */
void h2_rx_commit(struct h2 *c, size_t n);
/*
 * Records that the peer closed its side. h2_next still returns the events of earlier input, then
 * RESET events (INTERNAL_ERROR) for the open streams, then PEER_CLOSED.
 */
void h2_rx_end(struct h2 *c);
/* Returns the bytes to send, possibly none; valid until the next call of this module. */
struct view h2_tx_data(const struct h2 *c);
/*
 * Removes the first `n` bytes of h2_tx_data after they were sent. Wipes them, because they may hold
 * tokens.
 */
void h2_tx_commit(struct h2 *c, size_t n);

/* Whether h2_next may return an event even if no input arrives and no time passes. */
bool h2_has_work(const struct h2 *c);

/*
 * Returns the next event. STATUS_MORE: no event until more input arrives, the send buffer gets
 * room, or time passes. Any other status: the connection has failed, and every later call returns
 * the same status.
 */
MUST_USE enum status h2_next(struct h2 *c, struct h2_event *event);

/* --- streams, header blocks, DATA and control frames that the owner sends --- */

/*
 * Client: opens a stream. STATUS_MORE: the peer's MAX_CONCURRENT_STREAMS or the send buffer is
 * exhausted. FULL_TABLE: the stream table has no free entry. PEER_CLOSED: a GOAWAY was received or
 * sent, the connection failed, or stream ids are used up. Before the owner opens another stream, it
 * must send the header block of this stream or reset this stream, because streams begin in the
 * order of their ids (RFC 9113 §5.1.1).
 */
MUST_USE enum status h2_open(struct h2 *c, uint32_t tag, uint32_t *stream);
/* Changes the tag of a stream; ignored when the stream has ended. */
void h2_set_tag(struct h2 *c, uint32_t stream, uint32_t tag);
/*
 * Begins a header block. Then call h2_header for each field, and h2_headers_end, with no other call
 * between; h2_headers_room tells how much the block may hold. The block is sent as one HEADERS
 * frame, because the send buffer is no larger than the smallest frame limit that a peer can set.
 * Names are in lower case; pseudo-header fields come first.
 */
void h2_headers_begin(struct h2 *c, uint32_t stream);
/* Adds a field to the header block; `sensitive` makes it never-indexed (RFC 7541 §7.1.3). */
void h2_header(struct h2 *c, const char *name, struct view value, bool sensitive);
/* Like h2_header, for a text that is not sensitive. */
void h2_header_text(struct h2 *c, const char *name, const char *text);
/*
 * Ends the header block and sends it. FULL_BUFFER: the block did not fit; nothing was sent, and the
 * stream is unchanged. PEER_CLOSED: the stream has ended.
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
 * Sends `data`, at most h2_data_room bytes, in one frame; `data` may be empty only with end_stream.
 * PEER_CLOSED: the stream has ended. STATUS_MORE: the send buffer has no room for an empty frame
 * now.
 */
MUST_USE enum status h2_data(struct h2 *c, uint32_t stream, struct view data, bool end_stream);
/*
 * Ends a stream; no event of this stream follows. If a header block of the stream was sent or
 * received, also sends RST_STREAM, at once or when there is send room. Ignored when the stream has
 * ended.
 */
void h2_reset(struct h2 *c, uint32_t stream, enum h2_error code);

/*
 * Sends PING; H2_EVENT_PING_ACK follows when the peer acknowledges it. STATUS_MORE: the send buffer
 * has no room now. PEER_CLOSED: the connection failed.
 */
MUST_USE enum status h2_ping(struct h2 *c);
/*
 * Sends a GOAWAY (RFC 9113 §6.8), at once or when there is send room. Running streams continue; a
 * client opens no more streams.
 * - Graceful (`final` is false): has 2^31-1 as last stream id; new streams of the peer are served.
 * - Final: has the id of the peer's last stream; frames of higher streams are dropped.
 */
void h2_goaway(struct h2 *c, enum h2_error code, bool final);

#endif
