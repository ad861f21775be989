/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posts and updates Kubernetes Events, see recorder.h. Owns the request, its body and its pace;
 * what an Event says is event_notes.c's.
 *
 * A body is encoded anew for each piece of it that is sent: count and time are those of the moment
 * at which the request began, so that a piece fits the one before. When the Node's UID or the
 * version of resource.k8s.io changes in between, the request begins anew. Sources: events.k8s.io/v1
 * and its validation (an update may change the series and nothing else of what is shown).
 */
#include "agent/report/recorder.h"

#include "agent/report/refusal.h"
#include "agent/state.h"
#include "base/assert.h"
#include "base/crc32c.h"
#include "base/time.h"
#include "cfg/identity.h"

/* Where kubectl looks for Events of objects without a namespace. */
#define NODE_NAMESPACE "default"
#define SERIAL_DIGITS 16u

static bool about_claim(const struct note *n)
{
    return n->about.name[0] != '\0';
}

static const char *namespace_of(const struct note *n)
{
    return about_claim(n) ? n->about.namespace_ : NODE_NAMESPACE;
}

static const char *regarded_name(const struct agent *a, const struct note *n)
{
    return about_claim(n) ? n->about.name : a->settings->node_name;
}

/* The regarded object's name, a dot and the serial; a name that was cut ends in no separator. */
static void write_name(const struct agent *a, const struct note *n, char out[NAME_CAP])
{
    struct writer w = writer_of(out, NAME_CAP);
    struct view name = view_first(view_text(regarded_name(a, n)), NAME_CAP - 2u - SERIAL_DIGITS);
    while (name.len > 1u && (name.data[name.len - 1u] == '.' || name.data[name.len - 1u] == '-')) {
        name.len--;
    }
    writer_append(&w, name);
    writer_u8(&w, '.');
    writer_hex(&w, n->serial, SERIAL_DIGITS);
    enum status s = writer_end_text(&w);
    ASSERT(s == STATUS_OK);
}

/* --- bodies --- */

static void set_regarding(const struct agent *a, const struct note *n, struct kube_event *e)
{
    e->regarding_name = regarded_name(a, n);
    if (about_claim(n)) {
        e->kind = "ResourceClaim";
        e->api_version = version_group(version_now(a));
        e->regarding_ns = n->about.namespace_;
        e->regarding_uid = n->about.uid;
        return;
    }
    e->kind = "Node";
    e->api_version = "v1";
    e->regarding_ns = "";
    /* kubectl describe looks for the name in the place of the UID too: the kubelet writes so. */
    e->regarding_uid = (a->node.facts.uid[0] != '\0') ? a->node.facts.uid : e->regarding_name;
}

static void write_event(struct agent *a, const struct note *n, struct writer *out)
{
    const struct event_reason *reason = note_reason(n);
    char name[NAME_CAP];
    char instance[129]; /* validation of events.k8s.io/v1: 128 bytes */
    struct writer raw = writer_of(a->scratch.record, sizeof a->scratch.record);
    struct kube_event e = {.name = name,
                           .ns = namespace_of(n),
                           .first_wall_ms = n->first_wall_ms,
                           .last_wall_ms = a->recorder.told_wall_ms,
                           .count = a->recorder.telling,
                           .instance = instance,
                           .action = reason->action,
                           .reason = reason->reason,
                           .note = n->text,
                           .warning = reason->warning};
    write_name(a, n, name);
    text_cut(instance, sizeof instance, view_text(a->settings->node_name));
    set_regarding(a, n, &e);
    kube_event_write(&raw, &e);
    kube_envelope_head(out, KUBE_EVENTS_VERSION, "Event", raw.len);
    writer_append(out, writer_view(&raw));
    ASSERT(!raw.full);
}

/* RFC 7386: what is not named stays. */
static void write_series(const struct recorder *r, struct writer *out)
{
    writer_text(out, "{\"series\":{\"count\":");
    writer_decimal(out, r->telling);
    writer_text(out, ",\"lastObservedTime\":\"");
    writer_time(out, r->told_wall_ms, "000Z\"}}");
}

static struct view body_of(struct agent *a)
{
    const struct note *n = &a->notes.note[a->recorder.at];
    struct writer out = writer_of(a->scratch.body, sizeof a->scratch.body);
    if (n->state == NOTE_NEW) {
        write_event(a, n, &out);
    } else {
        write_series(&a->recorder, &out);
    }
    ASSERT(!out.full && out.len > 0u);
    return writer_view(&out);
}

/* --- what is told next, and when --- */

/* When the API server is to hear of a note; UINT64_MAX: it knows all. */
static uint64_t note_due(const struct agent *a, const struct note *n)
{
    if (!note_untold(n)) {
        return UINT64_MAX;
    }
    if (n->state == NOTE_STORED) {
        return n->told_ms + NOTE_SERIES_MS;
    }
    bool uid_missing = !about_claim(n) && a->node.facts.uid[0] == '\0';
    return n->first_ms + (uid_missing ? NOTE_UID_MS : 0u);
}

/* The note that is due first. */
static unsigned first_due(const struct agent *a)
{
    unsigned best = 0;
    uint64_t best_ms = note_due(a, &a->notes.note[best]);
    for (unsigned i = 1; i < NOTES_MAX; i++) {
        uint64_t due_ms = note_due(a, &a->notes.note[i]);
        if (due_ms < best_ms) {
            best = i;
            best_ms = due_ms;
        }
    }
    return best;
}

/* When the bucket holds a token. */
static uint64_t token_ms(const struct recorder *r)
{
    const uint64_t spare = UINT64_C(1) * (NOTE_BURST - 1u) * NOTE_REFILL_MS;
    return (r->bucket_ms > spare) ? r->bucket_ms - spare : 0u;
}

