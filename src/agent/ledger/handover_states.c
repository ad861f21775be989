/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the state of the handover; a move that the table does not have is a defect of the caller.
 */
#include "agent/ledger/handover_states.h"

#include "base/assert.h"

void handover_move(struct handover *h, enum handover_state to)
{
    ASSERT(move_is_legal(handover_moves, (unsigned)h->state, (unsigned)to));
    h->state = to;
}
