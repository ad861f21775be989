/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a slot of the claim table and of the handover, with the legal moves between them.
 * Owns nothing. README.md shows these tables; the simulator counts which moves its schedules make.
 */
#include <string.h>

#include "agent/ledger/handover.h"
#include "agent/ledger/ledger_internal.h"
#include "agent/state.h"
#include "base/assert.h"

#define TO(state) (1u << (unsigned)(state))

/* A move to the state that something has already is legal, and does nothing. */
static bool is_legal(const uint8_t *moves, unsigned from, unsigned to)
{
    return from == to || (moves[from] & TO(to)) != 0u;
}

/* A held claim is never freed at once: first its release is written. */
const uint8_t ledger_slot_moves[LEDGER_STATES] = {
    [LEDGER_FREE] = TO(LEDGER_HELD) | TO(LEDGER_FREEING) | TO(LEDGER_FREEING_FILE),
    [LEDGER_HELD] = TO(LEDGER_FREEING),
    [LEDGER_FREEING] = TO(LEDGER_FREE) | TO(LEDGER_HELD) | TO(LEDGER_FREEING_FILE),
    [LEDGER_FREEING_FILE] = TO(LEDGER_FREE) | TO(LEDGER_HELD) | TO(LEDGER_FREEING),
};

const uint8_t ledger_record_moves[RECORD_STATES] = {
    [RECORD_WHOLE] = TO(RECORD_OUTLINE) | TO(RECORD_UNSURE),
    [RECORD_OUTLINE] = TO(RECORD_WHOLE) | TO(RECORD_UNSURE),
    [RECORD_UNSURE] = TO(RECORD_WHOLE),
};

const uint8_t ledger_flush_moves[FLUSH_STATES] = {
    [FLUSH_SETTLED] = TO(FLUSH_DUE) | TO(FLUSH_DOUBTED),
    [FLUSH_DUE] = TO(FLUSH_SETTLED),
    [FLUSH_DOUBTED] = TO(FLUSH_SETTLED) | TO(FLUSH_DUE),
};

const uint8_t handover_moves[HANDOVER_STATES] = {
    [HANDOVER_WAITING] = TO(HANDOVER_NEXT) | TO(HANDOVER_OWNER),
    [HANDOVER_NEXT] = TO(HANDOVER_WAITING) | TO(HANDOVER_OWNER),
    [HANDOVER_OWNER] = TO(HANDOVER_LEAVING) | TO(HANDOVER_RETIRED),
    [HANDOVER_LEAVING] = TO(HANDOVER_RETIRED),
    [HANDOVER_RETIRED] = TO(HANDOVER_RETURNING) | TO(HANDOVER_OWNER),
    [HANDOVER_RETURNING] = TO(HANDOVER_RETIRED) | TO(HANDOVER_OWNER),
};

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
    struct ledger *l = &a->ledger;
    ASSERT(slot < CLAIMS_MAX);
    struct ledger_entry *e = &l->entry[slot];
    ASSERT(is_legal(ledger_slot_moves, (unsigned)e->state, (unsigned)to));
    count_slot(l, e, false);
    e->state = to;
    count_slot(l, e, true);
}

void ledger_clear(struct agent *a)
{
    memset(a->ledger.entry, 0, sizeof a->ledger.entry);
    a->ledger.held = 0;
    a->ledger.freeing = 0;
}

void ledger_move_record(struct ledger_entry *e, enum ledger_record to)
{
    ASSERT(is_legal(ledger_record_moves, (unsigned)e->record, (unsigned)to));
    e->record = to;
}

void ledger_move_flush(struct ledger_entry *e, enum ledger_flush to)
{
    ASSERT(is_legal(ledger_flush_moves, (unsigned)e->flush, (unsigned)to));
    e->flush = to;
}

void handover_move(struct handover *h, enum handover_state to)
{
    ASSERT(is_legal(handover_moves, (unsigned)h->state, (unsigned)to));
    h->state = to;
}
