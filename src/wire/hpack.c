/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK, RFC 7541: tables (§2.3, §4), Huffman codes (§5.2), a decoder that reads one representation
 * at a time from bytes that may end anywhere (§5, §6), and an encoder. The encoder uses no dynamic
 * table and no Huffman codes, so it has no state that could differ from the peer's.
 *
 * The octets of the live entries are contiguous in the ring and end at ring_head: the oldest entry
 * comes first, and each name comes before its value. Eviction removes the oldest entry, so the free
 * part of the ring is contiguous as well.
 *
 * The decoder parses a representation completely before it changes anything. STATUS_MORE therefore
 * leaves the table and the cursor unchanged, and only a few length octets are parsed twice.
 */
#include "wire/hpack.h"

#include <string.h>

#include "base/assert.h"
#include "generated/hpack_huffman.h"
#include "generated/hpack_static.h"

/* --- the static and the dynamic table --- */

/*
 * RFC 7541 §4.1: the size of an entry is the length of its name and its value plus this overhead.
 */
#define ENTRY_OVERHEAD 32u

_Static_assert(HPACK_TABLE_BYTES / ENTRY_OVERHEAD <= HPACK_ENTRIES_MAX,
               "the smallest entries must fit into the entry array");
_Static_assert(HPACK_TABLE_BYTES <= UINT16_MAX, "ring offsets are 16 bits wide");

static uint32_t entry_size(const struct hpack_entry *e)
{
    ASSERT(e->name_len <= HPACK_TABLE_BYTES && e->value_len <= HPACK_TABLE_BYTES);
    return (uint32_t)e->name_len + e->value_len + ENTRY_OVERHEAD;
}

/* Returns the entry of the dynamic table with this age; the newest entry has age 0. */
static const struct hpack_entry *entry_at(const struct hpack_decoder *d, uint32_t age)
{
    ASSERT(age < d->count);
    return &d->entries[(d->first + age) % HPACK_ENTRIES_MAX];
}

void hpack_decoder_init(struct hpack_decoder *d, uint32_t allowed_size)
{
    ASSERT(allowed_size <= HPACK_TABLE_BYTES);
    d->max_size = allowed_size;
    d->allowed_size = allowed_size;
    d->used = 0;
    d->first = 0;
    d->count = 0;
    d->ring_head = 0;
}

bool hpack_valid(const struct hpack_decoder *d)
{
    if (d->max_size > d->allowed_size || d->allowed_size > HPACK_TABLE_BYTES ||
        d->count > HPACK_ENTRIES_MAX || d->first >= HPACK_ENTRIES_MAX) {
        return false;
    }
    uint32_t used = 0;
    uint32_t end = d->ring_head;
    for (uint32_t age = 0; age < d->count; age++) {
        const struct hpack_entry *e = entry_at(d, age);
        uint32_t octets = (uint32_t)e->name_len + e->value_len;
        if ((e->offset + octets) % HPACK_TABLE_BYTES != end % HPACK_TABLE_BYTES) {
            return false;
        }
        end = e->offset;
        used += entry_size(e);
    }
    return used == d->used && used <= d->max_size;
}

static void evict_to(struct hpack_decoder *d, uint32_t limit)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX);
    for (uint32_t left = d->count; left > 0u && d->used > limit; left--) {
        d->used -= entry_size(entry_at(d, left - 1u));
        d->count--;
    }
    ASSERT(d->used <= limit);
}

/* Sets the size limit of the table and evicts the entries beyond it (RFC 7541 §4.3). */
static void table_resize(struct hpack_decoder *d, uint32_t max_size)
{
    ASSERT(max_size <= d->allowed_size);
    evict_to(d, max_size);
    d->max_size = max_size;
}

