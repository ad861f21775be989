/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens, creates and repairs the claim store, and flushes writes that no kubelet call flushed.
 * Fills the table of ledger.c.
 *
 * A store that exists but has no valid header, or a slot without an intact half, counts as damaged,
 * never as new: it is moved aside, and its readable records are copied into a new one. A store that
 * is removed or overwritten while the agent runs is recreated from memory. Claims with a lost
 * record are recovered from their CDI files (reconcile.c) and from the API server (rebuild.c); a
 * flag in the header requests the recovery from the API server until it is complete.
 */
#include "agent/ledger/ledger_open.h"

#include <string.h>

#include "agent/api/backoff.h"
#include "agent/frame.h"
#include "agent/ledger/ledger_internal.h"
#include "agent/ledger/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"
#include "cfg/identity.h"

static const char store_new[] = STORE_FILE_NAME ".new";
static const char store_aside[] = STORE_FILE_NAME ".damaged";
static const char store_aside_newest[] = STORE_FILE_NAME ".damaged-newest";

/*
 * What the error message names if the store cannot be opened: the file, and what could not be done
 * with it.
 */
struct opening {
    const char *file;
    const char *doing;
};

/*
 * Records that the store cannot be opened now: logs each reason once, and schedules the next try.
 */
static void not_usable(struct agent *a, const struct opening *o, enum status s)
{
    struct ledger *l = a->ledger;
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    ASSERT(!l->usable);
    ledger_trouble_text(a, o->file, o->doing, s, &why);
    writer_close_text(&why);
    l->busy = s == HOST_BUSY;
    if (l->failing != s || !text_is(text, l->trouble)) {
        log_begin(a, l->busy ? LOG_ID_STORE_AWAITED : LOG_ID_STORE_FAILED);
        log_text(a, "text", text);
        log_remedy(a, ledger_remedy(a, s));
        log_end(a);
    }
    l->failing = s;
    memcpy(l->trouble, text, sizeof l->trouble);
    uint64_t wait = l->busy ? STORE_BUSY_MS : agent_backoff(a, &l->backoff_ms);
    l->retry_ms = a->now_ms + wait;
}

/*
 * Empties the table, because another agent owns the store from now on. If this agent could not
 * write an unprepare to the store, a tombstone shows the unprepare to the new owner.
 */
static void give_up_store(struct agent *a)
{
    struct ledger *l = a->ledger;
    ledger_clear(a);
    l->usable = false;
    l->known = false;
    l->unlisted = false;
    l->created = false;
    l->flags_due = false;
    l->dirty = false;
    l->doubt = false;
    l->failed_flushes = 0;
}

/* --- reading and checking the header of the store --- */

/*
 * Checks that the store file has its full length. HOST_DAMAGED: the file is shorter; another
 * program has truncated it, because the agent never does.
 */
static enum status check_length(const struct agent *a, const char *name)
{
    uint8_t last;
    struct writer byte = writer_of(&last, sizeof last);
    enum status s = state_read(a, name, STORE_FILE_BYTES - 1u, &byte);
    if (s != STATUS_OK) {
        /* an unreadable last half does not prove that the file is too short */
        return (s == HOST_IO) ? STATUS_OK : s;
    }
    return (byte.len == sizeof last) ? STATUS_OK : HOST_DAMAGED;
}

/*
 * Reads one copy of the header, and adds its flags to *flags. HOST_DAMAGED: the copy is not
 * valid; HOST_IO: it is not readable.
 */
static enum status read_copy(struct agent *a, const char *name, unsigned copy, uint32_t *flags)
{
    struct store_header h = {0};
    struct writer bytes = writer_of(a->scratch.half, STORE_HEADER_COPY_BYTES);
    enum status s = state_read(a, name, (uint64_t)copy * STORE_HEADER_COPY_BYTES, &bytes);
    s = (s == STATUS_OK) ? store_header_read(writer_view(&bytes), &h) : s;
    *flags |= (s == STATUS_OK) ? h.flags : 0u;
    return s;
}

