/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent driven in memory through agent/agent.h: a kubelet (HTTP/2 engines in client role
 * that speak gRPC), an API server, files, time. The loop does what src/host/loop.c does: it steps
 * the agent when bytes came, while its output moved, and at agent_deadline; never else. It fails
 * when the agent asks to be stepped for ever without doing anything. Header only, because each
 * test is one file.
 */
#ifndef TESTS_UNIT_AGENT_HARNESS_H
#define TESTS_UNIT_AGENT_HARNESS_H

#include "agent/publish/publish.h"
#include "agent/serve/readiness.h"
#include "agent/state.h"
#include "tests/unit/apiserver/agent_server.h"
#include "base/assert.h"
#include "boards/board.h"
#include "cfg/identity.h"

#define PEERS 6
#define PEER_CALLS H2_SERVER_STREAMS
#define REPLY_MAX 65536
#define WORLD_LOG_BYTES 262144
#define TURNS_MAX 100000
/* A buffer full of records, the shortest of which take two bytes, is read in so many steps. */
#define IDLE_STEPS (H2_CLIENT_RX_BYTES / 2 / LINK_EVENTS_PER_STEP)
#define WALL_MS(now_ms) (UINT64_C(1700000000000) + (now_ms))
#define DRA_V1 "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"
#define DRA_BETA "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/"
#define PREPARE DRA_V1 "NodePrepareResources"
#define UNPREPARE DRA_V1 "NodeUnprepareResources"
#define BOOT_ID "6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e"

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    _fail(file, line);
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

struct peer_call {
    uint32_t stream; /* 0: free */
    bool ended;
    bool reset;
    unsigned http;
    int status;     /* grpc-status, -1: none */
    char text[512]; /* grpc-message as sent */
    size_t len;
    uint8_t bytes[REPLY_MAX];
};

struct peer {
    bool open;
    bool closed_by_agent;
    bool goaway;
    int link;
    size_t cut; /* octets that move at a time in either direction */
    bool deaf;  /* takes nothing from the agent */
    struct peer_call call[PEER_CALLS];
    struct h2 h2;
    struct h2_stream streams[PEER_CALLS];
    uint8_t rx[16384];
    uint8_t tx[16384];
    uint8_t field[8192];
    uint8_t scratch[8192];
};

struct world {
    struct agent *agent; /* NULL: no process runs */
    struct settings settings;
    struct found_node found;
    uint64_t now_ms;
    uint64_t behind_ms; /* by how much the wall clock was set back */
    bool poked;         /* the host told something: a step is due */
    bool moved_out;
    bool exited;
    bool was_killed;
    bool api_deaf;      /* the path of this connection to the API server is dead */
    bool (*halt)(void); /* settle returns when it says so; NULL: never */
    void (*harm)(uint8_t *bytes,
                 size_t n);     /* changes what the API server sends; NULL: nothing does */
    const char *token;          /* what the host reads */
    const char *missing;        /* the file that it lacks; NULL: none */
    bool lists_pods;            /* the kubelet's list of pods can be connected */
    void (*connect_pods)(void); /* connects instead; NULL: nothing does */
    bool pods_open;
    unsigned pods_connects;
    unsigned token_reads;
    unsigned connects;
    unsigned renewals;
    unsigned closed_registration;
    unsigned steps;
    struct peer peer[PEERS];
    char log[WORLD_LOG_BYTES];
    size_t log_len;
};

static struct world world;

/* --- the node --- */

UNUSED_OK static void found_set(const char *type, unsigned devices, unsigned cores)
{
    struct found_node *f = &world.found;
    memset(f, 0, sizeof *f);
    (void)snprintf(f->product_name, SYSFS_VALUE_CAP, "%s\n", type);
    (void)snprintf(f->driver_version, SYSFS_VALUE_CAP, "2.26.5.0\n");
    (void)snprintf(f->boot_id, SYSFS_VALUE_CAP, BOOT_ID "\n");
    for (unsigned n = 0; n < devices; n++) {
        struct found_device *d = &f->devices[n];
        d->number = (uint16_t)n;
        d->node_exists = true;
        (void)snprintf(d->core_count, SYSFS_VALUE_CAP, "%u", cores);
    }
    f->count = (uint16_t)devices;
}

UNUSED_OK static void found_trn2(void)
{
    found_set("trn2.48xlarge", 16, 8);
}

UNUSED_OK static void found_trn1(void)
{
    found_set("trn1.2xlarge", 1, 2);
}

