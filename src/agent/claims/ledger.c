/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table: which claim holds which devices, kept in the claim store. Owns ledger entries,
 * slots of the store and CDI files; knows neither the kubelet nor the API server.
 *
 * Order at prepare: CDI file, then record; at unprepare: record, then CDI file. A kill between the
 * two leaves at worst a CDI file without a record, which a repeated call of either kind puts right.
 */
#include "agent/claims/ledger.h"

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"

/* Fixed name: what a kill leaves of it is overwritten by the next claim or removed at start. */
static const char cdi_temporary[] = "neuron.aws.com-claim.tmp";

int ledger_find(const struct agent *a, const char *uid)
{
    struct view wanted = view_text(uid);
    ASSERT(wanted.len < sizeof a->ledger.entry[0].id.uid);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger.entry[i];
        if (e->state == LEDGER_HELD && view_is(wanted, e->id.uid)) {
            return (int)i;
        }
    }
    return -1;
}

int ledger_known(const struct agent *a, const char *uid)
{
    int slot = ledger_find(a, uid);
    return (slot >= 0 && !a->ledger.entry[slot].opaque) ? slot : -1;
}

bool ledger_holds(const struct agent *a, unsigned slot, const char *uid)
{
    ASSERT(slot < CLAIMS_MAX);
    const struct ledger_entry *e = &a->ledger.entry[slot];
    return e->state == LEDGER_HELD && view_is(view_text(uid), e->id.uid);
}

int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger.entry[i];
        bool holds = e->state == LEDGER_HELD && (e->numbers & numbers) != 0u;
        if (holds && !view_is(view_text(e->id.uid), uid)) {
            return (int)i;
        }
    }
    return -1;
}

/* The device by which the pod of a claim is kept: the lowest one that it holds exclusively. */
static unsigned consumer_place(uint64_t numbers)
{
    ASSERT(numbers != 0u);
    return (unsigned)__builtin_ctzll(numbers);
}

void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    e->id = r->id;
    e->numbers = claim_numbers(r);
    e->zero_numbering = r->zero_numbering;
    e->logical_neuron_core = claim_logical_neuron_core(r);
    if (e->state == LEDGER_HELD && e->numbers != 0u) {
        a->ledger.consumer[consumer_place(e->numbers)] = r->consumer;
    }
}

const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot)
{
    static const struct claim_consumer nobody;
    const struct ledger_entry *e = &a->ledger.entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    return (e->numbers != 0u) ? &a->ledger.consumer[consumer_place(e->numbers)] : &nobody;
}

void ledger_tidy(struct agent *a)
{
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, cdi_temporary, 0);
    status_ignore(s, "absent as a rule; a refusal shows again with the first claim");
}

/*
 * The slot in which an earlier record of this claim waits to be freed, so that no claim ever has
 * two; else any free one.
 */
static int free_slot(const struct agent *a, const char *uid)
{
    int at = -1;
    for (unsigned left = CLAIMS_MAX; left > 0u; left--) {
        unsigned i = left - 1u;
        const struct ledger_entry *e = &a->ledger.entry[i];
        if (e->state == LEDGER_FREEING && view_is(view_text(e->id.uid), uid)) {
            return (int)i;
        }
        at = (e->state == LEDGER_FREE) ? (int)i : at;
    }
    return at;
}

/* A store that vanished is opened again, or its loss is logged, before the next prepare. */
static void store_check(struct agent *a, enum status s)
{
    if (s == HOST_ABSENT && a->ledger.usable) {
        a->ledger.usable = false;
        a->ledger.retry_ms = a->now_ms;
        text_cut(a->ledger.trouble, sizeof a->ledger.trouble,
                 view_text("the claim store was removed while the agent ran; put it back"));
    }
}

/* --- records in memory --- */

/* The place that has the record of a slot, perhaps an old one; NULL: none has. */
static struct kept_record *kept_find(struct ledger *l, unsigned slot)
{
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        if (l->kept[i].sequence != 0u && l->kept[i].slot == slot) {
            return &l->kept[i];
        }
    }
    return NULL;
}

/* An empty place for the record of a slot: the one that it has, else that of the oldest record. */
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

static void keep_record(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct kept_record *k = kept_place(&a->ledger, slot);
    k->sequence = a->ledger.entry[slot].sequence;
    k->record = *r;
}

/* --- halves --- */

