/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim store is lost, and with it the CDI files: the claims that are in use on the node are
 * those that the API server lists. None of their devices is given away, before the list or after.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="
#define USED 3u

/* Claims 0 to 2 are prepared; the others are nobody's. */
static void begin(void)
{
    node_with_claims(USED);
    log_forget();
    api_forget();
}

static struct disk_file *store(void)
{
    return disk_find(FILES_STATE, STORE_FILE_NAME);
}

static void lose_all(void)
{
    kill_agent();
    disk_unlink(store());
    lose_files();
}

static struct view copy_of(unsigned n)
{
    static uint8_t bytes[DISK_PAGE];
    struct view v = file_content(cdi_of(n));
    memcpy(bytes, v.data, v.len);
    return view_of(bytes, v.len);
}

static void check_not_ready(const char *want)
{
    char text[1024] = "";
    assert_false(agent_ready(world.agent));
    for (unsigned i = 0; strstr(text, want) == NULL; i++) {
        struct writer why = writer_of(text, sizeof text - 1);
        memset(text, 0, sizeof text);
        assert_true(ready_reason(world.agent, i, &why));
    }
}

/* --- what comes back --- */

static void test_claims_come_back(void **state)
{
    (void)state;
    begin();
    struct view before = copy_of(1);
    lose_all();
    up_again();
    assert_int_equal(held(), USED);
    log_has("event=claims_listed pages=1 claims=8 rebuilt=3");
    assert_int_equal(said("event=claim_adopted"), USED);
    assert_true(view_equal(file_content(cdi_of(1)), before));
    assert_true(agent_ready(world.agent));
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    prepare_well(0, USED);
    assert_int_equal(held(), USED);
    unprepare_well(0, 1);
    assert_string_equal(error_of_rival("neuron-device-0"), "");
    /* they are in the store, and nothing is listed twice */
    assert_int_equal(api_asked(LISTS), 1);
    restart();
    register_driver();
    pass(3000);
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 1);
}

/* Whatever a claim that holds nothing here may lack. */
static void test_claims_of_others(void **state)
{
    (void)state;
    begin();
    api.claim[0].unreserved = true;
    api.claim[1].result[0].pool = "another-node";
    api.claim[2].result[0].admin = true;
    api.claim[3].unallocated = false;
    api.claim[3].result[0].device = "neuron-device-999";
    lose_all();
    up_again();
    assert_int_equal(held(),
                     1); /* admin access holds no device, but its container has a CDI file */
    assert_non_null(cdi_of(2));
    assert_int_equal(disk_count(FILES_CDI), 1);
    assert_int_equal(said("event=claim_failed"), 1);
    log_has("device neuron-device-999 not found on node");
    assert_string_equal(error_of_rival("neuron-device-2"), "");
}

/* --- what was rebuilt, and never used --- */

/* More than two looks at each claim. */
static void pass_looks(void)
{
    pass(3u * world.settings.reconcile_ms + RECONCILE_CONFIRM_MS);
}

/*
 * A claim whose pod waited when the list was read, and whose pod is gone before the kubelet asked
 * for it: nobody will unprepare it.
 */
static void test_deallocated_before_use(void **state)
{
    (void)state;
    begin();
    api.claim[4].unallocated = false;
    lose_all();
    up_again();
    assert_int_equal(held(), USED + 1u);
    restart(); /* the next process knows it, too */
    register_driver();
    prepare_well(0, USED); /* as kubelets do after a restart */
    pass_looks();
    assert_int_equal(held(), USED + 1u);
    for (unsigned n = 0; n <= 4u; n++) {
        api.claim[n].unallocated = true;
    }
    pass_looks();
    assert_int_equal(held(), USED); /* what the kubelet asked for waits for its unprepare */
    assert_null(cdi_of(4));
    assert_int_equal(said("event=claim_released"), 1);
    log_has("deallocated before a pod used it");
    assert_string_equal(error_of_rival("neuron-device-4"), "");
    restart();
    pass_looks();
    assert_int_equal(held(), USED + 1u);
}

