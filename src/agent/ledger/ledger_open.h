/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim store between calls (ledger_open.c): opening it, and flushing what no call flushed.
 * Owns nothing: the table is that of ledger.h. Internal to src/agent.
 */
#ifndef AGENT_LEDGER_LEDGER_OPEN_H
#define AGENT_LEDGER_LEDGER_OPEN_H

#include "agent/ledger/ledger.h"

/* Flushes what is pending, as far as the disk takes it. */
void ledger_flush(struct agent *a);
/*
 * All claims of the API server were seen: makes that and the records of those that were taken in
 * safe, and ends ledger.unlisted. HOST_*: the disk refused it, and they are to be listed again.
 */
MUST_USE enum status ledger_listed(struct agent *a);
/*
 * Opens the store when that is due: whether it was opened. With each `round` of reconciliation, a
 * store that was removed, emptied or cut off is made again from memory.
 */
MUST_USE bool ledger_open(struct agent *a, bool round);
/* Repeats what the disk refused. */
void ledger_step(struct agent *a);
uint64_t ledger_deadline(const struct agent *a);
/* Flushes and gives the store to the agent that is to be the next owner: nothing is held here. */
void ledger_retire(struct agent *a);

#endif
