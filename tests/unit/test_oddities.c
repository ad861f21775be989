/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel side may show besides good values, in a real tree: each row puts one oddity in
 * the place of one file, and says what the table of devices, the health of the device and the
 * issues make of it. Nothing may block, and no descriptor may stay open.
 */
#include "tests/unit/disk/host_harness.h"

#include <dirent.h>

#include "base/assert.h"
#include "dra/device.h"
#include "host/node/probe.h"

_Noreturn void assert_failed(const char *file, int line, const char *condition)
{
    _fail(file, line);
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

#define CLASS "sys/class/neuron_device/"
#define FIRST CLASS "neuron0/"
#define HARDWARE FIRST "stats/hardware/"
#define COMPONENTS HARDWARE "health_status/unhealthy_components"
#define TYPE "sys/devices/virtual/dmi/id/product_name"
#define VERSION "sys/module/neuron/version"
#define BOOT_ID "proc/sys/kernel/random/boot_id"
/* An oddity that blocks ends the test. */
#define PATIENCE_SECONDS 60u
#define NOBODY 65534u
#define HBM 1u
#define ISSUE(kind) ((uint32_t)1 << (unsigned)PROBE_ISSUE_##kind)
#define LONG 300

static struct settings settings;
static struct probe probe;
static struct devices devices;
static struct probe_issues issues;

/* --- the tree --- */

/* What stands in the place of a file. */
enum what { TEXT, ABSENT, FOLDER, FIFO, DANGLING, LOOP, DENIED, FILLED };

static void put_device(unsigned n)
{
    static const struct {
        const char *file;
        const char *text;
    } files[] = {
        {"core_count", "2\n"},
        {"connected_devices", "1\n"},
        {"reset", "1\n"},
        {"stats/hardware/health_status/unhealthy_components", "\n"},
        {"stats/hardware/health_status/hw_error_event", "3\n"},
        {"stats/hardware/sram_ecc_uncorrected", "4\n"},
        {"stats/hardware/mem_ecc_uncorrected", "5\n"},
        {"stats/hardware/mem_ecc_repairable_uncorrected", "6\n"},
    };
    char path[256];
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, CLASS "neuron%u/%s", n, files[i].file);
        put(path, files[i].text);
    }
    (void)snprintf(path, sizeof path, "dev/neuron%u", n);
    put(path, "");
}

