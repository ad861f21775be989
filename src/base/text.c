/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text functions of base/bytes.h: numbers as digits, UTF-8, texts in arrays. No function here runs
 * for each octet of a frame, so this file is compiled for size: tools/make/agent.mk does not list
 * it in HOT.
 */
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/chars.h"

/* --- functions on views of text --- */

struct view view_text(const char *text)
{
    ASSERT(text != NULL);
    return view_of(text, strlen(text));
}

/*
 * Number of equal bytes at the start of both texts. A simple loop is fast enough, because most
 * texts differ in the first byte.
 */
static size_t common_bytes(struct view a, const char *text)
{
    size_t n = 0;
    while (n < a.len && text[n] != '\0' && (uint8_t)text[n] == a.data[n]) {
        n++;
    }
    return n;
}

bool view_is(struct view a, const char *text)
{
    return common_bytes(a, text) == a.len && text[a.len] == '\0';
}

bool view_starts(struct view a, const char *prefix)
{
    return prefix[common_bytes(a, prefix)] == '\0';
}

bool view_ends(struct view a, const char *suffix)
{
    struct view s = view_text(suffix);
    return a.len >= s.len && view_equal(view_from(a, a.len - s.len), s);
}

static bool is_trimmed(uint8_t c)
{
    return is_space(c) || c == 0u;
}

struct view view_trim(struct view a)
{
    size_t begin = 0;
    size_t end = a.len;
    while (end > 0u && is_trimmed(a.data[end - 1u])) {
        end--;
    }
    while (begin < end && is_trimmed(a.data[begin])) {
        begin++;
    }
    return view_from(view_first(a, end), begin);
}

struct view view_without_dot(struct view a)
{
    return view_first(a, a.len - (view_ends(a, ".") ? 1u : 0u));
}

bool view_is_visible(struct view a)
{
    for (size_t i = 0; i < a.len; i++) {
        if (!is_visible(a.data[i])) {
            return false;
        }
    }
    return true;
}

enum status view_decimal(struct view a, uint64_t max, uint64_t *value)
{
    uint64_t n = 0;
    if (a.len == 0u) {
        return PEER_MALFORMED;
    }
    for (size_t i = 0; i < a.len; i++) {
        uint8_t c = a.data[i];
        if (!is_digit(c)) {
            return PEER_MALFORMED;
        }
        uint64_t digit = (uint64_t)c - (uint64_t)'0';
        if (digit > max || n > (max - digit) / 10u) {
            return PEER_MALFORMED;
        }
        n = n * 10u + digit;
    }
    *value = n;
    return STATUS_OK;
}

/* --- writing text and numbers --- */

void writer_text(struct writer *w, const char *text)
{
    writer_append(w, view_text(text));
}

void writer_utf8(struct writer *w, uint32_t c)
{
    if (c < 0x80u) {
        writer_u8(w, (uint8_t)c);
    } else if (c < 0x800u) {
        writer_u16(w, (uint16_t)(0xc080u | (c >> 6) << 8 | (c & 0x3fu)));
    } else if (c < 0x10000u) {
        writer_u24(w, 0xe08080u | (c >> 12) << 16 | (c >> 6 & 0x3fu) << 8 | (c & 0x3fu));
    } else {
        writer_u32(w, 0xf0808080u | (c >> 18) << 24 | (c >> 12 & 0x3fu) << 16 |
                          (c >> 6 & 0x3fu) << 8 | (c & 0x3fu));
    }
}

void writer_decimal(struct writer *w, uint64_t value)
{
    uint8_t digits[20];
    unsigned at = sizeof digits;
    uint64_t rest = value;
    do {
        at--;
        digits[at] = (uint8_t)('0' + rest % 10u);
        rest /= 10u;
    } while (rest > 0u);
    writer_bytes(w, digits + at, sizeof digits - at);
}

void writer_signed(struct writer *w, int64_t value)
{
    uint8_t text[21];
    struct writer out = writer_of(text, sizeof text);
    uint64_t size = (uint64_t)value;
    if (value < 0) {
        writer_u8(&out, '-');
        size = 0u - size;
    }
    writer_decimal(&out, size);
    writer_append(w, writer_view(&out));
}

