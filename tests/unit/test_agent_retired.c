/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two drivers in one process: that of the EFA devices once --efa is off, with claims that a run
 * before may have left; both when the agent is asked to stop; and a drain while the process has the
 * claim store of one driver only.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "command/command.h"

/* --- a node whose agent has had --efa once --- */

static struct found_efas efas; /* that the kernel shows; without any, no list of claims is read */

/* As start() of the harness, with the second driver. */
static void start_both(void)
{
    static struct agent *memory;
    if (memory != NULL) {
        memset((void *)memory, 0, sizeof(struct agents));
    }
    world.exited = false;
    memory = agent_init(&world.settings, &disk_files, 42, world.now_ms, WALL_MS(world.now_ms));
    world.agent = memory;
    (void)agent_add_efa(memory, &efa_files);
    agent_found(memory, &world.found);
    agent_found_efas(memory, &efas);
    world.poked = true;
    settle();
}

static const char *const off[] = {"--efa=false"};

/* Overwrites the EFA driver's claim store, so that nobody knows what it held. */
static void damage_store(void)
{
    struct disk_file *f = disk_find(FILES_STATE, EFA_STORE_NAME);
    assert_non_null(f);
    file_fill(f, 0, 0xa5, STORE_FILE_BYTES);
}

/* A driver that stays for what its damaged store may have held. */
static void begin_kept(void)
{
    world_new();
    memset(&efas, 0, sizeof efas);
    settings_set(off, 1);
    (void)claim_add(0);
    start_both();
    kill_agent();
    damage_store();
    api.lists_claims = true;
    api.claims_http = 503;
    log_forget();
    start_both();
    register_driver();
    pass(5000);
    assert_non_null(world.agent->next);
}

/* An answer of the metrics port over HTTP/1.0: the body ends with the connection. */
static const char *page_get(const char *path)
{
    static char page[131072];
    char request[128];
    int link = agent_link_open(world.agent, LINK_METRICS, 0, world.now_ms);
    assert_true(link >= 0);
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    struct writer room = agent_link_rx(world.agent, (unsigned)link);
    writer_text(&room, request);
    assert_false(room.full);
    agent_link_rx_commit(world.agent, (unsigned)link, strlen(request));
    struct writer out = writer_of(page, sizeof page - 1u);
    size_t taken = 1;
    while (taken > 0) {
        world.poked = true;
        settle();
        struct view tx = agent_link_tx(world.agent, (unsigned)link);
        taken = tx.len;
        writer_append(&out, tx);
        agent_link_tx_commit(world.agent, (unsigned)link, taken);
    }
    assert_true(agent_link_done(world.agent, (unsigned)link));
    assert_false(out.full);
    page[out.len] = '\0';
    return page;
}

/* It stays while nobody knows what it held; that is no matter of the node's readiness. */
static void test_claims_may_be_left(void **state)
{
    (void)state;
    begin_kept();
    log_has("event=driver_kept driver=dra.net claims_held=0");
    assert_int_equal(said("event=driver_ended"), 0);
    const char *ready = page_get("/readyz");
    assert_non_null(strstr(ready, "\n\r\nneuron.aws.com: the claim store is new or lost a part"));
    assert_null(strstr(ready, "dra.net"));
    assert_non_null(strstr(page_get("/statusz"),
                           "trouble: --efa is off, and the EFA driver dra.net stays until its "
                           "claims are unprepared, now 0"));
    assert_non_null(strstr(page_get("/slicesz"), "the agent publishes no slices yet"));
    const char *metrics = page_get("/metrics");
    assert_non_null(strstr(metrics, "driver_kept\"} 1\n"));
}

/* The driver that is kept creates no slice, and empties one that is stored. */
static void test_no_slice_is_created(void **state)
{
    (void)state;
    begin_kept();
    pass(60000);
    assert_int_equal(api_slices(), 1); /* that of neuron.aws.com */
    assert_non_null(strstr(page_get("/slicesz"), "driver: neuron.aws.com"));
    assert_null(strstr(page_get("/slicesz"), "driver: dra.net"));
    struct sim_object *s = api_slice_foreign("efa", "dra.net", NODE_NAME);
    api_slice_add(s, view_text("\x32\x06\x0a\x04rdma")); /* field 6, a device of that name */
    assert_int_equal(slice_devices(s), 1);
    pass(60000);
    assert_int_equal(slice_devices(api_slice_named("efa")), 0);
    assert_int_equal(api_slices(), 2);
    assert_non_null(strstr(page_get("/slicesz"), "driver: dra.net"));
    api_slice_delete(api_slice_named("efa"));
    pass(60000);
    assert_int_equal(api_slices(), 1);
}

