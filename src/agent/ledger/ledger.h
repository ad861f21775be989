/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table, with the claim store and the CDI files below it (ledger*.c). The files of this
 * room own struct ledger: no other file writes it. Internal to src/agent.
 *
 * Invariants, for any bytes in the store and any call of the files port that fails:
 * I1 A claim whose record is in the intact half that counts is held after opening, also when the
 *    store is made again, unless it has a tombstone or its claim a newer record in another slot.
 * I2 Nothing else is held by the store.
 * I3 A claim is held after ledger_put exactly when it was before or that returned STATUS_OK.
 * I4 What was put reads back the same.
 * I5 After ledger_sync, what is held and what is not survives a loss of power.
 * I6 A claim that was unprepared has a tombstone until the store is known not to hold it.
 */
#ifndef AGENT_LEDGER_LEDGER_H
#define AGENT_LEDGER_LEDGER_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "dra/store.h"

/* What a slot is used for. */
enum ledger_state {
    LEDGER_FREE,         /* nothing is left of what it held */
    LEDGER_HELD,         /* its claim holds devices */
    LEDGER_FREEING,      /* its claim was released: the next flushes free the slot */
    LEDGER_FREEING_FILE, /* released too, but its CDI file is left, and the record says so */
    LEDGER_STATES
};

/* How well the record of a held claim is known. */
enum ledger_record {
    RECORD_WHOLE,   /* it is understood, and answers a prepare */
    RECORD_OUTLINE, /* only the claim and its device numbers are understood */
    RECORD_UNSURE,  /* a newer record of the claim may be lost; see ledger_doubt.c */
    RECORD_STATES
};

/* Whether the half that counts is safe on the disk. */
enum ledger_flush {
    FLUSH_SETTLED, /* a flush made it safe */
    FLUSH_DUE,     /* it was written since the last good flush */
    FLUSH_DOUBTED, /* it was loaded, and may be in the page cache alone */
    FLUSH_STATES
};

/*
 * What memory keeps of each slot; the slot's record is on the disk. The functions of
 * ledger_states.c alone change the three states. The flags are facts beside them.
 */
struct ledger_entry {
    enum ledger_state state;
    enum ledger_record record; /* meaningless while FREE */
    enum ledger_flush flush;
    uint8_t half;   /* which half counts */
    bool damaged;   /* the other half is damaged, or the disk refuses it: a fact of the disk */
    bool refused;   /* the disk refused the last write, in both halves: a fact of the disk */
    bool tombstone; /* HELD: a release that failed may have left a tombstone, whatever the record */
    bool guessed;   /* HELD: its cores are not certain, so no claim shares its devices */
    bool shares;    /* HELD: of each of its devices it holds a share, see claim_shares */
    uint8_t cores;  /* of its one device, if it holds a part of that; 0: it holds no part */
    bool zero_numbering;
    bool metadata;               /* it has device metadata files */
    uint8_t logical_neuron_core; /* the first one that the claim asks for, 0: none */
    uint64_t held_ms;            /* when this process entered the record */
    uint64_t sequence;           /* of that half */
    uint64_t entered; /* sequence under which the record was entered; copies of it have others */
    uint64_t numbers; /* device numbers held, exclusively or by shares, bit N */
    uint64_t container_numbers; /* device numbers in its containers, bit N */
    /*
     * EFA driver: bit N is set when the claim holds ledger.function[N], exclusively or by shares.
     * All bits: the table has no room for its devices, so it counts as holding every one. 0: only
     * its device numbers are known.
     */
    uint64_t functions;
};

/*
 * Writes one sentence: the path of the store, or of the file that becomes it, what could not be
 * done, why, and the remedy.
 */
void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why);
/*
 * Why the last call of the store or the files port failed, and what to do: static text or the
 * port's, never NULL.
 */
const char *ledger_reason(const struct agent *a, enum status s);
const char *ledger_remedy(const struct agent *a, enum status s);

/* --- what the table says --- */

