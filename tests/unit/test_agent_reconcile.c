/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is held, compared with the CDI root, the boot of the node and the API server: what is lost
 * comes back, what is in use no more goes, and an error releases nothing.
 */
#include "agent_reconcile.h"

/* What a kill left of a prepare, and the disk did not let the next process remove, goes later. */
static void test_temporary_file(void **state)
{
    (void)state;
    begin();
    kill_agent();
    (void)disk_make(FILES_CDI, "neuron.aws.com-claim.tmp");
    disk.refuse_remove[FILES_CDI] = true;
    start();
    pass(1000);
    assert_int_equal(disk_count(FILES_CDI), 2); /* and that of the start's own test */
    disk.refuse_remove[FILES_CDI] = false;
    pass(ROUND);
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* A node without claims pays no memory for the checks of 256: nothing writes to their pages. */
static void test_checks_of_free_slots(void **state)
{
    static const struct claim_check none;
    (void)state;
    begin();
    prepare_well(0, 1);
    kill_agent();
    start();
    pass(ROUND);
    assert_int_equal(held(), 1);
    unsigned used = 0;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        const struct claim_check *check = &world.agent->recovery->reconcile.check[i];
        used += (memcmp(check, &none, sizeof none) != 0) ? 1u : 0u;
    }
    assert_int_equal(used, 1);
}

/* --- CDI files of held claims --- */

static void test_missing_and_changed_files(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    struct view before = copy_of(1);
    disk_unlink(cdi_of(0));
    disk_unlink(cdi_of(1));
    file_fill(cdi_of(2), 10, 'x', 3);
    pass(ROUND);
    assert_non_null(cdi_of(0));
    assert_true(view_equal(file_content(cdi_of(1)), before));
    assert_int_equal(said("event=cdi_file_rebuilt"), 3);
    log_forget();
    pass(ROUND);
    assert_int_equal(said("event=cdi_file_rebuilt"), 0);
}

/* Whatever made the CDI root empty: nobody waits for the interval, or for the kubelet. */
static void test_files_at_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 8);
    struct view before = copy_of(7);
    kill_agent();
    boot("another-boot");
    for (unsigned n = 0; n < 8; n++) {
        disk_unlink(cdi_of(n));
    }
    start();
    assert_int_equal(disk_count(FILES_CDI), 8);
    assert_true(view_equal(file_content(cdi_of(7)), before));
    assert_int_equal(held(), 8);
}

/* One line, not one for each claim, and no loop. */
static void test_root_that_takes_nothing(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 8);
    for (unsigned n = 0; n < 8; n++) {
        disk_unlink(cdi_of(n));
    }
    disk_refuse(FILES_CDI, HOST_NO_SPACE);
    log_forget();
    pass(ROUND);
    assert_int_equal(said("event=cdi_file_failed"), 1);
    log_has(
        ".json namespace=ml claim=claim-0 claim_uid=c1a10000-0000-4000-8000-000000000000 reason=");
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(ROUND);
    assert_int_equal(disk_count(FILES_CDI), 8);
    assert_int_equal(held(), 8);
}

static void test_rotten_record(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    const struct ledger_entry *e = &world.agent->ledger->entry[0];
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), store_offset(0, e->half) + 30u, 0x5a, 8);
    log_forget();
    pass(ROUND);
    log_has("event=store_half_damaged");
    assert_int_equal(held(), 2);
    log_forget();
    pass(ROUND);
    assert_int_equal(said("event=store_half_damaged"), 0);
    restart();
    assert_int_equal(held(), 2);
}

/* The same look that writes a rotten record again looks at the CDI file, which is gone too. */
static void test_rotten_record_without_file(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    const struct ledger_entry *e = &world.agent->ledger->entry[0];
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), store_offset(0, e->half) + 30u, 0x5a, 8);
    disk_unlink(cdi_of(0));
    log_forget();
    for (unsigned i = 0; i < 100 && said("event=store_half_damaged") == 0; i++) {
        pass(ROUND / 100u);
    }
    assert_int_equal(said("event=store_half_damaged"), 1);
    assert_non_null(cdi_of(0));
    assert_int_equal(held(), 1);
}

/* --- CDI files without a record --- */

static void test_orphans_hold_their_devices(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    struct view before = copy_of(0);
    lose_store();
    start();
    assert_int_equal(said("event=claim_adopted"), 2);
    assert_non_null(strstr(rival_error(), "is already held by claim ml/claim-0"));
    assert_true(view_equal(file_content(cdi_of(0)), before));
    unprepare_well(0, 1);
    assert_string_equal(rival_error(), "");
}