/* Both end when the agent is asked to, whatever one of them still waits for. */
static void test_stop(void **state)
{
    (void)state;
    for (unsigned calls = 0; calls < 2; calls++) {
        begin_kept();
        if (calls > 0) {
            api.hangs = true; /* and a call runs that gets no answer */
            (void)call_send(service_open(), PREPARE, claims_request(0, 1));
            pass(100);
        }
        log_forget();
        agent_stop(world.agent, world.now_ms);
        agent_stop(world.agent, world.now_ms); /* to ask twice is to ask once */
        world.poked = true;
        settle();
        assert_int_equal(world.exited, calls == 0);
        pass(SHUTDOWN_MS + 1000);
        assert_true(world.exited);
        assert_int_equal(said("event=stop_requested"), 1);
        log_has(calls == 0 ? "no call was running" : "calls that still ran were ended");
    }
}

/* --- how the driver leaves --- */

/* The host opens its sockets, once it is known that it stays. */
static void test_sockets_of_the_driver(void **state)
{
    (void)state;
    begin_kept();
    struct agent *efa = world.agent->next;
    assert_int_equal(agent_next_order(efa), ORDER_OPEN_SOCKETS);
    assert_int_equal(agent_next_order(efa), ORDER_NONE);
}

/* The Node asks for a drain (agent/recovery/node_drain.h). */
static void ask_drain(void)
{
    api.label[LABEL_DRAIN] = "true";
    api_node_touch();
    pass(2u * DRAIN_SETTLE_MS);
}

static bool is_drained(void)
{
    return strstr(page_get("/metrics"), "neuron_dra_draining 2\n") != NULL;
}

/* Once the list shows that it holds nothing, it closes its sockets and ends, and that is logged. */
static void test_driver_ends(void **state)
{
    (void)state;
    begin_kept();
    struct agent *efa = world.agent->next;
    assert_int_equal(agent_next_order(efa), ORDER_OPEN_SOCKETS);
    ask_drain();
    assert_false(is_drained()); /* it may hold claims */
    api.claims_http = 0;
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    agent_found_efas(world.agent, &efas);
    pass(2 * world.settings.reconcile_ms);
    assert_null(world.agent->next);
    assert_int_equal(said("event=driver_ended"), 1);
    assert_int_equal(agent_next_order(efa), ORDER_CLOSE_REGISTRATION);
    assert_int_equal(agent_next_order(efa), ORDER_END_DRIVER);
    assert_int_equal(agent_next_order(efa), ORDER_NONE);
    /* the other driver goes on alone */
    prepare_well(0, 1);
    assert_true(publish_current(world.agent));
}

/* A driver that was never used ends when the list of claims has been read. */
static void test_unused_driver_ends(void **state)
{
    (void)state;
    world_new();
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    settings_set(off, 1);
    start_both();
    register_driver();
    pass(2 * world.settings.reconcile_ms);
    assert_null(world.agent->next);
    assert_int_equal(said("event=driver_ended"), said("event=driver_kept"));
}

/* A run with --efa ended and left nothing: the driver is not kept, and nothing is said of it. */
static void test_store_without_claims(void **state)
{
    static const char *const on[] = {"--efa=true"};
    (void)state;
    world_new();
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    settings_set(on, 1);
    start_both();
    register_driver();
    pass(60000);
    assert_true(ledger_is_usable(world.agent->next));
    kill_agent();
    settings_set(off, 1);
    log_forget();
    start_both();
    pass(1000);
    assert_null(world.agent->next);
    assert_int_equal(said("event=driver_kept") + said("event=driver_ended"), 0);
}

