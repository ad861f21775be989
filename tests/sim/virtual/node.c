/* SPDX-License-Identifier: Apache-2.0 */
/* Kubelet, devices and the Node object of the simulated node; see world.h. */
#include <stdio.h>
#include <string.h>

#include "agent/state.h"
#include "base/assert.h"
#include "cfg/identity.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/virtual/steps.h"
#include "tests/sim/virtual/world.h"

/* The kubelet writes the status of its Node this often although nothing changed. */
#define BEAT_MS 300000

/* --- the kubelet's connections --- */

static size_t copy(struct writer to, struct view from)
{
    struct view v = view_first(from, to.cap - to.len);
    if (v.len > 0) {
        memcpy(to.data + to.len, v.data, v.len);
    }
    return v.len;
}

/* `link`: of the driver `agent`, to the kubelet's link `k`. */
static bool driver_bytes(struct agent *agent, int *link, unsigned k)
{
    if (*link < 0) {
        return false;
    }
    unsigned n = (unsigned)*link;
    size_t in = copy(agent_link_rx(agent, n), sim_kubelet_tx(&world_kubelet, k));
    sim_kubelet_tx_commit(&world_kubelet, k, in);
    agent_link_rx_commit(agent, n, in);
    size_t out = copy(sim_kubelet_rx(&world_kubelet, k), agent_link_tx(agent, n));
    agent_link_tx_commit(agent, n, out);
    sim_kubelet_rx_commit(&world_kubelet, k, out);
    if (agent_link_done(agent, n)) {
        sim_kubelet_link_end(&world_kubelet, k);
        *link = -1;
    }
    return in + out > 0;
}

static bool link_bytes(struct world *w, unsigned k)
{
    bool moved = driver_bytes(w->agent, &w->kubelet_link[k], k);
    return driver_bytes(w->efa, &w->efa_link[k], k) || moved;
}

static void close_link(struct world *w, unsigned k)
{
    if (w->kubelet_link[k] >= 0) {
        agent_link_end(w->agent, (unsigned)w->kubelet_link[k]);
        w->poked = true;
    }
    if (w->efa_link[k] >= 0) {
        agent_link_end(w->efa, (unsigned)w->efa_link[k]);
        w->poked = true;
    }
}

void world_efa_ended(struct world *w)
{
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        if (w->efa_link[k] >= 0) {
            sim_kubelet_link_end(&world_kubelet, k);
        }
        w->efa_link[k] = -1;
    }
    w->efa = NULL;
    w->efa_open = false;
    disk_driver_ended(DRIVER_EFA, w->first != NULL);
    world_efa_socket(w, false);
}

/* Which driver of the world has the socket. */
static enum driver_kind driver_of(const struct world *w, const char *path)
{
    const struct driver *efa = &w->settings.driver[DRIVER_EFA];
    bool is_efa = w->with_efa && (strcmp(path, efa->registration_socket) == 0 ||
                                  strcmp(path, efa->service_socket) == 0);
    return is_efa ? DRIVER_EFA : DRIVER_NEURON;
}

static void carry_out(struct world *w, enum sim_order order, unsigned k, const char *path)
{
    if (order == SIM_ORDER_CLOSE) {
        close_link(w, k);
        if (w->second != NULL) {
            close_link(w->second, k);
        }
        return;
    }
    bool second = w->second != NULL && strstr(path, SECOND_UID) != NULL;
    struct world *to = second ? w->second : w;
    enum driver_kind driver = driver_of(to, path);
    bool registration = strcmp(path, to->settings.driver[driver].registration_socket) == 0;
    enum link_kind kind = registration ? LINK_REGISTRATION : LINK_SERVICE;
    struct agent *agent = driver == DRIVER_EFA ? to->efa : to->agent;
    int *link = driver == DRIVER_EFA ? &to->efa_link[k] : &to->kubelet_link[k];
    *link = agent != NULL ? agent_link_open(agent, kind, 0, w->now_ms) : -1;
    sim_kubelet_connected(&world_kubelet, k, *link >= 0 ? STATUS_OK : HOST_IO);
}

