/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port in memory, for tests of the whole agent: it can fail, tear or end the process at
 * any call. What was written survives the "process", as the page cache survives a kill. Header
 * only, because each test is one file.
 */
#ifndef TESTS_UNIT_AGENT_FILES_H
#define TESTS_UNIT_AGENT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/files.h"

#define DISK_FILES_MAX 320
#define DISK_NAME_CAP 128
#define DISK_PAGE 4096u
#define DISK_PAGES_MAX 1100u /* of a file in FILES_STATE */
#define UNUSED_OK __attribute__((unused))

struct disk_file {
    bool used;
    enum files_dir dir;
    char name[DISK_NAME_CAP];
    uint8_t *bytes;
    size_t len;
    size_t cap;
    uint8_t *synced;              /* FILES_STATE: what a power cut leaves of the bytes */
    bool pending[DISK_PAGES_MAX]; /* pages that the next commit writes back */
};

enum fault {
    FAULT_NONE,
    FAULT_KILL_BEFORE, /* the process ends, the call did nothing */
    FAULT_KILL_TORN,   /* a write leaves its first half */
    FAULT_KILL_AFTER,
    FAULT_ERROR,      /* the call fails, nothing was done */
    FAULT_ERROR_TORN, /* a write fails after its first half */
    FAULT_ERROR_AFTER /* the call fails although all was done */
};

struct disk {
    struct disk_file file[DISK_FILES_MAX];
    unsigned calls; /* since disk_fault */
    enum fault fault;
    unsigned fault_at;   /* of which call, from 1 */
    bool changes_only;   /* reads are not counted */
    enum status failure; /* of FAULT_ERROR… */
    enum status refusal; /* what `refuse…` says */
    bool refuse[2];      /* by directory: write and commit fail */
    bool refuse_remove[2];
    bool refuse_read[2];
    bool locked_by_other;
    unsigned refuse_from; /* from this call on nothing is written in FILES_STATE; 0: never */
    enum status last;     /* of the last call that failed */
    bool may_kill;        /* `killed` is a place to jump to */
    jmp_buf killed;
};

static struct disk disk;

/* --- what the tests do with it --- */

UNUSED_OK static void disk_clear(void)
{
    for (unsigned i = 0; i < DISK_FILES_MAX; i++) {
        disk.file[i].used = false;
        disk.file[i].len = 0;
    }
    disk.fault = FAULT_NONE;
    disk.refusal = HOST_IO;
    memset(disk.refuse, 0, sizeof disk.refuse);
    memset(disk.refuse_remove, 0, sizeof disk.refuse_remove);
    memset(disk.refuse_read, 0, sizeof disk.refuse_read);
    disk.locked_by_other = false;
    disk.refuse_from = 0;
}

/* Arms one fault at the `at`-th call from now; FAULT_NONE only counts. */
UNUSED_OK static void disk_fault(enum fault fault, unsigned at, bool changes_only,
                                 enum status failure)
{
    disk.calls = 0;
    disk.fault = fault;
    disk.fault_at = at;
    disk.changes_only = changes_only;
    disk.failure = failure;
}

/* From now on nothing can be written (and, for HOST_DENIED, nothing removed) in a directory. */
UNUSED_OK static void disk_refuse(enum files_dir dir, enum status failure)
{
    disk.refusal = failure != STATUS_OK ? failure : disk.refusal;
    disk.refuse[dir] = failure != STATUS_OK;
    disk.refuse_remove[dir] = failure == HOST_DENIED;
}

