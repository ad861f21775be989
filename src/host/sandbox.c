/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the sandbox: landlock for paths, seccomp for system calls. Structures and numbers come
 * from linux/landlock.h, linux/seccomp.h, linux/filter.h and linux/audit.h, which the C library
 * does not provide.
 */
#include "host/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/sandbox_calls.h"
#include "host/system.h"

/* --- protecting the memory from core files and debuggers --- */

enum status sandbox_guard_memory(void)
{
    /*
     * A limit of 0 bytes prevents core files; if core_pattern is a pipe, only PR_SET_DUMPABLE
     * prevents them.
     */
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    /*
     * Make the system call prlimit64 directly, because musl's setrlimit(3) adds 3 KB of code for
     * several threads.
     */
    bool limited = syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL) == 0;
    return (limited && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) ? STATUS_OK : HOST_DENIED;
}

/* --- restricting paths by landlock --- */

/* System call numbers of landlock, the same on every architecture (asm-generic/unistd.h). */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define ACCESS_WRITE_FILE (UINT64_C(1) << 1)
#define ACCESS_READ_FILE (UINT64_C(1) << 2)
#define ACCESS_READ_DIR (UINT64_C(1) << 3)
#define ACCESS_REMOVE_FILE (UINT64_C(1) << 5)
#define ACCESS_MAKE_DIR (UINT64_C(1) << 7)
#define ACCESS_MAKE_REG (UINT64_C(1) << 8)
#define ACCESS_MAKE_SOCK (UINT64_C(1) << 9)
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)

#define ACCESS_READ (ACCESS_READ_FILE | ACCESS_READ_DIR)
#define ACCESS_CHANGE                                                                              \
    (ACCESS_READ | ACCESS_WRITE_FILE | ACCESS_REMOVE_FILE | ACCESS_MAKE_DIR | ACCESS_MAKE_REG |    \
     ACCESS_MAKE_SOCK | ACCESS_TRUNCATE)

/*
 * Returns all access rights of a landlock ABI version. The ruleset handles all of them, so that the
 * kernel refuses each right that no rule grants.
 */
static uint64_t rights_known(long abi)
{
    /*
     * Number of access rights about paths in the ABI versions 1 to 5 of landlock; versions 4 and 6
     * add none.
     */
    static const uint8_t rights[] = {13, 14, 15, 15, 16};
    size_t last = sizeof rights - 1u;
    size_t at = ((size_t)abi - 1u < last) ? (size_t)abi - 1u : last;
    return (UINT64_C(1) << rights[at]) - 1u;
}

struct ruleset_attribute {
    uint64_t handled_access_fs;
};

struct path_beneath_attribute {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

/* Removes the last component of a path. Returns false if the path is already the root. */
static bool path_up(char path[PATH_CAP])
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || path[1] == '\0') {
        return false;
    }
    path[(slash == path) ? 1u : strlen(path) - strlen(slash)] = '\0';
    return true;
}

static bool is_mount_point(const char path[PATH_CAP])
{
    char above[PATH_CAP + sizeof "/.."];
    struct stat own;
    struct stat parent;
    struct writer w = writer_of(above, sizeof above);
    WRITE(&w, "%/..", TEXT(path));
    enum status s = writer_end_text(&w);
    return s != STATUS_OK || path_stat(path, &own) != 0 || path_stat(above, &parent) != 0 ||
           own.st_dev != parent.st_dev || own.st_ino == parent.st_ino;
}

/*
 * Whether the path is a symbolic link. A landlock rule for the link's parent would not cover the
 * link's target.
 */
