/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch of this driver's slices (slice_watch.c). It is opened after a round, and continues from
 * the resource version of the round's list. Owns struct slice_watch. Returns what the watch found;
 * the publisher plans the next round. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_SLICE_WATCH_H
#define AGENT_PUBLISH_SLICE_WATCH_H

#include "agent/api/watch.h"
#include "agent/publish/slice_codec.h"
#include "agent/report/refusal.h"

/* State of the watch of slices. */
struct slice_watch {
    struct kube_watch watch;
    struct slice_observer observer;
    struct refusal refusal;
};

/* What the watch found; the publisher acts on it. */
enum watch_finding {
    WATCH_FOUND_NOTHING,
    WATCH_FOUND_CHANGED, /* a slice of this driver and node differs from the wanted one */
    WATCH_FOUND_DOUBLED, /* there is a surplus slice of this driver and node: no part needs it */
    /* a slice that is matched with a part of the plan was deleted */
    WATCH_FOUND_DELETED,
    /*
     * a slice that no part of the plan is matched with was deleted, perhaps one that was just
     * created
     */
    WATCH_FOUND_UNKNOWN,
    WATCH_LIST_FIRST,  /* the slices must be listed before the watch can continue */
    WATCH_LIST_INSTEAD /* the server allows too few streams for a watch, so lists replace it */
};

/* What the watch found, and how long to wait before the next list. */
struct watch_result {
    enum watch_finding finding;
    /* if WATCH_LIST_FIRST or WATCH_LIST_INSTEAD: how long to wait before the list */
    uint64_t wait_ms;
};

/* The init, step and deadline functions of the watch of slices, see frame.h. */
void slice_watch_init(struct agent *a);
void slice_watch_step(struct agent *a);
uint64_t slice_watch_deadline(const struct agent *a);
/*
 * Sets the resource version from which the watch continues; empty: the watch waits for the next
 * list.
 */
void slice_watch_from(struct agent *a, struct view resource_version);
/* Handles a complete list; logs if it has no resource version from which a watch could continue. */
void slice_watch_listed(struct agent *a, const struct api_result *list);
/* Called when a round has ended: allows the watch to be opened, unless it is open. */
void slice_watch_resume(struct agent *a);
/* Called when the API connection is lost: the watch reopens after the next round. */
void slice_watch_suspend(struct agent *a);
/*
 * Called when the wanted content changed. The slice of the current event may already be partly
 * compared with the old content, so it counts as different from the wanted content.
 */
void slice_watch_outdated(struct agent *a);
/*
 * slice_watch_record handles a record of the watch; slice_watch_end, the end of the watch. Both
 * return what the watch found.
 */
struct watch_result slice_watch_record(struct agent *a, const struct api_result *r,
                                       const struct kube_record *record);
struct watch_result slice_watch_end(struct agent *a, const struct api_result *r);

#endif
