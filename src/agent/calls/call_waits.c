/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a call waits or ends early, see call_waits.h. */
#include "agent/calls/call_waits.h"

#include "agent/api/client.h"
#include "agent/calls/room.h"
#include "agent/frame.h"
#include "agent/ledger/handover.h"
#include "agent/ledger/ledger.h"
#include "base/time.h"

bool call_waits_for_store(const struct agent *a, const struct call *c)
{
    bool leaving = handover_defers(a, c->start_ms);
    bool unlocked = !handover_owns(a) && a->now_ms < c->start_ms + STORE_WAIT_MS;
    return ledger_is_busy(a) || leaving || (c->unprepare ? unlocked : ledger_reopens(a));
}

static bool is_prepare(const struct call *c)
{
    return c->state == CALL_RUNNING && !c->unprepare;
}

/*
 * Time from which a running prepare counts as hanging; UINT64_MAX: never, because the prepare waits
 * for the connection to the API server, or for the store.
 */
static uint64_t hangs_ms(const struct agent *a, const struct call *c)
{
    uint64_t since_ms = later(c->start_ms, api_since_ms(a));
    bool waits = since_ms == UINT64_MAX || call_waits_for_store(a, c);
    return waits ? UINT64_MAX : since_ms + PREPARE_STALL_MS;
}

static bool is_sooner(const struct call *c, const struct call *other)
{
    return c->start_ms < other->start_ms ||
           (c->start_ms == other->start_ms && c->id.serial < other->id.serial);
}

bool call_yields(const struct agent *a, const struct call *c)
{
    unsigned hang = 0;
    if (!is_prepare(c)) {
        return false;
    }
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        const struct call *other = &a->calls->call[i];
        bool before = is_prepare(other) && other->server == c->server && is_sooner(other, c);
        hang += (before && a->now_ms >= hangs_ms(a, other)) ? 1u : 0u;
    }
    return hang >= PREPARES_STALLED_MAX;
}

uint64_t call_yield_deadline(const struct agent *a, const struct call *c)
{
    uint64_t at = is_prepare(c) ? hangs_ms(a, c) : UINT64_MAX;
    if (call_yields(a, c)) {
        return a->now_ms;
    }
    return (at > a->now_ms) ? at : UINT64_MAX;
}
