/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the kubelet where something changes between two of their steps: the peer stops reading,
 * another call takes what the reply was to tell, the record of a held claim cannot be read, the API
 * server is lost. Each call ends, once, with what is true by then.
 */
#include "agent_reconcile.h"

/* Claims 0 to 63 are prepared, 64 and 65 are not; 16 and up share devices as administrators. */
static void many(void)
{
    static const char *const debug[] = {"--log-level", "debug"};
    world_new();
    settings_set(debug, 2);
    for (unsigned n = 0; n < 66; n++) {
        claim_add(n)->result[0].admin = n >= 16;
    }
    node_up();
    prepare_well(0, 64);
    log_forget();
}

/* --- a peer that does not read --- */

/*
 * A claim goes while its reply waits for the peer and nothing more can be sent: the call fails, and
 * the peer reads the error as soon as it reads again. If it closes the connection instead, the
 * agent drops the call.
 */
static void test_failure_waits_for_the_peer(void **state)
{
    (void)state;
    for (unsigned closes = 0; closes < 2; closes++) {
        many();
        struct peer *p = service_open();
        p->deaf = true;
        const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 64));
        settle();
        const struct call *call = &world.agent->calls->call[0];
        unsigned next = world.agent->calls->reply[0].at; /* of which claim the entry is sent */
        assert_int_equal(call->state, CALL_REPLYING);
        assert_in_range(next, 1, 62);
        unprepare_well(next, 1);
        assert_int_equal(call->state, CALL_FAILED);
        pass(1000);
        if (closes > 0) {
            peer_close(p);
            assert_int_not_equal(c->status, GRPC_OK);
        } else {
            p->deaf = false;
            settle();
            assert_int_equal(c->status, GRPC_INTERNAL);
            assert_non_null(strstr(c->text, "was unprepared or became unreadable"));
        }
        assert_int_equal(said("event=kubelet_call_ended method=NodePrepareResources claims=64"), 1);
        assert_int_equal(said("event=kubelet_call_ended method=NodeUnprepareResources"), 1);
        check_idle();
        assert_int_equal(held(), 63);
    }
}

/* A reply that its peer does not read delays the end for the time that calls have. */
static void test_stop_beside_a_reply(void **state)
{
    (void)state;
    many();
    struct peer *p = service_open();
    p->deaf = true;
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 64));
    settle();
    agent_stop(world.agent, world.now_ms);
    pass(SHUTDOWN_MS - 1);
    assert_false(world.exited);
    pass(1);
    assert_true(world.exited);
    log_has("calls that still ran were ended");
    p->deaf = false;
    assert_false(c->ended);
}

/*
 * A claim is prepared while nothing can be sent, and unprepared before the reply begins: the reply
 * says so, and the other claim of the call has its devices.
 */
static void test_unprepared_before_the_reply(void **state)
{
    (void)state;
    many();
    api.claim[64].fault = API_HANGS;
    struct peer *p = service_open();
    p->deaf = true;
    const struct peer_call *c = call_send(p, PREPARE, claims_request(64, 2));
    settle();
    const struct peer_call *long_one = call_send(p, PREPARE, claims_request(0, 64));
    settle();
    api_release();
    settle();
    assert_int_equal(held(), 66);
    unprepare_well(64, 1);
    p->deaf = false;
    settle();
    assert_int_equal(proto_count(call_reply_of(long_one), 1), 64);
    struct view reply = call_reply_of(c);
    assert_string_equal(prepare_error(reply, 64),
                        "the claim was unprepared while its response was sent; try again");
    assert_string_equal(prepare_error(reply, 65), "");
    assert_int_equal(held(), 65);
    check_idle();
}

/* However little a peer takes at a time, the end of the reply comes after all of it. */
static void test_reply_in_small_pieces(void **state)
{
    (void)state;
    many();
    for (size_t cut = 1; cut < 12; cut += 2) {
        struct peer *p = service_open();
        p->cut = 4096;
        p->deaf = true;
        const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 64));
        settle();
        p->deaf = false;
        p->cut = cut;
        settle();
        struct view reply = call_reply_of(c);
        assert_int_equal(proto_count(reply, 1), 64);
        assert_string_equal(prepare_error(reply, 63), "");
        peer_close(p);
    }
    check_idle();
}

/* --- records that cannot be read --- */

