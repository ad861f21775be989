/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table and its attributes: missing and odd devices, unknown types, and what garbage in
 * sysfs leaves. test_device_golden.c compares the attributes with golden files.
 */
#include "tests/unit/node/device_harness.h"

static void test_version_is_the_agents(void **state)
{
    (void)state;
    build_type("trn2.3xlarge");
    struct attributes all;
    device_attributes(&devices, 0, &all);
    assert_string_equal(all.attribute[2].key, "draDriverVersion");
    assert_int_equal(all.attribute[2].type, ATTRIBUTE_VERSION);
    assert_string_equal(all.attribute[2].text, AGENT_VERSION);
}

static void test_absent_labels_are_left_out(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    devices.labels.network_layer[1][0] = '\0';
    assert_string_equal(attribute(0, "networkNodeLayer1"), "string nn-1");
    assert_string_equal(attribute(0, "networkNodeLayer2"), "absent");
    assert_string_equal(attribute(0, "networkNodeLayer3"), "string nn-3");
}

static void test_labels_survive_a_build(void **state)
{
    (void)state;
    build_type("trn2.48xlarge");
    devices_build(&devices, &found, &issues);
    assert_string_equal(devices.labels.network_layer[2], "nn-3");
}

/* --- the table --- */

static void test_order_is_numeric(void **state)
{
    (void)state;
    found_empty(&found, "trn2.48xlarge");
    found_add(&found, 10, 8);
    found_add(&found, 9, 8);
    found_add(&found, 0, 8);
    build();
    assert_int_equal(devices.count, 3);
    assert_string_equal(devices.device[0].name, "neuron-device-0");
    assert_string_equal(devices.device[1].name, "neuron-device-9");
    assert_string_equal(devices.device[2].name, "neuron-device-10");
    assert_int_equal(devices_find(&devices, view_text("neuron-device-10")), 2);
    assert_int_equal(devices_find(&devices, view_text("neuron-device-1")), -1);
    assert_int_equal(devices_find(&devices, view_text("neuron-device-100")), -1);
    assert_int_equal(devices_find(&devices, view_text("")), -1);
}

static void test_sixty_four_devices(void **state)
{
    (void)state;
    found_empty(&found, "xyz9.128xlarge");
    for (unsigned i = DEVICES_MAX; i > 0; i--) {
        found_add(&found, i - 1, 4);
    }
    build();
    assert_int_equal(devices.count, DEVICES_MAX);
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        assert_int_equal(devices.device[i].number, i);
    }
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_UNKNOWN_FAMILY, PROBE_ISSUE_NO_NUMBER));
}

static void test_duplicates_keep_the_first(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.2xlarge"));
    found_add(&found, 0, 7);
    build();
    assert_int_equal(devices.count, 1);
    assert_int_equal(devices.device[0].core_count, 2);
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_DUPLICATE, 0));
    assert_string_equal(issues.issue[0].text, "neuron-device-0");
}

static void test_numbers_past_the_module_are_left_out(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.2xlarge"));
    found_add(&found, DEVICES_MAX, 2);
    found_add(&found, UINT16_MAX, 2);
    build();
    assert_int_equal(devices.count, 1);
    assert_int_equal(issues.count, 2);
    assert_true(has_issue(PROBE_ISSUE_IGNORED, DEVICES_MAX));
}

static void test_device_without_node_is_left_out(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2.48xlarge"));
    found.devices[3].node_exists = false;
    uint16_t number = found.devices[3].number;
    build();
    assert_int_equal(devices.count, 15);
    assert_int_equal(issues.count, 2);
    assert_true(has_issue(PROBE_ISSUE_NO_NODE, number));
    assert_true(has_issue(PROBE_ISSUE_COUNT, PROBE_ISSUE_NO_NUMBER));
    assert_string_equal(issues.issue[1].text, "15 of 16 devices");
}

