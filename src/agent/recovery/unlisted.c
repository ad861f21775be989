/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports whether new claims wait for the list of claims at the API server, and why. This code is
 * not part of rebuild.c, because functions that rebuild.c calls need it too.
 */
#include "agent/recovery/unlisted.h"

#include "agent/api/client.h"
#include "agent/frame.h"
#include "agent/ledger/ledger.h"
#include "agent/recovery/room.h"

/*
 * On a node without devices new claims need not wait, because they cannot get a device, and because
 * the devices of listed claims cannot be checked there.
 */
bool unlisted_blocks(const struct agent *a)
{
    return ledger_is_usable(a) && (ledger_is_unlisted(a) || a->recovery->reconcile.unseen) &&
           a->devices->count > 0u;
}

bool unlisted_failing(const struct agent *a)
{
    return unlisted_blocks(a) && (a->recovery->rebuild.failing || a->recovery->reconcile.unseen);
}

void unlisted_reason(const struct agent *a, struct writer *out)
{
    if (a->recovery->reconcile.unseen) {
        WRITE(out,
              "not all CDI files could be listed since the start, and each may be of a claim in "
              "use: no new claim is prepared until % can be listed; see cdi_file_failed in the log",
              TEXT(a->settings->cdi_root));
        return;
    }
    writer_text(out, "the claim store is new or lost a part: no new claim is prepared until the "
                     "claims in use on this node were listed at the API server");
    if (api_forbidden(a, API_LIST_CLAIMS)) {
        writer_text(out, ", which forbids it: allow the verb list for resourceclaims in the "
                         "agent's ClusterRole");
    } else if (a->recovery->rebuild.failing) {
        writer_text(out, "; the last try failed, see api_request_failed in the log");
    }
}
