/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port on a real file system: whole files, in-place writes, atomic replacement, status
 * codes.
 */
#define _GNU_SOURCE 1
#include "tests/unit/disk/host_harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include "host/files.h"
#include "host/system.h"

static struct host_files disk;
static struct files port;

static void open_port(const char *cdi, const char *state)
{
    static char paths[2][256];
    (void)snprintf(paths[0], sizeof paths[0], "%s", cdi);
    (void)snprintf(paths[1], sizeof paths[1], "%s", state);
    port = host_files_init(&disk, paths[0], paths[1], "", "");
}

static void assert_content(enum files_dir dir, const char *name, uint64_t offset, const char *want)
{
    uint8_t bytes[256];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(port.read(port.ctx, dir, name, offset, &w), STATUS_OK);
    assert_int_equal(w.len, strlen(want));
    assert_memory_equal(bytes, want, w.len);
}

static void assert_verdict_of_read(enum files_dir dir, const char *name, enum status want)
{
    uint8_t bytes[8];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(port.read(port.ctx, dir, name, 0, &w), want);
    assert_int_equal(w.len, 0);
}

static enum status put_file(enum files_dir dir, const char *name, uint64_t offset, const char *text)
{
    return port.write(port.ctx, dir, name, offset, view_text(text));
}

static mode_t mode_of(const char *rest)
{
    struct stat st;
    assert_int_equal(stat(at(rest), &st), 0);
    return st.st_mode & 07777;
}

static bool exists(const char *rest)
{
    struct stat st;
    return lstat(at(rest), &st) == 0;
}

static void test_cdi_is_made_with_its_directory(void **state)
{
    (void)state;
    mode_t before = umask(022);
    open_port(at("run/cdi"), at("state"));
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "{\"a\":1}"), STATUS_OK);
    assert_false(exists("run/cdi/a.json"));
    assert_int_equal(port.commit(port.ctx, FILES_CDI, "a.tmp", "a.json"), STATUS_OK);
    assert_false(exists("run/cdi/a.tmp"));
    assert_content(FILES_CDI, "a.json", 0, "{\"a\":1}");
    assert_int_equal(mode_of("run/cdi"), 0755);
    assert_int_equal(mode_of("run/cdi/a.json"), 0644);
    (void)umask(before);
}

static void test_cdi_is_written_whole(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "a long first content"), STATUS_OK);
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "short"), STATUS_OK);
    assert_content(FILES_CDI, "a.tmp", 0, "short");
}

static void test_replacement_is_atomic(void **state)
{
    (void)state;
    char text[16] = {0};
    open_port(at("cdi"), at("state"));
    put("cdi/a.json", "old");
    int reader = open(at("cdi/a.json"), O_RDONLY);
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "new"), STATUS_OK);
    assert_content(FILES_CDI, "a.json", 0, "old");
    assert_int_equal(port.commit(port.ctx, FILES_CDI, "a.tmp", "a.json"), STATUS_OK);
    assert_content(FILES_CDI, "a.json", 0, "new");
    /* Who had it open goes on reading the old file, whole. */
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "old");
    assert_int_equal(close(reader), 0);
}

static void test_removed_directory_comes_back(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_CDI, "a.json", 0, "1"), STATUS_OK);
    assert_int_equal(unlink(at("cdi/a.json")), 0);
    assert_int_equal(rmdir(at("cdi")), 0);
    assert_verdict_of_read(FILES_CDI, "a.json", HOST_ABSENT);
    assert_int_equal(put_file(FILES_CDI, "b.json", 0, "2"), STATUS_OK);
    assert_content(FILES_CDI, "b.json", 0, "2");
}

static void test_link_in_place_of_a_file_is_not_followed(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    put("victim", "keep");
    make_directories("cdi");
    assert_int_equal(symlink("../victim", at("cdi/a.tmp")), 0);
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "evil"), HOST_IO);
    uint8_t bytes[8];
    struct writer w = writer_of(bytes, sizeof bytes);
    int error = 0;
    assert_int_equal(file_read_whole(at("victim"), &w, &error), STATUS_OK);
    assert_true(view_is(writer_view(&w), "keep"));
}

