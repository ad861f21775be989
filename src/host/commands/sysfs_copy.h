/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file sysfs.txt of a bundle: what sysfs shows of the node's Neuron and EFA devices. The
 * simulated node can show the same tree again (tools/simnode/capture.py), so that a problem of a
 * node can be reproduced without its hardware.
 */
#ifndef HOST_COMMANDS_SYSFS_COPY_H
#define HOST_COMMANDS_SYSFS_COPY_H

#include "host/commands/commands.h"

/*
 * Writes one line for each file of the sysfs root that belongs to the devices, with its path below
 * that root, to m->out_fd:
 *   PATH VALUE      a file; bytes that a terminal would not show are written as \xNN
 *   PATH -> TARGET  a symbolic link
 *   PATH ! REASON   a file or directory that cannot be read, or is left out
 * Serial numbers are left out. Uses m->out, m->levels, m->cdi. On failure (HOST_*) the output
 * cannot be written, and `why` gets one line.
 */
MUST_USE enum status sysfs_copy(struct command_memory *m, struct writer *why);

#endif
