/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server in memory, for tests of the whole agent: an HTTP/2 engine in server role that keeps
 * one Node, claims and slices, and answers protobuf as the real one does. Header only, because each
 * test is one file. What it was asked is kept as text: "GET path", one line each.
 */
#ifndef TESTS_UNIT_AGENT_API_H
#define TESTS_UNIT_AGENT_API_H

#include "agent/state.h"
#include "agent_proto.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_store.h"
#include "wire/h2.h"

#define API_STREAMS H2_SERVER_STREAMS
#define API_OUT_BYTES 300000
#define API_SPEC_MAX 60000
#define API_CLAIMS 160
#define API_SLICES 24
#define API_OWN_MAX 16384
#define API_LOG_BYTES 4194304
#define API_LABELS 6
#define NODE_NAME "node-a"
#define NODE_UID "5ad9b0c4-0000-4000-8000-00000000000a"

enum api_fault { API_ANSWERS, API_HANGS, API_RESETS };

/* What is answered to the question for the versions of the API group. */
enum api_group {
    GROUP_TELLS,
    GROUP_ABSENT,    /* 404 */
    GROUP_REFUSES,   /* 403 */
    GROUP_LIES,      /* all three versions, whatever is served */
    GROUP_OTHER,     /* another group's versions */
    GROUP_TRUNCATED, /* ends inside the last version */
    GROUP_HUGE,      /* thousands of versions that nobody knows */
    GROUP_JSON,
    GROUP_HANGS
};

static const char *const api_names[API_VERSIONS] = {"v1", "v1beta2", "v1beta1"};

struct api_allocation {
    const char *request;
    const char *device;
    const char *pool; /* NULL: ours */
    bool admin;
};

struct api_claim {
    char ns[64];
    char name[64];
    char uid[64];
    unsigned results;
    struct api_allocation result[4];
    const char *parameters; /* NULL: no configuration */
    bool unallocated;
    enum api_fault fault;
    unsigned http; /* 0: 200, 999: 404 as a line of text */
};

struct api_slice {
    bool used;
    char name[80];
    char uid[64];
    char owner[64];
    char driver[64];
    char node[64];
    uint64_t version;
    uint64_t generation;
    uint64_t count; /* resourceSliceCount */
    unsigned devices;
    bool going; /* deleted, and kept by a finalizer */
    size_t spec_len;
    uint8_t spec[API_SPEC_MAX];
};

struct api_stream {
    uint32_t id; /* 0: free */
    bool whole;  /* the request is complete */
    bool placed; /* the version was taken out of the path */
    bool watch;
    bool node;        /* what is watched is the Node */
    unsigned version; /* enum api_version that was asked for */
    const char *type; /* of the body, NULL: protobuf */
    bool headed;      /* response headers are out */
    bool end;         /* no more will be added to `out` */
    char method[8];
    char path[1024];
    char accept[256];
    char authorization[80];
    char body_type[64];
    unsigned http;
    unsigned retry_after;
    size_t body_len;
    uint8_t body[API_SPEC_MAX];
    size_t out_len;
    size_t out_sent;
    uint8_t out[API_OUT_BYTES];
};

struct api_server {
    bool reachable;
    bool connected;
    bool moves;                /* GOAWAY comes before each answer */
    bool hangs;                /* requests are read and not answered */
    const char *authorization; /* that it accepts; to others 401 and GOAWAY */
    unsigned refuses;          /* requests for claims that it will refuse to look at */
    bool write_lost;           /* writes are done, and answered by 504 */
    uint64_t now_ms;
    unsigned own; /* requests but those for claims, and when they came */
    uint64_t own_ms[API_OWN_MAX];
    uint32_t window; /* that it announces */
    unsigned served; /* bit per enum api_version */
    enum api_group group;
    unsigned connections;
    unsigned write_http;     /* answer of POST and PUT instead of 200, 0: none */
    unsigned devices_max;    /* more in one slice are refused, 0: no such limit */
    unsigned devices_http;   /* by this: 413 or 422 */
    const char *cause_field; /* of a 422; NULL: it names no cause */
    const char *cause_message;
    const char *answers_name; /* POST and PUT answer with another object; NULL: they do not */
    bool any_selector;        /* lists ignore the field selector */
    unsigned watch_http;
    unsigned node_http;
    unsigned node_watch_http;
    bool node_silent; /* a watch of the Node opens and tells nothing */
    bool node_absent;
    const char *node_uid;
    uint64_t node_version;
    unsigned retry_after;
    unsigned list_http;
    unsigned streams_max; /* that it announces */
    bool drops_devices;   /* stores slices without their devices */
    bool no_version;      /* lists carry no resourceVersion */
    bool pages;           /* lists name a next page */
    uint64_t version;     /* of the last change */
    unsigned made;
    const char *label[API_LABELS]; /* values, in the order of api_label_keys */
    char log[API_LOG_BYTES];
    size_t log_len;
    struct api_claim claim[API_CLAIMS];
    struct api_slice slice[API_SLICES];
    struct api_stream stream[API_STREAMS];
    struct h2 h2;
    struct h2_stream streams[API_STREAMS];
    uint8_t rx[32768];
    uint8_t tx[16384];
    uint8_t field[8192];
    uint8_t scratch[8192];
};

