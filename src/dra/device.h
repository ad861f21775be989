/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: the kernel module's files, checked and joined with the board's row. Owns the
 * meaning of sysfs texts and of attributes; reads no file, knows no protocol. Sources: kernel
 * module's neuron_cdev.c and neuron_sysfs_metrics.c (layout), AWS Neuron DRA documentation
 * (attributes).
 *
 * Invariants:
 * I1 A table that was built is valid.
 * I2 The table has each device number below DEVICES_MAX once if the device was found together with
 *    its node. A plain file does not count as a node where other nodes are character devices.
 * I3 Core count and neighbours are the numbers of their texts, or 0 if these are not valid numbers.
 * I4 The texts of probe issues are printable ASCII.
 * I5 Attributes ascend by key, and the API server accepts each of them.
 * I6 A stored slice is equal exactly when it has these attributes and nothing more.
 */
#ifndef DRA_DEVICE_H
#define DRA_DEVICE_H

#include "base/bytes.h"
#include "boards/board.h"
#include "cfg/limits.h"
#include "dra/driver.h"
#include "dra/health.h"
#include "dra/ultraserver.h"

/* --- what the host found: raw texts, exactly as read --- */

/* Identity of a device: distinguishes it from a device that gets the same number later. */
struct device_place {
    /* inode of class/neuron_device/neuronN, new whenever the kernel creates it; 0: absent */
    uint64_t folder;
    uint64_t node; /* major and minor number of its node in <dev-root>; 0: no character device */
};

/* numa_node of a PCI device: at most ten digits, a sign, NUL. */
#define NUMA_VALUE_CAP 12u
/* "pci", a domain of at most eight hexadecimal digits, a colon, two digits of the bus, NUL. */
#define PCIE_ROOT_CAP 15u
/* Name of an RDMA device, such as rdmap16s25; the kernel's IB_DEVICE_NAME_MAX, NUL included. */
#define RDMA_NAME_CAP 64u

/* Additional facts of a device of DRIVER_EFA; all zero for a Neuron device. */
struct efa_function {
    uint32_t address;              /* PCI address, see efa.h */
    uint16_t uverbs;               /* N of /dev/infiniband/uverbsN */
    uint16_t subsystem;            /* PCI subsystem ID, such as efa0; 0: unknown */
    char rdma_name[RDMA_NAME_CAP]; /* empty: unknown */
};

/* One device as sysfs shows it. */
struct found_device {
    uint16_t number;  /* N of class/neuron_device/neuronN */
    bool node_exists; /* <dev-root>/neuronN exists */
    struct device_place place;
    char core_count[SYSFS_VALUE_CAP]; /* empty: file absent or unreadable */
    char connected_devices[SYSFS_VALUE_CAP];
    char numa_node[NUMA_VALUE_CAP]; /* at the board's PCI address; empty: no function there */
    char pcie_root[PCIE_ROOT_CAP];  /* first directory of that function's path in sysfs */
    struct device_reading reading;  /* its health files, as read in this probe */
};

/* The node as sysfs, DMI and procfs show it. */
struct found_node {
    char product_name[SYSFS_VALUE_CAP];   /* DMI, or --instance-type; may start with "ml." */
    char driver_version[SYSFS_VALUE_CAP]; /* module/neuron/version; empty: module not loaded */
    char boot_id[SYSFS_VALUE_CAP];
    char lnc_config[SYSFS_VALUE_CAP];     /* the host's logical_nc_config; empty: absent */
    struct found_ultraserver ultraserver; /* read only for UltraServer types */
    bool unknown;                         /* the probe failed: `count` is 0 and meaningless */
    uint16_t count;
    /* number of entries left out: more than DEVICES_MAX, or not named neuronN */
    uint16_t ignored;
    struct found_device devices[DEVICES_MAX]; /* in any order */
};

/* --- the table --- */

