/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views, readers and writers: all access to bytes from outside. Owns cursor arithmetic; never owns
 * memory, never does I/O.
 *
 * A view borrows bytes. A reader is a view with a cursor. A writer is a caller's buffer with a
 * length. A value that does not fit is not written at all: the writer sets `full` and ignores every
 * later write, so that callers check once at the end. A text buffer is a char array that always
 * ends in NUL.
 *
 * Invariants:
 * I1 A writer holds whole values only, never exceeds its room, and stays full once it is.
 * I2 The reader of the same kind reads back what a writer wrote; on failure no cursor moves.
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

/* Borrowed bytes. */
struct view {
    const uint8_t *data; /* borrowed; may be NULL only when len is 0 */
    size_t len;
};

/* A cursor over borrowed bytes. */
struct reader {
    const uint8_t *data;
    size_t len;
    size_t pos; /* <= len */
};

/* A caller's buffer and its filled length, in bytes. */
struct writer {
    uint8_t *data;
    size_t cap;
    size_t len; /* <= cap */
    bool full;  /* sticky: something did not fit */
};

/* --- views --- */

/* View of a NUL-terminated text, without the NUL. */
struct view view_text(const char *text);
/* View of `len` bytes at `data`, which may be NULL when len is 0. */
struct view view_of(const void *data, size_t len);
/* Whether both views hold the same bytes. */
bool view_equal(struct view a, struct view b);
/* Whether the bytes are those of the NUL-terminated text, without its NUL. */
bool view_is(struct view a, const char *text);
/* Whether the bytes begin with those of the text. */
bool view_starts(struct view a, const char *prefix);
/* Whether the bytes end with those of the text. */
bool view_ends(struct view a, const char *suffix);
/* Bytes from `from` (clamped to the length) to the end. */
struct view view_from(struct view a, size_t from);
/* First `n` bytes (clamped). */
struct view view_first(struct view a, size_t n);
/* The view without leading and trailing space, tab, CR, LF and NUL. */
struct view view_trim(struct view a);
/* The view without a trailing dot, which makes a DNS name absolute (RFC 1034 §3.1). */
struct view view_without_dot(struct view a);
/* Index of the first `byte`, or a.len. */
size_t view_find(struct view a, uint8_t byte);
/* Whether a byte of the view is `byte`. */
bool view_has(struct view a, uint8_t byte);
/* Whether each byte is printable ASCII and not a space. */
bool view_is_visible(struct view a);
/*
 * Parses a view of decimal digits, at most `max`. PEER_MALFORMED: anything else, also an empty
 * view.
 */
MUST_USE enum status view_decimal(struct view a, uint64_t max, uint64_t *value);

/* --- reader: fails with STATUS_MORE and an unmoved cursor when bytes are missing --- */

/* Reader at the start of the view. */
struct reader reader_of(struct view v);
/* Number of bytes not read yet. */
size_t reader_left(const struct reader *r);
/* Next number, high octet first; STATUS_MORE when fewer bytes are left. */
MUST_USE enum status reader_u8(struct reader *r, uint8_t *value);
MUST_USE enum status reader_u16(struct reader *r, uint16_t *value); /* big-endian */
MUST_USE enum status reader_u32(struct reader *r, uint32_t *value); /* big-endian */
MUST_USE enum status reader_u64(struct reader *r, uint64_t *value); /* big-endian */
/* Next `n` bytes as a view into the same memory; STATUS_MORE when fewer are left. */
MUST_USE enum status reader_consume(struct reader *r, size_t n, struct view *out);
/*
 * Protobuf base-128 varint. STATUS_MORE: the bytes end inside it. PEER_MALFORMED: more than 10
 * bytes or more than 64 bits.
 */
MUST_USE enum status reader_varint(struct reader *r, uint64_t *value);

/* --- writer --- */

/* Empty writer over `cap` bytes of the caller at `data`. */
struct writer writer_of(void *data, size_t cap);
size_t writer_room(const struct writer *w); /* 0 once full */
/* The bytes written so far; valid as long as the buffer. */
struct view writer_view(const struct writer *w);
/* Writes the number in its full width, high octet first. */
void writer_u8(struct writer *w, uint8_t value);
void writer_u16(struct writer *w, uint16_t value); /* big-endian */
void writer_u24(struct writer *w, uint32_t value); /* big-endian, value < 2^24 */
void writer_u32(struct writer *w, uint32_t value); /* big-endian */
void writer_u64(struct writer *w, uint64_t value); /* big-endian */
/* Protobuf base-128 varint, 1 to 10 bytes. */
void writer_varint(struct writer *w, uint64_t value);
/* Copies `len` bytes, which must not overlap the writer's buffer. */
void writer_bytes(struct writer *w, const void *data, size_t len);
/* Copies the bytes of the view. */
void writer_append(struct writer *w, struct view v);
void writer_text(struct writer *w, const char *text); /* without its NUL */
/* UTF-8 of a code point up to U+10FFFF (RFC 3629 §3). */
void writer_utf8(struct writer *w, uint32_t c);
/* Decimal digits without leading zeros. */
void writer_decimal(struct writer *w, uint64_t value);
/* Decimal digits, with a minus sign when below zero. */
void writer_signed(struct writer *w, int64_t value);
/* Exactly `digits` lower-case hexadecimal digits, 1 to 16, high ones first. */
void writer_hex(struct writer *w, uint64_t value, unsigned digits);
/*
 * Appends foreign text to a message: at most `max` bytes, with "..." for the rest; every byte that
 * is not printable ASCII, and the double quote, becomes '?'.
 */
