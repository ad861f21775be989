/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the ResourceSlices that an agent would create, in the format of kubectl, for reviewers and
 * for the node templates of autoscalers. The attributes come from device_attributes.
 */
#include "base/assert.h"
#include "base/suggest.h"
#include "cfg/identity.h"
#include "command/command_internal.h"

bool command_board(const char *type, struct found_node *out)
{
    const struct board *board = board_find(type);
    if (board == NULL) {
        return false;
    }
    *out = (struct found_node){.count = board->devices};
    text_set(out->product_name, sizeof out->product_name, board->instance_type);
    for (uint16_t i = 0; i < out->count; i++) {
        struct found_device *d = &out->devices[i];
        d->number = i;
        d->node_exists = true;
        d->reading.known = true; /* without hardware, every device counts as healthy */
        text_set(d->numa_node, sizeof d->numa_node, "-1"); /* no NUMA node without hardware */
        WRITE_TEXT(d->core_count, sizeof d->core_count, "%",
                   NUMBER(board_family(type)->cores_per_device));
    }
    return true;
}

bool command_board_efas(const char *type, struct found_efas *out)
{
    const struct board *board = board_find(type);
    const struct efa_map *map = (board != NULL) ? board->efa : NULL;
    *out = (struct found_efas){.count = 0};
    for (unsigned i = 0; map != NULL && i < BOARD_GROUPED_DEVICES; i++) {
        struct found_efa efa = {.verbs = true, .node_exists = true, .number = (uint16_t)i};
        bool good = pci_address_parse(view_text(map->address[i]), &efa.address);
        ASSERT(good);
        text_set(efa.port_state, sizeof efa.port_state, "4: ACTIVE");
        bool known = false; /* two Neuron devices may share an EFA device */
        for (unsigned k = 0; k < out->count; k++) {
            known = known || out->efa[k].address == efa.address;
        }
        if (!known) {
            out->efa[out->count] = efa;
            out->count++;
        }
    }
    return board != NULL;
}

void command_board_unknown(const char *type, struct writer *out)
{
    struct suggestion meant = suggestion_of(view_text(type));
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        suggestion_try(&meant, board_at(i)->instance_type);
    }
    WRITE(out, "--board: unknown instance type \"%\"", SHOWN(view_text(type)));
    suggestion_write(&meant, out);
    writer_text(out, "; known: ");
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        WRITE(out, "%%", TEXT((i == 0u) ? "" : ", "), TEXT(board_at(i)->instance_type));
    }
}

/*
 * Writes the counters that the device consumes or, if `device` is NULL, the set of shared counters
 * of a slice.
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

static void write_head(const char *driver, const char *node_name, unsigned slices,
                       struct document *d)
{
    char prefix[NAME_CAP + DRIVER_CAP + 2u];
    WRITE_TEXT(prefix, sizeof prefix, "%-%-", TEXT(node_name), TEXT(driver));
    document_object_begin(d);
    document_text(d, "apiVersion", "resource.k8s.io/v1");
    document_text(d, "kind", "ResourceSlice");
    document_member_begin(d, "metadata");
    document_text(d, "generateName", prefix);
    document_object_end(d);
    document_member_begin(d, "spec");
    document_text(d, "driver", driver);
    document_text(d, "nodeName", node_name);
    document_member_begin(d, "pool");
    document_text(d, "name", node_name);
    document_number(d, "generation", 1);
    document_number(d, "resourceSliceCount", slices);
    document_object_end(d);
}

static void write_tail(struct document *d)
{
    document_object_end(d);
    document_object_end(d);
}

/*
 * Whether the output is a list of several slices. A slice with counters is the first one, a slice
 * with EFA devices the last one.
 */
static bool is_list(const struct inventory *v)
{
    return v->efa || v->devices.counters;
}

static void write_start(const struct inventory *v, const char *driver, const char *node_name,
                        struct document *d)
{
    bool counters = v->devices.counters;
    if (is_list(v) && v->devices.driver == DRIVER_NEURON) {
        document_object_begin(d);
        document_text(d, "apiVersion", "v1");
        document_text(d, "kind", "List");
        document_array_begin(d, "items");
    }
    if (counters) {
        write_head(driver, node_name, 2, d);
        write_counters(&v->devices, NULL, d);
        write_tail(d);
    }
    write_head(driver, node_name, counters ? 2u : 1u, d);
    document_array_begin(d, "devices");
}

static void write_end(const struct inventory *v, struct document *d)
{
    document_array_end(d);
    write_tail(d);
    if (v->efa && v->devices.driver == DRIVER_NEURON) {
        return; /* the second inventory continues the output */
    }
    if (is_list(v)) {
        document_array_end(d);
        document_object_end(d);
    }
    document_end(d);
}

/* Writes a capacity as the agent publishes it, including its requestPolicy. */
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

void command_attributes(const struct attributes *all, struct document *d)
{
    write_values(all, false, d);
    write_values(all, true, d);
}

static void write_device(const struct devices *devices, unsigned index, struct document *d)
{
    struct attributes all;
    device_attributes(devices, index, &all);
    document_object_begin(d);
    document_text(d, "name", devices->device[index].name);
    if (device_shared(devices, &devices->device[index])) {
        document_bool(d, "allowMultipleAllocations", true);
    }
    command_attributes(&all, d);
    if (devices->counters) {
        write_counters(devices, &devices->device[index], d);
    }
    document_object_end(d);
}

bool command_slices(const struct inventory *v, const char *driver, const char *node_name,
                    unsigned part, struct document *d)
{
    unsigned count = v->devices.count;
    if (part == 0u) {
        write_start(v, driver, node_name, d);
    } else if (part <= count) {
        write_device(&v->devices, part - 1u, d);
    } else if (part == count + 1u) {
        write_end(v, d);
    } else {
        return false;
    }
    ASSERT(!d->json.out->full);
    return true;
}
