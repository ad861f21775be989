/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK decoder, RFC 7541 §5 and §6: one representation at a time from bytes that may end
 * anywhere. Owns integers, strings and representations; the tables are in hpack_table.c, Huffman
 * in hpack_huffman.c.
 *
 * A representation is parsed completely before anything is changed, so that STATUS_MORE costs
 * only its few length octets and leaves table and cursor as they were.
 */
#include "base/assert.h"
#include "wire/hpack_internal.h"

enum representation_kind { INDEXED, LITERAL_INDEXING, SIZE_UPDATE, LITERAL_NEVER, LITERAL };

/* RFC 7541 §6: the first octet distinguishes them. */
static const struct {
    uint8_t mask;
    uint8_t pattern;
    uint8_t prefix_bits;
    uint8_t kind;
} first_octets[] = {
    {0x80, 0x80, 7, INDEXED},          /* §6.1 */
    {0xc0, 0x40, 6, LITERAL_INDEXING}, /* §6.2.1 */
    {0xe0, 0x20, 5, SIZE_UPDATE},      /* §6.3 */
    {0xf0, 0x10, 4, LITERAL_NEVER},    /* §6.2.3 */
    {0xf0, 0x00, 4, LITERAL},          /* §6.2.2 */
};
#define FIRST_OCTETS (sizeof first_octets / sizeof first_octets[0])

/* Continuation octets of an integer: 4 of 7 bits hold more than HPACK_INTEGER_MAX. */
#define INTEGER_OCTETS_MAX 4u
_Static_assert(HPACK_INTEGER_MAX < (uint32_t)1u << (7u * INTEGER_OCTETS_MAX),
               "integers must fit their octets");
_Static_assert(HPACK_INTEGER_MAX >= 255u, "a full prefix must be in range");

struct literal_string {
    struct view octets;
    bool huffman;
};

struct representation {
    enum representation_kind kind;
    uint32_t integer;            /* index, or the new size */
    struct literal_string name;  /* only of a literal with index 0 */
    struct literal_string value; /* only of a literal */
};

/* RFC 7541 §5.1. The first octet gives `prefix_bits` bits. */
static enum status integer(struct reader *in, unsigned prefix_bits, uint32_t *value)
{
    ASSERT(prefix_bits >= 4u && prefix_bits <= 7u);
    uint8_t octet;
    enum status s = reader_u8(in, &octet);
    if (s != STATUS_OK) {
        return s;
    }
    uint32_t prefix_max = (1u << prefix_bits) - 1u;
    uint32_t sum = octet & prefix_max;
    if (sum < prefix_max) {
        *value = sum;
        return STATUS_OK;
    }
    for (unsigned i = 0; i < INTEGER_OCTETS_MAX; i++) {
        s = reader_u8(in, &octet);
        if (s != STATUS_OK) {
            return s;
        }
        uint32_t part = ((uint32_t)octet & 0x7fu) << (7u * i);
        if (part > HPACK_INTEGER_MAX - sum) {
            return PEER_MALFORMED;
        }
        sum += part;
        if ((octet & 0x80u) == 0u) {
            *value = sum;
            return STATUS_OK;
        }
    }
    return PEER_MALFORMED;
}

/* RFC 7541 §5.2, without decoding. */
static enum status string(struct reader *in, struct literal_string *out)
{
    if (reader_left(in) == 0u) {
        return STATUS_MORE;
    }
    out->huffman = (in->data[in->pos] & 0x80u) != 0u;
    uint32_t len;
    enum status s = integer(in, 7, &len);
    return s == STATUS_OK ? reader_take(in, len, &out->octets) : s;
}

static enum status parse_literal(struct reader *in, struct representation *rep)
{
    ASSERT(rep->kind != INDEXED && rep->kind != SIZE_UPDATE);
    if (rep->integer == 0u) {
        enum status s = string(in, &rep->name);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return string(in, &rep->value);
}

static enum status parse(struct reader *in, struct representation *rep)
{
    ASSERT(in->pos <= in->len);
    if (reader_left(in) == 0u) {
        return STATUS_MORE;
    }
    uint8_t octet = in->data[in->pos];
    size_t row = 0;
    while ((octet & first_octets[row].mask) != first_octets[row].pattern) {
        row++;
        ASSERT(row < FIRST_OCTETS);
    }
    rep->kind = (enum representation_kind)first_octets[row].kind;
    enum status s = integer(in, first_octets[row].prefix_bits, &rep->integer);
    if (s != STATUS_OK || rep->kind == INDEXED || rep->kind == SIZE_UPDATE) {
        return s;
    }
    return parse_literal(in, rep);
}

static enum status resolve_string(const struct literal_string *literal, struct writer *scratch)
{
    ASSERT(!scratch->full);
    if (literal->huffman) {
        return hpack_huffman_decode(literal->octets, scratch);
    }
    if (literal->octets.len > writer_room(scratch)) {
        return FULL_BUFFER;
    }
    writer_append(scratch, literal->octets);
    return STATUS_OK;
}

/* Name, then value, into the scratch; *name_len is where the name ends. */
static enum status resolve(const struct hpack_decoder *d, const struct representation *rep,
                           struct writer *scratch, size_t *name_len)
{
    ASSERT(rep->kind != SIZE_UPDATE && scratch->len == 0u);
    bool literal_name = rep->kind != INDEXED && rep->integer == 0u;
    enum status s = literal_name ? resolve_string(&rep->name, scratch)
                                 : hpack_table_name(d, rep->integer, scratch);
    if (s != STATUS_OK) {
        return s;
    }
    *name_len = scratch->len;
    return rep->kind == INDEXED ? hpack_table_value(d, rep->integer, scratch)
                                : resolve_string(&rep->value, scratch);
}

/* RFC 7541 §4.2: only at the start of a block, never above what we announced. */
static enum status size_update(struct hpack_decoder *d, uint32_t size, bool block_start,
                               struct hpack_field *field)
{
    ASSERT(d->allowed_size <= HPACK_TABLE_BYTES);
    if (!block_start || size > d->allowed_size) {
        return PEER_MALFORMED;
    }
    hpack_table_resize(d, size);
    *field = (struct hpack_field){.size_update = true};
    return STATUS_OK;
}

enum status hpack_decode(struct hpack_decoder *d, struct reader *in, bool block_start,
                         struct writer *scratch, struct hpack_field *field)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX && d->used <= d->max_size);
    ASSERT(in->pos <= in->len);
    struct reader r = *in;
    struct representation rep = {.kind = INDEXED};
    enum status s = parse(&r, &rep);
    if (s != STATUS_OK) {
        return s;
    }
    *scratch = writer_of(scratch->data, scratch->cap);
    if (rep.kind == SIZE_UPDATE) {
        s = size_update(d, rep.integer, block_start, field);
    } else {
        size_t name_len = 0;
        s = resolve(d, &rep, scratch, &name_len);
        if (s == STATUS_OK) {
            struct view both = writer_view(scratch);
            field->name = view_first(both, name_len);
            field->value = view_from(both, name_len);
            field->never_indexed = rep.kind == LITERAL_NEVER;
            field->size_update = false;
        }
    }
    if (s == STATUS_OK && rep.kind == LITERAL_INDEXING) {
        hpack_table_insert(d, field->name, field->value);
    }
    if (s == STATUS_OK) {
        in->pos = r.pos;
    }
    return s;
}
