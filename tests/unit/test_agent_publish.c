/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent publishing its ResourceSlice: created once, not written while it is equal,
 * repaired when it is not; doubles are deleted, foreign slices stay, refusals are retried slowly.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static const char *own_name(void)
{
    static char name[NAME_CAP];
    (void)snprintf(name, sizeof name, "%s", api_slice_only()->name);
    return name;
}

static void up(void)
{
    world_new();
    node_up();
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

/* --- content --- */

static struct view device_at(const struct sim_object *s, unsigned index)
{
    struct reader in = reader_of(slice_spec(s));
    struct sim_field f;
    unsigned n = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 6 && n++ == index) {
            return f.bytes;
        }
    }
    fail_msg("no device %u", index);
    return view_of(NULL, 0);
}

/* Value message of an attribute, empty when it is not there. */
static struct view attribute_of(struct view device, const char *key)
{
    struct reader in = reader_of(device);
    struct sim_field f;
    while (proto_next(&in, &f)) {
        if (f.number == 2 && view_is(proto_get(f.bytes, 1).bytes, key)) {
            return proto_get(f.bytes, 2).bytes;
        }
    }
    return view_of(NULL, 0);
}

static bool has_text(struct view device, const char *key, const char *text)
{
    return view_is(proto_get(attribute_of(device, key), 4).bytes, text);
}

static void test_created(void **state)
{
    (void)state;
    up();
    const struct sim_object *s = api_slice_only();
    struct view spec = slice_spec(s);
    assert_int_equal(api_asked("POST "), 1);
    assert_int_equal(api_writes(), 1);
    assert_string_equal(slice_owner(s), NODE_UID);
    assert_true(view_is(proto_get(spec, 1).bytes, "neuron.aws.com"));
    assert_true(view_is(proto_get(spec, 3).bytes, NODE_NAME));
    assert_true(view_is(proto_get(proto_get(spec, 2).bytes, 1).bytes, NODE_NAME));
    assert_int_equal(slice_generation(s), 1);
    assert_int_equal(proto_count(spec, 6), 16);
    for (unsigned n = 0; n < 16; n++) {
        char name[32];
        struct view device = device_at(s, n);
        (void)snprintf(name, sizeof name, "neuron-device-%u", n);
        assert_true(view_is(proto_get(device, 1).bytes, name));
        assert_true(has_text(device, "instanceType", "trn2.48xlarge"));
        assert_int_equal(proto_count(device, 2) > 8, true);
    }
    log_has("slice_published");
}

static void test_empty_node(void **state)
{
    (void)state;
    world_new();
    found_set("trn2.48xlarge", 0, 8);
    node_up();
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(publish_current(world.agent));
}

/* Before the kubelet knows the driver the slice waits, but not for ever. */
static void test_waits_for_registration(void **state)
{
    (void)state;
    world_new();
    start();
    pass(PUBLISH_WAIT_MS - 1);
    assert_int_equal(api_slices(), 0);
    pass(PUBLISH_SPREAD_MS);
    assert_int_equal(api_slices(), 1);
}

static void test_equal_is_not_written(void **state)
{
    (void)state;
    up();
    api_forget();
    restart();
    register_driver();
    pass(2000);
    assert_int_equal(api_writes(), 0);
    log_has("slice_verified");
    /* nor in a day of rounds */
    pass(86400000);
    assert_int_equal(api_writes(), 0);
    assert_true(api_asked("GET " SLICES_PATH "?") > 100);
    assert_true(publish_current(world.agent));
}

static void test_different_is_updated(void **state)
{
    (void)state;
    up();
    const char *name = own_name();
    kill_agent();
    api_slice_cut(api_slice_only());
    api_forget();
    start();
    register_driver();
    pass(2000);
    assert_int_equal(api_asked("PUT " SLICES_PATH "/"), 1);
    assert_int_equal(api_writes(), 1);
    const struct sim_object *s = api_slice_only();
    assert_string_equal(s->name, name);
    assert_int_equal(slice_devices(s), 16);
    assert_int_equal(slice_generation(s), 1);
}

static void test_owner_is_put_right(void **state)
{
    (void)state;
    up();
    api_slice_own(api_slice_only(), "the-node-before");
    restart();
    register_driver();
    pass(2000);
    assert_string_equal(slice_owner(api_slice_only()), NODE_UID);
}

static void test_doubles_are_deleted(void **state)
{
    (void)state;
    up();
    kill_agent();
    struct sim_object *own = api_slice_only();
    (void)api_slice_double(own, "double-1");
    (void)api_slice_double(own, "double-2");
    api_slice_cut(api_slice_double(own, "double-3"));
    api_forget();
    start();
    register_driver();
    pass(2000);
    assert_int_equal(api_slices(), 1);
    assert_int_equal(api_asked("DELETE "), 3);
    assert_int_equal(api_asked("(precondition failed)"), 0);
    assert_int_equal(api_writes(), 3);
    assert_true(publish_current(world.agent));
}

