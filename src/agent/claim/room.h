/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/claim for one driver. Only the files of src/agent/claim and agent/state.h
 * include this header.
 */
#ifndef AGENT_CLAIM_ROOM_H
#define AGENT_CLAIM_ROOM_H

#include "agent/claim/claim_status.h"
#include "agent/claim/device_memory.h"
#include "agent/claim/fetch.h"

/*
 * State of claim GETs, of checks of device memory, and of claim statuses. The struct is not called
 * claim, because that would mean a single claim.
 */
struct claim_room {
    struct claim_status claim_status;
    struct device_memory device_memory;
    struct fetch fetch[FETCHES_MAX];
};

#endif
