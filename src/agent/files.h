/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port: the functions by which the agent accesses the disk, identifies devices, and reads
 * the clock and the resource use of its process. src/host implements these functions for the
 * product, and tests have their own implementations. File names are plain names without a slash.
 * Every function returns STATUS_OK, HOST_ABSENT, HOST_NO_SPACE, HOST_DENIED, HOST_IO or what its
 * comment says. This header only declares the functions.
 */
#ifndef AGENT_FILES_H
#define AGENT_FILES_H

#include "base/bytes.h"
#include "dra/device.h"

/* Directories in which the agent writes files. */
enum files_dir {
    FILES_CDI,  /* directory of --cdi-root: small files for each claim, each written as a whole */
    FILES_STATE /* directory <plugins>/<driver name>: the driver's claim store, written in place */
};

/*
 * The agents of a node hand over the claim store by two locks on one file, each on one byte:
 * LOCK_OWNER for the owner of the store, LOCK_NEXT for the agent that waits to become the owner.
 */
enum files_lock { LOCK_OWNER, LOCK_NEXT };
/* Which process, if any, holds a lock. */
enum files_holder {
    HOLDER_NOBODY, /* no other process holds the lock */
    HOLDER_AGENT,
    HOLDER_OLDER /* an agent of an older release, which has no LOCK_NEXT and locks the whole file */
};

/*
 * Position in the listing of a directory's names; all zero before the first page. Only the files
 * port writes this struct.
 */
struct listing {
    uint32_t pages; /* number of pages returned so far */
    int place;
};

/* Values about the agent's process that the metrics report. */
enum process_value {
    PROCESS_CPU_US, /* processor time that the process has used, in microseconds */
    PROCESS_RESIDENT_BYTES,
    PROCESS_VIRTUAL_BYTES,
    PROCESS_START_MS, /* start of the process, in Unix milliseconds */
    PROCESS_OPEN_FDS,
    PROCESS_MAX_FDS,
    PROCESS_VALUES /* number of values about the process */
};

/*
 * The functions of the files port. This struct must exist as long as the agent does; every function
 * gets `ctx` as its first argument.
 */
