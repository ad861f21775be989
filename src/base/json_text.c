/* SPDX-License-Identifier: Apache-2.0 */
/* JSON strings and numbers as values, and the JSON writer: the second half of base/json.h. */
#include "base/assert.h"
#include "base/chars.h"
#include "base/json.h"

/* --- reading --- */

static uint32_t hex4(struct view v)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < 4u; i++) {
        n = n << 4 | hex_value(v.data[i]);
    }
    return n;
}

static void write_utf8(struct writer *out, uint32_t c)
{
    if (c < 0x80u) {
        writer_u8(out, (uint8_t)c);
    } else if (c < 0x800u) {
        writer_u16(out, (uint16_t)(0xc080u | (c >> 6) << 8 | (c & 0x3fu)));
    } else if (c < 0x10000u) {
        writer_u24(out, 0xe08080u | (c >> 12) << 16 | (c >> 6 & 0x3fu) << 8 | (c & 0x3fu));
    } else {
        writer_u8(out, (uint8_t)(0xf0u | c >> 18));
        writer_u24(out, 0x808080u | (c >> 12 & 0x3fu) << 16 | (c >> 6 & 0x3fu) << 8 | (c & 0x3fu));
    }
}

/* One \uXXXX, or a pair of them; returns the bytes taken. `v` begins with the backslash. */
static size_t unescape_unicode(struct view v, struct writer *out)
{
    uint32_t c = hex4(view_from(v, 2));
    bool high = c >= 0xd800u && c < 0xdc00u;
    if (high && v.len >= 12u && v.data[6] == '\\' && v.data[7] == 'u') {
        uint32_t low = hex4(view_from(v, 8));
        if (low >= 0xdc00u && low < 0xe000u) {
            write_utf8(out, 0x10000u + ((c - 0xd800u) << 10) + (low - 0xdc00u));
            return 12;
        }
    }
    write_utf8(out, (c >= 0xd800u && c < 0xe000u) ? 0xfffdu : c);
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
            ASSERT(rest.len >= 2u); /* the tokenizer checked every escape */
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

/* --- writing --- */

struct json_writer json_writer_of(struct writer *out, unsigned indent)
{
    return (struct json_writer){
        .out = out, .indent = indent, .depth = 0, .first = true, .after_name = false};
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
 * What stands before a value or a name: nothing after its name, a comma after a sibling, a new line
 * in a container.
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

static void write_character(struct writer *out, uint8_t c)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    size_t at = view_find(view_text(named), c);
    if (at < sizeof named - 1u) {
        writer_u8(out, '\\');
        writer_u8(out, (uint8_t)letters[at]);
    } else if (c < 0x20u || c == 0x7fu) {
        write_escape(out, c);
    } else {
        writer_u8(out, c);
    }
}

/* C1 control characters (C2 80 to C2 9F) and the line separators (E2 80 A8, E2 80 A9). */
static unsigned unsafe_character(struct view v)
{
    if (v.len == 2u && v.data[0] == 0xc2u && v.data[1] < 0xa0u) {
        return v.data[1];
    }
    bool separator =
        v.len == 3u && v.data[0] == 0xe2u && v.data[1] == 0x80u && (v.data[2] | 1u) == 0xa9u;
    return separator ? 0x2000u | (v.data[2] & 0x3fu) : 0u;
}

static void write_long_character(struct writer *out, struct view v)
{
    unsigned unsafe = unsafe_character(v);
    if (unsafe != 0u) {
        write_escape(out, unsafe);
    } else {
        writer_append(out, v);
    }
}

/* Length of the UTF-8 character at the front, 0 when the bytes are none. */
static size_t character_length(struct view v)
{
    for (size_t n = 1; n <= 4u && n <= v.len; n++) {
        if (view_is_utf8(view_first(v, n))) {
            return n;
        }
    }
    return 0;
}

/* Bytes at the front that stand for themselves: ASCII that needs no escape. Nearly all text is. */
static size_t plain_length(struct view v)
{
    size_t n = 0;
    while (n < v.len && v.data[n] >= ' ' && v.data[n] < 0x7fu && v.data[n] != '"' &&
           v.data[n] != '\\') {
        n++;
    }
    return n;
}

/* Writes what is at the front of `text` and returns its length. */
static size_t write_piece(struct writer *out, struct view text)
{
    size_t n = plain_length(text);
    if (n > 0u) {
        writer_append(out, view_first(text, n));
        return n;
    }
    n = character_length(text);
    if (n == 0u) {
        write_utf8(out, 0xfffdu);
        return 1;
    }
    if (n == 1u) {
        write_character(out, text.data[0]);
    } else {
        write_long_character(out, view_first(text, n));
    }
    return n;
}

static void write_string(struct writer *out, struct view text)
{
    writer_u8(out, '"');
    struct view rest = text;
    while (rest.len > 0u) {
        rest = view_from(rest, write_piece(out, rest));
    }
    writer_u8(out, '"');
}

void json_name(struct json_writer *w, const char *name)
{
    ASSERT(w->depth > 0u && !w->after_name);
    lead_in(w);
    write_string(w->out, view_text(name));
    writer_text(w->out, (w->indent > 0u) ? ": " : ":");
    w->after_name = true;
}

void json_string(struct json_writer *w, struct view text)
{
    lead_in(w);
    write_string(w->out, text);
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
        write_string(out, view_text(*next));
        next++;
        rest = view_from(rest, at + 1u);
    }
    writer_append(out, rest);
}
