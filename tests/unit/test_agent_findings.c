/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /readyz, /statusz and /metrics tell an operator of states that a healthy node never has:
 * devices that are gone or not supported, claims that stay held, requests that are forbidden.
 */
#include "tests/unit/kubelet/agent_page.h"

static void look(void)
{
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
}

/* The kernel module is unloaded: the agent is not ready until it is back, and says which it is. */
static void test_devices_missing(void **state)
{
    (void)state;
    world_new();
    node_up();
    found_set("trn2.48xlarge", 0, 8);
    look();
    page_is("/readyz", "503 Service Unavailable",
            "the last probe found none of the node's devices: is the kernel module neuron "
            "loaded?\n");
    metrics_get();
    has_line("neuron_dra_ready 0");
    has_line("neuron_dra_devices 16"); /* kept for a while */
    found_trn2();
    look();
    page_is("/readyz", "200 OK", "ok\n");
}

/* The kernel module no longer supports the type: the agent publishes nothing and reports why. */
static void test_refused_type(void **state)
{
    static const char refused[] = "no device of instance type inf1.6xlarge is published: ";
    (void)state;
    world_new();
    found_set("inf1.6xlarge", 4, 4);
    node_up();
    assert_true(view_starts(view_text(page_get("/readyz")), "HTTP/1.1 503 "));
    assert_true(view_starts(view_text(body_of(page)), refused));
    assert_true(strlen(body_of(page)) > sizeof refused);
    metrics_get();
    has_line("neuron_dra_devices_published 0");
}

/* The kubelet has found the agent, and has not told yet what came of it. */
static void test_registration_is_asked_for(void **state)
{
    (void)state;
    world_new();
    start();
    struct peer *p = peer_open(LINK_REGISTRATION, 65535);
    (void)call_now(p, "/pluginregistration.Registration/GetInfo", view_of(NULL, 0));
    pass(2000);
    assert_non_null(strstr(page_get("/readyz"),
                           "\r\n\r\nthe kubelet has not registered the driver: the kubelet called "
                           "GetInfo and has reported nothing since\n"));
}

/* Who may not create Events loses them silently: /statusz names what the ClusterRole lacks. */
static void test_events_are_forbidden(void **state)
{
    static const char forbidden[] = "trouble: the API server forbids the agent to create or patch "
                                    "events; allow it in the agent's ClusterRole";
    (void)state;
    world_new();
    node_up();
    assert_null(strstr(page_get("/statusz"), "forbids"));
    took.http = 403;
    agent_device_plugin(world.agent, "neuron.sock");
    world.poked = true;
    pass(10000);
    assert_non_null(strstr(page_get("/statusz"), forbidden));
    assert_int_equal(events_stored(), 0);
}

static unsigned times(const char *text)
{
    unsigned n = 0;
    for (const char *at = strstr(page, text); at != NULL; at = strstr(at + 1, text)) {
        n++;
    }
    return n;
}

static void stays_held(unsigned n, bool held_still)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "trouble: claim ml/claim-%u is gone and stays held; once no container uses its "
                   "devices: neuron-dra-agent release %s\n",
                   n, "c1a10000-0000-4000-8000-0000000000");
    line[strlen(line) - 1u] = 0;
    (void)snprintf(&line[strlen(line)], 8, "%02u\n", n);
    assert_int_equal(times(line), held_still ? 1 : 0);
}

/*
 * Claims that are gone and that nothing proves to be over: each has its line with the command that
 * ends it, once, although the page is longer than a send buffer.
 */
static void test_claims_that_stay_held(void **state)
{
    static const char *const often[] = {"--reconcile-interval", "60s"};
    (void)state;
    world_new();
    settings_set(often, 2);
    for (unsigned n = 0; n < 16; n++) {
        (void)claim_add(n);
    }
    node_up();
    prepare_well(0, 16);
    disk.kubelet_state_status = HOST_ABSENT;
    for (unsigned n = 0; n < 16; n++) {
        api.claim[n].uid[0] = '\0';
    }
    (void)page_get("/statusz");
    assert_int_equal(times("stays held"), 0);
    pass(600000);
    (void)page_get("/statusz");
    assert_true(strlen(page) > HTTP1_TX_BYTES);
    for (unsigned n = 0; n < 16; n++) {
        stays_held(n, true);
    }
    /* one after the other, however little of the page is taken at a time */
    int link = page_connect();
    page[0] = 0;
    page_ask(link, "GET /statusz HTTP/1.0\r\n\r\n");
    while (page_take(link, 61)) {
    }
    assert_true(agent_link_done(world.agent, (unsigned)link));
    for (unsigned n = 0; n < 16; n++) {
        stays_held(n, true);
    }
    unprepare_well(3, 1);
    (void)page_get("/statusz");
    stays_held(3, false);
    assert_int_equal(times("stays held"), 15);
}

/* A slot that cannot be read, and a device that is broken. */
static void test_metrics_of_damage(void **state)
{
    (void)state;
    world_new();
    (void)claim_add(0);
    for (unsigned n = 0; n < 16; n++) {
        world.found.devices[n].reading = (struct device_reading){.known = true};
    }
    struct device_reading *r = &world.found.devices[3].reading;
    *r = (struct device_reading){0};
    device_reading_components(r, view_text("sram"), true);
    node_up();
    metrics_get();
    has_line("neuron_dra_device_healthy{device=\"neuron-device-2\"} 1");
    has_line("neuron_dra_device_healthy{device=\"neuron-device-3\"} 0");
    has_line("neuron_dra_store_quarantined_slots 0");
    world.agent->ledger->entry[7].damaged = true;
    metrics_get();
    has_line("neuron_dra_store_quarantined_slots 1");
    has_line("neuron_dra_store_usable 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_missing),
        cmocka_unit_test(test_refused_type),
        cmocka_unit_test(test_registration_is_asked_for),
        cmocka_unit_test(test_events_are_forbidden),
        cmocka_unit_test(test_claims_that_stay_held),
        cmocka_unit_test(test_metrics_of_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
