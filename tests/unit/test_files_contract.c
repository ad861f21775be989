/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of the files port (agent/files.h) as one table of cases, each run over the real port
 * and over the one in memory that the tests of the whole agent use: those are worth what the latter
 * resembles the former.
 */
#define _GNU_SOURCE 1
#include "tests/unit/disk/host_harness.h"

#include "host/files.h"
#include "tests/sim/disk/sim_disk.h"

enum operation { READ, WRITE, COMMIT, REMOVE, LOCK, LIST };

struct step {
    enum operation operation;
    enum files_dir dir;
    const char *name; /* LIST: prefix */
    uint64_t offset;  /* LIST: the number of names that is expected */
    const char
        *text; /* READ, LIST: what is expected; WRITE: bytes; COMMIT, REMOVE: the other name */
    enum status want;
};

#define CDI FILES_CDI
#define STATE FILES_STATE
#define STEPS_MAX 12
#define OK STATUS_OK
#define ABSENT HOST_ABSENT

static const struct files_case {
    const char *about;
    struct step step[STEPS_MAX]; /* ends with an empty name */
} cases[] = {
    {"nothing is there",
     {{READ, CDI, "x", 0, "", ABSENT},
      {READ, STATE, "x", 0, "", ABSENT},
      {REMOVE, CDI, "x", 0, NULL, ABSENT},
      {REMOVE, STATE, "x", 0, NULL, ABSENT},
      {REMOVE, STATE, "x", 0, "y", ABSENT},
      {COMMIT, CDI, "x", 0, "y", ABSENT},
      {COMMIT, STATE, "x", 0, NULL, ABSENT},
      {LIST, CDI, "", 0, NULL, OK}}},
    {"only the front of a state file makes it",
     {{WRITE, STATE, "s", 4, "5678", ABSENT},
      {READ, STATE, "s", 0, "", ABSENT},
      {WRITE, STATE, "s", 0, "1234", OK},
      {WRITE, STATE, "s", 4, "5678", OK},
      {READ, STATE, "s", 0, "12345678", OK},
      {COMMIT, STATE, "s", 0, NULL, OK},
      {READ, STATE, "s", 0, "12345678", OK}}},
    {"state is written in place",
     {{WRITE, STATE, "s", 0, "12345678", OK},
      {WRITE, STATE, "s", 2, "ab", OK},
      {READ, STATE, "s", 0, "12ab5678", OK},
      {WRITE, STATE, "s", 0, "x", OK},
      {READ, STATE, "s", 0, "x2ab5678", OK},
      {READ, STATE, "s", 6, "78", OK},
      {READ, STATE, "s", 8, "", OK},
      {READ, STATE, "s", 800, "", OK}}},
    {"a hole reads as zeros' length",
     {{WRITE, STATE, "s", 0, "1", OK},
      {WRITE, STATE, "s", 9, "z", OK},
      {READ, STATE, "s", 9, "z", OK},
      {READ, STATE, "s", 10, "", OK}}},
    {"CDI files are written whole",
     {{WRITE, CDI, "a.tmp", 0, "a long first content", OK},
      {WRITE, CDI, "a.tmp", 0, "short", OK},
      {READ, CDI, "a.tmp", 0, "short", OK},
      {READ, CDI, "a.tmp", 3, "rt", OK},
      {WRITE, CDI, "a.tmp", 0, "", OK},
      {READ, CDI, "a.tmp", 0, "", OK}}},
    {"a commit renames over what is there",
     {{WRITE, CDI, "a.json", 0, "old", OK},
      {WRITE, CDI, "a.tmp", 0, "new", OK},
      {COMMIT, CDI, "a.tmp", 0, NULL, OK},
      {READ, CDI, "a.json", 0, "old", OK},
      {COMMIT, CDI, "a.tmp", 0, "a.json", OK},
      {READ, CDI, "a.json", 0, "new", OK},
      {READ, CDI, "a.tmp", 0, "", ABSENT},
      {LIST, CDI, "a.", 1, NULL, OK}}},
    {"a state file is replaced",
     {{WRITE, STATE, "s", 0, "damaged", OK},
      {WRITE, STATE, "s.new", 0, "fresh", OK},
      {REMOVE, STATE, "s", 0, "s.damaged", OK},
      {READ, STATE, "s", 0, "", ABSENT},
      {COMMIT, STATE, "s.new", 0, "s", OK},
      {READ, STATE, "s", 0, "fresh", OK},
      {READ, STATE, "s.damaged", 0, "damaged", OK},
      {READ, STATE, "s.new", 0, "", ABSENT},
      {WRITE, STATE, "s", 5, "er", OK},
      {READ, STATE, "s", 0, "fresher", OK}}},
    {"putting aside replaces too",
     {{WRITE, STATE, "s", 0, "second", OK},
      {WRITE, STATE, "s.damaged", 0, "first", OK},
      {REMOVE, STATE, "s", 0, "s.damaged", OK},
      {READ, STATE, "s.damaged", 0, "second", OK},
      {LIST, STATE, "s", 1, NULL, OK}}},
    {"what is removed is gone",
     {{WRITE, CDI, "a.json", 0, "1", OK},
      {WRITE, STATE, "s", 0, "2", OK},
      {REMOVE, CDI, "a.json", 0, NULL, OK},
      {REMOVE, STATE, "s", 0, NULL, OK},
      {READ, CDI, "a.json", 0, "", ABSENT},
      {WRITE, STATE, "s", 1, "3", ABSENT},
      {REMOVE, CDI, "a.json", 0, NULL, ABSENT}}},
    {"the directories do not share names",
     {{WRITE, CDI, "a", 0, "1", OK},
      {READ, STATE, "a", 0, "", ABSENT},
      {WRITE, STATE, "a", 0, "2", OK},
      {READ, CDI, "a", 0, "1", OK},
      {READ, STATE, "a", 0, "2", OK}}},
    {"names are listed by their start",
     {{WRITE, CDI, "p_1", 0, "1", OK},
      {WRITE, CDI, "p_22", 0, "1", OK},
      {WRITE, CDI, "q_1", 0, "1", OK},
      {WRITE, STATE, "p_1", 0, "1", OK},
      {LIST, CDI, "p_", 2, "p_1 p_22", OK},
      {LIST, CDI, "p_22", 1, "p_22", OK},
      {LIST, CDI, "p_223", 0, NULL, OK},
      {LIST, STATE, "p", 1, "p_1", OK}}},
    {"a lock makes its file and can be had again",
     {{LOCK, STATE, "s.lock", 0, NULL, OK},
      {LOCK, STATE, "s.lock", 0, NULL, OK},
      {WRITE, STATE, "s", 0, "1", OK},
      {REMOVE, STATE, "s.lock", 0, NULL, OK},
      {LOCK, STATE, "s.lock", 0, NULL, OK},
      {READ, STATE, "s", 0, "1", OK}}},
};

