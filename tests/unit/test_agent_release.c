/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a held claim that is gone from the API server is released without an unprepare: what the
 * kubelet's checkpoint and the boot id prove, and how long it takes.
 */
#include "agent_reconcile.h"

#define UID_0 "c1a10000-0000-4000-8000-000000000000"
/* --- the kubelet's checkpoint --- */

/* Claim 0 of two is gone at the API server, by the time that this returns for long enough. */
static void gone_for_long(void)
{
    begin();
    prepare_well(0, 2);
    claim_away(0);
}

/* What lets a claim that is gone be released: a checkpoint that is whole, newer, and without it. */
static void test_release_needs_a_witness(void **state)
{
    static const char *const uids[] = {"x", UID_0};
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        gone_for_long();
        bool newer = kind != 3u;
        disk_kubelet_state(uids, (kind == 0u || kind == 5u) ? 2 : 1, newer ? UINT64_MAX : 1,
                           kind == 1u);
        disk.kubelet_state_status = (kind == 2u) ? HOST_ABSENT : STATUS_OK;
        disk.kubelet_state_len -= (kind == 4u) ? 1u : 0u;
        log_forget();
        pass(3 * ROUND + RECONCILE_CONFIRM_MS);
        assert_int_equal(held(), 2);
        assert_int_equal(said("event=claim_released"), 0);
        assert_int_equal(said("event=claim_release_withheld"), 1);
        log_has("event=claim_release_withheld namespace=ml claim=claim-0 claim_uid=" UID_0);
        /* who asks for its device is told what ends it, and the kubelet's word ends it at once */
        assert_non_null(strstr(rival_error(), "neuron-dra-agent release " UID_0));
        if (kind == 5u) {
            unprepare_well(0, 1);
        } else {
            disk_kubelet_state(uids, 1, UINT64_MAX, false);
            assert_string_not_equal(rival_error(), "");
            pass(2000);
            log_has("event=claim_released");
        }
        assert_string_equal(rival_error(), "");
    }
}

#define DELETE_0 "; once no pod uses that one: kubectl -n ml delete resourceclaim claim-0"
#define BY_ITSELF " (" UID_0 ")" DELETE_0 "; the agent then releases it by itself"
#define BY_COMMAND DELETE_0 ", then neuron-dra-agent release " UID_0

/*
 * The error of a claim whose device another claim holds tells the user to delete that other claim.
 * Without a usable checkpoint the deletion alone frees nothing, and the error names a second
 * command.
 */
static void test_commands_that_free_a_device(void **state)
{
    static const char *const uids[] = {UID_0};
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        begin();
        prepare_well(0, 2);
        disk_kubelet_state(uids, 1, UINT64_MAX, kind == 1u);
        disk.kubelet_state_status = (kind == 2u) ? HOST_ABSENT : STATUS_OK;
        disk.kubelet_state_len -= (kind == 3u) ? 1u : 0u;
        const char *error = rival_error();
        if (strstr(error, (kind == 0u) ? BY_ITSELF : BY_COMMAND) == NULL) {
            fail_msg("%u: %s", kind, error);
        }
        claim_away(0);
        pass(3 * ROUND);
        assert_non_null(strstr(rival_error(), "which is gone; once no container uses it: "
                                              "neuron-dra-agent release " UID_0));
    }
}

/*
 * The commands are whole for names as templates make them, of 63 characters, in a namespace of 40.
 */
static void test_commands_with_long_names(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    disk.kubelet_state_status = HOST_ABSENT;
    for (unsigned slot = 0; slot < CLAIMS_MAX; slot++) {
        struct claim_id *id = &world.agent->ledger->id[slot];
        if (strcmp(id->uid, UID_0) == 0) {
            memset(id->namespace_, 'n', 40);
            id->namespace_[40] = 0;
            memset(id->name, 'c', 63);
            id->name[63] = 0;
        }
    }
    const char *error = rival_error();
    size_t own = strlen("ml/claim-7");
    assert_in_range(strlen(error) - own + 40 + 1 + 63, 400, CLAIM_ERROR_CAP - 1);
    assert_non_null(strstr(error, ", then neuron-dra-agent release " UID_0));
}

