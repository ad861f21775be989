/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent killed at every call of its files port, before, in the middle of and after it,
 * and started again on what was left: prepare repeats byte for byte, unprepare leaves nothing.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define CLAIMS 3
#define FAULTS_MAX 2000

static const enum fault kills[] = {FAULT_KILL_BEFORE, FAULT_KILL_TORN, FAULT_KILL_AFTER};
#define KILLS (sizeof kills / sizeof kills[0])

/* What an undisturbed prepare gives. */
static struct {
    size_t reply_len;
    uint8_t reply[4096];
    size_t cdi_len[CLAIMS];
    uint8_t cdi[CLAIMS][4096];
} want;

static void check_prepared(struct view reply)
{
    assert_int_equal(reply.len, want.reply_len);
    assert_memory_equal(reply.data, want.reply, reply.len);
    assert_int_equal(disk_count(FILES_CDI), CLAIMS);
    for (unsigned n = 0; n < CLAIMS; n++) {
        struct view expected = view_of(want.cdi[n], want.cdi_len[n]);
        assert_true(view_equal(file_content(cdi_of(n)), expected));
    }
    assert_int_equal(held(), CLAIMS);
}

/* Nothing is left of any claim, now and after another start. */
static void check_nothing_left(void)
{
    assert_int_equal(held(), 0);
    assert_int_equal(disk_count(FILES_CDI), 0);
    restart();
    assert_int_equal(held(), 0);
    assert_int_equal(disk_count(FILES_CDI), 0);
    assert_int_equal(disk_count(FILES_STATE), 2);
}

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < CLAIMS; n++) {
        claim_add(n);
    }
    api.claim[1].results = 2;
    api.claim[1].result[1].request = "other";
    api.claim[1].result[1].device = "neuron-device-9";
    node_up();
    struct view reply = prepare_now(0, CLAIMS);
    assert_true(reply.len <= sizeof want.reply);
    want.reply_len = reply.len;
    memcpy(want.reply, reply.data, reply.len);
    for (unsigned n = 0; n < CLAIMS; n++) {
        struct view content = file_content(cdi_of(n));
        want.cdi_len[n] = content.len;
        memcpy(want.cdi[n], content.data, content.len);
    }
    check_prepared(reply);
    unprepare_well(0, CLAIMS);
    check_nothing_left();
}

/* Sends a call during which the process may end. */
static bool killed_in(const char *path)
{
    struct peer *p = service_open();
    (void)call_send(p, path, claims_request(0, CLAIMS));
    pass(3000);
    return world.was_killed;
}

static void unprepare_alone(void)
{
    api.reachable = false;
    restart();
    unprepare_well(0, CLAIMS);
    check_nothing_left();
    api.reachable = true;
}

/* Kills at the n-th call of a prepare, for all n there are; returns how many there were. */
static unsigned kill_prepare(enum fault fault, bool then_prepare)
{
    for (unsigned at = 1; at < FAULTS_MAX; at++) {
        disk_fault(fault, at, false, STATUS_OK);
        if (!killed_in(PREPARE)) {
            disk_fault(FAULT_NONE, 0, false, STATUS_OK);
            unprepare_alone();
            return at - 1;
        }
        if (then_prepare) {
            start();
            check_prepared(prepare_soon(0, CLAIMS));
            check_prepared(prepare_now(0, CLAIMS));
        }
        unprepare_alone();
    }
    return FAULTS_MAX;
}

static void test_prepare(void **state)
{
    (void)state;
    begin();
    for (unsigned k = 0; k < KILLS; k++) {
        /* each claim: CDI write and rename, record, its reading for the reply; one flush */
        assert_in_range(kill_prepare(kills[k], true), CLAIMS * 3 + 1, FAULTS_MAX - 1);
    }
}

static void test_prepare_then_unprepare(void **state)
{
    (void)state;
    begin();
    for (unsigned k = 0; k < KILLS; k++) {
        assert_in_range(kill_prepare(kills[k], false), CLAIMS * 3 + 1, FAULTS_MAX - 1);
    }
}

