/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one Kubernetes watch, see watch.h. */
#include "agent/api/watch.h"

#include "agent/api/backoff.h"
#include "agent/api/retry.h"
#include "agent/frame.h"
#include "base/assert.h"
#include "generated/projection.pb.h"
#include "wire/decode.h"

static struct watch_report report_of(enum watch_report_kind kind)
{
    return (struct watch_report){.kind = kind, .wait_ms = 0, .first = false};
}

/* --- opening a watch --- */

void watch_init(struct kube_watch *w, unsigned slot, bool reports_state)
{
    w->slot = slot;
    w->reports_state = reports_state;
    w->due_ms = reports_state ? 0u : UINT64_MAX;
    w->silent_ms = UINT64_MAX;
}

/*
 * When to open the watch if its slot is free; UINT64_MAX: the owner of the watch must list first.
 */
static uint64_t open_ms(const struct kube_watch *w)
{
    return (w->reports_state || w->version[0] != '\0') ? w->due_ms : UINT64_MAX;
}

bool watch_is_due(const struct agent *a, const struct kube_watch *w)
{
    return !api_slot_busy(a, w->slot) && a->now_ms >= open_ms(w);
}

uint64_t watch_deadline(const struct agent *a, const struct kube_watch *w)
{
    return api_slot_busy(a, w->slot) ? w->silent_ms : open_ms(w);
}

void watch_open(struct agent *a, struct kube_watch *w, const struct api_request *r,
                uint64_t silent_ms)
{
    ASSERT(watch_is_due(a, w));
    w->silent_ms = UINT64_MAX;
    w->report_ms = 0;
    if (api_start(a, w->slot, r) != STATUS_OK) {
        w->due_ms = api_later(a);
        return;
    }
    bool state_first = w->reports_state && w->version[0] == '\0';
    if (state_first && silent_ms != UINT64_MAX) {
        w->silent_ms = a->now_ms + API_REQUEST_MS;
        w->report_ms = silent_ms;
    }
    w->due_ms = w->reports_state ? a->now_ms : UINT64_MAX;
}

void watch_from(struct kube_watch *w, struct view version)
{
    text_cut(w->version, sizeof w->version, version);
}

void watch_resume(const struct agent *a, struct kube_watch *w)
{
    if (!api_slot_busy(a, w->slot)) {
        w->due_ms = a->now_ms;
    }
}

void watch_suspend(struct kube_watch *w)
{
    w->due_ms = UINT64_MAX;
}

void watch_disconnected(const struct agent *a, struct kube_watch *w)
{
    if (!w->unusable && w->due_ms > a->now_ms) {
        /* the watch needs no wait of its own: the agent already waits before it connects again */
        w->due_ms = a->now_ms;
        w->backoff_ms = 0;
    }
}

void watch_stop(struct agent *a, struct kube_watch *w)
{
    w->silent_ms = UINT64_MAX;
    api_cancel(a, w->slot);
}

/* --- whether a watch without a version has reported the initial state --- */

static struct watch_report give_up(struct kube_watch *w, enum watch_report_kind kind,
                                   uint64_t wait_ms)
{
    bool first = !w->unusable;
    w->unusable = true;
    w->silent_ms = UINT64_MAX;
    return (struct watch_report){.kind = kind, .wait_ms = wait_ms, .first = first};
}

struct watch_report watch_check(struct agent *a, struct kube_watch *w)
{
    bool begun = api_slot_busy(a, w->slot) && http_is_success(api_slot_result(a, w->slot)->http);
    if (begun) {
        w->unusable = w->unusable && w->mute;
    }
    if (begun && w->report_ms > 0u && w->silent_ms != UINT64_MAX) {
        w->silent_ms = a->now_ms + w->report_ms;
        w->report_ms = 0;
    }
    if (a->now_ms < w->silent_ms) {
        return report_of(WATCH_NOTHING);
    }
    w->mute = begun;
    return give_up(w, WATCH_SILENT, 0);
}

/* --- end of a watch --- */

/*
 * Handles a watch that cannot continue from its resource version. A watch with `reports_state`
 * restarts without a version; for any other watch the owner must list the objects first.
 */
static struct watch_report restart_watch(const struct agent *a, struct kube_watch *w,
                                         uint64_t wait_ms)
{
    if (!w->reports_state) {
        w->due_ms = UINT64_MAX;
        return (struct watch_report){.kind = WATCH_OUTDATED, .wait_ms = wait_ms};
    }
    w->version[0] = '\0';
    w->due_ms = a->now_ms + wait_ms;
    return report_of(WATCH_NOTHING);
}

/* Whether the server refused the watch; 410 only means that the version is outdated. */
static bool is_refused(const struct api_result *r)
{
    return r->http > HTTP_OK_LAST && r->http != HTTP_GONE;
}

/*
 * Whether the watch is only reopened after a refusal. The owner need not read the object meanwhile:
 * that would be one more request to a busy server, and a server that has not read its roles refuses
 * it too.
 */
static bool is_tried_again(const struct kube_watch *w, const struct api_result *r)
{
    return r->roles_unread || (retry_is_busy(r) && w->backoff_ms < WATCH_BUSY_MS);
}

