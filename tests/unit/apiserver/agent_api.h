/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server of the tests of the whole agent: the model of tests/sim, and what a test says of
 * it. Owns the claims, the Node and others' slices that a test puts into the model's store. Header
 * only, because each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_API_H
#define TESTS_UNIT_AGENT_API_H

#include "agent/state.h"
#include "cfg/identity.h"
#include "agent_proto.h"
#include "tests/sim/apiserver/sim_api.h"
#include "tests/sim/disk/sim_disk.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define API_CLAIMS 160
#define API_OWN_MAX 16384
#define API_LOG_BYTES 4194304
#define API_HTTP_MAX 600
#define API_LABELS 7
#define NODE_NAME "node-a"
#define NODE_UID "5ad9b0c4-0000-4000-8000-00000000000a"
#define NODES_PATH "/api/v1/nodes"
#define NODE_WATCHES "GET " NODES_PATH "?"
#define NODE_READS "GET " NODES_PATH "/"
#define SLICES_PATH "/apis/resource.k8s.io/v1/resourceslices"
#define SERVES(version) (1u << (unsigned)(version))

enum api_fault { API_ANSWERS, API_HANGS, API_RESETS, API_MISTAKES /* another object */ };

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
_Static_assert((unsigned)API_VERSIONS == (unsigned)SIM_VERSIONS, "the model's versions are these");

enum {
    LABEL_LAYER_1,
    LABEL_LAYER_2,
    LABEL_LAYER_3,
    LABEL_BLOCK,
    LABEL_BETA_TYPE,
    LABEL_TYPE,
    LABEL_DRAIN
};

static const char *const api_label_keys[API_LABELS] = {
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "topology.k8s.aws/capacity-block-id",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "neuron.aws.com/drain",
};

struct api_allocation {
    const char *request;
    const char *device;
    const char *pool;  /* NULL: ours */
    const char *share; /* ID of a share of the device; NULL: the whole device */
    const char *cores; /* that the share consumes, as a quantity */
    bool admin;
    const char *driver; /* NULL: neuron.aws.com */
};

/* A claim as it is stored from the next request for it on. */
struct api_claim {
    char ns[64];
    char name[64];
    char uid[64]; /* empty: there is none */
    unsigned results;
    struct api_allocation result[4];
    const char *parameters;      /* NULL: no configuration */
    const char *parameters_of;   /* the request that they are for; NULL: all */
    const char *more_parameters; /* for all other requests; NULL: none */
    const char *consumer_uid;    /* NULL: one and the same */
    const char *pod_claim;       /* its annotation of a claim from a template; NULL: none */
    bool unallocated;
    bool unreserved;
    bool for_group; /* reserved for a PodGroup, not for a pod */
    bool for_two;   /* the consumer is named twice */
    enum api_fault fault;
    unsigned http;            /* 0: 200, 999: 404 as a line of text */
    const char *http_message; /* of that answer; NULL: the usual one */
    const char *http_page;    /* its body as JSON text; NULL: a Status */
};

