/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent preparing and unpreparing claims: replies and CDI files byte for byte, repeated
 * and mixed calls, overlaps, calls that cross, cancelled calls, and peers with small windows.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define UID_0 "c1a10000-0000-4000-8000-000000000000"

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 16; n++) {
        claim_add(n);
    }
    node_up();
    api_forget();
}

/* --- one claim --- */

static const char cdi_0[] =
    "{\n"
    "  \"cdiVersion\": \"0.6.0\",\n"
    "  \"kind\": \"neuron.aws.com/claim\",\n"
    "  \"annotations\": {\n"
    "    \"neuron.aws.com/claim-namespace\": \"ml\",\n"
    "    \"neuron.aws.com/claim-name\": \"claim-0\",\n"
    "    \"neuron.aws.com/claim-uid\": \"" UID_0 "\",\n"
    "    \"neuron.aws.com/pool\": \"node-a\",\n"
    "    \"neuron.aws.com/boot-id\": \"" BOOT_ID "\",\n"
    "    \"neuron.aws.com/device-numbering\": \"host\",\n"
    "    \"neuron.aws.com/result-0\": "
    "\"{\\\"request\\\":\\\"req\\\",\\\"device\\\":\\\"neuron-device-0\\\"}\"\n"
    "  },\n"
    "  \"devices\": [\n"
    "    {\n"
    "      \"name\": \"" UID_0 "-req\",\n"
    "      \"containerEdits\": {\n"
    "        \"deviceNodes\": [\n"
    "          {\n"
    "            \"path\": \"/dev/neuron0\",\n"
    "            \"hostPath\": \"/dev/neuron0\",\n"
    "            \"permissions\": \"rw\"\n"
    "          }\n"
    "        ]\n"
    "      }\n"
    "    }\n"
    "  ]\n"
    "}\n";

static const char reply_0[] = "\x0a\x87\x01"
                              "\x0a\x24" UID_0 "\x12\x5f\x0a\x5d"
                              "\x0a\x03"
                              "req"
                              "\x12\x06"
                              "node-a"
                              "\x1a\x0f"
                              "neuron-device-0"
                              "\x22\x3d"
                              "neuron.aws.com/claim=" UID_0 "-req";

static void check_bytes_0(struct view reply)
{
    assert_true(view_is(file_content(cdi_of(0)), cdi_0));
    assert_int_equal(reply.len, sizeof reply_0 - 1);
    assert_memory_equal(reply.data, reply_0, reply.len);
}

static void test_prepare(void **state)
{
    (void)state;
    begin();
    check_bytes_0(prepare_now(0, 1));
    assert_int_equal(disk_count(FILES_CDI), 1);
    assert_int_equal(held(), 1);
    assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/"), 1);
    log_has("claim_prepared");
}

static void test_versions_alike(void **state)
{
    (void)state;
    begin();
    struct peer *p = service_open();
    check_bytes_0(call_now(p, DRA_BETA "NodePrepareResources", claims_request(0, 1)));
    struct view reply = call_now(p, DRA_BETA "NodeUnprepareResources", claims_request(0, 1));
    assert_string_equal(unprepare_error(reply, 0), "");
    assert_null(cdi_of(0));
    assert_int_equal(held(), 0);
    check_bytes_0(call_now(p, PREPARE, claims_request(0, 1)));
}

static void test_prepare_again(void **state)
{
    (void)state;
    begin();
    check_bytes_0(prepare_now(0, 1));
    api.reachable = false;
    restart();
    api_forget();
    check_bytes_0(prepare_now(0, 1));
    assert_int_equal(api_asked("GET "), 0);
    assert_int_equal(held(), 1);
    log_has("event=claim_prepare_repeated namespace=ml claim=claim-0 claim_uid=" UID_0);
}

/* --- a claim that is held, and the API server's --- */

