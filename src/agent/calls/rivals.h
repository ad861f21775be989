/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims that have a device which another claim is allocated (rivals.c): whether they give way, and
 * the error text for those that do not. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CALLS_RIVALS_H
#define AGENT_CALLS_RIVALS_H

#include "agent/ledger/ledger.h"

/* Appends that a device of the record is held by the claim in `slot`, and what to do. */
void rivals_write(const struct agent *a, unsigned slot, const struct claim_record *r,
                  struct writer *why);
/*
 * Damage left the claim in this slot and another one with one device: neither is answered before
 * the other one is gone. Slot of the other one, which is looked up at once, or -1.
 */
int rivals_disputing(struct agent *a, unsigned slot);
/* Slot of another claim that holds a device of the record and does not give way, or -1. */
int rivals_firm(struct agent *a, const struct claim_record *r);
/*
 * Whoever holds a device of the record gives way. What may still refuse a new claim is tried before
 * that: its CDI file. *holder: slot of a claim that the disk does not let go, or -1. FULL_TABLE,
 * FULL_BUFFER, HOST_*: the file cannot be written; `why` gets one line.
 */
MUST_USE enum status rivals_take(struct agent *a, const struct claim_record *r, int *holder,
                                 struct writer *why);

#endif
