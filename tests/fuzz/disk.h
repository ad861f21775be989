/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files port in memory for the fuzz targets: one call can fail, a write can tear, and the power
 * can go. Owns the files, in pages that are copied when they are written, so that a run that starts
 * with a whole store costs only what it changes. Header only, because each target is one file.
 */
#ifndef TESTS_FUZZ_DISK_H
#define TESTS_FUZZ_DISK_H

#include <setjmp.h>

#include "agent/files.h"
#include "dra/store.h"
#include "tests/fuzz/fuzz.h"

#define PAGE_BYTES 4096u
#define PAGES_MAX ((unsigned)(STORE_FILE_BYTES / PAGE_BYTES))
#define POOL_PAGES 8192u
#define FILES_MAX 24u

/* --- the disk: files of pages; what was written since the last commit may not outlive a cut --- */

typedef uint8_t page_bytes[PAGE_BYTES];

struct page {
    const uint8_t *now; /* NULL: zeros */
    const uint8_t *committed;
    bool pending;
};

struct file {
    bool used;
    enum files_dir dir;
    char name[CDI_FILE_NAME_CAP];
    uint64_t len;
    struct page page[PAGES_MAX + 1u];
};

static struct {
    struct file file[FILES_MAX];
    unsigned pool_used;
    unsigned calls;
    unsigned fault_at; /* the call that fails; 0: none */
    bool lasting;      /* all calls behind it fail too */
    bool torn;         /* a write that fails leaves its first half */
    bool whole;        /* one that tears leaves all of it */
    enum status failure;
    bool kills;     /* the call that fails ends the process instead */
    jmp_buf killed; /* where it ends */
} disk;

static page_bytes pool[POOL_PAGES];

FUZZ_UNSEEN static inline struct file *find(enum files_dir dir, const char *name)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        struct file *f = &disk.file[i];
        if (f->used && f->dir == dir && strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

FUZZ_UNSEEN static inline struct file *make(enum files_dir dir, const char *name)
{
    struct file *f = find(dir, name);
    for (unsigned i = 0; i < FILES_MAX && f == NULL; i++) {
        if (!disk.file[i].used) {
            f = &disk.file[i];
            memset(f, 0, sizeof *f);
            f->used = true;
            f->dir = dir;
            text_cut(f->name, sizeof f->name, view_text(name));
        }
    }
    CHECK(f != NULL);
    return f;
}

/* A page that may be written: its own copy. */
FUZZ_UNSEEN static inline uint8_t *own_page(struct file *f, uint64_t at)
{
    struct page *p = &f->page[at / PAGE_BYTES];
    CHECK(disk.pool_used < POOL_PAGES && at / PAGE_BYTES <= PAGES_MAX);
    uint8_t *copy = pool[disk.pool_used];
    disk.pool_used++;
    if (p->now != NULL) {
        memcpy(copy, p->now, PAGE_BYTES);
    } else {
        memset(copy, 0, PAGE_BYTES);
    }
    p->now = copy;
    p->pending = true;
    return copy;
}

FUZZ_UNSEEN static inline void put_bytes(struct file *f, uint64_t offset, struct view bytes)
{
    uint64_t at = offset;
    while (bytes.len > 0u) {
        size_t within = (size_t)(at % PAGE_BYTES);
        struct view piece = view_first(bytes, PAGE_BYTES - within);
        memcpy(own_page(f, at) + within, piece.data, piece.len);
        bytes = view_from(bytes, piece.len);
        at += piece.len;
    }
    f->len = (at > f->len) ? at : f->len;
}

FUZZ_UNSEEN static inline void get_bytes(const struct file *f, uint64_t offset, struct writer *out)
{
    static const page_bytes zeros;
    uint64_t at = offset;
    while (at < f->len && writer_room(out) > 0u) {
        const struct page *p = &f->page[at / PAGE_BYTES];
        size_t within = (size_t)(at % PAGE_BYTES);
        struct view piece = view_of((p->now != NULL) ? p->now : zeros, PAGE_BYTES);
        piece = view_first(view_from(piece, within), writer_room(out));
        piece = view_first(piece, (size_t)(f->len - at));
        writer_append(out, piece);
        at += piece.len;
    }
}

FUZZ_UNSEEN static inline void write_back(struct file *f, bool well)
{
    for (unsigned i = 0; i <= PAGES_MAX; i++) {
        struct page *p = &f->page[i];
        p->committed = (p->pending && well) ? p->now : p->committed;
        p->pending = false;
    }
}

/* Nothing is there any more; pages that nobody has stay as they are. */
FUZZ_UNSEEN static inline void disk_clear(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        disk.file[i].used = false;
    }
    disk.pool_used = 0;
    disk.calls = 0;
    disk.fault_at = 0;
    disk.kills = false;
}

