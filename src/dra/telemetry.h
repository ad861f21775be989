/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs counts of a device and its cores, for --device-metrics: which files there are, what
 * their texts mean, and the values of all devices. Reads no file, decides nothing: the health of a
 * device is dra/health.h's. hw_error_event is none of the errors: it also counts recoveries and
 * corrected errors, and only wakes the agent. Source: kernel module's neuron_sysfs_metrics.c and
 * neuron_power.c, and the Neuron sysfs guide.
 *
 * Invariants:
 * I1 A value is the number of its file, or it is not known.
 * I2 A counter of memory errors falls only when two looks have seen that.
 */
#ifndef DRA_TELEMETRY_H
#define DRA_TELEMETRY_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* The values of a device, by kind: errors of it and its cores, memory of its cores, its power. */
#define TELEMETRY_ERRORS (5u + 8u * TELEMETRY_CORES_MAX)
#define TELEMETRY_MEMORIES (2u * TELEMETRY_CORES_MAX)

/*
 * A file: neuronN/stats/<folder><name>, of a core neuronN/neuron_coreK/stats/<folder><name>/total,
 * which for memory is what is in use.
 */
struct telemetry_file {
    int core; /* -1: of the device */
    const char *folder;
    const char *name; /* of the error or the memory */
};

/* Place behind a device's values: when reading them began, by the host's clock; 0: never. */
#define TELEMETRY_READ_MS TELEMETRY_VALUES

/* The values of all devices; all zero before the first look. */
struct telemetry {
    unsigned turn; /* how many looks there were */
    /* by number; telemetry_known reads all but TELEMETRY_READ_MS */
    uint64_t value[DEVICES_MAX][TELEMETRY_VALUES + 1u];
};

/* The file of a value. */
struct telemetry_file telemetry_file(unsigned index);
/*
 * Takes the text of its file into *kept; empty: it could not be read. Power is kept in thousandths
 * of what the device may draw, the mean of a minute.
 */
void telemetry_take(uint64_t *kept, unsigned index, struct view text);
/* Whether a value is known; *value is it then. */
MUST_USE bool telemetry_known(uint64_t kept, int64_t *value);

#endif
