/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens on a node in which nothing is broken: starts, quiet days, restarts, devices that
 * come and go or fall ill, the Node object that changes. See row.h.
 */
#include <stdio.h>

#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/row.h"

/* --- starts and days --- */

static const unsigned counts[] = {16, 0, 1, 64};
#define COUNTS (sizeof counts / sizeof counts[0])

/* A node with too many devices, or none, has an Event besides: an operator must see it. */
static void started(struct world *w, struct row *r, unsigned devices)
{
    unsigned events = devices == 0 || devices == 64 ? 1 : 0;
    row_count_anew(w);
    world_start(w);
    row_recover(w, r, SECONDS(15));
    world_pass(w, MINUTES(2));
    expect(r, tally_own(&w->tally) <= 5 + events, "%u requests at start with %u devices",
           tally_own(&w->tally), devices);
    expect(r, w->tally.connects == 1, "%u connections at start", w->tally.connects);
}

static void new_node(struct world *w, unsigned devices, bool labels)
{
    world_new(w, 1);
    w->type_label = devices == 1 ? "trn2.3xlarge" : "trn2.48xlarge";
    world_devices(w, devices, false);
    w->layers[0] = labels ? "nn-1111" : NULL;
    w->layers[1] = labels ? "nn-2222" : NULL;
    w->layers[2] = labels ? "nn-3333" : NULL;
    world_node_put(w);
}

static void start(struct world *w, struct row *r)
{
    for (unsigned i = 0; i < 2 * COUNTS; i++) {
        new_node(w, counts[i / 2], i % 2 == 1);
        r->begin_ms = w->now_ms;
        started(w, r, counts[i / 2]);
    }
}

static void restart(struct world *w, struct row *r)
{
    for (unsigned i = 0; i < 2 * COUNTS; i++) {
        new_node(w, counts[i / 2], i % 2 == 1);
        r->begin_ms = w->now_ms;
        started(w, r, counts[i / 2]);
        started(w, r, counts[i / 2]);
        expect(r, tally_writes(&w->tally) == 0, "%u writes", tally_writes(&w->tally));
    }
}

static void quiet_day(struct world *w, struct row *r)
{
    row_begin(w, r, 3);
    row_count_anew(w);
    world_pass(w, HOURS(24));
    row_recover(w, r, 0);
    r->recovery_ms = NEVER;
    expect(r, tally_writes(&w->tally) == 0, "%u writes", tally_writes(&w->tally));
    expect(r, tally_own(&w->tally) <= 200, "%u requests", tally_own(&w->tally));
    expect(r, w->tally.connects == 0, "%u connections", w->tally.connects);
    row_repairs(w, r);
}

/* --- the kubelet --- */

static void wiped(struct world *w, struct row *r)
{
    row_begin(w, r, 4);
    for (unsigned i = 0; i < 3; i++) {
        world_kubelet_restart(w, true);
        row_recover(w, r, REPAIR_MS);
        row_serves(w, r);
        world_pass(w, MINUTES(1));
    }
}

static void late_kubelet(struct world *w, struct row *r)
{
    world_new(w, 5);
    r->begin_ms = w->now_ms;
    world_kubelet_up(w, false);
    world_start(w);
    world_pass(w, MINUTES(10));
    expect(r, stored_one() != NULL, "no slice although the kubelet is only late");
    world_kubelet_up(w, true);
    row_recover(w, r, SECONDS(2));
    expect(r, world_prepare(w, 0), "claim 0 was not prepared: %s", w->answered.text);
}

/* --- by hand --- */

static void edited(struct world *w, struct row *r)
{
    row_begin(w, r, 6);
    for (unsigned i = 0; i < 3; i++) {
        expect(r, stored_edit(w), "no slice to edit");
        row_recover(w, r, REPAIR_MS);
        world_pass(w, MINUTES(1));
    }
}

static void doubled(struct world *w, struct row *r)
{
    row_begin(w, r, 7);
    expect(r, stored_double(w, "node-a-zzzzz"), "no slice to double");
    row_recover(w, r, REPAIR_MS);
    world_pass(w, MINUTES(1));
    expect(r, stored_double(w, "00000-neuron.aws.com-node-a-aaaaa"), "no slice to double");
    row_recover(w, r, REPAIR_MS);
}

