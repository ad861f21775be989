/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/ledger for one driver: the table of claims, and the state of the claim store
 * and of its locks. Only the files of src/agent/ledger and agent/state.h include this header.
 */
#ifndef AGENT_LEDGER_ROOM_H
#define AGENT_LEDGER_ROOM_H

#include "agent/ledger/handover.h"
#include "agent/ledger/ledger.h"

/* number of EFA devices in `function`, one for each bit of ledger_entry.functions */
#define LEDGER_FUNCTIONS 64u
#define LEDGER_ALL_FUNCTIONS UINT64_MAX

/* An EFA device in a claim record: its PCI address, and N of its node /dev/infiniband/uverbsN. */
struct held_function {
    uint32_t address;
    uint16_t uverbs;
};

/* A copy of a slot's record in memory; valid while the slot's entry has the same sequence. */
struct kept_record {
    uint16_t slot;
    uint64_t sequence; /* sequence of the copied record; 0: no record */
    struct claim_record record;
};

/* The claim table, and the state of the claim store. */
struct ledger {
    struct handover handover;
    bool usable; /* the store is open */
    bool busy;   /* another agent owns the store, so this agent does not use it */
    /* the store may lack claims of this node; the flag STORE_UNLISTED in the header says so */
    bool unlisted;
    bool created;            /* this process created the store, because there was none */
    bool known;              /* this process opened the store, and has owned it since then */
    bool flags_due;          /* the header must record `unlisted` before any half is written */
    bool dirty;              /* halves were written since the last successful flush */
    bool doubt;              /* loaded records may be in the page cache, but not on the disk */
    bool tombstones;         /* the CDI root may have a tombstone of a claim that no slot frees */
    uint32_t failed_flushes; /* number of consecutive failed flushes of the store */
    uint64_t flush_ms;       /* when to flush writes that no kubelet call flushed */
    uint64_t flush_backoff_ms;
    uint16_t held;
    uint16_t freeing;
    uint64_t retry_ms; /* when the agent next tries to open the store */
    uint64_t backoff_ms;
    enum status failing;           /* current error of the store; STATUS_OK: none */
    char trouble[CLAIM_ERROR_CAP]; /* why the store is not usable, or its last error */
    /*
     * what an operator must do because files cannot be written to the CDI root; NULL: files can be
     * written
     */
    const char *cdi_remedy;
    uint64_t cdi_ms;   /* when to test again whether files can be written to the CDI root */
    uint64_t sequence; /* highest sequence number that was read, or was used in a write */
    struct ledger_entry entry[CLAIMS_MAX];
    /* EFA devices of held claims; an element that no claim uses is free for another device */
    struct held_function function[LEDGER_FUNCTIONS];
    /* Separate arrays, so that the memory pages of unused slots stay non-resident. */
    struct claim_id last[DEVICES_MAX]; /* element N: the claim that last got device N */
    struct claim_id id[CLAIMS_MAX];    /* element N: the claim that slot N holds or held last */
    /* element N: the consumer of the claim that slot N holds */
    struct claim_consumer consumer[CLAIMS_MAX];
    unsigned kept_next; /* index of the element of `kept` that is filled next */
    /* copies of the records that were written or read last */
    struct kept_record kept[LEDGER_RECORDS_MAX];
};

#endif
