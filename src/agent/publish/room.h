/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of src/agent/publish for one driver: the publisher. Only the files of this folder and
 * agent/state.h include this header.
 */
#ifndef AGENT_PUBLISH_ROOM_H
#define AGENT_PUBLISH_ROOM_H

#include "agent/publish/pacing.h"
#include "agent/publish/plan.h"
#include "agent/publish/round.h"
#include "agent/publish/slice_watch.h"
#include "agent/publish/wanted.h"

/* Differences between stored and wanted slices that belong together, see SLICE_INCIDENT_MS. */
struct incident {
    uint64_t last_ms; /* when the last difference was found */
    unsigned count;   /* differences so far */
};

/* The state of the publisher. */
struct publish {
    struct round round;
    struct pacing pacing;
    struct wanted wanted;
    struct plan plan;
    struct slice_watch watch;
    struct incident incident;
    struct left_out left_out;
    /* working memory for attributes, which is too large for the stack */
    struct attributes attributes;
};

#endif
