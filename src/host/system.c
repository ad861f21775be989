/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that wrap system calls for several files of this folder. Owns no state; depends neither
 * on the agent nor on its paths.
 */
#include "host/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "cfg/limits.h"

/*
 * Texts of errnos; they replace strerror(3), which would link a table of every errno and the code
 * for locales.
 */
static const struct {
    int error;
    enum status status;
    const char *words;
} errno_rows[] = {
    {ENOENT, HOST_ABSENT, "no such file or directory"},
    {ENOTDIR, HOST_ABSENT, "a part of the path is not a directory"},
    {EACCES, HOST_DENIED, "permission denied"},
    {EPERM, HOST_DENIED, "operation not permitted"},
    {EROFS, HOST_DENIED, "read-only file system"},
    {ENOSPC, HOST_NO_SPACE, "no space left on device"},
    {EDQUOT, HOST_NO_SPACE, "disk quota exceeded"},
    {EIO, HOST_IO, "input/output error"},
    {EISDIR, HOST_IO, "is a directory"},
    {ESPIPE, HOST_IO, "not a plain file"},
    {ENXIO, HOST_IO, "a FIFO or socket, not a plain file"},
    {EEXIST, HOST_IO, "exists already"},
    {EFBIG, HOST_IO, "file too large"},
    {EOVERFLOW, HOST_IO, "more entries than can be read"},
    {ELOOP, HOST_IO, "too many symbolic links"},
    {ENAMETOOLONG, HOST_IO, "name too long"},
    {EMFILE, HOST_IO, "too many open files in this process"},
    {ENFILE, HOST_IO, "too many open files in the system"},
    {ENOMEM, HOST_IO, "out of memory"},
    {ENOBUFS, HOST_IO, "out of network buffers"},
    {EINTR, HOST_IO, "interrupted"},
    {EAGAIN, HOST_IO, "resource temporarily unavailable"},
    {EBUSY, HOST_IO, "busy, or a mount point"},
    {EADDRINUSE, HOST_IO, "address already in use"},
    {EADDRNOTAVAIL, HOST_IO, "address not available"},
    {EAFNOSUPPORT, HOST_IO, "address family not supported"},
    {ECONNREFUSED, HOST_IO, "connection refused"},
    {ECONNRESET, HOST_IO, "connection reset by peer"},
    {ECONNABORTED, HOST_IO, "connection aborted"},
    {EPIPE, HOST_IO, "connection closed by peer"},
    {ETIMEDOUT, HOST_IO, "connection timed out"},
    {EHOSTUNREACH, HOST_IO, "no route to host"},
    {ENETUNREACH, HOST_IO, "network is unreachable"},
    {ENETDOWN, HOST_IO, "network is down"},
};

#define ERRNO_ROWS (sizeof errno_rows / sizeof errno_rows[0])

enum status errno_status(int error)
{
    ASSERT(error > 0);
    for (unsigned i = 0; i < ERRNO_ROWS; i++) {
        if (errno_rows[i].error == error) {
            return errno_rows[i].status;
        }
    }
    return HOST_IO;
}

static const char unknown_error[] = "unexpected error";

const char *errno_text(int error)
{
    for (unsigned i = 0; i < ERRNO_ROWS; i++) {
        if (errno_rows[i].error == error) {
            return errno_rows[i].words;
        }
    }
    return unknown_error;
}

const char *errno_words(int error, char text[ERRNO_WORDS_CAP])
{
    const char *words = errno_text(error);
    if (words != unknown_error) {
        return words;
    }
    struct writer w = writer_of(text, ERRNO_WORDS_CAP);
    WRITE(&w, "% (errno ", TEXT(words));
    writer_signed(&w, error);
    writer_text(&w, ")");
    writer_close_text(&w);
    return text;
}

/*
 * Reads until `cap` bytes are read or the file ends. Returns the number of bytes; -1: reading
 * failed, and *error is the errno.
 */
