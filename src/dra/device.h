/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: checks the contents of the kernel module's files and combines them with the
 * board's row. Owns the meaning of sysfs texts and of attributes; reads no file and knows no
 * protocol. Sources: kernel module's neuron_cdev.c and neuron_sysfs_metrics.c (layout), AWS Neuron
 * DRA documentation (attributes).
 *
 * Invariants:
 * I1 devices_build always builds a valid table (devices_valid).
 * I2 The table contains a found device, once, if its number is below DEVICES_MAX and its device
 *    node was found. If any node is a character device, plain files do not count as device nodes.
 * I3 Core count and neighbours are the numbers in their files; without a valid number, they are 0.
 * I4 The texts of probe issues are printable ASCII.
 * I5 Attributes ascend by key, and the API server accepts each of them.
 * I6 slice_compare finds a stored slice equal only if its devices have exactly these attributes.
 */
#ifndef DRA_DEVICE_H
#define DRA_DEVICE_H

#include "base/bytes.h"
#include "boards/board.h"
#include "cfg/limits.h"
#include "dra/driver.h"
#include "dra/health.h"
#include "dra/node_resource.h"
#include "dra/taint.h"
#include "dra/ultraserver.h"

/* --- what the host found: raw texts, exactly as read --- */

/* Identity of a device, to distinguish it from a later device with the same number. */
struct device_place {
    /*
     * inode of class/neuron_device/neuronN, which changes when the kernel creates the folder again;
     * 0: absent
     */
    uint64_t folder;
    /* major and minor number of the device's node in <dev-root>; 0: not a character device */
    uint64_t node;
};

/* Size of the text in the file numa_node of a PCI device: at most ten digits, a sign, NUL. */
#define NUMA_VALUE_CAP 12u
/*
 * Size of the name of a PCI root complex: "pci", a domain of at most eight hexadecimal digits, a
 * colon, two digits of the bus, NUL.
 */
#define PCIE_ROOT_CAP 15u
/*
 * Size of the name of an RDMA device, such as rdmap16s25: the kernel's IB_DEVICE_NAME_MAX, NUL
 * included.
 */
#define RDMA_NAME_CAP 64u

/* Additional facts of a device of DRIVER_EFA; all zero for a Neuron device. */
struct efa_function {
    uint32_t address;              /* PCI address as a number (pci_address_parse) */
    uint16_t uverbs;               /* N of /dev/infiniband/uverbsN */
    uint16_t subsystem;            /* PCI subsystem ID, such as efa0; 0: unknown */
    char rdma_name[RDMA_NAME_CAP]; /* name of the RDMA device; empty: unknown */
};

/* One device as sysfs shows it. */
struct found_device {
    uint16_t number;  /* N of class/neuron_device/neuronN */
    bool node_exists; /* <dev-root>/neuronN exists */
    struct device_place place;
    char core_count[SYSFS_VALUE_CAP]; /* text of the file core_count; empty: absent or unreadable */
    char connected_devices[SYSFS_VALUE_CAP];
    /*
     * numa_node of the PCI function at the board's address for this device; empty: no function has
     * this address
     */
    char numa_node[NUMA_VALUE_CAP];
    /* root complex: first directory in the sysfs path of the device's PCI function */
    char pcie_root[PCIE_ROOT_CAP];
    struct device_reading reading; /* the device's health files, as read in this probe */
};

/* The node as sysfs, DMI and procfs show it. */
struct found_node {
    /* name of the instance type, from DMI or --instance-type; may start with "ml." */
    char product_name[SYSFS_VALUE_CAP];
    /* text of module/neuron/version; empty: the module is not loaded */
    char driver_version[SYSFS_VALUE_CAP];
    char boot_id[SYSFS_VALUE_CAP];
    char lnc_config[SYSFS_VALUE_CAP]; /* the host's file logical_nc_config; empty: absent */
    /* facts about the UltraServer; empty: the instance type belongs to no UltraServer */
    struct found_ultraserver ultraserver;
    bool unknown; /* the probe failed: `count` is 0 and meaningless */
    uint16_t count;
    /*
     * number of entries of class/neuron_device left out, because they exceed DEVICES_MAX or are not
     * named neuronN
     */
    uint16_t ignored;
    struct found_device devices[DEVICES_MAX]; /* the devices found, in any order */
};

/* --- the device table --- */