/* Core counts that differ from the type's: one issue for each such number, with the devices. */
static void test_core_counts_of_another_type(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.32xlarge"));
    for (unsigned i = 0; i < found.count; i++) {
        const char *cores = (found.devices[i].number == 5) ? "4" : "8";
        (void)snprintf(found.devices[i].core_count, SYSFS_VALUE_CAP, "%s\n", cores);
    }
    build();
    assert_int_equal(issues.count, 2);
    assert_true(has_issue(PROBE_ISSUE_CORES, PROBE_ISSUE_NO_NUMBER));
    assert_string_equal(issues.issue[0].text,
                        "8 instead of 2; devices 0,1,2,3,4,6,7,8,9,10,11,12,13,14,15");
    assert_true(has_issue(PROBE_ISSUE_CORES, 5));
    assert_string_equal(issues.issue[1].text, "4 instead of 2");
    assert_string_equal(attribute(0, "coreCount"), "int 8");
    /* what is no number */
    found_board(&found, board_find("trn1.2xlarge"));
    (void)snprintf(found.devices[0].core_count, SYSFS_VALUE_CAP, "two\n");
    build();
    assert_string_equal(issues.issue[0].text, "two instead of 2");
    found.devices[0].core_count[0] = '\0';
    build();
    assert_string_equal(issues.issue[0].text, "nothing instead of 2");
    /* a type that is not known has no number of cores to compare with */
    (void)snprintf(found.product_name, SYSFS_VALUE_CAP, "trn9.2xlarge\n");
    build();
    assert_string_equal(issues.issue[1].text, "nothing");
}

/* As many devices as fit, with the longest list of numbers. */
static void test_core_counts_of_many_devices(void **state)
{
    (void)state;
    found_empty(&found, "trn2.48xlarge");
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        found_add(&found, i, 255);
    }
    build();
    assert_int_equal(issues.count, 2);
    assert_string_equal(issues.issue[1].text, "64 of 16 devices");
    assert_int_equal(strncmp(issues.issue[0].text, "255 instead of 8; devices 0,1,", 30), 0);
    const char *text = issues.issue[0].text;
    assert_string_equal(text + strlen(text) - 6, ",62,63");
}

/* A file in the place of a node is none, except where no node is a character device. */
static void test_node_that_is_no_device(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2.48xlarge"));
    for (unsigned i = 0; i < found.count; i++) {
        found.devices[i].place.node = 0xf300u + i;
    }
    found.devices[3].place.node = 0;
    build();
    assert_int_equal(devices.count, 15);
    assert_true(has_issue(PROBE_ISSUE_NO_NODE, found.devices[3].number));
    for (unsigned i = 0; i < found.count; i++) {
        found.devices[i].place.node = 0;
    }
    build();
    assert_int_equal(devices.count, 16);
}

/* Numbers are topological: what follows from the number stays when a neighbour is missing. */
static void test_missing_device_moves_no_other(void **state)
{
    (void)state;
    found_empty(&found, "trn2.48xlarge");
    found_add(&found, 0, 8);
    found_add(&found, 13, 8);
    build();
    assert_int_equal(devices.count, 2);
    assert_string_equal(attribute(1, "topology_x"), "int 3");
    assert_string_equal(attribute(1, "topology_y"), "int 1");
    assert_string_equal(attribute(1, "topology4_id"), "int 3");
    assert_string_equal(attribute(1, "topology8_id"), "int 1");
    assert_string_equal(attribute(1, "resource.aws.com/devicegroup4_id"),
                        "string b3d6ce1919d29f8f");
    assert_true(has_issue(PROBE_ISSUE_COUNT, PROBE_ISSUE_NO_NUMBER));
}

/* Whether the module shows `next` among the neighbours of device `number`, by the golden file. */
static bool module_links(const char *type, unsigned number, unsigned next)
{
    const char *at = strstr(golden_load(type), "module connected_devices ");
    assert_non_null(at);
    at += strlen("module connected_devices ");
    for (unsigned i = 0; i < number; i++) {
        at += strcspn(at, " \n") + 1;
    }
    for (const char *end = at + strcspn(at, " \n"); at < end; at += strcspn(at, ", \n") + 1) {
        if (strtoul(at, NULL, 10) == next) {
            return true;
        }
    }
    return false;
}

static const char *line_of(unsigned number, unsigned size)
{
    char key[32];
    (void)snprintf(key, sizeof key, "contiguous%u_id", size);
    return attribute(number, key);
}

/* How many devices are in lines of this size; each line is whole, and its devices are linked. */
static unsigned devices_in_lines(const char *type, unsigned size)
{
    char line[32];
    unsigned held = 0;
    while (held < devices.count && strcmp(line_of(held, size), "absent") != 0) {
        (void)snprintf(line, sizeof line, "int %u", held / size);
        assert_string_equal(line_of(held, size), line);
        assert_true(held % size == 0 || module_links(type, held - 1, held));
        held++;
    }
    assert_int_equal(held % size, 0);
    for (unsigned i = held; i < devices.count; i++) {
        assert_string_equal(line_of(i, size), "absent");
    }
    return held;
}

