/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boards: the certain facts about each instance type, in one constant row for each type. Owns data
 * only. Sources: AWS Neuron hardware documentation, the kernel module's tables, the public
 * EFA-to-device maps (v1.1.0).
 */
#ifndef BOARDS_BOARD_H
#define BOARDS_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define BOARD_GROUPED_DEVICES 16u /* number of Neuron devices in an EFA map */

#define PCI_ADDRESS_CAP 13u /* 0000:bb:dd.f, with NUL */

/*
 * The EFA device of each Neuron device, and the ids of the blocks of 4, 8 and 16 devices: first 16
 * hex digits of SHA-256 over the block's sorted, distinct EFA addresses joined by commas (a unit
 * test recomputes them).
 */
struct efa_map {
    char address[BOARD_GROUPED_DEVICES][PCI_ADDRESS_CAP];
    char group4[4][17];
    char group8[2][17];
    char group16[17];
};

/* PCI address of each Neuron device. */
struct pci_map {
    char address[BOARD_GROUPED_DEVICES][PCI_ADDRESS_CAP];
};

/* One instance type. */
struct board {
    const char *instance_type; /* EC2 name, without "ml." */
    uint8_t devices;
    uint8_t grid_rows; /* 0: no grid (single device, ring, switched, UltraServer) */
    uint8_t grid_columns;
    uint8_t contiguous;        /* longest line of devices that a claim can ask for; 0: none */
    bool ultraserver;          /* one of several nodes that work as one machine */
    const struct efa_map *efa; /* NULL: publishes no devicegroup*_id */
    const struct pci_map *pci; /* NULL: publishes no PCI address and no NUMA node */
};

/*
 * Instance types of one generation of the device: facts of the device, and the rows. Each file of
 * boards/ defines one `<name>_family`; generated/families.h lists the files.
 */
struct board_family {
    const char *name;         /* prefix of the names of its types, e.g. "trn2" */
    bool refused;             /* no longer supported by the kernel module: nothing is published */
    uint8_t cores_per_device; /* physical cores */
    uint8_t memory_gib;       /* per device */
    uint8_t lnc_allowed;      /* bit n: LNC n may be asked for; 0: not configurable */
    /* physical cores that form one logical core by default; 1: each core is one logical core */
    uint8_t lnc_default;
    /* since 2.30 the kernel module lists broken components in unhealthy_components */
    bool lists_health;
    uint8_t boards; /* number of rows in `board` */
    const struct board *board;
};

/* The type's name without the prefix "ml." of HyperPod nodes. */
struct view board_type(struct view name);
/* Row of an instance type; a prefix "ml." is ignored. NULL: unknown type. */
const struct board *board_find(const char *instance_type);
/* Row `index`, counted from 0 through all families; NULL after the last row. */
const struct board *board_at(unsigned index);
/* PCI address of a device; empty: unknown. `board` may be NULL. */
const char *board_pci_address(const struct board *board, unsigned number);
/*
 * Family of an instance type, by the prefix of its name, even if the type has no row. NULL: unknown
 * family.
 */
const struct board_family *board_family(const char *instance_type);

#endif
