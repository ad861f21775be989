/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header compression. Checks of src/wire/hpack.h: I1 to I7; I6 and I7 with nghttp2's decoder,
 * field by field and with the names and values of the whole dynamic table after each block.
 *
 * The first byte chooses the table that was announced and the room for a field; then come header
 * blocks, each with its length before it in one byte (255: in the two bytes behind).
 *
 * Input: table size and room, then header blocks, each behind its length
 * Links: -lnghttp2
 */
#include "tests/fuzz/fuzz.h"
#include "wire/hpack.h"

#ifndef FUZZ_ALONE
#include <nghttp2/nghttp2.h>
#endif

#define INTEGER_OCTETS_MAX 4u /* continuation octets that hpack.c takes */

/* One side of a comparison: a decoder and the sum of its fields. */
struct side {
    struct hpack_decoder d;
    struct fuzz_sum fields;
    uint8_t room[H2_CLIENT_FIELD_BYTES];
    size_t cap;
};

#ifndef FUZZ_ALONE
static nghttp2_hd_inflater *theirs;
#endif

/* --- what no verdict but OK changes (I3) --- */

struct state {
    uint32_t max_size;
    uint32_t used;
    uint16_t first;
    uint16_t count;
    uint16_t ring_head;
};

static struct state state_of(const struct hpack_decoder *d)
{
    struct state s;
    memset(&s, 0, sizeof s);
    s.max_size = d->max_size;
    s.used = d->used;
    s.first = d->first;
    s.count = d->count;
    s.ring_head = d->ring_head;
    return s;
}

/* Decodes one representation; checks all that holds for a single call. */
static enum status decode(struct side *side, struct reader *in, bool start,
                          struct hpack_field *field)
{
    struct writer scratch = writer_of(side->room, side->cap);
    struct state before = state_of(&side->d);
    size_t pos = in->pos;
    enum status s = hpack_decode(&side->d, in, start, &scratch, field);
    struct state after = state_of(&side->d);
    CHECK(hpack_valid(&side->d));
    if (s != STATUS_OK) {
        CHECK(s == STATUS_MORE || s == PEER_MALFORMED || s == FULL_BUFFER);
        CHECK(in->pos == pos && memcmp(&before, &after, sizeof before) == 0);
        return s;
    }
    CHECK(in->pos > pos && in->pos <= in->len);
    if (!field->size_update) {
        CHECK(field->name.len + field->value.len <= side->cap);
        fuzz_sum_view(&side->fields, field->name);
        fuzz_sum_view(&side->fields, field->value);
        fuzz_sum_u64(&side->fields, field->never_indexed);
    }
    return s;
}

/* --- what the encoder writes (I7) --- */

static void check_encoded(const struct hpack_field *field)
{
    static uint8_t bytes[2u * H2_CLIENT_FIELD_BYTES];
    static struct side again;
    if (field->name.len == 0u) {
        return;
    }
    struct writer out = writer_of(bytes, sizeof bytes);
    hpack_encode(&out, field->name, field->value, field->never_indexed);
    CHECK(!out.full);
    hpack_decoder_init(&again.d, 0);
    again.cap = sizeof again.room;
    struct reader in = reader_of(writer_view(&out));
    struct hpack_field back;
    CHECK(decode(&again, &in, true, &back) == STATUS_OK && reader_left(&in) == 0u);
    CHECK(view_equal(back.name, field->name) && view_equal(back.value, field->value));
    CHECK(back.never_indexed == field->never_indexed && again.d.count == 0u);
#ifndef FUZZ_ALONE
    static nghttp2_hd_inflater *inflater; /* one for all: nothing is ever indexed */
    CHECK(inflater != NULL || nghttp2_hd_inflate_new(&inflater) == 0);
    nghttp2_nv nv;
    int flags = 0;
    ssize_t used = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, bytes, out.len, 1);
    CHECK(used == (ssize_t)out.len && (flags & NGHTTP2_HD_INFLATE_EMIT) != 0);
    CHECK(view_equal(view_of(nv.name, nv.namelen), field->name));
    CHECK(view_equal(view_of(nv.value, nv.valuelen), field->value));
    CHECK(nghttp2_hd_inflate_get_dynamic_table_size(inflater) == 0);
    nghttp2_hd_inflate_end_headers(inflater);
