/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rebuild of a lost claim store when the list of claims, or the read of a named claim, is odd,
 * interrupted, or overtaken by the disk or by another agent. No claim in use loses its devices, and
 * the rebuild ends once the disturbance does.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="
#define GETS "GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/claim-"
#define OURS "neuron.aws.com"
#define USED 3u

static struct disk_file *store(void)
{
    return disk_find(FILES_STATE, STORE_FILE_NAME);
}

/* Claims 0 to 2 were prepared here, and the store is gone; `files`: the CDI files are left. */
static void lose_store(bool files)
{
    node_with_claims(USED);
    kill_agent();
    disk_unlink(store());
    if (!files) {
        lose_files();
    }
    log_forget();
    api_forget();
}

/* The kubelet's checkpoint names claims 0 to 2, and `more` besides unless it is NULL. */
static void checkpoint(const struct claim_id *more)
{
    static struct claim_id ids[USED];
    const struct claim_id *named[USED + 1u];
    for (unsigned n = 0; n < USED; n++) {
        text_set(ids[n].uid, sizeof ids[n].uid, api.claim[n].uid);
        text_set(ids[n].name, sizeof ids[n].name, api.claim[n].name);
        text_set(ids[n].namespace_, sizeof ids[n].namespace_, api.claim[n].ns);
        named[n + 1u] = &ids[n];
    }
    named[0] = more;
    disk_kubelet_claims((more != NULL) ? &named[0] : &named[1], (more != NULL) ? USED + 1u : USED,
                        OURS, WALL_MS(world.now_ms));
}

static bool list_asked(void)
{
    return api_asked(LISTS) > 0;
}

static bool claim_asked(void)
{
    return api_asked(GETS) > 0;
}

/* The agent starts; time stops when the request is under way, still without a response. */
static void start_until(bool (*asked)(void))
{
    api.reachable = false;
    up_again();
    api.reachable = true;
    world.halt = asked;
    for (unsigned i = 0; i < 2000u && !asked(); i++) {
        pass(10);
    }
    assert_true(asked());
    world.halt = NULL;
}

/* All three claims are held, and new claims are prepared again. */
static void check_rebuilt(void)
{
    assert_int_equal(held(), USED);
    assert_false(world.agent->ledger->unlisted);
    for (unsigned n = 0; n < USED; n++) {
        assert_non_null(cdi_of(n));
    }
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    assert_string_equal(error_of_rival("neuron-device-9"), "");
    check_idle();
}

/* --- lists as no good server sends them --- */

static uint8_t list_bytes[60000];
static struct writer list;

/* A list that names a next page by this token; NULL: it is the last page. */
static void list_begin(const char *token)
{
    uint8_t bytes[1024];
    struct writer meta = writer_of(bytes, sizeof bytes);
    list = writer_of(list_bytes, sizeof list_bytes);
    put_str(&meta, 2, "77");
    if (token != NULL) {
        put_str(&meta, 3, token);
    }
    put_view(&list, 1, writer_view(&meta));
}

static void list_claim(const struct api_claim *c)
{
    static uint8_t bytes[26000];
    struct writer object = writer_of(bytes, sizeof bytes);
    put_claim(&object, c);
    put_view(&list, 2, writer_view(&object));
    api.claims_list = writer_view(&list);
}

/* Claims 0 to 2, each followed by a claim with this UID that has device 9; NULL: by none. */
static void list_with(const char *token, const char *odd_uid)
{
    list_begin(token);
    for (unsigned n = 0; n < USED; n++) {
        struct api_claim odd = api.claim[n];
        list_claim(&api.claim[n]);
        odd.result[0].device = "neuron-device-9";
        if (odd_uid != NULL) {
            text_set(odd.uid, sizeof odd.uid, odd_uid);
            list_claim(&odd);
        }
    }
}

