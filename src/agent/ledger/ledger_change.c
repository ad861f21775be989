/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds claims to the table and removes them: store, CDI file and table change together. Owns
 * nothing: ledger.h owns the table.
 *
 * A prepared claim is stored twice, as its record and as its CDI file, and a prepare writes the CDI
 * file first. An unprepare renames the CDI file to a tombstone, frees the record, flushes, and
 * removes the tombstone. So if the process is killed, or writes to the store fail, the worst result
 * is a claim that stays held until the kubelet repeats its call; a claim that the agent already
 * reported as prepared or unprepared stays so.
 */
#include "agent/ledger/ledger_internal.h"

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "base/assert.h"
#include "cfg/identity.h"

static const char no_slot[] = "all slots of the claim store are in use; unprepare claims first";

/* --- adding claims (prepare) --- */

/* Writes the record into a slot that is free, is being freed, or already holds the claim. */
static enum status put_in(struct agent *a, const struct claim_record *r, unsigned slot,
                          struct writer *why)
{
    struct writer record = writer_of(a->scratch.record, sizeof a->scratch.record);
    enum status s = store_record_encode(r, &record);
    if (s != STATUS_OK) {
        writer_text(why, "the claim's record would be over its limit; use fewer or shorter names");
        return s;
    }
    s = half_write(a, slot, writer_view(&record));
    if (s != STATUS_OK) {
        ledger_trouble_text(a, STORE_FILE_NAME, "written", s, why);
        store_failed(a, "written", s);
        return s;
    }
    ledger_move(a, slot, LEDGER_HELD);
    if (a->ledger->entry[slot].tombstone) {
        a->ledger->tombstones = true;
    }
    a->ledger->entry[slot].tombstone = false;
    ledger_enter(a, slot, r);
    record_keep(a, slot, r);
    return STATUS_OK;
}

/*
 * Records in the slot of a released claim whether the claim's CDI file may still exist. `left`: the
 * file may exist, because creating the tombstone failed with `s`; the error is then logged. Call
 * this right after the call that returned `s`, because the files port keeps only the reason for its
 * last failure.
 */
static void set_file_left(struct agent *a, unsigned slot, enum status s, bool left)
{
    ledger_move(a, slot, left ? LEDGER_FREEING_FILE : LEDGER_FREEING);
    if (left) {
        cdi_failed(a, a->ledger->id[slot].uid, s);
    }
}

/*
 * Turns the CDI file of the slot's claim into a tombstone. `beside`: another slot has a record of
 * the claim, which only a tombstone ends, so this creates one also if there is no CDI file.
 */
static enum status bury(struct agent *a, unsigned slot, bool beside)
{
    const char *uid = a->ledger->id[slot].uid;
    enum status s = cdi_bury(a, uid);
    s = (s == HOST_ABSENT && beside) ? cdi_mark_gone(a, uid) : s;
    set_file_left(a, slot, s, s != STATUS_OK && s != HOST_ABSENT);
    return s;
}

static enum status write_release(struct agent *a, unsigned slot)
{
    if (!a->ledger->usable) { /* a store that is not open may belong to another agent */
        return HOST_IO;
    }
    enum status s = slot_write(a, slot);
    if (s != STATUS_OK) {
        store_failed(a, "written", s);
    }
    return s;
}

/*
 * Releases the claim of the slot: turns its CDI file into a tombstone, and writes the release to
 * the store. Later flushes retry operations that fail here.
 */
static void release_slot(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    bool beside = ledger_freeing_beside(a, slot);
    ledger_set_freeing(a, slot);
    enum status buried = bury(a, slot, beside);
    if (e->metadata) {
        ledger_tidy_metadata(a, a->ledger->id[slot].uid);
    }
    /* without a tombstone, the other slot's record would end the release: see check_released */
    bool keeps = beside && buried != STATUS_OK;
    enum status s = keeps ? HOST_IO : write_release(a, slot);
    if (buried == HOST_ABSENT && (s != STATUS_OK || a->ledger->unlisted)) {
        buried = cdi_mark_gone(a, a->ledger->id[slot].uid);
        set_file_left(a, slot, buried, buried != STATUS_OK);
    }
}

/*
 * Makes the CDI file of a held claim, and the files that the CDI file mounts, match the record
 * again.
 */
static void restore_files(struct agent *a, unsigned slot)
{
    const struct claim_record *before = NULL;
    struct writer discarded = writer_of(NULL, 0);
    enum status s = ledger_record(a, slot, &before);
    s = (s == STATUS_OK) ? ledger_ensure_cdi(a, before, &discarded) : s;
    status_ignore(s, "the next prepare or round of reconciliation writes it");
}

