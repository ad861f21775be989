/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 frames, as server and as client, to the engine of src/wire/h2.h and to nghttp2.
 *
 * After each frame both have ended the connection or neither has, have reset the same stream or
 * none, each time with the same error code, have read the same header lists and octets of bodies,
 * and have the same open streams with the same windows to send into. The first difference has to be
 * one of `permitted`, each with its reason, and ends the run, because the two states no longer
 * match.
 *
 * The first byte chooses the role. Then comes one byte for each step, and what the step needs: a
 * frame of any type with a true length, a control frame of the right length, a header list that
 * peers send, DATA of zeros, an answer of the server.
 *
 * Input: a script: HTTP/2 frames of a peer, and the answers of a server
 * Links: -lnghttp2
 */
#include "tests/fuzz/fuzz_h2.h"
#include "wire/h2_internal.h"

#ifndef FUZZ_ALONE
#include <nghttp2/nghttp2.h>
#endif

#define STREAMS_COMPARED 64u /* ids below this are compared after each frame */
#define REQUESTS 3u          /* that a client has sent before the first frame */
#define FRAME_BYTES 4096u
#define STEP_MS 200u /* between frames: the abuse credit comes back, no deadline passes */

/* What one side did with a frame. */
struct outcome {
    bool failed;
    uint32_t code;
    uint32_t reset; /* stream that this side reset; 0: none */
    uint32_t reset_code;
    struct fuzz_sum lists; /* of whole header lists */
    struct fuzz_sum data;
};

/* The fields so far of a list. */
struct list {
    struct fuzz_sum sum;
    bool informational;
    bool odd;
    bool request;
    bool authority;
    bool trailers;
    bool length;
    bool host;
};

/* The frame that both got, and what was true before, for the list of permitted differences. */
struct frame {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    struct view payload;
    bool in_list;         /* a header list has begun and not ended */
    bool interrupts;      /* the frame does not continue that list: RFC 9113 6.10 */
    bool unknown;         /* its stream is not open */
    bool closed;          /* its stream was open once */
    uint32_t goaway_last; /* of the GOAWAYs received before */
};

struct side {
    struct outcome now;
    struct list list;
};

static struct link engine;
static struct side ours;

static void begin_frame(struct side *s)
{
    s->now = (struct outcome){.lists = fuzz_sum_of(), .data = fuzz_sum_of()};
}

static void begin_list(struct side *s)
{
    s->list = (struct list){.sum = fuzz_sum_of()};
}

/* RFC 9110 5.6.2 */
static bool is_token(struct view text)
{
    bool good = text.len > 0u;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        good = good && (alnum || (c != 0u && strchr("!#$%&'*+-.^_`|~", c) != NULL));
    }
    return good;
}

/* RFC 9110 5.5: no control characters but tabs; `blanks`: spaces and tabs too are none. */
static bool is_text(struct view text, bool blanks)
{
    bool good = true;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        good = good && c != 0x7fu && (c > ' ' || (!blanks && (c == ' ' || c == '\t')));
    }
    return good;
}

/* RFC 3986 3.2, without a user, and not empty */
static bool is_authority(struct view text)
{
    bool good = text.len > 0u && is_text(text, true);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        good = good && c < 0x80u && strchr("\"#/<>?@\\^`{|}", c) == NULL;
    }
    return good;
}

static bool odd_pseudo(struct view name, struct view value)
{
    if (view_is(name, ":method")) {
        return !is_token(value);
    }
    if (view_is(name, ":path")) {
        return !is_text(value, true) || !view_starts(value, "/");
    }
    if (view_is(name, ":scheme")) {
        return !view_is(value, "http") && !view_is(value, "https");
    }
    if (view_is(name, ":status")) {
        return view_starts(value, "0"); /* RFC 9110 15: invalid, and each receiver decides */
    }
    return view_is(name, ":authority") && !is_authority(value);
}

static bool odd_regular(const struct list *list, struct view name, struct view value)
{
    bool again =
        (list->length && view_is(name, "content-length")) || (list->host && view_is(name, "host"));
    bool host = view_is(name, "host") && !is_authority(value);
    return again || host || !is_token(name) || !is_text(value, false);
}

