/* SPDX-License-Identifier: Apache-2.0 */
/* The probe on trees laid out as the kernel module lays them out, and on trees gone wrong. */
#include "tests/unit/disk/host_harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "host/node/probe.h"

static struct settings settings;
static struct probe probe;
static const struct found_node *const found = &probe.found;

static int probe_now(void)
{
    (void)snprintf(settings.sysfs_root, sizeof settings.sysfs_root, "%s", at("sys"));
    (void)snprintf(settings.proc_root, sizeof settings.proc_root, "%s", at("proc"));
    (void)snprintf(settings.dev_root, sizeof settings.dev_root, "%s", at("dev"));
    (void)snprintf(settings.neuron_dir, sizeof settings.neuron_dir, "%s", at("neuron"));
    return probe_node(&settings, &probe);
}

static void look(void)
{
    assert_int_equal(probe_now(), 0);
}

static int begin(void **state)
{
    memset(&settings, 0, sizeof settings);
    memset(&probe, 0, sizeof probe);
    memset(&probe.found, 0xa5, sizeof probe.found);
    return harness_begin(state);
}

#define PROBE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)

/* As in the kernel: the class directory holds links into devices/virtual. */
static void put_device(unsigned n, const char *neighbours)
{
    char path[128];
    char target[128];
    (void)snprintf(path, sizeof path, "sys/devices/virtual/neuron_device/neuron%u/core_count", n);
    put(path, "8");
    (void)snprintf(path, sizeof path,
                   "sys/devices/virtual/neuron_device/neuron%u/connected_devices", n);
    put(path, neighbours);
    make_directories("sys/class/neuron_device");
    (void)snprintf(path, sizeof path, "sys/class/neuron_device/neuron%u", n);
    (void)snprintf(target, sizeof target, "../../devices/virtual/neuron_device/neuron%u", n);
    assert_int_equal(symlink(target, at(path)), 0);
    (void)snprintf(path, sizeof path, "dev/neuron%u", n);
    put(path, "");
}

static void link_node(unsigned number, const char *target)
{
    char path[64];
    (void)snprintf(path, sizeof path, "dev/neuron%u", number);
    (void)unlink(at(path));
    assert_int_equal(symlink(target, at(path)), 0);
}

/* Puts a symbolic link in the place of what is there. */
static void link_to(const char *target, const char *path)
{
    (void)unlink(at(path)); /* of an earlier one, which leads nowhere */
    put(path, "");          /* makes its directory */
    assert_int_equal(unlink(at(path)), 0);
    assert_int_equal(symlink(target, at(path)), 0);
}

static const struct found_device *device(uint16_t number)
{
    const struct found_device *d = NULL;
    for (unsigned i = 0; i < found->count; i++) {
        if (found->devices[i].number == number) {
            assert_null(d);
            d = &found->devices[i];
        }
    }
    assert_non_null(d);
    return d;
}

static void test_whole_node(void **state)
{
    (void)state;
    put("sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge\n");
    put("sys/module/neuron/version", "2.30.2.0\n");
    put("proc/sys/kernel/random/boot_id", "3f0c9e1a-0000-4000-8000-000000000001\n");
    for (unsigned n = 0; n < 16; n++) {
        put_device(n, "12, 1, 3, 4\n");
    }
    put("sys/class/neuron_device/ultraserver_mode", "\n");
    put("sys/class/neuron_device/node_id_4", "-1\n");
    put("sys/devices/pci0000:c8/0000:c8:01.0/0000:cc:00.0/numa_node", "1\n");
    put("sys/bus/pci/devices/0000:b5:00.0/numa_node", "-1\n");
    link_to("../../../devices/pci0000:c8/0000:c8:01.0/0000:cc:00.0",
            "sys/bus/pci/devices/0000:cc:00.0");
    look();
    assert_string_equal(device(0)->pcie_root, "pci0000:c8");
    assert_string_equal(device(1)->pcie_root, "");
    assert_string_equal(device(0)->numa_node, "1");
    assert_string_equal(device(1)->numa_node, "-1");
    assert_string_equal(device(2)->numa_node, "");
    put("sys/bus/pci/devices/0000:b6:00.0/numa_node", "00000000000x\n"); /* cut, it would be 0 */
    look();
    assert_string_equal(device(2)->numa_node, "");
    put("sys/bus/pci/devices/0000:b6:00.0/numa_node", "0\n");
    look();
    assert_string_equal(device(2)->numa_node, "0");
    assert_string_equal(found->product_name, "trn2.48xlarge");
    assert_string_equal(found->driver_version, "2.30.2.0");
    assert_string_equal(found->boot_id, "3f0c9e1a-0000-4000-8000-000000000001");
    assert_int_equal(found->count, 16);
    assert_int_equal(found->ignored, 0);
    for (uint16_t n = 0; n < 16; n++) {
        const struct found_device *d = device(n);
        assert_true(d->node_exists);
        assert_string_equal(d->core_count, "8");
        assert_string_equal(d->connected_devices, "12, 1, 3, 4");
    }
}

