/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands print: tables, documents in both forms, slots of a store, responses. */
#include "tests/unit/node/command_table.h"

static struct document document;

static bool document_part(unsigned number, struct writer *out)
{
    bool yaml = document.yaml;
    if (number == 0u) {
        document = document_of(out, yaml);
    }
    return command_devices_document(&inventory, number, &document);
}

static bool slice_part(unsigned number, struct writer *out)
{
    bool yaml = document.yaml;
    if (number == 0u) {
        document = document_of(out, yaml);
    }
    return command_slices(&inventory, DRIVER_NAME, "node-1", number, &document);
}

static void test_table(void **state)
{
    (void)state;
    node(15);
    hold("llama", "llama-0", 4, 4);
    hold("chat", "", 10, 1);
    whole(table_part);
    has("NAME              CORES  HEALTH   CLAIM           POD\n"
        "neuron-device-0   8      healthy  -\n");
    has("neuron-device-4   8      healthy  training/llama  llama-0\n");
    has("neuron-device-10  8      healthy  training/chat   -\n");
    has("neuron-device-15  -      gone     -\n\n");
    has("trn2.48xlarge: 15 devices, 5 held, 1 unhealthy or gone, LNC 2\n");
    has("   0 .   1 .   2 .   3 .\n"
        "   4 A   5 A   6 A   7 A\n"
        "   8 .   9 .  10 B  11 .\n"
        "  12 .  13 .  14 .  15 !\n");
    has("   .  free     !  unhealthy or gone\n");
    has("   A  training/llama, pod llama-0\n   B  training/chat\n");
    node(1);
    whole(table_part);
    has("trn2.48xlarge: 1 device, 0 held, ");
}

static void test_colour(void **state)
{
    (void)state;
    node(16);
    hold("llama", "llama-0", 0, 1);
    inventory.colour = true;
    whole(table_part);
    has("   0 \033[1;32mA\033[0m   1 .");
    has("neuron-device-1   8      healthy  -");
    inventory.devices.device[1].core_count = 0;
    whole(table_part);
    has("neuron-device-1   -      \033[1;31munreadable  \033[0m-");
    has("   0 \033[1;32mA\033[0m   1 \033[1;31m!\033[0m   2 .");
    inventory.devices.device[0].core_count = 0;
    whole(table_part);
    has("   0\033[1;31m!\033[0m\033[1;32mA\033[0m   1 ");
}

/* A device that a claim holds stays in view when it is gone, on a board that is not known too. */
static void test_gone_devices(void **state)
{
    (void)state;
    node(4);
    inventory.devices.device[2].core_count = 0;
    hold("llama", "llama-0", 15, 1);
    hold("chat", "", 2, 1);
    whole(table_part);
    has("neuron-device-2   -      unreadable  training/chat   -\n");
    has("neuron-device-15  -      gone        training/llama  llama-0\n");
    has("trn2.48xlarge: 4 devices, 2 held, 13 unhealthy or gone, LNC 2\n");
    has("   0 .   1 .   2!A   3 .\n");
    has("  12 !  13 !  14 !  15!B\n");
    inventory.devices.board = NULL;
    document.yaml = true;
    whole(document_part);
    has("- name: neuron-device-15\n  number: 15\n  cores: 0\n  health: \"gone\"\n  held: true\n");
    has("  health: unreadable\n");
    assert_null(strstr(text, "neuron-device-4"));
}

