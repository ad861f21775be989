/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Kubernetes watch (watch.c): the version from which it continues, when it is opened, and what
 * the owner must do about its events and its end. Owns struct kube_watch, one for each watch; the
 * objects, the path and the log lines are the owner's. Source: Kubernetes API concepts, "Efficient
 * detection of changes" and "Watch bookmarks".
 *
 * A version may be too old for the server: then the watch ends with HTTP 410 or with an event of
 * type ERROR, whose object is a Status, and the current state is needed. A watch opened without a
 * version reports that state on its own (`reports_state`); otherwise the owner lists, and the watch
 * continues from the version of that list.
 */
#ifndef AGENT_API_WATCH_H
#define AGENT_API_WATCH_H

#include "agent/api/client.h"

/* Types of watch events that are handled differently. */
enum watch_type {
    WATCH_TYPE_CHANGE,
    WATCH_TYPE_DELETED,
    WATCH_TYPE_BOOKMARK,
    WATCH_TYPES /* number of types */
};

/* A watch. */
struct kube_watch {
    unsigned slot;
    /* without a version it reports the current state; otherwise the owner lists */
    bool reports_state;
    bool unusable;        /* refused, silent or without a stream: the owner reads instead */
    enum watch_type type; /* of the current event */
    uint64_t due_ms;      /* when to open it; UINT64_MAX: when the owner resumes it */
    /* when it counts as silent, if it has not reported the state yet; UINT64_MAX: never */
    uint64_t silent_ms;
    uint64_t backoff_ms;
    char version[RESOURCE_VERSION_CAP]; /* version to continue from; empty: the current state */
    char next_version[RESOURCE_VERSION_CAP]; /* of the current event */
};

/* What the owner must do after a record, the end, or some time. */
enum watch_report_kind {
    WATCH_NOTHING,
    WATCH_EVENT_STARTS, /* records of an object follow */
    WATCH_STORED,       /* they are complete: the object was created or changed */
    WATCH_DELETED,      /* they are complete: the object was deleted */
    WATCH_BOOKMARK,     /* no object, only a newer version */
    WATCH_OUTDATED,     /* the watch cannot continue: list after wait_ms */
    WATCH_REFUSED,      /* refused, see the HTTP status: read instead */
    WATCH_NO_ROOM,      /* the server allows too few streams: read after wait_ms */
    WATCH_SILENT        /* the current state was not reported: read after wait_ms */
};

/* A report. */
struct watch_report {
    enum watch_report_kind kind;
    uint64_t wait_ms; /* wait before the owner reads, or before the watch is reopened */
    bool first;       /* REFUSED, SILENT: the watch had been usable */
};

/*
 * Initializes a watch. One that reports the state is due at once, others when the owner resumes
 * them.
 */
void watch_init(struct kube_watch *w, unsigned slot, bool reports_state);
/* Whether to open it now. */
bool watch_is_due(const struct agent *a, const struct kube_watch *w);
/*
 * Opens it; the path in *r contains w->version. `silent_ms`: time in which it must report the
 * current state, if it reports one; UINT64_MAX: the object may be absent, so no limit.
 */
void watch_open(struct agent *a, struct kube_watch *w, const struct api_request *r,
                uint64_t silent_ms);
/* When watch_is_due or watch_check changes; UINT64_MAX: no timer runs. */
uint64_t watch_deadline(const struct agent *a, const struct kube_watch *w);
/* SILENT when the current state is overdue, else NOTHING. */
struct watch_report watch_check(const struct agent *a, struct kube_watch *w);
/* Handles a record of the watch; returns its meaning. */
struct watch_report watch_record(struct agent *a, struct kube_watch *w, const struct api_result *r,
                                 const struct kube_record *record);
/*
 * Handles the end of the watch; returns its meaning. The watch reopens on its own unless the owner
 * must list.
 */
struct watch_report watch_end(struct agent *a, struct kube_watch *w, const struct api_result *r);
/* Sets the version for the next watch, from a list or a read; empty: none. */
void watch_from(struct kube_watch *w, struct view version);
/* Allows it to be opened now, unless it is open. */
void watch_resume(const struct agent *a, struct kube_watch *w);
/* Prevents it from being opened before watch_resume. */
void watch_suspend(struct kube_watch *w);
/* The connection is lost: a usable watch is opened at once on the next one. */
void watch_disconnected(const struct agent *a, struct kube_watch *w);
/* Ends the running watch, if any: its slot is needed for a read. */
void watch_stop(struct agent *a, struct kube_watch *w);

#endif
