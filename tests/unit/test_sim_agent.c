/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in kubelet and API server around the whole agent, all in one process: what a simulator
 * does with them. Bytes move in pieces of every size that a test asks for; time moves by hand.
 */
#include "agent/state.h"
#include "cfg/identity.h"
#include "tests/sim/apiserver/sim_api.h"
#include "tests/sim/disk/sim_disk.h"
#include "tests/sim/kubelet/sim_kubelet.h"
#include "unit.h"

#define NODE_NAME "node-a"
#define TURNS_MAX 100000
#define SOCKET "/plugins_registry/neuron.aws.com-reg.sock"
#define WALL_MS(now_ms) (UINT64_C(1700000000000) + (now_ms))

static struct sim_api api;
static struct sim_kubelet kubelet;

static struct world {
    struct agent *agent;
    struct settings settings;
    struct found_node found;
    uint64_t now_ms;
    size_t cut;              /* bytes that move at a time */
    int api_link;            /* number at sim_api, -1: not connected */
    int link[SIM_LINKS_MAX]; /* agent's link of each link of the kubelet, -1: none */
    unsigned registered;
    bool exited;
    bool answered;
    int code;
    char text[2048];
    uint8_t reply[4096];
    size_t reply_len;
    unsigned requests;
    char last_request[KUBE_PATH_CAP];
} world;

/* --- bytes --- */

static size_t copy(struct writer to, struct view from)
{
    struct view v = view_first(view_first(from, world.cut), to.cap - to.len);
    if (v.len > 0) {
        memcpy(to.data + to.len, v.data, v.len);
    }
    return v.len;
}

static bool move_api(void)
{
    if (world.api_link < 0) {
        return false;
    }
    unsigned n = (unsigned)world.api_link;
    size_t out = copy(sim_api_rx(&api, n), agent_link_tx(world.agent, LINK_API));
    agent_link_tx_commit(world.agent, LINK_API, out);
    sim_api_rx_commit(&api, n, out);
    sim_api_step(&api, world.now_ms, WALL_MS(world.now_ms) / 1000);
    size_t in = copy(agent_link_rx(world.agent, LINK_API), sim_api_tx(&api, n));
    sim_api_tx_commit(&api, n, in);
    agent_link_rx_commit(world.agent, LINK_API, in);
    return out + in > 0;
}

static bool move_link(unsigned k)
{
    if (world.link[k] < 0) {
        return false;
    }
    unsigned n = (unsigned)world.link[k];
    size_t in = copy(agent_link_rx(world.agent, n), sim_kubelet_tx(&kubelet, k));
    sim_kubelet_tx_commit(&kubelet, k, in);
    agent_link_rx_commit(world.agent, n, in);
    size_t out = copy(sim_kubelet_rx(&kubelet, k), agent_link_tx(world.agent, n));
    agent_link_tx_commit(world.agent, n, out);
    sim_kubelet_rx_commit(&kubelet, k, out);
    if (agent_link_done(world.agent, n)) {
        sim_kubelet_link_end(&kubelet, k);
        world.link[k] = -1;
    }
    return in + out > 0;
}

/* --- orders and events --- */

static bool kubelet_orders(void)
{
    const char *path = NULL;
    unsigned k = 0;
    enum sim_order order = sim_kubelet_order(&kubelet, &k, &path);
    bool moved = order != SIM_ORDER_NONE;
    while (order != SIM_ORDER_NONE) {
        if (order == SIM_ORDER_CLOSE && world.link[k] >= 0) {
            agent_link_end(world.agent, (unsigned)world.link[k]);
        } else if (order == SIM_ORDER_CONNECT) {
            bool registration = strcmp(path, SOCKET) == 0;
            world.link[k] = agent_link_open(
                world.agent, registration ? LINK_REGISTRATION : LINK_SERVICE, 0, world.now_ms);
            sim_kubelet_connected(&kubelet, k, world.link[k] >= 0 ? STATUS_OK : HOST_IO);
        }
        order = sim_kubelet_order(&kubelet, &k, &path);
    }
    return moved;
}

