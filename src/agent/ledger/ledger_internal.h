/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the ledger*.c files share, among them those for halves of the store
 * (ledger_half.c) and CDI files (ledger_cdi.c). Owns nothing: ledger.h owns the table. Only
 * ledger*.c include this header.
 */
#ifndef AGENT_LEDGER_LEDGER_INTERNAL_H
#define AGENT_LEDGER_LEDGER_INTERNAL_H

#include "agent/ledger/ledger.h"

/* --- states of a slot of the claim table --- */

/*
 * Moves a slot to the state `to`, and updates ledger.held and ledger.freeing, which count slots by
 * state; ASSERTs that the move is legal.
 */
void ledger_move(struct agent *a, unsigned slot, enum ledger_state to);
/*
 * Empties all slots of the table, before the store is loaded or because another agent owns the
 * store now.
 */
void ledger_clear(struct agent *a);
/* Sets how well the record of a slot is known; ASSERTs that the move is legal. */
void ledger_move_record(struct ledger_entry *e, enum ledger_record to);
/* Sets whether the half that counts is on the disk; ASSERTs that the move is legal. */
void ledger_move_flush(struct ledger_entry *e, enum ledger_flush to);

/* --- the claim table --- */

/*
 * A slot for a record of `uid`: the slot in which an earlier record of the claim waits to be freed,
 * else a free slot; -1: there is none.
 */
int ledger_free_slot(const struct agent *a, const char *uid);
/*
 * Whether a held claim conflicts with `r`, the record of another claim. `joined`: both claims have
 * only shares or parts of devices, so that holding the same device is no conflict.
 */
bool ledger_in_the_way(const struct agent *a, const struct ledger_entry *e,
                       const struct claim_record *r, bool joined);
/* The device numbers of a held claim, according to the current numbering of the node. */
uint64_t ledger_numbers_of(const struct agent *a, const struct ledger_entry *e);
/* Removes from the claim in `slot` the EFA devices that the claim in `to` holds. */
void ledger_give_functions(struct agent *a, unsigned slot, unsigned to);
/*
 * Bits of ledger.function for the EFA devices that a record holds; adds new devices to
 * ledger.function.
 */
uint64_t ledger_functions(struct agent *a, const struct claim_record *r);
/* The slot of the released claim `uid`, if it is not free yet; else -1. */
int ledger_freeing_slot(const struct agent *a, const char *uid);
/*
 * Whether a slot other than `slot` frees the same claim. That is so after the release in one of the
 * two could not be written, and the claim was prepared again in the other one.
 */
bool ledger_freeing_beside(const struct agent *a, unsigned slot);

/* --- error texts about the store --- */

/*
 * Appends an error ("cannot be" and `doing`), the reason, and the remedy to `why`, which already
 * ends with the name of the file.
 */
void ledger_cannot_text(const struct agent *a, const char *doing, enum status s,
                        struct writer *why);

/* --- halves of the store --- */

/*
 * Reads a file of the state directory from offset `at` on, and fills *out from its start. Repeats a
 * failed read once, because a transient error is not damage. HOST_IO: both reads failed. Other
 * HOST_*: as files.read.
 */
MUST_USE enum status state_read(const struct agent *a, const char *file, uint64_t at,
                                struct writer *out);
/*
 * Reads a half of a file that has the format of the store; its record stays in scratch.half. A half
 * that the disk cannot read (HOST_IO of state_read) counts as damaged. HOST_*: the file cannot be
 * opened.
 */
MUST_USE enum status half_read(struct agent *a, const char *file, unsigned slot, unsigned half,
                               struct store_half *out);
/*
 * Writes the record of a slot, or an empty record for a free slot, with the next sequence number. A
 * half that a flush made safe is overwritten only if the other half is on a bad sector (HOST_IO)
 * and a torn write would lose no record that is still needed. HOST_*: each half is unchanged or
 * damaged.
 */
MUST_USE enum status half_write(struct agent *a, unsigned slot, struct view record);
/*
 * Writes the content of the slot: its record, or that its claim was released. Then removes the
 * tombstone that a failed release may have left for a held claim. HOST_*: as half_write, or the
 * tombstone cannot be removed.
 */
MUST_USE enum status slot_write(struct agent *a, unsigned slot);
/*
 * Writes the record of the half that counts once more, with the next sequence number. HOST_DAMAGED:
 * that half cannot be read; other HOST_*: as half_write.
 */
