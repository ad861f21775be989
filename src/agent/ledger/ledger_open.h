/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the claim store, and flushes writes that no kubelet call flushed (ledger_open.c). Owns
 * nothing: ledger.h owns the table. Internal to src/agent.
 */
#ifndef AGENT_LEDGER_LEDGER_OPEN_H
#define AGENT_LEDGER_LEDGER_OPEN_H

#include "agent/ledger/ledger.h"

/* Flushes pending changes of the store. Changes that cannot be flushed stay pending. */
void ledger_flush(struct agent *a);
/*
 * Called when the list of claims at the API server is complete: flushes the adopted records, then
 * clears ledger.unlisted in memory and in the header. HOST_*: a write failed, so the claims must be
 * listed again.
 */
MUST_USE enum status ledger_listed(struct agent *a);
/*
 * Opens the store when that is due; returns whether it was opened. `round`: a comparison of the CDI
 * root with the records begins, so an open store file that was removed, emptied or truncated is
 * recreated from memory.
 */
MUST_USE bool ledger_open(struct agent *a, bool round);
/*
 * Flushes pending changes of the store when that is due. If a file could not be written to the CDI
 * root, tests every CDI_TRY_MS whether files can be written there again.
 */
void ledger_step(struct agent *a);
uint64_t ledger_deadline(const struct agent *a);
/*
 * Flushes the store, and hands it over to the agent that waits for it; afterwards this agent holds
 * no claim.
 */
void ledger_retire(struct agent *a);

#endif
