/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates texts of the kernel module into reasons, and reasons into a state of health. Logs
 * nothing and publishes nothing.
 */
#include "dra/health.h"

#include "base/assert.h"

/*
 * Names of the reasons in the order of their bits; the first ten are spelled as in the kernel
 * module.
 */
static const char *const reason_names[] = {
    "hbm",
    "firmware_service_api",
    "firmware_service_processor",
    "sram",
    "link_intraserver",
    "link_host",
    "link_efa",
    "link_interserver",
    "link_switch",
    "axi_fabric",
    "unknown component",
    "device unreachable",
    "initialisation failed",
    "reset failed",
    "uncorrectable memory errors",
    "a file in sysfs does not answer",
    "device gone",
};
#define REASONS 17u
_Static_assert(sizeof reason_names / sizeof reason_names[0] == REASONS, "counted");
#define COMPONENTS 10u
#define REASON_BIT(number) ((uint32_t)1 << (number))
_Static_assert(HEALTH_REASON_COMPONENTS == REASON_BIT(COMPONENTS) - 1u, "a bit for each component");
_Static_assert(HEALTH_REASON_GONE == REASON_BIT(REASONS - 1u), "a name for each bit");

/* --- names of the health files, and kernel module versions that have them --- */

static const char *const paths[HEALTH_FILES] = {
    [HEALTH_FILE_COMPONENTS] = "stats/hardware/health_status/unhealthy_components",
    [HEALTH_FILE_RESET] = "reset",
    [HEALTH_FILE_ECC] = "stats/hardware/sram_ecc_uncorrected",
    [HEALTH_FILE_ECC_MEMORY] = "stats/hardware/mem_ecc_uncorrected",
    [HEALTH_FILE_ECC_REPAIRABLE] = "stats/hardware/mem_ecc_repairable_uncorrected",
};

#define FILE_BIT(file) (1u << (unsigned)(file))
#define COMPONENTS_FILE FILE_BIT(HEALTH_FILE_COMPONENTS)
#define RESET_FILE FILE_BIT(HEALTH_FILE_RESET)
#define COUNTER_FILES                                                                              \
    (FILE_BIT(HEALTH_FILE_ECC) | FILE_BIT(HEALTH_FILE_ECC_MEMORY) |                                \
     FILE_BIT(HEALTH_FILE_ECC_REPAIRABLE))

/*
 * First versions of the kernel module with the health files: as far as is known, 2.24 has all files
 * except unhealthy_components; 2.30 also has unhealthy_components.
 */
#define MAJOR 2u
#define FILES_MINOR 24u
#define COMPONENTS_MINOR 30u
#define VERSION_NUMBER_MAX 99999u

const char *health_file_path(unsigned file)
{
    ASSERT(file < (unsigned)HEALTH_FILES);
    return paths[file];
}

struct view health_file_name(unsigned file)
{
    struct view name = view_text(health_file_path(file));
    while (view_find(name, '/') < name.len) {
        name = view_from(name, view_find(name, '/') + 1u);
    }
    return name;
}

unsigned health_files_of(struct view version, bool lists)
{
    uint64_t major = 0;
    uint64_t minor = 0;
    size_t dot = view_find(version, '.');
    struct view rest = view_from(version, dot + 1u);
    struct view second = view_first(rest, view_find(rest, '.'));
    bool good = view_decimal(view_first(version, dot), VERSION_NUMBER_MAX, &major) == STATUS_OK &&
                view_decimal(second, VERSION_NUMBER_MAX, &minor) == STATUS_OK;
    minor = (major > MAJOR) ? VERSION_NUMBER_MAX : minor;
    if (!good || major < MAJOR || minor < FILES_MINOR) {
        return 0;
    }
    return RESET_FILE | COUNTER_FILES |
           ((lists && minor >= COMPONENTS_MINOR) ? COMPONENTS_FILE : 0u);
}

/* --- parsing one reading --- */

static uint32_t component_bit(struct view word)
{
    for (unsigned i = 0; i < COMPONENTS; i++) {
        if (view_is(word, reason_names[i])) {
            return REASON_BIT(i);
        }
    }
    return HEALTH_REASON_COMPONENT;
}

/*
 * Parses a word that can replace the list in unhealthy_components. Returns false if the text is not
 * such a word.
 */
