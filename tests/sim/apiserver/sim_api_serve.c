/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the API server model. See sim_api_internal.h. */
#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2, TYPE_VERSION = 1, TYPE_KIND = 2 };
enum { OBJECT_META = 1, OPTIONS_PRECONDITIONS = 2, PRECONDITION_UID = 1, PRECONDITION_VERSION = 2 };
enum { MAGIC_BYTES = 4 };

static bool method_is(const struct sim_stream *s, const char *method)
{
    return strcmp(s->method, method) == 0;
}

static struct sim_object *named(struct sim_api *a, const struct sim_target *t)
{
    return sim_store_find(&a->store, t->kind, view_text(t->ns), view_text(t->name));
}

/* --- bodies --- */

/* What a body names is what is wanted; a server takes one that names nothing. */
static bool named_so(struct view name, const char *wanted)
{
    return name.len == 0 || wanted == NULL || view_is(name, wanted);
}

unsigned sim_open_body(const struct sim_stream *s, const char *api_version, const char *kind,
                       struct view *raw)
{
    struct view body = view_of(s->body, s->body_len);
    struct view unknown = view_from(body, MAGIC_BYTES);
    if (s->body_cut) {
        return 413;
    }
    if (!s->body_protobuf) {
        return 415;
    }
    if (!view_equal(view_first(body, MAGIC_BYTES), view_of("k8s\0", MAGIC_BYTES)) ||
        !sim_message_valid(unknown)) {
        return 400;
    }
    struct view type = sim_field_bytes(unknown, UNKNOWN_TYPE_META);
    struct view version = sim_field_bytes(type, TYPE_VERSION);
    struct view named_kind = sim_field_bytes(type, TYPE_KIND);
    *raw = sim_field_bytes(unknown, UNKNOWN_RAW);
    bool right = named_so(named_kind, kind) && named_so(version, api_version);
    return right && sim_message_valid(*raw) ? 0 : 400;
}

/* Splits a slice into metadata and body of v1 layout, which goes to the scratch. */
static bool split_slice(struct sim_api *a, const struct sim_stream *s, struct view raw,
                        struct sim_wanted *wanted)
{
    size_t half = sizeof a->scratch / 2;
    struct writer rest = writer_of(a->scratch, half);
    struct writer body = writer_of(a->scratch + half, half);
    struct reader in = reader_of(raw);
    struct sim_field f;
    while (sim_field_next(&in, &f) == STATUS_OK) {
        if (f.number != OBJECT_META) {
            writer_append(&rest, f.whole);
        }
    }
    wanted->kind = SIM_SLICE;
    wanted->now_s = a->now_s;
    wanted->ns = view_of(NULL, 0);
    wanted->meta = sim_field_bytes(raw, OBJECT_META);
    bool fits =
        !rest.full && sim_slice_to_v1(writer_view(&rest), s->target.version, &body) == STATUS_OK;
    if (sim_fault_meets(a, SIM_FAULT_DROPPED, s)) {
        rest.len = 0;
        sim_slice_without(writer_view(&body), a->fault[SIM_FAULT_DROPPED].key, &rest);
        body = rest;
    }
    wanted->body = writer_view(&body);
    return fits && !body.full && sim_message_valid(wanted->meta);
}

/* --- writes --- */

static unsigned http_of(enum status s)
{
    switch (s) {
    case PEER_REFUSED:
    case PEER_PROTOCOL:
        return 409;
    case PEER_MALFORMED:
    case FULL_BUFFER:
        return 422;
    default:
        return 500;
    }
}

static bool valid(struct sim_api *a, struct sim_stream *s, const struct sim_wanted *wanted,
                  const struct sim_object *old)
{
    char text[256];
    struct writer why = writer_of(text, sizeof text - 1);
    writer_text(&why, "is invalid: ");
    bool good = sim_slice_valid(wanted->body, &why);
    if (good && old != NULL &&
        !sim_slice_same_identity(view_of(old->body, old->body_len), wanted->body)) {
        writer_text(&why, "spec: driver, pool.name and nodeName are immutable");
        good = false;
    }
    text[why.len] = 0;
    if (!good) {
        sim_answer_failure(a, s, 422, text);
    }
    return good;
}

static void create(struct sim_api *a, struct sim_stream *s, const struct sim_wanted *wanted)
{
    struct sim_object *o = NULL;
    if (!valid(a, s, wanted, NULL)) {
        return;
    }
    enum status st = sim_store_create(&a->store, wanted, &o);
    if (st == PEER_REFUSED) {
        sim_answer_failure(a, s, 409, "already exists");
    } else if (st != STATUS_OK) {
        sim_answer_failure(a, s, http_of(st), "");
    } else {
        sim_answer_object(a, s, 201, o);
    }
}