static bool orders(struct world *w)
{
    const char *path = NULL;
    unsigned k = 0;
    enum sim_order order = sim_kubelet_order(&world_kubelet, &k, &path);
    bool moved = order != SIM_ORDER_NONE;
    while (order != SIM_ORDER_NONE) {
        carry_out(w, order, k, path);
        order = sim_kubelet_order(&world_kubelet, &k, &path);
    }
    return moved;
}

static void events(struct world *w)
{
    struct sim_kubelet_event e;
    while (sim_kubelet_next(&world_kubelet, &e) == STATUS_OK) {
        if (e.kind == SIM_KUBELET_REGISTERED) {
            w->registered++;
        } else if (e.kind == SIM_KUBELET_ANSWERED) {
            bool efa = w->efa_answered.asked && e.call == w->efa_answered.call;
            struct answered *answered = efa ? &w->efa_answered : &w->answered;
            answered->asked = false;
            answered->done = true;
            answered->well = e.code == GRPC_OK && e.text[0] == 0;
            text_cut(answered->text, sizeof answered->text, view_text(e.text));
            if (!efa) {
                steps_answered(answered->well);
            }
        }
    }
}

bool world_node_turn(struct world *w)
{
    sim_kubelet_step(&world_kubelet, w->now_ms);
    bool moved = orders(w);
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        moved = link_bytes(w, k) || moved;
        moved = (w->second != NULL && link_bytes(w->second, k)) || moved;
    }
    events(w);
    return moved;
}

static void see_socket(struct world *w, unsigned driver, bool open)
{
    enum status s =
        sim_kubelet_socket(&world_kubelet, w->settings.driver[driver].registration_socket, open);
    ASSERT(s == STATUS_OK);
}

void world_efa_socket(struct world *w, bool up)
{
    see_socket(w, DRIVER_EFA, up && w->efa != NULL && w->efa_open);
}

void world_kubelet_up(struct world *w, bool up)
{
    w->kubelet_up = up;
    see_socket(w, DRIVER_NEURON, up && w->agent != NULL);
    if (w->with_efa) {
        world_efa_socket(w, up);
    }
}

void world_wipe(struct world *w)
{
    for (unsigned i = 0; i < world_api.store.top; i++) {
        struct sim_object *o = &world_api.store.object[i];
        struct view spec = sim_field_bytes(view_of(o->body, o->body_len), 2);
        bool here = o->state == SIM_LIVE && o->kind == SIM_SLICE;
        if (here && view_is(sim_field_bytes(spec, 3), NODE_NAME)) {
            sim_store_delete(&world_api.store, o);
        }
    }
    foreign_put(w);
}

void world_kubelet_restart(struct world *w, bool wipe)
{
    const struct sim_kubelet_config release = world_kubelet.config;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        close_link(w, k);
    }
    w->poked = true;
    world_settle(w);
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        w->kubelet_link[k] = -1;
        w->efa_link[k] = -1;
    }
    sim_kubelet_init(&world_kubelet, &release, w->now_ms);
    if (wipe) {
        world_wipe(w);
    }
    world_kubelet_up(w, true);
}

/* --- claims that the scheduler allocated --- */

bool world_parts;

void world_parted(struct world *w, bool parts)
{
    world_parts = parts;
    w->settings.driver[DRIVER_NEURON].shares = parts ? SHARED_CORES_MAX : 1u;
}

/* A share of a device, and the cores that it takes. */
static void put_part(struct writer *result, const char *uid)
{
    uint8_t bytes[2][64];
    struct writer quantity = writer_of(bytes[0], sizeof bytes[0]);
    struct writer entry = writer_of(bytes[1], sizeof bytes[1]);
    sim_put_text(&quantity, 1, "4");
    sim_put_text(&entry, 1, CORES_CAPACITY);
    sim_put_bytes(&entry, 2, writer_view(&quantity));
    sim_put_text(result, 9, uid); /* any text that no other share has */
    sim_put_bytes(result, 10, writer_view(&entry));
}

