/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the HTTP/2 engine share. Owns no state; all of it is in struct h2
 * (h2.h). Only src/wire/h2*.c include this file.
 *
 *   h2.c          start, time-outs, the stages of a received frame, control frames, h2_next
 *   h2_headers.c  HEADERS and CONTINUATION, rules of a header list
 *   h2_stream.c   buffers, stream table, errors, DATA and windows of both directions, output
 *
 * h2.c calls the other two files; h2_headers.c calls h2_stream.c.
 *
 * Input is received in stages: first the preface, then for each frame its header, its fixed part,
 * and one of the stages fragment, body and skip. A stage consumes what it can from mem.rx and
 * returns an enum h2_step. Only an incomplete header field is parsed twice. Each step starts with
 * at least H2_STEP_BYTES free in the send buffer, so that no handler fails for lack of send room.
 */
#ifndef WIRE_H2_INTERNAL_H
#define WIRE_H2_INTERNAL_H

#include "wire/h2.h"

/* --- constants of the HTTP/2 format --- */

/* Frame types (RFC 9113 §6): values of the type octet in a frame header. */
enum {
    H2_DATA = 0,
    H2_HEADERS = 1,
    H2_PRIORITY = 2,
    H2_RST_STREAM = 3,
    H2_SETTINGS = 4,
    H2_PUSH_PROMISE = 5,
    H2_PING = 6,
    H2_GOAWAY = 7,
    H2_WINDOW_UPDATE = 8,
    H2_CONTINUATION = 9,
    H2_FRAME_TYPES = 10
};

/* Frame flags, RFC 9113 §6; each frame type defines only some of them. */
#define H2_FLAG_ACK 0x01u
#define H2_FLAG_END_STREAM 0x01u
#define H2_FLAG_END_HEADERS 0x04u
#define H2_FLAG_PADDED 0x08u
#define H2_FLAG_PRIORITY 0x20u

/* Identifiers of settings, RFC 9113 §6.5.2. */
enum {
    H2_SETTING_HEADER_TABLE_SIZE = 1,
    H2_SETTING_ENABLE_PUSH = 2,
    H2_SETTING_MAX_CONCURRENT_STREAMS = 3,
    H2_SETTING_INITIAL_WINDOW_SIZE = 4,
    H2_SETTING_MAX_FRAME_SIZE = 5,
    H2_SETTING_MAX_HEADER_LIST_SIZE = 6
};

/* RFC 9113 §3.4: the first octets that a client sends */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define H2_PREFACE_BYTES 24u        /* length of H2_PREFACE */
#define H2_FRAME_HEADER_BYTES 9u    /* RFC 9113 §4.1: length of a frame header */
#define H2_SETTING_BYTES 6u         /* RFC 9113 §6.5.1: length of one setting */
#define H2_STREAM_MAX 0x7fffffffu   /* RFC 9113 §5.1.1: highest stream id */
#define H2_WINDOW_MAX 0x7fffffffu   /* RFC 9113 §6.9.1: largest window */
#define H2_FRAME_MAX_HIGH 0xffffffu /* RFC 9113 §6.5.2: largest MAX_FRAME_SIZE */

/* Lengths in octets of whole frames that we send, including the frame header. */
#define H2_GOAWAY_BYTES 17u
#define H2_RST_BYTES 13u
#define H2_UPDATE_BYTES 13u
#define H2_PING_BYTES 17u
/*
 * Room that a step needs in the send buffer: for its own frames (RST_STREAM and WINDOW_UPDATE, or
 * two WINDOW_UPDATEs), and for the GOAWAY of a failure.
 */
#define H2_STEP_BYTES (2u * H2_UPDATE_BYTES + H2_GOAWAY_BYTES)

/* --- values of members of struct h2 and struct h2_stream --- */

/* Values of `stage` in struct h2: the part of the input that is being received. */
enum {
    H2_STAGE_PREFACE,
    H2_STAGE_HEADER,
    H2_STAGE_FIXED,
    H2_STAGE_FRAGMENT,
    H2_STAGE_BODY,
    H2_STAGE_SKIP,
    H2_STAGES
};

/* How one step of receiving ended. */
enum h2_step {
    H2_STEP_AGAIN,   /* progress was made, or the connection failed: run the next step */
    H2_STEP_EVENT,   /* *event is filled in, and h2_next returns it */
    H2_STEP_STARVED, /* more octets from the peer are needed */
    /* no event now: send room or more input is needed, or the connection has failed */
    H2_STEP_IDLE
};

/* Values of `state` in struct h2_stream. */
enum {
    /* client: opened by h2_open, but no header block is sent yet; the peer sees it as idle */
    H2_STREAM_RESERVED,
    H2_STREAM_OPEN,
    H2_STREAM_RESET_DUE /* the stream has ended; its RST_STREAM waits for room in the send buffer */
};

/* Bits of `flags` in struct h2_stream: what each side has sent. */
#define H2_STREAM_LOCAL_ENDED 0x01u
#define H2_STREAM_REMOTE_ENDED 0x02u
/* the request or the final response was received; trailers may follow */
#define H2_STREAM_LIST_RECEIVED 0x04u
#define H2_STREAM_LIST_SENT 0x08u
/* body_left is valid: the peer sent content-length, or the response has no content. */
#define H2_STREAM_LENGTH_KNOWN 0x10u
#define H2_STREAM_HEAD 0x20u /* we sent a HEAD request: its response has no content */

