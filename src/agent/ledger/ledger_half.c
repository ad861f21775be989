/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes, reads and flushes the halves and records of the claim store, and keeps copies of records
 * in memory. dra/store.h defines their format.
 */
#include "agent/api/client.h"
#include "agent/frame.h"
#include "agent/ledger/ledger_internal.h"
#include "agent/ledger/room.h"
#include "agent/report/durations.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "cfg/identity.h"

void store_check(struct agent *a, enum status s)
{
    if (s == HOST_ABSENT && a->ledger->usable) {
        a->ledger->usable = false;
        a->ledger->retry_ms = a->now_ms;
        text_cut(a->ledger->trouble, sizeof a->ledger->trouble,
                 view_text("the claim store was lost while the agent ran; it is made again"));
    }
}

void store_failed(struct agent *a, const char *doing, enum status s)
{
    struct ledger *l = a->ledger;
    if (l->failing == s) {
        return;
    }
    l->failing = s;
    log_begin(a, LOG_ID_STORE_FAILED);
    log_text(a, "doing", doing);
    log_text(a, "reason", ledger_reason(a, s));
    log_remedy(a, ledger_remedy(a, s));
    log_end(a);
    if (l->usable) {
        struct writer why = writer_of(l->trouble, sizeof l->trouble);
        ledger_trouble_text(a, STORE_FILE_NAME, doing, s, &why);
        writer_close_text(&why);
    }
}

/* --- copies of records in memory --- */

/*
 * The element of `kept` with a record of the slot, which may be outdated; NULL: no element has one.
 */
static struct kept_record *kept_find(struct ledger *l, unsigned slot)
{
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        if (l->kept[i].sequence != 0u && l->kept[i].slot == slot) {
            return &l->kept[i];
        }
    }
    return NULL;
}

/*
 * Empties and returns an element of `kept` for the record of a slot: the element that already
 * belongs to the slot or, if there is none, the element that was filled longest ago.
 */
static struct kept_record *kept_place(struct ledger *l, unsigned slot)
{
    struct kept_record *k = kept_find(l, slot);
    if (k == NULL) {
        k = &l->kept[l->kept_next];
        l->kept_next = (l->kept_next + 1u) % LEDGER_RECORDS_MAX;
    }
    k->slot = (uint16_t)slot;
    k->sequence = 0;
    return k;
}

void record_keep(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct kept_record *k = kept_place(a->ledger, slot);
    k->sequence = a->ledger->entry[slot].sequence;
    claim_record_copy(&k->record, r);
}

struct claim_record *record_room(struct agent *a)
{
    return &kept_place(a->ledger, CLAIMS_MAX)->record;
}

const struct claim_record *record_kept(struct agent *a, unsigned slot)
{
    const struct kept_record *k = kept_find(a->ledger, slot);
    return (k != NULL && k->sequence == a->ledger->entry[slot].sequence) ? &k->record : NULL;
}

/* --- reading halves and records of the store --- */

enum status state_read(const struct agent *a, const char *file, uint64_t at, struct writer *out)
{
    const struct files *f = a->files;
    enum status s = HOST_IO;
    for (unsigned try = 0; try < 2u && s == HOST_IO; try++) {
        *out = writer_of(out->data, out->cap);
        s = f->read(f->ctx, FILES_STATE, file, at, out);
    }
    return s;
}

enum status half_read(struct agent *a, const char *file, unsigned slot, unsigned half,
                      struct store_half *out)
{
    struct writer bytes = writer_of(a->scratch.half, sizeof a->scratch.half);
    enum status s = state_read(a, file, store_offset(slot, half), &bytes);
    if (s == HOST_IO) {
        *out = (struct store_half){.state = STORE_HALF_DAMAGED};
        return STATUS_OK;
    }
    if (s == STATUS_OK) {
        store_half_read(writer_view(&bytes), slot, out);
    }
    return s;
}

/*
 * Reads the half of a slot that counts. HOST_DAMAGED: that half is damaged, or its sequence is not
 * the one in the slot's entry.
 */
static enum status read_counting(struct agent *a, unsigned slot, struct store_half *out)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    enum status s = half_read(a, STORE_FILE_NAME, slot, e->half, out);
    store_check(a, s);
    if (s == STATUS_OK && (out->state == STORE_HALF_DAMAGED || out->sequence != e->sequence)) {
        s = HOST_DAMAGED;
    }
    return s;
}

