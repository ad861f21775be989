/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent under a fuzzer: a kubelet and an API server that behave (the models of
 * tests/sim), peers that do not, a disk, and time. Owns what src/host does: it moves bytes, carries
 * out orders and steps the agent when bytes came, while its output moves and at agent_deadline. The
 * script stands in the target, what must hold in agent_checks.h.
 */
#ifndef TESTS_FUZZ_AGENT_WORLD_H
#define TESTS_FUZZ_AGENT_WORLD_H

#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "cfg/identity.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sim/apiserver/sim_api.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/kubelet/sim_kubelet.h"

#define NODE_NAME "neuron-node-0" /* of the recordings */
#define SOCKET "/plugins_registry/neuron.aws.com-reg.sock"
#define AUTHORITY "10.0.0.1:443"
#define TOKEN_MARK "bearer-of-the-API"
#define WALL_MS(now_ms) (UINT64_C(1700000000000) + (now_ms))
#define START_MS 5000u
#define STRANGERS 6u
/* Turns at one moment, and steps on end that the agent asks for while nothing moves. */
#define TURNS_MAX 20000u
#define IDLE_MAX (H2_CLIENT_RX_BYTES / 2u / LINK_EVENTS_PER_STEP)
/* Times that the agent asks to be woken, in any second and besides. */
#define WAKES_PER_SECOND 50u
#define WAKES_MORE 2000u

/* What answers at the API server's address. */
enum api_peer { API_MODEL, API_REFUSED, API_SILENT, API_STRANGER };

/* A peer whose octets the script says. */
struct stranger {
    bool open;
    bool deaf; /* takes nothing from the agent */
    enum link_kind kind;
    unsigned link;
};

/* One octet that the path changes on its way to the agent. */
struct mangle {
    uint32_t in; /* octets until then; 0: none */
    uint8_t by;
};

struct world {
    uint64_t now_ms;
    bool poked; /* the host told something: a step is due */
    bool exited;
    bool killed;
    bool fresh_token;
    char token[48];
    struct found_node found;
    enum api_peer api_peer;
    bool api_open;
    int model; /* number of the connection at the model, -1: none */
    bool connecting;
    uint64_t connect_ms;
    int kubelet_link[SIM_LINKS_MAX]; /* the agent's link of each of the kubelet's, -1: none */
    unsigned registered;
    unsigned answered;
    struct stranger stranger[STRANGERS];
    struct mangle api_mangle;
    struct mangle kubelet_mangle;
};

static struct world world;
static struct sim_api api;
static struct sim_kubelet kubelet;
static struct settings settings;
static struct agent *agent; /* the one instance */

/* --- what must hold of all bytes and steps: agent_checks.h --- */

static void told_begin(unsigned link);
static void check_input(unsigned link, size_t n);
static void check_output(unsigned link, struct view bytes);
static void check_log(struct view lines);
static void check_step(void);
static void forget_unprepares(void);

/* --- bytes --- */

static void apply(struct mangle *m, uint8_t *bytes, size_t n)
{
    if (m->in > 0u && m->in <= n) {
        bytes[m->in - 1u] ^= m->by;
    }
    m->in -= (m->in < n) ? m->in : (uint32_t)n;
}

static size_t copy(struct writer to, struct view from, struct mangle *m)
{
    ASSERT(to.cap >= to.len);
    struct view v = view_first(from, to.cap - to.len);
    if (v.len > 0u) {
        memcpy(to.data + to.len, v.data, v.len);
        apply(m, to.data + to.len, v.len);
    }
    return v.len;
}

/* What the agent has to send on a link, into `to`; NULL: nobody keeps it. */
static size_t take_output(unsigned link, const struct writer *to)
{
    static struct mangle none;
    struct view out = agent_link_tx(agent, link);
    out = view_first(out, (to != NULL) ? to->cap - to->len : out.len);
    check_output(link, out);
    if (to != NULL) {
        (void)copy(*to, out, &none);
    }
    agent_link_tx_commit(agent, link, out.len);
    return out.len;
}

/* --- the API server's connection --- */

static void model_end(void)
{
    if (world.model >= 0) {
        sim_api_drop(&api, (unsigned)world.model);
    }
    world.model = -1;
    world.api_open = false;
}

static void api_cut(const char *why)
{
    if (world.api_open) {
        model_end();
        agent_api_ended(agent, why);
        world.poked = true;
    }
}

static void tell_token(void)
{
    agent_api_identity(agent, view_text(world.token), view_text(AUTHORITY));
    world.poked = true;
}

static void api_try(void)
{
    world.connecting = world.api_peer == API_SILENT;
    if (world.connecting) {
        return;
    }
    world.poked = true;
    if (world.api_peer == API_REFUSED) {
        agent_api_failed(agent, PEER_CLOSED, AUTHORITY ": connection refused", world.now_ms);
        return;
    }
    world.api_open = true;
    world.model = (world.api_peer == API_MODEL) ? sim_api_open(&api) : -1;
    tell_token();
    agent_api_opened(agent, world.now_ms);
}