/* With the API server there, a repeat asks it once; whatever it fails by, the record answers. */
static void test_compared(void **state)
{
    static const unsigned http[] = {0, 403, 500, 503};
    (void)state;
    begin();
    prepare_well(0, 1);
    for (unsigned i = 0; i < sizeof http / sizeof http[0]; i++) {
        api_forget();
        api.claim[0].http = http[i];
        check_bytes_0(prepare_now(0, 1));
        assert_int_equal(api_asked("GET /apis/resource.k8s.io/v1/namespaces/ml/"), 1);
    }
    assert_null(strstr(world.log, "claim_reallocated"));
}

static void test_compare_hangs(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(CLAIM_COMPARE_MS - 1);
    assert_false(c->ended);
    pass(2);
    check_bytes_0(call_reply_of(c));
    pass(60000);
    check_idle();
}

/* The connection ends while the claim is compared. */
static void test_compare_cut_off(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[0].fault = API_HANGS;
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    settle();
    assert_false(c->ended);
    api.reachable = false;
    api_end("connection reset");
    settle();
    check_bytes_0(call_reply_of(c));
}

/* A pod that was deleted by force: the claim has the same UID, and another device. */
static void test_reallocated(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[0].result[0].device = "neuron-device-5";
    struct view reply = prepare_now(0, 1);
    assert_string_equal(prepare_error(reply, 0), "");
    assert_non_null(memmem(reply.data, reply.len, "neuron-device-5", 15));
    log_has("level=warn event=claim_reallocated namespace=ml claim=claim-0 claim_uid=" UID_0
            " devices_before=0 devices=5");
    struct view cdi = file_content(cdi_of(0));
    assert_non_null(memmem(cdi.data, cdi.len, "/dev/neuron5", 12));
    assert_int_equal(held(), 1);
    /* the device of the first allocation is free, that of the second is not */
    api.claim[1].result[0].device = "neuron-device-0";
    prepare_well(1, 1);
    reply = prepare_now(5, 1);
    assert_non_null(strstr(prepare_error(reply, 5), "already held by claim ml/claim-0"));
    restart();
    api.reachable = false;
    reply = prepare_now(0, 1);
    assert_non_null(memmem(reply.data, reply.len, "neuron-device-5", 15));
}

/* Results that cannot be decoded: the error says why. */
static void test_unreadable_results(void **state)
{
    static char name[400];
    (void)state;
    begin();
    memset(name, 'n', sizeof name - 1);
    api.claim[0].result[0].device = "neuron-\xff";
    api.claim[1].result[0].device = name;
    assert_non_null(strstr(prepare_error(prepare_now(0, 1), 0),
                           "an allocation result is not readable: invalid utf8"));
    assert_non_null(strstr(prepare_error(prepare_now(1, 1), 1),
                           "an allocation result is not readable: a name is too long"));
    assert_int_equal(held(), 0);
}

/* After a start the API server's versions are not known at once: the record does not answer. */
static void test_reallocated_before_the_versions(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    api.claim[0].result[0].device = "neuron-device-5";
    restart();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(CLAIM_COMPARE_MS - 1);
    struct view reply = call_reply_of(c);
    assert_string_equal(prepare_error(reply, 0), "");
    assert_non_null(memmem(reply.data, reply.len, "neuron-device-5", 15));
    /* what does not report them in time is not waited for */
    api.group = GROUP_HANGS;
    restart();
    p = service_open();
    c = call_send(p, PREPARE, claims_request(0, 1));
    pass(CLAIM_COMPARE_MS - 1);
    assert_false(c->ended);
    pass(2);
    reply = call_reply_of(c);
    assert_non_null(memmem(reply.data, reply.len, "neuron-device-5", 15));
}

/*
 * The API server has the claim, and it can not be prepared as it is: the record of its former
 * allocation is no answer.
 */
static void test_reallocated_badly(void **state)
{
    static const char misspelt[] =
        "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
        "\"logicalNeuronCores\":1}";
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        begin();
        prepare_well(0, 1);
        api.claim[0].parameters = (kind != 2u) ? misspelt : NULL;
        api.claim[0].result[0].device = (kind == 0u) ? "neuron-device-5" : "neuron-device-0";
        api.claim[0].unallocated = kind == 1u;
        api.claim[0].result[0].pool = (kind == 2u) ? "node-b" : api.claim[0].result[0].pool;
        const char *error = prepare_error(prepare_now(0, 1), 0);
        /* with the same devices, what this release makes of its configuration is no matter */
        assert_int_equal(strlen(error) == 0, kind == 3u);
        assert_int_equal(held(), 1);
        unprepare_well(0, 1);
    }
}

