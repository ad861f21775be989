/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes slices. No body is stored: for each piece of a body, the encoder runs again
 * and discards everything outside the piece, so that a slice of any size costs no memory. For the
 * same reason a stored slice is compared with the wanted content while its records arrive.
 */
#include "agent/publish/slice_codec.h"

#include <string.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "cfg/identity.h"
#include "generated/kube.pb.h"
#include "generated/projection.pb.h"
#include "pb_encode.h"
#include "wire/decode.h"

/* --- encoding the devices by callbacks, which need no array of encoded devices --- */

static void set_text(bool *has, char *text, size_t cap, const char *value)
{
    *has = true;
    text_set(text, cap, value);
}

#define SET(message, has, field, value)                                                            \
    set_text(&(message).has, (message).field, sizeof(message).field, (value))

static void set_value(kube_DeviceAttribute *v, const struct attribute *at)
{
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
        SET(*v, has_string_value, string_value, at->text);
        break;
    default:
        SET(*v, has_version_value, version_value, at->text);
        break;
    }
}

static bool write_attributes(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct attributes *all = *arg;
    for (unsigned i = 0; i < all->count; i++) {
        kube_Device_AttributesEntry e = kube_Device_AttributesEntry_init_zero;
        if (all->attribute[i].type == ATTRIBUTE_CAPACITY) {
            continue;
        }
        SET(e, has_key, key, all->attribute[i].key);
        e.has_value = true;
        set_value(&e.value, &all->attribute[i]);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_Device_AttributesEntry_fields, &e)) {
            return false;
        }
    }
    return true;
}

/*
 * Maximum number of digits in the text of a number of shares. This maximum limits an encoded
 * CapacityRequestPolicy to 32 bytes.
 */
#define SHARES_TEXT_MAX 8u
/*
 * Encodes a CapacityRequestPolicy. Each value is a Quantity with its text in field 1.
 * - capacity->number above 0: default (field 1) is the whole capacity, so that a claim without a
 *   request gets the device alone. validRange (field 4) has this number as min (field 1) and step
 *   (field 3), so that every request consumes some capacity.
 * - Otherwise: default is 0, and there is no validRange.
 */
static struct view request_policy(const struct attribute *capacity, struct writer *out)
{
    static const uint8_t range[] = {0x22, 10, 0x0a, 3, 0x0a, 1};
    static const uint8_t step[] = {0x1a, 3, 0x0a, 1};
    bool ranged = capacity->number > 0;
    struct view value = view_text(ranged ? capacity->text : "0");
    ASSERT(value.len <= SHARES_TEXT_MAX && capacity->number <= (int64_t)CAPACITY_STEP_MAX);
    uint64_t step_of = ranged ? (uint64_t)capacity->number : 0u;
    uint8_t digit = (uint8_t)('0' + step_of);
    writer_u8(out, 0x0a);
    writer_u8(out, (uint8_t)(value.len + 2u));
    writer_u8(out, 0x0a);
    writer_u8(out, (uint8_t)value.len);
    writer_append(out, value);
    if (ranged) {
        writer_bytes(out, range, sizeof range);
        writer_u8(out, digit);
        writer_bytes(out, step, sizeof step);
        writer_u8(out, digit);
    }
    return writer_view(out);
}

static void set_policy(kube_DeviceCapacity *c, const struct attribute *capacity)
{
    struct writer out = writer_of(c->requestPolicy.bytes, sizeof c->requestPolicy.bytes);
    c->has_requestPolicy = capacity->number != (int64_t)CAPACITY_ALL;
    if (c->has_requestPolicy) {
        c->requestPolicy.size = (pb_size_t)request_policy(capacity, &out).len;
    }
}

static bool write_capacity(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct attributes *all = *arg;
    for (unsigned i = 0; i < all->count; i++) {
        const struct attribute *at = &all->attribute[i];
        kube_Device_CapacityEntry e = kube_Device_CapacityEntry_init_zero;
        if (at->type != ATTRIBUTE_CAPACITY) {
            continue;
        }
        SET(e, has_key, key, at->key);
        e.has_value = true;
        e.value.has_value = true;
        SET(e.value.value, has_string, string, at->text);
        set_policy(&e.value, at);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_Device_CapacityEntry_fields, &e)) {
            return false;
        }
    }
    return true;
}

