/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log reports the configurations of a refused claim: those that apply, once for each try. It
 * reports nothing of a claim whose configurations were not read.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

static const char lnc_of_two[] = "{\"apiVersion\":\"neuron.aws.com/v1\",\"kind\":\"NeuronConfig\","
                                 "\"logicalNeuronCore\":2}";

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 4; n++) {
        claim_add(n)->parameters = (n > 0u) ? lnc_of_two : NULL;
    }
    node_up();
    prepare_well(0, 1);
}

static unsigned logged(void)
{
    return said("kind=NeuronConfig logicalNeuronCore=2\n");
}

/* A valid configuration is logged whatever the claim is refused for, here a device that is held. */
static void test_refused_claim(void **state)
{
    (void)state;
    begin();
    api.claim[1].result[0].device = "neuron-device-0";
    (void)prepare_now(1, 1);
    log_has("event=\"Opaque device configs\" namespace=ml claim=claim-1");
    assert_int_equal(logged(), 1);
    assert_true(strstr(world.log, "Opaque device") < strstr(world.log, "event=claim_failed"));
    (void)prepare_now(1, 1);
    assert_int_equal(logged(), 2);
}

/* A claim that has failed when its configuration comes: nothing of it is decoded. */
static void test_failed_before(void **state)
{
    (void)state;
    begin();
    api.claim[2].results = 2;
    api.claim[2].result[1] = api.claim[2].result[0];
    api.claim[2].result[1].device = "neuron-device-99";
    (void)prepare_now(2, 1);
    assert_int_equal(said("event=claim_failed"), 1);
    assert_int_equal(said("Opaque device configs"), 0);
}

/* A claim that is unprepared while it is read. */
static void test_unprepared_while_read(void **state)
{
    (void)state;
    begin();
    api.claim[3].fault = API_HANGS;
    const struct peer_call *c = call_send(service_open(), PREPARE, claims_request(3, 1));
    settle();
    unprepare_well(3, 1);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 3), "was unprepared while"));
    assert_int_equal(said("Opaque device configs"), 0);
}

/* The answer ends behind the configuration: one that follows might overrule it. */
static void test_truncated_claim(void **state)
{
    static uint8_t bytes[4096];
    static uint8_t enveloped[4096];
    struct writer object = writer_of(bytes, sizeof bytes);
    struct writer page = writer_of(enveloped, sizeof enveloped);
    (void)state;
    begin();
    put_claim(&object, &api.claim[1]);
    put_envelope(&page, "resource.k8s.io/v1", "ResourceClaim", writer_view(&object));
    api.page = view_first(writer_view(&page), page.len - 20u); /* in the entry of the pod */
    api.page_http = 200;
    api.page_asked = SIM_ASK_CLAIM;
    assert_non_null(strstr(prepare_error(prepare_now(1, 1), 1), "is not a readable ResourceClaim"));
    assert_int_equal(said("Opaque device configs"), 0);
    api.page_asked = 0;
    prepare_well(1, 1);
    assert_int_equal(logged(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_claim),
        cmocka_unit_test(test_failed_before),
        cmocka_unit_test(test_unprepared_while_read),
        cmocka_unit_test(test_truncated_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
