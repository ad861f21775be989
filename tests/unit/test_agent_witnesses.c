/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several witnesses of a claim are damaged at once, or contradict each other: what any of them
 * names stays held until the API server, a prepare or an unprepare says otherwise.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define LISTS "GET /apis/resource.k8s.io/v1/resourceclaims?limit="

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        (void)claim_add(n);
    }
    node_up();
    prepare_well(0, 3);
    api.lists_claims = true;
    for (unsigned n = 3; n < 8; n++) {
        api.claim[n].unallocated = true;
    }
    log_forget();
    api_forget();
}

static struct ledger_entry *slot_entry(unsigned n)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    return &world.agent->ledger->entry[slot];
}

static void rot(unsigned slot, unsigned half)
{
    uint8_t byte = 0;
    struct writer w = writer_of(&byte, 1);
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    uint64_t at = store_offset(slot, half) + 20u;
    disk_get(f, at, &w);
    byte ^= 0x10u;
    disk_set(f, at, view_of(&byte, 1));
}

/* Kills the agent, and damages the half of claim n that counts. */
static void lose_newest(unsigned n)
{
    const struct ledger_entry *e = slot_entry(n);
    unsigned slot = (unsigned)(e - world.agent->ledger->entry);
    unsigned half = e->half;
    kill_agent();
    rot(slot, half);
}

/* Of a prepare that has all its time. */
static const char *error_late(unsigned n)
{
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(n, 1));
    pass(60000);
    const char *error = prepare_error(call_reply_of(c), n);
    peer_close(p);
    return error;
}

static uint64_t bits(unsigned one, unsigned two)
{
    return UINT64_C(1) << one | UINT64_C(1) << two;
}

/* Claim 0 was allocated device 0, and later device 5. */
static void reallocate(void)
{
    begin();
    api.claim[0].result[0].device = "neuron-device-5";
    prepare_well(0, 1);
    assert_int_equal(slot_entry(0)->numbers, bits(5, 5));
}

/* The slot's other half is free: it does not say that nobody has the device. */
static void test_half_beside_a_free_one(void **state)
{
    (void)state;
    begin();
    lose_newest(0);
    lose_files();
    up_again();
    assert_int_equal(api_asked(LISTS), 1);
    assert_int_equal(held(), 3);
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
}

/*
 * Or it said that the claim was unprepared, and the older half brings it back: held until it is
 * unprepared again, and without a CDI file.
 */
static void test_half_that_was_free(void **state)
{
    (void)state;
    begin();
    unsigned slot = (unsigned)(slot_entry(0) - world.agent->ledger->entry);
    unprepare_well(0, 1);
    api.claim[0].unreserved = true;
    unsigned half = world.agent->ledger->entry[slot].half;
    kill_agent();
    rot(slot, half);
    up_again();
    pass(3u * world.settings.reconcile_ms);
    assert_int_equal(held(), 3);
    assert_null(cdi_of(0));
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    unprepare_well(0, 1);
    assert_string_equal(error_of_rival("neuron-device-0"), "");
}

/* What was damaged is repaired, and the list is asked for all the same, by the next process too. */
static void test_question_outlives_the_repair(void **state)
{
    (void)state;
    begin();
    lose_newest(0);
    lose_files();
    api.claims_http = 503;
    for (unsigned i = 0; i < 3; i++) {
        up_again();
        assert_true(world.agent->ledger->unlisted);
        kill_agent();
    }
    api.claims_http = 0;
    up_again();
    pass(60000);
    assert_int_equal(held(), 3);
    assert_false(world.agent->ledger->unlisted);
}

/* The bytes of the first slots of the store, by turns in two places. */
static struct view first_slots(void)
{
    static uint8_t bytes[2][4u * STORE_SLOT_BYTES];
    static unsigned turn;
    turn = 1u - turn;
    struct writer w = writer_of(bytes[turn], sizeof bytes[turn]);
    disk_get(disk_find(FILES_STATE, STORE_FILE_NAME), store_offset(0, 0), &w);
    return writer_view(&w);
}

