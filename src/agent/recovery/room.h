/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/recovery for one driver. Only the files of src/agent/recovery and
 * agent/state.h include this header.
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