/* What is no error by RFC 9113 8.2 and 8.3, but may be one for a receiver that looks closer. */
static void look_at_field(struct list *list, struct view name, struct view value)
{
    bool odd = view_starts(name, ":") ? odd_pseudo(name, value) : odd_regular(list, name, value);
    list->odd = list->odd || odd;
    list->length = list->length || view_is(name, "content-length");
    list->host = list->host || view_is(name, "host");
    list->authority = list->authority || view_is(name, "host") || view_is(name, ":authority");
    list->request = list->request || view_is(name, ":method");
}

static void add_field(struct side *s, struct view name, struct view value)
{
    look_at_field(&s->list, name, value);
    s->list.informational =
        s->list.informational || (view_is(name, ":status") && view_starts(value, "1"));
    fuzz_sum_view(&s->list.sum, name);
    fuzz_sum_view(&s->list.sum, value);
}

/* The engine does not report 1xx responses. */
static void end_list(struct side *s, uint32_t stream, bool end_stream)
{
    if (!s->list.informational) {
        fuzz_sum_u64(&s->now.lists, s->list.sum.value);
        fuzz_sum_u64(&s->now.lists, (uint64_t)stream << 1 | (end_stream ? 1u : 0u));
    }
}

static void add_data(struct side *s, uint32_t stream, const void *data, size_t len)
{
    if (len > 0u) {
        fuzz_sum_u64(&s->now.data, stream);
        fuzz_sum_bytes(&s->now.data, data, len);
    }
}

/* --- the engine --- */

static void our_frame_sent(uint8_t type, uint32_t stream, struct view payload)
{
    struct reader r = reader_of(payload);
    uint32_t last = 0;
    uint32_t code = 0;
    if (type == 3u) {
        CHECK(reader_u32(&r, &code) == STATUS_OK);
        ours.now.reset = stream;
        ours.now.reset_code = code;
    } else if (type == 7u) {
        CHECK(reader_u32(&r, &last) == STATUS_OK && reader_u32(&r, &code) == STATUS_OK);
        ours.now.failed = true;
        ours.now.code = code;
    }
}

/* The engine sends whole frames; a client's preface comes before the first. */
static void our_output(void)
{
    struct view out = h2_tx_data(&engine.c);
    size_t len = out.len;
    struct reader r = reader_of(out);
    if (view_starts(out, "PRI ")) {
        r.pos = 24;
    }
    while (reader_left(&r) > 0u) {
        uint32_t head = 0;
        uint8_t flags = 0;
        uint32_t stream = 0;
        struct view payload;
        CHECK(reader_u32(&r, &head) == STATUS_OK && reader_u8(&r, &flags) == STATUS_OK &&
              reader_u32(&r, &stream) == STATUS_OK &&
              reader_consume(&r, head >> 8, &payload) == STATUS_OK);
        our_frame_sent((uint8_t)head, stream, payload);
    }
    h2_tx_commit(&engine.c, len);
}

static void our_event(const struct h2_event *e)
{
    if (e->kind == H2_EVENT_FIELD) {
        add_field(&ours, e->name, e->value);
    } else if (e->kind == H2_EVENT_HEADERS_END) {
        ours.list.trailers = e->trailers;
        end_list(&ours, e->stream, e->end_stream);
    } else if (e->kind == H2_EVENT_DATA) {
        add_data(&ours, e->stream, e->data.data, e->data.len);
    }
}

static void our_events(void)
{
    struct h2_event e;
    enum status s = h2_next(&engine.c, &e);
    while (s == STATUS_OK || h2_tx_data(&engine.c).len > 0u) {
        if (s == STATUS_OK) {
            our_event(&e);
        }
        our_output();
        s = h2_next(&engine.c, &e);
    }
    ours.now.failed = ours.now.failed || s != STATUS_MORE;
    CHECK(h2_valid(&engine.c));
}

