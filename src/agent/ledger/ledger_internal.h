/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the ledger share: halves of the store (ledger_half.c) and CDI files
 * (ledger_cdi.c). Owns nothing: the table is that of ledger.h. Included by ledger*.c alone.
 */
#ifndef AGENT_LEDGER_LEDGER_INTERNAL_H
#define AGENT_LEDGER_LEDGER_INTERNAL_H

#include "agent/ledger/ledger.h"

/* --- states --- */

/* Where each state of a slot may lead: bit n of an element, to state n. */
extern const uint8_t ledger_slot_moves[LEDGER_STATES];
/* The same of a record. */
extern const uint8_t ledger_record_moves[RECORD_STATES];
/* The same of the half that counts. */
extern const uint8_t ledger_flush_moves[FLUSH_STATES];

/* Moves a slot, and counts what is held and what is freeing; ASSERTs that the move is legal. */
void ledger_move(struct agent *a, unsigned slot, enum ledger_state to);
/* Forgets all slots, without a move: they are loaded next, or another agent owns the store. */
void ledger_clear(struct agent *a);
/* How well the record of the entry is known from now on; ASSERTs that the move is legal. */
void ledger_move_record(struct ledger_entry *e, enum ledger_record to);
/* What is known of the half that counts; ASSERTs that the move is legal. */
void ledger_move_flush(struct ledger_entry *e, enum ledger_flush to);

/* --- the table --- */

/*
 * A slot for a record of `uid`: the one in which an earlier one waits to be freed, else a free one;
 * -1: there is none.
 */
int ledger_free_slot(const struct agent *a, const char *uid);
/*
 * Whether what a held claim has is in the way of the record of another one. `joined`: of the same
 * device both have shares or parts.
 */
bool ledger_in_the_way(const struct agent *a, const struct ledger_entry *e,
                       const struct claim_record *r, bool joined);
/* Device numbers of a held claim, as the node's devices are numbered now. */
uint64_t ledger_numbers_of(const struct agent *a, const struct ledger_entry *e);
/* What the claim in `slot` has of the devices of the one in `to` is not its own any more. */
void ledger_give_functions(struct agent *a, unsigned slot, unsigned to);
/* The functions that the record of a claim holds, each with a place in the table from now on. */
uint64_t ledger_functions(struct agent *a, const struct claim_record *r);
/* The slot in which what is left of `uid` waits to be freed, or -1. */
int ledger_freeing_slot(const struct agent *a, const char *uid);

/* --- halves of the store --- */

/*
 * Fills *out, from its start, with what a file of the state directory has from `at` on. HOST_IO:
 * the disk could not read it twice; an error that passes is no damage. Other HOST_*: as files.read.
 */
MUST_USE enum status state_read(const struct agent *a, const char *file, uint64_t at,
                                struct writer *out);
/*
 * Reads a half of a file of the store's form; its record stays in scratch.half. What the disk
 * cannot read (HOST_IO, twice) is damaged. Other HOST_*: the file cannot be opened.
 */
MUST_USE enum status half_read(struct agent *a, const char *file, unsigned slot, unsigned half,
                               struct store_half *out);
/*
 * Writes a slot's record, none for a free slot, with the next sequence. The half that a flush has
 * made safe stays, unless the disk refuses the other one and no record is replaced. HOST_*: both
 * are as they were, or damaged.
 */
MUST_USE enum status half_write(struct agent *a, unsigned slot, struct view record);
/*
 * Writes what the slot holds: its record, or that its claim was unprepared. Then the slot is free,
 * or, while the CDI file cannot be removed, released. HOST_*: as of half_write.
 */
MUST_USE enum status slot_write(struct agent *a, unsigned slot);
/* Writes the half that counts once more. HOST_DAMAGED: it cannot be read. */
MUST_USE enum status half_copy(struct agent *a, unsigned slot);
/* Writes what counts into the damaged half too; what the disk refuses stays damaged. */
void half_heal(struct agent *a, unsigned slot);
/* A record that was read from the slot's half that counts, or is written there: kept in memory. */
void record_keep(struct agent *a, unsigned slot, const struct claim_record *r);
/* Room for a record of no slot, until another one is read. */
struct claim_record *record_room(struct agent *a);
/*
 * Whether the half that counts has a whole record: *r, valid until the next one is read. Also of a
 * slot whose claim is unsure.
 */
bool half_names(struct agent *a, unsigned slot, const struct claim_record **r);
/* The record of a slot, if memory has it; else NULL. */
const struct claim_record *record_kept(struct agent *a, unsigned slot);
/*
 * Enters what the bytes of a record say: HELD, as OUTLINE if only that is understood.
 * HOST_DAMAGED: not even that.
 */
MUST_USE enum status record_enter(struct agent *a, unsigned slot, struct view record);
/*
 * The record of a slot that is held, or released, as bytes, from what knows it best: the store,
 * memory, the CDI file; in the end its outline, as which it is known then. Of a claim that is
 * unsure the outline has all that it holds. They stay in scratch.record.
 */
struct view record_bytes(struct agent *a, unsigned slot);
/* The store failed: logs that, but only once until it works again. */
void store_failed(struct agent *a, const char *doing, enum status s);
/* A store that vanished, by the status of a call, is made again from memory with the next step. */
void store_check(struct agent *a, enum status s);
/* Flushes what was loaded and may be in the page cache alone. Failures are left for later. */
void flush_doubted(struct agent *a);

/* --- the header --- */

/* Bytes of each of the two copies. */
#define STORE_HEADER_COPY_BYTES (STORE_HEADER_BYTES / 2u)

/*
 * Writes the flags into both header copies; one is safe before the other one is touched. HOST_*:
 * they may be in one of them.
 */
MUST_USE enum status flags_write(struct agent *a);
/* Writes header copy 0 or 1 of the file `name`, without a flush. HOST_*: it is not written. */
MUST_USE enum status header_write_copy(struct agent *a, const char *name, unsigned copy);

/* --- what a damaged half leaves in doubt --- */

/* After a load: what damaged halves may have said is held too, or asked for at the API server. */
void doubt_judge(struct agent *a);
/*
 * After conflicts are settled: damaged halves are logged, and replaced as soon as nothing depends
 * on them any more.
 */
void doubt_settle(struct agent *a);

/* --- CDI files --- */

/*
 * The claim's CDI file is made or replaced, and before it the device metadata files that it mounts.
 * FULL_BUFFER, HOST_*: `why` gets one line.
 */
MUST_USE enum status cdi_put(struct agent *a, const struct claim_record *r, struct writer *why);
/* The CDI file becomes a tombstone. HOST_ABSENT: there is none; other HOST_*: it stays. */
MUST_USE enum status cdi_bury(struct agent *a, const char *uid);
/* Makes a tombstone where there was no CDI file. */
MUST_USE enum status cdi_mark_gone(struct agent *a, const char *uid);
/* HOST_*: it is still there. */
MUST_USE enum status cdi_remove(struct agent *a, const char *uid);
/* The tombstone goes, if there is one. HOST_*: it may still be there; reconciliation removes it. */
MUST_USE enum status cdi_unmark(struct agent *a, const char *uid);
void cdi_failed(struct agent *a, const char *uid, enum status s);

#endif
