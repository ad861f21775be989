/* SPDX-License-Identifier: Apache-2.0 */
/* Time of the simulated node; see world.h. */
#include "tests/sim/virtual/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/sim/sim_disk.h"

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
    static const char *const args[] = {"run", "--node-name", NODE_NAME};
    static const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    enum status s = settings_parse(&w->settings, args, sizeof args / sizeof args[0], env, &why);
    ASSERT(s == STATUS_OK);
}

void world_new(struct world *w, uint64_t seed)
{
    static const struct sim_kubelet_config release = {
        .knows_v1 = true, .retries_notify = true, .notice_ms = 100};
    const struct sim_api_config served = {
        .token = w->server_token, .serves = {true, true, true}, .seed = seed};
    memset(w, 0, sizeof *w);
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

/* --- one moment --- */

static void count_requests(struct world *w)
{
    struct sim_api_event e;
    while (sim_api_next(&world_api, &e) == STATUS_OK) {
        tally_request(&w->tally, &e);
    }
}

static bool agent_turn(struct world *w, bool moved)
{
    if (w->agent == NULL || w->exited) {
        return false;
    }
    bool due = moved || w->poked || agent_deadline(w->agent) <= w->now_ms;
    if (!due) {
        return false;
    }
    bool told = w->poked;
    w->poked = false;
    w->steps++;
    if (!disk_survives(agent_step, w->agent)) {
        world_kill(w); /* a fault of the disk ended the process */
        return true;
    }
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

void world_settle(struct world *w)
{
    unsigned idle = 0;
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        sim_api_step(&world_api, w->now_ms, WALL_MS(w->now_ms) / 1000);
        bool moved = world_host_bytes(w);
        count_requests(w);
        moved = world_node_turn(w) || moved;
        bool due = w->agent != NULL && agent_deadline(w->agent) <= w->now_ms;
        bool stepped = agent_turn(w, moved);
        if (!moved && !stepped && !due) {
            return;
        }
        idle = moved || stepped ? 0 : idle + 1;
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

static uint64_t next_due(const struct world *w)
{
    uint64_t at = w->agent != NULL ? agent_deadline(w->agent) : NEVER;
    at = least(at, sim_api_deadline(&world_api));
    at = least(at, sim_kubelet_deadline(&world_kubelet));
    at = least(at, world_host_deadline(w));
    return least(at, world_node_deadline(w));
}

static void set_time(struct world *w, uint64_t now_ms)
{
    ASSERT(now_ms >= w->now_ms);
    w->now_ms = now_ms;
    if (w->agent != NULL) {
        agent_time(w->agent, now_ms, WALL_MS(now_ms));
    }
    world_host_time(w);
    world_node_time(w);
}

void world_pass(struct world *w, uint64_t ms)
{
    uint64_t end = w->now_ms + ms;
    world_settle(w);
    while (w->now_ms < end) {
        uint64_t at = next_due(w);
        at = at > w->now_ms ? at : w->now_ms + 1;
        set_time(w, least(at, end));
        world_settle(w);
    }
}
