/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends replies, statuses and refusals as HEADERS, DATA and trailers (gRPC PROTOCOL-HTTP2,
 * "Responses"), and ends the calls whose response is complete. Decides nothing about requests.
 */
#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "wire/grpc.h"
#include "wire/grpc_internal.h"
#include "wire/http_status.h"

#define DECIMAL_MAX 10u

static const struct {
    uint16_t http;
    enum grpc_status code;
    const char *text;
} refusals[GRPC_REFUSALS] = {
    [GRPC_REFUSE_METHOD] = {HTTP_METHOD_NOT_ALLOWED, GRPC_UNKNOWN,
                            "gRPC calls use the method POST\n"},
    [GRPC_REFUSE_TYPE] = {HTTP_UNSUPPORTED_MEDIA_TYPE, GRPC_UNKNOWN,
                          "content-type must be application/grpc\n"},
    [GRPC_REFUSE_UNKNOWN] = {HTTP_OK, GRPC_UNIMPLEMENTED, "unknown method on this socket"},
    [GRPC_REFUSE_STOPPING] = {HTTP_OK, GRPC_UNAVAILABLE, "the server is shutting down"},
    [GRPC_REFUSE_PATH] = {HTTP_OK, GRPC_UNIMPLEMENTED, "unknown method: its path is too long"},
    [GRPC_REFUSE_TIMEOUT] = {HTTP_OK, GRPC_INTERNAL, "malformed grpc-timeout"},
    [GRPC_REFUSE_COMPRESSED] = {HTTP_OK, GRPC_UNIMPLEMENTED,
                                "compressed messages are not supported"},
    [GRPC_REFUSE_UNENCODED] = {HTTP_OK, GRPC_INTERNAL,
                               "message is compressed, but grpc-encoding names no encoding"},
    [GRPC_REFUSE_PREFIX] = {HTTP_OK, GRPC_INTERNAL, "malformed message prefix"},
    [GRPC_REFUSE_SIZE] = {HTTP_OK, GRPC_RESOURCE_EXHAUSTED, "request message is too large"},
    [GRPC_REFUSE_BUFFERS] = {HTTP_OK, GRPC_UNAVAILABLE, "too many large requests at one time"},
    [GRPC_REFUSE_EMPTY] = {HTTP_OK, GRPC_INTERNAL, "request has no message"},
    [GRPC_REFUSE_HALF] = {HTTP_OK, GRPC_INTERNAL, "request ends inside its message"},
    [GRPC_REFUSE_SECOND] = {HTTP_OK, GRPC_INTERNAL, "request has more than one message"},
    [GRPC_REFUSE_SLOW] = {HTTP_OK, GRPC_DEADLINE_EXCEEDED, "request did not arrive in time"},
    [GRPC_REFUSE_DEADLINE] = {HTTP_OK, GRPC_DEADLINE_EXCEEDED, "deadline exceeded"},
};

/* --- releasing the buffer and the table entry of a call --- */

void grpc_buffer_release(struct grpc_server *s, struct grpc_call *call)
{
    if (call->buffer == GRPC_BUFFERS) {
        return;
    }
    struct grpc_buffers *all = s->buffers;
    ASSERT(all != NULL && all->buffers[call->buffer].taken && s->held > 0u);
    all->buffers[call->buffer].taken = false;
    call->buffer = GRPC_BUFFERS;
    all->taken--;
    s->held--;
    all->holders -= (s->held == 0u) ? 1u : 0u;
}

void grpc_call_free(struct grpc_server *s, struct grpc_call *call)
{
    ASSERT(call->stream != 0u);
    grpc_buffer_release(s, call);
    call->stream = 0;
    call->serial = 0;
}

bool grpc_call_alive(const struct grpc_server *s, struct grpc_call_id call)
{
    return call.serial != 0u && call.index < H2_SERVER_STREAMS &&
           s->calls[call.index].serial == call.serial &&
           s->calls[call.index].state == GRPC_CALL_RUNNING;
}

/* --- sending header lists and DATA --- */