/* Writes the older half of a slot; the newer one stays as it is until the next change. */
static enum status write_half(struct agent *a, unsigned slot, struct view record)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    unsigned half = 1u - e->half;
    struct writer out = writer_of(a->scratch.half, sizeof a->scratch.half);
    store_half_write(&out, slot, e->sequence + 1u, record);
    ASSERT(!out.full);
    enum status s = a->files->write(a->files->ctx, FILES_STATE, STORE_FILE_NAME,
                                    store_offset(slot, half), writer_view(&out));
    if (s == STATUS_OK) {
        e->half = (uint8_t)half;
        e->sequence++;
        e->unsynced = true;
        a->ledger.flush_ms = a->ledger.dirty ? a->ledger.flush_ms : a->now_ms + STORE_FLUSH_MS;
        a->ledger.dirty = true;
    }
    store_check(a, s);
    return s;
}

/* --- CDI files --- */

static enum status cdi_put(struct agent *a, const struct claim_record *r, struct view content,
                           struct writer *why)
{
    char name[CDI_FILE_NAME_CAP];
    const struct files *f = a->files;
    cdi_file_name(r->id.uid, name);
    enum status s = f->write(f->ctx, FILES_CDI, cdi_temporary, 0, content);
    if (s == STATUS_OK) {
        s = f->commit(f->ctx, FILES_CDI, cdi_temporary, name);
    }
    if (s != STATUS_OK) {
        writer_text(why, "CDI file ");
        writer_text(why, a->settings->cdi_root);
        writer_text(why, "/");
        writer_text(why, name);
        writer_text(why, " cannot be written (");
        writer_text(why, ledger_reason(a, s));
        writer_text(why, "); ");
        writer_text(why, ledger_remedy(s));
        log_begin(a, LOG_ID_CDI_FILE_FAILED);
        log_text(a, "file", name);
        log_text(a, "reason", ledger_reason(a, s));
        log_remedy(a, ledger_remedy(s));
        log_end(a);
        enum status cleared = f->remove(f->ctx, FILES_CDI, cdi_temporary, 0);
        status_ignore(cleared, "the next claim overwrites it, a start removes it");
    }
    return s;
}

static enum status cdi_build(struct agent *a, const struct claim_record *r, struct writer *out,
                             struct writer *why)
{
    *out = writer_of(a->scratch.body, sizeof a->scratch.body);
    enum status s = cdi_write(r, a->settings->dev_root, out);
    if (s != STATUS_OK) {
        writer_text(why, "the claim's CDI file would be over its limit; use fewer requests");
    }
    return s;
}

enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r, struct writer *why)
{
    struct writer wanted;
    enum status s = cdi_build(a, r, &wanted, why);
    if (s != STATUS_OK) {
        return s;
    }
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(r->id.uid, name);
    struct writer stored = writer_of(a->scratch.stored, sizeof a->scratch.stored);
    s = a->files->read(a->files->ctx, FILES_CDI, name, 0, &stored);
    if (s == STATUS_OK && view_equal(writer_view(&stored), writer_view(&wanted))) {
        return STATUS_OK;
    }
    log_begin(a, LOG_ID_CDI_FILE_REBUILT);
    log_text(a, "claim_uid", r->id.uid);
    log_text(a, "file", name);
    log_end(a);
    return cdi_put(a, r, writer_view(&wanted), why);
}

static void cdi_remove(struct agent *a, const char *uid)
{
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(uid, name);
    enum status s = a->files->remove(a->files->ctx, FILES_CDI, name, 0);
    if (s != STATUS_OK && s != HOST_ABSENT) {
        log_begin(a, LOG_ID_CDI_FILE_FAILED);
        log_text(a, "file", name);
        log_text(a, "reason", ledger_reason(a, s));
        log_remedy(a, "remove the file by hand once the CDI root can be written");
        log_end(a);
    }
}

/* --- records --- */

const char *ledger_reason(const struct agent *a, enum status s)
{
    switch (s) {
    case HOST_BUSY:
        return "another agent uses this store";
    case HOST_DAMAGED:
        return "its content is damaged";
    case PEER_UNSUPPORTED:
        return "its format is another one";
    default:
        return a->files->why(a->files->ctx);
    }
}

