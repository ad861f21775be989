/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that vanish or change between the last probe and a prepare: the claim that has one is
 * refused, names it, and leaves nothing behind; its neighbours are prepared. The same of a device
 * of which a process still has memory.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "agent/serve/statusz.h"

#define CLAIMS 4

static void begin(void)
{
    world_new();
    devices_placed(CLAIMS);
    for (unsigned n = 0; n < CLAIMS; n++) {
        (void)claim_add(n);
    }
    /* of this test's devices alone */
    world.found.count = CLAIMS;
    node_up();
}

#define REMEDY "; reload the Neuron driver, or delete and re-create the pod"

/* Claim 1 is refused for this reason, claims 0 and 2 are not. */
static void check_refused(const char *why)
{
    struct view reply = prepare_now(0, 3);
    assert_string_equal(prepare_error(reply, 0), "");
    assert_string_equal(prepare_error(reply, 1), why);
    assert_string_equal(prepare_error(reply, 2), "");
}

static void test_gone(void **state)
{
    (void)state;
    begin();
    disk.device_absent[1] = true;
    check_refused("requested device neuron-device-1 has no device node: host-absent" REMEDY);
    assert_null(cdi_of(1));
    disk.device[1].folder = 0;
    check_refused("requested device neuron-device-1 is gone from sysfs: host-absent" REMEDY);
    /* it is back */
    disk.device_absent[1] = false;
    disk.device[1] = world.found.devices[1].place;
    prepare_well(0, 3);
}

static void test_changed(void **state)
{
    (void)state;
    begin();
    disk.device[1].node = 0;
    check_refused(
        "requested device neuron-device-1 has a node that is not a character device" REMEDY);
    disk.device[1].node = 1002;
    check_refused("requested device neuron-device-1 changed since the last probe; try again");
    disk.device[1] = (struct device_place){.folder = 102, .node = 1001};
    check_refused("requested device neuron-device-1 changed since the last probe; try again");
    assert_null(cdi_of(1));
    /* the next probe finds what the look found */
    world.found.devices[1].place = disk.device[1];
    agent_found(world.agent, &world.found);
    prepare_well(0, 3);
}

/* A claim that is held is looked at as well, and an unprepare needs no device. */
static void test_held(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    disk.device_absent[1] = true;
    check_refused("prepared device neuron-device-1 has no device node: host-absent" REMEDY);
    unprepare_well(0, 3);
}

/* What the last probe did not say is no reason to refuse a claim that is held. */
static void test_held_when_probes_fail(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 3);
    world.found.count = 0;
    world.found.unknown = true;
    agent_found(world.agent, &world.found);
    disk.device_absent[1] = true;
    prepare_well(0, 3);
}

/* The kernel module is reloaded: slices, claims and advice stay as they are for a while. */
static void test_module_reloaded(void **state)
{
    (void)state;
    begin();
    struct found_node none = world.found;
    none.count = 0;
    prepare_well(0, 1);
    api_forget();
    agent_found(world.agent, &none);
    pass(DEVICES_GRACE_MS - 1);
    agent_found(world.agent, &none);
    pass(1000);
    assert_int_equal(api_writes(), 0);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    log_has("event=devices_missing devices_kept=4 grace_ms=30000");
    disk.device_absent[0] = true;
    disk.device[0].folder = 0;
    struct view reply = prepare_now(0, 1);
    assert_non_null(strstr(prepare_error(reply, 0), "neuron-device-0 is gone from sysfs"));
    assert_false(agent_ready(world.agent));
    /* it is loaded again */
    disk.device_absent[0] = false;
    disk.device[0] = world.found.devices[0].place;
    agent_found(world.agent, &world.found);
    assert_true(agent_ready(world.agent));
    prepare_well(0, 1);
    assert_int_equal(api_writes(), 0);
}

static void test_devices_gone_for_good(void **state)
{
    (void)state;
    begin();
    struct found_node none = world.found;
    none.count = 0;
    agent_found(world.agent, &none);
    pass(DEVICES_GRACE_MS);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    agent_found(world.agent, &none);
    pass(1000);
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(agent_ready(world.agent));
}

