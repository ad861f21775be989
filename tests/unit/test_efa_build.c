/* SPDX-License-Identifier: Apache-2.0 */
/* The table of EFA devices, made of what a probe found: nodes, numbers, and texts that are odd. */
#include "tests/unit/unit.h"

#include "boards/board.h"
#include "dra/efa.h"

static struct found_efas found;
static struct devices devices;
static struct devices before;
static struct probe_issues issues;

static struct found_efa *add(const char *address)
{
    struct found_efa *one = &found.efa[found.count];
    memset(one, 0, sizeof *one);
    assert_true(pci_address_parse(view_text(address), &one->address));
    one->verbs = true;
    one->node_exists = true;
    one->number = found.count;
    found.count++;
    return one;
}

static void build(const char *type, const struct devices *last)
{
    memset(&devices, 0, sizeof devices);
    devices.board = board_find(type);
    (void)snprintf(devices.instance_type, sizeof devices.instance_type, "%s", type);
    efas_build(&devices, last, &found, &issues);
}

static bool has_issue(enum probe_issue_kind kind, const char *text)
{
    bool has = false;
    for (unsigned i = 0; i < issues.count; i++) {
        has = has || (issues.issue[i].kind == kind && strcmp(issues.issue[i].text, text) == 0);
    }
    return has;
}

static int setup(void **state)
{
    (void)state;
    memset(&found, 0, sizeof found);
    return 0;
}

/* Where one node is a device, a plain file of that name is none. */
static void test_nodes(void **state)
{
    (void)state;
    add("0000:10:19.0")->place.node = 0xe701;
    (void)add("0000:10:1a.0");
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 1);
    assert_string_equal(devices.device[0].name, "pci-0000-10-19-0");
    assert_true(has_issue(PROBE_ISSUE_EFA_VERBS, "0000:10:1a.0"));
    found.efa[1].place.node = 0xe702;
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 2);
    found.efa[0].place.node = 0; /* a node without devices, as in tests: files do */
    found.efa[1].place.node = 0;
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 2);
    found.efa[1].node_exists = false;
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 1);
}

static void test_address_twice(void **state)
{
    (void)state;
    (void)add("0000:f0:01.0"); /* of no map */
    (void)add("0000:10:19.0"); /* of the map */
    (void)add("0000:f0:02.0");
    (void)add("0000:f0:01.0");
    (void)add("0000:10:19.0");
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 3);
    assert_true(has_issue(PROBE_ISSUE_EFA_VERBS, "0000:f0:01.0"));
    assert_true(has_issue(PROBE_ISSUE_EFA_VERBS, "0000:10:19.0"));
}

/* Numbers of devices that no map names are by address among themselves alone. */
static void test_beside_mapped_devices(void **state)
{
    (void)state;
    (void)add("0000:f0:02.0");
    (void)add("0000:10:19.0");
    (void)add("0000:f0:01.0");
    build("trn1.32xlarge", NULL);
    assert_int_equal(devices.count, 3);
    assert_string_equal(devices.device[1].name, "pci-0000-f0-01-0");
    assert_int_equal(devices.device[1].number, BOARD_GROUPED_DEVICES);
    assert_string_equal(devices.device[2].name, "pci-0000-f0-02-0");
    assert_int_equal(devices.device[2].number, BOARD_GROUPED_DEVICES + 1);
    assert_true(has_issue(PROBE_ISSUE_EFA_UNMAPPED, "0000:f0:01.0"));
    assert_false(has_issue(PROBE_ISSUE_EFA_UNMAPPED, "0000:10:19.0"));
}

/* All devices were exchanged for others at once: one look later they have numbers. */
static void test_no_number_is_free(void **state)
{
    char address[PCI_ADDRESS_CAP];
    (void)state;
    for (unsigned i = 0; i < EFAS_MAX; i++) {
        (void)snprintf(address, sizeof address, "0000:e0:%02x.0", i);
        (void)add(address);
    }
    build("trn2.3xlarge", NULL);
    assert_int_equal(devices.count, EFAS_MAX);
    before = devices;
    found.count = 0;
    (void)add("0000:f0:00.0");
    build("trn2.3xlarge", &before);
    assert_int_equal(devices.count, 1);
    assert_int_equal(devices.device[0].number, BOARD_GROUPED_DEVICES);
    before.count = EFAS_MAX - 1u;
    build("trn2.3xlarge", &before);
    assert_int_equal(devices.device[0].number, BOARD_GROUPED_DEVICES + EFAS_MAX - 1u);
}

static void test_texts(void **state)
{
    static const struct {
        const char *text;
        unsigned id;
    } rows[] = {{"0xefa0", 0xefa0}, {"0xefa\n", 0},  {"0xefa01", 0}, {"0xefag", 0},
                {"efa0", 0},        {"0xEFA0\n", 0}, {"", 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        found.count = 0;
        struct found_efa *one = add("0000:10:19.0");
        memcpy(one->subsystem, rows[i].text, strlen(rows[i].text));
        one->silent = i == 0;
        memcpy(one->port_state, "4: ACTIVE\n", 10);
        build("trn1.32xlarge", NULL);
        assert_int_equal(devices.device[0].efa.subsystem, rows[i].id);
        assert_int_equal(devices.device[0].reading.reasons, i == 0 ? HEALTH_REASON_SILENT : 0);
    }
}

/* A look that failed says nothing about what is missing. */
static void test_unknown(void **state)
{
    (void)state;
    build("trn1.32xlarge", NULL);
    assert_int_equal(issues.count, 1);
    assert_true(has_issue(PROBE_ISSUE_NO_EFA, ""));
    found.unknown = true;
    build("trn1.32xlarge", NULL);
    assert_true(devices.unknown);
    assert_int_equal(issues.count, 0);
}

static void test_root_complex(void **state)
{
    static const char tail[] = "/0000:c9:00.0/infiniband_verbs/uverbs3";
    char link[256];
    char root[PCIE_ROOT_CAP];
    uint32_t address = 0;
    (void)state;
    for (size_t len = PCIE_ROOT_CAP - 1u; len <= PCIE_ROOT_CAP; len++) {
        (void)snprintf(link, sizeof link, "../../devices/pci%.*s%s", (int)(len - 3u),
                       "00000000000000000000000000000000000000000000000000", tail);
        assert_true(efa_link_parse(view_text(link), view_text("uverbs3"), &address, root));
        assert_int_equal(strlen(root), len < PCIE_ROOT_CAP ? len : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nodes, setup),
        cmocka_unit_test_setup(test_address_twice, setup),
        cmocka_unit_test_setup(test_beside_mapped_devices, setup),
        cmocka_unit_test_setup(test_no_number_is_free, setup),
        cmocka_unit_test_setup(test_texts, setup),
        cmocka_unit_test_setup(test_unknown, setup),
        cmocka_unit_test_setup(test_root_complex, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
