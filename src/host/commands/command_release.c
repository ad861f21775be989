/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `release`: sends one NodeUnprepareResources call to the agent's service socket, as
 * the kubelet does, with a time limit. The agent releases the claim itself, so that its table,
 * store and CDI files change together. Holds no state.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "generated/dra.pb.h"
#include "host/commands/commands_internal.h"
#include "host/sockets.h"
#include "host/system.h"
#include "pb_decode.h"
#include "pb_encode.h"

/*
 * Time limit for the call NodeUnprepareResources, in which the agent writes to its disk; the call
 * normally takes much less time.
 */
#define RELEASE_MAX_MS 10000u
#define METHOD "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"
/*
 * Size of a buffer for the request: three texts, the longest of 253 bytes, with their tags and
 * lengths.
 */
#define REQUEST_BYTES 1024u
#define REPLY_BYTES 4096u

struct call_out {
    int fd;
    uint64_t end_ms;
    uint32_t stream;
    bool ended;
    unsigned code; /* value of grpc-status in the response; CODE_NONE: not received yet */
    struct writer text;
    /* received bytes of the response, with the five-byte prefix of a gRPC message */
    struct writer reply;
};
#define CODE_NONE 16u

/* Writes the gRPC message of a NodeUnprepareResources request for one claim. */
static void put_request(struct writer *out, const struct claim_id *id)
{
    uint8_t bytes[REQUEST_BYTES];
    pb_ostream_t message = pb_ostream_from_buffer(bytes, sizeof bytes);
    dra_Claim claim = dra_Claim_init_zero;
    text_set(claim.namespace, sizeof claim.namespace, id->namespace_);
    text_set(claim.uid, sizeof claim.uid, id->uid);
    text_set(claim.name, sizeof claim.name, id->name);
    bool written =
        pb_encode_tag(&message, PB_WT_STRING, dra_NodeUnprepareResourcesRequest_claims_tag) &&
        pb_encode_submessage(&message, dra_Claim_fields, &claim);
    ASSERT(written); /* a claim of maximum length fits into REQUEST_BYTES */
    writer_u8(out, 0);
    writer_u32(out, (uint32_t)message.bytes_written);
    writer_append(out, view_of(bytes, message.bytes_written));
    ASSERT(!out->full);
}

/* --- the response to NodeUnprepareResources --- */

/*
 * Reads the first entry of the response's `claims` map. false: the message is malformed, or the map
 * is empty.
 */
static bool read_entry(struct view message, dra_NodeUnprepareResourcesResponse_ClaimsEntry *entry)
{
    pb_istream_t in = pb_istream_from_buffer(message.data, message.len);
    pb_istream_t bytes;
    pb_wire_type_t type = PB_WT_VARINT;
    uint32_t tag = 0;
    bool end = false;
    return pb_decode_tag(&in, &type, &tag, &end) && type == PB_WT_STRING &&
           tag == (uint32_t)dra_NodeUnprepareResourcesResponse_claims_tag &&
           pb_make_string_substream(&in, &bytes) &&
           pb_decode(&bytes, dra_NodeUnprepareResourcesResponse_ClaimsEntry_fields, entry);
}

/*
 * Evaluates the response to NodeUnprepareResources. STATUS_OK: the claim is released. Otherwise
 * `why` gets one line.
 */
static enum status judge_reply(const struct call_out *c, const struct claim_id *id,
                               struct writer *why)
{
    struct view reply = writer_view(&c->reply);
    if (c->code != 0u || reply.len < 5u) {
        WRITE(why, "the agent refused: %", SHOWN(writer_view(&c->text)));
        return HOST_IO;
    }
    dra_NodeUnprepareResourcesResponse_ClaimsEntry entry =
        dra_NodeUnprepareResourcesResponse_ClaimsEntry_init_zero;
    if (!read_entry(view_from(reply, 5), &entry) || strcmp(entry.key, id->uid) != 0) {
        writer_text(why, "the agent's response does not name the claim");
        return HOST_IO;
    }
    if (entry.value.error[0] != '\0') {
        WRITE(why, "the agent could not release it: %", SHOWN(view_text(entry.value.error)));
        return HOST_IO;
    }
    return STATUS_OK;
}

/* --- the call of NodeUnprepareResources --- */

static void on_event(struct call_out *c, const struct h2_event *e)
{
    uint64_t code = 0;
    switch (e->kind) {
    case H2_EVENT_FIELD:
        if (view_is(e->name, "grpc-status")) {
            bool known = view_decimal(e->value, CODE_NONE, &code) == STATUS_OK;
            c->code = known ? (unsigned)code : CODE_NONE;
        } else if (view_is(e->name, "grpc-message")) {
            writer_append(&c->text, view_first(e->value, writer_room(&c->text)));
        }
        break;
    case H2_EVENT_DATA:
        writer_append(&c->reply, view_first(e->data, writer_room(&c->reply)));
        c->ended = c->ended || e->end_stream;
        break;
    case H2_EVENT_HEADERS_END:
        c->ended = c->ended || e->end_stream;
        break;
    case H2_EVENT_RESET:
        c->ended = true;
        break;
    default:
        break;
    }
}

