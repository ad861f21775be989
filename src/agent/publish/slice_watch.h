/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch of our slices (slice_watch.c): opened when a round is over, from the version of its
 * list. Owns struct slice_watch. What it finds is returned; the next round is the publisher's to
 * plan. Internal to src/agent.
 */
#ifndef AGENT_PUBLISH_SLICE_WATCH_H
#define AGENT_PUBLISH_SLICE_WATCH_H

#include "agent/api/watch.h"
#include "agent/publish/slice_codec.h"
#include "agent/report/refusal.h"

/* The watch of slices. */
struct slice_watch {
    struct kube_watch watch;
    struct slice_observer observer;
    struct refusal refusal;
};

/* What the watch asks of the publisher. */
enum watch_finding {
    WATCH_FOUND_NOTHING,
    WATCH_FOUND_CHANGED, /* a slice of ours is not as wanted */
    WATCH_FOUND_DOUBLED, /* there is a slice of ours too many */
    WATCH_FOUND_DELETED, /* a slice of ours is gone */
    WATCH_FOUND_UNKNOWN, /* a slice that is not in the plan is gone: one of our writes perhaps */
    WATCH_LIST_FIRST,    /* it cannot go on from its version: a list has to come first */
    WATCH_LIST_INSTEAD   /* the server has no room for it: lists take its place */
};

/* One finding. */
struct watch_result {
    enum watch_finding finding;
    uint64_t wait_ms; /* with the last two */
};

/* The verbs of state.h. */
void slice_watch_init(struct agent *a);
void slice_watch_step(struct agent *a);
uint64_t slice_watch_deadline(const struct agent *a);
/* The watch goes on from this version; empty: from none before the next list. */
void slice_watch_from(struct agent *a, struct view resource_version);
/* A list is complete: logs when it has no version to watch from. */
void slice_watch_listed(struct agent *a, const struct api_result *list);
/* A round is over: the watch is opened, unless it is open. */
void slice_watch_resume(struct agent *a);
/* The connection is gone: the watch is opened after the next round. */
void slice_watch_suspend(struct agent *a);
/* The wanted content changed: an event that is half read was compared with the one before. */
void slice_watch_outdated(struct agent *a);
/* A record, and the end, of the watch: what they ask of the publisher. */
struct watch_result slice_watch_record(struct agent *a, const struct api_result *r,
                                       const struct kube_record *record);
struct watch_result slice_watch_end(struct agent *a, const struct api_result *r);

#endif
