/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to the API server: paths, header lists, envelopes and Events of any texts. Checks I6 to
 * I9 of wire/kube.h: each is read again by other code, the header list by a connection in the role
 * of the server.
 *
 * Input: names, paths, queries and fields of objects of any text
 */
#include "generated/kube.pb.h"
#include "pb_decode.h"
#include "tests/fuzz/fuzz.h"
#include "wire/kube.h"

/* --- paths --- */

static unsigned hex_digit(uint8_t c)
{
    CHECK((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'));
    return (c <= '9') ? c - (unsigned)'0' : c - (unsigned)'A' + 10u;
}

/* The front of `path` up to an unencoded delimiter, decoded; *path moves behind it. */
static struct view decoded(struct view *path, uint8_t *room)
{
    size_t at = 0;
    size_t n = 0;
    while (at < path->len && strchr("/?&=", path->data[at]) == NULL) {
        uint8_t c = path->data[at];
        CHECK(c > ' ' && c <= '~');
        if (c == '%') {
            CHECK(path->len - at >= 3u);
            c = (uint8_t)(hex_digit(path->data[at + 1u]) << 4 | hex_digit(path->data[at + 2u]));
            at += 2u;
        }
        room[n] = c;
        n++;
        at++;
    }
    *path = view_from(*path, at);
    return view_of(room, n);
}

/* `path` goes on with a literal, then with an encoded text. */
static void expect(struct view *path, const char *literal, const char *text)
{
    uint8_t room[KUBE_PATH_CAP];
    CHECK(view_starts(*path, literal));
    *path = view_from(*path, strlen(literal));
    CHECK(view_is(decoded(path, room), text)); /* I6 */
}

struct texts {
    char version[16];
    char ns[NAMESPACE_CAP];
    char name[NAME_CAP];
    char resource_version[RESOURCE_VERSION_CAP];
};

static enum status write_path(struct writer *w, unsigned which, const struct texts *t)
{
    switch (which) {
    case 0:
        return kube_path_node(w, t->name);
    case 1:
        return kube_path_node_watch(w, t->name, t->resource_version);
    case 2:
        return kube_path_claim(w, t->version, t->ns, t->name);
    case 3:
        return kube_path_claim_status(
            w, t->version, t->ns, t->name,
            &(const struct kube_manager){.driver = "dra.net", .node = t->resource_version});
    case 4:
        return kube_path_event(w, t->ns, t->name);
    case 5:
        return kube_path_event(w, t->ns, NULL);
    case 6:
        return kube_path_slices(w, t->version, t->ns, t->name, t->resource_version);
    case 7:
        return kube_path_slices(w, t->version, t->ns, t->name, NULL);
    case 8:
    case 9:
        return kube_path_slice(w, t->version, (which == 8u) ? t->name : NULL);
    default:
        return kube_path_claims(w, t->version, (which == 10u) ? t->name : NULL);
    }
}

static void read_claim_path(struct view p, unsigned which, const struct texts *t)
{
    expect(&p, "/apis/resource.k8s.io/", t->version);
    expect(&p, "/namespaces/", t->ns);
    expect(&p, "/resourceclaims/", t->name);
    if (which == 3u) {
        CHECK(view_starts(p, "/status?fieldManager=dra.net-"));
        CHECK(view_ends(p, "&force=true") && view_find(p, '#') == p.len);
    } else {
        CHECK(p.len == 0u);
    }
}

static void read_slice_path(struct view p, unsigned which, const struct texts *t)
{
    uint8_t room[KUBE_PATH_CAP];
    expect(&p, "/apis/resource.k8s.io/", t->version);
    if (which >= 8u) {
        bool named = which == 8u;
        expect(&p, named ? "/resourceslices/" : "/resourceslices", named ? t->name : "");
        CHECK(p.len == 0u);
        return;
    }
    CHECK(view_starts(p, "/resourceslices?fieldSelector="));
    p = view_from(p, strlen("/resourceslices?fieldSelector="));
    char want[KUBE_PATH_CAP];
    struct writer w = writer_of(want, sizeof want);
    writer_text(&w, "spec.driver=");
    writer_text(&w, t->ns);
    writer_text(&w, ",spec.nodeName=");
    writer_text(&w, t->name);
    CHECK(view_equal(decoded(&p, room), writer_view(&w)));
    CHECK((which == 7u) == (p.len == 0u));
}

static void read_list_path(struct view p, unsigned which, const struct texts *t)
{
    expect(&p, "/apis/resource.k8s.io/", t->version);
    expect(&p, "/resourceclaims?limit=", "500");
    if (which == 10u) {
        expect(&p, "&continue=", t->name);
    }
    CHECK(p.len == 0u);
}

static void read_other_path(struct view p, unsigned which, const struct texts *t)
{
    if (which == 0u) {
        expect(&p, "/api/v1/nodes/", t->name);
        CHECK(p.len == 0u);
    } else if (which == 1u) {
        char want[NAME_CAP + 16u] = "metadata.name=";
        memcpy(want + strlen(want), t->name, strlen(t->name) + 1u);
        expect(&p, "/api/v1/nodes?fieldSelector=", want);
        CHECK(view_starts(p, "&watch=true&"));
    } else {
        expect(&p, "/apis/events.k8s.io/v1/namespaces/", t->ns);
        expect(&p, which == 4u ? "/events/" : "/events", which == 4u ? t->name : "");
        CHECK(p.len == 0u);
    }
}

static void read_path(struct view path, unsigned which, const struct texts *t)
{
    if (which == 2u || which == 3u) {
        read_claim_path(path, which, t);
    } else if (which >= 10u) {
        read_list_path(path, which, t);
    } else if (which >= 6u) {
        read_slice_path(path, which, t);
    } else {
        read_other_path(path, which, t);
    }
}

/* I7: behind one byte in a room of `cap`, a path of `len` bytes is written whole or not at all. */
static void try_tight(unsigned which, const struct texts *t, size_t cap, size_t len)
{
    uint8_t tight[KUBE_PATH_CAP];
    struct writer small = writer_of(tight, cap);
    writer_u8(&small, 'x');
    size_t before = small.len;
    bool full = small.full;
    enum status s = full ? FULL_BUFFER : write_path(&small, which, t);
    CHECK(s == STATUS_OK || (small.len == before && small.full == full));
    CHECK((s == STATUS_OK) == (len + before <= cap && !full));
}

static void try_path(unsigned which, const struct texts *t, size_t cap)
{
    uint8_t room[KUBE_PATH_CAP];
    struct writer whole = writer_of(room, sizeof room);
    if (write_path(&whole, which, t) != STATUS_OK) {
        CHECK(whole.len == 0u && !whole.full);
        return;
    }
    try_tight(which, t, cap % sizeof room, whole.len);
    read_path(writer_view(&whole), which, t);
}

/* --- envelopes and Events --- */

static bool take_raw(pb_istream_t *in, const pb_field_t *field, void **arg)
{
    (void)field;
    *(size_t *)*arg = in->bytes_left;
    return pb_read(in, NULL, in->bytes_left);
}

static void try_envelope(const struct texts *t, struct view raw)
{
    static uint8_t room[16384];
    struct writer w = writer_of(room, sizeof room);
    struct kube_response a;
    struct kube_record record;
    kube_envelope_head(&w, t->ns, t->version, raw.len);
    writer_append(&w, raw);
    if (w.full) {
        return;
    }
    kube_Unknown unknown = kube_Unknown_init_zero;
    size_t raw_len = SIZE_MAX;
    unknown.raw.funcs.decode = take_raw;
    unknown.raw.arg = &raw_len;
    pb_istream_t in = pb_istream_from_buffer(room + 4, w.len - 4u);
    bool utf8 = fuzz_nanopb_takes(view_text(t->ns)) && fuzz_nanopb_takes(view_text(t->version));
    CHECK(pb_decode(&in, kube_Unknown_fields, &unknown) == utf8); /* I8 */
    CHECK(!utf8 || (raw_len == raw.len && strcmp(unknown.typeMeta.apiVersion, t->ns) == 0));
    CHECK(!utf8 || strcmp(unknown.typeMeta.kind, t->version) == 0);
    kube_response_init(&a, KUBE_SHAPE_STATUS);
    kube_response_field(&a, view_text(":status"), view_text("200"));
    kube_response_field(&a, view_text("content-type"),
                        view_text("application/vnd.kubernetes.protobuf"));
    struct reader body = reader_of(writer_view(&w));
    CHECK(kube_response_next(&a, &body, &record) == STATUS_OK);
    CHECK(record.record == KUBE_TYPE_META && !record.truncated);
}

/* The next field: its number must be `field`, its content is returned. */
static struct view field_of(struct reader *in, unsigned field)
{
    uint64_t tag = 0;
    uint64_t len = 0;
    struct view content = view_of(NULL, 0);
    CHECK(reader_varint(in, &tag) == STATUS_OK && tag == (field << 3 | 2u));
    CHECK(reader_varint(in, &len) == STATUS_OK);
    CHECK(reader_consume(in, (size_t)len, &content) == STATUS_OK);
    return content;
}

static void expect_number(struct reader *in, unsigned field, uint64_t value)
{
    uint64_t tag = 0;
    uint64_t number = 0;
    CHECK(reader_varint(in, &tag) == STATUS_OK && tag == (uint64_t)field << 3);
    CHECK(reader_varint(in, &number) == STATUS_OK && number == value);
}

static void expect_time(struct view message, uint64_t wall_ms)
{
    struct reader in = reader_of(message);
    expect_number(&in, 1, wall_ms / 1000u);
    expect_number(&in, 2, wall_ms % 1000u * 1000000u);
    CHECK(reader_left(&in) == 0u);
}

static void read_event(struct view bytes, const struct kube_event *e)
{
    struct reader in = reader_of(bytes);
    struct reader inner = reader_of(field_of(&in, 1));
    CHECK(view_is(field_of(&inner, 1), e->name) && view_is(field_of(&inner, 3), e->ns));
    expect_time(field_of(&in, 2), e->first_wall_ms);
    if (e->count > 1u) {
        inner = reader_of(field_of(&in, 3));
        expect_number(&inner, 1, e->count);
        expect_time(field_of(&inner, 2), e->last_wall_ms);
    }
    CHECK(view_is(field_of(&in, 4), "neuron.aws.com") && view_is(field_of(&in, 5), e->instance));
    CHECK(view_is(field_of(&in, 6), e->action) && view_is(field_of(&in, 7), e->reason));
    inner = reader_of(field_of(&in, 8));
    CHECK(view_is(field_of(&inner, 1), e->kind) && view_is(field_of(&inner, 2), e->regarding_ns));
    CHECK(view_is(field_of(&inner, 3), e->regarding_name));
    CHECK(view_is(field_of(&inner, 4), e->regarding_uid));
    CHECK(view_is(field_of(&inner, 5), e->api_version));
    CHECK(view_is(field_of(&in, 10), e->note));
    CHECK(view_is(field_of(&in, 11), e->warning ? "Warning" : "Normal"));
    CHECK(reader_left(&in) == 0u);
}

static void try_event(const struct texts *t, uint64_t number, size_t cap)
{
    uint8_t room[4096];
    const struct kube_event e = {.name = t->name,
                                 .ns = t->ns,
                                 .first_wall_ms = number,
                                 .last_wall_ms = number ^ 0xffffu,
                                 .count = (uint32_t)(number % 7u),
                                 .instance = t->version,
                                 .action = t->version,
                                 .reason = t->resource_version,
                                 .note = t->name,
                                 .warning = (number & 1u) != 0u,
                                 .kind = t->version,
                                 .api_version = t->resource_version,
                                 .regarding_ns = t->ns,
                                 .regarding_name = t->name,
                                 .regarding_uid = t->resource_version};
    struct writer w = writer_of(room, sizeof room);
    kube_event_write(&w, &e);
    CHECK(!w.full);
    read_event(writer_view(&w), &e); /* I8 */
    struct writer small = writer_of(room, cap);
    size_t len = w.len;
    kube_event_write(&small, &e);
    CHECK(small.full == (len > cap));
}

/* --- header lists --- */

struct side {
    struct h2 h2;
    struct h2_stream streams[H2_SERVER_STREAMS];
    uint8_t rx[H2_SERVER_RX_BYTES];
    uint8_t tx[H2_SERVER_TX_BYTES];
    uint8_t field[H2_SERVER_FIELD_BYTES];
    uint8_t scratch[H2_SERVER_FIELD_BYTES];
};

static struct side client;
static struct side server;

static void open_side(struct side *s, enum h2_role role)
{
    const struct h2_memory memory = H2_MEMORY_OF(s, H2_SERVER_WINDOW);
    h2_init(&s->h2, role, &memory, 0);
}

/* Moves what one side sent to the other; fields that come out go into `sum`. */
static bool deliver(struct side *from, struct side *to, struct fuzz_sum *sum)
{
    struct view out = h2_tx_data(&from->h2);
    struct writer room = h2_rx_space(&to->h2);
    struct view piece = view_first(out, room.cap);
    struct h2_event e;
    bool ended = false;
    if (piece.len > 0u) {
        memcpy(room.data, piece.data, piece.len);
    }
    h2_rx_commit(&to->h2, piece.len);
    h2_tx_commit(&from->h2, piece.len);
    while (h2_next(&to->h2, &e) == STATUS_OK) {
        if (e.kind == H2_EVENT_FIELD) {
            fuzz_sum_view(sum, e.name);
            fuzz_sum_view(sum, e.value);
        }
        CHECK(e.kind != H2_EVENT_RESET && e.kind != H2_EVENT_GOAWAY); /* I9 */
        ended = ended || e.kind == H2_EVENT_HEADERS_END;
    }
    CHECK(h2_failure(&to->h2, NULL) == STATUS_OK);
    return ended;
}

static void try_headers(const struct texts *t, uint8_t how, uint64_t number)
{
    uint8_t path[KUBE_PATH_CAP];
    char digits[24];
    struct writer p = writer_of(path, sizeof path);
    struct writer length = writer_of(digits, sizeof digits);
    struct fuzz_sum sum = fuzz_sum_of();
    uint32_t stream = 0;
    CHECK(kube_path_node(&p, t->name) == STATUS_OK);
    open_side(&client, H2_CLIENT);
    open_side(&server, H2_SERVER);
    (void)deliver(&client, &server, &sum);
    (void)deliver(&server, &client, &sum);
    const struct kube_request r = {.method = (how & 1u) != 0u ? "POST" : "GET",
                                   .path = writer_view(&p),
                                   .authority = view_text("10.0.0.1:443"),
                                   .token = view_text((how & 16u) != 0u ? "secret.token" : ""),
                                   .watch = (how & 4u) != 0u,
                                   .body_len = number,
                                   .has_body = (how & 1u) != 0u,
                                   .body_type = (how & 8u) != 0u ? KUBE_APPLY_PATCH : NULL};
    CHECK(h2_open(&client.h2, 0, &stream) == STATUS_OK);
    CHECK(kube_request_send(&client.h2, stream, &r) == STATUS_OK);
    bool ended = false;
    for (unsigned i = 0; i < 8u && !ended; i++) {
        ended = deliver(&client, &server, &sum);
    }
    CHECK(ended);
    writer_decimal(&length, number);
    CHECK(!length.full && sum.value != 0u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz in = fuzz_of(data, size);
    struct texts t;
    uint8_t how = fuzz_u8(&in);
    size_t cap = fuzz_u16(&in);
    uint64_t number = (uint64_t)fuzz_u32(&in) << (how & 31u);
    text_cut(t.version, sizeof t.version, fuzz_text(&in));
    text_cut(t.ns, sizeof t.ns, fuzz_text(&in));
    text_cut(t.resource_version, sizeof t.resource_version, fuzz_text(&in));
    text_cut(t.name, sizeof t.name, fuzz_text(&in));
    for (unsigned which = 0; which < 12u; which++) {
        try_path(which, &t, cap);
    }
    try_envelope(&t, fuzz_rest(&in));
    try_event(&t, number, cap & 2047u);
    try_headers(&t, how, number);
    return 0;
}
