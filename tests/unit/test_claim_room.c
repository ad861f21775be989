/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for one claim beside the others of a node: numbers in containers, cores of a part,
 * devices that are another one than the record says, memory of devices that nobody knows. With a
 * claim table made by hand and a port that answers as the test says.
 */
#include "unit.h"

#include "agent/claim/device_memory.h"
#include "agent/claim/numbering.h"
#include "agent/claim/presence.h"
#include "agent/state.h"
#include "tests/unit/node/claim_harness.h"

static struct agent agent;
static struct ledger ledger;
static struct claim_room room;
static struct devices devices;
static struct driver driver;
static struct settings settings;
static struct files files;
static struct claim_record record;
static char text[1024];
static struct writer why;

/* --- the port --- */

static struct device_place place;
static enum status placed;
static unsigned asked_core_max;
static uint64_t memory_bytes;

static enum status port_device(void *ctx, unsigned number, struct device_place *out)
{
    (void)ctx;
    (void)number;
    *out = place;
    return placed;
}

static const char *port_why(void *ctx)
{
    (void)ctx;
    return "no such file";
}

static enum status port_memory(void *ctx, unsigned number, unsigned core, uint64_t *bytes)
{
    (void)ctx;
    (void)number;
    asked_core_max = (core > asked_core_max) ? core : asked_core_max;
    *bytes = memory_bytes;
    return STATUS_OK;
}

static int setup(void **state)
{
    (void)state;
    memset(&agent, 0, sizeof agent);
    memset(&ledger, 0, sizeof ledger);
    memset(&room, 0, sizeof room);
    memset(&driver, 0, sizeof driver);
    memset(&settings, 0, sizeof settings);
    memset(&files, 0, sizeof files);
    fill_devices(&devices, &trn2, 0, 16);
    agent.ledger = &ledger;
    agent.claim = &room;
    agent.devices = &devices;
    agent.driver = &driver;
    agent.settings = &settings;
    agent.files = &files;
    files.device = port_device;
    files.why = port_why;
    files.memory = port_memory;
    place = (struct device_place){.folder = 0};
    placed = STATUS_OK;
    asked_core_max = 0;
    memory_bytes = 0;
    record_begin(&record);
    (void)record_add(&record, "a", 3);
    why = writer_of(text, sizeof text);
    return 0;
}

static struct ledger_entry *hold(unsigned slot, const char *uid, uint64_t container_numbers)
{
    struct ledger_entry *e = &ledger.entry[slot];
    e->state = LEDGER_HELD;
    e->record = RECORD_WHOLE;
    e->container_numbers = container_numbers;
    e->numbers = 1;
    (void)snprintf(ledger.id[slot].uid, UID_CAP, "%s", uid);
    (void)snprintf(ledger.id[slot].name, NAME_CAP, "other");
    return e;
}

static void says(const char *piece)
{
    assert_int_equal(writer_end_text(&why), STATUS_OK);
    assert_one_line(text);
    if (strstr(text, piece) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", piece, text);
    }
    why = writer_of(text, sizeof text);
}

/* --- numbers in containers --- */

static void test_numbers_beside_others(void **state)
{
    struct claim_group call = {.count = 2, .uid = {"x", "u"}};
    (void)state;
    record.zero_numbering = true;
    (void)hold(0, "u", 1);
    /* of another pod, as nobody said that they belong together */
    assert_int_equal(numbering_choose(&agent, NULL, &record, &why), STATUS_OK);
    assert_int_equal(record.first_number, 0);
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), STATUS_OK);
    assert_int_equal(record.first_number, 1);
    /* a claim is not beside itself */
    record.first_number = 0;
    (void)snprintf(ledger.id[0].uid, UID_CAP, "%s", record.id.uid);
    call.uid[1] = record.id.uid;
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), STATUS_OK);
    assert_int_equal(record.first_number, 0);
}

/* Both have the host's numbers: the same number is the same device. */
static void test_host_numbers(void **state)
{
    struct claim_group call = {.count = 1, .uid = {"u"}};
    (void)state;
    struct ledger_entry *e = hold(0, "u", 8);
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), STATUS_OK);
    e->zero_numbering = true;
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), PEER_REFUSED);
    says("would both have /dev/neuron3 in a container: --device-numbering changed");
}

static void test_no_number_is_left(void **state)
{
    struct claim_group call = {.count = 1, .uid = {"u"}};
    (void)state;
    record.zero_numbering = true;
    (void)hold(0, "u", UINT64_MAX);
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), PEER_REFUSED);
    says("would both have /dev/neuron63 in a container");
}

/* A part of a device is alone in its pod, whichever of the two is the part. */
static void test_part_beside_others(void **state)
{
    struct claim_group call = {.count = 1, .uid = {"u"}};
    (void)state;
    record.zero_numbering = true;
    struct ledger_entry *e = hold(0, "u", UINT64_MAX);
    e->cores = 3;
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), PEER_REFUSED);
    says("one has a part of a device's cores");
    e->cores = 0;
    e->container_numbers = 1;
    record.first_number = 0;
    record.result[0].cores = 3;
    memcpy(record.result[0].share_id, "s", 2);
    assert_int_equal(numbering_choose(&agent, &call, &record, &why), PEER_REFUSED);
    says("one has a part of a device's cores");
}

/* --- cores --- */