/* The agent starts while the module is reloaded: what is stored stays for a while. */
static void test_started_in_a_reload(void **state)
{
    (void)state;
    begin();
    struct found_node some = world.found;
    world.found.count = 0;
    api_forget();
    restart();
    register_driver();
    pass(DEVICES_GRACE_MS / 2);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    assert_int_equal(said("event=devices_missing devices_kept=4 grace_ms=30000"), 1);
    assert_false(agent_ready(world.agent));
    world.found = some;
    agent_found(world.agent, &world.found);
    pass(1000);
    assert_true(agent_ready(world.agent));
    assert_int_equal(api_writes(), 0);
    /* they do not come back */
    world.found.count = 0;
    restart();
    register_driver();
    pass(DEVICES_GRACE_MS - 1000);
    assert_int_equal(slice_devices(api_slice_only()), CLAIMS);
    pass(PUBLISH_WAIT_MS + 2000);
    assert_int_equal(slice_devices(api_slice_only()), 0);
    assert_true(agent_ready(world.agent));
    /* nor are there any in the next process */
    restart();
    register_driver();
    pass(PUBLISH_WAIT_MS + 2000);
    assert_true(agent_ready(world.agent));
}

/* --- memory that is in use --- */

#define IN_USE " bytes of memory in use by a process of another claim: "
#define NEXT "; the claim is prepared once that memory is free"

static void begin_guarded(void)
{
    begin();
    world.settings.check_device_memory = true;
}

/* A container outlives its claim: the next claim waits, and is prepared once its memory is free. */
static void test_memory_in_use(void **state)
{
    (void)state;
    begin_guarded();
    prepare_well(1, 1);
    unprepare_well(1, 1);
    (void)claim_add(5);
    api.claim[5].result[0].device = "neuron-device-1";
    disk.memory[1][0] = 4096;
    disk.memory[1][7] = 1;
    struct view reply = prepare_now(5, 1);
    assert_string_equal(prepare_error(reply, 5),
                        "requested device neuron-device-1 has 4097" IN_USE
                        "claim ml/claim-1 (c1a10000-0000-4000-8000-000000000001) had it last; find "
                        "the process on the node by fuser -v /dev/neuron1" NEXT);
    assert_null(cdi_of(5));
    assert_int_equal(ledger_find(world.agent, api.claim[5].uid), -1);
    prepare_well(2, 1); /* another device */
    disk.memory[1][0] = 0;
    disk.memory[1][7] = 0;
    prepare_well(5, 1);
}

/* The claim's own containers may run when the kubelet repeats its call. */
static void test_memory_of_its_own(void **state)
{
    (void)state;
    begin_guarded();
    prepare_well(1, 1);
    disk.memory[1][3] = 4096;
    prepare_well(1, 1);
    restart();
    register_driver();
    pass(2000);
    prepare_well(1, 1);
}

/* Claim 1 is refused for 4096 bytes of its device. */
static void check_last_unknown(void)
{
    struct view reply = prepare_now(1, 1);
    assert_string_equal(prepare_error(reply, 1),
                        "requested device neuron-device-1 has 4096" IN_USE
                        "which claim had it last is not known; find the process on the node by "
                        "fuser -v /dev/neuron1" NEXT);
}

/* Store and CDI files are lost, and the claims are rebuilt from the list of the API server. */
static void begin_rebuilt(void)
{
    begin_guarded();
    prepare_well(0, CLAIMS);
    api.lists_claims = true;
    kill_agent();
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    lose_files();
    up_again();
    for (unsigned n = 0; n < CLAIMS; n++) {
        assert_true(ledger_find(world.agent, api.claim[n].uid) >= 0);
    }
}

/*
 * A container of another claim may have outlived its pod before the scheduler gave the device to a
 * claim that the agent knows from the list alone: `two-faults` of tests/model.
 */
static void test_memory_of_a_rebuilt_claim(void **state)
{
    (void)state;
    begin_rebuilt();
    disk.memory[1][3] = 4096;
    check_last_unknown();
    assert_true(ledger_find(world.agent, api.claim[1].uid) >= 0);
    prepare_well(0, 1);
    disk.memory[1][3] = 0;
    prepare_well(1, 1);
    disk.memory[1][3] = 4096; /* of its own container */
    prepare_well(1, 1);
}

/* Containers of another consumer may run, and so may those of the claim's earlier device. */
static void test_memory_of_a_rebuilt_claim_in_use(void **state)
{
    (void)state;
    begin_rebuilt();
    for (unsigned n = 0; n < CLAIMS; n++) {
        disk.memory[n][0] = 4096;
    }
    api.claim[0].for_two = true;
    api.claim[1].for_group = true;
    api.claim[2].consumer_uid = ""; /* which is none that the agent knows */
    prepare_well(0, 3);
    api.claim[3].result[0].device = "neuron-device-0";
    unprepare_well(0, 1);
    disk.memory[0][0] = 0;
    prepare_well(3, 1);
}