void world_claim_put(const char *name, const char *uid, unsigned device, bool reserved)
{
    uint8_t bytes[7][512];
    struct writer w[7];
    char text[32];
    for (unsigned i = 0; i < 7; i++) {
        w[i] = writer_of(bytes[i], sizeof bytes[i]);
    }
    sim_put_text(&w[0], 1, name); /* metadata */
    sim_put_text(&w[0], 3, "ml");
    sim_put_text(&w[0], 5, uid);
    sim_put_text(&w[1], 1, "req"); /* result, devices, allocation, status */
    sim_put_text(&w[1], 2, DRIVER_NAME);
    sim_put_text(&w[1], 3, NODE_NAME);
    (void)snprintf(text, sizeof text, "neuron-device-%u", device);
    sim_put_text(&w[1], 4, text);
    if (world_parts) {
        put_part(&w[1], uid);
    }
    sim_put_bytes(&w[2], 1, writer_view(&w[1]));
    sim_put_bytes(&w[3], 1, writer_view(&w[2]));
    if (device != WORLD_NO_DEVICE) {
        sim_put_bytes(&w[4], 1, writer_view(&w[3]));
    }
    sim_put_text(&w[6], 3, "pods"); /* consumer */
    sim_put_text(&w[6], 4, name);
    sim_put_text(&w[6], 5, uid);
    if (reserved) {
        sim_put_bytes(&w[4], 2, writer_view(&w[6]));
    }
    sim_put_bytes(&w[5], 1, writer_view(&w[0]));
    sim_put_bytes(&w[5], 3, writer_view(&w[4]));
    enum status s = sim_api_put(&world_api, SIM_CLAIM, writer_view(&w[5]));
    ASSERT(s == STATUS_OK);
    steps_claim(name, uid, device != WORLD_NO_DEVICE, reserved);
}

static void put_result(struct writer *devices, const char *request, const char *driver,
                       const char *device)
{
    uint8_t bytes[512];
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&w, 1, request);
    sim_put_text(&w, 2, driver);
    sim_put_text(&w, 3, NODE_NAME);
    sim_put_text(&w, 4, device);
    sim_put_bytes(devices, 1, writer_view(&w));
}

void world_claim_put_both(const char *name, const char *uid, unsigned device, unsigned efa)
{
    uint8_t bytes[5][2048];
    struct writer w[5]; /* metadata; devices, allocation, status; claim */
    char text[DEVICE_NAME_CAP];
    for (unsigned i = 0; i < 5; i++) {
        w[i] = writer_of(bytes[i], sizeof bytes[i]);
    }
    sim_put_text(&w[0], 1, name);
    sim_put_text(&w[0], 3, "ml");
    sim_put_text(&w[0], 5, uid);
    (void)snprintf(text, sizeof text, "neuron-device-%u", device);
    put_result(&w[1], "neurons", DRIVER_NAME, text);
    efa_device_name(world_efa_address(efa), text);
    put_result(&w[1], "efas", EFA_DRIVER_NAME, text);
    sim_put_bytes(&w[2], 1, writer_view(&w[1]));
    sim_put_bytes(&w[3], 1, writer_view(&w[2]));
    sim_put_bytes(&w[4], 1, writer_view(&w[0]));
    sim_put_bytes(&w[4], 3, writer_view(&w[3]));
    ASSERT(!w[4].full);
    enum status s = sim_api_put(&world_api, SIM_CLAIM, writer_view(&w[4]));
    ASSERT(s == STATUS_OK);
}