/* One device of the table. */
struct device {
    uint16_t number;     /* device index N, published as deviceId */
    uint16_t core_count; /* 0: unknown */
    bool at_pci_address; /* a PCI function exists at the board's address of this device */
    /* root complex of that function, e.g. pci0000:c8; empty: unknown */
    char pcie_root[PCIE_ROOT_CAP];
    int16_t numa_node;  /* NUMA node of that function; -1: none or unknown */
    uint8_t neighbours; /* entries in `neighbour`; 0: none or unknown */
    uint16_t neighbour[NEIGHBOURS_MAX];
    struct device_place place;
    struct device_reading reading; /* see dra/health.h */
    struct efa_function efa;
    char name[DEVICE_NAME_CAP]; /* neuron-device-N, neuron-node, or pci-<address> */
    bool node;                  /* stands for all devices of the node; number 0, no PCI address */
    bool tainted;               /* published with the table's taint */
    int64_t taint_s;            /* when it was tainted, Unix time */
};

/* Bytes of a list of all device numbers: two digits and a comma for each. */
#define DEVICE_NUMBERS_CAP (DEVICES_MAX * 3u)

#define NETWORK_LAYERS 3u /* layers of the EC2 instance topology; layer 1 is the widest */
/* labels of the Node object; empty: absent, or the Node is not read yet */
struct node_labels {
    char network_layer[NETWORK_LAYERS][ATTRIBUTE_VALUE_CAP];
    char capacity_block[ATTRIBUTE_VALUE_CAP]; /* published on UltraServer types only */
};

/* The devices of one driver on this node, with the facts of the node that they share. */
struct devices {
    enum driver_kind driver;   /* the driver that has these devices */
    const struct board *board; /* NULL: unknown type */
    uint8_t lnc_allowed; /* bit n: a claim may ask for LNC n; 0: not configurable, or unknown */
    /* LNC of claims that ask for none, from the host's file; 0: not set there */
    uint8_t lnc_host;
    char instance_type[ATTRIBUTE_VALUE_CAP]; /* without "ml."; empty: unknown */
    char driver_version[ATTRIBUTE_VALUE_CAP];
    char boot_id[UID_CAP];
    struct node_labels labels;
    struct ultraserver ultraserver;
    bool unknown; /* no probe of the node has succeeded yet: the table is meaningless */
    uint16_t count;
    /* the device that stands for the node is published with the others; all consume counters */
    bool counters;
    /*
     * Shares of each device (KEP-5075). 0: no sharing. 1: sharing was switched off while claims
     * still hold shares; the capacity is then published as 1, so that the scheduler allocates no
     * further share.
     */
    uint8_t shares;
    const char *taint_key; /* taint of the tainted devices; NULL if no device is tainted */
    const char *taint_effect;
    struct device device[DEVICES_MAX]; /* ascending by number, numbers distinct */
};

/*
 * NeuronCores of the smallest part of a Neuron device that a claim can have: those that the runtime
 * joins to one logical core by default. 0: the device cannot be shared, because its type is unknown
 * or it stands for the node.
 */
unsigned device_core_unit(const struct devices *d, const struct device *device);
/* Whether the device is published for several claims at the same time. */
bool device_shared(const struct devices *d, const struct device *device);

