/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent on a store of which a part is bad: sectors that cannot be read or written, halves
 * that rot, records of other agents. No claim is lost, no device is given twice, and it is
 * logged.
 */
#include "agent/ledger/ledger_internal.h"
#include "agent/ledger/ledger_open.h"
#include "base/crc32c.h"
#include "tests/unit/kubelet/agent_kubelet.h"

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        claim_add(n);
    }
    node_up();
    prepare_well(0, 3);
    log_forget();
}

static struct disk_file *store(void)
{
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    assert_non_null(f);
    return f;
}

static unsigned slot_of(unsigned n)
{
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    return (unsigned)slot;
}

static uint64_t half_at(unsigned slot, bool newer)
{
    unsigned half = world.agent->ledger->entry[slot].half;
    return store_offset(slot, newer ? half : 1 - half);
}

static void rot(unsigned slot, bool newer)
{
    uint8_t byte = 0;
    struct writer w = writer_of(&byte, 1);
    uint64_t at = half_at(slot, newer) + 20;
    disk_get(store(), at, &w);
    byte ^= 0x10;
    disk_set(store(), at, view_of(&byte, 1));
}

/* Claim n asks for the device of another one; "" when it gets it. */
static const char *rival(unsigned n, const char *device)
{
    api.claim[n].result[0].device = device;
    return prepare_error(prepare_soon(n, 1), n);
}

static void all_is_well(void)
{
    assert_true(world.agent->ledger->usable);
    assert_int_equal(held(), 3);
    assert_non_null(strstr(rival(7, "neuron-device-0"), "already held by claim ml/claim-0"));
    prepare_well(0, 4);
    unprepare_well(3, 1);
}

static struct disk_file *first_cdi(void)
{
    struct disk_file *f = disk.file;
    while (!f->used || f->dir != FILES_CDI) {
        f++;
    }
    return f;
}

/* --- rot --- */

static void test_rotten_record(void **state)
{
    (void)state;
    begin();
    rot(slot_of(0), true);
    restart();
    log_has("event=store_half_damaged");
    all_is_well();
    /* the half is good again */
    log_forget();
    restart();
    assert_int_equal(said("event=store_half_damaged"), 0);
    all_is_well();
}

/* Claim 7 has the device of claim 0, whose unprepare rots in its slot. */
static void revive(void)
{
    begin();
    unsigned slot = slot_of(0);
    unprepare_well(0, 1);
    world.agent->ledger->entry[slot].damaged = true; /* not chosen again */
    assert_string_equal(rival(7, "neuron-device-0"), "");
    assert_int_not_equal(slot_of(7), slot);
    rot(slot, true);
}

/* What brings back a claim that was unprepared does not take its device from the next one. */
static void test_revived_record(void **state)
{
    (void)state;
    revive();
    restart();
    log_has("event=store_conflict");
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
    assert_int_equal(held(), 3);
    pass(5000);
    log_forget();
    restart();
    assert_int_equal(said("event=store_conflict"), 0);
    assert_int_equal(held(), 3);
    prepare_well(7, 1);
}

/* Nor does it when the whole store is repaired at the same time. */
static void test_revived_record_repaired(void **state)
{
    (void)state;
    revive();
    file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
    restart();
    log_has("event=store_conflict");
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
    assert_int_equal(held(), 3);
}

/* Nobody has its device: it is held until somebody says that it is gone. */
static void test_revived_record_alone(void **state)
{
    (void)state;
    begin();
    unsigned slot = slot_of(0);
    unprepare_well(0, 1);
    rot(slot, true);
    restart();
    assert_int_equal(held(), 3);
    log_has("event=store_half_damaged");
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
}

/* An old copy of the store is put back: what was prepared since is repeated all the same. */
static void test_old_copy_put_back(void **state)
{
    (void)state;
    static uint8_t copy[STORE_FILE_BYTES];
    begin();
    struct writer w = writer_of(copy, sizeof copy);
    disk_get(store(), 0, &w);
    unprepare_well(0, 1);
    assert_string_equal(rival(7, "neuron-device-0"), "");
    prepare_well(3, 1);
    disk_set(store(), 0, view_of(copy, sizeof copy));
    log_forget();
    prepare_well(1, 3);
    prepare_well(7, 1);
    log_has("event=store_half_damaged");
    restart();
    prepare_well(1, 3);
    prepare_well(7, 1);
    assert_non_null(strstr(rival(4, "neuron-device-0"), "already held by claim ml/claim-"));
}