static void ring_append(struct hpack_decoder *d, struct view v)
{
    ASSERT(v.len <= HPACK_TABLE_BYTES && d->ring_head < HPACK_TABLE_BYTES);
    size_t to_end = HPACK_TABLE_BYTES - d->ring_head;
    struct view head = view_first(v, to_end);
    struct view tail = view_from(v, to_end);
    if (head.len > 0u) {
        memcpy(d->ring + d->ring_head, head.data, head.len);
    }
    if (tail.len > 0u) {
        memcpy(d->ring, tail.data, tail.len);
    }
    d->ring_head = (uint16_t)((d->ring_head + v.len) % HPACK_TABLE_BYTES);
}

/* Adds the newest entry; an entry larger than the table only empties it (RFC 7541 §4.4). */
static void table_insert(struct hpack_decoder *d, struct view name, struct view value)
{
    size_t size = name.len + value.len + ENTRY_OVERHEAD;
    if (size > d->max_size) {
        evict_to(d, 0);
        return;
    }
    evict_to(d, d->max_size - (uint32_t)size);
    ASSERT(d->count < HPACK_ENTRIES_MAX);
    d->first = (uint16_t)((d->first + HPACK_ENTRIES_MAX - 1u) % HPACK_ENTRIES_MAX);
    d->entries[d->first] = (struct hpack_entry){
        .offset = d->ring_head,
        .name_len = (uint16_t)name.len,
        .value_len = (uint16_t)value.len,
    };
    ring_append(d, name);
    ring_append(d, value);
    d->count++;
    d->used += (uint32_t)size;
    ASSERT(d->used <= d->max_size);
}

/*
 * Returns the name of the entry with this index in the static table, whose first entry has index 1
 * (RFC 7541 Appendix A). static_value returns the value of the entry.
 */
static struct view static_name(uint32_t index)
{
    ASSERT(index >= 1u && index <= HPACK_STATIC_ENTRIES);
    const struct hpack_static_entry *s = &hpack_static_table[index - 1u];
    return view_of(hpack_static_texts + s->at, s->name_len);
}

static struct view static_value(uint32_t index)
{
    ASSERT(index >= 1u && index <= HPACK_STATIC_ENTRIES);
    const struct hpack_static_entry *s = &hpack_static_table[index - 1u];
    return view_of(hpack_static_texts + s->at + s->name_len, s->value_len);
}

static enum status append_view(struct writer *out, struct view v)
{
    ASSERT(!out->full);
    if (v.len > writer_room(out)) {
        return FULL_BUFFER;
    }
    writer_append(out, v);
    return STATUS_OK;
}

static enum status ring_copy(const struct hpack_decoder *d, uint32_t offset, size_t len,
                             struct writer *out)
{
    if (len > writer_room(out)) {
        return FULL_BUFFER;
    }
    uint32_t start = offset % HPACK_TABLE_BYTES;
    ASSERT(len <= HPACK_TABLE_BYTES);
    uint32_t to_end = HPACK_TABLE_BYTES - start;
    size_t head = len < to_end ? len : to_end;
    writer_bytes(out, d->ring + start, head);
    writer_bytes(out, d->ring, len - head);
    return STATUS_OK;
}

/* Returns the dynamic entry with this index; NULL: there is none. */
static const struct hpack_entry *dynamic_entry(const struct hpack_decoder *d, uint32_t index)
{
    ASSERT(index > HPACK_STATIC_ENTRIES);
    uint32_t age = index - HPACK_STATIC_ENTRIES - 1u;
    return age < d->count ? entry_at(d, age) : NULL;
}

/*
 * Appends the name of the entry with this index (RFC 7541 §2.3.3) to `out`; table_value appends its
 * value. PEER_MALFORMED: index 0 or past the last entry. FULL_BUFFER: no room; nothing was
 * appended.
 */
static enum status table_name(const struct hpack_decoder *d, uint32_t index, struct writer *out)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX && !out->full);
    if (index == 0u) {
        return PEER_MALFORMED;
    }
    if (index <= HPACK_STATIC_ENTRIES) {
        return append_view(out, static_name(index));
    }
    const struct hpack_entry *e = dynamic_entry(d, index);
    return e == NULL ? PEER_MALFORMED : ring_copy(d, e->offset, e->name_len, out);
}