/* The kernel module elects on demand too: the next look has the modes, and the ids with them. */
static void test_another_election(void **state)
{
    (void)state;
    put("sys/devices/virtual/dmi/id/product_name", "trn2u.48xlarge\n");
    for (unsigned n = 0; n < 16; n++) {
        put_device(n, "12, 1, 3, 4\n");
    }
    put("sys/class/neuron_device/ultraserver_mode", "1,3,4\n");
    put("sys/class/neuron_device/node_id_4", "1\n");
    look();
    assert_string_equal(found->ultraserver.modes, "1,3,4");
    put("sys/class/neuron_device/ultraserver_mode", "busy\n");
    look();
    assert_string_equal(found->ultraserver.modes, "busy");
    put("sys/class/neuron_device/ultraserver_mode", "3,4\n");
    put("sys/class/neuron_device/node_id_4", "2\n");
    look();
    assert_string_equal(found->ultraserver.modes, "3,4");
    assert_string_equal(found->ultraserver.node_id[ULTRASERVER_QUAD], "2");
}

/* For a claim: all class files, as they are at that moment. */
static void test_ultraserver_now(void **state)
{
    struct found_ultraserver now;
    (void)state;
    assert_int_equal(probe_ultraserver(at("sys"), &now), ENOENT);
    put("sys/class/neuron_device/ultraserver_mode", "1,3,4\n");
    put("sys/class/neuron_device/server_id_4", "8796a5b4c3d2e1f0\n");
    put("sys/class/neuron_device/node_id_4", "1\n");
    put("sys/class/neuron_device/node_id", "7\n");
    assert_int_equal(probe_ultraserver(at("sys"), &now), 0);
    assert_string_equal(now.modes, "1,3,4");
    assert_string_equal(now.server_id[ULTRASERVER_QUAD], "8796a5b4c3d2e1f0");
    assert_string_equal(now.node_id[ULTRASERVER_QUAD], "1");
    assert_string_equal(now.node_id[ULTRASERVER_PAIR], "");
    assert_string_equal(now.group_node_id, "7");
    put("sys/class/neuron_device/ultraserver_mode", "4\n");
    assert_int_equal(probe_ultraserver(at("sys"), &now), 0);
    assert_string_equal(now.modes, "4");
}

/* An operator may change it at any time. */
static void test_lnc_of_the_host(void **state)
{
    (void)state;
    put_device(0, "\n");
    look();
    assert_string_equal(found->lnc_config, "");
    put("neuron/logical_nc_config", "NEURON_LOGICAL_NC_CONFIG=1\n");
    look();
    assert_string_equal(found->lnc_config, "NEURON_LOGICAL_NC_CONFIG=1");
    put("neuron/logical_nc_config", "NEURON_LOGICAL_NC_CONFIG=2\n");
    look();
    assert_string_equal(found->lnc_config, "NEURON_LOGICAL_NC_CONFIG=2");
    assert_int_equal(unlink(at("neuron/logical_nc_config")), 0);
    look();
    assert_string_equal(found->lnc_config, "");
}

