/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the API server: paths, request headers and the head of an enveloped object.
 * Owns no state; bodies are the caller's.
 */
#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "cfg/identity.h"
#include "wire/kube.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define AS_METADATA ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
/* The last choice lets errors of intermediaries through; their type distinguishes them from
 * responses. */
#define JSON_TOO ",application/json"
#define RESOURCE_PATH KUBE_RESOURCE_GROUP_PATH "/"
#define UINT64_DIGITS 20u

/* --- paths --- */

/* RFC 3986 §2.3: what needs no encoding anywhere in a URI. */
static bool is_unreserved(uint8_t c)
{
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/* RFC 3986 §2.1 */
static void write_encoded(struct writer *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    struct view v = view_text(text);

    for (size_t i = 0; i < v.len; i++) {
        uint8_t c = v.data[i];
        if (is_unreserved(c)) {
            writer_u8(out, c);
        } else {
            writer_u8(out, '%');
            writer_u8(out, (uint8_t)digits[c >> 4]);
            writer_u8(out, (uint8_t)digits[c & 0xfu]);
        }
    }
}

/* A path that did not fit is taken back as a whole. */
static enum status end_path(struct writer *out, struct writer before)
{
    ASSERT(out->data == before.data && out->len >= before.len);
    if (!out->full) {
        return STATUS_OK;
    }
    *out = before;
    return FULL_BUFFER;
}

static void write_watch(struct writer *out, const char *resource_version)
{
    writer_text(out, "&watch=true&allowWatchBookmarks=true&timeoutSeconds=");
    writer_decimal(out, WATCH_SECONDS);
    if (resource_version[0] != '\0') {
        writer_text(out, "&resourceVersion=");
        write_encoded(out, resource_version);
    }
}

static void write_slices(struct writer *out, const char *version)
{
    writer_text(out, RESOURCE_PATH);
    write_encoded(out, version);
    writer_text(out, "/resourceslices");
}

enum status kube_path_node(struct writer *out, const char *node)
{
    struct writer before = *out;

    writer_text(out, "/api/v1/nodes/");
    write_encoded(out, node);
    return end_path(out, before);
}

enum status kube_path_node_watch(struct writer *out, const char *node, const char *resource_version)
{
    struct writer before = *out;

    writer_text(out, "/api/v1/nodes?fieldSelector=metadata.name%3D");
    write_encoded(out, node);
    write_watch(out, resource_version);
    return end_path(out, before);
}

/* An object of a namespace; `collection` with its slashes. */
static void write_namespaced(struct writer *out, const char *ns, const char *collection,
                             const char *name)
{
    writer_text(out, "/namespaces/");
    write_encoded(out, ns);
    writer_text(out, collection);
    write_encoded(out, name);
}

static void write_claim(struct writer *out, const char *version, const char *ns, const char *name)
{
    writer_text(out, RESOURCE_PATH);
    write_encoded(out, version);
    write_namespaced(out, ns, "/resourceclaims/", name);
}

enum status kube_path_claim(struct writer *out, const char *version, const char *ns,
                            const char *name)
{
    struct writer before = *out;

    write_claim(out, version, ns, name);
    return end_path(out, before);
}

enum status kube_path_claim_status(struct writer *out, const char *version, const char *ns,
                                   const char *name)
{
    struct writer before = *out;

    write_claim(out, version, ns, name);
    writer_text(out, "/status?fieldManager=" DRIVER_NAME "&force=true");
    return end_path(out, before);
}

enum status kube_path_event(struct writer *out, const char *ns, const char *name)
{
    struct writer before = *out;

    writer_text(out, "/apis/" KUBE_EVENTS_VERSION);
    write_namespaced(out, ns, (name == NULL) ? "/events" : "/events/", (name == NULL) ? "" : name);
    return end_path(out, before);
}

enum status kube_path_slices(struct writer *out, const char *version, const char *driver,
                             const char *node, const char *resource_version)
{
    struct writer before = *out;

    write_slices(out, version);
    writer_text(out, "?fieldSelector=spec.driver%3D");
    write_encoded(out, driver);
    writer_text(out, "%2Cspec.nodeName%3D");
    write_encoded(out, node);
    if (resource_version != NULL) {
        write_watch(out, resource_version);
    }
    return end_path(out, before);
}

enum status kube_path_slice(struct writer *out, const char *version, const char *name)
{
    struct writer before = *out;

    write_slices(out, version);
    if (name != NULL) {
        writer_u8(out, '/');
        write_encoded(out, name);
    }
    return end_path(out, before);
}

/* --- headers --- */

static void send_header(struct h2 *c, const char *name, const char *value)
{
    h2_header(c, name, view_text(value), false);
}

/*
 * Kubernetes API concepts, "Alternate representations of resources": types in order of preference.
 * An object that cannot be had as metadata alone still comes as a whole.
 */
static const char *accept_of(const struct kube_request *r)
{
    if (r->metadata_only) {
        return r->watch ? PROTOBUF AS_METADATA ";stream=watch," PROTOBUF AS_METADATA JSON_TOO
                        : PROTOBUF AS_METADATA "," PROTOBUF JSON_TOO;
    }
    return r->watch ? PROTOBUF ";stream=watch," PROTOBUF JSON_TOO : PROTOBUF JSON_TOO;
}

/* RFC 6750 §2.1. Never indexed: RFC 7541 §7.1.3. */
static void send_token(struct h2 *c, struct view token)
{
    uint8_t space[sizeof "Bearer " + TOKEN_CAP];
    struct writer value = writer_of(space, sizeof space);

    ASSERT(token.len < TOKEN_CAP);
    if (token.len == 0u) {
        return;
    }
    writer_text(&value, "Bearer ");
    writer_append(&value, token);
    ASSERT(!value.full);
    h2_header(c, "authorization", writer_view(&value), true);
}

enum status kube_request_send(struct h2 *c, uint32_t stream, const struct kube_request *r)
{
    uint8_t digits[UINT64_DIGITS];
    struct writer length = writer_of(digits, sizeof digits);

    ASSERT(r->method != NULL && r->path.len > 0u && r->authority.len > 0u);
    h2_headers_begin(c, stream);
    send_header(c, ":method", r->method);
    send_header(c, ":scheme", "https");
    h2_header(c, ":authority", r->authority, false);
    h2_header(c, ":path", r->path, false);
    send_header(c, "accept", accept_of(r));
    send_header(c, "user-agent", AGENT_NAME "/" AGENT_VERSION);
    send_token(c, r->token);
    if (r->has_body) {
        writer_decimal(&length, r->body_len);
        send_header(c, "content-type", (r->body_type == NULL) ? PROTOBUF : r->body_type);
        h2_header(c, "content-length", writer_view(&length), false);
    }
    return h2_headers_end(c, !r->has_body);
}

/* --- envelope --- */

static size_t varint_size(uint64_t value)
{
    size_t n = 1;

    for (uint64_t rest = value; rest >= 0x80u; rest >>= 7) {
        n++;
    }
    return n;
}

static void write_text_field(struct writer *out, uint8_t tag, const char *text)
{
    struct view v = view_text(text);

    writer_u8(out, tag);
    writer_varint(out, v.len);
    writer_append(out, v);
}

/* runtime.Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw}, all length-delimited. */
void kube_envelope_head(struct writer *out, const char *api_version, const char *kind,
                        uint64_t raw_len)
{
    uint64_t version_len = strlen(api_version);
    uint64_t kind_len = strlen(kind);
    uint64_t type_meta_len =
        2u + varint_size(version_len) + version_len + varint_size(kind_len) + kind_len;

    writer_bytes(out, "k8s\0", 4);
    writer_u8(out, 0x0a);
    writer_varint(out, type_meta_len);
    write_text_field(out, 0x0a, api_version);
    write_text_field(out, 0x12, kind);
    writer_u8(out, 0x12);
    writer_varint(out, raw_len);
}

/* --- Events --- */

static void write_message(struct writer *out, uint8_t tag, const struct writer *message)
{
    ASSERT(!message->full);
    writer_u8(out, tag);
    writer_varint(out, message->len);
    writer_append(out, writer_view(message));
}

/* meta/v1 MicroTime{1: seconds, 2: nanos}. */
static void write_micro_time(struct writer *out, uint8_t tag, uint64_t wall_ms)
{
    uint8_t bytes[24];
    struct writer time = writer_of(bytes, sizeof bytes);

    writer_u8(&time, 0x08);
    writer_varint(&time, wall_ms / 1000u);
    writer_u8(&time, 0x10);
    writer_varint(&time, wall_ms % 1000u * 1000000u);
    write_message(out, tag, &time);
}

/* core/v1 ObjectReference{1: kind, 2: namespace, 3: name, 4: uid, 5: apiVersion}. */
static void write_regarding(struct writer *out, const struct kube_event *e)
{
    uint8_t bytes[KUBE_REFERENCE_BYTES_MAX];
    struct writer reference = writer_of(bytes, sizeof bytes);

    write_text_field(&reference, 0x0a, e->kind);
    write_text_field(&reference, 0x12, e->regarding_ns);
    write_text_field(&reference, 0x1a, e->regarding_name);
    write_text_field(&reference, 0x22, e->regarding_uid);
    write_text_field(&reference, 0x2a, e->api_version);
    write_message(out, 0x42, &reference);
}

/* EventSeries{1: count, 2: lastObservedTime}. */
static void write_series(struct writer *out, const struct kube_event *e)
{
    uint8_t bytes[40];
    struct writer series = writer_of(bytes, sizeof bytes);

    writer_u8(&series, 0x08);
    writer_varint(&series, e->count);
    write_micro_time(&series, 0x12, e->last_wall_ms);
    write_message(out, 0x1a, &series);
}

void kube_event_write(struct writer *out, const struct kube_event *e)
{
    uint8_t bytes[KUBE_REFERENCE_BYTES_MAX];
    struct writer meta = writer_of(bytes, sizeof bytes);

    write_text_field(&meta, 0x0a, e->name);
    write_text_field(&meta, 0x1a, e->ns);
    write_message(out, 0x0a, &meta);
    write_micro_time(out, 0x12, e->first_wall_ms);
    if (e->count > 1u) {
        write_series(out, e);
    }
    write_text_field(out, 0x22, DRIVER_NAME);
    write_text_field(out, 0x2a, e->instance);
    write_text_field(out, 0x32, e->action);
    write_text_field(out, 0x3a, e->reason);
    write_regarding(out, e);
    write_text_field(out, 0x52, e->note);
    write_text_field(out, 0x5a, e->warning ? "Warning" : "Normal");
}
