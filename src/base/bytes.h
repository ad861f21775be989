/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views, readers and writers, through which this program reads and writes all external bytes. Owns
 * cursor arithmetic; never owns memory, never does I/O.
 *
 * A view borrows bytes. A reader is a view with a cursor. A writer is a caller's buffer with a
 * length. A value that does not fit is not written at all: the writer sets `full` and ignores every
 * later write, so that callers check once at the end. A text buffer is a char array that always
 * ends in NUL.
 *
 * Invariants:
 * I1 A writer holds whole values only, never exceeds its capacity, and stays `full` after a value
 *    did not fit.
 * I2 Each reader function reads back what the writer function for the same type wrote; a failed
 *    read leaves the cursor unchanged.
 * I3 Cutting a valid UTF-8 text leaves valid UTF-8; view_is_utf8 follows RFC 3629.
 * I4 view_decimal accepts only digits, and only numbers up to `max`.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cfg/limits.h"

/* A range of borrowed bytes. */
struct view {
    const uint8_t *data; /* start of the bytes, borrowed; may be NULL only when len is 0 */
    size_t len;
};

/* A cursor over borrowed bytes. */
struct reader {
    const uint8_t *data;
    size_t len;
    size_t pos; /* index of the next byte to read; <= len */
};

/* A caller's buffer and its filled length, in bytes. */
struct writer {
    uint8_t *data;
    size_t cap;
    size_t len; /* number of bytes written so far; <= cap */
    bool full;  /* a value did not fit; never becomes false again */
};

/* --- functions on views --- */

/* View of a NUL-terminated text, without the NUL. */
struct view view_text(const char *text);
/* View of `len` bytes at `data`, which may be NULL when len is 0. */
struct view view_of(const void *data, size_t len);
/* Whether both views hold the same bytes. */
bool view_equal(struct view a, struct view b);
/* Whether the bytes of the view are those of the NUL-terminated text, without its NUL. */
bool view_is(struct view a, const char *text);
/* Whether the view starts with the bytes of the NUL-terminated text `prefix`, without its NUL. */
bool view_starts(struct view a, const char *prefix);
/* Whether the view ends with the bytes of the NUL-terminated text `suffix`, without its NUL. */
bool view_ends(struct view a, const char *suffix);
/* The bytes of the view from index `from` on; empty if the view has no more than `from` bytes. */
struct view view_from(struct view a, size_t from);
/* The first `n` bytes of the view; the whole view if it has fewer bytes. */
struct view view_first(struct view a, size_t n);
/* The view without leading and trailing space, tab, CR, LF and NUL. */
struct view view_trim(struct view a);
/* The view without a trailing dot, which makes a DNS name absolute (RFC 1034 §3.1). */
struct view view_without_dot(struct view a);
/* Index of the first `byte` in the view; a.len if the view does not contain `byte`. */
size_t view_find(struct view a, uint8_t byte);
/* Whether the view contains `byte`. */
bool view_has(struct view a, uint8_t byte);
/* Whether each byte of the view is printable ASCII and not a space. */
bool view_is_visible(struct view a);
/*
 * Parses a view of decimal digits as a number from 0 to `max`. PEER_MALFORMED: the view is empty,
 * has another character, or the number is larger than `max`.
 */
MUST_USE enum status view_decimal(struct view a, uint64_t max, uint64_t *value);

/* --- functions on readers; STATUS_MORE: bytes are missing, and the cursor is unchanged --- */

/* Reader at the start of the view. */
struct reader reader_of(struct view v);
/* Number of bytes that the reader has not read yet. */
size_t reader_left(const struct reader *r);
/* Read the next unsigned number of 1, 2, 4 or 8 bytes. STATUS_MORE: fewer bytes are left. */
MUST_USE enum status reader_u8(struct reader *r, uint8_t *value);
MUST_USE enum status reader_u16(struct reader *r, uint16_t *value); /* reads a big-endian number */
MUST_USE enum status reader_u32(struct reader *r, uint32_t *value); /* reads a big-endian number */
MUST_USE enum status reader_u64(struct reader *r, uint64_t *value); /* reads a big-endian number */
/*
 * Consumes the next `n` bytes; *out is a view of them where they are, without a copy. STATUS_MORE:
 * fewer bytes are left.
 */
