/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's devices and its Node object, without a server: which looks are logged, for which
 * driver, what a device waits for, and labels that cannot be read.
 */
#include "tests/unit/node/board_vectors.h"

#include "agent/state.h"
#include "generated/kube_rules.h"

static struct agent agent;
static struct node node;
static struct node_object node_object;
static struct api api;
static struct report report;
static struct driver driver;
static struct settings settings;
static const struct files files; /* no clock: the agent's own time is taken */
static struct found_node found;

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    memset(&node, 0, sizeof node);
    memset(&node_object, 0, sizeof node_object);
    memset(&api, 0, sizeof api);
    memset(&report, 0, sizeof report);
    memset(&settings, 0, sizeof settings);
    settings.log_level = LOG_INFO;
    driver = (struct driver){.kind = DRIVER_NEURON, .shares = 1};
    text_set(driver.name, sizeof driver.name, DRIVER_NAME);
    agent.api = &api;
    agent.report = &report;
    agent.node = &node;
    agent.node_object = &node_object;
    agent.driver = &driver;
    agent.settings = &settings;
    agent.files = &files;
    agent.devices = &node.inventory.devices;
    report_init(&agent);
    randomness_init(&agent.randomness, 1);
    found_board(&found, board_find("trn2.48xlarge"));
    devices_build(&agent.scratch.devices, &found, &agent.scratch.issues);
    return 0;
}

/* What was logged since the last call. */
static const char *logged(void)
{
    const char *text = text_of(log_pending(&report.log));
    log_written(&report.log, log_pending(&report.log).len);
    return text;
}

/* --- looks --- */

static void test_looks_that_are_logged(void **state)
{
    (void)state;
    assert_int_equal(inventory_adopt(&agent), INVENTORY_OTHER);
    const char *line = logged();
    assert_non_null(strstr(line, "event=devices_found instance_type=trn2.48xlarge devices=16 "
                                 "driver_version=" TEST_DRIVER_VERSION "\n"));
    assert_int_equal(inventory_adopt(&agent), INVENTORY_SAME);
    assert_string_equal(logged(), "");
    /* what is published is the same, and an operator changed the LNC of the host */
    agent.scratch.devices.lnc_host = 1;
    assert_int_equal(inventory_adopt(&agent), INVENTORY_SAME);
    assert_non_null(strstr(logged(), " logical_nc_config=1\n"));
    assert_int_equal(inventory_adopt(&agent), INVENTORY_SAME);
    assert_string_equal(logged(), "");
}

/* EFA devices have no kernel module of a version, and say nothing of the instance type. */
static void test_looks_at_efas(void **state)
{
    (void)state;
    driver.kind = DRIVER_EFA;
    text_set(node_object.facts.instance_type, ATTRIBUTE_VALUE_CAP, "trn1.32xlarge");
    assert_int_equal(inventory_adopt(&agent), INVENTORY_OTHER);
    const char *line = logged();
    assert_non_null(strstr(line, "event=devices_found"));
    assert_null(strstr(line, "driver_version"));
    assert_null(strstr(line, "instance_type_mismatch_found"));
}

static void test_type_of_the_node(void **state)
{
    (void)state;
    text_set(node_object.facts.instance_type, ATTRIBUTE_VALUE_CAP, "trn1.32xlarge");
    assert_int_equal(inventory_adopt(&agent), INVENTORY_OTHER);
    assert_non_null(strstr(logged(), "event=instance_type_mismatch_found label=trn1.32xlarge "
                                     "found=trn2.48xlarge"));
    node_check_type(&agent);
    assert_string_equal(logged(), ""); /* said once */
    /* a product name that cannot be read contradicts no label */
    node.inventory.devices.instance_type[0] = '\0';
    node_check_type(&agent);
    assert_string_equal(logged(), "");
    text_set(node.inventory.devices.instance_type, ATTRIBUTE_VALUE_CAP, "trn2.48xlarge");
    node_check_type(&agent);
    assert_non_null(strstr(logged(), "event=instance_type_mismatch_found"));
}

/* --- verdicts --- */

