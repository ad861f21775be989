/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstones of claims that are prepared again under their UID: one stays as long as the disk may
 * have a record of the unprepared claim, and none is left beside the CDI file of a prepared one.
 */
#include "tests/unit/agent_reconcile.h"

#include "agent/ledger/ledger_internal.h"
#include "dra/store.h"

static bool marked(unsigned n)
{
    return ledger_tombstone(world.agent, api.claim[n].uid) == STATUS_OK;
}

static void kill_and_start(void)
{
    restart();
    register_driver();
    pass(3000);
}

static const char *unprepare_error_of(unsigned n)
{
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, UNPREPARE, claims_request(n, 1));
    pass(1000);
    const char *error = unprepare_error(call_reply_of(c), n);
    peer_close(p);
    return error;
}

/* --- a claim in two slots --- */

/*
 * Both halves of the slot of claim 2, the last of three, refuse writes, so its release stays
 * unwritten. Then it is prepared again, and so gets another slot: the first one, if `first`.
 */
static unsigned prepare_in_two_slots(bool first)
{
    begin_with(3);
    unsigned slot = slot_of(2);
    disk_break(store(), store_offset(slot, 0), STORE_HALF_BYTES, false, true);
    disk_break(store(), store_offset(slot, 1), STORE_HALF_BYTES, false, true);
    if (first) {
        unprepare_well(0, 1);
    }
    unprepare_well(2, 1);
    assert_true(marked(2));
    prepare_well(2, 1);
    assert_int_not_equal(slot_of(2), slot);
    assert_int_equal(slot_of(2) < slot, first);
    assert_false(marked(2));
    return slot;
}

/* The claim is unprepared, whichever slots the next process reads, and nothing of it is left. */
static void check_unprepared(unsigned used)
{
    assert_int_equal(held(), used);
    pass(60000);
    assert_true(marked(2));
    kill_and_start();
    assert_int_equal(held(), used);
    assert_int_equal(ledger_find(world.agent, api.claim[2].uid), -1);
    disk_repair();
    pass(60000);
    assert_int_equal(world.agent->ledger->freeing, 0);
    assert_false(marked(2));
    kill_and_start();
    assert_int_equal(held(), used);
}

static void test_slot_that_stays_unwritten(void **state)
{
    (void)state;
    unsigned slot = prepare_in_two_slots(false);
    unprepare_well(2, 1);
    assert_int_equal(world.agent->ledger->entry[slot].state, LEDGER_FREEING);
    assert_int_equal(world.agent->ledger->freeing, 1);
    check_unprepared(2);
}

/* The claim has no CDI file to be renamed when it is unprepared from its second slot. */
static void test_slot_that_stays_unwritten_without_a_file(void **state)
{
    (void)state;
    (void)prepare_in_two_slots(false);
    disk_unlink(cdi_of(2));
    unprepare_well(2, 1);
    check_unprepared(2);
}

/* It is prepared again after its second slot was freed: the tombstone goes, the claim stays. */
static void test_prepared_from_a_third_slot(void **state)
{
    (void)state;
    (void)prepare_in_two_slots(false);
    unprepare_well(2, 1);
    prepare_well(2, 1);
    assert_false(marked(2));
    disk_unlink(cdi_of(2));
    kill_and_start();
    assert_int_equal(held(), 3);
    assert_non_null(cdi_of(2));
}

/* The tombstone is removed by somebody: a repeated unprepare makes another for both slots. */
static void test_tombstone_of_two_slots_removed(void **state)
{
    (void)state;
    unsigned slot = prepare_in_two_slots(true);
    disk.refuse_flush = true;
    disk.refusal = HOST_IO;
    unprepare_well(2, 1);
    assert_int_equal(world.agent->ledger->freeing, 2);
    ledger_move(world.agent, slot, LEDGER_FREEING_FILE); /* the second of the two */
    assert_true(ledger_freeing_file(world.agent, api.claim[2].uid));
    ledger_move(world.agent, slot, LEDGER_FREEING);
    assert_false(ledger_freeing_file(world.agent, api.claim[2].uid));
    disk_unlink(tombstone_of(2));
    unprepare_well(2, 1);
    assert_true(marked(2));
    disk.refuse_flush = false;
    check_unprepared(1);
}

/*
 * The CDI file can neither be removed nor become a tombstone: the record of the first slot, which
 * cannot be written, would hold the claim again, so it stays held and the kubelet learns it.
 */
static void test_two_slots_and_a_file_that_stays(void **state)
{
    (void)state;
    unsigned slot = prepare_in_two_slots(false);
    disk.refuse_remove[FILES_CDI] = true;
    assert_non_null(strstr(unprepare_error_of(2), "the claim's CDI file cannot be removed"));
    assert_int_equal(held(), 3);
    disk.refuse_remove[FILES_CDI] = false;
    kill_and_start();
    assert_int_equal(held(), 3);
    assert_int_not_equal(slot_of(2), slot); /* the newer record is still that of the claim */
    prepare_well(2, 1);
    assert_false(marked(2));
    unprepare_well(2, 1);
    check_unprepared(2);
}