/* Reasons are in the table and in the document; a device that says nothing is no bad one. */
static void test_unhealthy_devices(void **state)
{
    (void)state;
    node(16);
    device_reading_components(&inventory.devices.device[1].reading, view_text("hbm,sram"), true);
    inventory.devices.device[2].reading.known = false;
    text_set(inventory.devices.driver_version, ATTRIBUTE_VALUE_CAP, "2.26.5.0");
    hold("llama", "llama-0", 1, 1);
    whole(table_part);
    has("NAME              CORES  HEALTH                CLAIM           POD\n"
        "neuron-device-0   8      healthy               -\n"
        "neuron-device-1   8      unhealthy: hbm, sram  training/llama  llama-0\n"
        "neuron-device-2   8      unknown               -\n");
    has("trn2.48xlarge: 16 devices, 1 held, 1 unhealthy or gone, LNC 2\n"
        "health of 1 device is unknown:\n  kernel module 2.26.5.0 has no health files\n");
    has("   0 .   1!A   2 .   3 .\n");
    document.yaml = true;
    whole(document_part);
    has("  health: unhealthy\n  reasons: \"hbm, sram\"\n  held: true\n");
    has("  health: unknown\n  reasons: \"kernel module 2.26.5.0 has no health files\"\n"
        "  held: false\n");
    struct writer line = writer_of((uint8_t *)text, sizeof text);
    assert_true(command_unhealthy(&inventory, 1, &line));
    assert_true(view_is(writer_view(&line),
                        "neuron-device-1 is unhealthy: hbm, sram; delete its pods "
                        "and reset it, or replace the instance"));
    assert_false(command_unhealthy(&inventory, 2, &line));  /* unknown */
    assert_false(command_unhealthy(&inventory, 40, &line)); /* there is none */
    line.len = 0;
    inventory.devices.count = 15;
    assert_true(command_unhealthy(&inventory, 15, &line));
    assert_true(view_is(writer_view(&line),
                        "neuron-device-15 is gone: the kernel does not show it; delete its pods "
                        "and reset it, or replace the instance"));
    inventory.devices.count = 0; /* not a line for each device when the module is at fault */
    assert_false(command_unhealthy(&inventory, 15, &line));
    assert_true(command_unhealthy(&inventory, 1, &line)); /* a claim holds it */
}

/* The verdict of the running agent counts, and what the files show before it has read them. */
static void test_verdicts_of_the_agent(void **state)
{
    (void)state;
    node(16);
    inventory.verdicts = VERDICTS_OF_AGENT;
    for (unsigned i = 0; i < 15u; i++) {
        inventory.verdict[i] = (struct device_verdict){.given = true, .state = HEALTH_HEALTHY};
    }
    inventory.verdict[1] = (struct device_verdict){
        .given = true, .state = HEALTH_UNHEALTHY, .reasons = HEALTH_REASON_ECC};
    inventory.devices.device[1].reading.reasons = HEALTH_REASON_ECC;
    inventory.verdict[2] = (struct device_verdict){
        .given = true, .waits = true, .state = HEALTH_UNHEALTHY, .reasons = 1u};
    inventory.devices.device[3].reading.reasons = 1u;
    inventory.verdict[6].memory_held = true;
    inventory.drain = view_text("the node is draining, claims left: 2");
    inventory.verdict[4].state = HEALTH_UNKNOWN;
    inventory.devices.device[4].reading.known = false;
    inventory.devices.device[4].reading.counted = 7;
    inventory.verdict[5].state = HEALTH_UNKNOWN;
    text_set(inventory.devices.driver_version, ATTRIBUTE_VALUE_CAP, "2.30.2.0");
    whole(table_part);
    has("neuron-device-0   8      healthy                   -\n");
    has("neuron-device-1   8      unhealthy: uncorrectabl~  -\n");
    has("neuron-device-2   8      unhealthy: hbm            -\n");
    has("neuron-device-3   8      unhealthy: hbm            -\n");
    has("neuron-device-4   8      unknown                   -\n");
    has("neuron-device-15  8      unknown                   -\n");
    has("16 devices, 0 held, 3 unhealthy or gone");
    has("health of 1 device is unknown:\n  kernel module 2.30.2.0 has only error counters, and the "
        "agent sees none rise\n");
    has("health of 1 device is unknown:\n  the agent has not read its files yet\n");
    has("health of 1 device is unknown:\n  the agent could not read its files");
    has("neuron-device-2 still counts as unhealthy:\n  its files show no error now; the agent");
    has("\nneuron-device-6 has memory in use, but no claim; run \"check\"\n");
    assert_null(strstr(text, "neuron-device-7 has memory in use"));
    has("\nthe node is draining, claims left: 2\n");
    document.yaml = true;
    whole(document_part);
    has("  health: unhealthy\n  reasons: \"hbm\"\n  withoutErrorsNow: true\n");
    has("  health: healthy\n  memoryHeld: true\n  held: false\n");
    has("drain: \"the node is draining, claims left: 2\"\n");
    struct writer line = writer_of((uint8_t *)text, sizeof text);
    assert_true(command_unhealthy(&inventory, 2, &line));
    assert_true(view_starts(writer_view(&line), "neuron-device-2 is unhealthy: hbm; its files show "
                                                "no error now"));
}

