/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the files port on the real file system: replaces each CDI file as a whole, and writes
 * the claim store in place. Translates the errno of a failure into an enum status for the agent,
 * which decides what is written.
 */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "host/node/efa_probe.h"
#include "host/node/probe.h"
#include "host/system.h"

#define FILE_PATH_CAP (PATH_CAP + CDI_FILE_NAME_CAP)

/*
 * Stores the errno of a failure for port_why and port_remedy. Returns the enum status of that
 * errno.
 */
static enum status keep_error(struct host_files *f, int error)
{
    f->error = error;
    f->by_reader = false;
    return errno_status(error);
}

static const char *directory_of(const struct host_files *f, enum files_dir dir)
{
    return (dir == FILES_CDI) ? f->cdi_dir : f->state_dir;
}

static void path_of(char path[FILE_PATH_CAP], const struct host_files *f, enum files_dir dir,
                    const char *name)
{
    ASSERT(name[0] != '\0' && memchr(name, '/', strlen(name)) == NULL);
    path_join(path, FILE_PATH_CAP, directory_of(f, dir), name);
}

/*
 * Opens a file for writing; creates the file and its directory if they are missing. Opens with
 * O_NONBLOCK, because a FIFO of that name must not block the process, which has only one thread.
 */
static int open_for_write(const struct host_files *f, enum files_dir dir, const char *path,
                          int flags)
{
    mode_t mode = (dir == FILES_CDI) ? 0644 : 0600;
    mode_t directory_mode = (dir == FILES_CDI) ? 0755 : 0750;
    int error = 0;
    int fd = path_open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    if (fd < 0 && errno == ENOENT) {
        if (directory_make(directory_of(f, dir), directory_mode, &error) != STATUS_OK) {
            errno = error;
            return -1;
        }
        fd = path_open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
    }
    return fd;
}

/*
 * Flushes a directory to the disk, so that file names created or moved in it survive a power cut.
 */
static enum status flush_directory(struct host_files *f, const char *path)
{
    int fd = path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return keep_error(f, errno);
    }
    int error = (fsync(fd) == 0) ? 0 : errno;
    (void)close(fd);
    return (error == 0) ? STATUS_OK : keep_error(f, error);
}

/* --- opening and locking the claim store --- */

static void state_drop(struct host_files *f)
{
    if (f->state_fd >= 0) {
        (void)close(f->state_fd);
    }
    f->state_fd = -1;
    f->state_created = false;
    f->state_checked = false;
    f->state_name[0] = 0;
}

/*
 * Whether `path` still leads to the file that is open as `fd`; another process may have moved or
 * deleted that file.
 */
static bool same_file(int fd, const char *path)
{
    struct stat by_fd;
    struct stat by_path;
    return fd >= 0 && descriptor_stat(fd, &by_fd) == 0 && path_stat(path, &by_path) == 0 &&
           by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

static bool has_name(const struct file_identity *file, const char *path)
{
    struct stat by_path;
    return path_stat(path, &by_path) == 0 && by_path.st_ino == file->inode &&
           by_path.st_dev == file->device;
}

static bool state_cached(struct host_files *f, const char *name, const char *path)
{
    if (f->state_fd < 0 || strcmp(f->state_name, name) != 0) {
        return false;
    }
    f->state_checked = f->state_checked || has_name(&f->state_identity, path);
    return f->state_checked;
}

void host_files_turn(struct host_files *f)
{
    f->state_checked = false;
}

/*
 * Opens an existing file for reading and writing. If permission to write is denied and `write` is
 * false, opens the file for reading only. *writable: the file is open for writing.
 */
static int open_existing(const char *path, bool write, bool *writable)
{
    int fd = path_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    *writable = fd >= 0;
    if (fd < 0 && !write && errno_status(errno) == HOST_DENIED) {
        fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    }
    return fd;
}

/* Sets a lock with F_OFD_SETLK (fcntl(2)). HOST_BUSY: another process holds a conflicting lock. */
static enum status lock_bytes(struct host_files *f, int fd, struct flock bytes)
{
    if (fcntl(fd, F_OFD_SETLK, &bytes) == 0) {
        return STATUS_OK;
    }
    enum status s = keep_error(f, errno);
    return (f->error == EAGAIN || f->error == EACCES) ? HOST_BUSY : s;
}

/*
 * Locks the claim store file itself, if it is open for writing. With this lock a second agent
 * cannot write to the store even after someone removed the lock file because it seemed stale.
 */
static enum status inode_lock(struct host_files *f)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    enum status s = f->state_writable ? lock_bytes(f, f->state_fd, whole) : STATUS_OK;
    if (s != STATUS_OK) {
        state_drop(f);
    }
    return s;
}

