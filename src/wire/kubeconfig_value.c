/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of scalars: escapes, folding and block indentation resolved (YAML 1.2.2 chapters 5.7, 6.5,
 * 8.1). The result is never longer than the source, so that it may be written over it.
 */
#include <string.h>

#include "base/assert.h"
#include "wire/kubeconfig_internal.h"

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* --- escapes --- */

struct escape {
    uint8_t letter;
    uint8_t value;
};

/* Letters whose value is one byte. \N, \_ and \x, \u, \U are code points; \L and \P would grow. */
static const struct escape escapes[] = {
    {'0', 0},  {'a', 7},  {'b', 8},  {'t', 9},   {'\t', 9},  {'n', 10},  {'v', 11},
    {'f', 12}, {'r', 13}, {'e', 27}, {' ', ' '}, {'"', '"'}, {'/', '/'}, {'\\', '\\'},
};

static void put_code_point(struct writer *out, uint32_t c)
{
    ASSERT(c <= 0x10ffffu);
    if (c < 0x80u) {
        writer_u8(out, (uint8_t)c);
        return;
    }
    if (c < 0x800u) {
        writer_u8(out, (uint8_t)(0xc0u | (c >> 6)));
    } else if (c < 0x10000u) {
        writer_u8(out, (uint8_t)(0xe0u | (c >> 12)));
        writer_u8(out, (uint8_t)(0x80u | ((c >> 6) & 0x3fu)));
    } else {
        writer_u8(out, (uint8_t)(0xf0u | (c >> 18)));
        writer_u8(out, (uint8_t)(0x80u | ((c >> 12) & 0x3fu)));
        writer_u8(out, (uint8_t)(0x80u | ((c >> 6) & 0x3fu)));
    }
    writer_u8(out, (uint8_t)(0x80u | (c & 0x3fu)));
}

/* Value of `digits` hexadecimal digits at the reader. False: they are none. */
static bool take_hex(struct reader *in, size_t digits, uint32_t *value)
{
    struct view text;
    if (reader_take(in, digits, &text) != STATUS_OK) {
        return false;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < text.len; i++) {
        static const char alphabet[] = "0123456789abcdef";
        uint8_t c = text.data[i];
        uint8_t lower = (c >= 'A' && c <= 'F') ? (uint8_t)(c | 0x20u) : c;
        size_t digit = view_find(view_text(alphabet), lower);
        if (digit == sizeof alphabet - 1u) {
            return false;
        }
        sum = (sum << 4) | digit;
    }
    *value = (uint32_t)sum;
    return true;
}

/* Second half of a surrogate pair, as JSON writes characters over U+FFFF. */
static bool take_low_surrogate(struct reader *in, uint32_t *low)
{
    struct reader ahead = *in;
    struct view mark;
    if (reader_take(&ahead, 2, &mark) != STATUS_OK || !view_is(mark, "\\u") ||
        !take_hex(&ahead, 4, low) || *low < 0xdc00u || *low > 0xdfffu) {
        return false;
    }
    *in = ahead;
    return true;
}

static enum status put_hex_escape(struct reader *in, size_t digits, struct writer *out)
{
    uint32_t c = 0;
    uint32_t low = 0;
    if (!take_hex(in, digits, &c) || c > 0x10ffffu) {
        return PEER_MALFORMED;
    }
    if (c >= 0xd800u && c <= 0xdbffu && take_low_surrogate(in, &low)) {
        c = 0x10000u + ((c - 0xd800u) << 10) + (low - 0xdc00u);
    }
    put_code_point(out, (c >= 0xd800u && c <= 0xdfffu) ? 0xfffdu : c);
    return STATUS_OK;
}

/* Behind the backslash. */
static enum status put_escape(struct reader *in, struct writer *out)
{
    uint8_t letter = 0;
    if (reader_u8(in, &letter) != STATUS_OK) {
        return PEER_MALFORMED;
    }
    for (unsigned i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].letter == letter) {
            writer_u8(out, escapes[i].value);
            return STATUS_OK;
        }
    }
    switch (letter) {
    case 'N':
        put_code_point(out, 0x85);
        return STATUS_OK;
    case '_':
        put_code_point(out, 0xa0);
        return STATUS_OK;
    case 'x':
        return put_hex_escape(in, 2, out);
    case 'u':
        return put_hex_escape(in, 4, out);
    case 'U':
        return put_hex_escape(in, 8, out);
    default:
        return PEER_MALFORMED;
    }
}

/* --- plain and quoted --- */

static uint8_t byte_at(const struct reader *in)
{
    return (in->pos < in->len) ? in->data[in->pos] : (uint8_t)0;
}

static bool at_break(const struct reader *in)
{
    return byte_at(in) == '\n' || byte_at(in) == '\r';
}

/* Moves over line ends and the blanks around them; says how many line ends there were. */
static unsigned skip_breaks(struct reader *in)
{
    unsigned breaks = 0;
    while (in->pos < in->len && (at_break(in) || is_blank(byte_at(in)))) {
        breaks += (byte_at(in) == '\n') ? 1u : 0u;
        in->pos++;
    }
    return breaks;
}

