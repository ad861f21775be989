/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the publisher's requests: the wanted slice, or the preconditions of a delete, in the
 * API server's protobuf envelope. Owns nothing. A body is never kept: each piece is the encoder run
 * again with everything outside the piece thrown away, so that a slice of any size costs no memory.
 */
#include "agent/publish/publish_internal.h"
#include "base/assert.h"
#include "generated/kube.pb.h"
#include "pb_encode.h"

struct piece {
    uint64_t skip;      /* bytes before the piece */
    struct writer *out; /* takes what comes then, until it is full */
};

static bool write_piece(pb_ostream_t *stream, const pb_byte_t *bytes, size_t count)
{
    struct piece *p = stream->state;
    struct view v = view_of(bytes, count);
    size_t drop = (p->skip < v.len) ? (size_t)p->skip : v.len;
    p->skip -= drop;
    v = view_first(view_from(v, drop), writer_room(p->out));
    writer_append(p->out, v);
    return true;
}

static enum status set_text(bool *has, char *text, size_t cap, const char *value)
{
    *has = true;
    return text_copy(text, cap, view_text(value));
}

#define SET(message, has, field, value)                                                            \
    set_text(&(message).has, (message).field, sizeof(message).field, (value))

/* --- devices, by callback: their number has no bound in the message --- */

static void set_value(kube_DeviceAttribute *v, const struct attribute *at)
{
    enum status s = STATUS_OK;
    switch (at->type) {
    case ATTRIBUTE_INT:
        v->has_int_value = true;
        v->int_value = at->number;
        break;
    case ATTRIBUTE_BOOL:
        v->has_bool_value = true;
        v->bool_value = at->number != 0;
        break;
    case ATTRIBUTE_STRING:
        s = SET(*v, has_string_value, string_value, at->text);
        break;
    case ATTRIBUTE_VERSION:
        s = SET(*v, has_version_value, version_value, at->text);
        break;
    }
    ASSERT(s == STATUS_OK);
}

static bool write_attributes(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct attributes *all = *arg;
    for (unsigned i = 0; i < all->count; i++) {
        kube_Device_AttributesEntry e = kube_Device_AttributesEntry_init_zero;
        enum status s = SET(e, has_key, key, all->attribute[i].key);
        ASSERT(s == STATUS_OK);
        e.has_value = true;
        set_value(&e.value, &all->attribute[i]);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_Device_AttributesEntry_fields, &e)) {
            return false;
        }
    }
    return true;
}

/* v1beta1: the attributes stand in one message, in the place where v1 has them. */
static bool write_basic(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    kube_BasicDevice basic = kube_BasicDevice_init_zero;
    basic.attributes.funcs.encode = write_attributes;
    basic.attributes.arg = *arg;
    return pb_encode_tag_for_field(out, field) &&
           pb_encode_submessage(out, kube_BasicDevice_fields, &basic);
}

static bool write_devices(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    struct publish *p = *arg;
    const struct devices *devices = &p->wanted;
    int at = publish_unwritten(p);
    ASSERT(at >= 0);
    const struct slice_part *part = &p->part[at];
    for (unsigned i = part->first; i < part->first + part->count; i++) {
        kube_Device d = kube_Device_init_zero;
        enum status s = SET(d, has_name, name, devices->device[i].name);
        ASSERT(s == STATUS_OK);
        device_attributes(devices, i, &p->attributes);
        d.attributes.funcs.encode = (p->version == API_V1BETA1) ? write_basic : write_attributes;
        d.attributes.arg = &p->attributes;
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_Device_fields, &d)) {
            return false;
        }
    }
    return true;
}

/* --- the objects --- */

static void set_owner(const struct agent *a, kube_ObjectMeta *m)
{
    kube_OwnerReference *o = &m->ownerReferences[0];
    m->ownerReferences_count = 1;
    enum status s = SET(*o, has_kind, kind, "Node");
    ASSERT(s == STATUS_OK);
    s = SET(*o, has_apiVersion, apiVersion, "v1");
    ASSERT(s == STATUS_OK);
    s = SET(*o, has_name, name, a->settings->node_name);
    ASSERT(s == STATUS_OK);
    s = SET(*o, has_uid, uid, a->publish.owner);
    ASSERT(s == STATUS_OK);
    o->has_controller = true;
    o->controller = true;
}

/*
 * generateName as the other drivers' library forms it; the server cuts it at 58 characters and
 * appends five.
 */
