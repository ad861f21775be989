/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of a device: what one look at its files says, and the state that follows from one look
 * after the other. Owns the meaning of these files and the rule when a state changes; reads no
 * file, knows no clock. Sources: kernel module's neuron_sysfs_metrics.c and neuron_cdev.c.
 *
 * Rules:
 * R1 An unhealthy component, a device that does not answer, a failed initialisation or reset, a
 *    file whose read hangs, and a device that is gone count at the first look, and until the first
 *    look without them.
 * R2 unhealthy_components is the truth where it can be read (kernel module 2.30 and later, on
 *    Trainium2 and 3). Elsewhere the counters of uncorrected memory errors are: one that rises
 *    counts for HEALTH_ERROR_MS, or until it is cleared. The first value of a counter is history
 *    and counts for nothing. hw_error_event is no counter of errors: it also rises when a component
 *    recovers and when an error is corrected, so it only wakes the agent.
 * R3 A value that cannot be read, and a reset under way, say nothing. A healthy device is unknown
 *    at once, an unhealthy one stays so until a look that can read what R2 decides by finds nothing
 *    wrong. Errors that were counted last for HEALTH_ERROR_MS besides.
 * R4 A device that becomes unhealthy again and again has to stay free of errors before it is
 *    healthy: the first HEALTH_FALLS_FREE times not at all, then HEALTH_HOLD_MS, twice as long each
 *    time. So the number of changes is bounded, however often the files change.
 * R5 A device that lacks a file which its kernel module is known to have is unknown instead of
 *    healthy: a later module may have moved the file, and nobody would see the device fail.
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
    HEALTH_REASON_SILENT = 0x8000,     /* a read of one of its files hangs */
    HEALTH_REASON_GONE = 0x10000       /* neither in sysfs nor in /dev */
};

/* The counters of uncorrected memory errors: SRAM, memory, memory that can be repaired. */
#define HEALTH_COUNTERS 3u

/* The files of a device's health. */
enum {
    HEALTH_FILE_COMPONENTS,
    HEALTH_FILE_RESET,
    HEALTH_FILE_ECC, /* this and the next two: HEALTH_COUNTERS, in their order */
    HEALTH_FILE_ECC_MEMORY,
    HEALTH_FILE_ECC_REPAIRABLE,
    HEALTH_FILES
};

/* The path of such a file below the device's folder. Static text. */
const char *health_file_path(unsigned file);
/* Its last part. */
struct view health_file_name(unsigned file);
/*
 * Bit n: a kernel module of this version (module/neuron/version) has file n. `lists`: it lists the
 * components of devices of this family. 0: nothing is known of that version.
 */
unsigned health_files_of(struct view version, bool lists);

/* What one look says; all zero: nothing. */
struct device_reading {
    uint32_t reasons; /* HEALTH_REASON_… */
    bool listed;      /* its components could be read */
    bool known;       /* so they could, and no reset is under way */
    bool blind;       /* what decides by R2 could not be read, or a reset is under way */
    uint8_t unread;   /* bit n: file n could not be read */
    uint8_t absent;   /* of these, bit n: there is no file n; after device_reading_judge: R5 */
    uint8_t counted;  /* bit n: counter n could be read */
    uint64_t ecc[HEALTH_COUNTERS];
};

/* Takes the text of unhealthy_components; empty with `there` false: it could not be read. */
void device_reading_components(struct device_reading *r, struct view text, bool there);
/* Takes the text of `reset`: 0 in reset, 1 ready, 2 invalid. Anything else says nothing. */
void device_reading_reset(struct device_reading *r, struct view text);
/* Takes the text of a counter; one that is no number is not counted. */
void device_reading_counter(struct device_reading *r, unsigned counter, struct view text);
/* A file could not be read; `absent`: because there is none. */
void device_reading_unread(struct device_reading *r, unsigned file, bool absent);
/* What the files that could not be read mean where the kernel module has `files`. */
void device_reading_judge(struct device_reading *r, unsigned files);

/* A device from look to look; all zero before the first one. */
struct health_track {
    bool seen;        /* a look has found the device, or missed it while a claim holds it */
    uint8_t state;    /* enum health */
    uint32_t reasons; /* why it is unhealthy; the last ones while it only has to stay healthy */
    uint8_t counted;  /* bit n: ecc[n] is the last value of counter n */
    uint8_t zero;     /* bit n: the last look showed 0 in place of it */
    uint8_t rising;   /* bit n: counter n rose lately */
    uint64_t ecc[HEALTH_COUNTERS];
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