/* Where the link of a PCI device may lead, and the root complex that follows. */
static void test_links_of_a_pci_device(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"../../../devices/pci0000:c8/0000:cc:00.0", "pci0000:c8"},
        {"../../../devices/pci10000:e0/10000:e1:00.0/0000:cc:00.0", "pci10000:e0"},
        {"../../../devices/pci0000:c8/0000:cd:00.0", ""},
        {"../../../devices/platform/0000:cc:00.0", ""},
        {"../../../devices/pci0000:c8", ""},
        {"../../../devices/0000:cc:00.0", ""},
        {"../../devices/pci0000:c8/0000:cc:00.0", ""},
        {"../../../devices/pci0123456789:c8/0000:cc:00.0", ""},
        {"0000:cc:00.0", ""},
        {"/", ""},
    };
    put("sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge\n");
    put_device(0, "\n");
    put("sys/bus/pci/devices/0000:b5:00.0/numa_node", "-1\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        link_to(rows[i][0], "sys/bus/pci/devices/0000:cc:00.0");
        look();
        assert_string_equal(device(0)->pcie_root, rows[i][1]);
    }
    char long_link[LINK_BYTES_MAX + 64];
    (void)snprintf(long_link, sizeof long_link, "../../../devices/pci0000:c8/%0*d/0000:cc:00.0",
                   (int)LINK_BYTES_MAX, 0);
    link_to(long_link, "sys/bus/pci/devices/0000:cc:00.0");
    look();
    assert_string_equal(device(0)->pcie_root, "");
}

static void test_nothing_there(void **state)
{
    (void)state;
    look();
    assert_string_equal(found->product_name, "");
    assert_string_equal(found->driver_version, "");
    assert_string_equal(found->boot_id, "");
    assert_int_equal(found->count, 0);
    assert_int_equal(found->ignored, 0);
}

static void test_absent_and_empty_values(void **state)
{
    (void)state;
    make_directories("sys/class/neuron_device/neuron3");
    put("sys/class/neuron_device/neuron3/connected_devices", "\n");
    look();
    const struct found_device *d = device(3);
    assert_false(d->node_exists);
    assert_string_equal(d->core_count, "");
    assert_string_equal(d->connected_devices, "");
}

static void change(const char *path, const char *text)
{
    (void)unlink(at(path));
    if (text != NULL) {
        put(path, text);
    }
}

#define DEVICES "sys/devices/virtual/neuron_device/"
#define CLASS "sys/class/neuron_device/"

/* Values are those of the device that is there: a new entry of the class is a new device. */
static void test_values_of_an_earlier_device_do_not_stay(void **state)
{
    (void)state;
    put_device(0, "1\n");
    put_device(1, "0\n");
    put("sys/module/neuron/version", "2.30.2.0\n");
    look();
    assert_string_equal(device(0)->core_count, "8");
    /* keeps the old inode in use, so that the new link has another one */
    assert_int_equal(rename(at(CLASS "neuron0"), at("kept")), 0);
    look();
    assert_int_equal(found->count, 1);
    assert_string_equal(device(1)->connected_devices, "0");
    change(DEVICES "neuron0/core_count", NULL);
    change(DEVICES "neuron0/connected_devices", "2\n");
    change("sys/module/neuron/version", NULL);
    assert_int_equal(symlink("../../devices/virtual/neuron_device/neuron0", at(CLASS "neuron0")),
                     0);
    look();
    assert_int_equal(found->count, 2);
    assert_string_equal(device(0)->core_count, "");
    assert_string_equal(device(0)->connected_devices, "2");
    assert_string_equal(found->driver_version, "");
}

