/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.devices of claims (claim_status.c): with --claim-status, what was prepared is written into
 * the claim's own status, in the background. Owns struct claim_status. Internal to src/agent.
 *
 * One server-side apply for each claim writes our entries and no others; one with no entry removes
 * them after the unprepare. When a write fails, the claim stays as good as any. What waits is lost
 * with the process: a start would have to write every held claim again only to find most of them
 * written, so it writes none, and a claim whose turn had not come gets its status when the kubelet
 * asks for it again. The server clears the entries of a claim that it deallocates, whatever happens
 * here.
 */
#ifndef AGENT_CLAIM_CLAIM_STATUS_H
#define AGENT_CLAIM_CLAIM_STATUS_H

#include "agent/api/outgoing.h"
#include "dra/claim.h"

/* What is to be written, and the request under way. */
struct claim_status {
    struct outgoing out;
    int slot;                 /* of the claim whose status is written; -1: that of gone[0] */
    enum api_version version; /* of the request's path and body */
    uint16_t refused_http; /* HTTP status of the refusal that was logged; 0: none since a success */
    unsigned tries;        /* of what is written now */
    unsigned gone_count;
    bool wanted[CLAIMS_MAX];      /* the status of the claim in this slot is to be written */
    uint32_t claim[CLAIMS_MAX];   /* which claim that is, or was: a checksum of its UID */
    uint64_t wall_ms[CLAIMS_MAX]; /* when it was prepared, Unix milliseconds */
    /* unprepared: our entries are to go */
    struct claim_id gone[CLAIM_STATUS_GONE_MAX];
};

/* The module's verbs, see state.h. */
void claim_status_step(struct agent *a);
uint64_t claim_status_deadline(const struct agent *a);
/*
 * The claim in this slot of the store is prepared. Its status is written once, however often the
 * kubelet asks for the claim.
 */
void claim_status_prepared(struct agent *a, unsigned slot);
/* The claim that was in this slot, and whose names are still in its entry, is unprepared. */
void claim_status_unprepared(struct agent *a, unsigned slot);
/* The claims are another agent's from now on: nothing is written any more. */
void claim_status_retire(struct agent *a);
/* The request ended: decides whether the status is written, tried again, or given up. */
void claim_status_end(struct agent *a, const struct api_result *r);

#endif