/* What became of a stream that is not in the stream table (RFC 9113 §5.1 "idle", "closed"). */
enum h2_past {
    H2_PAST_IDLE,
    /* never opened; it counts as closed, because the peer opened a stream with a higher id */
    H2_PAST_SKIPPED,
    H2_PAST_FORGOTTEN,
    H2_PAST_ENDED, /* both sides ended the stream */
    H2_PAST_RESET_BY_PEER,
    /* reset by this side: late frames are ignored, but DATA over late_granted costs abuse credit */
    H2_PAST_RESET_BY_US
};

/* Values of `goaway_due` in struct h2: the GOAWAY that waits for room in the send buffer. */
enum { H2_GOAWAY_NONE, H2_GOAWAY_GRACEFUL, H2_GOAWAY_FINAL };

/* --- functions of h2_headers.c --- */

/*
 * Handle the start of a HEADERS or CONTINUATION frame. `fixed` is the fixed part of the payload;
 * c->left is the number of octets after it, which are dropped unless the handler changes the stage.
 */
enum h2_step h2_on_headers(struct h2 *c, struct view fixed, struct h2_event *event);
enum h2_step h2_on_continuation(struct h2 *c, struct view fixed, struct h2_event *event);
/* In H2_STAGE_FRAGMENT: handles the part of a header block fragment that has arrived. */
enum h2_step h2_stage_fragment(struct h2 *c, struct h2_event *event);

/* --- functions of h2_stream.c for the buffers --- */

/* Returns the octets of the payload's current part that have arrived in mem.rx. */
struct view h2_rx_piece(const struct h2 *c);
/* Removes the first `n` bytes of h2_rx_piece after use. */
void h2_rx_consume(struct h2 *c, size_t n);
/*
 * Sets H2_STAGE_SKIP, which drops the rest of the payload, or H2_STAGE_HEADER if no payload is
 * left.
 */
void h2_rx_skip(struct h2 *c);
/* Ends a frame's header block fragment or data: drops the padding, then expects the next frame. */
void h2_rx_finish_piece(struct h2 *c);
/* Returns the number of bytes that are free in the send buffer. */
size_t h2_tx_room(const struct h2 *c);
/*
 * Sends H2_PREFACE (client only), SETTINGS (RFC 9113 §3.4), and a WINDOW_UPDATE if we announce a
 * larger window for the connection than the default.
 */
void h2_send_preface(struct h2 *c);
/*
 * Size of the longest header list that this role accepts, counted as in RFC 9113 §6.5.2. The
 * announced size is smaller, because a single field must not be as long (h2_send_preface).
 */
uint32_t h2_list_max(const struct h2 *c);
/* The next two functions append one frame each; the caller has ensured room for it. */
void h2_send_settings_ack(struct h2 *c);
void h2_send_ping(struct h2 *c, uint64_t payload, unsigned flags);
/* Sends the frames that wait for send room: GOAWAY, RST_STREAM. */
void h2_send_due(struct h2 *c);

/* --- functions of h2_stream.c for streams and errors --- */

/* Returns the stream if owner and peer may still use it; otherwise NULL. */
struct h2_stream *h2_stream_find(const struct h2 *c, uint32_t id);
/* Initializes a free entry of the stream table for a new stream; NULL: the table is full. */
struct h2_stream *h2_stream_new(struct h2 *c, uint32_t id);
/*
 * Frees the stream's entry; `past`, how the stream ended, determines the reaction to later frames
 * of the stream.
 */
void h2_stream_close(struct h2 *c, struct h2_stream *s, enum h2_past past);
/* Returns what became of a stream that is not in the table (never opened, ended, reset). */
enum h2_past h2_stream_past(const struct h2 *c, uint32_t id);
/* Marks one side of the stream as ended; when both sides have ended, frees the entry. */
void h2_stream_end(struct h2 *c, struct h2_stream *s, unsigned ended_flag);

/* Raises a connection error, RFC 9113 §5.4.1; later connection errors are ignored. */
void h2_fail(struct h2 *c, enum status failure, enum h2_error code);
/* Calls h2_fail with the status that belongs to the code; always returns H2_STEP_AGAIN. */
enum h2_step h2_connection_error(struct h2 *c, enum h2_error code);
/*
 * Raises a stream error, RFC 9113 §5.4.2: sends RST_STREAM, charges the abuse credit, and returns a
 * RESET event.
 */
enum h2_step h2_stream_error(struct h2 *c, struct h2_stream *s, enum h2_error code,
                             struct h2_event *event);
/*
 * Sends RST_STREAM for a stream that is not in the table, and charges the abuse credit; fills in no
 * event.
 */
enum h2_step h2_stranger_error(struct h2 *c, uint32_t id, enum h2_error code);
/* Charges one unit of the abuse credit; if no credit is left, fails the connection. */
void h2_charge(struct h2 *c);

/* --- functions of h2_stream.c for DATA of the peer --- */

/* Handles the start of a DATA frame; takes the same arguments as h2_on_headers. */
enum h2_step h2_on_data(struct h2 *c, struct view fixed, struct h2_event *event);
/* In H2_STAGE_BODY: handles the part of the body of a DATA frame that has arrived. */
enum h2_step h2_stage_body(struct h2 *c, struct h2_event *event);

#endif
