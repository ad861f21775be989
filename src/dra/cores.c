/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the NeuronCores for a claim that gets a part of a device. Owns only this choice: the
 * caller passes the cores in use, which it knows from the records of the claims that hold other
 * parts.
 */
#include "dra/claim.h"

#include "base/assert.h"

/* Number of the first used core at or after core `from`; `cores`: no used core follows. */
static unsigned gap_end(uint8_t used, unsigned from, unsigned cores)
{
    unsigned end = from;
    while (end < cores && ((unsigned)used >> end & 1u) == 0u) {
        end++;
    }
    return end;
}

uint8_t cores_place(uint8_t used, uint8_t part, unsigned cores, unsigned unit)
{
    unsigned best = cores + 1u;
    unsigned at = 0;
    unsigned wanted = claim_numbers_count(part);
    ASSERT((unit > 0u || cores == 0u) && cores <= SHARED_CORES_MAX && wanted > 0u);
    for (unsigned i = 0; i < cores; i = gap_end(used, i, cores) + 1u) {
        unsigned first = (i + unit - 1u) / unit * unit;
        unsigned room = gap_end(used, first, cores) - first;
        if (room >= wanted && room < best) {
            best = room;
            at = first;
        }
    }
    return (uint8_t)((best <= cores) ? ((1u << wanted) - 1u) << at : 0u);
}

void cores_write(struct writer *out, uint8_t part, unsigned unit)
{
    ASSERT(part != 0u && unit > 0u);
    unsigned first = (unsigned)__builtin_ctz(part) / unit;
    unsigned last = first + claim_numbers_count(part) / unit - 1u;
    writer_decimal(out, first);
    if (last > first) {
        WRITE(out, "-%", NUMBER(last));
    }
}