static void test_zeroed_slots(void **state)
{
    (void)state;
    begin();
    file_fill(store(), STORE_HEADER_BYTES, 0, STORE_FILE_BYTES - STORE_HEADER_BYTES);
    restart();
    log_has("slots_lost=256");
    assert_int_equal(said("event=store_half_damaged"), 0);
    all_is_well();
    restart();
    all_is_well();
}

/* --- sectors --- */

static void test_unreadable_half(void **state)
{
    (void)state;
    for (unsigned newer = 0; newer < 2; newer++) {
        begin();
        disk_break(store(), half_at(slot_of(1), newer != 0), STORE_HALF_BYTES, true, newer != 0);
        restart();
        log_has("event=store_half_damaged");
        all_is_well();
        restart();
        all_is_well();
    }
}

static void test_unreadable_header(void **state)
{
    (void)state;
    begin();
    disk_break(store(), 0, 512, true, true);
    restart();
    log_has("header_copy=0");
    all_is_well();
    begin();
    disk_break(store(), 0, STORE_HEADER_BYTES, true, true);
    restart();
    log_has("kept_as=claims.store.damaged");
    all_is_well();
}

/* Nothing of it can be read: that is no damage, and no reason to make another one. */
static void test_unreadable_store(void **state)
{
    (void)state;
    begin();
    disk_break(store(), 0, STORE_FILE_BYTES, true, true);
    restart();
    pass(600000);
    assert_false(world.agent->ledger->usable);
    assert_int_equal(said("event=store_failed"), 1);
    assert_int_equal(disk_count(FILES_STATE), 2);
    unprepare_well(0, 1);
    disk_repair();
    pass(60000);
    assert_int_equal(held(), 2);
    prepare_well(0, 3);
}

/* A half that takes no writes fails no claim of other slots, and not its own claim either. */
static void test_half_refuses_writes(void **state)
{
    (void)state;
    for (unsigned newer = 0; newer < 2; newer++) {
        begin();
        disk_break(store(), half_at(slot_of(1), newer != 0), STORE_HALF_BYTES, false, true);
        restart();
        all_is_well();
        unprepare_well(1, 1);
        assert_int_equal(world.agent->ledger->freeing, 0);
    }
    /* it still has the record of the released claim: the next claim goes into another slot */
    assert_non_null(strstr(prepare_error(prepare_now(1, 1), 1), "cannot be written"));
    prepare_well(1, 1);
    assert_int_equal(slot_of(1), 3);
    restart();
    assert_int_equal(held(), 3);
    unprepare_well(1, 1);
    restart();
    assert_int_equal(held(), 2);
}

static void test_slot_refuses_writes(void **state)
{
    (void)state;
    begin();
    disk_break(store(), store_offset(3, 0), STORE_SLOT_BYTES, false, true);
    assert_non_null(strstr(prepare_error(prepare_now(3, 1), 3), "cannot be written"));
    prepare_well(3, 1);
    assert_int_equal(slot_of(3), 4);
    restart();
    assert_string_equal(prepare_error(prepare_soon(3, 1), 3), "");
    assert_int_equal(held(), 4);
    /* a claim in it can be unprepared for good */
    begin();
    disk_break(store(), store_offset(slot_of(0), 0), STORE_SLOT_BYTES, false, true);
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
    assert_string_equal(rival(7, "neuron-device-0"), "");
}

/* --- a store that cannot be written --- */

