/* SPDX-License-Identifier: Apache-2.0 */
/* Claim records of both drivers: what makes two of them the same, and which are none; what a claim
 * is refused for beside the usual. */
#include "tests/unit/node/claim_builder.h"

static void efa_record(struct claim_record *r)
{
    record_begin(r);
    r->driver = DRIVER_EFA;
    struct claim_result *to = record_add(r, "a", 3);
    to->efa_address = 0x1019;
    to->uverbs = 2;
}

static void test_devices_of_the_drivers(void **state)
{
    struct claim_record r;
    (void)state;
    efa_record(&r);
    assert_true(claim_record_valid(&r));
    r.result[0].uverbs = 0; /* the first node */
    assert_true(claim_record_valid(&r));
    r.result[0].efa_address = 0;
    assert_false(claim_record_valid(&r));
    efa_record(&r);
    r.result[0].node = true;
    r.result[0].number = 0;
    r.node_devices = 1;
    assert_false(claim_record_valid(&r));
    record_begin(&r);
    struct claim_result *neuron = record_add(&r, "a", 3);
    assert_true(claim_record_valid(&r));
    neuron->uverbs = 1;
    assert_false(claim_record_valid(&r));
    neuron->uverbs = 0;
    neuron->efa_address = 1;
    assert_false(claim_record_valid(&r));
}

static void test_numbers_in_containers(void **state)
{
    struct claim_record r;
    (void)state;
    record_begin(&r);
    (void)record_add(&r, "a", 3);
    r.first_number = 1;
    assert_false(claim_record_valid(&r)); /* numbers of the host have no first one */
    r.zero_numbering = true;
    assert_true(claim_record_valid(&r));
    r.first_number = DEVICES_MAX;
    assert_false(claim_record_valid(&r));
    r.first_number = 0;
    r.consumer.kind = CONSUMER_KINDS;
    assert_false(claim_record_valid(&r));
}

/* Each field alone makes the devices of two records others. */
static void test_devices_that_are_others(void **state)
{
    struct claim_record one;
    (void)state;
    for (unsigned change = 0; change < 8; change++) {
        record_begin(&one);
        (void)record_add(&one, "a", 3);
        struct claim_record two = one;
        struct claim_result *to = &two.result[0];
        to->admin_access = change == 1;
        to->request[0] = (change == 2) ? 'b' : 'a';
        memcpy(to->share_id, "s", (change == 3) ? 2 : 0);
        to->efa_address = (change == 4) ? 3 : 0;
        to->number = (change == 5) ? 4 : 3;
        to->node = change == 6;
        to->uverbs = (change == 7) ? 1 : 0;
        assert_int_equal(claim_devices_same(&one, &two), change == 0);
        assert_int_equal(claim_devices_same(&two, &one), change == 0);
    }
}

/* The configuration is no matter of the devices, but of the results. */
static void test_results_that_are_others(void **state)
{
    struct claim_record one;
    (void)state;
    for (unsigned change = 0; change < 3; change++) {
        record_begin(&one);
        (void)record_add(&one, "a", 3);
        struct claim_record two = one;
        two.result[0].logical_neuron_core = (change == 1) ? 2 : 0;
        two.result[0].ultraserver_mode = (change == 2) ? 2 : 0;
        assert_true(claim_devices_same(&one, &two));
        assert_int_equal(claim_results_same(&one, &two), change == 0);
    }
}

static void test_copy_onto_itself(void **state)
{
    struct claim_record r;
    struct claim_record before;
    (void)state;
    fill_longest(&r);
    before = r;
    claim_record_copy(&r, &r);
    assert_memory_equal(&r, &before, sizeof r);
    memset(&r, 0, sizeof r);
    claim_record_copy(&r, &before);
    assert_same_record(&r, &before);
}

/* Shares of EFA devices are of the whole device: they join others without a choice of cores. */
static void test_who_joins(void **state)
{
    struct claim_record r;
    (void)state;
    efa_record(&r);
    assert_false(claim_joins(&r));
    memcpy(r.result[0].share_id, "s", 2);
    assert_true(claim_joins(&r));
    r.driver = DRIVER_NEURON;
    assert_false(claim_joins(&r));
    r.result[0].cores = 3;
    assert_true(claim_joins(&r));
}

static void test_node_beside_its_devices(void **state)
{
    static const struct board trn2u = {
        .instance_type = "trn2u.48xlarge", .devices = 16, .ultraserver = true};
    (void)state;
    for (unsigned node_first = 0; node_first < 2; node_first++) {
        fill_devices(&devices, &trn2u, 0, 16);
        devices.ultraserver.member = true;
        claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
        add("a", (node_first != 0) ? "neuron-node" : "neuron-device-3");
        add("b", (node_first != 0) ? "neuron-device-3" : "neuron-node");
        assert_int_equal(end(), PEER_MALFORMED);
        assert_non_null(strstr(b.why, "is allocated to it twice"));
    }
}