/*
 * What a callback of the encoder must write: a device of the slice, or fields of the slice itself.
 */
struct device_fields {
    struct slice_request *request;
    /* the device whose fields are written; NULL: fields of the slice itself */
    const struct device *device;
};

/* Writes the taints of a device. */
static bool write_taints(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct device_fields *f = *arg;
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        kube_DeviceTaint t = kube_DeviceTaint_init_zero;
        if ((f->device->tainted & TAINT_BIT(i)) == 0u) {
            continue;
        }
        const struct taint *taint = &f->request->wanted->devices.taints[i];
        SET(t, has_key, key, taint->key);
        SET(t, has_effect, effect, taint->effect);
        t.has_timeAdded = true;
        t.timeAdded.has_seconds = true;
        t.timeAdded.seconds = f->device->taint_s[i];
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_DeviceTaint_fields, &t)) {
            return false;
        }
    }
    return true;
}

/*
 * Writes the counters that a device consumes, or all counters of the slice; each counter has the
 * name of a device.
 */
static bool write_counters(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    /*
     * an encoded Counter: its field 1 is a Quantity, and field 1 of that is the digit COUNTER_VALUE
     */
    static const uint8_t counter[] = {0x0a, 3, 0x0a, 1, (uint8_t)COUNTER_VALUE[0]};
    const struct device_fields *f = *arg;
    const struct devices *all = &f->request->wanted->devices;
    uint64_t counters = devices_counters(all, f->device);
    for (unsigned i = 0; i < all->count; i++) {
        const struct device *d = &all->device[i];
        kube_CounterSet_CountersEntry e = kube_CounterSet_CountersEntry_init_zero;
        if (d->node || (counters >> d->number & 1u) == 0u) {
            continue;
        }
        SET(e, has_key, key, d->name);
        e.has_value = true;
        e.value.size = sizeof counter;
        memcpy(e.value.bytes, counter, sizeof counter);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_CounterSet_CountersEntry_fields, &e)) {
            return false;
        }
    }
    return true;
}

/* An encoded entry of node resources: tags and lengths of five fields, name, and quantity. */
#define RESOURCE_ENTRY_MAX (10u + NODE_RESOURCE_NAME_CAP + NODE_QUANTITY_CAP)
/*
 * Encodes an entry of a map of node resources: the name as its key (1) and a
 * NodeAllocatableResource as its value (2), whose overhead (4) says in perPod (1) what each pod
 * needs: a Quantity, with its text in field 1. Returns nothing if the resource is not needed.
 */
static struct view resource_entry(const struct node_resources *needed, unsigned resource,
                                  struct writer *out)
{
    static const uint8_t tags[] = {0x12, 0x22, 0x0a, 0x0a};
    struct view name = view_text(node_resource_name(resource));
    struct view quantity = view_text(needed->quantity[resource]);
    if (quantity.len > 0u) {
        writer_u8(out, 0x0a);
        writer_u8(out, (uint8_t)name.len);
        writer_append(out, name);
        for (unsigned i = 0; i < sizeof tags; i++) {
            /* each message is two bytes longer than the one that it contains */
            size_t inner = sizeof tags - 1u - i;
            writer_u8(out, tags[i]);
            writer_u8(out, (uint8_t)(quantity.len + 2u * inner));
        }
        writer_append(out, quantity);
    }
    return writer_view(out);
}

/* Writes what a pod needs of the node for one device. */
static bool write_resources(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct slice_request *r = *arg;
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES; i++) {
        uint8_t bytes[RESOURCE_ENTRY_MAX];
        struct writer w = writer_of(bytes, sizeof bytes);
        struct view entry = resource_entry(&r->wanted->devices.resources, i, &w);
        if (entry.len == 0u) {
            continue;
        }
        if (!pb_encode_tag_for_field(out, field) || !pb_encode_string(out, entry.data, entry.len)) {
            return false;
        }
    }
    return true;
}

static void set_counters(kube_CounterSet *set, struct device_fields *f)
{
    SET(*set, has_name, name, COUNTER_SET_NAME);
    set->counters.funcs.encode = write_counters;
    set->counters.arg = f;
}

