/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of all state of the program: every byte that the agent keeps. Only instance.c includes
 * this header, so a folder of src/agent can reach the state of another folder only through
 * functions.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include "agent/api/room.h"
#include "agent/calls/room.h"
#include "agent/claim/room.h"
#include "agent/frame.h"
#include "agent/ledger/room.h"
#include "agent/node/room.h"
#include "agent/pods/room.h"
#include "agent/publish/room.h"
#include "agent/recovery/room.h"
#include "agent/report/room.h"
#include "agent/serve/room.h"

/* One driver of the agent, and the driver's state in each folder of src/agent. */
struct driver_state {
    /* this member must be first, so that its address is that of struct driver_state */
    struct agent agent;
    struct ledger ledger;
    struct node node;
    struct publish publish;
    struct claim_room claim;
    struct recovery recovery;
    struct calls calls;
    struct serve serve;
};

/* The state that all drivers share. */
struct shared_state {
    struct report report;
    struct api api;
    struct node_object node_object;
    /* the last member: without a scrape, its pages stay untouched */
    struct claim_pods pods;
};

/* All state of the program. If there is no EFA driver, `efa` is never written. */
struct agents {
    /* this member must be first, so that its address is that of struct agents */
    struct driver_state neuron;
    struct shared_state shared;
    struct driver_state efa;
};

#endif
