/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EFA devices: addresses, names and links; the tree of every board with EFA devices, laid out as
 * the kernel lays it out, as its golden file has it; and trees gone wrong.
 */
#include "tests/unit/disk/host_harness.h"

#include "tests/unit/node/board_vectors.h"
#include "dra/claim.h"
#include "dra/efa.h"
#include "dra/store.h"
#include "host/node/efa_probe.h"

#define EFA_GOLDEN "tests/vectors/efa/%s.txt"

static struct settings settings;
static struct found_efas found;
static struct devices devices;
static struct probe_issues issues;

/* --- addresses --- */

static void test_addresses(void **state)
{
    static const char *const good[] = {"0000:10:19.0", "0000:00:00.1", "ffff:ff:1f.7",
                                       "0001:00:00.0"};
    static const char *const bad[] = {"",
                                      "0000:00:00.0",
                                      "000:10:19.0",
                                      "0000:10:19",
                                      "0000:10:19.",
                                      "0000:10:19.8",
                                      "0000:10:20.0",
                                      "0000:1A:19.0",
                                      "0000-10:19.0",
                                      "0000:10-19.0",
                                      "0000:10:19:0",
                                      "0000:10:19.00",
                                      " 0000:10:19.0",
                                      "0000:g0:19.0",
                                      "new_id"};
    (void)state;
    for (unsigned i = 0; i < COUNT(good); i++) {
        uint32_t address = 0;
        char text[PCI_ADDRESS_CAP];
        assert_true(pci_address_parse(view_text(good[i]), &address));
        pci_address_text(address, text);
        assert_string_equal(text, good[i]);
    }
    for (unsigned i = 0; i < COUNT(bad); i++) {
        uint32_t address = 0;
        if (pci_address_parse(view_text(bad[i]), &address)) {
            fail_msg("\"%s\" was taken for an address", bad[i]);
        }
    }
}

static void test_names(void **state)
{
    uint32_t address = 0;
    uint32_t back = 0;
    char name[DEVICE_NAME_CAP];
    (void)state;
    assert_true(pci_address_parse(view_text("0000:10:19.0"), &address));
    efa_device_name(address, name);
    assert_string_equal(name, "pci-0000-10-19-0");
    assert_true(efa_device_address(view_text(name), &back));
    assert_int_equal(back, address);
    assert_false(efa_device_address(view_text("pci-0000:10:19.0"), &back));
    assert_false(efa_device_address(view_text("0000-10-19-0"), &back));
    assert_false(efa_device_address(view_text("pci-0000-10-19"), &back));
    /* a name that only begins like an address leaves the address alone, as status.h promises */
    assert_false(efa_device_address(view_text("pci-0000-20-19-0x"), &back));
    assert_int_equal(back, address);
}

static void test_links(void **state)
{
    static const char deep[] =
        "../../devices/pci0000:c8/0000:c8:01.0/0000:c9:00.0/infiniband_verbs/uverbs3";
    static const char *const bad[] = {
        "",
        "/",
        "uverbs3",
        "../../devices/virtual/infiniband_verbs/uverbs3",
        "../../devices/pci0000:c8/0000:c9:00.0/infiniband_verbs/uverbs4",
        "../../devices/pci0000:c8/0000:c9:00.0/infiniband/uverbs3",
        "../../../devices/pci0000:c8/0000:c9:00.0/infiniband_verbs/uverbs3",
        "../../devices/pci0000:c8/0000:c9:00.0/net/infiniband_verbs/uverbs3"};
    uint32_t address = 0;
    char text[PCI_ADDRESS_CAP];
    char root[PCIE_ROOT_CAP];
    struct view name = view_text("uverbs3");
    (void)state;
    assert_true(efa_link_parse(view_text(deep), name, &address, root));
    pci_address_text(address, text);
    assert_string_equal(text, "0000:c9:00.0");
    assert_string_equal(root, "pci0000:c8");
    for (unsigned i = 0; i < COUNT(bad); i++) {
        if (efa_link_parse(view_text(bad[i]), name, &address, root)) {
            fail_msg("\"%s\" was taken for a link", bad[i]);
        }
    }
    assert_true(
        efa_link_parse(view_text("../../devices/platform/0000:c9:00.0/infiniband_verbs/uverbs3"),
                       name, &address, root));
    assert_string_equal(root, "");
}

