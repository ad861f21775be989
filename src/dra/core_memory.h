/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory of a device processes use, from the kernel module's counters of one core (folder
 * neuron_coreK/stats/memory_usage/device_mem). Owns the names of these files and their base line;
 * reads no file.
 *
 * The counter `total` is what is allocated now. It is the sum of categories, and each allocation
 * has a lifespan. Those of a process end with the process, or with the last process that has the
 * device open; a chunk that something still refers to then stays allocated. That is memory which a
 * dead runtime holds. Two categories live as long as the device, with or without a process:
 * - driver_memory: what the module allocates for itself, such as the 16 MiB of each HBM that the
 *   firmware uses. Modules that allocate them before they create the files in sysfs, as 2.24 does,
 *   do not count them, because creating the files clears the counters; then this counter is 0.
 * - notifications: queues that a runtime lets the module create, in device memory if it says so.
 *   They stay after the runtime's end, until the next reset of the core.
 * So the base line of a core is the sum of these two counters, whatever it is at the moment. A base
 * line that the agent takes from its first look would hide memory that was held before that look.
 * Source: kernel module 2.24.7, neuron_mempool.c, neuron_nq.c, neuron_sysfs_metrics.c and
 * v2/neuron_dhal_v2.c.
 */
#ifndef DRA_CORE_MEMORY_H
#define DRA_CORE_MEMORY_H

#include "base/bytes.h"

enum {
    CORE_MEMORY_TOTAL,
    CORE_MEMORY_DRIVER,
    CORE_MEMORY_NOTIFICATIONS,
    CORE_MEMORY_FILES /* number of files */
};

/* The path of a file below the folder device_mem of a core. Static text. */
const char *core_memory_path(unsigned file);
/*
 * The bytes of device memory that processes use on a core. `bytes`: the number in each file; below
 * 0: the file is absent or unreadable, so that it counts as 0. Returns 0 if the total is not above
 * the base line.
 */
uint64_t core_memory_of_processes(const int64_t bytes[CORE_MEMORY_FILES]);

#endif
