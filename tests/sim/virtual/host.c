/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of the agent and the network between it and the API server, as src/host and a kernel
 * are seen from the agent: orders, connections, bytes, token file, log. See world.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/steps.h"
#include "tests/sim/virtual/world.h"

#define AUTHORITY "10.0.0.1:443"
#define GOAWAY_FRAME_BYTES 17

/* --- the connection --- */

static void model_end(struct world *w)
{
    if (w->link >= 0) {
        sim_api_drop(&world_api, (unsigned)w->link);
    }
    w->link = -1;
    w->wire_len = 0;
}

void world_cut(struct world *w, const char *why)
{
    if (w->link >= 0) {
        model_end(w);
        agent_api_ended(w->agent, why);
        w->poked = true;
    }
}

void world_net(struct world *w, enum net net, bool cut)
{
    ASSERT(net < NET_STATES && w->first == NULL);
    w->net = net;
    for (; w != NULL; w = w->second) {
        w->slow_ms = w->now_ms;
        if (cut) {
            world_cut(w, "10.0.0.1:443: connection reset by peer");
        }
    }
}

/* The path to the API server is that of the node. */
static enum net net_of(const struct world *w)
{
    return w->first != NULL ? w->first->net : w->net;
}

static void tell_token(struct world *w)
{
    const char *token = world_node(w)->token;
    memcpy(w->known_token, token, sizeof w->known_token);
    agent_api_identity(w->agent, view_text(token), view_text(AUTHORITY));
    w->token_ms = w->now_ms + NET_TOKEN_MS;
}

void world_token(struct world *w, const char *token)
{
    text_cut(w->token, sizeof w->token, view_text(token));
    text_cut(w->server_token, sizeof w->server_token, view_text(token));
}

static void failed(struct world *w, enum status status, const char *why)
{
    w->connecting = false;
    agent_api_failed(w->agent, status, why, w->now_ms);
    w->poked = true;
}

static void opened(struct world *w)
{
    w->connecting = false;
    w->link = sim_api_open(&world_api);
    ASSERT(w->link >= 0);
    w->wire_len = 0;
    w->opened_ms = w->now_ms;
    tally_connected(&w->tally);
    tell_token(w);
    agent_api_opened(w->agent, w->now_ms);
    w->poked = true;
}

/* Whether somebody answers a new connection. */
static bool answers(const struct world *w)
{
    return net_of(w) != NET_SILENT && net_of(w) != NET_ONE_WAY;
}

static void connect_api(struct world *w)
{
    ASSERT(w->link < 0);
    w->tally.connects++;
    w->connecting = true;
    w->connect_ms = w->now_ms + NET_CONNECT_MS;
    if (net_of(w) == NET_REFUSED) {
        failed(w, PEER_CLOSED, AUTHORITY ": connection refused");
    } else if (answers(w)) {
        opened(w);
    }
}

/* --- bytes --- */

static size_t copy(struct writer to, struct view from)
{
    struct view v = view_first(from, to.cap - to.len);
    if (v.len > 0) {
        memcpy(to.data + to.len, v.data, v.len);
    }
    return v.len;
}

/* What the agent has to send goes into the network, as into a socket's buffer. */
static size_t agent_to_wire(struct world *w)
{
    struct writer to = writer_of(w->wire + w->wire_len, sizeof w->wire - w->wire_len);
    size_t n = copy(to, agent_link_tx(w->agent, LINK_API));
    tally_sent(&w->tally, view_of(w->wire + w->wire_len, n), w->now_ms);
    agent_link_tx_commit(w->agent, LINK_API, n);
    w->wire_len += n;
    return n;
}

static size_t wire_to_model(struct world *w, size_t most)
{
    struct view out = view_first(view_of(w->wire, w->wire_len), most);
    size_t n = copy(sim_api_rx(&world_api, (unsigned)w->link), out);
    sim_api_rx_commit(&world_api, (unsigned)w->link, n);
    memmove(w->wire, w->wire + n, w->wire_len - n);
    w->wire_len -= n;
    return n;
}

static size_t model_to_agent(struct world *w, size_t most)
{
    struct view in = view_first(sim_api_tx(&world_api, (unsigned)w->link), most);
    size_t n = copy(agent_link_rx(w->agent, LINK_API), in);
    sim_api_tx_commit(&world_api, (unsigned)w->link, n);
    agent_link_rx_commit(w->agent, LINK_API, n);
    return n;
}

/* How many bytes the network carries now of `slow`, its share of this moment. */
static size_t carries(const struct world *w, bool to_agent, size_t slow)
{
    static const size_t out[NET_STATES] = {
        [NET_OPEN] = WIRE_BYTES, [NET_RESETTING] = WIRE_BYTES, [NET_ONE_WAY] = WIRE_BYTES};
    static const size_t in[NET_STATES] = {[NET_OPEN] = WIRE_BYTES, [NET_RESETTING] = WIRE_BYTES};
    return net_of(w) == NET_SLOW ? slow : (to_agent ? in : out)[net_of(w)];
}