/* One device of the table. */
struct device {
    uint16_t number;     /* device index N, published as deviceId */
    uint16_t core_count; /* number of physical cores; 0: unknown */
    bool at_pci_address; /* a PCI function exists at the device's known PCI address */
    /* root complex of the device's PCI function, e.g. pci0000:c8; empty: unknown */
    char pcie_root[PCIE_ROOT_CAP];
    int16_t numa_node;  /* NUMA node of the device's PCI function; -1: none or unknown */
    uint8_t neighbours; /* number of entries in `neighbour`; 0: no neighbour, or unknown */
    uint16_t neighbour[NEIGHBOURS_MAX];
    struct device_place place;
    struct device_reading reading; /* what the health files showed in the last probe */
    struct efa_function efa;
    char name[DEVICE_NAME_CAP]; /* published name: neuron-device-N, neuron-node, or pci-<address> */
    /* the device stands for all devices of the node; it has number 0 and no PCI address */
    bool node;
    uint8_t tainted; /* bit N: the device is published with taint N of its table's `taints` */
    /* element N: Unix time at which taint N began, in seconds; unused if the device lacks it */
    int64_t taint_s[TAINTS];
};

/* Bytes of a list of all device numbers: two digits and a comma for each. */
#define DEVICE_NUMBERS_CAP (DEVICES_MAX * 3u)
/* What a message says after the name of a device that an allocation names and the node lacks. */
#define DEVICE_GONE_TEXT                                                                           \
    " is gone: the kernel module no longer shows it (see dmesg). Delete the pod to get another "   \
    "device."

/* Texts that say why a slice lacks a device of the node. */
#define DEVICE_MISSING_TEXT "the kernel module does not show it; see dmesg"
#define DEVICE_UNHEALTHY_TEXT "it is unhealthy"
#define DEVICE_DRAINED_TEXT "the node is being drained"

#define NETWORK_LAYERS 3u /* number of layers of the EC2 instance topology; layer 1 is the widest */
/* Labels of the Node object. Empty: the label is absent, or the Node has not been read yet. */
struct node_labels {
    char network_layer[NETWORK_LAYERS][ATTRIBUTE_VALUE_CAP];
    /* id of the capacity block; published as an attribute only for types of an UltraServer */
    char capacity_block[ATTRIBUTE_VALUE_CAP];
};

/* The devices of one driver on this node, and facts about the node that apply to all of them. */
struct devices {
    enum driver_kind driver;   /* the driver of these devices */
    const struct board *board; /* board row of the instance type; NULL: unknown type */
    /* bit n: a claim may ask for LNC n; 0: the LNC is not configurable, or unknown */
    uint8_t lnc_allowed;
    /* LNC from logical_nc_config, for claims that ask for no LNC; 0: the file sets none */
    uint8_t lnc_host;
    /* instance type without the prefix "ml."; empty: unknown */
    char instance_type[ATTRIBUTE_VALUE_CAP];
    char driver_version[ATTRIBUTE_VALUE_CAP];
    char boot_id[UID_CAP];
    struct node_labels labels;
    struct ultraserver ultraserver;
    bool unknown; /* no probe of the node has succeeded yet: the table is meaningless */
    uint16_t count;
    /*
     * the device for the whole node is published beside the others, and all devices consume shared
     * counters
     */
    bool counters;
    /*
     * Number of shares of each device (KEP-5075). 0: no sharing. 1: sharing was switched off while
     * claims still hold shares; the capacity is then published as 1, so that the scheduler
     * allocates no further share.
     */
    uint8_t shares;
    /* what a pod needs of the node for each device of its claim (KEP-5517) */
    struct node_resources resources;
    /* the TAINTS taints by reason, borrowed; NULL if no device is tainted */
    const struct taint *taints;
    /* the devices, in ascending order of their distinct numbers */
    struct device device[DEVICES_MAX];
};

/*
 * Number of NeuronCores in the smallest part of a device that a claim can have: as many as the
 * runtime combines into one logical core by default. 0: claims cannot share the cores, because the
 * device is an EFA device or stands for the node, or its type or its core count is not suitable.
 */
unsigned device_core_unit(const struct devices *d, const struct device *device);
/* Whether the device is published in such a way that several claims can hold it at once. */
bool device_shared(const struct devices *d, const struct device *device);

