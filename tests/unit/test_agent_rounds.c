/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of the reconciliation that meet a file, a record, a boot id or a response which changes or
 * fails in the middle of them. No claim in use loses its devices by that, and what a round could
 * not do, a later one does.
 */
#include "agent_reconcile.h"

#define GETS "GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/claim-"
#define CDI_0 CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000000.json"

/* Memory has the records of other claims. */
static void forget_records(void)
{
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0;
    }
}

static void up_in_boot(const char *id)
{
    kill_agent();
    boot(id);
    start();
    register_driver();
    pass(2000);
}

/* The half that counts of the claim's record is damaged. */
static void rot(unsigned n)
{
    uint8_t byte = 0;
    struct writer w = writer_of(&byte, 1);
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    uint64_t at = store_offset(slot_of(n), world.agent->ledger->entry[slot_of(n)].half) + 20u;
    disk_get(f, at, &w);
    byte ^= 0x10u;
    disk_set(f, at, view_of(&byte, 1));
}

/* The files of the next round are compared now. */
static void round_now(void)
{
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
}

/* --- boots --- */

/* A boot that cannot be told from another one makes no claim stale. */
static void test_boot_unknown(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    up_in_boot("");
    assert_non_null(strstr(rival_error(), "already held by claim ml/claim-0"));
    prepare_well(1, 1); /* its record has no boot id */
    up_in_boot("another-boot");
    api.claim[6].result[0].device = "neuron-device-1";
    const char *error = prepare_error(prepare_soon(6, 1), 6);
    assert_non_null(strstr(error, "already held by claim ml/claim-1"));
    assert_string_equal(rival_error(), ""); /* claim 0 is of another boot for certain */
}

/* A record that cannot be read proves no other boot. */
static void test_boot_unreadable(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    up_in_boot("another-boot");
    forget_records();
    disk.refuse_read[FILES_STATE] = true;
    assert_non_null(strstr(rival_error(), "already held by claim ml/claim-0"));
    assert_int_equal(held(), 1);
    disk.refuse_read[FILES_STATE] = false;
    assert_string_equal(rival_error(), "");
}

/* A damaged CDI file does not say that the claim was prepared again in this boot. */
static void test_boot_of_a_damaged_file(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    disk_set_len(cdi_of(0), 1);
    up_in_boot("another-boot");
    assert_true(file_content(cdi_of(0)).len > 1u);
    assert_string_equal(rival_error(), "");
}

/*
 * A stale claim that the disk does not release keeps its device. The CDI file of the claim that
 * asked for the device goes with a later round.
 */
static void test_stale_claim_not_released(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    up_in_boot("another-boot");
    disk.refuse[FILES_STATE] = true;
    disk.refuse_remove[FILES_CDI] = true;
    assert_non_null(strstr(rival_error(), "already held by claim ml/claim-0"));
    assert_int_equal(held(), 1);
    assert_non_null(cdi_of(7));
    disk.refuse[FILES_STATE] = false;
    disk.refuse_remove[FILES_CDI] = false;
    pass(ROUND);
    assert_null(cdi_of(7));
    assert_int_equal(held(), 1);
    assert_string_equal(rival_error(), "");
    assert_null(cdi_of(0));
}

/*
 * A claim that was rebuilt is prepared in another boot, and the disk takes the CDI file alone: the
 * next process writes the record as soon as the disk takes it.
 */
static void test_boot_of_a_rebuilt_claim(void **state)
{
    const struct claim_record *r = NULL;
    (void)state;
    node_with_claims(1);
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    lose_files();
    up_again();
    assert_int_equal(held(), 1);
    up_in_boot("another-boot");
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    assert_non_null(strstr(prepare_error(prepare_now(0, 1), 0), "cannot be written"));
    restart();
    pass(2000);
    assert_int_equal(ledger_record(world.agent, slot_of(0), &r), STATUS_OK);
    assert_true(r->rebuilt);
    disk_refuse(FILES_STATE, STATUS_OK);
    round_now();
    assert_int_equal(ledger_record(world.agent, slot_of(0), &r), STATUS_OK);
    assert_false(r->rebuilt);
    assert_string_equal(r->boot_id, "another-boot");
}

/* --- files of the CDI root that change under a round --- */

static struct files port;       /* that of the disk, but for one file */
static const char *vanishing;   /* its name; NULL: it was met */
static enum files_dir vanishes; /* where it is */