/*
 * Writes the fields of a device for v1beta1, which nests them in one message (BasicDevice); in v1
 * and v1beta2 they are direct fields of the device.
 */
static bool write_basic(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    const struct device_fields *f = *arg;
    kube_BasicDevice basic = kube_BasicDevice_init_zero;
    basic.attributes.funcs.encode = write_attributes;
    basic.attributes.arg = f->request->attributes;
    basic.capacity.funcs.encode = write_capacity;
    basic.capacity.arg = f->request->attributes;
    basic.taints.funcs.encode = write_taints;
    basic.taints.arg = *arg;
    basic.nodeAllocatableResources.funcs.encode = write_resources;
    basic.nodeAllocatableResources.arg = f->request;
    return pb_encode_tag_for_field(out, field) &&
           pb_encode_submessage(out, kube_BasicDevice_fields, &basic);
}

static void set_device(kube_Device *d, struct device_fields *f)
{
    const struct slice_request *r = f->request;
    SET(*d, has_name, name, f->device->name);
    if (r->version == API_V1BETA1) {
        d->attributes.funcs.encode = write_basic;
        d->attributes.arg = f;
        return;
    }
    d->attributes.funcs.encode = write_attributes;
    d->attributes.arg = r->attributes;
    d->capacity.funcs.encode = write_capacity;
    d->capacity.arg = r->attributes;
    d->has_consumesCounters = r->wanted->devices.counters;
    if (d->has_consumesCounters) {
        set_counters(&d->consumesCounters, f);
    }
    d->has_allowMultipleAllocations = device_shared(&r->wanted->devices, f->device);
    d->allowMultipleAllocations = d->has_allowMultipleAllocations;
    d->taints.funcs.encode = write_taints;
    d->taints.arg = f;
    d->nodeAllocatableResources.funcs.encode = write_resources;
    d->nodeAllocatableResources.arg = f->request;
}

static bool write_devices(pb_ostream_t *out, const pb_field_t *field, void *const *arg)
{
    struct slice_request *r = *arg;
    const struct devices *devices = &r->wanted->devices;
    for (unsigned i = r->first; i < r->first + r->count; i++) {
        kube_Device d = kube_Device_init_zero;
        struct device_fields f = {.request = r, .device = &devices->device[i]};
        device_attributes(devices, i, r->attributes);
        set_device(&d, &f);
        if (!pb_encode_tag_for_field(out, field) ||
            !pb_encode_submessage(out, kube_Device_fields, &d)) {
            return false;
        }
    }
    return true;
}

/* --- encoding the objects in the bodies of requests --- */

static void set_owner(const struct wanted *wanted, kube_ObjectMeta *m)
{
    kube_OwnerReference *o = &m->ownerReferences[0];
    m->ownerReferences_count = 1;
    SET(*o, has_kind, kind, "Node");
    SET(*o, has_apiVersion, apiVersion, "v1");
    SET(*o, has_name, name, wanted->node_name);
    SET(*o, has_uid, uid, wanted->owner);
    o->has_controller = true;
    o->controller = true;
}

/*
 * Sets generateName in the form that the Go library of other DRA drivers uses; the server cuts it
 * at 58 characters and appends five random characters.
 */
static void set_generate_name(const struct wanted *wanted, kube_ObjectMeta *m)
{
    WRITE_TEXT(m->generateName, sizeof m->generateName, "%-%-",
               VIEW(view_first(view_text(wanted->node_name), 185)), TEXT(wanted->driver));
    m->has_generateName = true;
}

/*
 * Identifies the object to update; the server refuses the update if the resourceVersion has
 * changed.
 */
static void set_stored(const struct slice_seen *stored, kube_ObjectMeta *m)
{
    SET(*m, has_name, name, stored->name);
    SET(*m, has_uid, uid, stored->uid);
    SET(*m, has_resourceVersion, resourceVersion, stored->resource_version);
}