/* What the owner must do at the end of a watch that was not silent (unless_silent). */
static struct watch_report report_end(const struct agent *a, struct kube_watch *w,
                                      const struct api_result *r, uint64_t wait_ms)
{
    w->due_ms = a->now_ms + wait_ms;
    if (is_refused(r)) {
        if (is_tried_again(w, r)) {
            return (struct watch_report){.kind = WATCH_BUSY, .wait_ms = wait_ms};
        }
        if (w->reports_state && !retry_is_busy(r)) {
            w->version[0] = '\0';
        }
        return give_up(w, WATCH_REFUSED, wait_ms);
    }
    if (r->status == FULL_TABLE && !w->reports_state) {
        w->due_ms = UINT64_MAX;
        return give_up(w, WATCH_NO_ROOM, wait_ms);
    }
    if (r->http == HTTP_GONE || !retry_watch_goes_on(r)) {
        return restart_watch(a, w, wait_ms);
    }
    return report_of(WATCH_NOTHING);
}

/*
 * Returns `report`, except in this case: the connection works and the server is not busy, but the
 * watch has not reported the initial state. The result is then WATCH_SILENT.
 */
static struct watch_report unless_silent(const struct agent *a, struct kube_watch *w,
                                         const struct api_result *r, struct watch_report report,
                                         uint64_t wait_ms)
{
    bool silent = w->silent_ms != UINT64_MAX && report.kind != WATCH_BUSY && api_ready(a);
    w->silent_ms = UINT64_MAX;
    if (!silent) {
        return report;
    }
    w->mute = http_is_success(r->http);
    return give_up(w, WATCH_SILENT, wait_ms);
}

/*
 * Wait before the watch is reopened. After a refusal it is longer, because the owner reads
 * meanwhile, but not if the server is only busy.
 */
static uint64_t wait_after(struct agent *a, struct kube_watch *w, const struct api_result *r)
{
    if (is_refused(r) && !retry_is_busy(r) && w->reports_state) {
        return agent_backoff_within(a, &w->backoff_ms, API_REFUSED_MS, REFUSED_MAX_MS);
    }
    return retry_watch_wait(a, r, &w->backoff_ms);
}

struct watch_report watch_end(struct agent *a, struct kube_watch *w, const struct api_result *r)
{
    uint64_t wait_ms = wait_after(a, w, r);
    struct watch_report report = report_end(a, w, r, wait_ms);
    return unless_silent(a, w, r, report, wait_ms);
}

/* --- events of a watch --- */

static void event_starts(struct kube_watch *w, struct view message)
{
    projection_WatchTypeRecord t = projection_WatchTypeRecord_init_zero;
    bool ok = decode(message, projection_WatchTypeRecord_fields, &t);
    struct view type = view_text(ok ? t.type : "");
    if (view_is(type, "DELETED")) {
        w->type = WATCH_TYPE_DELETED;
    } else if (view_is(type, "BOOKMARK")) {
        w->type = WATCH_TYPE_BOOKMARK;
    } else {
        w->type = WATCH_TYPE_CHANGE;
    }
    w->next_version[0] = '\0';
}

static void event_version(struct kube_watch *w, const struct kube_record *record)
{
    projection_MetaRecord m = projection_MetaRecord_init_zero;
    w->next_version[0] = '\0';
    if (!record->truncated && decode(record->message, projection_MetaRecord_fields, &m)) {
        text_cut(w->next_version, sizeof w->next_version, view_text(m.resource_version));
    }
}

static struct watch_report event_ends(struct kube_watch *w)
{
    static const enum watch_report_kind kinds[WATCH_TYPES] = {[WATCH_TYPE_CHANGE] = WATCH_STORED,
                                                              [WATCH_TYPE_DELETED] = WATCH_DELETED,
                                                              [WATCH_TYPE_BOOKMARK] =
                                                                  WATCH_BOOKMARK};
    w->silent_ms = UINT64_MAX;
    w->unusable = false;
    w->mute = false;
    if (w->next_version[0] != '\0') {
        memcpy(w->version, w->next_version, sizeof w->version);
    }
    return report_of(kinds[w->type]);
}

/*
 * Handles an event of type ERROR: ends the watch at once, without waiting for the server to end it.
 */
static struct watch_report error_event(struct agent *a, struct kube_watch *w,
                                       const struct api_result *r)
{
    uint64_t wait_ms = retry_watch_wait(a, r, &w->backoff_ms);
    struct watch_report report = restart_watch(a, w, wait_ms);
    report = unless_silent(a, w, r, report, wait_ms);
    api_cancel(a, w->slot);
    return report;
}

struct watch_report watch_record(struct agent *a, struct kube_watch *w, const struct api_result *r,
                                 const struct kube_record *record)
{
    switch (record->record) {
    case KUBE_WATCH_EVENT:
        event_starts(w, record->message);
        return report_of(WATCH_EVENT_STARTS);
    case KUBE_META:
        event_version(w, record);
        break;
    case KUBE_OBJECT_END:
        return event_ends(w);
    case KUBE_STATUS:
        if (r->http <= HTTP_OK_LAST) {
            return error_event(a, w, r);
        }
        break;
    default:
        break; /* a record of the watched object, which the watch's owner decodes itself */
    }
    return report_of(WATCH_NOTHING);
}
