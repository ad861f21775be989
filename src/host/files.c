/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real files port: CDI files written whole, the claim store written in place.
 * Never decides what is written; errno becomes a verdict here and nowhere above.
 */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/system.h"

#define FILE_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP)

static const char *directory_of(const struct host_files *f, enum files_dir dir)
{
    return (dir == FILES_CDI) ? f->cdi_dir : f->state_dir;
}

static void path_of(char path[FILE_PATH_CAP], const struct host_files *f, enum files_dir dir,
                    const char *name)
{
    ASSERT(name[0] != 0 && memchr(name, '/', strlen(name)) == 0);
    struct writer w = writer_of(path, FILE_PATH_CAP);
    writer_text(&w, directory_of(f, dir));
    writer_text(&w, "/");
    writer_text(&w, name);
    enum status ended = writer_end_text(&w);
    ASSERT(ended == STATUS_OK);
}

/*
 * open(2) for writing; makes the directory when that is what is missing. O_NONBLOCK: whoever put a
 * FIFO under that name must not stop the one thread.
 */
static int open_for_write(const struct host_files *f, enum files_dir dir, const char *path,
                          int flags)
{
    mode_t mode = (dir == FILES_CDI) ? 0644 : 0600;
    mode_t directory_mode = (dir == FILES_CDI) ? 0755 : 0750;
    int error = 0;
    int fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    if (fd < 0 && errno == ENOENT) {
        if (directory_make(directory_of(f, dir), directory_mode, &error) != STATUS_OK) {
            errno = error;
            return -1;
        }
        fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    }
    return fd;
}

/* Flushes a directory, so that names made or moved in it survive a power cut. */
static enum status flush_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno_status(errno);
    }
    int failed = fsync(fd);
    int error = errno;
    (void)close(fd);
    return (failed == 0) ? STATUS_OK : errno_status(error);
}

/* --- the cached descriptor --- */

static void state_drop(struct host_files *f)
{
    if (f->state_fd >= 0) {
        (void)close(f->state_fd);
    }
    f->state_fd = -1;
    f->state_created = false;
    f->state_name[0] = 0;
}

/* Whether the cached descriptor is still the file that bears the name: others may move or delete
 * it. */
static bool state_cached(const struct host_files *f, const char *name, const char *path)
{
    struct stat by_fd;
    struct stat by_path;
    return f->state_fd >= 0 && strcmp(f->state_name, name) == 0 &&
           fstat(f->state_fd, &by_fd) == 0 && stat(path, &by_path) == 0 &&
           by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

/* Opens the existing file: for writing if possible, else for reading, if that is enough. */
static int state_open_existing(struct host_files *f, const char *path, bool write)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    f->state_writable = fd >= 0;
    if (fd < 0 && !write && errno_status(errno) == HOST_DENIED) {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    return fd;
}

/*
 * Sees to it that f->state_fd is the file `name`, open for what is wanted. Only `create` makes an
 * absent one: a store that vanished must be noticed.
 */
static enum status state_open(struct host_files *f, const char *name, bool write, bool create)
{
    char path[FILE_PATH_CAP];
    path_of(path, f, FILES_STATE, name);
    if (state_cached(f, name, path) && (f->state_writable || !write)) {
        return STATUS_OK;
    }
    state_drop(f);
    f->state_fd = state_open_existing(f, path, write);
    if (f->state_fd < 0 && create && errno == ENOENT) {
        f->state_fd = open_for_write(f, FILES_STATE, path, O_RDWR);
        f->state_writable = f->state_fd >= 0;
        f->state_created = f->state_fd >= 0;
    }
    if (f->state_fd < 0) {
        return errno_status(errno);
    }
    enum status s = text_copy(f->state_name, sizeof f->state_name, view_text(name));
    ASSERT(s == STATUS_OK);
    return STATUS_OK;
}

/* --- the port --- */

static enum status read_at(int fd, uint64_t offset, struct writer *out)
{
    size_t before = out->len;
    unsigned retries = 0;
    while (out->len < out->cap) {
        off_t at = (off_t)(offset + (out->len - before));
        ssize_t n = pread(fd, &out->data[out->len], out->cap - out->len, at);
        if (n == 0) {
            break;
        }
        if (n < 0 && (errno != EINTR || ++retries > SYSCALL_RETRIES_MAX)) {
            out->len = before;
            return errno_status(errno);
        }
        out->len += (n > 0) ? (size_t)n : 0u;
    }
    return STATUS_OK;
}

static enum status port_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    struct host_files *f = ctx;
    ASSERT(f != 0 && out->len <= out->cap && offset <= INT64_MAX - out->cap);
    if (dir == FILES_STATE) {
        enum status s = state_open(f, name, false, false);
        return (s == STATUS_OK) ? read_at(f->state_fd, offset, out) : s;
    }
    char path[FILE_PATH_CAP];
    path_of(path, f, dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno_status(errno);
    }
    enum status s = read_at(fd, offset, out);
    (void)close(fd);
    return s;
}

