/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that stays in use on a device without a claim, in the whole agent: the time of grace, the
 * log, the Event, the pages and the taint; the kubelet's checkpoint; and when the memory is free.
 */
#include "tests/unit/kubelet/agent_kubelet.h"

#include "agent/claim/device_memory.h"
#include "agent/serve/statusz.h"

#define HELD_TAINT "neuron.aws.com/memory-held"
static const char *const taint_flags[] = {"--memory-held-taint", HELD_TAINT ":NoSchedule"};
#define GRACE DEVICE_MEMORY_STUCK_MS
#define LOOK DEVICE_MEMORY_LOOK_MS
#define ALL_LOOKS (16 * LOOK) /* until each device without a claim had its turn */

static void begin_with(const char *const *flags, unsigned count)
{
    world_new();
    settings_set(flags, count);
    devices_placed(16);
    for (unsigned n = 0; n < 16; n++) {
        world.found.devices[n].reading = (struct device_reading){.known = true};
    }
    for (unsigned n = 0; n < 4; n++) {
        (void)claim_add(n);
    }
    node_up();
    assert_true(publish_current(world.agent));
    api_forget();
    log_forget();
}

/* Claim 1 is prepared and unprepared, and leaves memory of its device in use. */
static void leave_memory(void)
{
    prepare_well(1, 1);
    disk.memory[1][5] = 4096;
    pass(LOOK);
    unprepare_well(1, 1);
}

/* --- what is stored and shown --- */

/* The taints of the stored device neuron-device-N; -1: it is not listed. */
static int taints_of(unsigned n)
{
    char name[32];
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    (void)snprintf(name, sizeof name, "neuron-device-%u", n);
    while (proto_next(&in, &f)) {
        if (f.number == 6 && view_is(proto_get(f.bytes, 1).bytes, name)) {
            return (int)proto_count(f.bytes, 8);
        }
    }
    return -1;
}

static bool page_has(const char *line)
{
    char text[2048];
    bool more = true;
    bool found = false;
    for (unsigned i = 0; more; i++) {
        struct writer w = writer_of(text, sizeof text - 1);
        memset(text, 0, sizeof text);
        more = statusz_line(world.agent, i, &w);
        found = found || strstr(text, line) != NULL;
    }
    return found;
}

#define HELD_LINE "trouble: no claim holds device neuron-device-1, but its memory has been in use "

static void check_held(void)
{
    assert_int_equal(said("event=device_memory_stuck"), 1);
    log_has("event=device_memory_stuck device=neuron-device-1 bytes=4096");
    assert_true(page_has(HELD_LINE));
    assert_true(page_has("device neuron-device-1: healthy, memory held"));
    check_metric("devices_memory_held", "1");
}

static void check_free(void)
{
    assert_false(page_has(HELD_LINE));
    assert_false(page_has("memory held"));
    check_metric("devices_memory_held", "0");
}

/* --- the tests --- */

/* Held once the time of grace is over, and no longer when the memory is free; untouched slices. */
static void test_held_and_freed(void **state)
{
    (void)state;
    begin_with(NULL, 0);
    leave_memory();
    pass(GRACE - 1000);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    check_free();
    pass(LOOK + 1000);
    check_held();
    assert_true(page_has("min: claim ml/claim-1 (c1a10000-0000-4000-8000-000000000001) had it"));
    assert_true(page_has("reload the Neuron driver or replace the node"));
    pass(1000);
    assert_non_null(strstr(event_only("DeviceMemoryStuck")->note, "neuron-device-1"));
    pass(2 * GRACE);
    assert_int_equal(said("event=device_memory_stuck"), 1);
    disk.memory[1][5] = 0;
    pass(LOOK);
    log_has("event=device_memory_freed device=neuron-device-1");
    check_free();
    assert_int_equal(api_writes(), 0);
    assert_int_equal(taints_of(1), 0);
}

/* With the setting: tainted, and not after; what a reader needs to find the process is the same. */
static void test_taint(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    pass(GRACE + LOOK);
    check_held();
    assert_int_equal(taints_of(1), 1);
    assert_int_equal(taints_of(2), 0);
    assert_true(publish_current(world.agent));
    assert_int_equal(api_writes(), 1);
    disk.memory[1][5] = 0;
    pass(2 * LOOK);
    assert_int_equal(taints_of(1), 0);
    assert_int_equal(api_writes(), 2);
}

