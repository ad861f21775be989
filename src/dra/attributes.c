/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the attributes of a device: those of AWS's driver for a Neuron device, those of dranet for
 * an EFA device. Names and types are the same as in these drivers, because a CEL expression fails
 * if an attribute has a wrong type, and one failing expression blocks scheduling. The functions
 * append the attributes in the byte order of the keys.
 */
#include "dra/claim.h"

#include "base/assert.h"
#include "cfg/identity.h"
#include "dra/pci.h"
#include "dra/issue.h"

/*
 * Sizes of a group of devices: the N in the attributes topologyN_id and devicegroupN_id (AWS Neuron
 * DRA documentation).
 */
#define SMALL_GROUP 4u
#define LARGE_GROUP 8u
#define FULL_GROUP 16u

/*
 * Appends an attribute with this key. Keys must ascend, because the API server sorts maps by key.
 */
static struct attribute *append_attribute(struct attributes *out, const char *key,
                                          enum attribute_type type)
{
    ASSERT(out->count < ATTRIBUTES_MAX);
    struct attribute *a = &out->attribute[out->count];
    text_set(a->key, sizeof a->key, key);
    a->type = type;
    a->number = 0;
    a->text[0] = '\0';
    out->count++;
    return a;
}

static void add_int(struct attributes *out, const char *key, int64_t value)
{
    append_attribute(out, key, ATTRIBUTE_INT)->number = value;
}

static void add_bool(struct attributes *out, const char *key, bool value)
{
    append_attribute(out, key, ATTRIBUTE_BOOL)->number = value ? 1 : 0;
}

/* Adds a string attribute. If the text is empty, the value is unknown, and nothing is added. */
static void add_string(struct attributes *out, const char *key, const char *value)
{
    if (value[0] != '\0') {
        struct attribute *a = append_attribute(out, key, ATTRIBUTE_STRING);
        text_set(a->text, sizeof a->text, value);
    }
}

static void add_version(struct attributes *out, const char *key, const char *value)
{
    struct attribute *a = append_attribute(out, key, ATTRIBUTE_VERSION);
    text_set(a->text, sizeof a->text, value);
}

/*
 * Adds contiguousN_id for each size N, in the byte order of the keys (10 before 2). The node's
 * devices are split into lines of N consecutive numbers, in which each device is linked with the
 * next one; the id is the number of the line that contains the device. So a claim for N devices
 * with equal contiguousN_id gets one line. The last devices, if too few for a line, get no id, so
 * that the scheduler never tries them for such a claim.
 */
static void add_contiguous(struct attributes *out, const struct board *board, unsigned number)
{
    static const uint8_t sizes[] = {10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9};
    unsigned longest = (board != NULL) ? board->contiguous : 0u;
    for (size_t i = 0; i < sizeof sizes; i++) {
        unsigned size = sizes[i];
        unsigned line = number / size;
        if (size <= longest && (line + 1u) * size <= board->devices) {
            char key[sizeof "contiguous12_id"];
            WRITE_TEXT(key, sizeof key, "contiguous%_id", NUMBER(size));
            add_int(out, key, line);
        }
    }
}

static void add_network(struct attributes *out, const struct node_labels *labels)
{
    add_string(out, "networkNodeLayer1", labels->network_layer[0]);
    add_string(out, "networkNodeLayer2", labels->network_layer[1]);
    add_string(out, "networkNodeLayer3", labels->network_layer[2]);
}

static void add_groups(struct attributes *out, const struct board *board,
                       const struct device *device)
{
    const struct efa_map *efa = (board != NULL) ? board->efa : NULL;
    unsigned number = device->number;
    if (efa == NULL || number >= BOARD_GROUPED_DEVICES) {
        return;
    }
    _Static_assert(BOARD_GROUPED_DEVICES == FULL_GROUP, "one group of all");
    add_string(out, "resource.aws.com/devicegroup16_id", efa->group16);
    if (device->node) {
        return; /* the device that stands for the whole node belongs to no group within the node */
    }
    add_string(out, "resource.aws.com/devicegroup1_id", efa->address[number]);
    add_string(out, "resource.aws.com/devicegroup4_id", efa->group4[number / SMALL_GROUP]);
    add_string(out, "resource.aws.com/devicegroup8_id", efa->group8[number / LARGE_GROUP]);
}

/*
 * Adds the standard attributes of Kubernetes, which let a claim align devices of several drivers.
 */
static void add_standard(struct attributes *out, const char *address, const struct device *device)
{
    if (!device->at_pci_address) {
        return;
    }
    if (device->numa_node >= 0) {
        add_int(out, "resource.kubernetes.io/numaNode", device->numa_node);
    }
    add_string(out, "resource.kubernetes.io/pciBusID", address);
    add_string(out, "resource.kubernetes.io/pcieRoot", device->pcie_root);
}