/*
 * Whether the disk can read at least one slot of the store. If it cannot, the disk is at fault, and
 * the store may be intact.
 */
static bool any_readable(const struct agent *a, const char *name)
{
    const struct files *f = a->files;
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        for (unsigned half = 0; half < 2u; half++) {
            uint8_t first;
            struct writer byte = writer_of(&first, sizeof first);
            uint64_t at = store_offset(slot, half);
            if (f->read(f->ctx, FILES_STATE, name, at, &byte) == STATUS_OK) {
                return true;
            }
        }
    }
    return false;
}

static void heal_copy(struct agent *a, unsigned copy)
{
    log_begin(a, LOG_ID_STORE_HALF_DAMAGED);
    log_text(a, "file", STORE_FILE_NAME);
    log_number(a, "header_copy", (int64_t)copy);
    log_end(a);
    enum status s = header_write_copy(a, STORE_FILE_NAME, copy);
    status_ignore(s, "the other copy is enough");
}

static bool is_bad_copy(enum status s)
{
    return s == HOST_DAMAGED || s == HOST_IO;
}

/* Whether a status means that the file cannot be opened, or has another format. */
static bool is_no_verdict(enum status s)
{
    return s != STATUS_OK && !is_bad_copy(s);
}

/*
 * The status if no header copy is readable: HOST_DAMAGED if the disk can read any slot, else
 * HOST_IO.
 */
static enum status judge_unreadable(const struct agent *a, const char *name)
{
    return any_readable(a, name) ? HOST_DAMAGED : HOST_IO;
}

static void adopt_flags(struct agent *a, uint32_t flags)
{
    if (!a->ledger->known) {
        a->ledger->unlisted = (flags & STORE_UNLISTED) != 0u;
    }
}

/*
 * Reads the header; one valid copy is enough, and `heal` rewrites an invalid one. At the first
 * opening, sets ledger.unlisted if either copy has STORE_UNLISTED. HOST_DAMAGED: no copy is valid,
 * or the file is too short; HOST_IO: no part of the file is readable.
 */
static enum status read_header(struct agent *a, const char *name, bool heal)
{
    uint32_t flags = 0;
    enum status first = read_copy(a, name, 0, &flags);
    if (is_no_verdict(first)) {
        return first;
    }
    enum status second = read_copy(a, name, 1, &flags);
    if (is_no_verdict(second)) {
        return second;
    }
    if (is_bad_copy(first) && is_bad_copy(second)) {
        return (first == second && first == HOST_IO) ? judge_unreadable(a, name) : HOST_DAMAGED;
    }
    adopt_flags(a, flags);
    if (heal && first != second) {
        heal_copy(a, (first == STATUS_OK) ? 1 : 0);
    }
    return check_length(a, name);
}

/* --- loading the slots of the store --- */

/*
 * Reads one slot into its entry. *lost: the slot has no intact half, or even the outline of its
 * record is unreadable.
 */
static enum status load_slot(struct agent *a, unsigned slot, bool *lost)
{
    struct ledger *l = a->ledger;
    struct ledger_entry *e = &l->entry[slot];
    struct store_half halves[2];
    ASSERT(e->state == LEDGER_FREE);
    for (unsigned i = 0; i < 2u; i++) {
        unsigned half = 1u - i;
        enum status s = half_read(a, STORE_FILE_NAME, slot, half, &halves[half]);
        if (s != STATUS_OK) {
            return s;
        }
        uint64_t sequence = halves[half].sequence;
        l->sequence = (sequence > l->sequence) ? sequence : l->sequence;
    }
    int pick = store_pick(halves);
    *lost = pick < 0;
    if (*lost) {
        return STATUS_OK;
    }
    e->half = (uint8_t)pick;
    e->sequence = halves[pick].sequence;
    e->damaged = halves[1 - pick].state == STORE_HALF_DAMAGED;
    if (halves[pick].state == STORE_HALF_FREE) {
        return STATUS_OK;
    }
    /*
     * scratch.half still contains half 0, because the loop read it last. If half 1 is the one that
     * counts, read it again.
     */
    enum status s = (pick == 0) ? STATUS_OK : half_read(a, STORE_FILE_NAME, slot, 1, &halves[1]);
    *lost = s == STATUS_OK && record_enter(a, slot, halves[pick].record) != STATUS_OK;
    return s;
}