/* Its new device is held by another claim: the error names that, and nothing changes. */
static void test_reallocated_to_a_held_device(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    api.claim[0].result[0].device = "neuron-device-1";
    struct view reply = prepare_now(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "already held by claim ml/claim-1"));
    assert_true(view_is(file_content(cdi_of(0)), cdi_0));
    api.claim[0].result[0].device = "neuron-device-0";
    check_bytes_0(prepare_now(0, 1));
}

static void test_held_claim_is_gone(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 2);
    api.claim[0].uid[0] = 0;
    (void)snprintf(api.claim[1].uid, 64, "another-uid");
    prepare_well(0, 2); /* the records answer: one look proves nothing */
    assert_int_equal(held(), 2);
    pass(2 * RECONCILE_CONFIRM_MS); /* the second look is of the reconciliation */
    assert_int_equal(held(), 0);
    unprepare_well(0, 2);
}

/* A record of which only UID and devices are understood answers nobody; the API server's does. */
static void test_opaque_record(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    world.agent->ledger->entry[ledger_find(world.agent, UID_0)].record = RECORD_OUTLINE;
    api.reachable = false;
    api_end("connection reset");
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, PREPARE, claims_request(0, 1));
    pass(60000);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 0), "cannot be read from the API"));
    api.reachable = true;
    pass(60000);
    check_bytes_0(prepare_now(0, 1));
    assert_int_equal(held(), 1);
}

static void test_cdi_rebuilt(void **state)
{
    (void)state;
    begin();
    (void)prepare_now(0, 1);
    api.claim[0].http = 500;
    disk_unlink(cdi_of(0));
    check_bytes_0(prepare_now(0, 1));
    log_has("cdi_file_rebuilt");
    uint8_t changed = file_content(cdi_of(0)).data[7] ^ 1;
    disk_set(cdi_of(0), 7, view_of(&changed, 1));
    check_bytes_0(prepare_now(0, 1));
    disk_set_len(cdi_of(0), 0);
    check_bytes_0(prepare_now(0, 1));
}

static void test_unprepare_without_api(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    api.reachable = false;
    restart();
    assert_int_equal(held(), 3);
    unprepare_well(0, 2);
    assert_int_equal(held(), 1);
    assert_non_null(cdi_of(2));
    /* again, and after a restart: nothing is left, and that is success */
    unprepare_well(0, 1);
    restart();
    assert_int_equal(held(), 1);
    unprepare_well(0, 3);
    assert_int_equal(disk_count(FILES_CDI), 0);
    assert_int_equal(held(), 0);
}

static void test_unprepare_unknown(void **state)
{
    (void)state;
    begin();
    unprepare_well(5, 1);
    assert_int_equal(held(), 0);
    /* a CDI file without a record goes too */
    prepare_well(5, 1);
    struct disk_file *f = disk_make(FILES_CDI, "neuron.aws.com-claim_"
                                               "c1a10000-0000-4000-8000-000000000006.json");
    disk_set_len(f, 10);
    unprepare_well(6, 1);
    assert_non_null(cdi_of(5));
}

/* --- what a claim may lack --- */

static void check_refused(unsigned n, const char *text)
{
    struct view reply = prepare_now(n, 1);
    assert_string_equal(prepare_error(reply, n), text);
    assert_null(cdi_of(n));
    assert_int_equal(disk_count(FILES_CDI), held());
    log_has("claim_failed");
    log_forget();
    unprepare_well(n, 1);
    check_idle();
}

