/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK tables, RFC 7541 §2.3: static entries from generated/, dynamic entries in a ring of octets.
 * Owns the life of dynamic entries (insertion, eviction); reads no input.
 *
 * The octets of live entries lie in the ring one after the other, oldest first, each entry's name
 * before its value, and end at ring_head; eviction takes the oldest, so the free part is one
 * piece as well.
 */
#include <string.h>

#include "base/assert.h"
#include "generated/hpack_static.h"
#include "wire/hpack_internal.h"

_Static_assert(HPACK_TABLE_BYTES / HPACK_ENTRY_OVERHEAD <= HPACK_ENTRIES_MAX,
               "the smallest entries must fit into the entry array");
_Static_assert(HPACK_TABLE_BYTES <= UINT16_MAX, "ring offsets are 16 bits wide");

static uint32_t entry_size(const struct hpack_entry *e)
{
    ASSERT(e->name_len <= HPACK_TABLE_BYTES && e->value_len <= HPACK_TABLE_BYTES);
    return (uint32_t)e->name_len + e->value_len + HPACK_ENTRY_OVERHEAD;
}

/* Entry by age: 0 is the newest. */
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

void hpack_table_resize(struct hpack_decoder *d, uint32_t max_size)
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

void hpack_table_insert(struct hpack_decoder *d, struct view name, struct view value)
{
    size_t size = name.len + value.len + HPACK_ENTRY_OVERHEAD;
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

struct view hpack_static_name(uint32_t index)
{
    ASSERT(index >= 1u && index <= HPACK_STATIC_ENTRIES);
    const struct hpack_static_entry *s = &hpack_static_table[index - 1u];
    return view_of(hpack_static_texts + s->at, s->name_len);
}

struct view hpack_static_value(uint32_t index)
{
    ASSERT(index >= 1u && index <= HPACK_STATIC_ENTRIES);
    const struct hpack_static_entry *s = &hpack_static_table[index - 1u];
    return view_of(hpack_static_texts + s->at + s->name_len, s->value_len);
}

static enum status append(struct writer *out, struct view v)
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

/* The dynamic entry with this index, or NULL when there is none. */
static const struct hpack_entry *dynamic_entry(const struct hpack_decoder *d, uint32_t index)
{
    ASSERT(index > HPACK_STATIC_ENTRIES);
    uint32_t age = index - HPACK_STATIC_ENTRIES - 1u;
    return age < d->count ? entry_at(d, age) : NULL;
}

enum status hpack_table_name(const struct hpack_decoder *d, uint32_t index, struct writer *out)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX && !out->full);
    if (index == 0u) {
        return PEER_MALFORMED;
    }
    if (index <= HPACK_STATIC_ENTRIES) {
        return append(out, hpack_static_name(index));
    }
    const struct hpack_entry *e = dynamic_entry(d, index);
    return e == NULL ? PEER_MALFORMED : ring_copy(d, e->offset, e->name_len, out);
}

enum status hpack_table_value(const struct hpack_decoder *d, uint32_t index, struct writer *out)
{
    ASSERT(d->count <= HPACK_ENTRIES_MAX && !out->full);
    if (index == 0u) {
        return PEER_MALFORMED;
    }
    if (index <= HPACK_STATIC_ENTRIES) {
        return append(out, hpack_static_value(index));
    }
    const struct hpack_entry *e = dynamic_entry(d, index);
    return e == NULL ? PEER_MALFORMED
                     : ring_copy(d, (uint32_t)e->offset + e->name_len, e->value_len, out);
}
