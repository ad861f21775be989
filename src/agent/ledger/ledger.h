/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table, and the claim store and CDI files that keep it on disk (ledger*.c). Only the
 * files of src/agent/ledger write struct ledger. Internal to src/agent.
 *
 * Invariants, whatever bytes the store has and whichever calls of the files port fail:
 * I1 After the store was opened or recreated, a claim is held if it has no tombstone and its newest
 *    record is in the half of a slot that counts: the newer intact half (store_pick).
 * I2 Opening the store restores no claims other than those of I1.
 * I3 After ledger_put, a claim is held if and only if it was held before or ledger_put returned
 *    STATUS_OK.
 * I4 A record that ledger_put wrote reads back unchanged.
 * I5 After ledger_sync, a loss of power does not change which claims are held.
 * I6 An unprepared claim has a tombstone until the store certainly no longer holds the claim.
 */
#ifndef AGENT_LEDGER_LEDGER_H
#define AGENT_LEDGER_LEDGER_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "dra/store.h"

/* What a slot of the claim table is used for. */
enum ledger_state {
    LEDGER_FREE,         /* the slot is empty */
    LEDGER_HELD,         /* the claim of the slot is prepared and held */
    LEDGER_FREEING,      /* the claim was released; later flushes free the slot */
    LEDGER_FREEING_FILE, /* claim released, as its record says, but its CDI file still exists */
    LEDGER_STATES
};

/* How well the record of a held claim is known. */
enum ledger_record {
    RECORD_WHOLE,   /* the whole record is decoded, so a repeated prepare can use it */
    RECORD_OUTLINE, /* only the claim and its device numbers are known */
    RECORD_UNSURE,  /* a newer record of the claim may be lost; see ledger_doubt.c */
    RECORD_STATES
};

/* Whether the half of a slot that counts, the newer intact one (store_pick), is on the disk. */
enum ledger_flush {
    FLUSH_SETTLED, /* the half that counts was flushed, so it is on the disk */
    FLUSH_DUE,     /* the half that counts was written since the last successful flush */
    FLUSH_DOUBTED, /* the half that counts was loaded, and may be only in the page cache */
    FLUSH_STATES
};

/*
 * The state of one slot, in memory; the slot's record is on the disk. Only the functions of
 * ledger_states.c change the three states; the flags do not depend on the states.
 */
struct ledger_entry {
    enum ledger_state state;
    enum ledger_record record; /* how well the record is known; undefined while the slot is FREE */
    enum ledger_flush flush;
    uint8_t half; /* 0 or 1: index of the half that counts, the newer intact one (store_pick) */
    bool damaged; /* the half other than `half` is damaged, or the last write to that half failed */
    /* the slot's last change is not on the disk: the write failed, or was not tried yet */
    bool refused;
    bool tombstone; /* if HELD: a failed release may have left a tombstone of the claim */
    /* if HELD: the claim's cores are guessed, so no new claim may share its devices */
    bool guessed;
    bool shares;   /* if HELD: the claim holds a share of each of its devices, see claim_shares */
    uint8_t cores; /* bit N: the claim holds core N of its only device; 0: no part of a device */
    bool zero_numbering;
    bool metadata;               /* the claim has device metadata files */
    uint8_t logical_neuron_core; /* first logicalNeuronCore in the claim's results; 0: none */
    uint64_t held_ms;            /* when this process entered the record into the table */
    uint64_t sequence;           /* sequence number of the record in the half that counts */
    /*
     * value of `sequence` when the record was entered into the table; a later copy of the record
     * changes only `sequence`
     */
    uint64_t entered;
    uint64_t numbers;           /* bit N: the claim holds device N, exclusively or by a share */
    uint64_t container_numbers; /* bit N: /dev/neuronN is in use in the claim's containers */
    /*
     * EFA driver: bit N is set when the claim holds ledger.function[N], exclusively or by a share.
     * All bits set: ledger.function was full, so the claim counts as holding every device. No bit
     * set: only the device numbers of the claim are known.
     */
    uint64_t functions;
};

/*
 * Appends one sentence to `why`: the path of `file` (the store, or the file that is renamed to it),
 * what could not be done, the reason, and the remedy. `doing`: a participle such as "written".
 */
