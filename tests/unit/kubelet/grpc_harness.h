/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC server and an HTTP/2 engine in client role, joined in memory: what either side saw becomes
 * a text. Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_GRPC_HARNESS_H
#define TESTS_UNIT_GRPC_HARNESS_H

#include "tests/unit/wire/h2_harness.h"
#include "wire/grpc.h"

#define CALLS_SEEN_MAX 64
#define REPLY_MAX 40000

static struct conn client;
static struct grpc_server server;
static struct grpc_buffers buffers;
static uint64_t now;

/* what the server's owner saw */
static struct trace seen;
static struct grpc_call_id ids[CALLS_SEEN_MAX];
static unsigned calls;
static unsigned writables;
static enum status server_said;

/* octets that move at a time, and whether the server's output moves at all */
static size_t cut;
static bool hold_server;

/* --- the two ends and what is between --- */

static inline unsigned number_of(struct grpc_call_id id)
{
    unsigned found = 0;

    for (unsigned i = 0; i < calls; i++) {
        found = ids[i].index == id.index && ids[i].serial == id.serial ? i + 1 : found;
    }
    assert_true(found > 0);
    return found;
}

static inline void see(const struct grpc_event *event)
{
    switch (event->kind) {
    case GRPC_EVENT_CALL:
        assert_true(grpc_call_alive(&server, event->call));
        ids[calls % CALLS_SEEN_MAX] = event->call;
        calls++;
        trace_add(&seen, " CALL %.*s ", (int)event->path.len, (const char *)event->path.data);
        trace_bytes(&seen, view_first(event->message, 40));
        trace_add(&seen, event->message.len > 40 ? "(%zu)" : "", event->message.len);
        break;
    case GRPC_EVENT_GONE:
        trace_add(&seen, " GONE %u", number_of(event->call));
        break;
    case GRPC_EVENT_DEADLINE:
        trace_add(&seen, " DEADLINE %u", number_of(event->call));
        break;
    case GRPC_EVENT_WRITABLE:
        writables++;
        break;
    }
}

static inline void serve(void)
{
    struct grpc_event event;

    server_said = grpc_next(&server, now, &event);
    while (server_said == STATUS_OK) {
        see(&event);
        assert_true(grpc_valid(&server));
        server_said = grpc_next(&server, now, &event);
    }
}

/* Moves at most `most` bytes between two connections; whether any moved. */
static inline bool move(struct h2 *from, struct h2 *to, size_t most)
{
    struct view out = view_first(h2_tx_data(from), most);
    struct writer space = h2_rx_space(to);
    size_t n = out.len < space.cap ? out.len : space.cap;

    if (n > 0) {
        memcpy(space.data, out.data, n);
        h2_rx_commit(to, n);
        h2_tx_commit(from, n);
    }
    return n > 0;
}

static inline bool move_to_server(void)
{
    return move(&client.h2, &server.h2, cut);
}

static inline bool move_to_client(void)
{
    return move(&server.h2, &client.h2, hold_server ? 0 : cut);
}

/* Lets both run until nothing moves. */
static inline void settle(void)
{
    bool moved = true;

    for (unsigned i = 0; i < 400000 && moved; i++) {
        serve();
        conn_pump(&client);
        moved = move_to_server();
        moved = move_to_client() || moved;
    }
    assert_false(moved);
}

static inline void begin_with(struct grpc_buffers *pool, uint32_t client_window)
{
    memset(&buffers, 0, sizeof buffers);
    now = 1000;
    calls = 0;
    writables = 0;
    seen.len = 0;
    seen.text[0] = '\0';
    cut = 4096;
    hold_server = false;
    grpc_init(&server, pool, NULL, 0, now);
    conn_init_sized(&client, H2_CLIENT, sizeof client.rx, client_window);
    client.hold_output = true;
    settle();
    assert_int_equal(server_said, STATUS_MORE);
}

static inline void begin(void)
{
    begin_with(&buffers, H2_SERVER_WINDOW);
}

static inline void end(void)
{
    assert_int_equal(grpc_calls_open(&server), 0);
    for (unsigned i = 0; i < GRPC_BUFFERS; i++) {
        assert_false(buffers.buffers[i].taken);
    }
    assert_int_equal(buffers.taken + buffers.holders, 0);
}

/* --- the client's side --- */

struct request {
    const char *method;
    const char *path;
    const char *type;
    const char *timeout;  /* NULL: none */
    const char *encoding; /* NULL: none */
};