/* What a test says of the server, and what it counts. */
static struct {
    bool reachable;
    bool connected;
    unsigned link;             /* the connection's number at the model */
    bool moves;                /* GOAWAY comes before each answer */
    bool hangs;                /* requests are read and not answered */
    const char *authorization; /* that it accepts; to others 401 and GOAWAY */
    unsigned refuses;          /* requests for claims that it will refuse to look at */
    bool write_lost;           /* writes are done, and answered by 504 */
    unsigned own;              /* requests but those for claims, and when they came */
    uint64_t own_ms[API_OWN_MAX];
    bool said[API_HTTP_MAX]; /* the HTTP statuses that a test asked for */
    uint32_t window;         /* that it announces */
    unsigned served;         /* bit per enum api_version */
    enum api_group group;
    unsigned connections;
    unsigned page_asked;     /* set of enum sim_asked that `page` answers, 0: none */
    unsigned page_http;      /* of that answer */
    struct view page;        /* its body: an object with its envelope */
    unsigned write_http;     /* answer of POST and PUT instead of 200, 0: none */
    unsigned delete_http;    /* answer of DELETE of a slice, 0: none */
    unsigned devices_max;    /* more in one slice are refused, 0: no such limit */
    unsigned devices_http;   /* by this: 413 or 422 */
    const char *cause_field; /* of a 422; NULL: it names no cause */
    const char *cause_message;
    const char *answers_name; /* POST and PUT answer with another object; NULL: they do not */
    bool any_selector;        /* lists and watches ignore the field selector */
    unsigned watch_http;
    unsigned node_http;
    unsigned node_watch_http;
    bool node_silent; /* a watch of the Node opens and tells nothing */
    bool node_absent;
    const char *node_uid;
    const char *kubelet; /* version; NULL: one without troubles */
    unsigned retry_after;
    unsigned list_http;
    bool lists_claims; /* to whoever lists them; else they seem to be none */
    unsigned claims_http;
    bool claims_reset;             /* lists of claims are answered by RST_STREAM */
    struct view claims_list;       /* the message of the list; empty: that of the stored claims */
    const char *claims_message;    /* of that refusal; NULL: the usual one */
    unsigned claims_gone;          /* further pages that are refused with 410 */
    unsigned streams_max;          /* that it announces */
    bool drops_taints;             /* stores devices without their taints */
    bool drops_counters;           /* stores slices without shared counters */
    bool drops_shares;             /* stores devices as exclusive */
    bool drops_resources;          /* stores devices without what a pod needs of the node */
    bool drops_devices;            /* stores slices without their devices */
    bool no_version;               /* lists carry no resourceVersion */
    bool pages;                    /* lists name a next page */
    const char *label[API_LABELS]; /* values, in the order of api_label_keys */
    char log[API_LOG_BYTES];
    size_t log_len;
    struct api_claim claim[API_CLAIMS];
} api;

static struct sim_api server;

static struct h2 *api_h2(void)
{
    return &server.connection[api.link].h2;
}

/* --- objects that are put into the store --- */

static void put_meta(struct writer *object, const char *name, const char *ns, const char *uid,
                     struct view more)
{
    uint8_t bytes[SIM_META_BYTES];
    struct writer meta = writer_of(bytes, sizeof bytes);
    put_str(&meta, 1, name);
    put_str(&meta, 3, ns);
    put_str(&meta, 5, uid);
    writer_append(&meta, more);
    put_view(object, 1, writer_view(&meta));
}

static struct sim_object *api_find(enum sim_kind kind, const char *ns, const char *name)
{
    return sim_store_find(&server.store, kind, view_text(ns), view_text(name));
}

static void api_touch(struct sim_object *o)
{
    o->version = ++server.store.version;
}

static void put_configuration(struct writer *devices, const char *request, const char *parameters)
{
    uint8_t a[11000];
    uint8_t b[12000];
    struct writer raw = writer_of(a, sizeof a);
    struct writer opaque = writer_of(b, sizeof b);
    put_str(&raw, 1, parameters);
    put_str(&opaque, 1, "neuron.aws.com");
    put_view(&opaque, 2, writer_view(&raw));
    raw = writer_of(a, sizeof a);
    put_view(&raw, 1, writer_view(&opaque));
    struct writer config = writer_of(b, sizeof b);
    put_str(&config, 1, "FromClaim");
    if (request != NULL) {
        put_str(&config, 2, request);
    }
    put_view(&config, 3, writer_view(&raw));
    put_view(devices, 2, writer_view(&config));
}

/* The share of a device that a result has, and what it consumes. */
static void put_share(struct writer *result, const struct api_allocation *r)
{
    uint8_t quantity_bytes[32];
    uint8_t entry_bytes[128];
    struct writer quantity = writer_of(quantity_bytes, sizeof quantity_bytes);
    struct writer entry = writer_of(entry_bytes, sizeof entry_bytes);
    put_str(result, 9, r->share);
    put_str(&quantity, 1, r->cores);
    put_str(&entry, 1, "cores");
    put_view(&entry, 2, writer_view(&quantity));
    put_view(result, 10, writer_view(&entry));
}

