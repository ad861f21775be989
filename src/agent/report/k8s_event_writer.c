/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends Kubernetes Events to the API server: makes each request and its body, and limits how often
 * requests are sent. k8s_events.c decides what an Event contains.
 *
 * A body is encoded again for each piece that is sent. So that the pieces fit together, all of them
 * have the count and the time of the last occurrence as of the start of the request. If the Node's
 * UID or the version of resource.k8s.io changes meanwhile, the request starts again. Sources:
 * events.k8s.io/v1 and its validation (an update may change the series, but none of the other
 * fields that this file writes).
 */
#include "agent/report/k8s_event_writer.h"

#include "agent/api/version.h"
#include "agent/frame.h"
#include "agent/report/refusal.h"
#include "agent/report/room.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "base/time.h"

/* The namespace in which kubectl looks for Events of cluster-scoped objects. */
#define NODE_NAMESPACE "default"
#define SERIAL_DIGITS 16u

static bool about_claim(const struct k8s_event *e)
{
    return e->about.name[0] != '\0';
}

static const char *namespace_of(const struct k8s_event *e)
{
    return about_claim(e) ? e->about.namespace_ : NODE_NAMESPACE;
}

static const char *regarded_name(const struct agent *a, const struct k8s_event *e)
{
    return about_claim(e) ? e->about.name : a->settings->node_name;
}

/*
 * Writes the name of an Event: the regarded object's name, a dot and the random number
 * k8s_event.serial. If the object's name is truncated, it must not end in a separator.
 */
static void write_name(const struct agent *a, const struct k8s_event *e, char out[NAME_CAP])
{
    struct writer text = writer_of(out, NAME_CAP);
    struct view name = view_first(view_text(regarded_name(a, e)), NAME_CAP - 2u - SERIAL_DIGITS);
    while (name.len > 1u && (name.data[name.len - 1u] == '.' || name.data[name.len - 1u] == '-')) {
        name.len--;
    }
    WRITE(&text, "%.", VIEW(name));
    writer_hex(&text, e->serial, SERIAL_DIGITS);
    writer_close_text(&text);
}

/* --- bodies of requests that send an Event --- */

static void set_regarding(const struct agent *a, const struct k8s_event *e, struct kube_event *out)
{
    out->regarding_name = regarded_name(a, e);
    if (about_claim(e)) {
        out->kind = "ResourceClaim";
        out->api_version = version_group(version_now(a));
        out->regarding_ns = e->about.namespace_;
        out->regarding_uid = e->about.uid;
        return;
    }
    out->kind = "Node";
    out->api_version = "v1";
    out->regarding_ns = "";
    /*
     * While the Node's UID is unknown, regarding.uid has the Node's name, as in Events of the
     * kubelet; kubectl describe finds Events with either value.
     */
    const char *uid = a->report->k8s_event_writer.node_uid;
    out->regarding_uid = (uid[0] != '\0') ? uid : out->regarding_name;
}

static void write_event(struct agent *a, const struct k8s_event *e, struct writer *out)
{
    const struct k8s_event_reason *reason = k8s_event_reason(e);
    char name[NAME_CAP];
    char instance[129]; /* reportingInstance has at most 128 bytes (events.k8s.io/v1) */
    struct writer raw = writer_of(a->scratch.record, sizeof a->scratch.record);
    struct kube_event object = {.name = name,
                                .ns = namespace_of(e),
                                .first_wall_ms = e->first_wall_ms,
                                .last_wall_ms = a->report->k8s_event_writer.last_wall_ms,
                                .count = a->report->k8s_event_writer.count,
                                .instance = instance,
                                .action = reason->action,
                                .reason = reason->reason,
                                .note = e->note,
                                .warning = reason->warning};
    write_name(a, e, name);
    text_cut(instance, sizeof instance, view_text(a->settings->node_name));
    set_regarding(a, e, &object);
    kube_event_write(&raw, &object);
    kube_envelope_head(out, KUBE_EVENTS_VERSION, "Event", raw.len);
    writer_append(out, writer_view(&raw));
    ASSERT(!raw.full);
}

/*
 * Writes the new series of an Event as a JSON merge patch (RFC 7386), which leaves all other fields
 * unchanged.
 */
