/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes beside the golden files: those of every board in tests/vectors/boards, and those
 * that a flag or the machine's state adds, in tests/vectors/more.
 */
#include "tests/unit/node/device_harness.h"

#include <ctype.h>

/* The rest of a golden file from the first line on that begins so. */
static const char *golden_lines(const char *name, const char *begin)
{
    char before[16];
    (void)snprintf(before, sizeof before, "\n%s", begin);
    const char *lines = strstr(golden_load(name), before);
    assert_non_null(lines);
    return lines + 1;
}

static void test_attributes_of_every_board_are_golden(void **state)
{
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const char *type = board_at(i)->instance_type;
        build_type(type);
        assert_int_equal(issues.count, 0);
        assert_string_equal(attributes_text(""), golden_lines(type, "0 "));
    }
}

/* The lines of the node stand before those of its devices. */
static void test_node_of_every_ultraserver_is_golden(void **state)
{
    unsigned nodes = 0;
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const char *type = board_at(i)->instance_type;
        build_type(type);
        const char *golden = strstr(golden_load(type), "\nnode ");
        assert_int_equal(golden != NULL, board_at(i)->ultraserver);
        assert_int_equal(devices_are_node(&devices), board_at(i)->ultraserver);
        if (golden != NULL) {
            devices_add_node(&devices, true);
            assert_string_equal(devices.device[0].name, "neuron-node");
            size_t len = strlen(attributes_text(""));
            assert_memory_equal(attributes_text(""), golden + 1, len);
            assert_memory_equal(golden + 1 + len, "0 ", 2);
            nodes++;
        }
    }
    assert_in_range(nodes, 10, 40);
}

static void build_trn2u(void)
{
    build_type("trn2u.48xlarge");
    assert_int_equal(devices.count, 16);
}

/* A part of a machine is not given away as the whole. */
static void test_incomplete_node_is_no_device(void **state)
{
    (void)state;
    build_trn2u();
    devices.count--;
    assert_false(devices_are_node(&devices));
    devices_add_node(&devices, true);
    assert_int_equal(devices.count, 0);
    build_type("trn2.48xlarge");
    assert_false(devices_are_node(&devices));
}

/* One bad device is enough, and the first one says since when. */
static void test_taint_of_the_node(void **state)
{
    (void)state;
    build_trn2u();
    devices_add_node(&devices, true);
    assert_int_equal(devices.device[0].tainted, 0);
    build_trn2u();
    devices.device[9].tainted = TAINT_BIT(TAINT_UNHEALTHY);
    devices.device[9].taint_s[TAINT_UNHEALTHY] = 70;
    devices.device[12].tainted = TAINT_BIT(TAINT_UNHEALTHY) | TAINT_BIT(TAINT_MEMORY_HELD);
    devices.device[12].taint_s[TAINT_UNHEALTHY] = 50;
    devices.device[12].taint_s[TAINT_MEMORY_HELD] = 60;
    devices.device[13].tainted = TAINT_BIT(TAINT_UNHEALTHY);
    devices.device[13].taint_s[TAINT_UNHEALTHY] = 80;
    devices.device[3].taint_s[TAINT_UNHEALTHY] = 10; /* of a taint that is gone */
    devices_add_node(&devices, true);
    assert_int_equal(devices.device[0].tainted,
                     TAINT_BIT(TAINT_UNHEALTHY) | TAINT_BIT(TAINT_MEMORY_HELD));
    assert_int_equal(devices.device[0].taint_s[TAINT_UNHEALTHY], 50);
    assert_int_equal(devices.device[0].taint_s[TAINT_MEMORY_HELD], 60);
    assert_int_equal(devices.device[0].core_count, 128);
}

static void test_place_of_the_node(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2u.48xlarge"));
    (void)snprintf(found.ultraserver.modes, ULTRASERVER_TEXT_CAP, "1,3,4");
    (void)snprintf(found.ultraserver.server_id[ULTRASERVER_PAIR], ULTRASERVER_TEXT_CAP,
                   "00000000000000a1");
    (void)snprintf(found.ultraserver.server_id[ULTRASERVER_QUAD], ULTRASERVER_TEXT_CAP,
                   "00000000000000b2");
    (void)snprintf(found.ultraserver.node_id[ULTRASERVER_PAIR], ULTRASERVER_TEXT_CAP, "1");
    (void)snprintf(found.ultraserver.node_id[ULTRASERVER_QUAD], ULTRASERVER_TEXT_CAP, "3");
    devices_build(&devices, &found, &issues);
    assert_int_equal(issues.count, 0);
    struct devices before = devices;
    assert_string_equal(attribute(15, "ultraserverNodeId2"), "int 1");
    assert_string_equal(attributes_text("ultraserver"),
                        golden_lines("../more/ultraserver-place", "0 "));
    devices_add_node(&devices, true);
    assert_int_equal(devices.count, 1);
    const char *golden = golden_lines("../more/ultraserver-place", "node ");
    const char *text = attributes_text("ultraserver");
    assert_memory_equal(text, golden, strlen(text));
    assert_memory_equal(golden + strlen(text), "0 ", 2);
    /* the kernel module was loaded again, and the nodes found each other in another order */
    found.ultraserver.node_id[ULTRASERVER_QUAD][0] = '2';
    devices_build(&devices, &found, &issues);
    assert_false(devices_same(&devices, &before));
    (void)snprintf(found.ultraserver.modes, ULTRASERVER_TEXT_CAP, "busy");
    devices_build(&devices, &found, &issues);
    assert_true(has_issue(PROBE_ISSUE_ULTRASERVER, PROBE_ISSUE_NO_NUMBER));
    (void)snprintf(found.ultraserver.modes, ULTRASERVER_TEXT_CAP, "init_error");
    devices_build(&devices, &found, &issues);
    assert_true(has_issue(PROBE_ISSUE_ULTRASERVER, PROBE_ISSUE_NO_NUMBER));
}

