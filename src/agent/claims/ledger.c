/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table: which claim holds which devices, kept in the claim store. Owns ledger entries;
 * knows neither the kubelet nor the API server.
 *
 * A prepared claim has two witnesses, its record and its CDI file, and prepare writes the CDI file
 * first. Unprepare makes a tombstone of the CDI file, frees the record, flushes, and removes the
 * tombstone. So a kill, or a store that takes no writes, leaves at worst a claim that is held until
 * the kubelet repeats its call; what was answered stays.
 */
#include "agent/claims/ledger_internal.h"

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"

static int find_state(const struct agent *a, const char *uid, uint8_t state)
{
    struct view wanted = view_text(uid);
    ASSERT(wanted.len < sizeof a->ledger.entry[0].id.uid);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger.entry[i];
        if (e->state == state && view_is(wanted, e->id.uid)) {
            return (int)i;
        }
    }
    return -1;
}

int ledger_find(const struct agent *a, const char *uid)
{
    return find_state(a, uid, LEDGER_HELD);
}

int ledger_known(const struct agent *a, const char *uid)
{
    int slot = ledger_find(a, uid);
    return (slot >= 0 && !a->ledger.entry[slot].opaque) ? slot : -1;
}

bool ledger_freeing(const struct agent *a, const char *uid)
{
    return find_state(a, uid, LEDGER_FREEING) >= 0;
}

bool ledger_full(const struct agent *a)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (a->ledger.entry[i].state == (uint8_t)LEDGER_FREE) {
            return false;
        }
    }
    return true;
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

void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers,
                 const struct claim_consumer *consumer)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    e->numbers = numbers;
    if (numbers != 0u) {
        a->ledger.consumer[consumer_place(numbers)] = *consumer;
    }
}

void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    e->id = r->id;
    e->zero_numbering = r->zero_numbering;
    e->logical_neuron_core = claim_logical_neuron_core(r);
    ledger_hold(a, slot, claim_numbers(r), &r->consumer);
}

const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot)
{
    static const struct claim_consumer nobody;
    const struct ledger_entry *e = &a->ledger.entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    return (e->numbers != 0u) ? &a->ledger.consumer[consumer_place(e->numbers)] : &nobody;
}

/* How good a slot is for a new record of this claim. */
enum { SLOT_TAKEN, SLOT_REFUSED, SLOT_GOOD, SLOT_OWN };

static int judge_slot(const struct ledger_entry *e, const char *uid)
{
    bool own = e->state == LEDGER_FREEING && view_is(view_text(e->id.uid), uid);
    if (!own && e->state != LEDGER_FREE) {
        return SLOT_TAKEN;
    }
    if (e->refused || (e->damaged && !own)) {
        return SLOT_REFUSED;
    }
    return own ? SLOT_OWN : SLOT_GOOD;
}

/*
 * The slot in which an earlier record of this claim waits to be freed, so that no claim has two;
 * else any free one. Those that the disk refused are the last choice.
 */
static int free_slot(const struct agent *a, const char *uid)
{
    int at = -1;
    int best = SLOT_TAKEN;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        int judged = judge_slot(&a->ledger.entry[i], uid);
        at = (judged > best) ? (int)i : at;
        best = (judged > best) ? judged : best;
    }
    return at;
}

static const char no_slot[] = "all places of the claim store are in use; unprepare claims first";

const char *ledger_trouble(const struct agent *a)
{
    const struct ledger *l = &a->ledger;
    if (!l->usable || l->failing != STATUS_OK) {
        return l->trouble;
    }
    return (free_slot(a, "") < 0) ? no_slot : NULL;
}

void ledger_set_free(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    if (e->state == LEDGER_FREEING) {
        ASSERT(a->ledger.freeing > 0u);
        a->ledger.freeing--;
    }
    e->state = LEDGER_FREE;
}

void ledger_set_freeing(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    if (e->state == LEDGER_HELD) {
        ASSERT(a->ledger.held > 0u);
        a->ledger.held--;
    }
    a->ledger.freeing = (uint16_t)(a->ledger.freeing + (e->state != LEDGER_FREEING ? 1u : 0u));
    e->state = LEDGER_FREEING;
    e->refused = true; /* until it is written */
}

/* --- texts --- */

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

void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why)
{
    writer_text(why, "claim store ");
    writer_text(why, a->settings->plugins_dir);
    writer_text(why, "/" DRIVER_NAME "/");
    writer_text(why, file);
    writer_text(why, " cannot be ");
    writer_text(why, doing);
    writer_text(why, " (");
    writer_text(why, ledger_reason(a, s));
    writer_text(why, "); ");
    writer_text(why, ledger_remedy(s));
}

/* --- prepare --- */

/* The record into a slot: one that is free, one that is to be, or that of the claim. */
static enum status put_in(struct agent *a, const struct claim_record *r, unsigned slot,
                          struct writer *why)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
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
    a->ledger.held = (uint16_t)(a->ledger.held + (e->state != LEDGER_HELD ? 1u : 0u));
    ledger_set_free(a, slot);
    e->state = LEDGER_HELD;
    e->opaque = false;
    ledger_enter(a, slot, r);
    record_keep(a, slot, r);
    return STATUS_OK;
}

