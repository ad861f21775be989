/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps for one driver: the publisher.
 * Included by the files of this room and by agent/state.h alone.
 */
#ifndef AGENT_PUBLISH_ROOM_H
#define AGENT_PUBLISH_ROOM_H

#include "agent/publish/pacing.h"
#include "agent/publish/plan.h"
#include "agent/publish/round.h"
#include "agent/publish/slice_watch.h"
#include "agent/publish/wanted.h"

/* The state of the publisher. */
struct publish {
    struct round round;
    struct pacing pacing;
    struct wanted wanted;
    struct plan plan;
    struct slice_watch watch;
    struct left_out left_out;
    struct attributes attributes; /* working memory: too large for the stack */
};

#endif