/* No device is called healthy if the agent's verdict is not available. */
static void test_no_verdicts(void **state)
{
    (void)state;
    node(16);
    inventory.verdicts = VERDICTS_MISSING;
    inventory.verdicts_missing = view_text("no agent responds");
    inventory.devices.device[1].reading.reasons = 1u;
    inventory.devices.device[2].reading.known = false;
    inventory.devices.device[2].reading.counted = 7;
    text_set(inventory.devices.driver_version, ATTRIBUTE_VALUE_CAP, "2.30.2.0");
    whole(table_part);
    assert_null(strstr(text, " healthy"));
    has("neuron-device-0   8      unknown         -\n");
    has("neuron-device-1   8      unhealthy: hbm  -\n");
    has("health of 14 devices is unknown:\n  its files show no error, but the agent's "
        "verdict is not available\n");
    has("health of 1 device is unknown:\n  kernel module 2.30.2.0 has only error "
        "counters, which only the agent can judge\n");
    has("the agent's verdict is not available:\n  no agent responds\n");
    document.yaml = true;
    whole(document_part);
    has("verdictsMissing: \"no agent responds\"\n");
}

/* No device is called free if a claim may hold it. */
static void test_uncertain_holders(void **state)
{
    (void)state;
    node(16);
    hold("llama", "llama-0", 1, 1);
    inventory.holders_unknown = true;
    whole(table_part);
    has("neuron-device-0   8      healthy  ?               -\n");
    has("neuron-device-1   8      healthy  training/llama  llama-0\n");
    has("16 devices, at least 1 held");
    has("?  the claim store cannot be read");
    has("   0 ?   1 A   2 ?");
    document.yaml = true;
    whole(document_part);
    has("  health: healthy\n  claim: \"?\"\n");
    assert_null(strstr(text, "held: false"));
    inventory.holders_unknown = false;
    inventory.damaged_slots = 1;
    inventory.witnesses = 2;
    inventory.cdi_unread = 1;
    inventory.cdi_unlisted = true;
    text_set(inventory.cdi_file, sizeof inventory.cdi_file, "x.json");
    whole(table_part);
    has("1 slot is damaged in the claim store: devices without a claim may be held");
    has("2 claims are recorded only in CDI files, ");
    has("the CDI root cannot be read: ");
    has("1 CDI file cannot be read: devices without a claim may be held; see\n  x.json\n");
}

/* A comment says which devices of the type the slices lack. */
static void test_left_out(void **state)
{
    struct writer w = writer_of(part, sizeof part);
    (void)state;
    node(15);
    inventory.devices.device[3].reading.reasons = 1u;
    for (unsigned i = 0; i < 20u; i++) {
        command_left_out(&inventory, i, false, &w);
    }
    assert_true(view_is(writer_view(&w), "# neuron-device-15 is left out: the kernel module does "
                                         "not show it; see dmesg\n"));
    w.len = 0;
    command_left_out(&inventory, 3, true, &w);
    assert_true(view_is(writer_view(&w), "# neuron-device-3 is left out: it is unhealthy\n"));
}