static size_t send_bytes(struct world *w)
{
    size_t n = wire_to_model(w, carries(w, false, w->slow_out));
    w->slow_out -= net_of(w) == NET_SLOW ? n : 0;
    if (n > 0) {
        sim_api_step(&world_api, w->now_ms, WALL_MS(w->now_ms) / 1000);
    }
    return n;
}

static size_t receive_bytes(struct world *w)
{
    size_t n = model_to_agent(w, carries(w, true, w->slow_in));
    w->slow_in -= net_of(w) == NET_SLOW ? n : 0;
    return n;
}

bool world_host_bytes(struct world *w)
{
    if (w->link < 0) {
        return false;
    }
    size_t moved = agent_to_wire(w);
    moved += send_bytes(w);
    moved += receive_bytes(w);
    bool hears = carries(w, true, 1) > 0;
    if (hears && sim_api_done(&world_api, (unsigned)w->link)) {
        w->link = -1;
        agent_api_ended(w->agent, "");
        w->poked = true;
    }
    return moved > 0;
}

/* The frame stands between two of the model's: everything that it had to send has arrived. */
void world_goaway_below(struct world *w)
{
    uint8_t bytes[GOAWAY_FRAME_BYTES];
    struct writer frame = writer_of(bytes, sizeof bytes);
    if (w->link < 0) {
        return;
    }
    struct sim_connection *c = &world_api.connection[w->link];
    uint32_t lowest = UINT32_MAX;
    for (unsigned i = 0; i < SIM_STREAMS_MAX; i++) {
        struct sim_stream *s = &c->stream[i];
        if (s->state != SIM_STREAM_FREE) {
            lowest = s->id < lowest ? s->id : lowest;
            s->state = SIM_STREAM_FREE;
        }
    }
    writer_u24(&frame, 8);
    writer_u8(&frame, 7);
    writer_u8(&frame, 0);
    writer_u32(&frame, 0);
    writer_u32(&frame, lowest == UINT32_MAX ? 0 : lowest - 2);
    writer_u32(&frame, 0);
    size_t n = copy(agent_link_rx(w->agent, LINK_API), writer_view(&frame));
    ASSERT(n == frame.len);
    agent_link_rx_commit(w->agent, LINK_API, n);
    w->poked = true;
}

/* --- time --- */

static void wait_connected(struct world *w)
{
    if (w->connecting && answers(w)) {
        opened(w);
    } else if (w->connecting && w->now_ms >= w->connect_ms) {
        failed(w, PEER_TIMEOUT, AUTHORITY ": no answer within 10 s");
    }
}

static void read_token(struct world *w)
{
    if (w->link >= 0 && w->now_ms >= w->token_ms) {
        w->token_ms = w->now_ms + NET_TOKEN_MS;
        if (strcmp(w->known_token, world_node(w)->token) != 0) {
            tell_token(w);
            w->poked = true;
        }
    }
}

void world_host_time(struct world *w)
{
    wait_connected(w);
    if (w->link >= 0 && net_of(w) == NET_RESETTING && w->now_ms >= w->opened_ms + NET_RESET_MS) {
        world_cut(w, AUTHORITY ": connection reset by peer");
    }
    if (w->now_ms >= w->slow_ms) {
        w->slow_ms = w->now_ms + NET_SLOW_MS;
        w->slow_out = NET_SLOW_BYTES;
        w->slow_in = NET_SLOW_BYTES;
    }
    read_token(w);
}

uint64_t world_host_deadline(const struct world *w)
{
    uint64_t at = w->connecting ? w->connect_ms : NEVER;
    if (w->link < 0) {
        return at;
    }
    at = w->token_ms < at ? w->token_ms : at;
    if (net_of(w) == NET_RESETTING && w->opened_ms + NET_RESET_MS < at) {
        at = w->opened_ms + NET_RESET_MS;
    }
    bool waiting = w->wire_len > 0 || sim_api_tx(&world_api, (unsigned)w->link).len > 0;
    if (net_of(w) == NET_SLOW && waiting && w->slow_ms < at) {
        at = w->slow_ms;
    }
    return at;
}

/* --- the process --- */

static void keep_log(struct world *w, struct view v)
{
    ASSERT(w->first == NULL);
    if (v.len >= sizeof w->log - w->log_len) {
        size_t half = w->log_len / 2;
        memmove(w->log, w->log + half, w->log_len - half);
        w->log_len -= half;
    }
    ASSERT(v.len < sizeof w->log - w->log_len);
    if (v.len > 0) {
        memcpy(w->log + w->log_len, v.data, v.len);
    }
    w->log_len += v.len;
    w->log[w->log_len] = 0;
}

static void take_log(struct world *w)
{
    struct view v = agent_log(w->agent);
    if (w->first != NULL && v.len > 0) {
        keep_log(w->first, view_text("second: "));
    }
    keep_log(world_node(w), v);
    agent_log_written(w->agent, v.len);
}

