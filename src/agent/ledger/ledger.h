/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim table over the store and the CDI files: ledger.c, and ledger_half.c, ledger_cdi.c and
 * ledger_open.c. Owns struct ledger: no other file writes it. Internal to src/agent.
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
    LEDGER_FREEING_FILE, /* the same, and the CDI file is left, which the record says */
    LEDGER_STATES
};

/* How well the record of a held claim is known. */
enum ledger_record {
    RECORD_WHOLE,   /* it is understood, and answers a prepare */
    RECORD_OUTLINE, /* only the claim and its device numbers are understood */
    RECORD_UNSURE,  /* as OUTLINE: a newer record of the claim may be lost; see ledger_doubt.c */
    RECORD_STATES
};

/* What is known of the disk's copy of the half that counts. */
enum ledger_flush {
    FLUSH_SETTLED, /* a flush made it safe */
    FLUSH_DUE,     /* it was written since the last good flush */
    FLUSH_DOUBTED, /* it was loaded, and may be in the page cache alone */
    FLUSH_STATES
};

/*
 * What is always known of a slot; its record is on the disk. The three states move by the functions
 * and tables of states.c alone. The flags are facts that occur with every state.
 */
struct ledger_entry {
    enum ledger_state state;
    enum ledger_record record; /* without meaning while FREE */
    enum ledger_flush flush;
    uint8_t half;   /* which half counts */
    bool damaged;   /* the other half is damaged, or the disk refuses it: a fact of the disk */
    bool refused;   /* the disk refused the last write, in both halves: a fact of the disk */
    bool tombstone; /* HELD: a release that failed may have left a tombstone, whatever the record */
    bool guessed;   /* HELD: which cores it has is not certain, so that nobody joins it */
    bool shares;    /* HELD: of each of its devices it holds a share, see claim_shares */
    uint8_t cores;  /* of its one device, of which it has a part; 0: it has no part */
    bool zero_numbering;
    bool metadata;               /* it has device metadata files */
    uint8_t logical_neuron_core; /* the first one that the claim asks for, 0: none */
    uint64_t held_ms;            /* when this process entered the record */
    uint64_t sequence;           /* of that half */
    uint64_t entered;            /* the sequence with which the record came; copies have others */
    uint64_t numbers;            /* device numbers held, exclusively or by shares, bit N */
    uint64_t container_numbers;  /* device numbers in its containers, bit N */
    /*
     * Of the EFA driver, bit N: it holds ledger.function[N], exclusively or by shares; all bits:
     * the table has no room for what it holds, so it counts as holding every device. 0: only its
     * numbers are known.
     */
    uint64_t functions;
};

#define LEDGER_FUNCTIONS 64u /* one bit of `functions` each; no bit is two functions' */
#define LEDGER_ALL_FUNCTIONS UINT64_MAX

/* An EFA device as a record names it: by its PCI address, with the node that its container has. */
struct held_function {
    uint32_t address;
    uint16_t uverbs;
};

/* A record in memory: that of `slot` while the slot has the same sequence. */
struct kept_record {
    uint16_t slot;
    uint64_t sequence; /* 0: none */
    struct claim_record record;
};

/* The table and the state of the store. */
struct ledger {
    bool usable;             /* the store is open */
    bool busy;               /* another agent uses it: nothing of it may be touched */
    bool unlisted;           /* claims that the store should have may be missing: STORE_UNLISTED */
    bool known;              /* this process opened the store, and is its owner since */
    bool flags_due;          /* no half is written before the header says `unlisted` */
    bool dirty;              /* written since the last good sync */
    bool doubt;              /* what was loaded was not flushed yet */
    uint32_t failed_flushes; /* in a row: what was written since the last good one is in doubt */
    uint64_t flush_ms;       /* when what no call flushed is flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when opening is tried again while not usable */
    uint64_t backoff_ms;
    enum status failing; /* by which the store refused the last write; STATUS_OK: it did not */
    char trouble[CLAIM_ERROR_CAP]; /* !usable, or failing */
    enum status
        cdi_failing;   /* by which the CDI root refused the last file; STATUS_OK: it did not */
    uint64_t cdi_ms;   /* when a file is tried there again, if so */
    uint64_t sequence; /* the highest that was read or tried */
    struct ledger_entry entry[CLAIMS_MAX];
    struct held_function function[LEDGER_FUNCTIONS]; /* EFA; one that no claim has is free */
    /* Apart, because an entry is written before a claim is in it, and pages are dear. */
    struct claim_id last[DEVICES_MAX];           /* by device number: the claim that got it last */
    struct claim_id id[CLAIMS_MAX];              /* of what the slot holds or held last */
    struct claim_consumer consumer[CLAIMS_MAX];  /* of the slot, if it holds a device */
    unsigned kept_next;                          /* place that is filled next */
    struct kept_record kept[LEDGER_RECORDS_MAX]; /* those written or read last */
};