static void test_refusals(void **state)
{
    (void)state;
    begin();
    api.claim[1].uid[0] = 0;
    check_refused(1, "claim ml/claim-1 not found on the API server");
    api.claim[2].http = 403;
    check_refused(2, "claim ml/claim-2 cannot be read from the API server: HTTP 403 "
                     "resourceclaims.resource.k8s.io \"claim-2\" is forbidden: the rules of this "
                     "cluster do not allow it");
    (void)snprintf(api.claim[3].uid, 64, "another-uid");
    check_refused(3, "claim ml/claim-3 got replaced: UID c1a10000-0000-4000-8000-000000000003 was "
                     "asked for, the API server has UID another-uid");
    api.claim[4].unallocated = true;
    check_refused(4, "claim ml/claim-4 is not allocated: delete the pod, and create it without "
                     "spec.nodeName, so that the scheduler allocates the claim");
    api.claim[5].result[0].device = "neuron-device-99";
    check_refused(5, "device neuron-device-99 not found on node node-a; devices here: "
                     "neuron-device-0 ... neuron-device-15; delete the pod to get one that exists");
    api.claim[6].result[0].pool = "node-b";
    check_refused(6, "device neuron-device-6 is allocated from pool node-b, the pool of this node "
                     "is node-a; delete the pod and create it without spec.nodeName, or check "
                     "--node-name of the agent");
    api.claim[7].results = 0;
    check_refused(7, "claim ml/claim-7 has no allocation result of driver neuron.aws.com; delete "
                     "the pod to have the claim allocated again");
}

static void test_configurations(void **state)
{
    (void)state;
    begin();
    api.claim[0].parameters = "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
                              "\"logicalNeuronCore\":2}";
    prepare_well(0, 1);
    log_has("event=\"Opaque device configs\" namespace=ml claim=claim-0 claim_uid=" UID_0
            " request=");
    log_has("event=claim_prepared namespace=ml claim=claim-0 claim_uid=" UID_0
            " devices=neuron-device-0\n");
    static const char lnc[] = "\"NEURON_LOGICAL_NC_CONFIG=2\"";
    struct view cdi = file_content(cdi_of(0));
    assert_non_null(memmem(cdi.data, cdi.len, lnc, sizeof lnc - 1));
    api.claim[1].parameters = "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
                              "\"logicalNeuronCores\":2}";
    struct view reply = prepare_now(1, 1);
    assert_non_null(strstr(prepare_error(reply, 1),
                           "strict decoding error: unknown field \"logicalNeuronCores\""));
    assert_null(cdi_of(1));
}

static void test_configuration_of_trn1(void **state)
{
    (void)state;
    world_new();
    found_trn1();
    claim_add(0)->parameters = "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
                               "\"logicalNeuronCore\":1}";
    node_up();
    check_refused(0,
                  "error applying config: LNC value is not configurable for instance type "
                  "trn1.2xlarge; remove the NeuronConfig, or use a trn2 or trn3 type (config[0] of "
                  "the allocation, FromClaim, all requests)");
    (void)prepare_now(0, 1);
    log_has("event=\"Opaque device configs\" namespace=ml claim=claim-0 claim_uid=" UID_0
            " request=");
    log_has("apiVersion=neuron.aws.com/v1 kind=NeuronConfig logicalNeuronCore=1\n");
}

static void found_lnc(unsigned lnc)
{
    (void)snprintf(world.found.lnc_config, sizeof world.found.lnc_config,
                   "NEURON_LOGICAL_NC_CONFIG=%u\n", lnc);
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(2000);
}

/* The host's LNC changes: a claim that is prepared again keeps what its containers have. */
static void test_lnc_of_the_host(void **state)
{
    static const char one[] = "\"NEURON_LOGICAL_NC_CONFIG=1\"";
    static uint8_t copy[16384];
    (void)state;
    begin();
    found_lnc(1);
    prepare_well(0, 1);
    struct view file = file_content(cdi_of(0));
    assert_non_null(memmem(file.data, file.len, one, sizeof one - 1));
    assert_true(file.len < sizeof copy);
    memcpy(copy, file.data, file.len);
    struct view before = view_of(copy, file.len);
    found_lnc(2);
    log_forget();
    prepare_well(0, 1);
    assert_true(view_equal(file_content(cdi_of(0)), before));
    assert_null(strstr(world.log, "claim_reallocated"));
    prepare_well(1, 1);
    struct view cdi = file_content(cdi_of(1));
    assert_null(memmem(cdi.data, cdi.len, one, sizeof one - 1));
}