enum status record_enter(struct agent *a, unsigned slot, struct view record)
{
    struct kept_record *k = kept_place(a->ledger, slot);
    struct ledger_entry *e = &a->ledger->entry[slot];
    struct store_outline o;
    if (store_record_decode(record, &k->record) == STATUS_OK) {
        k->sequence = e->sequence;
        ledger_move(a, slot, LEDGER_HELD);
        ledger_enter(a, slot, &k->record);
        return STATUS_OK;
    }
    enum status s = store_outline_decode(record, &o);
    if (s == STATUS_OK && o.released) {
        ledger_move(a, slot, LEDGER_FREEING_FILE);
        a->ledger->id[slot] = o.id;
        e->refused = false;
    } else if (s == STATUS_OK) {
        ledger_move(a, slot, LEDGER_HELD);
        ledger_move_record(e, RECORD_OUTLINE);
        e->container_numbers = 0;
        e->entered = e->sequence;
        e->held_ms = a->now_ms;
        a->ledger->id[slot] = o.id;
        e->functions = 0;
        ledger_hold(a, slot, o.numbers, false, &(struct claim_consumer){.kind = CONSUMER_POD});
    }
    return s;
}

bool half_names(struct agent *a, unsigned slot, const struct claim_record **r)
{
    struct store_half half;
    struct kept_record *k = kept_place(a->ledger, slot);
    bool read = read_counting(a, slot, &half) == STATUS_OK &&
                store_record_decode(half.record, &k->record) == STATUS_OK;
    k->sequence = read ? half.sequence : 0u;
    *r = &k->record;
    return read;
}

enum status ledger_read(struct agent *a, unsigned slot, const struct claim_record **out)
{
    ASSERT(slot < CLAIMS_MAX && a->ledger->entry[slot].state == LEDGER_HELD);
    struct store_half half;
    if (a->ledger->entry[slot].record != RECORD_WHOLE) {
        return PEER_UNSUPPORTED;
    }
    enum status s = read_counting(a, slot, &half);
    if (s != STATUS_OK) {
        return s;
    }
    struct kept_record *k = kept_place(a->ledger, slot);
    s = store_record_decode(half.record, &k->record);
    if (s == STATUS_OK) {
        k->sequence = half.sequence;
        *out = &k->record;
    }
    return s;
}

enum status ledger_record(struct agent *a, unsigned slot, const struct claim_record **out)
{
    ASSERT(slot < CLAIMS_MAX && a->ledger->entry[slot].state == LEDGER_HELD);
    *out = record_kept(a, slot);
    return (*out != NULL) ? STATUS_OK : ledger_read(a, slot, out);
}

/*
 * The record in the CDI file of a held claim, if that record names the same devices as the table;
 * else NULL.
 */
static const struct claim_record *record_of_cdi(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    if (!ledger_has_cdi_file(a, a->ledger->id[slot].uid)) {
        return NULL; /* return before kept_place, which may evict the record of another slot */
    }
    struct kept_record *k = kept_place(a->ledger, slot);
    if (ledger_read_cdi(a, a->ledger->id[slot].uid, &k->record) != STATUS_OK ||
        claim_numbers(&k->record) != e->numbers) {
        return NULL;
    }
    k->sequence = e->sequence;
    return &k->record;
}

/*
 * The record of a slot that is being freed: empty or, while the CDI file still exists, an outline
 * that marks the claim as released. Without the outline, the next process would adopt the CDI file.
 */
static struct view freeing_bytes(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    struct writer out = writer_of(a->scratch.record, sizeof a->scratch.record);
    ASSERT(ledger_is_freeing(e));
    if (e->state == LEDGER_FREEING_FILE) {
        const struct store_outline o = {.id = a->ledger->id[slot], .released = true};
        enum status s = store_outline_encode(&o, &out);
        ASSERT(s == STATUS_OK);
    }
    return writer_view(&out);
}

/*
 * The record of a held slot from memory, or from the CDI file of its claim. NULL: the record is not
 * WHOLE, or neither source has it; in the second case the entry moves to OUTLINE.
 */
