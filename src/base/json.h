/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259): a pull tokenizer over one complete text, and a writer.
 * Owns syntax only: no values are kept, no domain is known, depth is bounded, nothing recurses.
 *
 * Invariants:
 * I1 A failure is sticky.
 * I2 Every token takes a byte at least; nothing behind the text is read.
 * I3 Exactly the texts of RFC 8259 in UTF-8 are taken, but for depth.
 * I4 json_unescape writes the whole of a string or nothing, and never more bytes than it reads.
 * I5 What the writer wrote whole is one JSON text without a raw control character.
 * I6 A string of valid UTF-8 that is written reads back as the same bytes.
 * I7 Values and their order are those of the text.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* What a token is (RFC 8259 §2). */
enum json_kind {
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_NAME,   /* member name; `text` is its raw bytes between the quotes, escapes not resolved */
    JSON_STRING, /* `text` as for JSON_NAME */
    JSON_NUMBER, /* `text` is the literal */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_END /* the text is complete; only white space followed */
};

/* One token of the input. */
struct json_token {
    enum json_kind kind;
    struct view text; /* borrowed from the input; empty for structural tokens */
    unsigned depth;   /* containers open around the token; 0 for the top value */
};

/* Position in one text, which is borrowed until the last token is used. */
struct json_reader {
    struct reader in;
    unsigned depth;
    uint8_t stack[JSON_DEPTH_MAX]; /* '{' or '[' of each open container */
    uint8_t expect;                /* internal state */
    enum status failed;            /* sticky first failure, STATUS_OK while none */
};

/* Starts to read `text`, which is complete. Malformed text is reported by json_next. */
void json_open(struct json_reader *r, struct view text);
/*
 * Next token. PEER_MALFORMED: not JSON (invalid UTF-8, bad escape, bad number, trailing bytes,
 * control character in a string…); FULL_BUFFER: deeper than JSON_DEPTH_MAX. Sticky.
 */
MUST_USE enum status json_next(struct json_reader *r, struct json_token *token);
/*
 * Skips the value that begins with `token` (already read); a scalar is skipped at once. Fails as
 * json_next does.
 */
MUST_USE enum status json_skip(struct json_reader *r, const struct json_token *token);
/*
 * Resolves escapes of a JSON_NAME or JSON_STRING into UTF-8. FULL_BUFFER when it does not fit, and
 * nothing of it is written then; a lone surrogate becomes U+FFFD, as in Go's encoding/json.
 */
MUST_USE enum status json_unescape(struct view raw, struct writer *out);
/* Whether the name or string equals `text` (under 256 bytes) after escapes are resolved. */
bool json_text_is(struct view raw, const char *text);
/*
 * Integer of a JSON_NUMBER: PEER_MALFORMED when it has a fraction or exponent or leaves int64.
 */
MUST_USE enum status json_integer(struct view literal, int64_t *value);

/* --- writer: commas and quoting by state; `indent` spaces per level, 0 writes one line --- */

/* Position in the text being written; the owner asks `out->full` at the end. */
struct json_writer {
    struct writer *out; /* borrowed */
    unsigned indent;
    unsigned depth;
    bool first; /* no comma needed before the next member or element */
    bool after_name;
    bool markup; /* set by the owner: strings have `<`, `>` and `&` escaped, as of Go's encoder */
};

/* Starts a text at the end of `out`, which is borrowed until the text is complete. */
struct json_writer json_writer_of(struct writer *out, unsigned indent);
/* Open and close an object: the text's value, a member's or an element. */
void json_object_begin(struct json_writer *w);
void json_object_end(struct json_writer *w);
/* Open and close an array: the text's value, a member's or an element. */
void json_array_begin(struct json_writer *w);
void json_array_end(struct json_writer *w);
/* Name of the next member: plain ASCII text that needs no escapes. */
void json_name(struct json_writer *w, const char *name);
/*
 * Quotes and escapes; bytes that are not UTF-8 become U+FFFD. Control characters (C0, DEL, C1) and
 * the line separators U+2028 and U+2029 are escaped, so that the text is one line for every reader.
 */
void json_string(struct json_writer *w, struct view text);
/* Integer as a value. */
void json_number(struct json_writer *w, int64_t value);
/* `true` or `false` as a value. */
void json_bool(struct json_writer *w, bool value);

/*
 * Appends `form`, JSON text, with each '%' of it replaced by the next text of `value` as a JSON
 * string: for texts of which little changes.
 */
void json_fill(struct writer *out, const char *form, const char *const *value);

#endif