/*
 * Ensures that f->state_fd is a descriptor of the file `name`, open for writing if `write` is set.
 * Creates a missing file only if `create` is set, so that the agent notices a store that has
 * vanished.
 */
static enum status state_open(struct host_files *f, const char *name, bool write, bool create)
{
    char path[FILE_PATH_CAP];
    path_of(path, f, FILES_STATE, name);
    if (state_cached(f, name, path) && (f->state_writable || !write)) {
        return STATUS_OK;
    }
    state_drop(f);
    f->state_fd = open_existing(path, write, &f->state_writable);
    if (f->state_fd < 0 && create && errno == ENOENT) {
        f->state_fd = open_for_write(f, FILES_STATE, path, O_RDWR);
        f->state_writable = f->state_fd >= 0;
        f->state_created = f->state_fd >= 0;
    }
    struct stat opened;
    if (f->state_fd < 0 || descriptor_stat(f->state_fd, &opened) != 0) {
        int error = errno;
        state_drop(f);
        return keep_error(f, error);
    }
    f->state_identity = (struct file_identity){opened.st_dev, opened.st_ino};
    text_set(f->state_name, sizeof f->state_name, name);
    return inode_lock(f);
}

/* --- reading files --- */

static enum status read_at(struct host_files *f, int fd, uint64_t offset, struct writer *out)
{
    size_t before = out->len;
    unsigned retries = 0;
    while (out->len < out->cap) {
        uint64_t at = offset + (out->len - before);
        size_t room = out->cap - out->len;
        ssize_t n = pread(fd, &out->data[out->len], room, (off_t)at);
        retries += (n < 0) ? 1u : 0u;
        if (n < 0 && (errno != EINTR || retries > SYSCALL_RETRIES_MAX)) {
            out->len = before;
            return keep_error(f, errno);
        }
        out->len += (n > 0) ? (size_t)n : 0u;
        if (n >= 0 && (size_t)n < room) {
            /*
             * read(2) of a plain file returns fewer bytes than requested only at the end of the
             * file
             */
            break;
        }
    }
    return STATUS_OK;
}

static enum status port_read(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                             struct writer *out)
{
    struct host_files *f = ctx;
    ASSERT(f != NULL && out->len <= out->cap && offset <= INT64_MAX - out->cap);
    if (dir == FILES_STATE) {
        enum status s = state_open(f, name, false, false);
        return (s == STATUS_OK) ? read_at(f, f->state_fd, offset, out) : s;
    }
    char path[FILE_PATH_CAP];
    path_of(path, f, dir, name);
    int fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) {
        return keep_error(f, errno);
    }
    enum status s = read_at(f, fd, offset, out);
    (void)close(fd);
    return s;
}

/* --- writing, committing and removing files --- */

/*
 * Several instances of the files port write into the CDI root: one for each driver in this process
 * and, during a rolling update, one for each driver in a second process. Process ids do not
 * distinguish the processes, because each pod has its own PID namespace. So each instance writes to
 * a file with a random name. The instance creates this file and keeps it locked until the file gets
 * its final name. A temporary file without a lock is left over from a process that has ended.
 */
static const char temporary_prefix[] = "neuron.aws.com-claim.";
static const char temporary_suffix[] = ".tmp";

static void temporary_choose(struct host_files *f)
{
    struct writer w = writer_of(f->temporary, sizeof f->temporary);
    writer_text(&w, temporary_prefix);
    writer_hex(&w, random_seed(), 16);
    writer_text(&w, temporary_suffix);
    writer_close_text(&w);
}

static bool is_temporary(const struct host_files *f, const char *name)
{
    return strcmp(name, f->temporary) == 0;
}

/* Closes the descriptor *fd if it is open, and sets *fd to -1. */
static void drop_descriptor(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/*
 * Creates and locks the temporary file. If a file with its name exists, fails and chooses another
 * name for the next call.
 */
static enum status temporary_create(struct host_files *f, const char *path)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (f->temporary_fd >= 0) {
        (void)unlink(path);
        drop_descriptor(&f->temporary_fd);
    }
    f->temporary_fd = open_for_write(f, FILES_CDI, path, O_RDWR | O_EXCL);
    if (f->temporary_fd < 0) {
        int error = errno;
        if (error == EEXIST) {
            temporary_choose(f);
        }
        return keep_error(f, error);
    }
    return lock_bytes(f, f->temporary_fd, whole);
}

