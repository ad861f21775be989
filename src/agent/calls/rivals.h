/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that already hold a device allocated to another claim (rivals.c): whether they can be
 * released for it, and the error text if not. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_RIVALS_H
#define AGENT_CALLS_RIVALS_H

#include "agent/ledger/ledger.h"

/* Appends that the claim in `slot` holds a device of the record, and what to do. */
void rivals_write(const struct agent *a, unsigned slot, const struct claim_record *r,
                  struct writer *why);
/*
 * After damage the claim in this slot and another one may both have one device: neither is answered
 * until the other one is gone. Returns the slot of the other one, which is checked at the API
 * server at once, or -1.
 */
int rivals_disputing(struct agent *a, unsigned slot);
/* Slot of another claim that holds a device of the record and cannot be released, or -1. */
int rivals_firm(struct agent *a, const struct claim_record *r);
/*
 * Releases the claims that hold a device of the record. First writes the new claim's CDI file, the
 * only step that may still refuse it. *holder: slot of a claim that the disk could not release, or
 * -1. FULL_TABLE, FULL_BUFFER, HOST_*: the file cannot be written; `why` gets one line.
 */
MUST_USE enum status rivals_release(struct agent *a, const struct claim_record *r, int *holder,
                                    struct writer *why);

#endif
