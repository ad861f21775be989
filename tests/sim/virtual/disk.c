/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory; see disk.h. */
#include "tests/sim/virtual/disk.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define FILES_MAX 64
#define FILE_NAME_CAP 128

struct file {
    bool used;
    enum files_dir dir;
    char name[FILE_NAME_CAP];
    uint8_t *bytes; /* kept for the next file when the file is gone */
    size_t len;
    size_t cap;
};

static struct file files[FILES_MAX];

void disk_clear(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        files[i].used = false;
    }
}

static struct file *find(enum files_dir dir, const char *name)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        if (files[i].used && files[i].dir == dir && strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

static struct file *make(enum files_dir dir, const char *name)
{
    struct file *f = find(dir, name);
    for (unsigned i = 0; i < FILES_MAX && f == NULL; i++) {
        if (!files[i].used) {
            f = &files[i];
            f->used = true;
            f->dir = dir;
            f->len = 0;
            text_cut(f->name, sizeof f->name, view_text(name));
        }
    }
    ASSERT(f != NULL);
    return f;
}

static void grow(struct file *f, size_t len)
{
    if (len > f->cap) {
        f->cap = len * 2;
        f->bytes = realloc(f->bytes, f->cap);
        ASSERT(f->bytes != NULL);
    }
    if (len > f->len) {
        memset(f->bytes + f->len, 0, len - f->len);
        f->len = len;
    }
}

static enum status disk_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    const struct file *f = find(dir, name);
    (void)ctx;
    if (f == NULL) {
        return HOST_ABSENT;
    }
    if (offset < f->len) {
        struct view rest = view_of(f->bytes + offset, f->len - (size_t)offset);
        writer_append(out, view_first(rest, writer_room(out)));
    }
    return STATUS_OK;
}

static enum status disk_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    (void)ctx;
    if (dir == FILES_STATE && offset > 0 && find(dir, name) == NULL) {
        return HOST_ABSENT;
    }
    struct file *f = make(dir, name);
    f->len = dir == FILES_CDI ? 0 : f->len;
    grow(f, (size_t)offset + bytes.len);
    if (bytes.len > 0) {
        memcpy(f->bytes + offset, bytes.data, bytes.len);
    }
    return STATUS_OK;
}

static void rename_to(struct file *f, const char *name)
{
    struct file *old = find(f->dir, name);
    if (old != NULL && old != f) {
        old->used = false;
    }
    text_cut(f->name, sizeof f->name, view_text(name));
}

static enum status disk_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    struct file *f = find(dir, name);
    (void)ctx;
    if (f != NULL && final_name != NULL) {
        rename_to(f, final_name);
    }
    return f != NULL ? STATUS_OK : HOST_ABSENT;
}

static enum status disk_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    struct file *f = find(dir, name);
    (void)ctx;
    if (f == NULL) {
        return HOST_ABSENT;
    }
    if (aside != NULL) {
        rename_to(f, aside);
    } else {
        f->used = false;
    }
    return STATUS_OK;
}

static enum status disk_lock(void *ctx, const char *name)
{
    (void)ctx;
    (void)make(FILES_STATE, name);
    return STATUS_OK;
}

static enum status disk_count(void *ctx, enum files_dir dir, const char *prefix, unsigned *count)
{
    (void)ctx;
    *count = 0;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        bool named = files[i].used && strncmp(files[i].name, prefix, strlen(prefix)) == 0;
        *count += named && files[i].dir == dir ? 1u : 0u;
    }
    return STATUS_OK;
}

static const char *disk_why(void *ctx)
{
    (void)ctx;
    return "no such file";
}

const struct files disk_files = {
    .read = disk_read,
    .write = disk_write,
    .commit = disk_commit,
    .remove = disk_remove,
    .lock = disk_lock,
    .count = disk_count,
    .why = disk_why,
};
