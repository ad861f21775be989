/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this room keeps of one driver: the table of claims, the state of the store and of its locks.
 * Included by the files of this room and by agent/state.h alone.
 */
#ifndef AGENT_LEDGER_ROOM_H
#define AGENT_LEDGER_ROOM_H

#include "agent/ledger/handover.h"
#include "agent/ledger/ledger.h"

#define LEDGER_FUNCTIONS 64u /* one bit of `functions` each, so no bit stands for two */
#define LEDGER_ALL_FUNCTIONS UINT64_MAX

/* An EFA device as a record names it: its PCI address, and the uverbs node in its container. */
struct held_function {
    uint32_t address;
    uint16_t uverbs;
};

/* A record in memory. It is the record of `slot` as long as the slot has the same sequence. */
struct kept_record {
    uint16_t slot;
    uint64_t sequence; /* 0: none */
    struct claim_record record;
};

/* The table and the state of the store. */
struct ledger {
    struct handover handover;
    bool usable;    /* the store is open */
    bool busy;      /* another agent owns the store: this one neither reads nor writes it */
    bool unlisted;  /* claims that the store should have may be missing: STORE_UNLISTED */
    bool known;     /* this process opened the store, and is its owner since */
    bool flags_due; /* the header has to record `unlisted` before any half is written */
    bool dirty;     /* written since the last good sync */
    bool doubt;     /* loaded records may be in the page cache alone */
    uint32_t failed_flushes; /* in a row; writes since the last good flush are in doubt */
    uint64_t flush_ms;       /* when writes that no call flushed are flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when opening the store is tried again */
    uint64_t backoff_ms;
    enum status failing; /* by which the store refused the last write; STATUS_OK: it did not */
    char trouble[CLAIM_ERROR_CAP]; /* !usable, or failing */
    enum status
        cdi_failing;        /* by which the CDI root refused the last file; STATUS_OK: it did not */
    const char *cdi_remedy; /* static: what an operator does about it */
    uint64_t cdi_ms;        /* when a file is tried there again, if so */
    uint64_t sequence;      /* the highest that was read or tried */
    struct ledger_entry entry[CLAIMS_MAX];
    struct held_function function[LEDGER_FUNCTIONS]; /* EFA; one that no claim has is free */
    /* Separate arrays, so that the pages of unused slots stay non-resident. */
    struct claim_id last[DEVICES_MAX];           /* by device number: the claim that got it last */
    struct claim_id id[CLAIMS_MAX];              /* of what the slot holds or held last */
    struct claim_consumer consumer[CLAIMS_MAX];  /* of the slot, if it holds a device */
    unsigned kept_next;                          /* place that is filled next */
    struct kept_record kept[LEDGER_RECORDS_MAX]; /* those written or read last */
};

#endif
