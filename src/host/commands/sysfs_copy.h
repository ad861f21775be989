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
 *   f PATH VALUE    a file and its content
 *   l PATH TARGET   a symbolic link
 *   ! PATH REASON   a file or directory that cannot be read, or is left out
 * Each byte that is not printable ASCII, each backslash, and each space of a path is \xNN. Leaves
 * out files and directories whose names say that they identify a device (serial, uuid, guid,
 * asset), and the rest once the copy has SYSFS_COPY_LINES_MAX lines or SYSFS_COPY_BYTES_MAX bytes,
 * or has taken SYSFS_COPY_MS. Uses m->out, m->levels, m->cdi. On failure (HOST_*) the output cannot
 * be written, and `why` gets one line.
 */
MUST_USE enum status sysfs_copy(struct command_memory *m, struct writer *why);

#endif
