/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serving half of the API server in memory: requests in, answers out, as far as windows allow.
 * Header only, because each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_SERVER_H
#define TESTS_UNIT_AGENT_SERVER_H

#include "agent_events.h"
#include "agent_node.h"

#define SLICES_PATH "/apis/resource.k8s.io/v1/resourceslices"
#define SERVES(version) (1u << (unsigned)(version))

/* --- life --- */

UNUSED_OK static void api_reset(void)
{
    memset(&api, 0, sizeof api);
    memset(&took, 0, sizeof took);
    api.reachable = true;
    api.authorization = "Bearer secret";
    api.window = 65535;
    api.served = SERVES(API_V1);
    api.streams_max = API_STREAMS;
    api.version = 100;
    api.node_version = 100;
    api.node_uid = NODE_UID;
}

static void api_connect(uint64_t now_ms)
{
    const struct h2_memory memory = {
        .rx = api.rx,
        .rx_cap = sizeof api.rx,
        .tx = api.tx,
        .tx_cap = sizeof api.tx,
        .field = api.field,
        .field_cap = sizeof api.field,
        .scratch = api.scratch,
        .scratch_cap = sizeof api.scratch,
        .streams = api.streams,
        .streams_cap = (api.streams_max > 0) ? api.streams_max : 1,
        .window = api.window,
        .table_size = HPACK_TABLE_BYTES,
    };
    for (unsigned i = 0; i < API_STREAMS; i++) {
        api.stream[i].id = 0;
    }
    api.connected = true;
    api.connections++;
    h2_init(&api.h2, H2_SERVER, &memory, now_ms);
    if (api.streams_max == 0) {
        memset(&api.tx[9 + 2 * 6 + 2], 0, 4); /* value of the third setting */
    }
}

/* --- the log of requests --- */

static void api_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void api_note(const char *format, ...)
{
    va_list args;
    if (api.log_len > sizeof api.log / 2) {
        api.log_len = 0; /* what is old goes */
    }
    va_start(args, format);
    int n = vsnprintf(api.log + api.log_len, sizeof api.log - api.log_len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof api.log - api.log_len);
    api.log_len += (size_t)n;
}

/* How many requests begin like that, e.g. "PUT " or "GET /api/v1/nodes/". */
UNUSED_OK static unsigned api_asked(const char *start)
{
    unsigned n = 0;
    const char *line = api.log;
    while (*line != 0) {
        n += strncmp(line, start, strlen(start)) == 0 ? 1u : 0u;
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        line = end + 1;
    }
    return n;
}

/* Watches of slices. */
UNUSED_OK static unsigned api_watches_asked(void)
{
    return api_asked("GET " SLICES_PATH "?fieldSelector=spec.driver%3Dneuron.aws.com%2C"
                     "spec.nodeName%3D" NODE_NAME "&watch=true&");
}

UNUSED_OK static unsigned api_lists(void)
{
    return api_asked("GET " SLICES_PATH "?f") - api_watches_asked();
}

UNUSED_OK static unsigned api_writes(void)
{
    return api_asked("POST ") + api_asked("PUT ") + api_asked("DELETE ");
}

UNUSED_OK static void api_forget(void)
{
    api.log_len = 0;
    api.log[0] = 0;
}

/* --- answers --- */

static void answer_slice(struct api_stream *s, const struct api_slice *slice, unsigned http)
{
    struct writer w = answer_writer(s);
    put_envelope(&w, api_group_version(s->version), "ResourceSlice",
                 api_slice_object(slice, s->version));
    answer_done(s, &w, http);
}

/* --- requests --- */