/* The line that the flag adds to each device is that of the golden file, and the others stay. */
static void test_cores_are_golden(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    assert_int_equal(devices.count, 16);
    const char *golden = golden_load("../more/share-cores");
    for (unsigned i = 0; i < devices.count; i++) {
        struct attributes with;
        struct attributes without;
        char line[64];
        unsigned found_at = 0;
        device_attributes(&devices, i, &without);
        devices.shares = 8;
        device_attributes(&devices, i, &with);
        devices.shares = 0;
        assert_int_equal(with.count, without.count + 1);
        for (unsigned k = 0; k < with.count; k++) {
            const struct attribute *a = &with.attribute[k];
            if (strcmp(a->key, CORES_CAPACITY) == 0) {
                assert_int_equal(a->type, ATTRIBUTE_CAPACITY);
                (void)snprintf(line, sizeof line, "\n%u %s capacity %s\n", devices.device[i].number,
                               a->key, a->text);
                assert_non_null(strstr(golden, line));
                found_at++;
            } else {
                assert_string_equal(a->key, without.attribute[k - found_at].key);
                assert_string_equal(a->text, without.attribute[k - found_at].text);
            }
        }
        assert_int_equal(found_at, 1);
    }
}

static void check_api_limits(const struct attribute *a)
{
    const char *slash = strchr(a->key, '/');
    const char *name = (slash != NULL) ? slash + 1 : a->key;
    assert_in_range(strlen(name), 1, 32);
    for (const char *c = name; *c != '\0'; c++) {
        assert_true(isalnum((unsigned char)*c) || *c == '_');
    }
    assert_false(isdigit((unsigned char)name[0]));
    if (a->type == ATTRIBUTE_STRING || a->type == ATTRIBUTE_VERSION) {
        assert_in_range(strlen(a->text), 1, 64);
    }
}

static void test_keys_ascend_and_keep_the_limits_of_the_api(void **state)
{
    (void)state;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        build_type(board_at(i)->instance_type);
        struct attributes all;
        device_attributes(&devices, 0, &all);
        for (unsigned k = 0; k < all.count; k++) {
            check_api_limits(&all.attribute[k]);
            assert_true(k == 0 || strcmp(all.attribute[k - 1].key, all.attribute[k].key) < 0);
        }
    }
}

/* What was captured from AWS's driver on trn1.2xlarge; ours has two names and a capacity more. */
static void test_trn1_2xlarge_has_the_captured_set(void **state)
{
    (void)state;
    static const char *const captured[] = {
        "deviceId",          "draDriverVersion",  "instanceType",        "networkNodeLayer1",
        "networkNodeLayer2", "networkNodeLayer3", "neuronDriverVersion", "resourceType",
    };
    build_type("trn1.2xlarge");
    for (size_t i = 0; i < sizeof captured / sizeof captured[0]; i++) {
        assert_string_not_equal(attribute(0, captured[i]), "absent");
    }
    struct attributes all;
    device_attributes(&devices, 0, &all);
    assert_int_equal(all.count, sizeof captured / sizeof captured[0] + 3);
    assert_string_equal(attribute(0, "coreCount"), "int 2");
    assert_string_equal(attribute(0, "lncConfigurable"), "bool false");
    assert_string_equal(attribute(0, "memory"), "capacity 32Gi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_of_every_board_are_golden),
        cmocka_unit_test(test_node_of_every_ultraserver_is_golden),
        cmocka_unit_test(test_incomplete_node_is_no_device),
        cmocka_unit_test(test_taint_of_the_node),
        cmocka_unit_test(test_place_of_the_node),
        cmocka_unit_test(test_cores_are_golden),
        cmocka_unit_test(test_keys_ascend_and_keep_the_limits_of_the_api),
        cmocka_unit_test(test_trn1_2xlarge_has_the_captured_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