#endif
}

/* --- the other decoder (I6) --- */

#ifndef FUZZ_ALONE

/* Takes an integer's octets off; true: it has more of them, or is larger, than we take. */
static bool long_integer(struct reader *in, unsigned prefix_bits, uint64_t *value)
{
    uint8_t octet = 0;
    unsigned more = 0;
    uint64_t mask = (1u << prefix_bits) - 1u;
    bool there = reader_u8(in, &octet) == STATUS_OK;
    *value = octet & mask;
    if (*value < mask) {
        return false;
    }
    for (octet = 0x80; there && (octet & 0x80u) != 0u && more < 9u; more++) {
        there = reader_u8(in, &octet) == STATUS_OK;
        *value += there ? (uint64_t)(octet & 0x7fu) << (7u * more) : 0u;
    }
    return more > INTEGER_OCTETS_MAX || *value > HPACK_INTEGER_MAX;
}

/* Whether the representation at the front has an integer beyond HPACK_INTEGER_MAX or its octets. */
static bool beyond_integers(struct reader in)
{
    /* RFC 7541 §6, by the upper four bits of the first octet */
    static const uint8_t prefix_bits[16] = {4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7};
    uint8_t first = reader_left(&in) > 0u ? in.data[in.pos] : 0u;
    unsigned bits = prefix_bits[first >> 4];
    uint64_t value = 0;
    if (long_integer(&in, bits, &value)) {
        return true;
    }
    unsigned strings = (bits == 7u || bits == 5u) ? 0u : (value == 0u) ? 2u : 1u;
    for (unsigned i = 0; i < strings; i++) {
        struct view skipped;
        if (long_integer(&in, 7, &value)) {
            return true;
        }
        if (reader_consume(&in, (size_t)value, &skipped) != STATUS_OK) {
            return false;
        }
    }
    return false;
}

/* Compares nghttp2's octets with those in the ring, of which the last is followed by the first. */
static bool ring_holds(const struct hpack_decoder *d, size_t offset, struct view octets)
{
    bool same = true;
    for (size_t i = 0; i < octets.len; i++) {
        same = same && d->ring[(offset + i) % HPACK_TABLE_BYTES] == octets.data[i];
    }
    return same;
}

static void check_table(const struct hpack_decoder *d)
{
    CHECK(nghttp2_hd_inflate_get_dynamic_table_size(theirs) == d->used);
    size_t entries = nghttp2_hd_inflate_get_num_table_entries(theirs);
    CHECK(entries == 61u + d->count);
    for (uint32_t i = 0; i < d->count; i++) {
        const struct hpack_entry *e = &d->entries[(d->first + i) % HPACK_ENTRIES_MAX];
        const nghttp2_nv *nv = nghttp2_hd_inflate_get_table_entry(theirs, 62u + i);
        CHECK(nv != NULL && nv->namelen == e->name_len && nv->valuelen == e->value_len);
        CHECK(ring_holds(d, e->offset, view_of(nv->name, nv->namelen)));
        size_t value_offset = (size_t)e->offset + e->name_len;
        CHECK(ring_holds(d, value_offset, view_of(nv->value, nv->valuelen)));
    }
}

/* Their fields of a block; false when they refuse it. *longest is that of name and value. */
static bool their_block(struct view block, struct fuzz_sum *fields, size_t *longest)
{
    const uint8_t *at = block.data;
    size_t left = block.len;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(theirs, &nv, &flags, at, left, 1);
        if (used < 0) {
            return false;
        }
        at += used;
        left -= (size_t)used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            size_t both = nv.namelen + nv.valuelen;
            *longest = (both > *longest) ? both : *longest;
            fuzz_sum_view(fields, view_of(nv.name, nv.namelen));
            fuzz_sum_view(fields, view_of(nv.value, nv.valuelen));
            fuzz_sum_u64(fields, (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0);
        }
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            break;
        }
    }
    nghttp2_hd_inflate_end_headers(theirs);
    return true;
}

