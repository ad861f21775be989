/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainium1 boards. Each device has two NeuronCores of fixed size: logical cores are not
 * configurable. The larger types are a 4x4 torus with device = 4 * row + column.
 */
#include "boards/board.h"
#include "generated/families.h"

/* Eight EFA devices for sixteen Neuron devices: two neighbours in a row share an EFA device. */
/* one line for the four devices of a grid row */
/* clang-format off */
static const struct efa_map trn1_efa = {
    .address =
        {
            "0000:10:1a.0", "0000:10:1a.0", "0000:a0:1a.0", "0000:a0:1a.0",
            "0000:20:19.0", "0000:20:19.0", "0000:90:19.0", "0000:90:19.0",
            "0000:20:1a.0", "0000:20:1a.0", "0000:90:1a.0", "0000:90:1a.0",
            "0000:10:19.0", "0000:10:19.0", "0000:a0:19.0", "0000:a0:19.0",
        },
    .group4 = {"88a3c6ad1661fe1d", "69b2225fd72a59dd",
               "e3c29faa0cd11323", "178a9e264a26793e"},
    .group8 = {"86c451036f622685", "aa86c05423d6e8cd"},
    .group16 = "fb838249c99a6341",
};
/* clang-format on */

/* one line for the four devices of a grid row */
/* clang-format off */
static const struct efa_map trn1n_efa = {
    .address =
        {
            "0000:10:17.0", "0000:10:1a.0", "0000:a0:17.0", "0000:a0:1a.0",
            "0000:20:19.0", "0000:20:18.0", "0000:90:19.0", "0000:90:18.0",
            "0000:20:17.0", "0000:20:1a.0", "0000:90:17.0", "0000:90:1a.0",
            "0000:10:19.0", "0000:10:18.0", "0000:a0:19.0", "0000:a0:18.0",
        },
    .group4 = {"f9415ac86580cd2a", "81d377c56bbb18dd",
               "e367b751fc858d72", "6b9b077320083e11"},
    .group8 = {"25ab6fa8d56db17d", "feac12f490fb3cba"},
    .group16 = "9ea13cbe1ff23763",
};
/* clang-format on */

static const struct board rows[] = {
    {
        .instance_type = "trn1.2xlarge",
        .devices = 1,
    },
    {
        .instance_type = "trn1.32xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn1_efa,
    },
    {
        .instance_type = "trn1n.32xlarge",
        .devices = 16,
        .grid_rows = 4,
        .grid_columns = 4,
        .contiguous = 2,
        .efa = &trn1n_efa,
    },
};

const struct board_family trn1_family = {
    .name = "trn1",
    .cores_per_device = 2,
    .memory_gib = 32,
    .lnc_default = 1,
    .boards = sizeof rows / sizeof rows[0],
    .board = rows,
};
