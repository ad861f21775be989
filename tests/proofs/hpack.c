/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK: integers, strings, Huffman codes, the dynamic table and the encoder, on input of any
 * length. The table in its real size is proved for every state of its indices; insertion and
 * eviction, whose assertions follow from the sum of all entries, in a table of 4 entries.
 */
#include "stubs.h"

#include "wire/hpack.c"

/* The verdicts that leave the cursor where it was, and where it may be after success. */
static void check_cursor(const struct reader *r, const struct reader *before, enum status s)
{
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED);
    CHECK(r->data == before->data && r->len == before->len);
    CHECK(r->pos <= r->len && r->pos >= before->pos);
    CHECK(s != STATUS_OK || r->pos > before->pos);
}

void proof_hpack_integer(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct reader before = r;
    unsigned prefix = any_unsigned();
    ASSUME(prefix >= 4u && prefix <= 7u);
    uint32_t value = 0;
    enum status s = parse_integer(&r, prefix, &value);
    check_cursor(&r, &before, s);
    CHECK(s != STATUS_OK || value <= HPACK_INTEGER_MAX);
    CHECK(r.pos - before.pos <= 1u + INTEGER_OCTETS_MAX);
}

void proof_hpack_string(void)
{
    struct reader r = any_reader(ANY_LENGTH);
    struct reader before = r;
    struct view all = view_of(r.data, r.len);
    struct representation rep = {.kind = INDEXED};
    enum status s = parse_representation(&r, &rep);
    check_cursor(&r, &before, s);
    if (s != STATUS_OK) {
        return;
    }
    CHECK(rep.kind <= LITERAL && rep.integer <= HPACK_INTEGER_MAX);
    CHECK(view_within(rep.name.octets, all) && view_within(rep.value.octets, all));
}

void proof_hpack_huffman(void)
{
    struct view in = any_view(ANY_LENGTH);
    struct writer out = any_writer(ANY_LENGTH);
    ASSUME(!out.full);
    struct writer before = out;
    enum status s = hpack_huffman_decode(in, &out);
    CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(out.data == before.data && out.cap == before.cap && !out.full && writer_sound(&out));
    CHECK(s == STATUS_OK ? out.len >= before.len : out.len == before.len);
}

static struct hpack_decoder decoder;

/* Any state of the indices, as wide as their types and the checks of hpack_valid are. */
static struct hpack_decoder *any_decoder(void)
{
    struct hpack_decoder d;
    decoder = d;
    ASSUME(decoder.count <= HPACK_ENTRIES_MAX && decoder.first < HPACK_ENTRIES_MAX);
    ASSUME(decoder.max_size <= decoder.allowed_size && decoder.allowed_size <= HPACK_TABLE_BYTES);
    ASSUME(decoder.used <= decoder.max_size && decoder.ring_head < HPACK_TABLE_BYTES);
    return &decoder;
}

/* An index as a peer may send it; the entry that it names has lengths inside the ring. */
static uint32_t any_index(const struct hpack_decoder *d)
{
    uint32_t index = any_u32();
    ASSUME(index <= HPACK_INTEGER_MAX);
    if (index > HPACK_STATIC_ENTRIES && index - HPACK_STATIC_ENTRIES - 1u < d->count) {
        const struct hpack_entry *e = entry_at(d, index - HPACK_STATIC_ENTRIES - 1u);
        ASSUME(e->name_len <= HPACK_TABLE_BYTES && e->value_len <= HPACK_TABLE_BYTES);
    }
    return index;
}

void proof_hpack_ring(void)
{
    struct hpack_decoder *d = any_decoder();
    uint32_t index = any_index(d);
    struct writer out = any_writer(ANY_LENGTH);
    ASSUME(!out.full);
    struct writer before = out;
    if (any_bool()) {
        enum status s = any_bool() ? table_name(d, index, &out) : table_value(d, index, &out);
        CHECK(s == STATUS_OK || s == PEER_MALFORMED || s == FULL_BUFFER);
        CHECK(index != 0u || s == PEER_MALFORMED);
        CHECK(writer_sound(&out) && !out.full);
        CHECK(s == STATUS_OK ? out.len >= before.len : out.len == before.len);
    } else {
        struct view v = any_view(HPACK_TABLE_BYTES);
        ring_append(d, v);
        CHECK(d->ring_head < HPACK_TABLE_BYTES);
    }
}

enum status stub_huffman(struct view in, struct writer *out)
{
    CHECK(!out->full && writer_sound(out));
    size_t more = any_length(out->cap - out->len);
    if (any_bool()) {
        return any_bool() ? PEER_MALFORMED : FULL_BUFFER;
    }
    out->len += more;
    return STATUS_OK;
}

void proof_hpack_table(void)
{
    struct hpack_decoder *d = any_decoder();
    ASSUME(hpack_valid(d));
    uint8_t bytes[96];
    struct reader in = {.data = bytes, .len = any_length(sizeof bytes), .pos = 0};
    in.pos = any_length(in.len);
    struct reader before = in;
    uint8_t room[256];
    struct writer scratch = writer_of(room, sizeof room);
    struct hpack_field field = {.size_update = false};
    enum status s = hpack_decode(d, &in, any_bool(), &scratch, &field);
    CHECK(s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED || s == FULL_BUFFER);
    CHECK(hpack_valid(d));
    CHECK(s == STATUS_OK ? in.pos > before.pos && in.pos <= in.len : in.pos == before.pos);
    CHECK(view_within(field.name, view_of(room, sizeof room)));
    CHECK(view_within(field.value, view_of(room, sizeof room)));
}

void proof_hpack_encode(void)
{
    struct view name = any_view(HPACK_INTEGER_MAX);
    struct view value = any_view(HPACK_INTEGER_MAX);
    ASSUME(name.len > 0u);
    struct writer out = any_writer(ANY_LENGTH);
    size_t before = out.len;
    hpack_encode(&out, name, value, any_bool());
    CHECK(writer_sound(&out) && out.len >= before);
}
