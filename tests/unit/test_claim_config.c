/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of a claim: which results each applies to, precedence, and the text of every
 * refusal.
 */
#include "tests/unit/node/claim_builder.h"

#define CONFIG(kind, field, value)                                                                 \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"" kind "\",\"" field "\":" value "}"
#define LNC(value) CONFIG("NeuronConfig", "logicalNeuronCore", value)
#define MODE(value) CONFIG("UltraServerConfig", "ultraserverMode", value)

/* `requests` are separated by spaces; empty: all. */
static void configure(const char *source, const char *requests, const char *json)
{
    struct claim_config_in in = {
        .source = view_text(source),
        .driver = view_text(DRIVER_NAME),
        .parameters = view_text(json),
    };
    struct view rest = view_text(requests);
    while (rest.len > 0) {
        size_t n = view_find(rest, ' ');
        in.request[in.requests] = view_first(rest, n);
        in.requests++;
        rest = view_from(rest, n + 1);
    }
    claim_config_add(&b, &in);
}

static void expect_lnc(unsigned result, unsigned lnc)
{
    assert_true(result < b.record.count);
    assert_int_equal(b.record.result[result].logical_neuron_core, lnc);
}

static void test_config_for_all(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    add("b/x", "neuron-device-1");
    configure("FromClaim", "", LNC("1"));
    prepared();
    expect_lnc(0, 1);
    expect_lnc(1, 1);
}

static void test_config_by_request(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    add("b/x", "neuron-device-1");
    add("bb", "neuron-device-2");
    configure("FromClaim", "b", LNC("1"));
    configure("FromClaim", "a c", LNC("2"));
    prepared();
    expect_lnc(0, 2);
    expect_lnc(1, 1);
    expect_lnc(2, 0);
}

static void test_config_by_subrequest(void **state)
{
    (void)state;
    add("req/sub1", "neuron-device-0");
    configure("FromClaim", "req/sub1", LNC("1"));
    configure("FromClaim", "req/sub2", LNC("2"));
    prepared();
    expect_lnc(0, 1);
    (void)setup(NULL);
    add("req", "neuron-device-0");
    configure("FromClaim", "req/sub1", LNC("2"));
    prepared();
    expect_lnc(0, 0);
}

static void test_lnc_of_the_host(void **state)
{
    (void)state;
    devices.lnc_host = 1;
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    prepared();
    expect_lnc(0, 1);
    expect_lnc(1, 1);
    (void)setup(NULL);
    devices.lnc_host = 1;
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    configure("FromClaim", "b", LNC("2"));
    prepared();
    expect_lnc(0, 0); /* one container may have both: the one that is asked for counts */
    expect_lnc(1, 2);
}

/* What a claim with two devices gets when it is prepared again, with this LNC of the host. */
static void again(const char *device, const char *config, unsigned host)
{
    static struct claim_record before;
    claim_record_copy(&before, &b.record);
    (void)setup(NULL);
    devices.lnc_host = (uint8_t)host;
    add("a", "neuron-device-0");
    add("b", device);
    if (config != NULL) {
        configure("FromClaim", "b", config);
    }
    prepared();
    claim_keep_lnc(&b, &before);
}

/* A prepared claim keeps the LNC of the host, unless something else of it changed. */
static void test_lnc_is_kept(void **state)
{
    (void)state;
    devices.lnc_host = 1;
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    prepared();
    again("neuron-device-1", NULL, 2);
    expect_lnc(0, 1);
    expect_lnc(1, 1);
    again("neuron-device-1", NULL, 0);
    expect_lnc(0, 1);
    (void)snprintf(b.record.boot_id, sizeof b.record.boot_id, "earlier");
    again("neuron-device-1", NULL, 2);
    expect_lnc(0, 2); /* no container of an earlier boot is left */
    again("neuron-device-2", NULL, 2);
    expect_lnc(0, 2);
    expect_lnc(1, 2);
    again("neuron-device-2", LNC("1"), 2);
    expect_lnc(0, 0);
    expect_lnc(1, 1);
}

/* The configuration that does not fit the node is remembered for the log. */
static void test_refused_is_remembered(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    configure("FromClaim", "", LNC("3"));
    assert_null(b.refused.api_version);
    (void)setup(NULL);
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    configure("FromClaim", "b", MODE("4"));
    assert_string_equal(b.refused.api_version, "neuron.aws.com/v1");
    assert_int_equal(b.refused.kind, CONFIG_ULTRASERVER);
    assert_int_equal(b.refused.value, 4);
    assert_int_equal(b.refused_result, 1);
}

