/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims missing in a lost store (rebuild.c): when the store is new, or a part of it was lost, all
 * claims are listed at the API server, and those that are in use on this node are held again. Owns
 * struct rebuild. Internal to src/agent.
 *
 * Invariants:
 * I1 While ledger.unlisted, only claims that were held before get devices.
 * I2 That ends only after a list that the API server answered completely, from first page to last.
 * I3 A claim that the kubelet unprepares meanwhile is not adopted.
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
    struct claim_id id;            /* names of the current claim; empty: not usable */
    char pod_claim[NAMESPACE_CAP]; /* name in the pod of the claim that follows */
    char token[CONTINUE_CAP];      /* token of the next page; empty: the first one */
};

/* The verbs of the room, see frame.h. */
void rebuild_step(struct agent *a);
uint64_t rebuild_deadline(const struct agent *a);
/* Another agent owns the claims from now on: ends the page in flight. */
void rebuild_retire(struct agent *a);
/* A record of the response to a page, and its end. */
void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void rebuild_end(struct agent *a, const struct api_result *r);

#endif