/* Whatever a name has in it, it stays on its line, and no terminal obeys it. */
static void test_names_are_shown_safely(void **state)
{
    (void)state;
    node(2);
    hold("a\x1b[2J\nb", "p\xe2\x80\xae\xff", 0, 1);
    whole(table_part);
    has("healthy  training/a\\x1b[~  p\\xe2\\x80\\xae\\xff\n");
    has("A  training/a\\x1b[2J\\x0ab, pod p\\xe2\\x80\\xae\\xff\n");
    document.yaml = false;
    whole(document_part);
    has("\"claim\": \"training/a\\u001b[2J\\nb\"");
    has("\"pod\": \"p\\u202e\xef\xbf\xbd\"");
    const struct claim_shown shown = {.record = &record, .cdi = CDI_GOOD};
    struct writer w = writer_of(text, sizeof text - 1u);
    assert_true(command_claim_text(&shown, 0, &w));
    text[w.len] = '\0';
    has("training/a\\x1b[2J\\x0ab\n");
    has(" p\\xe2\\x80\\xae\\xff\n");
}

static void test_admin_holds_nothing(void **state)
{
    (void)state;
    node(16);
    record_begin(&record);
    record_add(&record, "probe", 3)->admin_access = true;
    command_hold(&inventory, claim_numbers(&record), &record.id, record.consumer.name);
    whole(table_part);
    has("trn2.48xlarge: 16 devices, 0 held, LNC 2\n");
}

static void test_devices_as_document(void **state)
{
    (void)state;
    node(1);
    inventory.devices.board = NULL;
    hold("llama", "llama-0", 0, 1);
    inventory.issues.count = 1;
    inventory.issues.issue[0] = (struct probe_issue){
        .kind = PROBE_ISSUE_NO_MODULE, .number = PROBE_ISSUE_NO_NUMBER, .remedy = "load it"};
    document.yaml = true;
    assert_string_equal(whole(document_part), "instanceType: trn2.48xlarge\n"
                                              "neuronDriverVersion: \"\"\n"
                                              "logicalNeuronCore: 2\n"
                                              "devices:\n"
                                              "- name: neuron-device-0\n"
                                              "  number: 0\n"
                                              "  cores: 8\n"
                                              "  health: healthy\n"
                                              "  held: true\n"
                                              "  claim: training/llama\n"
                                              "  pod: llama-0\n"
                                              "issues:\n"
                                              "- \"no-module: load it\"\n");
    document.yaml = false;
    whole(document_part);
    has("{\n  \"instanceType\": \"trn2.48xlarge\",\n");
    has("  \"issues\": [\n    \"no-module: load it\"\n  ]\n}\n");
}

/* Texts that a reader of YAML takes for a number, a truth value or null are quoted. */
static void test_yaml_quotes(void **state)
{
    static const char *const quoted[] = {"",     "true",  "no",      "null",     "0x10", "1e3",
                                         "~",    "12:30", "a: b",    "-x",       "a #b", "@a",
                                         "node", "false", "0.1.0.0", "a\nb-cdef"};
    (void)state;
    for (unsigned i = 0; i < sizeof quoted / sizeof quoted[0]; i++) {
        struct writer w = writer_of(text, sizeof text);
        struct document d = document_of(&w, true);
        document_object_begin(&d);
        document_text(&d, "a", quoted[i]);
        document_object_end(&d);
        document_end(&d);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        assert_memory_equal(text, "a: \"", 4);
        assert_int_equal(text[w.len - 2u], '"');
    }
}

static void test_empty_documents(void **state)
{
    (void)state;
    for (unsigned yaml = 0; yaml < 2u; yaml++) {
        struct writer w = writer_of(text, sizeof text);
        struct document d = document_of(&w, yaml == 1u);
        document_object_begin(&d);
        document_member_begin(&d, "a");
        document_object_end(&d);
        document_array_begin(&d, "b");
        document_object_begin(&d);
        document_object_end(&d);
        document_object_begin(&d);
        document_array_begin(&d, "c");
        document_array_end(&d);
        document_object_end(&d);
        document_array_end(&d);
        document_object_end(&d);
        document_end(&d);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        if (yaml == 1u) {
            assert_string_equal(text, "a: {}\nb:\n- {}\n- c: []\n");
        }
    }
}

