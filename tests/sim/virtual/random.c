/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules: for some hours troubles begin and end, slices are wiped and edited, the Node,
 * devices, kubelet, agent and server change. What must always hold is looked at all the while; when
 * all troubles are over, all must be well again, and a new process must find nothing to write.
 */
#include <stdio.h>

#include "agent/state.h"
#include "tests/sim/virtual/row.h"

#define TROUBLES_MAX 64
#define AT_A_TIME 2
/* Of a schedule that lasts two hours on average: one step a minute. */
#define STEPS_LEAST 40
#define STEPS_MORE 160
#define STEP_LONGEST_MS MINUTES(2)
/* Requests about Events, in any hour: two a minute, and what may come at once. */
#define EVENTS_PER_HOUR 130

struct schedule {
    struct world *w;
    struct row *r;
    bool on[TROUBLES_MAX];
    unsigned active;
    unsigned count;      /* troubles that there are */
    uint64_t due_ms;     /* when all must be well again after what has ended so far */
    uint64_t generation; /* of our slices when all was well last */
};

/* --- troubles --- */

static void trouble_toggle(struct schedule *s)
{
    unsigned i = (unsigned)world_random(s->w, s->count);
    if (!s->on[i] && s->active >= AT_A_TIME) {
        return;
    }
    world_note(s->w, s->on[i] ? "ends:" : "begins:", trouble_name(i));
    if (s->on[i]) {
        trouble_end(s->w, i);
        uint64_t due = s->w->now_ms + trouble_limit_ms(i);
        s->due_ms = due > s->due_ms ? due : s->due_ms;
        s->active--;
    } else {
        trouble_begin(s->w, i);
        s->active++;
    }
    s->on[i] = !s->on[i];
}

static void troubles_over(struct schedule *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (s->on[i]) {
            trouble_end(s->w, i);
            s->on[i] = false;
            uint64_t due = s->w->now_ms + trouble_limit_ms(i);
            s->due_ms = due > s->due_ms ? due : s->due_ms;
        }
    }
    s->active = 0;
    world_note(s->w, "all troubles end", "");
}

/* --- what happens at one moment --- */

static void wipe(struct schedule *s)
{
    world_wipe(s->w);
    s->generation = 0; /* a new process cannot know what was there */
}

static void edit(struct schedule *s)
{
    (void)stored_edit(s->w);
}

static void make_double(struct schedule *s)
{
    static const char *const names[] = {"node-a-zzzzz", "00000-neuron.aws.com-node-a-bbbbb"};
    (void)stored_double(s->w, names[world_random(s->w, 2)]);
}

static void restart_kubelet(struct schedule *s)
{
    bool wiped = world_random(s->w, 2) == 0;
    world_kubelet_restart(s->w, wiped);
    s->generation = wiped ? 0 : s->generation;
}

static void restart_agent(struct schedule *s)
{
    world_start(s->w);
}

static void node_again(struct schedule *s)
{
    static const char *const uids[] = {"node-uid-2", "node-uid-3", "node-uid-4", "node-uid-5"};
    world_node_again(s->w, uids[world_random(s->w, 4)]);
}

static void labels(struct schedule *s)
{
    static const char *const values[] = {NULL, "nn-1", "nn-22", "nn-333"};
    for (unsigned i = 0; i < 3; i++) {
        s->w->layers[i] = values[world_random(s->w, 4)];
    }
    world_node_put(s->w);
}

static void devices(struct schedule *s)
{
    static const unsigned counts[] = {0, 1, 16, 16, 15, 64};
    world_devices(s->w, counts[world_random(s->w, 6)], true);
}

static void device_gone(struct schedule *s)
{
    world_device_gone(s->w, (unsigned)world_random(s->w, 16));
}

static void look_fails(struct schedule *s)
{
    struct found_node before = s->w->found;
    world_look_fails(s->w);
    world_pass(s->w, world_random(s->w, SECONDS(5)));
    s->w->found = before;
    agent_found(s->w->agent, &before);
    s->w->poked = true;
}