static ssize_t read_fully(int fd, uint8_t *data, size_t cap, int *error)
{
    size_t len = 0;
    unsigned retries = 0;
    while (len < cap) {
        ssize_t n = read(fd, &data[len], cap - len);
        if (n == 0) {
            break;
        }
        retries += (n < 0) ? 1u : 0u;
        if (n < 0 && (errno != EINTR || retries > SYSCALL_RETRIES_MAX)) {
            *error = errno;
            return -1;
        }
        len += (n > 0) ? (size_t)n : 0u;
    }
    return (ssize_t)len;
}

static int file_open(const char *path, int *error)
{
    int fd = path_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    *error = (fd < 0) ? errno : 0;
    return fd;
}

enum status file_read_start(const char *path, struct writer *out, int *error)
{
    ASSERT(path != NULL && out->len <= out->cap);
    int fd = file_open(path, error);
    if (fd < 0) {
        return errno_status(*error);
    }
    ssize_t n = read_fully(fd, &out->data[out->len], out->cap - out->len, error);
    (void)close(fd);
    if (n < 0) {
        return errno_status(*error);
    }
    out->len += (size_t)n;
    return STATUS_OK;
}

enum status file_read_whole(const char *path, struct writer *out, int *error)
{
    ASSERT(path != NULL && out->len <= out->cap);
    int fd = file_open(path, error);
    if (fd < 0) {
        return errno_status(*error);
    }
    uint8_t beyond = 0;
    ssize_t n = read_fully(fd, &out->data[out->len], out->cap - out->len, error);
    ssize_t more = (n < 0) ? 0 : read_fully(fd, &beyond, 1, error);
    (void)close(fd);
    if (n < 0 || more != 0) {
        explicit_bzero(&out->data[out->len], out->cap - out->len);
        *error = (more > 0) ? EFBIG : *error;
        return (more > 0) ? FULL_BUFFER : errno_status(*error);
    }
    out->len += (size_t)n;
    return STATUS_OK;
}

enum status descriptor_write(int fd, struct view bytes, off_t offset, int *error)
{
    ASSERT(fd >= 0 && offset >= -1);
    size_t done = 0;
    unsigned retries = 0;
    while (done < bytes.len) {
        const uint8_t *from = &bytes.data[done];
        ssize_t n = (offset < 0) ? write(fd, from, bytes.len - done)
                                 : pwrite(fd, from, bytes.len - done, offset + (off_t)done);
        retries += (n <= 0) ? 1u : 0u;
        if ((n < 0 && errno != EINTR) || retries > SYSCALL_RETRIES_MAX) {
            *error = (n < 0) ? errno : EIO;
            return errno_status(*error);
        }
        done += (n > 0) ? (size_t)n : 0u;
    }
    return STATUS_OK;
}

enum status directory_make(const char *path, mode_t mode, int *error)
{
    char part[PATH_CAP];
    size_t len = strlen(path);
    ASSERT(len > 0u && len < sizeof part);
    memcpy(part, path, len + 1u);
    int refused = 0;
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0') {
            continue;
        }
        part[i] = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST) {
            refused = errno;
        }
        part[i] = path[i];
    }
    /* mkdir(2) may fail although the directory exists, for instance below a read-only root. */
    struct stat st;
    if (path_stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return STATUS_OK;
    }
    *error = (refused != 0) ? refused : ENOTDIR;
    return errno_status(*error);
}

/*
 * path_stat, link_stat, entry_stat and descriptor_stat use one system call, newfstatat; the C
 * library would use four. The kernel fills the C library's struct stat directly, because on both
 * architectures it has the layout of the kernel's own struct.
 */
#if defined(__x86_64__)
_Static_assert(sizeof(struct stat) == 144u, "as asm/stat.h has it");
#else
_Static_assert(sizeof(struct stat) == 128u, "as asm-generic/stat.h has it");
#endif

