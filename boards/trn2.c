/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainium2 boards. Eight physical NeuronCores a device, used one by one or in pairs (LNC 1 or 2);
 * pairs are what the runtime does unasked. The larger types are a 4x4 torus with device = 4 * row +
 * column.
 */
#include "boards/board.h"

#define LNC_1_OR_2 ((1u << 1) | (1u << 2))

/* four devices of a grid row in a line */
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

const struct board trn2_boards[FAMILY_ROWS] = {
    {
        .instance_type = "trn2.3xlarge",
        .devices = 1,
        .cores_per_device = 8,
        .memory_gib = 96,
        .lnc_allowed = LNC_1_OR_2,
        .lnc_default = 2,
    },
    {
        .instance_type = "trn2.48xlarge",
        .devices = 16,
        .cores_per_device = 8,
        .memory_gib = 96,
        .grid_rows = 4,
        .grid_columns = 4,
        .efa = &trn2_efa,
        .lnc_allowed = LNC_1_OR_2,
        .lnc_default = 2,
    },
    {
        .instance_type = "trn2u.48xlarge",
        .devices = 16,
        .cores_per_device = 8,
        .memory_gib = 96,
        .ultraserver = true,
        .efa = &trn2_efa,
        .lnc_allowed = LNC_1_OR_2,
        .lnc_default = 2,
    },
    {0},
};