struct files {
    void *ctx; /* data of the port, opaque to the agent */
    /*
     * Appends bytes of the file, from `offset` on, to `out`, until `out` is full or the file ends.
     * If `out` is not full afterwards, the end of the file was reached.
     */
    enum status (*read)(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                        struct writer *out) MUST_USE;
    /*
     * Writes bytes to a file. FILES_STATE: writes in place and extends the file; only a write at
     * offset 0 creates it, so that a vanished store causes HOST_ABSENT. FILES_CDI: a write at
     * offset 0 recreates the file with exactly these bytes, and later writes append to it.
     */
    enum status (*write)(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                         struct view bytes) MUST_USE;
    /*
     * Commits a file in these steps:
     * 1. FILES_STATE: flushes the file's data to the disk.
     * 2. If `final_name` is not NULL: renames the file to `final_name`, which atomically replaces
     *    an older file.
     * 3. FILES_STATE: flushes the directory if the file was created or renamed.
     */
    enum status (*commit)(void *ctx, enum files_dir dir, const char *name,
                          const char *final_name) MUST_USE;
    /*
     * Returns the name in FILES_CDI under which a file is written before it is committed to its
     * final name. All drivers and agents of the node share that directory, so each port has its own
     * temporary name; CDI readers do not open it. Valid until the next write.
     */
    const char *(*temporary)(void *ctx);
    /*
     * Removes the port's temporary file, and those of ports whose processes have ended, but never a
     * file that another port is writing. HOST_ABSENT: there was no such file.
     */
    enum status (*tidy)(void *ctx) MUST_USE;
    /* How long the last commit of a file of FILES_STATE waited for the disk, in microseconds. */
    uint64_t (*flush_us)(void *ctx);
    /*
     * Returns the current time on the clock of now_ms, in microseconds. This time is only for
     * durations that are reported, not for decisions. If this pointer is NULL, the agent uses the
     * time of the current step instead.
     */
    uint64_t (*clock_us)(void *ctx);
    /*
     * Sets value[] to the current values about the process; UINT64_MAX: the value is unknown. If
     * this pointer is NULL, all values are unknown.
     */
    void (*process)(void *ctx, uint64_t value[PROCESS_VALUES]);
    /* Unlinks the file `name`; if `aside` is not NULL, renames the file to `aside` instead. */
    enum status (*remove)(void *ctx, enum files_dir dir, const char *name,
                          const char *aside) MUST_USE;
    /*
     * Acquires one of the two locks on a file of FILES_STATE until `unlock`, or until the port
     * closes the file; creates the file if absent. STATUS_OK: the port has the lock now, or had it
     * already. HOST_BUSY: another process has the lock. If the file was removed or replaced since
     * an earlier call, both locks are lost, and this call acquires its lock on the file that has
     * the name now.
     */
    enum status (*lock)(void *ctx, const char *name, enum files_lock which) MUST_USE;
    /*
     * Releases one of the two locks on the lock file; releasing LOCK_OWNER also closes the claim
     * store's file.
     */
    void (*unlock)(void *ctx, enum files_lock which);
    /*
     * Returns which other process holds the lock `which` on the file that the last call of `lock`
     * named.
     */
    enum files_holder (*holder)(void *ctx, enum files_lock which) MUST_USE;
    /*
     * Appends a page of the names in `dir` that start with `prefix`, each with its NUL; `out` has
     * room for LIST_PAGE_BYTES. STATUS_MORE: the caller must call again with the same `at`, until
     * another status ends the listing; files may be created and removed meanwhile. STATUS_OK: the
     * listing is complete; an absent directory has no names. Any other status: the listing failed,
     * and the remaining names are unknown.
     */
    enum status (*list)(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                        struct writer *out) MUST_USE;
    /*
     * Appends bytes of the kubelet's checkpoint file to `out`, from `offset` until `out` is full or
     * the file ends. Offset 0 opens the file again, because the kubelet replaces it; the following
     * calls read the same file. *written_ms: when the kubelet wrote the checkpoint, in Unix
     * milliseconds.
     */
    enum status (*kubelet_state)(void *ctx, uint64_t offset, struct writer *out,
                                 uint64_t *written_ms) MUST_USE;
    /*
     * Identifies the device that has this number now, without opening it. Fails if the device's
     * directory in sysfs (place->folder is then 0) or its device node is not accessible.
     */
    enum status (*device)(void *ctx, unsigned number, struct device_place *place) MUST_USE;
    /*
     * Reads the memory use of the devices in `numbers` (bit N: device N). Call it before `memory`
     * is called for these devices in the same step. STATUS_MORE: the read is still running; the
     * host calls agent_step when the read is done, and the agent must then call this function
     * again. HOST_BUSY: reading one of the files hangs; `why` says which one. If this pointer is
     * NULL, `memory` can be called at any time.
     */
    enum status (*memory_read)(void *ctx, uint64_t numbers) MUST_USE;
    /*
     * Sets *bytes to the device memory that a core of the device uses now. HOST_ABSENT: the kernel
     * module has no file with this value; HOST_IO: the content of the file is not a number, or the
     * file was not read.
     */
    enum status (*memory)(void *ctx, unsigned number, unsigned core, uint64_t *bytes) MUST_USE;
    /*
     * Reads the UltraServer files of the node (class/neuron_device in sysfs) as they are now; an
     * absent file counts as empty. After a failure *out is undefined.
     */
    enum status (*ultraserver)(void *ctx, struct found_ultraserver *out) MUST_USE;
    /*
     * Why the last failed call of the port failed, as text for an operator; valid until the next
     * call.
     */
    const char *(*why)(void *ctx);
    /*
     * What an operator must do about the last failure: static text. If this pointer or the result
     * is NULL, no remedy is known.
     */
    const char *(*remedy)(void *ctx);
};

#endif
