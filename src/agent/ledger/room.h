/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps for one driver: the table of claims, the state of the store and of its
 * locks. Included by the files of this room and by agent/state.h alone.
 */
#ifndef AGENT_LEDGER_ROOM_H
#define AGENT_LEDGER_ROOM_H

#include "agent/ledger/handover.h"
#include "agent/ledger/ledger.h"

#define LEDGER_FUNCTIONS 64u /* one for each bit of ledger_entry.functions */
#define LEDGER_ALL_FUNCTIONS UINT64_MAX

/* An EFA device as a record names it: its PCI address, and the uverbs node in its container. */
struct held_function {
    uint32_t address;
    uint16_t uverbs;
};

/* A copy of a record in memory; valid as long as the entry of `slot` has the same sequence. */
struct kept_record {
    uint16_t slot;
    uint64_t sequence; /* 0: no record */
    struct claim_record record;
};

/* The table and the state of the store. */
struct ledger {
    struct handover handover;
    bool usable;    /* the store is open */
    bool busy;      /* another agent owns the store: this one neither reads nor writes it */
    bool unlisted;  /* claims that the store should have may be missing: STORE_UNLISTED */
    bool known;     /* this process opened the store, and has owned it since then */
    bool flags_due; /* the header has to record `unlisted` before any half is written */
    bool dirty;     /* halves were written since the last successful flush */
    bool doubt;     /* loaded records may be only in the page cache */
    uint32_t failed_flushes; /* consecutive; writes since the last success are in doubt */
    uint64_t flush_ms;       /* when the agent flushes writes that no call flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when opening the store is tried again */
    uint64_t backoff_ms;
    enum status failing;           /* status of the last write, if the store refused it */
    char trouble[CLAIM_ERROR_CAP]; /* why the store is not usable, or is failing */
    const char *cdi_remedy;        /* static, if the CDI root refused the last file; else NULL */
    uint64_t cdi_ms;               /* when ledger_try_cdi tests the CDI root again */
    uint64_t sequence;             /* highest sequence that was read, or used in a write */
    struct ledger_entry entry[CLAIMS_MAX];
    struct held_function function[LEDGER_FUNCTIONS]; /* EFA; an entry that no claim has is free */
    /* Separate arrays, so that the pages of unused slots stay non-resident. */
    struct claim_id last[DEVICES_MAX];           /* by device number: the claim that got it last */
    struct claim_id id[CLAIMS_MAX];              /* by slot: the claim that it holds or held last */
    struct claim_consumer consumer[CLAIMS_MAX];  /* by slot: see has_consumer */
    unsigned kept_next;                          /* index in `kept` that is filled next */
    struct kept_record kept[LEDGER_RECORDS_MAX]; /* the records that were written or read last */
};

#endif
