/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the functions of base/bytes.h on bytes and numbers; base/text.c has those on text. */
#include "base/bytes.h"

#include <string.h>

#include "base/assert.h"

/* --- functions on views --- */

struct view view_of(const void *data, size_t len)
{
    ASSERT(data != NULL || len == 0u);
    return (struct view){.data = data, .len = len};
}

bool view_equal(struct view a, struct view b)
{
    return a.len == b.len && (a.len == 0u || memcmp(a.data, b.data, a.len) == 0);
}

struct view view_from(struct view a, size_t from)
{
    size_t skip = (from < a.len) ? from : a.len;
    return view_of((skip == 0u) ? a.data : a.data + skip, a.len - skip);
}

struct view view_first(struct view a, size_t n)
{
    return view_of(a.data, (n < a.len) ? n : a.len);
}

size_t view_find(struct view a, uint8_t byte)
{
    const uint8_t *at = (a.len == 0u) ? NULL : memchr(a.data, byte, a.len);
    ptrdiff_t offset = (at == NULL) ? (ptrdiff_t)a.len : at - a.data;
    return (size_t)offset;
}

bool view_has(struct view a, uint8_t byte)
{
    return view_find(a, byte) < a.len;
}

/* --- functions on readers --- */

struct reader reader_of(struct view v)
{
    return (struct reader){.data = v.data, .len = v.len, .pos = 0};
}

size_t reader_left(const struct reader *r)
{
    ASSERT(r->pos <= r->len);
    return r->len - r->pos;
}

enum status reader_consume(struct reader *r, size_t n, struct view *out)
{
    if (n > reader_left(r)) {
        return STATUS_MORE;
    }
    *out = view_first(view_from(view_of(r->data, r->len), r->pos), n);
    r->pos += n;
    return STATUS_OK;
}

static enum status read_number(struct reader *r, size_t n, uint64_t *value)
{
    struct view bytes;
    enum status s = reader_consume(r, n, &bytes);
    if (s != STATUS_OK) {
        return s;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = (sum << 8) | bytes.data[i];
    }
    *value = sum;
    return STATUS_OK;
}

enum status reader_u8(struct reader *r, uint8_t *value)
{
    uint64_t n = 0;
    enum status s = read_number(r, 1, &n);
    if (s == STATUS_OK) {
        *value = (uint8_t)n;
    }
    return s;
}

enum status reader_u16(struct reader *r, uint16_t *value)
{
    uint64_t n = 0;
    enum status s = read_number(r, 2, &n);
    if (s == STATUS_OK) {
        *value = (uint16_t)n;
    }
    return s;
}

enum status reader_u32(struct reader *r, uint32_t *value)
{
    uint64_t n = 0;
    enum status s = read_number(r, 4, &n);
    if (s == STATUS_OK) {
        *value = (uint32_t)n;
    }
    return s;
}

enum status reader_u64(struct reader *r, uint64_t *value)
{
    return read_number(r, 8, value);
}

enum status reader_varint(struct reader *r, uint64_t *value)
{
    uint64_t n = 0;
    size_t left = reader_left(r);
    for (unsigned i = 0; i < left; i++) {
        ASSERT(i < 10u); /* cannot fail: the loop returns at the tenth byte */
        uint64_t byte = r->data[r->pos + i];
        /* each byte holds 7 bits, so the tenth byte of a varint may hold only bit 63 */
        if (i == 9u && byte > 1u) {
            return PEER_MALFORMED;
        }
        unsigned below = 7u * i;
        n |= (byte & 0x7fu) << below;
        if ((byte & 0x80u) == 0u) {
            *value = n;
            r->pos += i + 1u;
            return STATUS_OK;
        }
    }
    return STATUS_MORE;
}

/* --- functions on writers --- */

struct writer writer_of(void *data, size_t cap)
{
    ASSERT(data != NULL || cap == 0u);
    return (struct writer){.data = data, .cap = cap, .len = 0, .full = false};
}

size_t writer_room(const struct writer *w)
{
    ASSERT(w->len <= w->cap);
    return w->full ? 0u : w->cap - w->len;
}

struct view writer_view(const struct writer *w)
{
    return view_of(w->data, w->len);
}

void writer_bytes(struct writer *w, const void *data, size_t len)
{
    if (w->full || len > w->cap - w->len) {
        w->full = true;
        return;
    }
    if (len > 0u) {
        memcpy(w->data + w->len, data, len);
        w->len += len;
    }
}

void writer_append(struct writer *w, struct view v)
{
    writer_bytes(w, v.data, v.len);
}

static void write_number(struct writer *w, uint64_t value, unsigned n)
{
    uint8_t bytes[8];
    ASSERT(n <= sizeof bytes);
    uint64_t rest = value;
    for (unsigned i = n; i > 0u; i--) {
        bytes[i - 1u] = (uint8_t)rest;
        rest >>= 8;
    }
    writer_bytes(w, bytes, n);
}

void writer_u8(struct writer *w, uint8_t value)
{
    writer_bytes(w, &value, 1);
}

void writer_u16(struct writer *w, uint16_t value)
{
    write_number(w, value, 2);
}

void writer_u24(struct writer *w, uint32_t value)
{
    ASSERT(value <= 0xffffffu);
    write_number(w, value, 3);
}

void writer_u32(struct writer *w, uint32_t value)
{
    write_number(w, value, 4);
}

void writer_u64(struct writer *w, uint64_t value)
{
    write_number(w, value, 8);
}

void writer_varint(struct writer *w, uint64_t value)
{
    uint8_t bytes[10];
    unsigned n = 0;
    uint64_t rest = value;
    while (rest >= 0x80u) {
        bytes[n] = (uint8_t)(rest | 0x80u);
        rest >>= 7;
        n++;
    }
    bytes[n] = (uint8_t)rest;
    writer_bytes(w, bytes, n + 1u);
}
