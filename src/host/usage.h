/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what the agent's process uses, for the metrics process_*: processor time, memory,
 * descriptors (usage.c). Does not include the readers of sysfs, which are separate processes. Owns
 * struct usage.
 */
#ifndef HOST_USAGE_H
#define HOST_USAGE_H

#include <poll.h>

#include "agent/files.h"
#include "cfg/limits.h"

/* State for measuring the process: facts from the start of the process, and working memory. */
struct usage {
    /*
     * descriptor of /proc/self/statm, opened before the sandbox forbids that; -1: the file cannot
     * be opened
     */
    int statm_fd;
    uint64_t start_ms;
    uint64_t max_fds;
    struct pollfd slots[DESCRIPTORS_NEEDED];
};

/*
 * Opens /proc/self/statm, and reads the facts that stay the same while the process runs. Call
 * before sandbox_enter, and after the limit of open files was raised.
 */
void usage_begin(struct usage *u);
/*
 * Sets value[] to the current values of the process; UINT64_MAX: the value is unknown. Costs three
 * system calls. Counts only descriptors below DESCRIPTORS_NEEDED, because the process opens no
 * others.
 */
void usage_read(struct usage *u, uint64_t value[PROCESS_VALUES]);

#endif