const char *ledger_remedy(enum status s)
{
    switch (s) {
    case HOST_BUSY:
        return "it is tried again; end the other agent of this node";
    case HOST_NO_SPACE:
        return "free space there";
    case HOST_DENIED:
        return "check rights there, and whether the file system is read-only";
    case HOST_ABSENT:
        return "put it back, or check that its directory is one";
    case PEER_UNSUPPORTED:
        return "run the agent version that wrote it, or a newer one";
    default:
        return "repair or move away what is there, or check the disk";
    }
}

void ledger_trouble_text(const struct agent *a, const char *doing, enum status s,
                         struct writer *why)
{
    writer_text(why, "claim store ");
    writer_text(why, a->settings->plugins_dir);
    writer_text(why, "/" DRIVER_NAME "/" STORE_FILE_NAME " cannot be ");
    writer_text(why, doing);
    writer_text(why, " (");
    writer_text(why, ledger_reason(a, s));
    writer_text(why, "); ");
    writer_text(why, ledger_remedy(s));
}

static void log_trouble(struct agent *a, const char *doing, enum status s)
{
    log_begin(a, LOG_ID_STORE_FAILED);
    log_text(a, "doing", doing);
    log_text(a, "reason", ledger_reason(a, s));
    log_remedy(a, ledger_remedy(s));
    log_end(a);
}

static void store_trouble(struct agent *a, const char *doing, enum status s, struct writer *why)
{
    ledger_trouble_text(a, doing, s, why);
    log_trouble(a, doing, s);
}

static enum status put_record(struct agent *a, const struct claim_record *r, unsigned slot,
                              struct writer *why)
{
    struct writer record = writer_of(a->scratch.record, sizeof a->scratch.record);
    enum status s = store_record_encode(r, &record);
    if (s != STATUS_OK) {
        writer_text(why, "the claim's record would be over its limit; use fewer or shorter names");
        return s;
    }
    s = write_half(a, slot, writer_view(&record));
    if (s != STATUS_OK) {
        store_trouble(a, "written", s, why);
    }
    return s;
}

static void set_free(struct agent *a, struct ledger_entry *e)
{
    if (e->state == LEDGER_FREEING) {
        ASSERT(a->ledger.freeing > 0u);
        a->ledger.freeing--;
    }
    e->state = LEDGER_FREE;
}

/* The slot's record must go, and cannot yet. */
static void set_freeing(struct agent *a, struct ledger_entry *e)
{
    if (e->state != LEDGER_FREEING) {
        a->ledger.freeing++;
    }
    e->state = LEDGER_FREEING;
}

/* A disk may fail a write after it took part or all of it: nothing of it may be found later. */
static void put_undo(struct agent *a, const struct claim_record *r, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    if (write_half(a, slot, view_of(0, 0)) == STATUS_OK) {
        set_free(a, e);
    } else {
        e->id = r->id;
        set_freeing(a, e);
    }
}

/* As put_undo, for a slot that holds an earlier record of the claim: that one stays. */
static void replace_undo(struct agent *a, unsigned slot, uint64_t numbers)
{
    const struct claim_record *before = NULL;
    struct writer nowhere = writer_of(NULL, 0);
    struct writer bytes = writer_of(a->scratch.record, sizeof a->scratch.record);
    enum status s = ledger_record(a, slot, &before);
    if (s == STATUS_OK) {
        s = store_record_encode(before, &bytes);
    }
    if (s == STATUS_OK) {
        s = write_half(a, slot, writer_view(&bytes));
    }
    if (s == STATUS_OK) {
        keep_record(a, slot, before);
        s = ledger_ensure_cdi(a, before, &nowhere);
        status_ignore(s, "the next prepare or round of reconciliation writes it");
        return;
    }
    /* Which of the two a restart finds is not known. */
    a->ledger.entry[slot].numbers |= numbers;
}

static int put_slot(const struct agent *a, const char *uid, struct writer *why)
{
    int held = ledger_find(a, uid);
    int at = (held >= 0) ? held : free_slot(a, uid);
    if (at < 0) {
        writer_text(why, "all places of the claim store are in use; unprepare claims first");
    }
    return at;
}

/* The record into the slot, which holds none, one that has to go, or an earlier one of the claim. */
static enum status put_in(struct agent *a, const struct claim_record *r, unsigned slot,
                          struct writer *why)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    bool replaces = e->state == LEDGER_HELD;
    enum status s = put_record(a, r, slot, why);
    if (s != STATUS_OK && replaces) {
        replace_undo(a, slot, claim_numbers(r));
    } else if (s != STATUS_OK) {
        put_undo(a, r, slot);
    } else {
        set_free(a, e);
        e->state = LEDGER_HELD;
        e->opaque = false;
        ledger_enter(a, slot, r);
        keep_record(a, slot, r);
        a->ledger.held = (uint16_t)(a->ledger.held + (replaces ? 0u : 1u));
    }
    return s;
}