/* What is read again although the class directory is as it was: nodes, and what was empty. */
static void test_what_may_change_is_read_again(void **state)
{
    (void)state;
    put_device(0, "1\n");
    put_device(1, "");
    put_device(2, "");
    link_node(1, "/dev/null");
    look();
    for (unsigned i = 0; i < 4; i++) {
        look();
    }
    uint64_t node = device(1)->place.node;
    assert_int_not_equal(node, 0);
    change(DEVICES "neuron1/connected_devices", "0\n");
    change(DEVICES "neuron2/connected_devices", "0\n");
    change("sys/module/neuron/version", "2.30.2.0\n");
    change("dev/neuron0", NULL);
    link_node(1, "/dev/zero");
    look();
    assert_string_equal(device(1)->connected_devices, "0");
    assert_string_equal(device(2)->connected_devices, "0");
    assert_string_equal(found->driver_version, "2.30.2.0");
    assert_false(device(0)->node_exists);
    assert_int_not_equal(device(1)->place.node, node);
    assert_int_not_equal(device(1)->place.node, 0);
    put("dev/neuron0", "");
    look();
    assert_true(device(0)->node_exists);
}

/* One device is read whole in each look, then the node: no value stays wrong for good. */
static void test_everything_is_read_again_in_turn(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        put_device(n, "1\n");
    }
    put("sys/module/neuron/version", "2.30.2.0\n");
    look();
    change("sys/module/neuron/version", "2.31.0.0\n");
    for (unsigned n = 0; n < 3; n++) {
        char path[128];
        (void)snprintf(path, sizeof path, DEVICES "neuron%u/core_count", n);
        change(path, "4");
    }
    unsigned old = 3;
    for (unsigned i = 0; i < 3; i++) {
        look();
        unsigned now = 0;
        for (uint16_t n = 0; n < 3; n++) {
            now += (strcmp(device(n)->core_count, "8") == 0) ? 1u : 0u;
        }
        assert_true(now + 1u >= old); /* one device at a time */
        old = now;
    }
    look();
    assert_string_equal(device(0)->core_count, "4");
    assert_string_equal(device(1)->core_count, "4");
    assert_string_equal(device(2)->core_count, "4");
    assert_string_equal(found->driver_version, "2.31.0.0");
}

/* A link that leads to another directory by now: all devices are looked at. */
static void test_another_folder_behind_a_link(void **state)
{
    (void)state;
    put_device(0, "1\n");
    put_device(1, "0\n");
    look();
    uint64_t folder = device(1)->place.folder;
    assert_int_equal(rename(at(DEVICES "neuron1"), at("kept")), 0);
    put(DEVICES "neuron1/core_count", "2");
    for (unsigned i = 0; i < 3; i++) {
        look();
    }
    assert_int_not_equal(device(1)->place.folder, folder);
    assert_string_equal(device(1)->core_count, "2");
    assert_string_equal(device(1)->connected_devices, "");
}

static void test_names_that_are_no_devices(void **state)
{
    (void)state;
    static const char *const names[] = {"neuron",   "neuron01", "neuronx",     "neuron1x",
                                        "neuron-1", "nd0",      "neuron65536", "neuron99999999999"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "sys/class/neuron_device/%s", names[i]);
        make_directories(path);
    }
    make_directories("sys/class/neuron_device/.hidden");
    put("sys/class/neuron_device/neuron7", "a file is no device");
    put_device(65535, "\n");
    look();
    assert_int_equal(found->count, 1);
    assert_int_equal(found->devices[0].number, 65535);
    assert_int_equal(found->ignored, 8);
}

static void test_more_devices_than_fit(void **state)
{
    (void)state;
    for (unsigned n = 0; n < DEVICES_MAX + 5u; n++) {
        char path[128];
        (void)snprintf(path, sizeof path, "sys/class/neuron_device/neuron%u", n);
        make_directories(path);
    }
    look();
    assert_int_equal(found->count, DEVICES_MAX);
    assert_int_equal(found->ignored, 5);
}

/* More than one buffer of directory entries. */
static void test_large_directory(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 400; n++) {
        char path[128];
        (void)snprintf(path, sizeof path, "sys/class/neuron_device/attribute_%u_of_many", n);
        put(path, "1\n");
    }
    put_device(0, "\n");
    put_device(1, "\n");
    look();
    assert_int_equal(found->count, 2);
    assert_int_equal(found->ignored, 0);
}