static int stat_at(int fd, const char *path, struct stat *st, int flags)
{
    memset(st, 0, sizeof *st);
    return (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

void path_join(char *path, size_t cap, const char *directory, const char *rest)
{
    WRITE_TEXT(path, cap, "%/%", TEXT(directory), TEXT(rest));
}

int path_stat(const char *path, struct stat *st)
{
    return stat_at(AT_FDCWD, path, st, 0);
}

int link_stat(const char *path, struct stat *st)
{
    return stat_at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int entry_stat(int fd, const char *name, struct stat *st)
{
    return stat_at(fd, name, st, 0);
}

int descriptor_stat(int fd, struct stat *st)
{
    return stat_at(fd, "", st, AT_EMPTY_PATH);
}

int path_open(const char *path, int flags, mode_t mode)
{
    return openat(AT_FDCWD, path, flags, mode);
}

int path_rename(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/*
 * Offsets in struct linux_dirent64, which has these fields: inode, offset, record length (16 bits),
 * type, name.
 */
enum { RECORD_SIZE_AT = 16, RECORD_NAME_AT = 19, RECORD_BYTES_MIN = 24 };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the length is read low byte first");

static void record_read(struct directory *d, struct directory_entry *out)
{
    const uint8_t *record = &d->bytes[d->at];
    size_t left = d->len - d->at;
    ASSERT(left >= RECORD_BYTES_MIN);
    size_t size = record[RECORD_SIZE_AT];
    size |= (size_t)record[RECORD_SIZE_AT + 1] << 8;
    ASSERT(size >= RECORD_BYTES_MIN && size <= left);
    d->at += size;
    out->inode = 0;
    for (unsigned i = sizeof out->inode; i > 0u; i--) {
        uint64_t above = out->inode << 8u;
        out->inode = above | record[i - 1u];
    }
    out->name = (const char *)&record[RECORD_NAME_AT];
}

void directory_begin(struct directory *d, int fd)
{
    d->fd = fd;
    d->error = (fd < 0) ? errno : 0;
    d->reads = 0;
    d->len = 0;
    d->at = 0;
}

void directory_open(struct directory *d, const char *path)
{
    directory_begin(d, path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
}

/*
 * Reads the next directory records. Returns false if no record is left, or if the directory cannot
 * be read.
 */
static bool records_read(struct directory *d)
{
    if (d->fd < 0 || d->error != 0) {
        return false;
    }
    long n = syscall(SYS_getdents64, d->fd, d->bytes, sizeof d->bytes);
    d->error = (n < 0) ? errno : 0;
    d->reads++;
    if (n > 0 && d->reads > DIRECTORY_READS_MAX) {
        d->error = EOVERFLOW;
        return false;
    }
    d->len = (n > 0) ? (size_t)n : 0u;
    d->at = 0;
    return n > 0;
}

bool directory_next(struct directory *d, struct directory_entry *out)
{
    bool more = d->at < d->len || records_read(d);
    if (more) {
        record_read(d, out);
    }
    return more;
}

int directory_close(struct directory *d)
{
    if (d->fd >= 0) {
        (void)close(d->fd);
    }
    d->fd = -1;
    return d->error;
}

static uint64_t clock_us(clockid_t id)
{
    struct timespec t = {0};
    int failed = clock_gettime(id, &t);
    ASSERT(failed == 0 && t.tv_sec >= 0);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t clock_now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_us(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_now_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000u;
}

uint64_t clock_wall_ms(void)
{
    return clock_us(CLOCK_REALTIME) / 1000u;
}

uint64_t random_seed(void)
{
    uint64_t seed = 0;
    /*
     * GRND_NONBLOCK, because soon after boot the kernel may not have random numbers yet; then the
     * seed below, which can be guessed, suffices for jitter.
     */
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        seed = clock_wall_ms() * 2654435761u + (uint64_t)getpid();
    }
    return seed;
}

/* --- memory --- */

static bool is_zero(const unsigned char *bytes, size_t n)
{
    return bytes[0] == 0u && memcmp(bytes, &bytes[1], n - 1u) == 0;
}

void memory_give_back(unsigned char *memory, size_t bytes)
{
    size_t page = (size_t)getpagesize();
    for (size_t at = 0; at + page <= bytes; at += page) {
        if (is_zero(&memory[at], page)) {
            (void)madvise(&memory[at], page, MADV_DONTNEED);
        }
    }
}
