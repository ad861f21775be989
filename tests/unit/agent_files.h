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
#define DISK_NAME_CAP  128
#define UNUSED_OK __attribute__((unused))

struct disk_file {
    bool used;
    enum files_dir dir;
    char name[DISK_NAME_CAP];
    uint8_t *bytes;
    size_t len;
    size_t cap;
};

enum fault {
    FAULT_NONE,
    FAULT_KILL_BEFORE, /* the process ends, the call did nothing */
    FAULT_KILL_TORN,   /* a write leaves its first half */
    FAULT_KILL_AFTER,
    FAULT_ERROR,       /* the call fails, nothing was done */
    FAULT_ERROR_TORN,  /* a write fails after its first half */
    FAULT_ERROR_AFTER  /* the call fails although all was done */
};

struct disk {
    struct disk_file file[DISK_FILES_MAX];
    unsigned calls;      /* since disk_fault */
    enum fault fault;
    unsigned fault_at;   /* of which call, from 1 */
    bool changes_only;   /* reads are not counted */
    enum status failure; /* of FAULT_ERROR…; also what `refuse` says */
    bool refuse[2];      /* by directory: write and commit fail */
    bool refuse_remove[2];
    bool refuse_read[2];
    bool may_kill;       /* `killed` is a place to jump to */
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
    memset(disk.refuse, 0, sizeof disk.refuse);
    memset(disk.refuse_remove, 0, sizeof disk.refuse_remove);
    memset(disk.refuse_read, 0, sizeof disk.refuse_read);
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
    disk.failure = failure;
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
        assert_non_null(f->bytes);
    }
    if (len > f->len) {
        memset(f->bytes + f->len, 0, len - f->len);
        f->len = len;
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

/* --- the four functions --- */

static void check_name(const char *name)
{
    assert_true(strlen(name) > 0 && strlen(name) < DISK_NAME_CAP);
    assert_null(strchr(name, '/'));
}

static enum status disk_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(false);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN || disk.refuse_read[dir]) {
        return disk.failure;
    }
    const struct disk_file *f = disk_find(dir, name);
    if (f == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    if (offset < f->len) {
        struct view rest = view_of(f->bytes + offset, f->len - (size_t)offset);
        writer_view_of(out, view_first(rest, writer_room(out)));
    }
    return disk_leave(now, STATUS_OK);
}

static enum status disk_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    assert_true(dir == FILES_STATE || offset == 0);
    struct fault_now now = disk_enter(true);
    if (now.fault == FAULT_ERROR || disk.refuse[dir]) {
        return disk.failure;
    }
    if (dir == FILES_STATE && offset > 0 && disk_find(dir, name) == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    struct disk_file *f = disk_make(dir, name);
    f->len = dir == FILES_CDI ? 0 : f->len;
    struct view done = now.torn ? view_first(bytes, bytes.len / 2) : bytes;
    disk_grow(f, (size_t)offset + done.len);
    memcpy(f->bytes + offset, done.data, done.len);
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

static enum status disk_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(true);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN || disk.refuse[dir]) {
        return disk.failure;
    }
    struct disk_file *f = disk_find(dir, name);
    if (f == NULL) {
        return disk_leave(now, HOST_ABSENT);
    }
    if (final_name != NULL && !now.torn) {
        check_name(final_name);
        disk_rename(f, final_name);
    }
    return disk_leave(now, STATUS_OK);
}

static enum status disk_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    assert_ptr_equal(ctx, &disk);
    check_name(name);
    struct fault_now now = disk_enter(true);
    if (now.fault == FAULT_ERROR || now.fault == FAULT_ERROR_TORN || disk.refuse_remove[dir]) {
        return disk.failure;
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

static const struct files disk_files = {
    .ctx = &disk,
    .read = disk_read,
    .write = disk_write,
    .commit = disk_commit,
    .remove = disk_remove,
};

#endif