MUST_USE enum status reader_consume(struct reader *r, size_t n, struct view *out);
/*
 * Reads a protobuf base-128 varint. STATUS_MORE: the bytes end inside it. PEER_MALFORMED: it has
 * more than 10 bytes or more than 64 bits.
 */
MUST_USE enum status reader_varint(struct reader *r, uint64_t *value);

/* --- functions on writers --- */

/* Makes an empty writer that fills the caller's buffer of `cap` bytes at `data`. */
struct writer writer_of(void *data, size_t cap);
/* Number of bytes that still fit into the writer's buffer; 0 when `full` is set. */
size_t writer_room(const struct writer *w);
/* The bytes written so far. The view is valid as long as the writer's buffer exists. */
struct view writer_view(const struct writer *w);
/* Write an unsigned number of 1, 2, 3, 4 or 8 bytes, the most significant byte first. */
void writer_u8(struct writer *w, uint8_t value);
void writer_u16(struct writer *w, uint16_t value); /* writes a big-endian number */
void writer_u24(struct writer *w, uint32_t value); /* writes a big-endian number below 2^24 */
void writer_u32(struct writer *w, uint32_t value); /* writes a big-endian number */
void writer_u64(struct writer *w, uint64_t value); /* writes a big-endian number */
/* Writes a protobuf base-128 varint, 1 to 10 bytes. */
void writer_varint(struct writer *w, uint64_t value);
/* Appends the `len` bytes at `data`, which must not overlap the writer's buffer. */
void writer_bytes(struct writer *w, const void *data, size_t len);
/* Appends the bytes of the view, which must not overlap the writer's buffer. */
void writer_append(struct writer *w, struct view v);
void writer_text(struct writer *w, const char *text); /* writes `text` without its NUL */
/* Writes a code point up to U+10FFFF in UTF-8 (RFC 3629 §3). */
void writer_utf8(struct writer *w, uint32_t c);
/* Writes decimal digits without leading zeros. */
void writer_decimal(struct writer *w, uint64_t value);
/* Writes decimal digits, after a minus sign if `value` is negative. */
void writer_signed(struct writer *w, int64_t value);
/* Writes exactly `digits` (1 to 16) lower-case hexadecimal digits, the most significant first. */
void writer_hex(struct writer *w, uint64_t value, unsigned digits);
/*
 * Appends untrusted text to a message: at most `max` bytes of it, then "..." if it is longer. A
 * double quote and every byte that is not printable ASCII become '?'.
 */
void writer_shown(struct writer *w, struct view v, size_t max);

/*
 * Returns the code point of the character at the start of `v` if the character is not visible
 * itself or changes how others look: C1 controls, zero-width and bidirectional characters, line
 * separators. 0: any other character, an ASCII character, or invalid UTF-8.
 */
unsigned view_unsafe(struct view v);
/*
 * Appends text for a terminal. Writes each byte as \xNN if it is part of a control character, of a
 * character for which view_unsafe does not return 0, or of invalid UTF-8; writes all other bytes
 * unchanged. `lines`: newlines are unchanged as well. Returns the number of bytes of `v` consumed,
 * which is less than v.len if fewer than WRITER_SAFE_ROOM bytes of room are left.
 */
size_t writer_safe(struct writer *w, struct view v, bool lines);
/* Number of bytes that a UTF-8 character needs at most when its bytes are written as \xNN. */
#define WRITER_SAFE_ROOM 16u

/* Kinds of values that can replace a '%' of a `form` (WRITE). */
enum fill_kind { FILL_TEXT, FILL_VIEW, FILL_SHOWN, FILL_SAFE, FILL_NUMBER };
/*
 * A value that replaces one '%' of a `form`. Made by one of TEXT, VIEW, SHOWN, SHOWN_LONG, SAFE and
 * NUMBER.
 */
struct fill {
    enum fill_kind kind;
    uint32_t most;    /* FILL_SHOWN: limit in bytes of the shown text */
    const char *data; /* start of the text or bytes, borrowed; FILL_NUMBER: unused */
    uint64_t number;  /* FILL_NUMBER: the number; FILL_VIEW, FILL_SHOWN: length of `data` */
};
/* Makes a value for a '%' of WRITE: all bytes of a view. */
static inline struct fill fill_view(struct view v)
{
    return (struct fill){.kind = FILL_VIEW, .data = (const char *)v.data, .number = v.len};
}
/*
 * Makes a value for a '%' of WRITE: untrusted bytes, of which writer_shown writes at most `most`.
 */