/* Once is no proof: the claim was allocated again. */
static void test_allocated_again(void **state)
{
    (void)state;
    begin();
    api.claim[4].unallocated = false;
    lose_all();
    up_again();
    for (unsigned look = 0; look < 8u; look++) {
        api.claim[4].unallocated = (look % 2u) == 0u;
        api_forget();
        while (api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/claim-4") ==
               0) {
            pass(1000);
        }
    }
    assert_int_equal(held(), USED + 1u);
    assert_int_equal(said("event=claim_released"), 0);
}

static uint64_t numbers(unsigned n)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    return world.agent->ledger->entry[slot].numbers;
}

/*
 * Allocated again after the list, and its pod asks while the API server cannot be asked: what was
 * listed answers, and stays its own until a prepare hears of the other device.
 */
static void test_allocated_again_without_a_server(void **state)
{
    (void)state;
    begin();
    api.claim[4].unallocated = false;
    lose_all();
    up_again();
    api.reachable = false;
    restart();
    register_driver();
    pass(3000);
    api.claim[4].result[0].device = "neuron-device-5";
    prepare_well(4, 1);
    assert_int_equal(numbers(4), UINT64_C(1) << 4);
    api.reachable = true;
    pass_looks();
    assert_non_null(strstr(error_of_rival("neuron-device-4"), "already held by claim ml/claim-4"));
    prepare_well(4, 1);
    assert_int_equal(numbers(4), UINT64_C(1) << 5);
    assert_string_equal(error_of_rival("neuron-device-4"), "");
}

/* What the older half of the record says of the claim is true as well. */
static void test_newest_half_rots_after_use(void **state)
{
    (void)state;
    begin();
    lose_all();
    up_again();
    prepare_well(1, 1);
    unsigned slot = (unsigned)ledger_find(world.agent, api.claim[1].uid);
    unsigned half = world.agent->ledger->entry[slot].half;
    kill_agent();
    file_fill(store(), store_offset(slot, half), 0x5a, STORE_HALF_BYTES);
    api.claim[1].unallocated = true;
    up_again();
    pass_looks();
    assert_int_equal(held(), USED);
    assert_int_equal(said("event=claim_released"), 0);
}

/* Nor does one damaged half make it forget that nobody asked for the claim yet. */
static void test_newest_half_rots_before_use(void **state)
{
    (void)state;
    begin();
    api.claim[4].unallocated = false;
    lose_all();
    up_again();
    assert_int_equal(held(), USED + 1u);
    unsigned slot = (unsigned)ledger_find(world.agent, api.claim[4].uid);
    unsigned half = world.agent->ledger->entry[slot].half;
    kill_agent();
    file_fill(store(), store_offset(slot, half), 0x5a, STORE_HALF_BYTES);
    api.claim[4].unallocated = true;
    up_again();
    pass_looks();
    assert_int_equal(held(), USED);
    assert_int_equal(said("event=claim_released"), 1);
}

/* The disk does not let the record say that the kubelet asked for it: the claim is not answered. */
static void test_used_while_the_disk_refuses(void **state)
{
    (void)state;
    begin();
    lose_all();
    up_again();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    assert_non_null(strstr(prepare_error(prepare_now(1, 1), 1), "cannot be written"));
    assert_int_equal(held(), USED);
    disk_refuse(FILES_STATE, STATUS_OK);
    prepare_well(1, 1);
    api.claim[1].unallocated = true;
    restart();
    pass_looks();
    assert_int_equal(held(), USED);
    assert_int_equal(said("event=claim_released"), 0);
}

/* --- when it is asked for --- */

enum damage { GONE, EMPTY, GARBAGE, ROTTEN_HEADER, ROTTEN_SLOT, ROTTEN_HALF, NO_FILES, DAMAGES };