/* One line end becomes a space, more of them one less (YAML 1.2.2 §6.5). */
static void put_fold(struct writer *out, unsigned breaks)
{
    if (breaks == 1u) {
        writer_u8(out, ' ');
    }
    for (unsigned i = 1; i < breaks; i++) {
        writer_u8(out, '\n');
    }
}

/* Behind a backslash of a double-quoted text. One before a line end joins the lines. */
static enum status put_escaped(struct reader *in, struct writer *out)
{
    if (!at_break(in)) {
        return put_escape(in, out);
    }
    unsigned breaks = skip_breaks(in);
    put_fold(out, (breaks > 1u) ? breaks : 0u);
    return STATUS_OK;
}

/* One character, escape or fold. *solid: how much of `out` no fold may take away. */
static enum status put_flow(struct reader *in, enum scalar_style style, struct writer *out,
                            size_t *solid)
{
    enum status s = STATUS_OK;
    uint8_t c = byte_at(in);
    bool escaped = style == SCALAR_DOUBLE && c == '\\';
    if (at_break(in)) {
        out->len = *solid; /* without the blanks before the line end */
        put_fold(out, skip_breaks(in));
        *solid = out->len;
        return STATUS_OK;
    }
    /* Of a doubled quote the second one is passed over. */
    in->pos += (style == SCALAR_SINGLE && c == '\'') ? 2u : 1u;
    if (escaped) {
        s = put_escaped(in, out);
    } else {
        writer_u8(out, c);
    }
    *solid = (is_blank(c) && !escaped) ? *solid : out->len;
    return s;
}

static enum status resolve_flow(const struct node *node, struct writer *out)
{
    struct reader in = reader_of(node->raw);
    size_t solid = out->len;
    for (size_t i = 0; i < node->raw.len && in.pos < in.len; i++) {
        enum status s = put_flow(&in, node->style, out, &solid);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return STATUS_OK;
}

/* --- block --- */

/* Next line without its indentation and line end. */
static struct view take_line(struct reader *in, unsigned indent)
{
    struct view rest = view_from(view_of(in->data, in->len), in->pos);
    struct view line = view_first(rest, view_find(rest, '\n'));
    in->pos += (line.len < rest.len) ? line.len + 1u : line.len;
    if (line.len > 0u && line.data[line.len - 1u] == '\r') {
        line.len--;
    }
    return view_from(line, indent);
}

/* What stands between a line of text and the next, `empty` lines apart. */
static void put_join(struct writer *out, bool folded, unsigned empty)
{
    for (unsigned i = folded ? 1u : 0u; i <= empty; i++) {
        writer_u8(out, '\n');
    }
    if (folded && empty == 0u) {
        writer_u8(out, ' ');
    }
}

static void put_end(struct writer *out, enum scalar_chomp chomp, unsigned empty, bool some)
{
    unsigned ends = some ? 1u : 0u;
    if (chomp == CHOMP_STRIP) {
        ends = 0;
    } else if (chomp == CHOMP_KEEP) {
        ends += empty;
    }
    for (unsigned i = 0; i < ends; i++) {
        writer_u8(out, '\n');
    }
}

static void resolve_block(const struct node *node, struct writer *out)
{
    struct reader in = reader_of(node->raw);
    unsigned empty = 0;
    bool some = false;
    bool wide = false; /* the line before begins with a blank: lines around it are not folded */
    for (size_t i = 0; i < node->raw.len && in.pos < in.len; i++) {
        struct view line = take_line(&in, node->indent);
        if (line.len == 0u) {
            empty++;
            continue;
        }
        bool now_wide = is_blank(line.data[0]);
        if (some) {
            put_join(out, node->style == SCALAR_FOLDED && !wide && !now_wide, empty);
        } else {
            put_end(out, CHOMP_KEEP, empty, false);
        }
        for (size_t k = 0; k < line.len; k++) {
            writer_u8(out, line.data[k]);
        }
        empty = 0;
        some = true;
        wide = now_wide;
    }
    put_end(out, node->chomp, empty, some);
}

/* --- values --- */

enum status scalar_resolve(const struct node *node, struct writer *out)
{
    ASSERT(node->kind == NODE_SCALAR || node->kind == NODE_KEY);
    if (node->style == SCALAR_LITERAL || node->style == SCALAR_FOLDED) {
        resolve_block(node, out);
        return STATUS_OK;
    }
    return resolve_flow(node, out);
}

bool scalar_is_null(const struct node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || node->style != SCALAR_PLAIN) {
        return false;
    }
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (view_is(node->raw, words[i])) {
            return true;
        }
    }
    return false;
}

/* Longest key that is looked for, and room to see that another one is longer. */
#define KEY_BYTES_MAX 40u

bool scalar_is(const struct node *node, const char *text)
{
    uint8_t key[KEY_BYTES_MAX];
    struct writer w = writer_of(key, sizeof key);
    ASSERT(strlen(text) < sizeof key);
    return scalar_resolve(node, &w) == STATUS_OK && !w.full && view_is(writer_view(&w), text);
}