/* A trn1.2xlarge: one device with two cores. */
static int begin(void **state)
{
    int failed = harness_begin(state);
    memset(&settings, 0, sizeof settings);
    memset(&probe, 0, sizeof probe);
    memset(&devices, 0, sizeof devices);
    (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s", at("sys"));
    (void)snprintf(settings.proc_root, sizeof settings.proc_root, "%s", at("proc"));
    (void)snprintf(settings.dev_root, sizeof settings.dev_root, "%s", at("dev"));
    put(TYPE, "trn1.2xlarge\n");
    put(VERSION, "2.30.2.0\n");
    put(BOOT_ID, "3f0c9e1a-0000-4000-8000-000000000001\n");
    put_device(0);
    (void)alarm(PATIENCE_SECONDS);
    return failed;
}

#define ODDITY_TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)

/* Takes away whatever stands there: a file, a folder with all in it. */
static void take_away(const char *path)
{
    (void)nftw(at(path), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void put_filled(const char *path, char byte, const char *rest)
{
    char bytes[LONG + 64];
    memset(bytes, byte, LONG);
    (void)snprintf(bytes + LONG, sizeof bytes - LONG, "%s", rest);
    put_bytes(path, bytes, LONG + strlen(rest));
}

/* `text` is the text; of a file that is FILLED, the byte that fills it and what comes behind. */
static void put_odd(const char *path, enum what what, const char *text, size_t len)
{
    int failed = 0;
    take_away(path);
    switch (what) {
    case ABSENT:
        break;
    case FOLDER:
        make_directories(path);
        break;
    case FIFO:
        failed = mkfifo(at(path), 0600);
        break;
    case DANGLING:
        failed = symlink("nowhere", at(path));
        break;
    case LOOP:
        failed = symlink(strrchr(path, '/') + 1, at(path));
        break;
    case FILLED:
        put_filled(path, text[0], text + 1);
        break;
    default:
        put_bytes(path, text, len > 0 ? len : strlen(text));
        break;
    }
    assert_int_equal(failed, 0);
    if (what == DENIED) {
        assert_int_equal(chmod(at(path), 0400), 0);
        assert_int_equal(chmod(harness_root, 0755), 0);
    }
}

/* --- looks --- */

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    assert_int_equal(closedir(folder), 0);
    return count;
}

static int look_as(bool denied)
{
    bool root = denied && geteuid() == 0;
    assert_int_equal(root ? seteuid(NOBODY) : 0, 0);
    int failed = probe_node(&settings, &probe);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    return failed;
}

/* Member by member: what is between them says nothing. */
static void same_device(const struct device *a, const struct device *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->neighbours, b->neighbours);
    assert_memory_equal(a->neighbour, b->neighbour, a->neighbours * sizeof a->neighbour[0]);
    assert_int_equal(a->place.folder, b->place.folder);
    assert_int_equal(a->place.node, b->place.node);
    assert_int_equal(a->reading.reasons, b->reading.reasons);
    assert_int_equal(a->reading.known, b->reading.known);
    assert_int_equal(a->reading.blind, b->reading.blind);
    assert_int_equal(a->reading.unread, b->reading.unread);
    assert_int_equal(a->reading.absent, b->reading.absent);
    /* Where the list of components decides, a later look reads the counters in the turn alone. */
    if (!b->reading.listed || b->reading.counted != 0u) {
        assert_int_equal(a->reading.counted, b->reading.counted);
        assert_memory_equal(a->reading.ecc, b->reading.ecc, sizeof a->reading.ecc);
    }
}

static struct devices before; /* at the first of two looks */

/* A first look, and one at what is known: both say the same. */
static void look(bool denied)
{
    unsigned open = open_descriptors();
    memset(&probe, 0, sizeof probe);
    memset(&devices, 0, sizeof devices);
    for (unsigned i = 0; i < 2; i++) {
        before = devices;
        assert_int_equal(look_as(denied), 0);
        devices_build(&devices, &probe.found, &issues);
    }
    assert_int_equal(open_descriptors(), open);
    assert_true(devices_same(&before, &devices));
    assert_int_equal(before.count, devices.count);
    for (unsigned i = 0; i < devices.count; i++) {
        same_device(&before.device[i], &devices.device[i]);
    }
}

static uint32_t issue_bits(void)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < issues.count; i++) {
        bits |= (uint32_t)1 << (unsigned)issues.issue[i].kind;
        for (const char *c = issues.issue[i].text; *c != '\0'; c++) {
            assert_in_range(*c, ' ', '~');
        }
    }
    return bits;
}

/* --- values of one device --- */

struct value_row {
    const char *path;
    enum what what;
    const char *text;
    size_t len;      /* of a text with a NUL in it; 0: that of the text */
    uint32_t issues; /* all that are reported */
    uint16_t cores;
    uint8_t neighbours;
};

#define CORES_GOOD(text) {FIRST "core_count", TEXT, text, 0, 0, 2, 1}
#define CORES_BAD(what, text, len) {FIRST "core_count", what, text, len, ISSUE(CORES), 0, 1}
#define LINKS(what, text, len, n) {FIRST "connected_devices", what, text, len, 0, 2, n}
#define LINKS_BAD(what, text, len)                                                                 \
    {FIRST "connected_devices", what, text, len, ISSUE(NEIGHBOURS), 2, 0}
#define NODE(path, what, text, len, issue) {path, what, text, len, issue, 2, 1}