/* Every type that is known makes a slice of its devices, and no other word is one. */
static void test_boards(void **state)
{
    static struct found_node found;
    (void)state;
    assert_false(command_board("xyz9.48xlarge", &found));
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const struct board *board = board_at(i);
        assert_true(command_board(board->instance_type, &found));
        memset(&inventory, 0, sizeof inventory);
        devices_build(&inventory.devices, &found, &inventory.issues);
        assert_int_equal(inventory.devices.count, board->devices);
        document.yaml = true;
        whole(slice_part);
        has("apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n");
        has("metadata:\n  generateName: node-1-neuron.aws.com-\nspec:\n");
        has("  devices:\n  - name: neuron-device-0\n    attributes:\n      ");
        has("\n      coreCount:\n        int: ");
        has(board->instance_type);
    }
}

static struct claim_shown shown;

static bool claim_part(unsigned number, struct writer *out)
{
    return command_claim_text(&shown, number, out);
}

static bool claim_document_part(unsigned number, struct writer *out)
{
    bool yaml = document.yaml;
    if (number == 0u) {
        document = document_of(out, yaml);
    }
    return command_claim_document(&shown, number, &document);
}

static void test_claim(void **state)
{
    (void)state;
    record_begin(&record);
    record_add(&record, "train", 8)->logical_neuron_core = 1;
    record_add(&record, "probe", 9)->admin_access = true;
    shown = (struct claim_shown){.record = &record, .cdi = CDI_MISSING};
    whole(claim_part);
    assert_string_equal(text, "training/llama-0\n"
                              "  uid: " UID "\n"
                              "  prepared for: not known\n"
                              "  devices:\n"
                              "    neuron-device-8 (request train, logicalNeuronCore 1)\n"
                              "    neuron-device-9 (request probe, admin access)\n"
                              "  CDI file: missing: a container that starts now fails; the "
                              "agent repairs it within --reconcile-interval, or when it is "
                              "restarted\n");
    shown.cdi = CDI_ALONE;
    whole(claim_part);
    has("  CDI file: alone: the claim store has no intact record of the claim; ");
    shown.cdi = CDI_GOOD;
    whole(claim_part);
    has("  CDI file: good\n");
}

/* What `release` says of a claim that it does not find. */
static void test_not_held(void **state)
{
    static const char *const malformed[] = {
        "nothex",
        "ml/llama-0",
        "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5",
        "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5e0",
        "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5g",
        "5b2f0c1e07d3a-4e8f-9a60-0d3c2b1a4f5e",
        "5b2f0c1e-7d3a-4e8f-9a60-0d3c2b1a-f5e",
    };
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        char line[256];
        struct writer w = writer_of(line, sizeof line);
        command_not_held(malformed[i], &w);
        assert_int_equal(writer_end_text(&w), STATUS_OK);
        assert_int_equal(line[0], '"');
        assert_non_null(strstr(line, malformed[i]));
        assert_non_null(strstr(line, "is malformed as the UID of a claim"));
        assert_non_null(strstr(line, "copy it from \"neuron-dra-agent claims\""));
    }
    char line[256];
    struct writer w = writer_of(line, sizeof line);
    command_not_held("5B2F0c1e-7d3a-4e8f-9a60-0d3c2b1a4f5e", &w);
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_string_equal(line, "no claim of this UID is held here; see neuron-dra-agent claims");
}

/* cfg/deploy/operate.md prints the devices of a claim as the program does. */
static void test_claim_of_the_page(void **state)
{
    static char page[262144];
    FILE *f = fopen("cfg/deploy/operate.md", "r");
    (void)state;
    assert_non_null(f);
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    (void)fclose(f);
    record_begin(&record);
    record_add(&record, "neurons", 5);
    shown = (struct claim_shown){.record = &record, .cdi = CDI_GOOD};
    whole(claim_part);
    assert_non_null(strstr(page, strstr(text, "  devices:\n")));
}

