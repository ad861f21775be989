/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims for EFA devices, which are known by PCI address: uverbs nodes that change while a claim is
 * held, devices that vanish, and numbers that another order of the devices gives. No two exclusive
 * claims have one device or one node.
 */
#include "tests/unit/kubelet/agent_kubelet.h"
#include "dra/pci.h"

/* --- EFA devices: the harness's devices under names and uverbs nodes of EFA functions --- */

static struct driver efa_driver;

static uint32_t efa_address(unsigned n)
{
    return 0x1000u + n * 8u;
}

/* Device `n` of the table has this uverbs node. */
static void efa_node(unsigned n, unsigned uverbs)
{
    struct device *d = &world.agent->node->inventory.devices.device[n];
    d->efa.uverbs = (uint16_t)uverbs;
    d->place = world.found.devices[uverbs].place;
}

/* The agent's devices become EFA devices, numbered as in a table without a map. */
static void become_efa(void)
{
    efa_driver = *world.agent->driver;
    efa_driver.kind = DRIVER_EFA;
    world.agent->driver = &efa_driver;
    world.agent->node->inventory.devices.driver = DRIVER_EFA;
    for (unsigned n = 0; n < 16; n++) {
        struct device *d = &world.agent->node->inventory.devices.device[n];
        d->number = (uint16_t)(BOARD_GROUPED_DEVICES + n);
        d->efa.address = efa_address(n);
        efa_device_name(d->efa.address, d->name);
        efa_node(n, n);
    }
}

static struct api_claim *efa_claim(unsigned claim, unsigned device)
{
    static char name[API_CLAIMS][DEVICE_NAME_CAP];
    struct api_claim *c = claim_add(claim);
    efa_device_name(efa_address(device), name[claim]);
    c->result[0].device = name[claim];
    return c;
}

/* Devices 0 to 15 with nodes 0 to 15; claims 0 and 1 have the first two. */
static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 16; n++) {
        world.found.devices[n].place = (struct device_place){.folder = 100 + n, .node = 1000 + n};
        disk.device[n] = world.found.devices[n].place;
    }
    node_up();
    become_efa();
    (void)efa_claim(0, 0);
    (void)efa_claim(1, 1);
}

/* The look found this. */
static void look(void)
{
    reconcile_devices(world.agent);
    world.poked = true;
    settle();
}

/* Device `n` is gone. */
static void vanish(unsigned n)
{
    struct devices *d = &world.agent->node->inventory.devices;
    int at = devices_addressed(d, efa_address(n));
    assert_true(at >= 0);
    d->count--;
    memmove(&d->device[at], &d->device[at + 1], (d->count - (unsigned)at) * sizeof d->device[0]);
}

static void prepared(unsigned claim)
{
    assert_string_equal(prepare_error(prepare_now(claim, 1), claim), "");
}

static void has_node(unsigned claim, unsigned uverbs)
{
    static struct claim_record file;
    const struct claim_record *record = NULL;
    int slot = ledger_find(world.agent, api.claim[claim].uid);
    assert_true(slot >= 0);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &record), STATUS_OK);
    assert_int_equal(record->result[0].uverbs, uverbs);
    assert_int_equal(ledger_read_cdi(world.agent, api.claim[claim].uid, &file), STATUS_OK);
    assert_int_equal(file.result[0].uverbs, uverbs);
}

static bool moved(unsigned claim)
{
    int slot = ledger_find(world.agent, api.claim[claim].uid);
    assert_true(slot >= 0);
    return ledger_moved(world.agent, (unsigned)slot);
}

/* A line of this driver names it, once. */
static void test_line_of_the_driver(void **state)
{
    (void)state;
    begin();
    log_forget();
    register_driver();
    assert_int_equal(said("event=registered driver=neuron.aws.com\n"), 1);
}

/* Numbers from zero are for Neuron devices: an EFA device keeps its uverbs node. */
static void test_numbers_are_the_kernels(void **state)
{
    (void)state;
    begin();
    world.settings.zero_numbering = true;
    prepared(1);
    has_node(1, 1);
    const struct claim_record *record = NULL;
    int slot = ledger_find(world.agent, api.claim[1].uid);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &record), STATUS_OK);
    assert_false(record->zero_numbering);
}

