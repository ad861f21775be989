/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer of the API server: objects as the server writes them, and a text of the records that
 * come out of them. Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_KUBE_HARNESS_H
#define TESTS_UNIT_KUBE_HARNESS_H

#include "tests/unit/apiserver/transcript.h"
#include "tests/unit/wire/protobuf_build.h"
#include "tests/unit/unit.h"
#include "wire/kube.h"

static struct kube_response answer;

/* --- transcripts: NAME{field=text field=#number …} per record, then the verdict --- */

static struct transcript whole;
static struct transcript pieces;

static inline void note_field(struct transcript *t, struct reader *in)
{
    uint64_t tag = 0;
    uint64_t value = 0;
    struct view text;
    char out[1024];

    assert_int_equal(reader_varint(in, &tag), STATUS_OK);
    if ((tag & 7) == 1 || (tag & 7) == 5) {
        assert_int_equal(reader_consume(in, (tag & 7) == 1 ? 8 : 4, &text), STATUS_OK);
        (void)snprintf(out, sizeof out, "%u=fixed", (unsigned)(tag >> 3));
        note(t, out);
        return;
    }
    assert_int_equal(reader_varint(in, &value), STATUS_OK);
    if ((tag & 7) == 2) {
        assert_int_equal(reader_consume(in, (size_t)value, &text), STATUS_OK);
        (void)snprintf(out, sizeof out, "%u=%.*s", (unsigned)(tag >> 3), (int)text.len,
                       (const char *)text.data);
    } else {
        assert_int_equal(tag & 7, 0);
        (void)snprintf(out, sizeof out, "%u=#%llu", (unsigned)(tag >> 3),
                       (unsigned long long)value);
    }
    note(t, out);
}

static inline void note_record(struct transcript *t, const struct kube_record *r)
{
    static const char *const names[] = {
        [KUBE_TYPE_META] = "TYPE",
        [KUBE_STATUS] = "STATUS",
        [KUBE_META] = "META",
        [KUBE_LABEL] = "LABEL",
        [KUBE_ANNOTATION] = "ANNOTATION",
        [KUBE_RESULT_CAPACITY] = "RESULT_CAPACITY",
        [KUBE_NODE_INFO] = "INFO",
        [KUBE_RESULT] = "RESULT",
        [KUBE_CONFIG] = "CONFIG",
        [KUBE_ALLOCATION] = "ALLOCATION",
        [KUBE_SLICE_ATTRIBUTE] = "ATTRIBUTE",
        [KUBE_SLICE_DEVICE] = "DEVICE",
        [KUBE_SLICE_SPEC] = "SPEC",
        [KUBE_OBJECT_END] = "END",
        [KUBE_LIST_META] = "LIST",
        [KUBE_WATCH_EVENT] = "WATCH",
        [KUBE_GROUP_VERSION] = "VERSION",
        [KUBE_CONSUMER] = "CONSUMER",
        [KUBE_SLICE_NAME] = "NAME",
        [KUBE_SLICE_TAINT] = "TAINT",
        [KUBE_SLICE_RESOURCE] = "RESOURCE",
        [KUBE_SLICE_COUNTER] = "COUNTER",
        [KUBE_SLICE_CAPACITY] = "CAPACITY",
        [KUBE_SLICE_COUNTERS] = "COUNTERS",
        [KUBE_STATUS_CAUSE] = "CAUSE",
    };
    struct reader in = reader_of(r->message);

    assert_in_range(r->record, KUBE_RECORD_NONE + 1, KUBE_RECORDS - 1);
    note(t, names[r->record]);
    note(t, r->truncated ? "!{" : "{");
    while (reader_left(&in) > 0) {
        note_field(t, &in);
        note(t, reader_left(&in) > 0 ? " " : "");
    }
    note(t, "}\n");
}

static inline enum status feed(struct transcript *t, struct view piece)
{
    struct reader in = reader_of(piece);
    struct kube_record record;
    enum status st = kube_response_next(&answer, &in, &record);

    while (st == STATUS_OK) {
        note_record(t, &record);
        st = kube_response_next(&answer, &in, &record);
    }
    assert_true(st != STATUS_MORE || reader_left(&in) == 0);
    return st;
}

static inline void header(const char *name, const char *value)
{
    kube_response_field(&answer, view_text(name), view_text(value));
}

static inline void start(enum kube_shape shape, const char *http_status)
{
    kube_response_init(&answer, shape);
    header(":status", http_status);
    header("content-type", "application/vnd.kubernetes.protobuf");
}

/* Body in a first piece of `first` bytes and further ones of `rest`. */
static inline void run(struct transcript *t, struct view body, size_t first, size_t rest)
{
    enum status st = STATUS_MORE;
    size_t step = first;

    t->len = 0;
    t->text[0] = '\0';
    while (body.len > 0 && st == STATUS_MORE) {
        st = feed(t, view_first(body, step));
        body = view_from(body, step);
        step = rest;
    }
    st = st == STATUS_MORE ? kube_response_end(&answer) : st;
    note(t, status_name(st));
}

