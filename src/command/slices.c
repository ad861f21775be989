/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the ResourceSlices that an agent would create, in the format of kubectl, for reviewers and
 * for the node templates of autoscalers. device_attributes provides the attributes of the devices.
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
        /* without hardware, the NUMA node is unknown, which sysfs shows as -1 */
        text_set(d->numa_node, sizeof d->numa_node, "-1");
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
        /* whether the list already has this EFA device, which two Neuron devices may share */
        bool known = false;
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
 * Whether the output is a list of several slices: the slice with the shared counters is the first
 * one, the slice with the EFA devices the last one.
 */
static bool is_list(const struct inventory *v)
{
    return v->efa || v->devices.counters;
}

/* Ends the output, unless the inventory of the EFA devices continues it. */
static void write_end(const struct inventory *v, struct document *d)
{
    if (v->efa && v->devices.driver == DRIVER_NEURON) {
        return;
    }
    if (is_list(v)) {
        slice_list_end(d);
    }
    document_end(d);
}

void command_left_out(const struct inventory *v, unsigned number, bool drops, struct writer *out)
{
    const struct devices *d = &v->devices;
    int at = devices_numbered(d, number);
    bool missing = at < 0 && d->board != NULL && number < d->board->devices;
    bool unhealthy =
        at >= 0 && drops && device_reading_health(&d->device[at].reading) == HEALTH_UNHEALTHY;
    if (missing || unhealthy) {
        char name[DEVICE_NAME_CAP];
        neuron_device_name(number, name);
        WRITE(out, "# % is left out: %\n", TEXT(name),
              TEXT(missing ? DEVICE_MISSING_TEXT : DEVICE_UNHEALTHY_TEXT));
    }
}

bool command_slices(const struct inventory *v, const char *driver, const char *node_name,
                    unsigned part, struct document *d)
{
    struct attributes all;
    bool counters = v->devices.counters;
    struct slice_shown s = {.driver = driver,
                            .node_name = node_name,
                            .devices = &v->devices,
                            .attributes = &all,
                            .generation = 1,
                            .slices = counters ? 2u : 1u,
                            .counters = counters};
    unsigned before = counters ? slice_document_parts(&s) : 0u;
    if (part == 0u && is_list(v) && v->devices.driver == DRIVER_NEURON) {
        slice_list_begin(d);
    }
    if (part < before) {
        slice_document(&s, part, d);
        return true;
    }
    s.counters = false;
    s.count = v->devices.count;
    if (part - before < slice_document_parts(&s)) {
        slice_document(&s, part - before, d);
        return true;
    }
    if (part - before == slice_document_parts(&s)) {
        write_end(v, d);
        return true;
    }
    return false;
}