/* --- bytes between the ends --- */

static bool move_bytes(struct h2 *from, struct writer space, size_t cut, size_t *n)
{
    struct view out = view_first(h2_tx_data(from), cut);
    out = view_first(out, space.cap - space.len);
    *n = out.len;
    if (out.len > 0) {
        memcpy(space.data + space.len, out.data, out.len);
        h2_tx_commit(from, out.len);
    }
    return out.len > 0;
}

static bool move_view(struct h2 *to, struct view out, size_t *n)
{
    struct writer space = h2_rx_space(to);
    out = view_first(out, space.cap - space.len);
    *n = out.len;
    if (out.len > 0) {
        memcpy(space.data + space.len, out.data, out.len);
        h2_rx_commit(to, out.len);
    }
    return out.len > 0;
}

static void peer_event(struct peer *p, const struct h2_event *e)
{
    if (e->kind == H2_EVENT_GOAWAY) {
        p->goaway = true;
    }
    for (unsigned i = 0; i < PEER_CALLS; i++) {
        struct peer_call *c = &p->call[i];
        if (e->stream == 0 || c->stream != e->stream) {
            continue;
        }
        if (e->kind == H2_EVENT_FIELD && view_is(e->name, ":status")) {
            c->http = (unsigned)strtoul((const char *)e->value.data, NULL, 10);
        } else if (e->kind == H2_EVENT_FIELD && view_is(e->name, "grpc-status")) {
            char number[8];
            assert_int_equal(text_copy(number, sizeof number, e->value), STATUS_OK);
            c->status = atoi(number);
        } else if (e->kind == H2_EVENT_FIELD && view_is(e->name, "grpc-message")) {
            text_cut(c->text, sizeof c->text, e->value);
        } else if (e->kind == H2_EVENT_DATA) {
            assert_true(e->data.len <= sizeof c->bytes - c->len);
            memcpy(c->bytes + c->len, e->data.data, e->data.len);
            c->len += e->data.len;
        } else if (e->kind == H2_EVENT_RESET) {
            c->reset = true;
        }
        bool may_end = e->kind == H2_EVENT_DATA || e->kind == H2_EVENT_HEADERS_END;
        c->ended = c->ended || c->reset || (may_end && e->end_stream);
    }
}

static void peer_pump(struct peer *p)
{
    struct h2_event e;
    while (h2_next(&p->h2, &e) == STATUS_OK) {
        peer_event(p, &e);
    }
}

static bool peer_to_agent(struct peer *p)
{
    size_t n = 0;
    if (!p->open) {
        return false;
    }
    peer_pump(p);
    struct writer space = agent_link_rx(world.agent, (unsigned)p->link);
    if (!move_bytes(&p->h2, space, p->cut, &n)) {
        return false;
    }
    agent_link_rx_commit(world.agent, (unsigned)p->link, n);
    return true;
}

static bool agent_to_peer(struct peer *p)
{
    size_t n = 0;
    if (!p->open) {
        return false;
    }
    peer_pump(p);
    struct view out = agent_link_tx(world.agent, (unsigned)p->link);
    out = view_first(out, p->deaf ? 0 : p->cut);
    bool moved = move_view(&p->h2, out, &n);
    agent_link_tx_commit(world.agent, (unsigned)p->link, n);
    if (agent_link_done(world.agent, (unsigned)p->link)) {
        p->open = false;
        p->closed_by_agent = true;
        h2_rx_end(&p->h2);
    }
    peer_pump(p);
    return moved;
}

static bool api_to_agent(void)
{
    size_t n = 0;
    if (!api.connected || world.api_deaf) {
        return false;
    }
    api_pump(world.now_ms);
    struct writer space = agent_link_rx(world.agent, LINK_API);
    if (!move_bytes(api_h2(), space, 16384, &n)) {
        return false;
    }
    if (world.harm != NULL) {
        world.harm(space.data + space.len, n);
    }
    agent_link_rx_commit(world.agent, LINK_API, n);
    return true;
}

static bool agent_to_api(void)
{
    size_t n = 0;
    if (!api.connected || world.api_deaf) {
        return false;
    }
    bool moved = move_view(api_h2(), agent_link_tx(world.agent, LINK_API), &n);
    agent_link_tx_commit(world.agent, LINK_API, n);
    api_pump(world.now_ms);
    return moved;
}

/* --- the host --- */

static void tell_token(void)
{
    agent_api_identity(world.agent, view_text(world.token), view_text("10.0.0.1:443"));
}

