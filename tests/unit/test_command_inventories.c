/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands print of inventories that differ from a quiet trn2.48xlarge: EFA devices,
 * health that is unknown, types and modules that are unknown, doubts about holders; and outlines of
 * claims, instance types, archives.
 */
#include "tests/unit/node/command_table.h"

static struct claim_shown shown;
static struct document document;

static bool document_part(unsigned number, struct writer *out)
{
    if (number == 0u) {
        document = document_of(out, true);
    }
    return command_devices_document(&inventory, number, &document);
}

static bool slice_part(unsigned number, struct writer *out)
{
    if (number == 0u) {
        document = document_of(out, true);
    }
    return command_slices(&inventory, DRIVER_NAME, "node-1", number, &document);
}

static bool claim_document_part(unsigned number, struct writer *out)
{
    if (number == 0u) {
        document = document_of(out, true);
    }
    return command_claim_document(&shown, number, &document);
}

static void lacks(const char *words)
{
    if (strstr(text, words) != NULL) {
        fail_msg("\"%s\" in:\n%s", words, text);
    }
}

static int setup(void **state)
{
    (void)state;
    node(16);
    return 0;
}

static struct device *device(unsigned number)
{
    int at = devices_numbered(&inventory.devices, number);
    assert_true(at >= 0);
    return &inventory.devices.device[at];
}

/* The EFA devices of a type, as on a node that has them all. */
static void efas_of(const char *type)
{
    static struct found_node board;
    static struct found_efas found;
    memset(&inventory, 0, sizeof inventory);
    assert_true(command_board(type, &board));
    assert_true(command_board_efas(type, &found));
    devices_build(&inventory.devices, &board, &inventory.issues);
    efas_build(&inventory.devices, NULL, &found, &inventory.issues);
    inventory.efa = true;
}

/* --- EFA devices --- */

static void test_table_of_efas(void **state)
{
    (void)state;
    efas_of("trn2.48xlarge");
    whole(table_part);
    has("\nNAME              NEURON  HEALTH   CLAIM  POD\n");
    has(": 16 EFA devices, 0 held\n");
    lacks("share an EFA device");
    lacks("gone");
    efas_of("trn1.32xlarge");
    whole(table_part);
    has("pci-0000-10-1a-0  0,1     healthy  -\n");
    has("Neuron devices share an EFA device: a claim for as many EFA devices as\n");
    /* a device that the map does not name has a number behind those of the map */
    unsigned mapped = inventory.devices.device[0].number;
    inventory.devices.device[0].number = BOARD_GROUPED_DEVICES;
    whole(table_part);
    has("pci-0000-10-1a-0  -       healthy  -\n");
    inventory.devices.device[0].number = (uint16_t)mapped;
    inventory.devices.board = NULL;
    whole(table_part);
    has("pci-0000-10-1a-0  -       healthy  -\n");
    lacks("share an EFA device");
}

static void test_document_of_efas(void **state)
{
    (void)state;
    efas_of("trn1.32xlarge");
    struct device *first = &inventory.devices.device[0];
    text_set(first->efa.rdma_name, sizeof first->efa.rdma_name, "rdmap16s26");
    first->efa.uverbs = 3;
    inventory.verdicts = VERDICTS_MISSING;
    inventory.verdicts_missing = view_text("it does not run");
    whole(document_part);
    has("efaVerdictsMissing: \"it does not run\"\nefaDevices:\n- name: pci-0000-10-1a-0\n");
    has("  neuronDevices:\n  - neuron-device-0\n  - neuron-device-1\n  rdmaDevice: rdmap16s26\n"
        "  uverbs: 3\n");
    lacks("instanceType");
    assert_int_equal(inventory.devices.device[1].efa.rdma_name[0], '\0');
    lacks("uverbs: 0");
}