static void test_unprepare_outlives_a_kill(void **state)
{
    (void)state;
    static const enum status failures[] = {HOST_IO, HOST_NO_SPACE, HOST_DENIED};
    for (unsigned i = 0; i < 3; i++) {
        begin();
        disk_refuse(FILES_STATE, failures[i]);
        unprepare_well(0, 1);
        kill_agent();
        start();
        assert_int_equal(held(), 2);
        kill_agent();
        disk_refuse(FILES_STATE, STATUS_OK);
        start();
        pass(5000);
        assert_int_equal(held(), 2);
        assert_int_equal(disk_count(FILES_CDI), 2);
        assert_string_equal(rival(7, "neuron-device-0"), "");
    }
}

/* What was durable before is answered, and the log does not repeat itself. */
static void test_repeated_on_a_read_only_store(void **state)
{
    (void)state;
    begin();
    kill_agent();
    disk_refuse(FILES_STATE, HOST_DENIED);
    start();
    assert_string_equal(prepare_error(prepare_soon(0, 3), 0), "");
    prepare_well(0, 3);
    unprepare_well(0, 1);
    log_forget();
    pass(600000);
    assert_int_equal(said("event=store_failed"), 0);
}

/* The flush that tests an opened store counts like any other, also for the age of the time. */
static void test_flush_of_an_opened_store(void **state)
{
    (void)state;
    begin();
    kill_agent();
    start();
    const struct histogram *flushes = durations_of(world.agent)->flush;
    uint64_t before = histogram_count(&flushes[RESULT_OK]);
    pass(2000);
    api_time_old(world.agent, false);
    world.agent->ledger->failing = HOST_DENIED;
    disk.flush_us = 2 * TIME_OLD_MS * UINT64_C(1000);
    ledger_flush(world.agent);
    disk.flush_us = 0;
    assert_int_equal(world.agent->ledger->failing, STATUS_OK);
    assert_int_equal(histogram_count(&flushes[RESULT_OK]), before + 1);
    assert_true(world.agent->api->client.time_old);
}

/* A repair whose last rename fails goes on from where it was. */
static void test_repair_fails_once(void **state)
{
    (void)state;
    begin();
    kill_agent();
    file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    start();
    unsigned calls = disk.calls;
    for (unsigned at = calls - 8; at <= calls; at++) {
        begin();
        kill_agent();
        file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
        disk_fault(FAULT_ERROR, at, true, HOST_IO);
        start();
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        pass(60000);
        all_is_well();
    }
}

/* A kill between its two renames leaves the new store under its first name; no CDI file helps. */
static void test_repair_killed_between_renames(void **state)
{
    (void)state;
    begin();
    kill_agent();
    disk_rename(store(), STORE_FILE_NAME ".new");
    while (disk_count(FILES_CDI) > 0) {
        disk_unlink(first_cdi());
    }
    start();
    all_is_well();
}

/* What is wrong with the new store is not reported as wrong with the damaged one. */
static void test_repair_refused(void **state)
{
    (void)state;
    begin();
    kill_agent();
    file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    start();
    log_has("claims.store.new cannot be created (");
    pass(60000);
    assert_int_equal(said("event=store_damaged"), 1);
    assert_int_equal(said("event=store_failed"), 1);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    all_is_well();
}

/* --- records of others --- */

static void put_record(unsigned slot, unsigned half, uint64_t sequence, struct view record)
{
    uint8_t bytes[STORE_HALF_BYTES];
    struct writer out = writer_of(bytes, sizeof bytes);
    store_half_write(&out, slot, sequence, record);
    disk_set(store(), store_offset(slot, half), writer_view(&out));
}

/* Two devices, of which this version understands none. */
static void put_outline(unsigned n)
{
    uint8_t bytes[STORE_RECORD_MAX];
    struct writer out = writer_of(bytes, sizeof bytes);
    const struct ledger_entry *e = &world.agent->ledger->entry[slot_of(n)];
    const struct store_outline o = {.id = world.agent->ledger->id[slot_of(n)], .numbers = 0x201};
    assert_int_equal(store_outline_encode(&o, &out), STATUS_OK);
    put_record(slot_of(n), e->half, e->sequence, writer_view(&out));
}

