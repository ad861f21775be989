/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers claims that the store has lost (rebuild.c): when the store is new, or a part of it was
 * lost, the agent finds the claims that are in use on this node, and holds them again. Owns struct
 * rebuild. Internal to src/agent.
 *
 * A list of all claims costs as much as the cluster is large, so the agent asks for less if it can:
 * 1. The claims that the kubelet's checkpoint names, each by its name, if this process created the
 *    store, and the checkpoint lists every claim in use (witness_next).
 * 2. No claim, if this process created the store, and nothing shows that this driver has run on the
 *    node before: no claim in the checkpoint, none in the CDI root, and no slice at the API server.
 * 3. Otherwise all claims, page by page.
 *
 * Invariants:
 * I1 While ledger.unlisted is set, a prepare gives devices only to claims that were held before.
 * I2 ledger.unlisted is cleared only if the API server answered for each claim of a complete
 *    checkpoint (1), if the driver is new on the node (2), or if the API server returned all pages
 *    of the list, from the first to the last (3).
 * I3 A claim that the kubelet unprepares while the list is read is not adopted.
 */
#ifndef AGENT_RECOVERY_REBUILD_H
#define AGENT_RECOVERY_REBUILD_H

#include "agent/api/client.h"
#include "agent/report/refusal.h"
#include "dra/claim.h"

/* How the agent finds the claims in use. */
enum rebuild_way {
    REBUILD_UNDECIDED,
    REBUILD_NAMED, /* the agent reads the claims that the kubelet's checkpoint names */
    REBUILD_LISTED /* the agent lists all claims */
};

/* State of the rebuild of the claim store from the API server. */
struct rebuild {
    enum rebuild_way way;
    bool running; /* a request for a page of the list, or for a named claim, is in flight */
    /* while `running`: index of the fetch of the named claim, or of the page */
    unsigned fetch;
    uint8_t history;     /* what happened to earlier GETs of the named claim, see fetch.h */
    char after[UID_CAP]; /* REBUILD_NAMED: UID of the last claim that was read; empty: none yet */
    /* when the agent stops waiting for the list of slices; 0: it does not wait for that */
    uint64_t slices_by_ms;
    bool hurried; /* a call of the kubelet waits for the end of the rebuild */
    /* the current page could not be read, or a claim that was read could not be adopted */
    bool broken;
    bool ours;     /* the current claim has devices of this node */
    bool reserved; /* the current claim is reserved for a consumer */
    /* a page failed since the last complete list, and the failure was not transient */
    bool failing;
    uint64_t due_ms; /* earliest time of the next request, or of the next attempt to choose `way` */
    uint64_t backoff_ms;
    uint32_t pages;   /* number of pages of the current list that were read */
    uint32_t claims;  /* number of claims that were read, in pages or by their names */
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
/*
 * Called while a call of the kubelet waits for the end of the rebuild: ends the waits that only
 * spare the API server.
 */
void rebuild_hurry(struct agent *a);
/* Cancels the request in flight, because another agent owns the claims from now on. */
void rebuild_retire(struct agent *a);
/*
 * rebuild_record handles a record of the response for a page; rebuild_end, the end of the response.
 */
void rebuild_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void rebuild_end(struct agent *a, const struct api_result *r);

#endif
