/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of an UltraServer in the whole agent: what is published, what a claim for the whole node
 * gets, and that no device of it is given twice.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define LOOK_MS 5000u
#define CONFIG(kind, field, value)                                                                 \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"" kind "\",\"" field "\":" value "}"
#define MODE(value) CONFIG("UltraServerConfig", "ultraserverMode", value)

enum { NODE_CLAIM = 0, DEVICE_CLAIM = 3, OTHER_NODE_CLAIM = 5 };

static void place(const char *modes, const char *node_id)
{
    struct found_ultraserver *u = &world.found.ultraserver;
    memset(u, 0, sizeof *u);
    (void)snprintf(u->modes, sizeof u->modes, "%s", modes);
    for (unsigned i = 0; i < ULTRASERVER_SIZES; i++) {
        (void)snprintf(u->node_id[i], sizeof u->node_id[i], "%s", node_id);
        (void)snprintf(u->server_id[i], sizeof u->server_id[i], "00000000000000a%u", i);
    }
}

static struct api_claim *node_claim(unsigned n, const char *parameters)
{
    struct api_claim *c = claim_add(n);
    c->result[0].device = "neuron-node";
    c->parameters = parameters;
    return c;
}

static void begin_under(const char *kubelet, const char *devices)
{
    const char *flags[] = {"--ultraserver-devices", devices};
    world_new();
    api.kubelet = kubelet;
    settings_set(flags, 2);
    found_set("trn2u.48xlarge", 16, 8);
    for (unsigned n = 0; n < 16; n++) {
        world.found.devices[n].reading = (struct device_reading){.known = true};
    }
    place("1,3,4", "2");
    (void)node_claim(NODE_CLAIM, MODE("4"));
    (void)node_claim(OTHER_NODE_CLAIM, NULL);
    (void)claim_add(DEVICE_CLAIM);
    node_up();
    assert_true(publish_current(world.agent));
    log_forget();
    api_forget();
}

static void begin_with(const char *devices)
{
    begin_under("v1.36.0", devices);
}

static void begin(void)
{
    begin_with("node");
}

static void look(void)
{
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(LOOK_MS);
}

static void broken(unsigned n)
{
    struct device_reading *r = &world.found.devices[n].reading;
    *r = (struct device_reading){0};
    device_reading_components(r, view_text("hbm"), true);
}

/* The published device of this name; empty: there is none. */
static struct view stored(const char *name)
{
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    while (proto_next(&in, &f)) {
        if (f.number == 6 && view_is(proto_get(f.bytes, 1).bytes, name)) {
            return f.bytes;
        }
    }
    return view_of(NULL, 0);
}

static unsigned taints(void)
{
    return (unsigned)proto_count(stored("neuron-node"), 8);
}

static bool cdi_has(unsigned n, const char *text)
{
    struct view all = file_content(cdi_of(n));
    return memmem(all.data, all.len, text, strlen(text)) != NULL;
}

/* --- what is published --- */

static void test_published(void **state)
{
    (void)state;
    begin_with("node");
    assert_int_equal(slice_devices(api_slice_only()), 1);
    assert_int_not_equal(stored("neuron-node").len, 0);
    begin_with("devices");
    assert_int_equal(slice_devices(api_slice_only()), 16);
    assert_int_equal(stored("neuron-node").len, 0);
}

/* How many shared counters a slice has. */
static unsigned shared(const struct sim_object *s)
{
    return (unsigned)proto_count(proto_get(slice_spec(s), 8).bytes, 2);
}

/* The slice with the shared counters, or the one with devices. */
static struct sim_object *slice_with(bool counters)
{
    assert_int_equal(api_slices(), 2);
    struct sim_object *first = api_slice_at(0);
    return ((shared(first) > 0) == counters) ? first : api_slice_at(1);
}

/* The counters that the devices of a slice take, all together. */
static unsigned taken(const struct sim_object *s)
{
    struct reader in = reader_of(slice_spec(s));
    struct sim_field f;
    unsigned n = 0;
    while (proto_next(&in, &f)) {
        n += (f.number == 6) ? (unsigned)proto_count(proto_get(f.bytes, 4).bytes, 2) : 0;
    }
    return n;
}

static void check_both(void)
{
    assert_true(publish_current(world.agent));
    assert_int_equal(shared(slice_with(true)), 16);
    assert_int_equal(slice_devices(slice_with(true)), 0);
    assert_int_equal(slice_devices(slice_with(false)), 17);
    assert_int_equal(taken(slice_with(false)), 16 + 16);
    assert_int_equal(slice_generation(slice_with(true)), slice_generation(slice_with(false)));
}

