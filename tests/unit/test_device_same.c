/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When two device tables publish the same, what makes a table invalid, and what a device publishes
 * once its cores are not shared any more.
 */
#include "tests/unit/node/device_harness.h"

static struct devices others;

/* Whether two tables publish the same, by their attributes: what devices_same must agree with. */
static bool publish_same(const struct devices *a, const struct devices *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (unsigned i = 0; i < a->count; i++) {
        struct attributes of_a;
        struct attributes of_b;
        memset(&of_a, 0, sizeof of_a);
        memset(&of_b, 0, sizeof of_b);
        device_attributes(a, i, &of_a);
        device_attributes(b, i, &of_b);
        if (memcmp(&of_a, &of_b, sizeof of_a) != 0) {
            return false;
        }
    }
    return true;
}

static void check_same(bool same)
{
    devices_build(&others, &found, &issues);
    assert_int_equal(publish_same(&devices, &others), same);
    assert_int_equal(devices_same(&devices, &others), same);
    assert_int_equal(devices_same(&others, &devices), same);
}

static void test_same(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    others = devices;
    check_same(true);
    (void)snprintf(found.boot_id, SYSFS_VALUE_CAP, "another");
    (void)snprintf(found.devices[2].connected_devices, SYSFS_VALUE_CAP, "1, 2");
    check_same(true);
    (void)snprintf(found.devices[4].core_count, SYSFS_VALUE_CAP, "4");
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    (void)snprintf(found.driver_version, SYSFS_VALUE_CAP, "2.30.2.0");
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    (void)snprintf(found.product_name, SYSFS_VALUE_CAP, "trn1.32xlarge");
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    assert_int_equal(found.devices[7].number, 15);
    found.devices[7].node_exists = false; /* the last one: those before it stay in place */
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    found.devices[15].number = 20;
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    found.devices[3].numa_node[0] = '5';
    check_same(false);
    found.devices[3].numa_node[0] = '\0';
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    found.devices[3].pcie_root[0] = '\0';
    check_same(false);
    found_board(&found, board_find("trn2.48xlarge"));
    others.labels.network_layer[2][0] = '\0';
    check_same(false);
}

static void test_valid(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    others = devices;
    others.device[3].number = others.device[4].number;
    assert_false(devices_valid(&others));
    others = devices;
    others.count = DEVICES_MAX + 1;
    assert_false(devices_valid(&others));
    others = devices;
    others.device[15].number = DEVICES_MAX;
    assert_false(devices_valid(&others));
    others = devices;
    memset(others.device[0].name, 'x', sizeof others.device[0].name);
    assert_false(devices_valid(&others));
    others = devices;
    others.instance_type[0] = '\0';
    assert_false(devices_valid(&others));
}

/* Parts are left, and nobody is to get another: less is published than the smallest of them has. */
static void test_cores_not_shared_any_more(void **state)
{
    struct attributes all;
    unsigned seen = 0;
    (void)state;
    build_type("trn2.48xlarge");
    devices.shares = 1;
    device_attributes(&devices, 0, &all);
    devices.shares = 0;
    for (unsigned i = 0; i < all.count; i++) {
        if (strcmp(all.attribute[i].key, CORES_CAPACITY) == 0) {
            assert_string_equal(all.attribute[i].text, "1");
            assert_int_equal(all.attribute[i].number, CAPACITY_ALL);
            seen++;
        }
    }
    assert_int_equal(seen, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_cores_not_shared_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