static struct api_server api;

/* --- objects --- */

static struct view api_metadata(const char *name, const char *ns, const char *uid, uint64_t version)
{
    static uint8_t bytes[2048];
    char text[24];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)version);
    put_str(&w, 1, name);
    put_str(&w, 2, "");
    if (ns[0] != 0) {
        put_str(&w, 3, ns);
    }
    put_str(&w, 4, "");
    put_str(&w, 5, uid);
    put_str(&w, 6, text);
    assert_false(w.full);
    return writer_view(&w);
}

static const char *api_group_version(unsigned version)
{
    static char text[40];
    assert_true(version < API_VERSIONS);
    (void)snprintf(text, sizeof text, "resource.k8s.io/%s", api_names[version]);
    return text;
}

static void api_put_claim(struct writer *out, const struct api_claim *c, unsigned version)
{
    uint8_t inner_bytes[20000];
    uint8_t devices_bytes[24000];
    uint8_t object_bytes[26000];
    struct writer devices = writer_of(devices_bytes, sizeof devices_bytes);
    for (unsigned i = 0; i < c->results; i++) {
        struct writer result = writer_of(inner_bytes, sizeof inner_bytes);
        const struct api_allocation *r = &c->result[i];
        put_str(&result, 1, r->request);
        put_str(&result, 2, "neuron.aws.com");
        put_str(&result, 3, r->pool == NULL ? NODE_NAME : r->pool);
        put_str(&result, 4, r->device);
        if (r->admin) {
            put_int(&result, 5, 1);
        }
        put_view(&devices, 1, writer_view(&result));
    }
    if (c->parameters != NULL) {
        uint8_t a[11000];
        uint8_t b[12000];
        struct writer raw = writer_of(a, sizeof a);
        struct writer opaque = writer_of(b, sizeof b);
        put_str(&raw, 1, c->parameters);
        put_str(&opaque, 1, "neuron.aws.com");
        put_view(&opaque, 2, writer_view(&raw));
        raw = writer_of(a, sizeof a);
        put_view(&raw, 1, writer_view(&opaque));
        struct writer config = writer_of(inner_bytes, sizeof inner_bytes);
        put_str(&config, 1, "FromClaim");
        put_view(&config, 3, writer_view(&raw));
        put_view(&devices, 2, writer_view(&config));
    }
    struct writer allocation = writer_of(inner_bytes, sizeof inner_bytes);
    put_view(&allocation, 1, writer_view(&devices));
    struct writer status = writer_of(devices_bytes, sizeof devices_bytes);
    put_view(&status, 1, writer_view(&allocation));
    struct writer consumer = writer_of(inner_bytes, sizeof inner_bytes);
    put_str(&consumer, 3, "pods");
    put_str(&consumer, 4, c->name); /* the pod's name is that of its claim */
    put_str(&consumer, 5, "11111111-2222-3333-4444-555555555555");
    put_view(&status, 2, writer_view(&consumer));
    struct writer object = writer_of(object_bytes, sizeof object_bytes);
    put_view(&object, 1, api_metadata(c->name, c->ns, c->uid, 4711));
    put_str(&object, 2, "");
    if (!c->unallocated) {
        put_view(&object, 3, writer_view(&status));
    }
    put_envelope(out, api_group_version(version), "ResourceClaim", writer_view(&object));
}