/* Somebody removes the file right before the agent's call; whether this is the call. */
static bool vanished(enum files_dir dir, const char *name)
{
    if (vanishing == NULL || dir != vanishes || strcmp(name, vanishing) != 0) {
        return false;
    }
    disk_unlink(disk_find(dir, name));
    vanishing = NULL;
    return true;
}

static enum status port_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    return vanished(dir, name) ? HOST_ABSENT : disk_files.read(ctx, dir, name, offset, out);
}

static enum status port_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    return vanished(dir, name) ? HOST_ABSENT : disk_files.write(ctx, dir, name, offset, bytes);
}

static enum status port_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    return vanished(dir, name) ? HOST_ABSENT : disk_files.remove(ctx, dir, name, aside);
}

/* From now on the running agent has a port by which this file vanishes when one call names it. */
static void vanish(enum files_dir dir, const char *name)
{
    port = disk_files;
    vanishes = dir;
    vanishing = name;
    world.agent->files = &port;
}

static bool at_once(void)
{
    return true;
}

/* A start in which the file vanishes between the listing and the read. */
static void start_and_vanish(const char *name)
{
    world.halt = at_once;
    start();
    world.halt = NULL;
    vanish(FILES_CDI, name);
    port.read = port_read;
    settle();
}

static void test_file_vanishes_before_its_read(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    lose_store();
    log_forget();
    start_and_vanish(CDI_0);
    assert_null(vanishing);
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=cdi_file_failed"), 0);
    register_driver();
    pass(3000);
    assert_true(agent_ready(world.agent));
}

/* The CDI file of a claim that nobody holds, as a restored backup puts it there. */
static void put_back(unsigned n, struct view content)
{
    char name[DISK_NAME_CAP];
    (void)snprintf(name, sizeof name, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-%012u.json", n);
    disk_set(disk_make(FILES_CDI, name), 0, content);
}

static void test_file_of_an_unprepared_claim(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3u; kind++) {
        begin();
        prepare_well(0, 1);
        struct view content = copy_of(0);
        unprepare_well(0, 1);
        pass(ROUND);
        put_back(0, content);
        log_forget();
        if (kind == 1u) { /* it vanishes by itself */
            vanish(FILES_CDI, CDI_0);
            port.remove = port_remove;
        }
        disk.refuse_remove[FILES_CDI] = kind == 2u;
        round_now();
        assert_int_equal(held(), 0);
        if (kind == 2u) {
            log_has("check that files in the CDI root can be removed");
            assert_int_equal(said("event=cdi_file_removed"), 0);
            assert_non_null(cdi_of(0));
            disk.refuse_remove[FILES_CDI] = false;
            round_now();
        }
        assert_null(cdi_of(0));
        log_has("event=cdi_file_removed");
        log_has("its claim was unprepared by this agent");
        assert_string_equal(rival_error(), "");
    }
}

