/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of a device: the meaning of one reading of its files, and the state that follows from
 * successive readings. Owns the meaning of these files and the rule when a state changes; reads no
 * file, knows no clock. Sources: kernel module's neuron_sysfs_metrics.c and neuron_cdev.c.
 *
 * Rules:
 * R1 Each of these conditions counts from the first reading that shows it to the first reading
 *    without it: an unhealthy component, a device that does not answer, a failed initialisation or
 *    reset, a file whose read hangs, a device that is gone.
 * R2 unhealthy_components decides where it can be read (kernel module 2.30 and later, on Trainium2
 *    and 3). Elsewhere the counters of uncorrected memory errors decide: a rise counts for
 *    HEALTH_ERROR_MS, or until the counter is cleared. The first value of a counter may come from
 *    old errors and counts for nothing. hw_error_event does not count errors: it also rises when a
 *    component recovers and when an error is corrected, so it only wakes the agent.
 * R3 An unreadable value and a reset under way prove nothing. A healthy device becomes unknown at
 *    once; an unhealthy one stays so until a reading that includes the files of R2 shows nothing
 *    wrong. Counted errors also last for HEALTH_ERROR_MS.
 * R4 A device that becomes unhealthy more than HEALTH_FALLS_FREE times in succession (cfg/limits.h)
 *    must stay free of errors for HEALTH_HOLD_MS before it is healthy again. The required time
 *    doubles with each further time, up to HEALTH_HOLD_MAX_MS. So the number of changes is bounded,
 *    however often the files change.
 * R5 A device without a file that its kernel module is known to have is unknown instead of healthy:
 *    a later module may have moved the file, and a failure of the device would pass unnoticed.
 */
#ifndef DRA_HEALTH_H
#define DRA_HEALTH_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Values of enum HealthStatus in DRAResourceHealth (KEP-4680). */
enum health { HEALTH_UNKNOWN, HEALTH_HEALTHY, HEALTH_UNHEALTHY };

/* What is wrong with a device, as bits: first the components in the order of health_reason_name. */
enum {
    HEALTH_REASON_COMPONENTS = 0x3ff,  /* the ten that the kernel module names */
    HEALTH_REASON_COMPONENT = 0x400,   /* a component that this agent does not know */
    HEALTH_REASON_UNREACHABLE = 0x800, /* the device does not answer the kernel module */
    HEALTH_REASON_INIT = 0x1000,       /* the kernel module could not initialise the device */
    HEALTH_REASON_RESET = 0x2000,      /* its last reset failed */
    HEALTH_REASON_ECC = 0x4000,        /* uncorrectable memory errors */
    HEALTH_REASON_SILENT = 0x8000,     /* a read of one of its files hangs */
    HEALTH_REASON_GONE = 0x10000       /* neither in sysfs nor in /dev */
};

/* The counters of uncorrected memory errors: SRAM, memory, repairable memory. */
#define HEALTH_COUNTERS 3u

/* The files of a device's health. */
enum {
    HEALTH_FILE_COMPONENTS,
    HEALTH_FILE_RESET,
    HEALTH_FILE_ECC, /* this and the next two are the HEALTH_COUNTERS counters, in their order */
    HEALTH_FILE_ECC_MEMORY,
    HEALTH_FILE_ECC_REPAIRABLE,
    HEALTH_FILES
};

/* The path of a health file below the device's folder in sysfs. Static text. */
const char *health_file_path(unsigned file);
/* The name of a health file, the last component of its path. */
struct view health_file_name(unsigned file);
/*
 * Bit n: a kernel module of this version (module/neuron/version) has file n. `lists`: the module
 * lists broken components for this device family. 0: unknown version.
 */
unsigned health_files_of(struct view version, bool lists);

/* What one reading of a device's health files shows; all zero: nothing. */
struct device_reading {
    uint32_t reasons; /* HEALTH_REASON_… */
    bool listed;      /* unhealthy_components could be read */
    bool known;       /* the health could be read, and no reset is under way */
    bool blind;       /* the files that decide by R2 could not be read, or a reset is under way */
    uint8_t unread;   /* bit n: file n could not be read */
    /* bit n: file n, one of `unread`, does not exist; device_reading_judge applies R5 to them */
    uint8_t absent;
    uint8_t counted; /* bit n: counter n was read */
    uint64_t ecc[HEALTH_COUNTERS];
};

/* Parses unhealthy_components. `there`: the file could be read; if not, `text` is empty. */
void device_reading_components(struct device_reading *r, struct view text, bool there);
/* Parses `reset`: 0 in reset, 1 ready, 2 invalid. Other values are ignored. */
void device_reading_reset(struct device_reading *r, struct view text);
/* Parses a counter; a text that is not a number is ignored. */
void device_reading_counter(struct device_reading *r, unsigned counter, struct view text);
/* Marks a file as unreadable; `absent`: because it does not exist. */
void device_reading_unread(struct device_reading *r, unsigned file, bool absent);
/* Applies R5 to the absent files; `files`: those that the kernel module should have. */
void device_reading_judge(struct device_reading *r, unsigned files);

/* The health of a device over time; all zero before the first reading. */
struct health_track {
    bool seen;        /* a reading exists, or the device was missing while a claim held it */
    uint8_t state;    /* enum health */
    uint32_t reasons; /* why it is unhealthy; kept while it must stay free of errors (R4) */
    uint8_t counted;  /* bit n: ecc[n] holds the last value of counter n */
    uint8_t zero;     /* bit n: the last reading of counter n showed 0 instead of ecc[n] */
    uint8_t rising;   /* bit n: counter n rose within HEALTH_ERROR_MS */
    uint64_t ecc[HEALTH_COUNTERS];
    uint64_t rose_ms;  /* last rise of any counter */
    uint64_t bad_ms;   /* last reading with a reason */
    uint64_t fell_ms;  /* last change to unhealthy */
    uint32_t falls;    /* recent changes to unhealthy */
    uint64_t hold_ms;  /* how long it has to stay free of errors (R4) */
    uint64_t since_ms; /* last change of `state` */
};

/* Applies a reading. true: state or reasons changed. */
bool device_health_apply(struct health_track *h, const struct device_reading *r, uint64_t now_ms);
/* The health that a single reading shows, for a device without a health_track. */
enum health device_reading_health(const struct device_reading *r);
/*
 * Appends why the device is unhealthy ("hbm, sram"), or why its health is unknown. Appends nothing
 * for a healthy device.
 */
void device_health_text(struct writer *w, enum health state, uint32_t reasons);

#endif
