/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole agent and its Node: labels become attributes, which go when the labels go, a Node that
 * was created again becomes the owner, and where the watch does not work the Node is read instead.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#define NEW_UID "5ad9b0c4-0000-4000-8000-0000000000ff"

static void up(void)
{
    world_new();
    node_up();
    assert_int_equal(api_slices(), 1);
    assert_non_null(api_watch_of(SIM_NODE));
    api_forget();
    log_forget();
}

static void check_right(void)
{
    assert_string_equal(slice_owner(api_slice_only()), api.node_uid);
    assert_true(publish_current(world.agent));
}

/* Text of an attribute of the first device; NULL: it has none of that name. */
static const char *attribute(const char *key)
{
    static char text[80];
    const struct sim_object *s = api_slice_only();
    struct view device = proto_get(slice_spec(s), 6).bytes;
    struct reader in = reader_of(device);
    struct sim_field f;
    while (proto_next(&in, &f)) {
        if (f.number == 2 && view_is(proto_get(f.bytes, 1).bytes, key)) {
            proto_text(proto_get(f.bytes, 2).bytes, 4, text, sizeof text);
            return text;
        }
    }
    return NULL;
}

/* --- the watch --- */

/*
 * API group, Node, list, create, watch; the fourth is missing where nothing has to be created.
 */
static void test_requests_of_a_start(void **state)
{
    (void)state;
    world_new();
    node_up();
    assert_int_equal(api_asked(""), 5);
    assert_int_equal(api_asked(NODE_READS), 0);
    assert_int_equal(api_asked(NODE_WATCHES), 1);
    api_forget();
    restart();
    register_driver();
    pass(2000);
    assert_int_equal(api_asked(""), 4);
    assert_int_equal(api_writes(), 0);
    check_right();
}

/* A server that answers after seconds, or refuses the first watch, costs no other request. */
static void test_requests_of_a_slow_start(void **state)
{
    (void)state;
    world_new();
    api.hangs = true;
    start();
    register_driver();
    pass(NODE_SILENT_MS * 2);
    assert_int_equal(api_asked(""), 2); /* API group and Node wait */
    api_forget();
    api_release(); /* which counts both once more */
    pass(5000);
    check_right();
    assert_int_equal(api_asked(NODE_READS), 0);
    assert_int_equal(api_asked(NODE_WATCHES), 1);
    assert_int_equal(api_asked(""), 5);
    assert_null(strstr(world.log, "api_request_failed"));
}

static void test_requests_of_a_busy_start(void **state)
{
    (void)state;
    world_new();
    api.node_watch_http = 429;
    start();
    register_driver();
    pass(1000);
    unsigned refused = api_asked(NODE_WATCHES);
    assert_in_range(refused, 1, 2);
    api.node_watch_http = 0;
    pass(5000);
    check_right();
    assert_int_equal(api_asked(NODE_READS), 0);
    assert_int_equal(api_asked(NODE_WATCHES), refused + 1);
    assert_int_equal(api_asked(""), refused + 5);
    log_has("doing=\"watch Node\"");
    log_has("remedy=\"none needed: the agent retries\"");
}

/* One that refuses watches alone for good: the Node is read. */
static void test_busy_for_watches_alone(void **state)
{
    (void)state;
    world_new();
    api.node_watch_http = 503;
    node_up();
    pass(10000);
    check_right();
    assert_int_equal(api_asked(NODE_READS), 1);
}

/* Bookmarks once a minute, watches that the server ends as it was asked to. */
static void test_requests_of_a_quiet_day(void **state)
{
    (void)state;
    up();
    for (unsigned minute = 1; minute <= 24 * 60; minute++) {
        pass(60000);
        if (minute % 60 == 0) {
            api_watch_end(SIM_NODE);
            api_watch_end(SIM_SLICE);
            pass(1000);
        }
        sim_api_bookmark(&server, SIM_SLICE);
        sim_api_bookmark(&server, SIM_NODE);
    }
    assert_in_range(api_asked(""), 100, 200);
    assert_in_range(api_lists(), 100, 144);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(api_asked(NODE_READS), 0);
    check_right();
}

