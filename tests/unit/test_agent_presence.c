/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that vanish or change between the last probe and a prepare: the claim that has one is
 * refused, names it, and leaves nothing behind; its neighbours are prepared.
 */
#include "agent_kubelet.h"

#define CLAIMS 4

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < CLAIMS; n++) {
        world.found.devices[n].place = (struct device_place){.folder = 100 + n, .node = 1000 + n};
        disk.device[n] = world.found.devices[n].place;
    }
    for (unsigned n = 0; n < CLAIMS; n++) {
        (void)claim_add(n);
    }
    /* of this test's devices alone */
    world.found.count = CLAIMS;
    node_up();
}

#define REMEDY "; reload the Neuron driver, or delete and re-create the pod"

/* Claim 1 is refused for this reason, claims 0 and 2 are not. */
static void check_refused(const char *why)
{
    struct view reply = prepare_now(0, 3);
    assert_string_equal(prepare_error(reply, 0), "");
    assert_string_equal(prepare_error(reply, 1), why);
    assert_string_equal(prepare_error(reply, 2), "");
}

static void test_gone(void **state)
{
    (void)state;
    begin();
    disk.device_absent[1] = true;
    check_refused("requested device neuron-device-1 has no device node: host-absent" REMEDY);
    assert_null(cdi_of(1));
    disk.device[1].folder = 0;
    check_refused("requested device neuron-device-1 is gone from sysfs: host-absent" REMEDY);
    /* it is back */
    disk.device_absent[1] = false;
    disk.device[1] = world.found.devices[1].place;
    prepare_well(0, 3);
}

static void test_changed(void **state)
{
    (void)state;
    begin();
    disk.device[1].node = 0;
    check_refused("requested device neuron-device-1 has a node that is no character device" REMEDY);
    disk.device[1].node = 1002;
    check_refused("requested device neuron-device-1 changed since the last probe; try again");
    disk.device[1] = (struct device_place){.folder = 102, .node = 1001};
    check_refused("requested device neuron-device-1 changed since the last probe; try again");
    assert_null(cdi_of(1));
    /* the next probe finds what the look found */
    world.found.devices[1].place = disk.device[1];
    agent_found(world.agent, &world.found);
    prepare_well(0, 3);
}

/* A claim that is held is looked at as well, and an unprepare needs no device. */
static void test_held(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    disk.device_absent[1] = true;
    check_refused("prepared device neuron-device-1 has no device node: host-absent" REMEDY);
    unprepare_well(0, 3);
}

/* What the last probe did not say is no reason to refuse a claim that is held. */
static void test_held_when_probes_fail(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    world.found.count = 0;
    world.found.unknown = true;
    agent_found(world.agent, &world.found);
    disk.device_absent[1] = true;
    prepare_well(0, 3);
}

/* The kernel module is reloaded: slices, claims and advice stay as they are for a while. */
static void test_module_reloaded(void **state)
{
    (void)state;
    begin();
    struct found_node none = world.found;
    none.count = 0;
    prepare_well(0, 1);
    api_forget();
    agent_found(world.agent, &none);
    pass(DEVICES_GRACE_MS - 1);
    agent_found(world.agent, &none);
    pass(1000);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    log_has("event=devices_missing devices_kept=4 grace_ms=30000");
    disk.device_absent[0] = true;
    disk.device[0].folder = 0;
    struct view reply = prepare_now(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "neuron-device-0 is gone from sysfs"));
    assert_false(agent_ready(world.agent));
    /* it is loaded again */
    disk.device_absent[0] = false;
    disk.device[0] = world.found.devices[0].place;
    agent_found(world.agent, &world.found);
    assert_true(agent_ready(world.agent));
    prepare_well(0, 1);
    assert_int_equal(api_writes(), 0);
}

static void test_devices_gone_for_good(void **state)
{
    (void)state;
    begin();
    struct found_node none = world.found;
    none.count = 0;
    agent_found(world.agent, &none);
    pass(DEVICES_GRACE_MS);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    agent_found(world.agent, &none);
    pass(1000);
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(agent_ready(world.agent));
}

/* The agent starts while the module is reloaded: what is stored stays for a while. */
static void test_started_in_a_reload(void **state)
{
    (void)state;
    begin();
    struct found_node some = world.found;
    world.found.count = 0;
    api_forget();
    restart();
    register_driver();
    pass(DEVICES_GRACE_MS / 2);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    assert_int_equal(said("event=devices_missing devices_kept=4 grace_ms=30000"), 1);
    assert_false(agent_ready(world.agent));
    world.found = some;
    agent_found(world.agent, &world.found);
    pass(1000);
    assert_true(agent_ready(world.agent));
    assert_int_equal(api_writes(), 0);
    /* they do not come back */
    world.found.count = 0;
    restart();
    register_driver();
    pass(DEVICES_GRACE_MS - 1000);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    pass(PUBLISH_WAIT_MS + 2000);
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(agent_ready(world.agent));
    /* nor are there any in the next process */
    restart();
    register_driver();
    pass(PUBLISH_WAIT_MS + 2000);
    assert_true(agent_ready(world.agent));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_held_when_probes_fail),
        cmocka_unit_test(test_module_reloaded),
        cmocka_unit_test(test_devices_gone_for_good),
        cmocka_unit_test(test_started_in_a_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
