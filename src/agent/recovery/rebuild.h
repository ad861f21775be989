/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims that a lost store does not name (rebuild.c): when the store is new, or a part of it
 * was lost, all claims are listed at the API server, and those that are in use on this node are
 * held again. Owns struct rebuild. Internal to src/agent.
 *
 * Invariants:
 * I1 While ledger.unlisted, no device goes to a claim that was not held before.
 * I2 That ends only after a list that the API server answered whole, from first page to last.
 * I3 A claim that the kubelet unprepares meanwhile is not taken in.
 */
#ifndef AGENT_RECOVERY_REBUILD_H
#define AGENT_RECOVERY_REBUILD_H

#include "agent/api/client.h"
#include "agent/report/refusal.h"
#include "dra/claim.h"

struct rebuild {
    bool running;    /* a page is in flight */
    unsigned fetch;  /* running: whose builder is used */
    bool broken;     /* something of the page could not be read or taken in */
    bool ours;       /* the claim that is being read has devices of this node */
    bool reserved;   /* and somebody may use it */
    bool failing;    /* the last page failed */
    uint64_t due_ms; /* no page is asked for before */
    uint64_t backoff_ms;
    uint32_t pages; /* of this list so far, and what was in them */
    uint32_t claims;
    uint32_t rebuilt; /* in all lists since the store was opened */
    struct refusal refusal;
    struct claim_id id; /* of the claim that is being read; empty: it has no usable names */
    char pod_claim[NAMESPACE_CAP]; /* of the claim whose names come next */
    char token[CONTINUE_CAP];      /* of the next page; empty: the first one */
};

/* The module's verbs, see state.h. */
void rebuild_step(struct agent *a);
uint64_t rebuild_deadline(const struct agent *a);
/* The claims are another agent's from now on: ends the page in flight. */
void rebuild_retire(struct agent *a);
/* Of the response to a page. */
void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void rebuild_end(struct agent *a, const struct api_result *r);

#endif