/*
 * Adds the memory of the whole device, as a Quantity in the canonical form that the API server
 * stores. For an instance type without a board row, adds the memory of the type's family if the
 * device has the core count of that family.
 */
static void add_memory(struct attributes *out, const struct devices *d, const struct device *device)
{
    const struct board_family *family = board_family(d->instance_type);
    bool known = d->board != NULL;
    if (family == NULL || (!known && device->core_count != family->cores_per_device)) {
        return;
    }
    ASSERT(known || !device->node);
    unsigned devices = device->node ? d->board->devices : 1u;
    unsigned gib = family->memory_gib * devices;
    struct attribute *a = append_attribute(out, "memory", ATTRIBUTE_CAPACITY);
    a->number = device_shared(d, device) ? CAPACITY_UNASKED_NOTHING : CAPACITY_ALL;
    bool tebi = gib % 1024u == 0u;
    WRITE_TEXT(a->text, sizeof a->text, "%%i", NUMBER(tebi ? gib / 1024u : gib),
               TEXT(tebi ? "T" : "G"));
}

static void add_grid(struct attributes *out, const struct board *board, unsigned number)
{
    unsigned cells = (board != NULL) ? (unsigned)board->grid_rows * board->grid_columns : 0u;
    if (number >= cells) {
        return;
    }
    if (cells >= SMALL_GROUP) {
        add_int(out, "topology4_id", number / SMALL_GROUP);
    }
    if (cells >= LARGE_GROUP) {
        add_int(out, "topology8_id", number / LARGE_GROUP);
    }
    /*
     * In the grid of devices, x is the row and y is the column, as in recorded output of AWS's
     * driver.
     */
    add_int(out, "topology_x", number / board->grid_columns);
    add_int(out, "topology_y", number % board->grid_columns);
}

/*
 * Adds the node's place in its UltraServer: for the set of two nodes and for the set of four nodes,
 * the server id, which identifies the set, and the node id in the set. The two ids of a set are
 * published together or not at all.
 */
static void add_ultraserver(struct attributes *out, const struct ultraserver *u)
{
    const struct ultraserver_place *pair = &u->place[ULTRASERVER_PAIR];
    const struct ultraserver_place *quad = &u->place[ULTRASERVER_QUAD];
    if (pair->server_id[0] != '\0') {
        add_int(out, "ultraserverNodeId2", pair->node_id);
    }
    if (quad->server_id[0] != '\0') {
        add_int(out, "ultraserverNodeId4", quad->node_id);
    }
    add_string(out, "ultraserverServerId2", pair->server_id);
    add_string(out, "ultraserverServerId4", quad->server_id);
}

/*
 * Adds the PCI subsystem ID in four hexadecimal digits, like dranet; adds nothing if it is 0, which
 * means unknown.
 */
static void add_subsystem(struct attributes *out, uint16_t subsystem)
{
    char text[8] = {0};
    struct writer w = writer_of(text, sizeof text);
    if (subsystem != 0u) {
        writer_hex(&w, subsystem, 4u);
    }
    writer_close_text(&w);
    add_string(out, "dra.net/pciSubsystem", text);
}

/*
 * Adds a capacity of `units`. `step`: claims can request multiples of this number; CAPACITY_ALL: no
 * step is published. A claim that does not request the capacity consumes all of it, so that no
 * other claim gets a share.
 */
static void add_shares(struct attributes *out, const char *key, unsigned units, unsigned step)
{
    struct attribute *a = append_attribute(out, key, ATTRIBUTE_CAPACITY);
    a->number = step;
    WRITE_TEXT(a->text, sizeof a->text, "%", NUMBER(units));
}

static void add_cores(struct attributes *out, const struct devices *d, const struct device *device)
{
    unsigned unit = device_core_unit(d, device);
    if (d->shares > 1u && unit > 0u) {
        add_shares(out, CORES_CAPACITY, device->core_count, unit);
    } else if (d->shares > 0u && unit > 0u) {
        /*
         * Sharing was switched off while claims still hold parts. With a capacity of only 1, these
         * parts already consume all of it, so the scheduler allocates no further part.
         */
        add_shares(out, CORES_CAPACITY, 1u, (unsigned)CAPACITY_ALL);
    }
}

/*
 * Adds two attributes: logicalNeuronCore, the LNC of the claim's containers (the LNC in `result`,
 * or else the runtime's default), and logicalCores, the range of the claim's cores on the device,
 * counted in logical cores of this LNC.
 */
