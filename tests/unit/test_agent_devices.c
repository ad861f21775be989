/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of devices in the whole agent: taint, omission, log, Event, metric and the kubelet's
 * health stream, at the look that finds it; recovery likewise; and what a flapping file costs.
 */
#include "tests/unit/kubelet/agent_kubelet.h"
#include "dra/pci.h"

#define V1ALPHA1 "/v1alpha1.DRAResourceHealth/NodeWatchResources"
#define V1 "/v1.DRAResourceHealth/NodeWatchResources"
#define LOOK_MS 5000u

static void healthy(unsigned n)
{
    world.found.devices[n].reading = (struct device_reading){.known = true};
}

static void broken(unsigned n, const char *components)
{
    struct device_reading *r = &world.found.devices[n].reading;
    *r = (struct device_reading){0};
    device_reading_components(r, view_text(components), true);
}

/* One look at the node, and what follows from it within the interval. */
static void look(void)
{
    agent_found(world.agent, &world.found);
    world.poked = true;
    pass(LOOK_MS);
}

static void begin_with(const char *const *flags, unsigned count)
{
    world_new();
    settings_set(flags, count);
    for (unsigned n = 0; n < 16; n++) {
        healthy(n);
    }
    for (unsigned n = 0; n < 4; n++) {
        (void)claim_add(n);
    }
    node_up();
    assert_true(publish_current(world.agent));
    api_forget();
    log_forget();
}

static void begin(void)
{
    begin_with(NULL, 0);
}

/* --- the stored slice --- */

/* The stored device neuron-device-N; empty: it is not listed. */
static struct view stored(unsigned n)
{
    char name[32];
    struct reader in = reader_of(slice_spec(api_slice_only()));
    struct sim_field f;
    (void)snprintf(name, sizeof name, "neuron-device-%u", n);
    while (proto_next(&in, &f)) {
        if (f.number == 6 && view_is(proto_get(f.bytes, 1).bytes, name)) {
            return f.bytes;
        }
    }
    return view_of(NULL, 0);
}

static unsigned tainted(void)
{
    unsigned count = 0;
    for (unsigned n = 0; n < 16; n++) {
        struct view device = stored(n);
        count += device.len > 0 ? (unsigned)proto_count(device, 8) : 0u;
    }
    return count;
}

static void has_taint(unsigned n, const char *key, const char *effect)
{
    assert_int_equal(proto_count(stored(n), 8), 1);
    struct view taint = proto_get(stored(n), 8).bytes;
    assert_true(view_is(proto_get(taint, 1).bytes, key));
    assert_true(view_is(proto_get(taint, 3).bytes, effect));
    assert_int_equal(proto_get(proto_get(taint, 4).bytes, 1).value > 1700000000, true);
}

static void test_taint(void **state)
{
    (void)state;
    begin();
    broken(3, "hbm\n");
    look();
    assert_int_equal(api_writes(), 1);
    assert_int_equal(slice_devices(api_slice_only()), 16);
    assert_int_equal(tainted(), 1);
    has_taint(3, "neuron.aws.com/unhealthy", "NoSchedule");
    assert_true(agent_ready(world.agent));
    log_has("event=device_unhealthy device=neuron-device-3 text=hbm");
    /* other reasons are no other taint */
    broken(3, "hbm,sram\n");
    look();
    log_has("text=\"hbm, sram\"");
    broken(3, "sram\n");
    look();
    assert_int_equal(said("event=device_unhealthy"), 2);
    assert_int_equal(api_writes(), 1);
    healthy(3);
    look();
    assert_int_equal(api_writes(), 2);
    assert_int_equal(tainted(), 0);
    log_has("event=device_recovered device=neuron-device-3");
    assert_true(agent_ready(world.agent));
}

/* A restart finds the taint stored, and writes nothing. */
static void test_restart(void **state)
{
    (void)state;
    begin();
    broken(3, "hbm\n");
    look();
    api_forget();
    restart();
    register_driver();
    pass(2000);
    assert_int_equal(api_writes(), 0);
    assert_true(publish_current(world.agent));
}

