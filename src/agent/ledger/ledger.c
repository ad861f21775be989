/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table: which claim holds which devices, kept in the claim store. Owns ledger entries;
 * does not communicate with the kubelet or the API server. ledger_change.c adds and removes claims.
 */
#include "agent/ledger/ledger_internal.h"

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "base/assert.h"

bool ledger_is_usable(const struct agent *a)
{
    return a->ledger->usable;
}

bool ledger_is_busy(const struct agent *a)
{
    return a->ledger->busy;
}

bool ledger_is_unlisted(const struct agent *a)
{
    return a->ledger->unlisted;
}

bool ledger_is_created(const struct agent *a)
{
    return a->ledger->created;
}

bool ledger_is_flushed(const struct agent *a)
{
    return !a->ledger->dirty;
}

unsigned ledger_held_count(const struct agent *a)
{
    return a->ledger->held;
}

bool ledger_may_hold(const struct agent *a)
{
    const struct ledger *l = a->ledger;
    return l->held > 0u || l->freeing > 0u || l->unlisted;
}

const char *ledger_trouble(const struct agent *a)
{
    return a->ledger->trouble;
}

enum status ledger_failing(const struct agent *a)
{
    return a->ledger->failing;
}

const char *ledger_cdi_remedy(const struct agent *a)
{
    return a->ledger->cdi_remedy;
}

const struct ledger_entry *ledger_entry(const struct agent *a, unsigned slot)
{
    ASSERT(slot < CLAIMS_MAX);
    return &a->ledger->entry[slot];
}

const struct claim_id *ledger_id(const struct agent *a, unsigned slot)
{
    ASSERT(slot < CLAIMS_MAX);
    return &a->ledger->id[slot];
}

const struct claim_id *ledger_last(const struct agent *a, unsigned number)
{
    ASSERT(number < DEVICES_MAX);
    return &a->ledger->last[number];
}

int ledger_find(const struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (ledger_holds(a, i, uid)) {
            return (int)i;
        }
    }
    return -1;
}

int ledger_known(const struct agent *a, const char *uid)
{
    int slot = ledger_find(a, uid);
    return (slot >= 0 && a->ledger->entry[slot].record == RECORD_WHOLE) ? slot : -1;
}

static bool is_freeing_of(const struct agent *a, unsigned slot, const char *uid)
{
    return ledger_is_freeing(&a->ledger->entry[slot]) && text_is(uid, a->ledger->id[slot].uid);
}

int ledger_freeing_slot(const struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (is_freeing_of(a, i, uid)) {
            return (int)i;
        }
    }
    return -1;
}

bool ledger_freeing_beside(const struct agent *a, unsigned slot)
{
    const char *uid = a->ledger->id[slot].uid;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (i != slot && is_freeing_of(a, i, uid)) {
            return true;
        }
    }
    return false;
}

bool ledger_freeing(const struct agent *a, const char *uid)
{
    return ledger_freeing_slot(a, uid) >= 0;
}

bool ledger_freeing_file(const struct agent *a, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (is_freeing_of(a, i, uid) && a->ledger->entry[i].state == LEDGER_FREEING_FILE) {
            return true;
        }
    }
    return false;
}

bool ledger_reopens(const struct agent *a)
{
    const struct ledger *l = a->ledger;
    return !l->usable && l->known && a->now_ms >= l->retry_ms;
}

bool ledger_full(const struct agent *a)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (a->ledger->entry[i].state == LEDGER_FREE) {
            return false;
        }
    }
    return true;
}

bool ledger_holds(const struct agent *a, unsigned slot, const char *uid)
{
    ASSERT(slot < CLAIMS_MAX);
    const struct ledger_entry *e = &a->ledger->entry[slot];
    return e->state == LEDGER_HELD && text_is(uid, a->ledger->id[slot].uid);
}

/*
 * Whether the claim holds only parts of its devices: a share of each, or cores of each that are
 * known or guessed.
 */
static bool is_partial(const struct agent *a, const struct ledger_entry *e)
{
    return e->shares && (!driver_traits(a->driver->kind)->has_cores || e->cores != 0u);
}

bool ledger_shares_rest(const struct agent *a, const struct ledger_entry *e)
{
    return is_partial(a, e) && !e->guessed;
}

/*
 * Whether two claims conflict because they hold devices with the same number. `parts`: the claims
 * hold separate parts of their devices, which is no conflict.
 */