static void add_claimed(struct attributes *out, const struct devices *d,
                        const struct device *device, const struct claim_result *result)
{
    char text[8] = {0};
    struct writer w = writer_of(text, sizeof text);
    unsigned unit = device_core_unit(d, device);
    unsigned lnc = (result->logical_neuron_core != 0u) ? result->logical_neuron_core : unit;
    unsigned all = (unit > 0u) ? (1u << device->core_count) - 1u : 0u;
    uint8_t cores = (result->cores != 0u) ? result->cores : (uint8_t)all;
    if (lnc == 0u) {
        return; /* the LNC of the claim's containers is unknown, so the attributes are left out */
    }
    if (cores != 0u && claim_numbers_count(cores) % lnc == 0u) {
        cores_write(&w, cores, lnc);
    }
    writer_close_text(&w);
    add_string(out, "logicalCores", text);
    add_int(out, "logicalNeuronCore", lnc);
}

/*
 * Builds the attributes of an EFA device. The values of pciVendor and pciDevice are the names in
 * the PCI ID database, because the DeviceClass in AWS's chart selects devices by these names.
 */
static void build_efa(const struct devices *d, const struct device *device, struct attributes *out)
{
    char address[PCI_ADDRESS_CAP];
    pci_address_text(device->efa.address, address);
    if (device->numa_node >= 0) {
        add_int(out, "dra.net/numaNode", device->numa_node);
    }
    add_string(out, "dra.net/pciAddress", address);
    add_string(out, "dra.net/pciDevice", "Elastic Fabric Adapter (EFA)");
    add_subsystem(out, device->efa.subsystem);
    add_string(out, "dra.net/pciVendor", "Amazon.com, Inc.");
    add_bool(out, "dra.net/rdma", true);
    add_string(out, "dra.net/rdmaDevice", device->efa.rdma_name);
    add_groups(out, d->board, device);
    add_standard(out, address, device);
    if (d->shares > 0u) {
        add_shares(out, SHARES_CAPACITY, d->shares,
                   (d->shares > 1u) ? (unsigned)CAPACITY_STEP : (unsigned)CAPACITY_ALL);
    }
}

/*
 * Builds the attributes of a Neuron device. `result`: a claim's allocation result for the device;
 * the attributes then include those that only the claim's containers see. NULL: builds only the
 * attributes to publish.
 */
static void build_neuron(const struct devices *d, const struct device *device,
                         const struct claim_result *result, struct attributes *out)
{
    if (d->board != NULL && d->board->ultraserver) {
        add_string(out, "capacityBlockId", d->labels.capacity_block);
    }
    if (!device->node) {
        add_contiguous(out, d->board, device->number);
    }
    if (device->core_count > 0u) {
        add_int(out, "coreCount", device->core_count);
    }
    add_cores(out, d, device);
    if (device->node) {
        /* only an instance type with a board row has a device for the whole node */
        ASSERT(d->board != NULL);
        add_int(out, "deviceCount", d->board->devices);
    } else {
        add_int(out, "deviceId", device->number);
    }
    add_version(out, "draDriverVersion", AGENT_VERSION);
    add_string(out, "instanceType", d->instance_type);
    add_bool(out, "lncConfigurable", d->lnc_allowed != 0u);
    if (result != NULL) {
        add_claimed(out, d, device, result);
    }
    add_memory(out, d, device);
    add_network(out, &d->labels);
    add_string(out, "neuronDriverVersion", d->driver_version);
    add_groups(out, d->board, device);
    add_standard(out, board_pci_address(d->board, device->number), device);
    add_string(out, "resourceType", device->node ? "neuron_node" : "neuron_device");
    add_grid(out, d->board, device->number);
    add_ultraserver(out, &d->ultraserver);
}

static void build_attributes(const struct devices *d, unsigned index,
                             const struct claim_result *result, struct attributes *out)
{
    ASSERT(index < d->count);
    const struct device *device = &d->device[index];
    out->count = 0;
    if (d->driver == DRIVER_EFA) {
        build_efa(d, device, out);
    } else {
        build_neuron(d, device, result, out);
    }
}

/*
 * Keeps only some of the attributes: with `with_issue`, those that the API server would refuse;
 * otherwise, those that it accepts.
 */
static void select_attributes(struct attributes *all, bool with_issue)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < all->count; i++) {
        bool bad = attribute_issue(&all->attribute[i]) != ISSUE_NONE;
        if (bad == with_issue) {
            all->attribute[kept] = all->attribute[i];
            kept++;
        }
    }
    all->count = kept;
}

void device_attributes(const struct devices *d, unsigned index, struct attributes *out)
{
    build_attributes(d, index, NULL, out);
    select_attributes(out, false);
}

void claim_attributes(const struct claim_result *result, const struct devices *d, unsigned index,
                      struct attributes *out)
{
    build_attributes(d, index, result, out);
    select_attributes(out, false);
}

void device_attributes_left_out(const struct devices *d, unsigned index, struct attributes *out)
{
    build_attributes(d, index, NULL, out);
    select_attributes(out, true);
}