/* The line of /readyz when there is one reason. */
static const char *only_reason(void)
{
    static char line[1024];
    struct writer w = writer_of(line, sizeof line);
    struct writer more = writer_of(NULL, 0);
    assert_true(ready_reason(world.agent, 0, &w));
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_false(ready_reason(world.agent, 1, &more));
    return line;
}

static void test_damaged_orphan(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    lose_store();
    disk_set_len(cdi_of(0), 100);
    log_forget();
    start();
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=cdi_file_failed"), 1);
    log_has("reason=\"its content is damaged\"");
    register_driver();
    pass(3 * ROUND);
    assert_non_null(cdi_of(0));             /* a container may still use it */
    assert_false(agent_ready(world.agent)); /* its devices are not known */
    assert_string_equal(only_reason(),
                        "CDI file /var/run/cdi/neuron.aws.com-claim_c1a10000-0000-4000-8000-"
                        "000000000000.json cannot be read, so devices of its claim may be given to "
                        "others: delete the file once no container uses its claim; the agent looks "
                        "again after a restart, and every --reconcile-interval");
    documented("| `CDI file … cannot be read, so devices of its claim may be given to others` | [");
    prepare_well(0, 1);
    assert_int_equal(held(), 2);
    pass(ROUND);
    assert_true(agent_ready(world.agent));
}

/*
 * Each name that can be one of ours keeps the node from being ready, also when no claim of a real
 * API server has such a UID; the file stays until somebody deletes it.
 */
static void test_unreadable_files(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    disk_set(disk_make(FILES_CDI, CDI_FILE_PREFIX "bar.json"), 0, view_text("{"));
    disk_set(disk_make(FILES_CDI, CDI_FILE_PREFIX "foo.json"), 0, view_text("{"));
    restart();
    register_driver();
    pass(3 * ROUND);
    assert_int_equal(disk_count(FILES_CDI), 3);
    assert_non_null(strstr(only_reason(), "-claim_bar.json cannot be read"));
    assert_non_null(strstr(only_reason(), "; 1 more such files are in the log"));
    disk_unlink(disk_find(FILES_CDI, CDI_FILE_PREFIX "bar.json"));
    pass(ROUND);
    assert_non_null(strstr(only_reason(), "-claim_foo.json cannot be read"));
    assert_null(strstr(only_reason(), "more such files"));
    disk_unlink(disk_find(FILES_CDI, CDI_FILE_PREFIX "foo.json"));
    pass(ROUND);
    assert_true(agent_ready(world.agent));
}

/* A name that the agent never gives, because it has no UID, holds nothing: it is logged. */
static void test_names_without_a_uid(void **state)
{
    static const char *const names[] = {CDI_FILE_PREFIX "a.b.json", CDI_FILE_PREFIX ".json",
                                        CDI_FILE_PREFIX "a b.json", CDI_FILE_PREFIX "-a.json",
                                        CDI_FILE_PREFIX "a.b.gone"};
    (void)state;
    begin();
    prepare_well(0, 1);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        disk_set(disk_make(FILES_CDI, names[i]), 0, view_text("{"));
    }
    log_forget();
    restart();
    register_driver();
    pass(3 * ROUND);
    assert_int_equal(said("event=cdi_file_ignored"), 4);
    log_has("level=warn event=cdi_file_ignored file=neuron.aws.com-claim_a.b.json remedy=");
    assert_int_equal(said("event=cdi_file_failed"), 0);
    assert_true(agent_ready(world.agent));
    assert_int_equal(held(), 1);
    assert_int_equal(disk_count(FILES_CDI), 6);
}