/* A device waits if it is unhealthy, here, and shows no error now nor a moment ago. */
static void test_waiting(void **state)
{
    static const struct {
        unsigned number;
        enum health health;
        uint32_t reasons; /* of the last look */
        uint8_t rising;
        bool waits;
    } rows[] = {
        {3, HEALTH_UNHEALTHY, 0, 0, true},
        {3, HEALTH_HEALTHY, 0, 0, false},
        {3, HEALTH_UNHEALTHY, HEALTH_REASON_GONE, 0, false},
        {3, HEALTH_UNHEALTHY, 0, 1, false},
        {40, HEALTH_UNHEALTHY, 0, 0, false},
    };
    (void)state;
    assert_int_equal(inventory_adopt(&agent), INVENTORY_OTHER);
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct health_track *h = &node.device_states.device[rows[i].number];
        int at = devices_numbered(agent.devices, 3);
        memset(h, 0, sizeof *h);
        h->seen = true;
        h->state = (uint8_t)rows[i].health;
        h->rising = rows[i].rising;
        node.inventory.devices.device[at].reading.reasons = rows[i].reasons;
        struct device_verdict v = device_states_verdict(&agent, rows[i].number);
        assert_true(v.given && v.waits == rows[i].waits);
        assert_int_equal(v.state, rows[i].health);
    }
}

/* --- records of the Node --- */

static void test_unreadable_label(void **state)
{
    struct kube_record record = {.record = KUBE_LABEL};
    (void)state;
    record.message = view_of("\x0a\x25topology.k8s.aws/network-node-layer-1\x12\x02n1", 43);
    node_record(&agent, NULL, &record);
    assert_string_equal(node_object.now.labels.network_layer[0], "n1");
    record.message = view_of("\x0a\x25topology.k8s.aws/network-node-layer-1\x12\x02\xff\xff", 43);
    node_record(&agent, NULL, &record);
    assert_string_equal(node_object.now.labels.network_layer[0], "n1");
}

/* --- reads of the Node --- */

/* A read that is under way is not asked for again; a watch that runs is no read. */
static void test_read_under_way(void **state)
{
    (void)state;
    struct api_exchange *x = &api.client.exchange[API_SLOT_NODE];
    node_object.watch.unusable = true;
    node_object.get_due_ms = UINT64_MAX;
    agent.now_ms = 5000;
    x->state = EXCHANGE_OVER;
    x->result.kind = API_GET_NODE;
    node_refresh(&agent);
    node_read(&agent);
    assert_false(node_object.awaited);
    assert_int_equal(node_object.get_due_ms, UINT64_MAX);
    x->result.kind = API_WATCH_NODE;
    node_read(&agent);
    assert_int_equal(node_object.get_due_ms, 5000);
    assert_false(node_object.awaited);
    agent.now_ms = 6000;
    node_read(&agent); /* it is due already */
    assert_int_equal(node_object.get_due_ms, 5000);
    node_refresh(&agent);
    assert_true(node_object.awaited);
    assert_int_equal(node_object.get_due_ms, 6000);
}

/* What a read has brought so far says nothing of the watch, which has the same slot. */
static void test_read_is_no_watch(void **state)
{
    struct api_exchange *x = &api.client.exchange[API_SLOT_NODE];
    (void)state;
    api.connection.state = API_UP;
    agent.now_ms = 5000;
    watch_init(&node_object.watch, API_SLOT_NODE, true);
    node_object.watch.unusable = true;
    node_object.watch.silent_ms = UINT64_MAX;
    node_object.get_due_ms = UINT64_MAX;
    x->state = EXCHANGE_OPEN;
    x->response.http_status = HTTP_OK;
    x->result.kind = API_GET_NODE;
    node_step(&agent);
    assert_true(node_object.watch.unusable);
    assert_int_equal(node_deadline(&agent), UINT64_MAX);
    x->result.kind = API_WATCH_NODE;
    node_step(&agent);
    assert_false(node_object.watch.unusable);
}

/* --- the watch --- */