static const struct value_row values[] = {
    CORES_GOOD("2"),
    CORES_GOOD("2\r\n"),
    CORES_GOOD("\n\t 2 \n"),
    CORES_GOOD("002\n"),
    {FIRST "core_count", TEXT, "\0002\n\0", 4, 0, 2, 1},
    CORES_BAD(TEXT, "", 0),
    CORES_BAD(TEXT, "\n", 0),
    CORES_BAD(TEXT, "0\n", 0),
    CORES_BAD(TEXT, "+2\n", 0),
    CORES_BAD(TEXT, "-2\n", 0),
    CORES_BAD(TEXT, "0x2\n", 0),
    CORES_BAD(TEXT, "2.0\n", 0),
    CORES_BAD(TEXT, "2 2\n", 0),
    CORES_BAD(TEXT, "2\r2\n", 0),
    CORES_BAD(TEXT, "busy\n", 0),
    CORES_BAD(TEXT, "256\n", 0),
    CORES_BAD(TEXT, "65538\n", 0),
    CORES_BAD(TEXT, "4294967298\n", 0),
    CORES_BAD(TEXT, "18446744073709551618\n", 0),
    CORES_BAD(TEXT, "\xc2\xb2\n", 0),
    CORES_BAD(TEXT, "\xff\n", 0),
    CORES_BAD(TEXT, "2\0002\n", 4),
    CORES_BAD(FILLED, "2", 0),
    CORES_BAD(FILLED, " 2\n", 0),
    CORES_BAD(FILLED, "\n", 0),
    CORES_BAD(ABSENT, "", 0),
    CORES_BAD(FOLDER, "", 0),
    CORES_BAD(FIFO, "", 0),
    CORES_BAD(DANGLING, "", 0),
    CORES_BAD(LOOP, "", 0),
    CORES_BAD(DENIED, "2\n", 0),
    LINKS(TEXT, "1", 0, 1),
    LINKS(TEXT, "1,2 ,\t3, 63\r\n", 0, 4),
    LINKS(TEXT, "01, 002\n", 0, 2),
    LINKS(TEXT, "", 0, 0),
    LINKS(TEXT, "\n", 0, 0),
    LINKS(ABSENT, "", 0, 0),
    LINKS(FOLDER, "", 0, 0),
    LINKS(FIFO, "", 0, 0),
    LINKS(DANGLING, "", 0, 0),
    LINKS(LOOP, "", 0, 0),
    LINKS(DENIED, "1\n", 0, 0),
    LINKS_BAD(TEXT, "busy\n", 0),
    LINKS_BAD(TEXT, "1,\n", 0),
    LINKS_BAD(TEXT, ",1\n", 0),
    LINKS_BAD(TEXT, "1,,2\n", 0),
    LINKS_BAD(TEXT, "1;2\n", 0),
    LINKS_BAD(TEXT, "1\n2\n", 0),
    LINKS_BAD(TEXT, "0\n", 0),
    LINKS_BAD(TEXT, "1, 1\n", 0),
    LINKS_BAD(TEXT, "64\n", 0),
    LINKS_BAD(TEXT, "-1\n", 0),
    LINKS_BAD(TEXT, "+1\n", 0),
    LINKS_BAD(TEXT, "0x1\n", 0),
    LINKS_BAD(TEXT, "1, 2, 3, 4, 5\n", 0),
    LINKS_BAD(TEXT, "18446744073709551617\n", 0),
    LINKS_BAD(TEXT, "\xd9\xa1\n", 0),
    LINKS_BAD(TEXT, "1\0, 2\n", 6),
    LINKS_BAD(FILLED, "1\n", 0),
    LINKS_BAD(FILLED, ",\n", 0),
    NODE(TYPE, TEXT, "trn1.2xlarge", 0, 0),
    NODE(TYPE, TEXT, "trn1.2xlarge\r\n", 0, 0),
    NODE(TYPE, TEXT, "ml.trn1.2xlarge\n", 0, 0),
    NODE(TYPE, TEXT, "", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, TEXT, "\n", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, TEXT, "TRN1.2xlarge\n", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, TEXT, "trn1.2xlarge\0", 13, 0),
    NODE(TYPE, TEXT, "trn1.2xlarge\0a", 14, ISSUE(NO_TYPE)),
    NODE(TYPE, TEXT, "trn1.2xl\xc3\xa4rge\n", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, FILLED, "t.", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, ABSENT, "", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, FOLDER, "", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, FIFO, "", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, LOOP, "", 0, ISSUE(NO_TYPE)),
    NODE(TYPE, DENIED, "trn1.2xlarge\n", 0, ISSUE(NO_TYPE)),
    NODE(VERSION, TEXT, "2.30.2.0", 0, 0),
    NODE(VERSION, TEXT, "", 0, ISSUE(NO_MODULE)),
    NODE(VERSION, TEXT, "2.30 2.0\n", 0, ISSUE(VERSION)),
    NODE(VERSION, TEXT, "2.30\xe9\n", 0, ISSUE(VERSION)),
    NODE(VERSION, FILLED, "2\n", 0, ISSUE(VERSION)),
    NODE(VERSION, ABSENT, "", 0, ISSUE(NO_MODULE)),
    NODE(VERSION, FOLDER, "", 0, ISSUE(NO_MODULE)),
    NODE(VERSION, FIFO, "", 0, ISSUE(NO_MODULE)),
    NODE(VERSION, DANGLING, "", 0, ISSUE(NO_MODULE)),
    NODE(VERSION, DENIED, "2.30.2.0\n", 0, ISSUE(NO_MODULE)),
    NODE(BOOT_ID, TEXT, "", 0, ISSUE(BOOT_ID)),
    NODE(BOOT_ID, FILLED, "a\n", 0, ISSUE(BOOT_ID)),
    NODE(BOOT_ID, FOLDER, "", 0, ISSUE(BOOT_ID)),
    NODE(BOOT_ID, FIFO, "", 0, ISSUE(BOOT_ID)),
    NODE(BOOT_ID, LOOP, "", 0, ISSUE(BOOT_ID)),
};