static void kubelet_events(void)
{
    struct sim_kubelet_event e;
    while (sim_kubelet_next(&kubelet, &e) == STATUS_OK) {
        if (e.kind == SIM_KUBELET_REGISTERED) {
            assert_string_equal(e.driver, DRIVER_NAME);
            assert_string_equal(e.service, "v1.DRAPlugin");
            world.registered++;
        } else if (e.kind == SIM_KUBELET_ANSWERED) {
            world.answered = true;
            world.code = e.code;
            assert_true(e.reply.len <= sizeof world.reply);
            memcpy(world.reply, e.reply.data, e.reply.len);
            world.reply_len = e.reply.len;
            text_cut(world.text, sizeof world.text, view_text(e.text));
        }
    }
}

static void api_events(void)
{
    struct sim_api_event e;
    while (sim_api_next(&api, &e) == STATUS_OK) {
        world.requests++;
        text_cut(world.last_request, sizeof world.last_request, view_text(e.path));
    }
}

static bool agent_turn(void)
{
    bool moved = false;
    agent_step(world.agent);
    agent_log_written(world.agent, agent_log(world.agent).len);
    enum agent_order order = agent_next_order(world.agent);
    for (; order != ORDER_NONE; order = agent_next_order(world.agent)) {
        moved = true;
        if (order == ORDER_CONNECT_API) {
            agent_api_identity(world.agent, view_text("secret"), view_text("10.0.0.1:443"));
            world.api_link = sim_api_open(&api);
            assert_true(world.api_link >= 0);
            agent_api_opened(world.agent, world.now_ms);
        } else if (order == ORDER_EXIT) {
            world.exited = true;
        }
    }
    return moved;
}

/* Everything that happens at one moment. */
static void settle(void)
{
    unsigned idle = 0;
    for (unsigned i = 0; i < TURNS_MAX && idle < 3; i++) {
        sim_kubelet_step(&kubelet, world.now_ms);
        bool moved = kubelet_orders();
        for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
            moved = move_link(k) || moved;
        }
        moved = move_api() || moved;
        kubelet_events();
        api_events();
        moved = agent_turn() || moved;
        idle = moved ? 0 : idle + 1;
    }
    assert_true(idle == 3);
}

static void pass(uint64_t ms)
{
    for (uint64_t end = world.now_ms + ms; world.now_ms < end;) {
        world.now_ms += 100;
        agent_time(world.agent, world.now_ms, WALL_MS(world.now_ms));
        settle();
    }
}

/* --- a node --- */

static void put_object(enum sim_kind kind, const char *ns, const char *name, struct view rest)
{
    uint8_t meta_bytes[512];
    uint8_t bytes[2048];
    struct writer meta = writer_of(meta_bytes, sizeof meta_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&meta, 1, name);
    sim_put_text(&meta, 3, ns);
    sim_put_bytes(&w, 1, writer_view(&meta));
    writer_append(&w, rest);
    assert_false(w.full);
    assert_int_equal(sim_api_put(&api, kind, writer_view(&w)), STATUS_OK);
}

static void find_devices(void)
{
    struct found_node *f = &world.found;
    memset(f, 0, sizeof *f);
    (void)snprintf(f->product_name, SYSFS_VALUE_CAP, "trn2.48xlarge\n");
    (void)snprintf(f->driver_version, SYSFS_VALUE_CAP, "2.26.5.0\n");
    (void)snprintf(f->boot_id, SYSFS_VALUE_CAP, "6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e\n");
    for (unsigned n = 0; n < 16; n++) {
        f->devices[n].number = (uint16_t)n;
        f->devices[n].node_exists = true;
        (void)snprintf(f->devices[n].core_count, SYSFS_VALUE_CAP, "8");
    }
    f->count = 16;
}

static void agent_begin(void)
{
    static struct agent *memory; /* one: a new process starts with zeroed memory */
    if (memory != NULL) {
        memset((void *)memory, 0, sizeof(struct agents));
    }
    if (world.api_link >= 0) {
        sim_api_end(&api, (unsigned)world.api_link);
        sim_api_step(&api, world.now_ms, 0);
        assert_true(sim_api_done(&api, (unsigned)world.api_link));
        world.api_link = -1;
    }
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        if (world.link[k] >= 0) {
            sim_kubelet_link_end(&kubelet, k);
        }
        world.link[k] = -1;
    }
    memory = agent_init(&world.settings, &disk_files, 42, world.now_ms, WALL_MS(world.now_ms));
    world.agent = memory;
    agent_found(memory, &world.found);
    assert_int_equal(sim_kubelet_socket(&kubelet, SOCKET, true), STATUS_OK);
    settle();
    pass(2000);
}