/* The object of an event that is not the Node of this name is not learned, nor is its deletion. */
static void test_event_without_the_node(void **state)
{
    static const char *const types[] = {"\x0a\x08MODIFIED", "\x0a\x07"
                                                            "DELETED"};
    const struct api_result r = {.http = HTTP_OK};
    (void)state;
    text_set(settings.node_name, sizeof settings.node_name, "node-a");
    node_object.presence = NODE_PRESENT;
    text_set(node_object.facts.uid, UID_CAP, "uid-1");
    for (unsigned i = 0; i < COUNT(types); i++) {
        struct kube_record record = {.record = KUBE_WATCH_EVENT};
        record.message = view_text(types[i]);
        node_watch_record(&agent, &r, &record);
        record = (struct kube_record){.record = KUBE_META};
        record.message = view_text("\x0a\x06node-b\x1a\x05uid-2");
        node_watch_record(&agent, &r, &record);
        record = (struct kube_record){.record = KUBE_OBJECT_END};
        node_watch_record(&agent, &r, &record);
        assert_int_equal(node_presence(&agent), NODE_PRESENT);
        assert_string_equal(node_facts(&agent)->uid, "uid-1");
        assert_false(node_changed(&agent));
    }
}

static void watch_anew(bool silent)
{
    memset(&node_object.watch, 0, sizeof node_object.watch);
    watch_init(&node_object.watch, API_SLOT_NODE, true);
    node_object.watch.silent_ms = silent ? 1 : UINT64_MAX;
    node_object.get_due_ms = UINT64_MAX;
    agent.now_ms = 5000;
}

/* What a server that goes away did not process is no refusal: the Node is read, silently. */
static void test_watch_that_is_not_processed(void **state)
{
    struct api_result r = {.http = HTTP_FORBIDDEN, .unprocessed = true};
    (void)state;
    watch_anew(false);
    api.connection.state = API_DRAINING;
    node_watch_end(&agent, &r);
    assert_string_equal(logged(), "");
    assert_true(node_object.watch.unusable);
    assert_int_equal(node_object.get_due_ms, 5000);
    /* the same refusal by a server that stays */
    watch_anew(false);
    api.connection.state = API_UP;
    r.unprocessed = false;
    node_watch_end(&agent, &r);
    assert_non_null(strstr(logged(), "doing=\"watch Node\""));
}

/* A refusal that the last line called transient, and that stays, is logged with its remedy. */
static void test_watch_refused_after_all(void **state)
{
    struct api_result r = {.http = HTTP_FORBIDDEN, .status = PEER_REFUSED, .roles_unread = true};
    (void)state;
    watch_anew(false);
    api.connection.state = API_UP;
    node_object.watch.unusable = true; /* it was refused before this connection */
    node_watch_end(&agent, &r);
    assert_non_null(strstr(logged(), "remedy=\"none needed: the agent retries\""));
    r.roles_unread = false;
    node_watch_end(&agent, &r);
    assert_non_null(strstr(logged(), "remedy=\"grant the agent's ClusterRole"));
    node_watch_end(&agent, &r);
    assert_string_equal(logged(), "");
}

/* A watch that stays silent twice in a short time is reported once; the Node is read each time. */
static void test_silent_watches(void **state)
{
    const struct api_result r = {.http = HTTP_OK};
    (void)state;
    api.connection.state = API_UP;
    api.client.streams = API_STREAMS_ENOUGH;
    for (unsigned i = 0; i < 2; i++) {
        watch_anew(true);
        node_watch_end(&agent, &r);
        assert_true(node_object.get_due_ms < UINT64_MAX);
        assert_int_equal(strstr(logged(), "doing=\"watch Node\"") != NULL, i == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_looks_that_are_logged, setup),
        cmocka_unit_test_setup(test_looks_at_efas, setup),
        cmocka_unit_test_setup(test_type_of_the_node, setup),
        cmocka_unit_test_setup(test_waiting, setup),
        cmocka_unit_test_setup(test_unreadable_label, setup),
        cmocka_unit_test_setup(test_read_under_way, setup),
        cmocka_unit_test_setup(test_read_is_no_watch, setup),
        cmocka_unit_test_setup(test_event_without_the_node, setup),
        cmocka_unit_test_setup(test_watch_that_is_not_processed, setup),
        cmocka_unit_test_setup(test_watch_refused_after_all, setup),
        cmocka_unit_test_setup(test_silent_watches, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