static void rot(unsigned n)
{
    struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(f != NULL && slot >= 0);
    for (unsigned half = 0; half < 2; half++) {
        file_fill(f, store_offset((unsigned)slot, half) + 20u, 0xa5, 64);
    }
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX; i++) {
        world.agent->ledger->kept[i].sequence = 0; /* as after records of other claims */
    }
}

/* Claims 0 to 7, of which three are prepared and the record of claim 0 cannot be read any more. */
static void begin_rotten(void)
{
    begin();
    prepare_well(0, 3);
    restart();
    register_driver();
    pass(3000);
    rot(0);
    log_forget();
}

/*
 * Neither the record nor the CDI file of a held claim can be read. Without the API server the agent
 * refuses the claim, and the error names the remedy; with it the agent prepares the claim anew.
 */
static void test_nothing_is_readable(void **state)
{
    (void)state;
    begin_rotten();
    api.reachable = false;
    api_end("the network went away");
    settle();
    disk_unlink(cdi_of(0));
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0),
                        "the stored record of this claim cannot be read (its content is "
                        "damaged); delete and re-create the pod");
    assert_int_equal(held(), 3);
    api.reachable = true;
    pass(60000);
    prepare_well(0, 1);
    assert_int_equal(held(), 3);
    restart();
    assert_int_equal(held(), 3);
}

/* Its CDI file is gone as well, which is found when the API server is asked for it. */
static void test_unreadable_and_unchanged(void **state)
{
    (void)state;
    begin_rotten();
    disk_unlink(cdi_of(0));
    prepare_well(0, 1);
    assert_int_equal(held(), 3);
    restart();
    assert_int_equal(held(), 3);
    assert_non_null(cdi_of(0));
}

/* Nobody can say what it had; the API server names a device that is not there: it is refused. */
static void test_unreadable_and_reallocated(void **state)
{
    (void)state;
    begin_rotten();
    api.claim[0].result[0].device = "neuron-device-99";
    const char *error = prepare_error(prepare_soon(0, 1), 0);
    assert_non_null(strstr(error, "neuron-device-99"));
    assert_int_equal(held(), 3);
}

/* --- claims that change hands meanwhile --- */

/*
 * While the agent compares a claim held since before the reboot with the API server, another claim
 * gets its device. The agent then reads the first claim as a new one, and reports that the API
 * server no longer has it.
 */
static void test_released_while_compared(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    pass(2000);
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    api.claim[7].result[0].device = "neuron-device-0";
    (void)call_now(service_open(), PREPARE, claims_request(7, 1));
    assert_int_equal(ledger_find(world.agent, api.claim[0].uid), -1);
    assert_false(c->ended);
    claim_away(0);
    api_release();
    pass(2000);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "not found on the API server"));
    assert_int_equal(held(), 2);
    check_idle();
}

/* A held claim is allocated the device of one of before the reboot, which gives way to it. */
static void test_reallocated_to_a_stale_device(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    pass(2000);
    prepare_well(1, 1);
    api.claim[1].result[0].device = "neuron-device-0";
    prepare_well(1, 1);
    assert_int_equal(held(), 1);
    assert_null(cdi_of(0));
    log_has("event=claim_reallocated namespace=ml claim=claim-1");
    assert_string_equal(prepare_error(prepare_soon(2, 1), 2), "");
}

/*
 * The CDI file of a claim that was unprepared is put back: its claim is held beside the one that
 * has the device now, which is refused as long as both may be in use. After a reboot only the one
 * that is prepared again is.
 */
static void test_two_hold_one_device(void **state)
{
    (void)state;
    begin();
    api.claim[7].result[0].device = "neuron-device-0";
    prepare_well(7, 1);
    char name[DISK_NAME_CAP];
    (void)snprintf(name, sizeof name, "%s", cdi_of(7)->name);
    struct view bytes = copy_of(7);
    unprepare_well(7, 1);
    prepare_well(0, 1);
    kill_agent();
    disk_set(disk_make(FILES_CDI, name), 0, bytes);
    log_forget();
    start();
    register_driver();
    pass(3000);
    assert_int_equal(held(), 2);
    assert_int_equal(said("event=claim_adopted"), 1);
    log_has("device_also_held_by=c1a10000-0000-4000-8000-000000000000");
    assert_non_null(strstr(prepare_error(prepare_soon(0, 1), 0), "held by claim ml/claim-7"));
    kill_agent();
    boot("another-boot");
    start();
    register_driver();
    pass(2000);
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
    assert_non_null(strstr(prepare_error(prepare_soon(7, 1), 7), "held by claim ml/claim-0"));
}