/* --- trees --- */

static void link_to(const char *target, const char *path)
{
    put(path, ""); /* makes its directory */
    assert_int_equal(unlink(at(path)), 0);
    assert_int_equal(symlink(target, at(path)), 0);
}

/* What the golden file says of this device, "" when it has no such line. */
static const char *fact(const char *golden, const char *address, const char *key)
{
    static char values[8][80];
    static unsigned next;
    char begin[128];
    char *value = values[next++ % 8u];
    (void)snprintf(begin, sizeof begin, "\n%s %s ", address, key);
    const char *line = strstr(golden, begin);
    value[0] = '\0';
    if (line != NULL) {
        line += strlen(begin);
        size_t skip =
            (strncmp(line, "string ", 7) == 0) ? 7u : (strncmp(line, "int ", 4) == 0) * 4u;
        (void)snprintf(value, sizeof values[0], "%.*s", (int)(strcspn(line, "\n") - skip),
                       line + skip);
    }
    return value;
}

__attribute__((format(printf, 1, 2))) static const char *made(const char *format, ...)
{
    static char texts[4][256];
    static unsigned next;
    char *text = texts[next++ % 4u];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof texts[0], format, values);
    va_end(values);
    return text;
}

static void put_efa(const char *golden, const char *address)
{
    const char *root = fact(golden, address, "resource.kubernetes.io/pcieRoot");
    const char *name = fact(golden, address, "dra.net/rdmaDevice");
    const char *number = fact(golden, address, "uverbs");
    char place[128];
    (void)snprintf(place, sizeof place, "sys/devices/%s/%s", root, address);
    put(made("%s/numa_node", place), fact(golden, address, "dra.net/numaNode"));
    put(made("%s/subsystem_device", place),
        made("0x%s\n", fact(golden, address, "dra.net/pciSubsystem")));
    put(made("%s/infiniband/%s/ports/1/state", place, name), "4: ACTIVE\n");
    put(made("%s/infiniband_verbs/uverbs%s/ibdev", place, number), made("%s\n", name));
    link_to(made("../../../devices/%s/%s", root, address), made("sys/bus/pci/devices/%s", address));
    link_to(made("../../../../devices/%s/%s", root, address),
            made("sys/bus/pci/drivers/efa/%s", address));
    link_to(made("../../devices/%s/%s/infiniband/%s", root, address, name),
            made("sys/class/infiniband/%s", name));
    link_to(made("../../devices/%s/%s/infiniband_verbs/uverbs%s", root, address, number),
            made("sys/class/infiniband_verbs/uverbs%s", number));
    put(made("dev/infiniband/uverbs%s", number), "");
}

