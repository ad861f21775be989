/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that wrap system calls for several files of this folder: verdicts and texts for errno,
 * whole files, directories, clocks. Owns no state. Uses no C library function that allocates.
 */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "cfg/limits.h"

/* Size of a buffer for the text of any errno, including its NUL. */
#define ERRNO_WORDS_CAP sizeof "unexpected error (errno -2147483648)"

/*
 * Returns the status that stands for an errno: HOST_NO_SPACE, HOST_DENIED, HOST_ABSENT or HOST_IO.
 */
MUST_USE enum status errno_status(int error);
/*
 * The text of an errno for an operator; static, never NULL. The text of an unknown number is
 * "unexpected error".
 */
const char *errno_text(int error);
/* Like errno_text, but for an unknown number writes "unexpected error (errno N)" to `text`. */
const char *errno_words(int error, char text[ERRNO_WORDS_CAP]);
/* The text of errno_words as an argument of WRITE. */
#define ERRNO(error) TEXT(errno_words((error), (char[ERRNO_WORDS_CAP]){0}))

/*
 * Appends a whole file to `out`. FULL_BUFFER: the file does not fit into the rest of `out`, and
 * *error is EFBIG. HOST_*: the file cannot be read, and *error is the errno. On failure `out` is
 * unchanged, and the bytes that were read are overwritten, because they may be secret. Does not
 * block on a FIFO, and never acquires a controlling terminal.
 */
MUST_USE enum status file_read_whole(const char *path, struct writer *out, int *error);
/*
 * Like file_read_whole, but if the file does not fit into `out`, reads only as many bytes as fit.
 */
MUST_USE enum status file_read_start(const char *path, struct writer *out, int *error);
/*
 * Writes all bytes at `offset`; -1: at the current position of the descriptor. On failure (HOST_*)
 * *error is the errno, and some bytes may have been written.
 */
MUST_USE enum status descriptor_write(int fd, struct view bytes, off_t offset, int *error);
/*
 * Creates the directory and its missing parents, each with `mode`. Existing directories stay
 * unchanged. On failure (HOST_*) *error is the errno, and some parents may have been created.
 */
MUST_USE enum status directory_make(const char *path, mode_t mode, int *error);

/* Writes "directory/rest" to `path`; both must fit into `cap` bytes. */
void path_join(char *path, size_t cap, const char *directory, const char *rest);
/*
 * stat(2) by a direct system call. Like link_stat, entry_stat and descriptor_stat, returns 0, or -1
 * with the cause in errno.
 */
MUST_USE int path_stat(const char *path, struct stat *st);
/* lstat(2) of `path`: does not follow a symbolic link at the end of the path. */
MUST_USE int link_stat(const char *path, struct stat *st);
/* fstatat(2) of the file `name` in the directory `fd`; follows a symbolic link. */
MUST_USE int entry_stat(int fd, const char *name, struct stat *st);
/* fstat(2) of the file that is open as `fd`. */
MUST_USE int descriptor_stat(int fd, struct stat *st);
/*
 * open(2) by a single system call; with O_CLOEXEC, musl's open also calls fcntl(2), for kernels
 * before 2.6.23.
 */
MUST_USE int path_open(const char *path, int flags, mode_t mode);
/* rename(2); avoids stdio.h, which declares rename. Returns 0, or -1 with the cause in errno. */
MUST_USE int path_rename(const char *from, const char *to);

/* One entry of a directory. */
struct directory_entry {
    uint64_t inode;   /* inode of the entry; for a symbolic link, the inode of the link itself */
    const char *name; /* points into the records of struct directory */
};
/*
 * An open directory, read entry by entry; replaces opendir(3), which allocates. Owns its descriptor
 * from directory_open to directory_close.
 */
struct directory {
    int fd;    /* descriptor of the directory; -1: it could not be opened */
    int error; /* errno of a failure that may have left out entries; 0: no failure */
    unsigned reads;
    size_t len; /* number of bytes in `bytes` that directory records fill */
    size_t at;
    uint8_t bytes[DIRECTORY_READ_BYTES];
};
/* Opens the directory `path`; directory_close returns the errno of a failure. */
void directory_open(struct directory *d, const char *path);
/*
 * Uses the open directory `fd` from its current position; directory_close closes it. If `fd` is
 * negative, errno must have the reason.
 */
void directory_begin(struct directory *d, int fd);
/*
 * Reads the next entry. Returns false if no entry is left, or if reading failed (see
 * directory_close). out->name is valid until the next call.
 */
MUST_USE bool directory_next(struct directory *d, struct directory_entry *out);
/*
 * Closes the directory. Returns 0 if no read failed, even if the caller stopped early. Otherwise
 * returns an errno; some entries may not have been read. ENOENT, ENOTDIR: there is no such
 * directory. EOVERFLOW: it has more entries than DIRECTORY_READS_MAX reads return.
 */
int directory_close(struct directory *d);

/* Returns the time, in milliseconds, of a clock that nobody can set (CLOCK_MONOTONIC). */
uint64_t clock_now_ms(void);
/* Returns the time, in microseconds, of a clock that nobody can set (CLOCK_MONOTONIC). */
uint64_t clock_now_us(void);
/* Processor time that this process has used, in microseconds. */
uint64_t clock_cpu_us(void);
/*
 * Returns the Unix time in milliseconds (CLOCK_REALTIME); this time jumps when somebody sets the
 * clock.
 */
uint64_t clock_wall_ms(void);
/*
 * Returns a number that differs for each process and each start of the program: for jitter and DNS
 * ids, not for secrets.
 */
uint64_t random_seed(void);

/*
 * Gives the pages of `memory` that hold only zeros back to the kernel (madvise(2), MADV_DONTNEED),
 * which supplies a page of zeros again at the next access: no content changes. `memory` must be
 * static, without an initializer, and at the beginning of a page: the kernel refuses another
 * address, and then keeps the pages.
 */
void memory_give_back(unsigned char *memory, size_t bytes);

#endif