/* Runs the body whole, byte by byte and cut at every place; the transcript must always be `want`.
 */
static inline void check(enum kube_shape shape, const char *http_status, struct view body,
                         const char *want)
{
    start(shape, http_status);
    run(&whole, body, body.len, body.len);
    assert_string_equal(whole.text, want);
    start(shape, http_status);
    run(&pieces, body, 1, 1);
    assert_string_equal(pieces.text, want);
    for (size_t at = 1; at < body.len; at++) {
        start(shape, http_status);
        run(&pieces, body, at, body.len);
        assert_string_equal(pieces.text, want);
    }
}

/* --- objects --- */

static struct message body_;
static struct message object_;

/* object -> k8s\0 Unknown{typeMeta, raw, contentEncoding "", contentType ""}, as the server writes
 * it */
static inline struct view envelope(const char *api_version, const char *kind,
                                   const struct message *object)
{
    static struct message unknown;
    static struct message type_meta;

    put_text(message_new(&type_meta), 1, api_version);
    put_text(&type_meta, 2, kind);
    put_message(message_new(&unknown), 1, &type_meta);
    put_message(&unknown, 2, object);
    put_text(&unknown, 3, "");
    put_text(&unknown, 4, "");
    writer_bytes(&message_new(&body_)->w, "k8s\0", 4);
    writer_append(&body_.w, message_view(&unknown));
    assert_false(body_.w.full);
    return message_view(&body_);
}

static inline void put_pair(struct message *m, unsigned field, const char *key, const char *value)
{
    static struct message pair;

    put_text(message_new(&pair), 1, key);
    put_text(&pair, 2, value);
    put_message(m, field, &pair);
}

/* ObjectMeta with everything that the server writes, wanted or not */
static inline void put_metadata(struct message *m, unsigned field, const char *name, const char *ns)
{
    static struct message meta;
    static struct message inner;

    put_text(message_new(&meta), 1, name);
    put_text(&meta, 2, "gen-");
    put_text(&meta, 3, ns);
    put_text(&meta, 4, "");
    put_text(&meta, 5, "uid-1");
    put_text(&meta, 6, "4711");
    put_varint(&meta, 7, 3);
    put_varint(message_new(&inner), 1, 1700000000);
    put_varint(&inner, 2, 0);
    put_message(&meta, 8, &inner);
    put_pair(&meta, 11, "topology", "spine");
    put_pair(&meta, 12, "note", "an annotation");
    put_text(message_new(&inner), 1, "Node");
    put_text(&inner, 3, "node-a");
    put_text(&inner, 4, "owner-uid");
    put_text(&inner, 5, "v1");
    put_message(&meta, 13, &inner);
    put_text(message_new(&inner), 1, "kubelet");
    put_text(&inner, 7, "{\"f:metadata\":{\"f:labels\":{}}}");
    put_message(&meta, 17, &inner);
    put_message(m, field, &meta);
}

#define META_TEXT(name, ns) "META{1=" name " 7=gen- 2=" ns " 3=uid-1 4=4711 6=owner-uid}\n"

static inline struct view status_object(void)
{
    static struct message inner;
    static struct message cause;

    put_text(message_new(&inner), 1, "");
    put_message(message_new(&object_), 1, &inner);
    put_text(&object_, 2, "Failure");
    put_text(&object_, 3, "resourceclaims \"c\" not found");
    put_text(&object_, 4, "NotFound");
    put_text(message_new(&cause), 1, "FieldValueInvalid");
    put_text(&cause, 2, "too bad");
    put_text(&cause, 3, "spec.devices[3]");
    put_text(message_new(&inner), 1, "c");
    put_text(&inner, 2, "resource.k8s.io");
    put_text(&inner, 3, "resourceclaims");
    put_message(&inner, 4, &cause);
    put_varint(&inner, 5, 7);
    put_message(&object_, 5, &inner);
    put_varint(&object_, 6, 404);
    return envelope("v1", "Status", &object_);
}

#define STATUS_TEXT                                                                                \
    "TYPE{1=v1 2=Status}\nCAUSE{2=too bad 4=spec.devices[3]}\n"                                    \
    "STATUS{1=Failure 2=resourceclaims \"c\" not found 3=NotFound 4=c "                            \
    "7=resourceclaims 5=#7 6=#404}\n"

static inline void put_result(struct message *m, const char *request, const char *driver, int admin)
{
    static struct message result;
    static struct message inner;

    put_text(message_new(&result), 1, request);
    put_text(&result, 2, driver);
    put_text(&result, 3, "node-a");
    put_text(&result, 4, "neuron-device-3");
    if (admin >= 0) {
        put_varint(&result, 5, (uint64_t)admin);
    }
    put_text(message_new(&inner), 1, "key");
    put_message(&result, 6, &inner);
    put_text(&result, 9, "a-share");
    put_message(m, 1, &result);
}

