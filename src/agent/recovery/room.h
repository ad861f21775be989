/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps for one driver. Included by the files of this room and by agent/state.h
 * alone.
 */
#ifndef AGENT_RECOVERY_ROOM_H
#define AGENT_RECOVERY_ROOM_H

#include "agent/recovery/rebuild.h"
#include "agent/recovery/reconcile.h"

/* State of the reconciliation and of the rebuild. */
struct recovery {
    struct reconcile reconcile;
    struct rebuild rebuild;
};

#endif
