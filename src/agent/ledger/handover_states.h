/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legal moves of the handover. README.md in this folder shows these moves, and the simulator
 * counts which of them its schedules cover.
 */
#ifndef AGENT_LEDGER_HANDOVER_STATES_H
#define AGENT_LEDGER_HANDOVER_STATES_H

#include "agent/ledger/handover.h"
#include "agent/ledger/states.h"

/* For each state of the handover: the set of states that may follow it. */
static const uint8_t handover_moves[HANDOVER_STATES] = {
    [HANDOVER_WAITING] = MOVES_TO(HANDOVER_NEXT) | MOVES_TO(HANDOVER_OWNER),
    [HANDOVER_NEXT] = MOVES_TO(HANDOVER_WAITING) | MOVES_TO(HANDOVER_OWNER),
    [HANDOVER_OWNER] = MOVES_TO(HANDOVER_LEAVING) | MOVES_TO(HANDOVER_RETIRED),
    [HANDOVER_LEAVING] = MOVES_TO(HANDOVER_RETIRED),
    [HANDOVER_RETIRED] = MOVES_TO(HANDOVER_RETURNING) | MOVES_TO(HANDOVER_OWNER),
    [HANDOVER_RETURNING] = MOVES_TO(HANDOVER_RETIRED) | MOVES_TO(HANDOVER_OWNER),
};

#endif