/* Both reasons at once: two taints, each of which ends by itself. */
static void test_two_taints(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    pass(GRACE + LOOK);
    struct device_reading *r = &world.found.devices[1].reading;
    *r = (struct device_reading){0};
    device_reading_components(r, view_text("hbm\n"), true);
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(5000);
    assert_int_equal(taints_of(1), 2);
    assert_true(page_has("device neuron-device-1: unhealthy, memory held: hbm"));
    disk.memory[1][5] = 0;
    pass(2 * LOOK);
    assert_int_equal(taints_of(1), 1);
    *r = (struct device_reading){.known = true};
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(5000);
    assert_int_equal(taints_of(1), 0);
}

/* A server that drops taints: the device stays listed, and the agent is ready and rests. */
static void test_taint_dropped(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    api.drops_taints = true;
    leave_memory();
    pass(GRACE + LOOK);
    log_has("event=device_taint_dropped");
    check_held();
    assert_int_equal(taints_of(1), 0);
    assert_int_equal(slice_devices(api_slice_only()), 16);
    assert_true(agent_ready(world.agent));
    unsigned writes = api_writes();
    pass(3600000);
    assert_int_equal(api_writes(), writes);
    /* free, and held again when the server has learned to keep taints */
    disk.memory[1][5] = 0;
    pass(2 * LOOK);
    api.drops_taints = false;
    disk.memory[1][5] = 4096;
    pass(ALL_LOOKS + GRACE + LOOK);
    assert_int_equal(taints_of(1), 1);
}

/* A device that nobody had: found in its turn, and at the start of the agent. */
static void test_in_turn(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    disk.memory[9][0] = 512;
    pass(ALL_LOOKS);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    pass(GRACE + LOOK);
    log_has("event=device_memory_stuck device=neuron-device-9 bytes=512");
    log_has("which claim had it last is not known");
    assert_int_equal(taints_of(9), 1);
    restart();
    register_driver();
    pass(2000);
    assert_int_equal(taints_of(9), 0); /* the time of grace starts when the agent starts */
    pass(GRACE + LOOK);
    assert_int_equal(taints_of(9), 1);
}

/* A claim that runs, or whose containers are slow to end, is no sign of a dead runtime. */
static void test_claimed(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    prepare_well(1, 1);
    disk.memory[1][5] = 4096;
    pass(ALL_LOOKS + 2 * GRACE);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    unprepare_well(1, 1);
    pass(GRACE - LOOK);
    disk.memory[1][5] = 0; /* slow, but not dead */
    pass(2 * LOOK);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    assert_int_equal(api_writes(), 0);
}

/* The next claim gets the device while its memory is unguarded: no longer held. */
static void test_claimed_again(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    pass(GRACE + LOOK);
    assert_int_equal(taints_of(1), 1);
    world.settings.check_device_memory = false;
    prepare_well(1, 1);
    world.settings.check_device_memory = true;
    pass(2 * LOOK);
    log_has("event=device_memory_freed device=neuron-device-1");
    assert_int_equal(taints_of(1), 0);
    check_free();
    unprepare_well(1, 1);
    pass(GRACE - LOOK);
    assert_int_equal(taints_of(1), 0);
    pass(2 * LOOK);
    assert_int_equal(taints_of(1), 1);
}

/* A claim that is refused the device is named by its own line, and by the same Event. */
static void test_refused(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    (void)claim_add(5);
    api.claim[5].result[0].device = "neuron-device-1";
    assert_non_null(strstr(prepare_error(prepare_now(5, 1), 5), "has 4096 bytes of memory in use"));
    assert_true(page_has("trouble: claims are refused device neuron-device-1, "));
    pass(GRACE + LOOK);
    assert_int_equal(said("event=device_memory_stuck"), 1);
    assert_false(page_has(HELD_LINE));
    assert_int_equal(taints_of(1), 1);
    disk.memory[1][5] = 0;
    pass(2 * LOOK);
    assert_false(page_has("trouble: claims are refused"));
    prepare_well(5, 1);
}

/* A part of a device: its cores are watched beside a claim's; the device gets no taint. */
static void test_refused_part(void **state)
{
    char text[CLAIM_ERROR_CAP];
    struct writer why = writer_of(text, sizeof text);
    struct claim_record r = {.id = {.uid = "part"}, .driver = DRIVER_NEURON, .count = 1};
    (void)state;
    begin_with(taint_flags, 2);
    prepare_well(1, 1);
    r.result[0].number = 1;
    r.result[0].cores = 0x0c;
    text_set(r.result[0].share_id, sizeof r.result[0].share_id, "share");
    disk.memory[1][0] = 100; /* the claim's own */
    disk.memory[1][2] = 4096;
    assert_int_equal(device_memory_check(world.agent, &r, true, &why), HOST_BUSY);
    pass(GRACE + 2 * LOOK);
    log_has("event=device_memory_stuck device=neuron-device-1 bytes=4096");
    assert_true(page_has("trouble: claims are refused device neuron-device-1, "));
    assert_int_equal(taints_of(1), 0);
    check_metric("devices_memory_held", "0");
    disk.memory[1][2] = 0;
    pass(2 * LOOK);
    log_has("event=device_memory_freed device=neuron-device-1");
    assert_false(page_has("trouble: claims are refused"));
}