/* --- the files port --- */

FUZZ_UNSEEN static inline bool fails(void)
{
    disk.calls++;
    return disk.calls == disk.fault_at ||
           (disk.lasting && disk.fault_at > 0u && disk.calls > disk.fault_at);
}

FUZZ_UNSEEN static inline enum status port_read(void *ctx, enum files_dir dir, const char *name,
                                                uint64_t offset, struct writer *out)
{
    (void)ctx;
    const struct file *f = find(dir, name);
    if (fails()) {
        return disk.failure;
    }
    if (f != NULL) {
        get_bytes(f, offset, out);
    }
    return (f != NULL) ? STATUS_OK : HOST_ABSENT;
}

static inline enum status port_write(void *ctx, enum files_dir dir, const char *name,
                                     uint64_t offset, struct view bytes)
{
    (void)ctx;
    bool failed = fails();
    struct file *f = (offset == 0u && !failed) ? make(dir, name) : find(dir, name);
    if (f == NULL) {
        return failed ? disk.failure : HOST_ABSENT;
    }
    if (failed && !disk.torn) {
        return disk.failure;
    }
    f->len = (dir == FILES_CDI) ? 0u : f->len;
    bool half = failed && !disk.whole;
    put_bytes(f, offset, half ? view_first(bytes, bytes.len / 2u) : bytes);
    return failed ? disk.failure : STATUS_OK;
}

static inline enum status port_commit(void *ctx, enum files_dir dir, const char *name,
                                      const char *final_name)
{
    (void)ctx;
    bool failed = fails();
    struct file *f = find(dir, name);
    if (f != NULL) {
        write_back(f, !failed);
    }
    if (failed || f == NULL) {
        return failed ? disk.failure : HOST_ABSENT;
    }
    if (final_name != NULL) {
        struct file *old = find(dir, final_name);
        if (old != NULL && old != f) {
            old->used = false;
        }
        text_cut(f->name, sizeof f->name, view_text(final_name));
    }
    return STATUS_OK;
}

static inline enum status port_remove(void *ctx, enum files_dir dir, const char *name,
                                      const char *aside)
{
    (void)ctx;
    struct file *f = find(dir, name);
    if (fails()) {
        return disk.failure;
    }
    if (f == NULL) {
        return HOST_ABSENT;
    }
    struct file *old = (aside != NULL) ? find(dir, aside) : NULL;
    if (old != NULL) {
        old->used = false;
    }
    if (aside != NULL) {
        text_cut(f->name, sizeof f->name, view_text(aside));
    }
    f->used = aside != NULL;
    return STATUS_OK;
}

static inline enum status port_lock(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return fails() ? disk.failure : STATUS_OK;
}

static inline enum status port_count(void *ctx, enum files_dir dir, const char *prefix,
                                     unsigned *count)
{
    (void)ctx;
    unsigned n = 0;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        const struct file *f = &disk.file[i];
        n += (f->used && f->dir == dir && view_starts(view_text(f->name), prefix)) ? 1u : 0u;
    }
    *count = n;
    return fails() ? disk.failure : STATUS_OK;
}

static const char *port_why(void *ctx)
{
    (void)ctx;
    return "a fault";
}

static const struct files port = {.read = port_read,
                                  .write = port_write,
                                  .commit = port_commit,
                                  .remove = port_remove,
                                  .lock = port_lock,
                                  .count = port_count,
                                  .why = port_why};

/* The power goes: pages that no commit wrote back are as before, or not, as the input says. */
static inline void power_cut(struct fuzz *in)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        struct file *f = &disk.file[i];
        for (unsigned k = 0; f->used && f->dir == FILES_STATE && k <= PAGES_MAX; k++) {
            struct page *p = &f->page[k];
            bool lost = p->now != p->committed && (!p->pending || (fuzz_u8(in) & 1u) != 0u);
            p->now = lost ? p->committed : p->now;
            p->committed = p->now;
            p->pending = false;
        }
    }
}

#endif