/* One sentence: the path of the store, or of the file that becomes it, what could not be done, why,
 * and the remedy. */
void ledger_trouble_text(const struct agent *a, const char *file, const char *doing, enum status s,
                         struct writer *why);
/*
 * Why a call of the store or the files port failed, and what to do: static text or the port's,
 * never NULL.
 */
const char *ledger_reason(const struct agent *a, enum status s);
const char *ledger_remedy(enum status s);
/* Whether the store was removed while it was open, and the next step makes it again. */
bool ledger_reopens(const struct agent *a);
/* Whether no claim can be added: no slot is free. */
bool ledger_full(const struct agent *a);
/* Tries whether the CDI root takes a file again, when that is due. */
void ledger_try_cdi(struct agent *a);
/* Removes what a kill may have left in the CDI root. */
void ledger_tidy(struct agent *a);
/*
 * Removes device metadata files of which no claim is held and no CDI file is there: all, or with
 * `uid` not empty those of one claim.
 */
void ledger_tidy_metadata(struct agent *a, const char *uid);
/* Whether the slot waits to be freed, with or without its CDI file. */
static inline bool ledger_is_freeing(const struct ledger_entry *e)
{
    return e->state == LEDGER_FREEING || e->state == LEDGER_FREEING_FILE;
}
/* Slot that holds `uid`, or -1. */
int ledger_find(const struct agent *a, const char *uid);
/* Slot that holds `uid` with a record that is understood, or -1. */
int ledger_known(const struct agent *a, const char *uid);
/* Whether it is this slot that holds `uid`. */
bool ledger_holds(const struct agent *a, unsigned slot, const char *uid);
/* Whether what is left of `uid` is being removed: its CDI file, if there is one, is to go. */
bool ledger_freeing(const struct agent *a, const char *uid);
/* Whether its CDI file is left, which could not be made a tombstone. */
bool ledger_freeing_file(const struct agent *a, const char *uid);
/* A slot holds this record from now on. */
void ledger_enter(struct agent *a, unsigned slot, const struct claim_record *r);
/* A slot holds these devices, or shares of them, but no part, for this consumer. */
void ledger_hold(struct agent *a, unsigned slot, uint64_t numbers, bool shares,
                 const struct claim_consumer *consumer);
