/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainium2 boards. Each device has eight physical NeuronCores, used singly or in pairs (LNC 1 or
 * 2); the runtime's default is pairs. The larger types are a 4x4 torus with device = 4 * row +
 * column; nodes of an UltraServer publish no place in it, following AWS's documentation.
 */
#include "boards/board.h"
#include "generated/families.h"

#define LNC_1_OR_2 ((1u << 1) | (1u << 2))

/* one line for the four devices of a grid row */
/* clang-format off */
static const struct efa_map trn2_efa = {
    .address =
        {
            "0000:c9:00.0", "0000:b4:00.0", "0000:b3:00.0", "0000:ca:00.0",
            "0000:6c:00.0", "0000:57:00.0", "0000:56:00.0", "0000:6d:00.0",
            "0000:98:00.0", "0000:83:00.0", "0000:82:00.0", "0000:99:00.0",
            "0000:f5:00.0", "0000:e0:00.0", "0000:df:00.0", "0000:f6:00.0",
        },
    .group4 = {"13713e551cd37c19", "671622785349fddf",
               "237e3ef7b968b4d3", "b3d6ce1919d29f8f"},
    .group8 = {"3593812b8066a078", "614e16dab9ba2f1f"},
    .group16 = "821d14afaf11327d",
};
/* clang-format on */

/* clang-format off */
static const struct pci_map trn2_pci = {
    .address =
        {
            "0000:cc:00.0", "0000:b5:00.0", "0000:b6:00.0", "0000:cb:00.0",
            "0000:6f:00.0", "0000:58:00.0", "0000:59:00.0", "0000:6e:00.0",
            "0000:9b:00.0", "0000:84:00.0", "0000:85:00.0", "0000:9a:00.0",
            "0000:f8:00.0", "0000:e1:00.0", "0000:e2:00.0", "0000:f7:00.0",
        },
};
/* clang-format on */

static const struct board rows[] = {
    {
        .instance_type = "trn2.3xlarge",
        .devices = 1,
    },
    {
        .instance_type = "trn2.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn2_efa,
        .pci = &trn2_pci,
    },
    {
        .instance_type = "trn2e.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn2_efa,
    },
    {
        .instance_type = "trn2n.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .pci = &trn2_pci,
    },
    {
        .instance_type = "trn2u.48xlarge",
        .devices = 16,
        .contiguous = 2,
        .ultraserver = true,
        .efa = &trn2_efa,
    },
    {
        .instance_type = "trn2p.48xlarge",
        .devices = 16,
        .contiguous = 2,
        .ultraserver = true,
    },
    {
        .instance_type = "trn2eu.48xlarge",
        .devices = 16,
        .contiguous = 2,
        .ultraserver = true,
    },
    {
        .instance_type = "trn2es.48xlarge",
        .devices = 16,
        .ultraserver = true,
    },
    {
        .instance_type = "trn2en.24xlarge",
        .devices = 4,
        .ultraserver = true,
    },
};

const struct board_family trn2_family = {
    .name = "trn2",
    .cores_per_device = 8,
    .memory_gib = 96,
    .lnc_allowed = LNC_1_OR_2,
    .lnc_default = 2,
    .lists_health = true,
    .boards = sizeof rows / sizeof rows[0],
    .board = rows,
};