static void our_receive(struct view bytes)
{
    while (bytes.len > 0u && h2_failure(&engine.c, NULL) == STATUS_OK) {
        struct writer room = h2_rx_space(&engine.c);
        size_t n = (bytes.len < room.cap) ? bytes.len : room.cap;
        CHECK(n > 0u);
        memcpy(room.data, bytes.data, n);
        h2_rx_commit(&engine.c, n);
        bytes = view_from(bytes, n);
        our_events();
    }
}

static void our_requests(void)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        uint32_t id = 0;
        CHECK(h2_open(&engine.c, 0, &id) == STATUS_OK);
        h2_headers_begin(&engine.c, id);
        h2_header_text(&engine.c, ":method", (i == 1u) ? "HEAD" : "GET");
        h2_header_text(&engine.c, ":scheme", "https");
        h2_header_text(&engine.c, ":path", "/a");
        CHECK(h2_headers_end(&engine.c, i != 0u) == STATUS_OK);
    }
}

static bool our_answer(uint32_t stream)
{
    h2_headers_begin(&engine.c, stream);
    h2_header_text(&engine.c, ":status", "200");
    return h2_headers_end(&engine.c, true) == STATUS_OK;
}

static const struct h2_stream *our_stream(uint32_t id)
{
    for (unsigned i = 0; i < engine.c.mem.streams_cap; i++) {
        if (engine.streams[i].id == id) {
            return &engine.streams[i];
        }
    }
    return NULL;
}

static void our_begin(enum h2_role role)
{
    const struct link_size server = {
        .rx = H2_SERVER_RX_BYTES,
        .tx = H2_SERVER_TX_BYTES,
        .field = H2_SERVER_FIELD_BYTES,
        .streams = H2_SERVER_STREAMS,
        .window = H2_SERVER_WINDOW,
        .connection_window = H2_WINDOW_DEFAULT,
        .table = HPACK_TABLE_BYTES,
    };
    struct link_size size = server;
    if (role == H2_CLIENT) {
        size.rx = H2_CLIENT_RX_BYTES;
        size.tx = H2_CLIENT_TX_BYTES;
        size.field = H2_CLIENT_FIELD_BYTES;
        size.streams = H2_CLIENT_STREAMS;
    }
    link_init(&engine, role, &size);
    ours = (struct side){.list = {.sum = fuzz_sum_of()}};
    begin_frame(&ours);
    if (role == H2_CLIENT) {
        our_requests();
    }
    our_events();
    CHECK(!ours.now.failed);
}

#ifndef FUZZ_ALONE

/* --- nghttp2 --- */

static struct side theirs;
static nghttp2_session *session;

static int on_begin_headers(nghttp2_session *s, const nghttp2_frame *frame, void *user)
{
    (void)s;
    (void)user;
    begin_list(&theirs);
    theirs.list.trailers = frame->headers.cat == NGHTTP2_HCAT_HEADERS;
    return 0;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)s;
    (void)frame;
    (void)flags;
    (void)user;
    add_field(&theirs, view_of(name, name_len), view_of(value, value_len));
    return 0;
}

/* nghttp2 leaves out such a field unless its user says that it is an error, RFC 9113 §8.1.1. */
static int on_invalid_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                             void *user)
{
    (void)s;
    (void)frame;
    (void)flags;
    (void)user;
    look_at_field(&theirs.list, view_of(name, name_len), view_of(value, value_len));
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_frame_recv(nghttp2_session *s, const nghttp2_frame *frame, void *user)
{
    (void)s;
    (void)user;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        end_list(&theirs, (uint32_t)frame->hd.stream_id,
                 (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
    }
    return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t len, void *user)
{
    (void)s;
    (void)flags;
    (void)user;
    add_data(&theirs, (uint32_t)stream, data, len);
    return 0;
}

static int on_frame_sent(nghttp2_session *s, const nghttp2_frame *frame, void *user)
{
    (void)s;
    (void)user;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        theirs.now.failed = true;
        theirs.now.code = frame->goaway.error_code;
    } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
        theirs.now.reset = (uint32_t)frame->hd.stream_id;
        theirs.now.reset_code = frame->rst_stream.error_code;
    }
    return 0;
}

