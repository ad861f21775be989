/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inferentia1: the kernel module has not supported it since 2.25, and its devices have another
 * interface.
 */
#include "boards/board.h"
#include "generated/families.h"

const struct board_family inf1_family = {
    .name = "inf1",
    .refused = true,
};