static enum status run_read(const struct files *p, const struct step *s)
{
    uint8_t bytes[64] = {'?'};
    struct writer w = writer_of(bytes, sizeof bytes);
    w.len = 1; /* what is read is appended */
    enum status got = p->read(p->ctx, s->dir, s->name, s->offset, &w);
    assert_false(w.full);
    assert_true(view_is(view_from(writer_view(&w), 1), s->text));
    assert_int_equal(bytes[0], '?');
    return got;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names come in any order; each is one that was written here. */
static enum status run_list(const struct files *p, const struct step *s)
{
    char names[LIST_PAGE_BYTES + 256u] = "?";
    const char *name[16];
    unsigned n = 0;
    struct writer w = writer_of(names, sizeof names);
    w.len = 1; /* names are appended */
    struct listing at_page = {0};
    enum status got = STATUS_MORE;
    while (got == STATUS_MORE) {
        got = p->list(p->ctx, s->dir, s->name, &at_page, &w);
    }
    assert_int_equal(names[0], '?');
    for (size_t at = 1; at < w.len; at += strlen(&names[at]) + 1u) {
        assert_int_equal(strncmp(&names[at], s->name, strlen(s->name)), 0);
        name[n] = &names[at];
        n++;
    }
    assert_int_equal(n, s->offset);
    qsort(name, n, sizeof name[0], by_text);
    for (unsigned i = 0; i < n && s->text != NULL; i++) {
        assert_true(strstr(s->text, name[i]) != NULL);
        assert_true(i == 0u || strcmp(name[i - 1u], name[i]) != 0);
    }
    return got;
}

static enum status run_step(const struct files *p, const struct step *s)
{
    switch (s->operation) {
    case READ:
        return run_read(p, s);
    case WRITE:
        return p->write(p->ctx, s->dir, s->name, s->offset, view_text(s->text));
    case COMMIT:
        return p->commit(p->ctx, s->dir, s->name, s->text);
    case REMOVE:
        return p->remove(p->ctx, s->dir, s->name, s->text);
    case LOCK:
        return p->lock(p->ctx, s->name, LOCK_OWNER);
    default:
        return run_list(p, s);
    }
}

static void run_case(const struct files *p, const struct files_case *c)
{
    for (unsigned i = 0; i < STEPS_MAX && c->step[i].name != NULL; i++) {
        enum status got = run_step(p, &c->step[i]);
        if (got != c->step[i].want) {
            fail_msg("%s: step %u: %s", c->about, i + 1, status_name(got));
        }
        if (got != STATUS_OK) {
            assert_true(strlen(p->why(p->ctx)) > 3);
        }
    }
}

static void test_in_memory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        disk_clear();
        run_case(&disk_files, &cases[i]);
    }
}

