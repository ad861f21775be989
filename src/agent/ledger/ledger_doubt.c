/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which devices stay held when one half of a slot of the claim store is damaged. The
 * damaged half may be the newer one, with a record that the store has nowhere else: the record of
 * another claim, or of a later allocation of the claim in the intact half. Owns nothing: ledger.h
 * owns the table.
 *
 * A prepare writes the CDI file before the record, so a CDI file with the allocation results of the
 * intact half proves that this half is the newer one. Without that proof, the agent lists the
 * node's claims at the API server before it prepares a new claim (rebuild.c), and the record of the
 * slot's claim is UNSURE: the claim holds all devices that its record, its CDI file or the list
 * names, and a prepare does not use its record. The record stops being UNSURE when the list names
 * the same devices, when the claim is prepared with the API server's allocation, or when it is
 * unprepared. If the claim holds more than its record names, an outline of all its devices is
 * written into the damaged half, so that the next process holds them too. No half is written before
 * the header requests the list.
 */
#include "agent/ledger/ledger_internal.h"

#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "cfg/identity.h"

/*
 * Makes the slot also hold the devices of `r`, another record that its claim may have. Parts of
 * devices are held as whole devices.
 */
static void add_held_devices(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    bool parts = e->guessed || e->cores != 0u || claim_cores(r) != 0u;
    struct claim_consumer consumer;
    consumer = *ledger_consumer(a, slot);
    ledger_hold(a, slot, e->numbers | claim_numbers(r), e->shares && claim_shares(r) && !parts,
                &consumer);
    e->functions |= ledger_functions(a, r);
    e->guessed = parts;
}

/*
 * Compares the record in the intact half of a slot, whose other half is damaged, with the CDI file
 * of its claim. Without a CDI file with the same allocation results, the record becomes UNSURE.
 */
static void judge_record(struct agent *a, unsigned slot)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    const struct claim_record *record = NULL;
    struct claim_record *file = record_room(a);
    bool read = ledger_read_cdi(a, a->ledger->id[slot].uid, file) == STATUS_OK;
    bool known = e->record == RECORD_WHOLE && ledger_record(a, slot, &record) == STATUS_OK;
    if (read && known && claim_results_same(record, file)) {
        return;
    }
    ledger_move_record(e, RECORD_UNSURE);
    a->ledger->unlisted = true;
    if (read) {
        add_held_devices(a, slot, file);
    }
}

void doubt_judge(struct agent *a)
{
    bool before = a->ledger->unlisted;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &a->ledger->entry[i];
        if (!e->damaged) {
            continue;
        }
        if (e->state == LEDGER_HELD) {
            judge_record(a, i);
            continue;
        }
        a->ledger->unlisted = true;
        if (ledger_is_freeing(e)) {
            /* if the damaged half had a newer record, the CDI file of its claim is adopted later */
            ledger_move(a, i, LEDGER_FREE);
        }
    }
    a->ledger->flags_due = a->ledger->unlisted && !before;
}

static void log_damaged(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    log_begin(a, LOG_ID_STORE_HALF_DAMAGED);
    log_text(a, "file", STORE_FILE_NAME);
    log_number(a, "slot", (int64_t)slot);
    log_number(a, "half", 1 - (int64_t)e->half);
    if (e->state == LEDGER_HELD) {
        log_claim(a, &a->ledger->id[slot]);
    }
    if (e->state == LEDGER_HELD && e->record == RECORD_UNSURE) {
        log_text(a, "text",
                 "a newer record of the claim may be lost: all devices that are known of it stay "
                 "held, and it is prepared by the API server's allocation alone");
    }
    log_end(a);
}

/*
 * Replaces a damaged half, if the record of the slot allows it:
 * - The record is not UNSURE: the half becomes a copy of the intact one.
 * - The claim holds more devices than its UNSURE record names: the half becomes an outline of all
 *   its devices.
 * - Any other UNSURE record: the half stays damaged, so that the next process also treats the
 *   record as UNSURE.
 */
static void replace_damaged(struct agent *a, unsigned slot)
{
    const struct ledger_entry *e = &a->ledger->entry[slot];
    const struct claim_record *r = NULL;
    if (e->state != LEDGER_HELD || e->record != RECORD_UNSURE) {
        half_heal(a, slot);
    } else if (!half_names(a, slot, &r) || claim_numbers(r) != e->numbers) {
        enum status s = slot_write(a, slot);
        status_ignore(s, "the next opening holds the same by the same witnesses");
    }
}

void doubt_settle(struct agent *a)
{
    struct ledger *l = a->ledger;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct ledger_entry *e = &l->entry[i];
        if (e->damaged) {
            log_damaged(a, i);
        }
    }
    if (l->flags_due) {
        l->flags_due = flags_write(a) != STATUS_OK;
    }
    for (unsigned i = 0; i < CLAIMS_MAX && !l->flags_due; i++) {
        const struct ledger_entry *e = &l->entry[i];
        /* the next flush writes slots that are being freed, so skip them here */
        if (e->damaged && !ledger_is_freeing(e)) {
            replace_damaged(a, i);
        }
    }
}

enum status ledger_listed_claim(struct agent *a, unsigned slot, const struct claim_record *r)
{
    struct ledger_entry *e = &a->ledger->entry[slot];
    const struct claim_record *record = NULL;
    struct writer discarded = writer_of(NULL, 0);
    enum status s = STATUS_OK;
    ASSERT(e->state == LEDGER_HELD && e->record != RECORD_WHOLE);
    if (e->record == RECORD_UNSURE && half_names(a, slot, &record) &&
        claim_numbers(record) == e->numbers && claim_devices_same(record, r)) {
        ledger_enter(a, slot, record);
        half_heal(a, slot);
        s = ledger_ensure_cdi(a, record, &discarded);
        status_ignore(s, "the next prepare or round of reconciliation writes it");
        s = STATUS_OK;
    } else if ((claim_numbers(r) & ~e->numbers) != 0u ||
               (ledger_functions(a, r) & ~e->functions) != 0u) {
        ledger_move_record(e, RECORD_UNSURE);
        add_held_devices(a, slot, r);
        s = slot_write(a, slot);
    }
    if (s != STATUS_OK) {
        store_failed(a, "written", s);
    }
    return s;
}