/* A file that stays in the first slot is the tombstone's as soon as it can be removed. */
static void test_file_left_in_one_of_two_slots(void **state)
{
    (void)state;
    unsigned slot = prepare_in_two_slots(false);
    struct ledger_entry *e = &world.agent->ledger->entry[slot];
    ledger_move(world.agent, slot, LEDGER_FREEING_FILE);
    assert_true(ledger_freeing_file(world.agent, api.claim[2].uid));
    unprepare_well(2, 1);
    assert_true(marked(2));
    disk_repair();
    pass(60000);
    assert_int_equal(e->state, LEDGER_FREE);
    assert_false(marked(2));
    kill_and_start();
    assert_int_equal(held(), 2);
}

/* --- a tombstone that nothing frees any more --- */

/* A store that is new, and an API server that does not answer: claim 1 is unprepared. */
static void unprepare_before_the_list(void)
{
    begin_with(2);
    kill_agent();
    disk_unlink(store());
    api.claims_http = 500;
    up_again();
    assert_true(world.agent->ledger->unlisted);
    unprepare_well(1, 1);
    assert_true(marked(1));
    assert_int_equal(world.agent->ledger->freeing, 0);
}

/* The list gets through, and the kubelet asks for claim 1 again before the CDI root is listed. */
static void check_prepared_again(void)
{
    api.claims_http = 0;
    for (unsigned i = 0; i < 600u && world.agent->ledger->unlisted; i++) {
        world.agent->recovery->reconcile.files_ms = world.now_ms + 60000u;
        pass(100);
    }
    assert_false(world.agent->ledger->unlisted);
    assert_true(marked(1));
    prepare_well(1, 1);
    assert_false(marked(1));
    disk_unlink(cdi_of(0));
    disk_unlink(cdi_of(1));
    kill_and_start();
    assert_int_equal(held(), 2);
    assert_non_null(cdi_of(1));
}

/* Its CDI files are lost later: without the tombstone they are rebuilt, and the claim is held. */
static void test_prepared_after_the_list(void **state)
{
    (void)state;
    unprepare_before_the_list();
    check_prepared_again();
}

/* Another process left the tombstone, and this one saw it. */
static void test_tombstone_of_another_process(void **state)
{
    (void)state;
    unprepare_before_the_list();
    kill_and_start();
    assert_true(world.agent->ledger->unlisted);
    check_prepared_again();
}

/* A claim that no slot knows gets its tombstone too. */
static void test_tombstone_without_a_slot(void **state)
{
    (void)state;
    unprepare_before_the_list();
    world.agent->ledger->tombstones = false;
    disk_unlink(tombstone_of(1));
    unprepare_well(1, 1);
    check_prepared_again();
}

/* A listing of the CDI root that shows no tombstone ends it, and one that fails does not. */
static void test_listing_without_tombstones(void **state)
{
    (void)state;
    unprepare_before_the_list();
    api.claims_http = 0;
    pass(3u * world.settings.reconcile_ms);
    assert_false(marked(1));
    assert_false(world.agent->ledger->tombstones);
    for (unsigned i = 0; i < 2u * DISK_PAGE_FILES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "other-%u.json", i);
        (void)disk_make(FILES_CDI, name);
    }
    disk.list_cut = 1;
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    world.poked = true;
    settle();
    assert_true(world.agent->ledger->tombstones);
    disk.list_cut = 0;
    pass(3u * world.settings.reconcile_ms);
    assert_false(world.agent->ledger->tombstones);
}

/* The disk refuses to remove the tombstone of a release that is written: the next prepare does. */
static void test_tombstone_that_stays(void **state)
{
    (void)state;
    begin_with(2);
    disk_fault(FAULT_ERROR, 4, true, HOST_IO); /* after its rename, the write and the flush */
    unprepare_well(1, 1);
    assert_true(marked(1));
    assert_int_equal(world.agent->ledger->freeing, 0);
    prepare_well(1, 1);
    assert_false(marked(1));
}

/*
 * A release failed and left the claim held, perhaps with a tombstone. Its next record is written
 * for another allocation: the tombstone goes with it.
 */
static void test_tombstone_of_a_held_claim(void **state)
{
    (void)state;
    begin_with(2);
    struct ledger_entry *e = &world.agent->ledger->entry[slot_of(1)];
    char name[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(DRIVER_NEURON, api.claim[1].uid, name);
    (void)disk_make(FILES_CDI, name);
    e->tombstone = true;
    api.claim[1].result[0].device = "neuron-device-6";
    prepare_well(1, 1);
    assert_false(e->tombstone);
    assert_false(marked(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_that_stays_unwritten),
        cmocka_unit_test(test_slot_that_stays_unwritten_without_a_file),
        cmocka_unit_test(test_prepared_from_a_third_slot),
        cmocka_unit_test(test_tombstone_of_two_slots_removed),
        cmocka_unit_test(test_two_slots_and_a_file_that_stays),
        cmocka_unit_test(test_file_left_in_one_of_two_slots),
        cmocka_unit_test(test_prepared_after_the_list),
        cmocka_unit_test(test_tombstone_of_another_process),
        cmocka_unit_test(test_tombstone_without_a_slot),
        cmocka_unit_test(test_listing_without_tombstones),
        cmocka_unit_test(test_tombstone_that_stays),
        cmocka_unit_test(test_tombstone_of_a_held_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
