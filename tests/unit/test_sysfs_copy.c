/* SPDX-License-Identifier: Apache-2.0 */
/* The file sysfs.txt of a bundle: trees as the kernel lays them out, and trees gone wrong. */
#include "tests/unit/disk/host_harness.h"

#include "host/commands/sysfs_copy.h"

static struct settings settings;
static struct command_memory memory;
static char text[1u << 20];

/* Copies the tree of the test, and reads what was written. */
static enum status copy(void)
{
    uint8_t reason[HOST_TEXT_CAP];
    struct writer why = writer_of(reason, sizeof reason);
    memset(&memory, 0, sizeof memory);
    (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s", at("sys"));
    memory.settings = &settings;
    memory.out_fd = open(at("out"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(memory.out_fd >= 0);
    enum status s = sysfs_copy(&memory, &why);
    ssize_t n = pread(memory.out_fd, text, sizeof text - 1u, 0);
    assert_in_range(n, 0, sizeof text - 1u);
    text[n] = '\0';
    assert_int_equal(close(memory.out_fd), 0);
    return s;
}

static void shows(const char *line)
{
    char whole[8192];
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strncmp(text, whole + 1, strlen(whole + 1)) != 0 && strstr(text, whole) == NULL) {
        fail_msg("no line \"%s\" in\n%s", line, text);
    }
}

static void hides(const char *words)
{
    if (strstr(text, words) != NULL) {
        fail_msg("\"%s\" in\n%s", words, text);
    }
}

static void link_to(const char *target, const char *path)
{
    put(path, ""); /* makes its directory */
    assert_int_equal(unlink(at(path)), 0);
    assert_int_equal(symlink(target, at(path)), 0);
}

#define DEVICE "sys/devices/virtual/neuron_device/neuron0"

static void put_node(void)
{
    put("sys/module/neuron/version", "2.30.2.0\n");
    put("sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge\n");
    put("sys/devices/virtual/dmi/id/product_serial", "ec2-1234\n");
    put("sys/class/neuron_device/server_id_4", "00aa\n");
    put(DEVICE "/core_count", "8");
    put(DEVICE "/info/serial_number", "0123456789abcdef\n");
    put(DEVICE "/neuron_core0/stats/status/success/total", "1\n");
    link_to("../../../../class/neuron_device", DEVICE "/subsystem");
    link_to("../../devices/virtual/neuron_device/neuron0", "sys/class/neuron_device/neuron0");
}

static void put_function(const char *address, const char *vendor)
{
    char path[128];
    (void)snprintf(path, sizeof path, "sys/devices/pci0000:cc/%s/vendor", address);
    put(path, vendor);
    (void)snprintf(path, sizeof path, "sys/devices/pci0000:cc/%s/numa_node", address);
    put(path, "1\n");
    (void)snprintf(path, sizeof path, "sys/devices/pci0000:cc/%s/serial_number", address);
    put(path, "secret\n");
    char target[128];
    (void)snprintf(target, sizeof target, "../../../devices/pci0000:cc/%s", address);
    (void)snprintf(path, sizeof path, "sys/bus/pci/devices/%s", address);
    link_to(target, path);
}

static void test_node(void **state)
{
    (void)state;
    put_node();
    put_function("0000:cc:00.0", "0x1d0f\n");
    put_function("0000:cd:00.0", "0x8086\n");
    put("sys/bus/pci/devices/file", "");
    put("sys/class/infiniband/readme", "");
    put("sys/devices/pci0000:cc/0000:ca:00.0/infiniband/rdmap0/ports/1/state", "4: ACTIVE\n");
    link_to("../../devices/pci0000:cc/0000:ca:00.0/infiniband/rdmap0",
            "sys/class/infiniband/rdmap0");
    assert_int_equal(copy(), STATUS_OK);
    shows("f module/neuron/version 2.30.2.0\\x0a");
    shows("f devices/virtual/dmi/id/product_name trn2.48xlarge\\x0a");
    shows("l bus/pci/devices/0000:cc:00.0 ../../../devices/pci0000:cc/0000:cc:00.0");
    shows("f bus/pci/devices/0000:cc:00.0/numa_node 1\\x0a");
    shows("! bus/pci/drivers/efa no such file or directory");
    shows("f class/infiniband/rdmap0/ports/1/state 4: ACTIVE\\x0a");
    shows("f class/neuron_device/server_id_4 00aa\\x0a");
    shows("l class/neuron_device/neuron0 ../../devices/virtual/neuron_device/neuron0");
    shows("f class/neuron_device/neuron0/core_count 8");
    shows("l class/neuron_device/neuron0/subsystem ../../../../class/neuron_device");
    shows("f class/neuron_device/neuron0/neuron_core0/stats/status/success/total 1\\x0a");
    shows("! class/neuron_device/neuron0/info/serial_number left out, because it identifies the "
          "device");
    hides("0123456789abcdef");
    hides("ec2-1234");
    hides("secret");
    hides("0000:cd:00.0");
    hides("srcversion");
    hides("class/infiniband/readme");
}

/* The link of a device leads nowhere; one of its files cannot be read; names and values are odd. */
static void test_odd_files(void **state)
{
    char page[SYSFS_COPY_VALUE_MAX + 2u];
    char line[sizeof page + 64u];
    (void)state;
    put_node();
    memset(page, 'v', sizeof page - 1u);
    page[sizeof page - 1u] = '\0';
    put(DEVICE "/long", page);
    put(DEVICE "/odd\nname", "\x1b[31m\xff\n");
    put(DEVICE "/a b\\", "\\x41 ! -> \xc3\xa4");
    put(DEVICE "/empty", "");
    put(DEVICE "/hidden", "1\n");
    assert_int_equal(chmod(at(DEVICE "/hidden"), 0200), 0);
    assert_int_equal(mkfifo(at(DEVICE "/fifo"), 0644), 0);
    link_to("../../devices/virtual/neuron_device/neuron9", "sys/class/neuron_device/neuron9");
    assert_int_equal(copy(), STATUS_OK);
    page[SYSFS_COPY_VALUE_MAX] = '\0';
    (void)snprintf(line, sizeof line, "f class/neuron_device/neuron0/long %s", page);
    shows(line);
    shows("f class/neuron_device/neuron0/odd\\x0aname \\x1b[31m\\xff\\x0a");
    shows("f class/neuron_device/neuron0/a\\x20b\\x5c \\x5cx41 ! -> \\xc3\\xa4");
    shows("f class/neuron_device/neuron0/empty ");
    shows("! class/neuron_device/neuron0/hidden not readable");
    shows("! class/neuron_device/neuron0/fifo not readable");
    shows("l class/neuron_device/neuron9 ../../devices/virtual/neuron_device/neuron9");
    shows("! class/neuron_device/neuron9 no such file or directory");
}

/* A value of one page of which each byte is escaped: more than one part of the output. */
static void test_long_escapes(void **state)
{
    char page[SYSFS_COPY_VALUE_MAX];
    (void)state;
    put_node();
    memset(page, 0x1b, sizeof page);
    put_bytes(DEVICE "/escapes", page, sizeof page);
    assert_int_equal(copy(), STATUS_OK);
    const char *found = strstr(text, "neuron0/escapes ");
    assert_non_null(found);
    found += strlen("neuron0/escapes ");
    for (size_t i = 0; i < sizeof page; i++) {
        assert_memory_equal(found + 4u * i, "\\x1b", 4);
    }
    assert_int_equal(found[4u * sizeof page], '\n');
}

/* Makes six directories with long names, one in the other, below a directory of the tree. */
static void put_long_path(const char *directory)
{
    char name[200];
    memset(name, 'n', sizeof name - 1u);
    name[sizeof name - 1u] = '\0';
    int fd = open(at(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < 6u; i++) {
        assert_true(fd >= 0);
        assert_int_equal(mkdirat(fd, name, 0755), 0);
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(close(fd), 0);
        fd = below;
    }
    assert_int_equal(close(fd), 0);
}

/* A path of any depth and length ends with a line that says so, and what is beside it is copied. */
static void test_bounds_of_the_tree(void **state)
{
    (void)state;
    put_node();
    put(DEVICE "/0/1/2/3/4/5/6/7/8/9", "deep\n");
    put_long_path(DEVICE);
    assert_int_equal(copy(), STATUS_OK);
    shows("! class/neuron_device/neuron0/0/1/2/3/4/5/6 left out, because it is too deep");
    assert_non_null(strstr(text, "nnn a path below it is too long\n"));
    hides("deep\\x0a");
    shows("f class/neuron_device/neuron0/core_count 8");
}

/* The last line of what was written, of which `text` has the beginning alone. */
static void ends_early(void)
{
    static const char last[] =
        "\n! class/neuron_device the copy ends here: it is too long, or took too long\n";
    char end[sizeof last] = {0};
    FILE *f = fopen(at("out"), "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, -(long)(sizeof last - 1u), SEEK_END), 0);
    assert_int_equal(fread(end, 1, sizeof last - 1u, f), sizeof last - 1u);
    assert_string_equal(end, last);
    assert_true(ftell(f) < (long)(SYSFS_COPY_BYTES_MAX + 32768u));
    assert_int_equal(fclose(f), 0);
}

static void test_too_many_files(void **state)
{
    char path[64];
    (void)state;
    put_node();
    make_directories(DEVICE "/many");
    for (unsigned i = 0; i < SYSFS_COPY_LINES_MAX; i++) {
        (void)snprintf(path, sizeof path, DEVICE "/many/%u", i);
        assert_int_equal(symlink("x", at(path)), 0);
    }
    assert_int_equal(copy(), STATUS_OK);
    ends_early();
}

static void test_too_many_bytes(void **state)
{
    static char page[SYSFS_COPY_VALUE_MAX];
    char path[64];
    (void)state;
    put_node();
    memset(page, 0x1b, sizeof page);
    for (unsigned i = 0; i < SYSFS_COPY_BYTES_MAX / (4u * sizeof page) + 8u; i++) {
        (void)snprintf(path, sizeof path, DEVICE "/%u", i);
        put_bytes(path, page, sizeof page);
    }
    assert_int_equal(copy(), STATUS_OK);
    ends_early();
}

/* Names that say that a file identifies its device, in any case and place. */
static void test_identities(void **state)
{
    static const char *const names[] = {"Serial_Number",       "board_serial",   "uuid",
                                        "serial_number/value", "node_guid/deep", "ASSET_tag"};
    char path[96];
    (void)state;
    put_node();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, DEVICE "/%s", names[i]);
        put(path, "secret\n");
    }
    put(DEVICE "/seria", "kept\n");
    assert_int_equal(copy(), STATUS_OK);
    hides("secret");
    shows("! class/neuron_device/neuron0/Serial_Number left out, because it identifies the device");
    shows("! class/neuron_device/neuron0/node_guid left out, because it identifies the device");
    shows("f class/neuron_device/neuron0/seria kept\\x0a");
}

static void test_nothing(void **state)
{
    (void)state;
    make_directories("sys");
    assert_int_equal(copy(), STATUS_OK);
    shows("! class/neuron_device no such file or directory");
    shows("! bus/pci/devices no such file or directory");
    hides("module/neuron");
}

/* The output cannot be written: the copy ends, and closes what it has opened. */
static void test_full_output(void **state)
{
    uint8_t reason[HOST_TEXT_CAP];
    (void)state;
    put_node();
    put_function("0000:cc:00.0", "0x1d0f\n");
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned kind = 0; kind < 3u; kind++) {
        struct writer why = writer_of(reason, sizeof reason);
        memset(&memory, 0, sizeof memory);
        (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s",
                       at((kind == 0u) ? "sys" : ((kind == 1u) ? "pci" : "tree")));
        memory.settings = &settings;
        memory.out_fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        if (kind == 1u) {
            put("pci/bus/pci/devices/x/vendor", "");
            assert_int_equal(symlink("x", at("pci/bus/pci/devices/y")), 0);
            put("pci/bus/pci/devices/x/vendor", "0x1d0f\n");
        } else if (kind == 2u) {
            put("tree/class/neuron_device/a/b", "1\n");
        }
        assert_int_not_equal(sysfs_copy(&memory, &why), STATUS_OK);
        assert_true(why.len > 0u);
        assert_int_equal(close(memory.out_fd), 0);
    }
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(after, before + 1);
    assert_int_equal(close(before), 0);
    assert_int_equal(close(after), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_node),           HOST_TEST(test_odd_files),
        HOST_TEST(test_long_escapes),   HOST_TEST(test_bounds_of_the_tree),
        HOST_TEST(test_too_many_files), HOST_TEST(test_too_many_bytes),
        HOST_TEST(test_identities),     HOST_TEST(test_nothing),
        HOST_TEST(test_full_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
