/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of Kubernetes Events, in which equal Events are counted together. Adding an Event costs
 * a few copies and never blocks.
 */
#include "agent/report/k8s_events.h"

#include <string.h>

#include "agent/api/backoff.h"
#include "agent/frame.h"
#include "agent/report/room.h"
#include "base/assert.h"

#define REASON_ROW(id, warns, name, verb) {(uint8_t)(id), (verb), (name), (warns)},
static const struct k8s_event_reason reasons[] = {K8S_EVENT_REASONS(REASON_ROW)};
#define REASONS (sizeof reasons / sizeof reasons[0])

_Static_assert(REASONS <= UINT8_MAX, "struct k8s_event has the number of a row in 8 bits");

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

/* --- the queue of Kubernetes Events --- */

static bool is_recent(const struct agent *a, const struct k8s_event *e)
{
    return e->state == K8S_EVENT_NEW || a->now_ms - e->last_ms < K8S_EVENT_WINDOW_MS;
}

static const char *uid_of(const struct claim_id *about)
{
    return (about == NULL) ? "" : about->uid;
}

/*
 * Finds an entry for a new Event: a free entry or, if there is none, the entry of the stored Event
 * that occurred longest ago. Entries whose count the API server does not have yet are not used.
 * NULL: no entry can be used.
 */
static struct k8s_event *find_room(struct k8s_events *t)
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

/* Finds a recent Event with the same reason, object and note; its count can then be incremented. */
static struct k8s_event *find_recent(struct agent *a, unsigned row, const struct claim_id *about,
                                     const char *note)
{
    for (unsigned i = 0; i < K8S_EVENTS_MAX; i++) {
        struct k8s_event *e = &a->report->k8s_events.event[i];
        if (e->state != K8S_EVENT_FREE && e->reason == row && is_recent(a, e) &&
            text_is(e->about.uid, uid_of(about)) && text_is(e->note, note)) {
            return e;
        }
    }
    return NULL;
}

static void start_new(struct agent *a, struct k8s_event *e, unsigned row,
                      const struct claim_id *about, const char *note)
{
    memset(e, 0, sizeof *e);
    e->state = K8S_EVENT_NEW;
    e->reason = (uint8_t)row;
    e->first_ms = a->now_ms;
    e->first_wall_ms = a->wall_ms;
    e->serial = agent_random(a);
    if (about != NULL) {
        e->about = *about;
    }
    text_set(e->note, sizeof e->note, note);
}

static unsigned row_of(enum log_id id)
{
    unsigned row = 0;
    while (row < REASONS && reasons[row].log_id != (unsigned)id) {
        row++;
    }
    ASSERT(row < REASONS);
    return row;
}

void k8s_events_add(struct agent *a, enum log_id id, const struct claim_id *about, const char *note)
{
    unsigned row = row_of(id);
    struct k8s_event *e = find_recent(a, row, about, note);
    if (e == NULL) {
        e = find_room(&a->report->k8s_events);
        if (e == NULL) {
            a->report->k8s_events.dropped++;
            return;
        }
        start_new(a, e, row, about, note);
    }
    e->count += (e->count < (uint32_t)INT32_MAX) ? 1u : 0u;
    e->last_ms = a->now_ms;
    e->last_wall_ms = a->wall_ms;
}

/* --- results of sending an Event --- */

static struct k8s_event *event_at(struct agent *a, unsigned at)
{
    ASSERT(at < K8S_EVENTS_MAX && a->report->k8s_events.event[at].state != K8S_EVENT_FREE);
    return &a->report->k8s_events.event[at];
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
    a->report->k8s_events.dropped++;
}

uint64_t k8s_events_new_drops(struct agent *a)
{
    uint64_t dropped = a->report->k8s_events.dropped;
    a->report->k8s_events.dropped = 0;
    return dropped;
}
