/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the claim store in a step, see opening.h. This file is not part of src/agent/ledger,
 * because opening the store starts the reconciliation, and the ledger must not depend on the
 * reconciliation.
 */
#include "agent/recovery/opening.h"

#include "agent/ledger/ledger.h"
#include "agent/ledger/ledger_open.h"
#include "agent/recovery/reconcile.h"
#include "agent/report/log.h"

static void log_opened(struct agent *a)
{
    log_begin(a, LOG_ID_STORE_OPENED);
    log_number(a, "claims_held", ledger_held_count(a));
    log_end(a);
}

void opening_step(struct agent *a)
{
    if (ledger_open(a, reconcile_begins(a))) {
        reconcile_opened(a);
        log_opened(a);
    }
    ledger_step(a);
}
