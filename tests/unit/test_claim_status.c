/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.devices of claims on a virtual clock: what is applied after a prepare and taken back after
 * an unprepare, and that no refusal of it ever concerns the claim.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define UID_3 "c1a10000-0000-4000-8000-000000000003"

static void begin(void)
{
    static const char *const args[] = {"--claim-status=true"};
    world_new();
    settings_set(args, 1);
    for (unsigned n = 0; n < 16; n++) {
        (void)claim_add(n);
    }
    node_up();
    api_forget();
}

static void prepare(unsigned first, unsigned count)
{
    struct peer *p = service_open();
    struct view reply = call_now(p, PREPARE, claims_request(first, count));
    for (unsigned i = 0; i < count; i++) {
        assert_string_equal(prepare_error(reply, first + i), "");
    }
    peer_close(p);
}

static void unprepare(unsigned first, unsigned count)
{
    struct peer *p = service_open();
    (void)call_now(p, UNPREPARE, claims_request(first, count));
    peer_close(p);
}

static void test_off_by_default(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(3);
    node_up();
    prepare(3, 1);
    unprepare(3, 1);
    pass(5 * MINUTE);
    assert_int_equal(took.status_asked, 0);
}

static void test_applied_and_taken_back(void **state)
{
    (void)state;
    begin();
    uint64_t prepared = WALL_MS(world.now_ms);
    prepare(3, 1);
    assert_int_equal(took.status_asked, 1);
    assert_string_equal(took.status_path,
                        "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/claim-3/status"
                        "?fieldManager=neuron.aws.com-node-a&force=true");
    assert_string_equal(took.status_type, "application/apply-patch+yaml");
    assert_int_equal(prepared, UINT64_C(1700000007000));
    assert_string_equal(
        took.status,
        "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
        "\"name\":\"claim-3\",\"namespace\":\"ml\",\"uid\":\"" UID_3 "\"},\"status\":{\"devices\":["
        "{\"pool\":\"node-a\",\"driver\":\"neuron.aws.com\",\"device\":\"neuron-device-3\","
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Prepared\","
        "\"message\":\"prepared for its containers\","
        "\"lastTransitionTime\":\"2023-11-14T22:13:27.000Z\"}],\"data\":{}}]}}");
    unprepare(3, 1);
    pass(OUTGOING_GAP_MS);
    assert_int_equal(took.status_asked, 2);
    assert_string_equal(
        took.status,
        "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
        "\"name\":\"claim-3\",\"namespace\":\"ml\",\"uid\":\"" UID_3 "\"},"
        "\"status\":{\"devices\":[]}}");
    pass(60 * MINUTE);
    assert_int_equal(took.status_asked, 2);
}

static void test_consumer_that_is_a_group(void **state)
{
    (void)state;
    begin();
    api.claim[3].for_group = true;
    prepare(3, 1);
    assert_non_null(strstr(took.status, "\"message\":\"prepared for PodGroup claim-3\","));
}

/* Several devices, one of them twice under admin access, and what was asked of them. */
static void test_devices(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = &api.claim[3];
    c->results = 3;
    for (unsigned i = 0; i < 3; i++) {
        c->result[i].request = (i == 0) ? "a" : "b";
        c->result[i].device = (i == 1) ? "neuron-device-9" : "neuron-device-8";
        c->result[i].admin = true;
    }
    c->parameters = "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
                    "\"logicalNeuronCore\":1}";
    prepare(3, 1);
    const char *first = strstr(took.status, "\"device\":\"neuron-device-8\"");
    assert_non_null(first);
    assert_non_null(strstr(first, "\"data\":{\"logicalNeuronCore\":1}},{\"pool\":\"node-a\","
                                  "\"driver\":\"neuron.aws.com\",\"device\":\"neuron-device-9\""));
    assert_null(strstr(first + 1, "\"device\":\"neuron-device-8\""));
}

static void test_repeats(void **state)
{
    (void)state;
    begin();
    prepare(3, 1);
    prepare(3, 1);
    pass(MINUTE);
    assert_int_equal(took.status_asked, 1);
    restart(); /* nobody asks: nothing is written again */
    register_driver();
    pass(MINUTE);
    assert_int_equal(took.status_asked, 1);
    prepare(3, 1); /* perhaps its turn had not come before the restart */
    pass(MINUTE);
    assert_int_equal(took.status_asked, 2);
}

