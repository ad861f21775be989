/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EFA devices: checks what sysfs shows about the PCI functions of the kernel driver efa, and builds
 * the device table of DRIVER_EFA from it. Owns the meaning of the sysfs texts, and the names and
 * numbers of the devices; reads no file.
 * Sources: kernel's pci-sysfs.c, uverbs_main.c, core/sysfs.c and efa_main.c (layout),
 * dranet's pkg/inventory and pkg/names (names, attributes), the public EFA maps (groups).
 *
 * An EFA device has the number of the first Neuron device to which the board's EFA map assigns it.
 * A device that the map does not name gets a number of at least BOARD_GROUPED_DEVICES, initially in
 * the order of the PCI addresses, and keeps this number while other devices appear and disappear.
 *
 * Invariants:
 * I1 efas_build always builds a valid table with distinct numbers and addresses.
 * I2 A found device is in the table exactly when its uverbs node was found.
 * I3 The texts of issues are printable ASCII.
 */
#ifndef DRA_EFA_H
#define DRA_EFA_H

#include "dra/device.h"
#include "dra/pci.h"

/* Size of the text for the state of an RDMA port, such as "4: ACTIVE"; longer texts are cut. */
#define PORT_STATE_CAP 24u
/* Size of a text for a PCI ID such as "0xefa0", with NUL. */
#define PCI_ID_CAP 8u

/* One PCI function of the kernel driver efa. */
struct found_efa {
    uint32_t address; /* PCI address as a number (pci_address_parse) */
    /* class/infiniband_verbs has an entry uverbsN for this function */
    bool verbs;
    bool node_exists; /* <dev-root>/infiniband/uverbsN exists */
    uint16_t number;  /* N of the function's entry uverbsN */
    /* identity: inode of the function's uverbs entry; major and minor number of its device node */
    struct device_place place;
    char rdma_name[RDMA_NAME_CAP];
    char pcie_root[PCIE_ROOT_CAP];
    char numa_node[NUMA_VALUE_CAP];
    char subsystem[PCI_ID_CAP];      /* text of the function's file subsystem_device */
    char port_state[PORT_STATE_CAP]; /* state of RDMA port 1; empty: unreadable */
    bool silent;                     /* a read of one of the device's files hangs */
};
/* All EFA devices of a node. */
struct found_efas {
    bool unknown; /* the probe failed: `count` is 0 and meaningless */
    uint16_t count;
    /* number of PCI functions left out, because there are more than EFAS_MAX */
    uint16_t ignored;
    struct found_efa efa[EFAS_MAX]; /* the functions found, in any order */
};

/*
 * Parses the target of the link class/infiniband_verbs/uverbsN:
 * ../../devices/pci<domain>:<bus>/…/<address>/infiniband_verbs/uverbsN. `name` is uverbsN. Returns
 * false if the link has another form.
 */
MUST_USE bool efa_link_parse(struct view link, struct view name, uint32_t *address,
                             char pcie_root[PCIE_ROOT_CAP]);

/*
 * Replaces the Neuron devices in *d with the EFA devices; keeps the instance type, board row and
 * boot id. `before`: the table of the previous probe; NULL: there was no earlier probe. Never
 * fails: leaves out uncertain values and reports them as issues.
 */
void efas_build(struct devices *d, const struct devices *before, const struct found_efas *found,
                struct probe_issues *issues);

#endif