static bool share_number(const struct agent *a, const struct ledger_entry *x,
                         const struct ledger_entry *y, bool parts)
{
    /*
     * If the cores of a claim are guessed, the claim only keeps new claims off its device; it does
     * not conflict with another claim that already holds a part of the device.
     */
    bool guess =
        (x->guessed && (is_partial(a, y) || y->guessed)) || (y->guessed && is_partial(a, x));
    return (x->numbers & y->numbers) != 0u && !parts && !guess;
}

bool ledger_overlaps(const struct agent *a, const struct ledger_entry *x,
                     const struct ledger_entry *y)
{
    bool parts = is_partial(a, x) && is_partial(a, y) && (x->cores & y->cores) == 0u;
    bool functions = x->functions != 0u && y->functions != 0u;
    bool whole = x->record == RECORD_WHOLE && y->record == RECORD_WHOLE;
    return (functions && whole) ? ledger_functions_meet(a, x, y, parts)
                                : share_number(a, x, y, parts);
}

int ledger_disputed(const struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = a->ledger->entry;
    ASSERT(e[slot].state == LEDGER_HELD);
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        bool certain = i != slot && e[i].state == LEDGER_HELD && e[i].record == RECORD_WHOLE;
        if (certain && ledger_overlaps(a, &e[slot], &e[i])) {
            return (int)i;
        }
    }
    return -1;
}

/*
 * Whether the slot has a claim other than `uid` that holds one of the devices in `numbers`, or a
 * share or part of it.
 */
static bool is_others(const struct agent *a, unsigned slot, uint64_t numbers, const char *uid)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    return e->state == LEDGER_HELD && (ledger_numbers_of(a, e) & numbers) != 0u &&
           !text_is(a->ledger->id[slot].uid, uid);
}

/*
 * Which other claims may share a device with a new claim: no claim, claims whose cores are known,
 * or also claims whose cores are guessed.
 */
enum joining { JOINS_NOBODY, JOINS_KNOWN, JOINS_ANY };

static int rival_from(const struct agent *a, unsigned from, const struct claim_record *r,
                      enum joining joins)
{
    for (unsigned i = from; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        bool joined = (joins == JOINS_ANY && is_partial(a, e)) ||
                      (joins == JOINS_KNOWN && ledger_shares_rest(a, e));
        bool other = e->state == LEDGER_HELD && !text_is(a->ledger->id[i].uid, r->id.uid);
        if (other && ledger_in_the_way(a, e, r, joined)) {
            return (int)i;
        }
    }
    return -1;
}

int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        if (is_others(a, i, numbers, uid)) {
            return (int)i;
        }
    }
    return -1;
}

bool ledger_holds_device(const struct agent *a, unsigned slot, unsigned number)
{
    return is_others(a, slot, UINT64_C(1) << number, "");
}

int ledger_rival(const struct agent *a, unsigned from, const struct claim_record *r, bool sharing)
{
    return rival_from(a, from, r, (sharing && claim_joins(r)) ? JOINS_KNOWN : JOINS_NOBODY);
}

int ledger_listed_rival(const struct agent *a, const struct claim_record *r)
{
    return rival_from(a, 0, r, claim_joins(r) ? JOINS_ANY : JOINS_NOBODY);
}

uint8_t ledger_cores(const struct agent *a, uint64_t numbers, const char *uid)
{
    uint8_t cores = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        cores |= is_others(a, i, numbers, uid) ? a->ledger->entry[i].cores : 0u;
    }
    return cores;
}

int ledger_core_holder(const struct agent *a, unsigned number, int core)
{
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        uint8_t cores = a->ledger->entry[i].cores;
        bool other = core >= 0 && cores != 0u && ((unsigned)cores >> (unsigned)core & 1u) == 0u;
        if (!other && is_others(a, i, UINT64_C(1) << number, "")) {
            return (int)i;
        }
    }
    return -1;
}

uint64_t ledger_numbers(const struct agent *a)
{
    uint64_t numbers = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        numbers |= (e->state == LEDGER_HELD) ? ledger_numbers_of(a, e) : 0u;
    }
    return numbers;
}

bool ledger_shares(const struct agent *a)
{
    bool shares = false;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        shares = shares || (e->state == LEDGER_HELD && e->shares && e->numbers != 0u);
    }
    return shares;
}

/*
 * Whether the table keeps the claim's consumer: the claim holds a device, or it has admin access
 * and its containers have a device. A claim with admin access needs its consumer because
 * numbering_choose compares all claims of a pod that have devices in containers. For other claims,
 * the element of `consumer` is not written, so that its memory page stays non-resident.
 */
static bool has_consumer(const struct ledger_entry *e)
{
    return e->numbers != 0u || e->container_numbers != 0u;
}