static void damage(enum damage what)
{
    const unsigned slot = 0;
    unsigned half = world.agent->ledger->entry[slot].half;
    kill_agent();
    lose_files();
    switch (what) {
    case GONE:
        disk_unlink(store());
        break;
    case EMPTY:
        disk_set_len(store(), 0);
        break;
    case GARBAGE:
        file_fill(store(), 0, 0x5a, 4202496);
        break;
    case ROTTEN_HEADER:
        file_fill(store(), 0, 0x5a, STORE_HEADER_BYTES);
        break;
    case ROTTEN_SLOT:
        file_fill(store(), store_offset(slot, 0), 0x5a, STORE_SLOT_BYTES);
        break;
    case ROTTEN_HALF:
        file_fill(store(), store_offset(slot, 1 - half), 0x5a, STORE_HALF_BYTES);
        break;
    default:
        break;
    }
}

static void test_what_asks_for_a_list(void **state)
{
    (void)state;
    for (unsigned d = 0; d < DAMAGES; d++) {
        begin();
        damage((enum damage)d);
        up_again();
        assert_int_equal(api_asked(LISTS), d <= ROTTEN_HALF ? 1 : 0);
        assert_int_equal(held(), USED);
        assert_int_equal(disk_count(FILES_CDI), USED);
        assert_non_null(
            strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    }
}

/* Without devices there is nothing to hold; the list waits until some are found. */
static void test_node_without_devices(void **state)
{
    (void)state;
    begin();
    lose_all();
    found_set("trn2.48xlarge", 0, 8);
    up_again();
    assert_int_equal(api_asked(LISTS), 0);
    found_trn2();
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(3000);
    assert_int_equal(api_asked(LISTS), 1);
    assert_int_equal(held(), USED);
}

/* --- until it is done --- */

static void test_nothing_is_granted_before(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.claims_http = 503;
    up_again();
    const char *error =
        error_of_rival("neuron-device-5"); /* a free one, as only the list can tell */
    assert_non_null(strstr(error, "the claim store is new or lost a part: no new claim is prepared "
                                  "until the claims in use on this node were listed"));
    check_not_ready("no new claim is prepared until the claims in use");
    assert_int_equal(held(), 0);
    api.claims_http = 0;
    pass(60000);
    assert_true(agent_ready(world.agent));
    assert_int_equal(held(), USED + 1u); /* the claim that waits is in use, too */
    assert_string_equal(error_of_rival("neuron-device-5"), "");
}

/* Store, CDI files and API server: then nobody knows what is held, and nothing is answered. */
static void test_no_witness_is_left(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.reachable = false;
    up_again();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(60000);
    assert_non_null(
        strstr(prepare_error(call_reply_of(c), 0), "cannot be read from the API server"));
    peer_close(p);
    unprepare_well(1, 1);
    assert_int_equal(disk_count(FILES_CDI), 1); /* its tombstone */
    api.reachable = true;
    pass(60000);
    assert_int_equal(held(), USED - 1u);
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    prepare_well(0, 1);
}

/* A prepare that came before the list was through goes on by itself. */
static void test_prepare_waits(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.claim[7].unallocated = false;
    api.claims_http = 500;
    start();
    register_driver();
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(7, 1));
    pass(500);
    assert_false(c->ended);
    api.claims_http = 0;
    pass(4000);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 7), "");
}

/* What is asked for survives the process, and is asked for no more once it is done. */
static void test_killed_before_the_end(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.claims_http = 500;
    up_again();
    restart();
    register_driver();
    pass(3000);
    assert_int_equal(held(), 0);
    assert_true(world.agent->ledger->unlisted);
    api.claims_http = 0;
    restart();
    register_driver();
    pass(3000);
    assert_int_equal(held(), USED);
    api_forget();
    restart();
    pass(60000);
    assert_int_equal(api_asked(LISTS), 0);
}

/* The disk refuses the records, then the end of the list: neither counts as done. */
static void test_disk_that_refuses(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.reachable = false;
    up_again();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    api.reachable = true;
    pass(60000);
    assert_true(world.agent->ledger->unlisted);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(120000);
    assert_false(world.agent->ledger->unlisted);
    restart();
    assert_int_equal(held(), USED);
}

