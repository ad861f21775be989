/* SPDX-License-Identifier: Apache-2.0 */
/* Writes as a document which slices this driver publishes, see listing.h. Changes no state. */
#include "agent/publish/listing.h"

#include "agent/frame.h"
#include "agent/node/device_states.h"
#include "agent/node/node.h"
#include "agent/publish/publish.h"
#include "agent/publish/room.h"
#include "agent/troubles.h"
#include "dra/issue.h"

/* --- the slices in the document --- */

/* Whether the plan was made from the current wanted devices. */
static bool is_planned(const struct publish *p)
{
    const struct devices *devices = &p->wanted.devices;
    unsigned count = 0;
    for (unsigned i = 0; i < p->plan.parts; i++) {
        count += p->plan.part[i].count;
    }
    return p->plan.parts > 0u && count == devices->count &&
           p->plan.part[0].counters == devices->counters;
}

/*
 * Whether the wanted content was built after the Node was read; content that was built earlier
 * names no owner.
 */
static bool is_made(const struct publish *p)
{
    return p->wanted.owner[0] != '\0';
}

/*
 * Number of slices that the document shows:
 * - Without wanted content: 0.
 * - With a current plan, or while the driver is ending and so creates no slice: the number of
 *   parts in the plan.
 * - Otherwise: one for all devices, and one for shared counters if needed.
 */
static unsigned slices_of(const struct agent *a)
{
    const struct publish *p = a->publish;
    if (!is_made(p)) {
        return 0;
    }
    return (is_planned(p) || a->ending) ? p->plan.parts : (p->wanted.devices.counters ? 2u : 1u);
}

static struct slice_shown slice_at(const struct agent *a, unsigned index)
{
    struct publish *p = a->publish;
    struct slice_shown s = {.driver = p->wanted.driver,
                            .node_name = p->wanted.node_name,
                            .devices = &p->wanted.devices,
                            .attributes = &p->attributes,
                            .generation = p->plan.generation,
                            .slices = slices_of(a),
                            .counters = p->wanted.devices.counters && index == 0u};
    if (is_planned(p)) {
        s.first = p->plan.part[index].first;
        s.count = p->plan.part[index].count;
    } else if (!s.counters) {
        s.count = p->wanted.devices.count;
    }
    return s;
}

uint32_t listing_version(const struct agent *a)
{
    return a->publish->wanted.made + a->publish->plan.made;
}

bool listing_known(const struct agent *a)
{
    return is_made(a->publish) || a->other_driver[0] != '\0';
}

unsigned listing_slices(const struct agent *a)
{
    return slices_of(a);
}

bool listing_part(const struct agent *a, unsigned part, struct document *d)
{
    unsigned left = part;
    for (unsigned i = 0; i < slices_of(a); i++) {
        struct slice_shown s = slice_at(a, i);
        if (left < slice_document_parts(&s)) {
            slice_document(&s, left, d);
            return true;
        }
        left -= slice_document_parts(&s);
    }
    return false;
}

/* --- notes about the slices, for the document --- */

/* Whether the node's instance type has a device of this number. */
static bool is_expected(const struct devices *d, unsigned number)
{
    const struct board *board = d->board;
    const struct efa_map *map = (board != NULL) ? board->efa : NULL;
    if (d->driver == DRIVER_NEURON) {
        return board != NULL && number < board->devices;
    }
    bool expected = map != NULL && number < BOARD_GROUPED_DEVICES;
    for (unsigned i = 0; i < number && expected; i++) {
        /* false: the EFA map has the same device under a lower number, and expects it only there */
        expected = !text_is(map->address[i], map->address[number]);
    }
    return expected;
}

/*
 * Why the slices lack the device of this number; NULL: they have the device, or the node has no
 * such device.
 */