void writer_hex(struct writer *w, uint64_t value, unsigned digits)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t text[16];
    ASSERT(digits >= 1u && digits <= sizeof text);
    for (unsigned i = 0; i < digits; i++) {
        unsigned below = 4u * (digits - 1u - i);
        text[i] = (uint8_t)hex[(value >> below) & 0xfu];
    }
    writer_bytes(w, text, digits);
}

void writer_shown(struct writer *w, struct view v, size_t max)
{
    struct view shown = view_first(v, max);
    for (size_t i = 0; i < shown.len; i++) {
        uint8_t c = shown.data[i];
        writer_u8(w, (is_printable(c) && c != '"') ? c : (uint8_t)'?');
    }
    if (shown.len < v.len) {
        writer_text(w, "...");
    }
}

static struct view view_of_fill(const struct fill *fill)
{
    return view_of(fill->data, (size_t)fill->number);
}

static void write_fill(struct writer *w, const struct fill *fill)
{
    switch (fill->kind) {
    case FILL_TEXT:
        writer_text(w, fill->data);
        break;
    case FILL_VIEW:
        writer_append(w, view_of_fill(fill));
        break;
    case FILL_SHOWN:
        writer_shown(w, view_of_fill(fill), fill->most);
        break;
    case FILL_SAFE:
        w->full = writer_safe(w, view_text(fill->data), false) < strlen(fill->data) || w->full;
        break;
    default: /* the kind is FILL_NUMBER */
        writer_decimal(w, fill->number);
        break;
    }
}

void writer_fill(struct writer *w, const char *form, const struct fill *fills, size_t count)
{
    struct view rest = view_text(form);
    size_t used = 0;
    for (size_t at = view_find(rest, '%'); at < rest.len; at = view_find(rest, '%')) {
        ASSERT(used < count); /* the assertion fails if the form has a '%' without a fill */
        writer_append(w, view_first(rest, at));
        write_fill(w, &fills[used]);
        used++;
        rest = view_from(rest, at + 1u);
    }
    writer_append(w, rest);
    ASSERT(used == count); /* the assertion fails if a fill has no '%' in the form */
}

/* --- NUL-terminated text in char arrays, and UTF-8 --- */

enum status text_copy(char *text, size_t cap, struct view v)
{
    ASSERT(cap >= 1u);
    if (v.len > cap - 1u) {
        return FULL_BUFFER;
    }
    if (view_find(v, 0) < v.len) {
        return PEER_MALFORMED;
    }
    if (v.len > 0u) {
        memcpy(text, v.data, v.len);
    }
    text[v.len] = 0;
    return STATUS_OK;
}

bool text_is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

void text_set(char *text, size_t cap, const char *value)
{
    enum status s = text_copy(text, cap, view_text(value));
    ASSERT(s == STATUS_OK);
}

void text_fill(char *text, size_t cap, const char *form, const struct fill *fills, size_t count)
{
    struct writer w = writer_of(text, cap);
    writer_fill(&w, form, fills, count);
    writer_close_text(&w);
}

/* Largest length, at most `max`, at which `v` can be cut without splitting a UTF-8 character. */
static size_t cut_length(struct view v, size_t max)
{
    size_t n = (v.len < max) ? v.len : max;
    /*
     * If the byte after the cut is a continuation byte, the cut is inside a character: drop all of
     * that character.
     */
    for (unsigned i = 0; i < 4u && n > 0u && n < v.len && (v.data[n] & 0xc0u) == 0x80u; i++) {
        n--;
    }
    return n;
}

void text_cut(char *text, size_t cap, struct view v)
{
    ASSERT(cap >= 1u);
    struct view shown = view_first(v, view_find(v, 0));
    size_t n = cut_length(shown, cap - 1u);
    if (n > 0u) {
        ASSERT(shown.data != NULL);
        memmove(text, shown.data, n);
    }
    text[n] = 0;
}

void writer_cut(struct writer *w, struct view v)
{
    static const char rest[] = "...";
    size_t room = writer_room(w);
    bool whole = v.len <= room;
    if (!whole && room < sizeof rest - 1u) {
        return;
    }
    size_t n = whole ? v.len : cut_length(v, room - (sizeof rest - 1u));
    for (size_t i = 0; i < n; i++) {
        writer_u8(w, is_control(v.data[i]) ? (uint8_t)' ' : v.data[i]);
    }
    if (!whole) {
        writer_text(w, rest);
    }
    ASSERT(!w->full || room == 0u);
}

