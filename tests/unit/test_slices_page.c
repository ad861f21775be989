/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /slicesz of one driver and of two, written from their tables alone: which slices it
 * shows with and without a plan, and its notes about what the slices lack.
 */
#include "tests/unit/node/board_vectors.h"

#include "agent/publish/listing.h"
#include "agent/serve/slicesz.h"
#include "agent/state.h"
#include "dra/efa.h"

static struct agent agents[2];
static struct publish publishers[2];
static struct node nodes[2];
static struct driver drivers[2];
static struct node_object node_object;
static struct api api;
static struct report report;
static struct settings settings;
static struct found_node found;
static struct probe_issues issues;

static struct devices *table(unsigned driver)
{
    return &nodes[driver].inventory.devices;
}

static int setup(void **state)
{
    (void)state;
    memset(agents, 0, sizeof agents);
    memset(publishers, 0, sizeof publishers);
    memset(nodes, 0, sizeof nodes);
    memset(&node_object, 0, sizeof node_object);
    memset(&api, 0, sizeof api);
    memset(&settings, 0, sizeof settings);
    memset(&report, 0, sizeof report);
    settings.log_level = LOG_INFO;
    text_set(settings.node_name, sizeof settings.node_name, "node-a");
    text_set(node_object.facts.uid, sizeof node_object.facts.uid, "uid-of-the-node");
    for (unsigned i = 0; i < 2; i++) {
        struct agent *a = &agents[i];
        a->api = &api;
        a->report = &report;
        a->node_object = &node_object;
        a->publish = &publishers[i];
        a->node = &nodes[i];
        a->driver = &drivers[i];
        a->settings = &settings;
        a->devices = table(i);
        randomness_init(&a->randomness, i + 1u);
        drivers[i] = (struct driver){.kind = (i == 0) ? DRIVER_NEURON : DRIVER_EFA, .shares = 1};
        text_set(drivers[i].name, DRIVER_CAP, (i == 0) ? DRIVER_NAME : "efa.neuron.aws.com");
    }
    found_board(&found, board_find("trn2.48xlarge"));
    devices_build(table(0), &found, &issues);
    report_init(&agents[0]);
    return 0;
}

/* The whole page, in pieces of `step` bytes. */
static const char *page_of(bool yaml, size_t step)
{
    static char text[1u << 20];
    struct slicesz s;
    size_t len = 0;
    bool over = false;
    slicesz_begin(&agents[0], &s, yaml);
    while (!over) {
        struct writer out = writer_of(text + len, step);
        assert_true(len + step < sizeof text);
        over = slicesz_write(&agents[0], &s, &out);
        assert_true(over || out.len > 0);
        len += out.len;
    }
    text[len] = '\0';
    return text;
}

static void shows(const char *piece)
{
    if (strstr(page_of(true, 4096), piece) == NULL) {
        fail_msg("\"%s\" is not in %.2000s", piece, page_of(true, 4096));
    }
}

static void lacks(const char *piece)
{
    assert_null(strstr(page_of(true, 4096), piece));
}

static unsigned count_of(const char *piece)
{
    unsigned n = 0;
    for (const char *at = strstr(page_of(true, 4096), piece); at != NULL;
         at = strstr(at + 1, piece)) {
        n++;
    }
    return n;
}

/* The wanted content is made, and the plan is not. */
static void make(unsigned driver)
{
    wanted_init(&agents[driver]);
}

static void plan(unsigned driver)
{
    struct publish *p = &publishers[driver];
    plan_list_begin(&p->plan);
    plan_make(&p->plan, p->wanted.devices.count, p->wanted.devices.counters);
    p->round.stored = STORED_CURRENT;
}

/* --- slices --- */

/* Before the Node is read nothing is known; another driver of the name is known at once. */
static void test_before_the_node(void **state)
{
    (void)state;
    node_object.facts.uid[0] = '\0';
    make(0);
    assert_false(listing_known(&agents[0]));
    assert_int_equal(listing_slices(&agents[0]), 0);
    text_set(agents[0].other_driver, SOCKET_PATH_CAP, "/run/other.sock");
    assert_true(listing_known(&agents[0]));
    lacks("kind: ResourceSlice\n");
}

/* Without a plan, or with a plan of other devices, all devices stand in one slice. */
static void test_one_slice_without_a_plan(void **state)
{
    (void)state;
    make(0);
    assert_true(listing_known(&agents[0]));
    assert_int_equal(listing_slices(&agents[0]), 1);
    assert_int_equal(count_of("- name: neuron-device-"), 16);
    lacks("kind: \"List\"");
    plan(0);
    assert_int_equal(count_of("- name: neuron-device-"), 16);
    publishers[0].plan.part[0].count--;
    assert_int_equal(listing_slices(&agents[0]), 1);
    assert_int_equal(count_of("- name: neuron-device-"), 16);
}

/* A plan of several parts is shown as a list, each part with its own devices. */
static void test_slices_of_a_plan(void **state)
{
    (void)state;
    make(0);
    publishers[0].plan.cut = SLICE_DEVICES_MIN;
    plan(0);
    assert_int_equal(listing_slices(&agents[0]), 2);
    assert_int_equal(count_of("kind: ResourceSlice\n"), 2);
    assert_int_equal(count_of("- name: neuron-device-"), 16);
    shows("kind: \"List\"");
}