/* A claim allocated again under its UID has another status, also while the first one is sent. */
static void test_reallocated(void **state)
{
    (void)state;
    begin();
    prepare(3, 1);
    pass(MINUTE);
    api.claim[3].result[0].device = "neuron-device-12";
    took.mute = true;
    prepare(3, 1);
    pass(SECOND);
    assert_int_equal(took.status_asked, 2);
    api.claim[3].result[0].device = "neuron-device-13";
    took.mute = false;
    prepare(3, 1);
    pass(MINUTE);
    assert_int_equal(api_asked("(reset /apis/resource.k8s.io/v1/namespaces/ml"), 1);
    assert_int_equal(took.status_asked, 3);
    assert_non_null(strstr(took.status, "neuron-device-13"));
    prepare(3, 1);
    pass(MINUTE);
    assert_int_equal(took.status_asked, 3);
}

/* The slot of a claim that went is taken by another one. */
static void test_slot_used_again(void **state)
{
    (void)state;
    begin();
    prepare(3, 1);
    unprepare(3, 1);
    prepare(4, 1);
    pass(5 * SECOND);
    assert_int_equal(took.status_asked, 3);
    assert_non_null(strstr(took.status, "\"name\":\"claim-4\""));
    assert_non_null(strstr(took.status, "neuron-device-4"));
}

static void test_pace(void **state)
{
    (void)state;
    begin();
    prepare(0, 16);
    assert_int_equal(took.status_asked, 1);
    pass(4 * OUTGOING_GAP_MS);
    assert_int_equal(took.status_asked, 5);
    pass(MINUTE);
    assert_int_equal(took.status_asked, 16);
    unprepare(0, 16);
    pass(MINUTE);
    assert_int_equal(took.status_asked, 32);
    assert_non_null(strstr(took.status, "\"devices\":[]"));
}

/* Unprepared before the request was answered: what was to be written is not, what was is undone. */
static void test_unprepared_under_way(void **state)
{
    (void)state;
    begin();
    took.mute = true;
    prepare(3, 1);
    took.mute = false;
    unprepare(3, 1);
    pass(MINUTE);
    assert_int_equal(api_asked("(reset /apis/resource.k8s.io/v1/namespaces/ml"), 1);
    assert_int_equal(took.status_asked, 2);
    assert_non_null(strstr(took.status, "\"devices\":[]"));
}

/* More claims go than can wait: the oldest are forgotten, the one under way with them. */
static void test_many_gone(void **state)
{
    (void)state;
    begin();
    for (unsigned n = 16; n < 40; n++) {
        claim_add(n)->result[0].admin = true;
    }
    prepare(16, 24);
    pass(MINUTE);
    took.mute = true;
    unprepare(16, 1);
    unprepare(17, 23);
    took.mute = false;
    unsigned before = took.status_asked;
    pass(MINUTE);
    assert_int_equal(took.status_asked - before, CLAIM_STATUS_GONE_MAX);
    assert_non_null(strstr(took.status, "\"name\":\"claim-39\""));
}

/* A status that is being written stays under way, however many claims go meanwhile. */
static void test_many_gone_beside_a_write(void **state)
{
    (void)state;
    begin();
    for (unsigned n = 16; n < 40; n++) {
        claim_add(n)->result[0].admin = true;
    }
    prepare(16, 24);
    pass(MINUTE);
    took.mute = true;
    prepare(3, 1);
    unprepare(16, 24);
    took.mute = false;
    unsigned before = took.status_asked;
    assert_int_equal(api_asked("(reset /apis/resource.k8s.io/v1/namespaces/ml"), 0);
    pass(5 * MINUTE);
    assert_int_equal(took.status_asked - before, CLAIM_STATUS_GONE_MAX + 1);
    assert_non_null(strstr(took.status, "neuron-device-3"));
}