/* What a probe of the node can find missing or wrong. */
enum probe_issue_kind {
    PROBE_ISSUE_NO_MODULE, /* module/neuron/version absent: the module is not loaded */
    PROBE_ISSUE_NO_DEVICES,
    PROBE_ISSUE_NO_TYPE, /* product name unreadable */
    /* type without a row but of a known family: LNC comes from the family */
    PROBE_ISSUE_UNKNOWN_TYPE,
    PROBE_ISSUE_UNKNOWN_FAMILY, /* type of an unknown family: its LNC is unknown as well */
    PROBE_ISSUE_REFUSED_TYPE,   /* family that this agent refuses: no device is published */
    PROBE_ISSUE_COUNT,          /* number of devices differs from the board's row */
    /* core_count is not a number from 1 to 255, or differs from the row's */
    PROBE_ISSUE_CORES,
    PROBE_ISSUE_NEIGHBOURS, /* connected_devices is not a list of numbers */
    PROBE_ISSUE_NO_NODE,    /* /dev/neuronN absent or not a device: the device is left out */
    PROBE_ISSUE_DUPLICATE,  /* number found twice: the second device is left out */
    PROBE_ISSUE_IGNORED,    /* entries of class/neuron_device that were left out */
    PROBE_ISSUE_VERSION,    /* module version too long or not printable: left out */
    PROBE_ISSUE_BOOT_ID,    /* boot id unreadable: records of claims carry none */
    /* a class file is busy, or ultraserver_mode is not a list of modes */
    PROBE_ISSUE_ULTRASERVER,
    PROBE_ISSUE_LNC_CONFIG,   /* logical_nc_config names no LNC of this type: ignored */
    PROBE_ISSUE_HEALTH_FILES, /* a device lacks health files that its kernel module should have */
    PROBE_ISSUE_NO_EFA,       /* the kernel driver efa has no device */
    PROBE_ISSUE_EFA_COUNT,    /* number of EFA devices differs from the board's map */
    PROBE_ISSUE_EFA_VERBS,    /* EFA device without uverbs entry or node: left out */
    /* EFA device that the board's map does not name: no device groups */
    PROBE_ISSUE_EFA_UNMAPPED,
    PROBE_ISSUE_EFA_IGNORED, /* more than EFAS_MAX EFA devices: the rest is left out */
    PROBE_ISSUE_KINDS
};
#define PROBE_ISSUE_NO_NUMBER UINT16_MAX /* the issue concerns the node */
/* One issue of a probe, for the log. */
struct probe_issue {
    enum probe_issue_kind kind;
    uint16_t number;            /* device, or PROBE_ISSUE_NO_NUMBER */
    char text[SYSFS_VALUE_CAP]; /* the offending value; non-printable bytes replaced by '?' */
    const char *remedy;         /* what to do, in one clause; static text */
};
/* Room for one issue of each device and eight issues of the node. */
#define PROBE_ISSUES_MAX (DEVICES_MAX + 8u)
/* All issues of one probe. */
struct probe_issues {
    uint16_t count; /* issues that do not fit are only counted in `more` */
    uint16_t more;
    struct probe_issue issue[PROBE_ISSUES_MAX];
};

/* Name of an issue for log lines, e.g. "no-module". Static text; never NULL. */
const char *probe_issue_name(enum probe_issue_kind kind);

/*
 * Builds the table from what the probe found. Never fails: whatever is uncertain is left out and
 * reported. A device keeps its number when others are missing, because the number is its position
 * in the topology (routing tables of the kernel module), so the facts that follow from the number
 * stay certain. The labels in `d` are kept.
 */
void devices_build(struct devices *d, const struct found_node *found, struct probe_issues *issues);
/*
 * Adds a device that was not found but is in use, unless the table has it. The device gets the core
 * count of its family; what its files would show stays unknown.
 */
void devices_keep(struct devices *d, unsigned number);
/*
 * Whether all devices of the type are present, so that they can be published and prepared as one
 * device for the node. False for types outside UltraServers.
 */
bool devices_are_node(const struct devices *d);
/*
 * Adds one device NODE_DEVICE_NAME that stands for all devices, with the cores of all; it is
 * tainted when any of them is. Does nothing when devices_are_node is false. `alone`: the added
 * device replaces the others. Otherwise it follows them in the table, and all consume shared
 * counters (KEP-4815), one for each device of the host, so that no scheduler allocates a device
 * twice.
 */
void devices_add_node(struct devices *d, bool alone);
/* Whether names, numbers and counts are in their bounds and devices ascend by number. */
bool devices_valid(const struct devices *d);
/* Whether two sets of labels lead to the same attributes. */
bool node_labels_same(const struct node_labels *a, const struct node_labels *b);
/* Copies a table. Memory past the last device is not touched, so that it stays non-resident. */
void devices_copy(struct devices *to, const struct devices *from);
/* Whether two tables lead to the same published devices. */
bool devices_same(const struct devices *a, const struct devices *b);
/* Published name of the Neuron device of this number. */
void neuron_device_name(unsigned number, char name[DEVICE_NAME_CAP]);
/*
 * Published name of the device of this number. An absent one is named by its number, or by the
 * board's map of EFA devices; otherwise "pci-?".
 */