static void write_series(const struct k8s_event_writer *w, struct writer *out)
{
    WRITE(out, "{\"series\":{\"count\":%,\"lastObservedTime\":\"", NUMBER(w->count));
    writer_time(out, w->last_wall_ms, "000Z\"}}");
}

static struct view body_of(struct agent *a)
{
    const struct k8s_event *e = &a->report->k8s_events.event[a->report->k8s_event_writer.at];
    struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
    if (e->state == K8S_EVENT_NEW) {
        write_event(a, e, &out);
    } else {
        write_series(&a->report->k8s_event_writer, &out);
    }
    ASSERT(!out.full && out.len > 0u);
    return writer_view(&out);
}

/* --- which Event is sent next, and when --- */

/* When the Event is due to be sent; UINT64_MAX: the API server already has its current count. */
static uint64_t due_ms_of(const struct agent *a, const struct k8s_event *e)
{
    if (!k8s_event_pending(e)) {
        return UINT64_MAX;
    }
    if (e->state == K8S_EVENT_STORED) {
        return e->sent_ms + K8S_EVENT_SERIES_MS;
    }
    bool uid_missing = !about_claim(e) && a->report->k8s_event_writer.node_uid[0] == '\0';
    return e->first_ms + (uid_missing ? K8S_EVENT_UID_MS : 0u);
}

/* Index of the Event in the queue that is due first. */
static unsigned first_due(const struct agent *a)
{
    unsigned best = 0;
    uint64_t best_ms = due_ms_of(a, &a->report->k8s_events.event[best]);
    for (unsigned i = 1; i < K8S_EVENTS_MAX; i++) {
        uint64_t due_ms = due_ms_of(a, &a->report->k8s_events.event[i]);
        if (due_ms < best_ms) {
            best = i;
            best_ms = due_ms;
        }
    }
    return best;
}

/* Time from which the token bucket has a token for a request; this time may be in the past. */
static uint64_t token_ms(const struct k8s_event_writer *w)
{
    const uint64_t spare = UINT64_C(1) * (K8S_EVENT_BURST - 1u) * K8S_EVENT_REFILL_MS;
    return (w->bucket_ms > spare) ? w->bucket_ms - spare : 0u;
}

static void spend_token(struct agent *a)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    w->bucket_ms = ((w->bucket_ms > a->now_ms) ? w->bucket_ms : a->now_ms) + K8S_EVENT_REFILL_MS;
}

static struct view body_part(struct agent *a, uint32_t offset, size_t room)
{
    return outgoing_piece(&a->report->k8s_event_writer.out, body_of(a), offset, room);
}

static void start_request(struct agent *a, unsigned at)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    const struct k8s_event *e = &a->report->k8s_events.event[at];
    char path[KUBE_PATH_CAP];
    char name[NAME_CAP];
    struct writer out = writer_of(path, sizeof path);
    bool post = e->state == K8S_EVENT_NEW;
    w->at = at;
    w->count = e->count;
    w->last_wall_ms = e->last_wall_ms;
    write_name(a, e, name);
    enum status s = kube_path_event(&out, namespace_of(e), post ? NULL : name);
    ASSERT(s == STATUS_OK);
    const struct api_request request = {.kind = API_WRITE_EVENT,
                                        .shape = KUBE_SHAPE_STATUS,
                                        .head = {.method = post ? "POST" : "PATCH",
                                                 .path = writer_view(&out),
                                                 .body_len = body_of(a).len,
                                                 .body_type = post ? NULL : KUBE_MERGE_PATCH},
                                        .body = body_part};
    if (outgoing_start(a, &w->out, API_SLOT_K8S_EVENT, &request)) {
        spend_token(a);
    }
}

static void log_dropped(struct agent *a)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    if (a->report->k8s_events.dropped == 0u || a->now_ms < w->dropped_ms) {
        return;
    }
    uint64_t dropped = k8s_events_new_drops(a);
    w->dropped_ms = a->now_ms + K8S_EVENTS_DROPPED_MS;
    log_begin(a, LOG_ID_K8S_EVENTS_DROPPED);
    log_number(a, "count", (int64_t)dropped);
    log_end(a);
    /* log_begin has already counted one of the Events that were dropped */
    log_count(a, LOG_ID_K8S_EVENTS_DROPPED, dropped - 1u);
}

