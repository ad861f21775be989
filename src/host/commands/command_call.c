/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gRPC call over a unix socket, for a command: moves the bytes of wire/grpc_client, with a time
 * limit. The HTTP/2 buffers are in struct command_memory.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/commands/commands_internal.h"
#include "host/sockets.h"
#include "host/system.h"

/*
 * Waits until the connection is readable or, if `sends` is set, writable. Returns 0 or an errno.
 */
static int wait_ready(const struct grpc_out *c, bool sends, short *ready)
{
    uint64_t now_ms = clock_now_ms();
    struct pollfd wait = {.fd = c->fd, .events = (short)(sends ? POLLIN | POLLOUT : POLLIN)};
    uint64_t left_ms = (now_ms < c->end_ms) ? c->end_ms - now_ms : 0u;
    /* a peer that sends without end does not extend the time limit */
    int n = (left_ms > 0u) ? poll(&wait, 1, (int)left_ms) : 0;
    *ready = wait.revents;
    return (n == 1) ? 0 : ((n == 0) ? ETIMEDOUT : errno);
}

/*
 * Waits for the socket, then sends and receives as many bytes as it can without blocking. Returns 0
 * or an errno.
 */
static int move_bytes(const struct grpc_out *c)
{
    struct h2 *h = c->call.h2;
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

int grpc_call_begin(struct command_memory *m, struct grpc_out *c, const char *socket_path,
                    const char *method, struct view request)
{
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
    c->call.code = GRPC_CODE_NONE;
    c->call.text = writer_of(NULL, 0);
    c->fd = socket_connect(socket_path);
    if (c->fd < 0) {
        return errno;
    }
    h2_init(&m->h2, H2_CLIENT, &memory, clock_now_ms());
    grpc_client_begin(&c->call, &m->h2, method, request);
    return 0;
}

/*
 * Handles an event of received bytes, transfers bytes, or waits for the peer, at most until
 * c->end_ms. Returns 0 or an errno.
 */
static int call_step(struct grpc_out *c, struct view *piece)
{
    enum status s = grpc_client_next(&c->call, piece);
    if (s == STATUS_MORE) {
        return move_bytes(c);
    }
    return (s == STATUS_OK) ? 0 : EPROTO;
}

int grpc_call_next(struct grpc_out *c, struct view *piece)
{
    int error = 0;
    *piece = view_of(NULL, 0);
    /* Ends at c->end_ms at the latest, because call_step fails then instead of waiting. */
    while (!c->call.ended && piece->len == 0u && error == 0) {
        error = call_step(c, piece);
    }
    return error;
}

void grpc_call_end(const struct grpc_out *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
}