#define FREE_IT(name)                                                                              \
    "); once no pod uses that one: kubectl -n ml delete resourceclaim " name                       \
    "; the agent then releases it by itself"

static void test_overlap(void **state)
{
    (void)state;
    begin();
    api.claim[1].result[0].device = "neuron-device-0";
    prepare_well(0, 1);
    check_refused(1, "claim ml/claim-1: requested device neuron-device-0 is already held by claim "
                     "ml/claim-0 (" UID_0 FREE_IT("claim-0"));
    /* administrators may look, and hold nothing */
    api.claim[1].result[0].admin = true;
    prepare_well(1, 1);
    unprepare_well(0, 1);
    api.claim[2].result[0].device = "neuron-device-0";
    prepare_well(2, 1);
    assert_int_equal(held(), 2);
    /* the rule holds after a restart */
    restart();
    pass(2000);
    check_refused(0, "claim ml/claim-0: requested device neuron-device-0 is already held by claim "
                     "ml/claim-2 (c1a10000-0000-4000-8000-000000000002" FREE_IT("claim-2"));
}

/* --- calls of many claims --- */

static void test_many_mixed(void **state)
{
    (void)state;
    world_new();
    for (unsigned n = 0; n < 64; n++) {
        claim_add(n)->result[0].admin = n >= 16;
        api.claim[n].http = n % 8 == 1 ? 403 : 0;
        api.claim[n].unallocated = n % 8 == 2;
        (void)snprintf(api.claim[n].uid, 64, n % 8 == 3 ? "x" : "c1a10000-0000-4000-8000-%012u", n);
    }
    node_up();
    unsigned flushes = disk.calls;
    struct view reply = prepare_now(0, 64);
    assert_int_equal(proto_count(reply, 1), 64);
    for (unsigned n = 0; n < 64; n++) {
        bool good = n % 8 == 0 || n % 8 > 3;
        assert_int_equal(prepare_error(reply, n)[0] == 0, good);
        assert_int_equal(proto_count(entry_of(reply, n), 1), good ? 1 : 0);
        assert_int_equal(cdi_of(n) != NULL, good);
    }
    assert_int_equal(held(), 40);
    assert_true(disk.calls > flushes);
    unprepare_well(0, 64);
    assert_int_equal(disk_count(FILES_CDI), 0);
    check_idle();
}

static void test_one_flush_for_all(void **state)
{
    (void)state;
    begin();
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    prepare_well(0, 16);
    /* CDI write and rename, and record of each, then one flush */
    assert_int_equal(disk.calls, 16 * 3 + 1);
    disk_fault(FAULT_NONE, 0, true, STATUS_OK);
    unprepare_well(0, 16);
    /* tombstone, record, no tombstone any more */
    assert_int_equal(disk.calls, 16 * 3 + 1);
}

static void test_too_many(void **state)
{
    uint8_t bytes[16384];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    begin();
    struct peer *p = service_open();
    call_refused(p, PREPARE, claims_request(0, 65), GRPC_RESOURCE_EXHAUSTED);
    call_refused(p, UNPREPARE, claims_request(0, 65), GRPC_RESOURCE_EXHAUSTED);
    writer_append(&w, claims_request(0, 65));
    request_claim(&w, 0); /* one that the call has already */
    call_refused(p, PREPARE, writer_view(&w), GRPC_RESOURCE_EXHAUSTED);
    call_refused(p, PREPARE,
                 view_of("\x0a\x05"
                         "x",
                         3),
                 GRPC_INVALID_ARGUMENT);
    assert_int_equal(disk_count(FILES_CDI), 0);
    check_idle();
}

static void test_same_twice_in_a_call(void **state)
{
    uint8_t bytes[1024];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    begin();
    request_claim(&w, 0);
    request_claim(&w, 0);
    check_bytes_0(call_now(service_open(), PREPARE, writer_view(&w)));
    struct view reply = call_now(service_open(), UNPREPARE, writer_view(&w));
    assert_int_equal(proto_count(reply, 1), 1);
    assert_int_equal(held(), 0);
}

