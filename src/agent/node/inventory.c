/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopts the devices that a probe found. If a probe finds none, keeps the earlier devices for a
 * while.
 */
#include "agent/node/inventory.h"

#include "agent/frame.h"
#include "agent/node/node.h"
#include "agent/node/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/crc32c.h"

static uint32_t issues_sum(const struct probe_issues *issues)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < issues->count; i++) {
        const struct probe_issue *f = &issues->issue[i];
        const uint32_t numbers[] = {(uint32_t)f->kind, (uint32_t)f->number};
        sum = crc32c(sum, view_of(numbers, sizeof numbers));
        sum = crc32c(sum, view_text(f->text));
    }
    return sum;
}

/* Logs the issues that a probe found, unless the previous probe found the same issues. */
static void report_issues(struct agent *a, const struct probe_issues *issues)
{
    uint32_t sum = issues_sum(issues);
    if (sum == a->node->inventory.issues_sum) {
        return;
    }
    a->node->inventory.issues_sum = sum;
    for (unsigned i = 0; i < issues->count; i++) {
        const struct probe_issue *f = &issues->issue[i];
        log_begin(a, LOG_ID_DEVICE_ISSUE_FOUND);
        log_text(a, "issue", probe_issue_name(f->kind));
        if (f->number != PROBE_ISSUE_NO_NUMBER) {
            log_number(a, "device", f->number);
        }
        log_text(a, "value", f->text);
        log_remedy(a, f->remedy);
        log_end(a);
    }
}

/*
 * Whether a device of both tables has another folder in sysfs now. The kernel gives a folder
 * another inode when the module that makes it is loaded again.
 */
static bool is_reloaded(const struct devices *before, const struct devices *next)
{
    bool reloaded = false;
    for (unsigned i = 0; i < next->count; i++) {
        int at = devices_numbered(before, next->device[i].number);
        uint64_t now = next->device[i].place.folder;
        uint64_t was = (at >= 0) ? before->device[at].place.folder : 0u;
        reloaded = reloaded || (was != 0u && now != 0u && was != now);
    }
    return reloaded;
}

/*
 * Whether the known devices stay although a probe found none. A reload of the kernel module removes
 * all devices for some seconds. Meanwhile pods keep their claims and the slices stay, until a probe
 * after DEVICES_GRACE_MS still finds no device.
 */
static bool keeps_devices(struct agent *a, const struct devices *next)
{
    struct node_inventory *inventory = &a->node->inventory;
    bool gone = next->count == 0u && !next->unknown && inventory->devices.count > 0u;
    bool first = gone && !inventory->missing;
    inventory->lost = first || (!inventory->missing && is_reloaded(&inventory->devices, next));
    inventory->missing = gone;
    if (first) {
        inventory->missing_ms = a->now_ms;
        log_begin(a, LOG_ID_DEVICES_MISSING);
        log_number(a, "devices_kept", inventory->devices.count);
        log_number(a, "grace_ms", DEVICES_GRACE_MS);
        log_end(a);
    }
    return gone && a->now_ms - inventory->missing_ms < DEVICES_GRACE_MS;
}

static void log_devices(struct agent *a)
{
    const struct node_inventory *inventory = &a->node->inventory;
    log_begin(a, LOG_ID_DEVICES_FOUND);
    log_text(a, "instance_type", inventory->devices.instance_type);
    log_number(a, "devices", inventory->devices.count);
    /* the table of EFA devices has no driver version */
    if (a->driver->kind == DRIVER_NEURON) {
        log_text(a, "driver_version", inventory->devices.driver_version);
    }
    if (inventory->devices.lnc_host > 0u) {
        log_number(a, "logical_nc_config", inventory->devices.lnc_host);
    }
    log_end(a);
}

static void log_found(struct agent *a, bool shown, bool same)
{
    if (!shown && !a->devices->unknown) {
        log_devices(a);
    }
    if (!same && a->driver->kind == DRIVER_NEURON) {
        node_check_type(a);
    }
}

/*
 * Copies the whole table, because facts that are not published may have changed too, for example a
 * boot id that became readable.
 */
static void copy_devices(struct node_inventory *inventory, const struct devices *next)
{
    devices_copy(&inventory->devices, next);
    inventory->missing = false;
    inventory->known = true;
}

enum inventory_change inventory_adopt(struct agent *a)
{
    struct node_inventory *inventory = &a->node->inventory;
    const struct devices *next = &a->scratch.devices;
    ASSERT(devices_valid(next));
    bool same = inventory->known && devices_same(next, &inventory->devices);
    if (!a->ending) {
        report_issues(a, &a->scratch.issues);
        bool returned = inventory->missing;
        if (keeps_devices(a, next)) {
            return INVENTORY_KEPT;
        }
        bool shown = same && !returned && next->lnc_host == inventory->devices.lnc_host;
        copy_devices(inventory, next);
        log_found(a, shown, same);
    } else {
        copy_devices(inventory, next);
    }
    return same ? INVENTORY_SAME : INVENTORY_OTHER;
}

bool inventory_apply_health(struct agent *a, uint64_t held, bool shared)
{
    const struct node_inventory *inventory = &a->node->inventory;
    bool certain = !inventory->devices.unknown && !inventory->missing;
    return device_states_apply(a, held, shared, certain);
}

bool inventory_is_known(const struct agent *a)
{
    return a->node->inventory.known;
}

bool inventory_is_missing(const struct agent *a)
{
    return a->node->inventory.missing;
}

bool inventory_is_lost(const struct agent *a)
{
    return a->node->inventory.lost;
}
