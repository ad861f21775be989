/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the API server model: envelopes, lists, Status. See sim_api_internal.h. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"

#define GROUP "resource.k8s.io"
#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define PARTIAL_VERSION "meta.k8s.io/v1"
#define STATUS_BYTES 1536

enum { LIST_META = 1, LIST_ITEMS = 2, LIST_SELF_LINK = 1, LIST_VERSION = 2, LIST_CONTINUE = 3 };
enum {
    STATUS_META = 1,
    STATUS_STATUS = 2,
    STATUS_MESSAGE = 3,
    STATUS_REASON = 4,
    STATUS_DETAILS = 5,
    STATUS_CODE = 6
};
enum { DETAILS_NAME = 1, DETAILS_GROUP = 2, DETAILS_KIND = 3, DETAILS_CAUSES = 4, DETAILS_UID = 6 };
enum { CAUSE_REASON = 1, CAUSE_MESSAGE = 2, CAUSE_FIELD = 3 };
enum { SLICE_SPEC = 2, SPEC_DRIVER = 1, SPEC_NODE = 3 };

static struct writer out_of(struct sim_stream *s)
{
    return writer_of(s->out, sizeof s->out);
}

static void answer(struct sim_stream *s, unsigned http, const char *type, const struct writer *w)
{
    ASSERT(s->http == 0 && http >= 200);
    s->http = w->full ? 500 : http;
    s->content_type = type;
    s->out_len = w->full ? 0 : w->len;
    s->last = true;
}

void sim_answer_text(struct sim_stream *s, unsigned http, const char *text)
{
    struct writer w = out_of(s);
    writer_text(&w, text);
    answer(s, http, "text/plain; charset=utf-8", &w);
}

void sim_answer_bytes(struct sim_stream *s, unsigned http, const char *type, struct view bytes)
{
    struct writer w = out_of(s);
    writer_append(&w, bytes);
    answer(s, http, type, &w);
}

void sim_answer_withdraw(struct sim_stream *s)
{
    ASSERT(!s->headed && s->out_sent == 0);
    s->state = SIM_STREAM_ANSWERING; /* a watch too */
    s->http = 0;
    s->out_len = 0;
    s->last = false;
}

/* --- Status --- */

struct failure {
    unsigned http;
    const char *reason;
    const char *words; /* behind `resourceslices.resource.k8s.io "name" ` */
};

