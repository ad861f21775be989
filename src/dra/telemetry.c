/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a device's metric files, and the parsing of their texts. */
#include "dra/telemetry.h"

#include "base/assert.h"

/*
 * Marks a counter whose last reading was lower than the stored value; the stored value is kept
 * until the next valid reading, which replaces it.
 */
#define FELL (UINT64_C(1) << 63)
/* Marks a counter whose last reading failed; the stored value is kept for later comparison. */
#define LOST (UINT64_C(1) << 62)
/*
 * Largest value that can be stored. A value is stored plus one, because a stored 0 means unknown;
 * the bits FELL and LOST are above it.
 */
#define VALUE_MAX (LOST / 2u)

/* Counters of memory errors, which the kernel module shows as 0 when it cannot read the device. */
static const char *const ecc_names[] = {
    "sram_ecc_corrected",  "sram_ecc_uncorrected",           "mem_ecc_corrected",
    "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected",
};
static const char *const core_error_names[] = {
    "failure",         "timeout",
    "hw_error",        "hw_collectives_error",
    "hw_hbm_ue_error", "hw_repairable_hbm_ue_error",
    "hw_nc_ue_error",  "hw_dma_abort_error",
};
static const char *const core_memory_names[] = {"device_mem", "host_mem"};
static const char *const power_name = "utilization";
/* The uses of device memory that have the same names in neuron-monitor and in the kernel module. */
static const char *const core_use_names[] = {
    "constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors",
};

#define COUNT_OF(array) (unsigned)(sizeof(array) / sizeof(array)[0])
/* Folders of the metric files in the order of the values; the values of one core are adjacent. */
static const struct {
    const char *folder;
    const char *const *names;
    unsigned count; /* number of entries in `names` */
    unsigned cores; /* number of cores that have the folder; 0: only the device has it */
} groups[] = {
    {"hardware/", ecc_names, COUNT_OF(ecc_names), 0},
    {"status/", core_error_names, COUNT_OF(core_error_names), TELEMETRY_CORES_MAX},
    {"memory_usage/", core_memory_names, COUNT_OF(core_memory_names), TELEMETRY_CORES_MAX},
    {"power/", &power_name, 1, 0},
    {"memory_usage/device_mem/", core_use_names, COUNT_OF(core_use_names), TELEMETRY_CORES_MAX},
};
_Static_assert(TELEMETRY_ERRORS ==
                       COUNT_OF(ecc_names) + COUNT_OF(core_error_names) * TELEMETRY_CORES_MAX &&
                   TELEMETRY_MEMORIES == COUNT_OF(core_memory_names) * TELEMETRY_CORES_MAX &&
                   TELEMETRY_USES_OF_CORE == COUNT_OF(core_use_names) &&
                   TELEMETRY_VALUES == TELEMETRY_USES_FIRST + TELEMETRY_USES,
               "the groups name all values");

struct telemetry_file telemetry_file(unsigned index)
{
    unsigned group = 0;
    unsigned rest = index; /* index of the value, counted from the first value of the group */
    unsigned files = groups[0].count;
    ASSERT(index < TELEMETRY_VALUES);
    while (rest >= files) {
        rest -= files;
        group++;
        files = groups[group].count * ((groups[group].cores > 0u) ? groups[group].cores : 1u);
    }
    unsigned core = rest / groups[group].count;
    return (struct telemetry_file){
        .core = (groups[group].cores > 0u) ? (int)core : -1,
        .folder = groups[group].folder,
        .name = groups[group].names[rest % groups[group].count],
    };
}

/*
 * Parses "POWER_STATUS_VALID,<time>,<least>,<most>,<mean>", where the power is in percent with two
 * decimals. Sets *percent to the integer part of the mean, and returns its decimals; returns an
 * empty view if the text is not valid.
 */
static struct view power_text(struct view text, uint64_t *percent)
{
    struct view rest = text;
    for (unsigned i = 0; i < 4u; i++) {
        rest = view_from(rest, view_find(rest, ',') + 1u);
    }
    size_t point = view_find(rest, '.');
    bool valid = view_starts(text, "POWER_STATUS_VALID,") &&
                 view_decimal(view_first(rest, point), 100u, percent) == STATUS_OK;
    return valid ? view_from(rest, point + 1u) : view_of(NULL, 0);
}

void telemetry_parse(uint64_t *kept, unsigned index, struct view text)
{
    struct view digits = view_trim(text);
    uint64_t percent = 0;
    uint64_t value = 0;
    bool power = index == TELEMETRY_POWER;
    if (power) {
        digits = power_text(digits, &percent);
    }
    bool known = view_decimal(digits, power ? 99u : VALUE_MAX, &value) == STATUS_OK;
    if (power) {
        value = percent * 10u + value / 10u;
    }
    uint64_t before = *kept & ~LOST;
    bool counter = index < COUNT_OF(ecc_names);
    if (!known) {
        *kept = counter ? before | LOST : 0u;
        return;
    }
    bool first = counter && (before & FELL) == 0u && value + 1u < before;
    *kept = first ? before | FELL : value + 1u;
}

bool telemetry_known(uint64_t kept, int64_t *value)
{
    uint64_t above = kept & ~FELL;
    *value = (int64_t)above - 1;
    return above != 0u && (above & LOST) == 0u;
}
