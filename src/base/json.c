/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON pull tokenizer and writer, RFC 8259. The field `expect` of the reader says which tokens are
 * allowed next; the stack of open containers is an array, so nothing recurses. The tokenizer checks
 * the form of every string, so that json_unescape can fail only for lack of room.
 */
#include "base/json.h"

#include "base/assert.h"
#include "base/chars.h"

enum expect {
    EXPECT_VALUE,         /* the text begins, or ':' was read: a value follows */
    EXPECT_FIRST_NAME,    /* an object just began: a name or the object's end follows */
    EXPECT_FIRST_ELEMENT, /* an array just began: a value or the array's end follows */
    EXPECT_NEXT,          /* a value inside a container ended: ',' or the container's end follows */
    EXPECT_NOTHING        /* the value at the top level is complete: no token may follow */
};

void json_open(struct json_reader *r, struct view text)
{
    r->in = reader_of(text);
    r->depth = 0;
    r->expect = EXPECT_VALUE;
    r->failed = view_is_utf8(text) ? STATUS_OK : PEER_MALFORMED;
}

static void skip_blanks(struct reader *in)
{
    while (in->pos < in->len) {
        uint8_t c = in->data[in->pos];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            return;
        }
        in->pos++;
    }
}

/* --- reading strings --- */

/*
 * Length of the escape sequence at the start of `v`, whose first byte is a backslash. 0: no valid
 * escape sequence.
 */
static size_t escape_length(struct view v)
{
    static const char simple[] = "\"\\/bfnrt";
    if (v.len < 2u) {
        return 0;
    }
    if (v.data[1] != 'u') {
        struct view known = view_text(simple);
        return (view_find(known, v.data[1]) < known.len) ? 2u : 0u;
    }
    if (v.len < 6u) {
        return 0;
    }
    for (unsigned i = 2; i < 6u; i++) {
        if (!is_hex_digit(v.data[i])) {
            return 0;
        }
    }
    return 6;
}

/* Reads a string up to and including its closing quote; the opening quote is already consumed. */
static enum status read_string(struct reader *in, struct view *text)
{
    size_t start = in->pos;
    while (in->pos < in->len) {
        struct view rest = view_from(view_of(in->data, in->len), in->pos);
        uint8_t c = rest.data[0];
        if (c == '"') {
            *text = view_first(view_from(view_of(in->data, in->len), start), in->pos - start);
            in->pos++;
            return STATUS_OK;
        }
        size_t n = (c == '\\') ? escape_length(rest) : 1u;
        if (n == 0u || c < 0x20u) {
            return PEER_MALFORMED;
        }
        in->pos += n;
    }
    return PEER_MALFORMED;
}

/* --- reading numbers, true, false and null --- */

static bool byte_is(struct view v, size_t at, uint8_t a, uint8_t b)
{
    return at < v.len && (v.data[at] == a || v.data[at] == b);
}

/* Moves *at past one or more digits. false: there is no digit. */
static bool consume_digits(struct view v, size_t *at)
{
    size_t start = *at;
    while (*at < v.len && is_digit(v.data[*at])) {
        (*at)++;
    }
    return *at > start;
}

/*
 * Length of the number at the start of `v`: int [frac] [exp] (RFC 8259 §6). 0: `v` does not start
 * with a number.
 */
static size_t number_length(struct view v)
{
    size_t first = byte_is(v, 0, '-', '-') ? 1u : 0u;
    size_t at = first;
    if (!consume_digits(v, &at) || (v.data[first] == '0' && at > first + 1u)) {
        return 0;
    }
    if (byte_is(v, at, '.', '.')) {
        at++;
        if (!consume_digits(v, &at)) {
            return 0;
        }
    }
    if (byte_is(v, at, 'e', 'E')) {
        at++;
        at += byte_is(v, at, '+', '-') ? 1u : 0u;
        if (!consume_digits(v, &at)) {
            return 0;
        }
    }
    return at;
}

static enum status read_scalar(struct json_reader *r, struct json_token *token)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
    struct view rest = view_from(view_of(r->in.data, r->in.len), r->in.pos);
    for (unsigned i = 0; i < 3u; i++) {
        if (view_starts(rest, words[i].word)) {
            token->kind = words[i].kind;
            token->text = view_first(rest, view_text(words[i].word).len);
            r->in.pos += token->text.len;
            return STATUS_OK;
        }
    }
    size_t n = number_length(rest);
    if (n == 0u) {
        return PEER_MALFORMED;
    }
    token->kind = JSON_NUMBER;
    token->text = view_first(rest, n);
    r->in.pos += n;
    return STATUS_OK;
}