static void test_empty_call(void **state)
{
    (void)state;
    begin();
    struct peer *p = service_open();
    assert_int_equal(call_now(p, PREPARE, view_of(NULL, 0)).len, 0);
    assert_int_equal(call_now(p, UNPREPARE, view_of(NULL, 0)).len, 0);
    check_idle();
}

static void test_impossible_uid(void **state)
{
    static const char request[] = "\x0a\x17"
                                  "\x0a\x02"
                                  "ml"
                                  "\x12\x0c"
                                  "../../passwd"
                                  "\x1a\x03"
                                  "c-0";
    (void)state;
    begin();
    struct peer *p = service_open();
    struct view reply = call_now(p, PREPARE, view_of(request, sizeof request - 1));
    struct view entry = proto_get(reply, 1).bytes;
    assert_true(view_is(proto_get(entry, 1).bytes, "../../passwd"));
    assert_true(view_starts(proto_get(proto_get(entry, 2).bytes, 2).bytes, "claim UID \""));
    reply = call_now(p, UNPREPARE, view_of(request, sizeof request - 1));
    entry = proto_get(reply, 1).bytes;
    assert_int_equal(proto_get(proto_get(entry, 2).bytes, 1).bytes.len, 0);
    assert_int_equal(disk_count(FILES_CDI), 0);
}

/* The UID alone decides what is unprepared. */
static void test_unprepare_by_uid_alone(void **state)
{
    uint8_t bytes[256];
    uint8_t claim_bytes[200];
    struct writer claim = writer_of(claim_bytes, sizeof claim_bytes);
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    begin();
    prepare_well(0, 1);
    put_str(&claim, 1, "not a namespace");
    put_str(&claim, 2, UID_0);
    put_str(&claim, 3, "");
    put_view(&w, 1, writer_view(&claim));
    struct view reply = call_now(service_open(), UNPREPARE, writer_view(&w));
    assert_string_equal(unprepare_error(reply, 0), "");
    assert_int_equal(held(), 0);
    assert_null(cdi_of(0));
}

/* --- settings that contradict each other --- */

#define LNC(n)                                                                                     \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\",\"logicalNeuronCore\":" n "}"

static void test_two_claims_of_a_pod(void **state)
{
    (void)state;
    begin();
    api.claim[0].parameters = LNC("1");
    api.claim[1].parameters = LNC("2");
    api.claim[2].parameters = LNC("2");
    /* of different pods: a container has one of them */
    api.claim[1].consumer_uid = "22222222-2222-3333-4444-555555555555";
    prepare_well(0, 2);
    assert_null(strstr(world.log, "claim_config_ambiguous"));
    /* nor does one that says nothing contradict any */
    prepare_well(3, 1);
    assert_null(strstr(world.log, "claim_config_ambiguous"));
    prepare_well(2, 1);
    log_has("event=claim_config_ambiguous setting=logicalNeuronCore namespace=ml claim=claim-2 "
            "claim_uid=c1a10000-0000-4000-8000-000000000002 other_claim=claim-0 pod=claim-2 "
            "remedy=\"give both claims the same setting, or let no container use both\"");
}

static void test_two_requests_of_a_claim(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = &api.claim[3];
    c->results = 2;
    c->result[1].request = "other";
    c->result[1].device = "neuron-device-9";
    c->parameters = LNC("1");
    c->parameters_of = "req";
    prepare_well(3, 1);
    assert_null(strstr(world.log, "claim_config_ambiguous"));
    unprepare_well(3, 1);
    c->more_parameters = LNC("2");
    prepare_well(3, 1);
    assert_null(strstr(world.log, "request=req logicalNeuronCore"));
    log_has("claim_config_ambiguous setting=logicalNeuronCore namespace=ml claim=claim-3 "
            "claim_uid=c1a10000-0000-4000-8000-000000000003 "
            "request=other logicalNeuronCore=2 other=1 "
            "remedy=\"give both requests the same setting, or let no container use both\"");
}