static enum status temporary_drop(struct host_files *f, const char *path)
{
    enum status s = (f->temporary_fd < 0) ? HOST_ABSENT : STATUS_OK;
    if (s == STATUS_OK && unlink(path) != 0) {
        s = keep_error(f, errno);
    }
    drop_descriptor(&f->temporary_fd);
    return s;
}

static enum status temporary_write(struct host_files *f, uint64_t offset, struct view bytes)
{
    char path[FILE_PATH_CAP];
    int error = 0;
    path_of(path, f, FILES_CDI, f->temporary);
    enum status s = (offset == 0u) ? temporary_create(f, path) : STATUS_OK;
    if (s == STATUS_OK && f->temporary_fd < 0) {
        s = keep_error(f, ENOENT);
    }
    s = (s == STATUS_OK) ? descriptor_write(f->temporary_fd, bytes, (off_t)offset, &error) : s;
    if (s != STATUS_OK) {
        enum status dropped = temporary_drop(f, path);
        status_ignore(dropped, "the next tidying removes what is left");
    }
    return (error == 0) ? s : keep_error(f, error);
}

static const char *port_temporary(void *ctx)
{
    const struct host_files *f = ctx;
    return f->temporary;
}

/*
 * Whether a temporary file is left over: it is old, and no process has locked it. Tests the age
 * first, because the test of the lock sets a lock for a moment, and another process could then fail
 * to lock the file that it has just created.
 */