static void set_generate_name(const struct agent *a, kube_ObjectMeta *m)
{
    struct writer w = writer_of(m->generateName, sizeof m->generateName);
    writer_append(&w, view_first(view_text(a->settings->node_name), 200));
    writer_text(&w, "-" DRIVER_NAME "-");
    enum status s = writer_end_text(&w);
    ASSERT(s == STATUS_OK);
    m->has_generateName = true;
}

static void slice_object(struct agent *a, kube_ResourceSlice *slice)
{
    const struct publish *p = &a->publish;
    const char *node = a->settings->node_name;
    kube_ResourceSliceSpec *spec = &slice->spec;
    int at = publish_unwritten(p);
    ASSERT(at >= 0);
    const struct slice_seen *kept = &p->part[at].kept;
    slice->has_metadata = true;
    slice->has_spec = true;
    set_owner(a, &slice->metadata);
    enum status s = STATUS_OK;
    if (kept->name[0] != '\0') {
        s = SET(slice->metadata, has_name, name, kept->name);
        ASSERT(s == STATUS_OK);
        s = SET(slice->metadata, has_uid, uid, kept->uid);
        ASSERT(s == STATUS_OK);
        s = SET(slice->metadata, has_resourceVersion, resourceVersion, kept->resource_version);
        ASSERT(s == STATUS_OK);
    } else {
        set_generate_name(a, &slice->metadata);
    }
    s = SET(*spec, has_driver, driver, DRIVER_NAME);
    ASSERT(s == STATUS_OK);
    s = SET(*spec, has_nodeName, nodeName, node);
    ASSERT(s == STATUS_OK);
    spec->has_pool = true;
    s = SET(spec->pool, has_name, name, node);
    ASSERT(s == STATUS_OK);
    spec->pool.has_generation = true;
    spec->pool.generation = p->generation;
    spec->pool.has_resourceSliceCount = true;
    spec->pool.resourceSliceCount = p->parts;
    spec->devices.funcs.encode = write_devices;
    spec->devices.arg = &a->publish;
}

static void delete_options(const struct publish *p, kube_DeleteOptions *options)
{
    int at = publish_doomed(p);
    ASSERT(at >= 0);
    options->has_preconditions = true;
    enum status s = SET(options->preconditions, has_uid, uid, p->seen[at].uid);
    ASSERT(s == STATUS_OK);
    s = SET(options->preconditions, has_resourceVersion, resourceVersion,
            p->seen[at].resource_version);
    ASSERT(s == STATUS_OK);
}

/* Runs the encoder over envelope and object of the step under way. */
static bool encode_body(struct agent *a, pb_ostream_t *out)
{
    uint8_t head_bytes[128];
    struct writer head = writer_of(head_bytes, sizeof head_bytes);
    kube_ResourceSlice slice = kube_ResourceSlice_init_zero;
    kube_DeleteOptions options = kube_DeleteOptions_init_zero;
    bool write = a->publish.step == PUBLISH_WRITE;
    const pb_msgdesc_t *fields = write ? kube_ResourceSlice_fields : kube_DeleteOptions_fields;
    const void *object = write ? (const void *)&slice : (const void *)&options;
    size_t raw_len = 0;
    if (write) {
        slice_object(a, &slice);
    } else {
        delete_options(&a->publish, &options);
    }
    if (!pb_get_encoded_size(&raw_len, fields, object)) {
        return false;
    }
    kube_envelope_head(&head, write ? version_group(a->publish.version) : "meta.k8s.io/v1",
                       write ? "ResourceSlice" : "DeleteOptions", raw_len);
    ASSERT(!head.full);
    return pb_write(out, head.data, head.len) && pb_encode(out, fields, object);
}

uint32_t slice_body_len(struct agent *a)
{
    pb_ostream_t sizing = PB_OSTREAM_SIZING;
    bool ok = encode_body(a, &sizing);
    ASSERT(ok && sizing.bytes_written <= UINT32_MAX);
    return (uint32_t)sizing.bytes_written;
}

struct view slice_body_part(struct agent *a, uint32_t offset, size_t room)
{
    size_t cap = (room < sizeof a->scratch.body) ? room : sizeof a->scratch.body;
    struct writer out = writer_of(a->scratch.body, cap);
    struct piece piece = {.skip = offset, .out = &out};
    pb_ostream_t stream = {
        .callback = write_piece, .state = &piece, .max_size = SIZE_MAX, .bytes_written = 0};
    bool ok = encode_body(a, &stream);
    ASSERT(ok && out.len > 0u);
    return writer_view(&out);
}
