/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in API server asked by an HTTP/2 client: requests, answers, slices. Header only,
 * because each test is one file.
 */
#ifndef TESTS_UNIT_SIM_CLIENT_H
#define TESTS_UNIT_SIM_CLIENT_H

#include "tests/sim/apiserver/sim_api.h"
#include "tests/unit/unit.h"
#include "wire/kube.h"

#define UNUSED_OK __attribute__((unused))
#define SLICES "/apis/resource.k8s.io/v1/resourceslices"
#define BETA_SLICES "/apis/resource.k8s.io/v1beta1/resourceslices"
#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define ANSWER_MAX 65536
#define STREAMS 8

static struct sim_api api;

static struct client {
    struct h2 h2;
    struct h2_stream streams[STREAMS];
    uint8_t rx[32768];
    uint8_t tx[16384];
    uint8_t field[8192];
    uint8_t scratch[8192];
    int number; /* of the connection */
    uint64_t now_ms;
    unsigned http;
    bool ended;
    char type[128];
    size_t len;
    uint8_t body[ANSWER_MAX];
} client;

struct ask {
    const char *method;
    const char *path;
    const char *token;  /* NULL: the right one */
    const char *accept; /* NULL: protobuf */
    const char *type;   /* of the body; NULL: protobuf */
    struct view body;
};

/* --- a client --- */

static void begin_with(bool v1, bool v1beta1)
{
    const struct sim_api_config config = {
        .token = "secret", .serves = {v1, v1, v1beta1}, .seed = 3};
    struct h2_memory memory = H2_MEMORY_OF(&client, 65535);
    memory.table_size = 0;
    client.now_ms = 1000;
    sim_api_init(&api, &config, client.now_ms);
    client.number = sim_api_open(&api);
    assert_true(client.number >= 0);
    h2_init(&client.h2, H2_CLIENT, &memory, client.now_ms);
}

UNUSED_OK static void begin(void)
{
    begin_with(true, true);
}

static void take(const struct h2_event *e)
{
    if (e->kind == H2_EVENT_FIELD && view_is(e->name, ":status")) {
        uint64_t status = 0;
        assert_int_equal(view_decimal(e->value, 999, &status), STATUS_OK);
        client.http = (unsigned)status;
    } else if (e->kind == H2_EVENT_FIELD && view_is(e->name, "content-type")) {
        text_cut(client.type, sizeof client.type, e->value);
    } else if (e->kind == H2_EVENT_DATA) {
        assert_true(e->data.len <= sizeof client.body - client.len);
        memcpy(client.body + client.len, e->data.data, e->data.len);
        client.len += e->data.len;
    }
    bool may_end = e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END;
    client.ended = client.ended || (may_end && e->end_stream);
}

static size_t copy(struct writer to, struct view from)
{
    struct view v = view_first(from, to.cap - to.len);
    if (v.len > 0) {
        memcpy(to.data + to.len, v.data, v.len);
    }
    return v.len;
}

static void settle(void)
{
    unsigned n = (unsigned)client.number;
    for (bool moved = true; moved;) {
        struct h2_event e;
        h2_set_time(&client.h2, client.now_ms);
        while (h2_next(&client.h2, &e) == STATUS_OK) {
            take(&e);
        }
        size_t out = copy(sim_api_rx(&api, n), h2_tx_data(&client.h2));
        h2_tx_commit(&client.h2, out);
        sim_api_rx_commit(&api, n, out);
        sim_api_step(&api, client.now_ms, 1700000000);
        size_t in = copy(h2_rx_space(&client.h2), sim_api_tx(&api, n));
        sim_api_tx_commit(&api, n, in);
        h2_rx_commit(&client.h2, in);
        moved = out + in > 0;
    }
}

static void header(const char *name, const char *value)
{
    h2_header(&client.h2, name, view_text(value), false);
}

/* Sends a request; what comes back is in `client`. */
static unsigned ask(const struct ask *a)
{
    char bearer[64];
    uint32_t stream = 0;
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", a->token != NULL ? a->token : "secret");
    client.http = 0;
    client.ended = false;
    client.len = 0;
    settle();
    assert_int_equal(h2_open(&client.h2, 0, &stream), STATUS_OK);
    h2_headers_begin(&client.h2, stream);
    header(":method", a->method);
    header(":scheme", "https");
    header(":authority", "api");
    header(":path", a->path);
    header("accept", a->accept != NULL ? a->accept : PROTOBUF ",application/json");
    header("authorization", bearer);
    if (a->body.len > 0) {
        header("content-type", a->type != NULL ? a->type : PROTOBUF);
    }
    assert_int_equal(h2_headers_end(&client.h2, a->body.len == 0), STATUS_OK);
    if (a->body.len > 0) {
        assert_int_equal(h2_data(&client.h2, stream, a->body, true), STATUS_OK);
    }
    settle();
    return client.http;
}

UNUSED_OK static unsigned get(const char *path)
{
    const struct ask a = {.method = "GET", .path = path};
    return ask(&a);
}

UNUSED_OK static unsigned send(const char *method, const char *path, struct view body)
{
    const struct ask a = {.method = method, .path = path, .body = body};
    return ask(&a);
}