UNUSED_OK static struct disk_file *disk_find(enum files_dir dir, const char *name)
{
    for (unsigned i = 0; i < DISK_FILES_MAX; i++) {
        struct disk_file *f = &disk.file[i];
        if (f->used && f->dir == dir && strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

UNUSED_OK static unsigned disk_count(enum files_dir dir)
{
    unsigned n = 0;
    for (unsigned i = 0; i < DISK_FILES_MAX; i++) {
        n += disk.file[i].used && disk.file[i].dir == dir ? 1u : 0u;
    }
    return n;
}

static struct disk_file *disk_make(enum files_dir dir, const char *name)
{
    struct disk_file *f = disk_find(dir, name);
    for (unsigned i = 0; i < DISK_FILES_MAX && f == NULL; i++) {
        if (!disk.file[i].used) {
            f = &disk.file[i];
            f->used = true;
            f->dir = dir;
            f->len = 0;
            memset(f->pending, 0, sizeof f->pending);
            assert_true(strlen(name) < DISK_NAME_CAP);
            memcpy(f->name, name, strlen(name) + 1);
        }
    }
    assert_non_null(f);
    return f;
}

static void disk_grow(struct disk_file *f, size_t len)
{
    if (len > f->cap) {
        f->cap = len * 2;
        f->bytes = realloc(f->bytes, f->cap);
        f->synced = realloc(f->synced, f->cap);
        assert_non_null(f->bytes);
        assert_non_null(f->synced);
    }
    if (len > f->len) {
        memset(f->bytes + f->len, 0, len - f->len);
        memset(f->synced + f->len, 0, len - f->len);
        f->len = len;
    }
}

/* --- power --- */

static void disk_touch(struct disk_file *f, size_t offset, size_t len)
{
    size_t end = offset + len;
    for (size_t page = offset / DISK_PAGE; page * DISK_PAGE < end; page++) {
        assert_true(page < DISK_PAGES_MAX);
        f->pending[page] = true;
    }
}

/*
 * fdatasync(2): what is pending reaches the disk, or does not; in both cases the kernel counts it
 * as done.
 */
static void disk_write_back(struct disk_file *f, bool well)
{
    for (size_t page = 0; page < DISK_PAGES_MAX && page * DISK_PAGE < f->len; page++) {
        size_t at = page * DISK_PAGE;
        size_t n = f->len - at < DISK_PAGE ? f->len - at : DISK_PAGE;
        if (f->pending[page] && well) {
            memcpy(f->synced + at, f->bytes + at, n);
        }
        f->pending[page] = false;
    }
}

/* A power cut: of the files in FILES_STATE that is left which was written back. */
UNUSED_OK static void disk_power_cut(void)
{
    for (unsigned i = 0; i < DISK_FILES_MAX; i++) {
        struct disk_file *f = &disk.file[i];
        if (f->used && f->dir == FILES_STATE && f->len > 0) {
            memcpy(f->bytes, f->synced, f->len);
            memset(f->pending, 0, sizeof f->pending);
        }
    }
}

/* --- faults --- */

struct fault_now {
    enum fault fault;
    bool torn;
};

static struct fault_now disk_enter(bool change)
{
    struct fault_now now = {FAULT_NONE, false};
    if (disk.changes_only && !change) {
        return now;
    }
    disk.calls++;
    if (disk.fault == FAULT_NONE || disk.calls != disk.fault_at) {
        return now;
    }
    now.fault = disk.fault;
    now.torn = disk.fault == FAULT_KILL_TORN || disk.fault == FAULT_ERROR_TORN;
    if (disk.fault == FAULT_KILL_BEFORE) {
        assert_true(disk.may_kill);
        longjmp(disk.killed, 1);
    }
    return now;
}

static enum status disk_leave(struct fault_now now, enum status s)
{
    if (now.fault == FAULT_KILL_AFTER || now.fault == FAULT_KILL_TORN) {
        assert_true(disk.may_kill);
        longjmp(disk.killed, 1);
    }
    return now.fault == FAULT_NONE ? s : disk.failure;
}

/* --- the port --- */

static void check_name(const char *name)
{
    assert_true(strlen(name) > 0 && strlen(name) < DISK_NAME_CAP);
    assert_null(strchr(name, '/'));
}

static enum status disk_do_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                                struct writer *out)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(false);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN) {
        return disk.failure;
    }
    if (disk.refuse_read[dir]) {
        return disk.refusal;
    }
    const struct disk_file *f = disk_find(dir, name);
    if (f == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    if (offset < f->len) {
        struct view rest = view_of(f->bytes + offset, f->len - (size_t)offset);
        writer_append(out, view_first(rest, writer_room(out)));
    }
    return disk_leave(now, STATUS_OK);
}

static enum status disk_do_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                                 struct view bytes)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    assert_true(dir == FILES_STATE || offset == 0);
    struct fault_now now = disk_enter(true);
    if (now.fault == FAULT_ERROR) {
        return disk.failure;
    }
    bool late = disk.refuse_from != 0 && disk.calls >= disk.refuse_from;
    if (disk.refuse[dir] || (late && dir == FILES_STATE)) {
        return disk.refusal;
    }
    if (dir == FILES_STATE && offset > 0 && disk_find(dir, name) == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    struct disk_file *f = disk_make(dir, name);
    f->len = dir == FILES_CDI ? 0 : f->len;
    struct view done = now.torn ? view_first(bytes, bytes.len / 2) : bytes;
    disk_grow(f, (size_t)offset + done.len);
    memcpy(f->bytes + offset, done.data, done.len);
    if (dir == FILES_STATE) {
        disk_touch(f, (size_t)offset, done.len);
    }
    return disk_leave(now, STATUS_OK);
}

