/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that already hold a device allocated to another claim (rivals.c): whether they can be
 * released for that claim, and the error text if they cannot. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_RIVALS_H
#define AGENT_CALLS_RIVALS_H

#include "agent/ledger/ledger.h"

/* The rivals of a claim: other claims that hold a device that is in the claim's record. */
struct rivals {
    int firm; /* slot of a rival that cannot be released; -1: every rival can be released */
    bool file_written; /* the CDI file of the new claim is written, but its record is not */
    unsigned count;
    uint16_t stale[CLAIMS_MAX]; /* slots of the rivals that can be released */
};

/*
 * Appends an error text, which says that the claim in `slot` holds a device of the record, and what
 * an operator must do about it. Reads the kubelet's checkpoint (witness_exists).
 */
void rivals_write(struct agent *a, unsigned slot, const struct claim_record *r, struct writer *why);
/*
 * Finds another claim that has the same device as the claim in this slot; one of the two claims was
 * restored from a damaged store. A prepare of either claim is refused until the other claim is
 * gone. Returns the slot of the other claim, and requests its check at the API server; -1: there is
 * no such claim, or it can be released.
 */
int rivals_disputing(struct agent *a, unsigned slot);
/*
 * Finds the claims that hold a device of the record; stops at the first one that cannot be
 * released.
 */
void rivals_find(struct agent *a, const struct claim_record *r, struct rivals *found);
/*
 * Releases the stale rivals, if every rival can be released (found->firm is -1). If the claim of
 * `r` is not held yet, this first writes its CDI file, so that no rival is released for a claim
 * whose file cannot be written. If the release of a rival cannot be written, found->firm becomes
 * its slot. FULL_TABLE, FULL_BUFFER, HOST_*: the file cannot be written; `why` gets one line.
 */
MUST_USE enum status rivals_release(struct agent *a, const struct claim_record *r,
                                    struct rivals *found, struct writer *why);

#endif