static inline struct fill fill_shown(struct view v, uint32_t most)
{
    return (struct fill){
        .kind = FILL_SHOWN, .most = most, .data = (const char *)v.data, .number = v.len};
}
/* Make a value for a '%' of WRITE: a NUL-terminated text, a view, or a number in decimal digits. */
#define TEXT(value) {.kind = FILL_TEXT, .data = (value)}
#define VIEW(value) fill_view(value)
#define NUMBER(value) {.kind = FILL_NUMBER, .number = (value)}
/*
 * Make a value for a '%' of WRITE: untrusted bytes, at most SHOWN_BYTES_MAX or at most `most` of
 * them.
 */
#define SHOWN(value) fill_shown((value), SHOWN_BYTES_MAX)
#define SHOWN_LONG(value, most) fill_shown((value), (most))
/* Makes a value for a '%' of WRITE: a NUL-terminated text, which writer_safe writes on one line. */
#define SAFE(value) {.kind = FILL_SAFE, .data = (value)}
/* Number of arguments, each of them a struct fill; sizeof does not evaluate the arguments. */
#define FILLS_COUNT(...) (sizeof((const struct fill[]){__VA_ARGS__}) / sizeof(struct fill))

/*
 * Appends `form` with each '%' replaced by the next fill, so that a whole sentence is one string
 * literal: WRITE(why, "slot % of % is damaged", NUMBER(slot), TEXT(driver)). The number of fills
 * equals the number of '%'.
 */
#define WRITE(out, form, ...)                                                                      \
    do { /* a block, so that all WRITEs of a function reuse the same stack space for fills */      \
        writer_fill((out), (form), (const struct fill[]){__VA_ARGS__}, FILLS_COUNT(__VA_ARGS__));  \
    } while (0)
/* Implements WRITE; `fills` has `count` elements. */
void writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count);

/*
 * Appends untrusted text at the end of a message. If the text does not fit, cuts it at a UTF-8
 * boundary and appends "...". Control characters become spaces. Never sets `full`.
 */
void writer_cut(struct writer *w, struct view v);

/* --- functions on NUL-terminated text in char arrays --- */

/*
 * Copies `v` into text[cap] (bytes) and terminates it with NUL. FULL_BUFFER: it does not fit;
 * PEER_MALFORMED: it contains a NUL. On failure `text` is unchanged. cap >= 1.
 */
MUST_USE enum status text_copy(char *text, size_t cap, struct view v);
/* Copies `value` and its NUL into text[cap] (bytes). Asserts that it fits. */
void text_set(char *text, size_t cap, const char *value);
/* Like text_copy, but cuts `v` at its first NUL, and at a UTF-8 boundary if it does not fit. */
void text_cut(char *text, size_t cap, struct view v);
/* Whether both texts have the same bytes before their NUL. */
bool text_is(const char *a, const char *b);
/* Like WRITE, but writes into text[cap] and adds the NUL. Asserts that the text fits. */
#define WRITE_TEXT(text, cap, form, ...)                                                           \
    do {                                                                                           \
        text_fill((text), (cap), (form), (const struct fill[]){__VA_ARGS__},                       \
                  FILLS_COUNT(__VA_ARGS__));                                                       \
    } while (0)
/* Implements WRITE_TEXT; `fills` has `count` elements. */
void text_fill(char *text, size_t cap, const char *form, const struct fill *fills, size_t count);
/*
 * Writes a NUL after the written bytes, inside the writer's buffer. FULL_BUFFER: a value or the NUL
 * did not fit; the text in the buffer is then incomplete, but still ends in NUL.
 */
MUST_USE enum status writer_end_text(struct writer *w);
/* Like writer_end_text, but asserts that all values and the NUL fitted. */
void writer_close_text(struct writer *w);
/* Whether the bytes of the view are valid UTF-8 (RFC 3629: shortest form, no surrogates). */
bool view_is_utf8(struct view v);

#endif
