/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the state of the handover. A change that the table of legal moves does not list is a bug
 * in the caller.
 */
#include "agent/ledger/handover_states.h"

#include "base/assert.h"

void handover_move(struct handover *h, enum handover_state to)
{
    ASSERT(move_is_legal(handover_moves, (unsigned)h->state, (unsigned)to));
    h->state = to;
}
