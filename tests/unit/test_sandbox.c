/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox, entered in a process of its own: what the agent needs goes on working, and every
 * other path and system call is refused. Where landlock is not available, the text must say so and
 * the paths stay open.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/sandbox.h"
#include "host/sandbox_calls.h"
#include "host/system.h"
#include "unit.h"

static char root[64];

static const char *at(const char *rest)
{
    static char path[4][160];
    static unsigned next;
    char *text = path[next++ % 4u];
    (void)snprintf(text, sizeof path[0], "%s/%s", root, rest);
    return text;
}

static void put(const char *rest)
{
    int fd = open(at(rest), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    (void)close(fd);
}

static int setup(void **state)
{
    (void)state;
    (void)strcpy(root, "/tmp/sandbox-XXXXXX");
    assert_non_null(mkdtemp(root));
    static const char *const folders[] = {"kubelet",     "kubelet/plugin", "devices",
                                          "devices/sys", "linked",         "elsewhere"};
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        assert_int_equal(mkdir(at(folders[i]), 0700), 0);
    }
    put("devices/sys/value");
    assert_int_equal(symlink(at("linked"), at("kubelet/link")), 0);
    put("elsewhere/secret");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* What the child saw; 0 errors: it worked. */
struct seen {
    char text[512];
    char wide[256];
    int linked;
    int made, renamed, removed, made_again, socket_bound;
    int read_value, wrote_value;
    int read_elsewhere, made_elsewhere, listed_elsewhere;
    int executed, forked, traced, mounted, opened_by_handle, stopped_other;
};

static int error_of(long result)
{
    return (result < 0) ? errno : 0;
}

static int open_error(const char *path, int flags)
{
    int fd = path_open(path, flags | O_CLOEXEC, 0600);
    int error = error_of(fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    return error;
}

static int bind_error(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return (fd < 0) ? errno : error_of(bind(fd, (struct sockaddr *)&address, sizeof address));
}

static void look_at_files(struct seen *seen)
{
    seen->made = open_error(at("kubelet/plugin/new"), O_RDWR | O_CREAT | O_TRUNC);
    seen->linked = open_error(at("kubelet/link/new"), O_RDWR | O_CREAT);
    seen->renamed = error_of(path_rename(at("kubelet/plugin/new"), at("kubelet/plugin/store")));
    seen->removed = error_of(unlink(at("kubelet/plugin/store")));
    seen->made_again = error_of(mkdir(at("kubelet/again"), 0700));
    seen->socket_bound = bind_error(at("kubelet/plugin/dra.sock"));
    seen->read_value = open_error(at("devices/sys/value"), O_RDONLY);
    seen->wrote_value = open_error(at("devices/sys/value"), O_WRONLY);
    seen->read_elsewhere = open_error(at("elsewhere/secret"), O_RDONLY);
    seen->made_elsewhere = open_error(at("elsewhere/new"), O_WRONLY | O_CREAT);
    seen->listed_elsewhere = open_error(at("elsewhere"), O_RDONLY | O_DIRECTORY);
}

static void look_at_calls(struct seen *seen)
{
    static char *const none[] = {NULL};
    seen->executed = error_of(syscall(SYS_execve, "/bin/true", none, none));
    seen->forked = error_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    seen->traced = error_of(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
    seen->mounted = error_of(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, ""));
    seen->opened_by_handle = error_of(syscall(SYS_open_by_handle_at, -1, "", 0));
    seen->stopped_other = error_of(syscall(SYS_kill, 1, 0));
}

#define ADD_RULE 445 /* landlock_add_rule(2) */

/* As a kernel that refuses every rule. */
static void refuse_rules(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ADD_RULE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = code};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static struct seen enter_with(const char *cdi, bool refused)
{
    struct seen seen;
    int ends[2];
    int status = 0;
    memset(&seen, 0, sizeof seen);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char plugin[160];
        char sys[160];
        (void)snprintf(plugin, sizeof plugin, "%s/kubelet/plugin", root);
        (void)snprintf(sys, sizeof sys, "%s/devices/sys", root);
        char link[160];
        (void)snprintf(link, sizeof link, "%s/kubelet/link", root);
        const struct sandbox_paths paths = {{plugin, link, (cdi != NULL) ? cdi : plugin, plugin},
                                            {sys, sys, sys},
                                            {sys, sys, sys},
                                            sys,
                                            false};
        struct writer w = writer_of(seen.text, sizeof seen.text);
        struct writer wide = writer_of(seen.wide, sizeof seen.wide);
        if (refused) {
            refuse_rules();
        }
        sandbox_enter(&paths, &w, &wide);
        look_at_files(&seen);
        look_at_calls(&seen);
        int code = (write(ends[1], &seen, sizeof seen) == (ssize_t)sizeof seen) ? 0 : 1;
        (void)syscall(SYS_exit_group, code); /* what a sanitizer does in _exit is refused */
    }
    assert_true(child > 0);
    (void)close(ends[1]); /* a child that dies ends the pipe */
    assert_int_equal(read(ends[0], &seen, sizeof seen), sizeof seen);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    return seen;
}

static struct seen enter(void)
{
    return enter_with(NULL, false);
}

/* A directory whose parent is the root opens all of it, and that is reported by its name. */
static void test_wide_rule(void **state)
{
    (void)state;
    struct seen seen = enter_with("/absent-in-this-test", false);
    if (strstr(seen.text, "restricted by landlock, ABI ") != NULL) {
        assert_string_equal(seen.wide, "the rule for /absent-in-this-test lets the agent change "
                                       "everything: the directory that it is for is /");
        assert_int_equal(seen.made_elsewhere, 0);
    }
    assert_string_equal(enter().wide, "");
}

/* A rule that the kernel refuses is named, with the kernel's reason. */
static void test_refused_rule(void **state)
{
    (void)state;
    struct seen seen = enter_with(NULL, true);
    if (strstr(seen.text, "is not available") == NULL) {
        assert_non_null(strstr(seen.text, "paths are not restricted: landlock's rule for /"));
        assert_non_null(strstr(seen.text, "/kubelet/plugin: permission denied; system calls"));
    }
    assert_int_equal(seen.made_elsewhere, 0);
}

static void test_paths(void **state)
{
    (void)state;
    struct seen seen = enter();
    bool restricted = strstr(seen.text, "restricted by landlock, ABI ") != NULL;
    if (!restricted) {
        assert_non_null(strstr(seen.text, "landlock is not available"));
    }
    assert_int_equal(seen.made, 0);
    assert_int_equal(seen.linked, 0); /* a CDI root that is a link */
    assert_int_equal(seen.renamed, 0);
    assert_int_equal(seen.removed, 0);
    assert_int_equal(seen.made_again, 0); /* the plugin directory can be made again */
    assert_int_equal(seen.socket_bound, 0);
    assert_int_equal(seen.read_value, 0);
    int refused = restricted ? EACCES : 0;
    assert_int_equal(seen.wrote_value, refused);
    assert_int_equal(seen.read_elsewhere, refused);
    assert_int_equal(seen.made_elsewhere, refused);
    assert_int_equal(seen.listed_elsewhere, refused);
}

static void test_calls(void **state)
{
    (void)state;
    struct seen seen = enter();
    assert_non_null(strstr(seen.text, "system calls by seccomp"));
    assert_int_equal(seen.executed, EPERM);
    assert_int_equal(seen.forked, EPERM);
    assert_int_equal(seen.traced, EPERM);
    assert_int_equal(seen.mounted, EPERM);
    assert_int_equal(seen.opened_by_handle, EPERM);
    assert_int_equal(seen.stopped_other, EPERM);
}

/* A reviewer reads the whole list. */
static void test_count(void **state)
{
    (void)state;
#define ONE(name, purpose) +1
    assert_in_range(0 SANDBOX_CALLS(ONE), 1, 33);
    assert_in_range(0 READER_CALLS(ONE), 1, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wide_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_rule, setup, teardown),
        cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