void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why);
/*
 * ledger_reason returns why the last call of the store or of the files port returned the status
 * `s`; ledger_remedy returns what an operator must do about that. The texts are static or belong to
 * the port; never NULL.
 */
const char *ledger_reason(const struct agent *a, enum status s);
const char *ledger_remedy(const struct agent *a, enum status s);

/* --- queries of the claim table --- */

/* Whether the store is open. */
bool ledger_is_usable(const struct agent *a);
/* Whether another agent owns the store, so that this agent neither reads nor writes it. */
bool ledger_is_busy(const struct agent *a);
/* Whether the store may lack claims that were prepared on this node. */
bool ledger_is_unlisted(const struct agent *a);
/* Whether this process created the store, because the disk had no store and no part of one. */
bool ledger_is_created(const struct agent *a);
/* Whether all writes to the store have been flushed to the disk. */
bool ledger_is_flushed(const struct agent *a);
/* Number of held claims. */
unsigned ledger_held_count(const struct agent *a);
/*
 * Whether the kubelet may still have to unprepare a claim: a claim is held or being freed, or the
 * store may have lost a claim.
 */
bool ledger_may_hold(const struct agent *a);
/* Why the store is not usable, or why the last write or flush failed; never NULL. */
const char *ledger_trouble(const struct agent *a);
/* The error of the last attempt to open, write or flush the store; STATUS_OK: it did not fail. */
MUST_USE enum status ledger_failing(const struct agent *a);
/*
 * What an operator must do because the last write of a file to the CDI root failed; NULL: the write
 * succeeded.
 */
const char *ledger_cdi_remedy(const struct agent *a);
/*
 * ledger_entry: a slot's entry in memory; ledger_id: the claim that the slot holds or held last.
 * Never NULL.
 */
const struct ledger_entry *ledger_entry(const struct agent *a, unsigned slot);
const struct claim_id *ledger_id(const struct agent *a, unsigned slot);
/*
 * The claim that last got the device with this number; a claim that was rebuilt from the API
 * server's list counts once the kubelet has prepared it. Never NULL; an empty claim: no claim got
 * the device.
 */
const struct claim_id *ledger_last(const struct agent *a, unsigned number);

/* Whether the store file was lost while it was open, so that the next step recreates it. */
bool ledger_reopens(const struct agent *a);
/* Whether no claim can be added, because no slot is free. */
bool ledger_full(const struct agent *a);
/*
 * Tests with a temporary file whether files can be written to the CDI root; ledger_cdi_remedy has
 * the result. Called when the store is opened, and every CDI_TRY_MS while the test fails.
 */
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
/* Adds the name of a CDI file, and the claim of that file, to the current log line. */
void ledger_log_file(struct agent *a, const char *name);
/* The slot that holds the claim `uid`; -1: no slot holds it. */
int ledger_find(const struct agent *a, const char *uid);
/* The slot that holds the claim `uid` and has its WHOLE record; -1: there is no such slot. */
int ledger_known(const struct agent *a, const char *uid);
/* Whether this slot holds the claim `uid`. */
bool ledger_holds(const struct agent *a, unsigned slot, const char *uid);
/*
 * Whether the claim `uid` was released, but its slot is not free yet. If so, the claim may still
 * have a CDI file, which must also be removed.
 */
bool ledger_freeing(const struct agent *a, const char *uid);
/*
 * Whether the claim `uid` was released, but its CDI file could neither be removed nor become a
 * tombstone.
 */
bool ledger_freeing_file(const struct agent *a, const char *uid);
/* Copies the record into the entry of a HELD slot, as a WHOLE record. Writes no file. */
void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r);
/*
 * Sets the consumer and the devices of the claim in a HELD slot: the claim holds the devices in
 * `numbers` exclusively or, if `shares`, a share of each of them. Afterwards the claim holds no
 * part of a device.
 */
void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers, bool shares,
                 const struct claim_consumer *consumer);
/*
 * Marks the slot as released, but does not write that to the store: the caller or a later flush
 * does. The caller also removes the CDI file.
 */