/* The list of two drivers has the slices of both, and is the same in pieces of any size. */
static void test_two_drivers(void **state)
{
    static char whole[1u << 19];
    (void)state;
    agents[0].next = &agents[1];
    devices_copy(table(1), table(0));
    make(0);
    make(1);
    assert_int_equal(count_of("kind: ResourceSlice\n"), 2);
    shows("driver: efa.neuron.aws.com");
    shows("kind: \"List\"");
    for (unsigned yaml = 0; yaml < 2; yaml++) {
        const char *page = page_of(yaml != 0, 4096);
        assert_true(strlen(page) < sizeof whole);
        memcpy(whole, page, strlen(page) + 1);
        assert_string_equal(page_of(yaml != 0, 100), whole);
    }
    struct slicesz s;
    slicesz_begin(&agents[0], &s, true);
    assert_false(slicesz_outdated(&agents[0], &s));
    make(1);
    assert_true(slicesz_outdated(&agents[0], &s));
    slicesz_begin(&agents[0], &s, true);
    make(0);
    assert_true(slicesz_outdated(&agents[0], &s));
}

/* The node of an UltraServer beside its devices: a slice of shared counters comes first. */
static void test_counters(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2u.48xlarge"));
    devices_build(table(0), &found, &issues);
    table(0)->ultraserver.member = true;
    settings.ultraserver = ULTRASERVER_BOTH;
    api.version.now = API_V1;
    make(0);
    assert_true(publishers[0].wanted.devices.counters);
    assert_int_equal(listing_slices(&agents[0]), 2);
    assert_int_equal(count_of("kind: ResourceSlice\n"), 2);
    assert_int_equal(count_of("sharedCounters:"), 1);
    shows("--ultraserver-devices both publishes the node as one device, and its devices, by "
          "shared counters");
    /* a plan from before the counters were given up shows nothing of the new content */
    plan(0);
    publishers[0].wanted.devices.counters = false;
    assert_int_equal(listing_slices(&agents[0]), 1);
}

/* --- notes --- */

static void test_mode_of_ultraserver(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2u.48xlarge"));
    devices_build(table(0), &found, &issues);
    table(0)->ultraserver.member = true;
    api.version.now = API_V1;
    settings.ultraserver = ULTRASERVER_NODE;
    make(0);
    shows("# --ultraserver-devices node publishes the node as one device, and no other device\n");
    settings.ultraserver = ULTRASERVER_DEVICES;
    make(0);
    shows("# --ultraserver-devices devices publishes the devices, and no device for the node\n");
    /* an API of a beta version keeps no counters */
    settings.ultraserver = ULTRASERVER_BOTH;
    api.version.now = API_V1BETA1;
    make(0);
    shows("# --ultraserver-devices both publishes the node as one device, and no other device\n");
    publishers[0].wanted.devices.count = 0;
    shows("# --ultraserver-devices both publishes the devices, and no device for the node\n");
}

static void test_refused_type(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.32xlarge"));
    (void)snprintf(found.product_name, SYSFS_VALUE_CAP, "inf1.24xlarge\n");
    devices_build(table(0), &found, &issues);
    assert_non_null(devices_refusal(table(0)));
    make(0);
    shows("# no device of instance type inf1.24xlarge is published: ");
    lacks("is left out");
    drivers[0].kind = DRIVER_EFA;
    lacks("no device of instance type");
}

/* What the API server may hold instead, and why. */
static void test_not_known_to_be_stored(void **state)
{
    (void)state;
    make(0);
    shows("# not known to be stored like this: the Node is not known yet\n");
    node_object.presence = NODE_PRESENT;
    shows("# not known to be stored like this: the agent has not compared them yet\n");
    publishers[0].round.trouble = "the API server refuses them";
    shows("# not known to be stored like this: the API server refuses them\n");
    node_object.presence = NODE_ABSENT;
    shows("# not known to be stored like this: the API server has no Node of this name\n");
    plan(0);
    lacks("not known to be stored");
}

static void test_devices_left_out(void **state)
{
    (void)state;
    found.count--; /* devices stand in the order of a directory: 9 is the last one */
    devices_build(table(0), &found, &issues);
    nodes[0].device_states.unhealthy = 1u << 3;
    nodes[0].device_states.device[3].state = (uint8_t)HEALTH_UNHEALTHY;
    make(0);
    plan(0);
    shows("# neuron-device-3 is left out: " DEVICE_UNHEALTHY_TEXT "\n");
    shows("# neuron-device-9 is left out: " DEVICE_MISSING_TEXT "\n");
    assert_int_equal(count_of("is left out: "), 2);
    /* a taint says it instead, and a claim keeps what it holds */
    text_set(settings.taint[TAINT_UNHEALTHY].key, TAINT_KEY_CAP, "neuron.aws.com/unhealthy");
    nodes[0].device_states.kept = 1u << 9;
    make(0);
    plan(0);
    assert_int_equal(count_of("is left out: "), 0);
    /* no device of an unknown type, or before a look succeeded, is known to be missing */
    nodes[0].device_states.kept = 0;
    table(0)->unknown = true;
    assert_int_equal(count_of("is left out: "), 0);
    table(0)->unknown = false;
    table(0)->board = NULL;
    assert_int_equal(count_of("is left out: "), 0);
}