static void send_head(struct h2 *h, uint32_t stream)
{
    h2_headers_begin(h, stream);
    h2_header(h, ":method", view_text("POST"), false);
    h2_header(h, ":scheme", view_text("http"), false);
    h2_header(h, ":path", view_text(METHOD), false);
    h2_header(h, ":authority", view_text("localhost"), false);
    h2_header(h, "content-type", view_text("application/grpc"), false);
    h2_header(h, "te", view_text("trailers"), false);
}

/*
 * Waits until the connection to the agent is readable or, if `sends` is set, writable. Returns 0 or
 * an errno.
 */
static int wait_ready(const struct call_out *c, bool sends, short *ready)
{
    uint64_t now_ms = clock_now_ms();
    struct pollfd wait = {.fd = c->fd, .events = (short)(sends ? POLLIN | POLLOUT : POLLIN)};
    uint64_t left_ms = (now_ms < c->end_ms) ? c->end_ms - now_ms : 0u;
    int n = poll(&wait, 1, (int)left_ms);
    *ready = wait.revents;
    return (n == 1) ? 0 : ((n == 0) ? ETIMEDOUT : errno);
}

/*
 * Waits for the socket, then sends and receives as many bytes as it can without blocking. Returns 0
 * or an errno.
 */
static int move_bytes(const struct call_out *c, struct h2 *h)
{
    short ready = 0;
    struct view out = h2_tx_data(h);
    struct writer room = h2_rx_space(h);
    int error = wait_ready(c, out.len > 0u, &ready);
    if (error == 0 && (ready & POLLOUT) != 0) {
        ssize_t n = send(c->fd, out.data, out.len, MSG_NOSIGNAL);
        h2_tx_commit(h, (n > 0) ? (size_t)n : 0u);
    }
    if (error == 0 && (ready & (POLLIN | POLLHUP)) != 0 && writer_room(&room) > 0u) {
        ssize_t n = read(c->fd, room.data, writer_room(&room));
        error = (n > 0) ? 0 : ((n < 0) ? errno : ECONNRESET);
        h2_rx_commit(h, (n > 0) ? (size_t)n : 0u);
    }
    h2_set_time(h, clock_now_ms());
    return error;
}

static enum status send_call(struct call_out *c, struct h2 *h, const struct claim_id *id)
{
    uint8_t bytes[REQUEST_BYTES + 16u];
    struct writer request = writer_of(bytes, sizeof bytes);
    put_request(&request, id);
    enum status s = h2_open(h, 0, &c->stream);
    if (s == STATUS_OK) {
        send_head(h, c->stream);
        s = h2_headers_end(h, false);
    }
    return (s == STATUS_OK) ? h2_data(h, c->stream, writer_view(&request), true) : s;
}

/*
 * Handles all HTTP/2 events in the received bytes. STATUS_MORE: the response to the call needs more
 * bytes.
 */
static enum status handle_events(struct call_out *c, struct h2 *h)
{
    struct h2_event e;
    enum status s = h2_next(h, &e);
    while (s == STATUS_OK) {
        on_event(c, &e);
        s = h2_next(h, &e);
    }
    return s;
}

/* Runs the call until the response ends. Returns 0 or an errno. */
static int run_call(struct call_out *c, struct h2 *h, const struct claim_id *id)
{
    int error = (send_call(c, h, id) == STATUS_OK) ? 0 : EPROTO;
    /* Each iteration transfers bytes, or waits for the agent, at most until c->end_ms. */
    while (!c->ended && error == 0) {
        error = move_bytes(c, h);
        bool failed = error == 0 && handle_events(c, h) != STATUS_MORE;
        if (failed && (!c->ended || c->code == CODE_NONE)) {
            error = EPROTO;
        }
    }
    return error;
}

enum status release_call(struct command_memory *m, const char *socket_path,
                         const struct claim_id *id, struct writer *why)
{
    uint8_t text[256];
    struct call_out c = {.code = CODE_NONE, .end_ms = clock_now_ms() + RELEASE_MAX_MS};
    struct h2_memory memory = {.rx = m->half[0],
                               .rx_cap = sizeof m->half[0],
                               .tx = m->half[1],
                               .tx_cap = sizeof m->half[1],
                               .field = m->cdi[0],
                               .field_cap = H2_CLIENT_FIELD_BYTES,
                               .scratch = &m->cdi[0][H2_CLIENT_FIELD_BYTES],
                               .scratch_cap = H2_CLIENT_FIELD_BYTES,
                               .streams = &m->stream,
                               .streams_cap = 1,
                               .window = H2_WINDOW_DEFAULT,
                               .connection_window = H2_WINDOW_DEFAULT};
    c.text = writer_of(text, sizeof text);
    c.reply = writer_of(m->cdi[1], REPLY_BYTES);
    c.fd = socket_connect(socket_path);
    int error = (c.fd >= 0) ? 0 : errno;
    if (error == 0) {
        h2_init(&m->h2, H2_CLIENT, &memory, clock_now_ms());
        error = run_call(&c, &m->h2, id);
        (void)close(c.fd);
    }
    if (error != 0) {
        WRITE(why, "no agent answers at %: ", TEXT(socket_path));
        if (error == EPROTO) {
            writer_text(why, "another program answers there, without gRPC; find it by ss -lxp");
        } else if (error == ETIMEDOUT) {
            WRITE(why, "%; the agent hangs: delete its pod", ERRNO(error));
        } else {
            WRITE(why, "%; check that the agent runs here, with this --pod-uid", ERRNO(error));
        }
        return HOST_IO;
    }
    return judge_reply(&c, id, why);
}