static void test_labels_come_and_go(void **state)
{
    (void)state;
    up();
    assert_null(attribute("networkNodeLayer2"));
    api.label[LABEL_LAYER_2] = "nn-2";
    api_node_touch();
    pass(500);
    assert_string_equal(attribute("networkNodeLayer2"), "nn-2");
    assert_null(attribute("networkNodeLayer1"));
    api.label[LABEL_LAYER_2] = "nn-3";
    api_node_touch();
    pass(500);
    assert_string_equal(attribute("networkNodeLayer2"), "nn-3");
    api.label[LABEL_LAYER_2] = NULL;
    api_node_touch();
    pass(500);
    assert_null(attribute("networkNodeLayer2"));
    assert_int_equal(api_writes(), 3);
    /* what else changes of the Node costs nothing */
    for (unsigned i = 0; i < 100; i++) {
        api_node_touch();
        pass(1000);
    }
    assert_int_equal(api_lists(), 3);
    check_right();
}

/* Two changes arrive in one read: the slices have the second one, by one write. */
static void test_labels_change_twice_at_once(void **state)
{
    (void)state;
    up();
    api.label[LABEL_LAYER_2] = "nn-2";
    api_node_touch();
    api_pump(world.now_ms);
    api.label[LABEL_LAYER_2] = "nn-3";
    api_node_touch();
    pass(500);
    assert_string_equal(attribute("networkNodeLayer2"), "nn-3");
    assert_int_equal(api_writes(), 1);
    check_right();
}

static void test_capacity_block(void **state)
{
    (void)state;
    up();
    api.label[LABEL_BLOCK] = "cb-0123";
    api_node_touch();
    pass(20000);
    assert_null(attribute("capacityBlockId"));
    assert_int_equal(api_writes(), 0);
    world_new();
    const char *flags[] = {"--ultraserver-devices", "node"};
    settings_set(flags, 2);
    found_set("trn2u.48xlarge", 16, 8);
    api.label[LABEL_BLOCK] = "cb-0123";
    node_up();
    assert_string_equal(attribute("capacityBlockId"), "cb-0123");
    assert_null(attribute("topology_x"));
}

static void test_made_anew(void **state)
{
    (void)state;
    up();
    api_node_create(NEW_UID);
    pass(500);
    check_right();
    assert_int_equal(api_asked("PUT "), 1);
    assert_int_equal(api_writes(), 1);
    log_has("node_changed");
    /* deleted first: the garbage collector takes the slice, and the next Node gets a new one */
    api_node_delete();
    api_slice_delete(api_slice_only());
    pass(60000);
    assert_int_equal(api_slices(), 0);
    assert_false(agent_ready(world.agent));
    api_node_create(NODE_UID);
    pass(1500);
    check_right();
}

/* What happened while no connection was there. */
static void test_made_anew_while_away(void **state)
{
    (void)state;
    up();
    api.reachable = false;
    api_end("");
    settle();
    api_node_delete();
    api_node_create(NEW_UID);
    pass(30000);
    api.reachable = true;
    pass(60000);
    check_right();
    log_has("node_changed");
}

/* Path of the watch under way. */
static bool watches_from(uint64_t version)
{
    char text[48];
    (void)snprintf(text, sizeof text, "&resourceVersion=%llu", (unsigned long long)version);
    const char *at = strstr(api_watch_of(SIM_NODE)->path, text);
    return at != NULL && at[strlen(text)] == 0;
}

static void test_resumed(void **state)
{
    (void)state;
    up();
    server.store.version = 9000;
    sim_api_bookmark(&server, SIM_NODE);
    settle();
    api_watch_end(SIM_NODE);
    pass(2000);
    assert_true(watches_from(9000));
    assert_int_equal(api_asked(""), 1);
}

static void test_expired(void **state)
{
    (void)state;
    up();
    sim_api_expire(&server, SIM_NODE);
    pass(2000);
    assert_null(strstr(api_watch_of(SIM_NODE)->path, "resourceVersion"));
    assert_int_equal(api_asked(NODE_READS), 0);
    api.node_watch_http = 410;
    api_watch_end(SIM_NODE);
    pass(2000);
    api.node_watch_http = 0;
    pass(5000);
    assert_null(strstr(api_watch_of(SIM_NODE)->path, "resourceVersion"));
    assert_int_equal(api_lists(), 0);
    assert_null(strstr(world.log, "api_request_failed"));
    check_right();
}

