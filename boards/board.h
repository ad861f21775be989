/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boards: what is known for certain about one instance type, one const row each. Owns data only.
 * Sources: AWS Neuron hardware documentation, the kernel module's tables, the public EFA-to-device
 * maps (v1.1.0).
 */
#ifndef BOARDS_BOARD_H
#define BOARDS_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define BOARD_GROUPED_DEVICES 16u /* devices that an EFA map names */

#define PCI_ADDRESS_CAP 13u /* 0000:bb:dd.f, with NUL */

/*
 * EFA that belongs to each device, and the ids of the blocks of 4, 8 and 16 devices: first 16 hex
 * digits of SHA-256 over the block's sorted, distinct EFA addresses joined by commas (a unit test
 * recomputes them).
 */
struct efa_map {
    char address[BOARD_GROUPED_DEVICES][PCI_ADDRESS_CAP];
    char group4[4][17];
    char group8[2][17];
    char group16[17];
};

/* Where each device itself is on the PCI bus. */
struct pci_map {
    char address[BOARD_GROUPED_DEVICES][PCI_ADDRESS_CAP];
};

/* Longest name of an instance type, with NUL. */
#define BOARD_TYPE_CAP 20u
/* One instance type. */
struct board {
    char instance_type[BOARD_TYPE_CAP]; /* EC2 name, without "ml." */
    uint8_t devices;
    uint8_t grid_rows; /* 0: no grid (single device, ring, switched, UltraServer) */
    uint8_t grid_columns;
    uint8_t contiguous;        /* longest line of devices that a claim can ask for; 0: none */
    bool ultraserver;          /* one of several nodes that are one machine */
    const struct efa_map *efa; /* NULL: publishes no devicegroup*_id */
    const struct pci_map *pci; /* NULL: publishes no PCI address and no NUMA node */
};

/*
 * Instance types of one generation of the device: what a device has, and the rows. One file of
 * boards/ each, that defines `<name>_family`; generated/families.h lists the files.
 */
struct board_family {
    char name[8];             /* how the names of its types start, e.g. "trn2" */
    bool refused;             /* the kernel module has dropped it: nothing is published */
    uint8_t cores_per_device; /* physical cores */
    uint8_t memory_gib;       /* per device */
    uint8_t lnc_allowed;      /* bit n: LNC n may be asked for; 0: not configurable */
    uint8_t lnc_default;      /* physical cores that are one logical core unasked; 1: all */
    bool lists_health;        /* since module 2.30 unhealthy_components lists what is broken */
    uint8_t boards;           /* rows */
    const struct board *board;
};

/* The type's name without the "ml." that HyperPod nodes put in front. */
struct view board_type(struct view name);
/* Row of an instance type; "ml." in front is ignored. NULL: unknown type. */
const struct board *board_find(const char *instance_type);
/* Row `index` of all rows, by families; NULL after the last. */
const struct board *board_at(unsigned index);
/* PCI address of a device; empty: not known. `board` may be NULL. */
const char *board_pci_address(const struct board *board, unsigned number);
/* Family of an instance type, known or unknown, by the start of its name. NULL: unknown family. */
const struct board_family *board_family(const char *instance_type);

#endif
