/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/calls for one driver. Only the files of src/agent/calls and agent/state.h
 * include this header.
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
