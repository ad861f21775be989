/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the files port (agent/files.h) on two directories of the file system. Owns the
 * descriptors of the claim store, the lock file, the temporary CDI file and the kubelet's
 * checkpoint; the agent decides what is written. Finds all other files and directories by their
 * paths at each use, so that the agent needs no restart after a directory was removed and created
 * again.
 */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include <sys/types.h>

#include "agent/files.h"
#include "cfg/limits.h"
#include "host/node/readers.h"
#include "host/usage.h"

/* Identifies a file even if its name changes. */
struct file_identity {
    dev_t device;
    ino_t inode;
};

/* State of one files port; exists until the process ends. */
struct host_files {
    /* directory of CDI files, created with mode 0755 when a write needs it; borrowed */
    const char *cdi_dir;
    /* directory of the claim store, created with mode 0750 when a write needs it; borrowed */
    const char *state_dir;
    const char *sysfs_root; /* path of the sysfs root directory; borrowed */
    const char *dev_root;   /* directory of the device nodes; borrowed */
    /* Path of the kubelet's checkpoint; borrowed, set by the owner of this struct. */
    const char *kubelet_state;
    /* descriptor of the kubelet's checkpoint while it is read in several calls; otherwise -1 */
    int kubelet_state_fd;
    /*
     * The reader processes, which read the memory use of devices; borrowed, set by the owner of
     * this struct.
     */
    struct readers *readers;
    /*
     * measures the resource use of the process; borrowed, set by the owner of this struct; NULL:
     * not measured
     */
    struct usage *usage;
    bool efa;     /* the driver's devices are EFA devices, numbered by their uverbs number */
    int state_fd; /* descriptor of the file `state_name`; -1: the file is not open */
    bool state_writable;
    /*
     * In this turn of the main loop, the port has already checked that `state_name` leads to the
     * file that is open as state_fd.
     */
    bool state_checked;
    struct file_identity state_identity; /* device and inode of the file open as state_fd */
    /* The claim store file is new, and its directory is not flushed to the disk yet. */
    bool state_created;
    char state_name[CDI_FILE_NAME_CAP];
    int temporary_fd; /* descriptor of the locked temporary CDI file; -1: there is no such file */
    /* Name of the temporary CDI file; files.temporary returns it. */
    char temporary[CDI_FILE_NAME_CAP];
    uint64_t flush_us; /* duration of the last fdatasync(2) of the claim store, in microseconds */
    int lock_fd;       /* descriptor of the lock file; -1: the file is not open */
    bool lock_writable;
    int error; /* errno of the last failed function of the port */
    /*
     * The last failure was a read that hangs in a reader process. In this case `words` has the name
     * of the file that the process reads, and `error` is not used.
     */
    bool by_reader;
    /* buffer for the text about the last failure that port_why returns */
    char words[READING_FILE_CAP + 64u];
};

/* Initializes `f` and returns a files port with `f` as its ctx. Opens no file. */
struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir,
                             const char *sysfs_root, const char *dev_root);
/*
 * Marks the start of a turn of the main loop. Once per turn, the port checks that the file name of
 * the claim store still leads to the open file, because another process may move or delete the
 * file.
 */
void host_files_turn(struct host_files *f);
/* Closes all descriptors of the port, which also releases its locks. */
void host_files_end(struct host_files *f);

#endif