static void test_devices_of_a_line_are_linked(void **state)
{
    (void)state;
    unsigned lines = 0;
    unsigned pairs = 0;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const struct board *board = board_at(i);
        build_type(board->instance_type);
        for (unsigned size = 1; size <= 16; size++) {
            bool asked = size >= 2 && size <= board->contiguous;
            unsigned want = asked ? board->devices / size * size : 0u;
            assert_int_equal(devices_in_lines(board->instance_type, size), want);
        }
        lines += (board->contiguous > 2) ? 1u : 0u;
        pairs += (board->contiguous == 2) ? 1u : 0u;
    }
    assert_int_equal(lines, 2);
    assert_int_equal(pairs, 12);
}

static void test_devices_past_the_board_have_no_place(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2.48xlarge"));
    found_add(&found, 16, 8);
    build();
    assert_int_equal(devices.count, 17);
    assert_string_equal(attribute(16, "deviceId"), "int 16");
    assert_string_equal(attribute(16, "topology_x"), "absent");
    assert_string_equal(attribute(16, "topology8_id"), "absent");
    assert_string_equal(attribute(16, "contiguous2_id"), "absent");
    assert_string_equal(attribute(16, "resource.aws.com/devicegroup1_id"), "absent");
    assert_string_equal(attribute(16, "resource.aws.com/devicegroup16_id"), "absent");
    assert_true(has_issue(PROBE_ISSUE_COUNT, PROBE_ISSUE_NO_NUMBER));
}

static void test_no_devices(void **state)
{
    (void)state;
    found_empty(&found, "trn2.48xlarge");
    build();
    assert_int_equal(devices.count, 0);
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_NO_DEVICES, PROBE_ISSUE_NO_NUMBER));
}

static void test_ignored_entries_are_told(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.2xlarge"));
    found.ignored = 65535;
    build();
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_IGNORED, PROBE_ISSUE_NO_NUMBER));
    assert_string_equal(issues.issue[0].text, "65535");
}

static void test_issues_past_the_table_are_counted(void **state)
{
    (void)state;
    found_empty(&found, "");
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        found_add(&found, i, 0);
        (void)snprintf(found.devices[i].connected_devices, SYSFS_VALUE_CAP, "none");
    }
    build();
    assert_int_equal(issues.count, PROBE_ISSUES_MAX);
    assert_int_equal(issues.count + issues.more, 2 * DEVICES_MAX + 1);
}

static void test_unknown_type_publishes_what_sysfs_proves(void **state)
{
    (void)state;
    found_empty(&found, "ml.xyz9.96xlarge");
    found_add(&found, 5, 12);
    build();
    assert_true(has_issue(PROBE_ISSUE_UNKNOWN_FAMILY, PROBE_ISSUE_NO_NUMBER));
    assert_int_equal(issues.count, 1);
    devices.labels = (struct node_labels){0};
    assert_string_equal(attributes_text(""), "5 coreCount int 12\n"
                                             "5 deviceId int 5\n"
                                             "5 draDriverVersion version AGENT_VERSION\n"
                                             "5 instanceType string xyz9.96xlarge\n"
                                             "5 lncConfigurable bool false\n"
                                             "5 neuronDriverVersion string 2.26.5.0\n"
                                             "5 resourceType string neuron_device\n");
}