/* Problems that a probe of the node can find. */
enum probe_issue_kind {
    PROBE_ISSUE_NO_MODULE, /* module/neuron/version is absent: the module is not loaded */
    PROBE_ISSUE_NO_DEVICES,
    PROBE_ISSUE_NO_TYPE, /* the product name is unreadable or is not an instance type */
    /* the instance type has no board row, but its family is known and determines the LNC */
    PROBE_ISSUE_UNKNOWN_TYPE,
    PROBE_ISSUE_UNKNOWN_FAMILY, /* the family of the instance type is unknown, and so is its LNC */
    PROBE_ISSUE_REFUSED_TYPE,   /* the agent refuses this family: no device is published */
    PROBE_ISSUE_COUNT,          /* the number of devices differs from the board's row */
    /*
     * core_count is not a number from 1 to 255, or differs from the core count of the type: one
     * issue for all devices that have the same number of cores
     */
    PROBE_ISSUE_CORES,
    PROBE_ISSUE_NEIGHBOURS, /* connected_devices is not a list of numbers */
    PROBE_ISSUE_NO_NODE,    /* /dev/neuronN is absent or not a device: the device is left out */
    PROBE_ISSUE_DUPLICATE,  /* two devices have the same number: the second one is left out */
    /* entries of class/neuron_device were left out: not named neuronN, or over DEVICES_MAX */
    PROBE_ISSUE_IGNORED,
    PROBE_ISSUE_VERSION, /* the module version is too long or not printable: it is left out */
    PROBE_ISSUE_BOOT_ID, /* the boot id is unreadable: claim records have no boot id */
    /* the UltraServer leader election still runs, or ultraserver_mode is not a list of modes */
    PROBE_ISSUE_ULTRASERVER,
    /* logical_nc_config has no LNC of this instance type: the file is ignored */
    PROBE_ISSUE_LNC_CONFIG,
    PROBE_ISSUE_HEALTH_FILES, /* a device lacks health files that its kernel module should have */
    PROBE_ISSUE_NO_EFA,       /* the kernel driver efa has no device */
    PROBE_ISSUE_EFA_COUNT,    /* the number of EFA devices differs from the board's map */
    PROBE_ISSUE_EFA_VERBS,    /* an EFA device without uverbs entry or node is left out */
    /* an EFA device is not in the board's EFA map: the device gets no device groups */
    PROBE_ISSUE_EFA_UNMAPPED,
    PROBE_ISSUE_EFA_IGNORED, /* some EFA devices were left out: there are more than EFAS_MAX */
    PROBE_ISSUE_KINDS
};
#define PROBE_ISSUE_NO_NUMBER UINT16_MAX /* `number` of an issue that concerns the whole node */
/* One issue of a probe, for the log. */
struct probe_issue {
    enum probe_issue_kind kind;
    /* number of the device; PROBE_ISSUE_NO_NUMBER: the issue concerns the whole node */
    uint16_t number;
    char text[SYSFS_VALUE_CAP]; /* the offending value; non-printable bytes replaced by '?' */
    const char *remedy;         /* what to do, in one clause; static text */
};
/* Most issues that one probe keeps: one for each device, and eight that concern the whole node. */
#define PROBE_ISSUES_MAX (DEVICES_MAX + 8u)
/* All issues of one probe. */
struct probe_issues {
    uint16_t count; /* number of entries in `issue`; further issues are only counted, in `more` */
    uint16_t more;
    struct probe_issue issue[PROBE_ISSUES_MAX];
};

/* Name of an issue for log lines, e.g. "no-module". Static text; never NULL. */
const char *probe_issue_name(enum probe_issue_kind kind);

/*
 * Builds the table from what the probe found. Never fails: leaves out uncertain values and reports
 * them as issues. A device keeps its number when other devices are missing: the number is its
 * position in the topology, which the kernel module's routing tables fix, so facts derived from the
 * number stay certain. Does not change the labels in `d`.
 */
void devices_build(struct devices *d, const struct found_node *found, struct probe_issues *issues);
/*
 * Why no device of the node's instance family is published, and the remedy: static text. NULL: the
 * family is not refused.
 */
const char *devices_refusal(const struct devices *d);
/*
 * Adds device `number`, which the probe did not find but a claim holds, unless the table already
 * has it. The device gets the core count of its family; all that its files would show is unknown.
 */
void devices_keep(struct devices *d, unsigned number);
/*
 * Whether all devices of an UltraServer type are present, so that they can be published and
 * prepared as one device for the node. Always false for other types.
 */
bool devices_are_node(const struct devices *d);
/*
 * Adds one device NODE_DEVICE_NAME that stands for all devices and has the cores of all of them; it
 * has each taint that any of them has. Adds no device if devices_are_node is false. With `alone`,
 * the table keeps only the added device. Otherwise the added device follows the others in the
 * table, and all devices consume shared counters (KEP-4815), one for each device of the host, so
 * that no scheduler allocates a device twice; a table with more devices than its type has gets
 * neither.
 */
void devices_add_node(struct devices *d, bool alone);
/* Whether all texts end in NUL, counts and numbers are in bounds, and devices ascend by number. */
bool devices_valid(const struct devices *d);
/* Whether two sets of labels result in the same attributes. */
bool node_labels_same(const struct node_labels *a, const struct node_labels *b);
/*
 * Copies the table `from` to `to`. Does not touch the memory of `to` after its last device, so that
 * unused pages stay non-resident.
 */
void devices_copy(struct devices *to, const struct devices *from);
/* Whether two tables of found devices result in the same published attributes. */
bool devices_same(const struct devices *a, const struct devices *b);
/* Writes the published name of the Neuron device with this number. */
void neuron_device_name(unsigned number, char name[DEVICE_NAME_CAP]);
/*
 * Whether `name` is the published name of a Neuron device whose number is at most `last`. If so,
 * sets *number.
 */
