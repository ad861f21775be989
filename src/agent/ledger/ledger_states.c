/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the states of a slot. A change that the tables of legal moves do not list is a bug in the
 * caller.
 */
#include "agent/ledger/ledger_states.h"

#include <string.h>

#include "agent/frame.h"
#include "agent/ledger/ledger_internal.h"
#include "agent/ledger/room.h"
#include "base/assert.h"

static void count_slot(struct ledger *l, const struct ledger_entry *e, bool comes)
{
    uint16_t *count = ledger_is_freeing(e) ? &l->freeing : &l->held;
    if (e->state != LEDGER_FREE) {
        ASSERT(comes || *count > 0u);
        *count = (uint16_t)(comes ? *count + 1u : *count - 1u);
    }
}

void ledger_move(struct agent *a, unsigned slot, enum ledger_state to)
{
    struct ledger *l = a->ledger;
    ASSERT(slot < CLAIMS_MAX);
    struct ledger_entry *e = &l->entry[slot];
    ASSERT(move_is_legal(ledger_slot_moves, (unsigned)e->state, (unsigned)to));
    count_slot(l, e, false);
    e->state = to;
    count_slot(l, e, true);
}

void ledger_clear(struct agent *a)
{
    memset(a->ledger->entry, 0, sizeof a->ledger->entry);
    a->ledger->held = 0;
    a->ledger->freeing = 0;
}

void ledger_move_record(struct ledger_entry *e, enum ledger_record to)
{
    ASSERT(move_is_legal(ledger_record_moves, (unsigned)e->record, (unsigned)to));
    e->record = to;
}

void ledger_move_flush(struct ledger_entry *e, enum ledger_flush to)
{
    ASSERT(move_is_legal(ledger_flush_moves, (unsigned)e->flush, (unsigned)to));
    e->flush = to;
}