/* Metadata and spec of a stored slice, without envelope. */
static struct view api_slice_object(const struct api_slice *s, unsigned version)
{
    static uint8_t bytes[API_SPEC_MAX + 6144];
    static uint8_t beta_bytes[API_SPEC_MAX + 8192];
    struct writer beta = writer_of(beta_bytes, sizeof beta_bytes);
    uint8_t meta_bytes[2048];
    uint8_t owner_bytes[512];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer owner = writer_of(owner_bytes, sizeof owner_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    writer_append(&meta, api_metadata(s->name, "", s->uid, s->version));
    if (s->owner[0] != 0) {
        put_str(&owner, 1, "Node");
        put_str(&owner, 3, NODE_NAME);
        put_str(&owner, 4, s->owner);
        put_str(&owner, 5, "v1");
        put_int(&owner, 6, 1);
        put_view(&meta, 13, writer_view(&owner));
    }
    if (s->going) {
        owner = writer_of(owner_bytes, sizeof owner_bytes);
        put_int(&owner, 1, 1795000000);
        put_view(&meta, 9, writer_view(&owner));
    }
    put_view(&w, 1, writer_view(&meta));
    put_view(&w, 2, view_of(s->spec, s->spec_len));
    if (version == API_V1BETA1) {
        assert_int_equal(sim_slice_from_v1(writer_view(&w), SIM_V1BETA1, &beta), STATUS_OK);
        return writer_view(&beta);
    }
    return writer_view(&w);
}

static void api_put_list(struct writer *out, unsigned version)
{
    static uint8_t bytes[API_OUT_BYTES];
    char text[24];
    uint8_t meta_bytes[64];
    struct writer list = writer_of(bytes, sizeof bytes);
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)api.version);
    put_str(&meta, 1, "");
    put_str(&meta, 2, api.no_version ? "" : text);
    put_str(&meta, 3, api.pages ? "next" : "");
    put_view(&list, 1, writer_view(&meta));
    for (unsigned i = 0; i < API_SLICES; i++) {
        const struct api_slice *s = &api.slice[i];
        bool ours = strcmp(s->driver, "neuron.aws.com") == 0 && strcmp(s->node, NODE_NAME) == 0;
        if (s->used && (ours || api.any_selector)) {
            put_view(&list, 2, api_slice_object(&api.slice[i], version));
        }
    }
    put_envelope(out, api_group_version(version), "ResourceSliceList", writer_view(&list));
}

static void api_put_status(struct writer *out, unsigned http, const char *reason,
                           const char *message)
{
    uint8_t bytes[1024];
    struct writer w = writer_of(bytes, sizeof bytes);
    put_str(&w, 1, "");
    put_str(&w, 2, http < 300 ? "Success" : "Failure");
    put_str(&w, 3, message);
    put_str(&w, 4, reason);
    if (http == 422 && api.cause_field != NULL) {
        uint8_t cause_bytes[512];
        uint8_t details_bytes[600];
        struct writer cause = writer_of(cause_bytes, sizeof cause_bytes);
        struct writer details = writer_of(details_bytes, sizeof details_bytes);
        put_str(&cause, 1, "FieldValueInvalid");
        put_str(&cause, 2, api.cause_message);
        put_str(&cause, 3, api.cause_field);
        put_view(&details, 4, writer_view(&cause));
        put_view(&w, 5, writer_view(&details));
    }
    put_int(&w, 6, http);
    put_envelope(out, "v1", "Status", writer_view(&w));
}

/* The APIGroup, in the shape that the server answers with today. */
static void api_put_group(struct writer *out)
{
    static uint8_t bytes[200000];
    uint8_t version_bytes[128];
    struct writer w = writer_of(bytes, sizeof bytes);
    unsigned named = (api.group == GROUP_LIES) ? 7 : api.served;
    put_str(&w, 1, (api.group == GROUP_OTHER) ? "apps" : "resource.k8s.io");
    for (unsigned i = 0; i < ((api.group == GROUP_HUGE) ? 4000u : 0u); i++) {
        struct writer version = writer_of(version_bytes, sizeof version_bytes);
        put_str(&version, 1, "resource.k8s.io/v9beta9");
        put_str(&version, 2, "v9beta9");
        put_view(&w, 2, writer_view(&version));
    }
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        struct writer version = writer_of(version_bytes, sizeof version_bytes);
        put_str(&version, 1, (api.group == GROUP_OTHER) ? "apps/v1" : api_group_version(i));
        put_str(&version, 2, api_names[i]);
        if ((named & (1u << i)) != 0) {
            put_view(&w, 2, writer_view(&version));
        }
    }
    assert_false(w.full);
    put_envelope(out, "v1", "APIGroup", writer_view(&w));
    out->len -= (api.group == GROUP_TRUNCATED) ? 1 : 0;
}

/* --- watching --- */

static void api_put_event(struct api_stream *s, const char *type, struct view enveloped)
{
    memmove(s->out, s->out + s->out_sent, s->out_len - s->out_sent);
    s->out_len -= s->out_sent;
    s->out_sent = 0;
    struct writer out = writer_of(s->out + s->out_len, sizeof s->out - s->out_len);
    sim_put_watch_event(&out, type, enveloped);
    assert_false(out.full);
    s->out_len += out.len;
}

/* To the watches of slices in one version; API_VERSIONS: to all of them. */
static void api_watch_event(const char *type, struct view enveloped, unsigned version)
{
    for (unsigned i = 0; i < API_STREAMS; i++) {
        struct api_stream *s = &api.stream[i];
        bool other = version != API_VERSIONS && s->version != version;
        if (s->id != 0 && s->watch && !s->node && !s->end && !other) {
            api_put_event(s, type, enveloped);
        }
    }
}