/* A checkpoint of before the prepare, or of before this process, may be a copy put back. */
static void test_old_checkpoint(void **state)
{
    static const char *const uids[] = {"x"};
    (void)state;
    gone_for_long();
    pass(1000);
    disk_kubelet_state(uids, 1, world.agent->wall_ms, false);
    (void)prepare_now(0, 1);
    pass(3 * ROUND);
    assert_int_equal(held(), 2);
    restart();
    disk_kubelet_state(uids, 1, world.agent->wall_ms, false);
    pass(ROUND);
    disk.kubelet_state_ms = world.agent->wall_ms - ROUND - 5000u;
    register_driver();
    pass(3 * ROUND);
    assert_int_equal(held(), 2);
    disk_kubelet_state(uids, 1, world.agent->wall_ms, false);
    pass(3 * ROUND);
    assert_int_equal(held(), 1);
}

/*
 * The wall clock ran ahead when the claim was prepared, and is set back: what the kubelet writes
 * from then on counts.
 */
static void test_clock_set_back(void **state)
{
    static const char *const uids[] = {"x"};
    (void)state;
    gone_for_long();
    world.behind_ms = 100u * ROUND;
    pass(1000);
    disk_kubelet_state(uids, 1, world.agent->wall_ms - 2000u, false);
    pass(3 * ROUND);
    assert_int_equal(held(), 2);
    disk_kubelet_state(uids, 1, world.agent->wall_ms, false);
    pass(3 * ROUND);
    assert_int_equal(held(), 1);
}

/*
 * A repeated prepare after a reboot cannot write the boot id, which is written later: the claim was
 * prepared when it was, so the checkpoint that the kubelet wrote meanwhile counts.
 */
static void test_boot_written_later(void **state)
{
    static const char *const uids[] = {"x"};
    (void)state;
    begin();
    prepare_well(0, 1);
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    pass(2000);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    assert_string_equal(prepare_error(prepare_now(0, 1), 0), "");
    pass(1000);
    disk_kubelet_state(uids, 1, world.agent->wall_ms, false);
    pass(1000);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(3 * ROUND);
    assert_int_equal(held(), 1);
    claim_away(0);
    pass(3 * ROUND);
    assert_int_equal(held(), 0);
}

/* The node was booted since: no container is left, whatever the kubelet's checkpoint says. */
static void test_boot_is_a_witness(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    disk.kubelet_state_status = HOST_ABSENT;
    claim_away(0);
    pass(ROUND + RECONCILE_CONFIRM_MS);
    assert_int_equal(held(), 1);
    prepare_well(1, 1); /* of this boot now */
    claim_away(1);
    pass(3 * ROUND);
    assert_int_equal(held(), 1);
}

/* --- how long it takes --- */

/* The times that cfg/deploy/operate.md states, at the default interval. */
static void test_documented_times_of_a_release(void **state)
{
    (void)state;
    documented("within 32 s after another claim");
    documented("within 42 s after a start of the agent, else within 13 minutes");
    for (unsigned seed = 0; seed < 8; seed++) {
        world_new();
        for (unsigned n = 0; n < 8; n++) {
            (void)claim_add(n);
        }
        node_up();
        prepare_well(0, 3);
        pass(RECONCILE_SPREAD_MS + 1000u * seed);
        claim_away(0); /* another claim asks for its device */
        assert_string_not_equal(rival_error(), "");
        pass(32000 - 3000); /* prepare_soon takes 3 s */
        assert_int_equal(held(), 2);
        claim_away(1); /* the agent starts */
        restart();
        register_driver();
        pass(42000);
        assert_int_equal(held(), 1);
        claim_away(2); /* nobody asks */
        pass(UINT64_C(13) * 60000u);
        assert_int_equal(held(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_needs_a_witness),
        cmocka_unit_test(test_commands_that_free_a_device),
        cmocka_unit_test(test_commands_with_long_names),
        cmocka_unit_test(test_old_checkpoint),
        cmocka_unit_test(test_clock_set_back),
        cmocka_unit_test(test_boot_written_later),
        cmocka_unit_test(test_boot_is_a_witness),
        cmocka_unit_test(test_documented_times_of_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
