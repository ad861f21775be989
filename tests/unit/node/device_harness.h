/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One found node, the table that is built from it, and its issues: what tests of the device table
 * share.
 */
#ifndef TESTS_DEVICE_HARNESS_H
#define TESTS_DEVICE_HARNESS_H

#include "board_vectors.h"

static struct found_node found;
static struct devices devices;
static struct probe_issues issues;

static void build(void)
{
    memset(&devices, 0, sizeof devices);
    labels_set(&devices);
    devices_build(&devices, &found, &issues);
    assert_true(devices_valid(&devices));
}

__attribute__((unused)) static void build_type(const char *type)
{
    found_board(&found, board_find(type));
    build();
}

#endif