static void begin_with(size_t cut, const struct sim_api_config *served)
{
    static const char *const args[] = {"run", "--node-name", NODE_NAME};
    static const char *const env[] = {NULL};
    const struct sim_kubelet_config release = {
        .knows_v1 = true, .retries_notify = true, .notice_ms = 100};
    char text[256];
    struct writer why = writer_of(text, sizeof text);
    memset(&world, 0, sizeof world);
    world.now_ms = 5000;
    world.cut = cut;
    world.api_link = -1;
    for (unsigned k = 0; k < SIM_LINKS_MAX; k++) {
        world.link[k] = -1;
    }
    disk_clear();
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    sim_api_init(&api, served, world.now_ms);
    sim_kubelet_init(&kubelet, &release, world.now_ms);
    put_object(SIM_NODE, "", NODE_NAME, view_of(NULL, 0));
    find_devices();
    assert_int_equal(settings_parse(&world.settings, args, COUNT(args), env, &why), STATUS_OK);
    agent_begin();
}

static void begin(size_t cut)
{
    const struct sim_api_config served = {
        .token = "secret", .serves = {true, true, true}, .seed = 7};
    begin_with(cut, &served);
}

/* A claim with one result, as the scheduler leaves it. */
static void put_claim(const char *name, const char *device)
{
    uint8_t result_bytes[256];
    uint8_t devices_bytes[300];
    uint8_t allocation_bytes[320];
    uint8_t status_bytes[340];
    uint8_t bytes[400];
    struct writer result = writer_of(result_bytes, sizeof result_bytes);
    struct writer devices = writer_of(devices_bytes, sizeof devices_bytes);
    struct writer allocation = writer_of(allocation_bytes, sizeof allocation_bytes);
    struct writer status = writer_of(status_bytes, sizeof status_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    sim_put_text(&result, 1, "req");
    sim_put_text(&result, 2, DRIVER_NAME);
    sim_put_text(&result, 3, NODE_NAME);
    sim_put_text(&result, 4, device);
    sim_put_bytes(&devices, 1, writer_view(&result));
    sim_put_bytes(&allocation, 1, writer_view(&devices));
    sim_put_bytes(&status, 1, writer_view(&allocation));
    sim_put_bytes(&w, 3, writer_view(&status));
    put_object(SIM_CLAIM, "ml", name, writer_view(&w));
}

static struct sim_claim claim_of(const char *name)
{
    struct sim_claim c = {.ns = "ml"};
    const struct sim_object *o =
        sim_store_find(&api.store, SIM_CLAIM, view_text("ml"), view_text(name));
    assert_non_null(o);
    text_cut(c.name, sizeof c.name, view_text(name));
    text_cut(c.uid, sizeof c.uid, view_text(o->uid));
    return c;
}

static void call(enum sim_method method, const struct sim_claim *claims, unsigned count)
{
    const struct sim_batch batch = {
        .method = method, .driver = DRIVER_NAME, .claims = claims, .count = count};
    unsigned number = 0;
    world.answered = false;
    assert_int_equal(sim_kubelet_call(&kubelet, world.now_ms, &batch, &number), STATUS_OK);
    settle();
    assert_true(world.answered);
    assert_int_equal(world.code, GRPC_OK);
}

static const struct sim_object *the_slice(void)
{
    const struct sim_object *found = NULL;
    for (unsigned i = 0; i < api.store.top; i++) {
        const struct sim_object *o = &api.store.object[i];
        if (o->state == SIM_LIVE && o->kind == SIM_SLICE) {
            assert_null(found);
            found = o;
        }
    }
    assert_non_null(found);
    return found;
}

/* --- tests --- */

static void test_node_comes_up(void **state)
{
    static const size_t cuts[] = {1, 7, 100, 65536};
    (void)state;
    for (size_t i = 0; i < COUNT(cuts); i++) {
        begin(cuts[i]);
        assert_int_equal(world.registered, 1);
        const struct sim_object *slice = the_slice();
        assert_int_equal(slice->generation, 1);
        assert_memory_equal(slice->generate_name, NODE_NAME "-", strlen(NODE_NAME "-"));
        assert_non_null(memmem(slice->body, slice->body_len, "neuron-device-15", 16));
    }
}

static void test_claim_and_back(void **state)
{
    uint8_t first[4096];
    (void)state;
    begin(1000);
    put_claim("one", "neuron-device-3");
    const struct sim_claim one = claim_of("one");
    call(SIM_PREPARE, &one, 1);
    assert_string_equal(world.text, "");
    size_t len = world.reply_len;
    memcpy(first, world.reply, len);
    agent_begin(); /* as after a kill: what is on the disk is there, all else is new */
    assert_int_equal(world.registered, 2);
    call(SIM_PREPARE, &one, 1);
    assert_int_equal(world.reply_len, len);
    assert_memory_equal(world.reply, first, len);
    call(SIM_UNPREPARE, &one, 1);
    assert_string_equal(world.text, "");
    assert_int_equal(the_slice()->generation, 1);
}

static void test_refusals_in_the_kubelets_words(void **state)
{
    (void)state;
    begin(1000);
    put_claim("one", "neuron-device-3");
    put_claim("two", "neuron-device-3");
    struct sim_claim claims[2] = {claim_of("one"), claim_of("two")};
    call(SIM_PREPARE, &claims[0], 1);
    call(SIM_PREPARE, &claims[1], 1);
    assert_non_null(strstr(world.text, "NodePrepareResources failed for ResourceClaim two: "));
    assert_non_null(strstr(world.text, "neuron-device-3"));
    text_cut(claims[1].name, sizeof claims[1].name, view_text("absent"));
    call(SIM_PREPARE, &claims[1], 1);
    assert_non_null(strstr(world.text, "failed for ResourceClaim absent: "));
}

static void test_deleted_slice_is_made_again(void **state)
{
    char name[NAME_CAP];
    (void)state;
    begin(1000);
    text_cut(name, sizeof name, view_text(the_slice()->name));
    assert_int_equal(sim_api_delete(&api, SIM_SLICE, "", name), STATUS_OK);
    pass(5000);
    assert_string_not_equal(the_slice()->name, name);
}

/* Only v1beta1 is served: the slice is kept in v1's layout all the same. */
static void test_older_api_version(void **state)
{
    const struct sim_api_config served = {
        .token = "secret", .serves = {false, false, true}, .seed = 7};
    (void)state;
    begin_with(1000, &served);
    const struct sim_object *slice = the_slice();
    struct view device =
        sim_field_bytes(sim_field_bytes(view_of(slice->body, slice->body_len), 2), 6);
    assert_view(sim_field_bytes(device, 1), "neuron-device-15");
    assert_int_equal(sim_field_bytes(sim_field_bytes(device, 2), 1).len > 0, true);
    assert_null(memmem(device.data, device.len, "neuron-device-14", 16));
    put_claim("one", "neuron-device-3");
    const struct sim_claim one = claim_of("one");
    call(SIM_PREPARE, &one, 1);
    assert_string_equal(world.text, "");
    assert_int_equal(the_slice()->generation, 1);
}

static void test_registration_socket_gone(void **state)
{
    const struct sim_batch batch = {.method = SIM_PREPARE, .driver = DRIVER_NAME};
    unsigned number = 0;
    (void)state;
    begin(1000);
    assert_int_equal(sim_kubelet_socket(&kubelet, SOCKET, false), STATUS_OK);
    settle();
    assert_int_equal(sim_kubelet_call(&kubelet, world.now_ms, &batch, &number), PEER_NOT_FOUND);
}

static void test_stops_when_asked(void **state)
{
    (void)state;
    begin(1000);
    agent_stop(world.agent, world.now_ms);
    pass(6000);
    assert_true(world.exited);
    (void)the_slice(); /* it stays */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_comes_up),
        cmocka_unit_test(test_claim_and_back),
        cmocka_unit_test(test_refusals_in_the_kubelets_words),
        cmocka_unit_test(test_deleted_slice_is_made_again),
        cmocka_unit_test(test_older_api_version),
        cmocka_unit_test(test_registration_socket_gone),
        cmocka_unit_test(test_stops_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