/* A damaged file on an early page of the listing counts, whatever the pages after it have. */
static void test_damaged_file_on_the_first_page(void **state)
{
    char text[1024] = "";
    struct writer why = writer_of(text, sizeof text - 1u);
    (void)state;
    begin();
    lose_store();
    disk_set_len(disk_make(FILES_CDI, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000099.json"),
                 1);
    start();
    register_driver();
    pass(2000);
    prepare_well(0, 8); /* the listing has two pages from now on */
    round_now();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    restart();
    register_driver();
    pass(3000);
    assert_int_equal(held(), 8);
    assert_false(agent_ready(world.agent));
    assert_false(reconcile_is_complete(world.agent));
    reconcile_reason(world.agent, &why);
    assert_non_null(strstr(text, "c1a10000-0000-4000-8000-000000000099.json cannot be read"));
    disk_unlink(disk_find(FILES_CDI, CDI_FILE_PREFIX "c1a10000-0000-4000-8000-000000000099.json"));
    round_now();
    assert_true(reconcile_is_complete(world.agent));
    assert_int_equal(held(), 8);
}

/* The store file vanishes when a round writes a damaged record again: the round ends there. */
static void test_store_vanishes_in_a_round(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    rot(0);
    log_forget();
    vanish(FILES_STATE, STORE_FILE_NAME);
    port.write = port_write;
    round_now();
    assert_null(vanishing);
    pass(ROUND);
    log_has("it was removed while the agent ran: it is made again");
    assert_int_equal(held(), 3);
    restart();
    assert_int_equal(held(), 3);
    for (unsigned n = 0; n < 3u; n++) {
        assert_non_null(cdi_of(n));
    }
}

/*
 * The store file vanishes when a stale claim is released for another one: that one has its device
 * in the end, and the released one has none.
 */
static void test_store_vanishes_in_a_release(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    up_in_boot("another-boot");
    prepare_well(1, 1);
    vanish(FILES_STATE, STORE_FILE_NAME);
    port.write = port_write;
    (void)rival_error();
    assert_null(vanishing);
    pass(ROUND);
    assert_string_equal(prepare_error(prepare_soon(7, 1), 7), "");
    assert_true(ledger_find(world.agent, api.claim[0].uid) < 0);
    assert_null(cdi_of(0));
    restart();
    assert_int_equal(held(), 2);
    assert_true(ledger_find(world.agent, api.claim[7].uid) >= 0);
}

/* Neither memory nor a CDI file has the record that rots: the operator is told what helps. */
static void test_record_rots_without_a_copy(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    forget_records();
    rot(0);
    disk_unlink(cdi_of(0));
    log_forget();
    round_now();
    log_has("event=store_half_damaged");
    log_has("delete and re-create the pod of the claim");
    assert_int_equal(held(), 2);
    assert_non_null(strstr(rival_error(), "already held by claim ml/claim-0"));
}

/* --- what the API server says of a held claim --- */

/* Another claim that asks again does not make the second look at a deleted claim come earlier. */
static void test_rival_asks_again(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    pass(RECONCILE_SPREAD_MS);
    claim_away(0);
    assert_string_not_equal(rival_error(), "");
    api_forget();
    for (unsigned i = 0; i < 5u; i++) {
        assert_string_not_equal(rival_error(), "");
    }
    assert_int_equal(api_asked(GETS "0"), 0);
    assert_int_equal(held(), 1);
    pass(RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 0);
}

/* The Node is deleted after the first look: the second one proves nothing until it is back. */
static void test_node_deleted_between_the_looks(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    pass(RECONCILE_SPREAD_MS);
    claim_away(0);
    assert_string_not_equal(rival_error(), "");
    api_node_delete();
    pass(20 * ROUND);
    assert_int_equal(held(), 1);
    assert_int_equal(said("event=claim_released"), 0);
    api_node_create(NODE_UID);
    pass(2 * ROUND);
    assert_int_equal(held(), 0);
}

/* The claim is gone from the server's store, too. */
static void claim_deleted(unsigned n)
{
    struct sim_object *stored = api_find(SIM_CLAIM, "ml", api.claim[n].name);
    claim_away(n);
    if (stored != NULL) {
        sim_store_delete(&server.store, stored);
    }
}

/* Until the GET of this claim is under way; it hangs. */
static void hang_get(unsigned n)
{
    char get[128];
    (void)snprintf(get, sizeof get, GETS "%u", n);
    api.claim[n].fault = API_HANGS;
    api_forget();
    for (unsigned i = 0; i < 2000u && api_asked(get) == 0; i++) {
        pass(1000);
    }
    assert_int_equal(api_asked(get), 1);
}

/* The same while the second look is under way. */
static void test_node_deleted_in_the_second_look(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    pass(RECONCILE_SPREAD_MS);
    claim_deleted(0);
    assert_string_not_equal(rival_error(), "");
    (void)claim_add(0); /* for a moment, so that its GET can hang */
    hang_get(0);
    api_node_delete();
    claim_deleted(0);
    pass(2000);
    assert_int_equal(node_presence(world.agent), NODE_ABSENT);
    api_release();
    pass(2000);
    assert_int_equal(held(), 1);
    api_node_create(NODE_UID);
    pass(2 * ROUND);
    assert_int_equal(held(), 0);
}

/* The claim is unprepared while its GET is under way: the response is about nobody. */
static void test_unprepared_in_a_look(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2u; kind++) {
        begin();
        prepare_well(0, 2);
        hang_get(0);
        unprepare_well(0, 1);
        if (kind == 0u) {
            claim_deleted(0);
            api_release();
        } else {
            api.connected = false;
            api_end("connection reset by peer");
        }
        pass(5000);
        assert_int_equal(held(), 1);
        assert_int_equal(said("event=claim_released"), 0);
        api.claim[0].fault = API_ANSWERS;
        claim_add(0);
        prepare_well(0, 1);
    }
}

