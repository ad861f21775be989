/* SPDX-License-Identifier: Apache-2.0 */
/* The wanted content: devices and labels without what the API server would refuse. */
#include "agent/publish/wanted.h"

#include <string.h>

#include "agent/state.h"
#include "base/crc32c.h"
#include "dra/issue.h"

/* Whether the item with this value is to be logged: not yet logged, and the list has room. */
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
    if (!is_new(&a->publish.left_out, item, value)) {
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
    const struct devices *devices = &a->publish.wanted.devices;
    struct attributes *all = &a->publish.attributes;
    device_attributes_left_out(devices, index, all);
    for (unsigned i = 0; i < all->count; i++) {
        const struct attribute *at = &all->attribute[i];
        log_left_out(a, &devices->device[index], at->key, at->text, attribute_issue(at));
    }
}

/* All but the devices whose name the server would refuse. */
static void take_devices(struct agent *a)
{
    struct devices *wanted = &a->publish.wanted.devices;
    unsigned kept = 0;
    *wanted = a->devices;
    wanted->labels = a->node.facts.labels;
    for (unsigned i = 0; i < a->devices.count; i++) {
        const struct device *device = &a->devices.device[i];
        enum issue issue = device_name_issue(device);
        if (issue != ISSUE_NONE) {
            log_left_out(a, device, "name", device->name, issue);
        } else {
            wanted->device[kept] = *device;
            kept++;
        }
    }
    wanted->count = (uint16_t)kept;
}

void wanted_take(struct agent *a)
{
    struct wanted *w = &a->publish.wanted;
    take_devices(a);
    memcpy(w->owner, a->node.facts.uid, sizeof w->owner);
    for (unsigned i = 0; i < w->devices.count; i++) {
        log_attributes_left_out(a, i);
    }
}