static void api_watch_slice(const char *type, const struct api_slice *s)
{
    static uint8_t bytes[API_SPEC_MAX + 8000];
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        struct writer w = writer_of(bytes, sizeof bytes);
        put_envelope(&w, api_group_version(i), "ResourceSlice", api_slice_object(s, i));
        api_watch_event(type, writer_view(&w), i);
    }
}

UNUSED_OK static void api_watch_bookmark(void)
{
    static struct api_slice empty;
    empty.version = api.version;
    empty.name[0] = 0;
    api_watch_slice("BOOKMARK", &empty);
}

UNUSED_OK static void api_watch_error(unsigned http, const char *reason)
{
    uint8_t bytes[1024];
    struct writer w = writer_of(bytes, sizeof bytes);
    api_put_status(&w, http, reason, "too old resource version");
    api_watch_event("ERROR", writer_view(&w), API_VERSIONS);
}

static struct api_stream *api_watch_of(bool node)
{
    for (unsigned i = 0; i < API_STREAMS; i++) {
        struct api_stream *s = &api.stream[i];
        if (s->id != 0 && s->watch && !s->end && s->node == node) {
            return s;
        }
    }
    return NULL;
}

static struct api_stream *api_watch_stream(void)
{
    return api_watch_of(false);
}

/* --- slices of others' making --- */

static void api_touch(struct api_slice *s)
{
    s->version = ++api.version;
}

static struct api_slice *api_slice_new(void)
{
    for (unsigned i = 0; i < API_SLICES; i++) {
        struct api_slice *s = &api.slice[i];
        if (!s->used) {
            memset(s, 0, sizeof *s);
            s->used = true;
            api.made++;
            (void)snprintf(s->uid, sizeof s->uid, "5115e000-0000-4000-8000-%012u", api.made);
            return s;
        }
    }
    fail_msg("no room for another slice");
    return NULL;
}

static struct api_slice *api_slice_named(const char *name)
{
    for (unsigned i = 0; i < API_SLICES; i++) {
        if (api.slice[i].used && strcmp(api.slice[i].name, name) == 0) {
            return &api.slice[i];
        }
    }
    return NULL;
}

UNUSED_OK static unsigned api_slices(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < API_SLICES; i++) {
        n += api.slice[i].used ? 1u : 0u;
    }
    return n;
}

/* The only slice; fails when there is another number of them. */
UNUSED_OK static struct api_slice *api_slice_only(void)
{
    assert_int_equal(api_slices(), 1);
    for (unsigned i = 0; i < API_SLICES; i++) {
        if (api.slice[i].used) {
            return &api.slice[i];
        }
    }
    return NULL;
}

/* A slice of nobody's making yet, with a spec of that driver and node and no devices. */
UNUSED_OK static struct api_slice *api_slice_foreign(const char *name, const char *driver,
                                                     const char *node)
{
    struct api_slice *s = api_slice_new();
    uint8_t pool_bytes[128];
    struct writer pool = writer_of(pool_bytes, sizeof pool_bytes);
    struct writer spec = writer_of(s->spec, sizeof s->spec);
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    (void)snprintf(s->driver, sizeof s->driver, "%s", driver);
    (void)snprintf(s->node, sizeof s->node, "%s", node);
    put_str(&pool, 1, node);
    put_int(&pool, 2, 1);
    put_int(&pool, 3, 1);
    put_str(&spec, 1, driver);
    put_view(&spec, 2, writer_view(&pool));
    put_str(&spec, 3, node);
    s->spec_len = spec.len;
    api_touch(s);
    api_watch_slice("ADDED", s);
    return s;
}

/* Another slice with the content of `from`. */
UNUSED_OK static struct api_slice *api_slice_double(const struct api_slice *from, const char *name)
{
    struct api_slice *s = api_slice_new();
    char uid[64];
    memcpy(uid, s->uid, sizeof uid);
    *s = *from;
    memcpy(s->uid, uid, sizeof uid);
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    api_touch(s);
    api_watch_slice("ADDED", s);
    return s;
}

/* Somebody cuts the devices off a slice. */
UNUSED_OK static void api_slice_cut(struct api_slice *s)
{
    struct sim_field f;
    struct reader in = reader_of(view_of(s->spec, s->spec_len));
    while (proto_next(&in, &f) && f.number != 6) {
        s->spec_len = in.pos;
    }
    api_touch(s);
    api_watch_slice("MODIFIED", s);
}

static void api_slice_delete(struct api_slice *s)
{
    api_touch(s);
    api_watch_slice("DELETED", s);
    s->used = false;
}

#endif