/* No half is written before the header asks for the list. */
static void test_header_first(void **state)
{
    (void)state;
    begin();
    lose_newest(0);
    lose_files();
    api.claims_http = 503;
    disk_break(disk_find(FILES_STATE, STORE_FILE_NAME), 0, STORE_HEADER_BYTES, false, true);
    up_again();
    struct view before = first_slots();
    unprepare_well(1, 1);
    pass(60000);
    assert_true(view_equal(first_slots(), before));
    kill_agent();
    disk_break(disk_find(FILES_STATE, STORE_FILE_NAME), 0, 0, false, false);
    api.claims_http = 0;
    up_again();
    pass(60000);
    assert_int_equal(slot_entry(0)->numbers, bits(0, 0));
}

/* The newer half rots: the CDI file has the newer allocation, and stays as it is. */
static void test_older_half_beside_the_file(void **state)
{
    (void)state;
    static uint8_t copy[DISK_PAGE];
    reallocate();
    lose_newest(0);
    struct view before = file_content(cdi_of(0));
    memcpy(copy, before.data, before.len);
    api.reachable = false;
    for (unsigned i = 0; i < 3; i++) { /* by the same witnesses, then by the outline */
        up_again();
        pass(3600000);
        assert_int_equal(slot_entry(0)->numbers, bits(0, 5));
        assert_true(view_equal(file_content(cdi_of(0)), view_of(copy, before.len)));
        assert_non_null(strstr(error_late(0), "cannot be read from the API server"));
        kill_agent();
    }
    api.reachable = true;
    up_again();
    pass(60000);
    assert_non_null(strstr(error_of_rival("neuron-device-5"), "already held by claim ml/claim-0"));
    assert_non_null(strstr(error_of_rival("neuron-device-0"), "already held by claim ml/claim-0"));
    prepare_well(0, 1);
    assert_int_equal(slot_entry(0)->numbers, bits(5, 5));
    assert_string_equal(error_of_rival("neuron-device-0"), "");
}

/*
 * A flush of the opening fails, after the outline was written: the kernel may have dropped that
 * too. Once the agent counts all as flushed, a power cut and a reboot lose no device.
 */
static void test_flush_of_the_opening_fails(void **state)
{
    (void)state;
    unsigned flushed = 0;
    for (unsigned call = 1; call <= 40u; call++) {
        reallocate();
        lose_newest(0);
        api.reachable = false;
        disk_fault(FAULT_ERROR, call, true, HOST_IO);
        up_again();
        pass(60000);
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        const struct ledger_entry *e = slot_entry(0);
        bool settled = e->flush == FLUSH_SETTLED && !e->damaged && !e->refused;
        kill_agent();
        disk_power_cut(NULL, NULL);
        lose_files();
        up_again();
        flushed += settled ? 1u : 0u;
        assert_true(!settled || slot_entry(0)->numbers == bits(0, 5));
    }
    assert_true(flushed > 10u);
}

/* The CDI file is gone as well: the list has the newer allocation. */
static void test_older_half_alone(void **state)
{
    (void)state;
    reallocate();
    lose_newest(0);
    lose_files();
    up_again();
    assert_int_equal(slot_entry(0)->numbers, bits(0, 5));
    restart();
    assert_int_equal(slot_entry(0)->numbers, bits(0, 5));
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
    assert_string_equal(error_of_rival("neuron-device-0"), "");
}

/* It was the older half that rotted: the list says so, and the record answers again. */
static void test_newer_half_alone(void **state)
{
    (void)state;
    begin();
    lose_newest(0);
    up_again(); /* both halves have it */
    const struct ledger_entry *e = slot_entry(1);
    unsigned slot = (unsigned)(e - world.agent->ledger->entry);
    unsigned half = 1u - e->half;
    kill_agent();
    rot(slot, half);
    lose_files();
    up_again();
    assert_int_equal(held(), 3);
    assert_int_equal(slot_entry(1)->record, RECORD_WHOLE);
    assert_non_null(cdi_of(1));
    api.reachable = false;
    prepare_well(1, 1);
}