/* --- reading objects and arrays, token by token --- */

static void after_value(struct json_reader *r)
{
    r->expect = (r->depth == 0u) ? EXPECT_NOTHING : EXPECT_NEXT;
}

static enum status begin_container(struct json_reader *r, struct json_token *token, uint8_t bracket)
{
    if (r->depth >= JSON_DEPTH_MAX) {
        return FULL_BUFFER;
    }
    token->kind = (bracket == '{') ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
    r->in.pos++;
    r->stack[r->depth] = bracket;
    r->depth++;
    r->expect = (bracket == '{') ? EXPECT_FIRST_NAME : EXPECT_FIRST_ELEMENT;
    return STATUS_OK;
}

static enum status end_container(struct json_reader *r, struct json_token *token, uint8_t bracket)
{
    ASSERT(r->depth > 0u);
    bool object = r->stack[r->depth - 1u] == '{';
    uint8_t closing = object ? (uint8_t)'}' : (uint8_t)']';
    if (bracket != closing) {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    r->depth--;
    token->kind = object ? JSON_OBJECT_END : JSON_ARRAY_END;
    token->depth = r->depth;
    after_value(r);
    return STATUS_OK;
}

static enum status read_value(struct json_reader *r, struct json_token *token, uint8_t c)
{
    if (c == '{' || c == '[') {
        return begin_container(r, token, c);
    }
    enum status s = STATUS_OK;
    if (c == '"') {
        r->in.pos++;
        token->kind = JSON_STRING;
        s = read_string(&r->in, &token->text);
    } else {
        s = read_scalar(r, token);
    }
    after_value(r);
    return s;
}

static enum status read_name(struct json_reader *r, struct json_token *token, uint8_t c)
{
    if (c != '"') {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    token->kind = JSON_NAME;
    enum status s = read_string(&r->in, &token->text);
    if (s != STATUS_OK) {
        return s;
    }
    skip_blanks(&r->in);
    if (r->in.pos >= r->in.len || r->in.data[r->in.pos] != ':') {
        return PEER_MALFORMED;
    }
    r->in.pos++;
    r->expect = EXPECT_VALUE;
    return STATUS_OK;
}

/* Reads the token after a comma: a name in an object, a value in an array. */
static enum status after_comma(struct json_reader *r, struct json_token *token)
{
    r->in.pos++;
    skip_blanks(&r->in);
    if (r->in.pos >= r->in.len) {
        return PEER_MALFORMED;
    }
    uint8_t c = r->in.data[r->in.pos];
    return (r->stack[r->depth - 1u] == '{') ? read_name(r, token, c) : read_value(r, token, c);
}

static enum status read_token(struct json_reader *r, struct json_token *token)
{
    skip_blanks(&r->in);
    token->depth = r->depth;
    token->text = view_of(0, 0);
    if (r->in.pos >= r->in.len) {
        token->kind = JSON_END;
        return ((enum expect)r->expect == EXPECT_NOTHING) ? STATUS_OK : PEER_MALFORMED;
    }
    uint8_t c = r->in.data[r->in.pos];
    switch ((enum expect)r->expect) {
    case EXPECT_VALUE:
        return read_value(r, token, c);
    case EXPECT_FIRST_NAME:
        return (c == '}') ? end_container(r, token, c) : read_name(r, token, c);
    case EXPECT_FIRST_ELEMENT:
        return (c == ']') ? end_container(r, token, c) : read_value(r, token, c);
    case EXPECT_NEXT:
        return (c == ',') ? after_comma(r, token) : end_container(r, token, c);
    case EXPECT_NOTHING:
        break;
    }
    return PEER_MALFORMED;
}

enum status json_next(struct json_reader *r, struct json_token *token)
{
    if (r->failed == STATUS_OK) {
        r->failed = read_token(r, token);
    }
    return r->failed;
}

enum status json_skip(struct json_reader *r, const struct json_token *token)
{
    struct json_token t;
    if (token->kind != JSON_OBJECT_BEGIN && token->kind != JSON_ARRAY_BEGIN) {
        return r->failed;
    }
    /* Every token inside a container consumes at least one byte, so the loop ends. */
    for (size_t i = reader_left(&r->in); i > 0u; i--) {
        enum status s = json_next(r, &t);
        if (s != STATUS_OK) {
            return s;
        }
        bool ends = t.kind == JSON_OBJECT_END || t.kind == JSON_ARRAY_END;
        if (ends && t.depth == token->depth) {
            return STATUS_OK;
        }
    }
    r->failed = PEER_MALFORMED;
    return r->failed;
}

/* --- decoding the text of a name, string or number --- */

static uint32_t parse_hex4(struct view v)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < 4u; i++) {
        n = n << 4 | hex_value(v.data[i]);
    }
    return n;
}