/* Appends the value of an entry whose name table_name has found. */
static enum status table_value(const struct hpack_decoder *d, uint32_t index, struct writer *out)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX && !out->full && index != 0u);
    if (index <= HPACK_STATIC_ENTRIES) {
        return append_view(out, static_value(index));
    }
    const struct hpack_entry *e = dynamic_entry(d, index);
    ASSERT(e != NULL);
    return ring_copy(d, (uint32_t)e->offset + e->name_len, e->value_len, out);
}

/* --- decoding Huffman codes, by the canonical rows in generated/ --- */

/* Input bits not yet decoded: the lowest `count` bits of `bits`. */
struct bit_window {
    uint64_t bits;
    unsigned count;
};

/*
 * Finds the row of the Huffman code at the start of `window` in hpack_huffman_rows.
 * HPACK_HUFFMAN_ROWS: the code is EOS.
 */
static unsigned row_of(uint32_t window)
{
    for (unsigned i = 0; i < HPACK_HUFFMAN_ROWS; i++) {
        const struct hpack_huffman_row *row = &hpack_huffman_rows[i];
        if (window - row->first < (uint32_t)row->count << (32u - row->length)) {
            return i;
        }
    }
    return HPACK_HUFFMAN_ROWS;
}

/*
 * Returns the next 32 bits of the input, the first of them as the highest bit. If fewer bits are
 * left, the low bits are ones.
 */
static uint32_t peek_bits(const struct bit_window *w)
{
    ASSERT(w->count < 64u);
    if (w->count >= 32u) {
        return (uint32_t)(w->bits >> (w->count - 32u));
    }
    unsigned missing = 32u - w->count;
    uint64_t ones = ((uint64_t)1 << missing) - 1u;
    return (uint32_t)((w->bits << missing) | ones);
}

static void refill_bits(struct bit_window *w, struct view in, size_t *pos)
{
    ASSERT(*pos <= in.len && w->count < 64u);
    for (unsigned i = 0; i < 4u && *pos < in.len && w->count < 32u; i++) {
        w->bits = (w->bits << 8) | in.data[*pos];
        w->count += 8u;
        *pos += 1;
    }
}

/* Whether the bits that are left are only padding: at most 7 bits, all ones (RFC 7541 §5.2). */
static bool is_padding(const struct bit_window *w)
{
    ASSERT(w->count < 64u);
    uint64_t ones = ((uint64_t)1 << (w->count % 8u)) - 1u;
    return w->count < 8u && (w->bits & ones) == ones;
}

static enum status decode_symbols(struct view in, struct writer *out)
{
    struct bit_window w = {0, 0};
    size_t pos = 0;
    /*
     * A symbol has at least HPACK_HUFFMAN_LENGTH_MIN bits, so the input has at most symbols_max
     * symbols.
     */
    size_t symbols_max = in.len * 8u / HPACK_HUFFMAN_LENGTH_MIN + 1u;
    for (size_t i = 0; i < symbols_max; i++) {
        refill_bits(&w, in, &pos);
        if (is_padding(&w)) {
            return STATUS_OK;
        }
        uint32_t window = peek_bits(&w);
        unsigned row = row_of(window);
        if (row == HPACK_HUFFMAN_ROWS || hpack_huffman_rows[row].length > w.count) {
            break;
        }
        const struct hpack_huffman_row *r = &hpack_huffman_rows[row];
        if (writer_room(out) == 0u) {
            return FULL_BUFFER;
        }
        uint32_t rank = (window - r->first) >> (32u - r->length);
        ASSERT(rank < r->count);
        writer_u8(out, hpack_huffman_symbols[r->offset + rank]);
        w.count -= r->length;
        w.bits &= ((uint64_t)1 << w.count) - 1u;
    }
    return PEER_MALFORMED;
}

