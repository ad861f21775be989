/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run of the whole agent begins: the objects of a cluster, and two worlds that are made
 * once and copied back for each run: a node that is up, and a process whose API server is a
 * stranger. Owns the copies: of what differs between runs, not of buffers that are empty then.
 */
#ifndef TESTS_FUZZ_AGENT_BEGIN_H
#define TESTS_FUZZ_AGENT_BEGIN_H

#include "tests/fuzz/agent_checks.h"

#define CLAIMS 11u
#define CLAIMS_OWN 8u /* the others are those of the recordings */

/* --- what the cluster holds --- */

static const struct {
    const char *name;
    const char *uid;
} recorded_claims[CLAIMS - CLAIMS_OWN] = {
    {"single-device-neurons-kggvs", "33d9a0f9-2eba-4914-b6db-0487f7b7977d"},
    {"single-device-neurons-7vt6q", "afc96b6d-ad77-4fc2-9a1d-c97a149fc50a"},
    {"single-device-neurons-nkmn6", "6b7fa7ad-0acc-4120-9d90-9be2e315fb9b"},
};

static void name_claim(struct sim_claim *c, unsigned n)
{
    memset(c, 0, sizeof *c);
    text_cut(c->ns, sizeof c->ns, view_text((n < CLAIMS_OWN) ? "ml" : "default"));
    if (n >= CLAIMS_OWN) {
        text_cut(c->name, sizeof c->name, view_text(recorded_claims[n - CLAIMS_OWN].name));
        text_cut(c->uid, sizeof c->uid, view_text(recorded_claims[n - CLAIMS_OWN].uid));
        return;
    }
    memcpy(c->name, "claim-0", 8);
    memcpy(c->uid, "c1a10000-0000-4000-8000-000000000000", 37);
    c->name[6] = (char)('0' + n);
    c->uid[35] = (char)('0' + n);
}

static void put_result(struct writer *devices, unsigned device)
{
    uint8_t bytes[256];
    char name[] = "neuron-device-0";
    struct writer w = writer_of(bytes, sizeof bytes);
    name[14] = (char)('0' + device);
    sim_put_text(&w, 1, "req");
    sim_put_text(&w, 2, DRIVER_NAME);
    sim_put_text(&w, 3, NODE_NAME);
    sim_put_text(&w, 4, name);
    sim_put_bytes(devices, 1, writer_view(&w));
}

/* Claim `n` as the scheduler allocated it; the last two of ours want a device of another one. */
static void put_claim(unsigned n, bool allocated)
{
    uint8_t bytes[5][1024];
    struct writer w[5];
    struct sim_claim c;
    name_claim(&c, n);
    for (unsigned i = 0; i < 5u; i++) {
        w[i] = writer_of(bytes[i], sizeof bytes[i]);
    }
    sim_put_text(&w[0], 1, c.name);
    sim_put_text(&w[0], 3, c.ns);
    sim_put_text(&w[0], 5, c.uid);
    put_result(&w[1], (n < 6u) ? n : n % 2u);
    if (n == 5u) {
        put_result(&w[1], 6);
    }
    sim_put_bytes(&w[2], 1, writer_view(&w[1])); /* devices, allocation, status */
    sim_put_bytes(&w[3], 1, writer_view(&w[2]));
    sim_put_bytes(&w[4], 1, writer_view(&w[0]));
    if (allocated) {
        sim_put_bytes(&w[4], 3, writer_view(&w[3]));
    }
    CHECK(sim_api_put(&api, SIM_CLAIM, writer_view(&w[4])) == STATUS_OK);
}

static void put_node(const char *layer)
{
    uint8_t bytes[3][512];
    struct writer label = writer_of(bytes[0], sizeof bytes[0]);
    struct writer meta = writer_of(bytes[1], sizeof bytes[1]);
    struct writer out = writer_of(bytes[2], sizeof bytes[2]);
    sim_put_text(&label, 1, "topology.k8s.aws/network-node-layer-1");
    sim_put_text(&label, 2, layer);
    sim_put_text(&meta, 1, NODE_NAME);
    sim_put_text(&meta, 5, "node-uid-1");
    sim_put_bytes(&meta, 11, writer_view(&label));
    sim_put_bytes(&out, 1, writer_view(&meta));
    CHECK(sim_api_put(&api, SIM_NODE, writer_view(&out)) == STATUS_OK);
}

static void find_devices(unsigned count)
{
    struct found_node *f = &world.found;
    memset(f, 0, sizeof *f);
    bool one = count == 1u;
    text_cut(f->product_name, sizeof f->product_name,
             view_text(one ? "trn1.2xlarge\n" : "trn2.48xlarge\n"));
    text_cut(f->driver_version, sizeof f->driver_version, view_text("2.26.5.0\n"));
    text_cut(f->boot_id, sizeof f->boot_id, view_text("6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e\n"));
    for (unsigned n = 0; n < count; n++) {
        f->devices[n].number = (uint16_t)n;
        f->devices[n].node_exists = true;
        text_cut(f->devices[n].core_count, sizeof f->devices[n].core_count,
                 view_text(one ? "2" : "8"));
    }
    f->count = (uint16_t)count;
}