/* Reads all slots; *lost: the number of slots that need a repair. */
static enum status load_slots(struct agent *a, unsigned *lost)
{
    struct ledger *l = a->ledger;
    bool damaged = false;
    ledger_clear(a);
    l->sequence = 0;
    *lost = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        bool without = false;
        enum status s = load_slot(a, i, &without);
        if (s != STATUS_OK) {
            return s;
        }
        *lost += without ? 1u : 0u;
        damaged = damaged || without || l->entry[i].damaged;
    }
    /*
     * A damaged half may become readable later, so the sequence numbers that it may have are
     * skipped.
     */
    l->sequence += damaged ? STORE_SEQUENCE_SKIP : 0u;
    return STATUS_OK;
}

/* --- conflicts between loaded claims --- */

static void log_conflict(struct agent *a, unsigned stays, unsigned other)
{
    const struct ledger_entry *e = a->ledger->entry;
    log_begin(a, LOG_ID_STORE_CONFLICT);
    log_claim(a, &a->ledger->id[stays]);
    log_text(a, "other_uid", a->ledger->id[other].uid);
    log_text(a, "other", (e[other].state == LEDGER_HELD) ? "held too" : "released");
    log_end(a);
}

/*
 * Takes the devices of the claim in slot `stays` away from the claim in slot `other`, whose record
 * is UNSURE: that claim must have been released before the claim in `stays` was prepared. If the
 * claim in `other` has no device left, and no CDI file shows that it is in use, it is released.
 */
static void give_up(struct agent *a, unsigned stays, unsigned other)
{
    struct ledger_entry *e = &a->ledger->entry[other];
    e->numbers &= ~a->ledger->entry[stays].numbers;
    ledger_give_functions(a, other, stays);
    if (e->numbers == 0u && e->functions == 0u &&
        !ledger_has_cdi_file(a, a->ledger->id[other].uid)) {
        ledger_set_freeing(a, other);
    }
}

/*
 * Settles the conflict of two slots, if there is one: both have the same claim, or their two claims
 * have the same device.
 */
static void settle_conflict(struct agent *a, unsigned one, unsigned two)
{
    const struct ledger_entry *e = a->ledger->entry;
    bool same = view_is(view_text(a->ledger->id[one].uid), a->ledger->id[two].uid);
    if (!same && !ledger_overlaps(a, &e[one], &e[two])) {
        return;
    }
    /*
     * The claim whose record was written last stays: its sequence number is higher, because all
     * slots share one sequence. But if only one of the slots has a damaged half, the claim of the
     * undamaged slot stays.
     */
    bool first = e[one].sequence > e[two].sequence;
    if (e[one].damaged != e[two].damaged) {
        first = e[two].damaged;
    }
    unsigned stays = first ? one : two;
    unsigned other = first ? two : one;
    if (same) {
        ledger_set_freeing(a, other);
    } else if (e[other].record == RECORD_UNSURE) {
        give_up(a, stays, other);
    } else {
        /*
         * both claims stay held, and a prepare of either claim is refused until the other claim is
         * gone
         */
    }
    log_conflict(a, stays, other);
}

static void settle_conflicts(struct agent *a)
{
    const struct ledger_entry *e = a->ledger->entry;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        for (unsigned k = i + 1u; k < CLAIMS_MAX; k++) {
            if (e[i].state == LEDGER_HELD && e[k].state == LEDGER_HELD) {
                settle_conflict(a, i, k);
            }
        }
    }
}