static void their_output(void)
{
    const uint8_t *bytes = NULL;
    while (nghttp2_session_mem_send(session, &bytes) > 0) {
    }
}

static void their_receive(struct view bytes)
{
    ssize_t used = nghttp2_session_mem_recv(session, bytes.data, bytes.len);
    CHECK(used == (ssize_t)bytes.len || used < 0);
    theirs.now.failed = theirs.now.failed || used < 0;
    their_output();
}

static nghttp2_nv field_of(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static ssize_t no_data(nghttp2_session *s, int32_t stream, uint8_t *buf, size_t len,
                       uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)s;
    (void)stream;
    (void)buf;
    (void)len;
    (void)flags;
    (void)source;
    (void)user;
    return NGHTTP2_ERR_DEFERRED; /* the body of the request comes later, and never does */
}

static void their_requests(void)
{
    const nghttp2_data_provider later = {.read_callback = no_data};
    for (unsigned i = 0; i < REQUESTS; i++) {
        const nghttp2_nv fields[] = {field_of(":method", (i == 1u) ? "HEAD" : "GET"),
                                     field_of(":scheme", "https"), field_of(":path", "/a")};
        CHECK(nghttp2_submit_request(session, NULL, fields, 3, (i == 0u) ? &later : NULL, NULL) ==
              (int32_t)(2u * i + 1u));
    }
}

static bool their_answer(uint32_t stream)
{
    const nghttp2_nv status = field_of(":status", "200");
    return nghttp2_submit_response(session, (int32_t)stream, &status, 1, NULL) == 0;
}

static void their_begin(enum h2_role role)
{
    static nghttp2_session_callbacks *callbacks;
    if (callbacks == NULL) {
        CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    }
    CHECK((role == H2_SERVER ? nghttp2_session_server_new(&session, callbacks, NULL)
                             : nghttp2_session_client_new(&session, callbacks, NULL)) == 0);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, role == H2_SERVER ? engine.c.mem.streams_cap : 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, engine.c.mem.window},
    };
    CHECK(nghttp2_submit_settings(session, 0, settings, 3) == 0);
    theirs = (struct side){.list = {.sum = fuzz_sum_of()}};
    begin_frame(&theirs);
    if (role == H2_CLIENT) {
        their_requests();
    }
    their_output();
    CHECK(!theirs.now.failed);
}

/* --- both --- */

static bool quiet(const struct side *s)
{
    return !s->now.failed && s->now.reset == 0u;
}

/* --- where both may differ --- */

static bool heavier(const struct frame *f)
{
    const struct outcome *a = ours.now.failed ? &ours.now : &theirs.now;
    const struct outcome *b = ours.now.failed ? &theirs.now : &ours.now;
    (void)f;
    return a->failed && !b->failed && b->reset != 0u && a->code == b->reset_code;
}

/* The engine decodes the list of a stream that it will reset; nghttp2 ends the connection. */
static bool discarded_list(const struct frame *f)
{
    bool list = f->type == 1u || f->type == 9u;
    return list && engine.c.block.discard && ours.now.code == H2_COMPRESSION_ERROR &&
           theirs.now.failed;
}

/* nghttp2 has ended the connection at the begin of the list, or in it. */
static bool broken_list(const struct frame *f)
{
    return f->interrupts && ours.now.failed && ours.now.code == H2_PROTOCOL_ERROR &&
           theirs.now.failed;
}

static bool two_errors(const struct frame *f)
{
    uint32_t a = ours.now.code;
    uint32_t b = theirs.now.code;
    bool length = a + b == H2_PROTOCOL_ERROR + H2_FRAME_SIZE_ERROR;
    bool padded = f->type <= 1u && (f->flags & 8u) != 0u;
    bool misplaced = f->unknown || f->type == 4u || f->type == 5u;
    return ours.now.failed && theirs.now.failed && a != b && (padded || (misplaced && length));
}

static bool calmer(const struct frame *f)
{
    bool failed = ours.now.failed && ours.now.code == H2_ENHANCE_YOUR_CALM;
    (void)f;
    return failed || (ours.now.reset != 0u && ours.now.reset_code == H2_ENHANCE_YOUR_CALM);
}

