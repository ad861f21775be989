/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cores of a device a part gets, in the whole agent: beside the parts of others, again for a
 * claim that has some, and of a device that is another one since the claim was read.
 */
#include "agent/claim/numbering.h"

#include "tests/unit/kubelet/agent_kubelet.h"

static char text[CLAIM_ERROR_CAP];

static void begin(void)
{
    world_new();
    for (unsigned n = 0; n < 3; n++) {
        (void)claim_add(n);
    }
    node_up();
    prepare_well(0, 3);
}

/*
 * Claim n with a part of device 4, as the builder leaves it or with the cores that it has; without
 * cores: with the whole device.
 */
static struct claim_record part_of_4(unsigned n, uint8_t cores)
{
    const struct claim_record *r = NULL;
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    struct claim_record part = *r;
    part.result[0].number = 4;
    part.result[0].cores = cores;
    part.result[0].logical_neuron_core = 2;
    text_set(part.result[0].share_id, sizeof part.result[0].share_id,
             (cores != 0) ? api.claim[n].uid : "");
    part.zero_numbering = true;
    return part;
}

static void hold(unsigned n, uint8_t cores)
{
    struct writer why = writer_of(text, sizeof text - 1);
    unsigned slot = 0;
    const struct claim_record part = part_of_4(n, cores);
    assert_int_equal(ledger_put(world.agent, &part, &slot, &why), STATUS_OK);
}

static enum status choose(struct claim_record *r)
{
    memset(text, 0, sizeof text);
    struct writer why = writer_of(text, sizeof text - 1);
    return cores_choose(world.agent, r, &why);
}

static void test_beside_others(void **state)
{
    (void)state;
    begin();
    hold(0, 0x03);
    hold(1, 0x30);
    struct claim_record r = part_of_4(2, 0x03);
    assert_int_equal(choose(&r), STATUS_OK);
    assert_int_equal(r.result[0].cores, 0x0c);
    r = part_of_4(2, 0x0f);
    assert_int_equal(choose(&r), PEER_REFUSED);
    assert_string_equal(text, "claim ml/claim-2: device neuron-device-4 has no 4 free cores side "
                              "by side (free: 4 of 8); it is tried again: end pods that have parts "
                              "of this device");
}

/*
 * A claim that is prepared again, because its configuration reads differently or its record cannot
 * be read, keeps its cores: its containers run on them.
 */
static void test_kept(void **state)
{
    (void)state;
    begin();
    hold(0, 0x0c); /* where nobody would put it now */
    struct claim_record r = part_of_4(0, 0x03);
    assert_int_equal(choose(&r), STATUS_OK);
    assert_int_equal(r.result[0].cores, 0x0c);
    hold(1, 0x0c); /* somebody has them too, as no agent writes it */
    r = part_of_4(0, 0x03);
    assert_int_equal(choose(&r), STATUS_OK);
    assert_int_equal(r.result[0].cores, 0x03);
    r = part_of_4(0, 0x0f); /* another part than it has */
    assert_int_equal(choose(&r), STATUS_OK);
    assert_int_equal(r.result[0].cores, 0xf0);
    hold(2, 0x30); /* of another device */
    r = part_of_4(2, 0x03);
    r.result[0].number = 5;
    assert_int_equal(choose(&r), STATUS_OK);
    assert_int_equal(r.result[0].cores, 0x03);
}

/* The node is looked at between the answer of the API server and the choice. */
static void test_other_device_since(void **state)
{
    static const char *const cores[] = {"", "16", "2", "0"};
    (void)state;
    begin();
    hold(0, 0x03);
    for (unsigned i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        struct claim_record r = part_of_4(1, 0x03);
        (void)snprintf(world.found.devices[4].core_count, SYSFS_VALUE_CAP, "%s", cores[i]);
        agent_found(world.agent, &world.found);
        assert_int_equal(choose(&r), PEER_REFUSED);
        assert_non_null(strstr(text, "device neuron-device-4 has no 2 free cores side by side"));
        assert_null(strstr(text, "4294967"));
    }
    struct claim_record r = part_of_4(1, 0x03);
    found_trn2();
    world.found.unknown = true;
    world.found.count = 0;
    agent_found(world.agent, &world.found);
    assert_int_equal(choose(&r), PEER_REFUSED); /* claim 0 has the lowest cores */
}

