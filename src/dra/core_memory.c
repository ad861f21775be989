/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the memory that processes use on a core, see core_memory.h. */
#include "dra/core_memory.h"

#include "base/assert.h"

static const char *const paths[CORE_MEMORY_FILES] = {
    [CORE_MEMORY_TOTAL] = "total",
    [CORE_MEMORY_DRIVER] = "driver_memory/total",
    [CORE_MEMORY_NOTIFICATIONS] = "notifications/total",
};

const char *core_memory_path(unsigned file)
{
    ASSERT(file < (unsigned)CORE_MEMORY_FILES);
    return paths[file];
}

static uint64_t known(int64_t bytes)
{
    return (bytes > 0) ? (uint64_t)bytes : 0u;
}

uint64_t core_memory_of_processes(const int64_t bytes[CORE_MEMORY_FILES])
{
    uint64_t total = known(bytes[CORE_MEMORY_TOTAL]);
    uint64_t base = known(bytes[CORE_MEMORY_DRIVER]) + known(bytes[CORE_MEMORY_NOTIFICATIONS]);
    return (total > base) ? total - base : 0u;
}