static bool is_leftover(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    struct stat st;
    if (fd < 0 || descriptor_stat(fd, &st) != 0) {
        return false;
    }
    uint64_t written_ms = (st.st_mtim.tv_sec > 0) ? (uint64_t)st.st_mtim.tv_sec * 1000u : 0u;
    bool old = clock_wall_ms() >= written_ms + TEMPORARY_AGE_MS;
    return old && fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

static void remove_leftover(const struct host_files *f, const char *name)
{
    char path[FILE_PATH_CAP];
    struct view text = view_text(name);
    if (text.len >= CDI_FILE_NAME_CAP || !view_starts(text, temporary_prefix) ||
        !view_ends(text, temporary_suffix) || is_temporary(f, name)) {
        return;
    }
    path_of(path, f, FILES_CDI, name);
    int fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (is_leftover(fd)) {
        (void)unlink(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static enum status port_tidy(void *ctx)
{
    struct host_files *f = ctx;
    char path[FILE_PATH_CAP];
    struct directory d;
    struct directory_entry e;
    path_of(path, f, FILES_CDI, f->temporary);
    enum status s = temporary_drop(f, path);
    directory_open(&d, f->cdi_dir);
    while (directory_next(&d, &e)) {
        remove_leftover(f, e.name);
    }
    int error = directory_close(&d);
    return (error == 0) ? s : keep_error(f, error);
}

/*
 * Writes to a file under its final name. Offset 0: empties or creates the file first. Any other
 * offset: continues the file. On failure removes the file.
 */
static enum status write_whole(struct host_files *f, const char *name, uint64_t offset,
                               struct view bytes)
{
    char path[FILE_PATH_CAP];
    path_of(path, f, FILES_CDI, name);
    int fd = open_for_write(f, FILES_CDI, path, O_WRONLY | ((offset == 0u) ? O_TRUNC : 0));
    if (fd < 0) {
        return keep_error(f, errno);
    }
    int error = 0;
    enum status s = descriptor_write(fd, bytes, (offset == 0u) ? -1 : (off_t)offset, &error);
    if (close(fd) != 0 && s == STATUS_OK) {
        error = errno;
    }
    if (error != 0) {
        (void)unlink(path);
        return keep_error(f, error);
    }
    return s;
}

static enum status port_write(void *ctx, enum files_dir dir, const char *name, uint64_t offset,
                              struct view bytes)
{
    struct host_files *f = ctx;
    ASSERT(f != NULL && offset <= INT64_MAX - bytes.len);
    if (dir == FILES_CDI) {
        return is_temporary(f, name) ? temporary_write(f, offset, bytes)
                                     : write_whole(f, name, offset, bytes);
    }
    enum status s = state_open(f, name, true, offset == 0u);
    if (s != STATUS_OK) {
        return s;
    }
    int error = 0;
    s = descriptor_write(f->state_fd, bytes, (off_t)offset, &error);
    return (s == STATUS_OK) ? s : keep_error(f, error);
}

static enum status rename_in(struct host_files *f, enum files_dir dir, const char *from,
                             const char *to)
{
    char from_path[FILE_PATH_CAP];
    char to_path[FILE_PATH_CAP];
    path_of(from_path, f, dir, from);
    path_of(to_path, f, dir, to);
    return (path_rename(from_path, to_path) == 0) ? STATUS_OK : keep_error(f, errno);
}

static enum status commit_state(struct host_files *f, const char *name, const char *final_name)
{
    f->flush_us = 0;
    enum status s = state_open(f, name, true, false);
    if (s != STATUS_OK) {
        return s;
    }
    ASSERT(f->state_fd >= 0);
    uint64_t start_us = clock_now_us();
    int flushed = fdatasync(f->state_fd);
    f->flush_us = clock_now_us() - start_us;
    if (flushed != 0) {
        return keep_error(f, errno);
    }
    bool flush = f->state_created || final_name != NULL;
    if (final_name != NULL) {
        s = rename_in(f, FILES_STATE, name, final_name);
        state_drop(f);
    }
    if (s == STATUS_OK && flush) {
        s = flush_directory(f, f->state_dir);
        f->state_created = f->state_created && s != STATUS_OK;
    }
    return s;
}

static enum status port_commit(void *ctx, enum files_dir dir, const char *name,
                               const char *final_name)
{
    struct host_files *f = ctx;
    ASSERT(f != NULL && name != NULL);
    if (dir == FILES_STATE) {
        return commit_state(f, name, final_name);
    }
    /*
     * CDI files are not flushed, because the runtime reads them through the same page cache, and
     * the agent rebuilds them after a reboot.
     */
    enum status s = (final_name == NULL) ? STATUS_OK : rename_in(f, dir, name, final_name);
    if (s == STATUS_OK && final_name != NULL && is_temporary(f, name)) {
        drop_descriptor(&f->temporary_fd);
    }
    return s;
}

static uint64_t port_flush_us(void *ctx)
{
    const struct host_files *f = ctx;
    return f->flush_us;
}

static uint64_t port_clock_us(void *ctx)
{
    (void)ctx;
    return clock_now_us();
}

static void port_process(void *ctx, uint64_t value[PROCESS_VALUES])
{
    const struct host_files *f = ctx;
    ASSERT(f->usage != NULL);
    usage_read(f->usage, value);
}

static enum status port_remove(void *ctx, enum files_dir dir, const char *name, const char *aside)
{
    struct host_files *f = ctx;
    ASSERT(f != NULL && name != NULL);
    if (dir == FILES_STATE) {
        state_drop(f);
    }
    char path[FILE_PATH_CAP];
    path_of(path, f, dir, name);
    if (dir == FILES_CDI && is_temporary(f, name)) {
        return temporary_drop(f, path);
    }
    enum status s = STATUS_OK;
    if (aside != NULL) {
        s = rename_in(f, dir, name, aside);
    } else if (unlink(path) != 0) {
        s = keep_error(f, errno);
    }
    return (s == STATUS_OK && dir == FILES_STATE) ? flush_directory(f, f->state_dir) : s;
}

/* --- the lock file of the claim store --- */

/*
 * Opens the lock file, unless it is already open. If the open file no longer has the name `name`,
 * closes it, which releases its locks, and opens or creates the file with this name.
 */
static enum status lock_open(struct host_files *f, const char *name)
{
    char path[FILE_PATH_CAP];
    path_of(path, f, FILES_STATE, name);
    if (same_file(f->lock_fd, path)) {
        return STATUS_OK;
    }
    drop_descriptor(&f->lock_fd);
    f->lock_fd = open_existing(path, false, &f->lock_writable);
    if (f->lock_fd < 0 && errno == ENOENT) {
        f->lock_fd = open_for_write(f, FILES_STATE, path, O_RDWR);
        f->lock_writable = true;
    }
    return (f->lock_fd >= 0) ? STATUS_OK : keep_error(f, errno);
}

static struct flock byte_of(enum files_lock which, short type)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1};
}

/*
 * Locks one byte of the lock file. The lock belongs to the descriptor (F_OFD_SETLK), so the kernel
 * releases it however the process ends. On a read-only file system only a shared lock is possible,
 * which excludes writers; if the file system becomes writable later, inode_lock excludes a second
 * writer.
 */
static enum status port_lock(void *ctx, const char *name, enum files_lock which)
{
    struct host_files *f = ctx;
    enum status s = lock_open(f, name);
    if (s != STATUS_OK) {
        return s;
    }
    return lock_bytes(f, f->lock_fd, byte_of(which, f->lock_writable ? F_WRLCK : F_RDLCK));
}

static void port_unlock(void *ctx, enum files_lock which)
{
    struct host_files *f = ctx;
    struct flock byte = byte_of(which, F_UNLCK);
    if (which == LOCK_OWNER) {
        state_drop(f);
    }
    if (f->lock_fd >= 0 && fcntl(f->lock_fd, F_OFD_SETLK, &byte) != 0) {
        drop_descriptor(&f->lock_fd);
    }
}

/*
 * Returns which kind of process holds a lock. An agent of an older release locks the whole file;
 * F_OFD_GETLK reports such a lock with the length 0.
 */
static enum files_holder port_holder(void *ctx, enum files_lock which)
{
    const struct host_files *f = ctx;
    struct flock byte = byte_of(which, F_WRLCK);
    if (f->lock_fd < 0 || fcntl(f->lock_fd, F_OFD_GETLK, &byte) != 0 || byte.l_type == F_UNLCK) {
        return HOLDER_NOBODY;
    }
    return (byte.l_len == 0) ? HOLDER_OLDER : HOLDER_AGENT;
}

/* --- listing the files of a directory --- */

static void list_name(const char *name, const char *prefix, struct writer *out)
{
    struct view text = view_text(name);
    if (view_starts(text, prefix)) {
        writer_bytes(out, name, text.len + 1u);
    }
}

/*
 * One page of a listing has all names that one read of the directory returns. A page of this size
 * is large enough, because a name takes less space than the directory record that contains the
 * name.
 */
_Static_assert(LIST_PAGE_BYTES >= DIRECTORY_READ_BYTES, "the names of a read fit a page");

/*
 * Lists one page of names. The descriptor stays open until the last page, so that no name is
 * skipped or repeated when other names appear or vanish.
 */
static enum status port_list(void *ctx, enum files_dir dir, const char *prefix, struct listing *at,
                             struct writer *out)
{
    struct host_files *f = ctx;
    struct directory d;
    struct directory_entry e;
    ASSERT(writer_room(out) >= LIST_PAGE_BYTES);
    if (at->pages == 0u) {
        at->place = path_open(directory_of(f, dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    }
    directory_begin(&d, at->place);
    d.reads = at->pages;
    bool more = directory_next(&d, &e);
    at->pages = d.reads;
    while (more) {
        list_name(e.name, prefix, out);
        more = d.at < d.len && directory_next(&d, &e);
    }
    if (d.len > 0u) {
        return STATUS_MORE;
    }
    int error = directory_close(&d);
    if (error == 0 || (error == ENOENT && at->pages == 0u)) {
        return STATUS_OK;
    }
    return keep_error(f, error);
}

/* --- reading the kubelet's checkpoint --- */

static enum status port_kubelet_state(void *ctx, uint64_t offset, struct writer *out,
                                      uint64_t *written_ms)
{
    struct host_files *f = ctx;
    struct stat st;
    if (offset == 0u) {
        drop_descriptor(&f->kubelet_state_fd);
        f->kubelet_state_fd =
            path_open(f->kubelet_state, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    }
    if (f->kubelet_state_fd < 0 || descriptor_stat(f->kubelet_state_fd, &st) != 0) {
        return keep_error(f, errno);
    }
    if (!S_ISREG(st.st_mode)) {
        drop_descriptor(&f->kubelet_state_fd);
        return keep_error(f, EINVAL);
    }
    *written_ms =
        (uint64_t)st.st_mtim.tv_sec * 1000u + (uint64_t)st.st_mtim.tv_nsec / UINT64_C(1000000);
    size_t room = writer_room(out);
    enum status s = read_at(f, f->kubelet_state_fd, offset, out);
    if (s != STATUS_OK || writer_room(out) > 0u || room == 0u) {
        /* Close the checkpoint file if the read failed or the whole file was read. */
        drop_descriptor(&f->kubelet_state_fd);
    }
    return s;
}

/* --- identity and memory use of devices --- */

static enum status port_device(void *ctx, unsigned number, struct device_place *place)
{
    struct host_files *f = ctx;
    int error = f->efa ? efa_identify(f->sysfs_root, f->dev_root, number, place)
                       : probe_device(f->sysfs_root, f->dev_root, number, place);
    return (error == 0) ? STATUS_OK : keep_error(f, error);
}

static enum status port_memory_read(void *ctx, uint64_t numbers)
{
    struct host_files *f = ctx;
    enum status s = readers_memory_read(f->readers, numbers);
    f->by_reader = s == HOST_BUSY;
    if (f->by_reader) {
        struct writer w = writer_of(f->words, sizeof f->words);
        readers_why(f->readers, &w);
        writer_close_text(&w);
    }
    return s;
}

static enum status port_memory(void *ctx, unsigned number, unsigned core, uint64_t *bytes)
{
    struct host_files *f = ctx;
    int64_t value = readers_memory(f->readers, number, core);
    if (value < 0) {
        return keep_error(f, (value > -(int64_t)INT32_MAX) ? (int)-value : EIO);
    }
    *bytes = (uint64_t)value;
    return STATUS_OK;
}

static enum status port_ultraserver(void *ctx, struct found_ultraserver *out)
{
    struct host_files *f = ctx;
    int error = readers_ultraserver(f->readers, out);
    return (error == 0) ? STATUS_OK : keep_error(f, error);
}

/* --- texts for an operator --- */

static const char *port_why(void *ctx)
{
    struct host_files *f = ctx;
    if (f->by_reader) {
        return f->words; /* port_memory_read has written this text */
    }
    if (f->error == ELOOP) {
        /* open(2) with O_NOFOLLOW returns ELOOP for a symbolic link */
        return "it is a symbolic link";
    }
    return errno_words(f->error, f->words);
}

static const char *port_remedy(void *ctx)
{
    static const struct {
        int error;
        const char *remedy;
    } rows[] = {
        {EACCES, "give the agent's user the right to read and write there"},
        {EPERM, "remove its immutable attribute (chattr -i), or let the security policy allow it"},
        {EROFS, "mount that file system writable"},
        {ENOSPC, "free space there"},
        {EDQUOT, "raise the disk quota, or free space there"},
        {ENOENT, "make its directory again"},
        {ENOTDIR, "move away the file that has the name of its directory"},
        {EISDIR, "move away the directory that has its name"},
        {ESPIPE, "move it away: it is not a plain file"},
        {ENXIO, "move it away: it is not a plain file"},
        {ELOOP, "move away the symbolic link"},
        {EBUSY, "unmount what is mounted there, or end the process that uses it"},
        {EEXIST, "move away what has its name"},
        {EFBIG, "raise the limit of the size of a file (ulimit -f)"},
        {ENAMETOOLONG, "choose a directory with a shorter path"},
        {EIO, "check the disk (dmesg)"},
        {EMFILE, "raise the limit of open files of this container"},
        {ENFILE, "raise fs.file-max of the node"},
        {ENOMEM, "raise the memory limit of this container"},
    };
    const struct host_files *f = ctx;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !f->by_reader; i++) {
        if (rows[i].error == f->error) {
            return rows[i].remedy;
        }
    }
    return NULL;
}

struct files host_files_init(struct host_files *f, const char *cdi_dir, const char *state_dir,
                             const char *sysfs_root, const char *dev_root)
{
    ASSERT(cdi_dir[0] != '\0' && state_dir[0] != '\0');
    *f = (struct host_files){.cdi_dir = cdi_dir,
                             .state_dir = state_dir,
                             .sysfs_root = sysfs_root,
                             .dev_root = dev_root,
                             .kubelet_state = "",
                             .kubelet_state_fd = -1,
                             .state_fd = -1,
                             .lock_fd = -1,
                             .temporary_fd = -1};
    temporary_choose(f);
    return (struct files){.ctx = f,
                          .read = port_read,
                          .write = port_write,
                          .commit = port_commit,
                          .temporary = port_temporary,
                          .tidy = port_tidy,
                          .flush_us = port_flush_us,
                          .clock_us = port_clock_us,
                          .process = port_process,
                          .remove = port_remove,
                          .lock = port_lock,
                          .list = port_list,
                          .unlock = port_unlock,
                          .holder = port_holder,
                          .kubelet_state = port_kubelet_state,
                          .device = port_device,
                          .memory_read = port_memory_read,
                          .memory = port_memory,
                          .ultraserver = port_ultraserver,
                          .why = port_why,
                          .remedy = port_remedy};
}

void host_files_end(struct host_files *f)
{
    state_drop(f);
    drop_descriptor(&f->lock_fd);
    drop_descriptor(&f->temporary_fd);
    drop_descriptor(&f->kubelet_state_fd);
    ASSERT(f->state_fd == -1);
}
