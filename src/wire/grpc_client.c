/* SPDX-License-Identifier: Apache-2.0 */
/* One unary gRPC call as a client, see grpc_client.h. */
#include "wire/grpc_client.h"

#include "base/assert.h"

/* --- the request --- */

static void send_head(struct h2 *h, uint32_t stream, const char *method)
{
    h2_headers_begin(h, stream);
    h2_header_text(h, ":method", "POST");
    h2_header_text(h, ":scheme", "http");
    h2_header_text(h, ":path", method);
    h2_header_text(h, ":authority", "localhost");
    h2_header_text(h, "content-type", "application/grpc");
    h2_header_text(h, "te", "trailers");
}

void grpc_client_begin(struct grpc_client *c, struct h2 *h2, const char *method,
                       struct view request)
{
    c->h2 = h2;
    c->ended = false;
    c->code = GRPC_CODE_NONE;
    c->text = writer_of(c->text_bytes, sizeof c->text_bytes);
    enum status s = h2_open(h2, 0, &c->stream);
    ASSERT(s == STATUS_OK); /* the first stream of a new connection */
    send_head(h2, c->stream, method);
    s = h2_headers_end(h2, false);
    ASSERT(s == STATUS_OK && request.len <= h2_data_room(h2, c->stream));
    s = h2_data(h2, c->stream, request, true);
    ASSERT(s == STATUS_OK);
}

/* --- the response --- */

static void read_field(struct grpc_client *c, const struct h2_event *e)
{
    uint64_t code = 0;
    if (view_is(e->name, "grpc-status")) {
        bool known = view_decimal(e->value, GRPC_CODE_NONE, &code) == STATUS_OK;
        c->code = known ? (unsigned)code : GRPC_CODE_NONE;
    } else if (view_is(e->name, "grpc-message")) {
        writer_append(&c->text, view_first(e->value, writer_room(&c->text)));
    } else {
        /* the other fields do not change how the response is read */
    }
}

enum status grpc_client_next(struct grpc_client *c, struct view *piece)
{
    struct h2_event e;
    *piece = view_of(NULL, 0);
    ASSERT(!c->ended);
    enum status s = h2_next(c->h2, &e);
    if (s != STATUS_OK) {
        return s; /* a failure of the connection has reset the stream before, see below */
    }
    if (e.kind == H2_EVENT_RESET) {
        return PEER_MALFORMED;
    }
    if (e.kind == H2_EVENT_FIELD) {
        read_field(c, &e);
    } else if (e.kind == H2_EVENT_DATA) {
        *piece = e.data;
        c->ended = e.end_stream;
    } else {
        c->ended = e.kind == H2_EVENT_HEADERS_END && e.end_stream;
    }
    return STATUS_OK;
}
