/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the leaves of base promise, in place of their code: each stub checks what its function asks
 * of the caller, and returns any result that its header allows. tests/proofs/bytes.c and text.c
 * prove the functions themselves, with the same promises. A proof whose group says `modular = true`
 * calls the stubs. Bytes that a stub reads or writes are any bytes.
 */
#ifndef PROOF_STUBS_H
#define PROOF_STUBS_H

#include "proof.h"

static void stub_check_reader(const struct reader *r)
{
    __CPROVER_assert(r->pos <= r->len, "a reader's cursor is inside its view");
}

static void stub_check_view(struct view v)
{
    __CPROVER_assert(v.len == 0u || __CPROVER_r_ok(v.data, v.len), "a view is readable memory");
}

#define STUB_NUMBER(type, bytes, name)                                                             \
    enum status stub_reader_##name(struct reader *r, type *value)                                  \
    {                                                                                              \
        stub_check_reader(r);                                                                      \
        if (r->len - r->pos < (bytes)) {                                                           \
            return STATUS_MORE;                                                                    \
        }                                                                                          \
        r->pos += (bytes);                                                                         \
        *value = any_##name();                                                                     \
        return STATUS_OK;                                                                          \
    }
STUB_NUMBER(uint8_t, 1u, u8)
STUB_NUMBER(uint16_t, 2u, u16)
STUB_NUMBER(uint32_t, 4u, u32)
STUB_NUMBER(uint64_t, 8u, u64)

enum status stub_reader_consume(struct reader *r, size_t n, struct view *out)
{
    stub_check_reader(r);
    if (n > r->len - r->pos) {
        return STATUS_MORE;
    }
    *out = (struct view){.data = (n == 0u) ? NULL : r->data + r->pos, .len = n};
    r->pos += n;
    return STATUS_OK;
}

enum status stub_reader_varint(struct reader *r, uint64_t *value)
{
    stub_check_reader(r);
    size_t n = any_u8();
    if (any_bool() || n < 1u || n > 10u || n > r->len - r->pos) {
        return any_bool() && r->len - r->pos < 10u ? STATUS_MORE : PEER_MALFORMED;
    }
    r->pos += n;
    *value = any_u64();
    return STATUS_OK;
}

size_t stub_view_find(struct view a, uint8_t byte)
{
    stub_check_view(a);
    size_t at = any_length(a.len);
    ASSUME(at == a.len || a.data[at] == byte);
    return at;
}

bool stub_view_equal(struct view a, struct view b)
{
    stub_check_view(a);
    stub_check_view(b);
    return a.len == b.len && (a.len == 0u || any_bool());
}

bool stub_view_is(struct view a, const char *text)
{
    stub_check_view(a);
    return a.len == strlen(text) && (a.len == 0u || any_bool());
}

bool stub_view_starts(struct view a, const char *prefix)
{
    stub_check_view(a);
    return a.len >= strlen(prefix) && (prefix[0] == '\0' || any_bool());
}

bool stub_view_is_utf8(struct view v)
{
    stub_check_view(v);
    return v.len == 0u || any_bool();
}

bool stub_view_is_visible(struct view v)
{
    stub_check_view(v);
    return v.len == 0u || any_bool();
}

enum status stub_view_decimal(struct view a, uint64_t max, uint64_t *value)
{
    stub_check_view(a);
    uint64_t n = any_u64();
    if (a.len == 0u || n > max || any_bool()) {
        return PEER_MALFORMED;
    }
    *value = n;
    return STATUS_OK;
}

unsigned stub_view_unsafe(struct view v)
{
    stub_check_view(v);
    unsigned point = any_u16();
    ASSUME(point == 0u || (point >= 0x80u && point <= 0xfeffu && v.len >= 2u));
    return point;
}

void stub_writer_bytes(struct writer *w, const void *data, size_t len)
{
    __CPROVER_assert(w->len <= w->cap, "a writer's length is inside its buffer");
    __CPROVER_assert(len == 0u || __CPROVER_r_ok(data, len), "copied bytes are readable");
    if (w->full || len > w->cap - w->len) {
        w->full = true;
    } else {
        w->len += len;
    }
}

void stub_writer_append(struct writer *w, struct view v)
{
    stub_writer_bytes(w, v.data, v.len);
}

void stub_writer_text(struct writer *w, const char *text)
{
    stub_writer_bytes(w, text, strlen(text));
}

void stub_writer_u8(struct writer *w, uint8_t value)
{
    stub_writer_bytes(w, &value, 1);
}

void stub_writer_u16(struct writer *w, uint16_t value)
{
    stub_writer_bytes(w, &value, 2);
}

void stub_writer_u24(struct writer *w, uint32_t value)
{
    __CPROVER_assert(value <= 0xffffffu, "a number of 24 bits");
    stub_writer_bytes(w, &value, 3);
}

void stub_writer_u32(struct writer *w, uint32_t value)
{
    stub_writer_bytes(w, &value, 4);
}

void stub_writer_u64(struct writer *w, uint64_t value)
{
    stub_writer_bytes(w, &value, 8);
}

void stub_writer_utf8(struct writer *w, uint32_t c)
{
    __CPROVER_assert(c <= 0x10ffffu, "a code point of Unicode");
    uint8_t bytes[4];
    size_t n = c < 0x80u ? 1u : c < 0x800u ? 2u : c < 0x10000u ? 3u : 4u;
    stub_writer_bytes(w, bytes, n);
}

void stub_writer_hex(struct writer *w, uint64_t value, unsigned digits)
{
    uint8_t bytes[16];
    (void)value;
    __CPROVER_assert(digits >= 1u && digits <= 16u, "1 to 16 digits");
    stub_writer_bytes(w, bytes, digits);
}

enum status stub_text_copy(char *text, size_t cap, struct view v)
{
    __CPROVER_assert(cap >= 1u && __CPROVER_w_ok(text, cap), "a text has room for its NUL");
    stub_check_view(v);
    if (v.len > cap - 1u) {
        return FULL_BUFFER;
    }
    if (any_bool()) {
        return PEER_MALFORMED;
    }
    text[v.len] = 0;
    return STATUS_OK;
}

#endif
