/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent where one slice is not enough or the server refuses it: the pool in several
 * slices, their generation and number, content that is refused, stored in part, or answered by
 * another object, and items that are left out before they are sent.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static void start_with(unsigned devices)
{
    found_set("trn2.48xlarge", devices, 8);
    node_up();
}

static void find(unsigned devices)
{
    found_set("trn2.48xlarge", devices, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
}

/* A server that takes `most` devices in a slice, with 64 on the node. */
static void up_cut(unsigned most, unsigned http)
{
    world_new();
    api.devices_max = most;
    api.devices_http = http;
    api.cause_field = "spec.devices";
    api.cause_message = "must have at most so many items";
    start_with(64);
    pass(10000);
}

/* All stored slices are one pool of that many, complete, of one generation, each device once. */
static void check_pool(unsigned slices, unsigned devices, uint64_t generation)
{
    unsigned sum = 0;
    bool seen[64] = {false};
    assert_int_equal(api_slices(), slices);
    for (unsigned i = 0; i < slices; i++) {
        const struct sim_object *s = api_slice_at(i);
        assert_int_equal(proto_get(proto_get(slice_spec(s), 2).bytes, 3).value, slices);
        assert_int_equal(slice_generation(s), generation);
        assert_string_equal(slice_owner(s), NODE_UID);
        struct reader in = reader_of(slice_spec(s));
        struct sim_field f;
        while (proto_next(&in, &f)) {
            char name[64];
            if (f.number == 6) {
                proto_text(f.bytes, 1, name, sizeof name);
                unsigned n = (unsigned)atoi(name + strlen("neuron-device-"));
                assert_true(n < 64 && !seen[n]);
                seen[n] = true;
                sum++;
            }
        }
    }
    assert_int_equal(sum, devices);
    assert_true(publish_current(world.agent));
}

/* Slice that holds the device. */
static struct sim_object *slice_with(const char *device)
{
    for (unsigned i = 0; i < api_slices(); i++) {
        struct sim_object *s = api_slice_at(i);
        struct reader in = reader_of(slice_spec(s));
        struct sim_field f;
        while (proto_next(&in, &f)) {
            if (f.number == 6 && view_is(proto_get(f.bytes, 1).bytes, device)) {
                return s;
            }
        }
    }
    fail_msg("no slice has %s", device);
    return NULL;
}

/* --- several slices --- */

static void test_sizes(void **state)
{
    (void)state;
    static const unsigned sizes[] = {0, 1, 16, 64};
    for (unsigned i = 0; i < 4; i++) {
        world_new();
        start_with(sizes[i]);
        check_pool(1, sizes[i], 1);
        assert_int_equal(api_writes(), 1);
    }
}

static void test_cut(void **state)
{
    (void)state;
    up_cut(32, 422);
    check_pool(2, 64, 1);
    assert_int_equal(said("slice_split"), 1);
    up_cut(16, 413);
    check_pool(4, 64, 1);
    assert_int_equal(said("slice_split"), 2);
    up_cut(10, 413);
    check_pool(8, 64, 1);
    api_forget();
    pass(86400000);
    assert_int_equal(api_writes(), 0);
}

/* The next process finds the pool as it was cut, and writes nothing. */
static void test_cut_is_kept_by_a_restart(void **state)
{
    (void)state;
    up_cut(20, 413);
    check_pool(4, 64, 1);
    api_forget();
    restart();
    register_driver();
    pass(20000);
    assert_int_equal(api_writes(), 0);
    check_pool(4, 64, 1);
    find(10);
    pass(5000);
    check_pool(1, 10, 2);
}

/* Smaller than small is not tried: words, and slow attempts. */
static void test_cut_has_an_end(void **state)
{
    (void)state;
    up_cut(3, 413);
    api_forget();
    pass(4u * 3600000u);
    assert_in_range(api_writes(), 8, 14);
    assert_int_equal(api_slices(), 0);
    assert_non_null(strstr(publish_reason(world.agent), "invalid"));
}

static void test_one_of_several_changes(void **state)
{
    (void)state;
    up_cut(32, 413);
    api_forget();
    api_slice_cut(slice_with("neuron-device-40"));
    pass(2000);
    check_pool(2, 64, 1);
    assert_int_equal(api_writes(), 1);
}

static void test_one_of_several_is_deleted(void **state)
{
    (void)state;
    up_cut(32, 413);
    api_forget();
    api_slice_delete(slice_with("neuron-device-40"));
    pass(2000);
    check_pool(2, 64, 2);
    assert_int_equal(api_asked("POST "), 1);
    assert_int_equal(api_asked("PUT "), 1);
}

static void test_number_changes(void **state)
{
    (void)state;
    up_cut(32, 413);
    find(33);
    pass(2000);
    /* the second one alone is another now: one change, the same generation */
    check_pool(2, 33, 1);
    find(32);
    pass(2000);
    check_pool(1, 32, 2);
    find(64);
    pass(2000);
    check_pool(2, 64, 3);
    /* all are others: so is their generation */
    (void)snprintf(world.found.driver_version, SYSFS_VALUE_CAP, "2.27.0.0\n");
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(2000);
    check_pool(2, 64, 4);
}

/* Obsolete ones go first, then what is there changes, then what is missing comes. */
static void test_order_of_writes(void **state)
{
    (void)state;
    up_cut(32, 413);
    kill_agent();
    (void)api_slice_double(slice_with("neuron-device-40"), "00000-neuron.aws.com-node-a-x");
    api_slice_cut(slice_with("neuron-device-1"));
    api_forget();
    start();
    register_driver();
    pass(2000);
    check_pool(2, 64, 1);
    const char *deleted = strstr(api.log, "DELETE ");
    const char *updated = strstr(api.log, "PUT ");
    assert_true(deleted != NULL && updated > deleted);
    assert_int_equal(api_writes(), 2);
    api_slice_delete(slice_with("neuron-device-40"));
    api_forget();
    pass(2000);
    check_pool(2, 64, 2);
    updated = strstr(api.log, "PUT ");
    const char *created = strstr(api.log, "\nPOST ");
    assert_true(updated != NULL && created > updated);
}

/* --- the generation --- */

/* Somebody writes one of one octet into a slice. */
static void write_generation(struct sim_object *s, uint8_t old, uint8_t generation)
{
    struct view spec = slice_spec(s);
    uint8_t *at = s->body + (spec.data - s->body);
    at = memchr(at, 0x10, spec.len); /* field 2 of the pool, a varint */
    assert_true(at != NULL && at[1] == old);
    at[1] = generation;
    api_touch(s);
}

/* Somebody writes a lower one, or a higher one: it never falls. */
static void test_generation_never_falls(void **state)
{
    (void)state;
    world_new();
    start_with(16);
    for (unsigned i = 2; i < 5; i++) {
        api_slice_delete(api_slice_only());
        pass(2000);
        check_pool(1, 16, i);
    }
    struct sim_object *s = api_slice_only();
    write_generation(s, 4, 2);
    pass(2000);
    check_pool(1, 16, 4);
    write_generation(s, 4, 9);
    pass(2000);
    api_slice_delete(s);
    pass(2000);
    check_pool(1, 16, 10);
    /* a slice that only the watch ever showed */
    s = api_slice_double(api_slice_only(), "passing");
    api_slice_cut(s); /* short enough that its event leaves at once */
    write_generation(s, 10, 20);
    api_pump(world.now_ms);
    api_slice_delete(s);
    pass(2000);
    check_pool(1, 16, 20);
}

/* --- content that the server does not take, or not as a whole --- */

static void test_invalid(void **state)
{
    (void)state;
    world_new();
    api.write_http = 422;
    api.cause_field = "spec.devices[3].attributes";
    api.cause_message = "must be better";
    start_with(16);
    log_has("field=spec.devices[3].attributes cause=\"must be better\"");
    assert_int_equal(api_writes(), 1);
    api_forget();
    pass(INVALID_RETRY_MS / 2u);
    assert_int_equal(api_writes(), 0);
    pass(INVALID_RETRY_MS);
    assert_int_equal(api_writes(), 1); /* soon, and then less and less often */
    pass(3600000u);
    assert_in_range(api_writes(), 7, 9);
    pass(23u * 3600000u);
    assert_in_range(api_writes(), 25, 35);
    assert_false(agent_ready(world.agent));
    assert_non_null(strstr(publish_reason(world.agent), "invalid"));
    /* another content is tried at once */
    api.write_http = 0;
    find(15);
    pass(1000);
    check_pool(1, 15, 1);
}

/* What the server drops is said and not written again, not by rounds and not by hints. */
static void test_stored_in_part(void **state)
{
    (void)state;
    world_new();
    api.drops_devices = true;
    start_with(16);
    pass(60000);
    log_has("slice_fields_dropped");
    assert_int_equal(said("slice_fields_dropped"), 1);
    assert_false(agent_ready(world.agent));
    assert_non_null(strstr(publish_reason(world.agent), "stores less"));
    pass(86400000);
    assert_int_equal(api_writes(), 1);
    api_touch(api_slice_only());
    pass(60000);
    assert_int_equal(api_writes(), 1);
    /* a process that does not know it tries once */
    restart();
    register_driver();
    pass(86400000);
    assert_int_equal(api_writes(), 2);
    /* the server keeps all of what is written next */
    api.drops_devices = false;
    find(15);
    pass(60000);
    check_pool(1, 15, 1);
}

/* Adds a cause to the details of a Status. */
static void put_cause(struct writer *details, const char *field, const char *message)
{
    uint8_t bytes[128];
    struct writer cause = writer_of(bytes, sizeof bytes);
    put_str(&cause, 1, "FieldValueInvalid");
    put_str(&cause, 2, message);
    put_str(&cause, 3, field);
    put_view(details, 4, writer_view(&cause));
}

/*
 * Whichever cause of a 422 names the number of devices, the slices become smaller. The log has the
 * first cause that can be read.
 */
static void test_several_causes(void **state)
{
    uint8_t details_bytes[512];
    uint8_t status_bytes[600];
    uint8_t page_bytes[700];
    struct writer details = writer_of(details_bytes, sizeof details_bytes);
    struct writer status = writer_of(status_bytes, sizeof status_bytes);
    struct writer page = writer_of(page_bytes, sizeof page_bytes);
    (void)state;
    put_cause(&details, "spec.unreadable", "no UTF-8: \xff");
    put_cause(&details, "spec.first", "the first that can be read");
    put_cause(&details, "spec.devices", "too many");
    put_cause(&details, "spec.last", "the last");
    put_str(&status, 3, "the slice is invalid");
    put_view(&status, 5, writer_view(&details));
    put_envelope(&page, "v1", "Status", writer_view(&status));
    world_new();
    api.page = writer_view(&page);
    api.page_http = 422;
    api.page_asked = SIM_ASK_CREATE;
    start_with(16);
    log_has("event=slice_split devices=8 text=\"the first that can be read\"");
    log_has("field=spec.first cause=\"the first that can be read\"");
    assert_int_equal(said("spec.unreadable") + said("spec.last"), 0);
    api.page_asked = 0;
    pass(60000);
    check_pool(2, 16, 1);
}

/* --- shares and counters that the server refuses or drops --- */

static void begin_shared(void)
{
    static const char *const flags[] = {"--share-cores"};
    world_new();
    settings_set(flags, 1);
}

/* How many stored devices several claims may have. */
static unsigned shared_devices(void)
{
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    unsigned n = 0;
    while (proto_next(&in, &f)) {
        n += (f.number == 6 && proto_get(f.bytes, 12).value == 1) ? 1 : 0;
    }
    return n;
}

static void check_unshared(void)
{
    assert_int_equal(slice_devices(api_slice_only()), 16);
    assert_int_equal(shared_devices(), 0);
    assert_int_equal(said("device_sharing_dropped"), 1);
    assert_true(publish_current(world.agent));
    api_forget();
    pass(600000);
    assert_int_equal(api_writes(), 0);
}

static void test_shares_kept(void **state)
{
    (void)state;
    begin_shared();
    start_with(16);
    pass(10000);
    assert_int_equal(shared_devices(), 16);
    assert_int_equal(said("device_sharing_dropped"), 0);
    assert_true(publish_current(world.agent));
}

static void test_shares_dropped(void **state)
{
    (void)state;
    begin_shared();
    api.drops_shares = true;
    start_with(16);
    pass(60000);
    check_unshared();
}

static void test_shares_refused(void **state)
{
    (void)state;
    begin_shared();
    api.write_http = 422;
    start_with(16);
    assert_int_equal(said("device_sharing_dropped"), 1);
    api.write_http = 0;
    pass(60000);
    check_unshared();
}

/* A server of beta versions keeps no shares: nothing is tried. */
static void test_shares_of_beta_server(void **state)
{
    (void)state;
    begin_shared();
    api.served = SERVES(API_V1BETA2);
    start_with(16);
    pass(60000);
    assert_int_equal(api_asked("PUT "), 0);
    check_unshared();
}

/* Each further round meets the same server, and the log has it once. */
static void test_shares_of_beta_server_again(void **state)
{
    (void)state;
    begin_shared();
    api.served = SERVES(API_V1BETA2);
    start_with(16);
    pass(60000);
    find(15);
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_int_equal(shared_devices(), 0);
    assert_int_equal(said("device_sharing_dropped"), 1);
}

/* Too many devices are cut, and stay shared. */
static void test_shares_of_cut_slices(void **state)
{
    (void)state;
    begin_shared();
    api.devices_max = 8;
    api.devices_http = 413;
    start_with(16);
    pass(60000);
    check_pool(2, 16, 1);
    assert_int_equal(said("device_sharing_dropped"), 0);
}

static void begin_counters(void)
{
    static const char *const flags[] = {"--ultraserver-devices", "both"};
    world_new();
    settings_set(flags, 2);
    found_set("trn2u.48xlarge", 16, 8);
    (void)snprintf(world.found.ultraserver.modes, sizeof world.found.ultraserver.modes, "1,3,4");
    for (unsigned n = 0; n < ULTRASERVER_SIZES; n++) {
        (void)snprintf(world.found.ultraserver.node_id[n], 2, "2");
        (void)snprintf(world.found.ultraserver.server_id[n], 17, "00000000000000a%u", n);
    }
}

/* A server that calls counters invalid gets the node alone. */
static void test_counters_refused(void **state)
{
    (void)state;
    begin_counters();
    api.write_http = 422;
    start();
    register_driver();
    pass(2000);
    assert_string_equal(publish_reason(world.agent), "the API server keeps no shared counters");
    api.write_http = 0;
    pass(60000);
    assert_int_equal(slice_devices(api_slice_only()), 1);
    assert_true(publish_current(world.agent));
}

/* Too many devices are cut, and still take from the counters. */
static void test_counters_of_cut_slices(void **state)
{
    (void)state;
    begin_counters();
    api.devices_max = 10;
    api.devices_http = 413;
    start();
    register_driver();
    pass(60000);
    assert_int_equal(api_slices(), 3);
    assert_true(world.agent->publish->wanted.devices.counters);
    assert_true(publish_current(world.agent));
}

/* --- deletes that fail --- */

static void start_with_double(unsigned http)
{
    world_new();
    start_with(16);
    kill_agent();
    (void)api_slice_double(api_slice_only(), "double");
    api_forget();
    log_forget();
    api.delete_http = http;
    start();
    register_driver();
    pass(2000);
}

static void test_deletes_that_fail(void **state)
{
    (void)state;
    start_with_double(409);
    log_has("slice_write_conflicted");
    assert_null(strstr(world.log, "api_request_failed"));
    assert_false(publish_current(world.agent));
    start_with_double(500);
    log_has("event=api_request_failed doing=\"delete slice\"");
    assert_false(publish_current(world.agent));
    api.delete_http = 0;
    pass(60000);
    assert_int_equal(api_slices(), 1);
    assert_true(publish_current(world.agent));
    /* it is gone already: the round goes on, and the next list would show it */
    start_with_double(404);
    assert_int_equal(api_asked("DELETE "), 1);
    assert_true(publish_current(world.agent));
    assert_null(strstr(world.log, "api_request_failed"));
}

/* --- answers with other objects --- */

static void test_answer_with_another_object(void **state)
{
    (void)state;
    world_new();
    start_with(16);
    api.answers_name = "somebody-elses";
    find(15);
    pass(200);
    log_has("api_response_unexpected");
    assert_false(agent_ready(world.agent));
    assert_int_equal(api_asked("PUT "), 1);
    api.answers_name = NULL;
    pass(5000);
    /* the list told that it was stored all the same */
    assert_int_equal(api_asked("PUT "), 1);
    check_pool(1, 15, 1);
    api.answers_name = "";
    api_slice_delete(api_slice_only());
    pass(2000);
    api.answers_name = NULL;
    pass(20000);
    check_pool(1, 15, 2);
    assert_int_equal(api_asked("POST "), 2);
}

/* --- losses of the watch --- */

/* The event of a deletion never comes: the next round finds it. */
static void test_lost_event(void **state)
{
    (void)state;
    world_new();
    start_with(16);
    api_slice_only()->state = SIM_FREE;
    pass(60000);
    assert_int_equal(api_slices(), 0);
    pass(15u * 60000u);
    check_pool(1, 16, 2);
}

/* --- what is left out --- */

static void test_left_out(void **state)
{
    (void)state;
    world_new();
    start_with(16);
    assert_true(world.agent->devices->count == 16);
    /* the probe never lets such values through: this is the last line */
    memcpy(world.agent->node->inventory.devices.driver_version, "\xff\xfe", 3);
    (void)snprintf(world.agent->node->inventory.devices.device[3].name, DEVICE_NAME_CAP,
                   "Neuron_3");
    publish_changed(world.agent);
    pass(5000);
    for (unsigned i = 0; i < 3; i++) {
        publish_changed(world.agent);
        pass(1000);
    }
    assert_int_equal(said("slice_item_omitted"), 2);
    log_has("item=neuronDriverVersion");
    log_has("not a DNS label");
    const struct sim_object *s = api_slice_only();
    assert_int_equal(slice_devices(s), 15);
    assert_true(publish_current(world.agent));
    assert_int_equal(world.agent->report->count[LOG_ID_SLICE_ITEM_OMITTED], 2);
    assert_int_equal(api_writes(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_is_kept_by_a_restart),
        cmocka_unit_test(test_cut_has_an_end),
        cmocka_unit_test(test_one_of_several_changes),
        cmocka_unit_test(test_one_of_several_is_deleted),
        cmocka_unit_test(test_number_changes),
        cmocka_unit_test(test_order_of_writes),
        cmocka_unit_test(test_generation_never_falls),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_several_causes),
        cmocka_unit_test(test_shares_kept),
        cmocka_unit_test(test_shares_dropped),
        cmocka_unit_test(test_shares_refused),
        cmocka_unit_test(test_shares_of_beta_server),
        cmocka_unit_test(test_shares_of_beta_server_again),
        cmocka_unit_test(test_shares_of_cut_slices),
        cmocka_unit_test(test_counters_refused),
        cmocka_unit_test(test_counters_of_cut_slices),
        cmocka_unit_test(test_deletes_that_fail),
        cmocka_unit_test(test_stored_in_part),
        cmocka_unit_test(test_answer_with_another_object),
        cmocka_unit_test(test_lost_event),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