static void configure(const char *driver, const char *requests, const char *json)
{
    struct claim_config_in in = {.source = view_text("FromClaim"),
                                 .driver = view_text(driver),
                                 .parameters = view_text(json)};
    in.request[0] = view_text(requests);
    in.requests = 1;
    claim_config_add(&b, &in);
}

static void test_configuration_for_efa(void **state)
{
    (void)state;
    memset(&devices, 0, sizeof devices);
    devices.driver = DRIVER_EFA;
    claim_begin(&b, &devices, EFA_DRIVER_NAME, "node-1", &wanted);
    configure(EFA_DRIVER_NAME, "a", "{}");
    assert_int_equal(end(), PEER_MALFORMED);
    assert_non_null(strstr(b.why, "EFA devices take no configuration"));
}

#define MODE(value)                                                                                \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"UltraServerConfig\","                        \
    "\"ultraserverMode\":" value "}"

/* Requests without a mode, or with the same, leave the claim its one mode. */
static void test_modes_of_a_claim(void **state)
{
    static const struct board trn2u = {
        .instance_type = "trn2u.48xlarge", .devices = 16, .ultraserver = true};
    static const struct {
        const char *second; /* NULL: not configured */
        bool good;
    } rows[] = {{NULL, true}, {MODE("4"), true}, {MODE("2"), false}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fill_devices(&devices, &trn2u, 0, 16);
        devices.ultraserver =
            (struct ultraserver){.member = true,
                                 .modes = 1u << 1 | 1u << 3 | 1u << 4,
                                 .place = {{.server_id = "00000000000000a1", .node_id = 1},
                                           {.server_id = "00000000000000b2", .node_id = 2}}};
        claim_begin(&b, &devices, DRIVER_NAME, "node-1", &wanted);
        add_admin("a", "neuron-node");
        add_admin("b", "neuron-node");
        configure(DRIVER_NAME, "a", MODE("4"));
        if (rows[i].second != NULL) {
            configure(DRIVER_NAME, "b", rows[i].second);
        }
        assert_int_equal(end(), rows[i].good ? STATUS_OK : PEER_UNSUPPORTED);
        assert_int_equal(b.record.ultraserver.mode, rows[i].good ? 1 : 0);
    }
}

static void part(const char *cores)
{
    struct claim_result_in share = result_of("a", "neuron-device-0");
    share.share_id = view_text("s1");
    claim_capacity(&b, view_text("cores"), view_text(cores));
    claim_result_add(&b, &share);
}

#define LNC_1                                                                                      \
    "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\",\"logicalNeuronCore\":1}"

static void test_part_with_single_cores(void **state)
{
    (void)state;
    (void)setup(NULL);
    part("2");
    configure(DRIVER_NAME, "a", LNC_1);
    refused("claim training/llama-0 asks for a part of a device's cores with logicalNeuronCore 1; "
            "ask for 2, or for all cores");
    /* a type whose logical core is one core has no such choice */
    (void)setup_trn1(NULL);
    part("1");
    prepared();
    assert_int_equal(claim_cores(&b.record), 1);
    assert_int_equal(b.record.result[0].logical_neuron_core, 0);
}

/* More cores than a part can have are the whole device, whatever the device claims to have. */
static void test_part_of_many_cores(void **state)
{
    (void)state;
    (void)setup(NULL);
    devices.device[0].core_count = SHARED_CORES_MAX + 8u;
    part("9");
    prepared();
    assert_int_equal(claim_cores(&b.record), 0);
}

static void test_consumer_with_a_long_uid(void **state)
{
    char longest[UID_CAP + 1];
    (void)state;
    (void)setup(NULL);
    fill_name(longest, sizeof longest, 'u');
    claim_consumer(&b, view_text("pods"), view_text("trainer-0"), view_text(longest));
    assert_string_equal(b.record.consumer.uid, "");
    assert_string_equal(b.record.consumer.name, "");
    longest[UID_CAP - 1] = '\0';
    claim_consumer(&b, view_text("pods"), view_text("trainer-0"), view_text(longest));
    assert_string_equal(b.record.consumer.uid, longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_of_the_drivers),
        cmocka_unit_test(test_numbers_in_containers),
        cmocka_unit_test(test_devices_that_are_others),
        cmocka_unit_test(test_results_that_are_others),
        cmocka_unit_test(test_copy_onto_itself),
        cmocka_unit_test(test_who_joins),
        cmocka_unit_test(test_node_beside_its_devices),
        cmocka_unit_test(test_configuration_for_efa),
        cmocka_unit_test(test_modes_of_a_claim),
        cmocka_unit_test(test_part_with_single_cores),
        cmocka_unit_test(test_part_of_many_cores),
        cmocka_unit_test(test_consumer_with_a_long_uid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