static void header_number(struct h2 *c, const char *name, uint64_t value)
{
    uint8_t digits[DECIMAL_MAX];
    struct writer w = writer_of(digits, sizeof digits);

    writer_decimal(&w, value);
    ASSERT(!w.full);
    h2_header(c, name, writer_view(&w), false);
}

static void header_head(struct h2 *c)
{
    header_number(c, ":status", HTTP_OK);
    h2_header_text(c, "content-type", "application/grpc");
}

/*
 * gRPC PROTOCOL-HTTP2, Status-Message: '%' and bytes that are not printable ASCII are sent as %XX.
 */
static void header_message(struct h2 *c, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char cut[GRPC_STATUS_TEXT_CAP];
    uint8_t encoded[3u * GRPC_STATUS_TEXT_CAP];
    struct writer w = writer_of(encoded, sizeof encoded);

    text_cut(cut, sizeof cut, view_text(text));
    for (size_t i = 0; cut[i] != '\0'; i++) {
        uint8_t byte = (uint8_t)cut[i];
        if (is_printable(byte) && byte != '%') {
            writer_u8(&w, byte);
        } else {
            writer_u8(&w, '%');
            writer_u8(&w, (uint8_t)digits[byte >> 4]);
            writer_u8(&w, (uint8_t)digits[byte & 0xfu]);
        }
    }
    ASSERT(!w.full);
    h2_header(c, "grpc-message", writer_view(&w), false);
}

/* Ends and sends a header block. STATUS_MORE: there is no send room now; nothing was sent. */
static enum status end_headers(struct h2 *c, bool end_stream)
{
    enum status st = h2_headers_end(c, end_stream);

    return st == FULL_BUFFER ? STATUS_MORE : st;
}

/* Sends the status as trailers, or as Trailers-Only if no header was sent; this ends the stream. */
static enum status send_status(struct grpc_server *s, const struct grpc_call *call,
                               enum grpc_status code, const char *text)
{
    struct h2 *c = &s->h2;

    h2_headers_begin(c, call->stream);
    if ((call->flags & GRPC_FLAG_HEAD_SENT) == 0u) {
        header_head(c);
    }
    header_number(c, "grpc-status", (uint64_t)code);
    if (text != NULL && text[0] != '\0') {
        header_message(c, text);
    }
    if (call->state == GRPC_CALL_REFUSED &&
        (enum grpc_refusal)call->refusal == GRPC_REFUSE_COMPRESSED) {
        h2_header_text(c, "grpc-accept-encoding", "identity");
    }
    return end_headers(c, true);
}

/*
 * Sends as many of `bytes` as there is room for and returns their number. If `last` is true, the
 * last byte of `bytes` ends the stream.
 */
static size_t send_data(struct grpc_server *s, const struct grpc_call *call, struct view bytes,
                        bool last)
{
    struct view piece = view_first(bytes, h2_data_room(&s->h2, call->stream));
    if (piece.len == 0u) {
        return 0;
    }
    bool end = last && piece.len == bytes.len;
    enum status st = h2_data(&s->h2, call->stream, piece, end);
    ASSERT(st == STATUS_OK); /* h2_data_room was above 0, so the stream is open */
    return piece.len;
}

/*
 * Sends an HTTP response to a request that is not gRPC, piece by piece as the peer's window allows.
 * STATUS_MORE: part of the response waits for send room.
 */
static enum status send_http(struct grpc_server *s, struct grpc_call *call, uint16_t code,
                             const char *text)
{
    struct h2 *c = &s->h2;

    if ((call->flags & GRPC_FLAG_HEAD_SENT) == 0u) {
        h2_headers_begin(c, call->stream);
        header_number(c, ":status", code);
        h2_header_text(c, "content-type", "text/plain");
        if ((enum grpc_refusal)call->refusal == GRPC_REFUSE_METHOD) {
            /* RFC 9110 §15.5.6: a 405 response must have the field Allow */
            h2_header_text(c, "allow", "POST");
        }
        bool bodiless = (call->flags & GRPC_FLAG_BODILESS) != 0u;
        enum status st = end_headers(c, bodiless);
        if (st != STATUS_OK || bodiless) {
            return st;
        }
        call->flags |= GRPC_FLAG_HEAD_SENT;
        call->reply_left = (uint32_t)strlen(text);
    }
    ASSERT(call->reply_left > 0u && call->reply_left <= strlen(text));
    struct view rest = view_from(view_text(text), strlen(text) - call->reply_left);
    size_t taken = send_data(s, call, rest, true);
    call->reply_left -= (uint32_t)taken;
    return call->reply_left == 0u ? STATUS_OK : STATUS_MORE;
}