static void put_claim(struct writer *object, const struct api_claim *c)
{
    uint8_t inner_bytes[20000];
    uint8_t devices_bytes[24000];
    struct writer devices = writer_of(devices_bytes, sizeof devices_bytes);
    for (unsigned i = 0; i < c->results; i++) {
        struct writer result = writer_of(inner_bytes, sizeof inner_bytes);
        const struct api_allocation *r = &c->result[i];
        put_str(&result, 1, r->request);
        put_str(&result, 2, r->driver == NULL ? "neuron.aws.com" : r->driver);
        put_str(&result, 3, r->pool == NULL ? NODE_NAME : r->pool);
        put_str(&result, 4, r->device);
        if (r->admin) {
            put_int(&result, 5, 1);
        }
        if (r->share != NULL) {
            put_share(&result, r);
        }
        put_view(&devices, 1, writer_view(&result));
    }
    if (c->parameters != NULL) {
        put_configuration(&devices, c->parameters_of, c->parameters);
    }
    for (unsigned i = 1; i < c->results && c->more_parameters != NULL; i++) {
        put_configuration(&devices, c->result[i].request, c->more_parameters);
    }
    struct writer allocation = writer_of(inner_bytes, sizeof inner_bytes);
    put_view(&allocation, 1, writer_view(&devices));
    struct writer status = writer_of(devices_bytes, sizeof devices_bytes);
    put_view(&status, 1, writer_view(&allocation));
    struct writer consumer = writer_of(inner_bytes, sizeof inner_bytes);
    put_str(&consumer, 3, c->for_group ? "podgroups" : "pods");
    put_str(&consumer, 4, c->name); /* the pod's name is that of its claim */
    put_str(&consumer, 5,
            c->consumer_uid != NULL ? c->consumer_uid : "11111111-2222-3333-4444-555555555555");
    for (unsigned i = 0; !c->unreserved && i < (c->for_two ? 2u : 1u); i++) {
        put_view(&status, 2, writer_view(&consumer));
    }
    uint8_t annotation_bytes[256];
    uint8_t more_bytes[512];
    struct writer more = writer_of(more_bytes, sizeof more_bytes);
    for (unsigned i = 0; c->pod_claim != NULL && i < 2u; i++) {
        struct writer annotation = writer_of(annotation_bytes, sizeof annotation_bytes);
        put_str(&annotation, 1, (i == 0u) ? "pod-claim-name" : POD_CLAIM_ANNOTATION);
        put_str(&annotation, 2, (i == 0u) ? "another" : c->pod_claim);
        put_view(&more, 12, writer_view(&annotation));
    }
    put_meta(object, c->name, c->ns, c->uid, writer_view(&more));
    put_str(object, 2, "");
    if (!c->unallocated) {
        put_view(object, 3, writer_view(&status));
    }
}

