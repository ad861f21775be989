/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own sandbox: after its start the process gives up what it does not need. The kernel
 * then refuses every path outside a few directories (Documentation/userspace-api/landlock.rst) and
 * every system call that sandbox_calls.h does not name (seccomp(2)). Owns nothing: there is no way
 * back.
 */
#ifndef HOST_SANDBOX_H
#define HOST_SANDBOX_H

#include "base/bytes.h"

/*
 * Makes sure that tokens and keys in memory reach no core file and no debugger that lacks
 * CAP_SYS_PTRACE (prctl(2), PR_SET_DUMPABLE). Also without the sandbox, before any secret is read.
 * HOST_DENIED: the kernel refuses.
 */
MUST_USE enum status sandbox_guard_memory(void);

/* Directories, by paths as settings_parse leaves them: absolute, no slash at the end. Each may be
 * absent, or NULL: none. */
struct sandbox_paths {
    const char *write[4]; /* what is below may be read, made, changed and removed */
    const char *read[3];  /* what is below may be read */
    const char *fixed[3]; /* the same, and it is never removed and made again */
    const char *file;     /* its directory is this: files below may be read, directories not */
    bool reader;          /* the system calls are READER_CALLS, else SANDBOX_CALLS */
};

/*
 * Restricts this process for good. A directory that is no mount point could be removed and made
 * again, so its parent is what the rule is for, unless it is fixed; for one that is absent it is
 * the next directory above that is there. `text` gets one line for the log: what is in force, and
 * for what the kernel has no means, or what failed. `wide` gets a line when a rule is for the whole
 * file system, unless its path is the root itself and only read. Never fails: the agent runs as
 * well without. Call once, with one thread.
 */
void sandbox_enter(const struct sandbox_paths *paths, struct writer *text, struct writer *wide);

#endif