/*
 * Decodes the escape \uXXXX at the start of `v`, or both escapes of a surrogate pair. Returns the
 * number of bytes consumed.
 */
static size_t unescape_unicode(struct view v, struct writer *out)
{
    uint32_t c = parse_hex4(view_from(v, 2));
    bool high = c >= 0xd800u && c < 0xdc00u;
    if (high && v.len >= 12u && v.data[6] == '\\' && v.data[7] == 'u') {
        uint32_t low = parse_hex4(view_from(v, 8));
        if (low >= 0xdc00u && low < 0xe000u) {
            writer_utf8(out, 0x10000u + ((c - 0xd800u) << 10) + (low - 0xdc00u));
            return 12;
        }
    }
    writer_utf8(out, (c >= 0xd800u && c < 0xe000u) ? 0xfffdu : c);
    return 6;
}

static size_t unescape_one(struct view v, struct writer *out)
{
    static const char from[] = "bfnrt";
    static const char to[] = "\b\f\n\r\t";
    if (v.data[1] == 'u') {
        return unescape_unicode(v, out);
    }
    size_t at = view_find(view_text(from), v.data[1]);
    writer_u8(out, (at < sizeof from - 1u) ? (uint8_t)to[at] : v.data[1]);
    return 2;
}

enum status json_unescape(struct view raw, struct writer *out)
{
    size_t start = out->len;
    bool was_full = out->full;
    struct view rest = raw;
    while (rest.len > 0u) {
        size_t plain = view_find(rest, '\\');
        writer_append(out, view_first(rest, plain));
        rest = view_from(rest, plain);
        if (rest.len > 0u) {
            ASSERT(rest.len >= 2u); /* the tokenizer has already checked every escape */
            rest = view_from(rest, unescape_one(rest, out));
        }
    }
    if (out->full) {
        out->len = start;
        out->full = was_full;
        return FULL_BUFFER;
    }
    return STATUS_OK;
}

bool json_text_is(struct view raw, const char *text)
{
    uint8_t bytes[256];
    struct writer out = writer_of(bytes, sizeof bytes);
    return json_unescape(raw, &out) == STATUS_OK && view_is(writer_view(&out), text);
}

enum status json_integer(struct view literal, int64_t *value)
{
    bool negative = view_starts(literal, "-");
    uint64_t size = 0;
    uint64_t max = (uint64_t)INT64_MAX + (negative ? 1u : 0u);
    enum status s = view_decimal(view_from(literal, negative ? 1u : 0u), max, &size);
    if (s != STATUS_OK) {
        return s;
    }
    uint64_t bits = negative ? 0u - size : size;
    *value = (int64_t)bits;
    return STATUS_OK;
}

/* --- writing JSON --- */

struct json_writer json_writer_of(struct writer *out, unsigned indent)
{
    return (struct json_writer){.out = out,
                                .indent = indent,
                                .depth = 0,
                                .first = true,
                                .after_name = false,
                                .markup = false};
}

static void new_line(struct json_writer *w)
{
    if (w->indent == 0u) {
        return;
    }
    writer_u8(w->out, '\n');
    for (unsigned i = 0; i < w->indent * w->depth; i++) {
        writer_u8(w->out, ' ');
    }
}

/*
 * Writes the separator before a value or a member name. A value after its name needs no separator.
 * Otherwise, writes a comma after an earlier sibling, and a new line inside an indented container.
 */
static void lead_in(struct json_writer *w)
{
    if (w->after_name) {
        w->after_name = false;
        return;
    }
    if (!w->first) {
        writer_u8(w->out, ',');
    }
    if (w->depth > 0u) {
        new_line(w);
    }
    w->first = false;
}

static void open_container(struct json_writer *w, uint8_t bracket)
{
    lead_in(w);
    writer_u8(w->out, bracket);
    w->depth++;
    w->first = true;
}