MUST_USE bool neuron_device_number(struct view name, uint64_t last, uint64_t *number);
/*
 * Writes the published name of the device with this number. If the table does not have the device:
 * the name of a Neuron device of this number, or of the EFA device that the board's map gives this
 * number, or else "pci-?".
 */
void devices_name(const struct devices *d, unsigned number, char out[DEVICE_NAME_CAP]);
/* Index in the table of the device with this number; -1: the table has no such device. */
int devices_numbered(const struct devices *d, unsigned number);
/* Index in the table of the EFA device with this PCI address; -1: the table has no such device. */
int devices_addressed(const struct devices *d, uint32_t address);
/*
 * Bit N: the device consumes the counter of device N. If `device` is NULL: any device of the table
 * consumes it.
 */
uint64_t devices_counters(const struct devices *d, const struct device *device);
/* The bit of device `number`, which must be below DEVICES_MAX, in a mask of devices. */
static inline uint64_t device_bit(unsigned number)
{
    return UINT64_C(1) << number;
}
/* Bit N: the table has a device with number N. The device for the whole node has no number. */
uint64_t devices_numbers(const struct devices *d);
/* Writes the device numbers in a mask as "0,1,2"; at most DEVICE_NUMBERS_CAP bytes. */
void device_numbers_write(struct writer *out, uint64_t numbers);
/* Index in the table of the device with this published name; -1: the table has no such device. */
int devices_find(const struct devices *d, struct view name);

/* --- attributes, in the order of their keys (byte order, as the API server stores maps) --- */

/* Types of a DeviceAttribute (resource.k8s.io), and CAPACITY for a capacity. */
enum attribute_type {
    ATTRIBUTE_INT,
    ATTRIBUTE_BOOL,
    ATTRIBUTE_STRING,
    ATTRIBUTE_VERSION,
    ATTRIBUTE_CAPACITY
};
/*
 * Default and granularity of a shared capacity (its requestPolicy):
 * - CAPACITY_UNASKED_NOTHING: a claim that does not request the capacity consumes none of it.
 * - CAPACITY_ALL: such a claim consumes all of it; no policy is published.
 * - N from CAPACITY_STEP to CAPACITY_STEP_MAX: such a claim consumes all of it, and a claim that
 *   requests some of it gets a multiple of N.
 */
enum { CAPACITY_UNASKED_NOTHING = -1, CAPACITY_ALL, CAPACITY_STEP, CAPACITY_STEP_MAX };
/* One attribute or capacity of a device. */
struct attribute {
    char key[ATTRIBUTE_KEY_CAP];
    enum attribute_type type;
    /* INT, BOOL: the value; CAPACITY: the step, or CAPACITY_ALL or CAPACITY_UNASKED_NOTHING */
    int64_t number;
    char text[ATTRIBUTE_VALUE_CAP]; /* STRING, VERSION: the value; CAPACITY: a Quantity */
};
/* All attributes and capacities of one device, by ascending key. */
struct attributes {
    unsigned count;
    struct attribute attribute[ATTRIBUTES_MAX];
};
/*
 * Builds the attributes of the device with index `index`, without those that the API server would
 * refuse.
 *
 * An EFA device has the attributes that dranet publishes for an EFA device without a network
 * interface, with dranet's names and types: dra.net/… (even if this driver has another name), the
 * groups of its Neuron devices, and Kubernetes' standard attributes. If claims can share the
 * device, the capacity SHARES_CAPACITY is the number of shares.
 *
 * A Neuron device has those attributes of AWS's driver whose values are certain, with the exact
 * names and types. It also has the following ones; only the standard attributes have qualified
 * keys:
 * - coreCount (int): physical cores;
 * - lncConfigurable (bool): whether a claim may ask for an LNC;
 * - contiguousN_id (int): the line of N linked devices that contains the device;
 * - memory (capacity): if the type, or at least the family with its core count, is known;
 * - CORES_CAPACITY (capacity): physical cores, if claims can share the device;
 * - Kubernetes' standard attributes numaNode, pciBusID and pcieRoot (KEP-6072, KEP-4381): if sysfs
 *   has a PCI function at the address in the board's row;
 * - ultraserverServerId2, ultraserverServerId4: on a node of an UltraServer, the node's set of two
 *   and of four nodes; ultraserverNodeId2, ultraserverNodeId4: the node's id in each set.
 * The device that stands for the node has deviceCount instead of the facts about a single device.
 */
void device_attributes(const struct devices *d, unsigned index, struct attributes *out);
/* Builds only the attributes that device_attributes leaves out, so that the agent can log them. */
void device_attributes_left_out(const struct devices *d, unsigned index, struct attributes *out);

#endif