void devices_name(const struct devices *d, unsigned number, char out[DEVICE_NAME_CAP]);
/* Index in the table by device number, or -1. */
int devices_numbered(const struct devices *d, unsigned number);
/* Index in the table of the EFA device with this PCI address, or -1. */
int devices_addressed(const struct devices *d, uint32_t address);
/* Bit N: the device (NULL: any device of the table) consumes the counter of number N. */
uint64_t devices_counters(const struct devices *d, const struct device *device);
/* Bit N: number N is in the table. */
uint64_t devices_numbers(const struct devices *d);
/* Writes the numbers of a mask as "0,1,2"; at most DEVICE_NUMBERS_CAP bytes. */
void device_numbers_write(struct writer *out, uint64_t numbers);
/* Index in the table by published name, or -1. */
int devices_find(const struct devices *d, struct view name);

/* --- attributes, in the order of their keys (byte order, as the API server stores maps) --- */

/* Types of DeviceAttribute (resource.k8s.io); and CAPACITY, whose text is a Quantity. */
enum attribute_type {
    ATTRIBUTE_INT,
    ATTRIBUTE_BOOL,
    ATTRIBUTE_STRING,
    ATTRIBUTE_VERSION,
    ATTRIBUTE_CAPACITY
};
/*
 * Default and granularity of a shared capacity (its requestPolicy). A claim that does not request
 * the capacity takes:
 * - CAPACITY_UNASKED_NOTHING: nothing.
 * - CAPACITY_ALL: all of it; no policy is published.
 * - CAPACITY_STEP to CAPACITY_STEP_MAX: all of it; requests are multiples of this number.
 */
enum { CAPACITY_UNASKED_NOTHING = -1, CAPACITY_ALL, CAPACITY_STEP, CAPACITY_STEP_MAX };
/* One attribute or capacity of a device. */
struct attribute {
    char key[ATTRIBUTE_KEY_CAP];
    enum attribute_type type;
    /* INT and BOOL: the value; CAPACITY: CAPACITY_ALL or another value of its enum */
    int64_t number;
    char text[ATTRIBUTE_VALUE_CAP]; /* STRING, VERSION, CAPACITY */
};
/* All attributes and capacities of one device, by ascending key. */
struct attributes {
    unsigned count;
    struct attribute attribute[ATTRIBUTES_MAX];
};
/*
 * The attributes of device `index`. Attributes that the API server would refuse are left out.
 *
 * An EFA device has the attributes that dranet gives to an EFA device without a network interface,
 * with dranet's names and types: dra.net/… (whatever the name of this driver), the groups of its
 * Neuron devices, and Kubernetes' standard attributes. If it has shares, their number is the
 * capacity SHARES_CAPACITY.
 *
 * A Neuron device has the attributes of AWS's driver, with the exact names and types, if the value
 * is certain. It also has, with unqualified keys except for the standard attributes:
 * - coreCount (int): physical cores;
 * - lncConfigurable (bool): whether a claim may ask for an LNC;
 * - contiguousN_id (int): the line of N linked devices that contains the device;
 * - memory (capacity): if the silicon is known;
 * - CORES_CAPACITY (capacity): physical cores, if claims can share the device;
 * - Kubernetes' standard attributes numaNode, pciBusID and pcieRoot (KEP-6072, KEP-4381): if sysfs
 *   has the PCI address that the board's row gives;
 * - ultraserverServerId2, ultraserverServerId4: on a node of an UltraServer, the node's set of two
 *   and of four nodes; ultraserverNodeId2, ultraserverNodeId4: the node's id in each set.
 * The device that stands for the node has deviceCount instead of the facts of one device.
 */
void device_attributes(const struct devices *d, unsigned index, struct attributes *out);
/* Builds the attributes that device_attributes leaves out, for the log. */
void device_attributes_left_out(const struct devices *d, unsigned index, struct attributes *out);

#endif