/* The end of an earlier Node object of this name is reported after the new one: it ends nothing. */
static void test_deletion_of_an_earlier_node(void **state)
{
    (void)state;
    up();
    sim_api_tell(&server, SIM_NODE, "DELETED", "node-a");
    pass(2000);
    assert_null(strstr(world.log, "the Node object was deleted"));
    check_right();
    assert_int_equal(sim_api_delete(&server, SIM_NODE, "", "node-a"), STATUS_OK);
    pass(2000);
    log_has("the Node object was deleted");
}

/* A server that ends every watch at once is not asked in a storm. */
static void test_short_watches(void **state)
{
    (void)state;
    up();
    for (unsigned i = 0; i < 600; i++) {
        if (api_watch_of(SIM_NODE) != NULL) {
            api_watch_end(SIM_NODE);
        }
        pass(100);
    }
    assert_in_range(api_asked(NODE_WATCHES), 3, 12);
}

/* --- without a watch --- */

/* A busy server refuses the watch: it is asked again within seconds, unlike one that forbids it. */
static void test_watch_of_a_busy_server(void **state)
{
    static const unsigned codes[] = {429, 403};
    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        world_new();
        api.node_watch_http = codes[i];
        node_up();
        pass(60000);
        log_has("doing=\"watch Node\"");
        assert_int_equal(api_asked(NODE_WATCHES) > 3, codes[i] == 429u);
    }
}

/* A role that grants no watch: said once, read at the start and with each round. */
static void test_watch_refused(void **state)
{
    (void)state;
    world_new();
    api.node_watch_http = 403;
    api.label[LABEL_LAYER_1] = "nn-1";
    node_up();
    assert_string_equal(attribute("networkNodeLayer1"), "nn-1");
    check_right();
    log_has("doing=\"watch Node\"");
    log_has("grant the agent's ClusterRole get, list and watch on nodes");
    log_forget();
    api_forget();
    api.label[LABEL_LAYER_1] = "nn-one";
    api_node_touch();
    pass(15u * 60000u);
    assert_string_equal(attribute("networkNodeLayer1"), "nn-one");
    assert_null(strstr(world.log, "watch Node"));
    assert_in_range(api_asked(NODE_WATCHES), 3, 7);
    assert_in_range(api_asked(NODE_READS), 1, 2);
    api_node_create(NEW_UID);
    pass(15u * 60000u);
    check_right();
    /* granted at last */
    api.node_watch_http = 0;
    pass(REFUSED_MAX_MS * 3u / 2u);
    assert_non_null(api_watch_of(SIM_NODE));
    sim_api_bookmark(&server, SIM_NODE);
    pass(1000);
    api_forget();
    pass(3600000);
    assert_int_equal(api_asked(NODE_READS), 0);
}

/* The agent starts, and its watch reports nothing of the Node. */
static void start_unseen(void)
{
    world_new();
    api.node_silent = true;
    start();
    register_driver();
}

/* A proxy that swallows the watch's events. */
static void test_watch_silent(void **state)
{
    (void)state;
    start_unseen();
    pass(NODE_SILENT_MS + 4000);
    check_right();
    assert_int_equal(api_asked(NODE_READS), 1);
    assert_non_null(api_watch_of(SIM_NODE));
    log_has("event=api_request_failed doing=\"watch Node\" status=peer-timeout");
    log_has("remedy=\"nothing: the Node is read instead\"");
    api_node_create(NEW_UID);
    pass(15u * 60000u);
    check_right();
}

/* Until the Node was seen, an event without it is as good as silence. */
static void test_watch_without_the_node(void **state)
{
    (void)state;
    start_unseen();
    pass(1500);
    for (unsigned i = 0; i < NODE_SILENT_MS / 500 && api_watch_of(SIM_NODE) != NULL; i++) {
        server.store.version += 1000;
        sim_api_bookmark(&server, SIM_NODE);
        sim_api_tell(&server, SIM_NODE, "DELETED", "another");
        pass(500);
    }
    pass(4000);
    assert_int_equal(api_asked(NODE_READS), 1);
    check_right();
}

/* The version of such an event is not resumed: a server behind it would never report the Node. */
static void test_watch_without_the_node_moved(void **state)
{
    (void)state;
    start_unseen();
    pass(1500);
    assert_non_null(api_watch_of(SIM_NODE));
    server.store.version += 1000;
    sim_api_bookmark(&server, SIM_NODE);
    sim_api_tell(&server, SIM_NODE, "DELETED", "another");
    settle();
    api_end("");
    api.node_silent = false;
    pass(3000 + API_RECONNECT_MS);
    check_right();
}

