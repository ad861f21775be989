/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views, readers and writers of base/bytes.c, on memory of any length and content. Their loops run
 * over the bytes of one number, so they are unrolled completely.
 */
#include "proof.h"

#include "base/bytes.c"

void proof_views(void)
{
    struct view a = any_view(ANY_LENGTH);
    struct view b = any_view(ANY_LENGTH);
    size_t n = any_size();
    uint8_t byte = any_u8();

    struct view rest = view_from(a, n);
    CHECK(view_within(rest, a) && rest.len == (n < a.len ? a.len - n : 0u));
    struct view first = view_first(a, n);
    CHECK(view_within(first, a) && first.len == (n < a.len ? n : a.len));

    size_t at = view_find(a, byte);
    CHECK(at <= a.len);
    CHECK(at == a.len || a.data[at] == byte);
    bool has = view_has(a, byte);
    CHECK(!has || a.len > 0u);
    CHECK(!view_equal(a, b) || a.len == b.len);
    CHECK(view_of(a.data, a.len).len == a.len);
}

/* A failed read leaves the cursor; another moves it by the bytes of the number, inside the view. */
static void check_moved(const struct reader *r, const struct reader *before, size_t n,
                        enum status s)
{
    CHECK(s == STATUS_OK || s == STATUS_MORE);
    CHECK(r->data == before->data && r->len == before->len && r->pos <= r->len);
    CHECK(r->pos == before->pos + (s == STATUS_OK ? n : 0u));
    CHECK((s == STATUS_OK) == (n <= before->len - before->pos));
}

void proof_reader_numbers(void)
{
    struct reader r = reader_of(any_view(ANY_LENGTH));
    r.pos = any_length(r.len);
    struct reader before = r;
    CHECK(reader_left(&r) == r.len - r.pos);
    uint8_t one = 0;
    uint16_t two = 0;
    uint32_t four = 0;
    uint64_t eight = 0;
    struct view out = {NULL, 0};
    size_t n = any_size();
    switch (any_u8()) {
    case 0:
        check_moved(&r, &before, 1, reader_u8(&r, &one));
        CHECK(r.pos == before.pos || one == r.data[before.pos]);
        break;
    case 1:
        check_moved(&r, &before, 2, reader_u16(&r, &two));
        CHECK(r.pos == before.pos ||
              two == (((unsigned)r.data[before.pos] << 8) | r.data[before.pos + 1u]));
        break;
    case 2:
        check_moved(&r, &before, 4, reader_u32(&r, &four));
        break;
    case 3:
        check_moved(&r, &before, 8, reader_u64(&r, &eight));
        break;
    default:
        check_moved(&r, &before, n, reader_consume(&r, n, &out));
        CHECK(view_within(out, view_of(r.data, r.len)));
        break;
    }
}

void proof_reader_varint(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct reader before = r;
    uint64_t value = 0;
    enum status s = reader_varint(&r, &value);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(r.pos <= r.len);
    CHECK(s == STATUS_OK ? r.pos > before.pos && r.pos - before.pos <= 10u : r.pos == before.pos);
    CHECK(s != STATUS_MORE || before.len - before.pos < 10u);
}

void proof_varint_round_trip(void)
{
    uint8_t bytes[10];
    struct writer w = writer_of(bytes, sizeof bytes);
    uint64_t value = any_u64();
    writer_varint(&w, value);
    CHECK(!w.full && w.len >= 1u);
    struct reader r = reader_of(writer_view(&w));
    uint64_t back = 0;
    enum status s = reader_varint(&r, &back);
    CHECK(s == STATUS_OK && back == value && r.pos == w.len);
}

/* A value is written whole or not at all, and a full writer stays full. */
static void check_written(const struct writer *w, const struct writer *before, size_t n)
{
    bool fits = !before->full && n <= before->cap - before->len;
    CHECK(w->data == before->data && w->cap == before->cap && writer_sound(w));
    CHECK(w->full == !fits);
    CHECK(w->len == before->len + (fits ? n : 0u));
}

void proof_writer_bytes(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    struct writer before = w;
    struct view v = any_view(ANY_LENGTH);
    CHECK(writer_room(&w) == (w.full ? 0u : w.cap - w.len));
    struct view so_far = writer_view(&w);
    CHECK(so_far.len == w.len);
    if (any_bool()) {
        writer_append(&w, v);
    } else {
        writer_bytes(&w, v.data, v.len);
    }
    check_written(&w, &before, v.len);
    struct writer fresh = writer_of(w.data, w.cap);
    CHECK(fresh.len == 0u && !fresh.full);
}

void proof_writer_numbers(void)
{
    struct writer w = any_writer(ANY_LENGTH);
    struct writer before = w;
    uint64_t value = any_u64();
    switch (any_u8()) {
    case 0:
        writer_u8(&w, any_u8());
        check_written(&w, &before, 1);
        break;
    case 1:
        writer_u16(&w, any_u16());
        check_written(&w, &before, 2);
        break;
    case 2:
        writer_u24(&w, any_u32() & 0xffffffu);
        check_written(&w, &before, 3);
        break;
    case 3:
        writer_u32(&w, any_u32());
        check_written(&w, &before, 4);
        break;
    case 4:
        writer_u64(&w, value);
        check_written(&w, &before, 8);
        break;
    default:
        writer_varint(&w, value);
        CHECK(writer_sound(&w) && w.len >= before.len && w.len - before.len <= 10u);
        CHECK(w.full || w.len > before.len);
        break;
    }
}