/* What the disk takes no record of is held all the same, and gets its record as soon as it does. */
static void test_orphan_without_room_for_a_record(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    struct view content = copy_of(0);
    unprepare_well(0, 1);
    kill_agent();
    disk_set(disk_make(FILES_CDI, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000000.json"), 0,
             content);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    start();
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=claim_adopted"), 1);
    assert_non_null(strstr(rival_error(), "is already held by claim ml/claim-0"));
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(ROUND);
    kill_agent();
    disk_unlink(cdi_of(0));
    start();
    assert_int_equal(held(), 1);
    assert_true(view_equal(file_content(cdi_of(0)), content));
    unprepare_well(0, 1);
    assert_int_equal(held(), 0);
}

/* A file that could not be read at start is taken in later, and never removed. */
static void test_orphan_unreadable_for_a_time(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    lose_store();
    disk.refuse_read[FILES_CDI] = true;
    start();
    assert_int_equal(held(), 0);
    disk.refuse_read[FILES_CDI] = false;
    pass(ROUND);
    assert_int_equal(held(), 2);
    assert_non_null(cdi_of(0));
}

/* In a rolling update the other process is writing a CDI file: this one leaves it alone. */
static void test_temporary_file_of_another(void **state)
{
    static const char other[] = "neuron.aws.com-claim.1-0.tmp";
    (void)state;
    begin();
    disk_process(1);
    (void)disk_make(FILES_CDI, other);
    disk_process(0);
    prepare_well(0, 1);
    pass(ROUND);
    assert_non_null(disk_find(FILES_CDI, other));
    disk_process_ended(1);
    pass(ROUND);
    assert_null(disk_find(FILES_CDI, other));
}

static void test_file_of_another_uid(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    lose_store();
    disk_rename(cdi_of(0), "neuron.aws.com-claim_other.json");
    start();
    assert_int_equal(held(), 0);
    log_has("event=cdi_file_failed");
}

/* --- files that could not be removed --- */

/* Claim 0 of two is unprepared, and its CDI file stays. */
static void leave_file(void)
{
    begin();
    prepare_well(0, 2);
    disk_refuse(FILES_CDI, HOST_DENIED);
    struct peer *p = service_open();
    assert_string_equal(unprepare_error(call_now(p, UNPREPARE, claims_request(0, 1)), 0), "");
}

static void test_leftover(void **state)
{
    (void)state;
    leave_file();
    assert_non_null(cdi_of(0));
    pass(ROUND);
    assert_non_null(cdi_of(0));
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(ROUND);
    assert_null(cdi_of(0));
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=claim_adopted"), 0);
}

/* The record says that its claim was unprepared: the next process does not adopt the file. */
static void test_leftover_of_an_earlier_process(void **state)
{
    (void)state;
    leave_file();
    restart();
    assert_int_equal(held(), 1);
    assert_int_equal(world.agent->ledger->freeing, 1);
    assert_int_equal(said("event=claim_adopted"), 0);
    assert_non_null(cdi_of(0));
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(ROUND);
    assert_null(cdi_of(0));
    assert_int_equal(world.agent->ledger->freeing, 0);
    assert_string_equal(rival_error(), "");
}

/* --- tombstones --- */

static void test_tombstone(void **state)
{
    (void)state;
    char name[CDI_FILE_NAME_CAP];
    begin();
    prepare_well(0, 2);
    kill_agent();
    cdi_tombstone_name(DRIVER_NEURON, api.claim[0].uid, name);
    disk_rename(cdi_of(0), name);
    start();
    assert_int_equal(held(), 1);
    log_has("event=claim_released");
    pass(15000);
    assert_null(tombstone_of(0));
    assert_int_equal(disk_count(FILES_CDI), 1);
    restart();
    assert_int_equal(held(), 1);
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
}

/* The store takes nothing, and the tombstone is removed: a repeated unprepare makes another. */
static void test_tombstone_removed(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    unprepare_well(0, 1);
    disk_unlink(tombstone_of(0));
    unprepare_well(0, 1);
    kill_agent();
    disk_refuse(FILES_STATE, STATUS_OK);
    start();
    assert_int_equal(held(), 0);
}

/* Beside a CDI file it is of an earlier life of the claim. */
static void test_tombstone_beside_a_file(void **state)
{
    (void)state;
    char name[CDI_FILE_NAME_CAP];
    begin();
    prepare_well(0, 2);
    kill_agent();
    cdi_tombstone_name(DRIVER_NEURON, api.claim[0].uid, name);
    (void)disk_make(FILES_CDI, name);
    start();
    assert_int_equal(held(), 2);
    pass(15000);
    assert_null(tombstone_of(0));
    assert_int_equal(disk_count(FILES_CDI), 2);
}

/* Names of our prefix that nobody of us gave, and a name that is no claim's. */
static void test_other_names(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    (void)disk_make(FILES_CDI, CDI_FILE_PREFIX "x.yaml");
    (void)disk_make(FILES_CDI, "other.example-claim_x.json");
    restart();
    pass(2 * ROUND);
    assert_int_equal(disk_count(FILES_CDI), 3);
    assert_int_equal(said("event=cdi_file_failed"), 0);
}

/* --- claims that the API server does not know --- */

static void test_stale_claim(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    claim_away(0);
    log_forget();
    pass(ROUND);
    assert_int_equal(held(), 3); /* said once */
    pass(RECONCILE_CONFIRM_MS + 5000u);
    assert_int_equal(held(), 2);
    log_has("event=claim_released namespace=ml claim=claim-0");
    assert_int_equal(disk_count(FILES_CDI), 2);
    assert_string_equal(rival_error(), "");
    restart();
    assert_int_equal(held(), 3);
}

/* It is still held then: nobody is to read anything else, and it is tried again. */
static void test_stale_claim_that_the_disk_keeps(void **state)
{
    static const char *const more[] = {"--reconcile-interval", "60s", "--claim-status=true"};
    (void)state;
    begin();
    kill_agent();
    settings_set(more, 3);
    node_up();
    prepare_well(0, 2);
    pass(1000);
    unsigned written = took.status_asked;
    claim_away(0);
    disk_refuse(FILES_STATE, HOST_DENIED);
    disk_refuse(FILES_CDI, HOST_DENIED);
    pass(2 * ROUND);
    assert_int_equal(held(), 2);
    assert_int_equal(said("event=claim_released"), 0);
    assert_int_equal(took.status_asked, written);
    disk_refuse(FILES_STATE, STATUS_OK);
    disk_refuse(FILES_CDI, STATUS_OK);
    pass(2 * ROUND);
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=claim_released"), 1);
    assert_int_equal(took.status_asked, written + 1);
}

/* At a start nobody waits for the interval. */
static void test_stale_claim_at_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    claim_away(0);
    claim_away(1);
    restart();
    register_driver();
    pass(RECONCILE_SPREAD_MS + RECONCILE_CONFIRM_MS + 10000u);
    assert_int_equal(held(), 1);
}