/* The object in the envelope at the start of `body`; checks its kind. */
static struct view opened(struct view body, const char *kind)
{
    assert_true(body.len > 4 && memcmp(body.data, "k8s", 4) == 0);
    struct view unknown = view_from(body, 4);
    assert_view(sim_field_bytes(sim_field_bytes(unknown, 1), 2), kind);
    return sim_field_bytes(unknown, 2);
}

static struct view answer(const char *kind)
{
    assert_true(client.ended);
    return opened(view_of(client.body, client.len), kind);
}

UNUSED_OK static void assert_reason(const char *reason, const char *message)
{
    struct view status = answer("Status");
    assert_view(sim_field_bytes(status, 4), reason);
    assert_non_null(memmem(client.body, client.len, message, strlen(message)));
}

/* --- slices --- */

struct slice {
    const char *name; /* empty: generated */
    const char *uid;
    const char *version;
    const char *driver;
    const char *device;
    const char *value; /* of the one attribute */
    bool beta;         /* layout of v1beta1 */
};

static const struct slice good = {"", "", "", "neuron.aws.com", "neuron-device-0", "x", false};

static void put_device(struct writer *spec, const struct slice *s)
{
    uint8_t value_bytes[200];
    uint8_t entry_bytes[300];
    uint8_t fields_bytes[400];
    uint8_t bytes[500];
    struct writer value = writer_of(value_bytes, sizeof value_bytes);
    struct writer entry = writer_of(entry_bytes, sizeof entry_bytes);
    struct writer fields = writer_of(fields_bytes, sizeof fields_bytes);
    struct writer device = writer_of(bytes, sizeof bytes);
    sim_put_text(&value, 4, s->value);
    sim_put_text(&entry, 1, "key");
    sim_put_bytes(&entry, 2, writer_view(&value));
    sim_put_bytes(&fields, s->beta ? 1 : 2, writer_view(&entry));
    sim_put_text(&device, 1, s->device);
    if (s->beta) {
        sim_put_bytes(&device, 2, writer_view(&fields));
    } else {
        writer_append(&device, writer_view(&fields));
    }
    sim_put_bytes(spec, 6, writer_view(&device));
}

/* An enveloped ResourceSlice; valid until the next call. */
static struct view slice(const struct slice *s)
{
    static uint8_t bytes[4096];
    uint8_t meta_bytes[512];
    uint8_t pool_bytes[64];
    uint8_t spec_bytes[1024];
    uint8_t object_bytes[2048];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer pool = writer_of(pool_bytes, sizeof pool_bytes);
    struct writer spec = writer_of(spec_bytes, sizeof spec_bytes);
    struct writer object = writer_of(object_bytes, sizeof object_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&meta, 1, s->name);
    sim_put_text(&meta, 2, "node-a-");
    sim_put_text(&meta, 5, s->uid);
    sim_put_text(&meta, 6, s->version);
    sim_put_text(&pool, 1, "node-a");
    sim_put_value(&pool, 2, 1);
    sim_put_value(&pool, 3, 1);
    sim_put_text(&spec, 1, s->driver);
    sim_put_bytes(&spec, 2, writer_view(&pool));
    sim_put_text(&spec, 3, "node-a");
    put_device(&spec, s);
    sim_put_bytes(&object, 1, writer_view(&meta));
    sim_put_bytes(&object, 2, writer_view(&spec));
    const char *version = s->beta ? "resource.k8s.io/v1beta1" : "resource.k8s.io/v1";
    kube_envelope_head(&w, version, "ResourceSlice", object.len);
    writer_append(&w, writer_view(&object));
    assert_false(w.full || object.full || spec.full || meta.full);
    return writer_view(&w);
}

UNUSED_OK static struct slice created(void)
{
    static char name[NAME_CAP];
    static char uid[UID_CAP];
    static char version[RESOURCE_VERSION_CAP];
    struct slice s = good;
    assert_int_equal(send("POST", SLICES, slice(&good)), 201);
    struct view meta = sim_field_bytes(answer("ResourceSlice"), 1);
    text_cut(name, sizeof name, sim_field_bytes(meta, 1));
    text_cut(uid, sizeof uid, sim_field_bytes(meta, 5));
    text_cut(version, sizeof version, sim_field_bytes(meta, 6));
    s.name = name;
    s.uid = uid;
    s.version = version;
    return s;
}

UNUSED_OK static const char *path_of(const struct slice *s)
{
    static char path[400];
    (void)snprintf(path, sizeof path, SLICES "/%s", s->name);
    return path;
}

/* Takes the next frame off the watch's body: its type; *object gets what is in the envelope. */
UNUSED_OK static const char *event(struct reader *in, const char *kind, struct view *object)
{
    uint32_t len = 0;
    struct view frame;
    if (reader_u32(in, &len) != STATUS_OK) {
        return "none";
    }
    assert_int_equal(reader_consume(in, len, &frame), STATUS_OK);
    *object = opened(sim_field_bytes(sim_field_bytes(frame, 2), 1), kind);
    return text_of(sim_field_bytes(frame, 1));
}

#endif