/* An EFA device whose port cannot be read, and one that vanished while a claim holds it. */
static void test_health_of_efas(void **state)
{
    (void)state;
    efas_of("trn1.32xlarge");
    inventory.devices.device[2].reading = (struct device_reading){0};
    whole(table_part);
    has("health of 1 EFA device is unknown:\n  the state of its port cannot be read\n");
    unsigned number = inventory.devices.device[0].number;
    record_begin(&record);
    command_hold(&inventory, UINT64_C(1) << number, &record.id, "");
    inventory.devices.count--;
    memmove(&inventory.devices.device[0], &inventory.devices.device[1],
            inventory.devices.count * sizeof inventory.devices.device[0]);
    whole(document_part);
    has("health: \"gone\"\n");
    whole(table_part);
    has("1 unhealthy or gone\n");
    struct writer out = writer_of(text, sizeof text);
    assert_true(command_unhealthy(&inventory, number, &out));
    writer_close_text(&out);
    has("see dmesg, and restart or replace the instance");
}

static bool json_part(unsigned number, struct writer *out)
{
    if (number == 0u) {
        document = document_of(out, false);
    }
    return command_devices_document(&inventory, number, &document);
}

/* The document of a node without --efa ends; with it, that of the EFA devices does. */
static void test_end_of_the_document(void **state)
{
    (void)state;
    whole(json_part);
    assert_true(view_ends(view_text(text), "}\n"));
    inventory.efa = true;
    whole(json_part);
    assert_false(view_ends(view_text(text), "}\n"));
}

/* Both inventories are one document of slices: the second ends what the first began. */
static void test_slices_of_two_inventories(void **state)
{
    (void)state;
    inventory.efa = true;
    whole(slice_part);
    assert_int_equal(strncmp(text, "apiVersion: \"v1\"\nkind: \"List\"\n", 28), 0);
    inventory.devices.driver = DRIVER_EFA;
    whole(slice_part);
    lacks("List");
    inventory.efa = false;
    inventory.devices.driver = DRIVER_NEURON;
    whole(slice_part);
    lacks("List");
}

/* --- health --- */

/* Each reason for which the health of a device is unknown has its own line. */
static void test_unknown_health(void **state)
{
    (void)state;
    device(1)->reading = (struct device_reading){.absent = 1};
    device(2)->reading = (struct device_reading){.blind = true};
    device(3)->reading = (struct device_reading){.counted = 1};
    device(4)->reading = (struct device_reading){0};
    inventory.devices.driver_version[0] = '\0';
    whole(table_part);
    has("health of 1 device is unknown:\n  a file that the module should have is absent\n");
    has("health of 1 device is unknown:\n  its files cannot be read, or it is being reset\n");
    has("  kernel module of unknown version has only error counters, which only the\n"
        "      agent can judge\n");
    has("  kernel module of unknown version has no health files\n");
    text_set(inventory.devices.driver_version, sizeof inventory.devices.driver_version, "2.20.1");
    inventory.verdicts = VERDICTS_OF_AGENT;
    whole(table_part);
    has("  kernel module 2.20.1 has only error counters, and the agent sees none rise\n");
    has("health of 12 devices is unknown:\n  the agent has not read its files yet\n");
    inventory.verdict[5] = (struct device_verdict){.given = true, .state = HEALTH_UNKNOWN};
    whole(table_part);
    has("health of 1 device is unknown:\n  the agent could not read its files, or it was being");
    inventory.verdicts = VERDICTS_MISSING;
    whole(table_part);
    has("health of 12 devices is unknown:\n  its files show no error, but the agent's verdict");
    lacks("the agent's verdict is not available:\n");
    inventory.verdicts_missing = view_text("it does not run");
    whole(table_part);
    has("the agent's verdict is not available:\n  it does not run\n");
    whole(document_part);
    has("verdictsMissing: \"it does not run\"\n");
    inventory.verdicts_missing = view_of(NULL, 0);
    whole(document_part);
    lacks("verdictsMissing");
}