static const struct request usual = {"POST", "/s/M", "application/grpc", NULL, NULL};

static uint32_t open_call(const struct request *r, bool end_stream)
{
    uint32_t stream = 0;

    assert_int_equal(h2_open(&client.h2, 0, &stream), STATUS_OK);
    h2_headers_begin(&client.h2, stream);
    h2_header(&client.h2, ":method", view_text(r->method), false);
    h2_header(&client.h2, ":scheme", view_text("http"), false);
    h2_header(&client.h2, ":path", view_text(r->path), false);
    h2_header(&client.h2, ":authority", view_text("localhost"), false);
    if (r->type != NULL) {
        h2_header(&client.h2, "content-type", view_text(r->type), false);
    }
    h2_header(&client.h2, "te", view_text("trailers"), false);
    if (r->timeout != NULL) {
        h2_header(&client.h2, "grpc-timeout", view_text(r->timeout), false);
    }
    if (r->encoding != NULL) {
        h2_header(&client.h2, "grpc-encoding", view_text(r->encoding), false);
    }
    h2_header(&client.h2, "grpc-trace-bin", view_text("AAA"), false);
    assert_int_equal(h2_headers_end(&client.h2, end_stream), STATUS_OK);
    return stream;
}

static inline void send_bytes(uint32_t stream, const void *data, size_t len, bool end_stream)
{
    struct view left = view_of(data, len);
    struct view piece;

    do {
        settle();
        piece = view_first(left, h2_data_room(&client.h2, stream));
        assert_true(piece.len > 0 || left.len == 0);
        left = view_from(left, piece.len);
        assert_int_equal(h2_data(&client.h2, stream, piece, end_stream && left.len == 0),
                         STATUS_OK);
    } while (left.len > 0);
}

static inline void send_message(uint32_t stream, const char *text, bool end_stream)
{
    static uint8_t bytes[REPLY_MAX];
    struct writer w = writer_of(bytes, sizeof bytes);

    writer_u8(&w, 0);
    writer_u32(&w, (uint32_t)strlen(text));
    writer_text(&w, text);
    assert_false(w.full);
    send_bytes(stream, bytes, w.len, end_stream);
}

static uint32_t call(const char *text)
{
    uint32_t stream = open_call(&usual, false);

    send_message(stream, text, true);
    settle();
    return stream;
}

/* Pieces of DATA of one stream become one: where it is cut says nothing. */
static inline void join_data(uint32_t stream)
{
    char mark[16];
    size_t n = (size_t)snprintf(mark, sizeof mark, " D%u ", stream);
    char *piece = strstr(client.events.text, mark);
    char *next = piece == NULL ? NULL : strchr(piece + n, ' ');

    while (next != NULL) {
        if (strncmp(next, mark, n) == 0) {
            memmove(next, next + n, strlen(next + n) + 1);
            next = strchr(next, ' ');
        } else {
            piece = strstr(next, mark);
            next = piece == NULL ? NULL : strchr(piece + n, ' ');
        }
    }
    client.events.len = strlen(client.events.text);
}

static inline void client_saw(const char *want)
{
    join_data(1);
    assert_string_equal(client.events.text, want);
    client.events.len = 0;
    client.events.text[0] = '\0';
    client.data_stream = 0;
}

static inline void server_saw(const char *want)
{
    assert_string_equal(seen.text, want);
    seen.len = 0;
    seen.text[0] = '\0';
}

static inline char *long_text(size_t len)
{
    static char text[REPLY_MAX];

    assert_true(len < sizeof text);
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[len] = '\0';
    return text;
}

#define HEAD "F1 :status=200 F1 content-type=application/grpc"

static inline void check_refused(const struct request *r, const char *message_hex, bool end_stream,
                                 const char *want)
{
    uint8_t bytes[600];
    size_t n = hex_bytes(message_hex, bytes, sizeof bytes);
    uint32_t stream;

    for (cut = 1; cut < 5000; cut += 4998) {
        size_t kept = cut;
        begin();
        cut = kept;
        stream = open_call(r, n == 0 && end_stream);
        if (n > 0) {
            assert_int_equal(h2_data(&client.h2, stream, view_of(bytes, n), end_stream), STATUS_OK);
        }
        settle();
        server_saw("");
        client_saw(want);
        end();
        /* the connection goes on */
        (void)call("next");
        server_saw(" CALL /s/M next");
    }
}

#define REFUSED(code, text) " " HEAD " F1 grpc-status=" code " F1 grpc-message=" text " H1e"

#endif