static const struct failure failures[] = {
    {400, "BadRequest", "the request is not understood"},
    {401, "Unauthorized", "Unauthorized"},
    {403, "Forbidden", "is forbidden: the rules of this cluster do not allow it"},
    {404, "NotFound", "not found"},
    {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
    {406, "NotAcceptable", "only application/vnd.kubernetes.protobuf is served"},
    {409, "Conflict",
     "the object has been modified; please apply your changes to the latest version and try again"},
    {410, "Expired", "too old resource version"},
    {413, "RequestEntityTooLarge", "the request is too large"},
    {415, "UnsupportedMediaType", "the body of the request was in an unknown format"},
    {422, "Invalid", "is invalid"},
    {429, "TooManyRequests", "too many requests"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout", "the server was unable to return a response in the time allotted"},
    {500, "InternalError", "no room"},
};

static const struct failure *failure_of(unsigned http)
{
    unsigned last = sizeof failures / sizeof failures[0] - 1;
    for (unsigned i = 0; i < last; i++) {
        if (failures[i].http == http) {
            return &failures[i];
        }
    }
    return &failures[last];
}

static const char *group_of(enum sim_kind kind)
{
    return kind == SIM_NODE ? "" : GROUP;
}

static void put_cause(struct writer *details, const struct sim_fault *f)
{
    uint8_t bytes[STATUS_BYTES / 4];
    struct writer cause = writer_of(bytes, sizeof bytes);
    sim_put_text(&cause, CAUSE_REASON, "FieldValueInvalid");
    sim_put_text(&cause, CAUSE_MESSAGE, f->cause);
    sim_put_text(&cause, CAUSE_FIELD, f->field);
    sim_put_bytes(details, DETAILS_CAUSES, writer_view(&cause));
}

static void put_details(struct writer *w, enum sim_kind kind, const char *name, const char *uid,
                        const struct sim_fault *cause)
{
    uint8_t bytes[NAME_CAP + STATUS_BYTES / 4 + 128];
    struct writer details = writer_of(bytes, sizeof bytes);
    sim_put_text(&details, DETAILS_NAME, name);
    sim_put_text(&details, DETAILS_GROUP, group_of(kind));
    sim_put_text(&details, DETAILS_KIND, sim_resource_of(kind));
    if (uid[0] != 0) {
        sim_put_text(&details, DETAILS_UID, uid);
    }
    if (cause != NULL && cause->field != NULL) {
        put_cause(&details, cause);
    }
    ASSERT(!details.full);
    sim_put_bytes(w, STATUS_DETAILS, writer_view(&details));
}

static void put_message(struct writer *w, const struct sim_target *t, const char *words)
{
    uint8_t bytes[STATUS_BYTES / 2];
    struct writer text = writer_of(bytes, sizeof bytes);
    if (t->what == SIM_TARGET_OBJECTS || t->what == SIM_TARGET_CLAIM_STATUS) {
        writer_text(&text, sim_resource_of(t->kind));
        writer_text(&text, t->kind == SIM_NODE ? " \"" : "." GROUP " \"");
        writer_text(&text, t->name);
        writer_text(&text, "\" ");
    }
    writer_text(&text, words);
    sim_put_bytes(w, STATUS_MESSAGE, writer_view(&text));
}

void sim_answer_failure(struct sim_api *a, struct sim_stream *s, unsigned http, const char *text)
{
    uint8_t bytes[STATUS_BYTES];
    const struct failure *f = failure_of(http);
    struct writer status = writer_of(bytes, sizeof bytes);
    struct writer w = out_of(s);
    sim_put_text(&status, STATUS_META, "");
    sim_put_text(&status, STATUS_STATUS, "Failure");
    put_message(&status, &s->target, text[0] != 0 ? text : f->words);
    sim_put_text(&status, STATUS_REASON, f->reason);
    if (s->target.what == SIM_TARGET_OBJECTS || s->target.what == SIM_TARGET_CLAIM_STATUS) {
        bool caused = sim_fault_meets(a, SIM_FAULT_ANSWER, s);
        put_details(&status, s->target.kind, s->target.name, "",
                    caused ? &a->fault[SIM_FAULT_ANSWER] : NULL);
    }
    sim_put_value(&status, STATUS_CODE, http);
    ASSERT(!status.full);
    sim_put_envelope(&w, "v1", "Status", writer_view(&status));
    answer(s, http, PROTOBUF, &w);
}

void sim_answer_deleted(struct sim_api *a, struct sim_stream *s, const struct sim_object *o)
{
    uint8_t bytes[STATUS_BYTES];
    struct writer status = writer_of(bytes, sizeof bytes);
    struct writer w = out_of(s);
    sim_put_text(&status, STATUS_META, "");
    sim_put_text(&status, STATUS_STATUS, "Success");
    put_details(&status, o->kind, o->name, o->uid, NULL);
    ASSERT(a != NULL && !status.full);
    sim_put_envelope(&w, "v1", "Status", writer_view(&status));
    answer(s, 200, PROTOBUF, &w);
}

void sim_put_expired(struct sim_api *a, struct writer *w)
{
    uint8_t bytes[STATUS_BYTES];
    struct writer status = writer_of(bytes, sizeof bytes);
    sim_put_text(&status, STATUS_META, "");
    sim_put_text(&status, STATUS_STATUS, "Failure");
    sim_put_text(&status, STATUS_MESSAGE, "too old resource version");
    sim_put_text(&status, STATUS_REASON, "Expired");
    sim_put_value(&status, STATUS_CODE, 410);
    ASSERT(a != NULL && !status.full);
    sim_put_envelope(w, "v1", "Status", writer_view(&status));
}

/* --- objects --- */

static const char *version_of(const struct sim_stream *s)
{
    return s->partial ? PARTIAL_VERSION : sim_api_version(s->target.kind, s->target.version);
}

static void put_raw(const struct sim_stream *s, const struct sim_object *o, struct writer *w)
{
    if (s->partial) {
        sim_object_meta(o, w);
    } else {
        sim_object_write(o, s->target.version, w);
    }
}

/* An object of which only the resourceVersion is set. */
static void put_bookmark(const struct sim_api *a, struct writer *w)
{
    uint8_t bytes[64];
    uint8_t number[20];
    struct writer meta = writer_of(bytes, sizeof bytes);
    struct writer version = writer_of(number, sizeof number);
    writer_decimal(&version, a->store.version);
    sim_put_bytes(&meta, 6, writer_view(&version));
    sim_put_bytes(w, 1, writer_view(&meta));
}

void sim_put_object(struct sim_api *a, const struct sim_stream *s, const struct sim_object *o,
                    struct writer *w)
{
    struct writer raw = writer_of(a->scratch, sizeof a->scratch);
    if (o == NULL) {
        put_bookmark(a, &raw);
    } else {
        put_raw(s, o, &raw);
    }
    ASSERT(!raw.full);
    sim_put_envelope(w, version_of(s),
                     s->partial ? "PartialObjectMetadata" : sim_kind_name(s->target.kind),
                     writer_view(&raw));
}

void sim_answer_object(struct sim_api *a, struct sim_stream *s, unsigned http,
                       const struct sim_object *o)
{
    struct writer w = out_of(s);
    bool other = sim_fault_meets(a, SIM_FAULT_OTHER, s);
    const char *name = a->fault[SIM_FAULT_OTHER].name;
    if (other && name != NULL) {
        struct sim_object renamed = *o;
        text_cut(renamed.name, sizeof renamed.name, view_text(name));
        sim_put_object(a, s, &renamed, &w);
    } else {
        sim_put_object(a, s, other ? sim_other_object(a, o) : o, &w);
    }
    answer(s, http, PROTOBUF, &w);
}

void sim_answer_raw(struct sim_stream *s, unsigned http, const char *api_version, const char *kind,
                    struct view raw)
{
    struct writer w = out_of(s);
    sim_put_envelope(&w, api_version, kind, raw);
    answer(s, http, PROTOBUF, &w);
}

/* --- lists --- */

static bool matches(const char *wanted, struct view value)
{
    return wanted[0] == 0 || view_is(value, wanted);
}

bool sim_selected(const struct sim_api *a, const struct sim_stream *s, const struct sim_object *o)
{
    const struct sim_selector *selector = &s->query.selector;
    if (sim_fault_meets(a, SIM_FAULT_UNSELECTED, s)) {
        return true;
    }
    struct view spec = sim_field_bytes(view_of(o->body, o->body_len), SLICE_SPEC);
    if (!matches(selector->name, view_text(o->name))) {
        return false;
    }
    return o->kind != SIM_SLICE || (matches(selector->driver, sim_field_bytes(spec, SPEC_DRIVER)) &&
                                    matches(selector->node, sim_field_bytes(spec, SPEC_NODE)));
}

/* Whether the object belongs to the list that is asked for. */
static bool is_listed(const struct sim_api *a, const struct sim_stream *s, unsigned i)
{
    const struct sim_object *o = &a->store.object[i];
    return o->state == SIM_LIVE && o->kind == s->target.kind &&
           matches(s->target.ns, view_text(o->ns)) && sim_selected(a, s, o);
}

/* Where the next page begins; the end of the store: there is none. */
static unsigned page_end(const struct sim_api *a, const struct sim_stream *s)
{
    uint64_t items = 0;
    unsigned i = (unsigned)s->query.from;
    for (; i < a->store.top; i++) {
        items += is_listed(a, s, i) ? 1u : 0u;
        if (s->query.limit > 0 && items > s->query.limit) {
            break;
        }
    }
    return i;
}

static void put_list_meta(const struct sim_api *a, const struct sim_stream *s, struct writer *w)
{
    uint8_t bytes[64];
    uint8_t number[20];
    char token[24];
    struct writer meta = writer_of(bytes, sizeof bytes);
    struct writer version = writer_of(number, sizeof number);
    unsigned end = page_end(a, s);
    (void)snprintf(token, sizeof token, "%u", end);
    if (!sim_fault_meets(a, SIM_FAULT_UNVERSIONED, s)) {
        writer_decimal(&version, a->store.version);
    }
    sim_put_text(&meta, LIST_SELF_LINK, "");
    sim_put_bytes(&meta, LIST_VERSION, writer_view(&version));
    sim_put_text(&meta, LIST_CONTINUE,
                 sim_fault_meets(a, SIM_FAULT_PAGED, s) ? "next"
                 : (end < a->store.top)                 ? token
                                                        : "");
    sim_put_bytes(w, LIST_META, writer_view(&meta));
}

static void put_item(const struct sim_stream *s, const struct sim_object *o, struct writer *list)
{
    uint8_t bytes[SIM_REQUEST_BYTES];
    struct writer item = writer_of(bytes, sizeof bytes);
    put_raw(s, o, &item);
    ASSERT(!item.full);
    sim_put_bytes(list, LIST_ITEMS, writer_view(&item));
}

static const char *list_kind(const struct sim_stream *s)
{
    static const char *const names[SIM_KINDS] = {"NodeList", "ResourceClaimList",
                                                 "ResourceSliceList"};
    return s->partial ? "PartialObjectMetadataList" : names[s->target.kind];
}

void sim_answer_list(struct sim_api *a, struct sim_stream *s)
{
    struct writer list = writer_of(a->scratch, sizeof a->scratch);
    struct writer w = out_of(s);
    unsigned end = page_end(a, s);
    put_list_meta(a, s, &list);
    for (unsigned i = (unsigned)s->query.from; i < end; i++) {
        if (is_listed(a, s, i)) {
            put_item(s, &a->store.object[i], &list);
        }
    }
    if (list.full) {
        sim_answer_failure(a, s, 500, "the list has no room in one answer");
        return;
    }
    sim_put_envelope(&w, version_of(s), list_kind(s), writer_view(&list));
    answer(s, 200, PROTOBUF, &w);
}

/* --- discovery: APIGroup of meta/v1 --- */

enum { GROUP_NAME = 1, GROUP_VERSIONS = 2, GROUP_PREFERRED = 3 };
enum { DISCOVERY_GROUP_VERSION = 1, DISCOVERY_VERSION = 2 };

static void put_discovery(struct writer *w, unsigned field, enum sim_version v)
{
    uint8_t bytes[64];
    struct writer d = writer_of(bytes, sizeof bytes);
    sim_put_text(&d, DISCOVERY_GROUP_VERSION, sim_api_version(SIM_SLICE, v));
    sim_put_text(&d, DISCOVERY_VERSION, sim_version_name(v));
    sim_put_bytes(w, field, writer_view(&d));
}

void sim_answer_group(struct sim_api *a, struct sim_stream *s)
{
    struct writer raw = writer_of(a->scratch, sizeof a->scratch);
    struct writer w = out_of(s);
    int preferred = -1;
    sim_put_text(&raw, GROUP_NAME, GROUP);
    for (unsigned v = 0; v < SIM_VERSIONS; v++) {
        if (a->config.serves[v]) {
            put_discovery(&raw, GROUP_VERSIONS, (enum sim_version)v);
            preferred = preferred < 0 ? (int)v : preferred;
        }
    }
    if (preferred < 0) {
        sim_answer_text(s, 404, "404 page not found\n");
        return;
    }
    put_discovery(&raw, GROUP_PREFERRED, (enum sim_version)preferred);
    sim_put_envelope(&w, "v1", "APIGroup", writer_view(&raw));
    answer(s, 200, PROTOBUF, &w);
}