/* The node and its devices, each of which takes from the counters: no scheduler gives one twice. */
static void test_both(void **state)
{
    static const char *const with_counters[] = {"auto", "both"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin_with(with_counters[i]);
        check_both();
        restart();
        pass(60000);
        check_both();
        assert_int_equal(api_writes(), 0);
        api_slice_delete(slice_with(true));
        pass(60000);
        check_both();
        api_slice_cut(slice_with(false));
        pass(60000);
        check_both();
    }
    broken(3);
    look();
    check_both();
}

/* A kubelet is never newer than its API server: with an older one the node is alone. */
static void test_older_kubelet(void **state)
{
    static const char *const kubelets[] = {"v1.35.4", "v1.4", "v2.40.0", "1.36.0", "v1.x.0", ""};
    (void)state;
    for (unsigned i = 0; i < sizeof kubelets / sizeof kubelets[0]; i++) {
        begin_under(kubelets[i], "auto");
        assert_int_equal(slice_devices(api_slice_only()), 1);
        assert_true(publish_current(world.agent));
    }
}

/* A kubelet is updated and taken back: the node's devices come and go, and what is held stays. */
static void test_kubelet_updated(void **state)
{
    (void)state;
    begin_under("v1.35.4", "auto");
    prepare_well(NODE_CLAIM, 1);
    api.kubelet = "v1.36.0";
    api_node_touch();
    pass(60000);
    check_both();
    const char *error = prepare_error(prepare_now(DEVICE_CLAIM, 1), DEVICE_CLAIM);
    assert_non_null(strstr(error, "neuron-device-3 is already held by claim ml/claim-0"));
    unprepare_well(NODE_CLAIM, 1);
    prepare_well(DEVICE_CLAIM, 1);
    api.kubelet = "v1.35.4";
    api_node_touch();
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 1);
    error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(strstr(error, "neuron-device-3 is already held by claim ml/claim-3"));
}

/* A server without shared counters, found out when it drops them. */
static void test_counters_dropped(void **state)
{
    (void)state;
    begin_with("both");
    api_slice_delete(slice_with(true));
    api.drops_counters = true;
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 1);
    assert_int_not_equal(stored("neuron-node").len, 0);
    assert_true(publish_current(world.agent));
    log_has("event=slice_fields_dropped");
    api_forget();
    pass(600000);
    assert_int_equal(api_writes(), 0);
}

/* One device that is missing: the type is not whole, and no part of it is given away. */
static void test_incomplete(void **state)
{
    (void)state;
    begin();
    world.found.count = 15;
    look();
    /* it was there: unhealthy, and nobody has it */
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_string_equal(
        prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM),
        "device neuron-node not found on node node-a: it needs all devices of the instance type, "
        "and only 15 are here (see dmesg); delete the pod to get another node");
    world.found.count = 16;
    look();
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 1);
}

static void test_taint(void **state)
{
    (void)state;
    begin();
    broken(3);
    look();
    assert_int_equal(taints(), 1);
    assert_int_equal(api_writes(), 1);
    broken(7);
    look();
    assert_int_equal(taints(), 1);
    world.found.devices[3].reading = (struct device_reading){.known = true};
    look();
    assert_int_equal(taints(), 1);
    world.found.devices[7].reading = (struct device_reading){.known = true};
    look();
    assert_int_equal(taints(), 0);
}

/* Where the server drops taints, the node is left out, but not while a claim holds it. */
static void test_taints_dropped(void **state)
{
    (void)state;
    begin();
    api.drops_taints = true;
    prepare_well(NODE_CLAIM, 1);
    broken(3);
    look();
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 1);
    assert_int_equal(taints(), 0);
    assert_true(publish_current(world.agent));
    unprepare_well(NODE_CLAIM, 1);
    look();
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(publish_current(world.agent));
}

static void test_vanished_in_use(void **state)
{
    (void)state;
    begin();
    prepare_well(NODE_CLAIM, 1);
    world.found.count = 15;
    look();
    assert_int_equal(slice_devices(api_slice_only()), 1);
    assert_int_equal(taints(), 1);
}

/* --- what a claim gets --- */