enum status ledger_adopt(struct agent *a, const struct claim_record *r, unsigned *slot,
                         struct writer *why)
{
    if (!a->ledger.usable) {
        writer_text(why, a->ledger.trouble);
        return HOST_IO;
    }
    int at = put_slot(a, r->id.uid, why);
    if (at < 0) {
        return FULL_TABLE;
    }
    *slot = (unsigned)at;
    return put_in(a, r, *slot, why);
}

enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                       struct writer *why)
{
    bool held = ledger_find(a, r->id.uid) >= 0;
    if (!a->ledger.usable) {
        writer_text(why, a->ledger.trouble);
        return HOST_IO;
    }
    if (put_slot(a, r->id.uid, why) < 0) {
        return FULL_TABLE;
    }
    struct writer cdi;
    enum status s = cdi_build(a, r, &cdi, why);
    if (s == STATUS_OK) {
        s = cdi_put(a, r, writer_view(&cdi), why);
    }
    if (s == STATUS_OK) {
        s = ledger_adopt(a, r, slot, why);
    }
    if (s != STATUS_OK && !held) {
        cdi_remove(a, r->id.uid);
    }
    return s;
}

enum status ledger_read_from(struct agent *a, const char *file, unsigned slot,
                             const struct claim_record **out)
{
    ASSERT(slot < CLAIMS_MAX && a->ledger.entry[slot].state == LEDGER_HELD);
    const struct ledger_entry *e = &a->ledger.entry[slot];
    struct writer bytes = writer_of(a->scratch.half, sizeof a->scratch.half);
    struct store_half half;
    enum status s =
        a->files->read(a->files->ctx, FILES_STATE, file, store_offset(slot, e->half), &bytes);
    store_check(a, s);
    if (s != STATUS_OK) {
        return s;
    }
    store_half_read(writer_view(&bytes), slot, &half);
    if (half.state != STORE_HALF_RECORD || half.sequence != e->sequence) {
        return HOST_DAMAGED;
    }
    struct kept_record *k = kept_place(&a->ledger, slot);
    s = store_record_decode(half.record, &k->record);
    if (s == STATUS_OK) {
        k->sequence = e->sequence;
        *out = &k->record;
    }
    return s;
}

enum status ledger_read(struct agent *a, unsigned slot, const struct claim_record **out)
{
    return ledger_read_from(a, STORE_FILE_NAME, slot, out);
}

enum status ledger_record(struct agent *a, unsigned slot, const struct claim_record **out)
{
    ASSERT(slot < CLAIMS_MAX && a->ledger.entry[slot].state == LEDGER_HELD);
    const struct kept_record *k = kept_find(&a->ledger, slot);
    if (k != NULL && k->sequence == a->ledger.entry[slot].sequence) {
        *out = &k->record;
        return STATUS_OK;
    }
    return ledger_read(a, slot, out);
}

static void free_entry(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    if (!a->ledger.usable) {
        set_freeing(a, e); /* a store that is not open may be another agent's by now */
        return;
    }
    enum status s = write_half(a, slot, view_of(0, 0));
    if (s == STATUS_OK) {
        set_free(a, e);
    } else {
        log_trouble(a, "written", s);
        set_freeing(a, e);
    }
}

/*
 * What a store that is not open holds of a claim would come back with it: remembered until it is
 * read. false: no room.
 */
static bool remember_gone(struct agent *a, const char *uid)
{
    struct ledger *l = &a->ledger;
    for (unsigned i = 0; i < l->gone_count; i++) {
        if (view_is(view_text(l->gone[i]), uid)) {
            return true;
        }
    }
    if (l->gone_count == CLAIMS_MAX) {
        return false;
    }
    text_cut(l->gone[l->gone_count], sizeof l->gone[0], view_text(uid));
    l->gone_count++;
    return true;
}

static void forget(struct agent *a, const char *uid)
{
    int slot = ledger_find(a, uid);
    if (slot >= 0) {
        ASSERT(a->ledger.held > 0u);
        a->ledger.held--;
        free_entry(a, (unsigned)slot);
    }
    cdi_remove(a, uid);
}