/* LNC and memory of a type without a row: its family's, when the devices are as the family's. */
static void test_unknown_type_has_what_its_family_has(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        unsigned cores[2];
        const char *value;
        const char *memory; /* of the first */
    } rows[] = {
        {"trn2x.96xlarge", {8, 8}, "bool true", "capacity 96Gi"},
        {"ml.trn3x.96xlarge", {8, 8}, "bool true", "capacity 144Gi"},
        {"trn2x.96xlarge", {8, 4}, "bool false", "capacity 96Gi"},
        {"trn2x.96xlarge", {0, 8}, "bool false", "absent"},
        {"trn1x.96xlarge", {2, 2}, "bool false", "capacity 32Gi"},
        {"inf2x.96xlarge", {2, 2}, "bool false", "capacity 32Gi"},
        {"xyz9.96xlarge", {8, 8}, "bool false", "absent"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        found_empty(&found, rows[i].type);
        found_add(&found, 0, rows[i].cores[0]);
        found_add(&found, 1, rows[i].cores[1]);
        build();
        assert_null(devices.board);
        assert_string_equal(attribute(0, "lncConfigurable"), rows[i].value);
        assert_string_equal(attribute(0, "memory"), rows[i].memory);
        assert_string_equal(attribute(0, "topology_x"), "absent");
        bool known = strcmp(rows[i].type, "xyz9.96xlarge") != 0;
        assert_true(has_issue(known ? PROBE_ISSUE_UNKNOWN_TYPE : PROBE_ISSUE_UNKNOWN_FAMILY,
                              PROBE_ISSUE_NO_NUMBER));
    }
}

static void test_lnc_of_the_host(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *text;
        unsigned lnc;
    } rows[] = {
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=1\n", 1},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=2", 2},
        {"trn2.3xlarge", "# a comment\r\n\n  NEURON_LOGICAL_NC_CONFIG=1 \r\n# another", 1},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=1\nNEURON_LOGICAL_NC_CONFIG=2\n", 1},
        {"trn2.3xlarge", "", 0},
        {"trn2.3xlarge", " \n", 0},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=0\n", 0},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=4\n", 0},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=18446744073709551617\n", 0},
        {"trn2.3xlarge", "NEURON_LOGICAL_NC_CONFIG=\n", 0},
        {"trn2.3xlarge", "export NEURON_LOGICAL_NC_CONFIG=1\n", 0},
        {"trn2.3xlarge", "1\n", 0},
        {"trn2.3xlarge", "#NEURON_LOGICAL_NC_CONFIG=1", 0},
        {"trn1.2xlarge", "NEURON_LOGICAL_NC_CONFIG=1\n", 0},
        {"xyz9.2xlarge", "NEURON_LOGICAL_NC_CONFIG=1\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        found_empty(&found, rows[i].type);
        found_add(&found, 0, (rows[i].type[3] == '2') ? 8 : 2);
        (void)snprintf(found.lnc_config, SYSFS_VALUE_CAP, "%s", rows[i].text);
        build();
        assert_int_equal(devices.lnc_host, rows[i].lnc);
        bool empty = strspn(rows[i].text, " \n") == strlen(rows[i].text);
        assert_int_equal(has_issue(PROBE_ISSUE_LNC_CONFIG, PROBE_ISSUE_NO_NUMBER),
                         !empty && rows[i].lnc == 0);
    }
}

/* A table that is built again forgets a file that is gone. */
static void test_lnc_of_the_host_is_removed(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2.3xlarge"));
    (void)snprintf(found.lnc_config, SYSFS_VALUE_CAP, "NEURON_LOGICAL_NC_CONFIG=1");
    build();
    assert_int_equal(devices.lnc_host, 1);
    found.lnc_config[0] = '\0';
    devices_build(&devices, &found, &issues);
    assert_int_equal(devices.lnc_host, 0);
}

static void test_inf1_is_refused_by_name(void **state)
{
    (void)state;
    found_empty(&found, "ml.inf1.6xlarge");
    found_add(&found, 0, 4);
    found_add(&found, 1, 4);
    build();
    assert_int_equal(devices.count, 0);
    assert_int_equal(devices.lnc_allowed, 0);
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_REFUSED_TYPE, PROBE_ISSUE_NO_NUMBER));
    assert_string_equal(issues.issue[0].text, "inf1.6xlarge");
    assert_non_null(strstr(issues.issue[0].remedy, "Inf1"));
}

/* --- PCI --- */

static void test_pcie_root(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"1", "pci0000:c8", "string pci0000:c8"},
        {"-1", "pci10000:00", "string pci10000:00"},
        {"1", "", "absent"},
        {"1", "pci0000:\x1b[", "absent"},
        {"1", " pci0000:c8\n", "string pci0000:c8"},
        {"", "pci0000:c8", "absent"}, /* no device is at the board's address */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        found_board(&found, board_find("trn2.48xlarge"));
        (void)snprintf(found.devices[0].numa_node, NUMA_VALUE_CAP, "%s", rows[i][0]);
        (void)snprintf(found.devices[0].pcie_root, PCIE_ROOT_CAP, "%s", rows[i][1]);
        build();
        assert_string_equal(attribute(0, "resource.kubernetes.io/pcieRoot"), rows[i][2]);
    }
}

