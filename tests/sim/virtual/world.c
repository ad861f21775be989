/* SPDX-License-Identifier: Apache-2.0 */
/* Time of the simulated node; see world.h. */
#include "tests/sim/virtual/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/steps.h"

/* Turns at one moment: more than any answer has pieces. Reached: somebody asks to run for ever. */
#define TURNS_MAX 20000
/* Steps on end that the agent asks for and in which nothing is seen to move. */
#define IDLE_TURNS 64
#define START_MS 5000

struct sim_api world_api;
struct sim_kubelet world_kubelet;

uint64_t world_random(struct world *w, uint64_t bound)
{
    ASSERT(bound > 0);
    w->random ^= w->random << 13; /* xorshift64 */
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % bound;
}

static void settings_set(struct world *w)
{
    const char *efa = w->with_efa ? "true" : "false";
    const char *const args[] = {"run", "--node-name", NODE_NAME, "--efa",
                                efa,   "--pod-uid",   SECOND_UID};
    static const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    unsigned count = w->first != NULL ? sizeof args / sizeof args[0] : 5;
    enum status s = settings_parse(&w->settings, args, count, env, &why);
    ASSERT(s == STATUS_OK);
}

struct world *world_node(struct world *w)
{
    return w->first != NULL ? w->first : w;
}

static struct world *watched; /* whose API server it is */

static bool is_of(const struct world *w, unsigned connection)
{
    return w != NULL && w->link == (int)connection;
}

/* Who does not have the claim store writes no slice: two would write by turns for ever. */
static void see_request(struct sim_api *a, unsigned connection, const struct sim_api_event *e)
{
    unsigned writes = SIM_ASK_CREATE | SIM_ASK_UPDATE | SIM_ASK_DELETE;
    ASSERT(a == &world_api);
    struct world *by = is_of(watched->second, connection) ? watched->second : watched;
    if (is_of(by, connection) && (e->asked & writes) != 0 && !e->cancelled && !world_owns(by)) {
        watched->foreign_writes++;
    }
}

void world_new(struct world *w, uint64_t seed)
{
    static const struct sim_kubelet_config release = {
        .knows_v1 = true, .retries_notify = true, .notice_ms = 100};
    const struct sim_api_config served = {
        .token = w->server_token, .serves = {true, true, true}, .seed = seed, .seen = see_request};
    memset(w, 0, sizeof *w);
    watched = w;
    w->seed = seed;
    w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w->now_ms = START_MS;
    w->link = -1;
    w->kubelet_up = true;
    w->node_uid = "node-uid-1";
    w->type_label = "trn2.48xlarge";
    world_token(w, "token-1");
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        w->kubelet_link[k] = -1;
        w->efa_link[k] = -1;
    }
    disk_clear();
    settings_set(w);
    sim_api_init(&world_api, &served, w->now_ms);
    sim_kubelet_init(&world_kubelet, &release, w->now_ms);
    world_devices(w, 16, false);
    world_node_put(w);
    foreign_put(w);
    claims_put();
}

void world_efa(struct world *w)
{
    uint64_t reconcile_ms = w->settings.reconcile_ms;
    ASSERT(w->first == NULL && w->second == NULL && w->agent == NULL);
    w->with_efa = true;
    settings_set(w);
    w->settings.reconcile_ms = reconcile_ms;
    world_efa_devices(w);
}

void world_pair(struct world *w, struct world *second)
{
    memset(second, 0, sizeof *second);
    w->second = second;
    second->first = w;
    second->seed = w->seed + 1;
    second->now_ms = w->now_ms;
    second->link = -1;
    second->kubelet_up = true;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        second->kubelet_link[k] = -1;
        second->efa_link[k] = -1;
    }
    second->with_efa = w->with_efa;
    settings_set(second);
    second->settings.reconcile_ms = w->settings.reconcile_ms;
    second->settings.driver[DRIVER_NEURON].shares = w->settings.driver[DRIVER_NEURON].shares;
}

/* --- one moment --- */

