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
    devices_placed(16);
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

/*
 * Of the four devices of one claim the first is gone, the second has its node still, the third has
 * another one, and the fourth has the node of a claim whose device is gone. Record and file follow
 * the third alone.
 */
static void test_some_nodes_of_a_claim(void **state)
{
    static char names[4][DEVICE_NAME_CAP];
    static struct claim_record file;
    const struct claim_record *r = NULL;
    (void)state;
    begin();
    struct api_claim *c = efa_claim(0, 0);
    c->results = 4;
    for (unsigned i = 0; i < 4u; i++) {
        efa_device_name(efa_address(i), names[i]);
        c->result[i] = (struct api_allocation){.request = c->result[0].request, .device = names[i]};
    }
    (void)efa_claim(1, 5);
    prepared(0);
    prepared(1);
    log_forget();
    efa_node(2, 12);
    efa_node(3, 5);
    vanish(5);
    vanish(0);
    look();
    int slot = ledger_find(world.agent, api.claim[0].uid);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    assert_int_equal(ledger_read_cdi(world.agent, api.claim[0].uid, &file), STATUS_OK);
    static const unsigned nodes[] = {0, 1, 12, 3};
    for (unsigned i = 0; i < 4u; i++) {
        assert_int_equal(r->result[i].uverbs, nodes[i]);
        assert_int_equal(file.result[i].uverbs, nodes[i]);
    }
    assert_int_equal(said("event=efa_node_moved"), 1);
    assert_int_equal(said("event=efa_node_contested"), 1);
    has_node(1, 5);
}

/* The disk refuses the record that follows a moved node: a later round writes it. */
static void test_node_moves_on_a_full_disk(void **state)
{
    (void)state;
    begin();
    prepared(0);
    prepared(1);
    efa_node(0, 7);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    look();
    const struct claim_record *r = NULL;
    int slot = ledger_find(world.agent, api.claim[0].uid);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    assert_int_equal(r->result[0].uverbs, 0);
    assert_true(moved(0));
    disk_refuse(FILES_STATE, STATUS_OK);
    pass(2u * world.settings.reconcile_ms);
    has_node(0, 7);
    assert_false(moved(0));
}

/* Which claim is gone was found about the record of before: the next look has to find it again. */
static void test_node_of_a_withheld_claim_moves(void **state)
{
    static const char uid[] = "c1a10000-0000-4000-8000-000000000000";
    const char *const uids[] = {uid};
    (void)state;
    begin();
    prepared(0);
    unsigned slot = (unsigned)ledger_find(world.agent, uid);
    api.claim[0].uid[0] = '\0';
    disk_kubelet_state(uids, 1, UINT64_MAX, false);
    pass(4u * world.settings.reconcile_ms);
    assert_true(reconcile_withholds(world.agent, slot));
    api.reachable = false; /* so that nothing is asked right after the move */
    api.connected = false;
    api_end("connection reset by peer");
    settle();
    efa_node(0, 7);
    look();
    log_has("event=efa_node_moved");
    assert_false(reconcile_withholds(world.agent, slot));
    api.reachable = true;
    pass(4u * world.settings.reconcile_ms);
    assert_true(reconcile_withholds(world.agent, slot));
    assert_int_equal(held(), 1);
}

/* The list of claims names a device that the outline of a held claim lacks: it holds that, too. */
static void test_outline_and_list(void **state)
{
    (void)state;
    begin();
    prepared(0);
    int slot = ledger_find(world.agent, api.claim[0].uid);
    struct ledger_entry *e = &world.agent->ledger->entry[slot];
    const struct claim_record *r = NULL;
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    e->record = RECORD_OUTLINE; /* as loaded from the record of a newer agent */
    e->functions = 0;
    assert_int_equal(ledger_listed_claim(world.agent, (unsigned)slot, r), STATUS_OK);
    assert_int_equal(e->record, RECORD_UNSURE);
    assert_true(ledger_holds_address(world.agent, (unsigned)slot, efa_address(0)));
    assert_int_not_equal(e->functions, 0);
    /* once they are known, the list changes nothing more */
    uint64_t sequence = e->sequence;
    assert_int_equal(ledger_listed_claim(world.agent, (unsigned)slot, r), STATUS_OK);
    assert_int_equal(e->sequence, sequence);
}

static bool at_once(void)
{
    return true;
}

/*
 * Another claim has a device of the same number, which follows from the order of the devices. A
 * claim of which a half is damaged gives up the number and keeps its device, which has an address.
 */
static void test_number_of_another_device(void **state)
{
    char name[CDI_FILE_NAME_CAP];
    (void)state;
    begin();
    prepared(0);
    int slot = ledger_find(world.agent, api.claim[0].uid);
    unsigned half = world.agent->ledger->entry[slot].half;
    struct device *d = world.agent->node->inventory.devices.device;
    d[1].number = d[0].number;
    d[0].number = BOARD_GROUPED_DEVICES + 20;
    prepared(1);
    cdi_file_name(DRIVER_EFA, api.claim[0].uid, name);
    kill_agent();
    disk_unlink(disk_find(FILES_CDI, name));
    file_fill(disk_find(FILES_STATE, STORE_FILE_NAME), store_offset((unsigned)slot, 1u - half),
              0x5a, STORE_HALF_BYTES);
    world.halt = at_once;
    start();
    become_efa();
    world.halt = NULL;
    settle();
    slot = ledger_find(world.agent, api.claim[0].uid);
    assert_true(slot >= 0);
    assert_int_equal(world.agent->ledger->entry[slot].numbers, 0);
    assert_true(ledger_holds_address(world.agent, (unsigned)slot, efa_address(0)));
    assert_int_equal(held(), 2);
}

/* A CDI file of an EFA device under the name of a Neuron claim brings no claim back. */
static void test_file_of_the_other_driver(void **state)
{
    static uint8_t kept[DISK_PAGE];
    char name[CDI_FILE_NAME_CAP];
    (void)state;
    begin();
    prepared(0);
    cdi_file_name(DRIVER_EFA, api.claim[0].uid, name);
    struct view content = file_content(disk_find(FILES_CDI, name));
    memcpy(kept, content.data, content.len);
    kill_agent();
    disk_unlink(disk_find(FILES_CDI, name));
    disk_unlink(disk_find(FILES_STATE, STORE_FILE_NAME));
    cdi_file_name(DRIVER_NEURON, api.claim[0].uid, name);
    disk_set(disk_make(FILES_CDI, name), 0, view_of(kept, content.len));
    log_forget();
    start();
    assert_int_equal(held(), 0);
    log_has("reason=\"its content is damaged\"");
    assert_non_null(disk_find(FILES_CDI, name));
    register_driver();
    pass(3000);
    assert_false(agent_ready(world.agent));
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
    world.agent->ending = true;
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
        cmocka_unit_test(test_line_of_the_driver),
        cmocka_unit_test(test_numbers_are_the_kernels),
        cmocka_unit_test(test_whose_node_moved),
        cmocka_unit_test(test_nodes_swap),
        cmocka_unit_test(test_node_of_a_record),
        cmocka_unit_test(test_numbers_change),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_some_nodes_of_a_claim),
        cmocka_unit_test(test_node_moves_on_a_full_disk),
        cmocka_unit_test(test_node_of_a_withheld_claim_moves),
        cmocka_unit_test(test_outline_and_list),
        cmocka_unit_test(test_file_of_the_other_driver),
        cmocka_unit_test(test_number_of_another_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