static void test_prepared(void **state)
{
    (void)state;
    begin();
    struct view reply = prepare_now(NODE_CLAIM, 1);
    assert_string_equal(prepare_error(reply, NODE_CLAIM), "");
    struct view device = proto_get(entry_of(reply, NODE_CLAIM), 1).bytes;
    assert_true(view_is(proto_get(device, 3).bytes, "neuron-node"));
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_MODE=1\""));
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_SERVER_ID=00000000000000a1\""));
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=2\""));
    assert_true(cdi_has(NODE_CLAIM, "\"/dev/neuron0\"") &&
                cdi_has(NODE_CLAIM, "\"/dev/neuron15\""));
    log_has("kind=UltraServerConfig ultraserverMode=4");
    /* the record says the same to the next process, and to one that rebuilds the file */
    restart();
    register_driver();
    disk_unlink(cdi_of(NODE_CLAIM));
    prepare_well(NODE_CLAIM, 1);
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=2\""));
    assert_true(cdi_has(NODE_CLAIM, "\"/dev/neuron15\""));
}

/* Two configurations of one request that differ: the last one counts, and that is logged. */
static void test_ambiguous_mode(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = node_claim(OTHER_NODE_CLAIM, MODE("4"));
    c->results = 2;
    c->result[1] = c->result[0];
    c->result[1].request = "second";
    c->result[0].admin = c->result[1].admin = true;
    c->parameters_of = "second";
    c->more_parameters = MODE("1");
    prepare_well(OTHER_NODE_CLAIM, 1);
    log_has("ultraserverMode=1 other=4");
}

/* Two requests of a claim ask for two modes: it is refused, and the log has both. */
static void test_two_modes(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = node_claim(OTHER_NODE_CLAIM, MODE("4"));
    c->results = 2;
    c->result[1] = c->result[0];
    c->result[1].request = "second";
    c->result[0].admin = c->result[1].admin = true;
    c->parameters_of = "req";
    c->more_parameters = MODE("1");
    const char *error = prepare_error(prepare_now(OTHER_NODE_CLAIM, 1), OTHER_NODE_CLAIM);
    assert_non_null(strstr(error, "asks for two UltraServer modes"));
    assert_int_equal(said("event=\"Opaque device configs\""), 2);
    log_has("request=req apiVersion=neuron.aws.com/v1 kind=UltraServerConfig ultraserverMode=4\n");
    log_has(
        "request=second apiVersion=neuron.aws.com/v1 kind=UltraServerConfig ultraserverMode=1\n");
}

/* The claim's status names the mode; the node and its first device are two entries. */
static void test_status(void **state)
{
    const char *flags[] = {"--ultraserver-devices", "both", "--claim-status=true"};
    (void)state;
    begin_with("both");
    kill_agent();
    settings_set(flags, 3);
    struct api_claim *both = claim_add(OTHER_NODE_CLAIM + 1u);
    both->results = 2;
    both->result[0] = (struct api_allocation){"a", "neuron-node", NULL, .admin = true};
    both->result[1] = (struct api_allocation){"b", "neuron-device-0", NULL, .admin = true};
    start();
    register_driver();
    pass(5000);
    prepare_well(NODE_CLAIM, 1);
    pass(1000);
    assert_non_null(strstr(took.status, "\"data\":{\"ultraserverMode\":4}"));
    prepare_well(OTHER_NODE_CLAIM + 1u, 1);
    pass(1000);
    assert_non_null(strstr(took.status, "\"device\":\"neuron-node\""));
    assert_non_null(strstr(took.status, "\"device\":\"neuron-device-0\""));
}

/* Without a configuration the runtime decides. */
static void test_prepared_without_a_mode(void **state)
{
    (void)state;
    begin();
    prepare_well(OTHER_NODE_CLAIM, 1);
    assert_false(cdi_has(OTHER_NODE_CLAIM, "NEURON_RT"));
}

static void test_given_once(void **state)
{
    (void)state;
    begin();
    prepare_well(NODE_CLAIM, 1);
    const char *error = prepare_error(prepare_now(DEVICE_CLAIM, 1), DEVICE_CLAIM);
    assert_non_null(strstr(error, "neuron-device-3 is already held by claim ml/claim-0"));
    error = prepare_error(prepare_now(OTHER_NODE_CLAIM, 1), OTHER_NODE_CLAIM);
    assert_non_null(strstr(error, "is already held by claim ml/claim-0"));
    unprepare_well(NODE_CLAIM, 1);
    prepare_well(DEVICE_CLAIM, 1);
    error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(strstr(error, "neuron-device-3 is already held by claim ml/claim-3"));
    restart();
    register_driver();
    error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(strstr(error, "neuron-device-3 is already held by claim ml/claim-3"));
}