/*
 * Marks the half that counts as DOUBTED in every slot that was ever written, so that this half is
 * written again and flushed, because writes of a killed process may be only in the page cache, even
 * in pages that count as clean after a failed fdatasync(2).
 */
static void doubt_all(struct agent *a)
{
    struct ledger *l = a->ledger;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        struct ledger_entry *e = &l->entry[i];
        if (e->sequence > 1u) {
            l->doubt = true;
            ledger_move_flush(e, (e->flush == FLUSH_DUE) ? FLUSH_DUE : FLUSH_DOUBTED);
        }
    }
    l->flush_ms = a->now_ms + STORE_FLUSH_MS;
}

/* --- creating and repairing the store --- */

/*
 * Writes every half as free. So the file system allocates all blocks in advance, and a half of
 * zeros that is read later is certainly damaged.
 */
static enum status write_empty_slots(struct agent *a)
{
    const struct files *f = a->files;
    struct writer out;
    /*
     * Writes a header of zeros first: the first write creates the file, which counts as damaged
     * until it has its real header.
     */
    memset(a->scratch.half, 0, sizeof a->scratch.half);
    enum status begun =
        f->write(f->ctx, FILES_STATE, store_new, 0, view_of(a->scratch.half, STORE_HALF_BYTES));
    if (begun != STATUS_OK) {
        return begun;
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        for (unsigned half = 0; half < 2u; half++) {
            memset(a->scratch.half, 0, sizeof a->scratch.half);
            out = writer_of(a->scratch.half, sizeof a->scratch.half);
            store_half_write(&out, slot, half, view_of(0, 0));
            enum status s = f->write(f->ctx, FILES_STATE, store_new, store_offset(slot, half),
                                     view_of(a->scratch.half, sizeof a->scratch.half));
            if (s != STATUS_OK) {
                return s;
            }
        }
    }
    return STATUS_OK;
}

/* Whether the slot is held, or was released but its CDI file still exists. */
static bool has_record(const struct ledger_entry *e)
{
    return e->state == LEDGER_HELD || e->state == LEDGER_FREEING_FILE;
}

/*
 * Copies the record of one slot into the new file. At the first opening, a slot that had a damaged
 * half gets a damaged half in the new file too, which shows settle_conflict that the record of the
 * slot may be outdated.
 */
static enum status carry_record(struct agent *a, unsigned slot)
{
    static const uint8_t damaged[STORE_HALF_HEADER];
    const struct files *f = a->files;
    struct ledger_entry *e = &a->ledger->entry[slot];
    struct view record = record_bytes(a, slot);
    struct writer out = writer_of(a->scratch.half, sizeof a->scratch.half);
    e->sequence = (e->sequence > 2u) ? e->sequence : 2u; /* empty halves have sequence 0 or 1 */
    store_half_write(&out, slot, e->sequence, record);
    enum status s =
        f->write(f->ctx, FILES_STATE, store_new, store_offset(slot, 0), writer_view(&out));
    if (s == STATUS_OK && e->damaged && !a->ledger->known) {
        s = f->write(f->ctx, FILES_STATE, store_new, store_offset(slot, 1),
                     view_of(damaged, sizeof damaged));
    }
    return s;
}

/*
 * Copies the records into the new file, each into its old slot. The records are those of the table
 * or, before the first opening, those that are readable in the damaged file.
 */
static enum status carry_over(struct agent *a)
{
    enum status s = STATUS_OK;
    if (!a->ledger->known) {
        ledger_clear(a);
    }
    for (unsigned slot = 0; slot < CLAIMS_MAX && s == STATUS_OK; slot++) {
        bool lost = false;
        s = a->ledger->known ? STATUS_OK : load_slot(a, slot, &lost);
        if (s == STATUS_OK && has_record(&a->ledger->entry[slot])) {
            s = carry_record(a, slot);
        }
    }
    return s;
}