static void test_own_taint(void **state)
{
    static const char *const flags[] = {"--unhealthy-taint", "example.com/broken:NoExecute"};
    (void)state;
    begin_with(flags, 2);
    broken(15, "device_unreachable\n");
    look();
    has_taint(15, "example.com/broken", "NoExecute");
}

/* v1beta1 has the taint, like all else, one message deeper. */
static void test_old_version(void **state)
{
    (void)state;
    world_new();
    api.served = SERVES(SIM_V1BETA1);
    node_up();
    broken(3, "hbm\n");
    look();
    has_taint(3, "neuron.aws.com/unhealthy", "NoSchedule");
    assert_true(publish_current(world.agent));
}

static void test_left_out_by_setting(void **state)
{
    static const char *const flags[] = {"--unhealthy-taint", ""};
    (void)state;
    begin_with(flags, 2);
    prepare_well(1, 1);
    broken(1, "hbm\n");
    broken(2, "hbm\n");
    look();
    /* the one in use stays listed */
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_int_equal(stored(2).len, 0);
    assert_int_equal(tainted(), 0);
    unprepare_well(1, 1);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 14);
    healthy(1);
    healthy(2);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 16);
}

/* A drain taints the devices that are offered; one that is left out stays so. */
static void test_left_out_by_setting_in_a_drain(void **state)
{
    static const char *const flags[] = {"--unhealthy-taint", ""};
    (void)state;
    begin_with(flags, 2);
    broken(2, "hbm\n");
    api.label[LABEL_DRAIN] = "true";
    api_node_touch();
    pass(2000);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_int_equal(stored(2).len, 0);
    has_taint(3, "neuron.aws.com/drain", "NoSchedule");
}

/* A server that does not keep taints: the device is left out, and tried again the next time. */
static void test_left_out_where_taints_are_dropped(void **state)
{
    (void)state;
    begin();
    api.drops_taints = true;
    prepare_well(1, 1);
    broken(1, "hbm\n");
    broken(2, "hbm\n");
    look();
    log_has("event=device_taint_dropped");
    assert_int_equal(said("event=slice_fields_dropped"), 0);
    assert_int_equal(api_writes(), 2);
    assert_int_equal(slice_devices(api_slice_only()), 15);
    assert_int_equal(stored(2).len, 0);
    assert_true(agent_ready(world.agent));
    pass(3600000);
    assert_int_equal(api_writes(), 2);
    healthy(1);
    healthy(2);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 16);
    /* the server learned to keep them */
    api.drops_taints = false;
    broken(2, "hbm\n");
    look();
    has_taint(2, "neuron.aws.com/unhealthy", "NoSchedule");
    assert_int_equal(slice_devices(api_slice_only()), 16);
}

/* --- devices that vanish --- */

static void test_vanished(void **state)
{
    (void)state;
    begin();
    world.found.count = 15; /* neuron15 is gone, and nobody has it */
    look();
    assert_int_equal(slice_devices(api_slice_only()), 15);
    log_has(
        "event=device_unhealthy device=neuron-device-15 text=\"device gone\" remedy=\"see dmesg; "
        "delete its pods, and replace the instance if the device stays away\"");
    world.found.count = 16;
    look();
    assert_int_equal(slice_devices(api_slice_only()), 16);
    log_has("event=device_recovered device=neuron-device-15");
}

/* No file says whether the device that is back is healthy: its recovery has no text in the log. */
static void test_back_without_a_verdict(void **state)
{
    (void)state;
    begin();
    world.found.count = 15;
    look();
    world.found.count = 16;
    world.found.devices[15].reading = (struct device_reading){0};
    look();
    log_has("event=device_recovered device=neuron-device-15\n");
}

static void test_vanished_in_use(void **state)
{
    (void)state;
    begin();
    prepare_well(0, 1);
    world.found.devices[0] = world.found.devices[15];
    world.found.count = 15;
    look();
    assert_int_equal(slice_devices(api_slice_only()), 16);
    has_taint(0, "neuron.aws.com/unhealthy", "NoSchedule");
    /* so does the next process find it */
    api_forget();
    restart();
    register_driver();
    pass(2000);
    assert_int_equal(api_writes(), 0);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 16);
    has_taint(0, "neuron.aws.com/unhealthy", "NoSchedule");
    unprepare_well(0, 1);
    look();
    assert_int_equal(slice_devices(api_slice_only()), 15);
}

