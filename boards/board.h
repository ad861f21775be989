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

/*
 * EFA that belongs to each device, and the ids of the blocks of 4, 8 and 16 devices: first 16 hex
 * digits of SHA-256 over the block's sorted, distinct EFA addresses joined by commas (a unit test
 * recomputes them).
 */
struct efa_map {
    char address[BOARD_GROUPED_DEVICES][13]; /* PCI address 0000:bb:dd.f */
    char group4[4][17];
    char group8[2][17];
    char group16[17];
};

/* One instance type; texts are literals. */
struct board {
    const char *instance_type; /* EC2 name, without "ml." */
    uint8_t devices;
    uint8_t cores_per_device; /* physical cores */
    uint16_t memory_gib;      /* per device */
    uint8_t grid_rows;        /* 0: no grid (single device, ring, switched) */
    uint8_t grid_columns;
    bool ultraserver;          /* one of several nodes that are one machine */
    const struct efa_map *efa; /* NULL: publishes no devicegroup*_id */
    uint8_t lnc_allowed;       /* bit n: LNC n may be asked for; 0: not configurable */
    uint8_t lnc_default;       /* 0: none */
};

/* The type's name without the "ml." that HyperPod nodes put in front. */
struct view board_type(struct view name);
/* Row of an instance type; "ml." in front is ignored. NULL: unknown type. */
const struct board *board_find(const char *instance_type);
/* Row `index` of all rows, families in the order of their age; NULL after the last. */
const struct board *board_at(unsigned index);

/* Rows that a family has room for, the last one empty. */
#define FAMILY_ROWS 6u
/*
 * Rows of one family, ended by a row without a name: a new type is one row there and one golden
 * file.
 */
extern const struct board trn1_boards[FAMILY_ROWS];
/* Same for trn2 and its UltraServers. */
extern const struct board trn2_boards[FAMILY_ROWS];

#endif