/* A proxy that ends every watch before it told anything. */
static void test_watch_untold(void **state)
{
    (void)state;
    start_unseen();
    for (unsigned i = 0; i < 300; i++) {
        if (api_watch_of(SIM_NODE) != NULL) {
            api_watch_end(SIM_NODE);
        }
        pass(100);
    }
    check_right();
    assert_in_range(api_asked(NODE_WATCHES), 3, 12);
    assert_in_range(api_asked(NODE_READS), 1, 3);
}

static void test_absent(void **state)
{
    (void)state;
    world_new();
    api.node_absent = true;
    node_up();
    pass(600000);
    assert_int_equal(api_slices(), 0);
    assert_in_range(api_asked(NODE_READS), 10, 30);
    assert_int_equal(api_lists(), 0);
    log_has("check --node-name");
    api_node_create(NODE_UID);
    pass(1500);
    check_right();
}

/* Neither watch nor read is granted: words, no storm, and all is well when they are. */
static void test_all_refused(void **state)
{
    (void)state;
    world_new();
    api.node_watch_http = 403;
    api.node_http = 403;
    node_up();
    api_forget();
    log_forget();
    pass(600000);
    assert_in_range(api_asked(""), 10, 35);
    assert_int_equal(api_slices(), 0);
    unsigned said = 0;
    for (const char *at = strstr(world.log, "api_request_failed"); at != NULL;
         at = strstr(at + 1, "api_request_failed")) {
        said++;
    }
    assert_in_range(said, 5, 11);
    api.node_http = 0;
    pass(60000);
    check_right();
}

/* An answer that is another Node's. */
static void test_stranger(void **state)
{
    (void)state;
    world_new();
    api.node_silent = true;
    api.node_uid = "";
    node_up();
    pass(10000);
    log_has("api_response_unexpected");
    assert_int_equal(api_slices(), 0);
    api.node_uid = NODE_UID;
    pass(60000);
    check_right();
}

/* --- the type --- */

static unsigned type_said(void)
{
    unsigned said = 0;
    for (const char *at = strstr(world.log, "event=instance_type_mismatch_found"); at != NULL;
         at = strstr(at + 1, "event=instance_type_mismatch_found")) {
        said++;
    }
    return said;
}

static void test_type(void **state)
{
    (void)state;
    up();
    api.label[LABEL_TYPE] = "ml.trn2.48xlarge";
    api.label[LABEL_BETA_TYPE] = "trn1.2xlarge"; /* the older label counts less */
    api_node_touch();
    pass(1000);
    assert_int_equal(type_said(), 0);
    api.label[LABEL_TYPE] = "trn1.32xlarge";
    for (unsigned i = 0; i < 5; i++) {
        api_node_touch();
        pass(1000);
    }
    assert_int_equal(type_said(), 1);
    log_has("label=trn1.32xlarge found=trn2.48xlarge");
    api.label[LABEL_TYPE] = NULL;
    api_node_touch();
    pass(1000);
    assert_int_equal(type_said(), 2);
    assert_int_equal(api_writes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_of_a_start),
        cmocka_unit_test(test_requests_of_a_slow_start),
        cmocka_unit_test(test_requests_of_a_busy_start),
        cmocka_unit_test(test_busy_for_watches_alone),
        cmocka_unit_test(test_requests_of_a_quiet_day),
        cmocka_unit_test(test_labels_come_and_go),
        cmocka_unit_test(test_labels_change_twice_at_once),
        cmocka_unit_test(test_capacity_block),
        cmocka_unit_test(test_made_anew),
        cmocka_unit_test(test_made_anew_while_away),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_deletion_of_an_earlier_node),
        cmocka_unit_test(test_short_watches),
        cmocka_unit_test(test_watch_of_a_busy_server),
        cmocka_unit_test(test_watch_refused),
        cmocka_unit_test(test_watch_silent),
        cmocka_unit_test(test_watch_without_the_node),
        cmocka_unit_test(test_watch_without_the_node_moved),
        cmocka_unit_test(test_watch_untold),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_all_refused),
        cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