/* It is not taken for recovered before a look can tell that it is. */
static void test_back_and_unreadable(void **state)
{
    (void)state;
    begin();
    text_set(world.found.driver_version, sizeof world.found.driver_version, "2.30.2.0");
    world.found.count = 15;
    look();
    world.found.count = 16;
    world.found.devices[15].reading = (struct device_reading){0};
    device_reading_unread(&world.found.devices[15].reading, HEALTH_FILE_COMPONENTS, false);
    for (unsigned i = 0; i < 3; i++) {
        look();
    }
    assert_int_equal(said("event=device_recovered"), 0);
    has_taint(15, "neuron.aws.com/unhealthy", "NoSchedule");
    healthy(15);
    look();
    look();
    assert_int_equal(tainted(), 0);
    assert_int_equal(said("event=device_recovered device=neuron-device-15"), 1);
    assert_int_equal(said("event=device_unhealthy"), 1);
}

/* --- files that the kernel module has moved --- */

static void test_files_moved(void **state)
{
    (void)state;
    begin();
    text_set(world.found.driver_version, sizeof world.found.driver_version, "2.31.7.0");
    for (unsigned n = 0; n < 16; n++) {
        struct device_reading *r = &world.found.devices[n].reading;
        *r = (struct device_reading){0};
        device_reading_unread(r, HEALTH_FILE_COMPONENTS, true);
    }
    for (unsigned i = 0; i < 20; i++) {
        look();
    }
    assert_int_equal(said("issue=health-files"), 1);
    log_has("level=warn event=device_issue_found issue=health-files value=\"health unknown: module "
            "2.31.7.0 should have unhealthy_components; absent of devices 0,1,2,3,4,5,6,7,8,9,10,"
            "11,12,13,14,15\" remedy=\"use an agent release that knows this kernel module");
    const struct stored_event *e = event_only("NeuronDeviceIssue");
    assert_non_null(strstr(e->note, "health unknown: module 2.31.7.0"));
    assert_int_equal(tainted(), 0);
    assert_int_equal(said("event=device_unhealthy"), 0);
}

/* --- what it costs --- */

static void test_thousand_flips(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        if (i % 2 == 0) {
            broken(3, "hbm\n");
        } else {
            healthy(3);
        }
        look();
    }
    assert_int_equal(api_writes(), 2 * HEALTH_FALLS_FREE + 1);
    assert_int_equal(said("event=device_unhealthy"), HEALTH_FALLS_FREE + 1);
    healthy(3);
    for (unsigned i = 0; i <= HEALTH_HOLD_MS / LOOK_MS; i++) {
        look();
    }
    assert_int_equal(tainted(), 0);
}

/* --- the health stream --- */

/* Healths of a whole message that begins at `at`: one digit for each device, in their order. */
static size_t report_at(const struct peer_call *c, size_t at, char *text)
{
    struct reader head = reader_of(view_of(c->bytes + at + 1, 4));
    uint32_t len = 0;
    size_t n = 0;
    assert_int_equal(c->bytes[at], 0);
    assert_int_equal(reader_u32(&head, &len), STATUS_OK);
    assert_true(at + 5 + len <= c->len);
    struct reader in = reader_of(view_of(c->bytes + at + 5, len));
    struct sim_field f;
    while (proto_next(&in, &f)) {
        char name[32];
        struct view id = proto_get(f.bytes, 1).bytes;
        assert_int_equal(f.number, 1);
        (void)snprintf(name, sizeof name, "neuron-device-%zu", n);
        assert_true(view_is(proto_get(id, 1).bytes, NODE_NAME));
        assert_true(view_is(proto_get(id, 2).bytes, name));
        assert_int_equal(proto_get(f.bytes, 4).value, 30);
        text[n++] = (char)('0' + (proto_count(f.bytes, 2) > 0 ? proto_get(f.bytes, 2).value : 0));
    }
    text[n] = 0;
    return at + 5 + len;
}