/* Each call of the disk may fail once, from the list's first claim to its end. */
static void test_disk_that_fails_once(void **state)
{
    (void)state;
    for (unsigned at = 0; at < 40; at++) {
        begin();
        lose_all();
        api.reachable = false;
        up_again();
        disk_fault(FAULT_ERROR, at, false, HOST_IO);
        api.reachable = true;
        pass(180000);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        assert_int_equal(held(), USED);
        assert_false(world.agent->ledger->unlisted);
        assert_true(agent_ready(world.agent));
        restart();
        assert_int_equal(held(), USED);
    }
}

static void test_forbidden(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.claims_http = 403;
    up_again();
    assert_int_equal(said("event=api_request_failed"), 1);
    log_has("doing=\"list resourceclaims\"");
    log_has("allow the verb list for resourceclaims in the agent's ClusterRole");
    check_not_ready("which forbids it: allow the verb list for resourceclaims");
    assert_non_null(strstr(error_of_rival("neuron-device-5"), "which forbids it"));
    unprepare_well(1, 1);
    api_forget();
    pass(600000);
    assert_in_range(api_asked(LISTS), 1, 25);
    api.claims_http = 0;
    pass(600000);
    assert_int_equal(held(), USED); /* claim 7 too, and not claim 1, which was unprepared */
    assert_int_equal(ledger_find(world.agent, api.claim[1].uid), -1);
    assert_true(agent_ready(world.agent));
}

/* An unprepare counts, though the API server may list its claim for some time. */
static void test_unprepared_before_the_list(void **state)
{
    (void)state;
    begin();
    lose_all();
    api.claims_http = 500;
    up_again();
    unprepare_well(1, 1);
    pass(20000);
    restart();
    register_driver();
    api.claims_http = 0;
    pass(60000);
    assert_int_equal(held(), USED - 1u);
    assert_int_equal(ledger_find(world.agent, api.claim[1].uid), -1);
    assert_int_equal(disk_count(FILES_CDI), USED - 1u); /* nor is its tombstone left */
    assert_string_equal(error_of_rival("neuron-device-1"), "");
}

/* The same of a claim that the damaged store still had. */
static void test_unprepared_of_a_damaged_store(void **state)
{
    (void)state;
    begin();
    kill_agent();
    file_fill(store(), 0, 0x5a, STORE_HEADER_BYTES);
    api.claims_http = 500;
    up_again();
    assert_int_equal(held(), USED);
    unprepare_well(1, 1);
    disk_unlink(cdi_of(2));
    unprepare_well(2, 1);
    pass(20000);
    api.claims_http = 0;
    pass(60000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(held(), 1);
}

/* The store is lost and the CDI files are not. The list of claims fails. */
static void begin_before_the_list(void)
{
    begin();
    kill_agent();
    disk_unlink(store());
    api.claims_http = 500;
    up_again();
    assert_int_equal(held(), USED);
}

/*
 * The disk refuses the flush of a release, and the tombstone is lost: a repeated unprepare creates
 * the tombstone again, because the list still names the claim.
 */
static void test_tombstone_lost_before_the_flush(void **state)
{
    (void)state;
    begin_before_the_list();
    disk.refuse_flush = true;
    disk.refusal = HOST_IO;
    unprepare_well(1, 1);
    disk_unlink(tombstone_of(1));
    unprepare_well(1, 1);
    assert_non_null(tombstone_of(1));
    disk.refuse_flush = false;
    api.claims_http = 0;
    pass(60000);
    assert_false(world.agent->ledger->unlisted);
    pass_looks();
    assert_int_equal(held(), USED - 1u);
    assert_null(tombstone_of(1));
}

/* The CDI root refuses the tombstone: the release keeps its slot until a tombstone is created. */
static void test_tombstone_refused_before_the_list(void **state)
{
    (void)state;
    begin_before_the_list();
    disk_unlink(cdi_of(1));
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    unprepare_well(1, 1);
    assert_int_equal(held(), USED - 1u);
    pass(20000);
    disk_refuse(FILES_CDI, STATUS_OK);
    api.claims_http = 0;
    pass(60000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(held(), USED - 1u);
    pass(60000);
    assert_int_equal(world.agent->ledger->freeing, 0);
}

/* --- pages --- */

static void test_pages(void **state)
{
    (void)state;
    begin();
    lose_all();
    fill_cluster();
    up_again();
    assert_int_equal(api_asked(LISTS), 2);
    assert_int_equal(api_asked(LISTS "500&continue="), 1);
    assert_int_equal(held(), USED);
    log_has("event=claims_listed pages=2 claims=508 rebuilt=3");
}

/* A claim of the first page cannot be held: the list starts again with that page. */
static void test_first_page_again(void **state)
{
    (void)state;
    begin();
    lose_all();
    fill_cluster();
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    up_again();
    assert_true(world.agent->ledger->unlisted);
    assert_true(api_asked(LISTS "500\n") > 0);
    disk_refuse(FILES_CDI, STATUS_OK);
    api_forget();
    pass(120000);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS "500\n"), 1);
    assert_int_equal(api_asked(LISTS "500&continue="), 1);
}

