/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: what the kernel module's files say, checked, joined with the board's row. Owns
 * the meaning of sysfs texts and of attributes; reads no file, knows no protocol. Sources: kernel
 * module's neuron_cdev.c and neuron_sysfs_metrics.c (layout), AWS Neuron DRA documentation
 * (attributes).
 *
 * Invariants:
 * I1 A table that was built is valid.
 * I2 It has each device number under DEVICES_MAX that was found with its node, once. A file is no
 *    node where other nodes are character devices.
 * I3 Core count and neighbours are the numbers of their texts, or 0 when they are no such numbers.
 * I4 The texts of probe issues are printable ASCII.
 * I5 Attributes ascend by key, and none is one that the API server would refuse.
 * I6 A stored slice is equal exactly when it has these attributes and nothing more.
 */
#ifndef DRA_DEVICE_H
#define DRA_DEVICE_H

#include "base/bytes.h"
#include "boards/board.h"
#include "cfg/limits.h"
#include "dra/health.h"
#include "dra/ultraserver.h"

/* --- what the host found: raw texts, exactly as read --- */

/* The drivers of the agent; each has its own devices, claims and claim store. */
enum driver_kind { DRIVER_NEURON, DRIVER_EFA };
/* Number of kinds. */
#define DRIVERS ((unsigned)DRIVER_EFA + 1u)

/* What tells a device from another one that has its number later. */
struct device_place {
    uint64_t folder; /* inode of class/neuron_device/neuronN: the kernel makes it once; 0: absent */
    uint64_t node;   /* major and minor of its node in <dev-root>; 0: no character device */
};

/* numa_node of a PCI device: a number of at most ten digits, a sign, NUL. */
#define NUMA_VALUE_CAP 12u
/* "pci", a domain of at most eight hexadecimal digits, a colon, two digits of the bus, NUL. */
#define PCIE_ROOT_CAP 15u
/* Name of an RDMA device, such as rdmap16s25; the kernel's IB_DEVICE_NAME_MAX, NUL included. */
#define RDMA_NAME_CAP 64u

/* What a device of DRIVER_EFA has beyond the others; all zero for a Neuron device. */
struct efa_function {
    uint32_t address;              /* of PCI, see efa.h */
    uint16_t uverbs;               /* N of /dev/infiniband/uverbsN */
    uint16_t subsystem;            /* PCI subsystem ID, such as efa0; 0: not known */
    char rdma_name[RDMA_NAME_CAP]; /* empty: not known */
};

/* One device as sysfs shows it. */
struct found_device {
    uint16_t number;  /* N of class/neuron_device/neuronN */
    bool node_exists; /* <dev-root>/neuronN is there */
    struct device_place place;
    char core_count[SYSFS_VALUE_CAP]; /* empty: file absent or unreadable */
    char connected_devices[SYSFS_VALUE_CAP];
    char numa_node[NUMA_VALUE_CAP]; /* of the board's PCI address; empty: nothing is there */
    char pcie_root[PCIE_ROOT_CAP];  /* first directory of its place in sysfs's tree of devices */
    struct device_reading reading;  /* of its health, at this look */
};

/* The node as sysfs, DMI and procfs show it. */
struct found_node {
    char product_name[SYSFS_VALUE_CAP];   /* DMI, or --instance-type; may carry "ml." */
    char driver_version[SYSFS_VALUE_CAP]; /* module/neuron/version; empty: module not loaded */
    char boot_id[SYSFS_VALUE_CAP];
    char lnc_config[SYSFS_VALUE_CAP];     /* the host's logical_nc_config; empty: there is none */
    struct found_ultraserver ultraserver; /* read where the type is a node of one */
    bool unknown;                         /* the probe failed: `count` is 0 and means nothing */
    uint16_t count;
    uint16_t ignored;                         /* left out: over DEVICES_MAX, or not neuronN */
    struct found_device devices[DEVICES_MAX]; /* any order */
};

/* --- the table --- */

/* One device of the table. */
struct device {
    uint16_t number;     /* device index N, published as deviceId */
    uint16_t core_count; /* 0: not known */
    bool at_pci_address; /* the board's PCI address of this device exists */
    char pcie_root
        [PCIE_ROOT_CAP]; /* root complex of that address, e.g. pci0000:c8; empty: not known */
    int16_t numa_node;   /* of that address; -1: none, or not known */
    uint8_t neighbours;  /* entries in `neighbour`; 0: none or not known */
    uint16_t neighbour[NEIGHBOURS_MAX];
    struct device_place place;
    struct device_reading reading; /* see dra/health.h */
    struct efa_function efa;
    char name[DEVICE_NAME_CAP]; /* neuron-device-N, neuron-node, or pci-<address> */
    bool node;                  /* all devices of the node as one; number 0, no place */
    bool tainted;               /* published with the taint of the table */
    int64_t taint_s;            /* when the taint came, Unix time */
};

/* All device numbers in a list. */
#define DEVICE_NUMBERS_CAP (DEVICES_MAX * 3u)