/* While the list of claims is awaited, a held claim that got another device waits with the rest. */
static void test_reallocated_while_the_list_is_awaited(void **state)
{
    (void)state;
    node_with_claims(2);
    lose_store();
    api.claims_http = 503;
    start();
    register_driver();
    pass(5000);
    assert_int_equal(held(), 2); /* as their CDI files say */
    api.claim[0].result[0].device = "neuron-device-5";
    const char *error = prepare_error(prepare_soon(0, 1), 0);
    assert_non_null(strstr(error, "no new claim is prepared until"));
    assert_int_equal(held(), 2);
    prepare_well(1, 1);
    api.claims_http = 0;
    pass(120000);
    assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
}

/* Held claims are compared with all GETs that there are: the list of claims comes after them. */
static void test_list_behind_hanging_claims(void **state)
{
    const struct peer_call *c[8];
    (void)state;
    node_with_claims(8);
    lose_store();
    api.group = GROUP_HANGS; /* so that nothing else is asked yet */
    start();
    register_driver();
    for (unsigned i = 0; i < 1000 && !api_ready(world.agent); i++) {
        pass(10);
    }
    struct peer *p = NULL;
    for (unsigned n = 0; n < 8; n++) {
        p = (n % 4u == 0u) ? service_open() : p;
        c[n] = call_send(p, PREPARE, claims_request(n, 1));
        settle();
    }
    api_forget();
    api.group = GROUP_TELLS;
    api_release();
    for (unsigned n = 0; n < 8; n++) {
        api.claim[n].fault = API_HANGS;
    }
    settle();
    assert_int_equal(fetch_count_free(world.agent), 0);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/resourceclaims?"), 0);
    pass(CLAIM_COMPARE_MS);
    for (unsigned n = 0; n < 8; n++) {
        assert_string_equal(prepare_error(call_reply_of(c[n]), n), "");
    }
    pass(60000);
    assert_true(api_asked("GET /apis/resource.k8s.io/v1/resourceclaims?") > 0);
    assert_true(agent_ready(world.agent));
    assert_int_equal(held(), 8);
}

/* --- no word of the API server --- */

/* It was busy, and is lost when the claim is to be read again: that it is lost is the reason. */
static void test_busy_and_then_lost(void **state)
{
    (void)state;
    begin();
    api.claim[0].http = 503;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    api.reachable = false;
    api_end("the network went away");
    pass(60000);
    assert_string_equal(prepare_error(call_reply_of(c), 0),
                        "the claim cannot be read from the API server: 10.0.0.1:443: connection "
                        "refused");
}

/* It was busy, and cannot be asked again as other claims hang: that it was busy is the reason. */
static void test_busy_and_then_crowded(void **state)
{
    (void)state;
    world_new();
    for (unsigned n = 0; n <= FETCHES_MAX; n++) {
        (void)claim_add(n);
        api.claim[n].fault = (n > 0) ? API_HANGS : API_ANSWERS;
    }
    node_up();
    api.claim[0].http = 503;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    const struct operation *o = &world.agent->calls->operation[0];
    assert_int_equal(o->state, OPERATION_WAITING);
    uint64_t end_ms = CLAIM_CALL_MS - CLAIM_REPLY_MS + world.now_ms - CLAIM_REPEAT_MS;
    pass(end_ms - world.now_ms - CLAIM_GET_MS / 2u);
    assert_int_equal(o->state, OPERATION_WAITING);
    for (unsigned n = 1; n <= FETCHES_MAX; n++) {
        p = (n % 4u == 1u) ? service_open() : p;
        (void)call_send(p, PREPARE, claims_request(n, 1));
        settle();
    }
    assert_int_equal(fetch_count_free(world.agent), 0);
    assert_false(c->ended);
    pass(end_ms - world.now_ms);
    assert_string_equal(prepare_error(call_reply_of(c), 0),
                        "claim ml/claim-0 cannot be read from the API server: HTTP 503 "
                        "resourceclaims.resource.k8s.io \"claim-0\" the server is currently unable "
                        "to handle the request");
}

/*
 * The versions that an older server serves are read on each connection. Until they are, a claim
 * waits, and says so in the end, although the list of claims failed before.
 */
