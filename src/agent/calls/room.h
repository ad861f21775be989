/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps for one driver. Included by the files of this room and by agent/state.h
 * alone.
 */
#ifndef AGENT_CALLS_ROOM_H
#define AGENT_CALLS_ROOM_H

#include "agent/calls/calls.h"
#include "agent/calls/replies.h"

/* Calls of the kubelet, their claims and their replies. */
struct calls {
    struct call call[CALLS_MAX];
    struct reply reply[CALLS_MAX];
    struct reply_entry reply_entry;
    struct operation operation[OPERATIONS_MAX];
};

#endif