/* The claim of that name as the test wants it; NULL: there is none. */
static const struct api_claim *api_claim_named(const char *ns, const char *name)
{
    for (unsigned i = 0; i < API_CLAIMS; i++) {
        const struct api_claim *c = &api.claim[i];
        if (c->uid[0] != 0 && strcmp(c->ns, ns) == 0 && strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

/* Brings the stored claim up to date; NULL: there is none. */
static const struct api_claim *api_claim_store(const char *ns, const char *name)
{
    uint8_t bytes[26000];
    struct writer object = writer_of(bytes, sizeof bytes);
    const struct api_claim *c = api_claim_named(ns, name);
    struct sim_object *stored = api_find(SIM_CLAIM, ns, name);
    if (stored != NULL && (c == NULL || strcmp(stored->uid, c->uid) != 0)) {
        sim_store_delete(&server.store, stored);
    }
    if (c != NULL) {
        put_claim(&object, c);
        assert_int_equal(sim_api_put(&server, SIM_CLAIM, writer_view(&object)), STATUS_OK);
    }
    return c;
}

/* --- the Node --- */

/* Brings the stored Node up to date; NULL: there is none. */
static struct sim_object *api_node_store(void)
{
    uint8_t bytes[2048];
    uint8_t pair_bytes[256];
    uint8_t object_bytes[2200];
    struct writer labels = writer_of(bytes, sizeof bytes);
    struct writer object = writer_of(object_bytes, sizeof object_bytes);
    struct sim_object *stored = api_find(SIM_NODE, "", NODE_NAME);
    if (api.node_absent) {
        if (stored != NULL) {
            sim_store_delete(&server.store, stored);
        }
        return NULL;
    }
    for (unsigned i = 0; i < API_LABELS; i++) {
        struct writer pair = writer_of(pair_bytes, sizeof pair_bytes);
        if (api.label[i] != NULL) {
            put_str(&pair, 1, api_label_keys[i]);
            put_str(&pair, 2, api.label[i]);
            put_view(&labels, 11, writer_view(&pair));
        }
    }
    put_meta(&object, NODE_NAME, "", "", writer_view(&labels));
    struct writer info = writer_of(pair_bytes, sizeof pair_bytes);
    struct writer status = writer_of(bytes, sizeof bytes);
    put_str(&info, 7, (api.kubelet != NULL) ? api.kubelet : "v1.36.3");
    put_view(&status, 7, writer_view(&info));
    put_view(&object, 3, writer_view(&status));
    assert_int_equal(sim_api_put(&server, SIM_NODE, writer_view(&object)), STATUS_OK);
    stored = api_find(SIM_NODE, "", NODE_NAME);
    assert_int_equal(text_copy(stored->uid, sizeof stored->uid, view_text(api.node_uid)),
                     STATUS_OK);
    return stored;
}

/* The labels, which the test wrote into api.label, are stored. */
UNUSED_OK static void api_node_touch(void)
{
    struct sim_object *o = api_node_store();
    if (o != NULL) {
        api_touch(o);
    }
}

UNUSED_OK static void api_node_delete(void)
{
    api.node_absent = true;
    (void)api_node_store();
}

UNUSED_OK static void api_node_create(const char *uid)
{
    api.node_uid = uid;
    api.node_absent = false;
    struct sim_object *o = api_node_store();
    api_touch(o);
    o->created_version = o->version;
}

/* --- slices --- */

static struct view slice_spec(const struct sim_object *s)
{
    return proto_get(view_of(s->body, s->body_len), 2).bytes;
}

UNUSED_OK static unsigned slice_devices(const struct sim_object *s)
{
    return proto_count(slice_spec(s), 6);
}

UNUSED_OK static uint64_t slice_generation(const struct sim_object *s)
{
    return proto_get(proto_get(slice_spec(s), 2).bytes, 2).value;
}

/* UID of the owner. */
UNUSED_OK static const char *slice_owner(const struct sim_object *s)
{
    static char text[64];
    proto_text(proto_get(view_of(s->meta, s->meta_len), 13).bytes, 4, text, sizeof text);
    return text;
}

/* The stored slice of that number, in the order of the table; NULL: there are not so many. */
static struct sim_object *api_slice_at(unsigned index)
{
    for (unsigned i = 0; i < server.store.top; i++) {
        struct sim_object *o = &server.store.object[i];
        if (o->state == SIM_LIVE && o->kind == SIM_SLICE && index-- == 0) {
            return o;
        }
    }
    return NULL;
}

UNUSED_OK static struct sim_object *api_slice_named(const char *name)
{
    return api_find(SIM_SLICE, "", name);
}

UNUSED_OK static unsigned api_slices(void)
{
    unsigned n = 0;
    while (api_slice_at(n) != NULL) {
        n++;
    }
    return n;
}

/* The only slice; fails when there is another number of them. */
UNUSED_OK static struct sim_object *api_slice_only(void)
{
    assert_int_equal(api_slices(), 1);
    return api_slice_at(0);
}

/* A slice of that name with the rest of its metadata and its body. */
static struct sim_object *api_slice_new(const char *name, struct view meta, struct view body)
{
    static uint8_t bytes[SIM_REQUEST_BYTES];
    struct writer object = writer_of(bytes, sizeof bytes);
    put_meta(&object, name, "", "", meta);
    writer_append(&object, body);
    assert_false(object.full);
    assert_int_equal(sim_api_put(&server, SIM_SLICE, writer_view(&object)), STATUS_OK);
    return api_slice_named(name);
}

/* A slice that nobody made yet, of that driver and node and without devices. */
UNUSED_OK static struct sim_object *api_slice_foreign(const char *name, const char *driver,
                                                      const char *node)
{
    uint8_t pool_bytes[128];
    uint8_t spec_bytes[256];
    uint8_t body_bytes[300];
    struct writer pool = writer_of(pool_bytes, sizeof pool_bytes);
    struct writer spec = writer_of(spec_bytes, sizeof spec_bytes);
    struct writer body = writer_of(body_bytes, sizeof body_bytes);
    put_str(&pool, 1, node);
    put_int(&pool, 2, 1);
    put_int(&pool, 3, 1);
    put_str(&spec, 1, driver);
    put_view(&spec, 2, writer_view(&pool));
    put_str(&spec, 3, node);
    put_view(&body, 2, writer_view(&spec));
    return api_slice_new(name, view_of(NULL, 0), writer_view(&body));
}

/* Another slice with the content of `from`. */
UNUSED_OK static struct sim_object *api_slice_double(const struct sim_object *from,
                                                     const char *name)
{
    return api_slice_new(name, view_of(from->meta, from->meta_len),
                         view_of(from->body, from->body_len));
}

static void api_slice_write(struct sim_object *s, const struct writer *body)
{
    assert_true(!body->full && body->len <= sizeof s->body);
    memcpy(s->body, body->data, body->len);
    s->body_len = body->len;
    api_touch(s);
}

/* Somebody cuts the devices off a slice. */
UNUSED_OK static void api_slice_cut(struct sim_object *s)
{
    static uint8_t bytes[SIM_BODY_BYTES];
    struct writer body = writer_of(bytes, sizeof bytes);
    sim_slice_without(view_of(s->body, s->body_len), NULL, &body);
    api_slice_write(s, &body);
}

/* Somebody adds fields to its spec. */
UNUSED_OK static void api_slice_add(struct sim_object *s, struct view fields)
{
    static uint8_t bytes[SIM_BODY_BYTES];
    struct writer body = writer_of(bytes, sizeof bytes);
    struct view spec = slice_spec(s);
    sim_put_head(&body, 2, spec.len + fields.len);
    writer_append(&body, spec);
    writer_append(&body, fields);
    api_slice_write(s, &body);
}

/* Somebody makes another object its owner. */
UNUSED_OK static void api_slice_own(struct sim_object *s, const char *uid)
{
    uint8_t owner_bytes[512];
    struct writer owner = writer_of(owner_bytes, sizeof owner_bytes);
    struct writer meta = writer_of(s->meta, sizeof s->meta);
    put_str(&owner, 1, "Node");
    put_str(&owner, 3, NODE_NAME);
    put_str(&owner, 4, uid);
    put_str(&owner, 5, "v1");
    put_view(&meta, 13, writer_view(&owner));
    s->meta_len = meta.len;
    api_touch(s);
}

/* It is deleted, and kept by a finalizer. */
UNUSED_OK static void api_slice_keep(struct sim_object *s)
{
    uint8_t bytes[16];
    struct writer time = writer_of(bytes, sizeof bytes);
    struct writer meta = writer_of(s->meta + s->meta_len, sizeof s->meta - s->meta_len);
    put_int(&time, 1, 1795000000);
    put_view(&meta, 9, writer_view(&time));
    s->meta_len += meta.len;
    api_touch(s);
}

UNUSED_OK static void api_slice_delete(struct sim_object *s)
{
    sim_store_delete(&server.store, s);
}

/* --- watches --- */

/* The watch under way of slices or of the Node; NULL: there is none. */
static struct sim_stream *api_watch_of(enum sim_kind kind)
{
    struct sim_connection *c = &server.connection[api.link];
    for (unsigned i = 0; i < SIM_STREAMS_MAX; i++) {
        struct sim_stream *s = &c->stream[i];
        if (s->state == SIM_STREAM_WATCHING && s->target.kind == kind && !s->last) {
            return s;
        }
    }
    return NULL;
}

/* The watch under way ends well, as at its time-out. */
UNUSED_OK static void api_watch_end(enum sim_kind kind)
{
    struct sim_stream *s = api_watch_of(kind);
    assert_non_null(s);
    s->last = true;
}

#endif