/* The event of the deletion is lost with its watch: the next look at all slices finds it. */
static void lost_delete(struct world *w, struct row *r)
{
    const struct sim_fault untold = {.asked = SIM_ASK_WATCH};
    row_begin(w, r, 8);
    sim_api_fault(&world_api, SIM_FAULT_UNTOLD, &untold);
    world_wipe(w);
    world_pass(w, SECONDS(1));
    sim_api_fault_end(&world_api, SIM_FAULT_UNTOLD);
    row_recover(w, r, MINUTES(60));
}

/* --- the Node --- */

static void late_labels(struct world *w, struct row *r)
{
    row_begin(w, r, 9);
    world_pass(w, MINUTES(20));
    w->layers[0] = "nn-1111";
    w->layers[1] = "nn-2222";
    w->layers[2] = "nn-3333";
    world_node_put(w);
    row_recover(w, r, RECOVERY_MS);
    w->layers[2] = NULL;
    world_node_put(w);
    row_recover(w, r, RECOVERY_MS);
}

static void node_again(struct world *w, struct row *r)
{
    row_begin(w, r, 10);
    world_node_again(w, "node-uid-2");
    row_recover(w, r, RECOVERY_MS);
    world_pass(w, MINUTES(1));
    world_wipe(w); /* the garbage collector, for the owner of old */
    world_node_again(w, "node-uid-3");
    row_recover(w, r, RECOVERY_MS);
}

static void late_node(struct world *w, struct row *r)
{
    world_new(w, 11);
    r->begin_ms = w->now_ms;
    enum status gone = sim_api_delete(&world_api, SIM_NODE, "", NODE_NAME);
    expect(r, gone == STATUS_OK, "no Node");
    w->beat_ms = w->now_ms + MINUTES(3);
    world_start(w);
    world_pass(w, MINUTES(3)); /* and there it is */
    row_recover(w, r, RECOVERY_MS);
}

/* --- devices --- */

static void device_counts(struct world *w, struct row *r)
{
    static const unsigned turns[] = {0, 1, 16, 64, 16, 0, 64};
    row_begin(w, r, 12);
    for (unsigned i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        world_devices(w, turns[i], true);
        row_recover(w, r, turns[i] > 0 ? REPAIR_MS : DEVICES_GRACE_MS + NODE_LOOK_MS + REPAIR_MS);
        world_pass(w, MINUTES(5));
        row_recover(w, r, 0);
    }
}

static void devices_flap(struct world *w, struct row *r)
{
    row_begin(w, r, 13);
    row_count_anew(w);
    for (unsigned i = 0; i < 120; i++) {
        world_devices(w, 16, i % 2 == 1);
        if (i % 2 == 0) {
            world_device_gone(w, i % 16);
        }
        world_pass(w, SECONDS(5));
    }
    row_recover(w, r, RECOVERY_MS);
    row_serves(w, r);
}

/* A look at the node that fails tells nothing: what is published stays. */
static void look_fails(struct world *w, struct row *r)
{
    row_begin(w, r, 14);
    row_count_anew(w);
    world_look_fails(w);
    world_pass(w, MINUTES(10));
    expect(r, tally_writes(&w->tally) == 0, "%u writes", tally_writes(&w->tally));
    row_serves(w, r);
    world_devices(w, 16, true);
    row_recover(w, r, REPAIR_MS);
    expect(r, tally_writes(&w->tally) == 0, "%u writes", tally_writes(&w->tally));
}

/* --- health --- */

#define FLIPS 1000u
#define FLIPPING 12u

/* Times that a device becomes unhealthy until it has to stay healthy for HEALTH_HOLD_MAX_MS. */
static unsigned falls_to_longest_hold(void)
{
    unsigned falls = HEALTH_FALLS_FREE;
    for (uint64_t hold = HEALTH_HOLD_MS; hold < HEALTH_HOLD_MAX_MS; hold *= 2) {
        falls++;
    }
    return falls;
}