/* Flushes the new file, then writes its header, which makes the file valid. */
static enum status write_header(struct agent *a)
{
    const struct files *f = a->files;
    enum status s = f->commit(f->ctx, FILES_STATE, store_new, 0);
    for (unsigned copy = 0; copy < 2u && s == STATUS_OK; copy++) {
        s = header_write_copy(a, store_new, copy);
    }
    /*
     * the new file already has the flags; if its rename fails, the next try creates a file with the
     * flags again
     */
    a->ledger->flags_due = false;
    return (s == STATUS_OK) ? f->commit(f->ctx, FILES_STATE, store_new, 0) : s;
}

/*
 * Returns the name under which a damaged store is kept. The first damaged store is kept forever; of
 * later ones only the newest is kept, so that a faulty disk does not fill up with damaged stores.
 */
static const char *aside_name(struct agent *a)
{
    uint8_t first;
    struct writer byte = writer_of(&first, sizeof first);
    enum status s = a->files->read(a->files->ctx, FILES_STATE, store_aside, 0, &byte);
    return (s == HOST_ABSENT) ? store_aside : store_aside_newest;
}

/*
 * Creates a store with the known records, and puts it in place. `aside`: the name under which the
 * existing store is kept; NULL: there is none.
 */
static enum status create_store(struct agent *a, struct opening *o, const char *aside)
{
    const struct files *f = a->files;
    o->file = store_new;
    o->doing = "created";
    /* An earlier store may have been lost; then only the API server still has its claims. */
    a->ledger->unlisted = a->ledger->unlisted || !a->ledger->known;
    enum status s = write_empty_slots(a);
    if (s == STATUS_OK && (aside != NULL || a->ledger->known)) {
        s = carry_over(a);
    }
    if (s == STATUS_OK) {
        s = write_header(a);
    }
    if (s == STATUS_OK && aside != NULL) {
        s = f->remove(f->ctx, FILES_STATE, STORE_FILE_NAME, aside);
    }
    if (s == STATUS_OK) {
        s = f->commit(f->ctx, FILES_STATE, store_new, STORE_FILE_NAME);
    }
    return s;
}

/*
 * Replaces a damaged store with a new store, which gets the readable records. `lost`: number of
 * slots without a readable record; 0: the header is damaged.
 */
static enum status repair_store(struct agent *a, struct opening *o, unsigned lost)
{
    const char *aside = aside_name(a);
    enum status before = a->ledger->failing;
    enum status s = create_store(a, o, aside);
    /* when a failed repair is tried again, only its success is logged */
    if (s == STATUS_OK || before == STATUS_OK || before == HOST_BUSY) {
        log_begin(a, LOG_ID_STORE_DAMAGED);
        log_text(a, "file", STORE_FILE_NAME);
        log_text(a, "kept_as", aside);
        if (lost > 0u) {
            log_number(a, "slots_lost", lost);
        }
        log_remedy(a,
                   "nothing as a rule: readable records are kept, the others come from CDI files");
        log_end(a);
    }
    return s;
}

/* Recreates the store from memory after its file was removed, emptied or replaced. */
static enum status create_again(struct agent *a, struct opening *o, enum status header)
{
    struct ledger *l = a->ledger;
    const char *aside = (header == HOST_ABSENT) ? NULL : aside_name(a);
    log_begin(a, LOG_ID_STORE_DAMAGED);
    log_text(a, "file", STORE_FILE_NAME);
    log_text(a, "text",
             (header == HOST_DAMAGED) ? "it was overwritten while the agent ran: it is made again"
                                      : "it was removed while the agent ran: it is made again");
    log_number(a, "claims_held", l->held);
    log_remedy(a, "nothing; but nobody may remove or change that file");
    log_end(a);
    enum status s = create_store(a, o, aside);
    for (unsigned i = 0; i < CLAIMS_MAX && s == STATUS_OK; i++) {
        struct ledger_entry *e = &l->entry[i];
        bool record = has_record(e);
        e->half = record ? 0 : 1;
        e->sequence = record ? e->sequence : 1u;
        ledger_move_flush(e, FLUSH_SETTLED);
        e->damaged = false;
        e->refused = e->state == LEDGER_HELD && e->tombstone;
    }
    l->dirty = l->dirty && s != STATUS_OK;
    l->doubt = l->doubt && s != STATUS_OK;
    return s;
}