/* A record that rots is not written again from a CDI file that names another device. */
static void test_edited_file_beside_a_rotten_record(void **state)
{
    (void)state;
    static uint8_t other[DISK_PAGE];
    reallocate();
    struct view v = file_content(cdi_of(0));
    memcpy(other, v.data, v.len);
    struct view edited = view_of(other, v.len);
    api.claim[0].result[0].device = "neuron-device-6";
    prepare_well(0, 1);
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0; /* memory has the records of other claims */
    }
    struct ledger_entry *e = slot_entry(0);
    rot((unsigned)(e - world.agent->ledger->entry), e->half);
    disk_set_len(cdi_of(0), 0);
    disk_set(cdi_of(0), 0, edited);
    pass(3600000);
    assert_int_equal(slot_entry(0)->numbers & bits(6, 6), bits(6, 6));
}

/* --- parts of a device --- */

/* Claim n has, or is to have, a part of device 4. */
static struct claim_record part_of_4(unsigned n, uint8_t cores)
{
    const struct claim_record *r = NULL;
    unsigned slot = (unsigned)(slot_entry(n) - world.agent->ledger->entry);
    assert_int_equal(ledger_read(world.agent, slot, &r), STATUS_OK);
    struct claim_record part = *r;
    part.result[0].number = 4;
    part.result[0].cores = cores;
    part.result[0].logical_neuron_core = 2;
    text_set(part.result[0].share_id, sizeof part.result[0].share_id, api.claim[n].uid);
    part.zero_numbering = true;
    return part;
}

static void hold_part(unsigned n, uint8_t cores, bool rebuilt)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    unsigned slot = 0;
    struct claim_record part = part_of_4(n, cores);
    part.rebuilt = rebuilt;
    assert_int_equal(ledger_put(world.agent, &part, &slot, &why), STATUS_OK);
}

/* The cores of a part that was rebuilt are a guess: nobody gets the others before its prepare. */
static void test_rebuilt_part_holds_the_device(void **state)
{
    (void)state;
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    const struct claim_record *r = NULL;
    begin();
    hold_part(0, 0x03, true);
    struct claim_record part = part_of_4(1, 0x0c);
    assert_true(ledger_rival(world.agent, 0, &part, true) >= 0);
    assert_int_equal(ledger_listed_rival(world.agent, &part), -1);
    unsigned slot = (unsigned)(slot_entry(0) - world.agent->ledger->entry);
    assert_int_equal(ledger_read(world.agent, slot, &r), STATUS_OK);
    assert_int_equal(reconcile_prepared_again(world.agent, slot, &r, &why), STATUS_OK);
    assert_int_equal(ledger_rival(world.agent, 0, &part, true), -1);
}

/* A CDI file brings back a claim whose cores another one has: neither prepare is answered. */
static void test_adopted_file_beside_held_cores(void **state)
{
    (void)state;
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    begin();
    hold_part(0, 0x0c, false);
    hold_part(1, 0x30, false);
    struct claim_record other = part_of_4(1, 0x0c);
    unprepare_well(1, 1);
    assert_true(reconcile_adopt(world.agent, &other, "CDI file", &why));
    assert_int_equal(held(), 3);
    for (unsigned i = 0; i < 2; i++) {
        api.claim[i].http = 500; /* the record answers, but for this */
        assert_non_null(strstr(prepare_error(prepare_now(i, 1), i), "is already held by claim"));
    }
    unprepare_well(0, 1);
    prepare_well(1, 1);
}

/* Claim 0 has a part of device 4, or all of it, and writes that into its record and CDI file. */
static void hold_as(uint8_t cores, const char *share)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    unsigned slot = 0;
    struct claim_record part = part_of_4(0, cores);
    text_set(part.result[0].share_id, sizeof part.result[0].share_id, share);
    assert_int_equal(ledger_put(world.agent, &part, &slot, &why), STATUS_OK);
    assert_int_equal(ledger_sync(world.agent, &why), STATUS_OK); /* the next one goes elsewhere */
}