static void set_spec(struct slice_request *r, struct device_fields *whole,
                     kube_ResourceSliceSpec *spec)
{
    const char *node = r->wanted->node_name;
    SET(*spec, has_driver, driver, r->wanted->driver);
    SET(*spec, has_nodeName, nodeName, node);
    spec->has_pool = true;
    SET(spec->pool, has_name, name, node);
    spec->pool.has_generation = true;
    spec->pool.generation = r->generation;
    spec->pool.has_resourceSliceCount = true;
    spec->pool.resourceSliceCount = r->slices;
    spec->devices.funcs.encode = write_devices;
    spec->devices.arg = r;
    spec->has_sharedCounters = r->counters;
    if (r->counters) {
        set_counters(&spec->sharedCounters, whole);
    }
}

static void slice_object(struct slice_request *r, struct device_fields *whole,
                         kube_ResourceSlice *slice)
{
    slice->has_metadata = true;
    slice->has_spec = true;
    set_owner(r->wanted, &slice->metadata);
    if (r->verb == SLICE_UPDATE) {
        set_stored(r->stored, &slice->metadata);
    } else {
        set_generate_name(r->wanted, &slice->metadata);
    }
    set_spec(r, whole, &slice->spec);
}

static void delete_options(const struct slice_seen *stored, kube_DeleteOptions *options)
{
    options->has_preconditions = true;
    SET(options->preconditions, has_uid, uid, stored->uid);
    SET(options->preconditions, has_resourceVersion, resourceVersion, stored->resource_version);
}

/* Writes the envelope (k8s\0 and Unknown, see Kubernetes API concepts) and the object. */
static bool encode_object(pb_ostream_t *out, const char *api_version, const char *kind,
                          const pb_msgdesc_t *fields, const void *object)
{
    uint8_t head_bytes[128];
    struct writer head = writer_of(head_bytes, sizeof head_bytes);
    size_t raw_len = 0;
    if (!pb_get_encoded_size(&raw_len, fields, object)) {
        return false;
    }
    kube_envelope_head(&head, api_version, kind, raw_len);
    ASSERT(!head.full);
    return pb_write(out, head.data, head.len) && pb_encode(out, fields, object);
}

static bool encode_body(struct slice_request *r, pb_ostream_t *out)
{
    if (r->verb == SLICE_DELETE) {
        kube_DeleteOptions options = kube_DeleteOptions_init_zero;
        delete_options(r->stored, &options);
        return encode_object(out, "meta.k8s.io/v1", "DeleteOptions", kube_DeleteOptions_fields,
                             &options);
    }
    kube_ResourceSlice slice = kube_ResourceSlice_init_zero;
    struct device_fields whole = {.request = r, .device = NULL};
    slice_object(r, &whole, &slice);
    return encode_object(out, version_group(r->version), "ResourceSlice", kube_ResourceSlice_fields,
                         &slice);
}

/* --- encoding pieces of a request's body --- */

struct piece {
    uint64_t skip;      /* bytes to discard before the piece begins */
    struct writer *out; /* receives the bytes of the piece until this writer is full */
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

uint32_t slice_body_len(struct slice_request *r)
{
    pb_ostream_t sizing = PB_OSTREAM_SIZING;
    bool ok = encode_body(r, &sizing);
    ASSERT(ok && sizing.bytes_written <= UINT32_MAX);
    return (uint32_t)sizing.bytes_written;
}

enum status slice_body_part(struct slice_request *r, uint32_t offset, struct writer *out)
{
    struct piece piece = {.skip = offset, .out = out};
    pb_ostream_t stream = {
        .callback = write_piece, .state = &piece, .max_size = SIZE_MAX, .bytes_written = 0};
    bool ok = encode_body(r, &stream);
    ASSERT(ok);
    return out->len > 0u ? STATUS_OK : STATUS_MORE;
}

/* --- reading a stored slice from records --- */

/* Clears all state, so that no field of the previous object counts as a field of the next one. */
void slice_observe_begin(struct slice_observer *o, const struct wanted *wanted)
{
    ASSERT(wanted != NULL);
    o->wanted = wanted;
    o->owner[0] = '\0';
    memset(&o->seen, 0, sizeof o->seen);
    slice_compare_begin(&o->compare, &wanted->devices);
}

void slice_observe_outdated(struct slice_observer *o)
{
    slice_compare_begin(&o->compare, &o->wanted->devices);
    o->compare.differs = true;
}

static void observe_meta(struct slice_observer *o, const struct kube_record *record)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    struct slice_seen *seen = &o->seen;
    slice_observe_begin(o, o->wanted);
    if (record->truncated || !decode(record->message, projection_MetaRecord_fields, &m)) {
        return; /* the object is unreadable: the name stays empty, so that the object is ignored */
    }
    text_cut(seen->name, sizeof seen->name, view_text(m.name));
    text_cut(seen->uid, sizeof seen->uid, view_text(m.uid));
    text_cut(seen->resource_version, sizeof seen->resource_version, view_text(m.resource_version));
    text_cut(o->owner, sizeof o->owner, view_text(m.owner_uid));
    seen->deleting = m.has_deletion_seconds;
}