static bool parse_word(struct device_reading *r, struct view text)
{
    bool taken = true;
    if (view_is(text, "device_unreachable")) {
        r->reasons |= HEALTH_REASON_UNREACHABLE;
    } else if (view_is(text, "init_error")) {
        r->reasons |= HEALTH_REASON_INIT;
    } else if (view_is(text, "busy")) {
        r->known = false;
        r->blind = true;
    } else {
        taken = false;
    }
    return taken;
}

void device_reading_components(struct device_reading *r, struct view text, bool there)
{
    struct view list = view_trim(text);
    r->listed = there;
    r->known = there;
    if (parse_word(r, list)) {
        return;
    }
    while (list.len > 0u) {
        size_t comma = view_find(list, ',');
        struct view word = view_trim(view_first(list, comma));
        r->reasons |= (word.len > 0u) ? component_bit(word) : 0u;
        list = view_from(list, comma + 1u);
    }
}

void device_reading_reset(struct device_reading *r, struct view text)
{
    struct view state = view_trim(text);
    if (view_is(state, "0")) {
        r->known = false;
        r->blind = true;
    } else if (view_is(state, "2")) {
        r->reasons |= HEALTH_REASON_RESET;
    }
}

void device_reading_counter(struct device_reading *r, unsigned counter, struct view text)
{
    uint64_t value = 0;
    ASSERT(counter < HEALTH_COUNTERS);
    if (view_decimal(view_trim(text), UINT64_MAX / 4u, &value) == STATUS_OK) {
        r->ecc[counter] = value;
        r->counted = (uint8_t)(r->counted | (uint32_t)1 << counter);
    }
}

void device_reading_unread(struct device_reading *r, unsigned file, bool absent)
{
    ASSERT(file < (unsigned)HEALTH_FILES);
    r->unread = (uint8_t)(r->unread | FILE_BIT(file));
    r->absent = (uint8_t)(r->absent | (absent ? FILE_BIT(file) : 0u));
}

void device_reading_judge(struct device_reading *r, unsigned files)
{
    bool lists = (files & COMPONENTS_FILE) != 0u;
    unsigned deciding = files & (RESET_FILE | (lists ? COMPONENTS_FILE : COUNTER_FILES));
    r->blind = r->blind || (r->unread & deciding) != 0u;
    r->absent = (uint8_t)(r->absent & files);
}

/* The health of a device after a reading that shows no reason. */
static enum health health_without_reason(const struct device_reading *r)
{
    return (r->known && r->absent == 0u) ? HEALTH_HEALTHY : HEALTH_UNKNOWN;
}

enum health device_reading_health(const struct device_reading *r)
{
    return (r->reasons != 0u) ? HEALTH_UNHEALTHY : health_without_reason(r);
}

/* --- the health that follows from successive readings --- */

static uint8_t with_bit(uint8_t bits, unsigned bit, bool set)
{
    uint32_t mask = (uint32_t)1 << bit;
    return (uint8_t)(set ? bits | mask : bits & ~mask);
}

/*
 * Compares a counter with its last value; returns whether the counter rose. The kernel module shows
 * 0 when it cannot read the device, so only a second 0 in a row means that the counter was cleared.
 * Any other change counts as a rise, even a change to a lower value, because the 16-bit SRAM
 * counter wraps, and because a cleared counter may have counted again.
 */
static bool track_counter(struct health_track *h, unsigned counter, uint64_t now)
{
    uint64_t kept = h->ecc[counter];
    bool known = ((uint32_t)h->counted >> counter & 1u) != 0u;
    bool zero = known && now == 0u && kept != 0u;
    bool cleared = zero && ((uint32_t)h->zero >> counter & 1u) != 0u;
    bool rose = known && !zero && now != kept;
    if (rose || cleared) {
        h->rising = with_bit(h->rising, counter, rose);
    }
    h->zero = with_bit(h->zero, counter, zero);
    h->counted = with_bit(h->counted, counter, true);
    h->ecc[counter] = (zero && !cleared) ? kept : now;
    return rose;
}

/*
 * Tracks the counters even while unhealthy_components decides about the health (rule R2 of
 * dra/health.h). Readings need not have them during that time, so the first reading after it
 * compares with nothing: a rise during that time is not mistaken for a new one.
 */