static void test_cores_that_are_kept(void **state)
{
    static const struct {
        uint64_t numbers;
        uint8_t cores, others, want;
    } rows[] = {
        {8, 0x0c, 0x00, 0x0c}, /* its own, though lower ones are free */
        {8, 0x0f, 0x00, 0x03}, /* it had more of them */
        {4, 0x0c, 0x00, 0x03}, /* of another device */
        {8, 0x0c, 0x04, 0x30}, /* one of them is another claim's now */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        (void)setup(NULL);
        record.result[0].cores = 0x03;
        memcpy(record.result[0].share_id, "s", 2);
        struct ledger_entry *own = hold(0, record.id.uid, UINT64_MAX);
        own->numbers = rows[i].numbers;
        own->cores = rows[i].cores;
        if (rows[i].others != 0) {
            struct ledger_entry *other = hold(1, "u", UINT64_MAX);
            other->numbers = 8;
            other->cores = 0x0f;
        }
        assert_int_equal(cores_choose(&agent, &record, &why), STATUS_OK);
        assert_int_equal(record.result[0].cores, rows[i].want);
    }
}

static void test_cores_of_a_new_claim(void **state)
{
    (void)state;
    assert_int_equal(cores_choose(&agent, &record, &why), STATUS_OK);
    assert_int_equal(record.result[0].cores, 0); /* it has the whole device */
    record.result[0].cores = 0x03;
    memcpy(record.result[0].share_id, "s", 2);
    assert_int_equal(cores_choose(&agent, &record, &why), STATUS_OK);
    assert_int_equal(record.result[0].cores, 0x03);
    devices.count = 0;
    assert_int_equal(cores_choose(&agent, &record, &why), PEER_REFUSED);
    says("has no 2 free cores side by side (free: 0 of 0)");
}

/* --- whether the devices are here --- */

static void test_functions(void **state)
{
    (void)state;
    devices.driver = DRIVER_EFA;
    devices.count = 1;
    devices.device[0].efa.address = 0x10c8;
    devices.device[0].efa.uverbs = 2;
    devices.device[0].place = (struct device_place){.folder = 7, .node = 9};
    record.driver = DRIVER_EFA;
    record.result[0].efa_address = 0x10c8;
    record.result[0].uverbs = 2;
    place = devices.device[0].place;
    assert_int_equal(presence_check(&agent, &record, "prepared", &why), STATUS_OK);
    assert_int_equal(why.len, 0);
    record.result[0].uverbs = 1;
    assert_int_equal(presence_check(&agent, &record, "prepared", &why), PEER_NOT_FOUND);
    says("has another uverbs node since the claim was prepared; reload");
    record.result[0].uverbs = 2;
    place.folder = 8;
    assert_int_equal(presence_check(&agent, &record, "prepared", &why), PEER_NOT_FOUND);
    says("changed since the last probe; try again");
    placed = HOST_ABSENT;
    assert_int_equal(presence_check(&agent, &record, "prepared", &why), PEER_NOT_FOUND);
    says("has no device node: no such file");
    devices.count = 0;
    assert_int_equal(presence_check(&agent, &record, "requested", &why), PEER_NOT_FOUND);
    says("requested device pci-0000-10-19-0 is gone");
    devices.unknown = true; /* nobody knows: a running pod is left alone */
    assert_int_equal(presence_check(&agent, &record, "prepared", &why), STATUS_OK);
}

/* --- memory of devices --- */

/* Of a device that nobody knows, or that shows more cores than there are, every core is read. */
static void test_cores_whose_memory_is_read(void **state)
{
    static const struct {
        unsigned count;
        uint16_t cores;
        unsigned last;
    } rows[] = {{16, 8, 7},
                {16, 2, 1},
                {16, 0, TELEMETRY_CORES_MAX - 1u},
                {16, TELEMETRY_CORES_MAX, TELEMETRY_CORES_MAX - 1u},
                {16, TELEMETRY_CORES_MAX + 1u, TELEMETRY_CORES_MAX - 1u},
                {0, 8, TELEMETRY_CORES_MAX - 1u}};
    (void)state;
    settings.check_device_memory = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        devices.count = (uint16_t)rows[i].count;
        devices.device[3].core_count = rows[i].cores;
        asked_core_max = 0;
        /* a port without a separate read has its values at any time */
        assert_int_equal(device_memory_read(&agent, &record, &why), STATUS_OK);
        assert_int_equal(device_memory_check(&agent, &record, false, &why), STATUS_OK);
        assert_int_equal(asked_core_max, rows[i].last);
    }
}

/* Which cores of a device claims were refused, until the watch forgets that. */
static void test_cores_that_are_refused(void **state)
{
    (void)state;
    settings.check_device_memory = true;
    memory_bytes = 4096;
    assert_int_equal(device_memory_refused_cores(&agent, 3), 0);
    assert_int_equal(device_memory_check(&agent, &record, false, &why), HOST_BUSY);
    assert_int_equal(device_memory_used(&agent), UINT64_C(1) << 3);
    assert_int_equal(device_memory_refused_cores(&agent, 3), 0xff);
    assert_int_equal(device_memory_refused_cores(&agent, 4), 0);
    device_memory_forget(&agent, 3);
    assert_int_equal(device_memory_used(&agent), 0);
    assert_int_equal(device_memory_refused_cores(&agent, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_numbers_beside_others, setup),
        cmocka_unit_test_setup(test_host_numbers, setup),
        cmocka_unit_test_setup(test_no_number_is_left, setup),
        cmocka_unit_test_setup(test_part_beside_others, setup),
        cmocka_unit_test_setup(test_cores_that_are_kept, setup),
        cmocka_unit_test_setup(test_cores_of_a_new_claim, setup),
        cmocka_unit_test_setup(test_functions, setup),
        cmocka_unit_test_setup(test_cores_whose_memory_is_read, setup),
        cmocka_unit_test_setup(test_cores_that_are_refused, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