/* While a CDI file of it cannot be read, nobody knows whether it holds a claim: it stays. */
static void test_unreadable_files_keep_the_driver(void **state)
{
    static const char *const on[] = {"--efa=true"};
    (void)state;
    world_new();
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    settings_set(on, 1);
    start_both();
    register_driver();
    pass(60000);
    kill_agent();
    settings_set(off, 1);
    log_forget();
    char name[CDI_FILE_NAME_CAP];
    cdi_file_name(DRIVER_EFA, "c1a10000-0000-4000-8000-000000000000", name);
    disk_set(disk_make(FILES_CDI, name), 0, view_text("{}"));
    start_both();
    pass(1000);
    assert_non_null(world.agent->next);
    assert_int_equal(said("event=driver_kept"), 1);
    ask_drain();
    assert_false(is_drained());              /* nor is the node drained */
    disk_unlink(disk_find(FILES_CDI, name)); /* as its line in the log says */
    pass(2 * world.settings.reconcile_ms);
    assert_null(world.agent->next);
    assert_int_equal(said("event=driver_ended"), 1);
    assert_true(is_drained());
}

/* While its store cannot be opened, nobody knows either. */
static void test_unusable_store_keeps_the_driver(void **state)
{
    (void)state;
    world_new();
    memset(&efas, 0, sizeof efas);
    settings_set(off, 1);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    log_forget();
    start_both();
    pass(60000);
    assert_non_null(world.agent->next);
    assert_false(ledger_is_usable(world.agent->next));
    assert_int_equal(said("event=driver_kept") + said("event=driver_ended"), 0);
}

/* A peer of the EFA driver's service socket. */
static struct peer efa_peer;

static void efa_settle(struct agent *efa)
{
    struct agent *all = world.agent;
    for (unsigned i = 0; i < 20; i++) {
        world.agent = efa;
        (void)peer_to_agent(&efa_peer);
        (void)agent_to_peer(&efa_peer);
        world.agent = all;
        world.poked = true;
        settle();
    }
}

static void efa_open(struct agent *efa)
{
    memset(&efa_peer, 0, sizeof efa_peer);
    struct peer *const p = &efa_peer;
    struct h2_memory memory = H2_MEMORY_OF(p, 65535);
    memory.table_size = 0;
    p->link = agent_link_open(efa, LINK_SERVICE, 0, world.now_ms);
    assert_true(p->link >= 0);
    p->open = true;
    p->cut = 4096;
    h2_init(&p->h2, H2_CLIENT, &memory, world.now_ms);
    efa_settle(efa);
}

/* What the kubelet has begun may end before the driver leaves, and not for ever. */
static void test_driver_leaves_in_time(void **state)
{
    (void)state;
    for (unsigned deaf = 0; deaf < 2; deaf++) {
        begin_kept();
        struct agent *efa = world.agent->next;
        efa_open(efa);
        if (deaf == 0) {
            (void)call_open(&efa_peer, PREPARE, NULL); /* half a request */
            efa_settle(efa);
            assert_int_equal(links_calls_open(efa), 1);
        }
        api.claims_http = 0;
        assert_true(command_board_efas("trn2.48xlarge", &efas));
        agent_found_efas(world.agent, &efas);
        for (unsigned i = 0; i < 4000 && !efa->stopping; i++) {
            pass(100);
        }
        assert_true(efa->stopping);
        efa_peer.deaf = deaf > 0; /* in which case the GOAWAY waits for it */
        pass(efa->stop_ms - world.now_ms - 1);
        assert_non_null(world.agent->next);
        assert_int_equal(said("event=driver_ended"), 0);
        pass(1);
        assert_null(world.agent->next);
        assert_int_equal(said("event=driver_ended"), 1);
    }
}

/*
 * What the API server says to a driver that has ended regards nobody: neither an event of its
 * watch, nor that the watch has ended.
 */
static void test_words_to_a_driver_that_ended(void **state)
{
    (void)state;
    begin_kept();
    pass(120000);
    assert_true(api_slot_busy(world.agent->next, API_SLOT_SLICE_WATCH));
    api.claims_http = 0;
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    agent_found_efas(world.agent, &efas);
    pass(2 * world.settings.reconcile_ms);
    assert_null(world.agent->next);
    assert_int_equal(api_slices(), 1);
    log_forget();
    (void)api_slice_foreign("efa", "dra.net", NODE_NAME);
    pass(1000);
    api_end("the network went away");
    pass(120000);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_slices(), 2); /* that of another driver stays */
    assert_int_equal(said("event=slice_drift_detected"), 0);
    prepare_well(0, 1);
}