static void test_precedence(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    configure("FromClass", "", LNC("1"));
    configure("FromClass", "b", LNC("2"));
    prepared();
    expect_lnc(0, 1);
    expect_lnc(1, 2); /* later over earlier */
    (void)setup(NULL);
    add("a", "neuron-device-0");
    add("b", "neuron-device-1");
    configure("FromClaim", "a", LNC("2"));
    configure("FromClass", "", LNC("1"));
    prepared();
    expect_lnc(0, 2); /* claim over class, whatever the order */
    expect_lnc(1, 1);
    (void)setup(NULL);
    add("a", "neuron-device-0");
    configure("FromClass", "", LNC("1"));
    configure("FromClaim", "", LNC("1"));
    configure("FromClaim", "", LNC("2"));
    prepared();
    expect_lnc(0, 2);
}

static void expect_overruled(unsigned lnc, unsigned mode)
{
    assert_int_equal(b.overruled[CONFIG_NEURON][0], lnc);
    assert_int_equal(b.overruled[CONFIG_ULTRASERVER][0], mode);
}

/* What is overruled by a better one was meant so; of two equally good ones nobody can say. */
static void test_overruled(void **state)
{
    static const struct {
        const char *source[3];
        const char *requests[3];
        const char *lnc[3];
        unsigned overruled;
    } rows[] = {
        {{"FromClaim", "FromClaim"}, {"", ""}, {LNC("1"), LNC("2")}, 1},
        {{"FromClaim", "FromClaim"}, {"a", "b a"}, {LNC("1"), LNC("2")}, 1},
        {{"FromClass", "FromClass"}, {"", ""}, {LNC("2"), LNC("1")}, 2},
        {{"FromClaim", "FromClaim"}, {"", ""}, {LNC("1"), LNC("1")}, 0},
        {{"FromClaim", "FromClaim"}, {"", "a"}, {LNC("1"), LNC("2")}, 0},
        {{"FromClaim", "FromClaim"}, {"a", ""}, {LNC("1"), LNC("2")}, 0},
        {{"FromClaim", "FromClaim"}, {"a", "b"}, {LNC("1"), LNC("2")}, 0},
        {{"FromClass", "FromClaim"}, {"", ""}, {LNC("1"), LNC("2")}, 0},
        {{"FromClaim", "FromClass"}, {"", ""}, {LNC("1"), LNC("2")}, 0},
        {{"FromClass", "FromClass", "FromClaim"}, {"", "", ""}, {LNC("1"), LNC("2"), LNC("1")}, 0},
        {{"FromClaim", "FromClaim", "FromClaim"}, {"", "", ""}, {LNC("1"), LNC("2"), LNC("2")}, 1},
        {{"FromClaim", "FromClaim", "FromClaim"}, {"", "", "a"}, {LNC("1"), LNC("2"), LNC("1")}, 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)setup(state);
        add("a", "neuron-device-0");
        add("b", "neuron-device-1");
        for (unsigned k = 0; k < 3 && rows[i].lnc[k] != NULL; k++) {
            configure(rows[i].source[k], rows[i].requests[k], rows[i].lnc[k]);
        }
        prepared();
        expect_overruled(rows[i].overruled, 0);
    }
}

static void test_config_passed_over(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromClaim", "other", "this is not decoded");
    struct claim_config_in foreign = {
        .source = view_text("FromElsewhere"),
        .driver = view_text("gpu.example.com"),
        .parameters = view_text("nor is this"),
        .truncated = true,
    };
    claim_config_add(&b, &foreign);
    prepared();
    expect_lnc(0, 0);
}

#define FIRST " (config[0] of the allocation, FromClaim, request a)"

static void test_config_errors(void **state)
{
    static const struct {
        const char *json;
        const char *why;
    } rows[] = {
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
         "\"logicalNeuronCoreCount\":2}",
         "error applying config: strict decoding error: unknown field \"logicalNeuronCoreCount\"; "
         "known fields: apiVersion, kind, logicalNeuronCore" FIRST},
        {LNC("3"),
         "error applying config: logicalNeuronCore: Unsupported value: 3; supported values: 1, "
         "2" FIRST},
        {"[]",
         "error applying config: configuration is not a JSON object; write apiVersion, kind and "
         "the kind's field under opaque.parameters" FIRST},
        {"", "error applying config: configuration is not valid JSON, at byte 0" FIRST},
        {MODE("4"), "error applying config: UltraServer mode is not configurable for instance type "
                    "trn2.48xlarge; remove the UltraServerConfig, or use a node of an UltraServer, "
                    "such as trn2u.48xlarge" FIRST},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        (void)setup(NULL);
        add("a", "neuron-device-0");
        configure("FromClaim", "a", rows[i].json);
        configure("FromClaim", "a", LNC("7")); /* the first failure stays */
        refused(rows[i].why);
    }
}