MUST_USE enum status half_copy(struct agent *a, unsigned slot);
/*
 * Copies the half that counts into the damaged half; if the write fails, the slot stays `damaged`.
 */
void half_heal(struct agent *a, unsigned slot);
/* Keeps in memory a copy of `r`, which is the record in the half that counts. */
void record_keep(struct agent *a, unsigned slot, const struct claim_record *r);
/*
 * Returns memory for one record that belongs to no slot; the memory is valid until another record
 * is read.
 */
struct claim_record *record_room(struct agent *a);
/*
 * Reads the record of the half that counts into *r, which is valid until the next record is read.
 * false: the half has no readable record. Also works for UNSURE records.
 */
bool half_names(struct agent *a, unsigned slot, const struct claim_record **r);
/* The record of a slot, if memory has a copy of it; else NULL. */
const struct claim_record *record_kept(struct agent *a, unsigned slot);
/*
 * Decodes the bytes of a record and enters the record into the slot, which becomes HELD with a
 * WHOLE record or an OUTLINE, or FREEING_FILE. HOST_DAMAGED: not even the outline is readable.
 */
MUST_USE enum status record_enter(struct agent *a, unsigned slot, struct view record);
/*
 * The bytes of the record of a held or released slot, in scratch.record. They are read from the
 * store, else copied from memory, else read from the CDI file. If none of these has the record, the
 * bytes are an outline of it, and the entry moves to OUTLINE. The outline of an UNSURE record has
 * all devices that the claim holds.
 */
struct view record_bytes(struct agent *a, unsigned slot);
/* Logs that the store failed; logs nothing while the store keeps failing with the same status. */
void store_failed(struct agent *a, const char *doing, enum status s);
/*
 * If `s` is HOST_ABSENT, the store file is gone: closes the store, so that the next step recreates
 * it from memory.
 */
void store_check(struct agent *a, enum status s);
/* Flushes the store file, records how long that took, and closes the store if its file is gone. */
MUST_USE enum status flush_store(struct agent *a);
/*
 * Flushes loaded records that may be only in the page cache. After a failure, the next call tries
 * again.
 */
void flush_doubted(struct agent *a);

/* --- the header of the store --- */

/* Length in bytes of each of the two copies of the header. */
#define STORE_HEADER_COPY_BYTES (STORE_HEADER_BYTES / 2u)

/*
 * Writes the store's flags into both copies of the header, the second one after a flush of the
 * first. HOST_*: one or both copies may lack the flags.
 */
MUST_USE enum status flags_write(struct agent *a);
/* Writes header copy 0 or 1 of the file `name`, without a flush. HOST_*: the write failed. */
MUST_USE enum status header_write_copy(struct agent *a, const char *name, unsigned copy);

/* --- damaged halves of the store --- */

/*
 * After a load, for each slot with a damaged half: unless a CDI file proves that the intact half is
 * newer, requests the list of claims at the API server, and holds the devices in the CDI file too.
 */
void doubt_judge(struct agent *a);
/*
 * Called after a load, when conflicts between slots are settled. Logs the damaged halves. Replaces
 * each damaged half, unless it must stay damaged so that the next process also treats the record of
 * its slot as UNSURE.
 */
void doubt_settle(struct agent *a);

/* --- CDI files of claims --- */

/*
 * Writes the device metadata files that the claim's CDI file mounts, then the CDI file.
 * FULL_BUFFER: the CDI file is too long; HOST_*: a file cannot be written. In both cases `why` gets
 * one line.
 */
MUST_USE enum status cdi_put(struct agent *a, const struct claim_record *r, struct writer *why);
/*
 * Renames the CDI file of a claim to a tombstone. HOST_ABSENT: there is no CDI file; other HOST_*:
 * the file still has its old name.
 */
MUST_USE enum status cdi_bury(struct agent *a, const char *uid);
/* Creates a tombstone for a claim that has no CDI file. */
MUST_USE enum status cdi_mark_gone(struct agent *a, const char *uid);
/* Removes the CDI file of a claim. HOST_*: the file still exists. */
MUST_USE enum status cdi_remove(struct agent *a, const char *uid);
/*
 * Removes the tombstone of a claim, if there is one. HOST_*: the tombstone may still exist;
 * reconciliation removes it later.
 */
MUST_USE enum status cdi_unmark(struct agent *a, const char *uid);
void cdi_failed(struct agent *a, const char *uid, enum status s);

#endif