/* A token that fits into no path: the list starts again with its first page, after a wait. */
static void test_token_for_no_path(void **state)
{
    (void)state;
    char token[600];
    memset(token, '%', sizeof token);
    token[sizeof token - 1u] = '\0';
    lose_store(false);
    list_with(token, NULL);
    up_again();
    pass(20000);
    assert_in_range(api_asked(LISTS "500\n"), 2, 20);
    assert_int_equal(api_asked(LISTS "500&"), 0);
    assert_true(world.agent->ledger->unlisted);
    api.claims_list = view_of(NULL, 0);
    pass(60000);
    check_rebuilt();
}

/* A token that the agent cannot keep, or not read: the page does not count, and the log says so. */
static void test_token_unreadable(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2u; kind++) {
        char token[700];
        memset(token, (kind == 0u) ? 'x' : '\xff', sizeof token);
        token[(kind == 0u) ? sizeof token - 1u : 20u] = '\0';
        lose_store(false);
        list_with(token, NULL);
        up_again();
        log_has("event=api_response_unexpected");
        log_has("doing=\"list resourceclaims\"");
        assert_int_equal(api_asked(LISTS "500&"), 0);
        assert_true(world.agent->ledger->unlisted);
        api.claims_list = view_of(NULL, 0);
        pass(60000);
        check_rebuilt();
    }
}

/* Claims whose UID is no file name, or no text, get no CDI file; the others are held. */
static void test_claims_without_a_good_uid(void **state)
{
    static const char *const uids[] = {"../../etc/passwd", "\xff\xfe"};
    (void)state;
    for (unsigned i = 0; i < sizeof uids / sizeof uids[0]; i++) {
        lose_store(false);
        list_with(NULL, uids[i]);
        up_again();
        assert_int_equal(held(), USED);
        assert_int_equal(disk_count(FILES_CDI), USED);
        assert_false(world.agent->ledger->unlisted);
        assert_string_equal(error_of_rival("neuron-device-9"), "");
    }
}

/* A claim of the list waits for a device whose CDI file shows another claim: it is not taken in. */
static void test_listed_beside_an_adopted_one(void **state)
{
    (void)state;
    lose_store(true);
    api.claim[7].unallocated = false;
    api.claim[7].result[0].device = "neuron-device-1";
    up_again();
    assert_int_equal(held(), USED);
    assert_int_equal(said("event=claim_failed"), 1);
    log_has("another claim, prepared here, holds one of its devices");
    assert_null(cdi_of(7));
    unprepare_well(1, 1);
    prepare_well(7, 1);
}

/* --- parts of devices --- */

/* Claim n of a pod of its own, with so many cores of device 4. */
static void part_claim(unsigned n, const char *cores)
{
    static char share[8][40];
    static char pod[8][40];
    struct api_claim *c = claim_add(n);
    (void)snprintf(share[n], sizeof share[n], "5ad9b0c4-0000-4000-8000-0000000000%02x", n);
    (void)snprintf(pod[n], sizeof pod[n], "pod-%u", n);
    c->consumer_uid = pod[n];
    c->result[0].device = "neuron-device-4";
    c->result[0].share = share[n];
    c->result[0].cores = cores;
}

static const struct ledger_entry *entry_of_claim(unsigned n)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    return (slot >= 0) ? &world.agent->ledger->entry[slot] : NULL;
}

/*
 * The list names parts of a device, but not which cores each claim has: each gets as many as its
 * share consumes, by a guess. A claim for which too few are left was never prepared.
 */