void world_claim_delete(const char *name)
{
    enum status s = sim_api_delete(&world_api, SIM_CLAIM, "ml", name);
    ASSERT(s == STATUS_OK);
    steps_claim_deleted(name);
}

static void held_name(unsigned index, char name[WORLD_CLAIM_CAP], char uid[WORLD_CLAIM_CAP])
{
    ASSERT(index < HELD_CLAIMS);
    (void)snprintf(name, WORLD_CLAIM_CAP, "held-%u", index);
    (void)snprintf(uid, WORLD_CLAIM_CAP, "claim-uid-%u", index);
}

void claims_put(void)
{
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
    for (unsigned i = 0; i < HELD_CLAIMS; i++) {
        held_name(i, name, uid);
        world_claim_put(name, uid, i, false);
    }
}

/* --- the kubelet's calls --- */

bool world_ask(struct world *w, enum driver_kind driver, bool unprepare, const char *name,
               const char *uid)
{
    struct sim_claim claim = {.ns = "ml"};
    const struct sim_batch batch = {.method = unprepare ? SIM_UNPREPARE : SIM_PREPARE,
                                    .driver = w->settings.driver[driver].name,
                                    .claims = &claim,
                                    .count = 1};
    struct answered *answered = driver == DRIVER_EFA ? &w->efa_answered : &w->answered;
    text_set(claim.name, sizeof claim.name, name);
    text_set(claim.uid, sizeof claim.uid, uid);
    *answered = (struct answered){.text = "no answer"};
    if (sim_kubelet_call(&world_kubelet, w->now_ms, &batch, &answered->call) != STATUS_OK) {
        text_cut(answered->text, sizeof answered->text, view_text("not connected"));
        return false;
    }
    answered->asked = true;
    if (driver == DRIVER_NEURON) {
        steps_call(uid, unprepare);
    }
    return true;
}

bool world_call(struct world *w, bool unprepare, const char *name, const char *uid)
{
    if (!world_ask(w, DRIVER_NEURON, unprepare, name, uid)) {
        return false;
    }
    world_settle(w);
    return w->answered.done && w->answered.well;
}

static bool call_held(struct world *w, bool unprepare, unsigned index)
{
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
    held_name(index, name, uid);
    return world_call(w, unprepare, name, uid);
}

bool world_prepare(struct world *w, unsigned index)
{
    return call_held(w, false, index);
}

bool world_unprepare(struct world *w, unsigned index)
{
    return call_held(w, true, index);
}

bool world_holds(const struct world *w, unsigned index)
{
    char name[WORLD_CLAIM_CAP];
    char uid[WORLD_CLAIM_CAP];
    held_name(index, name, uid);
    return w->agent != NULL && ledger_find(w->agent, uid) >= 0;
}

/* --- devices --- */

static void tell(struct world *w, const struct found_node *found)
{
    const struct found_efas *efas = &w->efas;
    for (; w != NULL; w = w->second) {
        if (w->agent != NULL) {
            agent_found(w->agent, found);
            w->poked = true;
        }
        if (w->efa != NULL) {
            agent_found_efas(w->agent, efas);
        }
    }
}

void world_devices(struct world *w, unsigned count, bool told)
{
    struct found_node *f = &w->found;
    ASSERT(count <= DEVICES_MAX);
    memset(f, 0, sizeof *f);
    (void)snprintf(f->product_name, sizeof f->product_name, "%s\n", w->type_label);
    (void)snprintf(f->driver_version, sizeof f->driver_version, "2.26.5.0\n");
    (void)snprintf(f->boot_id, sizeof f->boot_id, "6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e\n");
    for (unsigned n = 0; n < count; n++) {
        f->devices[n].number = (uint16_t)n;
        f->devices[n].node_exists = true;
        (void)snprintf(f->devices[n].core_count, sizeof f->devices[n].core_count, "8");
    }
    f->count = (uint16_t)count;
    if (told) {
        tell(w, f);
    }
}