static const struct claim_record *record_elsewhere(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    if (e->record != RECORD_WHOLE) {
        return NULL;
    }
    const struct claim_record *r = record_kept(a, slot);
    r = (r == NULL) ? record_of_cdi(a, slot) : r;
    if (r == NULL) {
        ledger_move_record(e, RECORD_OUTLINE);
    }
    return r;
}

struct view record_bytes(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    struct store_half half;
    struct writer out = writer_of(a->scratch.record, sizeof a->scratch.record);
    if (ledger_is_freeing(e)) {
        return freeing_bytes(a, slot);
    }
    ASSERT(e->state == LEDGER_HELD);
    if (e->record != RECORD_UNSURE &&
        half_read(a, STORE_FILE_NAME, slot, e->half, &half) == STATUS_OK &&
        half.state == STORE_HALF_RECORD && half.sequence == e->sequence) {
        writer_append(&out, half.record);
        return writer_view(&out);
    }
    const struct claim_record *r = record_elsewhere(a, slot);
    struct store_outline o = {.id = a->ledger->id[slot], .numbers = e->numbers};
    enum status s = (r == NULL) ? store_outline_encode(&o, &out) : store_record_encode(r, &out);
    ASSERT(s == STATUS_OK);
    return writer_view(&out);
}

/* --- writing halves of the store --- */

static enum status write_at(struct agent *a, unsigned slot, unsigned half, struct view record)
{
    struct ledger *l = a->ledger;
    struct ledger_entry *e = &l->entry[slot];
    struct writer out = writer_of(a->scratch.half, sizeof a->scratch.half);
    /*
     * A failed write may still have put its sequence number on the disk, so each attempt uses a
     * higher one.
     */
    l->sequence++;
    store_half_write(&out, slot, l->sequence, record);
    ASSERT(!out.full);
    enum status s = a->files->write(a->files->ctx, FILES_STATE, STORE_FILE_NAME,
                                    store_offset(slot, half), writer_view(&out));
    if (s == STATUS_OK) {
        e->half = (uint8_t)half;
        e->sequence = l->sequence;
    }
    return s;
}

static void set_dirty(struct agent *a, struct ledger_entry *e)
{
    struct ledger *l = a->ledger;
    ledger_move_flush(e, FLUSH_DUE);
    l->flush_ms = l->dirty ? l->flush_ms : a->now_ms + STORE_FLUSH_MS;
    l->dirty = true;
}

/*
 * Writes the header flags before any half: a write may overwrite a damaged half, and then only the
 * flags show that the store may have lost a claim.
 */
static enum status flags_first(struct agent *a)
{
    enum status s = a->ledger->flags_due ? flags_write(a) : STATUS_OK;
    a->ledger->flags_due = s != STATUS_OK;
    return s;
}

/*
 * Whether a record that could not be written into `half` may be written into the other half. A torn
 * write destroys the other half, which does harm in two cases:
 * - The claim is held: the other half may have its only record.
 * - The slot is free, and `half` still has the record of a released claim: without the other half,
 *   the next process would find that claim held.
 */
static bool may_move(struct agent *a, unsigned slot, unsigned half)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    struct store_half past;
    if (e->state != LEDGER_FREE) {
        return e->state != LEDGER_HELD;
    }
    return half_read(a, STORE_FILE_NAME, slot, half, &past) != STATUS_OK ||
           past.state != STORE_HALF_RECORD;
}

enum status half_write(struct agent *a, unsigned slot, struct view record)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    enum status first = flags_first(a);
    if (first != STATUS_OK) {
        e->refused = true;
        store_check(a, first);
        return first;
    }
    unsigned half = (e->flush == FLUSH_DUE) ? e->half : 1u - e->half;
    enum status s = write_at(a, slot, half, record);
    /* HOST_IO means that a sector is bad; any other error concerns the whole disk. */
    if (s == HOST_IO && may_move(a, slot, half)) {
        s = write_at(a, slot, 1u - half, record);
        e->damaged = e->damaged || s == STATUS_OK;
    } else if (s == STATUS_OK && e->flush != FLUSH_DUE) {
        e->damaged = false;
    }
    if (s == STATUS_OK) {
        set_dirty(a, e);
    }
    e->refused = s != STATUS_OK;
    store_check(a, s);
    return s;
}