/* --- both drivers in use --- */

static void begin_both(void)
{
    static const char *const on[] = {"--efa=true"};
    world_new();
    assert_true(command_board_efas("trn2.48xlarge", &efas));
    settings_set(on, 1);
    start_both();
    register_driver();
    pass(5000);
    assert_non_null(world.agent->next);
    log_forget();
}

/* A node is drained when neither driver holds a claim. */
static void test_drain_of_both(void **state)
{
    (void)state;
    begin_both();
    (void)claim_add(0);
    prepare_well(0, 1);
    ask_drain();
    assert_false(is_drained());
    assert_non_null(strstr(page_get("/statusz"), "the drain waits for claim ml/claim-0 of Pod"));
    unprepare_well(0, 1);
    pass(2u * DRAIN_SETTLE_MS);
    assert_true(is_drained());
}

/* A call with this claim to the EFA driver. */
static const struct peer_call *efa_call(const char *path, unsigned claim)
{
    efa_open(world.agent->next);
    const struct peer_call *c = call_send(&efa_peer, path, claims_request(claim, 1));
    efa_settle(world.agent->next);
    return c;
}

/* Both drivers, claims 1 and 2 for EFA devices, and claim 1 prepared. */
static void begin_efa_claim(void)
{
    begin_both();
    for (unsigned n = 1; n <= 2; n++) {
        struct api_claim *c = claim_add(n);
        c->result[0].driver = "dra.net";
        c->result[0].device = world.agent->next->node->inventory.devices.device[n].name;
    }
    assert_string_equal(prepare_error(call_reply_of(efa_call(PREPARE, 1)), 1), "");
}

/* How many claims the EFA driver holds, by its own store; -1: another process has that. */
static int efa_held(void)
{
    const struct agent *efa = world.agent->next;
    assert_true(ledger_is_usable(world.agent));
    return ledger_is_usable(efa) ? (int)ledger_held_count(efa) : -1;
}

/* The drain goes on from where the EFA driver has its store, with claim 1 in it. */
static void end_efa_claim(void)
{
    disk.locked_by_other[DRIVER_EFA][LOCK_OWNER] = HOLDER_NOBODY;
    pass(STORE_BUSY_MS + 2u * DRAIN_SETTLE_MS);
    assert_int_equal(efa_held(), 1);
    assert_false(is_drained());
    assert_string_equal(unprepare_error(call_reply_of(efa_call(UNPREPARE, 1)), 1), "");
    pass(2u * DRAIN_SETTLE_MS);
    assert_int_equal(efa_held(), 0);
    assert_true(is_drained());
}

/* The agent starts while another process has the EFA driver's store: its claims are not known. */
static void test_drain_without_the_second_store(void **state)
{
    (void)state;
    begin_efa_claim();
    kill_agent();
    disk.locked_by_other[DRIVER_EFA][LOCK_OWNER] = HOLDER_AGENT;
    start_both();
    register_driver();
    ask_drain();
    assert_int_equal(efa_held(), -1);
    assert_false(is_drained());
    end_efa_claim();
}

/*
 * The EFA driver's store and its lock file are removed during a drain, and another process makes
 * the store again with the claim. This process then holds no claim, and its slices are stored; but
 * it does not know the claims of the other process.
 */
static void test_drain_after_the_second_store(void **state)
{
    (void)state;
    begin_efa_claim();
    ask_drain();
    assert_false(is_drained());
    struct disk_file *store = disk_find(FILES_STATE, EFA_STORE_NAME);
    assert_non_null(store);
    disk_rename(store, "efa-removed");
    disk.locked_by_other[DRIVER_EFA][LOCK_OWNER] = HOLDER_AGENT;
    const struct peer_call *c = efa_call(PREPARE, 2); /* finds no store */
    assert_int_equal(efa_held(), -1);
    disk_rename(store, EFA_STORE_NAME); /* as the other process makes it, with the claim */
    pass(STORE_WAIT_MS + 2u * DRAIN_SETTLE_MS);
    efa_settle(world.agent->next);
    assert_non_null(strstr(prepare_error(call_reply_of(c), 2), "another agent uses this store"));
    assert_int_equal(efa_held(), -1);
    assert_false(is_drained());
    end_efa_claim();
}