static void test_more_than_are_seen(void **state)
{
    (void)state;
    up();
    kill_agent();
    const struct sim_object *own = api_slice_only();
    for (unsigned i = 0; i < SLICES_SEEN_MAX + 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "double-%u", i);
        (void)api_slice_double(own, name);
    }
    start();
    register_driver();
    pass(5000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

/* None of them is right, so that one is written as well. */
static void test_more_wrong_ones(void **state)
{
    (void)state;
    up();
    kill_agent();
    struct sim_object *first = api_slice_only();
    for (unsigned i = 0; i < SLICES_SEEN_MAX + 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "double-%u", i);
        (void)api_slice_double(first, name);
        api_slice_cut(api_slice_named(name));
    }
    api_slice_cut(first);
    start();
    register_driver();
    pass(8000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

/*
 * A server that drops all devices is not written to again for long, but slices beyond those that a
 * list has room for are deleted soon.
 */
static void test_more_than_are_seen_of_nothing(void **state)
{
    (void)state;
    up();
    kill_agent();
    api_slice_cut(api_slice_only());
    for (unsigned i = 0; i < SLICES_SEEN_MAX + 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "double-%u", i);
        (void)api_slice_double(api_slice_at(0), name);
    }
    api.drops_devices = true;
    start();
    register_driver();
    pass(API_REFUSED_MS / 2);
    assert_int_equal(api_slices(), 1);
    log_has("slice_fields_dropped");
    unsigned writes = api_writes();
    pass(API_REFUSED_MS * 4);
    assert_int_equal(api_writes(), writes);
}

/* A page that nobody asked for hides what is stored: nothing is written for it. */
static void test_page_of_a_list(void **state)
{
    (void)state;
    world_new();
    api.pages = true;
    node_up();
    pass(60000);
    assert_int_equal(api_writes(), 0);
    assert_in_range(api_lists(), 2, 12);
    assert_false(publish_current(world.agent));
    log_has("doing=\"list slices\"");
    api.pages = false;
    pass(60000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

/* A listed or watched slice without a name is not one that could be deleted: it is left alone. */
static void test_slice_without_a_name(void **state)
{
    (void)state;
    up();
    kill_agent();
    struct sim_object *nameless = api_slice_double(api_slice_only(), "double");
    nameless->name[0] = '\0';
    api_forget();
    start();
    register_driver();
    pass(5000);
    assert_int_equal(api_lists(), 1);
    assert_true(publish_current(world.agent));
    assert_non_null(api_watch_of(SIM_SLICE));
    api_touch(nameless);
    pass(5000);
    api_slice_delete(nameless);
    pass(5000);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(api_lists(), 1);
    assert_int_equal(said("event=slice_drift_detected"), 0);
    assert_true(publish_current(world.agent));
}

static void test_foreign_slices(void **state)
{
    (void)state;
    world_new();
    api.any_selector = true;
    (void)api_slice_foreign("gpu", "gpu.example.com", NODE_NAME);
    (void)api_slice_foreign("elsewhere", "neuron.aws.com", "node-b");
    node_up();
    assert_int_equal(api_slices(), 3);
    (void)api_slice_foreign("gpu-2", "gpu.example.com", NODE_NAME);
    api_slice_delete(api_slice_named("gpu"));
    api_slice_cut(api_slice_named("elsewhere"));
    pass(86400000);
    assert_int_equal(api_slices(), 3);
    assert_int_equal(api_writes(), 1);
    log_has("api_response_unexpected");
    assert_true(publish_current(world.agent));
}

/* --- the node changes --- */

static void test_labels(void **state)
{
    (void)state;
    world_new();
    api.label[0] = "nn-1";
    node_up();
    struct view device = device_at(api_slice_only(), 3);
    assert_true(has_text(device, "networkNodeLayer1", "nn-1"));
    assert_int_equal(attribute_of(device, "networkNodeLayer2").len, 0);
    /* they may come late */
    api.label[1] = "nn-2";
    api.label[2] = "nn-3";
    api_node_touch();
    pass(500);
    assert_true(has_text(device_at(api_slice_only(), 15), "networkNodeLayer3", "nn-3"));
    assert_int_equal(api_writes(), 2);
}

static void find(unsigned devices)
{
    found_set("trn2.48xlarge", devices, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
}

static void test_device_lost_and_back(void **state)
{
    (void)state;
    up();
    find(16);
    pass(1000);
    assert_int_equal(api_writes(), 1);
    find(15);
    pass(1000);
    assert_int_equal(api_writes(), 2);
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 15);
    find(16);
    pass(1000);
    assert_int_equal(slice_devices(s), 16);
    assert_int_equal(slice_generation(s), 1);
}

static bool in_the_body(void)
{
    const struct api_exchange *x = &world.agent->api->client.exchange[API_SLOT_SLICES];
    return x->result.kind == API_WRITE_SLICE && x->body_sent > 0 && x->body_sent < x->body_len;
}

/* The inventory changes while the body of a write is on its way. */
static void change_in_a_write(unsigned before, unsigned after)
{
    world_new();
    api.window = 1000;
    found_set("trn2.48xlarge", before, 8);
    start();
    pass(9000);
    world.halt = in_the_body;
    pass(1000 + PUBLISH_SPREAD_MS);
    assert_true(in_the_body());
    world.halt = NULL;
    find(after);
    pass(DEVICES_GRACE_MS);
    agent_found(world.agent, &world.found); /* the look that says for certain that all are gone */
    pass(20000);
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), after);
    assert_true(publish_current(world.agent));
}

static void test_change_in_a_write(void **state)
{
    (void)state;
    change_in_a_write(16, 3);
    change_in_a_write(3, 16);
    change_in_a_write(16, 0);
}

/* What is stored is not called right while what is wanted is another. */
static void test_change_while_away(void **state)
{
    (void)state;
    up();
    api.reachable = false;
    api_end("");
    pass(5000);
    assert_true(agent_ready(world.agent));
    world.found.count = 15;
    agent_found(world.agent, &world.found);
    assert_false(agent_ready(world.agent));
    pass(5000);
    assert_false(agent_ready(world.agent));
    api.reachable = true;
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_true(agent_ready(world.agent));
}

/* Slices that finalizers keep are more than a list has room for: nothing is asked for that. */
static void test_slices_that_finalizers_keep(void **state)
{
    (void)state;
    up();
    const struct sim_object *own = api_slice_only();
    for (unsigned i = 0; i < SLICES_SEEN_MAX + 2; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "double-%u", i);
        api_slice_keep(api_slice_double(own, name));
    }
    api_end("");
    pass(60000);
    api_forget();
    pass(60000);
    assert_int_equal(api_asked("GET "), 0);
    assert_int_equal(api_asked("DELETE "), 0);
    assert_true(publish_current(world.agent));
}