/* The longest claim there can be, in all forms. */
static void test_longest_claim(void **state)
{
    (void)state;
    fill_longest(&record);
    node(16);
    shown = (struct claim_shown){
        .record = &record, .driver = DRIVER_NAME, .cdi = CDI_UNREADABLE, .node = &inventory};
    assert_true(strlen(whole(claim_part)) > 1000u);
    for (unsigned form = 0; form < 2u; form++) {
        document.yaml = form == 1u;
        assert_true(strlen(whole(claim_document_part)) > 1000u);
    }
}

/* Each device of a claim as the node has it: by its own number, whole or a part, gone or broken. */
static void test_devices_of_a_claim(void **state)
{
    (void)state;
    node(15);
    inventory.devices.lnc_host = 0;
    text_set(inventory.devices.instance_type, sizeof inventory.devices.instance_type,
             "trn2.48xlarge");
    inventory.devices.device[5].reading.reasons = 1;
    record_begin(&record);
    record_add(&record, "train", 4)->logical_neuron_core = 1;
    record_add(&record, "more", 5);
    record_add(&record, "more", 15);
    shown = (struct claim_shown){.record = &record, .cdi = CDI_GOOD, .node = &inventory};
    whole(claim_part);
    has("  CDI file: good\n"
        "  neuron-device-4: healthy\n"
        "    nearest: pci-0000-6c-00-0\n"
        "    contiguous2_id: 2\n"
        "    logicalCores: 0-7\n"
        "    logicalNeuronCore: 1\n"
        "    resource.aws.com/devicegroup16_id: ");
    has("    topology4_id: 1\n    topology8_id: 0\n    topology_x: 1\n    topology_y: 0\n"
        "  neuron-device-5: unhealthy: ");
    has("    logicalCores: 0-3\n    logicalNeuronCore: 2\n");
    has("  neuron-device-15: gone\n    nearest: pci-0000-");
    shown.driver = DRIVER_NAME;
    document.yaml = true;
    whole(claim_document_part);
    has("cdi: \"good\"\nonNode:\n- name: neuron-device-4\n  health: healthy\n  nearest:\n"
        "  - pci-0000-6c-00-0\n  attributes:\n    contiguous2_id:\n      int: 2\n");
    has("  health: unhealthy\n  reasons: ");
    has("    logicalCores:\n      string: \"0-3\"\n");
    has("- name: neuron-device-15\n  health: \"gone\"\n  nearest:\n");

    record_begin(&record);
    record_add(&record, "part", 3)->cores = 0x30; /* NeuronCores 4 and 5 are logical core 2 */
    whole(claim_part);
    has("    logicalCores: 2\n    logicalNeuronCore: 2\n");
    inventory.devices.device[3].core_count = 6; /* not what the type has */
    record.result[0].cores = 0;
    whole(claim_part);
    assert_null(strstr(text, "logical"));
}

/* A claim for the whole node has all that it was, each with its own place. */
static void test_node_of_a_claim(void **state)
{
    (void)state;
    node(16);
    record_begin(&record);
    struct claim_result *result = record_add(&record, "node", 0);
    result->node = true;
    record.node_devices = 0xffffu;
    shown = (struct claim_shown){.record = &record, .cdi = CDI_GOOD, .node = &inventory};
    whole(claim_part);
    has("  devices:\n    neuron-node (request node)\n");
    for (unsigned i = 0; i < 16u; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "  neuron-device-%u: healthy\n    nearest: pci-", i);
        has(line);
    }
    shown.node = NULL;
    whole(claim_part);
    assert_null(strstr(text, "neuron-device-"));
}