static void test_another_uid(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    api.claim[0].uid[0] = 'd';
    pass(2 * ROUND);
    assert_int_equal(held(), 1);
}

/* A claim that is found after one NotFound is released only after two more in a row. */
static void test_gone_for_a_moment(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    claim_away(0);
    pass(ROUND);
    (void)claim_add(0);
    pass(RECONCILE_CONFIRM_MS + 5000u);
    claim_away(0);
    pass(INTERVAL); /* a look at the earliest after 40 s, another one 30 s later */
    assert_int_equal(held(), 1);
    pass(ROUND + RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 0);
}

static void test_errors_release_nothing(void **state)
{
    static const unsigned http[] = {403, 404, 500, 503, 999};
    (void)state;
    for (unsigned i = 0; i < sizeof http / sizeof http[0]; i++) {
        begin();
        prepare_well(0, 1);
        api.claim[0].http = http[i];
        log_forget();
        pass(20 * ROUND);
        if (http[i] != 404) {
            assert_int_equal(held(), 1);
            assert_int_equal(said("event=claim_released"), 0);
        }
    }
    begin();
    prepare_well(0, 1);
    api.claim[0].fault = API_HANGS;
    pass(20 * ROUND);
    assert_int_equal(held(), 1);
    api.claim[0].fault = API_RESETS;
    pass(20 * ROUND);
    assert_int_equal(held(), 1);
    api.reachable = false;
    api_end("");
    pass(20 * ROUND);
    assert_int_equal(held(), 1);
}

/* Claims whose GET always fails are asked for in turn: those that are gone are released. */
static void test_failing_looks_are_fair(void **state)
{
    static const unsigned http[] = {500, 403, 0};
    (void)state;
    for (unsigned i = 0; i < sizeof http / sizeof http[0]; i++) {
        begin();
        prepare_well(0, 6);
        api.claim[0].http = http[i];
        api.claim[5].http = http[i];
        api.claim[0].fault = (http[i] == 0u) ? API_HANGS : API_ANSWERS;
        api.claim[5].fault = (http[i] == 0u) ? API_HANGS : API_ANSWERS;
        pass(2 * ROUND);
        for (unsigned n = 1; n < 5; n++) {
            claim_away(n);
        }
        pass(3 * ROUND + 4u * RECONCILE_CONFIRM_MS);
        assert_int_equal(held(), 2);
    }
}

/* One claim that fails does not delay the look that a conflict asks for. */
static void test_look_at_once_beside_a_failing_claim(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    api.claim[1].http = 500;
    pass(5 * ROUND);
    claim_away(0);
    assert_string_not_equal(rival_error(), "");
    pass(RECONCILE_CONFIRM_MS + 2000u);
    assert_string_equal(rival_error(), "");
}

