/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes API in protobuf: chooses the rules with which kube_filter.c reads an object, parses
 * one response (headers, watch frames), and writes requests (paths, headers, envelopes, Events).
 * The caller writes all other parts of request bodies.
 */
#include "wire/kube.h"

#include <string.h>

#include "base/assert.h"
#include "base/chars.h"
#include "base/crc32c.h"
#include "cfg/identity.h"
#include "generated/projection.pb.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define HTTP_STATUS_MAX 999u
/*
 * Last media type of Accept, because errors of intermediaries, such as proxies, may be JSON. The
 * content-type of a response distinguishes these errors from objects of the API server.
 */
#define JSON_TOO ",application/json"
#define RESOURCE_PATH KUBE_RESOURCE_GROUP_PATH "/"
#define UINT64_DIGITS 20u

/* --- rules of the field filter for each shape of response --- */

/*
 * Asserts that a text member of a record has exactly the size that cfg/limits.h gives for its
 * value. The record can then hold every allowed value, and the rules keep no more bytes than the
 * member can hold.
 */
#define ROOM(message, member, cap)                                                                 \
    _Static_assert(sizeof(((message *)0)->member) == (cap),                                        \
                   "max_length of proto/projection.proto and cfg/limits.h agree")
ROOM(projection_StatusRecord, message, KUBE_MESSAGE_CAP);
ROOM(projection_StatusRecord, details_name, NAME_CAP);
ROOM(projection_MetaRecord, name, NAME_CAP);
ROOM(projection_MetaRecord, generate_name, NAME_CAP);
ROOM(projection_MetaRecord, namespace, NAMESPACE_CAP);
ROOM(projection_MetaRecord, uid, UID_CAP);
ROOM(projection_MetaRecord, owner_uid, UID_CAP);
ROOM(projection_MetaRecord, resource_version, RESOURCE_VERSION_CAP);
ROOM(projection_NodeInfoRecord, kubelet_version, KUBELET_VERSION_CAP);
ROOM(projection_ResultRecord, request, REQUEST_CAP);
ROOM(projection_ResultRecord, driver, DRIVER_CAP);
ROOM(projection_ResultRecord, pool, NAME_CAP);
ROOM(projection_ResultRecord, device, DEVICE_NAME_CAP);
ROOM(projection_ConfigRecord, driver, DRIVER_CAP);
ROOM(projection_ConsumerRecord, name, NAME_CAP);
ROOM(projection_ConsumerRecord, uid, UID_CAP);
ROOM(projection_AttributeRecord, key, ATTRIBUTE_KEY_CAP);
ROOM(projection_AttributeRecord, string_value, ATTRIBUTE_VALUE_CAP);
ROOM(projection_AttributeRecord, version_value, ATTRIBUTE_VALUE_CAP);
ROOM(projection_DeviceRecord, name, DEVICE_NAME_CAP);
ROOM(projection_SliceSpecRecord, driver, DRIVER_CAP);
ROOM(projection_SliceSpecRecord, pool_name, NAME_CAP);
ROOM(projection_SliceSpecRecord, node_name, NAME_CAP);
ROOM(projection_ListMetaRecord, resource_version, RESOURCE_VERSION_CAP);
ROOM(projection_ListMetaRecord, continue_token, CONTINUE_CAP);

static const struct kube_rule any_rows[] = {KUBE_ROWS_ANY};
static const struct kube_rule status_rows[] = {KUBE_ROWS_STATUS};
static const struct kube_rule group_rows[] = {KUBE_ROWS_APIGROUP};
static const struct kube_rule node_rows[] = {KUBE_ROWS_NODE};
static const struct kube_rule claim_rows[] = {KUBE_ROWS_RESOURCE_CLAIM};
static const struct kube_rule claim_list_rows[] = {KUBE_ROWS_RESOURCE_CLAIM_LIST};
static const struct kube_rule slice_rows[] = {KUBE_ROWS_RESOURCE_SLICE};
static const struct kube_rule beta_slice_rows[] = {KUBE_ROWS_RESOURCE_SLICE_V1BETA1};
static const struct kube_rule list_rows[] = {KUBE_ROWS_RESOURCE_SLICE_LIST};
static const struct kube_rule beta_list_rows[] = {KUBE_ROWS_RESOURCE_SLICE_LIST_V1BETA1};