/*
 * Called at the first opening if no store exists: creates a store, or completes a creation or
 * repair that was interrupted when an earlier process was killed.
 */
static enum status create_first(struct agent *a, struct opening *o)
{
    enum status s = read_header(a, store_new, false);
    o->file = store_new;
    if (s == STATUS_OK) {
        /*
         * The file is complete: an earlier process was killed between the two renames of a repair,
         * or before the rename of a creation.
         */
        return a->files->commit(a->files->ctx, FILES_STATE, store_new, STORE_FILE_NAME);
    }
    if (s == PEER_UNSUPPORTED) {
        return s; /* another version of the agent left the file, so do not overwrite it */
    }
    s = create_store(a, o, NULL);
    if (s == STATUS_OK) {
        log_one(a, LOG_ID_STORE_CREATED, "file", STORE_FILE_NAME);
        a->ledger->created = true;
    }
    return s;
}

/* Opens the store for the first time in this process, and loads it into the table. */
static enum status open_first(struct agent *a, struct opening *o, enum status header)
{
    unsigned lost = 0;
    enum status s = header;
    if (s == HOST_ABSENT) {
        s = create_first(a, o);
    } else if (s == HOST_DAMAGED) {
        s = repair_store(a, o, 0);
    }
    for (unsigned i = 0; i < 2u && s == STATUS_OK; i++) {
        *o = (struct opening){STORE_FILE_NAME, "read"};
        s = load_slots(a, &lost);
        if (s != STATUS_OK || lost == 0u) {
            break;
        }
        s = (i == 0u) ? repair_store(a, o, lost) : HOST_DAMAGED;
    }
    if (s == STATUS_OK) {
        doubt_judge(a);
        settle_conflicts(a);
        doubt_settle(a);
        doubt_all(a);
    }
    return s;
}

/*
 * Checks that the store accepts writes, by writing a copy of the header unchanged and flushing it,
 * because a store on a read-only file system can be opened and read, but the first claim could not
 * be written. Tests the store itself and no other file, because its slots are preallocated, so
 * claims can be prepared on a full disk. Ignores a HOST_IO of the write, because one bad sector
 * proves nothing about the rest of the disk.
 */
static void check_writable(struct agent *a)
{
    const char *doing = "written";
    enum status s = header_write_copy(a, STORE_FILE_NAME, 1);
    if (s == HOST_IO) {
        return; /* the write hit a bad sector: if the error lasts, the first prepare reports it */
    }
    if (s == STATUS_OK) {
        doing = "flushed";
        s = flush_store(a);
    } else {
        store_check(a, s);
    }
    if (s == STATUS_OK) {
        a->ledger->failing = STATUS_OK;
    } else {
        store_failed(a, doing, s);
    }
}

static bool any_refused(const struct agent *a)
{
    bool any = false;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        any = any || a->ledger->entry[i].refused;
    }
    return any;
}

/*
 * Opens the store; creates or repairs it if needed. Returns whether the store is open; if not,
 * ledger.trouble has the reason.
 */
