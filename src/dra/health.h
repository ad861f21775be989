/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of a device: the meaning of one reading of its files, and the state that follows from
 * successive readings. Owns the meaning of these files and the rules by which a state changes;
 * reads no file and no clock. Sources: kernel module's neuron_sysfs_metrics.c and neuron_cdev.c.
 *
 * Rules:
 * R1 Each of these conditions counts from the first reading that shows it to the first reading
 *    without it: an unhealthy component, a device that does not answer, a failed initialisation or
 *    reset, a file whose read hangs, a device that is gone.
 * R2 If the file unhealthy_components is readable (kernel module 2.30 and later, on Trainium2 and
 *    3), it decides whether the device is healthy. If not, the counters of uncorrected memory
 *    errors decide: when a counter rises, the device is unhealthy for HEALTH_ERROR_MS, or until the
 *    counter is cleared. The first value of a counter may come from old errors, so it does not
 *    count. The file hw_error_event does not decide, because its number also rises when a component
 *    recovers or an error is corrected; a change of the file only wakes the agent.
 * R3 A reset in progress or an unreadable file says nothing about the health. A healthy device then
 *    becomes unknown immediately. An unhealthy device stays unhealthy until a reading that
 *    includes the files of R2 shows no error. A counted error still lasts for HEALTH_ERROR_MS.
 * R4 If a device becomes unhealthy more than HEALTH_FALLS_FREE times, each less than
 *    HEALTH_FALLS_MS after the previous one, it must then stay free of errors for HEALTH_HOLD_MS
 *    before it is healthy again (cfg/limits.h). This waiting period doubles each time the device
 *    becomes unhealthy again, up to HEALTH_HOLD_MAX_MS. So the rate of changes is bounded, however
 *    often the files change.
 * R5 If a device lacks a file that its kernel module should have, it is unknown instead of healthy:
 *    a later module may have moved the file, so that the agent would not notice a failure.
 */
#ifndef DRA_HEALTH_H
#define DRA_HEALTH_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Values of enum HealthStatus in DRAResourceHealth (KEP-4680). */
enum health { HEALTH_UNKNOWN, HEALTH_HEALTHY, HEALTH_UNHEALTHY };

/* What is wrong with a device, as bits; the first bits are components, as in reason_names. */
enum {
    HEALTH_REASON_COMPONENTS = 0x3ff,  /* all ten components that the kernel module can name */
    HEALTH_REASON_COMPONENT = 0x400,   /* a component that this agent does not know */
    HEALTH_REASON_UNREACHABLE = 0x800, /* the device does not answer the kernel module */
    HEALTH_REASON_INIT = 0x1000,       /* the kernel module could not initialise the device */
    HEALTH_REASON_RESET = 0x2000,      /* the last reset of the device failed */
    HEALTH_REASON_ECC = 0x4000,        /* the device had uncorrectable memory errors */
    HEALTH_REASON_SILENT = 0x8000,     /* a read of one of the device's files hangs */
    HEALTH_REASON_GONE = 0x10000       /* the last probe did not find the device */
};

/* Number of counters of uncorrected memory errors: SRAM, memory, repairable memory. */
#define HEALTH_COUNTERS 3u

/* The files that show a device's health. */
enum {
    HEALTH_FILE_COMPONENTS,
    HEALTH_FILE_RESET,
    HEALTH_FILE_ECC, /* the first of the files of the HEALTH_COUNTERS counters */
    HEALTH_FILE_ECC_MEMORY,
    HEALTH_FILE_ECC_REPAIRABLE,
    HEALTH_FILES
};

/* The path of a health file below the device's folder in sysfs. Static text. */
const char *health_file_path(unsigned file);
/* The name of a health file, the last component of its path. */
struct view health_file_name(unsigned file);
/*
 * Bit n: a kernel module of this version (module/neuron/version) has health file n. `lists`: the
 * module lists broken components for this device family. 0: the health files of this version are
 * not known.
 */
unsigned health_files_of(struct view version, bool lists);

/* What one reading of a device's health files shows; all zero before a file is read. */
struct device_reading {
    uint32_t reasons; /* what is wrong with the device, as bits HEALTH_REASON_…; 0: nothing */
    bool listed;      /* unhealthy_components could be read */
    bool known;       /* the health could be read, and no reset is under way */
    /* a file that decides about the health (rule R2) could not be read, or a reset is under way */
    bool blind;
    uint8_t unread; /* bit n: health file n could not be read */
    /*
     * bit n: health file n is absent; after device_reading_judge, only files that rule R5 requires
     */
    uint8_t absent;
    uint8_t counted; /* bit n: ecc[n] is the value of counter n */
    uint64_t ecc[HEALTH_COUNTERS];
};

/* Parses unhealthy_components. `there`: the file was read; if it was not, `text` is empty. */
void device_reading_components(struct device_reading *r, struct view text, bool there);
/* Parses the file `reset`: 0 in reset, 1 ready, 2 reset failed. Ignores other values. */
void device_reading_reset(struct device_reading *r, struct view text);
/* Parses a counter of memory errors; ignores a text that is not a number. */
void device_reading_counter(struct device_reading *r, unsigned counter, struct view text);
/* Marks a file as unreadable; `absent`: the file does not exist. */
void device_reading_unread(struct device_reading *r, unsigned file, bool absent);
/*
 * Completes a reading: applies rule R5 and sets `blind`. Bit n of `files`: the kernel module should
 * have health file n.
 */
void device_reading_judge(struct device_reading *r, unsigned files);

/* The health of a device over time; all zero before the first reading. */
struct health_track {
    bool seen;     /* a reading exists, or the device was missing while a claim held it */
    uint8_t state; /* health of the device, as enum health */
    /*
     * why the device is unhealthy, also while rule R3 or R4 keeps it unhealthy; 0: it is not
     * unhealthy
     */
    uint32_t reasons;
    bool listed;     /* unhealthy_components decided about the last reading */
    uint8_t counted; /* bit n: ecc[n] holds the last value of counter n */
    uint8_t zero;    /* bit n: the last reading of counter n showed 0 instead of ecc[n] */
    uint8_t rising;  /* bit n: counter n rose within the last HEALTH_ERROR_MS */
    uint64_t ecc[HEALTH_COUNTERS];
    uint64_t rose_ms; /* time of the last rise of any counter */
    uint64_t bad_ms;  /* time of the last reading that gave a reason (HEALTH_REASON_…) */
    uint64_t fell_ms; /* time of the last change to unhealthy */
    /*
     * number of changes to unhealthy, each less than HEALTH_FALLS_MS after the previous one (rule
     * R4)
     */
    uint32_t falls;
    /* how long the device must stay free of errors before it is healthy (rule R4) */
    uint64_t hold_ms;
    uint64_t since_ms; /* time of the last change of `state` */
};

/* Updates a device's health *h by the reading *r. Returns whether its state or reasons changed. */
bool device_health_apply(struct health_track *h, const struct device_reading *r, uint64_t now_ms);
/* The health that a single reading shows, for a device without a health_track. */
enum health device_reading_health(const struct device_reading *r);
/*
 * Appends why a device is unhealthy, such as "hbm, sram", or why its health is unknown. Appends
 * nothing for a healthy device.
 */
void device_health_text(struct writer *w, enum health state, uint32_t reasons);
/*
 * The reasons in a text that device_health_text wrote about an unhealthy device. Reasons that this
 * version does not know count as HEALTH_REASON_COMPONENT. 0: the text is empty.
 */
uint32_t device_health_reasons(struct view text);

#endif
