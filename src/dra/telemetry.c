/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a device's metric files, and the parsing of their texts. */
#include "dra/telemetry.h"

#include "base/assert.h"

/* Marks a counter whose last reading was lower. */
#define FELL (UINT64_C(1) << 63)
/* Marks a counter whose last reading failed; the value before is kept for comparison. */
#define LOST (UINT64_C(1) << 62)
/* A value is stored plus one, so that 0 means never read. */
#define VALUE_MAX (LOST / 2u)

/* Folders of the metric files; a row that concerns cores stands for each core. */
static const struct {
    char folder[24];
    uint8_t names;
    bool cores;
} groups[] = {{"hardware/", 5, false},
              {"status/", 8, true},
              {"memory_usage/", 2, true},
              {"power/", 1, false}};
/* Counters of memory errors, which the kernel module shows as 0 when it cannot read the device. */
#define ECC_VALUES 5u
/* Names in the order of the groups, each with its NUL. */
static const char names[] = "sram_ecc_corrected\0"
                            "sram_ecc_uncorrected\0"
                            "mem_ecc_corrected\0"
                            "mem_ecc_uncorrected\0"
                            "mem_ecc_repairable_uncorrected\0"
                            "failure\0"
                            "timeout\0"
                            "hw_error\0"
                            "hw_collectives_error\0"
                            "hw_hbm_ue_error\0"
                            "hw_repairable_hbm_ue_error\0"
                            "hw_nc_ue_error\0"
                            "hw_dma_abort_error\0"
                            "device_mem\0"
                            "host_mem\0"
                            "utilization";
_Static_assert(TELEMETRY_VALUES == 5u + (8u + 2u) * TELEMETRY_CORES_MAX + 1u &&
                   TELEMETRY_VALUES == TELEMETRY_ERRORS + TELEMETRY_MEMORIES + 1u,
               "the groups name all values");

struct telemetry_file telemetry_file(unsigned index)
{
    unsigned group = 0;
    unsigned before = 0; /* names in the groups before this one */
    unsigned rest = index;
    unsigned files = groups[0].names;
    const char *name = names;
    ASSERT(index < TELEMETRY_VALUES);
    while (rest >= files) {
        rest -= files;
        before += groups[group].names;
        group++;
        files = groups[group].names * (groups[group].cores ? TELEMETRY_CORES_MAX : 1u);
    }
    for (unsigned i = before + rest % groups[group].names; i > 0u; i--) {
        name += view_text(name).len + 1u;
    }
    unsigned core = rest / groups[group].names;
    return (struct telemetry_file){
        .core = groups[group].cores ? (int)core : -1,
        .folder = groups[group].folder,
        .name = name,
    };
}

/* Parses "POWER_STATUS_VALID,<time>,<least>,<most>,<mean>", in percent with two decimals. */
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
    bool power = index == TELEMETRY_VALUES - 1u;
    if (power) {
        digits = power_text(digits, &percent);
    }
    bool known = view_decimal(digits, power ? 99u : VALUE_MAX, &value) == STATUS_OK;
    if (power) {
        value = percent * 10u + value / 10u;
    }
    uint64_t before = *kept & ~LOST;
    bool counter = index < ECC_VALUES;
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
