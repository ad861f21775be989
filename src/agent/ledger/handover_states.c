/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the state of the handover; a move that is not in the table is a bug in the caller. */
#include "agent/ledger/handover_states.h"

#include "base/assert.h"

void handover_move(struct handover *h, enum handover_state to)
{
    ASSERT(move_is_legal(handover_moves, (unsigned)h->state, (unsigned)to));
    h->state = to;
}
