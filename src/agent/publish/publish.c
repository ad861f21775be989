/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher's functions for the other folders of src/agent. They call the rounds (round.c) and
 * the watch (slice_watch.c), and start a new round when the watch finds a difference.
 */
#include "agent/publish/publish.h"

#include "agent/frame.h"
#include "agent/node/node.h"
#include "agent/publish/room.h"
#include "agent/report/log.h"
#include "base/assert.h"
#include "base/time.h"

void publish_init(struct agent *a)
{
    pacing_init(a);
    wanted_init(a);
    round_init(a);
    slice_watch_init(a);
}

/*
 * Whether the watch of slices may be opened: only between rounds, because a round's requests have
 * priority.
 */
static bool may_watch(const struct agent *a)
{
    return a->publish->round.step == ROUND_IDLE && api_ready(a) && version_ready(a);
}

void publish_step(struct agent *a)
{
    round_step(a);
    if (may_watch(a)) {
        slice_watch_step(a);
    }
}

uint64_t publish_deadline(const struct agent *a)
{
    return earlier(round_deadline(a), may_watch(a) ? slice_watch_deadline(a) : UINT64_MAX);
}

/* --- changes that other folders of src/agent report to the publisher --- */

void publish_changed(struct agent *a)
{
    round_content_changed(a);
}

void publish_registered(struct agent *a)
{
    pacing_registered(&a->publish->pacing);
    round_soon(a);
}

void publish_disconnected(struct agent *a)
{
    /*
     * After GOAWAY, the round continues on the new connection, because otherwise no round could
     * ever end with a server that sends GOAWAY with each response.
     */
    if (!api_connection_moved(a) || a->publish->round.step <= ROUND_NODE) {
        round_abandon(a);
    }
}

void publish_version(struct agent *a)
{
    struct publish *p = a->publish;
    plan_forget_losses(&p->plan);
    round_version(a);
    if (p->round.step == ROUND_IDLE && p->plan.cut > 0u) {
        round_recheck(a, 0);
    }
}

void publish_suspend(struct agent *a)
{
    api_cancel(a, API_SLOT_SLICES);
    round_suspend(a);
}

/* --- responses to the publisher's requests --- */

void publish_record(struct agent *a, const struct api_result *r, const struct kube_record *record)
{
    ASSERT(r->slot == (unsigned)API_SLOT_SLICES);
    round_record(a, record);
}

void publish_end(struct agent *a, const struct api_result *r)
{
    round_end(a, r);
}

/*
 * Counts a difference of the incident; returns whether this one deserves a Kubernetes Event. That
 * is the first one after as many as there are slices: then somebody changes them again and again.
 * Whoever deletes all slices of a cluster once causes no Event, of which each agent would send one.
 */
static bool count_difference(struct agent *a)
{
    struct incident *i = &a->publish->incident;
    bool same = i->count > 0u && a->now_ms - i->last_ms < SLICE_INCIDENT_MS;
    i->count = same ? i->count + 1u : 1u;
    i->last_ms = a->now_ms;
    return i->count == a->publish->plan.parts + 1u;
}

/*
 * Requests a round because a stored slice differs; between two rounds, logs only the first
 * difference.
 */
static void repair_slice(struct agent *a, const char *what)
{
    if (round_current(a)) {
        log_begin(a, LOG_ID_SLICE_DRIFT_DETECTED);
        log_text(a, "slice", a->publish->watch.observer.seen.name);
        log_text(a, "what", what);
        if (!count_difference(a)) {
            log_no_k8s_event(a);
        }
        log_end(a);
    }
    round_recheck(a, SLICE_REPAIR_MS);
}

/*
 * Requests a round because the watch reported that a slice differs. Logs nothing while a round
 * runs, because the event may show a write of that round, or the state before the write.
 */
static void repair_foreign_change(struct agent *a, const char *what)
{
    if (a->publish->round.step == ROUND_IDLE) {
        repair_slice(a, what);
    } else {
        round_recheck(a, SLICE_REPAIR_MS);
    }
}

static void act_on(struct agent *a, struct watch_result result)
{
    switch (result.finding) {
    case WATCH_FOUND_NOTHING:
        break;
    case WATCH_FOUND_CHANGED:
        repair_foreign_change(a, "changed");
        break;
    case WATCH_FOUND_DOUBLED:
        repair_foreign_change(a, "doubled");
        break;
    case WATCH_FOUND_DELETED:
        repair_slice(a, "deleted");
        break;
    case WATCH_FOUND_UNKNOWN:
        /* this agent may have just created the slice without having received the response */
        if (a->publish->round.step == ROUND_WRITE) {
            round_recheck(a, SLICE_REPAIR_MS);
        }
        break;
    case WATCH_LIST_FIRST:
        round_recheck(a, result.wait_ms);
        break;
    case WATCH_LIST_INSTEAD:
        if (a->publish->round.step == ROUND_IDLE) {
            pacing_by(&a->publish->pacing, a->now_ms + result.wait_ms);
        }
        break;
    }
}

void publish_watch_record(struct agent *a, const struct api_result *r,
                          const struct kube_record *record)
{
    act_on(a, slice_watch_record(a, r, record));
}

void publish_watch_end(struct agent *a, const struct api_result *r)
{
    act_on(a, slice_watch_end(a, r));
}

/* --- queries of other folders of src/agent about the publisher --- */

bool publish_current(const struct agent *a)
{
    return round_current(a);
}

const char *publish_reason(const struct agent *a)
{
    const char *why = "the agent has not compared them yet";
    if (node_presence(a) == NODE_ABSENT) {
        why = "the API server has no Node of this name";
    } else if (a->publish->round.trouble != NULL) {
        why = a->publish->round.trouble;
    } else if (node_presence(a) == NODE_UNKNOWN) {
        why = "the Node is not known yet";
    }
    return why;
}

bool publish_lacks_resources(const struct agent *a)
{
    return a->publish->round.no_resources;
}

int64_t publish_generation(const struct agent *a)
{
    return a->publish->plan.generation;
}

uint64_t publish_verified_wall_ms(const struct agent *a)
{
    return a->publish->round.current_wall_ms;
}

enum first_list publish_first_list(const struct agent *a)
{
    return a->publish->round.first_list;
}

unsigned publish_device_count(const struct agent *a)
{
    return a->publish->wanted.devices.count;
}