static void late_kubelet(struct schedule *s)
{
    world_kubelet_up(s->w, false);
    world_pass(s->w, world_random(s->w, MINUTES(2)));
    world_kubelet_up(s->w, true);
}

static void goaway(struct schedule *s)
{
    uint64_t how = world_random(s->w, 3);
    if (s->w->link >= 0 && s->w->net == NET_OPEN) {
        if (how == 2) {
            world_goaway_below(s->w);
        } else {
            sim_api_goaway(&world_api, (unsigned)s->w->link, how == 0);
        }
    }
}

static void cut(struct schedule *s)
{
    world_cut(s->w, "10.0.0.1:443: connection reset by peer");
}

static void forget(struct schedule *s)
{
    (void)s;
    sim_api_forget(&world_api);
}

static void token(struct schedule *s)
{
    static const char *const tokens[] = {"token-1", "token-2", "token-3"};
    world_token(s->w, tokens[world_random(s->w, 3)]);
}

static void versions(struct schedule *s)
{
    uint64_t set = 1 + world_random(s->w, 7);
    for (unsigned v = 0; v < SIM_VERSIONS; v++) {
        world_api.config.serves[v] = (set >> v) % 2 == 1;
    }
    if (world_random(s->w, 2) == 0) {
        cut(s);
    }
}

/* A server that answers 404 to all for long enough has a claim released, as if it were gone. */
static void calls(struct schedule *s)
{
    unsigned index = (unsigned)world_random(s->w, HELD_CLAIMS / 2);
    bool here = false;
    for (unsigned i = 0; i < s->w->found.count; i++) {
        here = here || s->w->found.devices[i].number == index;
    }
    bool well =
        !here || !world_holds(s->w, index) || world_prepare(s->w, index) || !s->w->answered.done;
    expect(s->r, well, "a held claim was not prepared again: %s", s->w->answered.text);
}

static const struct {
    const char *name;
    void (*act)(struct schedule *s);
    unsigned weight;
} actions[] = {
    {"", trouble_toggle, 12},
    {"slices are wiped", wipe, 3},
    {"slice is edited", edit, 3},
    {"slice is doubled", make_double, 2},
    {"kubelet restarts", restart_kubelet, 2},
    {"agent restarts", restart_agent, 2},
    {"Node is created again", node_again, 1},
    {"labels of the Node change", labels, 2},
    {"devices change", devices, 3},
    {"a device is gone", device_gone, 2},
    {"look at the devices fails", look_fails, 1},
    {"kubelet is away", late_kubelet, 1},
    {"GOAWAY", goaway, 2},
    {"connection is reset", cut, 2},
    {"history is compacted", forget, 2},
    {"token is rotated", token, 1},
    {"other versions are served", versions, 1},
    {"", calls, 6},
};

static void act(struct schedule *s)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        sum += actions[i].weight;
    }
    uint64_t at = world_random(s->w, sum);
    for (unsigned i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (at < actions[i].weight) {
            if (actions[i].name[0] != 0) {
                world_note(s->w, actions[i].name, "");
            }
            actions[i].act(s);
            return;
        }
        at -= actions[i].weight;
    }
}

/* --- one seed --- */

static void quiet_point(struct schedule *s)
{
    const char *why = "";
    uint64_t least = 0;
    uint64_t most = 0;
    if (world_well(s->w, &why)) {
        (void)stored_slices(&least, &most);
        expect(s->r, least >= s->generation, "the generation fell from %llu to %llu",
               (unsigned long long)s->generation, (unsigned long long)least);
        s->generation = least;
    }
    expect(s->r, foreign_well(s->w), "a foreign slice was touched");
    expect(s->r, !s->w->exited, "the agent ended");
}

