/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim store of which all slots are in use: claims that have a CDI file, or that the API server
 * lists, find no slot, and neither does the second of two claims for the last slot. Nothing is
 * given away, each error says what helps, and a slot that becomes free is used.
 */
#include "tests/unit/agent_reconcile.h"

#define NO_SLOT "all slots of the claim store are in use; unprepare claims first"

/*
 * CDI files of so many claims with admin access, as a store that is lost leaves them: the file of
 * claim 0, with the numbers from 1000 on in the UID.
 */
static void put_files(struct view content, unsigned count)
{
    static const char uid[] = "c1a10000-0000-4000-8000-000000000000";
    char bytes[DISK_PAGE];
    char other[sizeof uid];
    char name[DISK_NAME_CAP];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(other, sizeof other, "c1a10000-0000-4000-8000-%012u", 1000u + i);
        memcpy(bytes, content.data, content.len);
        for (size_t at = 0; at + sizeof uid - 1u <= content.len; at++) {
            if (memcmp(&bytes[at], uid, sizeof uid - 1u) == 0) {
                memcpy(&bytes[at], other, sizeof uid - 1u);
            }
        }
        (void)snprintf(name, sizeof name, CDI_FILE_PREFIX "%s.json", other);
        disk_set(disk_make(FILES_CDI, name), 0, view_of(bytes, content.len));
    }
}

/* A node whose store was lost, and that found so many CDI files. */
static void begin_with_files(unsigned count)
{
    static uint8_t kept[DISK_PAGE];
    node_with_claims(0);
    api.claim[0].unallocated = false;
    api.claim[0].result[0].admin = true;
    prepare_well(0, 1);
    struct view content = file_content(cdi_of(0));
    memcpy(kept, content.data, content.len);
    unprepare_well(0, 1);
    api.claim[0].unallocated = true;
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    put_files(view_of(kept, content.len), count);
    log_forget();
}

static bool is_said(const char *reason)
{
    char text[1024] = "";
    for (unsigned i = 0; strstr(text, reason) == NULL; i++) {
        struct writer why = writer_of(text, sizeof text - 1u);
        memset(text, 0, sizeof text);
        if (!ready_reason(world.agent, i, &why)) {
            return false;
        }
    }
    return true;
}

/* The file that finds no slot is no leftover: it stays, and the agent is not ready meanwhile. */
static void test_more_files_than_slots(void **state)
{
    (void)state;
    begin_with_files(CLAIMS_MAX + 1u);
    up_again();
    assert_int_equal(held(), CLAIMS_MAX);
    assert_int_equal(disk_count(FILES_CDI), CLAIMS_MAX + 1u);
    assert_false(agent_ready(world.agent));
    assert_true(is_said("the claim store has no place for a claim that has a CDI file"));
    /* a slot becomes free: the next round takes the claim in */
    struct writer why = writer_of(NULL, 0);
    assert_int_equal(ledger_remove(world.agent, "c1a10000-0000-4000-8000-000000001003", &why),
                     STATUS_OK);
    pass(5000);
    world.agent->recovery->reconcile.files_ms = world.now_ms;
    pass(5000);
    assert_int_equal(held(), CLAIMS_MAX);
    assert_int_equal(disk_count(FILES_CDI), CLAIMS_MAX);
    assert_false(is_said("the claim store has no place"));
}

/* A listed claim that finds no slot leaves the list unfinished, so that it is read again. */
static void test_listed_without_a_slot(void **state)
{
    (void)state;
    begin_with_files(CLAIMS_MAX);
    api.claim[5].unallocated = false;
    up_again();
    log_has(NO_SLOT);
    assert_true(world.agent->ledger->unlisted);
    assert_int_equal(held(), CLAIMS_MAX);
    assert_true(ledger_find(world.agent, api.claim[5].uid) < 0);
    struct writer why = writer_of(NULL, 0);
    assert_int_equal(ledger_remove(world.agent, "c1a10000-0000-4000-8000-000000001003", &why),
                     STATUS_OK);
    pass(20000);
    assert_true(ledger_find(world.agent, api.claim[5].uid) >= 0);
    assert_false(world.agent->ledger->unlisted);
}

/* One slot is free, and a call has two claims: one gets it, the other fails with the reason. */
static void test_last_slot(void **state)
{
    (void)state;
    begin_with_files(CLAIMS_MAX - 1u);
    up_again();
    assert_int_equal(held(), CLAIMS_MAX - 1u);
    api.claim[5].unallocated = false;
    api.claim[6].unallocated = false;
    struct view reply = prepare_soon(5, 2);
    unsigned refused = prepare_error(reply, 5)[0] != '\0' ? 5u : 6u;
    assert_non_null(strstr(prepare_error(reply, refused), NO_SLOT));
    assert_string_equal(prepare_error(reply, 11u - refused), "");
    assert_int_equal(held(), CLAIMS_MAX);
    assert_null(cdi_of(refused));
    assert_non_null(cdi_of(11u - refused));
    unprepare_well(11u - refused, 1);
    pass(2000);
    assert_string_equal(prepare_error(prepare_soon(refused, 1), refused), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_files_than_slots),
        cmocka_unit_test(test_listed_without_a_slot),
        cmocka_unit_test(test_last_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
