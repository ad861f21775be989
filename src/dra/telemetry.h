/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and gauges of a device and its cores in sysfs, for --device-metrics and
 * --neuron-monitor-metrics: the list of files, the meaning of their texts, and the values of all
 * devices. Reads no file and decides nothing; dra/health.h owns a device's health. hw_error_event
 * is not among the errors: it also counts recoveries and corrected errors, and only wakes the
 * agent. Source: kernel module's neuron_sysfs_metrics.c and neuron_power.c, and the Neuron sysfs
 * guide.
 *
 * Invariants:
 *
 * I1 A value is the number in its file, or unknown.
 * I2 A counter of memory errors falls only after two readings have shown the lower value.
 */
#ifndef DRA_TELEMETRY_H
#define DRA_TELEMETRY_H

#include "base/bytes.h"
#include "cfg/limits.h"

/*
 * Number of error counters of a device: 5 of the device itself and 8 of each core. They are the
 * first values of a device; its memory gauges, its power, and the uses of its memory follow.
 */
#define TELEMETRY_ERRORS (5u + 8u * TELEMETRY_CORES_MAX)
/* Number of memory gauges of a device: 2 of each core. */
#define TELEMETRY_MEMORIES (2u * TELEMETRY_CORES_MAX)
#define TELEMETRY_USES_OF_CORE 5u
#define TELEMETRY_USES (TELEMETRY_USES_OF_CORE * TELEMETRY_CORES_MAX)
/*
 * Indexes of two values of a device: TELEMETRY_POWER is the power, the last value that is read for
 * --device-metrics; TELEMETRY_USES_FIRST is the first use of device memory. The uses are read for
 * --neuron-monitor-metrics.
 */
#define TELEMETRY_POWER (TELEMETRY_ERRORS + TELEMETRY_MEMORIES)
#define TELEMETRY_USES_FIRST (TELEMETRY_POWER + 1u)

/*
 * A metric file: neuronN/stats/<folder><name> for a device,
 * neuronN/neuron_coreK/stats/<folder><name>/total for a core. For a kind of memory, `total` is the
 * amount in use.
 */
struct telemetry_file {
    int core; /* number of the core; -1: the file belongs to the device itself */
    const char *folder;
    const char *name; /* name of the file: an error, a kind or use of memory, or the power */
};

/*
 * Index, in a device's row of `value` (struct telemetry), of the time at which the last reading
 * began (host clock); 0: never.
 */
#define TELEMETRY_READ_MS TELEMETRY_VALUES

/* The values of all devices and their cores; all zero before the first reading. */
struct telemetry {
    unsigned turn; /* number of readings so far; each reading reads one device, in turn */
    /*
     * stored values, indexed by device number and by the index of the value; telemetry_known
     * decodes them, except the time at index TELEMETRY_READ_MS
     */
    uint64_t value[DEVICES_MAX][TELEMETRY_VALUES + 1u];
};

/* Returns the file of the value with this index. */
struct telemetry_file telemetry_file(unsigned index);
/*
 * Parses a file's text and updates *kept, the stored value; pass an empty text if the file is
 * unreadable. The stored power is an average over a minute, in thousandths of the device's limit.
 */
void telemetry_parse(uint64_t *kept, unsigned index, struct view text);
/* Whether the stored value `kept` is known; if so, *value gets the number. */
MUST_USE bool telemetry_known(uint64_t kept, int64_t *value);

#endif