/* A device as it was sent, in the form of v1; the longest that was sent fits. */
static struct view device_of(struct view device, unsigned version)
{
    static uint8_t bytes[8192];
    struct writer w = writer_of(bytes, sizeof bytes);
    struct sim_field f;
    if (version != API_V1BETA1) {
        return device;
    }
    struct reader in = reader_of(device);
    struct view basic = view_of(0, 0);
    while (proto_next(&in, &f)) {
        assert_true(f.number == 1 || f.number == 2); /* name and basic, nothing else */
        if (f.number == 1) {
            put_view(&w, 1, f.bytes);
        } else {
            assert_true(basic.data == NULL);
            basic = f.bytes;
        }
    }
    in = reader_of(basic);
    while (proto_next(&in, &f)) {
        put_view(&w, f.number + 1, f.bytes);
    }
    assert_false(w.full);
    return writer_view(&w);
}

/* Takes over what was sent; false: nothing is changed by it, as a write of equal content. */
static bool slice_take(struct api_slice *slice, struct view object, unsigned version)
{
    static struct api_slice before;
    struct view spec = proto_get(object, 2).bytes;
    struct view pool = proto_get(spec, 2).bytes;
    struct writer w = writer_of(slice->spec, sizeof slice->spec);
    struct reader in = reader_of(spec);
    struct sim_field f;
    before = *slice;
    proto_text(proto_get(proto_get(object, 1).bytes, 13).bytes, 4, slice->owner,
               sizeof slice->owner);
    proto_text(spec, 1, slice->driver, sizeof slice->driver);
    proto_text(spec, 3, slice->node, sizeof slice->node);
    slice->generation = proto_get(pool, 2).value;
    slice->count = proto_get(pool, 3).value;
    slice->devices = proto_count(spec, 6);
    while (proto_next(&in, &f)) {
        if (f.number != 6) {
            put_view(&w, f.number, f.bytes);
        } else if (!api.drops_devices) {
            put_view(&w, 6, device_of(f.bytes, version));
        }
    }
    assert_false(w.full);
    slice->spec_len = w.len;
    return before.spec_len != w.len || memcmp(before.spec, slice->spec, w.len) != 0 ||
           strcmp(before.owner, slice->owner) != 0;
}

static struct api_slice *slice_of_put(const struct api_stream *s, struct view meta, unsigned *http)
{
    char text[64];
    struct api_slice *slice = api_slice_named(s->path + sizeof SLICES_PATH);
    if (slice == NULL) {
        *http = 404;
        return NULL;
    }
    proto_text(meta, 5, text, sizeof text);
    bool same = strcmp(text, slice->uid) == 0;
    proto_text(meta, 6, text, sizeof text);
    *http = same && strtoull(text, NULL, 10) == slice->version ? 200 : 409;
    return *http == 200 ? slice : NULL;
}

static struct api_slice *slice_of_post(const struct api_stream *s, struct view meta, unsigned *http)
{
    char text[64];
    assert_string_equal(s->path, SLICES_PATH);
    proto_text(meta, 2, text, sizeof text);
    assert_string_equal(text, NODE_NAME "-neuron.aws.com-");
    struct api_slice *slice = api_slice_new();
    (void)snprintf(slice->name, sizeof slice->name, "%sx%04u", text, api.made);
    *http = 201;
    return slice;
}

static void serve_write(struct api_stream *s)
{
    struct view object = body_object(s, "ResourceSlice");
    struct view meta = proto_get(object, 1).bytes;
    bool create = strcmp(s->method, "POST") == 0;
    unsigned http = api.write_http;
    struct api_slice *slice = NULL;
    if (api.devices_max > 0 && proto_count(proto_get(object, 2).bytes, 6) > api.devices_max) {
        http = api.devices_http;
    }
    if (http == 0) {
        slice = create ? slice_of_post(s, meta, &http) : slice_of_put(s, meta, &http);
    }
    if (slice == NULL) {
        answer_failure(s, http);
        return;
    }
    if (slice_take(slice, object, s->version)) {
        api_touch(slice);
        api_watch_slice(create ? "ADDED" : "MODIFIED", slice);
    }
    if (api.write_lost) {
        answer_failure(s, 504);
        return;
    }
    static struct api_slice answer;
    answer = *slice;
    if (api.answers_name != NULL) {
        (void)snprintf(answer.name, sizeof answer.name, "%s", api.answers_name);
    }
    answer_slice(s, &answer, http);
}