/*
 * Ends a call whose response is complete. If the request is still arriving, either drops its rest
 * or makes the peer stop with RST_STREAM (RFC 9113 §8.1). Such a response is always a refusal,
 * because the owner gets a call only after its whole request has arrived.
 */
static void call_end(struct grpc_server *s, struct grpc_call *call)
{
    bool goes_on = (call->flags & GRPC_FLAG_INPUT_ENDED) == 0u;

    if (goes_on && (enum grpc_refusal)call->refusal <= GRPC_REFUSE_UNKNOWN) {
        call->state = GRPC_CALL_ANSWERED;
        return;
    }
    if (goes_on) {
        h2_reset(&s->h2, call->stream, H2_NO_ERROR);
    }
    grpc_call_free(s, call);
}

/* --- sending refusals --- */

static void refusal_send(struct grpc_server *s, struct grpc_call *call)
{
    enum grpc_refusal why = (enum grpc_refusal)call->refusal;
    enum status st;

    ASSERT(call->state == GRPC_CALL_REFUSED && why < GRPC_REFUSALS);
    if (refusals[why].http == HTTP_OK) {
        st = send_status(s, call, refusals[why].code, refusals[why].text);
    } else {
        st = send_http(s, call, refusals[why].http, refusals[why].text);
    }
    if (st == STATUS_OK) {
        call_end(s, call);
    }
    /*
     * unless `st` is STATUS_OK, the refusal still waits for send room, or the connection has failed
     * and a RESET event will end the call
     */
}

void grpc_refuse(struct grpc_server *s, struct grpc_call *call, enum grpc_refusal why)
{
    ASSERT(call->stream != 0u && call->state != GRPC_CALL_HEAD);
    grpc_buffer_release(s, call);
    call->state = GRPC_CALL_REFUSED;
    call->refusal = (uint8_t)why;
    refusal_send(s, call);
}

void grpc_refuse_due(struct grpc_server *s)
{
    for (unsigned i = 0; i < H2_SERVER_STREAMS; i++) {
        if (s->calls[i].stream != 0u && s->calls[i].state == GRPC_CALL_REFUSED) {
            refusal_send(s, &s->calls[i]);
        }
    }
}

/* --- sending replies --- */

static struct grpc_call *call_alive(struct grpc_server *s, struct grpc_call_id id)
{
    return grpc_call_alive(s, id) ? &s->calls[id.index] : NULL;
}

static enum status send_head(struct grpc_server *s, struct grpc_call *call)
{
    enum status st;

    if ((call->flags & GRPC_FLAG_HEAD_SENT) != 0u) {
        return STATUS_OK;
    }
    h2_headers_begin(&s->h2, call->stream);
    header_head(&s->h2);
    st = end_headers(&s->h2, false);
    if (st == STATUS_OK) {
        call->flags |= GRPC_FLAG_HEAD_SENT;
    }
    return st;
}

/*
 * Sends the unsent octets of a message prefix, as far as the send buffer and the peer's window have
 * room: the window may be smaller than a prefix. true: the prefix is sent completely.
 */
static bool prefix_sent(struct grpc_server *s, struct grpc_call *call)
{
    struct view prefix = view_of(call->prefix, sizeof call->prefix);

    ASSERT(call->prefix_len <= prefix.len);
    prefix = view_from(prefix, prefix.len - call->prefix_len);
    call->prefix_len = (uint8_t)(call->prefix_len - send_data(s, call, prefix, false));
    return call->prefix_len == 0u;
}

static enum status reply_begin(struct grpc_server *s, struct grpc_call *call, uint32_t len)
{
    struct writer w;
    enum status st;