/* Of several configurations the text names the one at fault, by its place in the allocation. */
static void test_which_config(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    add("b/x", "neuron-device-1");
    configure("FromClass", "", LNC("1"));
    configure("FromClaim", "a", LNC("2"));
    configure("FromClaim", "c", LNC("3")); /* of no result here: not decoded, but counted */
    configure("FromClaim", "b d e", "[]");
    refused("error applying config: configuration is not a JSON object; write apiVersion, kind and "
            "the kind's field under opaque.parameters (config[3] of the allocation, FromClaim, "
            "request b and 2 more)");
    (void)setup(NULL);
    add("a", "neuron-device-0");
    configure("FromClass", "a", LNC("\"1\""));
    refused("error applying config: field \"logicalNeuronCore\": expected integer, found string; "
            "write the number without quotes; supported values: 1, 2 (config[0] of the allocation, "
            "FromClass, request a)");
}

/* The longest reason, and the longest names after it: nothing is cut. */
static void test_longest_text(void **state)
{
#define KEY(c) "\"" c "23456789012345678901234567890123456789012345678901234567890123456789\":1"
#define REQUEST "r23456789012345678901234567890123456789012345678901234567890123"
    char request[256];
    (void)state;
    add(REQUEST, "neuron-device-0");
    (void)snprintf(request, sizeof request, "%s b c d e f g h i j k", REQUEST);
    for (unsigned i = 0; i < 200; i++) {
        configure("FromClaim", "x", "{}");
    }
    configure("FromClaim", request,
              "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\"," KEY("a") "," KEY(
                  "b") "," KEY("c") "," KEY("d") "," KEY("a") "}");
    assert_int_not_equal(claim_end(&b), STATUS_OK);
    assert_non_null(strstr(b.why, "(config[200] of the allocation, FromClaim, request " REQUEST
                                  " and 10 more)"));
}

static void test_lnc_on_trn1(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromClaim", "", LNC("1"));
    refused("error applying config: LNC value is not configurable for instance type trn1.2xlarge"
            "; remove the NeuronConfig, or use a trn2 or trn3 type (config[0] of the allocation, "
            "FromClaim, all requests)");
}

static void test_config_source(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromNode", "", LNC("1"));
    refused("claim training/llama-0 has a configuration from unknown source \"FromNode\"; known: "
            "FromClass, FromClaim");
}

static void test_config_not_opaque(void **state)
{
    (void)state;
    struct claim_config_in in = {.source = view_text("FromClaim")};
    add("a", "neuron-device-0");
    claim_config_add(&b, &in);
    refused("claim training/llama-0 has a malformed allocation: a configuration is not opaque, "
            "other kinds are not supported; remove the configuration from the claim or its "
            "DeviceClass");
}

static void test_config_too_long(void **state)
{
    static char json[OPAQUE_BYTES_MAX + 1];
#define TOO_LONG                                                                                   \
    "error applying config: configuration is longer than 10240 bytes (config[0] of the "           \
    "allocation, FromClaim, "
    struct claim_config_in in = {
        .source = view_text("FromClaim"),
        .driver = view_text(DRIVER_NAME),
    };
    (void)state;
    memset(json, ' ', sizeof json);
    memcpy(json, LNC("1"), sizeof LNC("1") - 1);
    add("a", "neuron-device-0");
    in.parameters = view_of(json, OPAQUE_BYTES_MAX);
    claim_config_add(&b, &in);
    prepared();
    expect_lnc(0, 1);
    (void)setup(NULL);
    add("a", "neuron-device-0");
    in.parameters = view_of(json, sizeof json);
    claim_config_add(&b, &in);
    refused(TOO_LONG "all requests)");
    (void)setup(NULL);
    add("a", "neuron-device-0");
    in.parameters = view_text(LNC("1"));
    in.truncated = true;
    in.requests = 1;
    in.request[0] = view_text("names-behind-the-cut-may-be-ours");
    claim_config_add(&b, &in);
    refused(TOO_LONG "request names-behind-the-cut-may-be-ours)");
}