static inline void put_config(struct message *m, const char *source, const char *driver,
                              const char *json)
{
    static struct message config;
    static struct message opaque;
    static struct message inner;

    put_text(message_new(&config), 1, source);
    put_text(&config, 2, "req-1");
    put_text(&config, 2, "req-2");
    put_text(message_new(&inner), 1, json);
    put_text(message_new(&opaque), 1, driver);
    put_message(&opaque, 2, &inner);
    put_message(message_new(&inner), 1, &opaque);
    put_message(&config, 3, &inner);
    put_message(m, 2, &config);
}

static inline struct view claim_object(void)
{
    static struct message devices;
    static struct message outer;

    put_metadata(message_new(&object_), 1, "claim", "team-a");
    put_text(message_new(&outer), 1, "spec is skipped");
    put_message(&object_, 2, &outer);
    put_result(message_new(&devices), "req-1", "neuron.aws.com", -1);
    put_result(&devices, "req-2/sub", "gpu.example.com", 1);
    put_config(&devices, "FromClass", "neuron.aws.com", "{\"kind\":\"NeuronConfig\"}");
    put_text(message_new(&outer), 1, "FromClaim");
    put_message(&devices, 2, &outer);
    put_message(message_new(&outer), 1, &devices);
    put_message(message_new(&devices), 1, &outer);
    put_message(&object_, 3, &devices);
    return envelope("resource.k8s.io/v1", "ResourceClaim", &object_);
}

static inline void put_attribute(struct message *device, unsigned field, const char *key,
                                 unsigned type, const char *text)
{
    static struct message entry;
    static struct message value;

    message_new(&value);
    if (type == 2 || type == 3) {
        put_varint(&value, type, (uint64_t)strtoull(text, NULL, 10));
    } else {
        put_text(&value, type, text);
    }
    put_text(message_new(&entry), 1, key);
    put_message(&entry, 2, &value);
    put_message(device, field, &entry);
}

static inline void put_device(struct message *spec, const char *name, bool beta)
{
    static struct message device;
    static struct message basic;
    unsigned field = beta ? 1 : 2;
    struct message *holder = beta ? message_new(&basic) : &device;

    put_text(message_new(&device), 1, name);
    put_attribute(holder, field, "device_id", 2, "5");
    put_attribute(holder, field, "eligible", 3, "0");
    put_attribute(holder, field, "instanceType", 4, "trn2.48xlarge");
    put_attribute(holder, field, "neuronDriverVersion", 5, "2.19.0");
    if (beta) {
        put_message(&device, 2, &basic);
    }
    put_message(spec, 6, &device);
}

static inline void put_slice(struct message *m, const char *name, bool beta, bool extra)
{
    static struct message spec;
    static struct message pool;

    put_metadata(m, 1, name, "");
    put_text(message_new(&spec), 1, "neuron.aws.com");
    put_text(message_new(&pool), 1, "node-a");
    put_varint(&pool, 2, 4);
    put_varint(&pool, 3, 1);
    put_message(&spec, 2, &pool);
    put_text(&spec, 3, "node-a");
    if (beta) {
        put_varint(&spec, 5, 0); /* allNodes, as the server writes it into every slice */
    }
    put_device(&spec, "neuron-device-0", beta);
    if (extra) {
        put_varint(&spec, 7, 1);
    }
    put_message(m, 2, &spec);
}

#define DEVICE_TEXT                                                                                \
    "NAME{1=neuron-device-0}\nATTRIBUTE{1=device_id 2=#5}\nATTRIBUTE{1=eligible 3=#0}\n"           \
    "ATTRIBUTE{1=instanceType 4=trn2.48xlarge}\nATTRIBUTE{1=neuronDriverVersion 5=2.19.0}\n"       \
    "DEVICE{}\n"
#define SLICE_TEXT(name)                                                                           \
    META_TEXT(name, "") DEVICE_TEXT "SPEC{1=neuron.aws.com 2=node-a 3=#4 4=#1 5=node-a}\nEND{}\n"
#define BETA_SLICE_TEXT(name)                                                                      \
    META_TEXT(name, "")                                                                            \
    DEVICE_TEXT "SPEC{1=neuron.aws.com 2=node-a 3=#4 4=#1 5=node-a 7=#0}\nEND{}\n"

static inline void put_event(struct message *out, const char *type, struct view object)
{
    static struct message event;
    static struct message raw;

    put_bytes(message_new(&raw), 1, object.data, object.len);
    put_text(message_new(&event), 1, type);
    put_message(&event, 2, &raw);
    writer_u32(&out->w, (uint32_t)event.w.len);
    writer_append(&out->w, message_view(&event));
    assert_false(out->w.full);
}

#endif
