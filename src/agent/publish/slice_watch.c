/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of our slices: opening it, its events, its end. */
#include "agent/publish/slice_watch.h"

#include "agent/api/retry.h"
#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

/* --- opening --- */

void slice_watch_init(struct agent *a)
{
    struct slice_watch *w = &a->publish.watch;
    w->due_ms = UINT64_MAX;
    slice_observe_begin(&w->observer, &a->publish.wanted);
}

uint64_t slice_watch_deadline(const struct agent *a)
{
    const struct slice_watch *w = &a->publish.watch;
    bool possible = !api_slot_busy(a, API_SLOT_SLICE_WATCH) && w->resource_version[0] != '\0';
    return possible ? w->due_ms : UINT64_MAX;
}

void slice_watch_step(struct agent *a)
{
    char path[KUBE_PATH_CAP];
    struct slice_watch *w = &a->publish.watch;
    if (a->now_ms < slice_watch_deadline(a)) {
        return;
    }
    struct writer out = writer_of(path, sizeof path);
    enum status s = kube_path_slices(&out, version_name(a), DRIVER_NAME, a->settings->node_name,
                                     w->resource_version);
    ASSERT(s == STATUS_OK);
    const struct api_request request = {
        .kind = API_WATCH_SLICES,
        .shape = KUBE_SHAPE_SLICE_WATCH,
        .version = version_now(a),
        .head = {.method = "GET", .path = writer_view(&out), .watch = true}};
    s = api_start(a, API_SLOT_SLICE_WATCH, &request);
    w->due_ms = (s == STATUS_OK) ? UINT64_MAX : api_later(a);
}

void slice_watch_from(struct agent *a, struct view resource_version)
{
    struct slice_watch *w = &a->publish.watch;
    text_cut(w->resource_version, sizeof w->resource_version, resource_version);
}

void slice_watch_listed(struct agent *a, const struct api_result *list)
{
    struct slice_watch *w = &a->publish.watch;
    if (w->resource_version[0] == '\0' &&
        log_api_refusal(a, &w->refusal, "watch slices", list, PEER_MALFORMED)) {
        log_text(a, "cause", "the list has no resourceVersion");
        log_api_refusal_end(a, &w->refusal,
                            "see what answers for the API server; slices are listed "
                            "at the interval instead");
    }
}

void slice_watch_resume(struct agent *a)
{
    if (!api_slot_busy(a, API_SLOT_SLICE_WATCH)) {
        a->publish.watch.due_ms = a->now_ms;
    }
}

void slice_watch_suspend(struct agent *a)
{
    a->publish.watch.due_ms = UINT64_MAX;
}

void slice_watch_outdated(struct agent *a)
{
    slice_observe_outdated(&a->publish.watch.observer);
}

/* --- events --- */

static struct watch_result found(enum watch_finding finding)
{
    return (struct watch_result){.finding = finding, .wait_ms = 0};
}

static struct watch_result list_first(struct slice_watch *w, uint64_t wait_ms)
{
    w->due_ms = UINT64_MAX;
    return (struct watch_result){.finding = WATCH_LIST_FIRST, .wait_ms = wait_ms};
}

static void event_begin(struct slice_watch *w, struct view message)
{
    projection_WatchTypeRecord t = projection_WatchTypeRecord_init_zero;
    bool ok = decode(message, projection_WatchTypeRecord_fields, &t);
    text_cut(w->type, sizeof w->type, view_text(ok ? t.type : ""));
    slice_observe_begin(&w->observer, w->observer.wanted);
}

/* A stored slice of ours: whether it is as wanted, or one too many. */
static struct watch_result judge_stored(struct plan *plan, const struct slice_part *part,
                                        const struct slice_seen *s)
{
    bool right = part != NULL && !s->deleting && plan_as_wanted(plan, part, s);
    plan_saw_generation(plan, s);
    if (right || (part == NULL && s->deleting)) {
        return found(WATCH_FOUND_NOTHING);
    }
    return found((part == NULL) ? WATCH_FOUND_DOUBLED : WATCH_FOUND_CHANGED);
}

static struct watch_result judge(struct agent *a)
{
    const struct slice_watch *w = &a->publish.watch;
    const struct slice_seen *s = &w->observer.seen;
    struct view type = view_text(w->type);
    if (view_is(type, "BOOKMARK") || s->name[0] == '\0') {
        return found(WATCH_FOUND_NOTHING);
    }
    const struct slice_part *part = plan_part_of(&a->publish.plan, s->name);
    if (view_is(type, "DELETED")) {
        return found((part != NULL) ? WATCH_FOUND_DELETED : WATCH_FOUND_UNKNOWN);
    }
    return (s->scope == SLICE_OURS) ? judge_stored(&a->publish.plan, part, s)
                                    : found(WATCH_FOUND_NOTHING);
}

static struct watch_result event_end(struct agent *a)
{
    const struct slice_seen *s = &a->publish.watch.observer.seen;
    if (s->resource_version[0] != '\0') {
        slice_watch_from(a, view_text(s->resource_version));
    }
    return judge(a);
}

/* An ERROR event: the version is too old, or the server gave up. Its end is not waited for. */
static struct watch_result event_error(struct agent *a, const struct api_result *r)
{
    struct slice_watch *w = &a->publish.watch;
    uint64_t wait = retry_watch_wait(a, r, &w->backoff_ms);
    api_cancel(a, API_SLOT_SLICE_WATCH);
    return list_first(w, wait);
}

struct watch_result slice_watch_record(struct agent *a, const struct api_result *r,
                                       const struct kube_record *record)
{
    struct slice_watch *w = &a->publish.watch;
    struct watch_result result = found(WATCH_FOUND_NOTHING);
    if (slice_observe(&w->observer, record)) {
        return result;
    }
    if (record->record == KUBE_WATCH_EVENT) {
        event_begin(w, record->message);
    } else if (record->record == KUBE_OBJECT_END) {
        result = event_end(a);
    } else if (record->record == KUBE_STATUS && r->http == HTTP_OK) {
        result = event_error(a, r);
    }
    return result;
}

/* --- the end --- */

/* Ends the line of a failure; what passes by itself is for the log alone. */
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
    struct refusal *last = &a->publish.watch.refusal;
    if (log_api_refusal(a, last, "watch slices", r, r->status)) {
        log_retry(a, last, wait_ms);
    }
}

struct watch_result slice_watch_end(struct agent *a, const struct api_result *r)
{
    struct slice_watch *w = &a->publish.watch;
    uint64_t wait = retry_watch_wait(a, r, &w->backoff_ms);
    w->due_ms = a->now_ms + wait;
    if (r->status == FULL_TABLE) {
        w->due_ms = UINT64_MAX; /* the end of each round tries again */
        return (struct watch_result){.finding = WATCH_LIST_INSTEAD, .wait_ms = wait};
    }
    if (r->http > HTTP_OK_LAST && r->http != HTTP_GONE) {
        log_refused(a, r, wait); /* the rounds of the interval go on without a watch */
        return found(WATCH_FOUND_NOTHING);
    }
    if (r->http != HTTP_GONE && retry_watch_goes_on(r)) {
        return found(WATCH_FOUND_NOTHING);
    }
    if (r->status == PEER_MALFORMED) {
        log_refused(a, r, wait);
    }
    return list_first(w, wait);
}
