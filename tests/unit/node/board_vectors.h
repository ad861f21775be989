/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of boards, devices and slices share: golden files of tests/vectors/boards, and
 * found nodes as the probe of a healthy machine would hand them over. Run from the top of the
 * source tree.
 */
#ifndef TESTS_BOARD_VECTORS_H
#define TESTS_BOARD_VECTORS_H

#include "boards/board.h"
#include "cfg/identity.h"
#include "dra/device.h"
#include "tests/unit/unit.h"

#define GOLDEN_DIR "tests/vectors/boards"
#define GOLDEN_BYTES_MAX 65536
#define TEST_DRIVER_VERSION "2.26.5.0"
#define TEST_BOOT_ID "6b1d58d4-7a0f-4c7e-9d3a-2f5a6b7c8d9e"

/* The golden file of a type, NUL-terminated; valid until the next call. */
static inline const char *golden_load(const char *instance_type)
{
    static char text[GOLDEN_BYTES_MAX];
    char path[256];
    (void)snprintf(path, sizeof path, GOLDEN_DIR "/%s.txt", instance_type);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s: cannot be opened: no golden file, or this is not the top folder", path);
        return "";
    }
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    assert_in_range(len, 1, sizeof text - 2);
    text[len] = '\0';
    return text;
}

static inline void found_empty(struct found_node *found, const char *product_name)
{
    memset(found, 0, sizeof *found);
    (void)snprintf(found->product_name, SYSFS_VALUE_CAP, "%s\n", product_name);
    (void)snprintf(found->driver_version, SYSFS_VALUE_CAP, TEST_DRIVER_VERSION "\n");
    (void)snprintf(found->boot_id, SYSFS_VALUE_CAP, TEST_BOOT_ID "\n");
}

/* A device as the module shows it; core_count has no newline. */
static inline void found_add(struct found_node *found, unsigned number, unsigned cores)
{
    assert_in_range(found->count, 0, DEVICES_MAX - 1);
    struct found_device *device = &found->devices[found->count];
    memset(device, 0, sizeof *device);
    device->number = (uint16_t)number;
    device->node_exists = true;
    (void)snprintf(device->core_count, SYSFS_VALUE_CAP, "%u", cores);
    (void)snprintf(device->connected_devices, SYSFS_VALUE_CAP, "\n");
    found->count++;
}

/*
 * A healthy node of the board, its devices in the order in which a directory lists names: 0, 1, 10,
 * …
 */
static inline void found_board(struct found_node *found, const struct board *board)
{
    unsigned cores = board_family(board->instance_type)->cores_per_device;
    found_empty(found, board->instance_type);
    for (unsigned first = 0; first < 10 && first < board->devices; first++) {
        found_add(found, first, cores);
        for (unsigned n = first * 10; first > 0 && n < first * 10 + 10 && n < board->devices; n++) {
            found_add(found, n, cores);
        }
    }
    assert_int_equal(found->count, board->devices);
    for (unsigned i = 0; board->pci != NULL && i < found->count; i++) {
        struct found_device *device = &found->devices[i];
        bool first = device->number >= 4 && device->number <= 11;
        (void)snprintf(device->numa_node, sizeof device->numa_node, "%s", first ? "0" : "1");
        /* Which root complex is the machine's: the golden files have the bus, rounded down by 4. */
        const char *address = board->pci->address[device->number];
        unsigned long bus = strtoul(&address[5], NULL, 16);
        (void)snprintf(device->pcie_root, PCIE_ROOT_CAP, "pci0000:%02lx", bus & 0xfcul);
    }
}

static inline void labels_set(struct devices *d)
{
    for (unsigned i = 0; i < NETWORK_LAYERS; i++) {
        (void)snprintf(d->labels.network_layer[i], ATTRIBUTE_VALUE_CAP, "nn-%u", i + 1);
    }
    (void)snprintf(d->labels.capacity_block, ATTRIBUTE_VALUE_CAP, "cb-1");
}

#endif