static void carry_out(enum agent_order order)
{
    switch (order) {
    case ORDER_CONNECT_API:
        world.connects++;
        tell_token();
        if (api.reachable) {
            api_connect(world.now_ms);
            world.api_deaf = false;
            agent_api_opened(world.agent, world.now_ms);
        } else {
            bool missing = world.missing != NULL;
            agent_api_failed(world.agent, missing ? HOST_ABSENT : PEER_TIMEOUT,
                             missing ? world.missing : "10.0.0.1:443: connection refused",
                             world.now_ms);
        }
        world.poked = true;
        break;
    case ORDER_READ_TOKEN:
        world.token_reads++;
        tell_token();
        world.poked = true;
        break;
    case ORDER_CLOSE_API:
        api.connected = false;
        break;
    case ORDER_CONNECT_PODS:
        world.pods_connects++;
        world.pods_open = world.lists_pods;
        if (world.connect_pods != NULL) {
            world.connect_pods();
        } else if (world.lists_pods) {
            agent_pods_opened(world.agent, world.now_ms);
        } else {
            agent_pods_failed(world.agent, "/kubelet.sock: no such file or directory");
        }
        break;
    case ORDER_CLOSE_PODS:
        world.pods_open = false;
        break;
    case ORDER_RENEW_REGISTRATION:
        world.renewals++;
        break;
    case ORDER_CLOSE_REGISTRATION:
        world.closed_registration++;
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

static void take_log(void)
{
    struct view v = agent_log(world.agent);
    if (v.len >= sizeof world.log - world.log_len) {
        world.log_len = 0; /* what is old goes */
    }
    memcpy(world.log + world.log_len, v.data, v.len);
    world.log_len += v.len;
    world.log[world.log_len] = 0;
    agent_log_written(world.agent, v.len);
}

static void all_gone(void)
{
    world.agent = NULL;
    world.pods_open = false;
    api.connected = false;
    for (unsigned i = 0; i < PEERS; i++) {
        world.peer[i].open = false;
    }
}

/* One step of the agent; false: a fault of the disk ended the process in it. */
static bool survive_step(void)
{
    if (disk_survives(agent_step, world.agent)) {
        return true;
    }
    world.was_killed = true;
    all_gone();
    return false;
}

static bool flush(void)
{
    bool moved = agent_to_api();
    for (unsigned i = 0; i < PEERS; i++) {
        moved = agent_to_peer(&world.peer[i]) || moved;
    }
    return moved;
}

/* One step and what follows from it; whether anything but log lines came out. */
static bool step(void)
{
    world.poked = false;
    world.steps++;
    if (!survive_step()) {
        return false;
    }
    bool moved = false;
    take_log();
    enum agent_order order = agent_next_order(world.agent);
    for (; order != ORDER_NONE; order = agent_next_order(world.agent)) {
        carry_out(order);
        moved = true;
    }
    return flush() || moved;
}

/* The API connection ends, as the host tells it. */
UNUSED_OK static void api_end(const char *why)
{
    agent_api_ended(world.agent, why);
    world.poked = true;
}

static void set_time(uint64_t now_ms)
{
    world.now_ms = now_ms;
    if (world.agent != NULL) {
        agent_time(world.agent, now_ms, WALL_MS(now_ms) - world.behind_ms);
    }
}

/* Turns of the host's loop at one moment, until nothing moves and nothing is due. */
static void settle(void)
{
    unsigned idle = 0;
    bool out = world.agent != NULL && flush();
    for (unsigned i = 0; i < TURNS_MAX && world.agent != NULL && !world.exited; i++) {
        if (world.halt != NULL && world.halt()) {
            return;
        }
        bool in = api_to_agent();
        for (unsigned k = 0; k < PEERS; k++) {
            in = peer_to_agent(&world.peer[k]) || in;
        }
        bool due = agent_deadline(world.agent) <= world.now_ms;
        if (!in && !out && !due && !world.poked) {
            return;
        }
        bool told = world.poked;
        out = step();
        idle = in || out || told ? 0 : idle + 1;
        if (idle >= IDLE_STEPS) {
            fail_msg("busy: deadline %llu at %llu", (unsigned long long)agent_deadline(world.agent),
                     (unsigned long long)world.now_ms);
        }
    }
    if (world.agent != NULL && !world.exited) {
        fail_msg("turns without end");
    }
}

/* Lets time pass; the agent is stepped only when it asked to be. */
UNUSED_OK static void pass(uint64_t ms)
{
    uint64_t end = world.now_ms + ms;
    settle();
    for (unsigned i = 0; i < TURNS_MAX && world.agent != NULL && !world.exited; i++) {
        uint64_t at = agent_deadline(world.agent);
        if (world.halt != NULL && world.halt()) {
            set_time(end);
            return; /* bytes still move */
        }
        assert_true(at > world.now_ms);
        if (at > end) {
            set_time(end);
            return;
        }
        set_time(at);
        settle();
    }
    set_time(end);
}

/* --- life --- */

static void start(void)
{
    static struct agent *memory; /* one: a new process starts with zeroed memory */
    if (memory != NULL) {
        memset((void *)memory, 0, sizeof(struct agents));
    }
    api.connected = false;
    world.exited = false;
    world.was_killed = false;
    memory = agent_init(&world.settings, &disk_files, 42, world.now_ms, WALL_MS(world.now_ms));
    world.agent = memory;
    agent_found(memory, &world.found);
    world.poked = true;
    settle();
}

UNUSED_OK static void kill_agent(void)
{
    all_gone();
}

UNUSED_OK static void restart(void)
{
    kill_agent();
    start();
}

static void settings_set(const char *const *more, unsigned count)
{
    const char *args[16] = {"run", "--node-name", NODE_NAME};
    const char *const env[] = {NULL};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    assert_true(count <= 12);
    for (unsigned i = 0; i < count; i++) {
        args[3 + i] = more[i];
    }
    assert_int_equal(settings_parse(&world.settings, args, 3 + count, env, &why), STATUS_OK);
}

/* Everything new: an empty disk, an API server with nothing but the Node, a trn2.48xlarge. */
UNUSED_OK static void world_new(void)
{
    all_gone();
    memset(&world.peer, 0, sizeof world.peer);
    world.now_ms = 5000;
    world.renewals = 0;
    world.token = "secret";
    world.token_reads = 0;
    world.connects = 0;
    world.lists_pods = false;
    world.connect_pods = NULL;
    world.pods_connects = 0;
    world.missing = NULL;
    world.closed_registration = 0;
    world.steps = 0;
    world.api_deaf = false;
    world.halt = NULL;
    world.harm = NULL;
    world.log_len = 0;
    world.log[0] = 0;
    disk_clear();
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    api_reset(world.now_ms);
    found_trn2();
    settings_set(NULL, 0);
}

/* No call, fetch, answer or buffer is left behind. */
UNUSED_OK static void check_idle(void)
{
    const struct agent *a = world.agent;
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        assert_int_equal(a->calls->call[i].state, CALL_FREE);
    }
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        assert_int_equal(a->calls->operation[i].state, OPERATION_FREE);
    }
    for (unsigned i = 0; i < FETCHES_MAX; i++) {
        assert_int_equal(a->claim->fetch[i].state, FETCH_FREE);
        assert_false(api_slot_busy(a, API_SLOT_CLAIM_FIRST + i));
    }
    for (unsigned i = 0; i < RESPONSES_MAX; i++) {
        assert_false(a->serve->response[i].used);
    }
    for (unsigned i = 0; i < GRPC_BUFFERS; i++) {
        assert_false(a->serve->buffers.buffers[i].taken);
    }
    assert_int_equal(a->serve->buffers.taken + a->serve->buffers.holders, 0);
    assert_int_equal(links_calls_open(a), 0);
}

UNUSED_OK static void log_has(const char *text)
{
    if (strstr(world.log, text) == NULL) {
        fail_msg("\"%s\" is not in the log:\n%s", text, world.log);
    }
}

/* How often the text is in the log. */
UNUSED_OK static unsigned said(const char *text)
{
    unsigned n = 0;
    for (const char *at = strstr(world.log, text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

UNUSED_OK static void log_forget(void)
{
    world.log_len = 0;
    world.log[0] = 0;
}

/* The page of metrics has the series without labels of this name, with this value. */
UNUSED_OK static void check_metric(const char *name, const char *value)
{
    static char page[65536];
    char line[128];
    struct metrics_cursor c = {0};
    struct writer out = writer_of(page, sizeof page - 1u);
    assert_true(metrics_write(world.agent, &c, &out));
    page[out.len] = 0;
    (void)snprintf(line, sizeof line, "\nneuron_dra_%s %s\n", name, value);
    assert_non_null(strstr(page, line));
}

#endif