static void test_one_request_configured_twice(void **state)
{
    (void)state;
    begin();
    struct api_claim *c = &api.claim[4];
    c->results = 2;
    c->result[1].request = "req";
    c->result[1].device = "neuron-device-9";
    c->parameters = LNC("1");
    c->parameters_of = "req";
    c->more_parameters = LNC("2");
    prepare_well(4, 1);
    log_has("claim_config_ambiguous setting=logicalNeuronCore namespace=ml claim=claim-4 "
            "claim_uid=c1a10000-0000-4000-8000-000000000004 "
            "request=req logicalNeuronCore=2 other=1 "
            "remedy=\"remove one of the two configurations of this request; the last one counts\"");
}

/* Whether the claim's first device is this one in its containers. */
static void numbered(unsigned n, const char *path)
{
    struct view text = file_content(cdi_of(n));
    static char file[CDI_BYTES_MAX + 1];
    memcpy(file, text.data, text.len);
    file[text.len] = 0;
    const char *at = strstr(file, "\"path\": \"");
    assert_non_null(at);
    assert_true(strncmp(at + 9, path, strlen(path)) == 0 && at[9 + strlen(path)] == '"');
}

static void settings_number(const char *numbering)
{
    const char *args[] = {"--device-numbering", numbering};
    settings_set(args, 2);
}

/* A restart, and the time until the API server can be asked. */
static void restart_to_ask(void)
{
    restart();
    register_driver();
    pass(3000);
    log_forget();
}

#define POD_2 "22222222-2222-3333-4444-555555555555"

/* Claims of one pod count on, in one call and in a later one, whatever the order of the devices. */
static void test_numbers_of_a_pod(void **state)
{
    (void)state;
    world_new();
    settings_number("zero");
    for (unsigned n = 0; n < 7; n++) {
        claim_add(n);
    }
    api.claim[1].results = 2;
    api.claim[1].result[1].request = "more";
    api.claim[1].result[1].device = "neuron-device-9";
    api.claim[3].consumer_uid = POD_2;
    api.claim[4].consumer_uid = POD_2;
    api.claim[5].unreserved = true; /* the call alone says that these are of one pod */
    api.claim[6].unreserved = true;
    node_up();
    prepare_well(0, 3);
    numbered(0, "/dev/neuron0");
    numbered(1, "/dev/neuron1");
    numbered(2, "/dev/neuron3");
    prepare_well(3, 2);
    numbered(3, "/dev/neuron0");
    numbered(4, "/dev/neuron1");
    prepare_well(5, 2);
    numbered(5, "/dev/neuron0");
    numbered(6, "/dev/neuron1");
    /* what is free again is used again; a restart keeps what is held */
    unprepare_well(1, 1);
    restart_to_ask();
    prepare_well(1, 1);
    numbered(1, "/dev/neuron1");
    numbered(2, "/dev/neuron3");
}

/* The setting was changed while a pod is being started. */
static void test_numbers_of_both_kinds(void **state)
{
    (void)state;
    world_new();
    settings_number("zero");
    for (unsigned n = 0; n < 4; n++) {
        claim_add(n);
    }
    claim_add(8);
    api.claim[1].consumer_uid = POD_2;
    node_up();
    prepare_well(8, 1);
    numbered(8, "/dev/neuron0");
    settings_number("host");
    restart_to_ask();
    check_refused(0, "claim claim-0 and claim claim-8 of the same pod would both have /dev/neuron0 "
                     "in a container: --device-numbering changed between them; delete and "
                     "re-create the pod");
    prepare_well(1, 3);
    numbered(2, "/dev/neuron2");
    settings_number("zero");
    restart_to_ask();
    prepare_well(0, 1);
    numbered(0, "/dev/neuron1");
}

/* --- devices with gaps --- */

/* Claim 5 gets a second device, in a request of its own. */
static void second_device(const char *device)
{
    struct api_claim *c = &api.claim[5];
    c->results = 2;
    c->result[1].request = "other";
    c->result[1].device = device;
}