static bool on_closed(const struct frame *f)
{
    return f->closed;
}

static bool stray_ack(const struct frame *f)
{
    return f->type == 4u && (f->flags & 1u) != 0u && f->payload.len == 0u && quiet(&ours);
}

static bool goaway_last(const struct frame *f)
{
    struct reader r = reader_of(f->payload);
    uint32_t last = 0;
    if (f->type != 7u || !quiet(&ours) || reader_u32(&r, &last) != STATUS_OK) {
        return false;
    }
    last &= H2_STREAM_MAX;
    bool mine = last % 2u == ((engine.c.role == H2_CLIENT) ? 1u : 0u);
    return (last > 0u && !mine) || last > f->goaway_last;
}

/* SETTINGS of RFC 8441 and RFC 9218, which the engine ignores as RFC 9113 6.5.2 says. */
static bool extension(const struct frame *f)
{
    struct reader r = reader_of(f->payload);
    uint16_t id = 0;
    uint32_t value = 0;
    bool found = false;
    while (reader_u16(&r, &id) == STATUS_OK && reader_u32(&r, &value) == STATUS_OK) {
        found = found || id == 8u || id == 9u;
    }
    return f->type == 4u && quiet(&ours) && found;
}

/* Between an informational response and the final one, nghttp2 looks at octets of bodies alone. */
static bool empty_data(const struct frame *f)
{
    bool padded = (f->flags & 8u) != 0u && f->payload.len > 0u;
    size_t len = f->payload.len - (padded ? 1u + f->payload.data[0] : 0u);
    return f->type == 0u && len == 0u && ours.now.reset_code == H2_PROTOCOL_ERROR && quiet(&theirs);
}

/* RFC 9113 6.5: values are processed in their order; nghttp2 looks at the last one of each. */
static bool setting_twice(const struct frame *f)
{
    struct reader r = reader_of(f->payload);
    uint32_t seen = 0;
    uint16_t id = 0;
    uint32_t value = 0;
    bool twice = false;
    while (reader_u16(&r, &id) == STATUS_OK && reader_u32(&r, &value) == STATUS_OK) {
        twice = twice || (id < 32u && (seen >> id & 1u) != 0u);
        seen |= (id < 32u) ? 1u << id : 0u;
    }
    return f->type == 4u && twice && ours.now.failed && quiet(&theirs);
}

/* nghttp2 counts the settings before it looks at the stream, the flags and the length. */
static bool many_settings(const struct frame *f)
{
    bool many = f->payload.len > NGHTTP2_DEFAULT_MAX_SETTINGS * 6u;
    return f->type == 4u && many && ours.now.failed && theirs.now.failed &&
           theirs.now.code == H2_ENHANCE_YOUR_CALM;
}

static bool many_updates(const struct frame *f)
{
    return (f->type == 1u || f->type == 9u) && engine.c.block.size_updates > HPACK_SIZE_UPDATES_MAX;
}

/* The side has refused the list of the frame's stream as malformed, RFC 9113 8.1.1. */
static bool refused(const struct side *s, const struct frame *f)
{
    return !s->now.failed && s->now.reset == f->stream && s->now.reset_code == H2_PROTOCOL_ERROR;
}

/* RFC 9113 8.2.1 lists the characters that must be refused; one side refuses more than those. */
static bool odd_list(const struct frame *f)
{
    bool odd = ours.list.odd || theirs.list.odd;
    bool one = (refused(&ours, f) && quiet(&theirs)) || (refused(&theirs, f) && quiet(&ours));
    return (f->type == 1u || f->type == 9u) && odd && one;
}

/* RFC 9113 8.3.1 makes :authority optional, and gRPC's clients may omit it. */
static bool without_authority(const struct frame *f)
{
    bool bare = ours.list.request && !ours.list.authority;
    return (f->type == 1u || f->type == 9u) && bare && refused(&theirs, f) && quiet(&ours);
}

