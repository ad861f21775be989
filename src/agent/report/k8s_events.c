/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes Events: built field by field beside the log line, then put into the queue or counted
 * there. That costs a few copies; nothing here waits.
 */
#include "agent/report/k8s_events.h"

#include <string.h>

#include "agent/state.h"
#include "base/assert.h"

/* The texts stand bare: a string in parentheses initialises no array. */
#define REASON_ROW(id, warns, name, verb) {(uint8_t)(id), verb, name, (warns)},
static const struct k8s_event_reason reasons[] = {K8S_EVENT_REASONS(REASON_ROW)};
#define REASONS (sizeof reasons / sizeof reasons[0])

/* An initialiser that fills its array leaves no room for the NUL, and the compiler is content. */
#define REASON_FITS(id, warns, name, verb)                                                         \
    _Static_assert(sizeof(name) <= sizeof reasons[0].reason &&                                     \
                       sizeof(verb) <= sizeof reasons[0].action,                                   \
                   "reason and action end with NUL");
K8S_EVENT_REASONS(REASON_FITS)
_Static_assert(REASONS < K8S_EVENT_NO_ROW, "each row has a number of its own");

const struct k8s_event_reason *k8s_event_reason(const struct k8s_event *e)
{
    ASSERT(e->reason < REASONS);
    return &reasons[e->reason];
}

bool k8s_event_pending(const struct k8s_event *e)
{
    ASSERT(e->sent_count <= e->count);
    return e->state != K8S_EVENT_FREE && e->sent_count < e->count;
}

/* --- the Event of the line being built --- */

void k8s_events_start(struct agent *a, enum log_id id)
{
    struct k8s_events *t = &a->k8s_events;
    t->row = K8S_EVENT_NO_ROW;
    for (unsigned i = 0; i < REASONS; i++) {
        if (reasons[i].log_id == (unsigned)id) {
            t->row = i;
        }
    }
    t->about = NULL;
    t->full = false;
    t->len = 0;
    t->note[0] = 0;
}

void k8s_events_about(struct agent *a, const struct claim_id *id)
{
    a->k8s_events.about = id;
}

void k8s_events_skip(struct agent *a)
{
    a->k8s_events.row = K8S_EVENT_NO_ROW;
}

static void append(struct k8s_events *t, struct view v)
{
    ASSERT(t->len < sizeof t->note);
    char *end = &t->note[t->len];
    text_cut(end, sizeof t->note - t->len, v);
    size_t added = strlen(end);
    t->len += added;
    t->full = t->full || added < v.len;
}

void k8s_events_field(struct agent *a, const char *key, struct view value)
{
    struct k8s_events *t = &a->k8s_events;
    uint8_t bytes[LOG_LINE_BYTES_MAX];
    struct writer word = writer_of(bytes, sizeof bytes);
    if (t->row == K8S_EVENT_NO_ROW || t->full || view_ends(view_text(key), "_ms")) {
        return;
    }
    if (t->len > 0u) {
        writer_u8(&word, ' ');
    }
    log_word(&word, key, value);
    append(t, writer_view(&word));
    t->full = t->full || word.full;
}

/* --- the queue --- */

static bool is_recent(const struct agent *a, const struct k8s_event *e)
{
    return e->state == K8S_EVENT_NEW || a->now_ms - e->last_ms < K8S_EVENT_WINDOW_MS;
}

static bool is_same(const struct k8s_events *t, const struct k8s_event *e)
{
    const char *uid = (t->about == NULL) ? "" : t->about->uid;
    return e->state != K8S_EVENT_FREE && e->reason == t->row &&
           view_is(view_text(e->about.uid), uid) && view_is(view_text(e->note), t->note);
}

/* A free place, or the one of those sent in full that occurred longest ago; NULL: none. */
static struct k8s_event *room(struct k8s_events *t)
{
    struct k8s_event *best = NULL;
    for (unsigned i = 0; i < K8S_EVENTS_MAX; i++) {
        struct k8s_event *e = &t->event[i];
        if (e->state == K8S_EVENT_FREE) {
            return e;
        }
        if (!k8s_event_pending(e) && (best == NULL || e->last_ms < best->last_ms)) {
            best = e;
        }
    }
    return best;
}

static struct k8s_event *find(const struct agent *a, struct k8s_events *t)
{
    for (unsigned i = 0; i < K8S_EVENTS_MAX; i++) {
        if (is_same(t, &t->event[i]) && is_recent(a, &t->event[i])) {
            return &t->event[i];
        }
    }
    return NULL;
}

static void start_new(struct agent *a, struct k8s_event *e)
{
    const struct k8s_events *t = &a->k8s_events;
    memset(e, 0, sizeof *e);
    e->state = K8S_EVENT_NEW;
    e->reason = (uint8_t)t->row;
    e->first_ms = a->now_ms;
    e->first_wall_ms = a->wall_ms;
    e->serial = agent_random(a);
    if (t->about != NULL) {
        e->about = *t->about;
    }
    memcpy(e->note, t->note, sizeof e->note);
}

void k8s_events_end(struct agent *a)
{
    struct k8s_events *t = &a->k8s_events;
    if (t->row == K8S_EVENT_NO_ROW) {
        return;
    }
    struct k8s_event *e = find(a, t);
    if (e == NULL) {
        e = room(t);
        if (e == NULL) {
            t->dropped++;
            return;
        }
        start_new(a, e);
    }
    e->count += (e->count < (uint32_t)INT32_MAX) ? 1u : 0u;
    e->last_ms = a->now_ms;
    e->last_wall_ms = a->wall_ms;
}

/* --- what became of it --- */

static struct k8s_event *event_at(struct agent *a, unsigned at)
{
    ASSERT(at < K8S_EVENTS_MAX && a->k8s_events.event[at].state != K8S_EVENT_FREE);
    return &a->k8s_events.event[at];
}

void k8s_event_sent(struct agent *a, unsigned at, uint32_t count)
{
    struct k8s_event *e = event_at(a, at);
    ASSERT(count <= e->count);
    e->state = K8S_EVENT_STORED;
    e->sent_count = count;
    e->sent_ms = a->now_ms;
}

void k8s_event_lost(struct agent *a, unsigned at)
{
    struct k8s_event *e = event_at(a, at);
    e->state = K8S_EVENT_NEW;
    e->serial = agent_random(a);
}

void k8s_event_remove(struct agent *a, unsigned at)
{
    event_at(a, at)->state = K8S_EVENT_FREE;
}

void k8s_event_postpone(struct agent *a, unsigned at)
{
    struct k8s_event *e = event_at(a, at);
    e->first_ms = a->now_ms;
    e->sent_ms = a->now_ms;
}

void k8s_event_drop(struct agent *a, unsigned at)
{
    k8s_event_remove(a, at);
    a->k8s_events.dropped++;
}

uint64_t k8s_events_take_dropped(struct agent *a)
{
    uint64_t dropped = a->k8s_events.dropped;
    a->k8s_events.dropped = 0;
    return dropped;
}