/* Another driver of the same name publishes its own slices: ours are not written meanwhile. */
static void test_another_efa_driver(void **state)
{
    (void)state;
    begin_both();
    struct agent *efa = world.agent->next;
    agent_other_driver(efa, "");
    agent_other_driver(efa, "/var/lib/kubelet/plugins/dra.net/dra.sock");
    agent_other_driver(efa, "/var/lib/kubelet/plugins/dra.net/dra.sock");
    world.poked = true;
    pass(5000);
    assert_int_equal(
        said("event=other_driver_found driver=dra.net socket=/var/lib/kubelet/plugins/"), 1);
    assert_int_equal(said("event=other_driver_gone"), 0);
    assert_non_null(strstr(page_get("/readyz"),
                           "\ndra.net: another driver dra.net, as dranet is, runs on this "
                           "node and allocates the same devices: let only one of the two run here; "
                           "its socket is /var/lib/kubelet/plugins/dra.net/dra.sock\n"));
    /* that its slices are not written is no trouble of its own */
    assert_null(strstr(page_get("/readyz"), "dra.net: the stored ResourceSlices"));
    assert_non_null(strstr(page_get("/metrics"), "device_plugin{driver=\"dra.net\"} 1\n"));
    assert_non_null(strstr(page_get("/metrics"), "device_plugin{driver=\"neuron.aws.com\"} 0\n"));
    agent_other_driver(efa, "");
    world.poked = true;
    pass(5000);
    assert_int_equal(said("event=other_driver_gone"), 1);
    assert_string_equal(efa->other_driver, "");
    assert_null(strstr(page_get("/readyz"), "as dranet is"));
    assert_non_null(strstr(page_get("/metrics"), "device_plugin{driver=\"dra.net\"} 0\n"));
    assert_null(strstr(page_get("/statusz"), "--efa is off"));
}

/* A call to the EFA driver makes the agent connect again soon, as one to the other driver does. */
static void test_call_of_the_second_driver(void **state)
{
    unsigned tries[2];
    (void)state;
    for (unsigned calls = 0; calls < 2; calls++) {
        begin_both();
        efa_open(world.agent->next);
        api.reachable = false;
        api_end("the network went away");
        settle();
        unsigned before = world.connects;
        if (calls > 0) {
            (void)call_send(&efa_peer, PREPARE, claims_request(0, 1));
            efa_settle(world.agent->next);
        }
        pass(2000);
        tries[calls] = world.connects - before;
    }
    assert_int_equal(tries[0], 0);
    assert_true(tries[1] > 0);
}

/* A step is due at once when either of the two says so. */
static void test_step_due(void **state)
{
    (void)state;
    begin_both();
    struct agent *efa = world.agent->next;
    assert_false(agent_step_due(world.agent));
    efa->step_now = true;
    assert_true(agent_step_due(world.agent));
    efa->step_now = false;
    world.agent->step_now = true;
    assert_true(agent_step_due(world.agent));
    world.agent->step_now = false;
    world.agent->next = NULL;
    assert_false(agent_step_due(world.agent));
    world.agent->next = efa;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_may_be_left),
        cmocka_unit_test(test_no_slice_is_created),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_sockets_of_the_driver),
        cmocka_unit_test(test_driver_ends),
        cmocka_unit_test(test_unused_driver_ends),
        cmocka_unit_test(test_store_without_claims),
        cmocka_unit_test(test_unreadable_files_keep_the_driver),
        cmocka_unit_test(test_unusable_store_keeps_the_driver),
        cmocka_unit_test(test_driver_leaves_in_time),
        cmocka_unit_test(test_words_to_a_driver_that_ended),
        cmocka_unit_test(test_drain_of_both),
        cmocka_unit_test(test_drain_without_the_second_store),
        cmocka_unit_test(test_drain_after_the_second_store),
        cmocka_unit_test(test_another_efa_driver),
        cmocka_unit_test(test_call_of_the_second_driver),
        cmocka_unit_test(test_step_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