static void test_garbage_is_cut(void **state)
{
    (void)state;
    char large[5000];
    memset(large, '7', sizeof large);
    put_bytes("sys/class/neuron_device/neuron0/core_count", large, sizeof large);
    put_bytes("sys/class/neuron_device/neuron0/connected_devices", "1, 2\0, 3", 8);
    assert_int_equal(mkfifo(at("sys/class/neuron_device/neuron0/fifo"), 0600), 0);
    look();
    const struct found_device *d = device(0);
    assert_int_equal(strlen(d->core_count), SYSFS_VALUE_CAP - 1);
    assert_string_equal(d->connected_devices, "1, 2?");
}

#define HEALTH_STATUS DEVICES "neuron0/stats/hardware/health_status/"

/* What is absent is told from what cannot be read, in each look. */
static void test_absent_files_of_health(void **state)
{
    (void)state;
    put_device(0, "1\n");
    put(DEVICES "neuron0/reset", "1\n");
    make_directories(DEVICES "neuron0/stats/hardware/mem_ecc_uncorrected");
    put(DEVICES "neuron0/stats/hardware/sram_ecc_uncorrected", "0\n");
    for (unsigned i = 0; i < 3; i++) {
        look();
        assert_int_equal(device(0)->reading.unread, 0x19);
        assert_int_equal(device(0)->reading.absent, 0x11);
    }
    put(HEALTH_STATUS "unhealthy_components", "\n");
    look();
    look();
    assert_int_equal(device(0)->reading.unread, 0x18);
    assert_int_equal(device(0)->reading.absent, 0x10);
    assert_true(device(0)->reading.known);
}

/* The byte behind the cut continues a character: what marks the text as cut stays. */
static void test_cut_character_hides_nothing(void **state)
{
    (void)state;
    char large[SYSFS_VALUE_CAP];
    memset(large, ',', sizeof large);
    large[sizeof large - 1u] = '\x80';
    put_device(0, "\n");
    put_bytes("sys/devices/virtual/neuron_device/neuron0/stats/hardware/health_status/"
              "unhealthy_components",
              large, sizeof large);
    look();
    assert_int_equal(device(0)->reading.reasons, HEALTH_REASON_COMPONENT);
}

