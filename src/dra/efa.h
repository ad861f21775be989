/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EFA devices: the PCI functions of the kernel driver efa as sysfs shows them, checked, as a device
 * table of the driver DRIVER_EFA. Owns the meaning of these texts, the names and the numbers; reads
 * no file. Sources: kernel's pci-sysfs.c, uverbs_main.c, core/sysfs.c and efa_main.c (layout),
 * dranet's pkg/inventory and pkg/names (names, attributes), the public EFA maps (groups).
 *
 * A device's number is that of the first Neuron device to which the board's EFA map assigns it. A
 * device that no map names gets a number from BOARD_GROUPED_DEVICES on, at first in the order of
 * the addresses, and keeps it while others come and go.
 *
 * Invariants:
 * I1 A table that was built is valid, its numbers and addresses distinct.
 * I2 A device is in the table exactly when its uverbs node was found.
 * I3 The texts of issues are printable ASCII.
 */
#ifndef DRA_EFA_H
#define DRA_EFA_H

#include "dra/device.h"
#include "dra/pci.h"

/* State of a port, such as "4: ACTIVE"; longer texts are cut. */
#define PORT_STATE_CAP 24u
/* "0xefa0", NUL. */
#define PCI_ID_CAP 8u

/* One PCI function of the kernel driver efa. */
struct found_efa {
    uint32_t address; /* see pci_address_parse */
    /* class/infiniband_verbs has an entry for it; the members below come from that entry */
    bool verbs;
    bool node_exists; /* <dev-root>/infiniband/uverbsN exists */
    uint16_t number;  /* N of uverbsN */
    /* identity: inode of that entry; major and minor number of its node */
    struct device_place place;
    char rdma_name[RDMA_NAME_CAP];
    char pcie_root[PCIE_ROOT_CAP];
    char numa_node[NUMA_VALUE_CAP];
    char subsystem[PCI_ID_CAP];      /* subsystem_device */
    char port_state[PORT_STATE_CAP]; /* of port 1; empty: unreadable */
    bool silent;                     /* a read of one of its files hangs */
};
/* All EFA devices of a node. */
struct found_efas {
    bool unknown; /* the probe failed: `count` is 0 and meaningless */
    uint16_t count;
    uint16_t ignored;               /* number of functions left out, beyond EFAS_MAX */
    struct found_efa efa[EFAS_MAX]; /* in any order */
};

/*
 * Parses the target of the link class/infiniband_verbs/uverbsN:
 * ../../devices/pci<domain>:<bus>/…/<address>/infiniband_verbs/uverbsN. `name` is uverbsN. false:
 * not such a link.
 */
MUST_USE bool efa_link_parse(struct view link, struct view name, uint32_t *address,
                             char pcie_root[PCIE_ROOT_CAP]);

/*
 * Replaces the Neuron devices in *d by the EFA devices; type, board row and boot id stay. `before`:
 * the table of the previous probe, or NULL. Never fails: whatever is uncertain is left out and
 * reported.
 */
void efas_build(struct devices *d, const struct devices *before, const struct found_efas *found,
                struct probe_issues *issues);

#endif