/* One claim that fails, from its first failure on, is no reason to ask the server less often. */
static void test_one_failing_claim_is_no_failing_server(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[0].http = 500;
    pass(5 * ROUND);
    assert_true(world.agent->recovery->reconcile.failed_uid[0] != '\0');
    assert_int_equal(world.agent->recovery->reconcile.failures, 0);
}

/* A server that refuses every claim is asked as seldom as one whose claims are few. */
static void test_failing_server_is_not_pressed(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 7);
    for (unsigned n = 0; n < 7; n++) {
        api.claim[n].http = 500;
    }
    pass(5 * ROUND);
    api_forget();
    pass(UINT64_C(600000));
    assert_true(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/") <= 45);
}

/* A server that lost claims and Node, and whose watch of the Node stays open all the same. */
static void test_node_is_read_before_a_release(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    api.node_http = 404;
    claim_away(0);
    claim_away(1);
    api_forget();
    pass(20 * ROUND);
    assert_int_equal(held(), 2);
    assert_true(api_asked("GET /api/v1/nodes/") >= 1);
    api.node_http = 0;
    pass(ROUND);
    assert_int_equal(held(), 0);
}

static void test_answers_about_another_claim(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    api.claim[0].fault = API_MISTAKES;
    api.claim[1].fault = API_MISTAKES;
    pass(5 * ROUND);
    assert_true(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/") > 4);
    assert_int_equal(held(), 2);
}

/* An overlap asks at once. */
static void test_look_at_once(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    pass(RECONCILE_SPREAD_MS);
    claim_away(0);
    assert_string_not_equal(rival_error(), "");
    pass(RECONCILE_CONFIRM_MS + 2000u);
    assert_string_equal(rival_error(), "");
}

/* --- another boot, another machine --- */

static void test_gives_way_after_a_reboot(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    assert_string_not_equal(rival_error(), "");
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    pass(2000);
    prepare_well(1, 1);
    log_forget();
    assert_string_equal(rival_error(), "");
    log_has("event=claim_released namespace=ml claim=claim-0");
    assert_null(cdi_of(0));
    /* one that was prepared again in this boot stays, also in the next process */
    restart();
    register_driver();
    pass(2000);
    api.claim[6].result[0].device = "neuron-device-1";
    assert_string_not_equal(prepare_error(prepare_soon(6, 1), 6), "");
    assert_int_equal(held(), 2);
}

/* A claim that is refused itself takes nothing from another one that would give way. */
static void test_refused_claim_takes_nothing(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        begin();
        prepare_well(0, 2);
        kill_agent();
        boot("another-boot");
        start();
        register_driver();
        pass(2000);
        prepare_well(1, 1); /* of this boot: it does not give way */
        api.claim[6].result[0].device = "neuron-device-0";
        api.claim[6].results = (kind == 0u) ? 2 : 1;
        api.claim[6].result[1] =
            (struct api_allocation){.request = "more", .device = "neuron-device-1"};
        disk_refuse(FILES_CDI, (kind == 1u) ? HOST_NO_SPACE : STATUS_OK);
        disk.device_absent[0] = kind == 2u;
        assert_string_not_equal(prepare_error(prepare_soon(6, 1), 6), "");
        disk_refuse(FILES_CDI, STATUS_OK);
        assert_non_null(cdi_of(0));
        assert_null(cdi_of(6));
        assert_int_equal(held(), 2);
    }
}

static void test_boot_id_of_a_full_disk(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    boot("another-boot");
    node_up();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    (void)prepare_now(0, 1);
    assert_int_equal(held(), 2);
    assert_false(agent_ready(world.agent));
    disk_refuse(FILES_STATE, STATUS_OK);
    /* the agent finds out by itself, without another claim, and before the next reconciliation */
    pass(60000);
    assert_true(agent_ready(world.agent));
    prepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
}

/* The record of before is written once more, and is no other claim's by that. */
static void test_boot_id_after_a_full_disk(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    kill_agent();
    boot("another-boot");
    node_up();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    prepare_well(0, 1);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    assert_string_not_equal(rival_error(), "");
    assert_int_equal(held(), 1);
    pass(3u * world.settings.reconcile_ms);
    disk_unlink(cdi_of(0));
    restart();
    register_driver();
    pass(2000);
    assert_string_not_equal(rival_error(), "");
}

