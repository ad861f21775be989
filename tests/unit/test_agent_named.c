/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new store asks for no more claims than may have been lost: for those that the kubelet's
 * checkpoint names, for none on a node where nothing shows that the driver has run there, and for
 * all only otherwise.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="
#define GETS "GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/claim-"
#define USED 3u
#define OURS "neuron.aws.com"

static struct claim_id ids[API_CLAIMS];
static uint64_t wall_ms; /* when the agent was killed */

static void end_agent(void)
{
    wall_ms = world.agent->wall_ms;
    kill_agent();
}

/* The kubelet writes its checkpoint, with claims from 0 on. */
static void checkpoint(unsigned count, const char *driver)
{
    const struct claim_id *named[API_CLAIMS];
    for (unsigned n = 0; n < count; n++) {
        struct claim_id *id = &ids[n];
        (void)snprintf(id->uid, sizeof id->uid, "%s", api.claim[n].uid);
        (void)snprintf(id->name, sizeof id->name, "%s", api.claim[n].name);
        (void)snprintf(id->namespace_, sizeof id->namespace_, "%s", api.claim[n].ns);
        named[count - 1u - n] = id;
    }
    disk_kubelet_claims(named, count, driver, wall_ms);
}

/* Claims 0 to 2 were prepared here, and store and CDI files are gone. */
static void begin(void)
{
    node_with_claims(USED);
    end_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    lose_files();
    log_forget();
    api_forget();
}

/* --- the first start on a node --- */

static void test_first_start(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    api.lists_claims = true;
    disk.kubelet_state_status = HOST_ABSENT;
    node_up();
    pass(20000);
    assert_int_equal(api_asked(LISTS), 0);
    assert_false(world.agent->ledger->unlisted);
    prepare_well(0, 1);
    restart();
    register_driver();
    pass(20000);
    assert_int_equal(api_asked(LISTS), 0);
    assert_int_equal(held(), 1);
}

/* A new store, no checkpoint of the kubelet, and no API server yet. */
static void first_start_without_server(void)
{
    world_new();
    disk.kubelet_state_status = HOST_ABSENT;
    api.lists_claims = true;
    api.reachable = false;
    node_up();
}

/* Without an API server the slices are not known, so that new claims wait for it. */
static void test_first_start_without_a_server(void **state)
{
    (void)state;
    first_start_without_server();
    assert_true(world.agent->ledger->unlisted);
    api.reachable = true;
    pass(REBUILD_SLICES_MS / 2u);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(api_asked(LISTS), 0);
}

/* No Node, thus no slices: the agent lists all claims after REBUILD_SLICES_MS. */
static void test_first_start_without_a_node(void **state)
{
    (void)state;
    world_new();
    disk.kubelet_state_status = HOST_ABSENT;
    api.lists_claims = true;
    api.node_absent = true;
    node_up();
    pass(REBUILD_SLICES_MS - 5000u);
    assert_int_equal(api_asked(LISTS), 0);
    assert_true(world.agent->ledger->unlisted);
    pass(10000);
    assert_int_equal(api_asked(LISTS), 1);
    assert_false(world.agent->ledger->unlisted);
}

/* Signs that the driver ran on this node: a slice, a CDI file, a claim in an old checkpoint. */
static void test_not_the_first(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        begin();
        disk.kubelet_state_status = HOST_ABSENT;
        if (kind > 0u) {
            api_slice_delete(api_slice_only());
        }
        if (kind == 1u) {
            struct disk_file *f =
                disk_make(FILES_CDI, "neuron.aws.com-claim_c1a10000-0000-4000-8000-"
                                     "000000000009.json");
            disk_set_len(f, 1);
        } else if (kind == 2u) {
            checkpoint(USED, OURS);
            disk.kubelet_state_ms = 1;
        }
        up_again();
        bool sign = kind < 3u;
        assert_int_equal(api_asked(LISTS), sign ? 1 : 0);
        assert_int_equal(held(), sign ? USED : 0);
        assert_false(world.agent->ledger->unlisted);
    }
}

/* The disk refuses the end of it: the next try succeeds, and still nothing is asked for. */
static void test_first_start_on_a_full_disk(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 300; at += 7) {
        world_new();
        api.lists_claims = true;
        disk_fault(FAULT_ERROR, at, true, HOST_NO_SPACE);
        node_up();
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(60000);
        assert_false(world.agent->ledger->unlisted);
    }
}

