/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of the claim store: one file of fixed slots, two halves each, written alternately like a
 * flash translation layer. Owns the bytes and the rule which half counts; does no I/O.
 *
 * File: STORE_HEADER_BYTES of header (two copies, 4096 bytes apart), then CLAIMS_MAX slots of two
 * halves of STORE_HALF_BYTES. Numbers are big-endian.
 * Header copy: magic "NEURDRA1", u32 format (1), u32 slots, u32 half bytes, u32 reserved (0), u64
 * generation, u32 CRC-32C over all before it.
 * Half: magic "NDRS", u32 record length (0: the slot is free), u64 sequence, u32 CRC-32C over
 * magic, length, sequence, u32 slot number and record, u32 reserved (0); then the record
 * (proto/store.proto). What follows the record up to the half's end means nothing.
 *
 * The valid half with the higher sequence counts. A change writes the other half with the next
 * sequence, so that a write that was torn leaves what was before. A fresh file has every half
 * written as free: a half of zeros is damage and never "new". The slot number in the sum makes a
 * half in a wrong place damage too.
 *
 * Invariants:
 * I1 What is read as valid is written again as the same bytes.
 * I2 A half that was torn, or one byte of it changed, is damaged.
 * I3 A half is valid in its own slot alone.
 * I4 A record that is decoded is valid (claim_record_valid).
 * I5 A record that is encoded decodes to the same record.
 * I6 Fields that are not known change nothing.
 */
#ifndef DRA_STORE_H
#define DRA_STORE_H

#include "dra/claim.h"

#define STORE_SLOT_BYTES (UINT64_C(2) * STORE_HALF_BYTES) /* two halves */
/* The whole file. */
#define STORE_FILE_BYTES (STORE_HEADER_BYTES + (uint64_t)CLAIMS_MAX * STORE_SLOT_BYTES)
#define STORE_HALF_HEADER 24u    /* bytes before the record of a half */
#define STORE_HEADER_WRITTEN 36u /* bytes of a header copy; what follows means nothing */

/* What a header holds besides its constants: how often the file was created again. */
struct store_header {
    uint64_t generation;
};
/* One header copy: STORE_HEADER_WRITTEN bytes. */
void store_header_write(struct writer *out, const struct store_header *h);
/*
 * HOST_DAMAGED: not a header. PEER_UNSUPPORTED: a header with a valid checksum, but of another
 * format, number of slots or size of halves.
 */
MUST_USE enum status store_header_read(struct view bytes, struct store_header *h);

/* Offset in the file of half 0 or 1 of a slot. */
uint64_t store_offset(unsigned slot, unsigned half);

/* What the bytes of a half are. */
enum store_half_state { STORE_HALF_DAMAGED, STORE_HALF_FREE, STORE_HALF_RECORD };
/* One half as it was read. */
struct store_half {
    enum store_half_state state;
    uint64_t sequence;  /* 0 when damaged */
    struct view record; /* RECORD: encoded claim record, borrowed from the bytes read */
};
/* Judges the bytes of one half (STORE_HALF_BYTES, or fewer when the file is short). */
void store_half_read(struct view bytes, unsigned slot, struct store_half *out);
/* Writes a half: header and record (empty: free; at most STORE_RECORD_MAX). */
void store_half_write(struct writer *out, unsigned slot, uint64_t sequence, struct view record);
/*
 * Which half counts: 0, 1, or -1 when both are damaged. Of equal sequences, which never arise, 1.
 */
int store_pick(const struct store_half halves[2]);

/*
 * Record to bytes. The same record gives the same bytes in every process of one version.
 * FULL_BUFFER: no room in `out` (STORE_RECORD_MAX is room enough for every record); its length is
 * unmoved then.
 */
MUST_USE enum status store_record_encode(const struct claim_record *r, struct writer *out);
/*
 * Bytes to record; unknown fields are skipped. HOST_DAMAGED: not a record, a value outside its
 * bounds, or a device of a kind that this version does not know; `r` is all zero then, which is no
 * valid record.
 */
MUST_USE enum status store_record_decode(struct view bytes, struct claim_record *r);

#endif