/* The store is closed while a GET is under way, and its file cannot be made again. */
static void test_store_closed_in_a_look(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    hang_get(0);
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    round_now();
    assert_false(ledger_is_usable(world.agent));
    claim_deleted(0);
    api_release();
    pass(2000);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(10000);
    assert_true(ledger_is_usable(world.agent));
    assert_int_equal(held(), 2); /* one look at most was counted */
    pass(2 * ROUND + RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 1);
}

/* A server that says when to come back is left alone until then. */
static void test_server_says_when(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 4);
    api.claim[0].http = 429;
    api.retry_after = 110;
    api_forget();
    for (unsigned i = 0; i < 200u && api_asked(GETS "0") == 0; i++) {
        pass(1000);
    }
    api_forget();
    pass(100000);
    assert_int_equal(api_asked(GETS), 0);
    pass(60000);
    assert_true(api_asked(GETS) > 0);
    assert_int_equal(held(), 4);
}

/* The claim's namespace in what the server sends becomes another one. */
static void harm_namespace(uint8_t *bytes, size_t n)
{
    static const uint8_t ml[] = {0x1a, 2, 'm', 'l'};
    for (size_t i = 0; i + sizeof ml <= n; i++) {
        if (memcmp(&bytes[i], ml, sizeof ml) == 0) {
            bytes[i + 2u] = 'x';
        }
    }
}

/* Claims of another namespace, or without a readable UID, say nothing about the held ones. */
static void test_answers_that_say_nothing(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2u; kind++) {
        begin();
        prepare_well(0, 2);
        pass(RECONCILE_SPREAD_MS);
        world.harm = (kind == 0u) ? harm_namespace : NULL;
        if (kind == 1u) {
            text_set(api.claim[0].uid, sizeof api.claim[0].uid, "\xff\xfe");
            text_set(api.claim[1].uid, sizeof api.claim[1].uid, "\xff\xfe");
        }
        api_forget();
        pass(5 * ROUND);
        assert_true(api_asked(GETS) > 4);
        assert_int_equal(held(), 2);
        assert_int_equal(said("event=claim_released"), 0);
    }
}

/* --- claims that were rebuilt and never used --- */

/* More than two looks at each claim. */
static void pass_looks(void)
{
    pass(3u * world.settings.reconcile_ms + RECONCILE_CONFIRM_MS);
}

/* Claim 4 is reserved when the list is read, and no pod ever uses it. */
static void rebuild_unused(void)
{
    node_with_claims(1);
    api.claim[4].unallocated = false;
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    lose_files();
    up_again();
    assert_int_equal(held(), 2);
    prepare_well(0, 1);
    log_forget();
}

/* It is over once it has no device of this node, and what cannot be read is no proof of that. */
static void test_allocated_elsewhere(void **state)
{
    static char long_name[3000];
    (void)state;
    memset(long_name, 'r', sizeof long_name - 1u);
    for (unsigned kind = 0; kind < 4u; kind++) {
        rebuild_unused();
        struct api_claim *c = &api.claim[4];
        c->result[0].pool = "another-node";
        c->results = (kind > 0u) ? 3 : 1;
        c->result[1] = c->result[0];
        c->result[2] = c->result[0];
        if (kind == 1u) {
            c->result[0].pool = NULL;
        } else if (kind == 2u) {
            c->result[1].request = long_name;
        } else if (kind == 3u) {
            c->result[2].pool = NULL;
        }
        pass_looks();
        assert_int_equal(held(), (kind == 0u) ? 1 : 2);
        assert_int_equal(said("deallocated before a pod used it"), (kind == 0u) ? 1 : 0);
    }
}

/* Whether the API server's last answer was that the claim exists, or did not count. */
static bool check_begins_again(unsigned n)
{
    const struct reconcile *k = &world.agent->recovery->reconcile;
    return !k->running && !k->check[slot_of(n)].gone;
}