/* A claim has moved if a node of its own device has, whatever the nodes of other claims do. */
static void test_whose_node_moved(void **state)
{
    (void)state;
    begin();
    prepared(0);
    prepared(1);
    assert_false(moved(0) || moved(1));
    efa_node(1, 7);
    assert_true(moved(1) && !moved(0));
    efa_node(0, 8);
    assert_true(moved(0));
}

/* A reload of the driver swaps two nodes: records and files follow, and each claim says so. */
static void test_nodes_swap(void **state)
{
    (void)state;
    begin();
    prepared(0);
    prepared(1);
    log_forget();
    efa_node(0, 1);
    efa_node(1, 0);
    look();
    has_node(0, 1);
    has_node(1, 0);
    assert_int_equal(said("event=efa_node_moved"), 2);
    log_has("uverbs_before=0 uverbs=1");
    prepared(0);
    prepared(1);
}

/* A device is gone, and its node another one's: nobody else gets the node while a record has it. */
static void test_node_of_a_record(void **state)
{
    (void)state;
    begin();
    (void)efa_claim(2, 2);
    prepared(0);
    prepared(2);
    vanish(0);
    struct devices *d = &world.agent->node->inventory.devices;
    d->device[0].efa.uverbs = 0;
    d->device[0].place = world.found.devices[0].place;
    assert_string_equal(
        prepare_error(prepare_now(1, 1), 1),
        "claim ml/claim-1: requested device pci-0000-10-01-0 has /dev/infiniband/uverbs0, which is "
        "already named by the record of claim ml/claim-0 (c1a10000-0000-4000-8000-000000000000); "
        "once no pod uses that one: kubectl -n ml delete resourceclaim claim-0; the agent then "
        "releases it by itself");
    assert_true(ledger_find(world.agent, api.claim[1].uid) < 0);
    /* nor does a claim that is held already */
    d->device[0].efa.uverbs = 9;
    d->device[1].efa.uverbs = 0;
    look();
    has_node(2, 2);
    log_has("event=efa_node_contested");
}

/* After a restart with other devices the numbers are other ones: claims are known by address. */
static void test_numbers_change(void **state)
{
    (void)state;
    begin();
    prepared(0);
    struct device *d = world.agent->node->inventory.devices.device;
    struct device first = d[0];
    d[0] = d[1];
    d[1] = first;
    d[0].number = BOARD_GROUPED_DEVICES;
    d[1].number = BOARD_GROUPED_DEVICES + 1;
    (void)efa_claim(2, 0);
    const char *why = prepare_error(prepare_now(2, 1), 2);
    assert_non_null(strstr(why, "device pci-0000-10-00-0 is already held by claim ml/claim-0"));
    prepared(1);
    assert_int_equal(ledger_numbers(world.agent), UINT64_C(3) << BOARD_GROUPED_DEVICES);
    prepared(0);
}

/* Without --efa the driver answers for what it holds and gives it back, and takes nothing new. */
static void test_switched_off(void **state)
{
    (void)state;
    begin();
    prepared(0);
    world.agent->draining = true;
    prepared(0);
    const char *why = prepare_error(prepare_now(1, 1), 1);
    assert_non_null(strstr(why, "runs without --efa (draDriver.efa.enabled)"));
    assert_int_equal(ledger_find(world.agent, api.claim[1].uid), -1);
    /* Nor another device for the claim that is held. */
    (void)efa_claim(0, 3);
    why = prepare_error(prepare_now(0, 1), 0);
    assert_non_null(strstr(why, "runs without --efa (draDriver.efa.enabled)"));
    unprepare_well(0, 1);
    assert_int_equal(ledger_numbers(world.agent), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_of_the_driver), cmocka_unit_test(test_numbers_are_the_kernels),
        cmocka_unit_test(test_whose_node_moved),   cmocka_unit_test(test_nodes_swap),
        cmocka_unit_test(test_node_of_a_record),   cmocka_unit_test(test_numbers_change),
        cmocka_unit_test(test_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