/* Copies the record of the half that counts into scratch.record. */
static enum status copy_counting(struct agent *a, unsigned slot, struct view *record)
{
    struct store_half half;
    struct writer copy = writer_of(a->scratch.record, sizeof a->scratch.record);
    enum status s = read_counting(a, slot, &half);
    if (s == STATUS_OK) {
        writer_append(&copy, half.record);
    }
    *record = writer_view(&copy);
    return s;
}

enum status half_copy(struct agent *a, unsigned slot)
{
    struct view record;
    enum status s = copy_counting(a, slot, &record);
    return (s == STATUS_OK) ? half_write(a, slot, record) : s;
}

/*
 * Writes the bytes of the half that counts into `half`, unchanged. HOST_DAMAGED: the half that
 * counts is damaged.
 */
static enum status write_as_is(struct agent *a, unsigned slot, unsigned half)
{
    struct store_half counting;
    enum status s = read_counting(a, slot, &counting);
    if (s != STATUS_OK) {
        return s;
    }
    struct view whole = view_of(a->scratch.half, STORE_HALF_HEADER + counting.record.len);
    return a->files->write(a->files->ctx, FILES_STATE, STORE_FILE_NAME, store_offset(slot, half),
                           whole);
}

/*
 * The copy keeps the sequence number of the original, so that it does not count as newer than the
 * records of other slots.
 */
void half_heal(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    e->damaged = write_as_is(a, slot, 1u - e->half) != STATUS_OK;
}

/* --- flushing the store --- */

enum status flush_store(struct agent *a)
{
    const struct files *f = a->files;
    enum status s = f->commit(f->ctx, FILES_STATE, STORE_FILE_NAME, 0);
    uint64_t flush_us = f->flush_us(f->ctx);
    durations_flush(a, (s == STATUS_OK) ? RESULT_OK : RESULT_ERROR, flush_us);
    if (flush_us / 1000u >= TIME_OLD_MS) {
        /*
         * After a slow flush now_ms is outdated. Start no request until it is set again, because
         * the time limit of the request would begin too early.
         */
        api_time_old(a, true);
    }
    store_check(a, s);
    return s;
}

static void settle_halves(struct ledger *l, enum ledger_flush from)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (l->entry[i].flush == from) {
            ledger_move_flush(&l->entry[i], FLUSH_SETTLED);
        }
    }
}

void flush_doubted(struct agent *a)
{
    struct ledger *l = a->ledger;
    for (unsigned i = 0; i < CLAIMS_MAX && l->doubt && l->usable; i++) {
        if (l->entry[i].flush == FLUSH_DOUBTED) {
            enum status s = write_as_is(a, i, l->entry[i].half);
            status_ignore(s, "what a flush made safe is on the disk all the same");
        }
    }
    if (!l->doubt || !l->usable) {
        return;
    }
    if (flush_store(a) != STATUS_OK) {
        /*
         * The failed flush may also have made the kernel drop the data of halves that are DUE.
         * Because failed_flushes is incremented, ledger_sync writes these halves again.
         */
        l->failed_flushes += l->dirty ? 1u : 0u;
        return;
    }
    settle_halves(l, FLUSH_DOUBTED);
    l->doubt = false;
}

/*
 * Besides writing the slot, removes the tombstone of a held claim: a failed release may have left
 * one, even if creating the tombstone reported an error.
 */
enum status slot_write(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    enum status s = half_write(a, slot, record_bytes(a, slot));
    if (s == STATUS_OK && e->state == LEDGER_HELD && e->tombstone) {
        s = cdi_unmark(a, a->ledger->id[slot].uid);
        e->tombstone = s != STATUS_OK;
        e->refused = e->tombstone;
    }
    return s;
}

/*
 * Repeats failed writes, so that a restart does not find an unprepared claim held, and so that the
 * agent is ready as soon as writes succeed.
 */
static void retry_refused(struct agent *a)
{
    const struct ledger *l = a->ledger;
    bool any = l->freeing > 0u || l->failing != STATUS_OK;
    for (unsigned i = 0; i < CLAIMS_MAX && l->usable && any; i++) {
        const struct ledger_entry *e = &l->entry[i];
        if (e->refused && e->state != LEDGER_FREE) {
            enum status s = slot_write(a, i);
            status_ignore(s, "the next flush tries it again");
        }
    }
}

