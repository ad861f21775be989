/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own sandbox: after its start the process gives up rights that it does not need. The
 * kernel then refuses every path outside a few directories
 * (Documentation/userspace-api/landlock.rst) and every system call that sandbox_calls.h does not
 * list (seccomp(2)). Owns nothing; the restriction is permanent.
 */
#ifndef HOST_SANDBOX_H
#define HOST_SANDBOX_H

#include "base/bytes.h"

/*
 * Ensures that tokens and keys in memory reach no core file and no debugger without CAP_SYS_PTRACE
 * (prctl(2), PR_SET_DUMPABLE). Applies without the sandbox too; call before any secret is read.
 * HOST_DENIED: the kernel refused.
 */
MUST_USE enum status sandbox_guard_memory(void);

/* Directories, as absolute paths without a slash at the end. Each may be absent, or NULL: none. */
struct sandbox_paths {
    const char *write[4]; /* entries below may be read, created, changed and removed */
    const char *read[3];  /* entries below may be read */
    const char *fixed[3]; /* the same; the directory itself is never removed and recreated */
    const char *file;     /* for its directory: files in it may be read, directories not */
    bool reader;          /* allows READER_CALLS instead of SANDBOX_CALLS */
};

/*
 * Restricts this process permanently. A directory that is not a mount point could be removed and
 * recreated, so its rule applies to its parent, unless it is fixed; for an absent one it applies to
 * the nearest existing directory above. `text` gets one line for the log: what is in force, and
 * what the kernel does not support, or what failed. `wide` gets a line when a rule applies to the
 * whole file system, unless its path is the root itself and only read. Never fails, because the
 * agent also works without. Call once, with one thread.
 */
void sandbox_enter(const struct sandbox_paths *paths, struct writer *text, struct writer *wide);

#endif