void ledger_set_freeing(struct agent *a, unsigned slot);
/*
 * The consumer of the claim in a held slot. Never NULL; an empty consumer: it is unknown, or the
 * claim has no device.
 */
const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot);
/*
 * The slot of a claim other than `uid` that holds one of the devices in `numbers`; -1: there is
 * none.
 */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/* Whether this slot holds a claim that has the device with this number or a share of it. */
bool ledger_holds_device(const struct agent *a, unsigned slot, unsigned number);
/*
 * First slot, starting at slot `from`, whose claim conflicts with the claim of `r`; -1: there is
 * none. With `sharing`, two claims that share devices (claim_joins) do not conflict.
 */
int ledger_rival(const struct agent *a, unsigned from, const struct claim_record *r, bool sharing);
/*
 * Whether other claims may hold the other shares or cores of the claim's devices, see claim_joins;
 * false if its cores are guessed.
 */
bool ledger_shares_rest(const struct agent *a, const struct ledger_entry *e);
/*
 * Slot of a claim that conflicts with `r`, the record of a claim that was prepared before the store
 * was lost; -1: there is none. Two parts of a device do not conflict, even if their cores are not
 * known.
 */
int ledger_listed_rival(const struct agent *a, const struct claim_record *r);
/*
 * Whether the claims of two slots conflict: they hold the same device without sharing it, or the
 * same core of a device.
 */
bool ledger_overlaps(const struct agent *a, const struct ledger_entry *x,
                     const struct ledger_entry *y);
/*
 * Slot of another claim that conflicts with the claim in this slot, and has a WHOLE record; -1:
 * there is none. One of the two claims was restored from a damaged store, so a prepare of this
 * claim is refused.
 */
int ledger_disputed(const struct agent *a, unsigned slot);
/*
 * Applies what the API server lists for a held claim whose record is not WHOLE: from now on the
 * slot also holds the devices of `r`, and an UNSURE record that names the same devices becomes
 * WHOLE. HOST_*: the added devices are not in the store yet.
 */
MUST_USE enum status ledger_listed_claim(struct agent *a, unsigned slot,
                                         const struct claim_record *r);
/* Bit N: a claim other than `uid` holds core N of the only device in `numbers`. */
uint8_t ledger_cores(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * Whether two held claims of the EFA driver conflict. They do in two cases:
 * - they have the same device (the same PCI address), and are not `sharing` it;
 * - they have different devices with the same uverbs node.
 */
bool ledger_functions_meet(const struct agent *a, const struct ledger_entry *x,
                           const struct ledger_entry *y, bool sharing);
/*
 * Whether allocation result `at` of `r` conflicts with the claim in `slot`. They conflict also if
 * both are only shares of the same device.
 */
bool ledger_contests(const struct agent *a, unsigned slot, const struct claim_record *r,
                     unsigned at);
/* Whether the slot holds, or may hold, the EFA device of this address. */
bool ledger_holds_address(const struct agent *a, unsigned slot, uint32_t address);
/*
 * Slot of a claim other than `uid` whose record names this uverbs node for a device with another
 * address; -1: none. A device that the last probe found with another uverbs node does not count.
 */
int ledger_uverbs_holder(const struct agent *a, uint32_t address, uint16_t uverbs, const char *uid);
/*
 * Whether a device of a held EFA claim has, or may have, another uverbs node than its record says.
 */
bool ledger_moved(const struct agent *a, unsigned slot);
/*
 * First slot whose claim holds the device, or a share or part of it; -1: none. If `core` is not
 * negative, claims that hold only other cores of the device do not count.
 */
int ledger_core_holder(const struct agent *a, unsigned number, int core);
/* Bit N: at least one claim holds device N. */
uint64_t ledger_numbers(const struct agent *a);
/* Whether a claim holds shares of devices. */
bool ledger_shares(const struct agent *a);
/*
 * Writes the CDI file of a claim, then its record. If the claim is already held, both replace the
 * earlier ones. FULL_TABLE: no free slot; FULL_BUFFER: the CDI file is too long; HOST_*: the store
 * is not open, or a write failed. After a failure, `why` has one line, and the table holds the same
 * claims as before; but if the claim was already held, it may hold the devices of both its records,
 * the old one and `r`.
 */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/*
 * The two steps of ledger_put, with the same statuses as ledger_put. ledger_put_file writes the CDI
 * file, if there is a slot for the record. After its STATUS_OK, ledger_put_record writes the
 * record.
 */
MUST_USE enum status ledger_put_file(struct agent *a, const struct claim_record *r,
                                     struct writer *why);
MUST_USE enum status ledger_put_record(struct agent *a, const struct claim_record *r,
                                       unsigned *slot, struct writer *why);
/*
 * Removes the files that ledger_put_file wrote for a claim that no slot holds, because the claim
 * gets no record. A tombstone of the claim stays. If the CDI file cannot be removed, reconciliation
 * removes it.
 */
void ledger_take_back_file(struct agent *a, const struct claim_record *r);
/*
 * Holds a claim in the free slot that ledger_adopt chose, although its record could not be written.
 * Until a later write of the record succeeds, the next process finds only the CDI file.
 */
void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot);
/*
 * Like ledger_put, but writes only the record, because the CDI file already exists. The caller
 * checks that the devices are free (ledger_holder).
 */
