/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Kubernetes watch (watch.c): from which version it continues, when it is opened, and what its
 * events and its end ask of the owner. Owns struct kube_watch, one for each watch; the objects, the
 * path and the log lines are the owner's. Source: Kubernetes API concepts, "Efficient detection of
 * changes" and "Watch bookmarks".
 *
 * A version may be too old for the server: the watch then ends with HTTP 410 or with an event of
 * type ERROR, whose object is a Status. Both ask for the current state. A watch that is opened
 * without a version reports it by itself (`reports_state`); else the owner lists, and the watch
 * continues from the version of that list.
 */
#ifndef AGENT_API_WATCH_H
#define AGENT_API_WATCH_H

#include "agent/api/client.h"

/* Types of watch events, as far as they differ here. */
enum watch_type {
    WATCH_TYPE_CHANGE,
    WATCH_TYPE_DELETED,
    WATCH_TYPE_BOOKMARK,
    WATCH_TYPES /* number of types */
};

/* One watch. */
struct kube_watch {
    unsigned slot;
    bool reports_state;   /* without a version it reports the current state; else the owner lists */
    bool unusable;        /* refused, silent or without room: the owner reads instead */
    enum watch_type type; /* of the event under way */
    uint64_t due_ms;      /* when it is opened; UINT64_MAX: the owner says when */
    uint64_t
        silent_ms; /* when one that reported no state yet counts as silent; UINT64_MAX: never */
    uint64_t backoff_ms;
    char version[RESOURCE_VERSION_CAP]; /* it continues from here; empty: from the current state */
    char next_version[RESOURCE_VERSION_CAP]; /* of the event under way */
};

/* What a record, the end, or the time asks of the owner. */
enum watch_report_kind {
    WATCH_NOTHING,
    WATCH_EVENT_STARTS, /* records of an object follow */
    WATCH_STORED,       /* they are complete: the object was created or changed */
    WATCH_DELETED,      /* they are complete: the object was deleted */
    WATCH_BOOKMARK,     /* there is no object, only a newer version */
    WATCH_OUTDATED,     /* the watch cannot continue: list again after wait_ms */
    WATCH_REFUSED,      /* by HTTP status: read instead */
    WATCH_NO_ROOM,      /* the server allows too few streams: read instead after wait_ms */
    WATCH_SILENT        /* the current state was not reported: read instead after wait_ms */
};

/* One report. */
struct watch_report {
    enum watch_report_kind kind;
    uint64_t wait_ms; /* until the owner reads, or until the watch is opened again */
    bool first;       /* REFUSED, SILENT: the watch was usable until now */
};

/* A watch that is opened at once when it reports the state, else when the owner says. */
void watch_init(struct kube_watch *w, unsigned slot, bool reports_state);
/* Whether it is to be opened now. */
bool watch_is_due(const struct agent *a, const struct kube_watch *w);
/*
 * Opens it: the path in *r names w->version. `silent_ms` is the time within which the current state
 * must be reported, where there is one; UINT64_MAX: no event may come for long.
 */
void watch_open(struct agent *a, struct kube_watch *w, const struct api_request *r,
                uint64_t silent_ms);
/* When watch_is_due or watch_check changes; UINT64_MAX: not by time. */
uint64_t watch_deadline(const struct agent *a, const struct kube_watch *w);
/* SILENT when the current state is not reported in time, else NOTHING. */
struct watch_report watch_check(const struct agent *a, struct kube_watch *w);
/* A record of the watch: what it means. */
struct watch_report watch_record(struct agent *a, struct kube_watch *w, const struct api_result *r,
                                 const struct kube_record *record);
/* The watch ended: what that means. It is opened again by itself unless the owner has to list. */
struct watch_report watch_end(struct agent *a, struct kube_watch *w, const struct api_result *r);
/* The next watch continues from this version, that of a list or a read; empty: from none. */
void watch_from(struct kube_watch *w, struct view version);
/* It may be opened now, unless it is open. */
void watch_resume(const struct agent *a, struct kube_watch *w);
/* It is not opened before watch_resume. */
void watch_suspend(struct kube_watch *w);
/* The connection is gone: on the next one a usable watch is opened at once. */
void watch_disconnected(const struct agent *a, struct kube_watch *w);
/* Ends the watch that runs, if one does: its slot is needed for a read. */
void watch_stop(struct agent *a, struct kube_watch *w);

#endif