/*
 * The newer record of a part rots, and the CDI file names another part, a whole device, or another
 * share: which cores the containers have is not known, so nobody joins the claim on its device.
 */
static void test_rotten_record_of_a_part(void **state)
{
    static const struct {
        uint8_t before;
        uint8_t after;
        const char *share_before;
        const char *share_after;
        bool guessed;
        bool shares;
    } rows[] = {
        {0x03, 0x0c, "a", "b", true, false}, {0x00, 0x0c, "", "b", true, false},
        {0x03, 0x00, "a", "", true, false},  {0x00, 0x00, "a", "b", false, true},
        {0x00, 0x00, "a", "", false, false},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        struct claim_record other = part_of_4(1, 0x30);
        hold_as(rows[i].before, rows[i].share_before);
        hold_as(rows[i].after, rows[i].share_after);
        lose_newest(0);
        api.reachable = false;
        up_again();
        const struct ledger_entry *e = slot_entry(0);
        assert_int_equal(e->record, RECORD_UNSURE);
        assert_int_equal(e->numbers, bits(4, 4));
        assert_int_equal(e->cores, 0);
        assert_true(e->guessed == rows[i].guessed && e->shares == rows[i].shares);
        assert_true(ledger_rival(world.agent, 0, &other, true) >= 0);
        api.reachable = true; /* the list names another device, which the claim holds as well */
        api.claim[0].result[0].device = "neuron-device-6";
        pass(60000);
        assert_int_equal(slot_entry(0)->numbers, bits(4, 6));
        assert_true(slot_entry(0)->guessed == rows[i].guessed);
        assert_true(ledger_rival(world.agent, 0, &other, true) >= 0);
    }
}

/* A record that rots is not written again from a CDI file that names other cores of the device. */
static void test_edited_cores_beside_a_rotten_record(void **state)
{
    static uint8_t old[DISK_PAGE];
    (void)state;
    begin();
    hold_part(0, 0x03, false);
    struct view v = file_content(cdi_of(0));
    memcpy(old, v.data, v.len);
    hold_part(0, 0x0c, false);
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0; /* memory has the records of other claims */
    }
    struct ledger_entry *e = slot_entry(0);
    rot((unsigned)(e - world.agent->ledger->entry), e->half);
    disk_set_len(cdi_of(0), 0);
    disk_set(cdi_of(0), 0, view_of(old, v.len));
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
    log_has("delete and re-create the pod of the claim");
    assert_int_equal(slot_entry(0)->cores, 0x0c);
    assert_int_equal(ledger_cores(world.agent, bits(4, 4), api.claim[1].uid), 0x0c);
}

/* A claim with admin access holds no device, and its pod is known all the same. */
static void test_admin_claim_has_a_consumer(void **state)
{
    (void)state;
    begin();
    api.claim[3].unallocated = false;
    api.claim[3].result[0].admin = true;
    prepare_well(3, 1);
    const struct ledger_entry *e = slot_entry(3);
    assert_int_equal(e->numbers, 0);
    unsigned slot = (unsigned)(e - world.agent->ledger->entry);
    assert_int_not_equal(ledger_consumer(world.agent, slot)->uid[0], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_beside_a_free_one),
        cmocka_unit_test(test_half_that_was_free),
        cmocka_unit_test(test_question_outlives_the_repair),
        cmocka_unit_test(test_header_first),
        cmocka_unit_test(test_older_half_beside_the_file),
        cmocka_unit_test(test_flush_of_the_opening_fails),
        cmocka_unit_test(test_older_half_alone),
        cmocka_unit_test(test_newer_half_alone),
        cmocka_unit_test(test_edited_file_beside_a_rotten_record),
        cmocka_unit_test(test_rebuilt_part_holds_the_device),
        cmocka_unit_test(test_adopted_file_beside_held_cores),
        cmocka_unit_test(test_rotten_record_of_a_part),
        cmocka_unit_test(test_edited_cores_beside_a_rotten_record),
        cmocka_unit_test(test_admin_claim_has_a_consumer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