static void test_numa_node_and_pci_address(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text, *node, *address;
    } rows[] = {
        {"trn2.48xlarge", "1", "int 1", "string 0000:cc:00.0"},
        {"trn2.48xlarge", "0", "int 0", "string 0000:cc:00.0"},
        {"trn2.48xlarge", "-1", "absent", "string 0000:cc:00.0"},
        {"trn2.48xlarge", "one", "absent", "string 0000:cc:00.0"},
        {"trn2.48xlarge", "40000", "absent", "string 0000:cc:00.0"},
        {"trn2.48xlarge", "", "absent", "absent"},
        {"trn1.32xlarge", "", "absent", "absent"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        found_board(&found, board_find(rows[i].type));
        (void)snprintf(found.devices[0].numa_node, NUMA_VALUE_CAP, "%s", rows[i].text);
        build();
        assert_string_equal(attribute(0, "resource.kubernetes.io/numaNode"), rows[i].node);
        assert_string_equal(attribute(0, "resource.kubernetes.io/pciBusID"), rows[i].address);
    }
}

/* --- neighbours --- */

static void test_neighbours(void **state)
{
    (void)state;
    found_board(&found, board_find("trn2.48xlarge"));
    (void)snprintf(found.devices[0].connected_devices, SYSFS_VALUE_CAP, "12, 1, 3, 4\n");
    build();
    assert_int_equal(issues.count, 0);
    assert_int_equal(devices.device[0].neighbours, 4);
    assert_int_equal(devices.device[0].neighbour[0], 12);
    assert_int_equal(devices.device[0].neighbour[3], 4);
    assert_int_equal(devices.device[1].neighbours, 0);
}

/* --- garbage --- */

enum place { PRODUCT, VERSION, BOOT, CORES, CONNECTED };

#define SIXTY_FOUR "a123456789a123456789a123456789a123456789a123456789a123456789abcd"
#define ANY UINT16_MAX /* the issue is about the node */

/*
 * One text of a trn1.2xlarge node, the issue it makes, and an attribute that shows what is left.
 */
