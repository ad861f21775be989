/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's files in memory, for the simulator on a virtual clock: what was written survives the
 * "process". Nothing fails here; the unit tests have a port that does. Owns the bytes.
 */
#ifndef TESTS_SIM_VIRTUAL_DISK_H
#define TESTS_SIM_VIRTUAL_DISK_H

#include "agent/files.h"

extern const struct files disk_files;

/* An empty disk, as on a new node. */
void disk_clear(void);

#endif
