/* SPDX-License-Identifier: Apache-2.0 */
/* Finds claims that already hold a device that is allocated to another claim, see rivals.h. */
#include "agent/calls/rivals.h"

#include "agent/frame.h"
#include "agent/recovery/reconcile.h"
#include "agent/recovery/witness.h"
#include "base/assert.h"

/* Appends namespace and name of a claim, cut so that the text after them fits. */
static void write_claim_name(const struct claim_id *id, struct writer *why)
{
    WRITE(why, "%/%", SHOWN(view_text(id->namespace_)), SHOWN(view_text(id->name)));
}

/*
 * Writes for which device of the record `r` the claim in `slot` is a rival. false: that claim holds
 * this device; true: that claim holds another device with the same uverbs node.
 */
static bool write_contested(const struct agent *a, unsigned slot, const struct claim_record *r,
                            struct writer *why)
{
    char name[DEVICE_NAME_CAP];
    unsigned at = 0;
    while (at + 1u < r->count && !ledger_contests(a, slot, r, at)) {
        at++;
    }
    const struct claim_result *result = &r->result[at];
    bool node = result->efa_address != 0u && !ledger_holds_address(a, slot, result->efa_address);
    /*
     * the requested device stands for the whole node, so name the device that the other claim holds
     */
    if (result->node) {
        uint64_t both = ledger_entry(a, slot)->numbers & claim_numbers(r);
        devices_name(a->devices, (unsigned)__builtin_ctzll(both), name);
    } else {
        claim_device_name(result, name);
    }
    WRITE(why, ": requested device %", TEXT(name));
    if (node) {
        WRITE(why, " has /dev/infiniband/uverbs%, which", NUMBER(result->uverbs));
    }
    return node;
}

/*
 * Writes which commands end the claim `id`, which holds the device. Without the kubelet's
 * checkpoint the agent would keep the claim held after it is deleted, so then a second command is
 * needed, which names the UID.
 */
static void write_commands(struct agent *a, const struct claim_id *id, struct writer *why)
{
    bool by_itself = witness_exists(a);
    if (by_itself) {
        WRITE(why, " (%)", TEXT(id->uid));
    }
    /* the kubectl command needs the full names, so they are not cut */
    WRITE(why, "; once no pod uses that one: kubectl -n % delete resourceclaim %",
          TEXT(id->namespace_), TEXT(id->name));
    if (by_itself) {
        writer_text(why, "; the agent then releases it by itself");
    } else {
        WRITE(why, ", then neuron-dra-agent release %", TEXT(id->uid));
    }
}

void rivals_write(struct agent *a, unsigned slot, const struct claim_record *r, struct writer *why)
{
    const struct ledger_entry *e = ledger_entry(a, slot);
    const struct claim_id *id = ledger_id(a, slot);
    writer_text(why, "claim ");
    write_claim_name(&r->id, why);
    bool node = write_contested(a, slot, r, why);
    writer_text(why,
                node ? " is already named by the record of claim " : " is already held by claim ");
    write_claim_name(id, why);
    if (e->guessed && claim_joins(r)) {
        WRITE(why,
              " (%), whose cores are not known: no claim joins it before its pod is prepared again "
              "or ends",
              TEXT(id->uid));
    } else if (ledger_shares_rest(a, e) && !node && a->driver->shares <= 1u) {
        WRITE(why,
              " (%), which has a share of it, and the agent shares no device now: switch sharing "
              "on again, or end the pods of that claim",
              TEXT(id->uid));
    } else if (reconcile_withholds(a, slot)) {
        WRITE(why, " (%), which is gone; once no container uses it: neuron-dra-agent release %",
              TEXT(id->uid), TEXT(id->uid));
    } else {
        write_commands(a, id, why);
    }
}

int rivals_disputing(struct agent *a, unsigned slot)
{
    int other = ledger_disputed(a, slot);
    if (other < 0 || reconcile_is_stale(a, (unsigned)other)) {
        return -1;
    }
    reconcile_check(a, (unsigned)other);
    return other;
}

/*
 * Whether the claim in `slot`, whose cores are guessed, stays held although the new claim gets the
 * same device. It stays held if the new claim asks for only a part of the device, because both
 * parts may fit.
 */
static bool stays_beside(const struct agent *a, unsigned slot, const struct claim_record *r)
{
    return ledger_entry(a, slot)->guessed && claim_joins(r);
}

void rivals_find(struct agent *a, const struct claim_record *r, struct rivals *found)
{
    /*
     * While sharing is switched off, the new claim cannot share a device with a claim that holds a
     * part of it. Claims that were prepared earlier keep the devices that they share.
     */
    bool sharing = a->driver->shares > 1u;
    *found = (struct rivals){.firm = -1};
    int slot = ledger_rival(a, 0, r, sharing);
    for (unsigned i = 0; i < CLAIMS_MAX && slot >= 0 && found->firm < 0; i++) {
        if (stays_beside(a, (unsigned)slot, r) || !reconcile_is_stale(a, (unsigned)slot)) {
            reconcile_check(a, (unsigned)slot);
            found->firm = slot;
        } else {
            found->stale[found->count] = (uint16_t)slot;
            found->count++;
            slot = ledger_rival(a, (unsigned)slot + 1u, r, sharing);
        }
    }
}

/*
 * Releases the stale claims in `found`. Returns the slot of a rival that remains; -1: there is
 * none.
 */
static int release_stale(struct agent *a, const struct claim_record *r, const struct rivals *found)
{
    for (unsigned i = 0; i < found->count; i++) {
        if (!reconcile_release_stale(a, found->stale[i])) {
            return (int)found->stale[i];
        }
    }
    /* No rival should remain, because each claim has only one slot; this search makes sure. */
    return ledger_rival(a, 0, r, a->driver->shares > 1u);
}

enum status rivals_release(struct agent *a, const struct claim_record *r, struct rivals *found,
                           struct writer *why)
{
    ASSERT(found->firm < 0);
    bool first = found->count > 0u && ledger_find(a, r->id.uid) < 0;
    enum status s = first ? ledger_put_file(a, r, why) : STATUS_OK;
    found->file_written = first && s == STATUS_OK;
    if (s == STATUS_OK) {
        found->firm = release_stale(a, r, found);
    }
    if (found->file_written && found->firm >= 0) {
        ledger_take_back_file(a, r);
        found->file_written = false;
    }
    return s;
}