static void take_token(struct agent *a)
{
    struct recorder *r = &a->recorder;
    r->bucket_ms = ((r->bucket_ms > a->now_ms) ? r->bucket_ms : a->now_ms) + NOTE_REFILL_MS;
}

static struct view body_part(struct agent *a, uint32_t offset, size_t room)
{
    return outgoing_piece(&a->recorder.out, body_of(a), offset, room);
}

static void begin(struct agent *a, unsigned at)
{
    struct recorder *r = &a->recorder;
    const struct note *n = &a->notes.note[at];
    char path[KUBE_PATH_CAP];
    char name[NAME_CAP];
    struct writer out = writer_of(path, sizeof path);
    bool post = n->state == NOTE_NEW;
    r->at = at;
    r->telling = n->count;
    r->told_wall_ms = n->last_wall_ms;
    write_name(a, n, name);
    enum status s = kube_path_event(&out, namespace_of(n), post ? NULL : name);
    ASSERT(s == STATUS_OK);
    const struct api_request request = {.kind = API_WRITE_EVENT,
                                        .shape = KUBE_SHAPE_STATUS,
                                        .head = {.method = post ? "POST" : "PATCH",
                                                 .path = writer_view(&out),
                                                 .body_len = body_of(a).len,
                                                 .body_type = post ? NULL : KUBE_MERGE_PATCH},
                                        .body = body_part};
    if (outgoing_start(a, &r->out, API_SLOT_K8S_EVENT, &request)) {
        take_token(a);
    }
}

static void say_dropped(struct agent *a)
{
    uint64_t *dropped = &a->notes.dropped;
    if (*dropped == 0u || a->now_ms < a->recorder.dropped_ms) {
        return;
    }
    a->recorder.dropped_ms = a->now_ms + NOTE_DROPPED_MS;
    log_begin(a, LOG_ID_K8S_EVENTS_DROPPED);
    log_number(a, "count", (int64_t)*dropped);
    log_end(a);
    log_count(a, LOG_ID_K8S_EVENTS_DROPPED, *dropped - 1u); /* the line itself counts one */
    *dropped = 0;
}

void recorder_step(struct agent *a)
{
    struct recorder *r = &a->recorder;
    say_dropped(a);
    unsigned at = first_due(a);
    bool due = note_due(a, &a->notes.note[at]) <= a->now_ms && token_ms(r) <= a->now_ms;
    if (due && outgoing_ready(a, &r->out)) {
        begin(a, at);
    }
}

uint64_t recorder_deadline(const struct agent *a)
{
    const struct recorder *r = &a->recorder;
    uint64_t due = note_due(a, &a->notes.note[first_due(a)]);
    due = later(later(due, token_ms(r)), outgoing_deadline(a, &r->out));
    bool says = a->notes.dropped > 0u && r->dropped_ms < due;
    return says ? r->dropped_ms : due;
}

/* --- answers --- */

/* No such Event any more: it is told anew, or, for what cannot be there, not at all. */
static void ignored(struct agent *a, struct note *n, const struct api_result *result)
{
    if (n->state == NOTE_STORED) {
        n->state = NOTE_NEW;
        n->serial = agent_random(a);
    } else if (result->http == HTTP_CONFLICT) {
        n->state = NOTE_STORED; /* stored by an earlier POST whose answer was lost */
        n->told = a->recorder.telling;
    } else {
        n->state = NOTE_FREE;
    }
}

static void drop_all_of(struct agent *a, uint32_t namespace_sum)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        struct note *n = &a->notes.note[i];
        if (note_untold(n) && crc32c(0, view_text(namespace_of(n))) == namespace_sum) {
            a->notes.dropped++;
            n->state = NOTE_FREE;
        }
    }
}

/*
 * 403 for one namespace after the other stops all Events, as nothing served does. One namespace
 * alone must not silence the others: what is told there is dropped, and the rest waits for a token.
 */
static void denied(struct agent *a, const struct note *n, const struct api_result *result)
{
    struct recorder *r = &a->recorder;
    uint32_t sum = crc32c(0, view_text(namespace_of(n)));
    r->denied_sum = (r->denied_sum == 0u) ? sum : r->denied_sum;
    if (r->denied_sum == sum && result->http == HTTP_FORBIDDEN) {
        r->out.due_ms = a->now_ms + NOTE_REFILL_MS;
        drop_all_of(a, sum);
    }
}

/* Behind the others: a note may be at fault alone, as by its namespace. */
static void put_behind(const struct agent *a, struct note *n)
{
    n->first_ms = a->now_ms;
    n->told_ms = a->now_ms;
}

void recorder_end(struct agent *a, const struct api_result *result)
{
    struct recorder *r = &a->recorder;
    struct note *n = &a->notes.note[r->at];
    ASSERT(n->state != NOTE_FREE && r->telling <= n->count);
    enum outcome outcome = outgoing_end(a, &r->out, result);
    switch (outcome) {
    case OUTCOME_DONE:
        r->refused_http = 0;
        r->denied_sum = 0;
        n->state = NOTE_STORED;
        n->told = r->telling;
        n->told_ms = a->now_ms;
        break;
    case OUTCOME_IGNORED:
        ignored(a, n, result);
        break;
    case OUTCOME_REJECTED:
        log_write_refusal(a, &r->refused_http, LOG_ID_K8S_EVENTS_REFUSED, result);
        n->state = NOTE_FREE;
        break;
    case OUTCOME_DENIED:
        log_write_refusal(a, &r->refused_http, LOG_ID_K8S_EVENTS_REFUSED, result);
        denied(a, n, result);
        put_behind(a, n);
        break;
    case OUTCOME_LATER:
        put_behind(a, n);
        break;
    case OUTCOME_CHANGED:
        break;
    }
}