static const struct {
    enum place place;
    const char *text;
    int kind; /* -1: none */
    const char *key;
    const char *value;
} garbage[] = {
    {PRODUCT, "", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "\n", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, " \t\r\n", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "ml.", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, ".", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "trn1.2.xlarge", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "trn1.", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, ".2xlarge", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "trn1", PROBE_ISSUE_NO_TYPE, "lncConfigurable", "bool false"},
    {PRODUCT, "Standard PC (Q35 + ICH9, 2009)", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "trn1.2xlarge\x01", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "trn\xff.2xlarge", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, SIXTY_FOUR ".2xlarge", PROBE_ISSUE_NO_TYPE, "instanceType", "absent"},
    {PRODUCT, "xyz9.2xlarge", PROBE_ISSUE_UNKNOWN_FAMILY, "instanceType", "string xyz9.2xlarge"},
    {PRODUCT, "xyz9.2xlarge", PROBE_ISSUE_UNKNOWN_FAMILY, "lncConfigurable", "bool false"},
    {PRODUCT, "ml.trn1.2xlarge\n", -1, "instanceType", "string trn1.2xlarge"},
    {PRODUCT, "  trn1.2xlarge \r\n", -1, "lncConfigurable", "bool false"},
    {VERSION, "", PROBE_ISSUE_NO_MODULE, "neuronDriverVersion", "absent"},
    {VERSION, "\n\n", PROBE_ISSUE_NO_MODULE, "neuronDriverVersion", "absent"},
    {VERSION, "2.26 5.0", PROBE_ISSUE_VERSION, "neuronDriverVersion", "absent"},
    {VERSION, "2.26\x1b[31m", PROBE_ISSUE_VERSION, "neuronDriverVersion", "absent"},
    {VERSION, "2.26.\xc3\xa4", PROBE_ISSUE_VERSION, "neuronDriverVersion", "absent"},
    {VERSION, SIXTY_FOUR "5", PROBE_ISSUE_VERSION, "neuronDriverVersion", "absent"},
    {VERSION, SIXTY_FOUR "\n", -1, "neuronDriverVersion", "string " SIXTY_FOUR},
    {VERSION, "2.30.2.0", -1, "neuronDriverVersion", "string 2.30.2.0"},
    {BOOT, "", PROBE_ISSUE_BOOT_ID, "deviceId", "int 0"},
    {BOOT, SIXTY_FOUR, PROBE_ISSUE_BOOT_ID, "deviceId", "int 0"},
    {BOOT, "a b", PROBE_ISSUE_BOOT_ID, "deviceId", "int 0"},
    {CORES, "", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "0", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "-2", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "+2", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "0x2", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "2 2", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "two", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "256", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "4294967298", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "18446744073709551618", PROBE_ISSUE_CORES, "coreCount", "absent"},
    {CORES, "8", PROBE_ISSUE_CORES, "coreCount", "int 8"},
    {CORES, "2", -1, "coreCount", "int 2"},
    {CORES, "2\n", -1, "coreCount", "int 2"},
    {CONNECTED, "", -1, "deviceId", "int 0"},
    {CONNECTED, "\n", -1, "deviceId", "int 0"},
    {CONNECTED, "1\n", -1, "deviceId", "int 0"},
    {CONNECTED, "1,2 ,  3,4", -1, "deviceId", "int 0"},
    {CONNECTED, "1, 2, 3, 4, 5", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "1, 2, 3,", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, ",", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, ", 1", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "1,, 2", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "1 2", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "0", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "1, 1", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "64", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "-1", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
    {CONNECTED, "device_unreachable", PROBE_ISSUE_NEIGHBOURS, "deviceId", "int 0"},
};

static char *text_at(enum place place)
{
    char *const texts[] = {
        [PRODUCT] = found.product_name,
        [VERSION] = found.driver_version,
        [BOOT] = found.boot_id,
        [CORES] = found.devices[0].core_count,
        [CONNECTED] = found.devices[0].connected_devices,
    };
    return texts[place];
}

static void test_garbage_is_reported_and_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        found_board(&found, board_find("trn1.2xlarge"));
        (void)snprintf(text_at(garbage[i].place), SYSFS_VALUE_CAP, "%s", garbage[i].text);
        build();
        bool of_device = garbage[i].place == CORES || garbage[i].place == CONNECTED;
        bool reported = garbage[i].kind < 0 ||
                        has_issue((enum probe_issue_kind)garbage[i].kind, of_device ? 0 : ANY);
        if (!reported || issues.count != ((garbage[i].kind < 0) ? 0 : 1)) {
            fail_msg("garbage %zu, '%s': %u issues", i, garbage[i].text, issues.count);
        }
        assert_string_equal(attribute(0, garbage[i].key), garbage[i].value);
        bool neighbours =
            garbage[i].place == CONNECTED && garbage[i].kind < 0 && garbage[i].text[0] == '1';
        assert_int_equal(devices.device[0].neighbours > 0, neighbours);
    }
}

/*
 * A text that fills its array to the last byte has no NUL: it is read to its bound and no further.
 */
static void test_texts_without_end(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.2xlarge"));
    memset(found.product_name, 'x', SYSFS_VALUE_CAP);
    memset(found.driver_version, '2', SYSFS_VALUE_CAP);
    memset(found.boot_id, 'a', SYSFS_VALUE_CAP);
    memset(found.devices[0].core_count, '2', SYSFS_VALUE_CAP);
    memset(found.devices[0].connected_devices, '1', SYSFS_VALUE_CAP);
    memset(found.devices[0].pcie_root, 'p', PCIE_ROOT_CAP);
    build();
    assert_int_equal(issues.count, 5);
    assert_int_equal(devices.device[0].core_count, 0);
    assert_string_equal(devices.device[0].pcie_root, "");
    assert_string_equal(devices.instance_type, "");
}

static void test_issue_texts_are_printable_and_cut(void **state)
{
    (void)state;
    found_board(&found, board_find("trn1.2xlarge"));
    memset(found.driver_version, '\x1b', SYSFS_VALUE_CAP);
    build();
    assert_int_equal(issues.count, 1);
    assert_int_equal(strlen(issues.issue[0].text), SYSFS_VALUE_CAP - 1);
    assert_int_equal(strspn(issues.issue[0].text, "?"), SYSFS_VALUE_CAP - 1);
}