static void serve_delete(struct api_stream *s)
{
    struct api_slice *slice = api_slice_named(s->path + sizeof SLICES_PATH);
    struct view wanted = proto_get(body_object(s, "DeleteOptions"), 2).bytes;
    char uid[64];
    char version[64];
    proto_text(wanted, 1, uid, sizeof uid);
    proto_text(wanted, 2, version, sizeof version);
    if (slice == NULL) {
        answer_failure(s, 404);
    } else if (strcmp(uid, slice->uid) != 0 || strtoull(version, NULL, 10) != slice->version) {
        api_note("(precondition failed)\n");
        answer_failure(s, 409);
    } else {
        struct writer w = answer_writer(s);
        api_put_status(&w, 200, "", "");
        answer_done(s, &w, 200);
        api_slice_delete(slice);
    }
}

static void serve_claim(struct api_stream *s)
{
    char path[300];
    for (unsigned i = 0; i < API_CLAIMS; i++) {
        struct api_claim *c = &api.claim[i];
        (void)snprintf(path, sizeof path,
                       "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims/%s", c->ns, c->name);
        if (c->uid[0] == 0 || strcmp(path, s->path) != 0) {
            continue;
        }
        if (c->fault == API_RESETS) {
            h2_reset(&api.h2, s->id, H2_INTERNAL_ERROR);
            s->id = 0;
        } else if (c->fault == API_ANSWERS && c->http == 999) {
            answer_text(s, 404, "text/plain; charset=utf-8", "404 page not found\n");
        } else if (c->fault == API_ANSWERS && c->http != 0) {
            answer_failure(s, c->http);
        } else if (c->fault == API_ANSWERS) {
            struct writer w = answer_writer(s);
            api_put_claim(&w, c, s->version);
            answer_done(s, &w, 200);
        }
        return;
    }
    answer_failure(s, 404);
}

static void serve_node(struct api_stream *s)
{
    struct writer w = answer_writer(s);
    bool watch = strstr(s->path, "watch=true") != NULL;
    unsigned absent = api.node_absent ? 404 : 0;
    unsigned http = watch ? api.node_watch_http : api.node_http;
    if (!watch && http == 0) {
        http = absent;
    }
    if (http != 0) {
        answer_failure(s, http);
    } else if (watch) {
        api_node_watch(s);
    } else {
        assert_string_equal(s->path, NODES_PATH "/" NODE_NAME);
        api_put_node(&w);
        answer_done(s, &w, 200);
    }
}

static void serve_read(struct api_stream *s)
{
    struct writer w = answer_writer(s);
    bool watch = strstr(s->path, "watch=true") != NULL;
    if (strncmp(s->path, NODES_PATH, sizeof NODES_PATH - 1) == 0) {
        serve_node(s);
    } else if (strstr(s->path, "/resourceclaims/") != NULL) {
        serve_claim(s);
    } else if (!watch && api.list_http != 0) {
        answer_failure(s, api.list_http);
    } else if (watch && api.watch_http != 0) {
        answer_failure(s, api.watch_http);
    } else if (watch) {
        assert_non_null(strstr(s->accept, "stream=watch"));
        s->watch = true;
        s->http = 200;
    } else {
        assert_int_equal(strncmp(s->path, SLICES_PATH "?", sizeof SLICES_PATH), 0);
        api_put_list(&w, s->version);
        answer_done(s, &w, 200);
    }
}

static void serve_group(struct api_stream *s)
{
    struct writer w = answer_writer(s);
    if (api.group == GROUP_HANGS) {
        return;
    }
    if (api.group == GROUP_ABSENT || (api.served == 0 && api.group == GROUP_TELLS)) {
        answer_text(s, 404, "text/plain; charset=utf-8", "404 page not found\n");
    } else if (api.group == GROUP_REFUSES) {
        answer_failure(s, 403);
    } else if (api.group == GROUP_JSON) {
        answer_text(s, 200, "application/json",
                    "{\"kind\":\"APIGroup\",\"versions\":[{\"groupVersion\":\"x\"}]}");
    } else {
        api_put_group(&w);
        answer_done(s, &w, 200);
    }
}

