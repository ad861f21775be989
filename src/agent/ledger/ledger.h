/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table, and the claim store and CDI files that keep it on disk (ledger*.c). The files of
 * this room own struct ledger: no other file writes it. Internal to src/agent.
 *
 * Invariants, whatever bytes the store has and whichever calls of the files port fail:
 * I1 After the store was opened or created again, a claim is held if it has no tombstone, and its
 *    newest record is in a half that is intact and that counts.
 * I2 The store brings back no claim other than those of I1.
 * I3 After ledger_put, a claim is held exactly if it was held before or ledger_put returned
 *    STATUS_OK.
 * I4 A record that was put reads back unchanged.
 * I5 After ledger_sync, a loss of power does not change which claims are held.
 * I6 A claim that was unprepared has a tombstone until the store is known not to hold it.
 */
#ifndef AGENT_LEDGER_LEDGER_H
#define AGENT_LEDGER_LEDGER_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "dra/store.h"

/* What a slot is used for. */
enum ledger_state {
    LEDGER_FREE,         /* empty: nothing is left of an earlier claim */
    LEDGER_HELD,         /* its claim holds devices */
    LEDGER_FREEING,      /* its claim was released: the next flushes free the slot */
    LEDGER_FREEING_FILE, /* as FREEING, but the CDI file is still there, and the record says so */
    LEDGER_STATES
};

/* How well the record of a held claim is known. */
enum ledger_record {
    RECORD_WHOLE,   /* it is decoded, so a repeated prepare can use it */
    RECORD_OUTLINE, /* only the claim and its device numbers are known */
    RECORD_UNSURE,  /* a newer record of the claim may be lost; see ledger_doubt.c */
    RECORD_STATES
};

/* Whether the half that counts is safe on the disk. */
enum ledger_flush {
    FLUSH_SETTLED, /* a flush made it safe */
    FLUSH_DUE,     /* it was written since the last successful flush */
    FLUSH_DOUBTED, /* it was loaded, and may be only in the page cache */
    FLUSH_STATES
};

/*
 * What memory keeps of each slot; the slot's record is on the disk. Only the functions of
 * ledger_states.c change the three states; the flags do not depend on the states.
 */
struct ledger_entry {
    enum ledger_state state;
    enum ledger_record record; /* meaningless while FREE */
    enum ledger_flush flush;
    uint8_t half;   /* the half that counts: 0 or 1, see store_pick */
    bool damaged;   /* the other half is damaged, or the disk refuses it */
    bool refused;   /* the last change is not on the disk: refused, or not yet written */
    bool tombstone; /* HELD: a failed release may have left a tombstone */
    bool guessed;   /* HELD: its cores are guessed, so no new claim may share its devices */
    bool shares;    /* HELD: it holds a share of each of its devices, see claim_shares */
    uint8_t cores;  /* bit N: it holds core N of its only device; 0: it holds no part */
    bool zero_numbering;
    bool metadata;               /* the claim has device metadata files */
    uint8_t logical_neuron_core; /* the first LNC that the claim asks for; 0: none */
    uint64_t held_ms;            /* when this process entered the record */
    uint64_t sequence;           /* sequence of the half that counts */
    uint64_t entered; /* the record's sequence when entered; a copy may get another sequence */
    uint64_t numbers; /* bit N: it holds device N, exclusively or by a share */
    uint64_t container_numbers; /* bit N: its containers have device N */
    /*
     * EFA driver: bit N is set when the claim holds ledger.function[N], exclusively or by a share.
     * All bits: ledger.function has no room for the claim's devices, so the claim counts as holding
     * every device. 0: only the device numbers of the claim are known.
     */
    uint64_t functions;
};

/*
 * Appends one sentence to `why`: the path of `file` (the store, or the file that is renamed to it),
 * what could not be done, the reason, and the remedy. `doing`: a participle, as in "written".
 */
void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why);
/*
 * The reason for the status of the last call of the store or the files port, and (ledger_remedy)
 * what an operator does about it. The text is static or belongs to the port; never NULL.
 */
const char *ledger_reason(const struct agent *a, enum status s);
const char *ledger_remedy(const struct agent *a, enum status s);

/* --- queries of the table --- */

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
/*
 * Whether the kubelet may still have to unprepare a claim: a claim is held or being freed, or the
 * store may have lost a claim.
 */
bool ledger_may_hold(const struct agent *a);
/* Why the store is not usable, or refused the last write; never NULL. */
const char *ledger_trouble(const struct agent *a);
/* The error of the last write to the store; STATUS_OK: it did not fail. */
MUST_USE enum status ledger_failing(const struct agent *a);
/* What an operator does about the last file, which the CDI root refused; NULL: it took the file. */
const char *ledger_cdi_remedy(const struct agent *a);
/* The entry of a slot in memory, and the claim that the slot holds or held last. Never NULL. */
const struct ledger_entry *ledger_entry(const struct agent *a, unsigned slot);
const struct claim_id *ledger_id(const struct agent *a, unsigned slot);
/* The claim that got the device of this number last. Never NULL; empty: none. */
const struct claim_id *ledger_last(const struct agent *a, unsigned number);

/* Whether the store was removed while it was open, and the next step recreates it. */
bool ledger_reopens(const struct agent *a);
/* Whether no claim can be added: no slot is free. */
bool ledger_full(const struct agent *a);
/*
 * After the CDI root refused a file: tests every CDI_TRY_MS, with a temporary file, whether it
 * accepts writes again.
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
/* As ledger_freeing, but only if the CDI file could neither be removed nor become a tombstone. */
bool ledger_freeing_file(const struct agent *a, const char *uid);
/* Enters the record into the entry of a HELD slot, as a WHOLE record. Writes no file. */
void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r);
/*
 * Sets the consumer and the devices of a HELD slot: it holds the devices in `numbers` exclusively
 * or, if `shares`, a share of each. It has no part of a device after this call.
 */