static void test_scattered_devices(void **state)
{
    (void)state;
    begin();
    second_device("neuron-device-4");
    prepare_well(5, 1);
    assert_null(strstr(world.log, "claim_devices_scattered"));
    unprepare_well(5, 1);
    second_device("neuron-device-7");
    prepare_well(5, 1);
    prepare_well(5, 1);
    pass(5000);
    assert_int_equal(said("level=warn event=claim_devices_scattered namespace=ml claim=claim-5 "
                          "claim_uid=c1a10000-0000-4000-8000-000000000005 devices=5,7 remedy="),
                     1);
    log_has("event=claim_prepared namespace=ml claim=claim-5 "
            "claim_uid=c1a10000-0000-4000-8000-000000000005 "
            "devices=neuron-device-5,neuron-device-7\n");
    const struct stored_event *e = event_only("ClaimDevicesScattered");
    assert_string_equal(e->about_name, "claim-5");
    assert_non_null(strstr(e->note,
                           "ask for 2 devices by matchAttribute neuron.aws.com/contiguous2_id; "
                           "--require-consecutive refuses such claims"));
}

static void test_consecutive_devices_required(void **state)
{
    static const char *const flags[] = {"--require-consecutive", "true"};
    (void)state;
    begin();
    second_device("neuron-device-7");
    prepare_well(5, 1);
    settings_set(flags, 2);
    restart_to_ask();
    prepare_well(5, 1); /* it is held: a pod may run on it */
    unprepare_well(5, 1);
    check_refused(5, "claim ml/claim-5 has devices 5,7, which are not consecutive on the host: the "
                     "kernel module counts cores from the first of them on, and reaches devices of "
                     "other pods; delete the pod, and ask for 2 devices by matchAttribute "
                     "neuron.aws.com/contiguous2_id (--require-consecutive)");
    assert_null(cdi_of(5));
    second_device("neuron-device-6");
    prepare_well(5, 1);
}

static void test_table_full(void **state)
{
    (void)state;
    world_new();
    node_up();
    for (unsigned n = 0; n < 256; n++) {
        world.agent->ledger->entry[n].state = n < 254 ? LEDGER_FREEING : LEDGER_FREE;
    }
    for (unsigned n = 0; n < 3; n++) {
        claim_add(n);
    }
    prepare_well(0, 2);
    check_refused(2, "all slots of the claim store are in use; unprepare claims first");
    unprepare_well(0, 1);
    prepare_well(2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_versions_alike),
        cmocka_unit_test(test_unreadable_results),
        cmocka_unit_test(test_scattered_devices),
        cmocka_unit_test(test_consecutive_devices_required),
        cmocka_unit_test(test_prepare_again),
        cmocka_unit_test(test_compared),
        cmocka_unit_test(test_compare_hangs),
        cmocka_unit_test(test_compare_cut_off),
        cmocka_unit_test(test_reallocated),
        cmocka_unit_test(test_reallocated_before_the_versions),
        cmocka_unit_test(test_reallocated_to_a_held_device),
        cmocka_unit_test(test_reallocated_badly),
        cmocka_unit_test(test_held_claim_is_gone),
        cmocka_unit_test(test_opaque_record),
        cmocka_unit_test(test_cdi_rebuilt),
        cmocka_unit_test(test_unprepare_without_api),
        cmocka_unit_test(test_unprepare_unknown),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_configuration_of_trn1),
        cmocka_unit_test(test_lnc_of_the_host),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_many_mixed),
        cmocka_unit_test(test_one_flush_for_all),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_same_twice_in_a_call),
        cmocka_unit_test(test_empty_call),
        cmocka_unit_test(test_impossible_uid),
        cmocka_unit_test(test_unprepare_by_uid_alone),
        cmocka_unit_test(test_two_claims_of_a_pod),
        cmocka_unit_test(test_two_requests_of_a_claim),
        cmocka_unit_test(test_one_request_configured_twice),
        cmocka_unit_test(test_numbers_of_a_pod),
        cmocka_unit_test(test_numbers_of_both_kinds),
        cmocka_unit_test(test_table_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