/* While their files are read, a rebuilt claim waits as a new one does. */
static void test_memory_of_a_rebuilt_claim_under_way(void **state)
{
    (void)state;
    begin_rebuilt();
    disk.memory_read = STATUS_MORE;
    struct peer *p = peer_open(LINK_SERVICE, 65535);
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    settle();
    assert_false(c->ended);
    disk.memory_read = STATUS_OK;
    world.poked = true;
    settle();
    assert_string_equal(prepare_error(call_reply_of(c), 1), "");
    peer_close(p);
}

static void test_memory_last_claim_unknown(void **state)
{
    (void)state;
    begin_guarded();
    disk.memory[1][3] = 4096;
    check_last_unknown();
}

/* A part of a device: its own cores alone count. */
static void test_memory_of_a_part(void **state)
{
    (void)state;
    begin_guarded();
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct claim_record r = {.id = {.uid = "part"}, .driver = DRIVER_NEURON, .count = 1};
    r.result[0].number = 1;
    r.result[0].cores = 0x0c;
    text_set(r.result[0].share_id, sizeof r.result[0].share_id, "share");
    disk.memory[1][1] = 4096;
    assert_int_equal(device_memory_check(world.agent, &r, true, &why), STATUS_OK);
    assert_int_equal(device_memory_check(world.agent, &r, false, &why), STATUS_OK);
    disk.memory[1][2] = 4096;
    assert_int_equal(device_memory_check(world.agent, &r, false, &why), STATUS_OK);
    assert_int_equal(device_memory_check(world.agent, &r, true, &why), HOST_BUSY);
}

/* An EFA device has the number of a Neuron device, whose memory is none of its claim's business. */
static void test_memory_of_efa(void **state)
{
    (void)state;
    begin_guarded();
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct claim_record r = {.id = {.uid = "efa"}, .driver = DRIVER_EFA, .count = 1};
    r.result[0].number = 1;
    disk.memory[1][0] = 4096;
    assert_int_equal(device_memory_check(world.agent, &r, false, &why), STATUS_OK);
    r.driver = DRIVER_NEURON;
    assert_int_equal(device_memory_check(world.agent, &r, false, &why), HOST_BUSY);
}

/* While their files are read, the claim waits and nobody else does. */
static void test_memory_under_way(void **state)
{
    (void)state;
    begin_guarded();
    prepare_well(2, 1);
    disk.memory_read = STATUS_MORE;
    struct peer *p = peer_open(LINK_SERVICE, 65535);
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    settle();
    pass(3000);
    assert_false(c->ended);
    prepare_well(2, 1); /* it is held */
    unprepare_well(2, 1);
    disk.memory[1][0] = 4096;
    disk.memory_read = STATUS_OK;
    world.poked = true; /* the host steps when the files are read */
    settle();
    assert_non_null(strstr(prepare_error(call_reply_of(c), 1), "neuron-device-1 has 4096" IN_USE));
    disk.memory[1][0] = 0;
    prepare_well(1, 1);
    peer_close(p);
}

/* One that waits is ended as others are: by its unprepare, and by the kubelet. */
static void test_memory_under_way_ends(void **state)
{
    (void)state;
    begin_guarded();
    disk.memory_read = STATUS_MORE;
    struct peer *p = peer_open(LINK_SERVICE, 65535);
    const struct peer_call *c = call_send(p, PREPARE, claims_request(1, 1));
    struct peer_call *other = call_send(p, PREPARE, claims_request(2, 1));
    settle();
    unprepare_well(1, 1);
    assert_string_equal(prepare_error(call_reply_of(c), 1),
                        "the claim was unprepared while it was being prepared");
    call_cancel(p, other);
    disk.memory_read = STATUS_OK;
    pass(1000);
    assert_null(cdi_of(1));
    assert_null(cdi_of(2));
    prepare_well(1, 2);
    peer_close(p);
}

/* A file that does not answer: the claim is refused, and may come again. */
static void test_memory_hangs(void **state)
{
    (void)state;
    begin_guarded();
    disk.memory_read = HOST_BUSY;
    struct view reply = prepare_now(1, 1);
    assert_string_equal(prepare_error(reply, 1),
                        "the memory of its devices cannot be read: host-busy; the claim is "
                        "prepared once the file is read");
    assert_null(cdi_of(1));
    world.settings.check_device_memory = false;
    prepare_well(2, 1);
    world.settings.check_device_memory = true;
    disk.memory_read = STATUS_OK;
    prepare_well(1, 1);
}

