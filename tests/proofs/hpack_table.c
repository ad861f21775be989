/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK's dynamic table and the decoding of a whole representation, with a table of a few entries:
 * the sum of all entries (I1 of wire/hpack.h) holds after each call. What parse_representation and
 * the Huffman decoder promise are stubs; hpack.c of this folder proves both.
 */
#define PROOF_CONTENT_IS_ANY
#include "stubs.h"

#include "wire/hpack.c"

static struct hpack_decoder table;

static bool table_sound(const struct hpack_decoder *d)
{
    return hpack_valid(d) && d->ring_head < HPACK_TABLE_BYTES;
}

static struct hpack_decoder *any_table(void)
{
    __CPROVER_havoc_object(&table);
    for (unsigned i = 0; i < HPACK_ENTRIES_MAX; i++) {
        /* hpack_valid asserts it of the entries in use */
        ASSUME(table.entries[i].name_len <= HPACK_TABLE_BYTES);
        ASSUME(table.entries[i].value_len <= HPACK_TABLE_BYTES);
    }
    ASSUME(table_sound(&table));
    return &table;
}

/* proof_hpack_string: a representation whose strings lie in the input. */
enum status stub_parse_representation(struct reader *in, struct representation *rep)
{
    stub_check_reader(in);
    size_t left = in->len - in->pos;
    if (left == 0u || any_bool()) {
        return any_bool() ? STATUS_MORE : PEER_MALFORMED;
    }
    size_t used = 1u + any_length(left - 1u);
    size_t name = any_length(used);
    rep->kind = (enum representation_kind)(any_u8() % (LITERAL + 1u));
    rep->integer = any_u32();
    ASSUME(rep->integer <= HPACK_INTEGER_MAX);
    rep->name.huffman = any_bool();
    rep->name.octets = (struct view){in->data + in->pos, name};
    rep->value.huffman = any_bool();
    rep->value.octets = (struct view){in->data + in->pos + name, any_length(used - name)};
    in->pos += used;
    return STATUS_OK;
}

/* proof_hpack_huffman */
enum status stub_huffman_decode(struct view in, struct writer *out)
{
    stub_check_view(in);
    CHECK(!out->full && writer_sound(out));
    if (any_bool()) {
        return any_bool() ? PEER_MALFORMED : FULL_BUFFER;
    }
    out->len += any_length(out->cap - out->len);
    return STATUS_OK;
}

void proof_hpack_init(void)
{
    __CPROVER_havoc_object(&table);
    uint32_t size = any_u32();
    ASSUME(size <= HPACK_TABLE_BYTES);
    hpack_decoder_init(&table, size);
    CHECK(table_sound(&table));
}

void proof_hpack_insert(void)
{
    struct hpack_decoder *d = any_table();
    if (any_bool()) {
        uint32_t size = any_u32();
        ASSUME(size <= d->allowed_size);
        table_resize(d, size);
        CHECK(d->max_size == size);
    } else {
        table_insert(d, any_view(ANY_LENGTH), any_view(ANY_LENGTH));
    }
    CHECK(table_sound(d));
}

static bool same_table(const struct hpack_decoder *a, const struct hpack_decoder *b)
{
    return a->count == b->count && a->used == b->used && a->first == b->first &&
           a->max_size == b->max_size && a->ring_head == b->ring_head;
}

static bool verdict_known(enum status s)
{
    return s == STATUS_OK || s == STATUS_MORE || s == PEER_MALFORMED || s == FULL_BUFFER;
}

void proof_hpack_decode(void)
{
    struct hpack_decoder *d = any_table();
    struct hpack_decoder before = *d;
    struct reader in = any_reader(ANY_LENGTH);
    size_t begin = in.pos;
    size_t cap = any_length(ANY_LENGTH);
    struct writer scratch = {.data = any_memory(cap), .cap = cap};
    struct hpack_field field = {.size_update = false};
    enum status s = hpack_decode(d, &in, any_bool(), &scratch, &field);
    CHECK(verdict_known(s) && table_sound(d) && in.pos <= in.len);
    /* I3 and I4 of wire/hpack.h */
    CHECK(s == STATUS_OK ? in.pos > begin : in.pos == begin);
    CHECK(s == STATUS_OK || same_table(d, &before));
    /* I2 */
    if (s == STATUS_OK && !field.size_update) {
        struct view memory = view_of(scratch.data, cap);
        CHECK(view_within(field.name, memory) && view_within(field.value, memory));
    }
}