static void observe_attribute(struct slice_observer *o, struct view message)
{
    projection_AttributeRecord r = projection_AttributeRecord_init_zero;
    struct attribute stored = {.type = ATTRIBUTE_INT};
    bool ok = decode(message, projection_AttributeRecord_fields, &r) && !(r.has_extra && r.extra);
    text_cut(stored.key, sizeof stored.key, view_text(ok ? r.key : ""));
    if (r.has_int_value) {
        stored.number = r.int_value;
    } else if (r.has_bool_value) {
        stored.type = ATTRIBUTE_BOOL;
        stored.number = r.bool_value ? 1 : 0;
    } else if (r.has_string_value) {
        stored.type = ATTRIBUTE_STRING;
        text_cut(stored.text, sizeof stored.text, view_text(r.string_value));
    } else if (r.has_version_value) {
        stored.type = ATTRIBUTE_VERSION;
        text_cut(stored.text, sizeof stored.text, view_text(r.version_value));
    } else {
        /*
         * the attribute has a type that this driver never writes, so no wanted attribute may match
         * it
         */
        stored.key[0] = 0;
    }
    slice_compare_attribute(&o->compare, &stored);
}

/*
 * Returns the policy of a stored capacity in the form of attribute.number. *known is false if
 * another client wrote the policy in a form that this driver never writes; the result is then
 * CAPACITY_ALL.
 */
static int64_t stored_policy(const projection_QuantityRecord *r, struct attribute *stored,
                             bool *known)
{
    uint8_t bytes[sizeof r->policy.bytes];
    struct view policy = view_of(r->policy.bytes, r->policy.size);
    *known = !r->has_policy;
    bool fits = view_text(stored->text).len <= SHARES_TEXT_MAX;
    for (int64_t n = (int64_t)CAPACITY_STEP_MAX;
         n >= (int64_t)CAPACITY_UNASKED_NOTHING && fits && !*known; n--) {
        struct writer out = writer_of(bytes, sizeof bytes);
        stored->number = n;
        *known = n != (int64_t)CAPACITY_ALL && view_equal(policy, request_policy(stored, &out));
    }
    return *known ? stored->number : (int64_t)CAPACITY_ALL;
}

static void observe_capacity(struct slice_observer *o, const struct kube_record *record)
{
    projection_QuantityRecord r = projection_QuantityRecord_init_zero;
    struct attribute stored = {.type = ATTRIBUTE_CAPACITY};
    bool ok = !record->truncated && decode(record->message, projection_QuantityRecord_fields, &r) &&
              !(r.has_extra && r.extra);
    text_cut(stored.text, sizeof stored.text, view_text(r.value));
    bool known = false;
    stored.number = stored_policy(&r, &stored, &known);
    ok = ok && known;
    text_cut(stored.key, sizeof stored.key, view_text(ok ? r.key : ""));
    slice_compare_attribute(&o->compare, &stored);
}

static void observe_taint(struct slice_observer *o, const struct kube_record *record)
{
    projection_TaintRecord r = projection_TaintRecord_init_zero;
    bool ok = !record->truncated && decode(record->message, projection_TaintRecord_fields, &r);
    slice_compare_taint(&o->compare, ok ? r.key : "", r.value, ok ? r.effect : "");
}