/* An EFA device is expected under the lowest of the numbers that the board's map gives it. */
static void test_efa_devices_left_out(void **state)
{
    (void)state;
    drivers[0].kind = DRIVER_EFA;
    table(0)->driver = DRIVER_EFA;
    table(0)->count = 0;
    make(0);
    plan(0);
    const struct efa_map *map = table(0)->board->efa;
    unsigned addresses = 0;
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        bool first = true;
        for (unsigned n = 0; n < i; n++) {
            first = first && strcmp(map->address[n], map->address[i]) != 0;
        }
        addresses += first ? 1 : 0;
    }
    assert_int_equal(count_of("is left out: " DEVICE_MISSING_TEXT), addresses);
    table(0)->board = board_find("trn2.3xlarge");
    assert_null(table(0)->board->efa);
    assert_int_equal(count_of("is left out: "), 0);
    table(0)->board = NULL;
    assert_int_equal(count_of("is left out: "), 0);
}

/* An attribute whose value the API server would refuse is left out by itself. */
static void test_attributes_left_out(void **state)
{
    (void)state;
    text_set(node_object.facts.labels.network_layer[1], ATTRIBUTE_VALUE_CAP, "\xff");
    make(0);
    plan(0);
    assert_int_equal(count_of("# networkNodeLayer2 of neuron-device-"), 16);
    shows("# networkNodeLayer2 of neuron-device-15 is left out: ");
    /* the log has each value once, and no more values than it remembers */
    assert_int_equal(report.count[LOG_ID_SLICE_ITEM_OMITTED], 1);
    make(0);
    assert_int_equal(report.count[LOG_ID_SLICE_ITEM_OMITTED], 1);
    publishers[0].left_out.count = OMITTED_LOGGED_MAX;
    text_set(node_object.facts.labels.network_layer[1], ATTRIBUTE_VALUE_CAP, "\xfe");
    make(0);
    assert_int_equal(report.count[LOG_ID_SLICE_ITEM_OMITTED], 1);
}

/* --- what is wanted --- */

/* The setting shares devices, unless the server drops shares or the node is a device itself. */
static void test_shares(void **state)
{
    const struct devices *wanted = &publishers[0].wanted.devices;
    (void)state;
    drivers[0].shares = 8;
    make(0);
    assert_int_equal(wanted->shares, 8);
    publishers[0].round.no_shares = true;
    make(0);
    assert_int_equal(wanted->shares, 0);
    nodes[0].device_states.shared = true; /* claims of before still hold shares */
    make(0);
    assert_int_equal(wanted->shares, 1);
    publishers[0].round.no_shares = false;
    make(0);
    assert_int_equal(wanted->shares, 8);
    table(0)->ultraserver.member = true;
    make(0);
    assert_int_equal(wanted->shares, 1);
    settings.ultraserver = ULTRASERVER_DEVICES;
    make(0);
    assert_int_equal(wanted->shares, 8);
}

/* A driver that is ending publishes nothing, and keeps nothing published for its claims. */
static void test_ending_driver(void **state)
{
    (void)state;
    nodes[0].device_states.kept = 1u << 20;
    make(0);
    assert_int_equal(publishers[0].wanted.devices.count, 17);
    agents[0].ending = true;
    make(0);
    assert_int_equal(publishers[0].wanted.devices.count, 0);
}

/* A device whose name the API server would refuse does not take the others with it. */
static void test_impossible_name(void **state)
{
    (void)state;
    text_set(table(0)->device[3].name, DEVICE_NAME_CAP, "Neuron_3");
    make(0);
    assert_int_equal(publishers[0].wanted.devices.count, 15);
    assert_int_equal(report.count[LOG_ID_SLICE_ITEM_OMITTED], 1);
    lacks("Neuron_3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_before_the_node, setup),
        cmocka_unit_test_setup(test_one_slice_without_a_plan, setup),
        cmocka_unit_test_setup(test_slices_of_a_plan, setup),
        cmocka_unit_test_setup(test_two_drivers, setup),
        cmocka_unit_test_setup(test_counters, setup),
        cmocka_unit_test_setup(test_mode_of_ultraserver, setup),
        cmocka_unit_test_setup(test_refused_type, setup),
        cmocka_unit_test_setup(test_not_known_to_be_stored, setup),
        cmocka_unit_test_setup(test_devices_left_out, setup),
        cmocka_unit_test_setup(test_efa_devices_left_out, setup),
        cmocka_unit_test_setup(test_attributes_left_out, setup),
        cmocka_unit_test_setup(test_shares, setup),
        cmocka_unit_test_setup(test_ending_driver, setup),
        cmocka_unit_test_setup(test_impossible_name, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
