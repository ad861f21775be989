/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPACK header compression, RFC 7541: a decoder with a dynamic table and an encoder without one.
 * Owns the dynamic table of one connection; knows nothing about frames, streams or header
 * semantics.
 *
 * Invariants:
 * I1. Bounded table: the table's size, counted as in RFC 7541 §4.1, is at most allowed_size, and
 *     `used` is the total size of its live entries. hpack_valid checks this; it holds after every
 *     call.
 * I2. Bounded output: a field fits the caller's scratch; otherwise hpack_decode returns
 *     FULL_BUFFER.
 * I3. Only STATUS_OK changes the cursor and the table. A failure is nevertheless final for the
 *     connection, because the table may differ from the peer's (RFC 7541 §2.2).
 * I4. Progress: each STATUS_OK consumes at least an octet, so there are no more fields than octets.
 * I5. Split independence: the decoded fields and the final status do not depend on how a block is
 *     split.
 * I6. Agreement: every other decoder gets the same fields and table from input that this decoder
 *     accepts. This decoder refuses input that RFC 7541 allows in three cases only: an integer over
 *     HPACK_INTEGER_MAX, an integer of more than four continuation octets, a field longer than the
 *     scratch.
 * I7. Round trip: every decoder decodes the output of hpack_encode to the same field, and keeps its
 *     table unchanged.
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

/* The dynamic table of one connection, and its size limits, counted as in RFC 7541 §4.1. */
struct hpack_decoder {
    uint32_t max_size;     /* current limit of the table's size, set by size updates */
    uint32_t allowed_size; /* the SETTINGS_HEADER_TABLE_SIZE that we announced */
    uint32_t used;         /* size of the live entries, counted as in RFC 7541 §4.1 */
    uint16_t first;        /* index of the newest entry in `entries` */
    uint16_t count;
    uint16_t ring_head; /* next free byte in `ring` */
    struct hpack_entry entries[HPACK_ENTRIES_MAX];
    /* octets of the entries; after the last byte of the ring they continue at its first byte */
    uint8_t ring[HPACK_TABLE_BYTES];
};

/* One decoded representation. */
struct hpack_field {
    /* name of the field; valid until the next call with the same decoder or scratch */
    struct view name;
    struct view value;
    bool never_indexed; /* the field came as a never-indexed literal, RFC 7541 §6.2.3 */
    bool size_update;   /* not a field: a dynamic table size update, RFC 7541 §6.3 */
};

/*
 * Initializes an empty table; `allowed_size` <= HPACK_TABLE_BYTES is the SETTINGS_HEADER_TABLE_SIZE
 * that we announce (0: the peer must not index).
 */
void hpack_decoder_init(struct hpack_decoder *d, uint32_t allowed_size);
/* Whether the state of the table is consistent (invariant I1); for assertions and tests. */
bool hpack_valid(const struct hpack_decoder *d);
/*
 * Decodes one representation from the front of `in`. `block_start`: only size updates were decoded
 * in this block so far. The decoded name and value overwrite `scratch`, whose capacity limits the
 * length of a field. An empty name is not a compression error; the caller checks names.
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
 * Decodes a Huffman string, RFC 7541 §5.2. PEER_MALFORMED: the string contains EOS, or its padding
 * is wrong or too long. FULL_BUFFER: no room in `out`. A failure appends nothing.
 */
MUST_USE enum status hpack_huffman_decode(struct view in, struct writer *out);

#endif