#define TABLE(rows) {(rows), (uint8_t)(sizeof(rows) / sizeof(rows)[0]), KUBE_ROOT}
#define SHAPES ((unsigned)KUBE_SHAPE_CLAIM_LIST + 1u)
#define BETA_SHAPES ((unsigned)KUBE_SHAPE_SLICE_WATCH + 1u)

static const struct kube_rules status_table = TABLE(status_rows);

static const struct kube_rules shape_tables[SHAPES] = {
    [KUBE_SHAPE_NODE] = TABLE(node_rows),
    [KUBE_SHAPE_CLAIM] = TABLE(claim_rows),
    [KUBE_SHAPE_SLICE] = TABLE(slice_rows),
    [KUBE_SHAPE_SLICE_LIST] = TABLE(list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(slice_rows),
    [KUBE_SHAPE_NODE_WATCH] = TABLE(node_rows),
    [KUBE_SHAPE_STATUS] = TABLE(any_rows),
    [KUBE_SHAPE_GROUP] = TABLE(group_rows),
    [KUBE_SHAPE_CLAIM_LIST] = TABLE(claim_list_rows),
};

/* Tables of rules for responses of v1beta1, for the shapes whose rules differ from those of v1. */
static const struct kube_rules beta_tables[BETA_SHAPES] = {
    [KUBE_SHAPE_SLICE] = TABLE(beta_slice_rows),
    [KUBE_SHAPE_SLICE_LIST] = TABLE(beta_list_rows),
    [KUBE_SHAPE_SLICE_WATCH] = TABLE(beta_slice_rows),
};

struct kube_rules kube_rules_of(enum kube_shape shape, bool framed, struct view kind,
                                struct view api_version)
{
    struct kube_rules rules;

    ASSERT((unsigned)shape < sizeof shape_tables / sizeof shape_tables[0]);
    rules = shape_tables[shape];
    if (view_is(kind, "Status")) {
        rules = status_table;
    } else if (view_ends(api_version, "/v1beta1") && shape <= KUBE_SHAPE_SLICE_WATCH &&
               beta_tables[shape].rules != NULL) {
        rules = beta_tables[shape];
    }
    rules.top = framed ? KUBE_ROOT : KUBE_ROW_ENVELOPE;
    return rules;
}

/* --- starting to parse a response --- */

/* Values of `phase` in struct kube_response. */
enum {
    PHASE_START,  /* no byte of the body has been read */
    PHASE_OBJECT, /* the body is a single object without frames; the object is arriving */
    PHASE_PREFIX, /* the body consists of watch frames; the length prefix of one is arriving */
    PHASE_FRAME,  /* the length prefix of a watch frame is complete; its message is arriving */
    PHASE_TEXT    /* the body is not protobuf; its text is arriving */
};

static bool shape_is_watch(enum kube_shape shape)
{
    return shape == KUBE_SHAPE_SLICE_WATCH || shape == KUBE_SHAPE_NODE_WATCH;
}

void kube_response_init(struct kube_response *r, enum kube_shape shape)
{
    ASSERT((unsigned)shape < SHAPES);
    r->shape = shape;
    r->http_status = 0;
    r->is_protobuf = false;
    r->retry_after_s = 0;
    r->message[0] = '\0';
    r->message_len = 0;
    r->message_ended = false;
    r->failed = STATUS_OK;
    r->phase = PHASE_START;
    r->prefix_have = 0;
}

/* --- parsing the header of a response --- */

static void parse_status(struct kube_response *r, struct view value)
{
    uint64_t status = 0;

    r->is_protobuf = false;
    r->retry_after_s = 0;
    r->http_status = 0;
    /* Ignores interim responses (1xx), which precede the final response (RFC 9110 §15.2). */
    if (view_decimal(value, HTTP_STATUS_MAX, &status) == STATUS_OK && status >= HTTP_OK) {
        r->http_status = (uint16_t)status;
    }
}

static void parse_content_type(struct kube_response *r, struct view value)
{
    struct view type = view_trim(view_first(value, view_find(value, ';')));

    r->is_protobuf = view_is(type, PROTOBUF);
}

/* Returns the seconds that Retry-After holds (RFC 9110 §10.2.3), or 0 if it holds a date. */
static uint32_t retry_after(struct view value)
{
    uint64_t seconds = 0;

    if (view_decimal(value, UINT32_MAX, &seconds) == STATUS_OK) {
        return (uint32_t)seconds;
    }
    bool large = value.len >= 10u && is_digit(value.data[0]);
    return large ? UINT32_MAX : 0u;
}

void kube_response_field(struct kube_response *r, struct view name, struct view value)
{
    ASSERT(r->phase <= PHASE_TEXT);
    if (r->phase != PHASE_START) {
        return;
    }
    if (view_is(name, ":status")) {
        parse_status(r, value);
    } else if (view_is(name, "content-type")) {
        parse_content_type(r, value);
    } else if (view_is(name, "retry-after")) {
        r->retry_after_s = retry_after(value);
    }
}

/* --- parsing a response body that is not protobuf --- */

static void keep_text_byte(struct kube_response *r, uint8_t byte)
{
    bool ends = byte == '\n' || byte == '\r';

    if (ends || r->message_len + 1u >= sizeof r->message) {
        r->message_ended = r->message_len > 0u;
        return;
    }
    r->message[r->message_len] = '?';
    if (is_printable(byte)) {
        r->message[r->message_len] = (char)byte;
    }
    r->message_len++;
    r->message[r->message_len] = '\0';
}

static enum status consume_text(struct kube_response *r, struct reader *in)
{
    struct view bytes = {0};
    enum status taken = reader_consume(in, reader_left(in), &bytes);

    ASSERT(taken == STATUS_OK);
    ASSERT(r->message_len < sizeof r->message);
    for (size_t i = 0; i < bytes.len && !r->message_ended; i++) {
        keep_text_byte(r, bytes.data[i]);
    }
    /*
     * A response with a success status never has a text body (see kube_response_end): fail now,
     * before the body ends.
     */
    return (r->http_status <= HTTP_OK_LAST) ? PEER_MALFORMED : STATUS_MORE;
}

/* --- parsing a response body in protobuf --- */

/*
 * Finds the last text field with the number `field` in a record of text fields; empty: none. Stops
 * at a field of another wire type.
 */
static struct view record_text(struct view message, uint64_t field)
{
    struct reader in = reader_of(message);
    struct view found = {0};
    struct view text = {0};
    uint64_t tag = 0;
    uint64_t len = 0;

    while (reader_varint(&in, &tag) == STATUS_OK && (tag & 7u) == 2u &&
           reader_varint(&in, &len) == STATUS_OK &&
           reader_consume(&in, (size_t)len, &text) == STATUS_OK) {
        if (tag >> 3 == field) {
            found = text;
        }
    }
    return found;
}

/*
 * Chooses the rules of the field filter anew once an object's type is known, because Status objects
 * and older API versions have their own rules.
 */
static void choose_rules(struct kube_response *r, struct view type_meta)
{
    bool framed = r->phase == PHASE_FRAME;
    struct view api_version = record_text(type_meta, 1);
    struct view kind = record_text(type_meta, 2);

    kube_filter_switch(&r->filter, kube_rules_of(r->shape, framed, kind, api_version));
}

static void begin_object(struct kube_response *r, bool framed, uint64_t length)
{
    struct view unknown = {0};

    kube_filter_init(&r->filter, kube_rules_of(r->shape, framed, unknown, unknown), length);
    r->phase = framed ? PHASE_FRAME : PHASE_OBJECT;
}

static void begin_body(struct kube_response *r)
{
    ASSERT(r->phase == PHASE_START);
    if (!r->is_protobuf) {
        r->phase = PHASE_TEXT;
    } else if (shape_is_watch(r->shape) && r->http_status == HTTP_OK) {
        r->phase = PHASE_PREFIX;
    } else {
        begin_object(r, false, UINT64_MAX);
    }
}

/*
 * Consumes the four-byte length of a watch frame. STATUS_OK: the length is complete, and the
 * frame's object has begun.
 */
static enum status consume_prefix(struct kube_response *r, struct reader *in)
{
    struct reader prefix = reader_of(view_of(r->prefix, sizeof r->prefix));
    uint32_t length = 0;
    enum status st;

    while (r->prefix_have < sizeof r->prefix) {
        st = reader_u8(in, &r->prefix[r->prefix_have]);
        if (st != STATUS_OK) {
            return st;
        }
        r->prefix_have++;
    }
    st = reader_u32(&prefix, &length);
    ASSERT(st == STATUS_OK);
    if (length > KUBE_WATCH_FRAME_MAX) {
        return PEER_MALFORMED;
    }
    r->prefix_have = 0;
    begin_object(r, true, length);
    return STATUS_OK;
}

static enum status consume_object(struct kube_response *r, struct reader *in,
                                  struct kube_record *record)
{
    enum status st = kube_filter_next(&r->filter, in, record);

    if (st == STATUS_OK && record->record == KUBE_TYPE_META) {
        choose_rules(r, record->message);
    }
    return st;
}

/*
 * Consumes watch frames until a record is complete. The loop terminates, because each
 * iteration consumes the four-byte prefix or the bytes of one frame.
 */
static enum status consume_frames(struct kube_response *r, struct reader *in,
                                  struct kube_record *record)
{
    enum status st = STATUS_OK;

    while (st == STATUS_OK) {
        if (r->phase == PHASE_PREFIX) {
            st = consume_prefix(r, in);
            continue;
        }
        st = consume_object(r, in, record);
        if (st != STATUS_MORE || !kube_filter_done(&r->filter)) {
            return st;
        }
        r->phase = PHASE_PREFIX;
        st = STATUS_OK;
    }
    return st;
}

enum status kube_response_next(struct kube_response *r, struct reader *in,
                               struct kube_record *record)
{
    enum status st;

    ASSERT(r->phase <= PHASE_TEXT);
    if (r->failed != STATUS_OK) {
        return r->failed;
    }
    if (r->phase == PHASE_START && reader_left(in) > 0u) {
        begin_body(r);
    }
    switch (r->phase) {
    case PHASE_START:
        return STATUS_MORE;
    case PHASE_TEXT:
        st = consume_text(r, in);
        break;
    case PHASE_OBJECT:
        st = consume_object(r, in, record);
        break;
    default:
        st = consume_frames(r, in, record);
        break;
    }
    r->failed = (st == STATUS_MORE) ? STATUS_OK : st;
    return st;
}

enum status kube_response_end(struct kube_response *r)
{
    /*
     * An API server sends an object with every success. A success with a text body, such as one
     * from a proxy, must not be mistaken for an empty list.
     */
    bool success = http_is_success(r->http_status);
    bool whole = true;

    if (r->failed != STATUS_OK) {
        return r->failed;
    }
    switch (r->phase) {
    case PHASE_START:
        whole = r->is_protobuf ? shape_is_watch(r->shape) && r->http_status == HTTP_OK : !success;
        break;
    case PHASE_OBJECT:
        whole = kube_filter_end(&r->filter) == STATUS_OK;
        break;
    case PHASE_PREFIX:
        whole = r->prefix_have == 0u;
        break;
    case PHASE_FRAME:
        whole = false;
        break;
    default:
        ASSERT(r->phase == PHASE_TEXT);
        whole = !success;
        break;
    }
    if (!whole) {
        r->failed = PEER_MALFORMED;
    }
    return r->failed;
}

/* --- writing the path of a request --- */

/* RFC 3986 §2.3: characters that need no encoding anywhere in a URI. */
static bool is_unreserved(uint8_t c)
{
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/* Writes the text percent-encoded, RFC 3986 §2.1. */
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

/* Ends a path. FULL_BUFFER: the path did not fit; `out` is reset to `before`. */
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
    WRITE(out, "&watch=true&allowWatchBookmarks=true&timeoutSeconds=%", NUMBER(WATCH_SECONDS));
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

/* Writes a path below a namespace: `collection`, such as "/resourceclaims/", then `name`. */
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

enum status kube_path_claims(struct writer *out, const char *version, const char *continue_token)
{
    struct writer before = *out;

    writer_text(out, RESOURCE_PATH);
    write_encoded(out, version);
    WRITE(out, "/resourceclaims?limit=%", NUMBER(CLAIM_LIST_PAGE));
    if (continue_token != NULL) {
        writer_text(out, "&continue=");
        write_encoded(out, continue_token);
    }
    return end_path(out, before);
}

/*
 * Writes the name of the field manager. Server-side apply removes fields that the same manager
 * applied earlier and now omits. Several nodes may apply to one claim, so each node has its own
 * manager name. A name has at most 128 bytes (metav1 FieldManagerMaxLength); a checksum replaces
 * the end of a longer name.
 */
static void write_manager(struct writer *out, const struct kube_manager *manager)
{
    const char *node = manager->node;
    char shown[MANAGER_NODE_CAP];
    size_t len = strlen(manager->driver);
    size_t over = (len > sizeof DRIVER_NAME - 1u) ? len - (sizeof DRIVER_NAME - 1u) : 0u;

    ASSERT(len < DRIVER_CAP);
    text_cut(shown, sizeof shown - over, view_text(node));
    write_encoded(out, manager->driver);
    writer_text(out, "-");
    write_encoded(out, shown);
    if (strlen(shown) < strlen(node)) {
        writer_text(out, "-");
        writer_hex(out, crc32c(0, view_text(node)), 8);
    }
}

enum status kube_path_claim_status(struct writer *out, const char *version, const char *ns,
                                   const char *name, const struct kube_manager *manager)
{
    struct writer before = *out;

    write_claim(out, version, ns, name);
    writer_text(out, "/status?fieldManager=");
    write_manager(out, manager);
    writer_text(out, "&force=true");
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

/* --- writing the headers of a request --- */

/*
 * Returns the value of Accept: media types in order of preference (Kubernetes API concepts,
 * "Alternate representations of resources").
 */
static const char *accept_of(const struct kube_request *r)
{
    return r->watch ? PROTOBUF ";stream=watch," PROTOBUF JSON_TOO : PROTOBUF JSON_TOO;
}

/* Sends the bearer token (RFC 6750 §2.1) as a never-indexed field (RFC 7541 §7.1.3). */
static void send_token(struct h2 *c, struct view token)
{
    uint8_t space[sizeof "Bearer " + TOKEN_CAP];
    struct writer value = writer_of(space, sizeof space);

    ASSERT(token.len < TOKEN_CAP);
    if (token.len == 0u) {
        return;
    }
    WRITE(&value, "Bearer %", VIEW(token));
    ASSERT(!value.full);
    h2_header(c, "authorization", writer_view(&value), true);
    explicit_bzero(space, sizeof space);
}

enum status kube_request_send(struct h2 *c, uint32_t stream, const struct kube_request *r)
{
    uint8_t digits[UINT64_DIGITS];
    struct writer length = writer_of(digits, sizeof digits);

    ASSERT(r->method != NULL && r->path.len > 0u && r->authority.len > 0u);
    h2_headers_begin(c, stream);
    h2_header_text(c, ":method", r->method);
    h2_header_text(c, ":scheme", "https");
    h2_header(c, ":authority", r->authority, false);
    h2_header(c, ":path", r->path, false);
    h2_header_text(c, "accept", accept_of(r));
    h2_header_text(c, "user-agent", AGENT_NAME "/" AGENT_VERSION);
    send_token(c, r->token);
    if (r->has_body) {
        writer_decimal(&length, r->body_len);
        h2_header_text(c, "content-type", (r->body_type == NULL) ? PROTOBUF : r->body_type);
        h2_header(c, "content-length", writer_view(&length), false);
    }
    return h2_headers_end(c, !r->has_body);
}

/* --- writing the envelope of an object --- */

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

/*
 * Layout of the envelope: runtime.Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw}, all
 * length-delimited.
 */
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

/* --- writing an Event --- */

static void write_message(struct writer *out, uint8_t tag, const struct writer *message)
{
    ASSERT(!message->full);
    writer_u8(out, tag);
    writer_varint(out, message->len);
    writer_append(out, writer_view(message));
}

/* Writes a meta/v1 MicroTime{1: seconds, 2: nanos}. */
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

/* Writes a core/v1 ObjectReference{1: kind, 2: namespace, 3: name, 4: uid, 5: apiVersion}. */
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

/* Writes an events.k8s.io/v1 EventSeries{1: count, 2: lastObservedTime}. */
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