static bool is_link(const char *path)
{
    struct stat st;
    return link_stat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/*
 * Opens the directory to which the landlock rule for `path` applies. *root: the opened directory is
 * the root. Returns the descriptor, or -1 on failure.
 */
static int rule_open(const char *path, bool fixed, bool *root)
{
    char at[PATH_CAP];
    int fd = -1;
    text_cut(at, sizeof at, view_text(path));
    bool more = fixed || is_mount_point(at) || is_link(at) || path_up(at);
    for (unsigned i = 0; i < PATH_CAP && fd < 0 && more; i++) {
        fd = path_open(at, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
        *root = at[1] == '\0';
        more = path_up(at);
    }
    return fd;
}

/* A landlock ruleset that is being built, and what to report about its rules. */
struct rules {
    long ruleset;
    uint64_t known;      /* access rights that the kernel's landlock supports */
    const char *failed;  /* path whose rule could not be added; NULL: all rules were added */
    struct writer *wide; /* gets a line if a rule applies to the whole file system */
};

static bool rule_add(struct rules *r, const char *path, uint64_t access, bool fixed)
{
    bool root = false;
    int fd = rule_open(path, fixed, &root);
    struct path_beneath_attribute rule = {.allowed_access = access & r->known, .parent_fd = fd};
    bool good = fd >= 0 && syscall(ADD_RULE, r->ruleset, RULE_PATH_BENEATH, &rule, 0) == 0;
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    bool meant = path[1] == '\0' && access == ACCESS_READ;
    if (good && root && !meant && r->wide->len == 0u) {
        WRITE(r->wide,
              "the rule for % lets the agent % everything: the directory that it is for is /",
              TEXT(path), TEXT((access == ACCESS_READ) ? "read" : "change"));
    }
    if (!good) {
        r->failed = path;
        errno = error;
    }
    return good;
}

/* Adds a landlock rule for a directory; does nothing if `path` is NULL. */
static bool accept_rule(struct rules *r, const char *path, uint64_t access, bool fixed)
{
    return path == NULL || rule_add(r, path, access, fixed);
}

static bool rules_add(struct rules *r, const struct sandbox_paths *paths)
{
    bool good = true;
    for (unsigned i = 0; i < sizeof paths->write / sizeof paths->write[0] && good; i++) {
        good = accept_rule(r, paths->write[i], ACCESS_CHANGE, false);
    }
    for (unsigned i = 0; i < sizeof paths->read / sizeof paths->read[0] && good; i++) {
        good = accept_rule(r, paths->read[i], ACCESS_READ, false);
    }
    for (unsigned i = 0; i < sizeof paths->fixed / sizeof paths->fixed[0] && good; i++) {
        good = accept_rule(r, paths->fixed[i], ACCESS_READ, true);
    }
    return good && accept_rule(r, paths->file, ACCESS_READ_FILE, true);
}

/*
 * Builds the landlock ruleset and restricts this process to it. Returns the landlock ABI version of
 * the kernel; 0: paths are not restricted, and errno has the reason.
 */
static long restrict_paths(const struct sandbox_paths *paths, struct rules *r)
{
    long abi = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    if (abi <= 0) {
        return 0;
    }
    r->known = rights_known(abi);
    struct ruleset_attribute handled = {.handled_access_fs = r->known};
    r->ruleset = syscall(CREATE_RULESET, &handled, sizeof handled, 0);
    if (r->ruleset < 0) {
        return 0;
    }
    bool good = rules_add(r, paths) && syscall(RESTRICT_SELF, r->ruleset, 0) == 0;
    int error = errno;
    (void)close((int)r->ruleset);
    errno = error;
    return good ? abi : 0;
}

/* --- restricting system calls by seccomp --- */

/*
 * Encodes a classic BPF instruction on struct seccomp_data. The number has the layout of struct
 * sock_filter on a little-endian machine: code, two jumps, operand.
 */
#define INSTRUCTION(code, if_true, if_false, operand)                                              \
    ((uint64_t)(code) | (uint64_t)(if_true) << 16 | (uint64_t)(if_false) << 24 |                   \
     (uint64_t)(operand) << 32)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "INSTRUCTION puts the code first");

#define LOAD_WORD 0x20u
#define JUMP_IF_EQUAL 0x15u
#define RETURN 0x06u
#define DATA_NUMBER 0u
#define DATA_ARCHITECTURE 4u
#define RETURN_ALLOW 0x7fff0000u
#define RETURN_EPERM 0x00050001u
#define MODE_FILTER 2

/* A seccomp filter; has the layout of struct sock_fprog in linux/filter.h. */
struct program {
    uint16_t len;
    const uint64_t *instructions;
};

#if defined(__x86_64__)
#define ARCHITECTURE 0xc000003eu
#elif defined(__aarch64__)
#define ARCHITECTURE 0xc00000b7u
#define SYS_poll SYS_ppoll
#define SYS_unlink SYS_unlinkat
#define SYS_mkdir SYS_mkdirat
#define SYS_readlink SYS_readlinkat
#else
#error "the audit number of this architecture is missing"
#endif

#define ALLOW(number, purpose)                                                                     \
    INSTRUCTION(JUMP_IF_EQUAL, 0u, 1u, number), INSTRUCTION(RETURN, 0u, 0u, RETURN_ALLOW),

/*
 * Refuses all system calls of another ABI: a 32-bit call fails the test of the architecture, and an
 * x32 call number is not in the list.
 */
#define FILTER_BEGIN                                                                               \
    INSTRUCTION(LOAD_WORD, 0u, 0u, DATA_ARCHITECTURE),                                             \
        INSTRUCTION(JUMP_IF_EQUAL, 1u, 0u, ARCHITECTURE),                                          \
        INSTRUCTION(RETURN, 0u, 0u, RETURN_EPERM), INSTRUCTION(LOAD_WORD, 0u, 0u, DATA_NUMBER),
#define FILTER_END INSTRUCTION(RETURN, 0u, 0u, RETURN_EPERM),

static const uint64_t agent_filter[] = {FILTER_BEGIN SANDBOX_CALLS(ALLOW) FILTER_END};
static const uint64_t reader_filter[] = {FILTER_BEGIN READER_CALLS(ALLOW) FILTER_END};

static bool restrict_calls(bool reader)
{
    struct program program;
    size_t bytes = reader ? sizeof reader_filter : sizeof agent_filter;
    program.len = (uint16_t)(bytes / sizeof agent_filter[0]);
    program.instructions = reader ? reader_filter : agent_filter;
    return prctl(PR_SET_SECCOMP, MODE_FILTER, &program, 0, 0) == 0;
}

/* --- entering the sandbox: paths and system calls --- */

void sandbox_enter(const struct sandbox_paths *paths, struct writer *text, struct writer *wide)
{
    /* Without PR_SET_NO_NEW_PRIVS, only a privileged process may restrict itself. */
    bool bound = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    struct rules rules = {.wide = wide};
    long abi = bound ? restrict_paths(paths, &rules) : 0;
    if (abi > 0) {
        WRITE(text, "paths are restricted by landlock, ABI %", NUMBER((uint64_t)abi));
    } else {
        int error = errno;
        if (rules.failed != NULL) {
            WRITE(text, "paths are not restricted: landlock's rule for %: %", TEXT(rules.failed),
                  ERRNO(error));
        } else {
            WRITE(text, "paths are not restricted: landlock is not available: %", ERRNO(error));
        }
    }
    /* install the seccomp filter last, because it forbids the system calls above */
    writer_text(text, (bound && restrict_calls(paths->reader))
                          ? "; system calls by seccomp"
                          : "; system calls are not: seccomp is not available");
}