static void test_versions_are_not_known(void **state)
{
    (void)state;
    world_new();
    api.served = SERVES(API_V1BETA2);
    (void)claim_add(0);
    node_up();
    kill_agent();
    disk_clear();
    api.lists_claims = true;
    api.claims_http = 503;
    start();
    register_driver();
    pass(5000);
    api.group = GROUP_HANGS;
    api_end("the network went away");
    pass(1000);
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(0, 1));
    pass(1500);
    assert_true(api_ready(world.agent));
    assert_false(version_readable(world.agent));
    for (unsigned i = 0; i < 60 && !c->ended; i++) {
        pass(500);
    }
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "no new claim is prepared until"));
}

/* --- what the kubelet sends --- */

/* The UID is that of a held claim, the name is none: there is nothing to ask the API server for. */
static void test_held_claim_under_an_impossible_name(void **state)
{
    uint8_t bytes[256];
    uint8_t inner[200];
    struct writer claim = writer_of(inner, sizeof inner);
    struct writer request = writer_of(bytes, sizeof bytes);
    (void)state;
    begin();
    prepare_well(0, 1);
    api_forget();
    put_str(&claim, 1, "ml");
    put_str(&claim, 2, api.claim[0].uid);
    put_str(&claim, 3, "no/name");
    put_view(&request, 1, writer_view(&claim));
    struct view reply = call_now(service_open(), PREPARE, writer_view(&request));
    assert_string_equal(prepare_error(reply, 0), "");
    assert_int_equal(api_asked("GET "), 0);
}

/*
 * With numbers from zero the claims of a call have theirs in the order of the call: the later ones
 * wait for the first one, whose GET hangs.
 */
static void test_numbers_in_the_order_of_the_call(void **state)
{
    static const char *const zero[] = {"--device-numbering", "zero"};
    static const char *const path[] = {"/dev/neuron0", "/dev/neuron1", "/dev/neuron2"};
    (void)state;
    world_new();
    settings_set(zero, 2);
    for (unsigned n = 0; n < 3; n++) {
        (void)claim_add(n);
    }
    node_up();
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 3));
    pass(1000);
    assert_false(c->ended);
    assert_int_equal(held(), 0);
    api_release();
    settle();
    struct view reply = call_reply_of(c);
    for (unsigned n = 0; n < 3; n++) {
        assert_string_equal(prepare_error(reply, n), "");
        static char file[CDI_BYTES_MAX + 1];
        struct view bytes = file_content(cdi_of(n));
        memcpy(file, bytes.data, bytes.len);
        file[bytes.len] = '\0';
        const char *at = strstr(file, "\"path\": \"");
        assert_non_null(at);
        assert_int_equal(strncmp(at + 9, path[n], strlen(path[n])), 0);
    }
}

/* --- a disk that fails --- */

/*
 * A claim gets the device of one of before the reboot, and the disk fails from some moment on: it
 * has the device, or is refused, and the two never have it both.
 */
static void test_exchange_on_a_failing_disk(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 24; at++) {
        begin();
        prepare_well(0, 1);
        kill_agent();
        boot("another-boot");
        start();
        register_driver();
        pass(2000);
        api.claim[7].result[0].device = "neuron-device-0";
        disk_fault(FAULT_ERROR, at, true, HOST_IO);
        disk.lasting = true;
        bool good = prepare_error(prepare_soon(7, 1), 7)[0] == '\0';
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        assert_true(!good || ledger_find(world.agent, api.claim[7].uid) >= 0);
        assert_true(held() <= 1);
        pass(60000);
        assert_true(cdi_of(0) == NULL || cdi_of(7) == NULL);
        assert_string_equal(prepare_error(prepare_soon(7, 1), 7), "");
        restart();
        assert_int_equal(held(), 1);
    }
}

/*
 * A call has all the GETs that it may have, and its first claim is to be asked for again: that one
 * waits, though another call may start one more GET.
 */