static void disk_rename(struct disk_file *f, const char *name)
{
    struct disk_file *old = disk_find(f->dir, name);
    if (old != NULL && old != f) {
        old->used = false;
    }
    memcpy(f->name, name, strlen(name) + 1);
}

static enum status disk_do_commit(void *ctx, enum files_dir dir, const char *name,
                                  const char *final_name)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(true);
    struct disk_file *f = disk_find(dir, name);
    bool fails = now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN;
    if (f != NULL && dir == FILES_STATE) {
        disk_write_back(f, !fails && !disk.refuse[dir]);
    }
    if (fails) {
        return disk.failure;
    }
    if (disk.refuse[dir]) {
        return disk.refusal;
    }
    if (f == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    if (final_name != NULL && !now.torn) {
        check_name(final_name);
        disk_rename(f, final_name);
    }
    return disk_leave(now, STATUS_OK);
}

static enum status disk_do_remove(void *ctx, enum files_dir dir, const char *name,
                                  const char *aside)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(true);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN) {
        return disk.failure;
    }
    if (disk.refuse_remove[dir]) {
        return disk.refusal;
    }
    struct disk_file *f = disk_find(dir, name);
    if (f == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    if (aside != NULL) {
        check_name(aside);
        disk_rename(f, aside);
    } else {
        f->used = false;
    }
    return disk_leave(now, STATUS_OK);
}

/* The one process of these tests has what it locked; only making the file can be refused. */
static enum status disk_do_lock(void *ctx, const char *name)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(false);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN) {
        return disk.failure;
    }
    if (disk.locked_by_other) {
        return HOST_BUSY;
    }
    if (disk.refuse[FILES_STATE] && disk_find(FILES_STATE, name) == NULL) {
        return disk.refusal;
    }
    (void)disk_make(FILES_STATE, name);
    return disk_leave(now, STATUS_OK);
}

static enum status disk_do_count(void *ctx, enum files_dir dir, const char *prefix, unsigned *count)
{
    assert_ptr_equal(ctx, &disk);
    struct fault_now now = disk_enter(false);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN) {
        return disk.failure;
    }
    *count = 0;
    for (unsigned i = 0; i < DISK_FILES_MAX; i++) {
        const struct disk_file *f = &disk.file[i];
        bool named = f->used && strncmp(f->name, prefix, strlen(prefix)) == 0;
        *count += named && f->dir == dir ? 1u : 0u;
    }
    return disk_leave(now, STATUS_OK);
}

static enum status disk_remember(enum status s)
{
    disk.last = s != STATUS_OK ? s : disk.last;
    return s;
}

static enum status disk_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    return disk_remember(disk_do_read(ctx, dir, name, offset, out));
}

static enum status disk_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    return disk_remember(disk_do_write(ctx, dir, name, offset, bytes));
}

static enum status disk_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    return disk_remember(disk_do_commit(ctx, dir, name, final_name));
}

static enum status disk_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    return disk_remember(disk_do_remove(ctx, dir, name, aside));
}

static enum status disk_lock(void *ctx, const char *name)
{
    return disk_remember(disk_do_lock(ctx, name));
}

static enum status disk_count_names(void *ctx, enum files_dir dir, const char *prefix,
                                    unsigned *count)
{
    return disk_remember(disk_do_count(ctx, dir, prefix, count));
}

/* Stands for the words of an errno. */
static const char *disk_why(void *ctx)
{
    assert_ptr_equal(ctx, &disk);
    return status_name(disk.last);
}

static const struct files disk_files = {
    .ctx = &disk,
    .read = disk_read,
    .write = disk_write,
    .commit = disk_commit,
    .remove = disk_remove,
    .lock = disk_lock,
    .count = disk_count_names,
    .why = disk_why,
};

#endif