enum status hpack_huffman_decode(struct view in, struct writer *out)
{
    ASSERT(out != NULL && !out->full);
    size_t before = out->len;
    enum status s = decode_symbols(in, out);
    if (s != STATUS_OK) {
        out->len = before;
    }
    ASSERT(out->len <= out->cap);
    return s;
}

/* --- decoding one representation --- */

enum representation_kind { INDEXED, LITERAL_INDEXING, SIZE_UPDATE, LITERAL_NEVER, LITERAL };

/* Kinds of representations by the bits of their first octet, RFC 7541 §6. */
static const struct {
    uint8_t mask;
    uint8_t pattern;
    uint8_t prefix_bits;
    uint8_t kind;
} first_octets[] = {
    /* RFC 7541 §6.1: the index of a table entry, which gives both name and value */
    {0x80, 0x80, 7, INDEXED},
    /* RFC 7541 §6.2.1: a literal that is added to the dynamic table */
    {0xc0, 0x40, 6, LITERAL_INDEXING},
    {0xe0, 0x20, 5, SIZE_UPDATE},   /* RFC 7541 §6.3: a dynamic table size update */
    {0xf0, 0x10, 4, LITERAL_NEVER}, /* RFC 7541 §6.2.3: a literal that must never be indexed */
    /* RFC 7541 §6.2.2: a literal that is not added to the dynamic table */
    {0xf0, 0x00, 4, LITERAL},
};
#define FIRST_OCTETS (sizeof first_octets / sizeof first_octets[0])

/*
 * Maximum number of continuation octets of an integer: four octets, with 7 bits each, can hold
 * HPACK_INTEGER_MAX.
 */
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
    /* index of a table entry, or the new table size of a size update */
    uint32_t integer;
    struct literal_string name;  /* name of the field; set only for a literal with index 0 */
    struct literal_string value; /* value of the field; set only for a literal */
};

/*
 * Parses an integer (RFC 7541 §5.1) whose first octet, which has arrived, holds a prefix of
 * `prefix_bits` bits.
 */
