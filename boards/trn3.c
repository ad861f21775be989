/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainium3 boards. Each device has eight physical NeuronCores, used singly or in pairs (LNC 1 or
 * 2); the runtime's default is pairs. The kernel module derives the platform from the type: a torus
 * (4x4, device = 4 * row + column), the torus of an UltraServer, a switched node (each device
 * reaches every other one, so there is no grid), a node of four devices, or a single device.
 */
#include "boards/board.h"
#include "generated/families.h"

#define LNC_1_OR_2 ((1u << 1) | (1u << 2))

/* one line for the four devices of a grid row */
/* clang-format off */
static const struct efa_map trn3_efa = {
    .address =
        {
            "0000:be:00.0", "0000:a9:00.0", "0000:a8:00.0", "0000:bf:00.0",
            "0000:61:00.0", "0000:4c:00.0", "0000:4b:00.0", "0000:62:00.0",
            "0000:8d:00.0", "0000:78:00.0", "0000:77:00.0", "0000:8e:00.0",
            "0000:ea:00.0", "0000:d5:00.0", "0000:d4:00.0", "0000:eb:00.0",
        },
    .group4 = {"68ac040ea32655a7", "1c060eef5f3a4fe1",
               "68e7529909eadc38", "11626cfcde6dcac3"},
    .group8 = {"bafc439bf9664feb", "629b2570d9887aaf"},
    .group16 = "31980acd145f7025",
};
/* clang-format on */

/* The EFA devices of trn3_efa, assigned to other Neuron devices. */
/* one line for the four devices of a grid row */
/* clang-format off */
static const struct efa_map trn3_dev_efa = {
    .address =
        {
            "0000:a9:00.0", "0000:a8:00.0", "0000:bf:00.0", "0000:be:00.0",
            "0000:d5:00.0", "0000:d4:00.0", "0000:eb:00.0", "0000:ea:00.0",
            "0000:4c:00.0", "0000:4b:00.0", "0000:62:00.0", "0000:61:00.0",
            "0000:78:00.0", "0000:77:00.0", "0000:8e:00.0", "0000:8d:00.0",
        },
    .group4 = {"68ac040ea32655a7", "11626cfcde6dcac3",
               "1c060eef5f3a4fe1", "68e7529909eadc38"},
    .group8 = {"e24e6d445a226240", "a6e1fae95cf7af58"},
    .group16 = "31980acd145f7025",
};
/* clang-format on */

static const struct board rows[] = {
    {
        .instance_type = "trn3s.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn3_efa,
    },
    {
        .instance_type = "trn3pd98.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn3_efa,
    },
    {
        .instance_type = "trn3n.48xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
    },
    {
        .instance_type = "trn3p.48xlarge",
        .devices = 16,
        .contiguous = 2,
        .ultraserver = true,
        .efa = &trn3_efa,
    },
    {
        .instance_type = "trn3.48xlarge",
        .devices = 16,
        .ultraserver = true,
        .efa = &trn3_efa,
    },
    {
        .instance_type = "trn3-dev0.48xlarge",
        .devices = 16,
        .ultraserver = true,
        .efa = &trn3_dev_efa,
    },
    {
        .instance_type = "trn3-dev1.48xlarge",
        .devices = 16,
        .ultraserver = true,
        .efa = &trn3_dev_efa,
    },
    {
        .instance_type = "trn3s-es.48xlarge",
        .devices = 16,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3sn.48xlarge",
        .devices = 16,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3sn-es.48xlarge",
        .devices = 16,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3e.24xlarge",
        .devices = 4,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3e-dev0.24xlarge",
        .devices = 4,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3en.24xlarge",
        .devices = 4,
        .ultraserver = true,
    },
    {
        .instance_type = "trn3pd98.3xlarge",
        .devices = 1,
    },
    {
        .instance_type = "trn3s-es.3xlarge",
        .devices = 1,
    },
    {
        .instance_type = "trn3sn.3xlarge",
        .devices = 1,
    },
    {
        .instance_type = "trn3sn-es.3xlarge",
        .devices = 1,
    },
};

const struct board_family trn3_family = {
    .name = "trn3",
    .cores_per_device = 8,
    .memory_gib = 144,
    .lnc_allowed = LNC_1_OR_2,
    .lnc_default = 2,
    .lists_health = true,
    .boards = sizeof rows / sizeof rows[0],
    .board = rows,
};
