/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks: header fields, path and query. See sim_api_internal.h. */
#include <string.h>

#include "base/assert.h"
#include "tests/sim/apiserver/sim_api_internal.h"
#include "tests/sim/sim_percent.h"

#define GROUP "resource.k8s.io"
#define EVENTS_GROUP "events.k8s.io"
#define PROTOBUF "application/vnd.kubernetes.protobuf"

static const char *const versions[SIM_VERSIONS] = {"v1", "v1beta2", "v1beta1"};
static const char *const api_versions[SIM_VERSIONS] = {GROUP "/v1", GROUP "/v1beta2",
                                                       GROUP "/v1beta1"};
static const char *const resources[SIM_KINDS] = {"nodes", "resourceclaims", "resourceslices"};
static const char *const kinds[SIM_KINDS] = {"Node", "ResourceClaim", "ResourceSlice"};

const char *sim_version_name(enum sim_version version)
{
    ASSERT(version < SIM_VERSIONS);
    return versions[version];
}

const char *sim_resource_of(enum sim_kind kind)
{
    ASSERT(kind < SIM_KINDS);
    return resources[kind];
}

const char *sim_kind_name(enum sim_kind kind)
{
    ASSERT(kind < SIM_KINDS);
    return kinds[kind];
}

const char *sim_api_version(enum sim_kind kind, enum sim_version version)
{
    ASSERT(version < SIM_VERSIONS);
    return kind == SIM_NODE ? "v1" : api_versions[version];
}

/* --- header fields --- */

static void read_authorization(const struct sim_api *a, struct sim_stream *s, struct view value)
{
    static const char scheme[] = "Bearer ";
    bool bearer = view_starts(value, scheme);
    s->authorised =
        s->authorised || (bearer && view_is(view_from(value, sizeof scheme - 1), a->config.token));
}

/* RFC 9110 §12.5.1 without weights: the forms that a Kubernetes client sends, in its order. */
static void read_accept(struct sim_stream *s, struct view value)
{
    while (value.len > 0) {
        size_t comma = view_find(value, ',');
        struct view type = view_trim(view_first(value, comma));
        value = view_from(value, comma + 1);
        if (view_starts(type, PROTOBUF) && !s->protobuf) {
            s->protobuf = true;
            s->partial = view_starts(type, PROTOBUF ";as=PartialObjectMetadata;");
        } else if (view_starts(type, "application/json") || view_starts(type, "*/*")) {
            s->json = true;
        }
    }
}

void sim_field_read(const struct sim_api *a, struct sim_stream *s, struct view name,
                    struct view value)
{
    if (view_is(name, ":method")) {
        text_cut(s->method, sizeof s->method, value);
    } else if (view_is(name, ":path")) {
        s->path_cut = text_copy(s->path, sizeof s->path, value) != STATUS_OK;
    } else if (view_is(name, "authorization")) {
        read_authorization(a, s, value);
    } else if (view_is(name, "accept")) {
        text_cut(s->accept, sizeof s->accept, value);
        read_accept(s, value);
    } else if (view_is(name, "content-type")) {
        text_cut(s->type, sizeof s->type, value);
        s->body_protobuf = view_starts(value, PROTOBUF);
        s->body_patch = view_starts(value, "application/apply-patch+yaml") ||
                        view_starts(value, "application/merge-patch+json") ||
                        view_starts(value, "application/strategic-merge-patch+json");
    }
}

/* --- percent-encoding, RFC 3986 §2.1 --- */

static bool decoded(struct view v, char *out, size_t cap)
{
    struct writer w = writer_of(out, cap);
    for (size_t i = 0; i < v.len; i++) {
        if (v.data[i] != '%') {
            writer_u8(&w, v.data[i]);
            continue;
        }
        int octet = sim_percent_octet(view_from(v, i));
        if (octet < 0) {
            return false;
        }
        writer_u8(&w, (uint8_t)octet);
        i += 2;
    }
    return writer_end_text(&w) == STATUS_OK;
}

/* --- query --- */

/* First part of `rest` up to the byte, taken off it. */
static struct view part(struct view *rest, uint8_t byte)
{
    size_t at = view_find(*rest, byte);
    struct view first = view_first(*rest, at);
    *rest = view_from(*rest, at + 1);
    return first;
}

static void read_selector(struct sim_query *q, struct view text)
{
    char plain[KUBE_PATH_CAP];
    q->wrong = q->wrong || !decoded(text, plain, sizeof plain);
    struct view rest = q->wrong ? view_of(NULL, 0) : view_text(plain);
    while (rest.len > 0) {
        struct view term = part(&rest, ',');
        struct view key = part(&term, '=');
        enum status s = PEER_UNSUPPORTED;
        if (view_is(key, "spec.driver")) {
            s = text_copy(q->selector.driver, sizeof q->selector.driver, term);
        } else if (view_is(key, "spec.nodeName")) {
            s = text_copy(q->selector.node, sizeof q->selector.node, term);
        } else if (view_is(key, "metadata.name")) {
            s = text_copy(q->selector.name, sizeof q->selector.name, term);
        }
        q->wrong = q->wrong || s != STATUS_OK;
    }
}

