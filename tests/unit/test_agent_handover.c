/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two agents on one node, seen from one of them; the other one is what it locks. No call fails
 * while the store changes hands, and only the owner serves and publishes.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define DEVICES 16

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        claim_add(n);
    }
}

static void other_has(enum files_lock which, enum files_holder holder)
{
    disk.locked_by_other[DRIVER_NEURON][which] = holder;
}

static bool ready_but_for(const char *text)
{
    char line[1024];
    struct writer w = writer_of(line, sizeof line);
    if (!ready_reason(world.agent, 0, &w)) {
        return false;
    }
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    w = writer_of(NULL, 0);
    return strstr(line, text) != NULL && !ready_reason(world.agent, 1, &w);
}

/* --- the agent that comes --- */

/* It asks for the store once the kubelet knows it; its calls wait until it has it. */
static void test_takes_over(void **state)
{
    (void)state;
    begin();
    other_has(LOCK_OWNER, HOLDER_AGENT);
    start();
    pass(3000);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    register_driver();
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(0, 3));
    const struct peer_call *d = call_send(service_open(), UNPREPARE, claims_request(5, 1));
    pass(STORE_BUSY_MS);
    assert_true(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    pass(1500);
    assert_false(agent_ready(world.agent));
    assert_true(ready_but_for("another agent uses this store"));
    assert_int_equal(api_slices(), 0);
    assert_int_equal(api_writes(), 0);
    assert_false(c->ended || d->ended);
    other_has(LOCK_OWNER, HOLDER_NOBODY); /* it retires */
    pass(STORE_BUSY_MS);
    assert_true(disk.locked[DRIVER_NEURON][LOCK_OWNER] && !disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    for (unsigned n = 0; n < 3; n++) {
        assert_string_equal(prepare_error(call_reply_of(c), n), "");
    }
    assert_string_equal(unprepare_error(call_reply_of(d), 5), "");
    pass(2000);
    assert_int_equal(slice_devices(api_slice_only()), DEVICES);
    assert_true(agent_ready(world.agent));
    assert_null(strstr(world.log, "claim_failed"));
    check_idle();
}

/* A release that hands nothing over: it ends only when this one is ready. */
static void test_older_owner(void **state)
{
    (void)state;
    begin();
    other_has(LOCK_OWNER, HOLDER_OLDER);
    node_up();
    pass(20000);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    assert_true(agent_ready(world.agent));
    assert_int_equal(api_writes(), 0);
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(3000);
    assert_true(agent_ready(world.agent));
    assert_int_equal(slice_devices(api_slice_only()), DEVICES);
    prepare_well(0, 1);
}

/* Nobody has the store, and another one asked for it: it is that one's. */
static void test_given_up_for_another(void **state)
{
    (void)state;
    begin();
    other_has(LOCK_NEXT, HOLDER_AGENT);
    node_up();
    pass(3000);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_OWNER] || world.agent->ledger->usable);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    pass(STORE_BUSY_MS);
    assert_true(disk.locked[DRIVER_NEURON][LOCK_OWNER] && world.agent->ledger->usable);
}

/*
 * A lock that the disk refuses tells nothing of the owner, who may hold the claim: an unprepare
 * waits. If the disk goes on refusing, it is done all the same.
 */
static void test_lock_refused(void **state)
{
    (void)state;
    begin();
    node_up();
    prepare_well(0, 2);
    kill_agent();
    other_has(LOCK_OWNER, HOLDER_AGENT);
    disk_fault(FAULT_ERROR, 1, false, HOST_IO);
    disk.lasting = true;
    start();
    register_driver();
    const struct peer_call *c = call_send(service_open(), UNPREPARE, claims_request(0, 1));
    settle();
    assert_false(c->ended);
    disk_fault(FAULT_NONE, 0, false, STATUS_OK);
    pass(2000);
    assert_false(c->ended);
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(STORE_BUSY_MS);
    assert_string_equal(unprepare_error(call_reply_of(c), 0), "");
    assert_int_equal(held(), 1);
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_LOCK_NAME));
    disk_refuse(FILES_STATE, HOST_DENIED);
    start();
    register_driver();
    const struct peer_call *d = call_send(service_open(), UNPREPARE, claims_request(1, 1));
    pass(STORE_WAIT_MS - 1000);
    assert_false(d->ended);
    pass(2000);
    assert_string_equal(unprepare_error(call_reply_of(d), 1), "");
    assert_int_equal(said("event=claim_unprepared"), 2);
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(40000);
    assert_int_equal(held(), 0);
}

/* --- the agent that goes --- */

static void test_retires(void **state)
{
    (void)state;
    begin();
    node_up();
    prepare_well(0, 2);
    other_has(LOCK_NEXT, HOLDER_AGENT);
    pass(HANDOVER_CHECK_MS);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_OWNER]);
    other_has(LOCK_OWNER, HOLDER_AGENT);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    log_has("level=info event=store_handed_over text="
            "\"this agent serves no claim until the other agent has ended\"");
    assert_int_equal(held(), 0);
    assert_true(ready_but_for("another agent uses this store"));
    /* whatever happens to the slices is the other one's business */
    api_forget();
    api_slice_cut(api_slice_only());
    found_set("trn2.48xlarge", 3, 8);
    agent_found(world.agent, &world.found);
    pass(60000);
    assert_int_equal(api_writes(), 0);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    assert_null(strstr(world.log, "level=error"));
    /* the other one is killed: this one is back */
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(STORE_BUSY_MS);
    assert_int_equal(held(), 2);
    pass(2000);
    assert_int_equal(slice_devices(api_slice_only()), 3);
    assert_true(agent_ready(world.agent));
    prepare_well(0, 3);
}