/* An agent that hands over writes no status any more, not even the one under way. */
static void test_retired(void **state)
{
    (void)state;
    begin();
    took.mute = true;
    prepare(3, 2);
    took.mute = false;
    claim_status_retire(world.agent);
    claim_status_retire(world.agent);
    world.poked = true;
    pass(5 * MINUTE);
    assert_int_equal(api_asked("(reset /apis/resource.k8s.io/v1/namespaces/ml"), 1);
    assert_int_equal(took.status_asked, 1);
}

/* --- refusals --- */

static void test_forbidden(void **state)
{
    (void)state;
    begin();
    took.status_http = 403;
    prepare(3, 2);
    log_has("level=warn event=claim_status_refused namespace=ml claim=claim-3 "
            "claim_uid=c1a10000-0000-4000-8000-000000000003 http=403 reason=Forbidden");
    log_has("associated-node:patch of resourceclaims/driver");
    log_forget();
    pass(OUTGOING_DENIED_MS - 1);
    assert_int_equal(took.status_asked, 1);
    pass(OUTGOING_DENIED_MS / 2);
    assert_int_equal(took.status_asked, 2);
    assert_null(strstr(world.log, "claim_status_refused"));
    took.status_http = 0; /* the operator allows it */
    pass(2 * OUTGOING_DENIED_MS);
    assert_int_equal(took.status_asked, 4);
    assert_int_equal(events_stored(), 0);
}

/* A server that has just started answers 403 until it has read its roles: no permission lacks. */
static void test_roles_unread(void **state)
{
    (void)state;
    begin();
    prepare(3, 1);
    pass(API_ROLES_MS);
    assert_int_equal(took.status_asked, 1);
    took.status_http = 403;
    api_end("the server restarts");
    pass(API_RECONNECT_MS);
    prepare(4, 1);
    assert_int_equal(took.status_asked, 2);
    assert_int_equal(said("event=claim_status_refused"), 0);
    took.status_http = 0;
    pass(5 * SECOND); /* a refusal for good would wait for OUTGOING_DENIED_MS */
    assert_int_equal(took.status_asked, 3);
    assert_non_null(strstr(took.status, "neuron-device-4"));
    assert_int_equal(said("event=claim_status_refused"), 0);
}

static void test_answers_that_end_it(void **state)
{
    static const unsigned http[] = {404, 409, 422};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin();
        took.status_http = http[i];
        prepare(3, 1);
        pass(60 * MINUTE);
        assert_int_equal(took.status_asked, 1);
        bool said = strstr(world.log, "claim_status_refused") != NULL;
        assert_int_equal(said, http[i] == 422);
    }
}

static void test_server_errors(void **state)
{
    (void)state;
    begin();
    took.status_http = 500;
    prepare(3, 1);
    pass(60 * MINUTE);
    assert_int_equal(took.status_asked, CLAIM_STATUS_TRIES);
    took.status_http = 0;
    prepare(4, 1);
    pass(MINUTE);
    assert_int_equal(took.status_asked, CLAIM_STATUS_TRIES + 1);
    assert_non_null(strstr(took.status, "\"name\":\"claim-4\""));
}

/* An intermediary that does not know the path may be gone soon: it counts as a server error. */
static void test_path_is_unknown(void **state)
{
    (void)state;
    begin();
    took.status_http = 999;
    prepare(3, 1);
    pass(60 * MINUTE);
    assert_int_equal(took.status_asked, CLAIM_STATUS_TRIES);
    assert_null(strstr(world.log, "claim_status_refused"));
    assert_int_equal(events_stored(), 0);
}

/* Before the next try the record cannot be read any more, or the store is lost: nothing is sent. */
static void test_record_is_lost(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin();
        took.status_http = 500;
        prepare(3, 1);
        assert_int_equal(took.status_asked, 1);
        struct ledger *l = world.agent->ledger;
        int slot = ledger_find(world.agent, api.claim[3].uid);
        struct disk_file *f = disk_find(FILES_STATE, STORE_FILE_NAME);
        assert_true(slot >= 0);
        for (unsigned half = 0; half < 2 && i == 0; half++) {
            file_fill(f, store_offset((unsigned)slot, half) + 20u, 0xa5, 64);
        }
        for (unsigned k = 0; k < LEDGER_RECORDS_MAX; k++) {
            l->kept[k].sequence = 0; /* as after records of other claims */
        }
        l->usable = i == 0;
        l->retry_ms = UINT64_MAX;
        took.status_http = 0;
        pass(MINUTE);
        assert_int_equal(took.status_asked, 1);
        l->usable = true;
        prepare(4, 1);
        pass(MINUTE);
        assert_int_equal(took.status_asked, 2);
        assert_non_null(strstr(took.status, "\"name\":\"claim-4\""));
    }
}