/* The last page has no metadata: the token that led to it leads nowhere again. */
static void test_last_page_without_metadata(void **state)
{
    struct rebuild *k;
    (void)state;
    begin();
    lose_all();
    api.reachable = false;
    up_again();
    pass(2u * REBUILD_SLICES_MS);
    k = &world.agent->recovery->rebuild;
    assert_int_equal(k->way, REBUILD_LISTED);
    (void)snprintf(k->token, sizeof k->token, "next");
    api.claims_list = view_of("\x12\0", 2); /* one claim of nobody */
    api.reachable = true;
    pass(60000);
    assert_int_equal(api_asked(LISTS "500&continue=next"), 1);
    assert_int_equal(api_asked(LISTS), 1);
    assert_false(world.agent->ledger->unlisted);
}

/* A token that is too old: the list starts again, and nobody is alarmed. */
static void test_outdated_token(void **state)
{
    (void)state;
    begin();
    lose_all();
    fill_cluster();
    api.claims_gone = 1;
    up_again();
    pass(10000);
    assert_int_equal(api_asked(LISTS "500\n"), 2);
    assert_int_equal(api_asked(LISTS "500&continue="), 2);
    assert_int_equal(held(), USED);
    assert_int_equal(said("event=api_request_failed"), 0);
    assert_true(agent_ready(world.agent));
}

/* A server whose tokens are always too old is no reason to ask all the time. */
static void test_tokens_always_outdated(void **state)
{
    (void)state;
    begin();
    lose_all();
    fill_cluster();
    api.claims_gone = 1000000;
    up_again();
    api_forget();
    pass(600000);
    assert_in_range(api_asked(LISTS), 2, 60);
    log_has("event=api_request_failed");
    assert_true(world.agent->ledger->unlisted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_come_back),
        cmocka_unit_test(test_claims_of_others),
        cmocka_unit_test(test_deallocated_before_use),
        cmocka_unit_test(test_allocated_again),
        cmocka_unit_test(test_allocated_again_without_a_server),
        cmocka_unit_test(test_newest_half_rots_after_use),
        cmocka_unit_test(test_newest_half_rots_before_use),
        cmocka_unit_test(test_used_while_the_disk_refuses),
        cmocka_unit_test(test_what_asks_for_a_list),
        cmocka_unit_test(test_node_without_devices),
        cmocka_unit_test(test_nothing_is_granted_before),
        cmocka_unit_test(test_no_witness_is_left),
        cmocka_unit_test(test_prepare_waits),
        cmocka_unit_test(test_killed_before_the_end),
        cmocka_unit_test(test_disk_that_refuses),
        cmocka_unit_test(test_disk_that_fails_once),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_unprepared_before_the_list),
        cmocka_unit_test(test_unprepared_of_a_damaged_store),
        cmocka_unit_test(test_tombstone_lost_before_the_flush),
        cmocka_unit_test(test_tombstone_refused_before_the_list),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_first_page_again),
        cmocka_unit_test(test_last_page_without_metadata),
        cmocka_unit_test(test_outdated_token),
        cmocka_unit_test(test_tokens_always_outdated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