static void test_gets_of_each_call(void **state)
{
    unsigned fetching = 0;
    (void)state;
    world_new();
    for (unsigned n = 0; n < 8; n++) {
        claim_add(n)->fault = API_HANGS;
    }
    api.claim[0].fault = API_ANSWERS;
    api.claim[0].http = 500;
    node_up();
    (void)call_send(service_open(), PREPARE, claims_request(0, 6));
    (void)call_send(service_open(), PREPARE, claims_request(7, 1));
    pass(3000);
    const struct operation *o = world.agent->calls->operation;
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        fetching += (o[i].state == OPERATION_FETCHING && o[i].call == 0u) ? 1u : 0u;
    }
    assert_int_equal(o[0].state, OPERATION_WAITING);
    assert_int_equal(o[0].next_ms, 0);
    assert_int_equal(fetching, FETCHES_PER_CALL_MAX);
}

/* A record that another call's flush made safe stays, though the flush of its own call fails. */
static void test_flushed_by_another_call(void **state)
{
    (void)state;
    begin();
    api.claim[1].fault = API_HANGS;
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(0, 2));
    settle();
    assert_int_equal(held(), 1);
    prepare_well(2, 1);
    disk.refuse_flush = true;
    api_release();
    pass(2000);
    struct view reply = call_reply_of(c);
    assert_string_not_equal(prepare_error(reply, 0), "");
    assert_string_not_equal(prepare_error(reply, 1), "");
    disk.refuse_flush = false;
    assert_true(ledger_find(world.agent, api.claim[0].uid) >= 0);
    assert_int_equal(ledger_find(world.agent, api.claim[1].uid), -1);
    api.claim[1].fault = API_ANSWERS;
    prepare_well(0, 3);
}

/* A held claim whose comparison finds no GET free is answered from its record, and in time. */
static void test_compared_behind_hanging_claims(void **state)
{
    (void)state;
    begin();
    (void)claim_add(8);
    prepare_well(0, 1);
    restart();
    register_driver();
    pass(3000);
    struct peer *p = NULL;
    for (unsigned n = 1; n < 9; n++) {
        api.claim[n].fault = API_HANGS;
        p = (n % 4u == 1u) ? service_open() : p;
        (void)call_send(p, PREPARE, claims_request(n, 1));
        settle();
    }
    assert_int_equal(fetch_count_free(world.agent), 0);
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(0, 1));
    settle();
    assert_false(c->ended);
    pass(CLAIM_COMPARE_MS);
    assert_true(c->ended);
    assert_string_equal(prepare_error(call_reply_of(c), 0), "");
}

/*
 * From some moment on the directory of the store is gone: whatever was done by then, the claim is
 * refused or held, and once the directory is back there is one record of it, after a restart too.
 */
static void test_store_vanishes_for_good(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 24; at++) {
        begin();
        prepare_well(1, 1);
        disk_fault(FAULT_ERROR, at, true, HOST_ABSENT);
        disk.lasting = true;
        struct view reply = prepare_soon(0, 1);
        bool good = prepare_error(reply, 0)[0] == '\0';
        disk_fault(FAULT_NONE, 0, false, STATUS_OK);
        assert_true(!good || ledger_find(world.agent, api.claim[0].uid) >= 0);
        pass(60000);
        assert_string_equal(prepare_error(prepare_soon(0, 1), 0), "");
        restart();
        assert_int_equal(held(), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_waits_for_the_peer),
        cmocka_unit_test(test_stop_beside_a_reply),
        cmocka_unit_test(test_unprepared_before_the_reply),
        cmocka_unit_test(test_reply_in_small_pieces),
        cmocka_unit_test(test_nothing_is_readable),
        cmocka_unit_test(test_unreadable_and_unchanged),
        cmocka_unit_test(test_unreadable_and_reallocated),
        cmocka_unit_test(test_released_while_compared),
        cmocka_unit_test(test_reallocated_to_a_stale_device),
        cmocka_unit_test(test_two_hold_one_device),
        cmocka_unit_test(test_reallocated_while_the_list_is_awaited),
        cmocka_unit_test(test_list_behind_hanging_claims),
        cmocka_unit_test(test_busy_and_then_lost),
        cmocka_unit_test(test_busy_and_then_crowded),
        cmocka_unit_test(test_versions_are_not_known),
        cmocka_unit_test(test_held_claim_under_an_impossible_name),
        cmocka_unit_test(test_numbers_in_the_order_of_the_call),
        cmocka_unit_test(test_exchange_on_a_failing_disk),
        cmocka_unit_test(test_gets_of_each_call),
        cmocka_unit_test(test_flushed_by_another_call),
        cmocka_unit_test(test_compared_behind_hanging_claims),
        cmocka_unit_test(test_store_vanishes_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
