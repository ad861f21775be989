/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HPACK module share: the address space of static and dynamic table (RFC
 * 7541 §2.3). Owns no state of its own. Nobody outside src/wire/hpack*.c includes it.
 */
#ifndef WIRE_HPACK_INTERNAL_H
#define WIRE_HPACK_INTERNAL_H

#include "wire/hpack.h"

/* RFC 7541 §4.1: what an entry counts besides its octets. */
#define HPACK_ENTRY_OVERHEAD 32u

/* Name and value of the static entry with this index, from 1 (RFC 7541 Appendix A). */
struct view hpack_static_name(uint32_t index);
struct view hpack_static_value(uint32_t index);
/*
 * Appends name or value of the entry with this index (RFC 7541 §2.3.3) to `out`. PEER_MALFORMED:
 * index 0 or behind the last entry. FULL_BUFFER: no room; nothing is appended then.
 */
MUST_USE enum status hpack_table_name(const struct hpack_decoder *d, uint32_t index,
                                      struct writer *out);
MUST_USE enum status hpack_table_value(const struct hpack_decoder *d, uint32_t index,
                                       struct writer *out);
/*
 * RFC 7541 §4.4: evicts what must go; an entry larger than the table leaves it empty. Never
 * fails.
 */
void hpack_table_insert(struct hpack_decoder *d, struct view name, struct view value);
/* RFC 7541 §4.3; max_size <= allowed_size. */
void hpack_table_resize(struct hpack_decoder *d, uint32_t max_size);

#endif