static void track_counters(struct health_track *h, const struct device_reading *r, uint64_t now_ms)
{
    if (now_ms - h->rose_ms >= HEALTH_ERROR_MS) {
        h->rising = 0;
    }
    if ((r->reasons & HEALTH_REASON_GONE) != 0u) {
        h->counted = 0; /* a device that later gets this number may be another device */
        h->rising = 0;
    }
    bool listed = r->listed || r->known;
    h->counted = (h->listed && !listed) ? (uint8_t)0 : h->counted;
    h->listed = listed;
    for (unsigned i = 0; i < HEALTH_COUNTERS; i++) {
        bool read = ((uint32_t)r->counted >> i & 1u) != 0u;
        if (read && track_counter(h, i, r->ecc[i])) {
            h->rose_ms = now_ms;
        }
    }
    if (listed) {
        h->rising = 0;
    }
}

static void track_fall(struct health_track *h, uint64_t now_ms)
{
    bool lately = h->falls > 0u && now_ms - h->fell_ms < HEALTH_FALLS_MS;
    h->falls = lately ? h->falls + 1u : 1u;
    h->hold_ms = lately ? h->hold_ms : 0u;
    if (h->falls > HEALTH_FALLS_FREE) {
        uint64_t twice = (h->hold_ms == 0u) ? HEALTH_HOLD_MS : h->hold_ms * 2u;
        h->hold_ms = (twice < HEALTH_HOLD_MAX_MS) ? twice : HEALTH_HOLD_MAX_MS;
    }
    h->fell_ms = now_ms;
}

/* The new state of a tracked device after a reading that shows no reason. */
static enum health state_without_reason(const struct health_track *h,
                                        const struct device_reading *r, uint64_t now_ms)
{
    static const uint32_t of_other_files =
        (uint32_t)HEALTH_REASON_GONE | (uint32_t)HEALTH_REASON_SILENT |
        (uint32_t)HEALTH_REASON_ECC | (uint32_t)HEALTH_REASON_RESET;
    /* reasons that unhealthy_components gave: only this file can withdraw them */
    bool listed = (h->reasons & ~of_other_files) != 0u;
    bool held = (!r->known && (listed || r->blind)) || now_ms - h->bad_ms < h->hold_ms;
    if (h->state == (uint8_t)HEALTH_UNHEALTHY && held) {
        return HEALTH_UNHEALTHY;
    }
    return health_without_reason(r);
}

bool device_health_apply(struct health_track *h, const struct device_reading *r, uint64_t now_ms)
{
    track_counters(h, r, now_ms);
    uint32_t reasons = r->reasons | ((h->rising != 0u) ? (uint32_t)HEALTH_REASON_ECC : 0u);
    enum health before = (enum health)h->state;
    enum health after = HEALTH_UNHEALTHY;
    if (reasons != 0u) {
        h->bad_ms = now_ms;
    } else {
        after = state_without_reason(h, r, now_ms);
        reasons = (after == HEALTH_UNHEALTHY) ? h->reasons : 0u;
    }
    bool changed = !h->seen || after != before || reasons != h->reasons;
    if (after == HEALTH_UNHEALTHY && before != HEALTH_UNHEALTHY) {
        track_fall(h, now_ms);
    }
    h->since_ms = (after == before) ? h->since_ms : now_ms;
    h->seen = true;
    h->state = (uint8_t)after;
    h->reasons = reasons;
    return changed;
}

uint32_t device_health_reasons(struct view text)
{
    uint32_t reasons = 0;
    struct view rest = text;
    while (rest.len > 0u) {
        size_t comma = view_find(rest, ',');
        struct view name = view_trim(view_first(rest, comma));
        uint32_t reason = (uint32_t)HEALTH_REASON_COMPONENT;
        for (unsigned i = 0; i < REASONS; i++) {
            reason = view_is(name, reason_names[i]) ? REASON_BIT(i) : reason;
        }
        reasons |= reason;
        rest = view_from(rest, comma + 1u);
    }
    return reasons;
}

void device_health_text(struct writer *w, enum health state, uint32_t reasons)
{
    const char *between = "";
    if (state == HEALTH_UNKNOWN) {
        writer_text(
            w,
            "no file that can be read says whether the device is healthy, or a reset is under way");
    }
    for (unsigned i = 0; i < REASONS; i++) {
        if ((reasons >> i & 1u) != 0u) {
            WRITE(w, "%%", TEXT(between), TEXT(reason_names[i]));
            between = ", ";
        }
    }
}
