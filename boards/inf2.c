/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inferentia2 boards. Each device has two NeuronCores of fixed size: logical cores are not
 * configurable. Six devices form a chain, and twelve devices form a ring; in both, each device is
 * linked with the device of the next number. No type has an EFA map.
 */
#include "boards/board.h"
#include "generated/families.h"

static const struct board rows[] = {
    {
        .instance_type = "inf2.xlarge",
        .devices = 1,
    },
    {
        .instance_type = "inf2.8xlarge",
        .devices = 1,
    },
    {
        .instance_type = "inf2.24xlarge",
        .devices = 6,
        .contiguous = 6,
    },
    {
        .instance_type = "inf2.48xlarge",
        .devices = 12,
        .contiguous = 12,
    },
};

const struct board_family inf2_family = {
    .name = "inf2",
    .cores_per_device = 2,
    .memory_gib = 32,
    .lnc_default = 1,
    .boards = sizeof rows / sizeof rows[0],
    .board = rows,
};