/* A process out of descriptors has seen nothing: that is no node without devices. */
static void test_shortage_is_no_absence(void **state)
{
    struct rlimit old;
    struct rlimit few;
    (void)state;
    put_device(0, "");
    look();
    assert_int_equal(found->count, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    int next = dup(STDERR_FILENO);
    assert_true(next > 0);
    few.rlim_cur = (rlim_t)next; /* none left */
    assert_int_equal(close(next), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int none = probe_now();
    few.rlim_cur++; /* one left: the class directory opens, its files do not */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int one = probe_now();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(none, EMFILE);
    assert_int_equal(one, EMFILE);
    look();
    assert_int_equal(found->count, 1);
}

static void test_instance_type_overrides(void **state)
{
    (void)state;
    put("sys/devices/virtual/dmi/id/product_name", "unknown\n");
    (void)strcpy(settings.instance_type, "trn1.32xlarge");
    look();
    assert_string_equal(found->product_name, "trn1.32xlarge");
}

/* A device whose user would wait: a FIFO in its place would hang who opens it. */
static void test_device_node_is_not_opened(void **state)
{
    (void)state;
    put_device(0, "\n");
    assert_int_equal(unlink(at("dev/neuron0")), 0);
    assert_int_equal(mkfifo(at("dev/neuron0"), 0), 0);
    look();
    assert_true(device(0)->node_exists);
}

/* What the look at one device says, against what the probe of all of them says. */
static void check_place(unsigned number, bool same)
{
    struct device_place place = {.folder = 1, .node = 1};
    assert_int_equal(probe_device(settings.sysfs_root, settings.dev_root, number, &place), 0);
    const struct device_place *probed = &device((uint16_t)number)->place;
    assert_int_not_equal(place.folder, 0);
    assert_int_equal(place.folder == probed->folder && place.node == probed->node, same);
}

static void test_one_device(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 12; n++) {
        put_device(n, "");
    }
    link_node(11, "/dev/null");
    look();
    assert_int_equal(device(0)->place.node, 0);
    assert_int_not_equal(device(11)->place.node, 0);
    assert_int_not_equal(device(0)->place.folder, device(11)->place.folder);
    check_place(0, true);
    check_place(11, true);
    /* another node, a file, and another folder in its place */
    link_node(11, "/dev/zero");
    check_place(11, false);
    link_node(11, "neuron0");
    check_place(11, false);
    link_node(11, "/dev/null");
    check_place(11, true);
    assert_int_equal(unlink(at("sys/class/neuron_device/neuron11")), 0);
    assert_int_equal(symlink("neuron0", at("sys/class/neuron_device/neuron11")), 0);
    check_place(11, false);
}

static void test_one_device_that_is_gone(void **state)
{
    (void)state;
    struct device_place place = {.folder = 1, .node = 1};
    put_device(3, "");
    look();
    assert_int_equal(unlink(at("dev/neuron3")), 0);
    assert_int_equal(probe_device(settings.sysfs_root, settings.dev_root, 3, &place), ENOENT);
    assert_int_not_equal(place.folder, 0);
    assert_int_equal(place.node, 0);
    put("dev/neuron3", "");
    assert_int_equal(unlink(at("sys/class/neuron_device/neuron3")), 0);
    assert_int_equal(probe_device(settings.sysfs_root, settings.dev_root, 3, &place), ENOENT);
    assert_int_equal(place.folder, 0);
    assert_int_equal(place.node, 0);
}

#define NETWORK "/sys/class/net/lo/"
#define HEALTH_OF_0 "sys/class/neuron_device/neuron0/"
#define HARDWARE_OF_0 HEALTH_OF_0 "stats/hardware/"

/*
 * A device whose files of health are the kernel's: they say what they say of the loopback.
 * `components`: what the file unhealthy_components is; NULL: this module does not have it.
 */
static void put_health_files_of_sysfs(const char *components)
{
    if (access(NETWORK "statistics/tx_packets", R_OK) != 0) {
        skip();
    }
    put_device(0, "\n");
    put("sys/devices/virtual/neuron_device/neuron0/stats/hardware/health_status/hw_error_event",
        "7\n");
    if (components != NULL) {
        link_to(components, HARDWARE_OF_0 "health_status/unhealthy_components");
    }
    link_to(NETWORK "carrier", HEALTH_OF_0 "reset");
    link_to(NETWORK "statistics/tx_packets", HARDWARE_OF_0 "sram_ecc_uncorrected");
}

static void put_health_of_sysfs(void)
{
    put_health_files_of_sysfs(NULL);
}

static void look_times(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        look();
    }
}

static void send_packet(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to), 1);
    (void)close(fd);
}

/* The kernel's files stay open and say what is true now; any other file is opened in each look. */
static void test_health_files_stay_open(void **state)
{
    (void)state;
    put_health_of_sysfs();
    look();
    int kept[HEALTH_FILES];
    memcpy(kept, probe.kept[0], sizeof kept);
    assert_true(kept[HEALTH_FILE_RESET] > 0 && kept[HEALTH_FILE_ECC] > 0);
    assert_int_equal(kept[HEALTH_FILE_COMPONENTS], -1);
    assert_int_equal(kept[HEALTH_FILE_ECC + 1], -1);
    for (unsigned i = 0; i < 6; i++) {
        uint64_t before = device(0)->reading.ecc[0];
        send_packet();
        look();
        assert_false(device(0)->reading.listed);
        assert_true(device(0)->reading.ecc[0] > before);
        assert_memory_equal(kept, probe.kept[0], sizeof kept);
    }
}

/*
 * While the module lists broken components, a probe reads a device's counters only in the turn of
 * that device; with one device on the node, that is every second probe. The other probes keep what
 * is known of the counter files. Once the list cannot be read, the next probe reads the counters.
 */