/* The record is one field: behind its tag and length, the entry as the server sent it. */
static void observe_resource(struct slice_observer *o, struct view message)
{
    unsigned found = (unsigned)NODE_RESOURCES;
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES; i++) {
        uint8_t bytes[RESOURCE_ENTRY_MAX];
        struct writer out = writer_of(bytes, sizeof bytes);
        struct view entry = resource_entry(&o->wanted->devices.resources, i, &out);
        if (entry.len > 0u && view_equal(view_from(message, 2u), entry)) {
            found = i;
        }
    }
    slice_compare_resource(&o->compare, found);
}

static void observe_counter(struct slice_observer *o, const struct kube_record *record)
{
    projection_QuantityRecord r = projection_QuantityRecord_init_zero;
    bool ok = !record->truncated && decode(record->message, projection_QuantityRecord_fields, &r);
    slice_compare_counter(&o->compare, ok ? r.key : "", r.value);
}

static void observe_device(struct slice_observer *o, const struct kube_record *record)
{
    projection_DeviceRecord r = projection_DeviceRecord_init_zero;
    bool ok = decode(record->message, projection_DeviceRecord_fields, &r);
    if (record->record == KUBE_SLICE_NAME) {
        slice_compare_name(&o->compare, view_text(ok ? r.name : ""));
    } else if (record->record == KUBE_SLICE_COUNTERS) {
        slice_compare_counters(&o->compare, ok ? r.name : "");
    } else {
        slice_compare_device(&o->compare, r.has_shared && r.shared,
                             !ok || (r.has_extra && r.extra));
    }
}

static enum slice_scope scope_of(const projection_SliceSpecRecord *r, const struct wanted *wanted)
{
    const char *node = wanted->node_name;
    if (!text_is(r->driver, wanted->driver) || !text_is(r->node_name, node)) {
        return SLICE_FOREIGN;
    }
    return text_is(r->pool_name, node) ? SLICE_OURS : SLICE_OTHER_POOL;
}

/*
 * Handles the record of the slice's spec, which follows the records of the devices and completes
 * the comparison.
 */
static void observe_spec(struct slice_observer *o, struct view message)
{
    projection_SliceSpecRecord r = projection_SliceSpecRecord_init_zero;
    if (!decode(message, projection_SliceSpecRecord_fields, &r)) {
        return;
    }
    struct slice_seen *seen = &o->seen;
    struct view owner = view_text(o->owner);
    bool unknown = (r.has_extra && r.extra) || (r.has_all_nodes && r.all_nodes);
    seen->generation = r.pool_generation;
    seen->slices = r.slice_count;
    seen->scope = scope_of(&r, o->wanted);
    seen->exact = slice_compare_end(&o->compare) && !unknown && view_is(owner, o->wanted->owner);
    seen->first = o->compare.first;
    seen->count = o->compare.count;
    seen->counters = o->compare.shared != 0u;
    memcpy(seen->untainted, o->compare.untainted, sizeof seen->untainted);
    seen->unshared = o->compare.unshared;
    seen->lacks_resources = o->compare.lacks_resources;
    seen->sum = crc32c(seen->sum + (unknown ? 0u : 1u), owner);
}

bool slice_observe(struct slice_observer *o, const struct kube_record *record)
{
    bool piece = true;
    ASSERT(o->wanted != NULL);
    o->seen.sum = crc32c(o->seen.sum, record->message);
    switch (record->record) {
    case KUBE_META:
        observe_meta(o, record);
        break;
    case KUBE_SLICE_ATTRIBUTE:
        observe_attribute(o, record->message);
        break;
    case KUBE_SLICE_CAPACITY:
        observe_capacity(o, record);
        break;
    case KUBE_SLICE_TAINT:
        observe_taint(o, record);
        break;
    case KUBE_SLICE_RESOURCE:
        observe_resource(o, record->message);
        break;
    case KUBE_SLICE_COUNTER:
        observe_counter(o, record);
        break;
    case KUBE_SLICE_COUNTERS:
    case KUBE_SLICE_NAME:
    case KUBE_SLICE_DEVICE:
        observe_device(o, record);
        break;
    case KUBE_SLICE_SPEC:
        observe_spec(o, record->message);
        break;
    default:
        piece = false;
        break;
    }
    return piece;
}