static void test_state_in_place(void **state)
{
    (void)state;
    open_port(at("cdi"), at("plugins/neuron"));
    /* only the front of a file creates it: a store that vanished is noticed */
    assert_int_equal(put_file(FILES_STATE, "claims.store", 4, "5678"), HOST_ABSENT);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "1234"), STATUS_OK);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 4, "5678"), STATUS_OK);
    assert_int_equal(port.commit(port.ctx, FILES_STATE, "claims.store", NULL), STATUS_OK);
    assert_content(FILES_STATE, "claims.store", 0, "12345678");
    assert_content(FILES_STATE, "claims.store", 6, "78");
    assert_content(FILES_STATE, "claims.store", 8, "");
    assert_content(FILES_STATE, "claims.store", 800, "");
    assert_int_equal(mode_of("plugins/neuron"), 0750);
    assert_int_equal(mode_of("plugins/neuron/claims.store"), 0600);
    host_files_end(&disk);
    assert_content(FILES_STATE, "claims.store", 0, "12345678");
    host_files_end(&disk);
}

static void test_read_stops_at_the_room(void **state)
{
    (void)state;
    uint8_t bytes[6] = {'x', 'y'};
    open_port(at("cdi"), at("state"));
    put("state/claims.store", "0123456789");
    struct writer w = writer_of(bytes, sizeof bytes);
    w.len = 2;
    assert_int_equal(port.read(port.ctx, FILES_STATE, "claims.store", 3, &w), STATUS_OK);
    assert_int_equal(w.len, 6);
    assert_memory_equal(bytes, "xy3456", 6);
    host_files_end(&disk);
}

static void test_state_replaced_by_rename(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    put("state/claims.store", "damaged");
    assert_content(FILES_STATE, "claims.store", 0, "damaged");
    assert_int_equal(put_file(FILES_STATE, "claims.store.new", 0, "fresh"), STATUS_OK);
    assert_int_equal(port.remove(port.ctx, FILES_STATE, "claims.store", "claims.store.damaged"),
                     STATUS_OK);
    assert_verdict_of_read(FILES_STATE, "claims.store", HOST_ABSENT);
    assert_int_equal(port.commit(port.ctx, FILES_STATE, "claims.store.new", "claims.store"),
                     STATUS_OK);
    assert_content(FILES_STATE, "claims.store", 0, "fresh");
    assert_content(FILES_STATE, "claims.store.damaged", 0, "damaged");
    assert_false(exists("state/claims.store.new"));
    host_files_end(&disk);
}

/* The cached descriptor must not outlive the file behind its name. */
static void test_state_replaced_by_others(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "mine"), STATUS_OK);
    put("state/other", "theirs");
    assert_int_equal(rename(at("state/other"), at("state/claims.store")), 0);
    assert_content(FILES_STATE, "claims.store", 0, "theirs");
    assert_int_equal(unlink(at("state/claims.store")), 0);
    assert_verdict_of_read(FILES_STATE, "claims.store", HOST_ABSENT);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "again"), STATUS_OK);
    assert_content(FILES_STATE, "claims.store", 0, "again");
    host_files_end(&disk);
}

/* One look in a turn of the loop; the next turn looks again. */
static void test_store_is_looked_at_once_in_a_turn(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "1234"), STATUS_OK);
    host_files_turn(&disk);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 4, "5678"), STATUS_OK);
    assert_true(disk.state_checked);
    assert_int_equal(unlink(at("state/claims.store")), 0);
    assert_int_equal(port.commit(port.ctx, FILES_STATE, "claims.store", NULL), STATUS_OK);
    host_files_turn(&disk);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 4, "9abc"), HOST_ABSENT);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "1234"), STATUS_OK);
    host_files_end(&disk);
}

