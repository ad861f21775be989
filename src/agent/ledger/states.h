/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of the tables of legal moves: one element for each state, with bit N set if the state
 * may move to state N. Owns nothing. Internal to src/agent/ledger.
 */
#ifndef AGENT_LEDGER_STATES_H
#define AGENT_LEDGER_STATES_H

#include "base/bytes.h"

/* The bit that allows a move to `state`, in an element of a table of legal moves. */
#define MOVES_TO(state) (1u << (unsigned)(state))

/*
 * Whether the table allows the move. A move to the same state is always legal, and changes nothing.
 */
static inline bool move_is_legal(const uint8_t *moves, unsigned from, unsigned to)
{
    return from == to || (moves[from] & MOVES_TO(to)) != 0u;
}

#endif
