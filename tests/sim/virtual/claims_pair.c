/* SPDX-License-Identifier: Apache-2.0 */
/* What a second agent does in a schedule of claims; see claims.h. */
#include "tests/sim/virtual/claims.h"

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "tests/sim/disk/sim_disk.h"

/* How long a call may take in a rolling update, and how often one comes. */
#define UPDATE_CALL_MS SECONDS(2)
#define UPDATE_GAP_MS 100u

/* That does not run, or NULL. */
static struct world *idle_one(const struct play *p)
{
    if (p->w->agent == NULL) {
        return p->w;
    }
    return p->w->second->agent == NULL ? p->w->second : NULL;
}

static void act_second(struct play *p)
{
    struct world *idle = idle_one(p);
    if (idle != NULL) {
        world_start(idle);
        world_pass(p->w, p->number % SECONDS(3));
    }
}

static struct world *one_of_two(const struct play *p)
{
    return p->number % 2 == 0 ? p->w : p->w->second;
}

static void act_stop(struct play *p)
{
    if (two_run(p)) {
        expect(p->r, world_stop(one_of_two(p), SECONDS(30)), "an agent does not stop");
    }
}

static void act_kill_one(struct play *p)
{
    if (two_run(p)) {
        world_kill(one_of_two(p));
        if (p->number / 2 % 2 == 0) {
            world_start(one_of_two(p)); /* the kubelet restarts its container */
        }
        world_settle(p->w); /* the kubelet notices */
    }
}

/* Calls for the spare claim come one after the other for some time. */
static void call_for(struct play *p, uint64_t ms)
{
    uint64_t end = p->w->now_ms + ms;
    for (unsigned n = 0; p->w->now_ms < end && !p->r->failed; n++) {
        bool unprepare = n % 4 == 3;
        uint64_t begin = p->w->now_ms;
        (void)world_call(p->w, unprepare, "spare", SPARE_UID);
        while (!p->w->answered.done && p->w->now_ms < begin + UPDATE_CALL_MS) {
            world_pass(p->w, UPDATE_GAP_MS);
        }
        expect(p->r, p->w->answered.done && p->w->answered.well,
               "%s in a rolling update: not well within 2 s: %s",
               unprepare ? "unprepare" : "prepare", p->w->answered.text);
        world_pass(p->w, UPDATE_GAP_MS);
    }
    (void)spare(p, true);
}

/* With nothing wrong, no call of the kubelet fails while an agent gives way to another one. */
static void act_update(struct play *p)
{
    struct world *next = idle_one(p);
    bool sound = !p->refused && !p->away && store_sound(p) && disk.fault == FAULT_NONE;
    sound = sound && disk.list_cut == 0u;
    if (next == NULL || !sound || !agent_ready(agent_of(p))) {
        return;
    }
    struct world *old = next == p->w ? p->w->second : p->w;
    world_start(next);
    call_for(p, SECONDS(8));
    expect(p->r, world_owns(next) && agent_ready(next->agent), "the new agent did not take over");
    expect(p->r, world_stop(old, SECONDS(30)), "the old agent does not stop");
    call_for(p, SECONDS(3));
}

void pair_act(struct play *p, enum act act)
{
    switch (act) {
    case ACT_SECOND:
        act_second(p);
        break;
    case ACT_STOP:
        act_stop(p);
        break;
    case ACT_KILL_ONE:
        act_kill_one(p);
        break;
    default:
        act_update(p);
        break;
    }
}
