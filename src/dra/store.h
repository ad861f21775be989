/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of the claim store, claims.store in the plugin directory: one file of fixed slots, one
 * slot for a claim. Owns the bytes and the rule which of them count; does no I/O.
 *
 * All numbers are big-endian. A sum is CRC-32C (Castagnoli; RFC 3720 appendix B.4). The file has
 * 4,202,496 bytes; what follows them means nothing, and a shorter file is damaged.
 *
 *   offset  bytes
 *        0   4096  header, first copy
 *     4096   4096  header, second copy: the same bytes
 *     8192  16384  slot 0: half 0, then half 1
 *    24576  16384  slot 1; and so on to slot 255, which starts at 4,186,112
 *
 * Header copy. One intact copy is enough.
 *        0      8  "NEURDRA1"
 *        8      4  format: 1. A reader leaves a store of another format alone
 *       12      4  number of slots: 256
 *       16      4  bytes of a half: 8192
 *       20      4  flags. Bit 0: the claims of the node have to be listed at the API server,
 *                  because no store was there before this one, or a part of it was lost. The
 *                  others are 0; agents that know none of them skip all
 *       24      8  generation: 1; not looked at
 *       32      4  sum of bytes 0 to 31
 *       36   4060  mean nothing
 *
 * Half of a slot:
 *        0      4  "NDRS"
 *        4      4  length of the record, 0 to 8128; 0: the half is free
 *        8      8  sequence
 *       16      4  sum of bytes 0 to 15, the number of the slot in 4 bytes, and the record
 *       20      4  reserved: 0
 *       24 length  record: message ClaimRecord of proto/store.proto
 *                  what follows the record up to the end of the half means nothing
 *
 * Of the two halves of a slot the intact one with the higher sequence counts. A change writes the
 * other half, with a sequence that is higher than every one in the file, so that a write that was
 * torn leaves what was before. Only when the disk refuses that half, and the slot is free or to be
 * free, is the half written that counts. A damaged half, perhaps the newer one, is replaced
 * by a copy of the other one or by an outline of all that the claim may hold, once a CDI file says
 * what it was or the header has bit 0. Of equal sequences half 1 counts.
 * A new file has all halves written as free, half 0 with sequence 0 and half 1 with 1: a
 * half of zeros is damage and never "new". The number of the slot is in the sum, so that a half in
 * a wrong place is damage too.
 *
 * Versions: fields of a record are only ever added (proto/store.proto), and format stays 1. Older
 * and newer agents read each other's records: what an agent does not know it skips, and a record
 * that it cannot make sense of still names the claim and the devices that it holds
 * (store_outline_decode). Agents that are older than held_devices wrote none, counted sequences
 * slot by slot, and take the record of an outline alone for damage.
 *
 * Invariants:
 * I1 What is read as valid is written again as the same bytes.
 * I2 A half that was torn, or one byte of it changed, is damaged.
 * I3 A half is valid in its own slot alone.
 * I4 A record that is decoded is valid (claim_record_valid).
 * I5 A record that is encoded decodes to the same record, and to its outline.
 * I6 Fields that are not known change nothing.
 * I7 A record that is decoded holds the devices of its outline, if it has one.
 */
#ifndef DRA_STORE_H
#define DRA_STORE_H

#include "dra/claim.h"

#define STORE_SLOT_BYTES (UINT64_C(2) * STORE_HALF_BYTES) /* two halves */
/* The whole file. */
#define STORE_FILE_BYTES (STORE_HEADER_BYTES + (uint64_t)CLAIMS_MAX * STORE_SLOT_BYTES)
#define STORE_HALF_HEADER 24u    /* bytes before the record of a half */
#define STORE_HEADER_WRITTEN 36u /* bytes of a header copy; what follows means nothing */

/* What a header holds besides its constants: how often the file was created again, and flags. */
struct store_header {
    uint64_t generation;
    uint32_t flags;
};
#define STORE_UNLISTED 1u /* in `flags`: bit 0 */
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
 * Which half counts: 0, 1, or -1 when both are damaged. Of equal sequences, which are copies, 1.
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
 * bounds, or devices held by something that this version does not know; `r` is all zero then, which
 * is no valid record.
 */
MUST_USE enum status store_record_decode(struct view bytes, struct claim_record *r);

/* What every version understands of a record, and enough to hold its devices and to free them. */
struct store_outline {
    struct claim_id id;
    uint64_t numbers; /* devices held exclusively, bit N */
    bool released;    /* the claim was unprepared, and only its CDI file is left */
};
/* HOST_DAMAGED: it has no usable names, or does not say what it holds. */
MUST_USE enum status store_outline_decode(struct view bytes, struct store_outline *o);
/* A record of nothing else. FULL_BUFFER: as store_record_encode. */
MUST_USE enum status store_outline_encode(const struct store_outline *o, struct writer *out);

#endif