void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers, bool shares,
                 const struct claim_consumer *consumer);
/*
 * Marks the slot as released; the release is still to be written. The caller removes the CDI file.
 */
void ledger_set_freeing(struct agent *a, unsigned slot);
/* The consumer of the claim in a held slot; never NULL, empty when the claim holds no device. */
const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot);
/* Slot of a claim other than `uid` that holds one of the device numbers, or -1. */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * First slot, from `from` on, with another claim that conflicts with the record, or -1. With
 * `sharing`, two claims that share devices (claim_joins) do not conflict.
 */
int ledger_rival(const struct agent *a, unsigned from, const struct claim_record *r, bool sharing);
/*
 * Whether other claims may hold the other shares or cores of the claim's devices, see claim_joins;
 * false if its cores are guessed.
 */
bool ledger_shares_rest(const struct agent *a, const struct ledger_entry *e);
/*
 * Slot of a claim that conflicts with `r`, the record of a claim that was prepared before the store
 * was lost, or -1. Two parts of a device do not conflict, even if their cores are not known.
 */
int ledger_listed_rival(const struct agent *a, const struct claim_record *r);
/*
 * Whether two slots conflict: they hold the same device and do not share it, or the same core of
 * it.
 */
bool ledger_overlaps(const struct agent *a, const struct ledger_entry *x,
                     const struct ledger_entry *y);
/*
 * Slot of another claim that conflicts with the claim in this slot, and has a WHOLE record; -1:
 * none. One of the two claims came back from a damaged store, so a prepare of this claim is
 * refused.
 */
int ledger_disputed(const struct agent *a, unsigned slot);
/*
 * Applies what the API server lists for a held claim whose record is not WHOLE: the slot holds the
 * devices of `r` too from now on, and an UNSURE record that names the same devices becomes WHOLE.
 * HOST_*: the store does not have the added devices yet.
 */
MUST_USE enum status ledger_listed_claim(struct agent *a, unsigned slot,
                                         const struct claim_record *r);
/* The cores, bit N, that claims other than `uid` hold of the device in `numbers`. */
uint8_t ledger_cores(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * Whether two held claims of the EFA driver conflict. They do in two cases:
 * - they have the same device (the same PCI address), and are not `sharing` it;
 * - they have different devices with the same uverbs node.
 */
bool ledger_functions_meet(const struct agent *a, const struct ledger_entry *x,
                           const struct ledger_entry *y, bool sharing);
/* Whether result `at` of the record conflicts with what the slot holds, if nothing is shared. */
bool ledger_contests(const struct agent *a, unsigned slot, const struct claim_record *r,
                     unsigned at);
/* Whether the slot holds, or may hold, the EFA device of this address. */
bool ledger_holds_address(const struct agent *a, unsigned slot, uint32_t address);
/*
 * Slot of a claim other than `uid` whose record names this uverbs node for a device with another
 * address; -1: none. A device that the last probe found with another uverbs node does not count.
 */
int ledger_uverbs_holder(const struct agent *a, uint32_t address, uint16_t uverbs, const char *uid);
/* Whether a device of a held EFA claim has, or may have, a uverbs node that its record lacks. */
bool ledger_moved(const struct agent *a, unsigned slot);
/*
 * First slot whose claim holds the device, or a share or part of it; -1: none. If `core` is not
 * negative, claims that hold only other cores of the device do not count.
 */
int ledger_core_holder(const struct agent *a, unsigned number, int core);
/* All device numbers that claims hold, bit N. */
uint64_t ledger_numbers(const struct agent *a);
/* Whether a claim holds shares of devices. */
bool ledger_shares(const struct agent *a);
/*
 * Writes the CDI file, then the record; both replace the earlier ones of a held claim. FULL_TABLE:
 * no free slot; FULL_BUFFER: the CDI file is too long; HOST_*: the store is not open, or the disk
 * refused. After a failure nothing has changed, and `why` has one line.
 */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/*
 * The two steps of ledger_put, with the same statuses. ledger_put_file writes the CDI file, if
 * there is a slot for the record; after STATUS_OK, ledger_put_record writes the record.
 */
MUST_USE enum status ledger_put_file(struct agent *a, const struct claim_record *r,
                                     struct writer *why);
MUST_USE enum status ledger_put_record(struct agent *a, const struct claim_record *r,
                                       unsigned *slot, struct writer *why);
/*
 * Holds a claim in the free slot that ledger_adopt chose, although the disk refused its record.
 * Until the disk takes the record, the next process finds only the CDI file.
 */
void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot);
/*
 * As ledger_put, but writes only the record: the CDI file exists. The caller checks that the
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
 * Makes sure that the store has the record of a held slot. If the last write of the slot failed,
 * this writes the record again, because the disk may have done a write that it reported as failed.
 * HOST_*: the disk refused again; `why` has one line.
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
 * no tombstone can be made, or neither store nor CDI file can be changed. After a failure the claim
 * is as it was before, and `why` has one line.
 */
MUST_USE enum status ledger_remove(struct agent *a, const char *uid, struct writer *why);
/* Flushes all writes since the last successful flush at once. HOST_*: `why` gets one line. */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

#endif