static bool open_store(struct agent *a)
{
    struct ledger *l = a->ledger;
    struct opening o = {STORE_FILE_NAME, "locked by " STORE_LOCK_NAME " beside it"};
    ASSERT(!l->usable);
    /* Lock the store first, because only the agent that owns a store may check and repair it. */
    enum status s = handover_acquire(a);
    if (s != STATUS_OK) {
        if (s == HOST_BUSY && !l->busy) {
            give_up_store(a);
        }
        not_usable(a, &o, s);
        return false;
    }
    l->busy = false;
    ledger_tidy(a);
    o.doing = "opened or created";
    enum status header = read_header(a, STORE_FILE_NAME, !l->known);
    bool known = header == STATUS_OK || header == HOST_DAMAGED || header == HOST_ABSENT;
    if (l->known) {
        s = known ? create_again(a, &o, header) : header;
    } else {
        s = open_first(a, &o, header);
    }
    if (s != STATUS_OK) {
        not_usable(a, &o, s);
        return false;
    }
    l->usable = true;
    l->known = true;
    l->backoff_ms = 0;
    l->failing = STATUS_OK;
    flush_doubted(a);
    check_writable(a);
    ledger_try_cdi(a);
    return true;
}

void ledger_retire(struct agent *a)
{
    static const struct opening o = {STORE_FILE_NAME, "used"};
    ledger_flush(a);
    give_up_store(a);
    not_usable(a, &o, HOST_BUSY);
    handover_retire(a);
}

/* --- recording that the list of claims at the API server was read --- */

enum status ledger_listed(struct agent *a)
{
    struct ledger *l = a->ledger;
    struct writer discarded = writer_of(NULL, 0);
    ASSERT(l->usable && l->unlisted);
    enum status s = ledger_sync(a, &discarded);
    l->unlisted = s != STATUS_OK;
    s = (s == STATUS_OK) ? flags_write(a) : s;
    if (s != STATUS_OK && !l->unlisted) {
        l->unlisted = true;
        store_failed(a, "written", s);
    } else if (s == STATUS_OK) {
        l->failing = STATUS_OK; /* the records and the header are on the disk now */
        l->flags_due = false;
    } else {
        /* ledger_sync has already logged the error */
    }
    return s;
}

/* --- periodic work on the store --- */

static bool flush_pending(const struct agent *a)
{
    const struct ledger *l = a->ledger;
    return l->usable && (l->dirty || l->doubt || l->freeing > 0u || l->failing != STATUS_OK);
}

void ledger_flush(struct agent *a)
{
    struct ledger *l = a->ledger;
    struct writer discarded = writer_of(NULL, 0);
    if (flush_pending(a)) {
        enum status s = ledger_sync(a, &discarded);
        status_ignore(s, "what could not be flushed is still pending");
    }
    flush_doubted(a);
    if (l->usable && l->failing != STATUS_OK && !l->dirty && !any_refused(a)) {
        check_writable(a);
    }
    if (flush_pending(a)) {
        l->flush_ms = a->now_ms + agent_backoff(a, &l->flush_backoff_ms);
    } else {
        l->flush_backoff_ms = 0;
    }
}

/*
 * Closes the open store if its file was removed, or no longer has a valid header and full length.
 */
static void check_store_file(struct agent *a)
{
    enum status s = read_header(a, STORE_FILE_NAME, false);
    store_check(a, (s == HOST_DAMAGED) ? HOST_ABSENT : s);
}

bool ledger_open(struct agent *a, bool round)
{
    if (a->ledger->usable && round) {
        check_store_file(a);
    }
    return !a->ledger->usable && a->now_ms >= a->ledger->retry_ms && open_store(a);
}

void ledger_step(struct agent *a)
{
    if (flush_pending(a) && a->now_ms >= a->ledger->flush_ms) {
        ledger_flush(a);
    }
    const struct ledger *l = a->ledger;
    if (l->usable && l->cdi_remedy != NULL && a->now_ms >= l->cdi_ms) {
        ledger_try_cdi(a);
    }
}

uint64_t ledger_deadline(const struct agent *a)
{
    if (!a->ledger->usable) {
        return a->ledger->retry_ms;
    }
    uint64_t at = flush_pending(a) ? a->ledger->flush_ms : UINT64_MAX;
    return (a->ledger->cdi_remedy != NULL) ? earlier(at, a->ledger->cdi_ms) : at;
}