/* What a slot holds, or perhaps holds, has to go; its CDI file is left to the caller. */
void ledger_set_freeing(struct agent *a, unsigned slot);
/* For whom the claim of a held slot is; never NULL, empty when it holds no device. */
const struct claim_consumer *ledger_consumer(const struct agent *a, unsigned slot);
/* Slot of another claim that holds one of the device numbers, or -1. */
int ledger_holder(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * First slot, not before `from`, of another claim that is in the way of the record's, or -1. With
 * `sharing`, two claims that join others (claim_joins) are not in each other's way.
 */
int ledger_rival(const struct agent *a, unsigned from, const struct claim_record *r, bool sharing);
/* Whether others may hold the rest of what it holds, see claim_joins; of a guess nobody may. */
bool ledger_shares_rest(const struct agent *a, const struct ledger_entry *e);
/*
 * Slot of a claim in the way of one that was prepared before the store was lost, or -1. Parts whose
 * cores are not known are not in each other's way.
 */
int ledger_listed_rival(const struct agent *a, const struct claim_record *r);
/* Whether two slots hold one device, which they do not share, or one core of it. */
bool ledger_overlaps(const struct agent *a, const struct ledger_entry *x,
                     const struct ledger_entry *y);
/*
 * Slot of a claim whose record names devices or cores that the one in this slot has too, or -1:
 * damage brought back one of them, and a prepare of this one is not answered.
 */
int ledger_disputed(const struct agent *a, unsigned slot);
/*
 * The API server lists a claim whose record is not understood, or unsure, with these devices: they
 * are held too. HOST_*: the store does not say so yet.
 */
MUST_USE enum status ledger_listed_claim(struct agent *a, unsigned slot,
                                         const struct claim_record *r);
/* The cores of a device of which other claims than `uid` have parts. */
uint8_t ledger_cores(const struct agent *a, uint64_t numbers, const char *uid);
/*
 * Whether two held claims of the EFA driver name one device, by its PCI address, or devices of
 * their own that have one uverbs node: these cannot be shared.
 */
bool ledger_functions_meet(const struct agent *a, const struct ledger_entry *x,
                           const struct ledger_entry *y, bool sharing);
/* Whether result `at` of the record is in the way of what the slot holds, if nothing is shared. */
bool ledger_contests(const struct agent *a, unsigned slot, const struct claim_record *r,
                     unsigned at);
/* Whether the slot holds the EFA device of this address itself, or may hold it. */
bool ledger_holds_address(const struct agent *a, unsigned slot, uint32_t address);
/*
 * Slot of another claim than `uid` whose record names this uverbs node for another device, which is
 * not on the node any more or has that node still; -1: none.
 */
int ledger_uverbs_holder(const struct agent *a, uint32_t address, uint16_t uverbs, const char *uid);
/* Whether a held claim of the EFA driver has a device that has another uverbs node by now. */
bool ledger_moved(const struct agent *a, unsigned slot);
/*
 * First slot whose claim holds the device, or a share or part of it; with `core` not negative, one
 * that has that core, if parts of the device are held. -1: none.
 */
int ledger_core_holder(const struct agent *a, unsigned number, int core);
/* All device numbers that claims hold, bit N. */
uint64_t ledger_numbers(const struct agent *a);
/* Whether a claim holds shares of devices. */
bool ledger_shares(const struct agent *a);
/*
 * CDI file, then record; both replace those of a claim that is held. FULL_TABLE: no free slot;
 * FULL_BUFFER: the CDI file is too long; HOST_*: the store is not open, or the disk refused. All is
 * as before then, and `why` gets one line.
 */
MUST_USE enum status ledger_put(struct agent *a, const struct claim_record *r, unsigned *slot,
                                struct writer *why);
/*
 * The first half of ledger_put, which has to follow when this returns STATUS_OK: the CDI file, if
 * there is a slot for the record. The same statuses.
 */
MUST_USE enum status ledger_put_file(struct agent *a, const struct claim_record *r,
                                     struct writer *why);
/*
 * Holds a claim whose record the disk does not take, in the free slot that ledger_adopt chose:
 * until it does, the CDI file is what the next process finds.
 */
void ledger_adopt_unsaved(struct agent *a, const struct claim_record *r, unsigned slot);
/* As ledger_put, but the record only: the CDI file is there. Which devices are free is for the
 * caller to look at (ledger_holder). */
MUST_USE enum status ledger_adopt(struct agent *a, const struct claim_record *r, unsigned *slot,
                                  struct writer *why);
/*
 * The record of a held slot, from memory where it is one of those written or read last, else from
 * the store. *out is valid until a record of another slot is put or read. HOST_DAMAGED: it is not
 * there any more; PEER_UNSUPPORTED: only its outline is known; other HOST_*: the file cannot be
 * read.
 */
MUST_USE enum status ledger_record(struct agent *a, unsigned slot, const struct claim_record **out);
/* Like ledger_record, but always from the store. The same statuses. */
MUST_USE enum status ledger_read(struct agent *a, unsigned slot, const struct claim_record **out);
/*
 * Makes sure that the store has the record of a held slot: one whose release the disk refused, but
 * perhaps did, is written again. HOST_*: it is not certain; `why` gets one line.
 */
MUST_USE enum status ledger_rewrite_refused(struct agent *a, unsigned slot, struct writer *why);
/*
 * Makes sure that the CDI file of a record is there and right. FULL_BUFFER, HOST_*: it cannot be
 * written; `why` gets one line.
 */
MUST_USE enum status ledger_ensure_cdi(struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/* Whether the claim has a CDI file, readable or not. */
bool ledger_has_cdi_file(const struct agent *a, const char *uid);
/* STATUS_OK: the claim has a tombstone. HOST_ABSENT: it has none. Other HOST_*: not known. */
MUST_USE enum status ledger_tombstone(const struct agent *a, const char *uid);
/* The record that the claim's CDI file holds. HOST_*: none; HOST_DAMAGED: nor is it readable. */
MUST_USE enum status ledger_read_cdi(struct agent *a, const char *uid, struct claim_record *r);
/*
 * Forgets a claim: its CDI file becomes a tombstone, its record is freed, and both are gone after
 * the next flush; what the disk refuses is tried again until then, also by the next process.
 * Succeeds for claims never seen. HOST_BUSY: another agent uses the store; HOST_*: the store is not
 * open, and no tombstone can be made, or neither store nor CDI file can be changed. Nothing is
 * forgotten then, and `why` gets one line.
 */
MUST_USE enum status ledger_remove(struct agent *a, const char *uid, struct writer *why);
/* One flush for everything written since the last. HOST_*: `why` gets one line. */
MUST_USE enum status ledger_sync(struct agent *a, struct writer *why);

#endif