/* `s` is our verdict, of what `rest` begins with unless OK; `fields` were counted before. */
static void compare(const struct side *ours, struct view block, struct fuzz_sum before,
                    enum status s, struct reader rest)
{
    size_t longest = 0;
    if (block.len == 0u) {
        return;
    }
    bool accepted = their_block(block, &before, &longest);
    if (s == STATUS_OK) {
        CHECK(accepted && before.value == ours->fields.value);
        check_table(&ours->d);
    } else if (s == FULL_BUFFER) {
        CHECK(!accepted || longest > ours->cap);
    } else {
        CHECK(!accepted || beyond_integers(rest));
    }
}

#endif

/* --- one block, whole and in pieces --- */

/* STATUS_OK, or the verdict that ended the block; *in stands before what it was about. */
static enum status whole_block(struct side *side, struct reader *in)
{
    bool start = true;
    enum status s = STATUS_OK;
    while (s == STATUS_OK && reader_left(in) > 0u) {
        struct hpack_field field;
        s = decode(side, in, start, &field);
        start = start && s == STATUS_OK && field.size_update;
        if (s == STATUS_OK && !field.size_update) {
            check_encoded(&field);
        }
    }
    return s;
}

/* The same while the block arrives piece by piece. */
static enum status cut_block(struct side *side, struct view block, struct fuzz_cuts *cuts)
{
    struct reader in = {.data = block.data, .len = 0, .pos = 0};
    bool start = true;
    enum status s = STATUS_OK;
    while (s == STATUS_OK && in.pos < block.len) {
        struct hpack_field field = {.size_update = false};
        in.len += (in.pos == in.len) ? fuzz_cut(cuts, block.len - in.len) : 0u;
        s = decode(side, &in, start, &field);
        start = start && (s == STATUS_MORE || field.size_update);
        if (s == STATUS_MORE && in.len < block.len) {
            in.len += fuzz_cut(cuts, block.len - in.len);
            s = STATUS_OK;
        }
    }
    return s;
}

static void init_side(struct side *side, uint32_t table, size_t cap)
{
    hpack_decoder_init(&side->d, table);
    side->fields = fuzz_sum_of();
    side->cap = cap;
}

static void init_theirs(uint32_t table)
{
#ifndef FUZZ_ALONE
    static const uint8_t none = 0x20; /* the update that they want to see first */
    nghttp2_nv nv;
    int flags = 0;
    CHECK(nghttp2_hd_inflate_new(&theirs) == 0);
    if (table == 0u) {
        CHECK(nghttp2_hd_inflate_change_table_size(theirs, 0) == 0);
        CHECK(nghttp2_hd_inflate_hd2(theirs, &nv, &flags, &none, 1, 1) == 1);
        nghttp2_hd_inflate_end_headers(theirs);
    }
#else
    (void)table;
#endif
}

/* false: the connection would end here. */
static bool run_block(struct side *whole, struct side *cut, struct view block,
                      struct fuzz_cuts *cuts)
{
    struct fuzz_sum before = whole->fields;
    struct reader in = reader_of(block);
    enum status s = whole_block(whole, &in);
    CHECK(cut_block(cut, block, cuts) == s && cut->fields.value == whole->fields.value);
    CHECK(cut->d.used == whole->d.used && cut->d.count == whole->d.count);
#ifndef FUZZ_ALONE
    compare(whole, block, before, s, in);
#else
    (void)before;
#endif
    return s == STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t rooms[] = {H2_SERVER_FIELD_BYTES, H2_CLIENT_FIELD_BYTES, 64, 1};
    static struct side whole;
    static struct side cut;
    struct fuzz f = fuzz_of(data, size);
    struct fuzz_cuts cuts = fuzz_cuts_of(data, size, 1);
    uint8_t kind = fuzz_u8(&f);
    uint32_t table = (kind & 1u) != 0u ? 0u : HPACK_TABLE_BYTES;
    init_side(&whole, table, rooms[kind >> 1 & 3u]);
    init_side(&cut, table, rooms[kind >> 1 & 3u]);
    init_theirs(table);
    bool going = true;
    while (going && fuzz_left(&f) > 0u) {
        size_t len = fuzz_u8(&f);
        struct view block = fuzz_bytes(&f, (len == 255u) ? fuzz_u16(&f) : len);
        uint8_t *copy = fuzz_copy(block.data, block.len);
        going = run_block(&whole, &cut, view_of(copy, block.len), &cuts);
        free(copy);
    }
#ifndef FUZZ_ALONE
    nghttp2_hd_inflate_del(theirs);
#endif
    return 0;
}