static void test_odd_values(void **state)
{
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct value_row *row = &values[i];
        put_odd(row->path, row->what, row->text, row->len);
        look(row->what == DENIED);
        if (devices.count != 1 || issue_bits() != row->issues ||
            devices.device[0].core_count != row->cores ||
            devices.device[0].neighbours != row->neighbours) {
            fail_msg("row %u: %s \"%s\": issues %x, %u cores, %u neighbours", i, row->path,
                     row->text, issue_bits(), devices.device[0].core_count,
                     devices.device[0].neighbours);
        }
        assert_int_equal(harness_end(state), 0);
        assert_int_equal(begin(state), 0);
    }
}

/* --- health --- */

#define COUNTED_ALL 0x7

struct health_row {
    const char *path;
    enum what what;
    const char *text;
    size_t len;
    enum health health;
    uint32_t reasons;
    uint8_t counted;
    uint64_t ecc; /* of the memory */
    bool absent;  /* which is reported */
};

#define PARTS(what, text, len, health, reasons)                                                    \
    {COMPONENTS, what, text, len, HEALTH_##health, reasons, COUNTED_ALL, 5, false}
#define RESET(what, text, len, health, reasons)                                                    \
    {FIRST "reset", what, text, len, HEALTH_##health, reasons, COUNTED_ALL, 5, false}
#define ECC(what, text, len, counted, ecc)                                                         \
    {HARDWARE "mem_ecc_uncorrected", what, text, len, HEALTH_HEALTHY, 0, counted, ecc, false}
#define NO_MEM (COUNTED_ALL & ~0x2)
/* The module has the file on a trn1 too: without it a device is not known to be healthy. */
#define NO_FILE(file, what, counted, ecc) {file, what, "", 0, HEALTH_UNKNOWN, 0, counted, ecc, true}

static const struct health_row healths[] = {
    PARTS(TEXT, "", 0, HEALTHY, 0),
    PARTS(TEXT, "\r\n", 0, HEALTHY, 0),
    PARTS(TEXT, "hbm", 0, UNHEALTHY, HBM),
    PARTS(TEXT, "hbm\r\n", 0, UNHEALTHY, HBM),
    PARTS(TEXT, "busy\n", 0, UNKNOWN, 0),
    PARTS(TEXT, "busy", 0, UNKNOWN, 0),
    PARTS(TEXT, "init_error\n", 0, UNHEALTHY, HEALTH_REASON_INIT),
    PARTS(TEXT, "init_error", 0, UNHEALTHY, HEALTH_REASON_INIT),
    PARTS(TEXT, "device_unreachable", 0, UNHEALTHY, HEALTH_REASON_UNREACHABLE),
    PARTS(TEXT, "device_unreachable\r\n", 0, UNHEALTHY, HEALTH_REASON_UNREACHABLE),
    PARTS(TEXT, "HBM\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(TEXT, "hbm\0\n", 5, UNHEALTHY, HBM),
    PARTS(TEXT, "\0hbm\n", 5, UNHEALTHY, HBM),
    PARTS(TEXT, "\0", 1, HEALTHY, 0),
    PARTS(TEXT, "busy\0hbm\n", 9, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(TEXT, "\xc3\xbc\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(TEXT, "0\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(FILLED, "x\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(FILLED, ",hbm\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(FILLED, " hbm\n", 0, UNHEALTHY, HEALTH_REASON_COMPONENT),
    PARTS(ABSENT, "", 0, UNKNOWN, 0),
    PARTS(FOLDER, "", 0, UNKNOWN, 0),
    PARTS(FIFO, "", 0, HEALTHY, 0),
    PARTS(DANGLING, "", 0, UNKNOWN, 0),
    PARTS(LOOP, "", 0, UNKNOWN, 0),
    PARTS(DENIED, "hbm\n", 0, UNKNOWN, 0),
    RESET(TEXT, "0", 0, UNKNOWN, 0),
    RESET(TEXT, "0\r\n", 0, UNKNOWN, 0),
    RESET(TEXT, "2", 0, UNHEALTHY, HEALTH_REASON_RESET),
    RESET(TEXT, "", 0, HEALTHY, 0),
    RESET(TEXT, "busy\n", 0, HEALTHY, 0),
    RESET(TEXT, "00\n", 0, HEALTHY, 0),
    RESET(TEXT, "2\0\n", 3, UNHEALTHY, HEALTH_REASON_RESET),
    RESET(TEXT, "2\0002\n", 4, HEALTHY, 0),
    RESET(FILLED, "2", 0, HEALTHY, 0),
    NO_FILE(FIRST "reset", ABSENT, COUNTED_ALL, 5),
    RESET(FOLDER, "", 0, HEALTHY, 0),
    RESET(FIFO, "", 0, HEALTHY, 0),
    RESET(LOOP, "", 0, HEALTHY, 0),
    RESET(DENIED, "2\n", 0, HEALTHY, 0),
    ECC(TEXT, "7", 0, COUNTED_ALL, 7),
    ECC(TEXT, "007\r\n", 0, COUNTED_ALL, 7),
    ECC(TEXT, "4611686018427387903\n", 0, COUNTED_ALL, UINT64_C(4611686018427387903)),
    ECC(TEXT, "4611686018427387904\n", 0, NO_MEM, 0),
    ECC(TEXT, "18446744073709551617\n", 0, NO_MEM, 0),
    ECC(TEXT, "+7\n", 0, NO_MEM, 0),
    ECC(TEXT, "-7\n", 0, NO_MEM, 0),
    ECC(TEXT, "0x7\n", 0, NO_MEM, 0),
    ECC(TEXT, "7\0007\n", 4, NO_MEM, 0),
    ECC(TEXT, "\xef\xbc\x97\n", 0, NO_MEM, 0),
    ECC(TEXT, "busy\n", 0, NO_MEM, 0),
    ECC(TEXT, "", 0, NO_MEM, 0),
    ECC(FILLED, "7", 0, NO_MEM, 0),
    NO_FILE(HARDWARE "mem_ecc_uncorrected", ABSENT, NO_MEM, 0),
    ECC(FOLDER, "", 0, NO_MEM, 0),
    ECC(FIFO, "", 0, NO_MEM, 0),
    NO_FILE(HARDWARE "mem_ecc_uncorrected", DANGLING, NO_MEM, 0),
    ECC(DENIED, "7\n", 0, NO_MEM, 0),
};

static void test_odd_health(void **state)
{
    for (unsigned i = 0; i < sizeof healths / sizeof healths[0]; i++) {
        const struct health_row *row = &healths[i];
        put_odd(row->path, row->what, row->text, row->len);
        look(row->what == DENIED);
        const struct device_reading *r = &devices.device[0].reading;
        uint32_t wanted = row->absent ? ISSUE(HEALTH_FILES) : 0;
        if (devices.count != 1 || issue_bits() != wanted ||
            device_reading_health(r) != row->health || r->reasons != row->reasons) {
            fail_msg("row %u: %s \"%s\": reasons %x", i, row->path, row->text, r->reasons);
        }
        const struct device_reading *first = &before.device[0].reading;
        if (first->counted != row->counted || first->ecc[1] != row->ecc) {
            fail_msg("row %u: %s \"%s\": %x, %llu", i, row->path, row->text, first->counted,
                     (unsigned long long)first->ecc[1]);
        }
        assert_int_equal(harness_end(state), 0);
        assert_int_equal(begin(state), 0);
    }
}

/* --- folders and nodes --- */

static void link_to(const char *path, const char *target)
{
    take_away(path);
    assert_int_equal(symlink(target, at(path)), 0);
}

/* What stands where the class shows a device. */
static void test_odd_folders(void **state)
{
    static const struct {
        enum what what;
        uint32_t issues;
    } rows[] = {
        {TEXT, ISSUE(NO_DEVICES)}, {ABSENT, ISSUE(NO_DEVICES)},
        {FIFO, ISSUE(NO_DEVICES)}, {DANGLING, ISSUE(NO_DEVICES)},
        {LOOP, ISSUE(NO_DEVICES)}, {FOLDER, ISSUE(CORES) | ISSUE(HEALTH_FILES)},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_odd(CLASS "neuron0", rows[i].what, "", 0);
        look(false);
        assert_int_equal(issue_bits(), rows[i].issues);
        assert_int_equal(devices.count, rows[i].what == FOLDER ? 1 : 0);
    }
    assert_int_equal(device_reading_health(&devices.device[0].reading), HEALTH_UNKNOWN);
}

/* What stands in the place of the class: absent is an answer, what cannot be read is none. */
static void test_odd_class(void **state)
{
    (void)state;
    static const enum what none[] = {ABSENT, TEXT, FIFO, DANGLING, FOLDER};
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        put_odd("sys/class/neuron_device", none[i], "", 0);
        look(false);
        assert_int_equal(devices.count, 0);
        assert_int_equal(issue_bits(), ISSUE(NO_DEVICES));
    }
    put_odd("sys/class/neuron_device", LOOP, "", 0);
    assert_int_equal(look_as(false), ELOOP);
    put_odd("sys/class/neuron_device", FOLDER, "", 0);
    assert_int_equal(chmod(at("sys/class/neuron_device"), 0700), 0);
    assert_int_equal(chmod(harness_root, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(look_as(true), EACCES);
    }
    look(false);
}

/* What stands below --dev-root. It is never opened. */
static void test_odd_nodes(void **state)
{
    static const struct {
        enum what what;
        bool listed; /* where no node is a character device */
    } rows[] = {{TEXT, true},  {FIFO, true},      {FOLDER, true},
                {LOOP, false}, {DANGLING, false}, {ABSENT, false}};
    (void)state;
    put(TYPE, "xyz9.3xlarge\n");
    put_device(1);
    for (unsigned i = 0; i < 2 * (sizeof rows / sizeof rows[0]); i++) {
        bool special = i % 2 == 1;
        bool listed = rows[i / 2].listed && !special;
        put_odd("dev/neuron0", rows[i / 2].what, "", 0);
        link_to("dev/neuron1", special ? "/dev/null" : "../proc");
        look(false);
        assert_int_equal(devices_numbered(&devices, 0), listed ? 0 : -1);
        assert_int_equal(devices_numbered(&devices, 1), listed ? 1 : 0);
        assert_int_equal(issue_bits() & ISSUE(NO_NODE), listed ? 0 : ISSUE(NO_NODE));
    }
}

/* --- numbers --- */

/* 64 devices fit; of 65 one is left out, and of what is left the numbers are right. */
static void test_64_and_65(void **state)
{
    (void)state;
    for (unsigned n = 0; n < DEVICES_MAX; n++) {
        put_device(n);
    }
    look(false);
    assert_int_equal(devices.count, DEVICES_MAX);
    assert_int_equal(issue_bits() & ISSUE(IGNORED), 0);
    assert_int_equal(issue_bits() & ISSUE(COUNT), ISSUE(COUNT));
    put_device(DEVICES_MAX);
    look(false);
    assert_in_range(devices.count, DEVICES_MAX - 1, DEVICES_MAX);
    assert_int_equal(devices_numbered(&devices, DEVICES_MAX), -1);
    assert_int_equal(issue_bits() & ISSUE(IGNORED), ISSUE(IGNORED));
    take_away(CLASS "neuron0");
    look(false);
    assert_int_equal(devices.count, DEVICES_MAX - 1);
    assert_int_equal(devices_numbered(&devices, 0), -1);
    assert_int_equal(devices_numbered(&devices, DEVICES_MAX), -1);
    assert_int_equal(issue_bits() & ISSUE(IGNORED), ISSUE(IGNORED));
}

static void test_gaps(void **state)
{
    static const uint16_t numbers[] = {0, 3, 17, 63};
    (void)state;
    put(TYPE, "xyz9.3xlarge\n");
    for (unsigned i = 1; i < 4; i++) {
        put_device(numbers[i]);
    }
    look(false);
    assert_int_equal(devices.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(devices.device[i].number, numbers[i]);
        assert_int_equal(devices.device[i].core_count, 2);
    }
    assert_string_equal(devices.device[3].name, "neuron-device-63");
    assert_int_equal(issue_bits(), ISSUE(UNKNOWN_FAMILY));
}

static void look_on(void)
{
    assert_int_equal(look_as(false), 0);
    devices_build(&devices, &probe.found, &issues);
}

/* A module that is loaded again may give the numbers to others; none keeps the other's values. */
static void test_renumbered(void **state)
{
    (void)state;
    put(TYPE, "xyz9.3xlarge\n");
    put_device(1);
    put(CLASS "neuron1/core_count", "4\n");
    put(CLASS "neuron1/stats/hardware/health_status/unhealthy_components", "hbm\n");
    look(false);
    struct device_place first = devices.device[0].place;
    assert_int_equal(devices.device[0].core_count, 2);
    assert_int_equal(devices.device[1].core_count, 4);
    assert_int_equal(rename(at(CLASS "neuron0"), at(CLASS "swap")), 0);
    assert_int_equal(rename(at(CLASS "neuron1"), at(CLASS "neuron0")), 0);
    assert_int_equal(rename(at(CLASS "swap"), at(CLASS "neuron1")), 0);
    look_on();
    assert_int_equal(devices.device[0].core_count, 4);
    assert_int_equal(devices.device[1].core_count, 2);
    assert_int_equal(devices.device[0].reading.reasons, HBM);
    assert_int_equal(devices.device[1].reading.reasons, 0);
    assert_int_equal(devices.device[1].place.folder, first.folder);
    /* one place on: 0 is free, 1 and 2 are taken */
    assert_int_equal(rename(at(CLASS "neuron1"), at(CLASS "neuron2")), 0);
    assert_int_equal(rename(at(CLASS "neuron0"), at(CLASS "neuron1")), 0);
    put("dev/neuron2", "");
    look_on();
    assert_int_equal(devices.count, 2);
    assert_int_equal(devices.device[0].number, 1);
    assert_int_equal(devices.device[0].core_count, 4);
    assert_int_equal(devices.device[1].number, 2);
    assert_int_equal(devices.device[1].core_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ODDITY_TEST(test_odd_values), ODDITY_TEST(test_odd_health), ODDITY_TEST(test_odd_folders),
        ODDITY_TEST(test_odd_class),  ODDITY_TEST(test_odd_nodes),  ODDITY_TEST(test_64_and_65),
        ODDITY_TEST(test_gaps),       ODDITY_TEST(test_renumbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