static unsigned kill_unprepare(enum fault fault, bool then_prepare)
{
    for (unsigned at = 1; at < FAULTS_MAX; at++) {
        restart();
        check_prepared(prepare_soon(0, CLAIMS));
        disk_fault(fault, at, false, STATUS_OK);
        bool killed = killed_in(UNPREPARE);
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        if (!killed) {
            check_nothing_left();
            return at - 1;
        }
        if (then_prepare) {
            start();
            check_prepared(prepare_soon(0, CLAIMS));
        }
        unprepare_alone();
    }
    return FAULTS_MAX;
}

static void test_unprepare(void **state)
{
    (void)state;
    begin();
    for (unsigned k = 0; k < KILLS; k++) {
        assert_in_range(kill_unprepare(kills[k], false), CLAIMS * 2 + 1, FAULTS_MAX - 1);
        assert_in_range(kill_unprepare(kills[k], true), CLAIMS * 2 + 1, FAULTS_MAX - 1);
    }
}

/* The repeated prepare and its rebuilding of CDI files. */
static void test_rebuild(void **state)
{
    (void)state;
    begin();
    for (unsigned k = 0; k < KILLS; k++) {
        check_prepared(prepare_soon(0, CLAIMS));
        unsigned at = 1;
        bool killed = true;
        for (; killed && at < FAULTS_MAX; at++) {
            disk_unlink(cdi_of(1));
            disk_fault(kills[k], at, false, STATUS_OK);
            killed = killed_in(PREPARE);
            disk_fault(FAULT_NONE, 0, false, STATUS_OK);
            restart();
            check_prepared(prepare_soon(0, CLAIMS));
        }
        assert_in_range(at, CLAIMS * 3, FAULTS_MAX - 1);
    }
}

/* --- the store's making and mending --- */

/* The first calls, some in the middle, and every one near the end. */
static unsigned next_call(unsigned at, unsigned calls)
{
    bool near_an_end = at < 6 || at + 12 >= calls;
    unsigned far = at + 97 + 12 < calls ? at + 97 : calls - 12;
    return near_an_end ? at + 1 : far;
}

static unsigned calls_of_start(void)
{
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    restart();
    return disk.calls;
}

static void test_creation(void **state)
{
    (void)state;
    world_new();
    claim_add(0);
    unsigned calls = calls_of_start();
    assert_in_range(calls, 2 * CLAIMS_MAX, FAULTS_MAX);
    for (unsigned k = 0; k < KILLS; k++) {
        for (unsigned at = 1; at <= calls; at = next_call(at, calls)) {
            kill_agent();
            disk_clear();
            disk_fault(kills[k], at, true, STATUS_OK);
            start();
            assert_true(world.was_killed);
            start();
            assert_true(world.agent->ledger->usable);
            assert_int_equal(disk_count(FILES_STATE), 2);
            assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
        }
    }
}

static void damage_headers(void)
{
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), 0, 0xa5, STORE_HEADER_BYTES);
}

static void test_mending(void **state)
{
    (void)state;
    begin();
    check_prepared(prepare_soon(0, CLAIMS));
    kill_agent();
    damage_headers();
    unsigned calls = calls_of_start();
    assert_in_range(calls, 2 * CLAIMS_MAX + CLAIMS, FAULTS_MAX);
    check_prepared(prepare_soon(0, CLAIMS));
    for (unsigned k = 0; k < KILLS; k++) {
        for (unsigned at = 1; at <= calls; at = next_call(at, calls)) {
            kill_agent();
            damage_headers();
            disk_fault(kills[k], at, true, STATUS_OK);
            start();
            assert_true(world.was_killed);
            api.reachable = false;
            start();
            assert_true(world.agent->ledger->usable);
            check_prepared(prepare_soon(0, CLAIMS));
            api.reachable = true;
        }
    }
    /* of the damaged ones the first and the newest are kept aside */
    assert_int_equal(disk_count(FILES_STATE), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepare),   cmocka_unit_test(test_prepare_then_unprepare),
        cmocka_unit_test(test_unprepare), cmocka_unit_test(test_rebuild),
        cmocka_unit_test(test_creation),  cmocka_unit_test(test_mending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