static enum status parse_integer(struct reader *in, unsigned prefix_bits, uint32_t *value)
{
    ASSERT(prefix_bits >= 4u && prefix_bits <= 7u);
    uint8_t octet;
    enum status s = reader_u8(in, &octet);
    ASSERT(s == STATUS_OK);
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

/* Parses a string literal (RFC 7541 §5.2), but leaves Huffman decoding to resolve_string. */
static enum status parse_string(struct reader *in, struct literal_string *out)
{
    if (reader_left(in) == 0u) {
        return STATUS_MORE;
    }
    out->huffman = (in->data[in->pos] & 0x80u) != 0u;
    uint32_t len;
    enum status s = parse_integer(in, 7, &len);
    return s == STATUS_OK ? reader_consume(in, len, &out->octets) : s;
}

static enum status parse_literal(struct reader *in, struct representation *rep)
{
    ASSERT(rep->kind != INDEXED && rep->kind != SIZE_UPDATE);
    if (rep->integer == 0u) {
        enum status s = parse_string(in, &rep->name);
        if (s != STATUS_OK) {
            return s;
        }
    }
    return parse_string(in, &rep->value);
}

static enum status parse_representation(struct reader *in, struct representation *rep)
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
    enum status s = parse_integer(in, first_octets[row].prefix_bits, &rep->integer);
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

/* Writes the name, then the value, into `scratch`; *name_len is the length of the name. */
static enum status resolve_field(const struct hpack_decoder *d, const struct representation *rep,
                                 struct writer *scratch, size_t *name_len)
{
    ASSERT(rep->kind != SIZE_UPDATE && scratch->len == 0u);
    bool literal_name = rep->kind != INDEXED && rep->integer == 0u;
    enum status s =
        literal_name ? resolve_string(&rep->name, scratch) : table_name(d, rep->integer, scratch);
    if (s != STATUS_OK) {
        return s;
    }
    *name_len = scratch->len;
    return rep->kind == INDEXED ? table_value(d, rep->integer, scratch)
                                : resolve_string(&rep->value, scratch);
}

/*
 * Applies a table size update. PEER_MALFORMED: the update is not at the start of a block, or
 * exceeds our SETTINGS_HEADER_TABLE_SIZE (RFC 7541 §4.2).
 */
static enum status size_update(struct hpack_decoder *d, uint32_t size, bool block_start,
                               struct hpack_field *field)
{
    ASSERT(d->allowed_size <= HPACK_TABLE_BYTES);
    if (!block_start || size > d->allowed_size) {
        return PEER_MALFORMED;
    }
    table_resize(d, size);
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
    enum status s = parse_representation(&r, &rep);
    if (s != STATUS_OK) {
        return s;
    }
    *scratch = writer_of(scratch->data, scratch->cap);
    if (rep.kind == SIZE_UPDATE) {
        s = size_update(d, rep.integer, block_start, field);
    } else {
        size_t name_len = 0;
        s = resolve_field(d, &rep, scratch, &name_len);
        if (s == STATUS_OK) {
            struct view both = writer_view(scratch);
            field->name = view_first(both, name_len);
            field->value = view_from(both, name_len);
            field->never_indexed = rep.kind == LITERAL_NEVER;
            field->size_update = false;
        }
    }
    if (s == STATUS_OK && rep.kind == LITERAL_INDEXING) {
        table_insert(d, field->name, field->value);
    }
    if (s == STATUS_OK) {
        in->pos = r.pos;
    }
    return s;
}

/* --- encoding one field --- */

struct static_match {
    uint32_t exact; /* index of an entry with this name and value; 0: no such entry */
    uint32_t name;  /* index of the first entry with this name; 0: no such entry */
};

static struct static_match static_find(struct view name, struct view value)
{
    struct static_match match = {0, 0};
    for (uint32_t i = 1; i <= HPACK_STATIC_ENTRIES && match.exact == 0u; i++) {
        if (!view_equal(name, static_name(i))) {
            continue;
        }
        if (match.name == 0u) {
            match.name = i;
        }
        if (view_equal(value, static_value(i))) {
            match.exact = i;
        }
    }
    ASSERT(match.exact == 0u || match.name != 0u);
    return match;
}

/* Writes an integer (RFC 7541 §5.1); `pattern` fills the bits above the prefix. */
static void write_integer(struct writer *out, uint8_t pattern, unsigned prefix_bits, size_t value)
{
    ASSERT(value <= HPACK_INTEGER_MAX);
    uint32_t prefix_max = ((uint32_t)1u << prefix_bits) - 1u;
    if (value < prefix_max) {
        writer_u8(out, (uint8_t)(pattern | value));
        return;
    }
    writer_u8(out, (uint8_t)(pattern | prefix_max));
    size_t rest = value - prefix_max;
    while (rest >= 0x80u) {
        writer_u8(out, (uint8_t)(0x80u | (rest & 0x7fu)));
        rest >>= 7;
    }
    writer_u8(out, (uint8_t)rest);
}

static void write_string(struct writer *out, struct view v)
{
    ASSERT(v.len == 0u || v.data != NULL);
    write_integer(out, 0x00, 7, v.len);
    writer_append(out, v);
}

void hpack_encode(struct writer *out, struct view name, struct view value, bool sensitive)
{
    ASSERT(name.len > 0u);
    struct static_match match = static_find(name, value);
    if (match.exact != 0u && !sensitive) {
        write_integer(out, 0x80, 7, match.exact);
        return;
    }
    write_integer(out, sensitive ? 0x10 : 0x00, 4, match.name);
    if (match.name == 0u) {
        write_string(out, name);
    }
    write_string(out, value);
}
