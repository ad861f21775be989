/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers claims that the store has lost (rebuild.c): when the store is new, or a part of it was
 * lost, the agent lists all claims at the API server, and holds again those that are in use on this
 * node. Owns struct rebuild. Internal to src/agent.
 *
 * Invariants:
 * I1 While ledger.unlisted is set, a prepare gives devices only to claims that were held before.
 * I2 A list clears ledger.unlisted only if the API server returned all of its pages, from the first
 *    to the last.
 * I3 A claim that the kubelet unprepares while the list is read is not adopted.
 */
#ifndef AGENT_RECOVERY_REBUILD_H
#define AGENT_RECOVERY_REBUILD_H

#include "agent/api/client.h"
#include "agent/report/refusal.h"
#include "dra/claim.h"

/* State of the rebuild of the claim store from the API server. */
struct rebuild {
    bool running;   /* a request for a page of the list is in flight */
    unsigned fetch; /* while `running`: index of the fetch that the page borrows */
    bool broken;    /* the current page could not be read, or a claim in it could not be adopted */
    bool ours;      /* the current claim has devices of this node */
    bool reserved;  /* the current claim is reserved for a consumer */
    /* a page failed since the last complete list, and the failure was not transient */
    bool failing;
    uint64_t due_ms; /* earliest time of the request for the next page */
    uint64_t backoff_ms;
    /* number of pages of the current list that were read; `claims`: number of claims in them */
    uint32_t pages;
    uint32_t claims;
    uint32_t rebuilt; /* number of claims that were adopted since the last complete list */
    struct refusal refusal;
    struct claim_id id; /* the current claim; empty UID: there is none, or it is skipped */
    /* name of the next claim in the spec of its pod, from the claim's annotation */
    char pod_claim[NAMESPACE_CAP];
    char token[CONTINUE_CAP]; /* token of the next page; empty: the first page is next */
};

/*
 * rebuild_step does the work that is due; rebuild_deadline returns when to call it again (frame.h).
 */
void rebuild_step(struct agent *a);
uint64_t rebuild_deadline(const struct agent *a);
/* Cancels the request in flight, because another agent owns the claims from now on. */
void rebuild_retire(struct agent *a);
/*
 * rebuild_record handles a record of the response for a page; rebuild_end, the end of the response.
 */
void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void rebuild_end(struct agent *a, const struct api_result *r);

#endif