static void test_listed_parts(void **state)
{
    static const char *const flags[] = {"--share-cores"};
    uint8_t all = 0;
    (void)state;
    world_new();
    settings_set(flags, 1);
    api.lists_claims = true;
    for (unsigned n = 0; n < 4u; n++) {
        part_claim(n, "2");
    }
    node_up();
    for (unsigned n = 0; n < 4u; n++) {
        prepare_well(n, 1);
    }
    part_claim(4, "2"); /* the scheduler took a share that was not free on this node */
    kill_agent();
    disk_unlink(store());
    for (unsigned n = 0; n < 4u; n++) {
        disk_unlink(cdi_of(n));
    }
    up_again();
    assert_int_equal(held(), 4);
    for (unsigned n = 0; n < 4u; n++) {
        const struct ledger_entry *e = entry_of_claim(n);
        assert_true(e != NULL && e->guessed && (e->cores & all) == 0u);
        all |= e->cores;
    }
    assert_int_equal(all, 0xff);
    assert_int_equal(said("event=claim_failed"), 1);
    log_has("device neuron-device-4 has no 2 free cores side by side");
    assert_null(cdi_of(4));
}

/* --- requests that are interrupted --- */

/* The connection ends while a page is under way: nobody is alarmed, and the list is read again. */
static void test_connection_ends_in_a_page(void **state)
{
    (void)state;
    lose_store(false);
    start_until(list_asked);
    api.connected = false;
    api_end("connection reset by peer");
    pass(20000);
    assert_int_equal(said("event=api_request_failed"), 0);
    assert_in_range(api_asked(LISTS), 2, 3);
    check_rebuilt();
}

/* 410 for a list without a token is no outdated token: it is logged as any other refusal. */
static void test_gone_without_a_token(void **state)
{
    (void)state;
    lose_store(false);
    api.claims_http = 410;
    up_again();
    log_has("event=api_request_failed");
    assert_true(world.agent->ledger->unlisted);
    api.claims_http = 0;
    pass(60000);
    check_rebuilt();
}

/* The store file is removed while a page is under way: no claim of that page counts as held. */
static void test_store_removed_in_a_page(void **state)
{
    (void)state;
    lose_store(false);
    start_until(list_asked);
    disk_unlink(store());
    pass(60000);
    log_has("it was removed while the agent ran: it is made again");
    assert_in_range(api_asked(LISTS), 2, 6);
    check_rebuilt();
    restart();
    pass(3000);
    assert_int_equal(held(), USED + 1u);
}

/* A round finds that the store file is gone, and the disk makes no other one. */
static void close_store(void)
{
    disk_unlink(store());
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
    assert_false(ledger_is_usable(world.agent));
}

/*
 * The store is closed between the last record of a page and the end of its response, which come in
 * two reads: the list does not count.
 */
static void test_store_closed_before_the_end_of_a_page(void **state)
{
    const struct api_result end = {.kind = API_LIST_CLAIMS, .status = STATUS_OK, .http = 200};
    (void)state;
    lose_store(false);
    start_until(list_asked);
    world.api_deaf = true;
    close_store();
    rebuild_end(world.agent, &end);
    world.api_deaf = false;
    pass(3000);
    assert_true(world.agent->ledger->unlisted);
    assert_int_equal(said("event=claims_listed"), 0);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    check_rebuilt();
}

static void other_has(enum files_lock which, enum files_holder holder)
{
    disk.locked_by_other[DRIVER_NEURON][which] = holder;
}