void writer_shown(struct writer *w, struct view v, size_t max);

/* What stands in a hole of a form. */
enum fill_kind { FILL_TEXT, FILL_VIEW, FILL_SHOWN, FILL_NUMBER };
/* One value for a hole; made by the macros below. */
struct fill {
    enum fill_kind kind;
    uint32_t most;    /* FILL_SHOWN: bytes */
    const char *data; /* borrowed; FILL_NUMBER: unused */
    uint64_t number;  /* FILL_VIEW and FILL_SHOWN: length of the data */
};
/* The bytes of a view. */
static inline struct fill fill_view(struct view v)
{
    return (struct fill){.kind = FILL_VIEW, .data = (const char *)v.data, .number = v.len};
}
/* Foreign bytes as writer_shown writes them, at most `most`. */
static inline struct fill fill_shown(struct view v, uint32_t most)
{
    return (struct fill){
        .kind = FILL_SHOWN, .most = most, .data = (const char *)v.data, .number = v.len};
}
/* A text that ends in NUL; a view; a number in decimal digits. */
#define TEXT(value) {.kind = FILL_TEXT, .data = (value)}
#define VIEW(value) fill_view(value)
#define NUMBER(value) {.kind = FILL_NUMBER, .number = (value)}
/* Foreign bytes: as many as a message shows, or at most `most`. */
#define SHOWN(value) fill_shown((value), SHOWN_BYTES_MAX)
#define SHOWN_LONG(value, most) fill_shown((value), (most))
/* The number of fills; they are not evaluated. */
#define FILLS_COUNT(...) (sizeof((const struct fill[]){__VA_ARGS__}) / sizeof(struct fill))

/*
 * Appends `form` with a fill in the place of each '%', so that a sentence stands in one literal:
 * WRITE(why, "slot % of % is damaged", NUMBER(slot), TEXT(driver)). As many fills as holes.
 */
#define WRITE(out, form, ...)                                                                      \
    do { /* a scope of its own, so that the fills of several sentences share their stack */        \
        writer_fill((out), (form), (const struct fill[]){__VA_ARGS__}, FILLS_COUNT(__VA_ARGS__));  \
    } while (0)
/* What WRITE does; `count` fills. */
void writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count);

/*
 * Appends foreign text at the end of a message: as much as fits, cut on a UTF-8 boundary with "..."
 * for the rest; control characters become blanks. Never makes the writer full.
 */
void writer_cut(struct writer *w, struct view v);

/* --- NUL-terminated text in arrays --- */

/*
 * Copies `v` into text[cap] (bytes) and terminates it with NUL. FULL_BUFFER: it does not fit;
 * PEER_MALFORMED: it contains a NUL; `text` is unchanged then. cap >= 1.
 */
MUST_USE enum status text_copy(char *text, size_t cap, struct view v);
/* Copies `value` and its NUL into text[cap] (bytes). Asserts that it fits. */
void text_set(char *text, size_t cap, const char *value);
/* Like text_copy, but cuts the text at its first NUL and, on a UTF-8 boundary, at `cap` bytes. */
void text_cut(char *text, size_t cap, struct view v);
/* Whether both hold the same bytes up to their NUL. */
bool text_is(const char *a, const char *b);
/* Like WRITE, into the array text[cap], with a NUL behind. Asserts that it fits. */
#define WRITE_TEXT(text, cap, form, ...)                                                           \
    do {                                                                                           \
        text_fill((text), (cap), (form), (const struct fill[]){__VA_ARGS__},                       \
                  FILLS_COUNT(__VA_ARGS__));                                                       \
    } while (0)
/* What WRITE_TEXT does; `count` fills. */
void text_fill(char *text, size_t cap, const char *form, const struct fill *fills, size_t count);
/*
 * Terminates the written bytes with NUL inside the writer's buffer. FULL_BUFFER: not everything
 * fitted.
 */
MUST_USE enum status writer_end_text(struct writer *w);
/* Like writer_end_text, for text that is known to fit: asserts it. */
void writer_close_text(struct writer *w);
/* Whether the bytes are valid UTF-8 (RFC 3629: shortest form, no surrogates). */
bool view_is_utf8(struct view v);

#endif