void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers, bool shares,
                 const struct claim_consumer *consumer)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    e->numbers = numbers;
    e->shares = shares;
    e->cores = 0;
    e->guessed = false;
    if (has_consumer(e)) {
        a->ledger->consumer[slot] = *consumer;
    }
}

void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        if ((claim_numbers(r) >> n & 1u) != 0u && !r->rebuilt) {
            a->ledger->last[n] = r->id;
        }
    }
    e->entered = e->sequence;
    e->held_ms = a->now_ms;
    a->ledger->id[slot] = r->id;
    e->zero_numbering = r->zero_numbering;
    e->metadata = r->metadata;
    e->container_numbers = claim_container_numbers(r);
    e->logical_neuron_core = claim_logical_neuron_core(r);
    e->functions = 0; /* cleared, so that ledger_functions can reuse the bits of the old record */
    e->functions = ledger_functions(a, r);
    ledger_hold(a, slot, claim_numbers(r), claim_shares(r), &r->consumer);
    e->cores = claim_cores(r);
    e->guessed = r->rebuilt && e->cores != 0u;
    ledger_move_record(e, RECORD_WHOLE);
}

const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot)
{
    static const struct claim_consumer nobody;
    const struct ledger_entry *e = &a->ledger->entry[slot];
    ASSERT(e->state == LEDGER_HELD);
    return has_consumer(e) ? &a->ledger->consumer[slot] : &nobody;
}

/* How well a slot suits a new record of a claim; the highest value is the best. */
enum { SLOT_TAKEN, SLOT_REFUSED, SLOT_GOOD, SLOT_OWN };

static int judge_slot(const struct agent *a, unsigned slot, const char *uid)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    bool own = is_freeing_of(a, slot, uid);
    if (!own && e->state != LEDGER_FREE) {
        return SLOT_TAKEN;
    }
    if (e->refused || (e->damaged && !own)) {
        return SLOT_REFUSED;
    }
    return own ? SLOT_OWN : SLOT_GOOD;
}

/*
 * Returns the slot that is best for a record of the claim; -1: no slot can be used. The best is the
 * slot in which an earlier record of the claim waits to be freed, so that no claim has two slots;
 * then any free slot; last, a slot whose last write failed, or a free slot with a damaged half.
 */
int ledger_free_slot(const struct agent *a, const char *uid)
{
    int at = -1;
    int best = SLOT_TAKEN;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        int judged = judge_slot(a, i, uid);
        at = (judged > best) ? (int)i : at;
        best = (judged > best) ? judged : best;
    }
    return at;
}

void ledger_set_freeing(struct agent *a, unsigned slot)
{
    ledger_move(a, slot, LEDGER_FREEING);
    /* the release of the claim is not written to the disk yet */
    a->ledger->entry[slot].refused = true;
}

/* --- error texts about the claim store, and remedies --- */

const char *ledger_reason(const struct agent *a, enum status s)
{
    switch (s) {
    case HOST_BUSY:
        return "another agent uses this store";
    case HOST_DAMAGED:
        return "its content is damaged";
    case PEER_UNSUPPORTED:
        return "it has another format";
    default:
        return a->files->why(a->files->ctx);
    }
}

/*
 * The remedy for an error `s` of the claim store or the CDI root, if the files port has no remedy
 * of its own.
 */
static const char *remedy_by_status(enum status s)
{
    switch (s) {
    case HOST_BUSY:
        return "the agent tries again; end the other agent of this node";
    case HOST_NO_SPACE:
        return "free space there";
    case HOST_DENIED:
        return "check rights there";
    case HOST_ABSENT:
        return "make its directory again";
    case HOST_DAMAGED:
        return "move that file away, and check the disk: it returns other bytes than were written";
    case PEER_UNSUPPORTED:
        return "run the agent version that wrote it, or a newer one";
    default:
        return "check the disk (dmesg)";
    }
}

const char *ledger_remedy(const struct agent *a, enum status s)
{
    const struct files *f = a->files;
    bool from_port = s != HOST_BUSY && s != HOST_DAMAGED && s != PEER_UNSUPPORTED;
    const char *remedy = (from_port && f->remedy != NULL) ? f->remedy(f->ctx) : NULL;
    return (remedy != NULL) ? remedy : remedy_by_status(s);
}

void ledger_cannot_text(const struct agent *a, const char *doing, enum status s, struct writer *why)
{
    WRITE(why, " cannot be % (%); %", TEXT(doing), TEXT(ledger_reason(a, s)),
          TEXT(ledger_remedy(a, s)));
}

void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why)
{
    WRITE(why, "claim store %/%/%", TEXT(a->settings->plugins_dir), TEXT(a->driver->name),
          TEXT(file));
    ledger_cannot_text(a, doing, s, why);
}
