/* SPDX-License-Identifier: Apache-2.0 */
/* A listing of the CDI root that ends early may leave out the only witness of a claim. */
#include "agent_reconcile.h"

/* Files of others fill the first pages of a listing: those of claims come behind them. */
static void fill_pages(void)
{
    for (unsigned i = 0; i < 2u * DISK_PAGE_FILES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "other-%u.json", i);
        (void)disk_make(FILES_CDI, name);
    }
}

/*
 * The CDI root could not be listed whole at the start: a file that was not seen may be the only
 * witness of a claim. No new claim gets a device until all were seen, and no file is removed.
 */
static void test_listing_cut_at_start(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    lose_store();
    struct view last = copy_of(1);
    disk_unlink(cdi_of(0));
    disk_unlink(cdi_of(1));
    fill_pages();
    char file[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_NEURON, api.claim[1].uid, file);
    disk_set(disk_make(FILES_CDI, file), 0, last);
    disk.list_cut = 1;
    start();
    register_driver();
    pass(2000);
    assert_int_equal(held(), 0);
    char reason[1024];
    struct writer w = writer_of(reason, sizeof reason);
    assert_true(ready_reason(world.agent, 0, &w));
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_non_null(strstr(reason, "CDI root /var/run/cdi cannot be listed"));
    api.claim[7].result[0].device = api.claim[1].result[0].device;
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(7, 1));
    pass(STORE_WAIT_MS + 1000u);
    assert_non_null(
        strstr(prepare_error(call_reply_of(c), 7), "not all CDI files could be listed"));
    assert_int_equal(said("event=cdi_file_failed"), 1); /* told once */
    assert_non_null(cdi_of(1));
    disk.list_cut = 0;
    pass(2u * RECONCILE_LIST_MS);
    assert_true(held() == 1 && cdi_of(1) != NULL);
    assert_non_null(strstr(prepare_error(prepare_soon(7, 1), 7), "is already held by"));
    assert_true(agent_ready(world.agent));
}

/*
 * Among what is not seen is the tombstone of a claim that the store still has: the claim stays
 * unprepared, and gets no CDI file beside which the tombstone would mean nothing.
 */
static void test_tombstone_behind_a_cut(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_refuse(FILES_STATE, HOST_DENIED);
    unprepare_well(0, 1);
    assert_non_null(tombstone_of(0));
    kill_agent();
    disk_unlink(tombstone_of(0));
    fill_pages();
    char file[CDI_FILE_NAME_CAP];
    cdi_tombstone_name(DRIVER_NEURON, api.claim[0].uid, file);
    disk_set(disk_make(FILES_CDI, file), 0, view_text(api.claim[0].uid));
    disk.list_cut = 1;
    start();
    register_driver();
    pass(2000);
    assert_int_equal(held(), 1);
    assert_null(cdi_of(0));
    restart();
    assert_int_equal(held(), 1);
    disk.list_cut = 0;
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(ROUND);
    assert_int_equal(held(), 1);
    assert_null(tombstone_of(0));
    assert_string_equal(rival_error(), "");
}

/* The same, while the tombstone cannot be read by name either. */
static void test_tombstone_that_nobody_can_read(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk_refuse(FILES_STATE, HOST_DENIED);
    unprepare_well(0, 1);
    kill_agent();
    disk_refuse(FILES_STATE, STATUS_OK);
    disk.list_cut = 1;
    fill_pages();
    disk.refusal = HOST_IO;
    disk.refuse_read[FILES_CDI] = true;
    start();
    register_driver();
    pass(2000);
    assert_null(cdi_of(0));
    disk.refuse_read[FILES_CDI] = false;
    disk.list_cut = 0;
    pass(ROUND);
    assert_int_equal(held(), 1);
    assert_null(cdi_of(0));
    assert_string_equal(rival_error(), "");
}

/* A listing of a later round that is cut removes nothing and refuses nothing. */
static void test_listing_cut_later(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk.list_cut = 1;
    pass(ROUND);
    assert_true(held() == 2 && cdi_of(0) != NULL && cdi_of(1) != NULL);
    prepare_well(2, 1);
    disk.list_cut = 0;
    pass(2u * RECONCILE_LIST_MS);
    assert_true(agent_ready(world.agent));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_cut_at_start),
        cmocka_unit_test(test_tombstone_behind_a_cut),
        cmocka_unit_test(test_tombstone_that_nobody_can_read),
        cmocka_unit_test(test_listing_cut_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