/* A file made anew with just these bytes, or none at all. */
static enum status write_whole(struct host_files *f, const char *name, struct view bytes)
{
    char path[FILE_PATH_CAP];
    path_of(path, f, FILES_CDI, name);
    int fd = open_for_write(f, FILES_CDI, path, O_WRONLY | O_TRUNC);
    if (fd < 0) {
        return errno_status(errno);
    }
    int error = 0;
    enum status s = descriptor_write(fd, bytes, -1, &error);
    if (close(fd) != 0 && s == STATUS_OK) {
        s = errno_status(errno);
    }
    if (s != STATUS_OK) {
        (void)unlink(path);
    }
    return s;
}

static enum status port_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    struct host_files *f = ctx;
    ASSERT(f != 0 && offset <= INT64_MAX - bytes.len);
    if (dir == FILES_CDI) {
        ASSERT(offset == 0u);
        return write_whole(f, name, bytes);
    }
    enum status s = state_open(f, name, true, offset == 0u);
    if (s != STATUS_OK) {
        return s;
    }
    int error = 0;
    return descriptor_write(f->state_fd, bytes, (off_t)offset, &error);
}

static enum status rename_in(const struct host_files *f, enum files_dir dir, const char *from,
                             const char *to)
{
    char from_path[FILE_PATH_CAP];
    char to_path[FILE_PATH_CAP];
    path_of(from_path, f, dir, from);
    path_of(to_path, f, dir, to);
    return (rename(from_path, to_path) == 0) ? STATUS_OK : errno_status(errno);
}

static enum status commit_state(struct host_files *f, const char *name, const char *final_name)
{
    enum status s = state_open(f, name, true, false);
    if (s != STATUS_OK) {
        return s;
    }
    if (fdatasync(f->state_fd) != 0) {
        return errno_status(errno);
    }
    bool flush = f->state_created || final_name != 0;
    if (final_name != 0) {
        s = rename_in(f, FILES_STATE, name, final_name);
        state_drop(f);
    }
    if (s == STATUS_OK && flush) {
        s = flush_directory(f->state_dir);
        f->state_created = f->state_created && s != STATUS_OK;
    }
    return s;
}

static enum status port_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    struct host_files *f = ctx;
    ASSERT(f != 0 && name != 0);
    if (dir == FILES_STATE) {
        return commit_state(f, name, final_name);
    }
    /* CDI files are not flushed: the runtime reads them through the same page cache, and a reboot
     * rebuilds them. */
    return (final_name == 0) ? STATUS_OK : rename_in(f, dir, name, final_name);
}

static enum status port_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    struct host_files *f = ctx;
    ASSERT(f != 0 && name != 0);
    if (dir == FILES_STATE) {
        state_drop(f);
    }
    char path[FILE_PATH_CAP];
    path_of(path, f, dir, name);
    enum status s = STATUS_OK;
    if (aside != 0) {
        s = rename_in(f, dir, name, aside);
    } else if (unlink(path) != 0) {
        s = errno_status(errno);
    }
    return (s == STATUS_OK && dir == FILES_STATE) ? flush_directory(f->state_dir) : s;
}

struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir)
{
    ASSERT(cdi_dir[0] != 0 && state_dir[0] != 0);
    *f = (struct host_files){.cdi_dir = cdi_dir, .state_dir = state_dir, .state_fd = -1};
    return (struct files){.ctx = f,
                          .read = port_read,
                          .write = port_write,
                          .commit = port_commit,
                          .remove = port_remove};
}

void host_files_end(struct host_files *f)
{
    state_drop(f);
    ASSERT(f->state_fd == -1);
}