static void api_connect(void)
{
    CHECK(!world.api_open && !world.connecting);
    world.connect_ms = world.now_ms + 10000u;
    api_try();
}

static bool model_bytes(void)
{
    unsigned at = (unsigned)world.model;
    struct writer to = sim_api_rx(&api, at);
    size_t moved = take_output(LINK_API, &to);
    sim_api_rx_commit(&api, at, moved);
    sim_api_step(&api, world.now_ms, WALL_MS(world.now_ms) / 1000u);
    size_t n = copy(agent_link_rx(agent, LINK_API), sim_api_tx(&api, at), &world.api_mangle);
    sim_api_tx_commit(&api, at, n);
    agent_link_rx_commit(agent, LINK_API, n);
    if (sim_api_done(&api, at)) {
        world.model = -1;
        world.api_open = false;
        agent_api_ended(agent, "");
        world.poked = true;
    }
    return moved + n > 0u;
}

static bool api_bytes(void)
{
    struct sim_api_event e;
    if (!world.api_open) {
        return false;
    }
    bool moved = (world.model >= 0) ? model_bytes() : take_output(LINK_API, NULL) > 0u;
    while (sim_api_next(&api, &e) == STATUS_OK) {
        CHECK(e.path != NULL); /* nobody asks */
    }
    return moved;
}

/* --- the kubelet --- */

static bool kubelet_bytes(unsigned k)
{
    if (world.kubelet_link[k] < 0) {
        return false;
    }
    unsigned link = (unsigned)world.kubelet_link[k];
    size_t in =
        copy(agent_link_rx(agent, link), sim_kubelet_tx(&kubelet, k), &world.kubelet_mangle);
    check_input(link, in);
    sim_kubelet_tx_commit(&kubelet, k, in);
    agent_link_rx_commit(agent, link, in);
    struct writer to = sim_kubelet_rx(&kubelet, k);
    size_t out = take_output(link, &to);
    sim_kubelet_rx_commit(&kubelet, k, out);
    if (agent_link_done(agent, link)) {
        sim_kubelet_link_end(&kubelet, k);
        world.kubelet_link[k] = -1;
    }
    return in + out > 0u;
}

static void kubelet_carry_out(enum sim_order order, unsigned k, const char *path)
{
    if (order == SIM_ORDER_CLOSE) {
        if (world.kubelet_link[k] >= 0) {
            agent_link_end(agent, (unsigned)world.kubelet_link[k]);
            world.poked = true;
        }
        return;
    }
    enum link_kind kind = (strcmp(path, SOCKET) == 0) ? LINK_REGISTRATION : LINK_SERVICE;
    int link = world.exited ? -1 : agent_link_open(agent, kind, 0, world.now_ms);
    world.kubelet_link[k] = link;
    if (link >= 0) {
        told_begin((unsigned)link);
    }
    sim_kubelet_connected(&kubelet, k, (link >= 0) ? STATUS_OK : HOST_IO);
}

static bool kubelet_orders(void)
{
    const char *path = NULL;
    unsigned k = 0;
    enum sim_order order = sim_kubelet_order(&kubelet, &k, &path);
    bool moved = order != SIM_ORDER_NONE;
    while (order != SIM_ORDER_NONE) {
        kubelet_carry_out(order, k, path);
        order = sim_kubelet_order(&kubelet, &k, &path);
    }
    return moved;
}

static bool kubelet_turn(void)
{
    struct sim_kubelet_event e;
    sim_kubelet_step(&kubelet, world.now_ms);
    bool moved = kubelet_orders();
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        moved = kubelet_bytes(k) || moved;
    }
    while (sim_kubelet_next(&kubelet, &e) == STATUS_OK) {
        world.registered += (e.kind == SIM_KUBELET_REGISTERED) ? 1u : 0u;
        world.answered += (e.kind == SIM_KUBELET_ANSWERED) ? 1u : 0u;
    }
    return moved;
}

static void kubelet_sees(bool present)
{
    CHECK(sim_kubelet_socket(&kubelet, SOCKET, present) == STATUS_OK);
}

/* --- strangers --- */

static bool stranger_turn(struct stranger *p)
{
    if (!p->open) {
        return false;
    }
    size_t out = p->deaf ? 0u : take_output(p->link, NULL);
    p->open = !agent_link_done(agent, p->link);
    return out > 0u;
}

static bool strangers_turn(void)
{
    bool moved = false;
    for (unsigned i = 0; i < STRANGERS; i++) {
        moved = stranger_turn(&world.stranger[i]) || moved;
    }
    return moved;
}

/* --- the process --- */

static void all_gone(void)
{
    model_end();
    world.connecting = false;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        if (world.kubelet_link[k] >= 0) {
            sim_kubelet_link_end(&kubelet, k);
        }
        world.kubelet_link[k] = -1;
    }
    for (unsigned i = 0; i < STRANGERS; i++) {
        world.stranger[i].open = false;
    }
}

