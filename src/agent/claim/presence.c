/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks devices at the time of a prepare, see presence.h. Without this check a device that is
 * gone, or was replaced by another one, would only cause an error in the container runtime.
 */
#include "agent/claim/presence.h"

#include "agent/frame.h"

/* error text for a device that changed after the last probe; the next probe records the change */
static const char changed[] = " changed since the last probe; try again";

/* How a device differs from what the last probe found; NULL: there is no difference. */
static const char *place_difference(enum status s, const struct device_place *now,
                                    const struct device_place *probed)
{
    const char *text = NULL;
    if (s != STATUS_OK) {
        text = (now->folder == 0u) ? " is gone from sysfs: " : " has no device node: ";
    } else if (now->node == 0u && probed->node != 0u) {
        text = " has a node that is not a character device";
    } else if (now->node != probed->node || now->folder != probed->folder) {
        text = changed;
    }
    return text;
}

/*
 * Whether the device at this index of the table is still the device that was probed; if not, `why`
 * gets the difference. `uverbs`: the uverbs node in the record of an EFA device, which is outdated
 * after a reload of the driver; the node of a Neuron device follows from its number.
 */
static bool device_is_here(const struct agent *a, const struct claim_record *r, int at,
                           unsigned uverbs, struct writer *why)
{
    const struct files *f = a->files;
    struct device_place now = {.folder = 0, .node = 0};
    if (at < 0) {
        writer_text(why, DEVICE_GONE_TEXT);
        return false;
    }
    const struct device *d = &a->devices->device[at];
    const struct driver_traits *traits = driver_traits(r->driver);
    enum status s = f->device(f->ctx, traits->numbered ? d->number : d->efa.uverbs, &now);
    const char *text = place_difference(s, &now, &d->place);
    if (text == NULL && !traits->numbered && d->efa.uverbs != uverbs) {
        text = " has another uverbs node since the claim was prepared";
    }
    if (text != NULL) {
        WRITE(why, "%%", TEXT(text), TEXT((s != STATUS_OK) ? f->why(f->ctx) : ""));
        if (text != changed) {
            WRITE(why, "; reload the % driver, or delete and re-create the pod",
                  TEXT(traits->software));
        }
    }
    return text == NULL;
}

/*
 * Checks the EFA devices of the record. Finds them by PCI address, because the number in a record
 * may belong to another device now.
 */
static enum status functions_check(const struct agent *a, const struct claim_record *r,
                                   const char *what, struct writer *why)
{
    size_t before = why->len;
    for (unsigned i = 0; i < r->count && !a->devices->unknown; i++) {
        char name[DEVICE_NAME_CAP];
        const struct claim_result *result = &r->result[i];
        claim_device_name(result, name);
        WRITE(why, "% device %", TEXT(what), TEXT(name));
        if (!device_is_here(a, r, devices_addressed(a->devices, result->efa_address),
                            result->uverbs, why)) {
            return PEER_NOT_FOUND;
        }
        why->len = before;
    }
    return STATUS_OK;
}

enum status presence_check(const struct agent *a, const struct claim_record *r, const char *what,
                           struct writer *why)
{
    size_t before = why->len;
    if (!driver_traits(r->driver)->numbered) {
        return functions_check(a, r, what, why);
    }
    /*
     * If the last probe failed, no device is checked, because such a check would fail the prepare
     * of a running pod.
     */
    uint64_t numbers = a->devices->unknown ? 0u : claim_all_numbers(r);
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((numbers >> n & 1u) == 0u) {
            continue;
        }
        writer_text(why, what);
        char name[DEVICE_NAME_CAP];
        devices_name(a->devices, n, name);
        WRITE(why, " device %", TEXT(name));
        if (!device_is_here(a, r, devices_numbered(a->devices, n), 0, why)) {
            return PEER_NOT_FOUND;
        }
        why->len = before;
    }
    return STATUS_OK;
}