/* nghttp2 compares a content-length among trailers with the body, as if it were in the header. */
static bool trailer_length(const struct frame *f)
{
    bool trailers = ours.list.trailers && theirs.list.trailers;
    return trailers && ours.list.length && quiet(&ours) && theirs.now.reset == f->stream &&
           theirs.now.reset_code == H2_PROTOCOL_ERROR;
}

/* nghttp2 looks at the window of a stream that both have reset until it has sent RST_STREAM. */
static bool window_of_reset(const struct frame *f)
{
    uint32_t id = theirs.now.reset;
    return f->type == 4u && quiet(&ours) && !theirs.now.failed && id != 0u &&
           theirs.now.reset_code == H2_FLOW_CONTROL_ERROR && our_stream(id) == NULL &&
           h2_stream_past(&engine.c, id) != H2_PAST_IDLE;
}

static const struct difference {
    const char *why;
    bool (*holds)(const struct frame *f);
} permitted[] = {
    {"RFC 9113 5.4.1: a stream error may be taken for a connection error", heavier},
    {"a wrong length, and padding or a stream that must not be: no rule says which wins",
     two_errors},
    {"RFC 9113 5.4.1, and then the list cannot be decoded", discarded_list},
    {"RFC 9113 5.4.1, and then another frame comes before the list has ended", broken_list},
    {"the engine's limits and its abuse credit, cfg/limits.h", calmer},
    {"RFC 9113 5.1: what comes for a closed stream is an error or ignored", on_closed},
    {"an acknowledgement of no SETTINGS: no rule; it costs the peer credit", stray_ack},
    {"RFC 9113 6.8 forbids senders to raise the last stream; nobody has to check it", goaway_last},
    {"settings of extensions that the engine does not have", extension},
    {"RFC 9113 8.1: DATA before the final header list, but without octets", empty_data},
    {"a setting that comes twice, first with a value that it must not have", setting_twice},
    {"more settings than nghttp2 takes, and another error: no rule says which wins", many_settings},
    {"HPACK_SIZE_UPDATES_MAX updates of the table's size in a block", many_updates},
    {"RFC 9113 8.2.1 and 9110 15: more characters, a second host or length, and a status below 100 "
     "may be refused",
     odd_list},
    {"RFC 9113 8.3.1: a request may lack :authority, which nghttp2 requires", without_authority},
    {"RFC 9110 6.5.1: no trailer stands for a header field", trailer_length},
    {"RFC 9113 6.9.2: a SETTINGS that overflows the window of a stream that was reset before",
     window_of_reset},
};

static bool same_streams(void)
{
    for (uint32_t id = 1; id < STREAMS_COMPARED; id += 2u) {
        const struct h2_stream *mine = our_stream(id);
        nghttp2_stream *other = nghttp2_session_find_stream(session, (int32_t)id);
        nghttp2_stream_proto_state state =
            (other == NULL) ? NGHTTP2_STREAM_STATE_CLOSED : nghttp2_stream_get_state(other);
        bool open = state != NGHTTP2_STREAM_STATE_CLOSED && state != NGHTTP2_STREAM_STATE_IDLE;
        if ((mine != NULL) != open) {
            return false;
        }
        int64_t window = open ? mine->send_window : 0;
        window = (window > 0) ? window : 0; /* nghttp2 says 0 for a negative one */
        if (open && nghttp2_session_get_stream_remote_window_size(session, (int32_t)id) != window) {
            return false;
        }
    }
    return nghttp2_session_get_remote_window_size(session) == engine.c.send_window;
}

static bool same_outcome(void)
{
    const struct outcome *a = &ours.now;
    const struct outcome *b = &theirs.now;
    if (a->failed || b->failed) {
        return a->failed == b->failed && a->code == b->code;
    }
    if (a->reset != 0u || b->reset != 0u) {
        return a->reset == b->reset && a->reset_code == b->reset_code;
    }
    return a->lists.value == b->lists.value && a->data.value == b->data.value && same_streams();
}

static void show(const char *whose, const struct outcome *o)
{
    fprintf(stderr, "%s: failed %d with %u, stream %u reset with %u, lists %016llx, data %016llx\n",
            whose, o->failed, o->code, o->reset, o->reset_code, (unsigned long long)o->lists.value,
            (unsigned long long)o->data.value);
}

