/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of the claim store, the file claims.store in the plugin directory: fixed slots, one for
 * each claim. Owns the layout, and the rule that decides which half of a slot is the current one;
 * does no I/O.
 *
 * All numbers are big-endian. A sum is CRC-32C (Castagnoli; RFC 3720 appendix B.4). The file has
 * 4,202,496 bytes; further bytes are ignored, and a shorter file is damaged.
 *
 *   offset  bytes
 *        0   4096  header, first copy
 *     4096   4096  header, second copy: the same bytes
 *     8192  16384  slot 0: half 0, then half 1
 *    24576  16384  slot 1; and so on to slot 255, which starts at 4,186,112
 *
 * Header copy. One intact copy is enough.
 *        0      8  "NEURDRA1"
 *        8      4  format: 1. The agent does not change a store of another format
 *       12      4  number of slots: 256
 *       16      4  bytes of a half: 8192
 *       20      4  flags. Bit 0: the agent must list the node's claims at the API server, because
 *                  there was no earlier store, or a part of the store was lost. The other bits are
 *                  0. Older agents ignore all flags
 *       24      8  generation: 1; unused
 *       32      4  sum of bytes 0 to 31
 *       36   4060  ignored
 *
 * Half of a slot:
 *        0      4  "NDRS"
 *        4      4  length of the record, 0 to 8128; 0: the half is free
 *        8      8  sequence
 *       16      4  sum of bytes 0 to 15, the number of the slot in 4 bytes, and the record
 *       20      4  reserved: 0
 *       24 length  record: message ClaimRecord of proto/store.proto
 *                  the rest of the half is ignored
 *
 * The current half of a slot is the intact half with the higher sequence; if the sequences are
 * equal, it is half 1. A change writes the other half, with a sequence higher than every other in
 * the file, so that a torn write leaves the previous state. The current half is overwritten only if
 * the other half cannot be written and the slot is free or is being freed.
 *
 * If one half is damaged, it may have been the newer half. As soon as a CDI file proves that the
 * intact half is the newer one, or bit 0 of the flags is set, the agent replaces the damaged half
 * with a copy of the intact half. If the claim may hold devices that the record of the intact half
 * lacks, the agent writes an outline of all these devices instead.
 *
 * In a new file, all halves are written as free; half 0 has sequence 0, and half 1 has sequence 1.
 * A half of zero bytes is therefore damaged, not new. The sum covers the number of the slot, so
 * that a half in the wrong slot reads as damaged.
 *
 * Versions: new releases only add fields to a record (proto/store.proto), and the format stays 1.
 * Older and newer agents read each other's records: an agent skips unknown fields. If an agent
 * cannot use a record, it still reads the claim and its devices (store_outline_decode). Agents from
 * before the field held_devices do not write that field, count sequences separately for each slot,
 * and treat an outline as a damaged record.
 *
 * Invariants:
 * I1 Writing a half that was read as valid results in the same bytes.
 * I2 A half that is torn, or has a changed byte in its header or record, reads as damaged.
 * I3 A half is valid only in its own slot.
 * I4 A decoded record is valid (claim_record_valid).
 * I5 An encoded record decodes to the same record, and to an outline with the same devices.
 * I6 Unknown fields do not change the result of decoding.
 * I7 If bytes decode both to a record and to an outline, both hold the same devices.
 */
#ifndef DRA_STORE_H
#define DRA_STORE_H

#include "dra/claim.h"

#define STORE_SLOT_BYTES (UINT64_C(2) * STORE_HALF_BYTES) /* size of a slot in bytes: two halves */
/* Size of the claim store's file, in bytes. */
#define STORE_FILE_BYTES (STORE_HEADER_BYTES + (uint64_t)CLAIMS_MAX * STORE_SLOT_BYTES)
#define STORE_HALF_HEADER 24u /* number of bytes of a half before its record */
/* number of bytes written of a header copy; the rest of the copy is ignored */
#define STORE_HEADER_WRITTEN 36u

/* The fields of a header that are not constant. The agent always writes generation 1. */
struct store_header {
    uint64_t generation;
    uint32_t flags;
};
#define STORE_UNLISTED 1u /* `flags`, bit 0: the agent must list the claims at the API server */
/* Writes one header copy, STORE_HEADER_WRITTEN bytes. */
void store_header_write(struct writer *out, const struct store_header *h);
/*
 * Reads one header copy. HOST_DAMAGED: the bytes are not a header, or the header is damaged.
 * PEER_UNSUPPORTED: a header with a valid checksum but another format, number of slots or size of
 * halves.
 */
MUST_USE enum status store_header_read(struct view bytes, struct store_header *h);

/* Offset in the store's file of half 0 or 1 of a slot, in bytes. */
uint64_t store_offset(unsigned slot, unsigned half);

/* The state of a half of a slot. */
enum store_half_state { STORE_HALF_DAMAGED, STORE_HALF_FREE, STORE_HALF_RECORD };
/* One half of a slot, as read from the claim store. */
struct store_half {
    enum store_half_state state;
    uint64_t sequence;  /* sequence number; 0 if the half is damaged */
    struct view record; /* STORE_HALF_RECORD: the encoded record, borrowed from the bytes read */
};
/* Reads one half and its state. `bytes`: STORE_HALF_BYTES, or fewer if the file is too short. */
void store_half_read(struct view bytes, unsigned slot, struct store_half *out);
/* Writes a half with `record`, at most STORE_RECORD_MAX bytes; an empty record frees the half. */
void store_half_write(struct writer *out, unsigned slot, uint64_t sequence, struct view record);
/*
 * Returns the current half of a slot, 0 or 1: the intact half with the higher sequence. -1: both
 * halves are damaged. If both have the same sequence, they are copies, and half 1 is the current
 * one.
 */
int store_pick(const struct store_half halves[2]);

/*
 * Encodes a record. The same version of the agent always encodes the same record to the same bytes.
 * FULL_BUFFER: `out` has too little room, and its length is unchanged. STORE_RECORD_MAX bytes are
 * enough for every record.
 */
MUST_USE enum status store_record_encode(const struct claim_record *r, struct writer *out);
/*
 * Decodes a record; skips unknown fields. HOST_DAMAGED: the bytes are not a whole record, a value
 * is out of bounds, the claim was released, or the claim holds devices through fields that this
 * version does not know. `r` is then all zero, which is not a valid record.
 */
MUST_USE enum status store_record_decode(struct view bytes, struct claim_record *r);

/*
 * The part of a record that every version understands. It is enough to keep the claim's devices
 * held and to release them.
 */
struct store_outline {
    struct claim_id id;
    uint64_t numbers; /* bit N: the claim holds device N, exclusively */
    bool released;    /* the claim was unprepared, but its CDI file still exists */
};
/* Decodes the outline of a record. HOST_DAMAGED: a name is invalid, or held_devices is absent. */
MUST_USE enum status store_outline_decode(struct view bytes, struct store_outline *o);
/*
 * Encodes a record that has only an outline. FULL_BUFFER: `out` has too little room, and its length
 * is unchanged.
 */
MUST_USE enum status store_outline_encode(const struct store_outline *o, struct writer *out);

#endif