static void count_requests(struct world *w)
{
    struct sim_api_event e;
    while (sim_api_next(&world_api, &e) == STATUS_OK) {
        tally_request(&w->tally, &e);
    }
}

static void count_owners(struct world *node)
{
    node->two_owners += world_owns(node) && world_owns(node->second) ? 1 : 0;
    node->two_owners += world_owns_efa(node) && world_owns_efa(node->second) ? 1 : 0;
}

/* `due`: by time, or because bytes moved. */
static bool agent_turn(struct world *w, bool due)
{
    if (w == NULL || w->agent == NULL || w->exited || !(due || w->poked)) {
        return false;
    }
    struct world *node = world_node(w);
    bool told = w->poked;
    w->poked = false;
    node->steps++; /* one is one call of agent_step, by whichever agent of the node */
    disk_process(w != node);
    if (!disk_survives(agent_step, w->agent)) {
        world_kill(w); /* a fault of the disk ended the process */
        return true;
    }
    count_owners(node);
    steps_see_step();
    return world_host_turn(w) || told;
}

static _Noreturn void never_idle(const struct world *w)
{
    (void)printf("seed %llu: the agent asks to be stepped without end at %llu ms, deadline %llu\n",
                 (unsigned long long)w->seed, (unsigned long long)w->now_ms,
                 (unsigned long long)agent_deadline(w->agent));
    world_show_log(w, 20);
    exit(1);
}

static bool is_due(const struct world *w)
{
    return w != NULL && w->agent != NULL && !w->exited && agent_deadline(w->agent) <= w->now_ms;
}

/* What one turn of the node came to. */
struct turn {
    bool moved;
    bool due;
    bool stepped;
};

static struct turn node_turn(struct world *w)
{
    struct turn t = {.moved = world_host_bytes(w)};
    bool other = w->second != NULL && world_host_bytes(w->second);
    count_requests(w);
    bool kubelet = world_node_turn(w);
    bool due = is_due(w);
    bool other_due = is_due(w->second);
    t.due = due || other_due;
    t.stepped = agent_turn(w, due || t.moved || kubelet);
    t.moved = t.moved || kubelet || other;
    t.stepped = agent_turn(w->second, other_due || other || kubelet) || t.stepped;
    return t;
}

void world_settle(struct world *w)
{
    unsigned idle = 0;
    w = world_node(w);
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        sim_api_step(&world_api, w->now_ms, WALL_MS(w->now_ms) / 1000);
        struct turn t = node_turn(w);
        if (!t.moved && !t.stepped && !t.due) {
            return;
        }
        idle = t.moved || t.stepped ? 0 : idle + 1;
        if (idle > IDLE_TURNS) {
            never_idle(w);
        }
    }
    never_idle(w);
}

/* --- time --- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t process_due(const struct world *w)
{
    uint64_t at = w->agent != NULL ? agent_deadline(w->agent) : NEVER;
    return least(at, world_host_deadline(w));
}

static uint64_t next_due(const struct world *w)
{
    uint64_t at = process_due(w);
    at = w->second != NULL ? least(at, process_due(w->second)) : at;
    at = least(at, sim_api_deadline(&world_api));
    at = least(at, sim_kubelet_deadline(&world_kubelet));
    return least(at, world_node_deadline(w));
}

static void set_process_time(struct world *w, uint64_t now_ms)
{
    ASSERT(now_ms >= w->now_ms);
    w->now_ms = now_ms;
    if (w->agent != NULL) {
        agent_time(w->agent, now_ms, WALL_MS(now_ms));
    }
    world_host_time(w);
}

static void set_time(struct world *w, uint64_t now_ms)
{
    set_process_time(w, now_ms);
    if (w->second != NULL) {
        set_process_time(w->second, now_ms);
    }
    world_node_time(w);
}

void world_pass(struct world *w, uint64_t ms)
{
    w = world_node(w);
    uint64_t end = w->now_ms + ms;
    world_settle(w);
    while (w->now_ms < end) {
        uint64_t at = next_due(w);
        at = at > w->now_ms ? at : w->now_ms + 1;
        set_time(w, least(at, end));
        world_settle(w);
    }
}