/* Nothing may be left of the claim in this slot, and its CDI file has to go. */
static void release(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    ledger_set_freeing(a, slot);
    enum status buried = cdi_bury(a, e->id.uid);
    e->file = buried != STATUS_OK && buried != HOST_ABSENT;
    enum status s = HOST_IO;
    if (a->ledger.usable) { /* one that is not open may be another agent's by now */
        s = freeing_write(a, slot);
    }
    if (a->ledger.usable && s != STATUS_OK) {
        store_failed(a, "written", s);
    }
    if (buried == HOST_ABSENT && s != STATUS_OK) {
        buried = cdi_mark_gone(a, e->id.uid);
        e->file = buried != STATUS_OK;
    }
    if (e->file) {
        cdi_failed(a, e->id.uid, buried);
    }
}

/* A disk may fail a write after it took part or all of it: the earlier record is written again. */
static void restore(struct agent *a, unsigned slot, uint64_t numbers)
{
    const struct claim_record *before = NULL;
    struct writer nowhere = writer_of(NULL, 0);
    enum status s = half_copy(a, slot);
    if (s != STATUS_OK) { /* which of the two a restart finds is not known */
        const struct claim_consumer consumer = *ledger_consumer(a, slot);
        ledger_hold(a, slot, a->ledger.entry[slot].numbers | numbers, &consumer);
        return;
    }
    s = ledger_record(a, slot, &before);
    s = (s == STATUS_OK) ? ledger_ensure_cdi(a, before, &nowhere) : s;
    status_ignore(s, "the next prepare or round of reconciliation writes it");
}

/* Whether a record can be stored: *slot is where. */
static enum status put_slot(const struct agent *a, const char *uid, unsigned *slot,
                            struct writer *why)
{
    int held = ledger_find(a, uid);
    int at = (held >= 0) ? held : free_slot(a, uid);
    if (!a->ledger.usable || at < 0) {
        writer_text(why, a->ledger.usable ? no_slot : a->ledger.trouble);
        return a->ledger.usable ? FULL_TABLE : HOST_IO;
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
    if (s != STATUS_OK && a->ledger.entry[*slot].state == LEDGER_HELD) {
        restore(a, *slot, claim_numbers(r));
    }
    return s;
}

void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot)
{
    struct ledger_entry *e = &a->ledger.entry[slot];
    ASSERT(e->state != LEDGER_HELD);
    a->ledger.held++;
    ledger_set_free(a, slot);
    e->state = LEDGER_HELD;
    e->opaque = false;
    a->ledger.sequence++; /* no half has it: who reads the record finds damage, and the CDI file */
    e->sequence = a->ledger.sequence;
    ledger_enter(a, slot, r);
    record_keep(a, slot, r);
}

enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                       struct writer *why)
{
    enum status s = put_slot(a, r->id.uid, slot, why);
    if (s != STATUS_OK) {
        return s;
    }
    bool held = a->ledger.entry[*slot].state == LEDGER_HELD;
    s = cdi_put(a, r, why);
    if (s != STATUS_OK) {
        enum status cleared = held ? STATUS_OK : cdi_remove(a, r->id.uid);
        status_ignore(cleared, "there is none as a rule");
        return s;
    }
    s = ledger_adopt(a, r, slot, why);
    if (s == STATUS_OK && !held) {
        cdi_unmark(
            a,
            r->id.uid); /* what a kill in an unprepare left: beside a CDI file it means nothing */
    } else if (s != STATUS_OK && !held) {
        a->ledger.entry[*slot].id = r->id;
        release(a, *slot);
    } else {
        /* all that was there is replaced, or stays */
    }
    return s;
}

/* --- unprepare --- */

/*
 * What a store that is not open holds of a claim would come back with it: the tombstone says that
 * it has to go.
 */
static enum status remove_unread(struct agent *a, const char *uid, struct writer *why)
{
    enum status s = cdi_bury(a, uid);
    s = (s == HOST_ABSENT) ? cdi_mark_gone(a, uid) : s;
    if (s != STATUS_OK) {
        cdi_failed(a, uid, s);
        writer_text(why, a->ledger.trouble);
    }
    return s;
}

/* Whether the next process finds that the claim was unprepared: in the store, or by a tombstone. */
static enum status check_freeing(const struct agent *a, const char *uid, struct writer *why)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger.entry[i];
        if (e->state == LEDGER_FREEING && e->refused && e->file &&
            view_is(view_text(e->id.uid), uid)) {
            writer_text(why, a->ledger.trouble);
            writer_text(why, "; and the claim's CDI file cannot be removed");
            return HOST_IO;
        }
    }
    return STATUS_OK;
}

enum status ledger_remove(struct agent *a, const char *uid, struct writer *why)
{
    const struct ledger *l = &a->ledger;
    int slot = ledger_find(a, uid);
    if (l->busy) {
        writer_text(why, l->trouble);
        return HOST_BUSY;
    }
    if (slot >= 0) {
        release(a, (unsigned)slot);
    }
    if (slot >= 0 || ledger_freeing(a, uid)) {
        return check_freeing(a, uid, why); /* the next flush removes what is left */
    }
    if (!l->known) {
        return remove_unread(a, uid, why);
    }
    enum status s = cdi_remove(a, uid);
    if (s != STATUS_OK) {
        cdi_failed(a, uid, s);
    }
    cdi_unmark(a, uid);
    return STATUS_OK;
}