    ASSERT(call->reply_left == 0u);
    st = send_head(s, call);
    if (st != STATUS_OK) {
        return st;
    }
    if (!prefix_sent(s, call)) { /* the prefix of an earlier, empty message is still unsent */
        return STATUS_MORE;
    }
    w = writer_of(call->prefix, sizeof call->prefix);
    writer_u8(&w, 0);
    writer_u32(&w, len);
    call->prefix_len = GRPC_PREFIX_BYTES;
    call->reply_left = len;
    call->arrival_ms = s->now_ms + GRPC_REPLY_MS;
    (void)prefix_sent(s, call);
    return STATUS_OK;
}

enum status grpc_reply_begin(struct grpc_server *s, struct grpc_call_id id, uint32_t len)
{
    struct grpc_call *call = call_alive(s, id);

    return call == NULL ? PEER_CLOSED : reply_begin(s, call, len);
}

static enum status reply_bytes(struct grpc_server *s, struct grpc_call *call, struct view bytes,
                               size_t *taken)
{
    *taken = 0;
    if (h2_failure(&s->h2, NULL) != STATUS_OK) {
        return PEER_CLOSED;
    }
    ASSERT(bytes.len <= call->reply_left);
    if (prefix_sent(s, call)) {
        *taken = send_data(s, call, bytes, false);
        call->reply_left -= (uint32_t)*taken;
    }
    return STATUS_OK;
}

enum status grpc_reply_bytes(struct grpc_server *s, struct grpc_call_id id, struct view bytes,
                             size_t *taken)
{
    struct grpc_call *call = call_alive(s, id);

    *taken = 0;
    return call == NULL ? PEER_CLOSED : reply_bytes(s, call, bytes, taken);
}

static enum status reply_message(struct grpc_server *s, struct grpc_call *call, struct view message)
{
    size_t taken = 0;
    enum status st;

    ASSERT(message.len <= UINT32_MAX);
    if ((call->flags & GRPC_FLAG_REPLY_BEGUN) == 0u) {
        st = reply_begin(s, call, (uint32_t)message.len);
        if (st != STATUS_OK) {
            return st;
        }
        call->flags |= GRPC_FLAG_REPLY_BEGUN;
    }
    ASSERT(call->reply_left <= message.len);
    st = reply_bytes(s, call, view_from(message, message.len - call->reply_left), &taken);
    return (st == STATUS_OK && call->reply_left > 0u) ? STATUS_MORE : st;
}

enum status grpc_reply_message(struct grpc_server *s, struct grpc_call_id id, struct view message)
{
    struct grpc_call *call = call_alive(s, id);
    enum status st = call == NULL ? PEER_CLOSED : reply_message(s, call, message);

    if (st == STATUS_OK) {
        call->flags &= (uint8_t)~GRPC_FLAG_REPLY_BEGUN;
    }
    return st;
}

static enum status finish_call(struct grpc_server *s, struct grpc_call *call, enum grpc_status code,
                               const char *text)
{
    enum status st;

    ASSERT(code != GRPC_OK || call->reply_left == 0u);
    if (code == GRPC_OK && !prefix_sent(s, call) && h2_failure(&s->h2, NULL) == STATUS_OK) {
        return STATUS_MORE;
    }
    st = send_status(s, call, code, text);
    if (st == STATUS_MORE) {
        return st;
    }
    if (st == STATUS_OK) {
        call_end(s, call);
    } else {
        grpc_call_free(s, call);
    }
    return STATUS_OK;
}

enum status grpc_finish(struct grpc_server *s, struct grpc_call_id id, enum grpc_status code,
                        const char *text)
{
    struct grpc_call *call = call_alive(s, id);

    return call == NULL ? STATUS_OK : finish_call(s, call, code, text);
}

enum status grpc_reply_all(struct grpc_server *s, struct grpc_call_id id, struct view message)
{
    struct grpc_call *call = call_alive(s, id);
    enum status st = call == NULL ? PEER_CLOSED : reply_message(s, call, message);

    return st == STATUS_OK ? finish_call(s, call, GRPC_OK, NULL) : st;
}