/* While the kubelet lists the last claim, it has not finished with the claim's containers. */
static void test_kubelet_lists_the_claim(void **state)
{
    const char *uid = "c1a10000-0000-4000-8000-000000000001";
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    disk_kubelet_state(&uid, 1, WALL_MS(world.now_ms), false);
    pass(3 * GRACE);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    disk_kubelet_state(&uid, 0, WALL_MS(world.now_ms), false);
    pass(GRACE + 2 * LOOK);
    check_held();
    assert_int_equal(taints_of(1), 1);
}

/* A checkpoint that cannot be read, or is damaged, says nothing: the unprepare counts. */
static void test_kubelet_says_nothing(void **state)
{
    const char *uid = "c1a10000-0000-4000-8000-000000000001";
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        begin_with(taint_flags, 2);
        leave_memory();
        disk_kubelet_state(&uid, 1, WALL_MS(world.now_ms), kind == 0);
        disk.kubelet_state_status = (kind == 1) ? HOST_IO : STATUS_OK;
        pass(GRACE + LOOK);
        check_held();
        disk.kubelet_state_status = STATUS_OK;
    }
}

/* A module without the files, and the guard switched off: silence. */
static void test_silent(void **state)
{
    static const char *const off[] = {"--check-device-memory=false", "--memory-held-taint",
                                      HELD_TAINT ":NoSchedule"};
    (void)state;
    begin_with(taint_flags, 2);
    disk.memory_status = HOST_ABSENT;
    leave_memory();
    pass(ALL_LOOKS + 2 * GRACE);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    disk.memory_status = STATUS_OK;
    begin_with(off, 3);
    leave_memory();
    pass(ALL_LOOKS + 2 * GRACE);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    check_free();
    assert_int_equal(memory_watch_deadline(world.agent), UINT64_MAX);
}

/* Files whose reads take long or hang: nothing is concluded from a look that did not end. */
static void test_slow_files(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    disk.memory_read = STATUS_MORE;
    pass(GRACE + 2 * LOOK);
    disk.memory_read = HOST_BUSY;
    pass(2 * LOOK);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    disk.memory_read = STATUS_OK;
    pass(2 * LOOK);
    check_held();
    disk.memory[1][5] = 0;
    disk.memory_read = HOST_BUSY;
    pass(2 * LOOK);
    check_held();
    disk.memory_read = STATUS_OK;
    pass(2 * LOOK);
    check_free();
}

/* A claim that gets the device while its files are read: what its processes use is its own. */
static void test_claimed_during_a_look(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    disk.memory_read = STATUS_MORE;
    pass(2 * LOOK);
    disk.memory[1][5] = 0;
    const struct peer_call *call = call_send(service_open(), PREPARE, claims_request(1, 1));
    pass(1000);
    disk.memory_read = STATUS_OK;
    pass(1000);
    assert_string_equal(prepare_error(call_reply_of(call), 1), "");
    disk.memory[1][5] = 4096;
    pass(GRACE + 2 * LOOK);
    assert_int_equal(said("event=device_memory_stuck"), 0);
    check_free();
}

/* A device that vanishes is held no longer: after a reload of the module its memory is free. */
static void test_vanished(void **state)
{
    (void)state;
    begin_with(taint_flags, 2);
    leave_memory();
    pass(GRACE + LOOK);
    check_held();
    world.found.devices[1].number = 63;
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(2 * LOOK);
    log_has("event=device_memory_freed device=neuron-device-1");
    check_metric("devices_memory_held", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_and_freed),
        cmocka_unit_test(test_claimed_during_a_look),
        cmocka_unit_test(test_taint),
        cmocka_unit_test(test_two_taints),
        cmocka_unit_test(test_taint_dropped),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_claimed),
        cmocka_unit_test(test_claimed_again),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_part),
        cmocka_unit_test(test_kubelet_lists_the_claim),
        cmocka_unit_test(test_kubelet_says_nothing),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_slow_files),
        cmocka_unit_test(test_vanished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