/* Takes the version out of a path of the group: the rest is served alike. False: answered. */
static bool version_served(struct api_stream *s)
{
    static const char group[] = "/apis/resource.k8s.io";
    char path[sizeof s->path];
    if (s->placed || strncmp(s->path, group, sizeof group - 1) != 0) {
        return true;
    }
    if (s->path[sizeof group - 1] == 0) {
        serve_group(s);
        return false;
    }
    for (unsigned i = 0; i < API_VERSIONS; i++) {
        size_t n = strlen(api_names[i]);
        const char *at = s->path + sizeof group;
        if (strncmp(at, api_names[i], n) == 0 && at[n] == '/' && (api.served & SERVES(i)) != 0) {
            s->version = i;
            (void)snprintf(path, sizeof path, "%s/v1%s", group, at + n);
            memcpy(s->path, path, sizeof path);
            s->placed = true;
            return true;
        }
    }
    answer_text(s, 404, "text/plain; charset=utf-8", "404 page not found\n");
    return false;
}

/* False: the request came no further than to its head. */
static bool looked_at(struct api_stream *s)
{
    bool claim = strstr(s->path, "/resourceclaims/") != NULL;
    if (!claim) {
        assert_true(api.own < API_OWN_MAX);
        api.own_ms[api.own++] = api.now_ms;
    }
    if (strcmp(s->authorization, api.authorization) != 0) {
        answer_failure(s, 401);
        h2_goaway(&api.h2, H2_NO_ERROR, false);
        return false;
    }
    if (claim && api.refuses > 0) {
        api.refuses--;
        h2_reset(&api.h2, s->id, H2_REFUSED_STREAM);
        s->id = 0;
        return false;
    }
    return true;
}

static void api_serve(struct api_stream *s)
{
    bool event = strncmp(s->path, "/apis/events.k8s.io/", 20) == 0;
    s->whole = true;
    api_note("%s%s %s\n", event ? "event " : "", s->method, s->path);
    if (api.moves) {
        h2_goaway(&api.h2, H2_NO_ERROR, true);
    }
    if (!looked_at(s)) {
        return;
    }
    if (!api.hangs && event) {
        serve_event(s);
        return;
    }
    if (api.hangs || !version_served(s)) {
        return;
    }
    if (strcmp(s->method, "PATCH") == 0) {
        serve_status(s);
    } else if (strcmp(s->method, "GET") == 0) {
        serve_read(s);
    } else if (strcmp(s->method, "DELETE") == 0) {
        serve_delete(s);
    } else {
        serve_write(s);
    }
}

/* --- events --- */

static struct api_stream *api_stream_of(uint32_t id)
{
    struct api_stream *fresh = NULL;
    for (unsigned i = 0; i < API_STREAMS; i++) {
        struct api_stream *s = &api.stream[i];
        if (s->id == id) {
            return s;
        }
        fresh = fresh == NULL && s->id == 0 ? s : fresh;
    }
    assert_non_null(fresh);
    memset(fresh, 0, offsetof(struct api_stream, body));
    fresh->out_len = 0;
    fresh->out_sent = 0;
    fresh->id = id;
    return fresh;
}

static void api_field(struct api_stream *s, const struct h2_event *e)
{
    enum status st = STATUS_OK;
    if (view_is(e->name, ":method")) {
        st = text_copy(s->method, sizeof s->method, e->value);
    } else if (view_is(e->name, ":path")) {
        st = text_copy(s->path, sizeof s->path, e->value);
    } else if (view_is(e->name, "accept")) {
        st = text_copy(s->accept, sizeof s->accept, e->value);
    } else if (view_is(e->name, "content-type")) {
        st = text_copy(s->body_type, sizeof s->body_type, e->value);
    } else if (view_is(e->name, "authorization")) {
        st = text_copy(s->authorization, sizeof s->authorization, e->value);
    }
    assert_int_equal(st, STATUS_OK);
}