#define NETWORK_LAYERS 3u /* of EC2 instance topology; 1 is the widest */
struct node_labels {      /* of the Node object; empty: not (yet) there */
    char network_layer[NETWORK_LAYERS][ATTRIBUTE_VALUE_CAP];
    char capacity_block[ATTRIBUTE_VALUE_CAP]; /* published on UltraServer types only */
};

struct devices {
    enum driver_kind driver;   /* whose devices they are */
    const struct board *board; /* NULL: unknown type */
    uint8_t lnc_allowed; /* bit n: a claim may ask for LNC n; 0: not configurable, or not known */
    uint8_t lnc_host;    /* LNC of claims that ask for none, by the host's file; 0: it gives none */
    char instance_type[ATTRIBUTE_VALUE_CAP]; /* without "ml."; empty: not known */
    char driver_version[ATTRIBUTE_VALUE_CAP];
    char boot_id[UID_CAP];
    struct node_labels labels;
    struct ultraserver ultraserver;
    bool unknown; /* no look at the node has succeeded yet: none of them says anything */
    uint16_t count;
    bool counters; /* the node's device is beside the others: all take from shared counters */
    /*
     * Of each device, for claims that share it (KEP-5075); 0: a claim has it alone; 1: so it is to
     * be, and shares are left from before, which as a capacity keep the scheduler off.
     */
    uint8_t shares;
    const char *taint_key; /* of the tainted ones; NULL as long as none is */
    const char *taint_effect;
    struct device device[DEVICES_MAX]; /* ascending by number, numbers distinct */
};

/*
 * NeuronCores of the smallest part of a Neuron device that a claim can have, when claims may share
 * it: those that the runtime joins to one logical core where nobody asks for another LNC. 0: the
 * device is not shared, because its silicon is not known or it stands for the node.
 */
unsigned device_core_unit(const struct devices *d, const struct device *device);
/* Whether the device is published for several claims at a time. */
bool device_shared(const struct devices *d, const struct device *device);

/* What a probe of the node can find missing or wrong. */
enum probe_issue_kind {
    PROBE_ISSUE_NO_MODULE, /* module/neuron/version absent: the module is not loaded */
    PROBE_ISSUE_NO_DEVICES,
    PROBE_ISSUE_NO_TYPE,        /* product name unreadable */
    PROBE_ISSUE_UNKNOWN_TYPE,   /* type has no row, its family is known: LNC follows from that */
    PROBE_ISSUE_UNKNOWN_FAMILY, /* type has no row and no family: LNC is left out too */
    PROBE_ISSUE_REFUSED_TYPE,   /* family that is refused: no device is published */
    PROBE_ISSUE_COUNT,          /* number of devices differs from the row */
    PROBE_ISSUE_CORES,          /* core_count is no number from 1 to 255, or not the row's */
    PROBE_ISSUE_NEIGHBOURS,     /* connected_devices is not a list of numbers */
    PROBE_ISSUE_NO_NODE,        /* /dev/neuronN absent or no device: the device is left out */
    PROBE_ISSUE_DUPLICATE,      /* number seen twice: the second is left out */
    PROBE_ISSUE_IGNORED,        /* entries of class/neuron_device that were left out */
    PROBE_ISSUE_VERSION,        /* module version too long or not printable: left out */
    PROBE_ISSUE_BOOT_ID,        /* boot id unreadable: records of claims carry none */
    PROBE_ISSUE_ULTRASERVER,    /* a class file is busy, or ultraserver_mode is no list of modes */
    PROBE_ISSUE_LNC_CONFIG,     /* logical_nc_config gives no LNC that the type has: ignored */
    PROBE_ISSUE_HEALTH_FILES,   /* a device lacks files of health that its kernel module has */
    PROBE_ISSUE_NO_EFA,         /* the kernel driver efa has no device */
    PROBE_ISSUE_EFA_COUNT,      /* number of EFA devices differs from the board's map */
    PROBE_ISSUE_EFA_VERBS,      /* an EFA device without uverbs entry or node: left out */
    PROBE_ISSUE_EFA_UNMAPPED,   /* one that the board's map does not name: no device groups */
    PROBE_ISSUE_EFA_IGNORED,    /* EFA devices over EFAS_MAX */
    PROBE_ISSUE_KINDS
};
#define PROBE_ISSUE_NO_NUMBER UINT16_MAX /* the issue is about the node */
/* One issue of a probe, for the log. */
struct probe_issue {
    enum probe_issue_kind kind;
    uint16_t number;            /* device, or PROBE_ISSUE_NO_NUMBER */
    char text[SYSFS_VALUE_CAP]; /* the offending value; what is not printable ASCII became '?' */
    const char *remedy;         /* one clause: what to do; static text */
};
/* One issue for each device, and some about the node. */
#define PROBE_ISSUES_MAX (DEVICES_MAX + 8u)
/* All issues of one probe. */
struct probe_issues {
    uint16_t count; /* more issues than fit are counted in `more` */
    uint16_t more;
    struct probe_issue issue[PROBE_ISSUES_MAX];
};

/* Name of an issue for log lines, e.g. "no-module". Static text; never NULL. */
const char *probe_issue_name(enum probe_issue_kind kind);

