/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's sandbox: after its start the process gives up rights that it does not need. From then
 * on the kernel refuses every path outside a few directories
 * (Documentation/userspace-api/landlock.rst) and every system call that is not in sandbox_calls.h
 * (seccomp(2)). Owns nothing; the restriction is permanent.
 */
#ifndef HOST_SANDBOX_H
#define HOST_SANDBOX_H

#include "base/bytes.h"

/*
 * Prevents core files, and access by debuggers without CAP_SYS_PTRACE (prctl(2), PR_SET_DUMPABLE),
 * because the memory holds tokens and keys. Also needed without the sandbox. Call before any secret
 * is read. HOST_DENIED: the kernel refused.
 */
MUST_USE enum status sandbox_guard_memory(void);

/*
 * Directories that stay accessible: absolute paths without a final slash. A directory may be
 * absent; NULL: no directory.
 */
struct sandbox_paths {
    /* files and directories at any depth below these may be read, created, changed and removed */
    const char *write[4];
    const char *read[3]; /* files and directories at any depth below these may be read */
    /* Like `read`, but each must be a directory that is never removed and created again. */
    const char *fixed[3];
    /* Files at any depth below this directory may be read, but no directory may be listed. */
    const char *file;
    bool reader; /* allow the system calls of READER_CALLS instead of SANDBOX_CALLS */
};

/*
 * Restricts this process permanently. Each rule applies to one directory and everything below it:
 * - Normally to the parent of the path. If the path is removed and created again, a rule for the
 *   path itself would no longer apply.
 * - To the path itself, if it is a mount point, a symbolic link, in paths->fixed, or paths->file.
 * - To the nearest parent that exists, if the directory chosen by these two rules is absent.
 *
 * `text` gets one line for the log: which restrictions apply, and which do not and why. `wide` gets
 * a line if a rule applies to the whole file system, except a read-only rule whose path is the
 * root. Never fails, because the agent also works without a sandbox. Call once, while the process
 * has one thread.
 */
void sandbox_enter(const struct sandbox_paths *paths, struct writer *text, struct writer *wide);

#endif