/* A part from before sharing was switched off: the claim that is refused is told what helps. */
static void test_switched_off(void **state)
{
    (void)state;
    begin();
    hold(0, 0x03);
    claim_add(4)->consumer_uid = "another-pod";
    const char *why = prepare_error(prepare_now(4, 1), 4);
    assert_non_null(strstr(why, "which has a share of it, and the agent shares no device now: "
                                "switch sharing on again, or end the pods of that claim"));
    assert_null(strstr(why, "delete resourceclaim"));
}

/* --- parts as the scheduler gives them --- */

static void begin_sharing(void)
{
    static const char *const flags[] = {"--share-cores", "--claim-status=true"};
    world_new();
    settings_set(flags, 2);
    node_up();
}

/* Claim n of a pod of its own, with so many cores of device 4. */
static struct api_claim *part_claim(unsigned n, const char *cores)
{
    static char share[API_CLAIMS][40];
    static char pod[API_CLAIMS][40];
    struct api_claim *c = claim_add(n);
    (void)snprintf(share[n], sizeof share[n], "5ad9b0c4-0000-4000-8000-0000000000%02x", n);
    (void)snprintf(pod[n], sizeof pod[n], "pod-%u", n);
    c->consumer_uid = pod[n];
    c->result[0].device = "neuron-device-4";
    c->result[0].share = share[n];
    c->result[0].cores = cores;
    return c;
}

static uint8_t cores_of(unsigned n)
{
    const struct claim_record *r = NULL;
    int slot = ledger_find(world.agent, api.claim[n].uid);
    assert_true(slot >= 0);
    assert_int_equal(ledger_read(world.agent, (unsigned)slot, &r), STATUS_OK);
    return r->result[0].cores;
}

/*
 * A claim of before the reboot has the whole device: it gives way to one that gets a part. The CDI
 * file of that one, written before its cores were chosen, names them all the same.
 */
static void test_part_after_a_reboot(void **state)
{
    (void)state;
    begin_sharing();
    (void)claim_add(4);
    prepare_well(4, 1);
    kill_agent();
    (void)snprintf(world.found.boot_id, sizeof world.found.boot_id, "another-boot\n");
    start();
    register_driver();
    pass(3000);
    (void)part_claim(1, "2");
    prepare_well(1, 1);
    assert_int_equal(ledger_find(world.agent, api.claim[4].uid), -1);
    assert_null(cdi_of(4));
    assert_int_equal(cores_of(1), 0x03);
    static struct claim_record file;
    assert_int_equal(ledger_read_cdi(world.agent, api.claim[1].uid, &file), STATUS_OK);
    assert_int_equal(file.result[0].cores, 0x03);
}

/*
 * As before, but a process still uses memory of the core that the part gets. The claim of before
 * the reboot is released, and the refused one leaves no file, which the next process would adopt.
 */
static void test_part_refused_after_a_reboot(void **state)
{
    static const char *const flags[] = {"--share-cores", "--check-device-memory",
                                        "--device-metadata"};
    (void)state;
    for (unsigned count = 2; count <= 3u; count++) {
        world_new();
        settings_set(flags, count);
        node_up();
        (void)claim_add(4);
        prepare_well(4, 1);
        kill_agent();
        (void)snprintf(world.found.boot_id, sizeof world.found.boot_id, "another-boot\n");
        start();
        register_driver();
        pass(3000);
        (void)part_claim(1, "2");
        disk.memory[4][1] = 4096;
        const char *why = prepare_error(prepare_now(1, 1), 1);
        assert_non_null(strstr(why, "device neuron-device-4 has 4096 bytes of memory in use"));
        assert_int_equal(ledger_find(world.agent, api.claim[4].uid), -1);
        assert_int_equal(disk_count(FILES_CDI), 0);
        restart();
        register_driver();
        pass(3000);
        assert_int_equal(ledger_find(world.agent, api.claim[1].uid), -1);
        why = prepare_error(prepare_now(1, 1), 1);
        assert_non_null(strstr(why, "4096 bytes of memory in use"));
        disk.memory[4][1] = 0;
        prepare_well(1, 1);
        assert_int_equal(cores_of(1), 0x03);
    }
}

