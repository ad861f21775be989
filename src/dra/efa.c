/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the device table from the texts of the kernel driver efa; see efa.h. */
#include "dra/efa.h"

#include "base/assert.h"
#include "dra/device_internal.h"

/* --- parsing the link of a uverbs entry --- */

/*
 * Returns the last component of a path, which has a slash, and removes it and the slash before it
 * from the path.
 */
static struct view split_last(struct view *path)
{
    size_t at = path->len;
    while (path->data[at - 1u] != (uint8_t)'/') {
        at--;
        ASSERT(at > 0u);
    }
    struct view last = view_from(*path, at);
    *path = view_first(*path, at - 1u);
    return last;
}

bool efa_link_parse(struct view link, struct view name, uint32_t *address,
                    char pcie_root[PCIE_ROOT_CAP])
{
    static const char tree[] = "../../devices/";
    struct view path = link;
    pcie_root[0] = '\0';
    bool entry = view_starts(link, tree) && view_equal(split_last(&path), name) &&
                 view_is(split_last(&path), "infiniband_verbs");
    if (!entry || !pci_address_parse(split_last(&path), address)) {
        return false;
    }
    struct view root = view_from(path, sizeof tree - 1u);
    root = view_first(root, view_find(root, '/'));
    bool good = view_starts(root, "pci") && root.len < PCIE_ROOT_CAP;
    text_cut(pcie_root, PCIE_ROOT_CAP, good ? root : view_of(NULL, 0));
    return true;
}

/* --- building the EFA device table --- */

/*
 * Number of the first Neuron device that the map pairs with the address; -1: the map has no such
 * address.
 */
static int mapped_number(const struct efa_map *map, const char *address)
{
    for (unsigned i = 0; map != NULL && i < BOARD_GROUPED_DEVICES; i++) {
        if (text_is(address, map->address[i])) {
            return (int)i;
        }
    }
    return -1;
}

/* Number of distinct EFA devices in the map; two neighbouring Neuron devices may share one. */
static unsigned mapped_count(const struct efa_map *map)
{
    unsigned count = 0;
    for (unsigned i = 0; i < BOARD_GROUPED_DEVICES; i++) {
        count += (mapped_number(map, map->address[i]) == (int)i) ? 1u : 0u;
    }
    return count;
}

static void build_reading(struct device_reading *r, const struct found_efa *found)
{
    /* the kernel's text for an active RDMA port, see drivers/infiniband/core/sysfs.c */
    static const char active[] = "4: ACTIVE";
    struct view state = view_trim(view_text(found->port_state));
    r->known = state.len > 0u;
    if (r->known && !view_is(state, active)) {
        device_reading_components(r, view_text("link_efa"), true);
    }
    r->reasons |= found->silent ? (uint32_t)HEALTH_REASON_SILENT : 0u;
}

/* Parses a PCI ID such as "0xefa0". Returns 0 for any other text. */
static uint16_t subsystem_of(const char *text)
{
    struct view left = view_trim(view_text(text));
    uint32_t value = 0;
    bool good = view_starts(left, "0x");
    left = view_from(left, 2);
    good = good && hex_field_parse(&left, 4u, &value) && left.len == 0u;
    return good ? (uint16_t)value : 0u;
}

static void build_device(struct device *device, const struct found_efa *found, unsigned number)
{
    uint64_t node = 0;
    *device = (struct device){.number = (uint16_t)number,
                              .at_pci_address = true,
                              .numa_node = -1,
                              .place = found->place,
                              .efa = {.address = found->address,
                                      .uverbs = found->number,
                                      .subsystem = subsystem_of(found->subsystem)}};
    if (view_decimal(view_trim(view_text(found->numa_node)), INT16_MAX, &node) == STATUS_OK) {
        device->numa_node = (int16_t)node;
    }
    text_set(device->pcie_root, sizeof device->pcie_root, found->pcie_root);
    text_cut(device->efa.rdma_name, sizeof device->efa.rdma_name,
             view_trim(view_text(found->rdma_name)));
    build_reading(&device->reading, found);
    efa_device_name(found->address, device->name);
}

/*
 * Number of found devices that are not in the EFA map and have lower PCI addresses than device
 * `at`.
 */
static unsigned rank_of(const struct devices *d, const struct found_efas *found, unsigned at)
{
    const struct efa_map *map = (d->board != NULL) ? d->board->efa : NULL;
    unsigned rank = 0;
    for (unsigned i = 0; i < found->count; i++) {
        char address[PCI_ADDRESS_CAP];
        pci_address_text(found->efa[i].address, address);
        bool lower = found->efa[i].address < found->efa[at].address;
        rank += (lower && mapped_number(map, address) < 0) ? 1u : 0u;
    }
    return rank;
}

static bool has_number(const struct devices *d, unsigned number)
{
    return d != NULL && devices_numbered(d, number) >= 0;
}