static void close_container(struct json_writer *w, uint8_t bracket)
{
    ASSERT(w->depth > 0u && !w->after_name);
    w->depth--;
    if (!w->first) {
        new_line(w);
    }
    writer_u8(w->out, bracket);
    w->first = false;
}

void json_object_begin(struct json_writer *w)
{
    open_container(w, '{');
}

void json_object_end(struct json_writer *w)
{
    close_container(w, '}');
}

void json_array_begin(struct json_writer *w)
{
    open_container(w, '[');
}

void json_array_end(struct json_writer *w)
{
    close_container(w, ']');
}

static void write_escape(struct writer *out, unsigned c)
{
    writer_text(out, "\\u");
    writer_hex(out, c, 4);
}

/* Writes `c`, which needs an escape and is one byte long, as its escape sequence. */
static void write_character(struct writer *out, uint8_t c)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    size_t at = view_find(view_text(named), c);
    if (at < sizeof named - 1u) {
        writer_u8(out, '\\');
        writer_u8(out, (uint8_t)letters[at]);
    } else {
        write_escape(out, c);
    }
}

static void write_long_character(struct writer *out, struct view v)
{
    unsigned unsafe = view_unsafe(v);
    if (unsafe != 0u) {
        write_escape(out, unsafe);
    } else {
        writer_append(out, v);
    }
}

/* Length of the UTF-8 character at the start of `v`. 0: invalid UTF-8. */
static size_t character_length(struct view v)
{
    for (size_t n = 1; n <= 4u && n <= v.len; n++) {
        if (view_is_utf8(view_first(v, n))) {
            return n;
        }
    }
    return 0;
}

/*
 * Length of the prefix of `v` that needs no escape: printable ASCII that is not in `escaped`. Most
 * text needs no escape, so write_piece copies such a prefix at once.
 */
static size_t plain_length(struct view v, struct view escaped)
{
    size_t n = 0;
    while (n < v.len && is_printable(v.data[n]) && view_find(escaped, v.data[n]) == escaped.len) {
        n++;
    }
    return n;
}

/*
 * Writes the first piece of `text`: the longest prefix that needs no escape, or one character if
 * the first needs an escape or is not ASCII. An invalid byte becomes U+FFFD. Returns the length of
 * the piece in `text`.
 */
static size_t write_piece(struct writer *out, struct view text, struct view escaped)
{
    size_t n = plain_length(text, escaped);
    if (n > 0u) {
        writer_append(out, view_first(text, n));
        return n;
    }
    n = character_length(text);
    if (n == 0u) {
        writer_utf8(out, 0xfffdu);
        return 1;
    }
    if (n == 1u) {
        write_character(out, text.data[0]);
    } else {
        write_long_character(out, view_first(text, n));
    }
    return n;
}

static void write_string(struct writer *out, struct view text, bool markup)
{
    struct view escaped = view_text(markup ? "\"\\<>&" : "\"\\");
    writer_u8(out, '"');
    struct view rest = text;
    while (rest.len > 0u) {
        rest = view_from(rest, write_piece(out, rest, escaped));
    }
    writer_u8(out, '"');
}

void json_name(struct json_writer *w, const char *name)
{
    ASSERT(w->depth > 0u && !w->after_name);
    lead_in(w);
    write_string(w->out, view_text(name), false);
    writer_text(w->out, (w->indent > 0u) ? ": " : ":");
    w->after_name = true;
}

void json_string(struct json_writer *w, struct view text)
{
    lead_in(w);
    write_string(w->out, text, w->markup);
}

void json_member(struct json_writer *w, const char *name, const char *text)
{
    json_name(w, name);
    json_string(w, view_text(text));
}

void json_number(struct json_writer *w, int64_t value)
{
    lead_in(w);
    writer_signed(w->out, value);
}

void json_bool(struct json_writer *w, bool value)
{
    lead_in(w);
    writer_text(w->out, value ? "true" : "false");
}

void json_fill(struct writer *out, const char *form, const char *const *value)
{
    struct view rest = view_text(form);
    const char *const *next = value;
    ASSERT(form[0] != '%' || value != NULL);
    for (size_t at = view_find(rest, '%'); at < rest.len; at = view_find(rest, '%')) {
        writer_append(out, view_first(rest, at));
        write_string(out, view_text(*next), false);
        next++;
        rest = view_from(rest, at + 1u);
    }
    writer_append(out, rest);
}
