/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the parsers of src/wire are beside those of nghttp2, on the same bytes in one run.
 * Owns the inputs; judges nothing but that both sides decoded as much.
 *
 *   speed    "NAME OURS NGHTTP2" a line, in megabytes (10^6) of input a second
 *
 * Header blocks are those of nghttp2's own encoder, Huffman codes and dynamic table included.
 */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "wire/h2.h"
#include "wire/hpack.h"

#define BLOCKS 256u
#define BLOCK_BYTES 1024u
#define FRAMES_BYTES (1024u * 1024u)
#define READ_BYTES H2_SERVER_RX_BYTES /* of one read, for both */
#define TRIES 7
#define TRY_SECONDS 0.2

void assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "speed: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

/* One input, and how often something was decoded from it. */
struct input {
    uint8_t bytes[FRAMES_BYTES];
    size_t len;
    size_t block_len[BLOCKS];
};
typedef size_t (*decode)(const struct input *in);

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double rate(decode run, const struct input *in)
{
    double begun = seconds();
    double now = begun;
    double bytes = 0;
    while (now - begun < TRY_SECONDS) {
        (void)run(in);
        bytes += (double)in->len;
        now = seconds();
    }
    return bytes / (now - begun) / 1e6;
}

/* The best of some tries by turns: what others do to the machine only slows down. */
static void compare(const char *name, const struct input *in, decode ours, decode theirs)
{
    double best[2] = {0, 0};
    size_t decoded = ours(in);
    if (decoded == 0u || decoded != theirs(in)) {
        fprintf(stderr, "speed: %s: %zu and %zu decoded\n", name, decoded, theirs(in));
        exit(1);
    }
    for (int i = 0; i < TRIES; i++) {
        double a = rate(ours, in);
        double b = rate(theirs, in);
        best[0] = (a > best[0]) ? a : best[0];
        best[1] = (b > best[1]) ? b : best[1];
    }
    printf("%s %.1f %.1f\n", name, best[0], best[1]);
}

/* --- header blocks: octets of names and values --- */

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static void blocks_make(struct input *in)
{
    static const char *const paths[] = {
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources"};
    nghttp2_hd_deflater *d = NULL;
    char timeout[24];
    if (nghttp2_hd_deflate_new(&d, HPACK_TABLE_BYTES) != 0) {
        abort();
    }
    in->len = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        (void)snprintf(timeout, sizeof timeout, "%um", 40000u + i);
        nghttp2_nv fields[] = {
            field(":method", "POST"),
            field(":scheme", "http"),
            field(":path", paths[i % 2u]),
            field(":authority", "localhost"),
            field("content-type", "application/grpc"),
            field("user-agent", "grpc-go/1.72.2"),
            field("te", "trailers"),
            field("grpc-timeout", timeout),
        };
        ssize_t n = nghttp2_hd_deflate_hd(d, in->bytes + in->len, BLOCK_BYTES, fields,
                                          sizeof fields / sizeof fields[0]);
        if (n <= 0) {
            abort();
        }
        in->block_len[i] = (size_t)n;
        in->len += (size_t)n;
    }
    nghttp2_hd_deflate_del(d);
}

static size_t blocks_ours(const struct input *in)
{
    static struct hpack_decoder decoder;
    static uint8_t scratch[BLOCK_BYTES];
    size_t decoded = 0;
    size_t at = 0;
    hpack_decoder_init(&decoder, HPACK_TABLE_BYTES);
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct reader r = reader_of(view_of(in->bytes + at, in->block_len[i]));
        while (reader_left(&r) > 0u) {
            struct hpack_field f;
            struct writer w = writer_of(scratch, sizeof scratch);
            if (hpack_decode(&decoder, &r, r.pos == 0u, &w, &f) != STATUS_OK) {
                return 0;
            }
            decoded += f.name.len + f.value.len;
        }
        at += in->block_len[i];
    }
    return decoded;
}

static size_t block_theirs(nghttp2_hd_inflater *inflater, const uint8_t *at, size_t len)
{
    size_t decoded = 0;
    int flags = 0;
    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, at, len, 1);
        if (n < 0) {
            return 0;
        }
        at += n;
        len -= (size_t)n;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            decoded += nv.namelen + nv.valuelen;
        }
    }
    (void)nghttp2_hd_inflate_end_headers(inflater);
    return decoded;
}

