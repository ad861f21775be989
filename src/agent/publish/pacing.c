/* SPDX-License-Identifier: Apache-2.0 */
/* Determines when rounds start: on request, after a failure, or at the interval. */
#include "agent/publish/pacing.h"

#include "agent/api/backoff.h"
#include "agent/frame.h"
#include "agent/publish/room.h"
#include "base/time.h"

void pacing_init(struct agent *a)
{
    struct pacing *p = &a->publish->pacing;
    p->spread_ms = agent_random(a) % PUBLISH_SPREAD_MS;
    p->wait_ms = a->started_ms + PUBLISH_WAIT_MS;
    p->due_ms = pacing_soon(p, a->started_ms);
}

uint64_t pacing_due(const struct pacing *p)
{
    return later(p->due_ms, p->not_before_ms);
}

void pacing_cancel(struct pacing *p)
{
    p->due_ms = UINT64_MAX;
}

void pacing_started(struct pacing *p)
{
    pacing_cancel(p);
    p->spread_ms = 0;
}

void pacing_by(struct pacing *p, uint64_t at_ms)
{
    p->due_ms = earlier(p->due_ms, at_ms);
}

void pacing_registered(struct pacing *p)
{
    p->wait_ms = 0;
}

/*
 * A requested round waits until the kubelet has registered the driver, because if a slice were
 * published earlier, pods would be scheduled, then fail and back off.
 */
uint64_t pacing_soon(const struct pacing *p, uint64_t now_ms)
{
    return later(now_ms, p->wait_ms) + p->spread_ms;
}

void pacing_failed(struct pacing *p, uint64_t due_ms, bool firm)
{
    p->due_ms = due_ms;
    if (firm) {
        p->not_before_ms = later(p->not_before_ms, due_ms);
    }
}

uint64_t pacing_invalid(struct agent *a)
{
    struct pacing *p = &a->publish->pacing;
    uint64_t wait = agent_backoff_within(a, &p->invalid_ms, INVALID_RETRY_MS, INVALID_RETRY_MAX_MS);
    p->not_before_ms = a->now_ms + wait;
    return wait;
}

void pacing_content_changed(struct pacing *p)
{
    if (p->invalid_ms > 0u) {
        p->invalid_ms = 0;
        p->not_before_ms = 0;
    }
}

void pacing_over(struct agent *a)
{
    struct pacing *p = &a->publish->pacing;
    bool asked = p->due_ms <= a->now_ms;
    p->backoff_ms = 0;
    p->invalid_ms = 0;
    p->due_ms = asked ? a->now_ms : a->now_ms + agent_jitter(a, a->settings->reconcile_ms);
}

/*
 * Another client that writes the same slice, or a server that does not keep all fields, must not
 * make this agent write without pause. The first SLICE_REPAIRS_FREE repairs in quick succession
 * need no wait; before each further repair the agent waits longer. If the server does not keep all
 * fields, the wait is API_REFUSED_MS.
 */
void pacing_wrote(struct agent *a, bool lossy)
{
    struct pacing *p = &a->publish->pacing;
    bool close = p->write_ms > 0u && a->now_ms - p->write_ms < SLICE_REPAIRS_MS;
    p->writes = close ? p->writes + 1u : 0u;
    p->repair_ms = close ? p->repair_ms : 0u;
    p->write_ms = a->now_ms;
    if (lossy) {
        p->not_before_ms = a->now_ms + API_REFUSED_MS;
    } else if (p->writes > SLICE_REPAIRS_FREE) {
        p->not_before_ms = a->now_ms + agent_backoff(a, &p->repair_ms);
    } else {
        /* no extra wait: the next round may start as soon as it is requested */
    }
}