static const char *left_out(const struct agent *a, unsigned number)
{
    const struct devices *d = a->devices;
    if (devices_numbered(d, number) >= 0) {
        bool unhealthy = device_states_track(a, number)->state == (uint8_t)HEALTH_UNHEALTHY;
        const char *reason = unhealthy ? DEVICE_UNHEALTHY_TEXT : DEVICE_DRAINED_TEXT;
        return device_states_omit(a, number) ? reason : NULL;
    }
    bool lacks = is_expected(d, number) && !d->unknown && devices_refusal(d) == NULL &&
                 !device_states_keeps(a, number);
    return lacks ? DEVICE_MISSING_TEXT : NULL;
}

/*
 * Writes note number *left (from 0) of the notes about left-out devices, and returns true. If there
 * are fewer such notes, subtracts their number from *left and returns false.
 */
static bool write_device(const struct agent *a, unsigned *left, struct writer *out)
{
    char name[DEVICE_NAME_CAP];
    for (unsigned number = 0; number < DEVICES_MAX; number++) {
        const char *reason = left_out(a, number);
        if (reason != NULL && *left == 0u) {
            devices_name(a->devices, number, name);
            WRITE(out, "% is left out: %", TEXT(name), TEXT(reason));
            return true;
        }
        *left -= (reason != NULL) ? 1u : 0u;
    }
    return false;
}

/*
 * Whether the slices are empty because of the node's instance family; if so, writes a note about
 * that.
 */
static bool write_refusal(const struct agent *a, struct writer *out)
{
    bool refused = a->driver->kind == DRIVER_NEURON && devices_refusal(a->devices) != NULL;
    if (refused) {
        trouble_refused_type(a->devices, out);
    }
    return refused;
}

/*
 * If the node belongs to an UltraServer, writes the value of --ultraserver-devices, and what the
 * node publishes because of it.
 */
static void write_mode(const struct agent *a, struct writer *out)
{
    static const char *const settings[(unsigned)ULTRASERVER_DEVICES + 1u] = {
        [ULTRASERVER_AUTO] = "auto",
        [ULTRASERVER_NODE] = "node",
        [ULTRASERVER_BOTH] = "both",
        [ULTRASERVER_DEVICES] = "devices"};
    const struct devices *devices = &a->publish->wanted.devices;
    bool node = devices->count > 0u && devices->device[devices->count - 1u].node;
    if (devices->ultraserver.member) {
        WRITE(out, "--ultraserver-devices % publishes %", TEXT(settings[a->settings->ultraserver]),
              TEXT(devices->counters ? "the node as one device, and its devices, by shared counters"
                   : node            ? "the node as one device, and no other device"
                                     : "the devices, and no device for the node"));
    }
}

/*
 * Writes a note about attribute number `left` (from 0) of those that are left out of the slices.
 * false: there is no such attribute.
 */
static bool write_left_out(const struct agent *a, unsigned left, struct writer *out)
{
    const struct devices *devices = &a->publish->wanted.devices;
    struct attributes *all = &a->publish->attributes;
    unsigned before = 0;
    for (unsigned i = 0; i < devices->count; i++) {
        device_attributes_left_out(devices, i, all);
        if (left - before < all->count) {
            const struct attribute *at = &all->attribute[left - before];
            WRITE(out, "% of % is left out: %", TEXT(at->key), TEXT(devices->device[i].name),
                  TEXT(issue_text(attribute_issue(at))));
            return true;
        }
        before += all->count;
    }
    return false;
}

bool listing_note(const struct agent *a, unsigned index, struct writer *out)
{
    unsigned left = index;
    if (index == 0u) {
        if (!write_refusal(a, out)) {
            write_mode(a, out);
        }
        return true;
    }
    left--;
    if (!publish_current(a) && left == 0u) {
        WRITE(out, "not known to be stored like this: %", TEXT(publish_reason(a)));
        return true;
    }
    left -= publish_current(a) ? 0u : 1u;
    return write_device(a, &left, out) || write_left_out(a, left, out);
}
