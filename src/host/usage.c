/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the resource use of the agent's process; see usage.h. */
#include "host/usage.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/system.h"

void usage_begin(struct usage *u)
{
    struct rlimit limit;
    u->statm_fd = path_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    u->start_ms = clock_wall_ms();
    bool known = prlimit(0, RLIMIT_NOFILE, NULL, &limit) == 0;
    u->max_fds = known ? limit.rlim_cur : UINT64_MAX;
}

/*
 * Returns the number of open descriptors. One poll(2) of all descriptor numbers suffices, because
 * poll(2) marks the numbers that are not open.
 */
static uint64_t count_open(struct usage *u)
{
    for (unsigned i = 0; i < DESCRIPTORS_NEEDED; i++) {
        u->slots[i] = (struct pollfd){.fd = (int)i};
    }
    if (poll(u->slots, DESCRIPTORS_NEEDED, 0) < 0) {
        return UINT64_MAX;
    }
    uint64_t n = 0;
    for (unsigned i = 0; i < DESCRIPTORS_NEEDED; i++) {
        n += ((u->slots[i].revents & POLLNVAL) == 0) ? 1u : 0u;
    }
    return n;
}

/*
 * Parses the first two numbers of /proc/self/statm: pages of the address space, and resident pages.
 */
static void read_memory(const struct usage *u, uint64_t value[PROCESS_VALUES])
{
    char bytes[128];
    ssize_t n = (u->statm_fd >= 0) ? pread(u->statm_fd, bytes, sizeof bytes, 0) : -1;
    struct view text = view_of(bytes, (n > 0) ? (size_t)n : 0u);
    static const enum process_value order[] = {PROCESS_VIRTUAL_BYTES, PROCESS_RESIDENT_BYTES};
    uint64_t page = (uint64_t)getauxval(AT_PAGESZ);
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        size_t end = view_find(text, ' ');
        uint64_t pages = 0;
        bool good =
            view_decimal(view_first(text, end), UINT64_MAX / page - 1u, &pages) == STATUS_OK;
        value[order[i]] = good ? pages * page : UINT64_MAX;
        text = view_from(text, end + 1u);
    }
}

void usage_read(struct usage *u, uint64_t value[PROCESS_VALUES])
{
    value[PROCESS_CPU_US] = clock_cpu_us();
    value[PROCESS_START_MS] = u->start_ms;
    value[PROCESS_MAX_FDS] = u->max_fds;
    value[PROCESS_OPEN_FDS] = count_open(u);
    read_memory(u, value);
}
