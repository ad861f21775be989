/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that already hold a device allocated to another claim (rivals.c): whether they can be
 * released for it, and the error text if not. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_RIVALS_H
#define AGENT_CALLS_RIVALS_H

#include "agent/ledger/ledger.h"

/* The claims that hold a device of a claim's record. */
struct rivals {
    int firm;          /* slot of one that cannot be released, or -1 */
    bool file_written; /* the CDI file of the claim itself is on the disk, before its record */
    unsigned count;
    uint16_t stale[CLAIMS_MAX]; /* slots of those that can be released */
};

/* Appends that the claim in `slot` holds a device of the record, and what to do. */
void rivals_write(const struct agent *a, unsigned slot, const struct claim_record *r,
                  struct writer *why);
/*
 * After damage the claim in this slot and another one may both have one device: neither is answered
 * until the other one is gone. Returns the slot of the other one, which is checked at the API
 * server at once, or -1.
 */
int rivals_disputing(struct agent *a, unsigned slot);
/* Finds the claims that hold a device of the record, up to the first that cannot be released. */
void rivals_find(struct agent *a, const struct claim_record *r, struct rivals *found);
/*
 * Releases the stale rivals, of which none is firm. First writes the new claim's CDI file, the only
 * step that may still refuse it. A rival that the disk could not release becomes the firm one.
 * FULL_TABLE, FULL_BUFFER, HOST_*: the file cannot be written; `why` gets one line.
 */
MUST_USE enum status rivals_release(struct agent *a, const struct claim_record *r,
                                    struct rivals *found, struct writer *why);

#endif