static void test_real(void **state)
{
    static char paths[2][256];
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct host_files real;
        (void)snprintf(paths[0], sizeof paths[0], "%s/%u/cdi", harness_root, i);
        (void)snprintf(paths[1], sizeof paths[1], "%s/%u/state", harness_root, i);
        make_directories(strchr(paths[1] + 6, '/') + 1);
        struct files port = host_files_init(&real, paths[0], paths[1], "", "");
        run_case(&port, &cases[i]);
        host_files_end(&real);
    }
}

/* --- the lock, which needs two --- */

static void test_one_holder(void **state)
{
    static char paths[2][256];
    struct host_files first;
    struct host_files second;
    (void)state;
    (void)snprintf(paths[0], sizeof paths[0], "%s", at("cdi"));
    (void)snprintf(paths[1], sizeof paths[1], "%s", at("plugins/neuron"));
    struct files a = host_files_init(&first, paths[0], paths[1], "", "");
    struct files b = host_files_init(&second, paths[0], paths[1], "", "");
    /* the directory is made for it */
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    /* it outlives what happens to other files */
    assert_int_equal(a.write(a.ctx, STATE, "s", 0, view_text("1")), STATUS_OK);
    assert_int_equal(a.commit(a.ctx, STATE, "s", "t"), STATUS_OK);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    host_files_end(&first);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    a = host_files_init(&first, paths[0], paths[1], "", "");
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    host_files_end(&first);
    host_files_end(&second);
}

/* --- several pages, with changes in between --- */

enum { MANY = 5000 }; /* more than 64 reads of 4 KiB, where listings once ended */

static void many_name(unsigned i, char name[64])
{
    (void)snprintf(name, 64, "n_%04u_%040u", i, i);
}

/* Each name comes once, although every page is followed by removing those that it had. */
static void list_many(const struct files *p, unsigned count)
{
    static bool seen[MANY];
    static char names[LIST_PAGE_BYTES];
    struct listing pages = {0};
    enum status got = STATUS_MORE;
    char name[64];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < count; i++) {
        many_name(i, name);
        assert_int_equal(p->write(p->ctx, CDI, name, 0, view_text("1")), STATUS_OK);
    }
    while (got == STATUS_MORE) {
        struct writer w = writer_of(names, sizeof names);
        got = p->list(p->ctx, CDI, "n_", &pages, &w);
        for (size_t at = 0; at < w.len; at += strlen(&names[at]) + 1u) {
            unsigned i = (unsigned)strtoul(&names[at + 2u], NULL, 10);
            assert_true(i < count && !seen[i]);
            seen[i] = true;
            assert_int_equal(p->remove(p->ctx, CDI, &names[at], NULL), STATUS_OK);
        }
    }
    assert_int_equal(got, STATUS_OK);
    assert_true(pages.pages > 3u);
    for (unsigned i = 0; i < count; i++) {
        assert_true(seen[i]);
    }
}