/* Whether it was rebuilt cannot be read: it stays until that can be read again. */
static void test_rebuilt_record_unreadable(void **state)
{
    (void)state;
    rebuild_unused();
    api.claim[4].unallocated = true;
    pass(RECONCILE_SPREAD_MS);
    hang_get(4);
    forget_records();
    disk.refuse_read[FILES_STATE] = true;
    api_release();
    pass(1000);
    assert_true(check_begins_again(4));
    disk.refuse_read[FILES_STATE] = false;
    pass_looks();
    assert_int_equal(held(), 1);
}

/* --- the kubelet's checkpoint --- */

/* A claim of the checkpoint stays held, whichever claims come after it there. */
static void test_listed_before_others(void **state)
{
    static const char *const uids[] = {"c1a10000-0000-4000-8000-000000000000", "x", "y"};
    (void)state;
    begin();
    prepare_well(0, 1);
    claim_away(0);
    disk_kubelet_state(uids, 3, UINT64_MAX, false);
    pass(3 * ROUND + RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 1);
    log_has("the kubelet has yet to unprepare it");
}

/* What was found about a record does not count for the record that replaces it. */
static void test_withheld_before_a_repair(void **state)
{
    static const char uid[] = "c1a10000-0000-4000-8000-000000000000";
    const char *const uids[] = {uid};
    (void)state;
    begin();
    prepare_well(0, 2);
    unsigned slot = slot_of(0);
    claim_away(0);
    disk_kubelet_state(uids, 1, UINT64_MAX, false);
    pass(3 * ROUND + RECONCILE_CONFIRM_MS);
    assert_true(reconcile_withholds(world.agent, slot));
    text_set(api.claim[0].uid, sizeof api.claim[0].uid, uid);
    rot(0);
    claim_away(0);
    api.reachable = false; /* so that nothing is asked right after the round */
    api.connected = false;
    api_end("connection reset by peer");
    settle();
    round_now();
    log_has("none: the record was written again");
    assert_false(reconcile_withholds(world.agent, slot));
    api.reachable = true;
    pass(3 * ROUND + RECONCILE_CONFIRM_MS);
    assert_true(reconcile_withholds(world.agent, slot));
    assert_int_equal(held(), 2);
}

static enum status endless_checkpoint(void *ctx, uint64_t offset, struct writer *out,
                                      uint64_t *written_ms)
{
    enum status s = STATUS_OK;
    if (offset == 0u) { /* all but the end of its list */
        s = disk_files.kubelet_state(ctx, 0, out, written_ms);
        while (out->data[out->len] != ']') {
            out->len--;
        }
    }
    while (writer_room(out) > 0u) {
        writer_text(out, "{");
    }
    return s;
}

/* A checkpoint without an end is read up to its limit, and proves nothing. */
static void test_checkpoint_without_an_end(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    claim_away(0);
    port = disk_files;
    port.kubelet_state = endless_checkpoint;
    world.agent->files = &port;
    pass(3 * ROUND + RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 1);
    log_has("the kubelet's checkpoint is damaged, or too long");
    world.agent->files = &disk_files;
    pass(3 * ROUND);
    assert_int_equal(held(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boot_unknown),
        cmocka_unit_test(test_boot_unreadable),
        cmocka_unit_test(test_boot_of_a_damaged_file),
        cmocka_unit_test(test_stale_claim_not_released),
        cmocka_unit_test(test_boot_of_a_rebuilt_claim),
        cmocka_unit_test(test_file_vanishes_before_its_read),
        cmocka_unit_test(test_file_of_an_unprepared_claim),
        cmocka_unit_test(test_damaged_file_on_the_first_page),
        cmocka_unit_test(test_store_vanishes_in_a_round),
        cmocka_unit_test(test_store_vanishes_in_a_release),
        cmocka_unit_test(test_record_rots_without_a_copy),
        cmocka_unit_test(test_rival_asks_again),
        cmocka_unit_test(test_node_deleted_between_the_looks),
        cmocka_unit_test(test_node_deleted_in_the_second_look),
        cmocka_unit_test(test_unprepared_in_a_look),
        cmocka_unit_test(test_store_closed_in_a_look),
        cmocka_unit_test(test_server_says_when),
        cmocka_unit_test(test_answers_that_say_nothing),
        cmocka_unit_test(test_allocated_elsewhere),
        cmocka_unit_test(test_rebuilt_record_unreadable),
        cmocka_unit_test(test_listed_before_others),
        cmocka_unit_test(test_withheld_before_a_repair),
        cmocka_unit_test(test_checkpoint_without_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