/* What is looked at until it is free is not free while its files are read, or hang. */
static void test_memory_stuck_hangs(void **state)
{
    (void)state;
    begin_guarded();
    prepare_well(1, 1);
    unprepare_well(1, 1);
    (void)claim_add(5);
    api.claim[5].result[0].device = "neuron-device-1";
    disk.memory[1][0] = 4096;
    (void)prepare_now(5, 1);
    pass(DEVICE_MEMORY_STUCK_MS + DEVICE_MEMORY_LOOK_MS);
    assert_int_equal(said("event=device_memory_stuck"), 1);
    disk.memory[1][0] = 0;
    disk.memory_read = HOST_BUSY;
    pass(2 * DEVICE_MEMORY_LOOK_MS);
    disk.memory_read = STATUS_MORE;
    pass(2 * DEVICE_MEMORY_LOOK_MS);
    assert_int_equal(said("event=device_memory_freed"), 0);
    disk.memory_read = STATUS_OK;
    world.poked = true; /* the host steps when the files are read */
    settle();
    assert_int_equal(said("event=device_memory_freed"), 1);
}

/* Switched off, for an admin, and where the kernel module does not say: nobody is refused. */
static void test_memory_not_asked(void **state)
{
    (void)state;
    begin_guarded();
    disk.memory[0][0] = disk.memory[1][0] = disk.memory[2][0] = 4096;
    world.settings.check_device_memory = false;
    prepare_well(0, 1);
    world.settings.check_device_memory = true;
    api.claim[1].result[0].admin = true;
    prepare_well(1, 1);
    disk.memory_status = HOST_ABSENT;
    prepare_well(2, 1);
    disk.memory_status = HOST_IO;
    prepare_well(3, 1);
}

static unsigned troubles(void)
{
    char text[2048];
    unsigned count = 0;
    bool more = true;
    for (unsigned i = 0; more; i++) {
        struct writer w = writer_of(text, sizeof text - 1);
        memset(text, 0, sizeof text);
        more = statusz_line(world.agent, i, &w);
        count += (strstr(text, "trouble: claims are refused device neuron-device-1, ") != NULL);
    }
    return count;
}

/* A device that does not recover is reported, once, and when it does. */
static void test_memory_stuck(void **state)
{
    (void)state;
    begin_guarded();
    assert_int_equal(troubles(), 0);
    check_metric("devices_memory_in_use", "0");
    disk.memory[1][6] = 4096;
    (void)prepare_now(1, 1);
    assert_int_equal(troubles(), 1);
    check_metric("devices_memory_in_use", "1");
    pass(DEVICE_MEMORY_STUCK_MS - 1000);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    pass(DEVICE_MEMORY_LOOK_MS);
    log_has("event=device_memory_stuck device=neuron-device-1 bytes=4096");
    pass(1000);
    assert_non_null(strstr(event_only("DeviceMemoryStuck")->note, "neuron-device-1"));
    (void)prepare_now(1, 1);
    pass(DEVICE_MEMORY_STUCK_MS);
    assert_int_equal(said("event=device_memory_stuck"), 1);
    disk.memory[1][6] = 0;
    pass(DEVICE_MEMORY_LOOK_MS);
    log_has("event=device_memory_freed device=neuron-device-1");
    assert_int_equal(troubles(), 0);
    check_metric("devices_memory_in_use", "0");
    prepare_well(1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_held_when_probes_fail),
        cmocka_unit_test(test_module_reloaded),
        cmocka_unit_test(test_devices_gone_for_good),
        cmocka_unit_test(test_started_in_a_reload),
        cmocka_unit_test(test_memory_in_use),
        cmocka_unit_test(test_memory_of_its_own),
        cmocka_unit_test(test_memory_of_a_rebuilt_claim),
        cmocka_unit_test(test_memory_of_a_rebuilt_claim_in_use),
        cmocka_unit_test(test_memory_of_a_rebuilt_claim_under_way),
        cmocka_unit_test(test_memory_last_claim_unknown),
        cmocka_unit_test(test_memory_of_a_part),
        cmocka_unit_test(test_memory_of_efa),
        cmocka_unit_test(test_memory_not_asked),
        cmocka_unit_test(test_memory_stuck),
        cmocka_unit_test(test_memory_under_way),
        cmocka_unit_test(test_memory_under_way_ends),
        cmocka_unit_test(test_memory_hangs),
        cmocka_unit_test(test_memory_stuck_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
