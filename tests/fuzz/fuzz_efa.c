/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs says of EFA devices. Checks of src/dra/efa.h: I1 to I3, and that addresses, names and
 * links are read as they are written; of src/dra/device.h: I5.
 *
 * The first byte is the board, the second one the number of devices. Of each follows: an address,
 * flags, a number of its entry, and texts with their length in one byte. What is left is read as an
 * address, a name and a link.
 *
 * Input: a board, then for each EFA device its address, flags, number and texts of sysfs
 */
#include "dra/efa.h"
#include "dra/issue.h"
#include "tests/fuzz/fuzz.h"

static struct found_efas found;
static struct devices devices;

static void take_text(struct fuzz *f, char *text, size_t cap)
{
    struct view v = fuzz_bytes(f, fuzz_u8(f));
    text_cut(text, cap, view_first(v, view_find(v, 0)));
}

static void check_texts(struct view text)
{
    uint32_t address = 0;
    char written[DEVICE_NAME_CAP];
    char root[PCIE_ROOT_CAP];
    if (pci_address_parse(text, &address)) {
        CHECK(address != 0u && text.len == PCI_ADDRESS_CAP - 1u);
        pci_address_text(address, written);
        CHECK(view_is(text, written));
    }
    if (efa_device_address(text, &address)) {
        efa_device_name(address, written);
        CHECK(view_is(text, written));
    }
    if (efa_link_parse(text, view_text("uverbs0"), &address, root)) {
        CHECK(view_ends(text, "/infiniband_verbs/uverbs0"));
        CHECK(root[0] == '\0' || strncmp(root, "pci", 3) == 0);
    }
}

static void check_issues(const struct probe_issues *issues)
{
    for (unsigned i = 0; i < issues->count; i++) {
        struct view text = view_text(issues->issue[i].text);
        for (size_t k = 0; k < text.len; k++) {
            CHECK(text.data[k] >= 0x20u && text.data[k] < 0x7fu);
        }
    }
}

static void check_devices(void)
{
    unsigned usable = 0;
    CHECK(devices_valid(&devices));
    for (unsigned i = 0; i < devices.count; i++) {
        struct attributes all;
        device_attributes(&devices, i, &all);
        for (unsigned k = 0; k < all.count; k++) {
            CHECK(attribute_issue(&all.attribute[k]) == ISSUE_NONE);
            CHECK(k == 0u || strcmp(all.attribute[k - 1u].key, all.attribute[k].key) < 0);
        }
        for (unsigned k = 0; k < i; k++) {
            CHECK(devices.device[k].efa.address != devices.device[i].efa.address);
        }
        CHECK(devices_find(&devices, view_text(devices.device[i].name)) == (int)i);
    }
    for (unsigned i = 0; i < found.count; i++) {
        usable += (found.efa[i].verbs && found.efa[i].node_exists) ? 1u : 0u;
    }
    CHECK(devices.count <= usable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = fuzz_of(data, size);
    struct probe_issues issues;
    memset(&devices, 0, sizeof devices);
    memset(&found, 0, sizeof found);
    unsigned boards = 0;
    while (board_at(boards) != NULL) {
        boards++;
    }
    unsigned board = fuzz_u8(&f) % (boards + 1u);
    devices.board = board_at(board);
    if (devices.board != NULL) {
        text_set(devices.instance_type, sizeof devices.instance_type, devices.board->instance_type);
    }
    found.count = fuzz_u8(&f) % (EFAS_MAX + 1u);
    for (unsigned i = 0; i < found.count; i++) {
        struct found_efa *e = &found.efa[i];
        e->address = (uint32_t)fuzz_u8(&f) << 8 | fuzz_u8(&f);
        unsigned flags = fuzz_u8(&f);
        const struct efa_map *map = (devices.board != NULL) ? devices.board->efa : NULL;
        if (map != NULL && (flags & 8u) != 0u) {
            CHECK(pci_address_parse(view_text(map->address[flags >> 4]), &e->address));
        }
        e->verbs = (flags & 1u) != 0u;
        e->node_exists = (flags & 2u) != 0u;
        e->place.node = (flags & 4u) != 0u ? i + 1u : 0u;
        e->number = fuzz_u8(&f);
        take_text(&f, e->rdma_name, sizeof e->rdma_name);
        take_text(&f, e->pcie_root, sizeof e->pcie_root);
        take_text(&f, e->numa_node, sizeof e->numa_node);
        take_text(&f, e->subsystem, sizeof e->subsystem);
        take_text(&f, e->port_state, sizeof e->port_state);
    }
    efas_build(&devices, NULL, &found, &issues);
    check_devices();
    check_issues(&issues);
    check_texts(view_of(data + f.pos, size - f.pos));
    return 0;
}