/* All reports so far: how many, and the last one in `text`. */
static unsigned reports(const struct peer_call *c, char *text)
{
    unsigned n = 0;
    for (size_t at = 0; at < c->len; n++) {
        at = report_at(c, at, text);
    }
    return n;
}

static void stream_goes(const char *path)
{
    char text[DEVICES_MAX + 1];
    begin();
    struct peer *p = service_open();
    struct peer_call *c = call_send(p, path, view_of(NULL, 0));
    settle();
    assert_int_equal(reports(c, text), 1);
    assert_string_equal(text, "1111111111111111");
    /* the kubelet believes it for thirty seconds */
    pass(30000);
    assert_in_range(reports(c, text), 3, 4);
    c->len = 0;
    broken(3, "hbm\n");
    world.found.devices[4].reading = (struct device_reading){0};
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
    assert_int_equal(reports(c, text), 1);
    assert_string_equal(text, "1112011111111111");
    healthy(3);
    healthy(4);
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
    assert_int_equal(reports(c, text), 2);
    assert_string_equal(text, "1111111111111111");
    assert_false(c->ended);
    agent_stop(world.agent, world.now_ms);
    world.poked = true;
    settle();
    assert_true(c->ended);
    assert_int_equal(c->status, GRPC_UNAVAILABLE);
}

static void test_stream(void **state)
{
    (void)state;
    stream_goes(V1ALPHA1);
    stream_goes(V1);
}

/* Octet by octet, with changes meanwhile: whole reports, the last one of the newest state. */
static void test_slow_stream(void **state)
{
    char text[DEVICES_MAX + 1];
    (void)state;
    begin();
    struct peer *p = peer_open(LINK_SERVICE, 100);
    p->cut = 7;
    const struct peer_call *c = call_send(p, V1, view_of(NULL, 0));
    for (unsigned i = 0; i < 40; i++) {
        broken(i % 16, "sram,link_efa");
        agent_found(world.agent, &world.found);
        world.poked = true;
        settle();
    }
    assert_true(reports(c, text) > 1);
    assert_string_equal(text, "2222222222222222");
}

/*
 * The length of a report is announced first: an EFA device that goes before its entry is sent keeps
 * its name in that report, which a device without a place in the table would not have.
 */
static void test_device_goes_in_a_report(void **state)
{
    (void)state;
    begin();
    struct devices *d = &world.agent->node->inventory.devices;
    d->driver = DRIVER_EFA;
    for (unsigned i = 0; i < d->count; i++) {
        efa_device_name(0x1000u + i * 8u, d->device[i].name);
    }
    struct peer *p = peer_open(LINK_SERVICE, 100);
    const struct peer_call *c = call_send(p, V1, view_of(NULL, 0));
    p->deaf = true;
    settle();
    d->count = 2;
    p->deaf = false;
    world.poked = true;
    settle();
    struct reader head = reader_of(view_of(c->bytes + 1, 4));
    uint32_t len = 0;
    assert_int_equal(reader_u32(&head, &len), STATUS_OK);
    assert_false(c->ended);
    assert_true(c->len >= 5u + len);
    struct reader in = reader_of(view_of(c->bytes + 5, len));
    struct sim_field f;
    unsigned entries = 0;
    while (proto_next(&in, &f)) {
        char name[DEVICE_NAME_CAP];
        efa_device_name(0x1000u + entries * 8u, name);
        assert_true(view_is(proto_get(proto_get(f.bytes, 1).bytes, 2).bytes, name));
        entries++;
    }
    assert_int_equal(entries, 16);
    /* without the board's map the report names two devices, and has an entry for the others */
    d->board = NULL;
    size_t before = c->len;
    pass(DEVICE_REPORT_MS);
    world.poked = true;
    settle();
    assert_true(c->len > before + 5u);
    in = reader_of(view_of(c->bytes + before + 5u, c->len - before - 5u));
    for (entries = 0; proto_next(&in, &f); entries++) {
        char name[DEVICE_NAME_CAP];
        efa_device_name(0x1000u + entries * 8u, name);
        struct view told = proto_get(proto_get(f.bytes, 1).bytes, 2).bytes;
        assert_true(view_is(told, (entries < 2) ? name : EFA_DEVICE_PREFIX "?"));
    }
    assert_int_equal(entries, 16);
}

