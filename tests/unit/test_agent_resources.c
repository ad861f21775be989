/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent with node resources of its devices: an API server that keeps them, and one that
 * drops them. The agent logs the latter once and does not write its slices again and again.
 */
#include "tests/unit/kubelet/agent_page.h"

#include "agent/serve/statusz.h"

/* The agent's driver has these resources, as only that of the EFA devices has in a run. */
static void begin(void)
{
    world_new();
    text_set(world.settings.driver[DRIVER_NEURON].resources.quantity[NODE_MEMORY],
             NODE_QUANTITY_CAP, "64Mi");
    found_set("trn2.48xlarge", 16, 8);
}

/* How many stored devices have node resources. */
static unsigned needing_devices(void)
{
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    unsigned n = 0;
    while (proto_next(&in, &f)) {
        n += (f.number == 6 && proto_get(f.bytes, 14).bytes.len > 0) ? 1 : 0;
    }
    return n;
}

/* Ten quiet minutes: nothing is written. */
static void check_quiet(void)
{
    assert_true(publish_current(world.agent));
    api_forget();
    pass(600000);
    assert_int_equal(api_writes(), 0);
}

static void check_dropped(void)
{
    assert_int_equal(slice_devices(api_slice_only()), 16);
    assert_int_equal(needing_devices(), 0);
    assert_int_equal(said("node_resources_dropped"), 1);
    assert_int_equal(said("slice_fields_dropped"), 0);
    assert_true(publish_lacks_resources(world.agent));
    check_quiet();
    assert_int_equal(said("node_resources_dropped"), 1);
}

static void test_kept(void **state)
{
    (void)state;
    begin();
    node_up();
    pass(10000);
    assert_int_equal(needing_devices(), 16);
    assert_int_equal(said("node_resources_dropped"), 0);
    assert_false(publish_lacks_resources(world.agent));
    check_quiet();
}

static void test_dropped(void **state)
{
    (void)state;
    begin();
    api.drops_resources = true;
    node_up();
    pass(60000);
    check_dropped();
    /* another version of the API may keep them */
    api.drops_resources = false;
    api.served = SERVES(API_V1BETA2);
    api_end("the server was upgraded");
    pass(1800000);
    assert_int_equal(needing_devices(), 16);
    assert_false(publish_lacks_resources(world.agent));
}

/* The trouble on /statusz, which `check` prints: of the second driver, where one is. */
static void test_trouble(void **state)
{
    static struct agent second;
    (void)state;
    begin();
    api.drops_resources = true;
    node_up();
    pass(60000);
    struct agent *a = world.agent;
    const char *text = "trouble: the API server does not keep --efa-node-resources; see "
                       "node_resources_dropped in the agent's log";
    for (unsigned drops = 0; drops < 3; drops++) {
        unsigned lines = 0;
        memcpy(&second, a, sizeof second);
        a->publish->round.no_resources = drops == 2;
        a->next = (drops > 0) ? &second : NULL;
        uint8_t bytes[512];
        struct writer out = writer_of(bytes, sizeof bytes);
        for (unsigned i = 0; statusz_line(a, i, &out); i++) {
            lines += view_is(writer_view(&out), text) ? 1 : 0;
            out.len = 0;
        }
        assert_int_equal(lines, (drops == 2) ? 1 : 0);
        a->next = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
