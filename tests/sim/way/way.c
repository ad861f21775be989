/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of one change through the agent: which of its functions run because of the change, but
 * not in a step in which nothing is to do; and who called them. `way prepare`: from the first byte
 * of a NodePrepareResources to the last byte of its response. `way sysfs`: from a device's new
 * health in sysfs until the stored ResourceSlice shows it. `way watch`: from the watch event of a
 * slice that somebody edited until the stored slice is as wanted again.
 *
 * The simulator's node, with the agent compiled with -finstrument-functions; prints one line for
 * each different call, in the order in which it was first made:
 *
 *   OUTERMOST CALLER CALLEE     (addresses; CALLER 0: called by the simulator)
 *
 * tools/graph/way.py reads it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/sim/virtual/row.h"

#define DEPTH_MAX 128
#define IDLE_MAX 1024
#define CALLS_MAX 8192
#define SLOTS 32768u /* a power of two, far more than CALLS_MAX */
#define CLAIM 5u     /* one that row_begin does not prepare */
#define UNTRACED __attribute__((no_instrument_function))

enum phase { OFF, STEP, CHANGE };

struct seen {
    const void *outermost;
    const void *caller;
    const void *callee;
};

static struct world world;
static enum phase phase;
static unsigned depth;
static const void *stack[DEPTH_MAX];
static unsigned idle_count;
static const void *idle[IDLE_MAX]; /* functions that a step without work enters */
static unsigned count;
static struct seen seen[CALLS_MAX];
static unsigned slot[SLOTS]; /* index into seen, and 1; 0: empty */

void __cyg_profile_func_enter(void *function, void *site) UNTRACED;
void __cyg_profile_func_exit(void *function, void *site) UNTRACED;

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    exit(1);
}

static bool same(const struct seen *a, const struct seen *b)
{
    return a->outermost == b->outermost && a->caller == b->caller && a->callee == b->callee;
}

static unsigned hash(const struct seen *s)
{
    uintptr_t h = (uintptr_t)s->caller * 31u + (uintptr_t)s->callee * 7u + (uintptr_t)s->outermost;
    return (unsigned)(h ^ h >> 15) % SLOTS;
}

static void keep(const struct seen *s)
{
    unsigned at = hash(s);
    while (slot[at] != 0 && !same(&seen[slot[at] - 1], s)) {
        at = (at + 1) % SLOTS;
    }
    if (slot[at] == 0) {
        ASSERT(count < CALLS_MAX);
        seen[count++] = *s;
        slot[at] = count;
    }
}

static bool runs_idle(const void *function)
{
    for (unsigned i = 0; i < idle_count; i++) {
        if (idle[i] == function) {
            return true;
        }
    }
    return false;
}

/* Everyone on the stack leads to the function that just began. */
static void keep_stack(void)
{
    for (unsigned i = 0; i < depth; i++) {
        const struct seen call = {
            .outermost = stack[0], .caller = i > 0 ? stack[i - 1] : NULL, .callee = stack[i]};
        keep(&call);
    }
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    ASSERT(depth < DEPTH_MAX);
    stack[depth++] = function;
    if (phase == STEP && !runs_idle(function)) {
        ASSERT(idle_count < IDLE_MAX);
        idle[idle_count++] = function;
    }
    if (phase == CHANGE && !world.answered.done && !runs_idle(function)) {
        keep_stack();
    }
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    ASSERT(depth > 0 && stack[depth - 1] == function);
    depth--;
}

/* Whether the stored slices are the wanted ones within a minute. */
static bool is_repaired(void)
{
    const char *why = "";
    bool well = false;
    for (unsigned i = 0; i < 600u && !well; i++) {
        world_pass(&world, 100);
        well = world_well(&world, &why);
    }
    return well;
}

/* Makes the change; whether it had its effect. */
static bool make_change(const char *kind)
{
    bool done = false;
    if (strcmp(kind, "prepare") == 0) {
        return world_prepare(&world, CLAIM);
    }
    if (strcmp(kind, "sysfs") == 0) {
        unsigned taints = stored_taints();
        world_device_says(&world, CLAIM, "hbm");
        done = is_repaired() && stored_taints() > taints;
    } else if (strcmp(kind, "watch") == 0) {
        done = stored_edit(&world) && is_repaired();
    } else {
        (void)fprintf(stderr, "way: prepare, sysfs or watch, not %s\n", kind);
    }
    return done;
}

int main(int argc, char **argv)
{
    struct row row = {.name = "way", .recovery_ms = NEVER};
    row_begin(&world, &row, 1);
    world_pass(&world, MINUTES(1));
    phase = STEP;
    world.poked = true;
    world_settle(&world);
    world.answered.done = false;
    phase = CHANGE;
    bool well = make_change((argc == 2) ? argv[1] : "");
    phase = OFF;
    if (row.failed || !well) {
        (void)fprintf(stderr, "way: no change: %s%s\n", row.why, world.answered.text);
        return 1;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)printf("%p %p %p\n", seen[i].outermost, seen[i].caller, seen[i].callee);
    }
    return 0;
}
