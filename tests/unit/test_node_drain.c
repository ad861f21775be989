/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draining a node by a label of its Node, in the whole agent: the taint, the claims that are left,
 * the drained node and its file, the end of the drain; and a kernel module that is reloaded under
 * live claims.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "agent/recovery/node_drain.h"
#include "agent/serve/statusz.h"

#define SETTLED (DRAIN_SETTLE_MS + 2000u)
#define DRAINS "text=\"the label neuron.aws.com/drain is true: new pods get no device\""
#define ENDS "node_changed text=\"the drain ends: devices are offered again\""

static void begin(void)
{
    world_new();
    devices_placed(16);
    for (unsigned n = 0; n < 8; n++) {
        (void)claim_add(n);
    }
    node_up();
    assert_true(publish_current(world.agent));
    api_forget();
    log_forget();
}

static void label(const char *value)
{
    api.label[LABEL_DRAIN] = value;
    api_node_touch();
    pass(2000);
}

/* What a look at the devices finds. */
static void find(const struct found_node *found)
{
    agent_found(world.agent, found);
    world.poked = true;
    pass(2000);
}

/* --- what is stored and shown --- */

/* How many stored devices have `taints` taints; *listed: how many there are. */
static unsigned tainted(unsigned taints, unsigned *listed)
{
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    unsigned n = 0;
    *listed = 0;
    while (proto_next(&in, &f)) {
        if (f.number == 6) {
            ++*listed;
            n += (proto_count(f.bytes, 8) == taints) ? 1u : 0u;
        }
    }
    return n;
}

static void check_stored(unsigned listed, unsigned taints)
{
    unsigned seen = 0;
    assert_int_equal(tainted(taints, &seen), listed);
    assert_int_equal(seen, listed);
    assert_true(publish_current(world.agent));
}

static bool page_shows(const char *line, size_t len)
{
    char text[2048];
    bool more = true;
    bool found = false;
    for (unsigned i = 0; more; i++) {
        struct writer w = writer_of(text, sizeof text - 1);
        memset(text, 0, sizeof text);
        more = statusz_line(world.agent, i, &w);
        found = found || strncmp(text, line, len) == 0;
    }
    return found;
}

static bool page_has(const char *line)
{
    return page_shows(line, strlen(line) + 1u);
}

static bool page_starts(const char *words)
{
    return page_shows(words, strlen(words));
}

static bool has_drained_file(void)
{
    return disk_find(FILES_CDI, DRAINED_FILE) != NULL;
}

static void check_draining(const char *claims)
{
    char line[128];
    (void)snprintf(line, sizeof line, "trouble: the node is draining, claims left: %s", claims);
    assert_true(page_has(line));
    assert_false(page_has("trouble: the node is drained: the kernel module may be unloaded"));
    assert_false(has_drained_file());
    check_metric("draining", "1");
    check_metric("claims_held", claims);
    assert_true(agent_ready(world.agent));
}

static void check_drained(void)
{
    assert_true(page_has("trouble: the node is drained: the kernel module may be unloaded"));
    assert_true(has_drained_file());
    check_metric("draining", "2");
    assert_true(agent_ready(world.agent));
}

static void check_offered(void)
{
    assert_false(page_has("trouble: the node is draining, claims left: 0"));
    assert_false(page_has("trouble: the node is drained: the kernel module may be unloaded"));
    assert_false(has_drained_file());
    check_metric("draining", "0");
    check_stored(16, 0);
}

/* --- the tests --- */

/* A drain from its beginning to its end: what is offered, who is named, and when it is over. */
static void test_drain(void **state)
{
    (void)state;
    begin();
    prepare_well(1, 2);
    label("true");
    assert_int_equal(said(DRAINS), 1);
    check_stored(16, 1);
    check_draining("2");
    assert_true(page_has("trouble: the drain waits for claim ml/claim-1 of Pod claim-1"));
    assert_true(page_has("trouble: the drain waits for claim ml/claim-2 of Pod claim-2"));
    pass(2 * SETTLED);
    check_draining("2");
    prepare_well(3, 1); /* it was allocated before the scheduler saw the taint */
    check_draining("3");
    unprepare_well(1, 3);
    pass(DRAIN_SETTLE_MS - 2000);
    check_draining("0");
    assert_int_equal(said("event=node_drained"), 0);
    pass(SETTLED);
    check_drained();
    assert_int_equal(said("event=node_drained"), 1);
    assert_non_null(strstr(event_only("NodeDrained")->note, "the kernel module may be unloaded"));
    assert_non_null(strstr(prepare_error(prepare_now(4, 1), 4),
                           "drained until the label neuron.aws.com/drain is removed"));
    pass(600000);
    assert_int_equal(said("event=node_drained"), 1);
    label(NULL);
    assert_int_equal(said(ENDS), 1);
    check_offered();
    prepare_well(4, 1);
    assert_int_equal(said(DRAINS), 1);
}