static void update(struct sim_api *a, struct sim_stream *s, const struct sim_wanted *wanted)
{
    struct sim_object *o = named(a, &s->target);
    if (o == NULL) {
        sim_answer_failure(a, s, 404, "");
        return;
    }
    if (!view_is(sim_field_bytes(wanted->meta, 1), s->target.name)) {
        sim_answer_failure(a, s, 400, "the name in the body is not that of the path");
        return;
    }
    if (!valid(a, s, wanted, o)) {
        return;
    }
    enum status st = sim_store_update(&a->store, o, wanted);
    if (st == STATUS_OK) {
        sim_answer_object(a, s, 200, o);
    } else {
        sim_answer_failure(a, s, http_of(st), "");
    }
}

static void write_slice(struct sim_api *a, struct sim_stream *s, bool is_create)
{
    struct view raw = view_of(NULL, 0);
    struct sim_wanted wanted;
    const char *api_version = sim_api_version(SIM_SLICE, s->target.version);
    unsigned wrong = sim_open_body(s, api_version, "ResourceSlice", &raw);
    if (wrong != 0) {
        sim_answer_failure(a, s, wrong, "");
    } else if (!split_slice(a, s, raw, &wanted)) {
        sim_answer_failure(a, s, 400, "the object does not decode");
    } else if (is_create) {
        create(a, s, &wanted);
    } else {
        update(a, s, &wanted);
    }
}

static bool precondition(const struct sim_object *o, struct view wanted)
{
    struct view uid = sim_field_bytes(wanted, PRECONDITION_UID);
    struct view text = sim_field_bytes(wanted, PRECONDITION_VERSION);
    uint64_t version = 0;
    return (uid.len == 0 || view_is(uid, o->uid)) &&
           (text.len == 0 ||
            (view_decimal(text, UINT64_MAX, &version) == STATUS_OK && version == o->version));
}

static void delete_slice(struct sim_api *a, struct sim_stream *s)
{
    struct view raw = view_of(NULL, 0);
    struct sim_object *o = named(a, &s->target);
    unsigned wrong = s->body_len > 0 ? sim_open_body(s, NULL, "DeleteOptions", &raw) : 0;
    if (wrong != 0) {
        sim_answer_failure(a, s, wrong, "");
    } else if (o == NULL) {
        sim_answer_failure(a, s, 404, "");
    } else if (!precondition(o, sim_field_bytes(raw, OPTIONS_PRECONDITIONS))) {
        sim_answer_failure(a, s, 409, "");
    } else {
        sim_answer_deleted(a, s, o);
        sim_store_delete(&a->store, o);
    }
}

/* --- reads --- */

static void get(struct sim_api *a, struct sim_stream *s)
{
    if (s->query.wrong) {
        sim_answer_failure(a, s, 400, "the query is not understood");
    } else if (s->target.name[0] != 0) {
        const struct sim_object *o = named(a, &s->target);
        if (o == NULL) {
            sim_answer_failure(a, s, 404, "");
        } else {
            sim_answer_object(a, s, 200, o);
        }
    } else if (s->query.watch) {
        sim_watch_begin(a, s);
    } else {
        sim_answer_list(a, s);
    }
}

static void serve_objects(struct sim_api *a, struct sim_stream *s)
{
    bool slice = s->target.kind == SIM_SLICE;
    bool one = slice && s->target.name[0] != 0;
    bool all = slice && s->target.name[0] == 0;
    if (method_is(s, "GET")) {
        get(a, s);
    } else if (all && method_is(s, "POST")) {
        write_slice(a, s, true);
    } else if (one && method_is(s, "PUT")) {
        write_slice(a, s, false);
    } else if (one && method_is(s, "DELETE")) {
        delete_slice(a, s);
    } else {
        sim_answer_failure(a, s, 405, "");
    }
}

void sim_serve(struct sim_api *a, struct sim_stream *s)
{
    if (!s->authorised) {
        s->target.what = SIM_TARGET_NONE; /* who may not ask learns nothing of what there is */
        sim_answer_failure(a, s, 401, "");
    } else if (s->target.what == SIM_TARGET_NONE) {
        sim_answer_text(s, 404, "404 page not found\n");
    } else if (!s->protobuf) {
        sim_answer_failure(a, s, 406, "");
    } else if (s->target.what == SIM_TARGET_GROUP) {
        sim_answer_group(a, s);
    } else if (s->target.what == SIM_TARGET_EVENTS) {
        sim_serve_event(a, s);
    } else if (s->target.what == SIM_TARGET_CLAIM_STATUS) {
        sim_serve_claim_status(a, s);
    } else {
        serve_objects(a, s);
    }
}
