/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls shared by several files of this folder: verdicts and texts for errno, whole files,
 * directories, clocks. Owns no state. Uses no C library function that allocates.
 */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "cfg/limits.h"

/* Room for the text of any errno, NUL included. */
#define ERRNO_WORDS_CAP sizeof "unexpected error (errno -2147483648)"

/* Verdict of an errno: HOST_NO_SPACE, HOST_DENIED, HOST_ABSENT or HOST_IO. */
MUST_USE enum status errno_status(int error);
/*
 * The text of an errno for an operator; static, never NULL. Unknown numbers give "unexpected
 * error".
 */
const char *errno_text(int error);
/* The same, but with "(errno N)" after it for unknown numbers, which needs the array. */
const char *errno_words(int error, char text[ERRNO_WORDS_CAP]);
/* What errno_words returns, as a fill of WRITE. */
#define ERRNO(error) TEXT(errno_words((error), (char[ERRNO_WORDS_CAP]){0}))

/*
 * Appends the whole file. FULL_BUFFER: it exceeds the room, *error is EFBIG; HOST_*: *error is the
 * errno. `out` is unchanged then, and the bytes read are overwritten, because they may be a secret.
 * Never blocks on a FIFO and never acquires a terminal.
 */
MUST_USE enum status file_read_whole(const char *path, struct writer *out, int *error);
/* Like file_read_whole, but reads only the part of a larger file that fits. */
MUST_USE enum status file_read_start(const char *path, struct writer *out, int *error);
/*
 * Writes all bytes, at `offset` or, for offset -1, at the descriptor's own position. HOST_*: *error
 * is the errno; part of them may be written then.
 */
MUST_USE enum status descriptor_write(int fd, struct view bytes, off_t offset, int *error);
/*
 * Creates the directory and its missing parents, each with `mode`. Existing ones stay unchanged.
 * HOST_*: *error is the errno; some parents may exist then.
 */
MUST_USE enum status directory_make(const char *path, mode_t mode, int *error);

/* Writes the path of `rest` in a directory. The room must be enough for both. */
void path_join(char *path, size_t cap, const char *directory, const char *rest);
/* stat(2). Returns 0, or -1 with the cause in errno; so do the next three. */
MUST_USE int path_stat(const char *path, struct stat *st);
/* lstat(2): a symbolic link itself. */
MUST_USE int link_stat(const char *path, struct stat *st);
/* fstatat(2): a name in the directory `fd`. */
MUST_USE int entry_stat(int fd, const char *name, struct stat *st);
/* fstat(2). */
MUST_USE int descriptor_stat(int fd, struct stat *st);
/*
 * open(2), because musl's own version also calls fcntl(2) for O_CLOEXEC, for kernels before 2.6.23.
 */
MUST_USE int path_open(const char *path, int flags, mode_t mode);
/* rename(2), without stdio.h, which declares it. Returns 0, or -1 with the cause in errno. */
MUST_USE int path_rename(const char *from, const char *to);

/* One entry of a directory. */
struct directory_entry {
    uint64_t inode;   /* of the entry itself: of a link, not its target */
    const char *name; /* borrowed from the records */
};
/*
 * A directory read entry by entry (opendir(3) allocates). Owns its descriptor from directory_open
 * to directory_close.
 */
struct directory {
    int fd;    /* -1: it could not be opened */
    int error; /* errno: there may be unread entries */
    unsigned reads;
    size_t len; /* length of the records in `bytes` */
    size_t at;
    uint8_t bytes[DIRECTORY_READ_BYTES];
};
/* Opens the directory; directory_close reports a failure. */
void directory_open(struct directory *d, const char *path);
/* Uses a descriptor of the caller, from its current position; if negative, errno has the reason. */
void directory_begin(struct directory *d, int fd);
/*
 * Reads the next entry. false: there is none, or the rest cannot be read. out->name is valid until
 * the next call.
 */
MUST_USE bool directory_next(struct directory *d, struct directory_entry *out);
/*
 * Returns 0: every entry was read, or the caller stopped early. Otherwise an errno: unread entries
 * are unknown, not absent. ENOENT, ENOTDIR: no such directory. EOVERFLOW: it has more entries than
 * DIRECTORY_READS_MAX reads return.
 */
int directory_close(struct directory *d);

/* Milliseconds of a clock that never steps (CLOCK_MONOTONIC). */
uint64_t clock_now_ms(void);
/* Unix milliseconds (CLOCK_REALTIME); may step. */
uint64_t clock_wall_ms(void);
/* A number that differs between processes and starts: for jitter and DNS ids, not for secrets. */
uint64_t random_seed(void);

#endif