/* Whether the store is open. */
bool ledger_is_usable(const struct agent *a);
/* Whether another agent owns the store: this one neither reads nor writes it. */
bool ledger_is_busy(const struct agent *a);
/* Whether claims that the store should have may be missing. */
bool ledger_is_unlisted(const struct agent *a);
/* Whether everything written is safe on the disk. */
bool ledger_is_flushed(const struct agent *a);
/* Number of held claims. */
unsigned ledger_held_count(const struct agent *a);
/* Whether the kubelet may still have to unprepare a claim, as far as the store tells. */
bool ledger_may_hold(const struct agent *a);
/* Why the store is not usable, or refused the last write; never NULL. */
const char *ledger_trouble(const struct agent *a);
/* By which the store refused the last write, or the CDI root the last file; STATUS_OK: neither. */
MUST_USE enum status ledger_failing(const struct agent *a);
MUST_USE enum status ledger_cdi_failing(const struct agent *a);
/* What an operator does about files that the CDI root refuses; NULL: it refused none. */
const char *ledger_cdi_remedy(const struct agent *a);
/* What memory keeps of a slot, and the claim that it holds or held last. Never NULL. */
const struct ledger_entry *ledger_entry(const struct agent *a, unsigned slot);
const struct claim_id *ledger_id(const struct agent *a, unsigned slot);
/* The claim that got the device of this number last. Never NULL; empty: none. */
const struct claim_id *ledger_last(const struct agent *a, unsigned number);

/* Whether the store was removed while it was open, and the next step makes it again. */
bool ledger_reopens(const struct agent *a);
/* Whether no claim can be added: no slot is free. */
bool ledger_full(const struct agent *a);
/* Tests with a file of its own, when that is due, whether the CDI root takes writes again. */
void ledger_try_cdi(struct agent *a);
/* Removes temporary files that a killed process left in the CDI root. */
void ledger_tidy(struct agent *a);
/*
 * Removes device metadata files whose claim is not held and has no CDI file: those of all claims,
 * or, if `uid` is not empty, those of one claim.
 */
void ledger_tidy_metadata(struct agent *a, const char *uid);
/* Whether the claim of the slot was released, and the slot is not free yet. */
static inline bool ledger_is_freeing(const struct ledger_entry *e)
{
    return e->state == LEDGER_FREEING || e->state == LEDGER_FREEING_FILE;
}
/* Slot that holds `uid`, or -1. */
int ledger_find(const struct agent *a, const char *uid);
/* Slot that holds `uid` with a record that is understood, or -1. */
int ledger_known(const struct agent *a, const char *uid);
/* Whether this slot holds `uid`. */
bool ledger_holds(const struct agent *a, unsigned slot, const char *uid);
/*
 * Whether `uid` was released and its slot is not free yet: its CDI file, if any, is to be removed.
 */
bool ledger_freeing(const struct agent *a, const char *uid);
/* The same, and its CDI file could neither be removed nor become a tombstone. */
bool ledger_freeing_file(const struct agent *a, const char *uid);
/* Enters the record into the slot. */
void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r);
/* Sets what the slot holds: these devices, or shares of them, no part, for this consumer. */
void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers, bool shares,
                 const struct claim_consumer *consumer);
/* Marks the slot as released and not yet written. The caller removes the CDI file. */
void ledger_set_freeing(struct agent *a, unsigned slot);
/* The consumer of the claim in a held slot; never NULL, empty when the claim holds no device. */
const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot);
/* Slot of another claim that holds one of the device numbers, or -1. */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * First slot, from `from` on, whose claim conflicts with the record of another claim, or -1. With
 * `sharing`, two claims that share devices (claim_joins) do not conflict.
 */
int ledger_rival(const struct agent *a, unsigned from, const struct claim_record *r, bool sharing);
/* Whether other claims may hold the rest of its devices, see claim_joins; never for a guess. */
bool ledger_shares_rest(const struct agent *a, const struct ledger_entry *e);
/*
 * Slot of a claim that conflicts with one that was prepared before the store was lost, or -1. Two
 * parts whose cores are not known do not conflict.
 */
int ledger_listed_rival(const struct agent *a, const struct claim_record *r);
/* Whether two slots hold one device, which they do not share, or one core of it. */
bool ledger_overlaps(const struct agent *a, const struct ledger_entry *x,
                     const struct ledger_entry *y);
/*
 * Slot of a claim whose record names devices or cores that the claim in this slot has too, or -1.
 * Damage brought one of the two back, so a prepare of this one is not answered.
 */
int ledger_disputed(const struct agent *a, unsigned slot);
/*
 * The API server lists a held claim, whose record is not WHOLE, with these devices: the slot holds
 * them too from now on. HOST_*: the store does not have that yet.
 */
MUST_USE enum status ledger_listed_claim(struct agent *a, unsigned slot,
                                         const struct claim_record *r);