/* The file says something else at each look: after the free falls the device stays tainted. */
static void health_flips(struct world *w, struct row *r)
{
    row_begin(w, r, 15);
    row_count_anew(w);
    for (unsigned i = 0; i < FLIPS; i++) {
        world_device_says(w, FLIPPING, i % 2 == 0 ? "hbm\n" : "\n");
        world_pass(w, SECONDS(5));
    }
    expect(r, stored_taints() == 1, "%u taints while it flips", stored_taints());
    world_pass(w, HEALTH_HOLD_MS + NODE_LOOK_MS);
    row_recover(w, r, REPAIR_MS);
    expect(r, stored_taints() == 0, "%u taints at rest", stored_taints());
    expect(r, tally_writes(&w->tally) == 2 * (HEALTH_FALLS_FREE + 1), "%u writes",
           tally_writes(&w->tally));
    row_serves(w, r);
}

/* The file says something else as soon as the slice shows what it said: the most writes. */
static void health_follows(struct world *w, struct row *r)
{
    row_begin(w, r, 16);
    row_count_anew(w);
    uint64_t begin = w->now_ms;
    for (unsigned i = 0; i < FLIPS; i++) {
        unsigned taints = i % 2 == 0 ? 1 : 0;
        world_device_says(w, FLIPPING, taints == 1 ? "hbm\n" : "\n");
        uint64_t until = w->now_ms + HEALTH_HOLD_MAX_MS + NODE_LOOK_MS;
        while (stored_taints() != taints && w->now_ms < until) {
            world_pass(w, SECONDS(5));
        }
        expect(r, stored_taints() == taints, "%u taints after flip %u", stored_taints(), i);
    }
    uint64_t holds = (w->now_ms - begin) / HEALTH_HOLD_MAX_MS;
    unsigned most = 2 * (falls_to_longest_hold() + (unsigned)holds + 1);
    row_recover(w, r, REPAIR_MS);
    expect(r, tally_writes(&w->tally) <= most, "%u writes, %u at most", tally_writes(&w->tally),
           most);
}

#define HOLDS 20u

/* Memory without a claim stays in use and becomes free: a write for the taint, one for its end. */
static void memory_held(struct world *w, struct row *r)
{
    const uint64_t found_ms = (16u + 1u) * DEVICE_MEMORY_LOOK_MS;
    struct taint *taint = &w->settings.taint[TAINT_MEMORY_HELD];
    row_begin(w, r, 17);
    text_set(taint->key, sizeof taint->key, "neuron.aws.com/memory-held");
    text_set(taint->effect, sizeof taint->effect, "NoSchedule");
    row_count_anew(w);
    for (unsigned i = 0; i < HOLDS; i++) {
        disk.memory[FLIPPING][0] = 4096;
        world_pass(w, DEVICE_MEMORY_STUCK_MS - DEVICE_MEMORY_LOOK_MS);
        expect(r, stored_taints() == 0, "%u taints too early", stored_taints());
        world_pass(w, found_ms + 2 * DEVICE_MEMORY_LOOK_MS);
        expect(r, stored_taints() == 1, "%u taints while the memory is held", stored_taints());
        disk.memory[FLIPPING][0] = 0;
        world_pass(w, 2 * DEVICE_MEMORY_LOOK_MS);
        expect(r, stored_taints() == 0, "%u taints when it is free", stored_taints());
    }
    row_recover(w, r, REPAIR_MS);
    expect(r, tally_writes(&w->tally) == 2 * HOLDS, "%u writes", tally_writes(&w->tally));
    row_serves(w, r);
}

const struct scenario life_scenarios[] = {
    {"start: 16, 0, 1, 64 devices, labels or none", start},
    {"restart of each, nothing changed", restart},
    {"quiet day", quiet_day},
    {"kubelet restarts and wipes slices", wiped},
    {"kubelet ten minutes late", late_kubelet},
    {"slice edited by hand", edited},
    {"slice doubled, and an old-style name", doubled},
    {"slice deleted, event lost", lost_delete},
    {"Node gets its labels late", late_labels},
    {"Node created again with another UID", node_again},
    {"Node appears late", late_node},
    {"0, 1, 16 and 64 devices", device_counts},
    {"one device after another comes and goes", devices_flap},
    {"look at the devices fails", look_fails},
    {"health of a device flips 1,000 times", health_flips},
    {"health flips whenever the slice shows it", health_follows},
    {"memory of a device is held and freed", memory_held},
    {NULL, NULL},
};