void world_note(struct world *w, const char *what, const char *detail)
{
    char line[256];
    int n = snprintf(line, sizeof line, "--- at %.3f s: %s %s\n", (double)w->now_ms / 1000.0, what,
                     detail);
    ASSERT(n > 0 && (size_t)n < sizeof line);
    keep_log(w, view_text(line));
}

void world_show_log(const struct world *w, unsigned lines)
{
    size_t from = w->log_len;
    while (from > 0 && lines > 0) {
        from--;
        lines -= from > 0 && w->log[from - 1] == '\n' ? 1 : 0;
    }
    (void)printf("%s", w->log + from);
}

static void carry_out(struct world *w, enum agent_order order)
{
    switch (order) {
    case ORDER_CONNECT_API:
        connect_api(w);
        break;
    case ORDER_READ_TOKEN:
        tell_token(w);
        break;
    case ORDER_CLOSE_API:
        model_end(w);
        break;
    case ORDER_CONNECT_PODS:
        agent_pods_failed(w->agent, "kubelet.sock: no such file or directory");
        break;
    case ORDER_CLOSE_PODS:
        break;
    case ORDER_RENEW_REGISTRATION:
        world_kubelet_up(w, w->kubelet_up);
        break;
    case ORDER_EXIT:
        w->exited = true;
        break;
    case ORDER_CLOSE_REGISTRATION:
        world_kubelet_up(w, false);
        break;
    case ORDER_OPEN_SOCKETS: /* the EFA driver's */
    case ORDER_END_DRIVER:
    case ORDER_NONE:
        break;
    }
}

/* Of the second driver there are only those that concern its own socket, and its end. */
static void carry_out_efa(struct world *w, enum agent_order order)
{
    bool closes = order == ORDER_CLOSE_REGISTRATION;
    ASSERT(closes || order == ORDER_RENEW_REGISTRATION || order == ORDER_OPEN_SOCKETS ||
           order == ORDER_END_DRIVER);
    if (order == ORDER_END_DRIVER) {
        world_efa_ended(w);
    } else {
        w->efa_open = w->efa_open || order == ORDER_OPEN_SOCKETS;
        world_efa_socket(w, !closes && w->kubelet_up);
    }
}

bool world_host_turn(struct world *w)
{
    take_log(w);
    enum agent_order order = agent_next_order(w->agent);
    bool moved = order != ORDER_NONE;
    for (; order != ORDER_NONE; order = agent_next_order(w->agent)) {
        carry_out(w, order);
    }
    struct agent *efa = w->efa;
    order = efa != NULL ? agent_next_order(efa) : ORDER_NONE;
    for (; order != ORDER_NONE; order = agent_next_order(efa)) {
        carry_out_efa(w, order);
        moved = true;
    }
    return moved;
}

void world_kill(struct world *w)
{
    steps_killed();
    model_end(w);
    w->connecting = false;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        if (w->kubelet_link[k] >= 0 || w->efa_link[k] >= 0) {
            sim_kubelet_link_end(&world_kubelet, k);
        }
        w->kubelet_link[k] = -1;
        w->efa_link[k] = -1;
    }
    w->agent = NULL;
    w->efa = NULL;
    disk_process_ended(w->first != NULL);
    steps_ended();
}

bool world_stop(struct world *w, uint64_t ms)
{
    uint64_t end = w->now_ms + ms;
    bool up = w->kubelet_up;
    agent_stop(w->agent, w->now_ms);
    w->poked = true;
    world_settle(w);
    while (w->agent != NULL && !w->exited && w->now_ms < end) {
        world_pass(w, 10);
    }
    bool ended = w->agent == NULL || w->exited;
    world_kill(w);
    w->exited = false;
    world_kubelet_up(w, up); /* and no socket, because no process runs */
    return ended;
}

/* Without --efa too, where a claim store is left of a process that had it. */
static struct agent *efa_start(struct world *w)
{
    bool left = disk_find(FILES_STATE, EFA_STORE_NAME) != NULL;
    if (!w->with_efa || !(w->settings.efa || left)) {
        return NULL;
    }
    return (w->first == NULL ? agent_add_efa : second_add_efa)(w->agent, &efa_files);
}

void world_start(struct world *w)
{
    static struct agent *memory[2]; /* one an agent: a new process starts with zeroed memory */
    unsigned i = w->first != NULL ? 1 : 0;
    world_kill(w);
    if (memory[i] != NULL) {
        memset((void *)memory[i], 0, agent_bytes);
    }
    w->exited = false;
    tally_process(&w->tally);
    memory[i] = (i == 0 ? agent_init : second_init)(&w->settings, steps_port(&disk_files),
                                                    w->seed * 2 + 1, w->now_ms, WALL_MS(w->now_ms));
    w->agent = memory[i];
    w->efa = efa_start(w);
    w->efa_open = w->settings.efa;
    agent_found(w->agent, &world_node(w)->found);
    if (w->efa != NULL) {
        agent_found_efas(w->agent, &world_node(w)->efas);
    }
    w->poked = true;
    world_kubelet_up(w, w->kubelet_up);
    world_settle(w);
}
