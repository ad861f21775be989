/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/recovery for one driver. Only the files of src/agent/recovery and
 * agent/state.h include this header.
 */
#ifndef AGENT_RECOVERY_ROOM_H
#define AGENT_RECOVERY_ROOM_H

#include "agent/recovery/memory_watch.h"
#include "agent/recovery/node_drain.h"
#include "agent/recovery/rebuild.h"
#include "agent/recovery/reconcile.h"

/* State of the reconciliation, of the rebuild, of the watch of device memory, and of the drain. */
struct recovery {
    struct reconcile reconcile;
    struct rebuild rebuild;
    struct memory_watch memory_watch;
    struct node_drain node_drain;
};

#endif