/* Each claim gets cores of its own; the one that finds none waits until a holder is known gone. */
static void test_prepared_parts(void **state)
{
    uint8_t all = 0;
    (void)state;
    begin_sharing();
    for (unsigned n = 0; n < 4; n++) {
        (void)part_claim(n, "2");
        prepare_well(n, 1);
        assert_int_equal(all & cores_of(n), 0);
        all |= cores_of(n);
    }
    assert_int_equal(all, 0xff);
    (void)part_claim(4, "2");
    const char *why = prepare_error(prepare_now(4, 1), 4);
    assert_non_null(strstr(why, "device neuron-device-4 has no 2 free cores side by side"));
    api.claim[1].uid[0] = '\0'; /* deleted, and the kubelet never said so */
    pass(600000);
    prepare_well(4, 1);
    assert_int_equal(cores_of(4), 0x0c);
}

/* The status names the share of each device. */
static void test_status_of_parts(void **state)
{
    (void)state;
    begin_sharing();
    struct api_claim *c = part_claim(0, "8");
    c->results = 2;
    c->result[1] = c->result[0];
    c->result[1].request = "second";
    c->result[1].share = "5ad9b0c4-0000-4000-8000-0000000000ff";
    prepare_well(0, 1);
    pass(1000);
    const char *first = strstr(took.status, "{\"pool\":\"node-a\",\"shareID\":\"5ad9b0c4-0000-4000-"
                                            "8000-000000000000\",\"driver\":");
    assert_non_null(first);
    assert_non_null(strstr(first, "\"shareID\":\"5ad9b0c4-0000-4000-8000-0000000000ff\""));
}

/*
 * The disk refuses the new record of a held claim, and then the copy of the earlier one: the store
 * may have either. Of a part and a whole device the claim holds the whole device; of two parts it
 * holds the cores of both.
 */
static void test_neither_record_written(void **state)
{
    static const struct {
        uint8_t before; /* 0: the whole device */
        uint8_t after;
        uint16_t number; /* of the device that the new record names */
        uint8_t cores;
        bool guessed;
    } rows[] = {{0x03, 0, 4, 0, true},
                {0, 0x03, 4, 0, true},
                {0x03, 0x0c, 4, 0x0f, false},
                {0x03, 0x0c, 5, 0, true}};
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct writer why = writer_of(text, sizeof text - 1);
        unsigned slot = 0;
        begin();
        hold(0, rows[i].before);
        struct claim_record r = part_of_4(0, rows[i].after);
        r.result[0].number = rows[i].number;
        disk_refuse(FILES_STATE, HOST_NO_SPACE);
        assert_int_equal(ledger_put(world.agent, &r, &slot, &why), HOST_NO_SPACE);
        disk_refuse(FILES_STATE, STATUS_OK);
        const struct ledger_entry *e = &world.agent->ledger->entry[slot];
        assert_int_equal(e->state, LEDGER_HELD);
        assert_int_equal(e->numbers, UINT64_C(1) << 4 | UINT64_C(1) << rows[i].number);
        assert_int_equal(e->cores, rows[i].cores);
        assert_true(e->guessed == rows[i].guessed);
        assert_true(e->shares == !rows[i].guessed);
        r = part_of_4(1, 0x30);
        int rival = ledger_rival(world.agent, 0, &r, true);
        assert_int_equal(rival, rows[i].guessed ? (int)slot : -1);
    }
}

/* It happens twice to one claim: that its cores are not known outlives the second failure. */
static void test_neither_record_written_twice(void **state)
{
    (void)state;
    struct writer why = writer_of(text, sizeof text - 1);
    unsigned slot = 0;
    begin();
    hold(0, 0x03);
    struct claim_record r = part_of_4(0, 0);
    disk_refuse(FILES_STATE, HOST_NO_SPACE);
    for (unsigned i = 0; i < 2u; i++) {
        assert_int_equal(ledger_put(world.agent, &r, &slot, &why), HOST_NO_SPACE);
        assert_true(world.agent->ledger->entry[slot].guessed);
    }
    disk_refuse(FILES_STATE, STATUS_OK);
    r = part_of_4(1, 0x30);
    assert_int_equal(ledger_rival(world.agent, 0, &r, true), (int)slot);
    prepare_well(0, 1); /* by the API server's allocation, which is device 0 */
    assert_int_equal(ledger_rival(world.agent, 0, &r, true), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_others),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_other_device_since),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_prepared_parts),
        cmocka_unit_test(test_part_after_a_reboot),
        cmocka_unit_test(test_part_refused_after_a_reboot),
        cmocka_unit_test(test_status_of_parts),
        cmocka_unit_test(test_neither_record_written),
        cmocka_unit_test(test_neither_record_written_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