/*
 * Two agents that start at once: the other one asks for the store, and the kubelet calls this one,
 * which registered last. Its first call gets the store back.
 */
static void test_retired_and_called(void **state)
{
    (void)state;
    begin();
    node_up();
    struct peer *p = service_open();
    other_has(LOCK_NEXT, HOLDER_AGENT);
    pass(HANDOVER_CHECK_MS);
    other_has(LOCK_OWNER, HOLDER_AGENT);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    pass(10000);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_OWNER] || disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(STORE_BUSY_MS);
    assert_true(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    other_has(LOCK_OWNER, HOLDER_NOBODY); /* it sees that and retires */
    pass(STORE_BUSY_MS);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_true(disk.locked[DRIVER_NEURON][LOCK_OWNER] && !disk.locked[DRIVER_NEURON][LOCK_NEXT]);
    pass(2000);
    assert_true(agent_ready(world.agent));
}

/* The kubelet refuses the registration that it had accepted. */
static void refuse_registration(void)
{
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    (void)call_now(p, "/pluginregistration.Registration/NotifyRegistrationStatus",
                   view_of("\x08\x00", 2));
    peer_close(p);
    pass(STORE_BUSY_MS);
}

/* An agent that the kubelet does not know any more asks for the store no longer. */
static void test_no_longer_wanted(void **state)
{
    (void)state;
    begin();
    other_has(LOCK_OWNER, HOLDER_AGENT);
    start();
    register_driver();
    pass(3000);
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_NEXT);
    refuse_registration();
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_WAITING);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
}

static void test_retired_and_no_longer_wanted(void **state)
{
    (void)state;
    begin();
    node_up();
    struct peer *p = service_open();
    other_has(LOCK_NEXT, HOLDER_AGENT);
    pass(HANDOVER_CHECK_MS);
    other_has(LOCK_OWNER, HOLDER_AGENT);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    pass(10000);
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_RETIRED);
    (void)call_send(p, PREPARE, claims_request(0, 1));
    pass(STORE_BUSY_MS);
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_RETURNING);
    refuse_registration();
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_RETIRED);
    assert_false(disk.locked[DRIVER_NEURON][LOCK_NEXT]);
}

/* Another agent is to be the next, and the owner looks. */
static void other_is_next(void)
{
    other_has(LOCK_NEXT, HOLDER_AGENT);
    for (unsigned i = 0;
         i < HANDOVER_CHECK_MS && world.agent->ledger->handover.state != HANDOVER_LEAVING; i++) {
        pass(1);
    }
    assert_int_equal(world.agent->ledger->handover.state, HANDOVER_LEAVING);
}

/* A call that runs is finished first; one that comes meanwhile waits. */
static void test_running_calls(void **state)
{
    (void)state;
    begin();
    node_up();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 2));
    settle();
    assert_int_equal(held(), 1);
    other_is_next();
    assert_true(disk.locked[DRIVER_NEURON][LOCK_OWNER]);
    const struct peer_call *d = call_send(p, PREPARE, claims_request(2, 1));
    const struct peer_call *e = call_send(p, UNPREPARE, claims_request(1, 1));
    pass(HANDOVER_MS - 1);
    assert_false(c->ended || d->ended || e->ended);
    assert_int_equal(held(), 1);
    pass(1);
    /* the limit is over: what is written is the next owner's, the rest waits and fails */
    assert_false(disk.locked[DRIVER_NEURON][LOCK_OWNER]);
    assert_int_equal(held(), 0);
    other_has(LOCK_OWNER, HOLDER_AGENT);
    pass(STORE_WAIT_MS);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 1), "serves its claims now"));
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "another agent uses this store"));
    assert_non_null(strstr(prepare_error(call_reply_of(d), 2), "another agent uses this store"));
    assert_non_null(strstr(unprepare_error(call_reply_of(e), 1), "another agent uses this store"));
    check_idle();
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    other_has(LOCK_NEXT, HOLDER_NOBODY);
    pass(STORE_BUSY_MS);
    assert_int_equal(held(), 1);
}

/* Somebody removed the lock file, and another agent locked its own: it is the next all the same. */
static void test_lock_file_replaced(void **state)
{
    (void)state;
    begin();
    node_up();
    prepare_well(0, 1);
    disk_unlink(disk_find(FILES_STATE, STORE_LOCK_NAME));
    other_has(LOCK_OWNER, HOLDER_AGENT);
    pass(HANDOVER_LOCK_LOOKS * HANDOVER_CHECK_MS);
    log_has("store_handed_over");
    assert_int_equal(held(), 0);
    other_has(LOCK_OWNER, HOLDER_NOBODY);
    pass(STORE_BUSY_MS);
    assert_int_equal(held(), 1);
}

/* Calls that end soon cost the handover no more than that. */
static void test_calls_that_end(void **state)
{
    (void)state;
    begin();
    node_up();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    other_is_next();
    assert_true(disk.locked[DRIVER_NEURON][LOCK_OWNER]);
    api.claim[0].fault = API_ANSWERS;
    api_end("connection reset"); /* the GET is made again on the next connection */
    pass(HANDOVER_MS - 500);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
    assert_false(disk.locked[DRIVER_NEURON][LOCK_OWNER]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_over),
        cmocka_unit_test(test_older_owner),
        cmocka_unit_test(test_given_up_for_another),
        cmocka_unit_test(test_lock_refused),
        cmocka_unit_test(test_retires),
        cmocka_unit_test(test_retired_and_called),
        cmocka_unit_test(test_no_longer_wanted),
        cmocka_unit_test(test_retired_and_no_longer_wanted),
        cmocka_unit_test(test_running_calls),
        cmocka_unit_test(test_calls_that_end),
        cmocka_unit_test(test_lock_file_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