/*
 * After a failed fdatasync(2) the kernel counts the pages as clean, so the next fdatasync(2)
 * succeeds without writing the data. The records are therefore written again: after the first
 * failure in place, because only the other half is certainly on the disk; after further failures
 * into the other half.
 */
static enum status rewrite_unsynced(struct agent *a)
{
    enum status s = STATUS_OK;
    for (unsigned i = 0; i < CLAIMS_MAX && a->ledger->failed_flushes > 0u && s == STATUS_OK; i++) {
        struct ledger_entry *e = &a->ledger->entry[i];
        if (e->flush != FLUSH_DUE) {
            continue;
        }
        if (a->ledger->failed_flushes > 1u) {
            /* a SETTLED half stays as it is, so half_copy writes the other half */
            ledger_move_flush(e, FLUSH_SETTLED);
            s = half_copy(a, i);
            ledger_move_flush(e, FLUSH_DUE);
        } else {
            s = write_as_is(a, i, e->half);
        }
        s = (s == HOST_DAMAGED) ? STATUS_OK : s; /* the next read of this half reports the damage */
    }
    return s;
}

/*
 * Removes the CDI file of a claim that was released without a tombstone. Creates the tombstone if
 * the claim needs one (`stays`).
 */
static enum status remove_left_file(struct agent *a, const char *uid, bool stays)
{
    if (!stays) {
        return cdi_remove(a, uid);
    }
    enum status s = cdi_bury(a, uid);
    return (s == HOST_ABSENT) ? cdi_mark_gone(a, uid) : s;
}

/* Removes the files of a claim whose release is on the disk, then frees its slot. */
static void settle_slot(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    /* whether the claim was prepared again, in another slot */
    bool elsewhere = ledger_find(a, a->ledger->id[slot].uid) >= 0;
    /*
     * The tombstone stays in two cases:
     * - The claims are being listed: an older page of the list may still name the claim.
     * - Another slot frees the claim too, and its record may still be on the disk.
     */
    bool stays = a->ledger->unlisted || ledger_freeing_beside(a, slot);
    if (stays) {
        a->ledger->tombstones = true;
    } else if (!elsewhere) {
        enum status unmarked = cdi_unmark(a, a->ledger->id[slot].uid);
        status_ignore(unmarked, "a tombstone of no record means nothing");
    }
    bool file = e->state == LEDGER_FREEING_FILE;
    if (file && (elsewhere || remove_left_file(a, a->ledger->id[slot].uid, stays) == STATUS_OK)) {
        ledger_move(a, slot, LEDGER_FREEING);
        enum status s = slot_write(a, slot);
        status_ignore(s, "the next flush tries it again");
    } else if (!file) {
        ledger_move(a, slot, LEDGER_FREE);
    } else {
        /*
         * The CDI file could not be removed, or the tombstone could not be created, so the record
         * that marks the claim as released stays.
         */
    }
}

static void settle_freeing(struct agent *a)
{
    for (unsigned i = 0; i < CLAIMS_MAX && a->ledger->freeing > 0u; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        if (ledger_is_freeing(e) && !e->refused && e->flush != FLUSH_DUE) {
            settle_slot(a, i);
        }
    }
}

static void settle_synced(struct agent *a)
{
    settle_halves(a->ledger, FLUSH_DUE);
    a->ledger->dirty = false;
    a->ledger->failed_flushes = 0;
    a->ledger->failing = STATUS_OK;
}

enum status ledger_sync(struct agent *a, struct writer *why)
{
    struct ledger *l = a->ledger;
    retry_refused(a);
    if (!l->dirty) {
        settle_freeing(a);
        return STATUS_OK;
    }
    if (!l->usable) {
        writer_text(why, l->trouble);
        return HOST_IO;
    }
    enum status s = rewrite_unsynced(a);
    s = (s == STATUS_OK) ? flush_store(a) : s;
    if (s != STATUS_OK) {
        l->failed_flushes++;
        store_failed(a, "flushed", s);
        ledger_trouble_text(a, STORE_FILE_NAME, "flushed", s, why);
        return s;
    }
    settle_synced(a);
    settle_freeing(a);
    return STATUS_OK;
}