static bool is_permitted(const struct frame *f)
{
    for (size_t i = 0; i < sizeof permitted / sizeof permitted[0]; i++) {
        if (permitted[i].holds(f)) {
            return true;
        }
    }
    fprintf(stderr, "frame of type %u, flags %02x, stream %u, %zu octets\n", f->type, f->flags,
            f->stream, f->payload.len);
    show("ours", &ours.now);
    show("nghttp2's", &theirs.now);
    return false;
}

/* False: the run ends. */
static bool agree(const struct frame *f)
{
    bool same = same_outcome();
    CHECK(same || is_permitted(f));
    return same && !ours.now.failed && nghttp2_session_want_read(session) != 0;
}
#endif

/* --- steps --- */

struct run {
    enum h2_role role;
    struct fuzz in;
};

/* False: the run ends. */
static bool send_frame(struct frame f)
{
    static uint8_t bytes[FRAME_HEAD + FRAME_BYTES];
    struct writer w = writer_of(bytes, sizeof bytes);
    frame_put(&w, f.type, f.flags, f.stream, f.payload);
    CHECK(!w.full);
    f.unknown = f.stream == 0u || our_stream(f.stream) == NULL;
    f.closed = f.unknown && f.stream != 0u && h2_stream_past(&engine.c, f.stream) != H2_PAST_IDLE;
    f.goaway_last = engine.c.goaway_last;
    f.in_list = engine.c.block.stream != 0u;
    f.interrupts = f.in_list && (f.type != 9u || f.stream != engine.c.block.stream);
    if (!f.in_list) {
        begin_frame(&ours);
        begin_list(&ours);
    }
    engine.now_ms += STEP_MS;
    h2_set_time(&engine.c, engine.now_ms);
    our_receive(writer_view(&w));
#ifndef FUZZ_ALONE
    if (!f.in_list) {
        begin_frame(&theirs);
        begin_list(&theirs);
    }
    their_receive(writer_view(&w));
    /* The engine resets a stream at the end of a list, nghttp2 at its first wrong field. */
    return (engine.c.block.stream != 0u && !ours.now.failed) || agree(&f);
#else
    return !ours.now.failed;
#endif
}

/* Small numbers for most bytes; four more octets for the last. */
static uint32_t take_stream(struct fuzz *f)
{
    uint8_t n = fuzz_u8(f);
    return (n == 255u) ? fuzz_u32(f) : n % STREAMS_COMPARED;
}

static bool step_frame(struct run *r)
{
    struct frame f = {.type = fuzz_u8(&r->in) % 12u, .flags = fuzz_u8(&r->in)};
    f.stream = take_stream(&r->in);
    f.payload = fuzz_text(&r->in);
    return send_frame(f);
}

/* PRIORITY to WINDOW_UPDATE, with as many octets as they need; SETTINGS with one or two. */
static bool step_control(struct run *r)
{
    static const uint8_t lengths[] = {5, 4, 6, 12, 8, 8, 4};
    uint8_t n = fuzz_u8(&r->in);
    struct frame f = {.type = (uint8_t)(2u + (n & 15u) % 7u), .flags = n >> 7};
    bool connection = f.type == 4u || f.type == 6u || f.type == 7u;
    f.stream = connection ? 0u : take_stream(&r->in);
    size_t len = (f.type == 4u && (n & 64u) != 0u) ? 12u : lengths[f.type - 2u];
    f.payload = fuzz_bytes(&r->in, (f.type == 4u && f.flags != 0u) ? 0u : len);
    return send_frame(f);
}

