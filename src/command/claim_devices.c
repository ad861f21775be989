/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a device of a claim: what the claim's device metadata file (dra/metadata.h) contains about
 * it, its current health, and the nearest devices of the other driver (Neuron or EFA).
 */
#include "base/assert.h"
#include "command/command_internal.h"
#include "dra/slice_document.h"
#include "dra/pci.h"

/* The device in a result of a claim's allocation, with its current attributes. */
struct device_shown {
    char name[DEVICE_NAME_CAP];
    /* index of the device in the table of devices; -1: the kernel does not show the device */
    int index;
    unsigned neuron; /* device number; used only for Neuron devices */
    /* current attributes of the device; empty if the kernel does not show the device */
    struct attributes all;
};

static void look_up(const struct inventory *v, const struct claim_result *result, unsigned number,
                    struct device_shown *s)
{
    if (result->node) {
        devices_name(&v->devices, number, s->name);
    } else {
        claim_device_name(result, s->name);
    }
    s->index = devices_find(&v->devices, view_text(s->name));
    s->neuron = result->node ? number : result->number;
    s->all.count = 0;
    if (s->index >= 0) {
        claim_attributes(result, &v->devices, (unsigned)s->index, &s->all);
    }
}

static const struct device *device_at(const struct inventory *v, int index)
{
    return (index < 0) ? NULL : &v->devices.device[index];
}

/*
 * Sets `name` to the EFA device nearest to Neuron device `neuron`; empty: the board's EFA map has
 * none.
 */
static void nearest_efa(const struct inventory *v, unsigned neuron, char name[DEVICE_NAME_CAP])
{
    const struct board *board = v->devices.board;
    const struct efa_map *map = (board != NULL) ? board->efa : NULL;
    uint32_t address = 0;
    name[0] = '\0';
    ASSERT(neuron < BOARD_GROUPED_DEVICES);
    if (map != NULL && pci_address_parse(view_text(map->address[neuron]), &address)) {
        efa_device_name(address, name);
    }
}

/*
 * Whether `s` is Neuron device `neuron` and has a nearest EFA device, or `s` is the EFA device
 * nearest to Neuron device `neuron`. If so, sets `name` to the other device of this pair.
 */
static bool is_nearest(const struct inventory *v, const struct device_shown *s, unsigned neuron,
                       char name[DEVICE_NAME_CAP])
{
    nearest_efa(v, neuron, name);
    if (v->devices.driver == DRIVER_NEURON) {
        return neuron == s->neuron && name[0] != '\0';
    }
    bool same = text_is(name, s->name);
    neuron_device_name(neuron, name);
    return same;
}

static void write_attribute(const struct attribute *a, struct writer *out)
{
    struct view key = view_text(a->key);
    bool group = view_ends(key, "_id") || view_starts(key, "topology_");
    if (!group && !view_starts(key, "logical")) {
        return;
    }
    if (a->type == ATTRIBUTE_INT) {
        WRITE(out, "    %: %\n", VIEW(key), NUMBER((uint64_t)a->number));
    } else {
        WRITE(out, "    %: %\n", VIEW(key), TEXT(a->text));
    }
}

/*
 * Writes one device as text. Not inlined, so that its buffers do not enlarge the caller's stack
 * frame, which contains all attributes of a device.
 */
__attribute__((noinline)) static void write_device(const struct inventory *v,
                                                   const struct device_shown *s, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    WRITE(out, "  %: ", TEXT(s->name));
    command_health_text(v, device_at(v, s->index), out);
    writer_text(out, "\n");
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        if (is_nearest(v, s, i, name)) {
            WRITE(out, "    nearest: %\n", TEXT(name));
        }
    }
    for (unsigned i = 0; i < s->all.count; i++) {
        write_attribute(&s->all.attribute[i], out);
    }
    ASSERT(!out->full);
}

void command_device_text(const struct inventory *v, const struct claim_result *result,
                         unsigned number, struct writer *out)
{
    struct device_shown s;
    look_up(v, result, number, &s);
    write_device(v, &s, out);
}

void command_device_document(const struct inventory *v, const struct claim_result *result,
                             unsigned number, struct document *d)
{
    struct device_shown s;
    char name[DEVICE_NAME_CAP];
    look_up(v, result, number, &s);
    document_object_begin(d);
    document_text(d, "name", s.name);
    command_health_document(v, device_at(v, s.index), d);
    document_array_begin(d, "nearest");
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        if (is_nearest(v, &s, i, name)) {
            document_element(d, view_text(name));
        }
    }
    document_array_end(d);
    slice_document_attributes(&s.all, d);
    document_object_end(d);
    ASSERT(!d->json.out->full);
}
