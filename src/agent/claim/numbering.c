/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the numbers of devices in containers, see numbering.h. No API shows a driver which
 * containers use a claim, so all claims of a pod count as used by the same container.
 */
#include "agent/claim/numbering.h"

#include "agent/frame.h"
#include "agent/ledger/ledger.h"

static bool is_in_call(const struct claim_group *call, const char *uid)
{
    bool found = false;
    for (unsigned i = 0; call != NULL && i < call->count; i++) {
        found = found || text_is(call->uid[i], uid);
    }
    return found;
}

/*
 * Whether one container may use both the claim of this slot and the claim of the record, so that
 * their numbers must differ.
 */
static bool is_beside(const struct agent *a, const struct claim_group *call, unsigned slot,
                      const struct claim_record *r)
{
    const struct ledger_entry *e = ledger_entry(a, slot);
    /*
     * Equal numbers conflict only if at least one of the claims is numbered from zero. If both
     * claims have the host's numbers, an equal number means the same device, which the claims
     * share.
     */
    bool counts = e->state == LEDGER_HELD && (r->zero_numbering || e->zero_numbering);
    if (!counts || text_is(r->id.uid, ledger_id(a, slot)->uid)) {
        return false;
    }
    const char *pod = ledger_consumer(a, slot)->uid;
    return (pod[0] != '\0' && text_is(pod, r->consumer.uid)) ||
           is_in_call(call, ledger_id(a, slot)->uid);
}

static void write_conflict(struct writer *why, const struct claim_record *r, const char *other,
                           uint64_t both, bool part)
{
    WRITE(why, "claim % and claim % of the same pod", SHOWN(view_text(r->id.name)),
          SHOWN(view_text(other)));
    if (part) {
        writer_text(why, ": one has a part of a device's cores, and has to be the only one of its "
                         "pod, because NEURON_RT_VISIBLE_CORES holds for a whole container");
        return;
    }
    WRITE(why,
          " would both have /dev/neuron% in a container: --device-numbering changed between them; "
          "delete and re-create the pod",
          NUMBER((unsigned)__builtin_ctzll(both)));
}

enum status numbering_choose(const struct agent *a, const struct claim_group *call,
                             struct claim_record *r, struct writer *why)
{
    uint64_t taken = 0;
    unsigned other = 0;
    uint64_t own = claim_container_numbers(r);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        uint64_t seen = is_beside(a, call, i, r) ? ledger_entry(a, i)->container_numbers : 0u;
        other = ((seen & own) != 0u) ? i : other;
        taken |= seen;
    }
    while (r->zero_numbering && (own & taken) != 0u && own >> (DEVICES_MAX - 1u) == 0u) {
        own <<= 1u;
        r->first_number++;
    }
    if ((own & taken) != 0u) {
        write_conflict(why, r, ledger_id(a, other)->name, own & taken,
                       claim_cores(r) != 0u || ledger_entry(a, other)->cores != 0u);
        return PEER_REFUSED;
    }
    return STATUS_OK;
}

enum status consecutive_check(const struct agent *a, const struct claim_record *r,
                              struct writer *why)
{
    if (!a->settings->require_consecutive || claim_consecutive(r)) {
        return STATUS_OK;
    }
    claim_scattered_write(why, r, a->devices->board);
    writer_text(why, " (--require-consecutive)");
    return PEER_REFUSED;
}

/*
 * Writes that too few adjacent cores of the device are free. `total`: cores of the device; 0: the
 * device is gone, or cannot be divided.
 */
static void write_no_cores(const struct agent *a, const struct claim_record *r, unsigned total,
                           struct writer *why)
{
    char name[DEVICE_NAME_CAP];
    unsigned used = ledger_cores(a, claim_numbers(r), r->id.uid);
    devices_name(a->devices, r->result[0].number, name);
    WRITE(why,
          "claim %/%: device % has no % free cores side by side (free: % of %); it is tried "
          "again: end pods that have parts of this device",
          SHOWN(view_text(r->id.namespace_)), SHOWN(view_text(r->id.name)), TEXT(name),
          NUMBER(claim_numbers_count(claim_cores(r))),
          NUMBER(claim_numbers_count(((1u << total) - 1u) & ~used)), NUMBER(total));
}

/*
 * The cores that the claim already holds, if it holds as many cores of the same device as `r` asks
 * for, and no other claim holds them; otherwise 0. The claim keeps these cores, because its
 * containers may run on them.
 */
static uint8_t own_cores(const struct agent *a, const struct claim_record *r, uint8_t used)
{
    int slot = ledger_find(a, r->id.uid);
    if (slot < 0) {
        return 0;
    }
    const struct ledger_entry *e = ledger_entry(a, (unsigned)slot);
    bool same = e->numbers == claim_numbers(r) && (e->cores & used) == 0u &&
                claim_numbers_count(e->cores) == claim_numbers_count(claim_cores(r));
    return same ? e->cores : 0u;
}

/*
 * Looks up the device again, because the device may have vanished, or changed its number of cores,
 * since the claim was read.
 */
enum status cores_choose(const struct agent *a, struct claim_record *r, struct writer *why)
{
    uint8_t part = claim_cores(r);
    if (part == 0u) {
        return STATUS_OK;
    }
    int at = devices_numbered(a->devices, r->result[0].number);
    const struct device *device = &a->devices->device[(at >= 0) ? at : 0];
    unsigned unit = (at >= 0) ? device_core_unit(a->devices, device) : 0u;
    unsigned total = (unit > 0u) ? device->core_count : 0u;
    uint8_t used = ledger_cores(a, claim_numbers(r), r->id.uid);
    uint8_t cores = own_cores(a, r, used);
    cores = (cores != 0u) ? cores : cores_place(used, part, total, unit);
    if (cores == 0u) {
        write_no_cores(a, r, total, why);
        return PEER_REFUSED;
    }
    r->result[0].cores = cores;
    return STATUS_OK;
}