/* An EFA device is found by its name, not by the number that it had when it was prepared. */
static void test_efa_of_a_claim(void **state)
{
    static struct found_node board;
    static struct found_efas found;
    (void)state;
    memset(&inventory, 0, sizeof inventory);
    assert_true(command_board("trn1.32xlarge", &board));
    assert_true(command_board_efas("trn1.32xlarge", &found));
    devices_build(&inventory.devices, &board, &inventory.issues);
    efas_build(&inventory.devices, NULL, &found, &inventory.issues);
    record_begin(&record);
    record.driver = DRIVER_EFA;
    struct claim_result *result = record_add(&record, "efa", 13);
    result->efa_address = inventory.devices.device[0].efa.address;
    shown = (struct claim_shown){.record = &record, .cdi = CDI_GOOD, .node = &inventory};
    whole(claim_part);
    has("  pci-0000-10-1a-0: healthy\n    nearest: neuron-device-0\n    nearest: neuron-device-1\n"
        "    resource.aws.com/devicegroup16_id: ");
    assert_null(strstr(text, "logical"));
    result->efa_address++;
    whole(claim_part);
    has(": gone\n");
    assert_null(strstr(text, "nearest"));
}

static void test_slot(void **state)
{
    static uint8_t half[2][STORE_HALF_BYTES];
    static uint8_t bytes[STORE_RECORD_MAX];
    static struct store_outline outline;
    static struct claim_record read;
    struct view views[2];
    struct writer encoded = writer_of(bytes, sizeof bytes);
    (void)state;
    record_begin(&record);
    record_add(&record, "train", 8);
    assert_int_equal(store_record_encode(&record, &encoded), STATUS_OK);
    for (unsigned i = 0; i < 2u; i++) {
        struct writer w = writer_of(half[i], sizeof half[i]);
        store_half_write(&w, 7, i + 1u, (i == 1u) ? writer_view(&encoded) : view_of(NULL, 0));
        views[i] = writer_view(&w);
    }
    assert_int_equal(command_slot(views, 7, &read, &outline), SLOT_CLAIM);
    assert_string_equal(read.id.uid, UID);
    assert_int_equal(command_slot(views, 8, &read, &outline), SLOT_DAMAGED);
    half[1][STORE_HALF_HEADER] ^= 1u; /* as while an agent writes it */
    assert_int_equal(command_slot(views, 7, &read, &outline), SLOT_FREE);
}

/* The body of a response of which `step` bytes more arrive at a time. */
static const char *body_of(const char *response, size_t step, struct page_response *r)
{
    struct writer all = writer_of(text, sizeof text);
    struct view bytes = view_text(response);
    size_t used = 0;
    *r = (struct page_response){.stage = RESPONSE_HEAD};
    for (size_t len = 0; len < bytes.len;) {
        len = (bytes.len - len < step) ? bytes.len : len + step;
        struct view rest = view_from(view_first(bytes, len), used);
        struct view piece = command_response(r, &rest);
        while (piece.len > 0u) {
            writer_append(&all, piece);
            piece = command_response(r, &rest);
        }
        used = len - rest.len;
    }
    assert_int_equal(writer_end_text(&all), STATUS_OK);
    return text;
}

#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n"
static const char chunked[] =
    CHUNKED_HEAD "0003\r\nab\n\r\n1a\r\n0123456789abcdefghij\r\n\r\nxy\r\n0\r\n\r\n";

static void test_response(void **state)
{
    struct page_response r;
    (void)state;
    for (size_t step = 1; step <= sizeof chunked; step++) {
        assert_string_equal(body_of(chunked, step, &r), "ab\n0123456789abcdefghij\r\n\r\nxy");
        assert_true(r.code == 200u && r.chunked && command_response_whole(&r));
        assert_string_equal(body_of("HTTP/1.1 503 No\r\n\r\nwhy\n", step, &r), "why\n");
        assert_true(r.code == 503u && !r.chunked && command_response_whole(&r));
    }
}