/* While the disk refuses the end of it, the agent waits longer and longer between two tries. */
static void test_first_start_on_a_disk_that_stays_full(void **state)
{
    (void)state;
    first_start_without_server();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    api.reachable = true;
    pass(REBUILD_SLICES_MS);
    assert_true(world.agent->ledger->unlisted);
    uint64_t end_ms = world.now_ms + REBUILD_SLICES_MS;
    while (world.now_ms < end_ms) {
        assert_true(world.agent->recovery->rebuild.due_ms > world.now_ms);
        assert_int_equal(world.agent->recovery->rebuild.slices_by_ms, 0);
        pass(1000);
    }
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(120000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(api_asked(LISTS), 0);
}

/* --- the kubelet's checkpoint --- */

static void test_named(void **state)
{
    (void)state;
    begin();
    checkpoint(USED, OURS);
    up_again();
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
    assert_int_equal(api_asked(GETS), USED);
    log_has("event=claims_listed pages=0 claims=3 rebuilt=3");
    assert_true(agent_ready(world.agent));
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    api_forget();
    restart();
    register_driver();
    pass(3000);
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
}

/* It names none of this driver: nothing is asked for. */
static void test_none_named(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        begin();
        checkpoint((kind == 0) ? 0 : USED, "gpu.example.com");
        up_again();
        assert_int_equal(held(), 0);
        assert_false(world.agent->ledger->unlisted);
        assert_int_equal(api_asked(LISTS), 0);
        assert_int_equal(api_asked(GETS), 0);
    }
}

/* A checkpoint that proves nothing: all claims are listed. */
static void test_no_witness(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        const char *uid = "c1a10000-0000-4000-8000-000000000000";
        begin();
        checkpoint(0, OURS);
        disk.kubelet_state_status = (kind == 0) ? HOST_ABSENT : STATUS_OK;
        disk.kubelet_state_ms = (kind == 1) ? 1u : disk.kubelet_state_ms;
        disk.kubelet_state_ms = (kind == 2) ? UINT64_MAX : disk.kubelet_state_ms;
        disk.kubelet_state_len -= (kind == 3) ? 1u : 0u;
        if (kind == 4) {
            disk_kubelet_state(&uid, 1, wall_ms, true);
        } else if (kind == 5) {
            snprintf(api.claim[0].name, sizeof api.claim[0].name, "%s", "");
            checkpoint(1, OURS);
            snprintf(api.claim[0].name, sizeof api.claim[0].name, "claim-0");
        }
        up_again();
        assert_int_equal(api_asked(LISTS), 1);
        assert_int_equal(held(), USED);
    }
}

/* A damaged store may lack more than the kubelet knows: all claims are listed. */
static void test_damaged_store(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    api.lists_claims = true;
    node_up();
    prepare_well(0, 1);
    end_agent();
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), 0, 0, STORE_FILE_BYTES);
    checkpoint(0, OURS);
    api_forget();
    up_again();
    assert_int_equal(api_asked(LISTS), 1);
}

/* One claim is deleted, one has a new UID under the same name, one is no longer allocated. */
static void test_named_and_gone(void **state)
{
    (void)state;
    begin();
    checkpoint(USED, OURS);
    api.claim[0].http = 404;
    (void)snprintf(api.claim[1].uid, sizeof api.claim[1].uid, "another");
    api.claim[2].unallocated = true;
    up_again();
    assert_int_equal(held(), 0);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(api_asked(LISTS), 0);
}

/* A busy server is asked again, for that claim; one that forbids it, for the list. */
static void test_named_and_refused(void **state)
{
    static const unsigned codes[] = {429, 503, 500, 403};
    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        begin();
        checkpoint(USED, OURS);
        api.claim[1].http = codes[i];
        up_again();
        pass(10000);
        bool lists = codes[i] == 403;
        assert_int_equal(api_asked(LISTS), lists ? 1 : 0);
        assert_int_equal(world.agent->ledger->unlisted, !lists);
        assert_in_range(api_asked(GETS), lists ? 1 : USED, 20);
        api.claim[1].http = 0;
        pass(40000);
        assert_int_equal(held(), USED);
        assert_false(world.agent->ledger->unlisted);
    }
}

/* The connection ends in the midst of it. */
static void test_named_and_lost(void **state)
{
    (void)state;
    begin();
    checkpoint(USED, OURS);
    api.hangs = true;
    up_again();
    api.reachable = false;
    pass(5000);
    api.hangs = false;
    api.reachable = true;
    pass(60000);
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
}

/* Each call of the disk may fail once, from the first named claim on. */
static void test_named_on_a_disk_that_fails(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 40; at++) {
        begin();
        checkpoint(USED, OURS);
        api.reachable = false;
        up_again();
        disk_fault(FAULT_ERROR, at, false, HOST_IO);
        api.reachable = true;
        pass(180000);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        assert_int_equal(held(), USED);
        assert_false(world.agent->ledger->unlisted);
        restart();
        assert_int_equal(held(), USED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_start),
        cmocka_unit_test(test_first_start_without_a_server),
        cmocka_unit_test(test_first_start_without_a_node),
        cmocka_unit_test(test_not_the_first),
        cmocka_unit_test(test_first_start_on_a_full_disk),
        cmocka_unit_test(test_first_start_on_a_disk_that_stays_full),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_none_named),
        cmocka_unit_test(test_no_witness),
        cmocka_unit_test(test_damaged_store),
        cmocka_unit_test(test_named_and_gone),
        cmocka_unit_test(test_named_and_refused),
        cmocka_unit_test(test_named_and_lost),
        cmocka_unit_test(test_named_on_a_disk_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