static void test_record_of_a_newer_agent(void **state)
{
    (void)state;
    static uint8_t before[STORE_HALF_BYTES];
    static uint8_t after[STORE_HALF_BYTES];
    begin();
    put_outline(0);
    uint64_t at = half_at(slot_of(0), true);
    struct writer was = writer_of(before, sizeof before);
    disk_get(store(), at, &was);
    restart();
    assert_int_equal(held(), 3);
    assert_int_not_equal(world.agent->ledger->entry[slot_of(0)].record, RECORD_WHOLE);
    assert_non_null(strstr(rival(7, "neuron-device-9"), "already held by claim ml/claim-0"));
    /* it is carried over as it is */
    file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
    restart();
    at = half_at(slot_of(0), true);
    struct writer now = writer_of(after, sizeof after);
    disk_get(store(), at, &now);
    uint32_t length = before[7];
    assert_int_equal(length, after[7]);
    assert_memory_equal(after, before, STORE_HALF_HEADER + length);
    /* the API server knows what it has */
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
    assert_int_equal(world.agent->ledger->entry[slot_of(0)].record, RECORD_WHOLE);
    assert_string_equal(rival(7, "neuron-device-9"), "");
}

/* The list of claims names a device that the outline of a newer record does not have. */
static void test_newer_record_and_list(void **state)
{
    (void)state;
    begin();
    put_outline(0);
    file_fill(store(), 0, 0xa5, STORE_HEADER_BYTES);
    api.lists_claims = true;
    api.claim[0].result[0].device = "neuron-device-12";
    restart();
    pass(5000); /* the list comes */
    assert_int_equal(world.agent->ledger->entry[slot_of(0)].record, RECORD_UNSURE);
    assert_non_null(strstr(rival(7, "neuron-device-12"), "already held by claim ml/claim-0"));
    assert_non_null(strstr(rival(7, "neuron-device-9"), "already held by claim ml/claim-0"));
    /* a prepare by the API server's allocation ends that */
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
    assert_int_equal(world.agent->ledger->entry[slot_of(0)].record, RECORD_WHOLE);
    assert_string_equal(rival(7, "neuron-device-9"), "");
}

static void test_unprepare_of_a_newer_agents_record(void **state)
{
    (void)state;
    begin();
    put_outline(0);
    restart();
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 2);
    assert_string_equal(rival(7, "neuron-device-9"), "");
}

static void test_claim_in_two_slots(void **state)
{
    (void)state;
    for (unsigned newer = 0; newer < 2; newer++) {
        uint8_t bytes[STORE_HALF_BYTES];
        struct writer w = writer_of(bytes, sizeof bytes);
        struct store_half half;
        begin();
        unsigned slot = slot_of(1);
        disk_get(store(), half_at(slot, true), &w);
        store_half_read(writer_view(&w), slot, &half);
        put_record(9, 0, newer != 0 ? 1000 : 2, half.record);
        restart();
        log_has("event=store_conflict");
        assert_int_equal(slot_of(1), newer != 0 ? 9 : slot);
        assert_int_equal(held(), 3);
        pass(5000);
        log_forget();
        restart();
        assert_int_equal(said("event=store_conflict"), 0);
        all_is_well();
        unprepare_well(1, 1);
        restart();
        assert_int_equal(held(), 2);
    }
}

/* --- openings beside what was left --- */

/* What a newer agent began to create is left alone, until an operator says otherwise. */
static void test_new_store_of_a_newer_agent(void **state)
{
    (void)state;
    begin();
    kill_agent();
    for (unsigned copy = 0; copy < 2; copy++) {
        uint8_t header[STORE_HEADER_WRITTEN];
        struct writer w = writer_of(header, sizeof header);
        disk_get(store(), copy * (STORE_HEADER_BYTES / 2), &w);
        header[11] = 9; /* format */
        w.len = sizeof header - 4;
        w.full = false;
        writer_u32(&w, crc32c(0, writer_view(&w)));
        disk_set(store(), copy * (STORE_HEADER_BYTES / 2), writer_view(&w));
    }
    disk_rename(store(), STORE_FILE_NAME ".new");
    start();
    register_driver();
    pass(60000);
    assert_false(world.agent->ledger->usable);
    assert_null(disk_find(FILES_STATE, STORE_FILE_NAME));
    assert_int_equal(said("event=store_created"), 0);
}