/* Scripts read these names from `check`, log lines and Events. */
static void test_names_of_issues(void **state)
{
    static const char *const names[PROBE_ISSUE_KINDS] = {
        [PROBE_ISSUE_NO_MODULE] = "no-module",
        [PROBE_ISSUE_NO_DEVICES] = "no-devices",
        [PROBE_ISSUE_NO_TYPE] = "no-instance-type",
        [PROBE_ISSUE_UNKNOWN_TYPE] = "unknown-instance-type",
        [PROBE_ISSUE_UNKNOWN_FAMILY] = "unknown-instance-family",
        [PROBE_ISSUE_REFUSED_TYPE] = "refused-instance-type",
        [PROBE_ISSUE_COUNT] = "device-count",
        [PROBE_ISSUE_CORES] = "core-count",
        [PROBE_ISSUE_NEIGHBOURS] = "connected-devices",
        [PROBE_ISSUE_NO_NODE] = "no-device-node",
        [PROBE_ISSUE_DUPLICATE] = "duplicate-device",
        [PROBE_ISSUE_IGNORED] = "ignored-entries",
        [PROBE_ISSUE_VERSION] = "module-version",
        [PROBE_ISSUE_BOOT_ID] = "boot-id",
        [PROBE_ISSUE_ULTRASERVER] = "ultraserver-mode",
        [PROBE_ISSUE_LNC_CONFIG] = "logical-nc-config",
        [PROBE_ISSUE_HEALTH_FILES] = "health-files",
        [PROBE_ISSUE_NO_EFA] = "no-efa",
        [PROBE_ISSUE_EFA_COUNT] = "efa-count",
        [PROBE_ISSUE_EFA_VERBS] = "efa-without-verbs",
        [PROBE_ISSUE_EFA_UNMAPPED] = "efa-not-mapped",
        [PROBE_ISSUE_EFA_IGNORED] = "efa-ignored",
    };
    (void)state;
    for (int i = 0; i < PROBE_ISSUE_KINDS; i++) {
        assert_string_equal(probe_issue_name((enum probe_issue_kind)i), names[i]);
    }
}

static void test_every_issue_has_a_remedy(void **state)
{
    (void)state;
    found_empty(&found, "");
    found.driver_version[0] = '\0';
    found.boot_id[0] = '\0';
    found.ignored = 1;
    found_add(&found, 1, 0);
    found_add(&found, 1, 0);
    build();
    assert_int_equal(issues.count, 6);
    for (unsigned i = 0; i < issues.count; i++) {
        assert_non_null(issues.issue[i].remedy);
        assert_true(strlen(issues.issue[i].remedy) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_is_the_agents),
        cmocka_unit_test(test_absent_labels_are_left_out),
        cmocka_unit_test(test_labels_survive_a_build),
        cmocka_unit_test(test_order_is_numeric),
        cmocka_unit_test(test_core_counts_of_another_type),
        cmocka_unit_test(test_core_counts_of_many_devices),
        cmocka_unit_test(test_sixty_four_devices),
        cmocka_unit_test(test_duplicates_keep_the_first),
        cmocka_unit_test(test_numbers_past_the_module_are_left_out),
        cmocka_unit_test(test_device_without_node_is_left_out),
        cmocka_unit_test(test_node_that_is_no_device),
        cmocka_unit_test(test_missing_device_moves_no_other),
        cmocka_unit_test(test_devices_of_a_line_are_linked),
        cmocka_unit_test(test_devices_past_the_board_have_no_place),
        cmocka_unit_test(test_no_devices),
        cmocka_unit_test(test_ignored_entries_are_told),
        cmocka_unit_test(test_issues_past_the_table_are_counted),
        cmocka_unit_test(test_unknown_type_publishes_what_sysfs_proves),
        cmocka_unit_test(test_unknown_type_has_what_its_family_has),
        cmocka_unit_test(test_lnc_of_the_host),
        cmocka_unit_test(test_lnc_of_the_host_is_removed),
        cmocka_unit_test(test_inf1_is_refused_by_name),
        cmocka_unit_test(test_numa_node_and_pci_address),
        cmocka_unit_test(test_pcie_root),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_garbage_is_reported_and_left_out),
        cmocka_unit_test(test_texts_without_end),
        cmocka_unit_test(test_issue_texts_are_printable_and_cut),
        cmocka_unit_test(test_names_of_issues),
        cmocka_unit_test(test_every_issue_has_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
