/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port: the functions by which the agent touches the disk and looks at a device.
 * src/host brings the real one, tests bring others. Names are plain file names without a slash.
 * Every function returns STATUS_OK, HOST_ABSENT, HOST_NO_SPACE, HOST_DENIED, HOST_IO or what its
 * comment says. Owns the contract only, no file.
 */
#ifndef AGENT_FILES_H
#define AGENT_FILES_H

#include "base/bytes.h"
#include "dra/device.h"

enum files_dir {
    FILES_CDI,  /* --cdi-root: small files of each claim, written whole */
    FILES_STATE /* <plugins>/neuron.aws.com: the claim store, written in place */
};

/*
 * The agents of a node hand the claim store over by two locks on one file: that of the owner, and
 * that of the one who is to be the next. A byte of the file each.
 */
enum files_lock { LOCK_OWNER, LOCK_NEXT };
/* Which process has a lock. */
enum files_holder {
    HOLDER_NOBODY, /* nobody but us */
    HOLDER_AGENT,
    HOLDER_OLDER /* an agent of a release without LOCK_NEXT, which locks the file as a whole */
};

/* Where a listing is; zeros before its first page. Written by the port. */
struct listing {
    uint32_t pages; /* that were given */
    int place;
};

/* Owned by whoever implements it, for the life of the agent. Every function gets `ctx` back. */
struct files {
    void *ctx; /* opaque to the agent */
    /*
     * Appends bytes of the file from `offset` until `out` is filled up or the file ends (a short
     * result is the end of the file).
     */
    enum status (*read)(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                        struct writer *out) MUST_USE;
    /*
     * FILES_STATE: writes in place and extends the file; only a write at offset 0 creates it, so
     * that a store which vanished shows as HOST_ABSENT. FILES_CDI: at
     * offset 0 the file is created again with just these bytes, above it they follow those.
     */
    enum status (*write)(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                         struct view bytes) MUST_USE;
    /*
     * FILES_STATE: flushes the file's data to the disk. With `final_name`, renames the file to it
     * afterwards (atomic replacement), and flushes the directory for FILES_STATE.
     */
    enum status (*commit)(void *ctx, enum files_dir dir, const char *name,
                          const char *final_name) MUST_USE;
    /*
     * The name in FILES_CDI under which a file is written before it is committed to its own name.
     * All drivers and agents of the node share that directory, and each port has another name; no
     * reader of CDI files opens it. Valid until the next write.
     */
    const char *(*temporary)(void *ctx);
    /*
     * Removes the file of that name, and those that ports of processes which have ended left
     * behind; never one that another port is writing. HOST_ABSENT: there was none.
     */
    enum status (*tidy)(void *ctx) MUST_USE;
    /* How many milliseconds the last commit of a file of FILES_STATE waited for the disk. */
    uint64_t (*flush_ms)(void *ctx);
    /* Unlinks the file; with `aside`, renames it to that name instead. */
    enum status (*remove)(void *ctx, enum files_dir dir, const char *name,
                          const char *aside) MUST_USE;
    /*
     * Takes one of the locks on a file of FILES_STATE until unlock or the end of the port, and
     * makes the file when it is absent. HOST_BUSY: another process has the lock. Ours already:
     * STATUS_OK, unless the file was removed or replaced meanwhile; then both are gone, and this
     * one is taken on the file that has the name now.
     */
    enum status (*lock)(void *ctx, const char *name, enum files_lock which) MUST_USE;
    /* Gives one of the locks up; with LOCK_OWNER nothing of the store stays open. */
    void (*unlock)(void *ctx, enum files_lock which);
    /* Who else has one of the locks on the file that `lock` was last called for. */
    enum files_holder (*holder)(void *ctx, enum files_lock which) MUST_USE;
    /*
     * Appends a page of the names in `dir` that start with `prefix`, each with its NUL; `out` has
     * room for LIST_PAGE_BYTES. STATUS_MORE: to be called again, with the same `at`, until another
     * status ends the listing; files may be made and removed meanwhile. STATUS_OK: that was all; a
     * directory that is absent has none. Any other: which names there are besides is not known.
     */
    enum status (*list)(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                        struct writer *out) MUST_USE;
    /*
     * Appends bytes of the kubelet's checkpoint from `offset` until `out` is filled up or the file
     * ends. Offset 0 opens the file again, because the kubelet replaces it; the calls that follow
     * read the same file. *written_ms: when it was written, in Unix milliseconds.
     */
    enum status (*kubelet_state)(void *ctx, uint64_t offset, struct writer *out,
                                 uint64_t *written_ms) MUST_USE;
    /*
     * Looks where the device of this number is now; opens nothing. A failure: its folder in sysfs
     * (then place->folder is 0) or its node cannot be reached.
     */
    enum status (*device)(void *ctx, unsigned number, struct device_place *place) MUST_USE;
    /*
     * Has the memory of devices read, bit N: of device N, before `memory` is asked for them in the
     * same step. STATUS_MORE: that is under way, and the host steps the agent when it is done: call
     * again then; HOST_BUSY: a file that `why` names does not answer. NULL: `memory` can always be
     * asked.
     */
    enum status (*memory_read)(void *ctx, uint64_t numbers) MUST_USE;
    /*
     * How many bytes of device memory a core of the device has in use now. HOST_ABSENT: the kernel
     * module has no such file; HOST_IO: what is in it is no number, or it was not read.
     */
    enum status (*memory)(void *ctx, unsigned number, unsigned core, uint64_t *bytes) MUST_USE;
    /*
     * Reads the class files of a node of an UltraServer as they are now; a file that is absent is
     * empty. A failure: they cannot be read, and *out says nothing.
     */
    enum status (*ultraserver)(void *ctx, struct found_ultraserver *out) MUST_USE;
    /* Why the last failed call failed, for an operator to read; valid until the next call. */
    const char *(*why)(void *ctx);
};

#endif
