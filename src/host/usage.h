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

/* State of the measurement: facts from the start of the process, and working memory. */
struct usage {
    int statm_fd; /* /proc/self/statm, opened before the sandbox forbids it; -1: no /proc */
    uint64_t start_ms;
    uint64_t max_fds;
    struct pollfd slots[DESCRIPTORS_NEEDED];
};

/*
 * Initializes the measurement. Call before sandbox_enter, and after the limit of open files was
 * raised.
 */
void usage_begin(struct usage *u);
/*
 * Sets value[] to the current values of the process; UINT64_MAX: the value is unknown. Costs three
 * system calls. Counts only descriptors below DESCRIPTORS_NEEDED, because the process opens no
 * others.
 */
void usage_read(struct usage *u, uint64_t value[PROCESS_VALUES]);

#endif