/* The label's other values: no drain, and a line once for each that means nothing. */
static void test_values(void **state)
{
    (void)state;
    begin();
    label("false");
    label("");
    assert_int_equal(said("event=node_changed"), 0);
    label("yes");
    pass(60000);
    log_has("the label neuron.aws.com/drain is neither true nor false: no drain");
    assert_int_equal(said("event=node_changed"), 1);
    check_offered();
    assert_int_equal(api_writes(), 0);
    label("true");
    check_stored(16, 1);
    label("false");
    assert_int_equal(said(ENDS), 1);
    check_offered();
    label("true");
    label("no");
    log_has("the label neuron.aws.com/drain is neither true nor false: no drain");
    check_offered();
}

/* A server that drops taints: devices are left out, but not those of claims. */
static void test_taints_dropped(void **state)
{
    (void)state;
    begin();
    api.drops_taints = true;
    prepare_well(1, 2);
    find(&world.found);
    label("true");
    pass(10000);
    check_stored(2, 0);
    check_draining("2");
    unprepare_well(1, 1);
    find(&world.found);
    pass(10000);
    check_stored(1, 0);
    unprepare_well(2, 1);
    find(&world.found);
    pass(2 * SETTLED);
    check_stored(0, 0);
    check_drained();
    label(NULL);
    check_offered();
    api.drops_taints = false; /* the server was updated */
    find(&world.found);
    label("true");
    check_stored(16, 1);
}

/* The module is unloaded and loaded while the node is drained: offered when the label goes. */
static void test_reloaded_when_drained(void **state)
{
    struct found_node without = {0};
    (void)state;
    begin();
    label("true");
    pass(SETTLED);
    check_drained();
    find(&without);
    pass(DEVICES_GRACE_MS);
    find(&without);
    check_stored(0, 0);
    find(&world.found);
    check_stored(16, 1);
    label(NULL);
    check_offered();
    assert_int_equal(said("event=devices_lost_in_use"), 0);
}

/* An agent that starts on a drained node does not wait again, and ends a drain that is over. */
static void test_restart(void **state)
{
    (void)state;
    begin();
    label("true");
    pass(SETTLED);
    check_drained();
    api.node_http = 503; /* the Node cannot be read yet */
    api.node_watch_http = 503;
    restart();
    register_driver();
    assert_non_null(strstr(prepare_error(prepare_now(4, 1), 4), "the node is drained"));
    pass(60000);
    check_metric("draining", "2");
    assert_true(page_has("trouble: the node is drained: the kernel module may be unloaded"));
    assert_true(has_drained_file());
    api.node_http = 0;
    api.node_watch_http = 0;
    pass(60000);
    check_drained();
    assert_int_equal(said("event=node_drained"), 1); /* the first process reported it */
    api.label[LABEL_DRAIN] = NULL;
    (void)api_node_store();
    restart();
    register_driver();
    pass(2000);
    check_offered();
}

/* A stale file is removed: claims are held. */
static void test_file_of_another_drain(void **state)
{
    (void)state;
    begin();
    prepare_well(1, 1);
    (void)disk_make(FILES_CDI, DRAINED_FILE);
    label("true");
    check_draining("1");
    unprepare_well(1, 1);
    pass(DRAIN_SETTLE_MS / 2);
    check_draining("0");
    pass(SETTLED);
    check_drained();
}

/* The same, found by an agent that starts. */
static void test_file_and_claims_at_start(void **state)
{
    (void)state;
    begin();
    label("true");
    prepare_well(1, 1);
    (void)disk_make(FILES_CDI, DRAINED_FILE);
    restart();
    register_driver();
    pass(2 * SETTLED);
    check_draining("1");
}

/* A claim that is known from its CDI file alone has no pod. */
static void test_claim_of_a_lost_store(void **state)
{
    (void)state;
    begin();
    prepare_well(1, 1);
    kill_agent();
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), 0, 0xa5, STORE_FILE_BYTES);
    api.claims_http = 503;
    api.label[LABEL_DRAIN] = "true";
    (void)api_node_store();
    start();
    register_driver();
    pass(2 * SETTLED);
    check_metric("draining", "1");
    assert_true(page_starts("trouble: the drain waits for claim "));
    assert_false(page_starts("trouble: the drain waits for claim ml/claim-1 of "));
}

/* Where the file cannot be written, the node is not drained, until it can. */
static void test_file_refused(void **state)
{
    (void)state;
    begin();
    label("true");
    disk.refuse[FILES_CDI] = true;
    disk.refusal = HOST_NO_SPACE;
    pass(3 * SETTLED);
    assert_int_equal(said("event=node_drained"), 0);
    assert_false(has_drained_file());
    assert_true(page_has("trouble: the node is draining, claims left: 0; the file "
                         "neuron.aws.com-drained cannot be written to the CDI root"));
    disk.refuse[FILES_CDI] = false;
    pass(SETTLED);
    check_drained();
}