/* Prepared again in this boot, which the disk did not take: the CDI file tells the next process. */
static void test_boot_id_in_the_cdi_file_alone(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    kill_agent();
    boot("another-boot");
    node_up();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    (void)prepare_now(0, 1);
    kill_agent();
    disk_refuse(FILES_STATE, STATUS_OK);
    start();
    register_driver();
    pass(2000);
    assert_string_not_equal(rival_error(), "");
    assert_int_equal(held(), 1);
    /* the record has the boot's id by now */
    disk_unlink(cdi_of(0));
    restart();
    register_driver();
    pass(2000);
    assert_string_not_equal(rival_error(), "");
}

static void test_copied_machine(void **state)
{
    static const char *const more[] = {"--node-name", "node-b"};
    (void)state;
    begin();
    prepare_well(0, 3);
    kill_agent();
    char file[CDI_FILE_NAME_CAP];
    struct view content = copy_of(2);
    cdi_file_name(DRIVER_NEURON, api.claim[2].uid, file);
    /* the store, and of one claim only the CDI file */
    struct disk_file *f = disk_make(FILES_CDI, CDI_FILE_PREFIX "x.json");
    disk_set(f, 0, copy_of(2));
    settings_set(more, 2);
    boot("another-boot");
    start();
    assert_int_equal(held(), 0);
    assert_int_equal(said("event=claim_released"), 3);
    assert_null(cdi_of(0));
    kill_agent();
    /* the CDI file alone */
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    disk_set(disk_make(FILES_CDI, file), 0, content);
    start();
    assert_int_equal(held(), 0);
    assert_null(disk_find(FILES_CDI, file));
    log_has("event=cdi_file_removed");
    kill_agent();
    world_new();
}

/* The same pool or the same boot: a node that was named again, or that rebooted. */
static void test_renamed_node(void **state)
{
    static const char *const more[] = {"--node-name", "node-b"};
    (void)state;
    begin();
    prepare_well(0, 3);
    kill_agent();
    settings_set(more, 2);
    start();
    assert_int_equal(held(), 3);
    kill_agent();
    world_new();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temporary_file),
        cmocka_unit_test(test_checks_of_free_slots),
        cmocka_unit_test(test_missing_and_changed_files),
        cmocka_unit_test(test_files_at_start),
        cmocka_unit_test(test_root_that_takes_nothing),
        cmocka_unit_test(test_rotten_record),
        cmocka_unit_test(test_rotten_record_without_file),
        cmocka_unit_test(test_orphans_hold_their_devices),
        cmocka_unit_test(test_damaged_orphan),
        cmocka_unit_test(test_unreadable_files),
        cmocka_unit_test(test_names_without_a_uid),
        cmocka_unit_test(test_orphan_without_room_for_a_record),
        cmocka_unit_test(test_orphan_unreadable_for_a_time),
        cmocka_unit_test(test_temporary_file_of_another),
        cmocka_unit_test(test_file_of_another_uid),
        cmocka_unit_test(test_leftover),
        cmocka_unit_test(test_leftover_of_an_earlier_process),
        cmocka_unit_test(test_tombstone),
        cmocka_unit_test(test_tombstone_removed),
        cmocka_unit_test(test_tombstone_beside_a_file),
        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_stale_claim),
        cmocka_unit_test(test_stale_claim_that_the_disk_keeps),
        cmocka_unit_test(test_stale_claim_at_start),
        cmocka_unit_test(test_another_uid),
        cmocka_unit_test(test_gone_for_a_moment),
        cmocka_unit_test(test_errors_release_nothing),
        cmocka_unit_test(test_failing_looks_are_fair),
        cmocka_unit_test(test_look_at_once_beside_a_failing_claim),
        cmocka_unit_test(test_one_failing_claim_is_no_failing_server),
        cmocka_unit_test(test_failing_server_is_not_pressed),
        cmocka_unit_test(test_node_is_read_before_a_release),
        cmocka_unit_test(test_answers_about_another_claim),
        cmocka_unit_test(test_look_at_once),
        cmocka_unit_test(test_gives_way_after_a_reboot),
        cmocka_unit_test(test_refused_claim_takes_nothing),
        cmocka_unit_test(test_boot_id_of_a_full_disk),
        cmocka_unit_test(test_boot_id_after_a_full_disk),
        cmocka_unit_test(test_boot_id_in_the_cdi_file_alone),
        cmocka_unit_test(test_copied_machine),
        cmocka_unit_test(test_renamed_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
