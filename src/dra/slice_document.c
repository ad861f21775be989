/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ResourceSlices as documents; see slice_document.h. Holds no state. */
#include "dra/slice_document.h"

#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"

/*
 * If `device` is NULL, writes the set of shared counters of a slice; otherwise writes the counters
 * that the device consumes.
 */
static void write_counters(const struct devices *devices, const struct device *device,
                           struct document *d)
{
    uint64_t counters = devices_counters(devices, device);
    document_array_begin(d, (device == NULL) ? "sharedCounters" : "consumesCounters");
    document_object_begin(d);
    document_text(d, (device == NULL) ? "name" : "counterSet", COUNTER_SET_NAME);
    document_member_begin(d, "counters");
    for (unsigned i = 0; i < devices->count; i++) {
        const struct device *one = &devices->device[i];
        if (!one->node && (counters >> one->number & 1u) != 0u) {
            document_member_begin(d, one->name);
            document_text(d, "value", COUNTER_VALUE);
            document_object_end(d);
        }
    }
    document_object_end(d);
    document_object_end(d);
    document_array_end(d);
}

/* Writes a capacity, with the same request policy that the publisher sends. */
static void write_capacity(const struct attribute *a, struct document *d)
{
    document_text(d, "value", a->text);
    uint64_t units = (a->number > 0) ? (uint64_t)a->number : 0u;
    const char step[] = {(char)('0' + units), '\0'};
    if (a->number == (int64_t)CAPACITY_ALL) {
        return;
    }
    document_member_begin(d, "requestPolicy");
    document_text(d, "default", (a->number > 0) ? a->text : "0");
    if (a->number > 0) {
        document_member_begin(d, "validRange");
        document_text(d, "min", step);
        document_text(d, "step", step);
        document_object_end(d);
    }
    document_object_end(d);
}

static void write_value(const struct attribute *a, struct document *d)
{
    switch (a->type) {
    case ATTRIBUTE_INT:
        document_number(d, "int", a->number);
        break;
    case ATTRIBUTE_BOOL:
        document_bool(d, "bool", a->number != 0);
        break;
    case ATTRIBUTE_STRING:
        document_text(d, "string", a->text);
        break;
    case ATTRIBUTE_VERSION:
        document_text(d, "version", a->text);
        break;
    default:
        write_capacity(a, d);
        break;
    }
}

/* Writes the attributes of a device or, if `capacity`, its capacities. */
static void write_values(const struct attributes *all, bool capacity, struct document *d)
{
    bool any = false;
    for (unsigned i = 0; i < all->count; i++) {
        bool is_capacity = all->attribute[i].type == ATTRIBUTE_CAPACITY;
        any = any || is_capacity == capacity;
    }
    if (!any) {
        return;
    }
    document_member_begin(d, capacity ? "capacity" : "attributes");
    for (unsigned i = 0; i < all->count; i++) {
        const struct attribute *a = &all->attribute[i];
        bool is_capacity = a->type == ATTRIBUTE_CAPACITY;
        if (is_capacity == capacity) {
            document_member_begin(d, a->key);
            write_value(a, d);
            document_object_end(d);
        }
    }
    document_object_end(d);
}

void slice_document_attributes(const struct attributes *all, struct document *d)
{
    write_values(all, false, d);
    write_values(all, true, d);
}

void slice_list_begin(struct document *d)
{
    document_object_begin(d);
    document_text(d, "apiVersion", "v1");
    document_text(d, "kind", "List");
    document_array_begin(d, "items");
}

void slice_list_end(struct document *d)
{
    document_array_end(d);
    document_object_end(d);
}

/* --- writing the parts of a slice --- */

static void write_begin(const struct slice_shown *s, struct document *d)
{
    char prefix[NAME_CAP + DRIVER_CAP + 2u];
    WRITE_TEXT(prefix, sizeof prefix, "%-%-", TEXT(s->node_name), TEXT(s->driver));
    document_object_begin(d);
    document_text(d, "apiVersion", "resource.k8s.io/v1");
    document_text(d, "kind", "ResourceSlice");
    document_member_begin(d, "metadata");
    document_text(d, "generateName", prefix);
    document_object_end(d);
    document_member_begin(d, "spec");
    document_text(d, "driver", s->driver);
    document_text(d, "nodeName", s->node_name);
    document_member_begin(d, "pool");
    document_text(d, "name", s->node_name);
    document_number(d, "generation", s->generation);
    document_number(d, "resourceSliceCount", s->slices);
    document_object_end(d);
    if (s->counters) {
        write_counters(s->devices, NULL, d);
    } else {
        document_array_begin(d, "devices");
    }
}

static void write_end(const struct slice_shown *s, struct document *d)
{
    if (!s->counters) {
        document_array_end(d);
    }
    document_object_end(d);
    document_object_end(d);
}

/*
 * Writes one taint; leaves out the time of the taint if this time is unknown, as it is after a
 * single reading.
 */
static void write_taint(const struct taint *taint, int64_t since_s, struct document *d)
{
    document_object_begin(d);
    document_text(d, "key", taint->key);
    document_text(d, "effect", taint->effect);
    if (since_s > 0) {
        char time[sizeof "2026-11-21T12:00:00Z"];
        struct writer w = writer_of(time, sizeof time);
        writer_time_s(&w, (uint64_t)since_s, "Z");
        writer_close_text(&w);
        document_text(d, "timeAdded", time);
    }
    document_object_end(d);
}

static void write_taints(const struct devices *devices, const struct device *device,
                         struct document *d)
{
    document_array_begin(d, "taints");
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        if ((device->tainted & TAINT_BIT(i)) != 0u) {
            write_taint(&devices->taints[i], device->taint_s[i], d);
        }
    }
    document_array_end(d);
}

static void write_resources(const struct node_resources *r, struct document *d)
{
    bool any = false;
    for (unsigned i = 0; i < (unsigned)NODE_RESOURCES; i++) {
        if (r->quantity[i][0] == '\0') {
            continue;
        }
        if (!any) {
            document_member_begin(d, "nodeAllocatableResources");
        }
        any = true;
        document_member_begin(d, node_resource_name(i));
        document_member_begin(d, "overhead");
        document_text(d, "perPod", r->quantity[i]);
        document_object_end(d);
        document_object_end(d);
    }
    if (any) {
        document_object_end(d);
    }
}

static void write_device(const struct slice_shown *s, unsigned index, struct document *d)
{
    const struct device *device = &s->devices->device[index];
    device_attributes(s->devices, index, s->attributes);
    document_object_begin(d);
    document_text(d, "name", device->name);
    if (device_shared(s->devices, device)) {
        document_bool(d, "allowMultipleAllocations", true);
    }
    slice_document_attributes(s->attributes, d);
    if (s->devices->counters) {
        write_counters(s->devices, device, d);
    }
    if (device->tainted != 0u) {
        write_taints(s->devices, device, d);
    }
    write_resources(&s->devices->resources, d);
    document_object_end(d);
}

unsigned slice_document_parts(const struct slice_shown *s)
{
    return s->count + 2u;
}

void slice_document(const struct slice_shown *s, unsigned part, struct document *d)
{
    ASSERT(s->first + s->count <= s->devices->count && (!s->counters || s->count == 0u));
    if (part == 0u) {
        write_begin(s, d);
    } else if (part <= s->count) {
        write_device(s, s->first + part - 1u, d);
    } else {
        write_end(s, d);
    }
    ASSERT(!d->json.out->full);
}