static void test_pages(void **state)
{
    static char cdi[256];
    struct host_files real;
    (void)state;
    disk_clear();
    list_many(&disk_files, 100);
    (void)snprintf(cdi, sizeof cdi, "%s", at("cdi"));
    struct files p = host_files_init(&real, cdi, cdi, "", "");
    list_many(&p, MANY);
    host_files_end(&real);
}

/* --- two writers in one CDI root --- */

static void both_write(const struct files *a, const struct files *b)
{
    char first[64];
    char second[64];
    uint8_t bytes[16];
    (void)snprintf(first, sizeof first, "%s", a->temporary(a->ctx));
    assert_int_equal(a->write(a->ctx, CDI, first, 0, view_text("claim ")), STATUS_OK);
    (void)snprintf(second, sizeof second, "%s", b->temporary(b->ctx));
    assert_string_not_equal(first, second);
    assert_true(b->tidy(b->ctx) == HOST_ABSENT); /* leaves what the other one writes */
    assert_int_equal(b->write(b->ctx, CDI, second, 0, view_text("other")), STATUS_OK);
    assert_int_equal(a->write(a->ctx, CDI, first, 6, view_text("one")), STATUS_OK);
    assert_int_equal(b->commit(b->ctx, CDI, second, "b.json"), STATUS_OK);
    assert_true(b->tidy(b->ctx) == HOST_ABSENT);
    assert_int_equal(a->commit(a->ctx, CDI, first, "a.json"), STATUS_OK);
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(a->read(a->ctx, CDI, "a.json", 0, &w), STATUS_OK);
    assert_true(view_is(writer_view(&w), "claim one"));
    w = writer_of(bytes, sizeof bytes);
    assert_int_equal(a->read(a->ctx, CDI, "b.json", 0, &w), STATUS_OK);
    assert_true(view_is(writer_view(&w), "other"));
}

static void test_two_writers(void **state)
{
    static char cdi[256];
    struct host_files first;
    struct host_files second;
    (void)state;
    (void)snprintf(cdi, sizeof cdi, "%s", at("cdi"));
    struct files a = host_files_init(&first, cdi, cdi, "", "");
    struct files b = host_files_init(&second, cdi, cdi, "", "");
    both_write(&a, &b);
    host_files_end(&first);
    host_files_end(&second);
}

/* The owner sees who is to be the next, and gives way; nothing of the store stays open. */
static void test_two_locks(void **state)
{
    static char paths[2][256];
    struct host_files first;
    struct host_files second;
    uint8_t bytes[8];
    struct writer w = writer_of(bytes, sizeof bytes);
    (void)state;
    (void)snprintf(paths[0], sizeof paths[0], "%s", at("cdi"));
    (void)snprintf(paths[1], sizeof paths[1], "%s", at("plugins/neuron"));
    struct files a = host_files_init(&first, paths[0], paths[1], "", "");
    struct files b = host_files_init(&second, paths[0], paths[1], "", "");
    assert_int_equal(a.holder(a.ctx, LOCK_OWNER), HOLDER_NOBODY);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    assert_int_equal(a.write(a.ctx, STATE, "s", 0, view_text("1")), STATUS_OK);
    assert_int_equal(a.holder(a.ctx, LOCK_NEXT), HOLDER_NOBODY);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    assert_int_equal(b.holder(b.ctx, LOCK_OWNER), HOLDER_AGENT);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_NEXT), STATUS_OK);
    assert_int_equal(a.holder(a.ctx, LOCK_NEXT), HOLDER_AGENT);
    assert_int_equal(a.holder(a.ctx, LOCK_OWNER), HOLDER_NOBODY); /* its own */
    a.unlock(a.ctx, LOCK_OWNER);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    assert_int_equal(b.read(b.ctx, STATE, "s", 0, &w), STATUS_OK);
    b.unlock(b.ctx, LOCK_NEXT);
    assert_int_equal(a.holder(a.ctx, LOCK_NEXT), HOLDER_NOBODY);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    /* the lock file is removed: the store still has one user, and the owner notices */
    assert_int_equal(unlink(at("plugins/neuron/s.lock")), 0);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    assert_int_equal(a.read(a.ctx, STATE, "s", 0, &w), HOST_BUSY);
    assert_int_equal(a.write(a.ctx, STATE, "s", 0, view_text("2")), HOST_BUSY);
    assert_int_equal(b.lock(b.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    b.unlock(b.ctx, LOCK_OWNER);
    assert_int_equal(a.write(a.ctx, STATE, "s", 0, view_text("2")), STATUS_OK);
    host_files_end(&first);
    host_files_end(&second);
}

/* A release that knows no next one locks the whole file. */
static void test_older_holder(void **state)
{
    static char dir[256];
    struct host_files real;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s", at("s"));
    make_directories("s");
    int fd = open(at("s/s.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    struct files a = host_files_init(&real, dir, dir, "", "");
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), HOST_BUSY);
    assert_int_equal(a.holder(a.ctx, LOCK_OWNER), HOLDER_OLDER);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_NEXT), HOST_BUSY);
    assert_int_equal(close(fd), 0);
    assert_int_equal(a.lock(a.ctx, "s.lock", LOCK_OWNER), STATUS_OK);
    host_files_end(&real);
}