MUST_USE enum status ledger_adopt(struct agent *a, const struct claim_record *r, unsigned *slot,
                                  struct writer *why);
/*
 * The record of a held slot: from memory if it was written or read recently, else from the store.
 * *out is valid until a record of another slot is put or read. HOST_DAMAGED: the store no longer
 * has the record; PEER_UNSUPPORTED: the record is not WHOLE; other HOST_*: the store cannot be
 * read.
 */
MUST_USE enum status ledger_record(struct agent *a, unsigned slot, const struct claim_record **out);
/* Like ledger_record, with the same statuses, but always reads the record from the store. */
MUST_USE enum status ledger_read(struct agent *a, unsigned slot, const struct claim_record **out);
/*
 * Makes sure that the store has the record of a held slot. If the last write of the slot failed,
 * this writes the record again, because the disk may have performed a write that it reported as
 * failed. HOST_*: the write failed again; `why` has one line.
 */
MUST_USE enum status ledger_rewrite_refused(struct agent *a, unsigned slot, struct writer *why);
/*
 * Writes the CDI file of a record, unless the file already has this content. FULL_BUFFER, HOST_*:
 * the file cannot be written; `why` gets one line.
 */
MUST_USE enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/*
 * Looks for the CDI file of a claim. STATUS_OK: the claim has one; HOST_ABSENT: it has none; other
 * HOST_*: the CDI root cannot be read.
 */
MUST_USE enum status ledger_find_cdi_file(const struct agent *a, const char *uid);
/* Whether the claim has a CDI file, or may have one because the CDI root cannot be read. */
bool ledger_has_cdi_file(const struct agent *a, const char *uid);
/*
 * Looks for the tombstone of a claim. STATUS_OK: the claim has one; HOST_ABSENT: it has none; other
 * HOST_*: the CDI root cannot be read.
 */
MUST_USE enum status ledger_tombstone(const struct agent *a, const char *uid);
/*
 * Records what a listing of the CDI root found: whether it may have a tombstone of a claim that no
 * slot frees. While it may, each new claim has its tombstone removed.
 */
void ledger_tombstones(struct agent *a, bool left);
/*
 * Reads the record in the claim's CDI file. HOST_DAMAGED: the file has no valid record of this
 * claim; other HOST_*: the file is absent or cannot be read.
 */
MUST_USE enum status ledger_read_cdi(struct agent *a, const char *uid, struct claim_record *r);
/*
 * Releases a claim: turns its CDI file into a tombstone, and writes the release to the store; the
 * next flush frees the slot and removes the tombstone. Failed writes are retried later, if
 * necessary by the next process. Succeeds for an unknown claim. HOST_BUSY: another agent owns the
 * store; other HOST_*: the store is not open and no tombstone can be created, or neither the store
 * nor the CDI file can be changed. After a failure the claim is as it was before, and `why` has one
 * line.
 */
MUST_USE enum status ledger_remove(struct agent *a, const char *uid, struct writer *why);
/*
 * Immediately flushes all writes since the last successful flush. HOST_*: a write or the flush
 * failed; `why` gets one line.
 */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

#endif
