/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the watch of this driver's slices, and handles its events and its end. */
#include "agent/publish/slice_watch.h"

#include "agent/frame.h"
#include "agent/publish/room.h"
#include "agent/report/log.h"
#include "base/assert.h"

/* --- opening the watch of slices --- */

void slice_watch_init(struct agent *a)
{
    struct slice_watch *w = &a->publish->watch;
    watch_init(&w->watch, API_SLOT_SLICE_WATCH, false);
    slice_observe_begin(&w->observer, &a->publish->wanted);
}

uint64_t slice_watch_deadline(const struct agent *a)
{
    return watch_deadline(a, &a->publish->watch.watch);
}

void slice_watch_step(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct kube_watch *watch = &a->publish->watch.watch;
    if (!watch_is_due(a, watch)) {
        return;
    }
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slices(&out, version_name(a), a->driver->name, a->settings->node_name,
                                     watch->version);
    ASSERT(s == STATUS_OK);
    const struct api_request request = {
        .kind = API_WATCH_SLICES,
        .shape = KUBE_SHAPE_SLICE_WATCH,
        .version = version_now(a),
        .head = {.method = "GET", .path = writer_view(&out), .watch = true}};
    watch_open(a, watch, &request, UINT64_MAX);
}

void slice_watch_from(struct agent *a, struct view resource_version)
{
    watch_from(&a->publish->watch.watch, resource_version);
}

void slice_watch_listed(struct agent *a, const struct api_result *list)
{
    struct slice_watch *w = &a->publish->watch;
    if (w->watch.version[0] == '\0' &&
        log_api_refusal(a, &w->refusal, "watch slices", list, PEER_MALFORMED)) {
        log_text(a, "cause", "the list has no resourceVersion");
        log_api_refusal_end(a, &w->refusal,
                            "see what answers for the API server; slices are listed "
                            "at the interval instead");
    }
}

void slice_watch_resume(struct agent *a)
{
    watch_resume(a, &a->publish->watch.watch);
}

void slice_watch_suspend(struct agent *a)
{
    watch_suspend(&a->publish->watch.watch);
}

void slice_watch_outdated(struct agent *a)
{
    slice_observe_outdated(&a->publish->watch.observer);
}

/* --- events of the watch of slices --- */

static struct watch_result finding_of(enum watch_finding finding)
{
    return (struct watch_result){.finding = finding, .wait_ms = 0};
}

/* Judges a stored slice: whether it is as wanted, differs from the wanted one, or is surplus. */
static struct watch_result judge_stored(struct plan *plan, const struct slice_part *part,
                                        const struct slice_seen *s)
{
    bool right = part != NULL && !s->deleting && plan_as_wanted(plan, part, s);
    plan_saw_generation(plan, s);
    if (right || (part == NULL && s->deleting)) {
        return finding_of(WATCH_FOUND_NOTHING);
    }
    return finding_of((part == NULL) ? WATCH_FOUND_DOUBLED : WATCH_FOUND_CHANGED);
}

/* Judges the slice of an event of the watch, once all of its records have arrived. */
static struct watch_result judge_event(struct agent *a, bool deleted)
{
    const struct slice_seen *s = &a->publish->watch.observer.seen;
    if (s->name[0] == '\0') {
        return finding_of(WATCH_FOUND_NOTHING);
    }
    const struct slice_part *part = plan_part_of(&a->publish->plan, s->name);
    if (deleted) {
        return finding_of((part != NULL) ? WATCH_FOUND_DELETED : WATCH_FOUND_UNKNOWN);
    }
    return (s->scope == SLICE_OURS) ? judge_stored(&a->publish->plan, part, s)
                                    : finding_of(WATCH_FOUND_NOTHING);
}

struct watch_result slice_watch_record(struct agent *a, const struct api_result *r,
                                       const struct kube_record *record)
{
    struct slice_watch *w = &a->publish->watch;
    struct watch_report report = watch_record(a, &w->watch, r, record);
    struct watch_result result = finding_of(WATCH_FOUND_NOTHING);
    if (report.kind == WATCH_NOTHING) {
        bool part = slice_observe(&w->observer, record);
        (void)part; /* ignore a record that is not part of a slice */
    } else if (report.kind == WATCH_EVENT_STARTS) {
        slice_observe_begin(&w->observer, w->observer.wanted);
    } else if (report.kind == WATCH_STORED || report.kind == WATCH_DELETED) {
        result = judge_event(a, report.kind == WATCH_DELETED);
    } else if (report.kind == WATCH_OUTDATED) {
        result = (struct watch_result){.finding = WATCH_LIST_FIRST, .wait_ms = report.wait_ms};
    }
    return result;
}

/* --- end of the watch of slices --- */

/*
 * Ends the log line about a failure of the watch; a transient failure causes no Kubernetes Event.
 */
static void log_retry(struct agent *a, const struct refusal *last, uint64_t wait_ms)
{
    log_number(a, "retry_ms", (int64_t)wait_ms);
    if (wait_ms < API_REFUSED_MS) {
        log_no_k8s_event(a);
    }
    log_api_refusal_end(a, last, NULL);
}

static void log_refused(struct agent *a, const struct api_result *r, uint64_t wait_ms)
{
    struct refusal *last = &a->publish->watch.refusal;
    if (log_api_refusal(a, last, "watch slices", r, r->status)) {
        log_retry(a, last, wait_ms);
    }
}

struct watch_result slice_watch_end(struct agent *a, const struct api_result *r)
{
    struct watch_report report = watch_end(a, &a->publish->watch.watch, r);
    struct watch_result result = {.finding = WATCH_FOUND_NOTHING, .wait_ms = report.wait_ms};
    if (report.kind == WATCH_REFUSED || report.kind == WATCH_BUSY) {
        /* the caller need do nothing: the periodic rounds replace the watch */
        log_refused(a, r, report.wait_ms);
    } else if (report.kind == WATCH_NO_ROOM) {
        /* after each round, the agent tries to open the watch again */
        result.finding = WATCH_LIST_INSTEAD;
    } else if (report.kind == WATCH_OUTDATED) {
        if (r->status == PEER_MALFORMED) {
            log_refused(a, r, report.wait_ms);
        }
        result.finding = WATCH_LIST_FIRST;
    } else {
        /* the watch reopens without any work of the caller */
    }
    return result;
}