static size_t blocks_theirs(const struct input *in)
{
    nghttp2_hd_inflater *inflater = NULL;
    size_t decoded = 0;
    size_t at = 0;
    if (nghttp2_hd_inflate_new(&inflater) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        decoded += block_theirs(inflater, in->bytes + at, in->block_len[i]);
        at += in->block_len[i];
    }
    nghttp2_hd_inflate_del(inflater);
    return decoded;
}

/* --- frames of one long request: octets of DATA --- */

static size_t put_frame(uint8_t *at, uint32_t length, uint8_t type, uint8_t flags, uint8_t stream)
{
    struct writer w = writer_of(at, 9);
    writer_u24(&w, length);
    writer_u8(&w, type);
    writer_u8(&w, flags);
    writer_u32(&w, stream);
    return w.len;
}

static void frames_make(struct input *in, uint32_t payload)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const uint8_t head[] = {0x83, 0x86, 0x84, 0x41, 0x01, 'x'};
    size_t n = sizeof preface - 1u;
    memcpy(in->bytes, preface, n);
    n += put_frame(in->bytes + n, 0, 4, 0, 0);
    n += put_frame(in->bytes + n, sizeof head, 1, 4, 1);
    memcpy(in->bytes + n, head, sizeof head);
    n += sizeof head;
    while (sizeof in->bytes - n >= 9u + payload) {
        n += put_frame(in->bytes + n, payload, 0, 0, 1);
        memset(in->bytes + n, 'd', payload);
        n += payload;
    }
    in->len = n;
}

static size_t drain_ours(struct h2 *c)
{
    struct h2_event e;
    size_t decoded = 0;
    enum status s = h2_next(c, &e);
    while (s == STATUS_OK) {
        decoded += (e.kind == H2_EVENT_DATA) ? e.data.len : 0u;
        s = h2_next(c, &e);
    }
    h2_tx_commit(c, h2_tx_data(c).len);
    return (s == STATUS_MORE) ? decoded : 0u;
}

static size_t frames_ours(const struct input *in)
{
    static struct h2 c;
    static struct h2_stream streams[H2_SERVER_STREAMS];
    static uint8_t rx[READ_BYTES];
    static uint8_t tx[H2_SERVER_TX_BYTES];
    static uint8_t one[H2_SERVER_FIELD_BYTES];
    static uint8_t other[H2_SERVER_FIELD_BYTES];
    const struct h2_memory memory = {.rx = rx,
                                     .rx_cap = sizeof rx,
                                     .tx = tx,
                                     .tx_cap = sizeof tx,
                                     .field = one,
                                     .field_cap = sizeof one,
                                     .scratch = other,
                                     .scratch_cap = sizeof other,
                                     .streams = streams,
                                     .streams_cap = H2_SERVER_STREAMS,
                                     .window = H2_SERVER_WINDOW,
                                     .connection_window = H2_WINDOW_DEFAULT,
                                     .table_size = HPACK_TABLE_BYTES};
    size_t decoded = 0;
    h2_init(&c, H2_SERVER, &memory, 0);
    for (size_t at = 0; at < in->len;) {
        struct writer w = h2_rx_space(&c);
        size_t room = writer_room(&w);
        size_t n = (in->len - at < room) ? in->len - at : room;
        if (n > 0u) {
            memcpy(w.data + w.len, in->bytes + at, n);
            h2_rx_commit(&c, n);
        }
        at += n;
        decoded += drain_ours(&c);
    }
    return decoded;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t len, void *decoded)
{
    (void)session;
    (void)flags;
    (void)stream;
    (void)data;
    *(size_t *)decoded += len;
    return 0;
}

static size_t frames_theirs(const struct input *in)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_session *session = NULL;
    size_t decoded = 0;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return 0;
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    if (nghttp2_session_server_new(&session, callbacks, &decoded) != 0) {
        return 0;
    }
    (void)nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    for (size_t at = 0; at < in->len;) {
        const uint8_t *out = NULL;
        size_t n = (in->len - at < READ_BYTES) ? in->len - at : READ_BYTES;
        if (nghttp2_session_mem_recv(session, in->bytes + at, n) < 0) {
            decoded = 0;
            break;
        }
        at += n;
        while (nghttp2_session_mem_send(session, &out) > 0) {
        }
    }
    nghttp2_session_del(session);
    nghttp2_session_callbacks_del(callbacks);
    return decoded;
}

int main(void)
{
    static struct input in;
    blocks_make(&in);
    compare("hpack", &in, blocks_ours, blocks_theirs);
    frames_make(&in, 1024);
    compare("data-1024", &in, frames_ours, frames_theirs);
    frames_make(&in, 16);
    compare("data-16", &in, frames_ours, frames_theirs);
    return 0;
}