/* A new process; an old one is gone without a word. */
static void process_start(void)
{
    all_gone();
    if (agent != NULL) {
        memset((void *)agent, 0, sizeof(struct agents));
    }
    world.exited = false;
    world.killed = false;
    agent = agent_init(&settings, &disk_files, 1, world.now_ms, WALL_MS(world.now_ms));
    agent_found(agent, &world.found);
    world.poked = true;
    kubelet_sees(true);
}

/* A stranger answers at the kubelet's list of pods, unless that one has another connection. */
static void pods_connect(struct stranger *p)
{
    if (p->open) {
        agent_pods_failed(agent, "kubelet.sock: connection refused");
    } else {
        *p = (struct stranger){.open = true, .kind = LINK_SERVICE, .link = LINK_PODS};
        told_begin(LINK_PODS);
        agent_pods_opened(agent, world.now_ms);
    }
    world.poked = true;
}

static void carry_out(enum agent_order order)
{
    struct stranger *pods = &world.stranger[STRANGERS - 1u];
    switch (order) {
    case ORDER_CONNECT_API:
        api_connect();
        break;
    case ORDER_READ_TOKEN:
        tell_token();
        break;
    case ORDER_CLOSE_API:
        model_end();
        break;
    case ORDER_CONNECT_PODS:
        pods_connect(pods);
        break;
    case ORDER_CLOSE_PODS:
        pods->open = pods->open && pods->link != LINK_PODS;
        break;
    case ORDER_RENEW_REGISTRATION:
        kubelet_sees(true);
        break;
    case ORDER_CLOSE_REGISTRATION:
        kubelet_sees(false);
        break;
    case ORDER_EXIT:
        world.exited = true;
        break;
    case ORDER_OPEN_SOCKETS: /* the EFA driver's */
    case ORDER_END_DRIVER:
    case ORDER_NONE:
        break;
    }
}

/* One step; the disk may end the process in it. */
static void step_process(void)
{
    if (!disk_survives(agent_step, agent)) {
        world.killed = true;
        forget_unprepares();
    }
}

/* One step and what follows from it; whether an order came. */
static bool process_turn(void)
{
    world.poked = false;
    step_process();
    if (world.killed) {
        process_start();
        return true;
    }
    check_log(agent_log(agent));
    agent_log_written(agent, agent_log(agent).len);
    enum agent_order order = agent_next_order(agent);
    bool moved = order != ORDER_NONE;
    for (; order != ORDER_NONE; order = agent_next_order(agent)) {
        carry_out(order);
    }
    check_step();
    return moved;
}

/* --- time --- */

static bool turn(void)
{
    sim_api_step(&api, world.now_ms, WALL_MS(world.now_ms) / 1000u);
    bool moved = api_bytes();
    moved = kubelet_turn() || moved;
    moved = strangers_turn() || moved;
    return moved;
}

/* Turns of the host's loop at one moment, until nothing moves and nothing is due. */
static void settle(void)
{
    unsigned idle = 0;
    unsigned turns = 0;
    bool again = true;
    while (again && !world.exited) {
        bool moved = turn();
        bool due = moved || world.poked || agent_deadline(agent) <= world.now_ms;
        bool told = world.poked;
        moved = (due && process_turn()) || moved || told;
        again = moved || due;
        idle = moved ? 0u : idle + 1u;
        turns++;
        CHECK(idle <= IDLE_MAX);
        CHECK(turns < TURNS_MAX); /* agent.h: I2 */
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return (a < b) ? a : b;
}

static uint64_t models_due(void)
{
    uint64_t at = least(sim_api_deadline(&api), sim_kubelet_deadline(&kubelet));
    return world.connecting ? least(at, world.connect_ms) : at;
}

static void set_time(uint64_t now_ms)
{
    world.now_ms = now_ms;
    agent_time(agent, now_ms, WALL_MS(now_ms));
    if (world.connecting && now_ms >= world.connect_ms) {
        world.connecting = false;
        agent_api_failed(agent, PEER_TIMEOUT, AUTHORITY ": no answer within 10 s", now_ms);
        world.poked = true;
    }
}

/* Lets time pass; the agent is stepped only when it asked to be. */
static void pass(uint64_t ms)
{
    uint64_t end = world.now_ms + ms;
    uint64_t wakes = 0;
    settle();
    while (world.now_ms < end && !world.exited) {
        uint64_t own = agent_deadline(agent);
        uint64_t at = least(own, models_due());
        wakes += (own <= at) ? 1u : 0u;
        CHECK(wakes <= WAKES_MORE + ms * WAKES_PER_SECOND / 1000u);
        at = (at > world.now_ms) ? at : world.now_ms + 1u;
        set_time(least(at, end));
        settle();
    }
}

#endif