/* The cores of a device of which other claims than `uid` have parts. */
uint8_t ledger_cores(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * Whether two held claims of the EFA driver conflict: they name one device, by its PCI address, or
 * two devices with the same uverbs node, which cannot be shared.
 */
bool ledger_functions_meet(const struct agent *a, const struct ledger_entry *x,
                           const struct ledger_entry *y, bool sharing);
/* Whether result `at` of the record conflicts with what the slot holds, if nothing is shared. */
bool ledger_contests(const struct agent *a, unsigned slot, const struct claim_record *r,
                     unsigned at);
/* Whether the slot holds, or may hold, the EFA device of this address. */
bool ledger_holds_address(const struct agent *a, unsigned slot, uint32_t address);
/*
 * Slot of a claim other than `uid` whose record names this uverbs node for another device, which
 * either left the node or still has that uverbs node; -1: none.
 */
int ledger_uverbs_holder(const struct agent *a, uint32_t address, uint16_t uverbs, const char *uid);
/* Whether a device of a held claim of the EFA driver has another uverbs node now. */
bool ledger_moved(const struct agent *a, unsigned slot);
/*
 * First slot whose claim holds the device, or a share or part of it. With `core` not negative: the
 * slot that has that core, if parts of the device are held. -1: none.
 */
int ledger_core_holder(const struct agent *a, unsigned number, int core);
/* All device numbers that claims hold, bit N. */
uint64_t ledger_numbers(const struct agent *a);
/* Whether a claim holds shares of devices. */
bool ledger_shares(const struct agent *a);
/*
 * Writes the CDI file, then the record; both replace those of a claim that is held. FULL_TABLE: no
 * free slot; FULL_BUFFER: the CDI file is too long; HOST_*: the store is not open, or the disk
 * refused. Then nothing has changed, and `why` gets one line.
 */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/*
 * The two steps of ledger_put: writes the CDI file, if there is a slot for the record; then, after
 * STATUS_OK, the record. The same statuses.
 */
MUST_USE enum status ledger_put_file(struct agent *a, const struct claim_record *r,
                                     struct writer *why);
MUST_USE enum status ledger_put_record(struct agent *a, const struct claim_record *r,
                                       unsigned *slot, struct writer *why);
/*
 * Holds a claim in the free slot that ledger_adopt chose, although the disk refused its record.
 * Until the disk takes the record, the next process finds the CDI file alone.
 */
void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot);
/*
 * As ledger_put, but writes the record alone: the CDI file exists. The caller checks that the
 * devices are free (ledger_holder).
 */
MUST_USE enum status ledger_adopt(struct agent *a, const struct claim_record *r, unsigned *slot,
                                  struct writer *why);
/*
 * The record of a held slot: from memory if it was written or read recently, else from the store.
 * *out is valid until a record of another slot is put or read. HOST_DAMAGED: the store does not
 * have it any more; PEER_UNSUPPORTED: it is not WHOLE; other HOST_*: the file cannot be read.
 */
MUST_USE enum status ledger_record(struct agent *a, unsigned slot, const struct claim_record **out);
/* Like ledger_record, but always from the store. The same statuses. */
MUST_USE enum status ledger_read(struct agent *a, unsigned slot, const struct claim_record **out);
/*
 * Makes sure that the store has the record of a held slot. A record whose release failed is written
 * again, because the disk may have done what it refused. HOST_*: the disk refused again; `why` gets
 * one line.
 */
MUST_USE enum status ledger_rewrite_refused(struct agent *a, unsigned slot, struct writer *why);
/*
 * Writes the CDI file of a record, unless it exists with this content. FULL_BUFFER, HOST_*: it
 * cannot be written; `why` gets one line.
 */
MUST_USE enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/* STATUS_OK: the claim has a CDI file; HOST_ABSENT: none; other HOST_*: the CDI root fails. */
MUST_USE enum status ledger_find_cdi_file(const struct agent *a, const char *uid);
/* Whether the claim has a CDI file, or may have one because the CDI root fails. */
bool ledger_has_cdi_file(const struct agent *a, const char *uid);
/* STATUS_OK: the claim has a tombstone; HOST_ABSENT: none; other HOST_*: the CDI root fails. */
MUST_USE enum status ledger_tombstone(const struct agent *a, const char *uid);
/* Reads the record in the claim's CDI file. HOST_DAMAGED: it has none; other HOST_*: no file. */
MUST_USE enum status ledger_read_cdi(struct agent *a, const char *uid, struct claim_record *r);
/*
 * Releases a claim: its CDI file becomes a tombstone, its record is freed, and the next flush
 * removes both. What the disk refuses is tried again, by the next process too. Succeeds for a claim
 * that was never seen. HOST_BUSY: another agent uses the store; HOST_*: the store is not open and
 * no tombstone can be made, or neither store nor CDI file can be changed. Then the claim stays as
 * it was, and `why` gets one line.
 */
MUST_USE enum status ledger_remove(struct agent *a, const char *uid, struct writer *why);
/* Flushes all writes since the last good flush at once. HOST_*: `why` gets one line. */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

#endif