static void api_event(const struct h2_event *e)
{
    if (e->stream == 0) {
        return;
    }
    struct api_stream *s = api_stream_of(e->stream);
    switch (e->kind) {
    case H2_EVENT_FIELD:
        api_field(s, e);
        break;
    case H2_EVENT_DATA:
        assert_true(e->data.len <= sizeof s->body - s->body_len);
        memcpy(s->body + s->body_len, e->data.data, e->data.len);
        s->body_len += e->data.len;
        break;
    case H2_EVENT_RESET:
        api_note("(reset %s)\n", s->path);
        s->id = 0;
        return;
    case H2_EVENT_HEADERS_END:
    case H2_EVENT_GOAWAY:
    case H2_EVENT_PING_ACK:
    case H2_EVENT_WRITABLE:
        break;
    }
    bool may_end = e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END;
    if (may_end && e->end_stream && s->id != 0) {
        api_serve(s);
    }
}

static const char *content_type(const struct api_stream *s)
{
    const char *type = s->watch ? PROTOBUF ";stream=watch" : PROTOBUF;
    return (s->type != NULL) ? s->type : type;
}

static void api_send_head(struct api_stream *s)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", s->http);
    h2_headers_begin(&api.h2, s->id);
    h2_header(&api.h2, ":status", view_text(text), false);
    h2_header(&api.h2, "content-type", view_text(content_type(s)), false);
    if (s->retry_after != 0) {
        (void)snprintf(text, sizeof text, "%u", s->retry_after);
        h2_header(&api.h2, "retry-after", view_text(text), false);
    }
    s->headed = h2_headers_end(&api.h2, false) == STATUS_OK;
}

static void api_send_out(struct api_stream *s)
{
    if (s->id == 0 || s->http == 0) {
        return;
    }
    if (!s->headed) {
        api_send_head(s);
    }
    size_t room = s->headed ? h2_data_room(&api.h2, s->id) : 0;
    struct view left = view_of(s->out + s->out_sent, s->out_len - s->out_sent);
    struct view piece = view_first(left, room);
    bool last = s->end && piece.len == left.len;
    if (!s->headed || (piece.len == 0 && !last)) {
        return;
    }
    if (h2_data(&api.h2, s->id, piece, last) == STATUS_OK) {
        s->out_sent += piece.len;
        if (last) {
            s->id = 0;
        }
    }
}

/* Takes all events, sends what there is room for. */
static void api_pump(uint64_t now_ms)
{
    struct h2_event e;
    if (!api.connected) {
        return;
    }
    api.now_ms = now_ms;
    h2_set_time(&api.h2, now_ms);
    enum status st = h2_next(&api.h2, &e);
    while (st == STATUS_OK) {
        api_event(&e);
        st = h2_next(&api.h2, &e);
    }
    for (unsigned i = 0; i < API_STREAMS; i++) {
        api_send_out(&api.stream[i]);
    }
}

/* The watch under way ends well, as at its time-out. */
UNUSED_OK static void api_watch_end(void)
{
    struct api_stream *s = api_watch_stream();
    assert_non_null(s);
    s->end = true;
}

/* Requests that hung are answered now. */
UNUSED_OK static void api_release(void)
{
    api.hangs = false;
    for (unsigned i = 0; i < API_CLAIMS; i++) {
        api.claim[i].fault = API_ANSWERS;
    }
    for (unsigned i = 0; i < API_STREAMS; i++) {
        struct api_stream *s = &api.stream[i];
        if (s->id != 0 && s->whole && s->http == 0) {
            s->whole = false;
            api_serve(s);
        }
    }
}

#endif