/*
 * Chooses the number of a device that is not in the EFA map. A device of the previous table keeps
 * its number, because claim records contain the number; another device gets a free number.
 */
static unsigned unmapped_number(const struct devices *d, const struct devices *before,
                                const struct found_efas *found, unsigned at)
{
    unsigned rank = rank_of(d, found, at);
    for (unsigned i = 0; before != NULL && i < before->count; i++) {
        if (before->device[i].efa.address == found->efa[at].address) {
            return before->device[i].number;
        }
    }
    for (unsigned i = 0; i < EFAS_MAX; i++) {
        unsigned number = BOARD_GROUPED_DEVICES + (rank + i) % EFAS_MAX;
        if (!has_number(before, number) && !has_number(d, number)) {
            return number;
        }
    }
    /*
     * No number is free, because removed devices still occupy numbers in `before`; those numbers
     * are free again in the next probe.
     */
    return BOARD_GROUPED_DEVICES + rank;
}

/*
 * Whether any device node that the probe found is a character device. If so, plain files are not
 * accepted as device nodes.
 */
static bool has_character_devices(const struct found_efas *found)
{
    bool any = false;
    for (unsigned i = 0; i < found->count; i++) {
        any = any || found->efa[i].place.node != 0u;
    }
    return any;
}

static bool has_address(const struct devices *d, uint32_t address)
{
    bool has = false;
    for (unsigned i = 0; i < d->count; i++) {
        has = has || d->device[i].efa.address == address;
    }
    return has;
}

/*
 * Whether the device has a usable uverbs node, and the table has neither its number nor its address
 * yet.
 */
static bool has_place(const struct devices *d, const struct found_efas *found, unsigned at,
                      unsigned number)
{
    const struct found_efa *one = &found->efa[at];
    bool usable = one->node_exists && (one->place.node != 0u || !has_character_devices(found));
    bool distinct = devices_numbered(d, number) < 0 && !has_address(d, one->address);
    return one->verbs && usable && distinct;
}

static void add_device(struct devices *d, const struct devices *before,
                       const struct found_efas *found, unsigned at, struct probe_issues *issues)
{
    const struct efa_map *map = (d->board != NULL) ? d->board->efa : NULL;
    const struct found_efa *one = &found->efa[at];
    char address[PCI_ADDRESS_CAP];
    struct device device;
    pci_address_text(one->address, address);
    int mapped = mapped_number(map, address);
    unsigned number = (mapped >= 0) ? (unsigned)mapped : unmapped_number(d, before, found, at);
    if (!has_place(d, found, at, number)) {
        probe_issue_node(issues, PROBE_ISSUE_EFA_VERBS, view_text(address));
        return;
    }
    if (mapped < 0 && map != NULL) {
        probe_issue_node(issues, PROBE_ISSUE_EFA_UNMAPPED, view_text(address));
    }
    build_device(&device, one, number);
    devices_insert(d, &device);
}
_Static_assert(BOARD_GROUPED_DEVICES + EFAS_MAX <= DEVICES_MAX, "a number for each device");

static void report_table(const struct devices *d, const struct found_efas *found,
                         struct probe_issues *issues)
{
    const struct efa_map *map = (d->board != NULL) ? d->board->efa : NULL;
    if (found->ignored > 0u) {
        probe_issue_count(issues, PROBE_ISSUE_EFA_IGNORED, found->ignored);
    }
    if (found->count == 0u) {
        probe_issue_node(issues, PROBE_ISSUE_NO_EFA, view_of(NULL, 0));
    } else if (map != NULL && d->count != mapped_count(map)) {
        uint8_t text[sizeof "4294967295 of 4294967295 devices"];
        struct writer out = writer_of(text, sizeof text);
        WRITE(&out, "% of % devices", NUMBER(d->count), NUMBER(mapped_count(map)));
        probe_issue_node(issues, PROBE_ISSUE_EFA_COUNT, writer_view(&out));
    }
}

void efas_build(struct devices *d, const struct devices *before, const struct found_efas *found,
                struct probe_issues *issues)
{
    ASSERT(found->count <= EFAS_MAX);
    issues->count = 0;
    issues->more = 0;
    d->driver = DRIVER_EFA;
    d->lnc_allowed = 0;
    d->lnc_host = 0;
    d->driver_version[0] = '\0';
    d->taints = NULL;
    d->ultraserver = (struct ultraserver){0};
    d->labels = (struct node_labels){0}; /* EFA devices do not publish these labels */
    d->unknown = found->unknown;
    d->counters = false;
    d->shares = 0;
    d->resources = (struct node_resources){0};
    d->count = 0;
    for (unsigned i = 0; i < found->count; i++) {
        add_device(d, before, found, i, issues);
    }
    if (!found->unknown) {
        report_table(d, found, issues);
    }
    ASSERT(devices_valid(d));
}