static void test_result_after_config(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromClaim", "", LNC("1"));
    add("b", "neuron-device-1");
    refused("claim training/llama-0 has a malformed allocation: results follow the configuration; "
            "delete the pod to have the claim allocated again");
}

/* --- a node of an UltraServer --- */

static int setup_trn2u(void **state)
{
    static const struct board trn2u = {
        .instance_type = "trn2u.48xlarge", .devices = 16, .ultraserver = true};
    (void)state;
    fill_devices(&devices, &trn2u, 0, 16);
    devices.ultraserver =
        (struct ultraserver){.member = true,
                             .modes = 1u << 1 | 1u << 3 | 1u << 4,
                             .place = {{.server_id = "00000000000000a1", .node_id = 1},
                                       {.server_id = "00000000000000b2", .node_id = 2}}};
    claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
    return 0;
}

static void expect_use(unsigned mode, const char *server_id, unsigned node_id)
{
    assert_int_equal(b.record.ultraserver.mode, mode);
    assert_string_equal(b.record.ultraserver.place.server_id, server_id);
    assert_int_equal(b.record.ultraserver.place.node_id, node_id);
}

static void test_node(void **state)
{
    (void)state;
    add("a", "neuron-node");
    prepared();
    assert_true(b.record.result[0].node);
    assert_true(claim_numbers(&b.record) == 0xffff);
    assert_true(claim_result_numbers(&b.record, 0) == 0xffff);
    expect_use(0, "", 0);
}

static void test_node_of_four(void **state)
{
    (void)state;
    add("a", "neuron-node");
    configure("FromClass", "", LNC("1"));
    configure("FromClaim", "a", MODE("4"));
    prepared();
    expect_lnc(0, 1);
    assert_int_equal(b.record.result[0].ultraserver_mode, 4);
    expect_use(1, "00000000000000b2", 2);
}

static void test_node_of_two_other_order(void **state)
{
    (void)state;
    add("a", "neuron-node");
    configure("FromClaim", "", MODE("2"));
    configure("FromClaim", "a", LNC("2"));
    prepared();
    expect_lnc(0, 2);
    expect_use(3, "00000000000000a1", 1);
}

/* What the class has is one thing, what counts is the claim's. */
static void test_mode_of_the_claim_counts(void **state)
{
    (void)state;
    add("a", "neuron-node");
    configure("FromClass", "", MODE("4"));
    configure("FromClaim", "", MODE("1"));
    prepared();
    expect_use(4, "", 0);
}

static void test_mode_not_available(void **state)
{
    (void)state;
    b.ultraserver.modes = 1u << 4;
    add("a", "neuron-node");
    configure("FromClaim", "", MODE("2"));
    refused("error applying config: ultraserverMode 2 (two nodes) is not possible on this node "
            "now; possible: 1. Check the links between the nodes, or ask for 1. (config[0] of the "
            "allocation, FromClaim, all requests)");
}

static void test_election(void **state)
{
    (void)state;
    b.ultraserver.electing = true;
    add("a", "neuron-node");
    configure("FromClaim", "", MODE("4"));
    refused("error applying config: the nodes of the UltraServer are still finding each other "
            "(the kernel module reports busy, for up to 10 minutes); "
            "the kubelet tries again (config[0] of the allocation, FromClaim, all requests)");
}

/* The election begins again between two pieces of one claim: one look decides about all of it. */
static void test_election_meanwhile(void **state)
{
    (void)state;
    add("a", "neuron-node");
    configure("FromClaim", "", MODE("4"));
    devices.ultraserver.electing = true;
    prepared();
    expect_use(1, "00000000000000b2", 2);
}

static void test_two_modes(void **state)
{
    (void)state;
    add_admin("a", "neuron-node");
    add_admin("b", "neuron-node");
    configure("FromClaim", "a", MODE("4"));
    configure("FromClaim", "b", MODE("2"));
    refused("claim training/llama-0 asks for two UltraServer modes; give all of its requests the "
            "same ultraserverMode: request a asks for 4, request b for 2");
}

static void test_node_and_a_device_of_it(void **state)
{
    (void)state;
    add("a", "neuron-node");
    add("b", "neuron-device-3");
    refused("claim training/llama-0 has a malformed allocation: device neuron-device-3 is "
            "allocated to it twice; delete the pod to have the claim allocated again");
}

static void test_admin_access_holds_nothing(void **state)
{
    (void)state;
    add_admin("a", "neuron-node");
    add("b", "neuron-device-3");
    prepared();
    assert_true(claim_numbers(&b.record) == 1u << 3);
    assert_true(claim_result_numbers(&b.record, 0) == 0xffff);
}