uint32_t world_efa_address(unsigned number)
{
    uint32_t address = 0;
    const struct board *board = board_find("trn2.48xlarge");
    ASSERT(board != NULL && board->efa != NULL && number < BOARD_GROUPED_DEVICES);
    bool good = pci_address_parse(view_text(board->efa->address[number]), &address);
    ASSERT(good);
    return address;
}

void world_efa_devices(struct world *w)
{
    w->efas = (struct found_efas){.count = BOARD_GROUPED_DEVICES};
    for (unsigned n = 0; n < BOARD_GROUPED_DEVICES; n++) {
        struct found_efa *e = &w->efas.efa[n];
        *e = (struct found_efa){.address = world_efa_address(n),
                                .verbs = true,
                                .node_exists = true,
                                .number = (uint16_t)n,
                                .port_state = "4: ACTIVE"};
        (void)snprintf(e->rdma_name, sizeof e->rdma_name, "rdmap%us0", n);
    }
}

void world_efas_found(struct world *w)
{
    tell(w, &w->found);
}

void world_device_gone(struct world *w, unsigned number)
{
    struct found_node *f = &w->found;
    unsigned kept = 0;
    for (unsigned i = 0; i < f->count; i++) {
        if (f->devices[i].number != number) {
            f->devices[kept++] = f->devices[i];
        }
    }
    f->count = (uint16_t)kept;
    tell(w, f);
}

void world_device_says(struct world *w, unsigned number, const char *components)
{
    struct device_reading *r = &w->found.devices[number].reading;
    ASSERT(number < w->found.count);
    *r = (struct device_reading){0};
    device_reading_components(r, view_text(components), true);
    tell(w, &w->found);
}

void world_look_fails(struct world *w)
{
    struct found_node f = w->found;
    f.unknown = true;
    f.count = 0;
    tell(w, &f);
}

/* --- the Node --- */

static void put_label(struct writer *meta, const char *key, const char *value)
{
    uint8_t bytes[256];
    struct writer entry = writer_of(bytes, sizeof bytes);
    if (value != NULL) {
        sim_put_text(&entry, 1, key);
        sim_put_text(&entry, 2, value);
        ASSERT(!entry.full);
        sim_put_bytes(meta, 11, writer_view(&entry));
    }
}

void world_node_put(struct world *w)
{
    uint8_t meta_bytes[1024];
    uint8_t bytes[2048];
    char key[64];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer out = writer_of(bytes, sizeof bytes);
    sim_put_text(&meta, 1, NODE_NAME);
    sim_put_text(&meta, 5, w->node_uid);
    put_label(&meta, "kubernetes.io/hostname", NODE_NAME);
    put_label(&meta, "node.kubernetes.io/instance-type", w->type_label);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(key, sizeof key, "topology.k8s.aws/network-node-layer-%u", i + 1);
        put_label(&meta, key, w->layers[i]);
    }
    sim_put_bytes(&out, 1, writer_view(&meta));
    sim_put_value(&out, 15, ++w->beats); /* stands for the heartbeats of its conditions */
    enum status s = sim_api_put(&world_api, SIM_NODE, writer_view(&out));
    ASSERT(s == STATUS_OK);
    w->beat_ms = w->now_ms + BEAT_MS;
}

void world_node_again(struct world *w, const char *uid)
{
    enum status s = sim_api_delete(&world_api, SIM_NODE, "", NODE_NAME);
    ASSERT(s == STATUS_OK);
    w->node_uid = uid;
    world_node_put(w);
}

void world_node_time(struct world *w)
{
    if (w->now_ms >= w->beat_ms) {
        world_node_put(w);
    }
    if (w->now_ms >= w->look_ms) {
        tell(w, &w->found);
        w->look_ms = w->now_ms + NODE_LOOK_MS;
    }
}

uint64_t world_node_deadline(const struct world *w)
{
    return w->beat_ms < w->look_ms ? w->beat_ms : w->look_ms;
}