/*
 * Writes the earlier record again after a failed write, because a disk may have done part or all of
 * a write that it reported as failed. If the earlier record cannot be written either, the slot
 * holds the devices of both records.
 */
static void restore_record(struct agent *a, unsigned slot, const struct claim_record *r)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    enum status s = half_copy(a, slot);
    if (s != STATUS_OK) { /* after a restart, the store may have the earlier record or `r` */
        struct claim_consumer consumer;
        consumer = *ledger_consumer(a, slot);
        bool part = e->cores != 0u && claim_cores(r) != 0u && e->numbers == claim_numbers(r);
        uint8_t cores = part ? e->cores | claim_cores(r) : 0u;
        bool guess = !part && (e->guessed || e->cores != 0u || claim_cores(r) != 0u);
        a->ledger->entry[slot].functions |= ledger_functions(a, r);
        ledger_hold(a, slot, e->numbers | claim_numbers(r), e->shares && claim_shares(r) && !guess,
                    &consumer);
        a->ledger->entry[slot].cores = cores;
        /* true: the claim counts as holding whole devices */
        a->ledger->entry[slot].guessed = guess;
        return;
    }
    restore_files(a, slot);
}

/*
 * Finds the slot for a record of `uid`: the slot that holds the claim, else a free one. FULL_TABLE:
 * there is none; HOST_IO: the store is not open.
 */
static enum status put_slot(const struct agent *a, const char *uid, unsigned *slot,
                            struct writer *why)
{
    int held = ledger_find(a, uid);
    int at = (held >= 0) ? held : ledger_free_slot(a, uid);
    if (!a->ledger->usable || at < 0) {
        writer_text(why, a->ledger->usable ? no_slot : a->ledger->trouble);
        return a->ledger->usable ? FULL_TABLE : HOST_IO;
    }
    *slot = (unsigned)at;
    return STATUS_OK;
}

enum status ledger_adopt(struct agent *a, const struct claim_record *r, unsigned *slot,
                         struct writer *why)
{
    enum status s = put_slot(a, r->id.uid, slot, why);
    if (s != STATUS_OK) {
        return s;
    }
    s = put_in(a, r, *slot, why);
    if (s != STATUS_OK && a->ledger->entry[*slot].state == LEDGER_HELD) {
        restore_record(a, *slot, r);
    }
    return s;
}

void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    ASSERT(e->state != LEDGER_HELD);
    e->tombstone = e->state == LEDGER_FREEING_FILE;
    ledger_move(a, slot, LEDGER_HELD);
    /* no half on the disk has this sequence number, so none counts as this slot's record */
    a->ledger->sequence++;
    e->sequence = a->ledger->sequence;
    ledger_enter(a, slot, r);
    record_keep(a, slot, r);
}

void ledger_take_back_file(struct agent *a, const struct claim_record *r)
{
    ASSERT(ledger_find(a, r->id.uid) < 0);
    enum status s = cdi_remove(a, r->id.uid);
    status_ignore(s, "the next round of reconciliation removes a file without a record");
    if (r->metadata) {
        ledger_tidy_metadata(a, r->id.uid);
    }
}

static enum status put_file(struct agent *a, const struct claim_record *r, struct writer *why)
{
    int held = ledger_find(a, r->id.uid);
    enum status s = cdi_put(a, r, why);
    if (s != STATUS_OK && held < 0) {
        ledger_take_back_file(a, r);
    } else if (s != STATUS_OK && r->metadata) {
        restore_files(a, (unsigned)held);
    }
    return s;
}

enum status ledger_put_file(struct agent *a, const struct claim_record *r, struct writer *why)
{
    unsigned slot = 0;
    enum status s = put_slot(a, r->id.uid, &slot, why);
    return (s == STATUS_OK) ? put_file(a, r, why) : s;
}

enum status ledger_put_record(struct agent *a, const struct claim_record *r, unsigned *slot,
                              struct writer *why)
{
    enum status s = put_slot(a, r->id.uid, slot, why);
    if (s != STATUS_OK) {
        return s;
    }
    bool held = a->ledger->entry[*slot].state == LEDGER_HELD;
    bool freeing = ledger_freeing(a, r->id.uid);
    s = ledger_adopt(a, r, slot, why);
    if (s == STATUS_OK && (freeing || a->ledger->tombstones)) {
        /* if the CDI file is lost, the next process heeds a tombstone that is left here */
        enum status unmarked = cdi_unmark(a, r->id.uid);
        status_ignore(unmarked, "beside a CDI file it means nothing");
    } else if (s != STATUS_OK && !held) {
        a->ledger->id[*slot] = r->id;
        a->ledger->entry[*slot].metadata = r->metadata;
        release_slot(a, *slot);
    }
    return s;
}

enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                       struct writer *why)
{
    enum status s = ledger_put_file(a, r, why);
    return (s == STATUS_OK) ? ledger_put_record(a, r, slot, why) : s;
}

/* --- removing claims (unprepare) --- */

/*
 * Marks a claim as unprepared by a tombstone, because its record may return in three cases:
 * - the store is not open, and may have the record;
 * - the release could not be written to the store;
 * - the store lost claims, and the list of claims at the API server may name this one.
 *
 * A claim without a CDI file gets a tombstone too, because the file may have been removed. Without
 * a tombstone, a claim that exists but is allocated to another node now could stay held here.
 */
static enum status remove_unread(struct agent *a, const char *uid, struct writer *why)
{
    enum status s = cdi_bury(a, uid);
    s = (s == HOST_ABSENT) ? cdi_mark_gone(a, uid) : s;
    a->ledger->tombstones = true;
    if (s != STATUS_OK) {
        cdi_failed(a, uid, s);
        bool well = a->ledger->usable && a->ledger->failing == STATUS_OK;
        writer_text(why, well ? "no tombstone can be made in the CDI root, and the "
                                "claims of this node are still to be listed"
                              : a->ledger->trouble);
    }
    return s;
}

enum status ledger_rewrite_refused(struct agent *a, unsigned slot, struct writer *why)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    enum status s = e->refused ? slot_write(a, slot) : STATUS_OK;
    if (s != STATUS_OK) {
        ledger_trouble_text(a, STORE_FILE_NAME, "written", s, why);
    }
    return s;
}

/*
 * After a release: keeps the claim held if neither the store nor the CDI file of the claim could be
 * changed, because the next process would find the claim held. A store that still has the claim's
 * record in another slot, which waits to be freed, counts as one that could not be changed
 * (release_slot). The disk may have done a write that it reported as failed, so this writes the
 * record again and removes the tombstone; entry.refused stays true if that fails too. HOST_IO: the
 * claim stays held.
 */
static enum status check_released(struct agent *a, unsigned slot, struct writer *why)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    if (e->state != LEDGER_FREEING_FILE || !e->refused) {
        return STATUS_OK;
    }
    ledger_move(a, slot, LEDGER_HELD);
    e->tombstone = true;
    enum status s = slot_write(a, slot);
    status_ignore(s, "ledger_rewrite_refused tries it again");
    WRITE(why, "%; and the claim's CDI file cannot be removed", TEXT(a->ledger->trouble));
    return HOST_IO;
}

/*
 * Repeats the removal of a claim that is being freed; the next flush completes it. Creates a
 * missing tombstone again in three cases:
 * - The release cannot be written to the store, so only the tombstone shows it to the next process.
 * - Two slots free the claim, so the release in one of them could not be written.
 * - The list of claims is due and may name the claim. FREEING_FILE needs no tombstone for that,
 *   because the list does not adopt such a claim, and settle_slot creates the tombstone.
 */
static enum status remove_again(struct agent *a, const char *uid, struct writer *why)
{
    int slot = ledger_freeing_slot(a, uid);
    ASSERT(slot >= 0);
    bool refused = a->ledger->entry[slot].refused || ledger_freeing_beside(a, (unsigned)slot);
    bool listed = a->ledger->unlisted && !ledger_freeing_file(a, uid);
    return ((refused || listed) && ledger_tombstone(a, uid) != STATUS_OK)
               ? remove_unread(a, uid, why)
               : STATUS_OK;
}

enum status ledger_remove(struct agent *a, const char *uid, struct writer *why)
{
    const struct ledger *l = a->ledger;
    int slot = ledger_find(a, uid);
    if (l->busy) {
        writer_text(why, l->trouble);
        return HOST_BUSY;
    }
    if (slot >= 0) {
        release_slot(a, (unsigned)slot);
        return check_released(a, (unsigned)slot, why);
    }
    if (ledger_freeing(a, uid)) {
        return remove_again(a, uid, why);
    }
    if (!l->known || l->unlisted) {
        return remove_unread(a, uid, why);
    }
    enum status s = cdi_remove(a, uid);
    if (s != STATUS_OK) {
        cdi_failed(a, uid, s);
    }
    s = cdi_unmark(a, uid);
    status_ignore(s, "a tombstone of no record means nothing");
    return STATUS_OK;
}