enum status writer_end_text(struct writer *w)
{
    if (w->full || w->len >= w->cap) {
        if (w->cap > 0u) {
            w->data[(w->len < w->cap) ? w->len : w->cap - 1u] = 0;
        }
        w->full = true;
        return FULL_BUFFER;
    }
    w->data[w->len] = 0;
    return STATUS_OK;
}

void writer_close_text(struct writer *w)
{
    enum status ended = writer_end_text(w);
    ASSERT(ended == STATUS_OK);
}

/*
 * Valid UTF-8 by lead byte (RFC 3629 §4): lead bytes `first` to `last`, the number of bytes that
 * follow (`more`), and the range of the second byte (`low` to `high`). This allows only the
 * shortest form, no surrogates, and at most U+10FFFF.
 */
static const struct {
    uint8_t first;
    uint8_t last;
    uint8_t more;
    uint8_t low;
    uint8_t high;
} leads[] = {
    {0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/* Length of the UTF-8 character at the start of `v`. 0: invalid UTF-8. */
static size_t utf8_length(struct view v)
{
    for (unsigned i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if (v.data[0] < leads[i].first || v.data[0] > leads[i].last) {
            continue;
        }
        if (v.len < 1u + leads[i].more) {
            return 0;
        }
        if (leads[i].more > 0u && (v.data[1] < leads[i].low || v.data[1] > leads[i].high)) {
            return 0;
        }
        for (unsigned k = 2; k <= leads[i].more; k++) {
            if ((v.data[k] & 0xc0u) != 0x80u) {
                return 0;
            }
        }
        return 1u + leads[i].more;
    }
    return 0;
}

bool view_is_utf8(struct view v)
{
    struct view rest = v;
    while (rest.len > 0u) {
        size_t n = utf8_length(rest);
        if (n == 0u) {
            return false;
        }
        rest = view_from(rest, n);
    }
    return true;
}

/* --- writing text for a terminal --- */

/* Ranges of the code points that view_unsafe returns; in UTF-8 they have two or three bytes. */
static const struct {
    uint16_t first;
    uint16_t last;
} unsafe_ranges[] = {
    {0x80, 0x9f},     /* C1 controls */
    {0x61c, 0x61c},   /* Arabic letter mark */
    {0x200b, 0x200f}, /* zero-width characters, marks of direction */
    {0x2028, 0x202e}, /* line separators, embeddings and overrides of direction */
    {0x2060, 0x206f}, /* invisible operators, isolates of direction */
    {0xfeff, 0xfeff}, /* byte order mark */
};

unsigned view_unsafe(struct view v)
{
    size_t n = (v.len > 0u) ? utf8_length(v) : 0u;
    unsigned point = 0;
    if (n == 2u) {
        point = (v.data[0] & 0x1fu) << 6u | (v.data[1] & 0x3fu);
    } else if (n == 3u) {
        point = (v.data[0] & 0x0fu) << 12u | (v.data[1] & 0x3fu) << 6u | (v.data[2] & 0x3fu);
    }
    for (unsigned i = 0; i < sizeof unsafe_ranges / sizeof unsafe_ranges[0]; i++) {
        if (point >= unsafe_ranges[i].first && point <= unsafe_ranges[i].last) {
            return point;
        }
    }
    return 0;
}

/*
 * Whether the character of `n` bytes at the start of `v` is written to a terminal unchanged; n = 0:
 * invalid UTF-8, never unchanged. `lines`: a newline is unchanged.
 */
static bool is_safe(struct view v, size_t n, bool lines)
{
    uint8_t c = v.data[0];
    bool plain = !is_control(c) || (lines && c == (uint8_t)'\n');
    return n == 1u ? plain : (n > 1u && view_unsafe(v) == 0u);
}

size_t writer_safe(struct writer *w, struct view v, bool lines)
{
    struct view rest = v;
    while (rest.len > 0u && writer_room(w) >= WRITER_SAFE_ROOM) {
        size_t n = utf8_length(rest);
        size_t consumed = (n == 0u) ? 1u : n;
        bool safe = is_safe(rest, n, lines);
        for (size_t i = 0; i < consumed; i++) {
            if (safe) {
                writer_u8(w, rest.data[i]);
            } else {
                writer_text(w, "\\x");
                writer_hex(w, rest.data[i], 2);
            }
        }
        rest = view_from(rest, consumed);
    }
    return v.len - rest.len;
}
