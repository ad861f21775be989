/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legal moves between the states of a slot, of its record and of its half that counts.
 * README.md in this folder shows these moves, and the simulator counts which of them its schedules
 * cover.
 */
#ifndef AGENT_LEDGER_LEDGER_STATES_H
#define AGENT_LEDGER_LEDGER_STATES_H

#include "agent/ledger/ledger.h"
#include "agent/ledger/states.h"

/* A HELD slot becomes FREE only through FREEING, because the release is written first. */
static const uint8_t ledger_slot_moves[LEDGER_STATES] = {
    [LEDGER_FREE] =
        MOVES_TO(LEDGER_HELD) | MOVES_TO(LEDGER_FREEING) | MOVES_TO(LEDGER_FREEING_FILE),
    [LEDGER_HELD] = MOVES_TO(LEDGER_FREEING),
    [LEDGER_FREEING] =
        MOVES_TO(LEDGER_FREE) | MOVES_TO(LEDGER_HELD) | MOVES_TO(LEDGER_FREEING_FILE),
    [LEDGER_FREEING_FILE] =
        MOVES_TO(LEDGER_FREE) | MOVES_TO(LEDGER_HELD) | MOVES_TO(LEDGER_FREEING),
};

/* For each state of a record: the set of states that may follow it. */
static const uint8_t ledger_record_moves[RECORD_STATES] = {
    [RECORD_WHOLE] = MOVES_TO(RECORD_OUTLINE) | MOVES_TO(RECORD_UNSURE),
    [RECORD_OUTLINE] = MOVES_TO(RECORD_WHOLE) | MOVES_TO(RECORD_UNSURE),
    [RECORD_UNSURE] = MOVES_TO(RECORD_WHOLE),
};

/* For each state of the half that counts: the set of states that may follow it. */
static const uint8_t ledger_flush_moves[FLUSH_STATES] = {
    [FLUSH_SETTLED] = MOVES_TO(FLUSH_DUE) | MOVES_TO(FLUSH_DOUBTED),
    [FLUSH_DUE] = MOVES_TO(FLUSH_SETTLED),
    [FLUSH_DOUBTED] = MOVES_TO(FLUSH_SETTLED) | MOVES_TO(FLUSH_DUE),
};

#endif