/* A chunked response is whole with its last chunk and not before. */
static void test_cut_response(void **state)
{
    struct page_response r;
    (void)state;
    for (size_t len = 0; len + 1u < sizeof chunked; len++) {
        char cut[sizeof chunked];
        (void)snprintf(cut, sizeof cut, "%.*s", (int)len, chunked);
        body_of(cut, sizeof cut, &r);
        assert_false(command_response_whole(&r));
        assert_int_not_equal(r.stage, RESPONSE_BAD);
    }
    body_of("HTTP/1.1 200 OK\r\n", 1, &r);
    assert_true(r.code == 0u && !command_response_whole(&r));
}

static void test_bad_response(void **state)
{
    static const char *const bad[] = {
        "HTTP/1.1 20x OK\r\n\r\n",   "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 2\r\n\r\n",        CHUNKED_HEAD "\r\n",
        CHUNKED_HEAD "x\r\n",        CHUNKED_HEAD "12345678\r\n",
        CHUNKED_HEAD "2\r\nabc\r\n", CHUNKED_HEAD "0\r\nA: b\r\n\r\n"};
    (void)state;
    for (unsigned i = 0; i < COUNT(bad); i++) {
        struct page_response r;
        body_of(bad[i], 1, &r);
        if (r.stage != RESPONSE_BAD || command_response_whole(&r)) {
            fail_msg("taken: %s", bad[i]);
        }
    }
}

/* A clock far in the future leaves a header that can be read. */
static void test_archive_header(void **state)
{
    struct writer out = writer_of(text, sizeof text);
    (void)state;
    command_tar_header("folder", "name", (size_t)8u * 1024u * 1024u, UINT64_MAX, &out);
    assert_int_equal(out.len, TAR_BLOCK_BYTES);
    assert_string_equal(&text[124], "00040000000");
    assert_string_equal(&text[136], "77777777777");
}

/* With shared counters there are two slices, in one list. */
static void test_slices_with_counters(void **state)
{
    static struct found_node found;
    static struct probe_issues issues;
    (void)state;
    node(0);
    assert_true(command_board("trn2u.48xlarge", &found));
    devices_build(&inventory.devices, &found, &issues);
    devices_add_node(&inventory.devices, false);
    document.yaml = true;
    whole(slice_part);
    has("kind: \"List\"\nitems:\n- apiVersion: resource.k8s.io/v1\n  kind: ResourceSlice\n");
    has("      resourceSliceCount: 2\n    sharedCounters:\n    - name: devices\n      counters:\n"
        "        neuron-device-0:\n          value: \"1\"\n");
    has("        neuron-device-15:\n          value: \"1\"\n- apiVersion: resource.k8s.io/v1\n");
    has("      consumesCounters:\n      - counterSet: devices\n        counters:\n"
        "          neuron-device-9:\n            value: \"1\"\n    - name: neuron-device-10\n");
    has("          neuron-device-14:\n            value: \"1\"\n          neuron-device-15:\n");
    assert_null(strstr(text, "neuron-node:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_gone_devices),
        cmocka_unit_test(test_unhealthy_devices),
        cmocka_unit_test(test_names_are_shown_safely),
        cmocka_unit_test(test_verdicts_of_the_agent),
        cmocka_unit_test(test_no_verdicts),
        cmocka_unit_test(test_uncertain_holders),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_admin_holds_nothing),
        cmocka_unit_test(test_devices_as_document),
        cmocka_unit_test(test_yaml_quotes),
        cmocka_unit_test(test_empty_documents),
        cmocka_unit_test(test_boards),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_not_held),
        cmocka_unit_test(test_claim_of_the_page),
        cmocka_unit_test(test_longest_claim),
        cmocka_unit_test(test_devices_of_a_claim),
        cmocka_unit_test(test_node_of_a_claim),
        cmocka_unit_test(test_efa_of_a_claim),
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_cut_response),
        cmocka_unit_test(test_bad_response),
        cmocka_unit_test(test_archive_header),
        cmocka_unit_test(test_slices_with_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