static void test_connection_lost(void **state)
{
    (void)state;
    begin();
    took.mute = true;
    prepare(3, 1);
    for (unsigned i = 0; i < 2 * CLAIM_STATUS_TRIES; i++) {
        api_end("connection reset");
        pass(MINUTE);
    }
    took.mute = false;
    api_end("connection reset");
    unsigned before = took.status_asked;
    pass(5 * MINUTE);
    assert_true(took.status_asked > before);
    assert_non_null(strstr(took.status, "neuron-device-3"));
}

/* A version that is not served any more: another one is found, and spoken. */
static void test_version_changes(void **state)
{
    (void)state;
    begin();
    api.served = SERVES(API_V1BETA1);
    prepare(0, 1); /* by its stored allocation the claim is read in the version that is found */
    pass(5 * MINUTE);
    assert_non_null(strstr(took.status, "\"apiVersion\":\"resource.k8s.io/v1beta1\""));
}

static void test_small_windows(void **state)
{
    (void)state;
    for (uint32_t window = 1; window < 400; window += 57) {
        begin();
        api.window = window;
        api_end("");
        pass(MINUTE);
        prepare(3, 1);
        pass(SECOND);
        assert_int_equal(took.status_asked, 1);
        assert_non_null(strstr(took.status, "\"data\":{}}]}}"));
    }
}

/* Half of the body is sent. */
static bool half_sent(void)
{
    const struct api_exchange *x = &world.agent->api->client.exchange[API_SLOT_CLAIM_STATUS];
    return x->state == EXCHANGE_OPEN && x->body_sent > 0u && x->body_sent < x->body_len;
}

/* A body that is another one before all of it is sent is given up, and sent whole at once. */
static void test_body_changes_under_way(void **state)
{
    (void)state;
    begin();
    api.window = 50;
    api_end("");
    pass(MINUTE);
    struct peer *p = service_open();
    world.halt = half_sent;
    (void)call_send(p, PREPARE, claims_request(3, 1));
    settle();
    assert_true(half_sent());
    world.halt = NULL;
    struct ledger *l = world.agent->ledger;
    uint64_t retry_ms = l->retry_ms;
    l->usable = false; /* the record cannot be read for a moment */
    l->retry_ms = UINT64_MAX;
    for (unsigned i = 0; i < 9 && half_sent(); i++) {
        (void)agent_to_api();
        (void)api_to_agent();
        (void)step();
    }
    assert_int_equal(api_slot_kind(world.agent, API_SLOT_CLAIM_STATUS), API_APPLY_CLAIM_STATUS);
    l->usable = true;
    l->retry_ms = retry_ms;
    assert_int_equal(took.status_asked, 0);
    settle();
    assert_int_equal(took.status_asked, 1);
    assert_non_null(strstr(took.status, "neuron-device-3"));
    assert_non_null(strstr(took.status, "\"data\":{}}]}}"));
    assert_int_equal(api_asked("(reset /apis/resource.k8s.io/v1/namespaces/ml"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_by_default),
        cmocka_unit_test(test_applied_and_taken_back),
        cmocka_unit_test(test_consumer_that_is_a_group),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_reallocated),
        cmocka_unit_test(test_slot_used_again),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_unprepared_under_way),
        cmocka_unit_test(test_many_gone),
        cmocka_unit_test(test_many_gone_beside_a_write),
        cmocka_unit_test(test_retired),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_roles_unread),
        cmocka_unit_test(test_answers_that_end_it),
        cmocka_unit_test(test_server_errors),
        cmocka_unit_test(test_path_is_unknown),
        cmocka_unit_test(test_record_is_lost),
        cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_version_changes),
        cmocka_unit_test(test_small_windows),
        cmocka_unit_test(test_body_changes_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