static void test_absent(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    make_directories("state");
    for (unsigned dir = FILES_CDI; dir <= FILES_STATE; dir++) {
        assert_verdict_of_read((enum files_dir)dir, "x", HOST_ABSENT);
        assert_int_equal(port.remove(port.ctx, (enum files_dir)dir, "x", NULL), HOST_ABSENT);
        assert_int_equal(port.remove(port.ctx, (enum files_dir)dir, "x", "y"), HOST_ABSENT);
    }
    assert_int_equal(port.commit(port.ctx, FILES_CDI, "x", "y"), HOST_ABSENT);
    disk.flush_us = 7; /* of an earlier commit: this one does not come to the flush */
    assert_int_equal(port.commit(port.ctx, FILES_STATE, "x", NULL), HOST_ABSENT);
    assert_int_equal(port.flush_us(port.ctx), 0);
}

static void test_remove(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    put("cdi/a.json", "1");
    put("state/s", "2");
    assert_int_equal(port.remove(port.ctx, FILES_CDI, "a.json", NULL), STATUS_OK);
    assert_int_equal(port.remove(port.ctx, FILES_STATE, "s", NULL), STATUS_OK);
    assert_false(exists("cdi/a.json"));
    assert_false(exists("state/s"));
}

/* /dev/full takes every open and refuses every write, for root as well. */
static void test_full_disk(void **state)
{
    (void)state;
    open_port(at("cdi"), "/dev");
    assert_int_equal(put_file(FILES_STATE, "full", 0, "x"), HOST_NO_SPACE);
    assert_string_equal(port.remedy(port.ctx), "free space there");
    host_files_end(&disk);
}

/* sysfs lets nobody make a file: refused or read-only, depending on how it is mounted. */
static void test_denied(void **state)
{
    (void)state;
    open_port("/sys", "/sys");
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "x"), HOST_DENIED);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "x"), HOST_DENIED);
}

/* Each errno has a remedy of its own, and one without a remedy has none. */
static void test_remedies(void **state)
{
    static const int errors[] = {EACCES,  EPERM,  EROFS, ENOSPC, EDQUOT, ENOENT,
                                 ENOTDIR, EISDIR, ELOOP, ESPIPE, EIO,    EMFILE,
                                 ENFILE,  ENOMEM, EBUSY, EEXIST, EFBIG,  ENAMETOOLONG};
    (void)state;
    open_port(at("cdi"), at("state"));
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        disk.error = errors[i];
        const char *remedy = port.remedy(port.ctx);
        assert_non_null(remedy);
        for (size_t j = 0; j < i; j++) {
            disk.error = errors[j];
            assert_string_not_equal(port.remedy(port.ctx), remedy);
        }
    }
    disk.error = EINTR;
    assert_null(port.remedy(port.ctx));
    host_files_end(&disk);
}

static void test_directory_that_is_a_file(void **state)
{
    (void)state;
    put("cdi", "I am a file");
    open_port(at("cdi"), at("cdi"));
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "x"), HOST_ABSENT);
    assert_int_equal(put_file(FILES_STATE, "claims.store", 0, "x"), HOST_ABSENT);
}

/* A tiny file system of our own shows that a CDI file which did not fit leaves nothing behind. */
static void test_nothing_is_left_of_what_did_not_fit(void **state)
{
    (void)state;
    static char large[128 * 1024];
    memset(large, 'x', sizeof large - 1u);
    make_directories("cdi");
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", at("cdi"), "tmpfs", 0, "size=64k") != 0) {
        print_message("needs a mount of its own (CAP_SYS_ADMIN): %s\n", strerror(errno));
        skip();
    }
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_CDI, "a.json", 0, "old"), STATUS_OK);
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, large), HOST_NO_SPACE);
    assert_false(exists("cdi/a.tmp"));
    assert_content(FILES_CDI, "a.json", 0, "old");
    assert_int_equal(umount(at("cdi")), 0);
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        int error;
        enum status status;
    } rows[] = {
        {ENOSPC, HOST_NO_SPACE}, {EDQUOT, HOST_NO_SPACE}, {EROFS, HOST_DENIED},
        {EACCES, HOST_DENIED},   {EPERM, HOST_DENIED},    {ENOENT, HOST_ABSENT},
        {EIO, HOST_IO},          {EFBIG, HOST_IO},        {4095, HOST_IO},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(errno_status(rows[i].error), rows[i].status);
    }
    assert_string_equal(errno_text(ENOSPC), "no space left on device");
    char text[64];
    struct writer w = writer_of(text, sizeof text);
    WRITE(&w, "%", ERRNO(4095));
    assert_int_equal(writer_end_text(&w), STATUS_OK);
    assert_string_equal(text, "unexpected error (errno 4095)");
}