/* --- the words --- */

static void test_words(void **state)
{
    struct host_files real;
    static char cdi[256];
    (void)state;
    (void)snprintf(cdi, sizeof cdi, "%s", at("d"));
    make_directories("d/directory");
    assert_int_equal(symlink("nowhere", at("d/link")), 0);
    assert_int_equal(mkfifo(at("d/fifo"), 0600), 0);
    assert_int_equal(mkfifo(at("d/unread"), 0600), 0);
    struct files p = host_files_init(&real, cdi, cdi, "", "");
    uint8_t bytes[8];
    struct writer w = writer_of(bytes, sizeof bytes);
    assert_int_equal(p.read(p.ctx, STATE, "absent", 0, &w), HOST_ABSENT);
    assert_string_equal(p.why(p.ctx), "no such file or directory");
    assert_int_equal(p.read(p.ctx, STATE, "directory", 0, &w), HOST_IO);
    assert_string_equal(p.why(p.ctx), "is a directory");
    assert_int_equal(p.write(p.ctx, CDI, "directory", 0, view_text("x")), HOST_IO);
    assert_string_equal(p.why(p.ctx), "is a directory");
    assert_int_equal(p.read(p.ctx, STATE, "link", 0, &w), HOST_IO);
    assert_string_equal(p.why(p.ctx), "it is a symbolic link");
    assert_int_equal(p.read(p.ctx, STATE, "fifo", 0, &w), HOST_IO);
    assert_string_equal(p.why(p.ctx), "not a plain file");
    assert_int_equal(p.write(p.ctx, CDI, "unread", 0, view_text("x")), HOST_IO);
    assert_string_equal(p.why(p.ctx), "a FIFO or socket, not a plain file");
    assert_int_equal(p.lock(p.ctx, "directory", LOCK_OWNER), HOST_IO);
    assert_string_equal(p.why(p.ctx), "is a directory");
    host_files_end(&real);
}

/* --- the look at a device --- */

static void test_device(void **state)
{
    struct host_files real;
    struct device_place place;
    static char root[256];
    (void)state;
    (void)snprintf(root, sizeof root, "%s", harness_root);
    make_directories("class/neuron_device/neuron7");
    struct files p = host_files_init(&real, "cdi", "state", root, root);
    assert_int_equal(p.device(p.ctx, 7, &place), HOST_ABSENT);
    assert_string_equal(p.why(p.ctx), "no such file or directory");
    assert_int_not_equal(place.folder, 0);
    assert_int_equal(symlink("/dev/null", at("neuron7")), 0);
    assert_int_equal(p.device(p.ctx, 7, &place), STATUS_OK);
    assert_int_not_equal(place.node, 0);
    assert_int_equal(p.device(p.ctx, 8, &place), HOST_ABSENT);
    assert_int_equal(place.folder, 0);
    host_files_end(&real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_memory), HOST_TEST(test_real),       HOST_TEST(test_two_locks),
        HOST_TEST(test_older_holder),     HOST_TEST(test_one_holder), HOST_TEST(test_words),
        HOST_TEST(test_device),           HOST_TEST(test_pages),      HOST_TEST(test_two_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
