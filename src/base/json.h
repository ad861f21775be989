/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259): a pull tokenizer over one complete text, and a writer. Owns the syntax only: it
 * stores no values and knows no domain. It limits the depth and does not recurse.
 *
 * Invariants:
 * I1 After a failure, every later call of json_next fails with the same status.
 * I2 Every token except JSON_END consumes at least one byte; no byte after the text is read.
 * I3 Exactly the UTF-8 texts of RFC 8259 are accepted, up to the depth limit.
 * I4 json_unescape writes a whole string or nothing, and never more bytes than it reads.
 * I5 A text that was written completely is one JSON text; its strings have no raw control
 *    character.
 * I6 A written string of valid UTF-8 reads back as the same bytes.
 * I7 The tokenizer returns the names and values of the text, in the order of the text.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* Kinds of tokens (RFC 8259 §2). */
enum json_kind {
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_NAME,   /* member name; `text` is its raw bytes between the quotes, with escapes */
    JSON_STRING, /* string value; `text` is its raw bytes between the quotes, with escapes */
    JSON_NUMBER, /* `text` is the number as written in the input */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_END /* the text ended after one complete value and white space */
};

/* One token of the input. */
struct json_token {
    enum json_kind kind;
    /* borrowed from the input; empty at the begin and end of a container, and for JSON_END */
    struct view text;
    unsigned depth; /* number of open containers around the token; 0: the top value */
};

/* Reading position in one text, which is borrowed until the last token is used. */
struct json_reader {
    struct reader in;
    unsigned depth;
    uint8_t stack[JSON_DEPTH_MAX]; /* '{' or '[' of each open container */
    uint8_t expect;                /* enum expect of json.c: which tokens may follow */
    /* first failure, which every later call returns; STATUS_OK: none */
    enum status failed;
};

/* Starts reading `text`, which must be complete. json_next reports malformed text. */
void json_open(struct json_reader *r, struct view text);
/*
 * Reads the next token. PEER_MALFORMED: the text is not JSON (invalid UTF-8, bad escape, bad
 * number, trailing bytes, control character in a string…). FULL_BUFFER: containers are nested
 * deeper than JSON_DEPTH_MAX. Later calls return the same failure.
 */
MUST_USE enum status json_next(struct json_reader *r, struct json_token *token);
/*
 * Skips the rest of the value whose first token, `token`, was just read; a scalar has no rest. The
 * statuses of a failure are those of json_next.
 */
MUST_USE enum status json_skip(struct json_reader *r, const struct json_token *token);
/*
 * Writes the text of a JSON_NAME or JSON_STRING with its escapes decoded to UTF-8. FULL_BUFFER: the
 * text does not fit, and nothing was written. A lone surrogate becomes U+FFFD, as in Go's
 * encoding/json.
 */
MUST_USE enum status json_unescape(struct view raw, struct writer *out);
/* Whether the name or string `raw`, with its escapes decoded, equals `text` (under 256 bytes). */
bool json_text_is(struct view raw, const char *text);
/*
 * Parses the text of a JSON_NUMBER token as an integer. PEER_MALFORMED: the number has a fraction
 * or an exponent, or does not fit in int64_t.
 */
MUST_USE enum status json_integer(struct view literal, int64_t *value);

/* --- functions of the JSON writer; `indent`: spaces for each level, 0: all on one line --- */

/* State of a JSON text that is being written; the owner checks `out->full` at the end. */
struct json_writer {
    struct writer *out; /* writer that gets the JSON text; borrowed */
    unsigned indent;
    unsigned depth;
    bool first; /* the next member or element is the first in its container, so it needs no comma */
    bool after_name;
    bool markup; /* escape `<`, `>` and `&` in strings, as Go's encoder does; set by the owner */
};

/* Starts a text at the end of `out`, which is borrowed until the text is complete. */
struct json_writer json_writer_of(struct writer *out, unsigned indent);
/* Begin and end an object, which is the top value, a member's value or an array element. */
void json_object_begin(struct json_writer *w);
void json_object_end(struct json_writer *w);
/* Begin and end an array, which is the top value, a member's value or an array element. */
void json_array_begin(struct json_writer *w);
void json_array_end(struct json_writer *w);
/* Writes the name of the next member: plain ASCII text that needs no escapes. */
void json_name(struct json_writer *w, const char *name);
/*
 * Writes a quoted, escaped string; an invalid byte of UTF-8 becomes U+FFFD. Escapes control
 * characters (C0, DEL, C1) and the line separators U+2028 and U+2029, so that every program that
 * shows the string shows it on one line.
 */
void json_string(struct json_writer *w, struct view text);
/* Writes a member: `name` as in json_name, `text` as in json_string. */
void json_member(struct json_writer *w, const char *name, const char *text);
/* Writes a value that is an integer. */
void json_number(struct json_writer *w, int64_t value);
/* Writes the value `true` or `false`. */
void json_bool(struct json_writer *w, bool value);

/*
 * Appends the JSON text `form` and replaces each '%' with the next text of `value` as a JSON
 * string. Meant for JSON texts that are mostly constant.
 */
void json_fill(struct writer *out, const char *form, const char *const *value);

#endif
