/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EFA devices: what sysfs shows of the functions that the kernel driver efa has, checked, as a
 * device table of the driver DRIVER_EFA. Owns the meaning of these texts, the names and the
 * numbers; reads no file. Sources: kernel's pci-sysfs.c, uverbs_main.c, core/sysfs.c and efa_main.c
 * (layout), dranet's pkg/inventory and pkg/names (names, attributes), the public EFA maps (groups).
 *
 * A device's number is that of the first Neuron device that the board's EFA map gives it to. One
 * that no map names has a number from BOARD_GROUPED_DEVICES on, at first by the order of the
 * addresses; it keeps that number while others come and go.
 *
 * Invariants:
 * I1 A table that was built is valid, its numbers and addresses distinct.
 * I2 A device is in it exactly when its uverbs node was found.
 * I3 The texts of issues are printable ASCII.
 */
#ifndef DRA_EFA_H
#define DRA_EFA_H

#include "dra/device.h"
#include "dra/pci.h"

/* What the port of a device says: "4: ACTIVE"; longer texts are cut. */
#define PORT_STATE_CAP 24u
/* "0xefa0", NUL. */
#define PCI_ID_CAP 8u

/* One function of the driver. */
struct found_efa {
    uint32_t address;          /* see pci_address_parse */
    bool verbs;                /* class/infiniband_verbs has an entry of it: all below is its */
    bool node_exists;          /* <dev-root>/infiniband/uverbsN is there */
    uint16_t number;           /* N of uverbsN */
    struct device_place place; /* inode of that entry; major and minor of its node */
    char rdma_name[RDMA_NAME_CAP];
    char pcie_root[PCIE_ROOT_CAP];
    char numa_node[NUMA_VALUE_CAP];
    char subsystem[PCI_ID_CAP];      /* subsystem_device */
    char port_state[PORT_STATE_CAP]; /* of port 1; empty: it cannot be read */
    bool silent;                     /* a read of one of its files hangs */
};
/* All of a node. */
struct found_efas {
    bool unknown; /* the look failed: `count` is 0 and means nothing */
    uint16_t count;
    uint16_t ignored;               /* functions over EFAS_MAX */
    struct found_efa efa[EFAS_MAX]; /* any order */
};

/*
 * Where the link class/infiniband_verbs/uverbsN leads to:
 * ../../devices/pci<domain>:<bus>/…/<address>/infiniband_verbs/uverbsN. `name` is uverbsN. False:
 * it is no such link.
 */
MUST_USE bool efa_link_parse(struct view link, struct view name, uint32_t *address,
                             char pcie_root[PCIE_ROOT_CAP]);

/*
 * Builds the table in the place of that of the Neuron devices, whose type, row and boot id it
 * keeps. `before`: the table of the last look, or NULL. Never fails: what is not certain is left
 * out and reported.
 */
void efas_build(struct devices *d, const struct devices *before, const struct found_efas *found,
                struct probe_issues *issues);

#endif
