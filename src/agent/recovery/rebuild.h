/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers claims that the store has lost (rebuild.c): when the store is new, or a part of it was
 * lost, the agent lists all claims at the API server, and holds those again that are in use on this
 * node. Owns struct rebuild. Internal to src/agent.
 *
 * Invariants:
 * I1 While ledger.unlisted is set, a prepare gives devices only to claims that were held before.
 * I2 A list clears ledger.unlisted only if the API server answered it completely, from first page
 *    to last.
 * I3 A claim that the kubelet unprepares while the list is read is not adopted.
 */
#ifndef AGENT_RECOVERY_REBUILD_H
#define AGENT_RECOVERY_REBUILD_H

#include "agent/api/client.h"
#include "agent/report/refusal.h"
#include "dra/claim.h"

/* State of the rebuild of the claim store from the API server. */
struct rebuild {
    bool running;    /* a page is in flight */
    unsigned fetch;  /* running: index of the fetch with the builder */
    bool broken;     /* a part of the page could not be read or adopted */
    bool ours;       /* the current claim has devices of this node */
    bool reserved;   /* the current claim is reserved */
    bool failing;    /* the last page failed */
    uint64_t due_ms; /* earliest time for the next page */
    uint64_t backoff_ms;
    uint32_t pages; /* pages and claims of this list so far */
    uint32_t claims;
    uint32_t rebuilt; /* claims adopted in all lists since the store was opened */
    struct refusal refusal;
    struct claim_id id;            /* current claim; empty UID: none, or it is skipped */
    char pod_claim[NAMESPACE_CAP]; /* the next claim's name in its pod */
    char token[CONTINUE_CAP];      /* token of the next page; empty: the first one */
};

/* Step and deadline, as in each room; see frame.h. */
void rebuild_step(struct agent *a);
uint64_t rebuild_deadline(const struct agent *a);
/* Another agent owns the claims from now on: cancels the request in flight. */
void rebuild_retire(struct agent *a);
/* Handle a record of the response to a page, and the end of that response. */
void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void rebuild_end(struct agent *a, const struct api_result *r);

#endif
