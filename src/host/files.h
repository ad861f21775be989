/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real files port (agent/files.h) over two directories. Owns three descriptors: the cached one
 * of the claim store, the one that carries the lock, and that of the CDI file that is being
 * written; never decides what is written. All other
 * paths are resolved again for each call, so that a directory that others removed and created again
 * is simply used.
 */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include <sys/types.h>

#include "agent/files.h"
#include "cfg/limits.h"
#include "host/node/readers.h"

/* Which file it is, whatever its name. */
struct file_identity {
    dev_t device;
    ino_t inode;
};

/* The port's own state; one instance for the life of the process. */
struct host_files {
    const char *cdi_dir;       /* borrowed; made with 0755 when missing at a write */
    const char *state_dir;     /* borrowed; made with 0750 when missing at a write */
    const char *sysfs_root;    /* borrowed */
    const char *dev_root;      /* borrowed */
    const char *kubelet_state; /* borrowed: path of the kubelet's checkpoint; set by the owner */
    int kubelet_state_fd;      /* of it, between two calls that read it; else -1 */
    struct readers *readers;   /* borrowed: they read the memory of devices; set by the owner */
    bool efa;                  /* devices are EFA devices, by the number of their uverbs node */
    int state_fd;              /* descriptor of state_name, or -1 */
    bool state_writable;
    bool state_checked; /* in this turn state_fd was seen to be the file that has the name */
    struct file_identity state_identity; /* of state_fd */
    bool state_created;                  /* its directory entry has not been flushed */
    char state_name[CDI_FILE_NAME_CAP];
    int temporary_fd; /* of the file of that name while it is written, with a lock; or -1 */
    char temporary[CDI_FILE_NAME_CAP]; /* see files.temporary */
    uint64_t flush_ms;                 /* of the last fdatasync(2) */
    int lock_fd;                       /* of the lock file, or -1 */
    bool lock_writable;
    int error;                          /* errno of the last failure */
    bool by_reader;                     /* a reader was the last failure: `words` names its file */
    char words[READING_FILE_CAP + 64u]; /* the same as text for an operator */
};

/* Prepares `f` and returns the port whose ctx it is. Opens nothing. */
struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir,
                             const char *sysfs_root, const char *dev_root);
/*
 * A turn of the loop starts. In one turn all calls rely on one look whether the store still has its
 * name; others may move or delete it at any time.
 */
void host_files_turn(struct host_files *f);
/* Closes the cached descriptor and releases the lock. */
void host_files_end(struct host_files *f);

#endif
