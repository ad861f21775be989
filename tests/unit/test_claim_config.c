/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of a claim: which results each applies to, precedence, and the text of every
 * refusal.
 */
#include "claim_builder.h"

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

static void test_config_errors(void **state)
{
    static const struct {
        const char *json;
        const char *why;
    } rows[] = {
        {"{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
         "\"logicalNeuronCoreCount\":2}",
         "error applying config: strict decoding error: unknown field \"logicalNeuronCoreCount\"; "
         "known fields: apiVersion, kind, logicalNeuronCore"},
        {LNC("3"),
         "error applying config: logicalNeuronCore: Unsupported value: 3; supported values: 1, 2"},
        {"[]", "error applying config: configuration is not a JSON object"},
        {"", "error applying config: configuration is not valid JSON, at byte 0"},
        {MODE("4"), "error applying config: UltraServer mode is not configurable for instance type "
                    "trn2.48xlarge"},
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

static void test_lnc_on_trn1(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromClaim", "", LNC("1"));
    refused("error applying config: LNC value is not configurable for instance type trn1.2xlarge");
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
            "other kinds are not supported");
}

static void test_config_too_long(void **state)
{
    static char json[OPAQUE_BYTES_MAX + 1];
    static const char text[] = "error applying config: configuration is longer than 10240 bytes";
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
    refused(text);
    (void)setup(NULL);
    add("a", "neuron-device-0");
    in.parameters = view_text(LNC("1"));
    in.truncated = true;
    in.requests = 1;
    in.request[0] = view_text("names-behind-the-cut-may-be-ours");
    claim_config_add(&b, &in);
    refused(text);
}

static void test_result_after_config(void **state)
{
    (void)state;
    add("a", "neuron-device-0");
    configure("FromClaim", "", LNC("1"));
    add("b", "neuron-device-1");
    refused("claim training/llama-0 has a malformed allocation: results follow the configuration");
}

static void test_request_configured_in_two_ways(void **state)
{
    (void)state;
    add("req/sub1", "neuron-device-0");
    add("req/sub2", "neuron-device-1");
    configure("FromClaim", "req/sub1", LNC("1"));
    refused("claim training/llama-0 configures the devices of one request differently");
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
        cmocka_unit_test_setup(test_precedence, setup),
        cmocka_unit_test_setup(test_config_passed_over, setup),
        cmocka_unit_test_setup(test_config_errors, setup),
        cmocka_unit_test_setup(test_lnc_on_trn1, setup_trn1),
        cmocka_unit_test_setup(test_config_source, setup),
        cmocka_unit_test_setup(test_config_not_opaque, setup),
        cmocka_unit_test_setup(test_config_too_long, setup),
        cmocka_unit_test_setup(test_result_after_config, setup),
        cmocka_unit_test_setup(test_request_configured_in_two_ways, setup),
        cmocka_unit_test_setup(test_most_requests_named, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