/*
 * The kubelet opens its health stream before the agent has found the devices: the agent sends the
 * first report when it has found them, not earlier. The claim store opens nevertheless.
 */
static void test_stream_before_the_devices(void **state)
{
    char text[DEVICES_MAX + 1];
    (void)state;
    begin();
    kill_agent();
    start();
    struct agent *memory = world.agent;
    kill_agent();
    memset((void *)memory, 0, sizeof(struct agents));
    world.agent = agent_init(&world.settings, &disk_files, 42, world.now_ms, WALL_MS(world.now_ms));
    world.poked = true;
    settle();
    struct peer *p = service_open();
    const struct peer_call *c = call_send(p, V1, view_of(NULL, 0));
    settle();
    register_driver();
    pass(2 * DEVICE_REPORT_MS);
    assert_int_equal(c->len, 0);
    assert_true(ledger_is_usable(world.agent));
    assert_false(agent_ready(world.agent));
    agent_found(world.agent, &world.found);
    world.poked = true;
    settle();
    assert_int_equal(reports(c, text), 1);
    assert_string_equal(text, "1111111111111111");
}

/*
 * A peer takes nothing until the send buffer is full, and then opens another stream: both get the
 * newest state once it reads.
 */
static void test_deaf_streams(void **state)
{
    char text[DEVICES_MAX + 1];
    (void)state;
    begin();
    struct peer *p = peer_open(LINK_SERVICE, 65535);
    const struct peer_call *first = call_send(p, V1, view_of(NULL, 0));
    settle();
    unsigned before = reports(first, text);
    p->deaf = true;
    for (unsigned i = 0; i < 13; i++) {
        broken(i, "sram,link_efa");
        agent_found(world.agent, &world.found);
        world.poked = i < 12;
        if (i < 12) {
            settle();
        }
    }
    const struct peer_call *second = call_send(p, V1, view_of(NULL, 0));
    settle();
    assert_true(world.agent->serve->device_stream[0][0].busy);
    assert_int_equal(device_streams_open(world.agent, (unsigned)p->link), 2);
    assert_false(world.agent->serve->device_stream[0][1].started);
    p->deaf = false;
    settle();
    assert_true(reports(first, text) > before);
    assert_string_equal(text, "2222222222222111");
    assert_int_equal(reports(second, text), 1);
    assert_string_equal(text, "2222222222222111");
    assert_false(first->ended || second->ended);
}

/* More streams than a kubelet has are refused; one that ended makes room. */
static void test_many_streams(void **state)
{
    (void)state;
    begin();
    struct peer *p = service_open();
    struct peer_call *first = call_send(p, V1, view_of(NULL, 0));
    for (unsigned i = 1; i < DEVICE_STREAMS_PER_LINK; i++) {
        (void)call_send(p, V1ALPHA1, view_of(NULL, 0));
    }
    settle();
    call_refused(p, V1, view_of(NULL, 0), GRPC_RESOURCE_EXHAUSTED);
    call_cancel(p, first);
    const struct peer_call *next = call_send(p, V1, view_of(NULL, 0));
    settle();
    assert_false(next->ended);
    assert_true(next->len > 0);
    assert_int_equal(device_streams_open(world.agent, (unsigned)p->link), DEVICE_STREAMS_PER_LINK);
    peer_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taint),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_own_taint),
        cmocka_unit_test(test_old_version),
        cmocka_unit_test(test_left_out_by_setting),
        cmocka_unit_test(test_left_out_by_setting_in_a_drain),
        cmocka_unit_test(test_left_out_where_taints_are_dropped),
        cmocka_unit_test(test_vanished),
        cmocka_unit_test(test_back_without_a_verdict),
        cmocka_unit_test(test_vanished_in_use),
        cmocka_unit_test(test_back_and_unreadable),
        cmocka_unit_test(test_files_moved),
        cmocka_unit_test(test_thousand_flips),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_slow_stream),
        cmocka_unit_test(test_device_goes_in_a_report),
        cmocka_unit_test(test_stream_before_the_devices),
        cmocka_unit_test(test_deaf_streams),
        cmocka_unit_test(test_many_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