static void test_incomplete_node(void **state)
{
    (void)state;
    devices.count = 15;
    add("a", "neuron-node");
    refused(
        "device neuron-node not found on node node-1: it needs all devices of the instance type, "
        "and only 15 are here (see dmesg); delete the pod to get another node");
}

static void test_node_of_another_type(void **state)
{
    (void)state;
    add("a", "neuron-node");
    refused("device neuron-node not found on node node-1; devices here: neuron-device-0 ... "
            "neuron-device-15; delete the pod to get one that exists");
}

/* What a container is told decides whether a claim that is prepared again is the same. */
static void test_same_results(void **state)
{
    struct claim_record x;
    struct claim_record y;
    (void)state;
    fill_node(&x);
    y = x;
    assert_true(claim_results_same(&x, &y));
    y.node_devices = 1;
    assert_false(claim_results_same(&x, &y));
    y = x;
    y.ultraserver.place.node_id = 2;
    assert_false(claim_results_same(&x, &y));
    y = x;
    y.ultraserver.mode = 3;
    assert_false(claim_results_same(&x, &y));
    y = x;
    y.result[0].node = false;
    assert_false(claim_results_same(&x, &y));
}

static void test_request_configured_in_two_ways(void **state)
{
    (void)state;
    add("req/sub1", "neuron-device-0");
    add("req/sub2", "neuron-device-1");
    configure("FromClaim", "req/sub1", LNC("1"));
    refused("claim training/llama-0 configures the devices of one request differently; "
            "use one request for each setting");
}

static void test_most_requests_named(void **state)
{
    struct claim_config_in in = {
        .source = view_text("FromClass"),
        .driver = view_text(DRIVER_NAME),
        .parameters = view_text(LNC("2")),
        .requests = CONFIG_REQUESTS_MAX,
    };
    (void)state;
    add("last", "neuron-device-0");
    for (unsigned i = 0; i < CONFIG_REQUESTS_MAX; i++) {
        in.request[i] = view_text("none");
    }
    in.request[CONFIG_REQUESTS_MAX - 1] = view_text("last");
    claim_config_add(&b, &in);
    prepared();
    expect_lnc(0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_config_for_all, setup),
        cmocka_unit_test_setup(test_config_by_request, setup),
        cmocka_unit_test_setup(test_config_by_subrequest, setup),
        cmocka_unit_test_setup(test_lnc_of_the_host, setup),
        cmocka_unit_test_setup(test_lnc_is_kept, setup),
        cmocka_unit_test_setup(test_refused_is_remembered, setup),
        cmocka_unit_test_setup(test_precedence, setup),
        cmocka_unit_test_setup(test_overruled, setup),
        cmocka_unit_test_setup(test_config_passed_over, setup),
        cmocka_unit_test_setup(test_config_errors, setup),
        cmocka_unit_test_setup(test_which_config, setup),
        cmocka_unit_test_setup(test_longest_text, setup),
        cmocka_unit_test_setup(test_lnc_on_trn1, setup_trn1),
        cmocka_unit_test_setup(test_config_source, setup),
        cmocka_unit_test_setup(test_config_not_opaque, setup),
        cmocka_unit_test_setup(test_config_too_long, setup),
        cmocka_unit_test_setup(test_result_after_config, setup),
        cmocka_unit_test_setup(test_request_configured_in_two_ways, setup),
        cmocka_unit_test_setup(test_most_requests_named, setup),
        cmocka_unit_test_setup(test_node, setup_trn2u),
        cmocka_unit_test_setup(test_node_of_four, setup_trn2u),
        cmocka_unit_test_setup(test_node_of_two_other_order, setup_trn2u),
        cmocka_unit_test_setup(test_mode_of_the_claim_counts, setup_trn2u),
        cmocka_unit_test_setup(test_mode_not_available, setup_trn2u),
        cmocka_unit_test_setup(test_election, setup_trn2u),
        cmocka_unit_test_setup(test_election_meanwhile, setup_trn2u),
        cmocka_unit_test_setup(test_two_modes, setup_trn2u),
        cmocka_unit_test_setup(test_node_and_a_device_of_it, setup_trn2u),
        cmocka_unit_test_setup(test_admin_access_holds_nothing, setup_trn2u),
        cmocka_unit_test_setup(test_incomplete_node, setup_trn2u),
        cmocka_unit_test_setup(test_node_of_another_type, setup),
        cmocka_unit_test(test_same_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