/*
 * Builds the table from what was found. Never fails: what is not certain is left out and reported.
 * A device keeps its place when others are missing: numbers are topological (routing tables of the
 * kernel module), so what follows from the number stays certain. The labels in `d` are kept.
 */
void devices_build(struct devices *d, const struct found_node *found, struct probe_issues *issues);
/*
 * Adds a device that was not found but is in use, with the cores of its family, unless it is in the
 * table. What its files would say is not known.
 */
void devices_keep(struct devices *d, unsigned number);
/*
 * Whether all devices that the type has are there: what can be published, and prepared, as one
 * device for the node. False for types that are no nodes of an UltraServer.
 */
bool devices_are_node(const struct devices *d);
/*
 * Adds one device of all, NODE_DEVICE_NAME, with the cores of all; it is tainted, since the first
 * of them is, when one is. None when devices_are_node is false. `alone`: in the place of the
 * others; else behind them, and then each takes from shared counters (KEP-4815), of which there is
 * one for each device of the host, so that no scheduler gives one away twice.
 */
void devices_add_node(struct devices *d, bool alone);
/* Whether names, numbers and counts are in their bounds and devices ascend by number. */
bool devices_valid(const struct devices *d);
/* Whether two sets of labels lead to the same attributes. */
bool node_labels_same(const struct node_labels *a, const struct node_labels *b);
/*
 * Copies a table, but no place behind its last device: memory for devices that are not there stays
 * untouched.
 */
void devices_copy(struct devices *to, const struct devices *from);
/* Whether two tables publish the same. */
bool devices_same(const struct devices *a, const struct devices *b);
/*
 * Published name of the device of this number. One that the table lacks has it by its number, or by
 * the board's map of EFA devices; else it is "pci-?".
 */
void devices_name(const struct devices *d, unsigned number, char out[DEVICE_NAME_CAP]);
/* Index in the table by device number, or -1. */
int devices_numbered(const struct devices *d, unsigned number);
/* Index in the table of the EFA device with this PCI address, or -1. */
int devices_addressed(const struct devices *d, uint32_t address);
/* Bit N: the device, or NULL: the table, takes the counter of number N. */
uint64_t devices_counters(const struct devices *d, const struct device *device);
/* Bit N: number N is in the table. */
uint64_t devices_numbers(const struct devices *d);
/* The numbers of a mask as "0,1,2"; at most DEVICE_NUMBERS_CAP bytes. */
void device_numbers_write(struct writer *out, uint64_t numbers);
/* Index in the table by published name, or -1. */
int devices_find(const struct devices *d, struct view name);

/* --- attributes, in the order of their keys (byte order, as the API server stores maps) --- */

/* Types of DeviceAttribute (resource.k8s.io); and a capacity, whose text is a Quantity. */
enum attribute_type {
    ATTRIBUTE_INT,
    ATTRIBUTE_BOOL,
    ATTRIBUTE_STRING,
    ATTRIBUTE_VERSION,
    ATTRIBUTE_CAPACITY
};
/*
 * Who shares a device takes this of a capacity: all, as without a policy; nothing, unless it asks;
 * or all unless it asks for so many at a time, from CAPACITY_STEP to CAPACITY_STEP_MAX.
 */
enum { CAPACITY_UNASKED_NOTHING = -1, CAPACITY_ALL, CAPACITY_STEP, CAPACITY_STEP_MAX };
/* One attribute or capacity of a device. */
struct attribute {
    char key[ATTRIBUTE_KEY_CAP];
    enum attribute_type type;
    int64_t number;                 /* INT, BOOL; CAPACITY: one of CAPACITY_ALL and its like */
    char text[ATTRIBUTE_VALUE_CAP]; /* STRING, VERSION, CAPACITY */
};
/* All attributes and capacities of one device, by ascending key. */
struct attributes {
    unsigned count;
    struct attribute attribute[ATTRIBUTES_MAX];
};
/*
 * The attributes of device `index`. Of an EFA device those that dranet gives one without a network
 * interface, with its names and types: dra.net/… whatever the driver is called, the groups of its
 * Neuron devices, and Kubernetes' own. Of a Neuron device those with the exact names and types of
 * AWS's driver, as far as they are certain. Beyond them, unqualified: coreCount (int, physical
 * cores), lncConfigurable (bool, whether a claim may ask for an LNC) and contiguousN_id (int, which
 * line of N linked devices it is in), the capacity memory, where the silicon is known, and
 * Kubernetes' own numaNode, pciBusID and pcieRoot (KEP-6072, KEP-4381) where the board's PCI
 * address exists. On a node of an UltraServer, ultraserverServerId2 and 4 and ultraserverNodeId2
 * and 4: which set of two and of four nodes it is in, and as which of them. The device for the
 * whole node has deviceCount in the place of what one device has. An EFA device with shares has
 * their number as the capacity SHARES_CAPACITY, a Neuron device that claims share its physical
 * cores as CORES_CAPACITY. What the API server would refuse is left out.
 */
void device_attributes(const struct devices *d, unsigned index, struct attributes *out);
/* The attributes that device_attributes leaves out, for the log. */
void device_attributes_left_out(const struct devices *d, unsigned index, struct attributes *out);

#endif
