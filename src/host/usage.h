/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process uses, for the metrics process_* (usage.c): processor time, memory, descriptors.
 * The readers of sysfs are processes of their own and do not count. Owns struct usage.
 */
#ifndef HOST_USAGE_H
#define HOST_USAGE_H

#include <poll.h>

#include "agent/files.h"
#include "cfg/limits.h"

/* What is known since the start, and working memory. */
struct usage {
    int statm_fd; /* /proc/self/statm, opened before the sandbox forbids it; -1: no /proc */
    uint64_t start_ms;
    uint64_t max_fds;
    struct pollfd slots[DESCRIPTORS_NEEDED];
};

/* Call before sandbox_enter, and after the limit of open files was raised. */
void usage_begin(struct usage *u);
/*
 * Sets the values as they are now; UINT64_MAX: unknown. Costs three system calls. Counts the
 * descriptors below DESCRIPTORS_NEEDED, which are all that the program opens.
 */
void usage_read(struct usage *u, uint64_t value[PROCESS_VALUES]);

#endif
