/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of a device: what one look at its files says, and the state that follows from one look
 * after the other. Owns the meaning of these files and the rule when a state changes; reads no
 * file, knows no clock. Sources: kernel module's neuron_sysfs_metrics.c and neuron_cdev.c.
 *
 * Rules:
 * R1 An unhealthy component, a device that does not answer, a failed initialisation or reset, and a
 *    device that is gone count at the first look, and until the first look without them.
 * R2 A counter of hardware errors that rises counts for HEALTH_ERROR_MS, or until it is cleared.
 *    What a counter had at the first look is history and counts for nothing; so is the sum where
 *    another set of counters could be read than before: it rose or fell by what they are.
 * R3 A value that cannot be read, and a reset under way, say nothing: an unhealthy device stays so
 *    for HEALTH_UNKNOWN_MS, a healthy one is unknown at once, and so is one that is no longer gone.
 * R4 A device that becomes unhealthy again and again has to stay free of errors before it is
 *    healthy: the first HEALTH_FALLS_FREE times not at all, then HEALTH_HOLD_MS, twice as long each
 *    time. So the number of changes is bounded, however often the files change.
 */
#ifndef DRA_HEALTH_H
#define DRA_HEALTH_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* The numbers of enum HealthStatus in DRAResourceHealth (KEP-4680). */
enum health { HEALTH_UNKNOWN, HEALTH_HEALTHY, HEALTH_UNHEALTHY };

/* What is wrong with a device, as bits: first the components in the order of health_reason_name. */
enum {
    HEALTH_REASON_COMPONENTS = 0x3ff,  /* the ten that the kernel module names */
    HEALTH_REASON_COMPONENT = 0x400,   /* one that this agent does not know */
    HEALTH_REASON_UNREACHABLE = 0x800, /* the device does not answer the kernel module */
    HEALTH_REASON_INIT = 0x1000,       /* the kernel module could not initialise the device */
    HEALTH_REASON_RESET = 0x2000,      /* its last reset failed */
    HEALTH_REASON_ECC = 0x4000,        /* uncorrectable memory errors */
    HEALTH_REASON_ERROR = 0x8000,      /* hardware errors */
    HEALTH_REASON_GONE = 0x10000       /* neither in sysfs nor in /dev */
};

/* The counters, as bits: the files of uncorrectable errors, and hw_error_event. */
enum { HEALTH_COUNTED_ECC = 0x7, HEALTH_COUNTED_ERRORS = 0x8 };

/* What one look says; all zero: nothing. */
struct device_reading {
    uint32_t reasons; /* HEALTH_REASON_… */
    bool known;       /* its components could be read, and no reset is under way */
    uint8_t counted;  /* HEALTH_COUNTED_…: the counters that could be read */
    uint64_t ecc;     /* sum of those of uncorrectable errors */
    uint64_t errors;  /* hw_error_event */
};

/* Takes the text of unhealthy_components; empty with `there` false: it could not be read. */
void device_reading_components(struct device_reading *r, struct view text, bool there);
/* Takes the text of `reset`: 0 in reset, 1 ready, 2 invalid. Anything else says nothing. */
void device_reading_reset(struct device_reading *r, struct view text);
/* Adds the text of a counter to *sum; false: it is no number. */
MUST_USE bool device_reading_counter(uint64_t *sum, struct view text);

/* A device from look to look; all zero before the first one. */
struct health_track {
    bool seen;        /* a look has found the device, or missed it while a claim holds it */
    uint8_t state;    /* enum health */
    uint32_t reasons; /* why it is unhealthy; the last ones while it only has to stay healthy */
    uint8_t counted;  /* HEALTH_COUNTED_…: `ecc` and `errors` are those of these; 0: of none */
    uint64_t ecc;
    uint64_t errors;
    uint32_t fallen;   /* bits of the counters that were lower at the last look */
    uint32_t rising;   /* HEALTH_REASON_ECC and HEALTH_REASON_ERROR that count now */
    uint64_t rose_ms;  /* when one of them rose last */
    uint64_t bad_ms;   /* the last look that found something wrong */
    uint64_t fell_ms;  /* when it became unhealthy last */
    uint32_t falls;    /* how often lately */
    uint64_t hold_ms;  /* how long it has to be free of errors */
    uint64_t since_ms; /* when `state` became what it is */
};

/* Takes a look. True: state or reasons changed. */
bool device_health_take(struct health_track *h, const struct device_reading *r, uint64_t now_ms);
/* What one look alone says, for who has no other. */
enum health device_reading_health(const struct device_reading *r);
/* The reasons in words, "hbm, sram", or why nothing is known; nothing for a healthy device. */
void device_health_text(struct writer *w, enum health state, uint32_t reasons);

#endif
