/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real files port (agent/files.h) over two directories. Owns three descriptors: the cached one
 * of the claim store, that of the lock, and that of the CDI file being written; does not decide
 * what is written. All other paths are resolved again for each call, so that a directory that was
 * removed and recreated is simply used.
 */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include <sys/types.h>

#include "agent/files.h"
#include "cfg/limits.h"
#include "host/node/readers.h"

/* Identity of a file, whatever its name. */
struct file_identity {
    dev_t device;
    ino_t inode;
};

/* The port's own state; one instance for the life of the process. */
struct host_files {
    const char *cdi_dir;       /* borrowed; a write makes it with mode 0755 if missing */
    const char *state_dir;     /* borrowed; a write makes it with mode 0750 if missing */
    const char *sysfs_root;    /* borrowed */
    const char *dev_root;      /* borrowed */
    const char *kubelet_state; /* borrowed: path of the kubelet's checkpoint; the owner sets it */
    int kubelet_state_fd;      /* open between two calls that read the checkpoint; else -1 */
    /* borrowed: processes that read the memory of devices; the owner sets it */
    struct readers *readers;
    bool efa;     /* the devices are EFA devices, numbered by their uverbs nodes */
    int state_fd; /* descriptor of state_name, or -1 */
    bool state_writable;
    bool state_checked; /* in this turn, state_fd is known to be the file with the name */
    struct file_identity state_identity; /* of state_fd */
    bool state_created;                  /* its directory entry is not flushed yet */
    char state_name[CDI_FILE_NAME_CAP];
    int temporary_fd;                  /* locked temporary file being written; or -1 */
    char temporary[CDI_FILE_NAME_CAP]; /* see files.temporary */
    uint64_t flush_ms;                 /* duration of the last fdatasync(2) */
    int lock_fd;                       /* of the lock file, or -1 */
    bool lock_writable;
    int error; /* errno of the last failure */
    /* the last failure was a reader's: `words` names its file */
    bool by_reader;
    char words[READING_FILE_CAP + 64u]; /* that failure as text for an operator */
};

/* Initializes `f` and returns the port whose ctx it is. Opens nothing. */
struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir,
                             const char *sysfs_root, const char *dev_root);
/*
 * Begins a turn of the loop. Within one turn the store is checked only once for still having its
 * name, although others may move or delete it at any time.
 */
void host_files_turn(struct host_files *f);
/* Closes the cached descriptor and releases the lock. */
void host_files_end(struct host_files *f);

#endif