/* A damaged half is logged with the claim of its slot, if a claim has the slot. */
static void test_claims_of_damaged_halves(void **state)
{
    char text[64];
    (void)state;
    begin();
    unsigned slot = slot_of(1);
    rot(slot, false);
    rot(slot_of(2) + 1u, false);
    (void)snprintf(text, sizeof text, "slot=%u half=%u", slot_of(2) + 1u,
                   1u - world.agent->ledger->entry[slot_of(2) + 1u].half);
    restart();
    register_driver();
    assert_int_equal(said("event=store_half_damaged"), 2);
    assert_int_equal(said(text), 1);
    assert_int_equal(said("event=store_half_damaged file=claims.store slot="), 2);
    assert_int_equal(said(" claim=claim-1 "), 1);
    assert_int_equal(said(" claim="), 1);
}

/* --- every call of an opening --- */

static void leave_store(void)
{
}

static void lose_store(void)
{
    disk_unlink(store());
}

static void spoil_header(void)
{
    file_fill(store(), 0, 0xee, STORE_HEADER_BYTES);
}

static void spoil_slots(void)
{
    file_fill(store(), store_offset(0, 0), 0xee, STORE_HALF_BYTES);
    file_fill(store(), store_offset(1, 0), 0xee, 2u * STORE_HALF_BYTES);
    file_fill(store(), store_offset(2, 1), 0xee, STORE_HALF_BYTES);
    file_fill(store(), store_offset(9, 1), 0xee, STORE_HALF_BYTES);
}

static void shorten_store(void)
{
    disk_set_len(store(), STORE_FILE_BYTES - STORE_HALF_BYTES);
}

static void spoil_second_copy(void)
{
    file_fill(store(), STORE_HEADER_BYTES / 2u, 0xee, STORE_HEADER_BYTES / 2u);
    disk_break(store(), 0, STORE_HEADER_BYTES / 2u, true, false);
}

/* No slot can be read, and of the header at least one copy: the CDI files have the claims. */
static void test_nothing_but_damage_is_readable(void **state)
{
    static void (*const spoils[])(void) = {spoil_header, spoil_second_copy};
    (void)state;
    for (unsigned i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        begin();
        kill_agent();
        spoils[i]();
        disk_break(store(), STORE_HEADER_BYTES, STORE_FILE_BYTES - STORE_HEADER_BYTES, true, false);
        start();
        register_driver();
        log_has("event=store_damaged");
        pass(60000);
        all_is_well();
    }
}

/*
 * Somebody overwrites the header, and the disk is full: held claims, whose records were flushed and
 * can be read, are answered all the same.
 */
static void test_held_claims_of_a_closed_store(void **state)
{
    (void)state;
    begin();
    spoil_header();
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
    assert_false(world.agent->ledger->usable);
    prepare_well(0, 3);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(60000);
    all_is_well();
}

/* A record that is written again is one write, and the removal of a tombstone if there is one. */
static void test_calls_of_a_write(void **state)
{
    (void)state;
    begin();
    struct ledger_entry *e = &world.agent->ledger->entry[slot_of(1)];
    for (unsigned row = 0; row < 2u; row++) {
        e->tombstone = row > 0u;
        disk_fault(FAULT_NONE, 0, true, STATUS_OK);
        assert_int_equal(slot_write(world.agent, slot_of(1)), STATUS_OK);
        assert_int_equal(disk.calls, 1u + row);
        assert_false(e->tombstone);
    }
}

/* All claims are found, and their records are not safe: the store goes on asking for the list. */
static void test_list_over_a_failing_flush(void **state)
{
    (void)state;
    begin();
    world.agent->ledger->unlisted = true;
    assert_int_equal(slot_write(world.agent, slot_of(1)), STATUS_OK);
    assert_true(world.agent->ledger->dirty);
    disk_fault(FAULT_ERROR, 1, true, HOST_IO);
    assert_int_equal(ledger_listed(world.agent), HOST_IO);
    assert_true(world.agent->ledger->unlisted);
    assert_int_equal(ledger_listed(world.agent), STATUS_OK);
    assert_false(world.agent->ledger->unlisted);
}