static const char *golden_of(const char *type)
{
    static char text[GOLDEN_BYTES_MAX];
    char path[128];
    (void)snprintf(path, sizeof path, EFA_GOLDEN, type);
    FILE *file = fopen(path, "rb");
    size_t len = (file != NULL) ? fread(text, 1, sizeof text - 1, file) : 0;
    assert_in_range(len, (file != NULL) ? 1 : 0, sizeof text - 2);
    text[len] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

static int begin(void **state)
{
    memset(&settings, 0, sizeof settings);
    memset(&found, 0xa5, sizeof found);
    int failed = harness_begin(state);
    (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s", at("sys"));
    (void)snprintf(settings.dev_root, sizeof settings.dev_root, "%s", at("dev"));
    return failed;
}

/* The tree of a board: every address of its golden file. */
static void put_board(const char *golden)
{
    const char *line = golden;
    while ((line = strstr(line, " uverbs ")) != NULL) {
        char address[PCI_ADDRESS_CAP];
        (void)snprintf(address, sizeof address, "%.12s", line - 12);
        if (line[-13] == '\n') { /* not in the head */
            put_efa(golden, address);
        }
        line++;
    }
}

static void build(const char *type)
{
    memset(&devices, 0, sizeof devices);
    labels_set(&devices);
    devices.board = board_find(type);
    (void)snprintf(devices.instance_type, sizeof devices.instance_type, "%s", type);
    efas_build(&devices, NULL, &found, &issues);
    assert_true(devices_valid(&devices));
}

static void look(const char *type)
{
    assert_int_equal(efas_probe(&settings, &found), 0);
    assert_false(found.unknown);
    build(type);
}

static bool has_issue(enum probe_issue_kind kind, const char *text)
{
    for (unsigned i = 0; i < issues.count; i++) {
        if (issues.issue[i].kind == kind && strcmp(issues.issue[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

/* All attributes of a device, in the form of its golden file. */
static const char *attributes_text(unsigned index)
{
    static char text[4096];
    struct attributes all;
    char address[PCI_ADDRESS_CAP];
    size_t len = 0;
    pci_address_text(devices.device[index].efa.address, address);
    device_attributes(&devices, index, &all);
    for (unsigned i = 0; i < all.count; i++) {
        const struct attribute *a = &all.attribute[i];
        char value[80];
        (void)snprintf(value, sizeof value, (a->type == ATTRIBUTE_INT) ? "int %d" : "bool true",
                       (int)a->number);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s %s %s%s\n", address, a->key,
                                (a->type == ATTRIBUTE_STRING) ? "string " : "",
                                (a->type == ATTRIBUTE_STRING) ? a->text : value);
        assert_true(a->type != ATTRIBUTE_BOOL || a->number == 1);
    }
    return text;
}

/* The lines of a device stand together. */
static void check_golden(const char *golden, unsigned index)
{
    const char *text = attributes_text(index);
    const char *found_at = strstr(golden, text);
    if (found_at == NULL || strlen(text) < 100) {
        fail_msg("not in the golden file:\n%s", text);
        return;
    }
    const char *end = found_at + strlen(text);
    assert_true(*end == '\0' || strncmp(end, text, PCI_ADDRESS_CAP - 1) != 0);
}

static void test_every_board_is_golden(void **state)
{
    (void)state;
    unsigned boards = 0;
    for (unsigned i = 0; board_at(i) != NULL; i++) {
        const char *type = board_at(i)->instance_type;
        const char *golden = golden_of(type);
        assert_int_equal(golden[0] != '\0', board_at(i)->efa != NULL);
        if (golden[0] == '\0') {
            continue;
        }
        boards++;
        harness_root[0] = '\0';
        assert_int_equal(begin(state), 0);
        put_board(golden);
        look(type);
        assert_int_equal(issues.count, 0);
        assert_int_equal(devices.count, (strcmp(type, "trn1.32xlarge") == 0) ? 8 : 16);
        for (unsigned at_index = 0; at_index < devices.count; at_index++) {
            const struct device *d = &devices.device[at_index];
            char address[PCI_ADDRESS_CAP];
            pci_address_text(d->efa.address, address);
            check_golden(golden, at_index);
            /* its number is that of the first of its Neuron devices */
            assert_int_equal(d->number, strtoul(fact(golden, address, "neurons"), NULL, 10));
            assert_int_equal(d->efa.uverbs, strtoul(fact(golden, address, "uverbs"), NULL, 10));
            assert_int_equal(device_reading_health(&d->reading), HEALTH_HEALTHY);
        }
        assert_int_equal(harness_end(state), 0);
    }
    assert_int_equal(boards, 11);
    assert_int_equal(begin(state), 0); /* for the end of the test */
}

/* The lines that the flag adds are those of the golden file, and the others stay. */
static void test_shares_are_golden(void **state)
{
    (void)state;
    char line[64];
    put_board(golden_of("trn2.48xlarge"));
    look("trn2.48xlarge");
    assert_int_equal(devices.count, 16);
    const char *golden = golden_of("../more/efa-share");
    for (unsigned i = 0; i < devices.count; i++) {
        struct attributes with;
        struct attributes without;
        char address[PCI_ADDRESS_CAP];
        device_attributes(&devices, i, &without);
        devices.shares = 8;
        device_attributes(&devices, i, &with);
        devices.shares = 0;
        const struct attribute *last = &with.attribute[without.count];
        assert_int_equal(with.count, without.count + 1);
        for (unsigned k = 0; k < without.count; k++) {
            assert_string_equal(with.attribute[k].key, without.attribute[k].key);
            assert_string_equal(with.attribute[k].text, without.attribute[k].text);
        }
        assert_int_equal(last->type, ATTRIBUTE_CAPACITY);
        pci_address_text(devices.device[i].efa.address, address);
        (void)snprintf(line, sizeof line, "\n%s %s capacity %s\n", address, last->key, last->text);
        assert_non_null(strstr(golden, line));
    }
}

static void test_no_driver(void **state)
{
    (void)state;
    look("trn1.32xlarge");
    assert_int_equal(devices.count, 0);
    assert_true(has_issue(PROBE_ISSUE_NO_EFA, ""));
    put("sys/bus/pci/drivers/efa/bind", "");
    put("sys/bus/pci/drivers/efa/0000:10:1G.0", "");
    look("trn1.32xlarge");
    assert_int_equal(devices.count, 0);
}

/* A function without an entry, and an entry without a node, are no devices. */
static void test_without_verbs(void **state)
{
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    assert_int_equal(unlink(at("sys/class/infiniband_verbs/uverbs0")), 0);
    assert_int_equal(unlink(at("dev/infiniband/uverbs1")), 0);
    look("trn1.32xlarge");
    assert_int_equal(devices.count, 6);
    assert_true(has_issue(PROBE_ISSUE_EFA_VERBS, "0000:10:19.0"));
    assert_true(has_issue(PROBE_ISSUE_EFA_VERBS, "0000:10:1a.0"));
    assert_true(has_issue(PROBE_ISSUE_EFA_COUNT, "6 of 8 devices"));
    assert_int_equal(issues.count, 3);
}

static void test_port(void **state)
{
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    put("sys/class/infiniband/rdmap16s25/ports/1/state", "1: DOWN\n");
    assert_int_equal(unlink(at("sys/class/infiniband/rdmap16s26/ports/1/state")), 0);
    look("trn1.32xlarge");
    assert_int_equal(devices.count, 8);
    assert_int_equal(device_reading_health(&devices.device[6].reading), HEALTH_UNHEALTHY);
    assert_string_equal(devices.device[6].name, "pci-0000-10-19-0");
    assert_int_equal(device_reading_health(&devices.device[0].reading), HEALTH_UNKNOWN);
    assert_int_equal(device_reading_health(&devices.device[1].reading), HEALTH_HEALTHY);
}

/* A type without a map: numbers by address, no groups; so for what a map does not name. */
static void test_unmapped(void **state)
{
    struct attributes all;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn2.3xlarge");
    assert_int_equal(devices.count, 8);
    assert_int_equal(issues.count, 0);
    assert_string_equal(devices.device[0].name, "pci-0000-10-19-0");
    assert_int_equal(devices.device[0].number, BOARD_GROUPED_DEVICES);
    assert_string_equal(devices.device[7].name, "pci-0000-a0-1a-0");
    assert_int_equal(devices.device[7].number, BOARD_GROUPED_DEVICES + 7);
    device_attributes(&devices, 0, &all);
    assert_int_equal(all.count, 10);
    look("trn1n.32xlarge"); /* half of them are in its map */
    assert_int_equal(devices.count, 8);
    assert_true(has_issue(PROBE_ISSUE_EFA_COUNT, "8 of 16 devices"));
    assert_string_equal(devices.device[0].name, "pci-0000-10-1a-0");
    assert_int_equal(devices.device[0].number, 1);
    memset(&devices, 0, sizeof devices); /* unknown type */
    efas_build(&devices, NULL, &found, &issues);
    assert_int_equal(devices.count, 8);
}

/* A device that no map names keeps its number while others go, come back and come. */
static void test_numbers_stay(void **state)
{
    static struct devices before;
    static struct devices last;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn2.3xlarge");
    before = devices;
    assert_int_equal(unlink(at("sys/bus/pci/drivers/efa/0000:10:19.0")), 0);
    assert_int_equal(efas_probe(&settings, &found), 0);
    efas_build(&devices, &before, &found, &issues);
    assert_int_equal(devices.count, 7);
    assert_string_equal(devices.device[6].name, "pci-0000-a0-1a-0");
    assert_int_equal(devices.device[6].number, BOARD_GROUPED_DEVICES + 7);
    last = devices;
    put("sys/bus/pci/drivers/efa/0000:10:19.0", "");
    assert_int_equal(efas_probe(&settings, &found), 0);
    efas_build(&devices, &last, &found, &issues);
    assert_int_equal(devices.count, 8);
    assert_string_equal(devices.device[0].name, "pci-0000-10-19-0");
    assert_int_equal(devices.device[0].number, BOARD_GROUPED_DEVICES);
    /* Other addresses with the numbers of some that went: one look without the new one at most. */
    for (unsigned i = 0; i < last.count; i++) {
        last.device[i].efa.address += 1u;
    }
    efas_build(&devices, &last, &found, &issues);
    assert_int_equal(devices.count, 8);
    assert_int_equal(devices.device[0].number, BOARD_GROUPED_DEVICES);
    assert_true(devices.device[1].number > BOARD_GROUPED_DEVICES + 7u);
}

static void test_odd_texts(void **state)
{
    struct attributes all;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    put("sys/bus/pci/devices/0000:10:19.0/numa_node", "-1\n");
    put("sys/bus/pci/devices/0000:10:19.0/subsystem_device", "efa0\n");
    put("sys/class/infiniband_verbs/uverbs0/ibdev", "../../etc\n");
    put("sys/class/infiniband_verbs/uverbs1/ibdev", "\n");
    put("sys/class/infiniband_verbs/abi_version", "6\n");
    link_to("../../devices/pci0000:00/0000:00:05.0/infiniband_verbs/uverbs9",
            "sys/class/infiniband_verbs/uverbs9"); /* of another driver */
    put("sys/class/infiniband_verbs/uverbs70000/ibdev", "x\n");
    look("trn1.32xlarge");
    assert_int_equal(devices.count, 8);
    assert_int_equal(issues.count, 0);
    device_attributes(&devices, 6, &all);
    assert_int_equal(devices.device[6].numa_node, -1);
    assert_int_equal(devices.device[6].efa.subsystem, 0);
    assert_int_equal(device_reading_health(&devices.device[6].reading), HEALTH_UNKNOWN);
    assert_string_equal(devices.device[0].efa.rdma_name, "");
}

static void test_too_many(void **state)
{
    char path[64];
    (void)state;
    for (unsigned i = 0; i <= EFAS_MAX; i++) {
        (void)snprintf(path, sizeof path, "sys/bus/pci/drivers/efa/0000:%02x:00.0", i + 1);
        put(path, "");
    }
    assert_int_equal(efas_probe(&settings, &found), 0);
    assert_int_equal(found.count, EFAS_MAX);
    assert_int_equal(found.ignored, 1);
    build("trn1.32xlarge");
    assert_true(has_issue(PROBE_ISSUE_EFA_IGNORED, "1"));
}

static void test_one(void **state)
{
    struct device_place place;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn1.32xlarge");
    const struct device *d = &devices.device[0];
    assert_int_equal(efa_identify(settings.sysfs_root, settings.dev_root, d->efa.uverbs, &place),
                     0);
    assert_int_equal(place.folder, d->place.folder);
    assert_int_equal(place.node, d->place.node);
    assert_int_equal(unlink(at("dev/infiniband/uverbs1")), 0);
    assert_int_equal(efa_identify(settings.sysfs_root, settings.dev_root, 1, &place), ENOENT);
    assert_true(place.folder != 0u);
    assert_int_equal(efa_identify(settings.sysfs_root, settings.dev_root, 77, &place), ENOENT);
    assert_int_equal(place.folder, 0);
}

/* Another node, another name, another subsystem: another slice. */
static void test_same(void **state)
{
    static struct devices other;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn1.32xlarge");
    other = devices;
    assert_true(devices_same(&devices, &other));
    other.device[3].efa.uverbs = 40;
    assert_false(devices_same(&devices, &other));
    other = devices;
    (void)snprintf(other.device[3].efa.rdma_name, RDMA_NAME_CAP, "efa_3");
    assert_false(devices_same(&devices, &other));
    other = devices;
    other.device[3].efa.subsystem = 0xefa3;
    assert_false(devices_same(&devices, &other));
    other = devices;
    other.device[3].efa.address++;
    assert_false(devices_same(&devices, &other));
}

/* --- claims --- */

static const struct claim_id wanted = {
    .uid = "0d5f3c9a-21bb-4a44-9c41-5a7b1f0e2d33", .namespace_ = "training", .name = "llama-0"};

static void add_result(struct claim_builder *b, const char *device, const char *share)
{
    const struct claim_result_in in = {.request = view_text("efas"),
                                       .driver = view_text(EFA_DRIVER_NAME),
                                       .pool = view_text("node-1"),
                                       .device = view_text(device),
                                       .share_id = view_text(share)};
    claim_result_add(b, &in);
}

/* The record of an EFA claim is read as it was written, from the store and from its CDI file. */
static void test_records(void **state)
{
    static struct claim_builder b;
    static struct claim_record back;
    static uint8_t bytes[STORE_RECORD_MAX];
    static char file[CDI_BYTES_MAX];
    char name[DEVICE_NAME_CAP];
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn1.32xlarge");
    claim_begin(&b, &devices, EFA_DRIVER_NAME, "node-1", &wanted);
    claim_meta(&b, view_text(wanted.uid));
    add_result(&b, "pci-0000-10-19-0", "");
    add_result(&b, "pci-0000-10-1a-0", "");
    claim_allocated(&b);
    assert_int_equal(claim_end(&b), STATUS_OK);
    assert_int_equal(claim_numbers(&b.record), 1u << 12 | 1u << 0);
    claim_device_name(&b.record.result[0], name);
    assert_string_equal(name, "pci-0000-10-19-0");
    struct writer out = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&b.record, &out), STATUS_OK);
    assert_int_equal(store_record_decode(writer_view(&out), &back), STATUS_OK);
    assert_true(claim_results_same(&b.record, &back));
    assert_int_equal(back.driver, DRIVER_EFA);
    out = writer_of(file, sizeof file - 1u);
    assert_int_equal(cdi_write(&back, &(struct cdi_host){.dev_root = "/dev"}, &out), STATUS_OK);
    file[out.len] = '\0';
    assert_non_null(strstr(file, "\"kind\": \"efa.networking.k8s.aws/claim\""));
    assert_non_null(strstr(file, "\"path\": \"/dev/infiniband/uverbs0\""));
    assert_non_null(strstr(file, "\"hostPath\": \"/dev/infiniband/uverbs1\""));
    assert_null(strstr(file, "/dev/neuron"));
    assert_int_equal(cdi_read(writer_view(&out), &back), STATUS_OK);
    assert_true(claim_results_same(&b.record, &back));
    assert_int_equal(back.driver, DRIVER_EFA);
    /* A reload of the driver gives the device another node: that is another claim record. */
    back.result[0].uverbs++;
    assert_false(claim_devices_same(&b.record, &back));
    /* The kind and the devices must agree. */
    char *kind = strstr(file, "efa.networking.k8s.aws/claim");
    memmove(kind, DRIVER_NAME "/" CDI_CLASS "\",     ", 28);
    assert_int_equal(cdi_read(writer_view(&out), &back), HOST_DAMAGED);
}

/* Shares are in the store and in the CDI file, and one device is there twice, in one request. */
static void test_shares(void **state)
{
    static struct claim_builder b;
    static struct claim_record back;
    static uint8_t bytes[STORE_RECORD_MAX];
    static char file[CDI_BYTES_MAX];
    struct store_outline outline;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn1.32xlarge");
    claim_begin(&b, &devices, EFA_DRIVER_NAME, "node-1", &wanted);
    claim_meta(&b, view_text(wanted.uid));
    add_result(&b, "pci-0000-10-19-0", "6c9e0f2e-0001-4d3a-9a43-1f4a3a5b7c01");
    add_result(&b, "pci-0000-10-19-0", "6c9e0f2e-0002-4d3a-9a43-1f4a3a5b7c02");
    claim_allocated(&b);
    assert_int_equal(claim_end(&b), STATUS_OK);
    assert_true(claim_shares(&b.record));
    struct writer out = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&b.record, &out), STATUS_OK);
    assert_int_equal(store_record_decode(writer_view(&out), &back), STATUS_OK);
    assert_true(claim_devices_same(&b.record, &back) && claim_shares(&back));
    /* who understands the outline alone holds the device */
    assert_int_equal(store_outline_decode(writer_view(&out), &outline), STATUS_OK);
    assert_int_equal(outline.numbers, claim_numbers(&b.record));
    out = writer_of(file, sizeof file - 1u);
    assert_int_equal(cdi_write(&back, &(struct cdi_host){.dev_root = "/dev"}, &out), STATUS_OK);
    file[out.len] = '\0';
    char *node = strstr(file, "\"path\": \"/dev/infiniband/uverbs0\"");
    assert_non_null(node);
    assert_null(strstr(node + 1, "\"path\": \"/dev/infiniband/uverbs0\""));
    assert_int_equal(cdi_read(writer_view(&out), &back), STATUS_OK);
    assert_true(claim_devices_same(&b.record, &back) && claim_shares(&back));
    /* a record of the time before there were shares has none */
    b.record.result[0].share_id[0] = '\0';
    b.record.count = 1;
    out = writer_of(bytes, sizeof bytes);
    assert_int_equal(store_record_encode(&b.record, &out), STATUS_OK);
    assert_int_equal(store_record_decode(writer_view(&out), &back), STATUS_OK);
    assert_false(claim_shares(&back));
}

static void test_refused_claims(void **state)
{
    static struct claim_builder b;
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    look("trn1.32xlarge");
    claim_begin(&b, &devices, EFA_DRIVER_NAME, "node-1", &wanted);
    claim_meta(&b, view_text(wanted.uid));
    add_result(&b, "pci-0000-10-1b-0", "");
    assert_int_equal(claim_end(&b), PEER_NOT_FOUND);
    claim_begin(&b, &devices, EFA_DRIVER_NAME, "node-1", &wanted);
    claim_meta(&b, view_text(wanted.uid));
    claim_allocated(&b);
    assert_int_equal(claim_end(&b), PEER_REFUSED);
    assert_non_null(strstr(b.why, "no allocation result of driver dra.net"));
}

static void test_names_by_number(void **state)
{
    char name[DEVICE_NAME_CAP];
    (void)state;
    put_board(golden_of("trn1.32xlarge"));
    assert_int_equal(unlink(at("sys/bus/pci/drivers/efa/0000:10:19.0")), 0);
    look("trn1.32xlarge");
    devices_name(&devices, 0, name);
    assert_string_equal(name, "pci-0000-10-1a-0");
    devices_name(&devices, 12, name); /* gone, but the board's map has it */
    assert_string_equal(name, "pci-0000-10-19-0");
    devices_name(&devices, 40, name);
    assert_string_equal(name, "pci-?");
    devices_keep(&devices, 40);
    assert_int_equal(devices.count, 7);
    devices_keep(&devices, 12);
    assert_int_equal(devices.count, 8);
    assert_string_equal(devices.device[6].name, "pci-0000-10-19-0");
    assert_true(devices_valid(&devices));
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_links),
        TREE_TEST(test_every_board_is_golden),
        TREE_TEST(test_shares_are_golden),
        TREE_TEST(test_no_driver),
        TREE_TEST(test_without_verbs),
        TREE_TEST(test_port),
        TREE_TEST(test_unmapped),
        TREE_TEST(test_numbers_stay),
        TREE_TEST(test_odd_texts),
        TREE_TEST(test_too_many),
        TREE_TEST(test_one),
        TREE_TEST(test_same),
        TREE_TEST(test_records),
        TREE_TEST(test_shares),
        TREE_TEST(test_refused_claims),
        TREE_TEST(test_names_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
