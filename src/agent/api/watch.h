/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Kubernetes watch (watch.c): when it is opened, from which version it continues, and what its
 * owner must do about its events and its end. Owns struct kube_watch, one for each watch; the
 * objects, the path and the log lines belong to the owner of the watch. Source: Kubernetes API
 * concepts, "Efficient detection of changes" and "Watch bookmarks".
 *
 * A version may be too old for the server: then the watch ends with HTTP 410, or with an event of
 * type ERROR whose object is a Status, and the owner needs the current state. If the watch has
 * `reports_state`, it is reopened without a version, and the server then reports the current state
 * first. Otherwise the owner lists the objects, and the watch continues from the version of that
 * list.
 */
#ifndef AGENT_API_WATCH_H
#define AGENT_API_WATCH_H

#include "agent/api/client.h"

/* Types of watch events that the agent handles differently. */
enum watch_type {
    WATCH_TYPE_CHANGE,
    WATCH_TYPE_DELETED,
    WATCH_TYPE_BOOKMARK,
    WATCH_TYPES /* number of types of watch events */
};

/* The state of one watch. */
struct kube_watch {
    unsigned slot;
    /*
     * true: a watch without a version reports the current state; false: the owner must list first
     */
    bool reports_state;
    /* the watch is refused, silent or without a stream: its owner reads the object instead */
    bool unusable;
    /*
     * a watch that the server accepted did not report the state, so that only an event proves that
     * the watch works
     */
    bool mute;
    enum watch_type type; /* type of the event whose records are arriving */
    uint64_t due_ms;      /* when to open the watch; UINT64_MAX: only after watch_resume */
    /*
     * when the watch counts as silent if it has not reported the state by then; UINT64_MAX: never
     */
    uint64_t silent_ms;
    /*
     * if silent_ms is a time: how long the state may take once the head of the response is there;
     * 0: the head is there
     */
    uint64_t report_ms;
    uint64_t backoff_ms;
    /* resource version from which to continue; empty: there is none */
    char version[RESOURCE_VERSION_CAP];
    char next_version[RESOURCE_VERSION_CAP]; /* resource version in the current event */
};

/*
 * Kinds of work for the owner of a watch: after a record, after the end of the watch, or when time
 * has passed.
 */
enum watch_report_kind {
    WATCH_NOTHING,
    WATCH_EVENT_STARTS, /* the event has begun: records of its object follow */
    WATCH_STORED,       /* the event is complete: the object was created or changed */
    WATCH_DELETED,      /* the event is complete: the object was deleted */
    WATCH_BOOKMARK,     /* the event has no object, but a newer resource version */
    WATCH_OUTDATED,     /* the watch cannot continue: list the objects after wait_ms */
    WATCH_BUSY,         /* the server is too busy for the watch: it is reopened after wait_ms */
    WATCH_REFUSED, /* the server refuses the watch (see the HTTP status): read the object instead */
    WATCH_NO_ROOM, /* the server allows too few streams: list the objects after wait_ms */
    WATCH_SILENT   /* the current state was not reported: read the object after wait_ms */
};

/* What a function of the watch reports to its owner. */
struct watch_report {
    enum watch_report_kind kind;
    uint64_t wait_ms; /* wait before the owner reads or lists, or before the watch is reopened */
    bool first;       /* REFUSED, NO_ROOM, SILENT: until now the watch was usable */
};

/*
 * Initializes a watch. With `reports_state` it can be opened at once, otherwise only after
 * watch_resume was called.
 */
void watch_init(struct kube_watch *w, unsigned slot, bool reports_state);
/* Whether the owner must call watch_open now. */
bool watch_is_due(const struct agent *a, const struct kube_watch *w);
/*
 * Opens the watch; the path in *r contains w->version. `silent_ms`: time, from the head of the
 * response on, within which a watch that reports the current state must report it; UINT64_MAX: no
 * limit, because the object may be absent. The head itself may take API_REQUEST_MS, as the response
 * to a GET may: a server that is slow would answer a GET no sooner.
 */
void watch_open(struct agent *a, struct kube_watch *w, const struct api_request *r,
                uint64_t silent_ms);
/* When watch_is_due next becomes true or watch_check has a report; UINT64_MAX: no timer runs. */
uint64_t watch_deadline(const struct agent *a, const struct kube_watch *w);
/*
 * Notes the head of the watch's response. Returns WATCH_SILENT if the watch should have reported
 * the current state by now, else WATCH_NOTHING.
 */
struct watch_report watch_check(struct agent *a, struct kube_watch *w);
/* Handles a record of the watch; returns what the owner must do. */
struct watch_report watch_record(struct agent *a, struct kube_watch *w, const struct api_result *r,
                                 const struct kube_record *record);
/*
 * Handles the end of the watch; returns what the owner must do. The watch reopens on its own unless
 * the owner must list.
 */
struct watch_report watch_end(struct agent *a, struct kube_watch *w, const struct api_result *r);
/*
 * Sets the resource version, from a list or GET, from which the next watch continues; empty: no
 * version.
 */
void watch_from(struct kube_watch *w, struct view version);
/* Allows the watch to be opened now; has no effect while the watch is open. */
void watch_resume(const struct agent *a, struct kube_watch *w);
/* Prevents the watch from being opened before watch_resume. */
void watch_suspend(struct kube_watch *w);
/* Handles a lost connection: a usable watch is due as soon as the next connection is open. */
void watch_disconnected(const struct agent *a, struct kube_watch *w);
/* Ends the running watch, if any, because a GET of the object needs the watch's slot. */
void watch_stop(struct agent *a, struct kube_watch *w);

#endif