static bool device_tainted(const struct world *w)
{
    uint64_t here = 0;
    for (unsigned i = 0; i < w->found.count; i++) {
        here |= UINT64_C(1) << w->found.devices[i].number;
    }
    return (w->agent->node->device_states.unhealthy & here) != 0u;
}

/* A device that came and went often has a taint until it has stayed for a while. */
static void taints_end(const struct schedule *s)
{
    uint64_t end_ms = s->w->now_ms + HEALTH_HOLD_MAX_MS + MINUTES(1);
    while (device_tainted(s->w) && s->w->now_ms < end_ms) {
        world_pass(s->w, MINUTES(1));
    }
    expect(s->r, !device_tainted(s->w), "a device that is back has a taint");
}

static void all_over(struct schedule *s)
{
    struct world *w = s->w;
    troubles_over(s);
    uint64_t left = s->due_ms > w->now_ms ? s->due_ms - w->now_ms : 0;
    row_recover(w, s->r, left > RECOVERY_MS ? left : RECOVERY_MS);
    quiet_point(s);
    world_pass(w, RECOVERY_MS);
    taints_end(s);
    unsigned writes = tally_writes(&w->tally);
    world_pass(w, MINUTES(15));
    expect(s->r, tally_writes(&w->tally) == writes, "writes although all was well");
    row_recover(w, s->r, 0);
    world_note(w, "agent restarts", "");
    world_start(w);
    row_recover(w, s->r, SECONDS(15));
    world_pass(w, MINUTES(1));
    expect(s->r, tally_writes(&w->tally) == writes, "a restart found something to write");
    row_repairs(w, s->r);
}

static void play(struct schedule *s)
{
    struct world *w = s->w;
    uint64_t steps = STEPS_LEAST + world_random(w, STEPS_MORE);
    for (uint64_t i = 0; i < steps && !s->r->failed; i++) {
        uint64_t longest = world_random(w, 4) == 0 ? STEP_LONGEST_MS : SECONDS(5);
        act(s);
        world_pass(w, 1 + world_random(w, longest));
        quiet_point(s);
        expect(s->r, w->tally.most <= RATE_MAX, "%u requests in one second", w->tally.most);
    }
    all_over(s);
    uint64_t hours = (w->now_ms - s->r->begin_ms) / HOURS(1) + 1;
    expect(s->r, w->tally.verb[TALLY_EVENT] <= hours * EVENTS_PER_HOUR, "%u Events",
           w->tally.verb[TALLY_EVENT]);
}

static bool run_seed(struct world *w, uint64_t seed, struct row *r, bool loud)
{
    struct schedule s = {.w = w, .r = r};
    while (trouble_name(s.count) != NULL) {
        s.count++;
    }
    row_begin(w, r, seed);
    world_api.config.streams = world_random(w, 3) == 0 ? 5 : 0;
    w->settings.claim_status = world_random(w, 2) == 0;
    world_start(w); /* from this process on */
    play(&s);
    row_end(w, r);
    if (r->failed || loud) {
        (void)printf("%s  seed %llu: %s\n", r->failed ? "FAIL" : "ok  ", (unsigned long long)seed,
                     r->failed ? r->why : "");
        world_show_log(w, loud ? UINT32_MAX : 30);
        (void)printf("      (make sim SEED=%llu)\n", (unsigned long long)seed);
    }
    return !r->failed;
}

void random_runs(struct world *w, struct totals *t, const struct share *share, bool loud)
{
    for (uint64_t seed = share->first; seed <= share->last; seed += share->stride) {
        struct row r = {.name = "random", .recovery_ms = NEVER};
        t->failed += run_seed(w, seed, &r, loud) ? 0 : 1;
        t->seeds++;
        t->steps += w->steps;
        t->ms += w->now_ms - r.begin_ms;
        t->most = w->tally.most > t->most ? w->tally.most : t->most;
        bool longer = r.recovery_ms != NEVER && r.recovery_ms > t->longest_ms;
        t->longest_ms = longer ? r.recovery_ms : t->longest_ms;
    }
}