static void test_whole_file_bounds(void **state)
{
    (void)state;
    uint8_t bytes[4];
    int error = 0;
    put("exact", "1234");
    put("over", "12345");
    make_directories("directory");
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(file_read_whole(at("exact"), &w, &error), STATUS_OK);
    assert_int_equal(w.len, 4);
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(file_read_whole(at("over"), &w, &error), FULL_BUFFER);
    assert_int_equal(error, EFBIG);
    assert_int_equal(w.len, 0);
    assert_int_equal(file_read_whole(at("directory"), &w, &error), HOST_IO);
    assert_int_equal(error, EISDIR);
    /* A FIFO without a writer reads as empty instead of hanging. */
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    assert_int_equal(file_read_whole(at("fifo"), &w, &error), STATUS_OK);
    assert_int_equal(w.len, 0);
}

/* --- files on their way to their name --- */

enum { WRITERS = 2, ROUNDS = 2000 };

/* One of several processes that write one directory; tidies at each step, as after a start. */
static int write_many(unsigned writer)
{
    static char text[8192];
    char name[64];
    struct host_files own;
    static char path[256];
    int wrong = 0;
    (void)snprintf(path, sizeof path, "%s", at("cdi"));
    struct files p = host_files_init(&own, path, path, "", "");
    (void)snprintf(name, sizeof name, "claim-%u.json", writer);
    for (unsigned i = 0; i < ROUNDS && wrong == 0; i++) {
        uint8_t bytes[sizeof text + 1u];
        struct writer w = writer_of(bytes, sizeof bytes);
        size_t len = 1u + (i * 37u) % (sizeof text - 1u);
        memset(text, (int)('a' + writer * 13u + i % 13u), len);
        struct view content = view_of(text, len);
        bool good = p.write(p.ctx, FILES_CDI, p.temporary(p.ctx), 0,
                            view_first(content, len / 2u)) == STATUS_OK &&
                    p.write(p.ctx, FILES_CDI, p.temporary(p.ctx), len / 2u,
                            view_from(content, len / 2u)) == STATUS_OK &&
                    p.commit(p.ctx, FILES_CDI, p.temporary(p.ctx), name) == STATUS_OK &&
                    p.read(p.ctx, FILES_CDI, name, 0, &w) == STATUS_OK &&
                    view_equal(writer_view(&w), content) && p.tidy(p.ctx) == HOST_ABSENT;
        wrong += good ? 0 : 1;
    }
    host_files_end(&own);
    return wrong;
}

static void test_two_processes(void **state)
{
    pid_t child[WRITERS];
    (void)state;
    make_directories("cdi");
    for (unsigned i = 0; i < WRITERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            _exit(write_many(i));
        }
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
}

static void set_age(const char *rest, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - seconds},
                                      {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, at(rest), times, 0), 0);
}