/* --- refusals --- */

/* Lists that fail with 5xx after a reconnect: the slices are unconfirmed until one succeeds. */
static void test_lists_fail(void **state)
{
    static const unsigned codes[] = {500, 503, 429};
    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        world_new();
        node_up();
        assert_true(publish_current(world.agent));
        log_forget();
        api.list_http = codes[i];
        api_end("");
        pass(2u * API_RECONNECT_MS);
        assert_int_equal(publish_current(world.agent), codes[i] == 429u);
        api.list_http = 0;
        pass(2u * API_RECONNECT_MS);
        assert_true(publish_current(world.agent));
        assert_null(strstr(world.log, "slice_verified"));
    }
}

static void refused(unsigned http, unsigned least, unsigned most)
{
    world_new();
    api.write_http = http;
    node_up();
    api_forget();
    pass(600000);
    assert_in_range(api_writes(), least, most);
    assert_false(publish_current(world.agent));
    log_has("api_request_failed");
    log_has(http == 403 ? "remedy=\"check RBAC" : "remedy=\"none needed: the agent retries\"");
    assert_null(strstr(world.log, "field="));
    api.write_http = 0;
    pass(60000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
}

static void test_refusals_are_retried_slowly(void **state)
{
    (void)state;
    refused(403, 15, 25); /* eight of them in the first minute: the roles may be new */
    refused(500, 15, 60);
}

static void test_retry_after(void **state)
{
    (void)state;
    world_new();
    api.write_http = 429;
    api.retry_after = 20;
    node_up();
    api_forget();
    pass(15000);
    assert_int_equal(api_writes(), 0);
    pass(10000);
    assert_int_equal(api_writes(), 1);
}

static void test_conflict(void **state)
{
    (void)state;
    up();
    api.write_http = 409;
    find(12);
    pass(100);
    api.write_http = 0;
    pass(5000);
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_fail),
        cmocka_unit_test(test_created),
        cmocka_unit_test(test_empty_node),
        cmocka_unit_test(test_waits_for_registration),
        cmocka_unit_test(test_equal_is_not_written),
        cmocka_unit_test(test_different_is_updated),
        cmocka_unit_test(test_owner_is_put_right),
        cmocka_unit_test(test_doubles_are_deleted),
        cmocka_unit_test(test_more_than_are_seen),
        cmocka_unit_test(test_more_wrong_ones),
        cmocka_unit_test(test_more_than_are_seen_of_nothing),
        cmocka_unit_test(test_page_of_a_list),
        cmocka_unit_test(test_slice_without_a_name),
        cmocka_unit_test(test_foreign_slices),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_device_lost_and_back),
        cmocka_unit_test(test_change_in_a_write),
        cmocka_unit_test(test_change_while_away),
        cmocka_unit_test(test_slices_that_finalizers_keep),
        cmocka_unit_test(test_refusals_are_retried_slowly),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