/* The agent waits before a device without errors is healthy again; with errors it is unhealthy. */
static void test_waiting_device(void **state)
{
    (void)state;
    inventory.verdicts = VERDICTS_OF_AGENT;
    for (unsigned i = 0; i < 16; i++) {
        inventory.verdict[i] = (struct device_verdict){.given = true, .state = HEALTH_HEALTHY};
    }
    inventory.verdict[3] = (struct device_verdict){
        .given = true, .state = HEALTH_UNHEALTHY, .waits = true, .reasons = HEALTH_REASON_GONE};
    inventory.verdict[4] = (struct device_verdict){
        .given = true, .state = HEALTH_UNHEALTHY, .waits = false, .reasons = HEALTH_REASON_GONE};
    whole(table_part);
    has("neuron-device-3 still counts as unhealthy:\n");
    lacks("neuron-device-4 still counts as unhealthy:\n");
    whole(document_part);
    has("withoutErrorsNow: true\n");
}

/* In the grid a held device that is bad has both marks, close together. */
static void test_marks_of_the_grid(void **state)
{
    (void)state;
    record_begin(&record);
    command_hold(&inventory, 3, &record.id, "llama-0");
    device(1)->reading.reasons = HEALTH_REASON_GONE;
    device(2)->reading.reasons = HEALTH_REASON_GONE;
    whole(table_part);
    has("   0 A   1!A   2 !   3 .\n");
}

/* --- types, issues and doubts --- */

static void test_unknown_type(void **state)
{
    (void)state;
    inventory.devices.board = NULL;
    inventory.devices.instance_type[0] = '\0';
    inventory.devices.lnc_allowed = 0;
    whole(table_part);
    has("unknown instance type: 16 devices, 0 held\n");
    lacks("LNC");
    lacks(".  free");
    whole(document_part);
    lacks("logicalNeuronCore");
    inventory.devices.lnc_host = 1;
    whole(table_part);
    has(", LNC 1 by logical_nc_config\n");
    whole(document_part);
    has("logicalNeuronCore: 1\n");
}

static void test_issues(void **state)
{
    (void)state;
    inventory.issues.count = 2;
    inventory.issues.issue[0] = (struct probe_issue){
        .kind = PROBE_ISSUE_NO_NODE, .number = 3, .text = "x y", .remedy = "look"};
    inventory.issues.issue[1] = (struct probe_issue){
        .kind = PROBE_ISSUE_NO_DEVICES, .number = PROBE_ISSUE_NO_NUMBER, .remedy = "see dmesg"};
    whole(table_part);
    has(", neuron-device-3 \"x y\": look\n");
    has(": see dmesg\n");
    whole(document_part);
    has(", neuron-device-3 \\\"x y\\\": look");
}

static void test_doubts(void **state)
{
    (void)state;
    inventory.damaged_slots = 1;
    inventory.witnesses = 1;
    inventory.cdi_unread = 1;
    text_set(inventory.cdi_file, sizeof inventory.cdi_file, "one.json");
    whole(table_part);
    has("1 slot is damaged in the claim store: devices without a claim may be held\n");
    has("1 claim is recorded only in CDI files, not in the claim store; ");
    has("1 CDI file cannot be read: devices without a claim may be held; see\n  one.json\n");
    inventory.damaged_slots = inventory.witnesses = inventory.cdi_unread = 2;
    inventory.cdi_unlisted = true;
    inventory.holders_unknown = true;
    whole(table_part);
    has("2 slots are damaged in the claim store: ");
    has("2 claims are recorded only in CDI files, not in the claim store; ");
    has("2 CDI files cannot be read: ");
    has("the CDI root cannot be read: ");
    has("16 devices, at least 0 held");
    whole(document_part);
    has("claim: \"?\"\n");
}

