/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps for one driver. Included by the files of this room and by agent/state.h
 * alone.
 */
#ifndef AGENT_CLAIM_ROOM_H
#define AGENT_CLAIM_ROOM_H

#include "agent/claim/claim_status.h"
#include "agent/claim/device_memory.h"
#include "agent/claim/fetch.h"

/*
 * GETs, device memory and status of claims. It is not called struct claim, because that would mean
 * a single claim.
 */
struct claim_room {
    struct claim_status claim_status;
    struct device_memory device_memory;
    struct fetch fetch[FETCHES_MAX];
};

#endif
