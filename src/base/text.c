/* SPDX-License-Identifier: Apache-2.0 */
/* NUL-terminated text in arrays, and UTF-8: the second half of base/bytes.h. */
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

const char *text_nth(const char *texts, unsigned index)
{
    const char *at = texts;
    for (unsigned i = 0; i < index; i++) {
        at += strlen(at) + 1u;
    }
    return at;
}

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

void text_set(char *text, size_t cap, const char *value)
{
    enum status s = text_copy(text, cap, view_text(value));
    ASSERT(s == STATUS_OK);
}

/* Most bytes, up to `max`, that do not end inside a character of `v`. */
static size_t cut_length(struct view v, size_t max)
{
    size_t n = (v.len < max) ? v.len : max;
    /* A continuation byte behind the cut belongs to the character before it: it goes as a whole. */
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
        bool control = v.data[i] < (uint8_t)' ' || v.data[i] == 0x7fu;
        writer_u8(w, control ? (uint8_t)' ' : v.data[i]);
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

/*
 * Lead bytes and the range of the second byte (RFC 3629 §4): shortest form, no surrogates, at most
 * U+10FFFF.
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

/* Length of the character at the front, 0 when it is none. */
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