static void test_counters_beside_the_list_are_read_in_turn(void **state)
{
    (void)state;
    put_health_files_of_sysfs(NETWORK "ifalias");
    look();
    assert_true(probe.kept[0][HEALTH_FILE_COMPONENTS] > 0);
    unsigned read = 0;
    for (unsigned i = 0; i < 6; i++) {
        look();
        assert_true(device(0)->reading.listed && device(0)->reading.known);
        assert_int_equal(device(0)->reading.unread, 0x18);
        assert_int_equal(device(0)->reading.absent, 0x18);
        read += device(0)->reading.counted;
    }
    assert_int_equal(read, 3);
    while (device(0)->reading.counted != 0u) {
        look();
    }
    look();
    assert_int_equal(device(0)->reading.counted, 1u); /* so the next look is not in its turn */
    int fd = probe.kept[0][HEALTH_FILE_COMPONENTS];
    int directory = open("/", O_RDONLY | O_DIRECTORY);
    assert_int_equal(dup2(directory, fd), fd); /* which pread(2) refuses */
    (void)close(directory);
    assert_int_equal(unlink(at(HARDWARE_OF_0 "health_status/unhealthy_components")), 0);
    look();
    assert_false(device(0)->reading.listed);
    assert_int_equal(device(0)->reading.counted, 1u);
    look();
    look();
    assert_int_equal(device(0)->reading.counted, 1u);
}

/* The device nodes are not looked at while their directory is as it was, but for one in turn. */
static void test_nodes_of_an_unchanged_directory(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 12; n++) {
        put_device(n, "");
    }
    look_times(2 * NODE_PROBES_MIN);
    assert_int_equal(probe.nodes_seen, NODE_PROBES_MIN);
    probe.found.devices[11].node_exists = false; /* which no look in another's turn finds */
    unsigned looks = 0;
    while (!probe.found.devices[11].node_exists) {
        look();
        looks++;
    }
    assert_in_range(looks, 2, 13);
    /* a change is seen at once, if it comes in another tick of the kernel's clock */
    const struct timespec tick = {.tv_nsec = 20000000};
    (void)nanosleep(&tick, NULL);
    look();
    assert_int_equal(unlink(at("dev/neuron5")), 0);
    look();
    assert_false(device(5)->node_exists);
    assert_int_equal(probe.nodes_seen, 1);
    put("dev/neuron5", "");
    look();
    assert_true(device(5)->node_exists);
    /* another directory in its place */
    look_times(2 * NODE_PROBES_MIN);
    assert_int_equal(rename(at("dev"), at("dev-before")), 0);
    look();
    assert_false(device(5)->node_exists);
    assert_int_equal(probe.nodes_seen, 1);
    look_times(2 * NODE_PROBES_MIN); /* none is no mark */
    assert_int_equal(probe.nodes_seen, 1);
    assert_int_equal(rename(at("dev-before"), at("dev")), 0);
    look();
    assert_true(device(5)->node_exists);
}

/* A node that is a link may change without its directory. */
static void test_nodes_that_are_links(void **state)
{
    (void)state;
    put_device(0, "");
    put_device(1, "");
    put("real/neuron1", "");
    link_node(1, at("real/neuron1"));
    look_times(3 * NODE_PROBES_MIN);
    assert_true(device(1)->node_exists);
    assert_int_equal(unlink(at("real/neuron1")), 0);
    look();
    assert_false(device(1)->node_exists);
    put("real/neuron1", "");
    look();
    assert_true(device(1)->node_exists);
}

/* One that is not there is looked for in the device's turn: the next but one look at the latest. */
static void test_missing_health_file_is_looked_for_in_turn(void **state)
{
    (void)state;
    put_health_of_sysfs();
    look();
    assert_int_equal(device(0)->reading.counted, 1u);
    put(HARDWARE_OF_0 "mem_ecc_uncorrected", "0\n");
    look();
    assert_int_equal(device(0)->reading.counted, 1u);
    look();
    assert_int_equal(device(0)->reading.counted, 3u);
}