/* The kubelet asks again until the nodes have found each other. */
static void test_election(void **state)
{
    (void)state;
    begin();
    place("busy", "busy");
    look();
    log_has("issue=ultraserver-mode value=busy");
    const char *error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(strstr(error, "still finding each other"));
    assert_null(cdi_of(NODE_CLAIM));
    place("1,3,4", "0");
    look();
    prepare_well(NODE_CLAIM, 1);
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=0\""));
}

/* The kernel module was loaded again, and the nodes have other numbers: containers to come know. */
static void test_elected_anew(void **state)
{
    (void)state;
    begin();
    prepare_well(NODE_CLAIM, 1);
    place("1,3,4", "3");
    look();
    prepare_well(NODE_CLAIM, 1);
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=3\""));
}

static void test_mode_not_offered(void **state)
{
    (void)state;
    begin();
    place("4", "-1");
    look();
    const char *error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(
        strstr(error, "ultraserverMode 4 (four nodes) is not possible on this node now"));
}

/* Between two looks at the node the class files change: the claim goes by what they say now. */
static void test_looked_at_in_the_prepare(void **state)
{
    (void)state;
    begin();
    struct found_ultraserver now = world.found.ultraserver;
    disk.ultraserver = &now;
    text_set(now.modes, sizeof now.modes, "3,4");
    const char *error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(
        strstr(error, "ultraserverMode 4 (four nodes) is not possible on this node now"));
    assert_non_null(strstr(error, "possible: 1 or 2."));
    text_set(now.modes, sizeof now.modes, "busy");
    error = prepare_error(prepare_now(NODE_CLAIM, 1), NODE_CLAIM);
    assert_non_null(strstr(error, "still finding each other"));
    assert_null(cdi_of(NODE_CLAIM));
    prepare_well(OTHER_NODE_CLAIM, 1); /* it asks for no mode */
    unprepare_well(OTHER_NODE_CLAIM, 1);
    text_set(now.modes, sizeof now.modes, "1,4");
    text_set(now.node_id[ULTRASERVER_QUAD], sizeof now.node_id[0], "3");
    prepare_well(NODE_CLAIM, 1);
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=3\""));
    /* what is prepared is not taken back */
    text_set(now.modes, sizeof now.modes, "busy");
    prepare_well(NODE_CLAIM, 1);
}

/* The last look counts where the files cannot be read, as when the process has no descriptor. */
static void test_no_look_in_the_prepare(void **state)
{
    (void)state;
    begin();
    disk.ultraserver = NULL;
    prepare_well(NODE_CLAIM, 1);
    assert_true(cdi_has(NODE_CLAIM, "\"NEURON_RT_ULTRASERVER_NODE_ID=2\""));
}

/* --- the health stream --- */

/* Name and health of the last entry of the first report. */
static uint64_t last_entry(const struct peer_call *c, char *name, size_t cap)
{
    struct reader in = reader_of(view_of(c->bytes + 5, c->len - 5));
    struct sim_field f;
    uint64_t health = 0;
    while (proto_next(&in, &f)) {
        proto_text(proto_get(f.bytes, 1).bytes, 2, name, cap);
        health = proto_count(f.bytes, 2) > 0 ? proto_get(f.bytes, 2).value : 0;
    }
    return health;
}

static uint64_t node_health(void)
{
    char name[64] = "";
    struct peer *p = service_open();
    const struct peer_call *c =
        call_send(p, "/v1.DRAResourceHealth/NodeWatchResources", view_of(NULL, 0));
    settle();
    uint64_t health = last_entry(c, name, sizeof name);
    assert_string_equal(name, "neuron-node");
    peer_close(p);
    return health;
}

static void test_health(void **state)
{
    (void)state;
    begin();
    assert_int_equal(node_health(), 1);
    world.found.devices[9].reading = (struct device_reading){0};
    look();
    assert_int_equal(node_health(), 0);
    broken(3);
    look();
    assert_int_equal(node_health(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_older_kubelet),
        cmocka_unit_test(test_kubelet_updated),
        cmocka_unit_test(test_counters_dropped),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_taint),
        cmocka_unit_test(test_taints_dropped),
        cmocka_unit_test(test_vanished_in_use),
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_ambiguous_mode),
        cmocka_unit_test(test_two_modes),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_prepared_without_a_mode),
        cmocka_unit_test(test_given_once),
        cmocka_unit_test(test_election),
        cmocka_unit_test(test_elected_anew),
        cmocka_unit_test(test_mode_not_offered),
        cmocka_unit_test(test_looked_at_in_the_prepare),
        cmocka_unit_test(test_no_look_in_the_prepare),
        cmocka_unit_test(test_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