/* What a killed process left goes once it is old; what another one has locked never does. */
static void test_leftovers(void **state)
{
    static const char killed[] = "cdi/neuron.aws.com-claim.0123456789abcdef.tmp";
    static const char older[] = "cdi/neuron.aws.com-claim.tmp"; /* of a release with one name */
    static const char foreign[] = "cdi/other.tmp";
    char writing[128];
    struct host_files live;
    static char path[256];
    (void)state;
    open_port(at("cdi"), at("state"));
    (void)snprintf(path, sizeof path, "%s", at("cdi"));
    struct files other = host_files_init(&live, path, path, "", "");
    const char *name = other.temporary(other.ctx);
    assert_int_equal(other.write(other.ctx, FILES_CDI, name, 0, view_text("1")), STATUS_OK);
    (void)snprintf(writing, sizeof writing, "cdi/%s", name);
    put(killed, "half");
    put(older, "half");
    put(foreign, "whole");
    assert_int_equal(port.tidy(port.ctx), HOST_ABSENT);
    assert_true(exists(killed) && exists(older) && exists(writing));
    set_age(killed, TEMPORARY_AGE_MS / 1000u + 2);
    set_age(older, TEMPORARY_AGE_MS / 1000u + 2);
    set_age(foreign, 100000);
    set_age(writing, 100000);
    assert_int_equal(port.tidy(port.ctx), HOST_ABSENT);
    assert_true(!exists(killed) && !exists(older) && exists(foreign) && exists(writing));
    host_files_end(&live); /* as a kill does */
    set_age(writing, 100000);
    assert_int_equal(port.tidy(port.ctx), HOST_ABSENT);
    assert_false(exists(writing));
    /* its own goes at once */
    assert_int_equal(put_file(FILES_CDI, port.temporary(port.ctx), 0, "1"), STATUS_OK);
    assert_int_equal(port.tidy(port.ctx), STATUS_OK);
    host_files_end(&disk);
}

/* Somebody made a link of the name: it is not followed, and the next try has another name. */
static void test_temporary_name_taken(void **state)
{
    char name[128];
    (void)state;
    open_port(at("cdi"), at("state"));
    put("victim", "keep");
    make_directories("cdi");
    (void)snprintf(name, sizeof name, "%s", port.temporary(port.ctx));
    char rest[256];
    (void)snprintf(rest, sizeof rest, "cdi/%s", name);
    assert_int_equal(symlink("../victim", at(rest)), 0);
    assert_int_equal(put_file(FILES_CDI, name, 0, "evil"), HOST_IO);
    assert_string_not_equal(port.temporary(port.ctx), name);
    assert_int_equal(put_file(FILES_CDI, port.temporary(port.ctx), 0, "good"), STATUS_OK);
    host_files_end(&disk);
}

/* EBUSY of a file is told as that, and no reader is blamed: there is none here. */
static void test_file_that_is_a_mount_point(void **state)
{
    (void)state;
    open_port(at("cdi"), at("state"));
    assert_int_equal(put_file(FILES_CDI, "a.tmp", 0, "1"), STATUS_OK);
    assert_int_equal(port.commit(port.ctx, FILES_CDI, "a.tmp", "a.json"), STATUS_OK);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(at("cdi/a.json"), at("cdi/a.json"), NULL, MS_BIND, NULL) != 0) {
        print_message("needs a mount of its own (CAP_SYS_ADMIN): %s\n", strerror(errno));
        host_files_end(&disk);
        skip();
    }
    assert_int_equal(port.remove(port.ctx, FILES_CDI, "a.json", NULL), HOST_IO);
    assert_string_equal(port.why(port.ctx), "busy, or a mount point");
    assert_int_equal(umount(at("cdi/a.json")), 0);
    host_files_end(&disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(test_cdi_is_made_with_its_directory),
        HOST_TEST(test_cdi_is_written_whole),
        HOST_TEST(test_replacement_is_atomic),
        HOST_TEST(test_removed_directory_comes_back),
        HOST_TEST(test_link_in_place_of_a_file_is_not_followed),
        HOST_TEST(test_state_in_place),
        HOST_TEST(test_read_stops_at_the_room),
        HOST_TEST(test_state_replaced_by_rename),
        HOST_TEST(test_state_replaced_by_others),
        HOST_TEST(test_absent),
        HOST_TEST(test_store_is_looked_at_once_in_a_turn),
        HOST_TEST(test_remove),
        HOST_TEST(test_full_disk),
        HOST_TEST(test_denied),
        HOST_TEST(test_remedies),
        HOST_TEST(test_directory_that_is_a_file),
        HOST_TEST(test_nothing_is_left_of_what_did_not_fit),
        HOST_TEST(test_two_processes),
        HOST_TEST(test_leftovers),
        HOST_TEST(test_temporary_name_taken),
        HOST_TEST(test_file_that_is_a_mount_point),
        HOST_TEST(test_verdicts),
        HOST_TEST(test_whole_file_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