/* Several claims share a device: the row says how many, in short where it has no room. */
static void test_sharers(void **state)
{
    (void)state;
    record_begin(&record);
    command_hold(&inventory, 1, &record.id, "llama-0");
    inventory.holder[0].others = 1;
    whole(table_part);
    has("llama-0 and 1 other claim\n");
    inventory.holder[0].others = 2;
    whole(table_part);
    has("llama-0 and 2 other claims\n");
    whole(document_part);
    has("otherClaims: 2\n");
    memset(inventory.holder[0].pod, 'p', 200);
    whole(table_part);
    has("ppp~ +2\n");
}

/* --- instance types --- */

static void test_unknown_board(void **state)
{
    static struct found_efas found;
    struct writer out = writer_of(text, sizeof text);
    (void)state;
    command_board_unknown("trn2.48xlarg", &out);
    writer_close_text(&out);
    has("--board: unknown instance type \"trn2.48xlarg\"");
    has("(did you mean trn2.48xlarge?)");
    has("; known: ");
    has(", trn2.48xlarge");
    assert_false(command_board_efas("trn2.48xlarg", &found));
    assert_int_equal(found.count, 0);
    assert_true(command_board_efas("trn2.3xlarge", &found));
    assert_int_equal(found.count, 0);
    /* two Neuron devices of trn1 have one EFA device */
    assert_true(command_board_efas("trn1.32xlarge", &found));
    assert_int_equal(found.count, 8);
}

static void test_left_out(void **state)
{
    struct writer out = writer_of(text, sizeof text);
    (void)state;
    inventory.devices.count = 15;
    device(2)->reading.reasons = HEALTH_REASON_GONE;
    for (unsigned i = 0; i < 17; i++) {
        command_left_out(&inventory, i, i != 2, &out);
    }
    writer_close_text(&out);
    assert_string_equal(text, "# neuron-device-15 is left out: " DEVICE_MISSING_TEXT "\n");
    out = writer_of(text, sizeof text);
    command_left_out(&inventory, 2, true, &out);
    inventory.devices.board = NULL;
    command_left_out(&inventory, 15, true, &out);
    writer_close_text(&out);
    assert_string_equal(text, "# neuron-device-2 is left out: " DEVICE_UNHEALTHY_TEXT "\n");
}

/* --- claims --- */

static void test_outline(void **state)
{
    struct store_outline o = {.released = true};
    (void)state;
    record_begin(&record);
    o.id = record.id;
    for (unsigned i = 0; i < 2; i++) {
        struct writer out = writer_of(text, sizeof text);
        command_outline_text(&o, NULL, &out);
        writer_close_text(&out);
        has(i == 0 ? "  unprepared; its CDI file could not be removed yet\n"
                   : "  prepared by a newer agent, which knows its devices\n");
        out = writer_of(text, sizeof text);
        document = document_of(&out, true);
        document_object_begin(&document);
        document_array_begin(&document, "claims");
        command_outline_document(&o, DRIVER_NAME, &document);
        document_array_end(&document);
        document_object_end(&document);
        writer_close_text(&out);
        has(i == 0 ? "released: true" : "released: false");
        has("driver: " DRIVER_NAME);
        o.released = false;
    }
}

/* Parts of a device, the device for the node and an EFA device have no number of their own. */
static void test_results_as_document(void **state)
{
    (void)state;
    record_begin(&record);
    record_add(&record, "a", 3)->cores = 0x0c;
    record_add(&record, "b", 0)->node = true;
    record_add(&record, "c", 20)->efa_address = 0x101a0;
    shown = (struct claim_shown){.record = &record, .driver = DRIVER_NAME, .cdi = CDI_GOOD};
    whole(claim_document_part);
    has("- request: \"a\"\n  name: neuron-device-3\n  number: 3\n  cores: \"2-3\"\n");
    has("- request: \"b\"\n  name: neuron-node\n  adminAccess: false\n");
    lacks("number: 20");
    lacks("onNode");
    shown.node = &inventory;
    whole(claim_document_part);
    has("onNode:");
}

static bool claim_part(unsigned number, struct writer *out)
{
    return command_claim_text(&shown, number, out);
}