/* Whole header lists in HPACK, for a server and for a client. */
static struct view known_block(unsigned n)
{
    static const struct {
        const char *octets;
        size_t len;
    } blocks[] = {
#define BLOCK(text) {text, sizeof text - 1u}
        BLOCK("\x83\x86\x04\x04/a.b\x0f\x10\x10"
              "application/grpc"),
        BLOCK("\x82\x87\x84\x41\x03"
              "a.b"),
        BLOCK("\x83\x87\x84\x0f\x0d\x02"
              "10"),
        BLOCK("\x88\x0f\x0d\x01"
              "5"),
        BLOCK("\x88"),
        BLOCK("\x08\x03"
              "103"),
        BLOCK("\x08\x03"
              "204"),
        BLOCK("\x40\x0b"
              "grpc-status\x01"
              "0"),
#undef BLOCK
    };
    unsigned at = n % (unsigned)(sizeof blocks / sizeof blocks[0]);
    return view_of(blocks[at].octets, blocks[at].len);
}

/* A known list, some fields behind it, in one frame or with its last octets in a CONTINUATION. */
static bool step_list(struct run *r)
{
    uint8_t block[1024];
    struct writer w = writer_of(block, sizeof block);
    uint8_t n = fuzz_u8(&r->in);
    uint32_t stream = take_stream(&r->in);
    writer_append(&w, known_block(n & 15u));
    for (unsigned left = n >> 4 & 3u; left > 0u; left--) {
        struct view name = fuzz_text(&r->in);
        struct view value = fuzz_text(&r->in);
        if (name.len > 0u) {
            hpack_encode(&w, view_first(name, 64), view_first(value, 200), false);
        }
    }
    uint8_t end = n >> 7;
    struct view all = writer_view(&w);
    if ((n & 64u) == 0u) {
        return send_frame(
            (struct frame){.type = 1, .flags = end | 4u, .stream = stream, .payload = all});
    }
    size_t cut = fuzz_u8(&r->in) % (all.len + 1u);
    return send_frame((struct frame){
               .type = 1, .flags = end, .stream = stream, .payload = view_first(all, cut)}) &&
           send_frame((struct frame){
               .type = 9, .flags = 4, .stream = stream, .payload = view_from(all, cut)});
}

static bool step_data(struct run *r)
{
    static const uint8_t zeros[FRAME_BYTES];
    uint8_t n = fuzz_u8(&r->in);
    uint32_t stream = take_stream(&r->in);
    return send_frame((struct frame){.type = 0,
                                     .flags = n >> 7,
                                     .stream = stream,
                                     .payload = view_of(zeros, (n & 0x7fu) * 32u)});
}

/* The server answers a request that both have and that it has not answered yet. */
static bool step_answer(struct run *r)
{
    uint32_t id = take_stream(&r->in);
    const struct h2_stream *s = our_stream(id);
    struct owned *o = owned_find(&engine, id);
    if (r->role != H2_SERVER || s == NULL || id == 0u || engine.c.block.stream != 0u ||
        (o != NULL && o->head_sent)) {
        return true;
    }
    owned_add(&engine, id);
    owned_find(&engine, id)->head_sent = true;
    begin_frame(&ours);
    bool sent = our_answer(id);
    our_events();
#ifndef FUZZ_ALONE
    begin_frame(&theirs);
    CHECK(their_answer(id) == sent);
    their_output();
    return agree(&(struct frame){.stream = id});
#else
    return sent;
#endif
}

static void run_steps(struct run *r)
{
    static bool (*const steps[])(struct run *) = {step_frame, step_control, step_list,
                                                  step_data,  step_answer,  step_list};
    bool going =
        send_frame((struct frame){.type = 4}) && send_frame((struct frame){.type = 4, .flags = 1});
    while (going && fuzz_left(&r->in) > 0u) {
        going = steps[fuzz_u8(&r->in) % (sizeof steps / sizeof steps[0])](r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = {.in = fuzz_of(data, size)};
    r.role = ((fuzz_u8(&r.in) & 1u) != 0u) ? H2_CLIENT : H2_SERVER;
    struct view preface = view_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    our_begin(r.role);
#ifndef FUZZ_ALONE
    their_begin(r.role);
#endif
    if (r.role == H2_SERVER) {
        our_receive(preface);
#ifndef FUZZ_ALONE
        their_receive(preface);
#endif
    }
    run_steps(&r);
#ifndef FUZZ_ALONE
    nghttp2_session_del(session);
#endif
    return 0;
}
