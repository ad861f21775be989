/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of legal moves are made of: an element for each state, in which bit n is set when
 * the state may lead to state n. Owns nothing. Internal to this room.
 */
#ifndef AGENT_LEDGER_STATES_H
#define AGENT_LEDGER_STATES_H

#include "base/bytes.h"

/* The bit of a state in an element of a table. */
#define MOVES_TO(state) (1u << (unsigned)(state))

/* Whether the table has the move; one to the same state is legal, and changes nothing. */
static inline bool move_is_legal(const uint8_t *moves, unsigned from, unsigned to)
{
    return from == to || (moves[from] & MOVES_TO(to)) != 0u;
}

#endif
