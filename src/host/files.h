/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real files port (agent/files.h) over two directories. Owns two descriptors: the cached one
 * of the claim store and the one that carries the lock; never decides what is written. All other
 * paths are resolved again for each call, so that a directory that others removed and created again
 * is simply used.
 */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include "agent/files.h"
#include "cfg/limits.h"

/* The port's own state; one instance for the life of the process. */
struct host_files {
    const char *cdi_dir;    /* borrowed; made with 0755 when missing at a write */
    const char *state_dir;  /* borrowed; made with 0750 when missing at a write */
    const char *sysfs_root; /* borrowed */
    const char *dev_root;   /* borrowed */
    int state_fd;           /* descriptor of state_name, or -1 */
    bool state_writable;
    bool state_created; /* its directory entry has not been flushed */
    char state_name[CDI_FILE_NAME_CAP];
    int lock_fd;    /* of the locked file, or -1 */
    int error;      /* errno of the last failure */
    char words[64]; /* the same as text for an operator */
};

/* Prepares `f` and returns the port whose ctx it is. Opens nothing. */
struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir,
                             const char *sysfs_root, const char *dev_root);
/* Closes the cached descriptor and releases the lock. */
void host_files_end(struct host_files *f);

#endif