/* --- the two beginnings, kept as copies of what differs from one run to the next --- */

struct part {
    void *at;
    size_t len;
};

#define PARTS_MAX 800u

struct beginning {
    unsigned parts;
    struct part part[PARTS_MAX];
    uint8_t *kept;
    size_t len;
};

static struct beginning beginnings[2];

static void keep(struct beginning *b, void *at, size_t len)
{
    CHECK(b->parts < PARTS_MAX);
    b->part[b->parts] = (struct part){at, len};
    b->parts++;
    b->len += len;
}

/* Connections are quiet when a copy is made: what lies in their buffers does not matter. */
static void keep_kubelet(struct beginning *b)
{
    for (unsigned i = 0; i < SIM_LINKS_MAX; i++) {
        struct sim_channel *c = &kubelet.plugin[i / 2u].channel[i % 2u];
        struct sim_grpc *g = &c->grpc;
        keep(b, c, (size_t)((uint8_t *)g->call - (uint8_t *)c));
        for (unsigned k = 0; k < SIM_CALLS_MAX; k++) {
            keep(b, &g->call[k], offsetof(struct sim_call, request));
        }
        keep(b, g->streams, sizeof g->streams);
    }
    for (unsigned i = 0; i < SIM_PLUGINS_MAX; i++) {
        keep(b, &kubelet.plugin[i], offsetof(struct sim_plugin, channel));
    }
    keep(b, &kubelet, offsetof(struct sim_kubelet, plugin));
    keep(b, kubelet.pending, sizeof kubelet.pending);
}

static void keep_api(struct beginning *b)
{
    keep(b, &api, offsetof(struct sim_api, store));
    keep(b, &api.store, offsetof(struct sim_store, object));
    for (unsigned i = 0; i < api.store.top; i++) {
        struct sim_object *o = &api.store.object[i];
        keep(b, o, offsetof(struct sim_object, body) + o->body_len);
    }
    for (unsigned i = 0; i < SIM_CONNECTIONS_MAX; i++) {
        struct sim_connection *c = &api.connection[i];
        keep(b, c, offsetof(struct sim_connection, stream));
        for (unsigned k = 0; k < SIM_STREAMS_MAX; k++) {
            keep(b, &c->stream[k], offsetof(struct sim_stream, body));
        }
    }
}

static void keep_disk(struct beginning *b)
{
    keep(b, &disk.top, sizeof disk.top);
    keep(b, disk.file, disk.top * sizeof disk.file[0]);
    for (unsigned i = 0; i < disk.top; i++) {
        unsigned pages = disk.file[i].used ? disk_pages_of(disk.file[i].len) : 0u;
        keep(b, disk.page[i], pages * sizeof disk.page[i][0]);
    }
    disk_freeze();
}

static void keep_all(struct beginning *b)
{
    keep(b, &world, sizeof world);
    keep(b, agent, offsetof(struct agents, efa)); /* that one does not run */
    keep_kubelet(b);
    keep_api(b);
    keep_disk(b);
    b->kept = (uint8_t *)malloc(b->len);
    CHECK(b->kept != NULL);
    uint8_t *to = b->kept;
    for (unsigned i = 0; i < b->parts; i++) {
        memcpy(to, b->part[i].at, b->part[i].len);
        to += b->part[i].len;
    }
}

static void begin_again(const struct beginning *b)
{
    const uint8_t *from = b->kept;
    for (unsigned i = 0; i < b->parts; i++) {
        memcpy(b->part[i].at, from, b->part[i].len);
        from += b->part[i].len;
    }
    disk_thaw();
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    promised.count = 0;
    unprepared.count = 0;
    reopened.due = false;
    released = 0;
    for (unsigned i = 0; i < LINKS_TOTAL; i++) {
        told_begin(i);
    }
}

static void kubelet_new(bool knows_v1)
{
    const struct sim_kubelet_config release = {
        .knows_v1 = knows_v1, .retries_notify = true, .notice_ms = 100};
    sim_kubelet_init(&kubelet, &release, world.now_ms);
}

static void make_beginnings(void)
{
    static const char *const args[] = {"run", "--node-name", NODE_NAME};
    static const char *const env[] = {NULL};
    static const struct sim_api_config served = {
        .token = "", .serves = {true, true, true}, .seed = 1};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    CHECK(settings_parse(&settings, args, 3, env, &why) == STATUS_OK);
    settings.claim_status = true;
    world.now_ms = START_MS;
    world.model = -1;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        world.kubelet_link[k] = -1;
    }
    text_cut(world.token, sizeof world.token, view_text(TOKEN_MARK "-1"));
    sim_api_init(&api, &served, world.now_ms);
    kubelet_new(true);
    put_node("nn-1");
    for (unsigned n = 0; n < CLAIMS; n++) {
        put_claim(n, true);
    }
    find_devices(1);
    world.api_peer = API_STRANGER;
    process_start();
    pass(1000); /* registered */
    keep_all(&beginnings[1]);
    find_devices(8);
    world.api_peer = API_MODEL;
    process_start();
    pass(3000);
    CHECK(agent_ready(agent));
    keep_all(&beginnings[0]);
}

#endif