/* The kernel fails reads of a file that it has removed: one of the same name is read at once. */
static void test_health_file_that_fails_is_opened_again(void **state)
{
    (void)state;
    put_health_of_sysfs();
    look();
    int fd = probe.kept[0][HEALTH_FILE_ECC];
    int directory = open("/", O_RDONLY | O_DIRECTORY);
    assert_int_equal(dup2(directory, fd), fd); /* which pread(2) refuses */
    (void)close(directory);
    link_to(NETWORK "statistics/collisions", HARDWARE_OF_0 "sram_ecc_uncorrected");
    look();
    assert_int_equal(device(0)->reading.ecc[0], 0u);
    assert_true((device(0)->reading.counted & 1u) != 0u);
    look();
    look();
    assert_true(probe.kept[0][HEALTH_FILE_ECC] > 0);
}

/* Another device of the same number: nothing is read of the one before. */
static void test_health_files_of_another_device(void **state)
{
    (void)state;
    put_health_of_sysfs();
    look();
    int fd = probe.kept[0][HEALTH_FILE_ECC];
    assert_int_equal(rename(at("sys/class/neuron_device/neuron0"), at("sys/before")), 0);
    look();
    assert_int_equal(found->count, 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    put("sys/class/neuron_device/neuron0/stats/hardware/sram_ecc_uncorrected", "5\n");
    look();
    assert_int_equal(device(0)->reading.ecc[0], 5u);
}

/* As it is at each call; another core, and what is no file of this device, is not read. */
static void test_memory_of_a_core(void **state)
{
    (void)state;
    char value[SYSFS_VALUE_CAP];
    put("sys/class/neuron_device/neuron3/neuron_core5/stats/memory_usage/device_mem/total",
        "4096\n");
    assert_int_equal(probe_memory(at("sys"), 3, 5, "total", value), 0);
    assert_string_equal(value, "4096");
    assert_int_equal(probe_memory(at("sys"), 3, 4, "total", value), ENOENT);
    assert_int_equal(probe_memory(at("sys"), 3, 5, "driver_memory/total", value), ENOENT);
    put("sys/class/neuron_device/neuron3/neuron_core5/stats/memory_usage/device_mem/total", "0\n");
    assert_int_equal(probe_memory(at("sys"), 3, 5, "total", value), 0);
    assert_string_equal(value, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBE_TEST(test_whole_node),
        PROBE_TEST(test_another_election),
        PROBE_TEST(test_ultraserver_now),
        PROBE_TEST(test_links_of_a_pci_device),
        PROBE_TEST(test_lnc_of_the_host),
        PROBE_TEST(test_nothing_there),
        PROBE_TEST(test_absent_and_empty_values),
        PROBE_TEST(test_values_of_an_earlier_device_do_not_stay),
        PROBE_TEST(test_what_may_change_is_read_again),
        PROBE_TEST(test_everything_is_read_again_in_turn),
        PROBE_TEST(test_another_folder_behind_a_link),
        PROBE_TEST(test_names_that_are_no_devices),
        PROBE_TEST(test_more_devices_than_fit),
        PROBE_TEST(test_large_directory),
        PROBE_TEST(test_garbage_is_cut),
        PROBE_TEST(test_absent_files_of_health),
        PROBE_TEST(test_cut_character_hides_nothing),
        PROBE_TEST(test_shortage_is_no_absence),
        PROBE_TEST(test_instance_type_overrides),
        PROBE_TEST(test_device_node_is_not_opened),
        PROBE_TEST(test_one_device),
        PROBE_TEST(test_one_device_that_is_gone),
        PROBE_TEST(test_health_files_stay_open),
        PROBE_TEST(test_counters_beside_the_list_are_read_in_turn),
        PROBE_TEST(test_nodes_of_an_unchanged_directory),
        PROBE_TEST(test_nodes_that_are_links),
        PROBE_TEST(test_missing_health_file_is_looked_for_in_turn),
        PROBE_TEST(test_health_file_that_fails_is_opened_again),
        PROBE_TEST(test_health_files_of_another_device),
        PROBE_TEST(test_memory_of_a_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