/* Only a board with a map says which EFA device is nearest. */
static void test_nearest_device(void **state)
{
    (void)state;
    record_begin(&record);
    record_add(&record, "a", 3);
    shown = (struct claim_shown){.record = &record, .cdi = CDI_GOOD, .node = &inventory};
    whole(claim_part);
    has("  neuron-device-3: healthy\n    nearest: pci-");
    const struct board *const others[] = {board_find("trn2.3xlarge"), NULL};
    for (unsigned i = 0; i < COUNT(others); i++) {
        inventory.devices.board = others[i];
        whole(claim_part);
        has("  neuron-device-3: healthy\n");
        lacks("nearest");
    }
}

/* A record that only a newer agent decodes is an outline; one without an identity is damage. */
static void test_slots_of_newer_agents(void **state)
{
    static uint8_t half[2][STORE_HALF_BYTES];
    static uint8_t bytes[STORE_RECORD_MAX];
    static struct store_outline outline;
    static struct claim_record read;
    struct view views[2];
    (void)state;
    for (unsigned good = 0; good < 2; good++) {
        struct writer encoded = writer_of(bytes, sizeof bytes);
        record_begin(&record);
        record_add(&record, "train", 8);
        assert_int_equal(store_record_encode(&record, &encoded), STATUS_OK);
        /* a second result that cannot be read, or bytes that are no message at all */
        writer_bytes(&encoded, (good == 1) ? "\x22\x02\x0a\x7f" : "\x0f", (good == 1) ? 4 : 1);
        for (unsigned i = 0; i < 2u; i++) {
            struct writer w = writer_of(half[i], sizeof half[i]);
            store_half_write(&w, 7, i + 1u, (i == 1u) ? writer_view(&encoded) : view_of(NULL, 0));
            views[i] = writer_view(&w);
        }
        assert_int_equal(command_slot(views, 7, &read, &outline),
                         (good == 1) ? SLOT_OUTLINE : SLOT_DAMAGED);
    }
}

/* --- archives --- */

static void test_archive_padding(void **state)
{
    static const struct {
        uint64_t size;
        unsigned blocks;
        size_t zeros;
    } rows[] = {{0, 0, 0}, {1, 0, 511}, {511, 1, 513}, {512, 2, 1024}, {513, 0, 511}};
    (void)state;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct writer out = writer_of(text, sizeof text);
        memset(text, 'x', 2048);
        command_tar_pad(rows[i].size, rows[i].blocks, &out);
        assert_int_equal(out.len, rows[i].zeros);
        for (size_t k = 0; k < out.len; k++) {
            assert_int_equal(text[k], 0);
        }
    }
    struct writer out = writer_of(text, sizeof text);
    command_tar_header("folder", "name", 5, 1764158400, &out);
    assert_string_equal(&text[136], "15111565700");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_table_of_efas, setup),
        cmocka_unit_test_setup(test_document_of_efas, setup),
        cmocka_unit_test_setup(test_health_of_efas, setup),
        cmocka_unit_test_setup(test_end_of_the_document, setup),
        cmocka_unit_test_setup(test_slices_of_two_inventories, setup),
        cmocka_unit_test_setup(test_unknown_health, setup),
        cmocka_unit_test_setup(test_waiting_device, setup),
        cmocka_unit_test_setup(test_marks_of_the_grid, setup),
        cmocka_unit_test_setup(test_unknown_type, setup),
        cmocka_unit_test_setup(test_issues, setup),
        cmocka_unit_test_setup(test_doubts, setup),
        cmocka_unit_test_setup(test_sharers, setup),
        cmocka_unit_test_setup(test_unknown_board, setup),
        cmocka_unit_test_setup(test_left_out, setup),
        cmocka_unit_test_setup(test_outline, setup),
        cmocka_unit_test_setup(test_results_as_document, setup),
        cmocka_unit_test_setup(test_nearest_device, setup),
        cmocka_unit_test_setup(test_slots_of_newer_agents, setup),
        cmocka_unit_test_setup(test_archive_padding, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