/* Slices that are not stored keep a scheduler from seeing the drain. */
static void test_not_published(void **state)
{
    (void)state;
    begin();
    prepare_well(1, 1);
    api.write_http = 503;
    label("true");
    pass(3 * SETTLED);
    assert_true(page_has("trouble: the node is draining, claims left: 1"));
    unprepare_well(1, 1);
    pass(SETTLED);
    assert_int_equal(said("event=node_drained"), 0);
    assert_true(page_starts("trouble: the node is draining, claims left: 0; the slices are not "
                            "stored: "));
    api.write_http = 0;
    pass(60000 + SETTLED);
    check_drained();
}

/* A removal that fails is tried again: a pod must not take a node in use for a drained one. */
static void test_removal_refused(void **state)
{
    (void)state;
    begin();
    label("true");
    pass(SETTLED);
    check_drained();
    disk.refuse_remove[FILES_CDI] = true;
    disk.refusal = HOST_DENIED;
    label(NULL);
    check_metric("draining", "0");
    assert_true(has_drained_file());
    pass(60000);
    disk.refuse_remove[FILES_CDI] = false;
    pass(SETTLED);
    check_offered();
}

static void hand_over(void)
{
    disk.locked_by_other[DRIVER_NEURON][LOCK_NEXT] = HOLDER_AGENT;
    pass(HANDOVER_CHECK_MS);
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_AGENT;
    disk.locked_by_other[DRIVER_NEURON][LOCK_NEXT] = HOLDER_NOBODY;
}

static void take_back(void)
{
    disk.locked_by_other[DRIVER_NEURON][LOCK_OWNER] = HOLDER_NOBODY;
    pass(STORE_BUSY_MS + 2000);
}

/* Another agent takes over, and dies: the owner of the claim store alone decides. */
static void test_handover(void **state)
{
    (void)state;
    begin();
    prepare_well(1, 1);
    label("true");
    check_draining("1");
    hand_over();
    pass(3 * SETTLED);
    assert_false(has_drained_file());
    take_back();
    check_draining("1");
    unprepare_well(1, 1);
    pass(SETTLED);
    check_drained();
    hand_over();
    pass(3 * SETTLED);
    check_metric("draining", "2");
    disk_unlink(
        disk_find(FILES_CDI, DRAINED_FILE)); /* the other agent prepared a claim, and ended */
    take_back();
    check_draining("0");
    pass(SETTLED);
    check_drained();
    hand_over();
    label(NULL);
    pass(SETTLED);
    check_metric("draining", "0");
    assert_true(has_drained_file()); /* the owner removes it */
    take_back();
    check_offered();
}

/* --- a module that is reloaded under claims --- */

static void test_lost_under_claims(void **state)
{
    struct found_node without = {0};
    (void)state;
    begin();
    prepare_well(1, 2);
    find(&without);
    assert_int_equal(said("event=devices_lost_in_use"), 1);
    log_has("claims_held=2");
    log_has("claims=\"ml/claim-1 of Pod claim-1, ml/claim-2 of Pod claim-2\"");
    assert_non_null(strstr(event_only("DevicesLostInUse")->note, "ml/claim-2"));
    find(&without);
    world.found.devices[0].place.folder = 900;
    find(&world.found); /* the same reload */
    assert_int_equal(said("event=devices_lost_in_use"), 1);
}

/* A reload between two looks: other folders. Only the first claims are named. */
static void test_reloaded_under_claims(void **state)
{
    (void)state;
    begin();
    world.found.devices[1].place.folder = 901;
    find(&world.found);
    assert_int_equal(said("event=devices_lost_in_use"), 0); /* no claim is held */
    prepare_well(2, 4);
    world.found.devices[1].place.folder = 0; /* not known */
    find(&world.found);
    world.found.devices[1].place.folder = 902;
    find(&world.found);
    assert_int_equal(said("event=devices_lost_in_use"), 0);
    world.found.devices[1].place.folder = 903;
    find(&world.found);
    assert_int_equal(said("event=devices_lost_in_use"), 1);
    log_has("claims_held=4");
    const char *note = event_only("DevicesLostInUse")->note;
    assert_non_null(strstr(note, "ml/claim-4"));
    assert_null(strstr(note, "ml/claim-5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_taints_dropped),
        cmocka_unit_test(test_reloaded_when_drained),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_file_of_another_drain),
        cmocka_unit_test(test_file_and_claims_at_start),
        cmocka_unit_test(test_claim_of_a_lost_store),
        cmocka_unit_test(test_file_refused),
        cmocka_unit_test(test_not_published),
        cmocka_unit_test(test_removal_refused),
        cmocka_unit_test(test_handover),
        cmocka_unit_test(test_lost_under_claims),
        cmocka_unit_test(test_reloaded_under_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