/* Another agent gets the store while a page is under way; this one lists again when it is back. */
static void test_handed_over_in_a_page(void **state)
{
    (void)state;
    lose_store(false);
    start_until(list_asked);
    world.api_deaf = true;
    other_has(LOCK_NEXT, HOLDER_AGENT);
    pass(HANDOVER_CHECK_MS + 1000u);
    log_has("event=store_handed_over");
    other_has(LOCK_OWNER, HOLDER_AGENT);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    assert_int_equal(fetch_count_free(world.agent), FETCHES_MAX);
    assert_int_equal(held(), 0);
    api_forget();
    pass(60000);
    assert_int_equal(api_asked(LISTS), 0);
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(60000);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* --- devices that are not known --- */

/* No probe has succeeded, but a CDI file names a device: the list waits for the devices. */
static void test_devices_unknown(void **state)
{
    (void)state;
    lose_store(true);
    world.found.unknown = true;
    world.found.count = 0;
    up_again();
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
    found_trn2();
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(10000);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* The kernel module is being reloaded when the API server can be asked: the list waits, too. */
static void test_devices_missing(void **state)
{
    (void)state;
    lose_store(false);
    api.reachable = false;
    up_again();
    found_set("trn2.48xlarge", 0, 8);
    agent_found(world.agent, &world.found);
    world.poked = true;
    api.reachable = true;
    pass(DEVICES_GRACE_MS / 2u);
    log_has("event=devices_missing");
    assert_int_equal(api_asked(LISTS), 0);
    found_trn2();
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(10000);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* No checkpoint and no slice, but a CDI file that cannot be read: a sign that claims were lost. */
static void test_damaged_file_beside_no_slice(void **state)
{
    (void)state;
    lose_store(false);
    api_slice_delete(api_slice_only());
    disk.kubelet_state_status = HOST_ABSENT;
    disk_set_len(disk_make(FILES_CDI, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000099.json"),
                 1);
    found_set("trn2.48xlarge", 0, 8);
    up_again();
    assert_int_equal(api_asked(LISTS), 0);
    assert_int_equal(publish_first_list(world.agent), FIRST_LIST_EMPTY);
    found_trn2();
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(10000);
    assert_int_equal(api_asked(LISTS), 1);
    assert_int_equal(held(), USED);
}

/* --- claims that the kubelet's checkpoint names --- */

/* The checkpoint cannot be read any more after its first claim: all claims are listed instead. */
static void test_checkpoint_vanishes(void **state)
{
    (void)state;
    lose_store(false);
    checkpoint(NULL);
    start_until(claim_asked);
    disk.kubelet_state_status = HOST_IO;
    pass(REBUILD_SPREAD_MS);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* A name that no claim can have makes the checkpoint no witness of which claims are in use. */
static void test_checkpoint_with_a_bad_name(void **state)
{
    static const struct claim_id odd = {
        .uid = "a0000000-0000-4000-8000-000000000000", .namespace_ = "ml", .name = "../claim-0"};
    (void)state;
    lose_store(false);
    checkpoint(&odd);
    up_again();
    assert_int_equal(api_asked(GETS), 0);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* The same of a claim without a namespace, as no kubelet writes it. */
static void test_checkpoint_without_a_namespace(void **state)
{
    static const struct claim_id odd = {.uid = "a0000000-0000-4000-8000-000000000000",
                                        .name = "claim-9"};
    (void)state;
    lose_store(false);
    checkpoint(&odd);
    up_again();
    assert_int_equal(api_asked(GETS), 0);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/* A UID of the greatest length is named once, like any other. */
static void test_checkpoint_with_the_longest_uid(void **state)
{
    (void)state;
    lose_store(false);
    memset(api.claim[1].uid, 'c', UID_CAP - 1u);
    api.claim[1].uid[UID_CAP - 1u] = '\0';
    checkpoint(NULL);
    up_again();
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
    log_has("event=claims_listed pages=0 claims=3 rebuilt=3");
}

/* The connection ends while a named claim is read: it is read again, and nothing is listed. */
static void test_connection_ends_in_a_get(void **state)
{
    (void)state;
    lose_store(false);
    checkpoint(NULL);
    start_until(claim_asked);
    api.connected = false;
    api_end("connection reset by peer");
    pass(20000);
    assert_int_equal(api_asked(GETS "0"), 2);
    assert_int_equal(api_asked(LISTS), 0);
    check_rebuilt();
}

/* A named claim has a device that a CDI file shows another claim to have. */
static void test_named_beside_an_adopted_one(void **state)
{
    static const struct claim_id seventh = {
        .uid = "c1a10000-0000-4000-8000-000000000007", .namespace_ = "ml", .name = "claim-7"};
    (void)state;
    lose_store(true);
    checkpoint(&seventh);
    api.claim[7].unallocated = false;
    api.claim[7].result[0].device = "neuron-device-1";
    up_again();
    assert_int_equal(held(), USED);
    assert_int_equal(api_asked(LISTS), 0);
    log_has("another claim, prepared here, holds one of its devices");
    assert_null(cdi_of(7));
    assert_false(world.agent->ledger->unlisted);
}

/* The store is closed while a named claim is read: the claim counts once it is open again. */
static void test_store_closed_in_a_get(void **state)
{
    (void)state;
    lose_store(false);
    checkpoint(NULL);
    start_until(claim_asked);
    world.api_deaf = true;
    close_store();
    world.api_deaf = false;
    pass(5000);
    assert_int_equal(held(), 0);
    assert_int_equal(fetch_count_free(world.agent), FETCHES_MAX);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_int_equal(api_asked(LISTS), 0);
    check_rebuilt();
}

/*
 * Another agent has owned the store meanwhile, so this process no longer knows it for a new one:
 * all claims are listed.
 */
static void test_store_of_another_meanwhile(void **state)
{
    static uint8_t bytes[STORE_FILE_BYTES];
    (void)state;
    lose_store(false);
    checkpoint(NULL);
    start_until(claim_asked);
    struct writer kept = writer_of(bytes, sizeof bytes);
    disk_get(store(), 0, &kept);
    world.api_deaf = true;
    other_has(LOCK_OWNER, HOLDER_AGENT);
    close_store();
    pass(3000);
    assert_true(ledger_is_busy(world.agent));
    disk_refuse(FILES_STATE, STATUS_OK);
    disk_set(disk_make(FILES_STATE, STORE_FILE_NAME), 0, writer_view(&kept));
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(60000);
    assert_int_equal(api_asked(LISTS), 1);
    check_rebuilt();
}

/*
 * The store is made again without the record of a claim, so that only its device is known. The GET
 * of the claim, which the checkpoint names, does not take it in for a second time.
 */
static void test_named_and_held_by_an_outline(void **state)
{
    (void)state;
    lose_store(true);
    checkpoint(NULL);
    api.reachable = false;
    up_again();
    assert_int_equal(held(), USED);
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0;
    }
    disk_unlink(cdi_of(1));
    disk_unlink(store());
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
    assert_int_equal(entry_of_claim(1)->record, RECORD_OUTLINE);
    api.reachable = true;
    pass(20000);
    assert_int_equal(held(), USED);
    assert_false(world.agent->ledger->unlisted);
    assert_int_equal(api_asked(LISTS), 0);
    prepare_well(1, 1);
    check_rebuilt();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_for_no_path),
        cmocka_unit_test(test_token_unreadable),
        cmocka_unit_test(test_claims_without_a_good_uid),
        cmocka_unit_test(test_listed_beside_an_adopted_one),
        cmocka_unit_test(test_listed_parts),
        cmocka_unit_test(test_connection_ends_in_a_page),
        cmocka_unit_test(test_gone_without_a_token),
        cmocka_unit_test(test_store_removed_in_a_page),
        cmocka_unit_test(test_store_closed_before_the_end_of_a_page),
        cmocka_unit_test(test_handed_over_in_a_page),
        cmocka_unit_test(test_devices_unknown),
        cmocka_unit_test(test_devices_missing),
        cmocka_unit_test(test_damaged_file_beside_no_slice),
        cmocka_unit_test(test_checkpoint_vanishes),
        cmocka_unit_test(test_checkpoint_with_a_bad_name),
        cmocka_unit_test(test_checkpoint_without_a_namespace),
        cmocka_unit_test(test_checkpoint_with_the_longest_uid),
        cmocka_unit_test(test_connection_ends_in_a_get),
        cmocka_unit_test(test_named_beside_an_adopted_one),
        cmocka_unit_test(test_store_closed_in_a_get),
        cmocka_unit_test(test_store_of_another_meanwhile),
        cmocka_unit_test(test_named_and_held_by_an_outline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