void ledger_remove_gone(struct agent *a)
{
    struct ledger *l = &a->ledger;
    ASSERT(l->usable && l->gone_count <= CLAIMS_MAX);
    for (unsigned i = 0; i < l->gone_count; i++) {
        forget(a, l->gone[i]);
    }
    l->gone_count = 0;
}

enum status ledger_remove(struct agent *a, const char *uid, struct writer *why)
{
    const struct ledger *l = &a->ledger;
    if (l->busy) {
        writer_text(why, l->trouble);
        return HOST_BUSY;
    }
    if (!l->usable && ledger_find(a, uid) < 0 && !remember_gone(a, uid)) {
        writer_text(why, l->trouble);
        return FULL_TABLE;
    }
    forget(a, uid);
    return STATUS_OK;
}

/* --- flushing --- */

/* Slots whose freeing the disk refused: asked again, so that a restart does not find them held. */
static void retry_freeing(struct agent *a)
{
    for (unsigned i = 0; i < CLAIMS_MAX && a->ledger.usable && a->ledger.freeing > 0u; i++) {
        struct ledger_entry *e = &a->ledger.entry[i];
        if (e->state == LEDGER_FREEING && write_half(a, i, view_of(0, 0)) == STATUS_OK) {
            set_free(a, e);
        }
    }
}

/*
 * Writes the half that counts again, where it is and as it is: the other half is all that the disk
 * has for certain. STATUS_OK also when a record is no longer what was written: who reads it finds
 * out.
 */
static enum status rewrite_half(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger.entry[slot];
    const struct files *f = a->files;
    uint64_t at = store_offset(slot, e->half);
    struct writer bytes = writer_of(a->scratch.half, sizeof a->scratch.half);
    if (e->state == LEDGER_FREE) {
        store_half_write(&bytes, slot, e->sequence, view_of(0, 0));
        return f->write(f->ctx, FILES_STATE, STORE_FILE_NAME, at, writer_view(&bytes));
    }
    if (e->state != LEDGER_HELD) {
        return STATUS_OK; /* retry_freeing writes it */
    }
    enum status s = f->read(f->ctx, FILES_STATE, STORE_FILE_NAME, at, &bytes);
    if (s != STATUS_OK) {
        return s;
    }
    struct store_half half;
    store_half_read(writer_view(&bytes), slot, &half);
    if (half.sequence != e->sequence) {
        return STATUS_OK;
    }
    struct view whole = view_first(writer_view(&bytes), STORE_HALF_HEADER + half.record.len);
    return f->write(f->ctx, FILES_STATE, STORE_FILE_NAME, at, whole);
}

/*
 * After a failed fdatasync(2) the kernel counts the pages as clean: the next one succeeds without
 * what the disk did not take. So it is written again.
 */
static enum status rewrite_unsynced(struct agent *a)
{
    enum status s = STATUS_OK;
    for (unsigned i = 0; i < CLAIMS_MAX && a->ledger.rewrite && s == STATUS_OK; i++) {
        s = a->ledger.entry[i].unsynced ? rewrite_half(a, i) : STATUS_OK;
    }
    a->ledger.rewrite = a->ledger.rewrite && s != STATUS_OK;
    return s;
}

static void settle_synced(struct agent *a)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        a->ledger.entry[i].unsynced = false;
    }
    a->ledger.dirty = false;
}

/* A slow flush leaves now_ms behind: what this step would still ask for had lost that time. */
static void note_flush(struct agent *a, uint64_t flush_ms)
{
    durations_flush(&a->durations, flush_ms);
    if (flush_ms >= TIME_OLD_MS) {
        api_time_old(a, true);
    }
}

enum status ledger_sync(struct agent *a, struct writer *why)
{
    retry_freeing(a);
    if (!a->ledger.dirty) {
        return STATUS_OK;
    }
    if (!a->ledger.usable) {
        writer_text(why, a->ledger.trouble);
        return HOST_IO;
    }
    enum status s = rewrite_unsynced(a);
    if (s == STATUS_OK) {
        s = a->files->commit(a->files->ctx, FILES_STATE, STORE_FILE_NAME, 0);
        note_flush(a, a->files->flush_ms(a->files->ctx));
        a->ledger.rewrite = s != STATUS_OK;
    }
    store_check(a, s);
    if (s != STATUS_OK) {
        store_trouble(a, "flushed", s, why);
        return s;
    }
    settle_synced(a);
    return STATUS_OK;
}