void k8s_event_writer_step(struct agent *a)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    log_dropped(a);
    unsigned at = first_due(a);
    bool due =
        due_ms_of(a, &a->report->k8s_events.event[at]) <= a->now_ms && token_ms(w) <= a->now_ms;
    if (due && outgoing_ready(a, &w->out)) {
        start_request(a, at);
    }
}

uint64_t k8s_event_writer_deadline(const struct agent *a)
{
    const struct k8s_event_writer *w = &a->report->k8s_event_writer;
    uint64_t due = due_ms_of(a, &a->report->k8s_events.event[first_due(a)]);
    due = later(later(due, token_ms(w)), outgoing_deadline(a, &w->out));
    bool logs = a->report->k8s_events.dropped > 0u && w->dropped_ms < due;
    return logs ? w->dropped_ms : due;
}

/* --- results of requests that sent an Event --- */

/*
 * Handles three responses: 404, 409, and that the namespace is being terminated.
 * - After any of them for an Event that was stored: the server no longer has the Event, so it is
 *   created again.
 * - After a 409 for a new Event: the Event counts as sent, because an earlier POST whose response
 *   was lost has stored it.
 * - After one of the other responses for a new Event: the Event is removed from the queue.
 */
static void handle_ignored(struct agent *a, const struct k8s_event *e,
                           const struct api_result *result)
{
    const struct k8s_event_writer *w = &a->report->k8s_event_writer;
    if (e->state == K8S_EVENT_STORED) {
        k8s_event_lost(a, w->at);
    } else if (result->http == HTTP_CONFLICT) {
        k8s_event_sent(a, w->at, w->count);
    } else {
        k8s_event_remove(a, w->at);
    }
}

static void drop_all_of(struct agent *a, uint32_t namespace_sum)
{
    for (unsigned i = 0; i < K8S_EVENTS_MAX; i++) {
        const struct k8s_event *e = &a->report->k8s_events.event[i];
        if (k8s_event_pending(e) && crc32c(0, view_text(namespace_of(e))) == namespace_sum) {
            k8s_event_drop(a, i);
        }
    }
}

/*
 * Handles a 403, and the response that the server does not serve events.k8s.io/v1. denied_sum is
 * the checksum of the namespace of the first such response since the last success.
 * - After a 403 for that namespace: drops the Events of the namespace; the other Events continue
 *   after K8S_EVENT_REFILL_MS.
 * - After any other of these responses: all Events wait for the pause that outgoing_end began.
 */
static void handle_denied(struct agent *a, const struct api_result *result)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    uint32_t sum = crc32c(0, view_text(namespace_of(&a->report->k8s_events.event[w->at])));
    w->denied_sum = (w->denied_sum == 0u) ? sum : w->denied_sum;
    /*
     * Send the other Events first, because the server may forbid only this Event, for example
     * because of its namespace.
     */
    k8s_event_postpone(a, w->at);
    if (w->denied_sum == sum && result->http == HTTP_FORBIDDEN) {
        w->out.due_ms = a->now_ms + K8S_EVENT_REFILL_MS;
        drop_all_of(a, sum);
    }
}

void k8s_event_writer_end(struct agent *a, const struct api_result *result)
{
    struct k8s_event_writer *w = &a->report->k8s_event_writer;
    const struct k8s_event *e = &a->report->k8s_events.event[w->at];
    ASSERT(e->state != K8S_EVENT_FREE && w->count <= e->count);
    enum outcome outcome = outgoing_end(a, &w->out, result);
    switch (outcome) {
    case OUTCOME_DONE:
        w->refused_http = 0;
        w->denied_sum = 0;
        k8s_event_sent(a, w->at, w->count);
        break;
    case OUTCOME_IGNORED:
        handle_ignored(a, e, result);
        break;
    case OUTCOME_REJECTED:
        log_write_refusal(a, &w->refused_http, LOG_ID_K8S_EVENTS_REFUSED, NULL, result);
        k8s_event_remove(a, w->at);
        break;
    case OUTCOME_DENIED:
        log_write_refusal(a, &w->refused_http, LOG_ID_K8S_EVENTS_REFUSED, NULL, result);
        handle_denied(a, result);
        break;
    case OUTCOME_LATER:
        k8s_event_postpone(a, w->at);
        break;
    case OUTCOME_CHANGED:
        break;
    }
}

void k8s_event_writer_node(struct agent *a, const char *uid)
{
    text_set(a->report->k8s_event_writer.node_uid, UID_CAP, uid);
}
