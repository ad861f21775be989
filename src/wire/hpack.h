/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK header compression, RFC 7541: a decoder with its dynamic table and an encoder without one.
 * Owns the dynamic table of one connection; knows nothing of frames, streams or header semantics.
 *
 * Invariants:
 * I1. Bounded table: at most allowed_size by the count of RFC 7541 §4.1, and `used` is the sum of
 *     its live entries (hpack_valid, after every call).
 * I2. Bounded output: a field fits the scratch handed in, else FULL_BUFFER.
 * I3. Only STATUS_OK changes cursor and table. A failure is nevertheless final for the connection,
 *     because the table may differ from the peer's (RFC 7541 §2.2).
 * I4. Progress: each STATUS_OK consumes at least an octet, so there are no more fields than octets.
 * I5. Split independence: however a block is cut, the same fields come out, then the same status.
 * I6. Agreement: input that this decoder accepts gives the same fields and table in any other
 *     decoder. Input that RFC 7541 allows is refused in three cases only: an integer over
 *     HPACK_INTEGER_MAX, an integer of more than four continuation octets, a field longer than the
 *     scratch.
 * I7. Round trip: what hpack_encode writes decodes to the same field in every decoder, and leaves
 *     its table unchanged.
 */
#ifndef WIRE_HPACK_H
#define WIRE_HPACK_H

#include "base/bytes.h"
#include "cfg/limits.h"

/* One entry of the dynamic table. */
struct hpack_entry {
    uint16_t offset; /* offset of the name in the ring; the value follows the name */
    uint16_t name_len;
    uint16_t value_len;
};

/* The dynamic table of one connection, and its limits in the octets of RFC 7541 §4.1. */
struct hpack_decoder {
    uint32_t max_size;     /* current limit, set by size updates */
    uint32_t allowed_size; /* our SETTINGS_HEADER_TABLE_SIZE */
    uint32_t used;         /* size of the live entries, counted by RFC 7541 §4.1 */
    uint16_t first;        /* newest entry's position in `entries` */
    uint16_t count;
    uint16_t ring_head; /* next free byte in `ring` */
    struct hpack_entry entries[HPACK_ENTRIES_MAX];
    uint8_t ring[HPACK_TABLE_BYTES]; /* entries may wrap around its end */
};

/* One decoded representation. */
struct hpack_field {
    struct view name; /* valid until the next call with the same decoder or scratch */
    struct view value;
    bool never_indexed; /* RFC 7541 §6.2.3 */
    bool size_update;   /* not a field: a dynamic table size update, RFC 7541 §6.3 */
};

/*
 * Initializes an empty table; `allowed_size` <= HPACK_TABLE_BYTES is our announced setting (0 for
 * the client role).
 */
void hpack_decoder_init(struct hpack_decoder *d, uint32_t allowed_size);
/* Whether the invariants above hold: for assertions and tests. */
bool hpack_valid(const struct hpack_decoder *d);
/*
 * Decodes one representation from the front of `in`. `block_start`: only size updates were decoded
 * in this block so far. Strings are decoded into `scratch` (cap = longest field), which is
 * overwritten. An empty name is not a compression error; the reader of the header list decides.
 * - STATUS_OK: a field or, if field->size_update is set, a table size update.
 * - STATUS_MORE: the representation is incomplete; the cursor is unchanged.
 * - PEER_MALFORMED: compression error.
 * - FULL_BUFFER: the field is longer than the scratch.
 */
MUST_USE enum status hpack_decode(struct hpack_decoder *d, struct reader *in, bool block_start,
                                  struct writer *scratch, struct hpack_field *field);
/*
 * Appends one field without Huffman coding, in one of three forms:
 * - `sensitive`: a never-indexed literal (RFC 7541 §7.1.3), for tokens;
 * - name and value are in the static table: an indexed field;
 * - otherwise: a literal without indexing.
 * A literal uses an index for a name that the static table has. `out->full` is set when the field
 * does not fit.
 */
void hpack_encode(struct writer *out, struct view name, struct view value, bool sensitive);
/*
 * Decodes a Huffman string, RFC 7541 §5.2. PEER_MALFORMED: EOS, wrong or too long padding.
 * FULL_BUFFER: no room.
 */
MUST_USE enum status hpack_huffman_decode(struct view in, struct writer *out);

#endif
