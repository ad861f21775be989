/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the wanted content of the slices: devices and labels, except those that the API server
 * would refuse.
 */
#include "agent/publish/wanted.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/node/device_states.h"
#include "agent/node/node.h"
#include "agent/publish/room.h"
#include "agent/report/log.h"
#include "base/crc32c.h"
#include "dra/issue.h"

/*
 * Lowest minor version of the kubelet with which --ultraserver-devices=auto tries shared counters.
 */
#define COUNTERS_KUBELET_MINOR 36u

/*
 * Adds a left-out item with its value to `l`. false: the item must not be logged, because it was
 * added before or `l` is full.
 */
static bool is_new(struct left_out *l, const char *item, const char *value)
{
    uint32_t sum = crc32c(crc32c(0, view_text(item)), view_text(value));
    for (unsigned i = 0; i < l->count; i++) {
        if (l->sum[i] == sum) {
            return false;
        }
    }
    if (l->count == OMITTED_LOGGED_MAX) {
        return false;
    }
    l->sum[l->count] = sum;
    l->count++;
    return true;
}

static void log_left_out(struct agent *a, const struct device *device, const char *item,
                         const char *value, enum issue issue)
{
    if (!is_new(&a->publish->left_out, item, value)) {
        return;
    }
    log_begin(a, LOG_ID_SLICE_ITEM_OMITTED);
    log_text(a, "device", device->name);
    log_text(a, "item", item);
    log_text(a, "value", value);
    log_text(a, "text", issue_text(issue));
    log_end(a);
}

static void log_attributes_left_out(struct agent *a, unsigned index)
{
    const struct devices *devices = &a->publish->wanted.devices;
    struct attributes *all = &a->publish->attributes;
    device_attributes_left_out(devices, index, all);
    for (unsigned i = 0; i < all->count; i++) {
        const struct attribute *at = &all->attribute[i];
        log_left_out(a, &devices->device[index], at->key, at->text, attribute_issue(at));
    }
}

/* Applies the device's state to its published fields; false: the device must be left out. */
static bool apply_state(const struct agent *a, struct device *device)
{
    device->tainted = device_states_taints(a, device->number);
    for (unsigned i = 0; i < (unsigned)TAINTS; i++) {
        uint64_t age_ms = a->now_ms - device_states_since(a, device->number, (enum taint_reason)i);
        uint64_t since_s = (a->wall_ms - age_ms) / 1000u;
        device->taint_s[i] = (int64_t)since_s;
    }
    return !device_states_omit(a, device->number);
}

/* Adds devices that have vanished but are held by a claim, so that they stay published. */
static void keep_devices(const struct agent *a, struct devices *wanted)
{
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if (device_states_keeps(a, n)) {
            devices_keep(wanted, n);
        }
    }
}

/*
 * Whether the API server may keep shared counters. The API server is never older than the kubelet,
 * and keeps them by default from 1.36 on (DRAPartitionableDevices); the response to a write shows
 * whether the server dropped them.
 */
static bool keeps_counters(const struct agent *a)
{
    bool wanted = a->settings->ultraserver == ULTRASERVER_BOTH;
    if (a->settings->ultraserver == ULTRASERVER_AUTO) {
        wanted = node_kubelet_minor(a) >= COUNTERS_KUBELET_MINOR;
    }
    return wanted && !a->publish->round.no_counters && version_now(a) == API_V1;
}

/*
 * Number of shares of each device:
 * - Above 1: the setting, unless the API server dropped or refused the shares in an earlier
 *   write. The server keeps them by default from 1.36 on (DRAConsumableCapacity).
 * - 1: claims still hold shares, but a new claim gets its devices alone.
 * - 0: no sharing.
 *
 * `with_node`: the node is published as a device. The setting is then ignored, because shared
 * counters together with shares made 1.36.0 allocate devices twice (kubernetes#139034).
 */
static unsigned shares_of(const struct agent *a, bool with_node)
{
    bool wanted = a->driver->shares > 1u && !a->publish->round.no_shares && !with_node;
    return wanted ? a->driver->shares : (device_states_are_shared(a) ? 1u : 0u);
}

/*
 * Copies the devices to be published: all but those whose name the API server would refuse, or
 * whose health excludes them.
 */
static void copy_devices(struct agent *a)
{
    struct devices *wanted = &a->publish->wanted.devices;
    unsigned kept = 0;
    devices_copy(wanted, a->devices);
    wanted->count = a->ending ? 0u : wanted->count;
    wanted->labels = node_facts(a)->labels;
    wanted->taints = a->settings->taint;
    bool with_node = wanted->ultraserver.member && a->settings->ultraserver != ULTRASERVER_DEVICES;
    wanted->shares = (uint8_t)shares_of(a, with_node);
    wanted->resources = (struct node_resources){0};
    if (!a->publish->round.no_resources) {
        wanted->resources = a->driver->resources;
    }
    if (!a->ending) {
        keep_devices(a, wanted);
    }
    for (unsigned i = 0; i < wanted->count; i++) {
        struct device *device = &wanted->device[i];
        enum issue issue = device_name_issue(device);
        if (issue != ISSUE_NONE) {
            log_left_out(a, device, "name", device->name, issue);
        } else if (apply_state(a, device)) {
            wanted->device[kept] = *device;
            kept++;
        }
    }
    wanted->count = (uint16_t)kept;
    if (with_node) {
        devices_add_node(wanted, !keeps_counters(a));
    }
}

void wanted_rebuild(struct agent *a)
{
    struct wanted *w = &a->publish->wanted;
    copy_devices(a);
    w->made++;
    memcpy(w->owner, node_facts(a)->uid, sizeof w->owner);
    for (unsigned i = 0; i < w->devices.count; i++) {
        log_attributes_left_out(a, i);
    }
}

void wanted_init(struct agent *a)
{
    a->publish->wanted.driver = a->driver->name;
    a->publish->wanted.node_name = a->settings->node_name;
    wanted_rebuild(a);
}