static void read_page(struct sim_query *q, struct view key, struct view value)
{
    if (view_is(key, "limit")) {
        q->wrong = q->wrong || view_decimal(value, UINT32_MAX, &q->limit) != STATUS_OK;
    } else if (view_is(key, "continue")) {
        q->wrong = q->wrong || view_decimal(value, SIM_OBJECTS_MAX, &q->from) != STATUS_OK;
    }
}

static void read_parameter(struct sim_query *q, struct view key, struct view value)
{
    uint64_t number = 0;
    if (view_is(key, "fieldSelector")) {
        read_selector(q, value);
    } else if (view_is(key, "watch")) {
        q->watch = view_is(value, "true") || view_is(value, "1");
    } else if (view_is(key, "allowWatchBookmarks")) {
        q->bookmarks = view_is(value, "true");
    } else if (view_is(key, "resourceVersion") && value.len > 0) {
        q->wrong = q->wrong || view_decimal(value, UINT64_MAX, &q->version) != STATUS_OK;
        q->has_version = true;
    } else if (view_is(key, "timeoutSeconds")) {
        q->wrong = q->wrong || view_decimal(value, SIM_WATCH_MAX_MS / 1000, &number) != STATUS_OK;
        q->timeout_ms = number * 1000;
    }
}

/* --- path --- */

struct segments {
    struct view at[SIM_SEGMENTS_MAX];
    unsigned count;
    bool more;
};

static struct segments split(struct view path)
{
    struct segments s = {.count = 0};
    path = view_from(path, 1);
    while (path.len > 0 && s.count < SIM_SEGMENTS_MAX) {
        s.at[s.count++] = part(&path, '/');
    }
    s.more = path.len > 0;
    return s;
}

static bool read_version(const struct sim_api *a, struct view segment, struct sim_target *t)
{
    for (unsigned v = 0; v < SIM_VERSIONS; v++) {
        if (a->config.serves[v] && view_is(segment, versions[v])) {
            t->version = (enum sim_version)v;
            return true;
        }
    }
    return false;
}

/* "resource" or "resource/name" at the end of a path. */
static bool read_tail(const struct segments *s, unsigned from, enum sim_kind kind,
                      struct sim_target *t)
{
    if (s->count <= from || s->count > from + 2 || !view_is(s->at[from], resources[kind])) {
        return false;
    }
    t->kind = kind;
    t->what = SIM_TARGET_OBJECTS;
    return s->count == from + 1 || decoded(s->at[from + 1], t->name, sizeof t->name);
}

static bool read_claim(const struct segments *s, struct sim_target *t)
{
    struct segments claim = *s;
    bool status = s->count == 8 && view_is(s->at[7], "status");
    claim.count -= status ? 1 : 0;
    if (!decoded(s->at[4], t->ns, sizeof t->ns) || !read_tail(&claim, 5, SIM_CLAIM, t)) {
        return false;
    }
    t->what = status ? SIM_TARGET_CLAIM_STATUS : SIM_TARGET_OBJECTS;
    return true;
}

static bool read_group(const struct sim_api *a, const struct segments *s, struct sim_target *t)
{
    if (s->count == 2) {
        t->what = SIM_TARGET_GROUP;
        return true;
    }
    if (!read_version(a, s->at[2], t)) {
        return false;
    }
    if (s->count > 4 && view_is(s->at[3], "namespaces")) {
        return read_claim(s, t);
    }
    return read_tail(s, 3, SIM_SLICE, t) || (s->count == 4 && read_tail(s, 3, SIM_CLAIM, t));
}

/* .../v1/namespaces/NAMESPACE/events, and one of them. */
static bool read_events(const struct segments *s, struct sim_target *t)
{
    bool named = (s->count == 6 || s->count == 7) && view_is(s->at[2], "v1") &&
                 view_is(s->at[3], "namespaces") && view_is(s->at[5], "events");
    t->what = SIM_TARGET_EVENTS;
    return named && decoded(s->at[4], t->ns, sizeof t->ns) &&
           (s->count == 6 || decoded(s->at[6], t->name, sizeof t->name));
}

static bool read_target(const struct sim_api *a, struct view path, struct sim_target *t)
{
    struct segments s = split(path);
    if (s.more || s.count < 2) {
        return false;
    }
    if (view_is(s.at[0], "api") && view_is(s.at[1], "v1")) {
        return read_tail(&s, 2, SIM_NODE, t);
    }
    if (view_is(s.at[0], "apis") && view_is(s.at[1], EVENTS_GROUP)) {
        return read_events(&s, t);
    }
    return view_is(s.at[0], "apis") && view_is(s.at[1], GROUP) && read_group(a, &s, t);
}

void sim_path_read(const struct sim_api *a, struct sim_stream *s)
{
    struct view query = view_text(s->path);
    struct view path = part(&query, '?');
    if (s->path_cut || !read_target(a, path, &s->target)) {
        s->target.what = SIM_TARGET_NONE;
    }
    while (query.len > 0) {
        struct view value = part(&query, '&');
        struct view key = part(&value, '=');
        read_parameter(&s->query, key, value);
        read_page(&s->query, key, value);
    }
}