/* The agent starts on such a store; its call number `at` of the disk fails. 0: none does. */
static void open_with_failure(void (*spoil)(void), unsigned at, enum fault fault,
                              enum status failure)
{
    begin();
    kill_agent();
    spoil();
    disk_fault((at > 0) ? fault : FAULT_NONE, at, false, failure);
    start();
    register_driver();
    pass(5000);
}

/* The calls of an opening that fail, one at a time: the first and last ones, some between. */
static unsigned next_call(unsigned at, unsigned calls)
{
    return at + ((at < 12u || calls - at < 18u) ? 1u : 97u);
}

/* Whatever fails while the store is opened, it is opened in the end, and no claim is lost. */
static void test_openings_that_fail(void **state)
{
    static void (*const spoils[])(void) = {leave_store, lose_store, spoil_header, spoil_slots,
                                           shorten_store};
    static const struct {
        enum fault fault;
        enum status failure;
    } rows[] = {{FAULT_ERROR, HOST_IO}, {FAULT_ERROR_AFTER, HOST_DENIED}};
    (void)state;
    for (unsigned i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        open_with_failure(spoils[i], 0, FAULT_NONE, STATUS_OK);
        unsigned calls = disk.calls;
        for (unsigned k = 0; k < 2; k++) {
            for (unsigned at = 1; at <= calls; at = next_call(at, calls)) {
                open_with_failure(spoils[i], at, rows[k].fault, rows[k].failure);
                disk_fault(FAULT_NONE, 0, false, STATUS_OK);
                pass(600000);
                all_is_well();
            }
        }
    }
}

/* The store is removed while the agent runs, and making it again fails. */
static void test_making_again_that_fails(void **state)
{
    (void)state;
    unsigned calls = 1;
    for (unsigned at = 0; at <= calls; at = (at == 0) ? 1 : next_call(at, calls)) {
        begin();
        lose_store();
        disk_fault((at > 0) ? FAULT_ERROR : FAULT_NONE, at, true, HOST_IO);
        (void)prepare_soon(3, 1);
        calls = (at == 0) ? disk.calls : calls;
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        pass(60000);
        prepare_well(3, 1);
        unprepare_well(3, 1);
        all_is_well();
        restart();
        all_is_well();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotten_record),
        cmocka_unit_test(test_revived_record),
        cmocka_unit_test(test_revived_record_repaired),
        cmocka_unit_test(test_revived_record_alone),
        cmocka_unit_test(test_old_copy_put_back),
        cmocka_unit_test(test_zeroed_slots),
        cmocka_unit_test(test_unreadable_half),
        cmocka_unit_test(test_unreadable_header),
        cmocka_unit_test(test_unreadable_store),
        cmocka_unit_test(test_half_refuses_writes),
        cmocka_unit_test(test_slot_refuses_writes),
        cmocka_unit_test(test_unprepare_outlives_a_kill),
        cmocka_unit_test(test_repeated_on_a_read_only_store),
        cmocka_unit_test(test_flush_of_an_opened_store),
        cmocka_unit_test(test_repair_fails_once),
        cmocka_unit_test(test_repair_killed_between_renames),
        cmocka_unit_test(test_repair_refused),
        cmocka_unit_test(test_record_of_a_newer_agent),
        cmocka_unit_test(test_newer_record_and_list),
        cmocka_unit_test(test_unprepare_of_a_newer_agents_record),
        cmocka_unit_test(test_claim_in_two_slots),
        cmocka_unit_test(test_new_store_of_a_newer_agent),
        cmocka_unit_test(test_openings_that_fail),
        cmocka_unit_test(test_claims_of_damaged_halves),
        cmocka_unit_test(test_list_over_a_failing_flush),
        cmocka_unit_test(test_calls_of_a_write),
        cmocka_unit_test(test_held_claims_of_a_closed_store),
        cmocka_unit_test(test_nothing_but_damage_is_readable),
        cmocka_unit_test(test_making_again_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
