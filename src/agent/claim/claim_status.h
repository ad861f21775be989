/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes status.devices of claims (claim_status.c): with --claim-status, the agent writes the
 * prepared devices into the claim's status, in the background. Owns struct claim_status. Internal
 * to src/agent.
 *
 * One server-side apply for each claim writes this driver's entries only; after the unprepare, an
 * apply without entries removes them. A failed write does not affect the claim. Pending writes are
 * lost with the process: a new process does not write the status of held claims, because most of
 * them have it already; a claim without its status gets it when the kubelet prepares it again. The
 * API server itself clears the entries of a claim that it deallocates.
 */
#ifndef AGENT_CLAIM_CLAIM_STATUS_H
#define AGENT_CLAIM_CLAIM_STATUS_H

#include "agent/api/outgoing.h"
#include "dra/claim.h"

/* The claims whose status must be written, and the current request. */
struct claim_status {
    struct outgoing out;
    int slot; /* slot of the claim whose status is written; -1: the claim is gone[0] */
    enum api_version version; /* version of resource.k8s.io in the request */
    /* HTTP status of the last refusal that was logged; 0: no refusal since the last success */
    uint16_t refused_http;
    unsigned tries; /* number of attempts to write the status of the current claim */
    unsigned gone_count;
    bool wanted[CLAIMS_MAX]; /* element N: the status of the claim in slot N must be written */
    /* CRC-32C of the UID of the claim that was last prepared in this slot */
    uint32_t claim[CLAIMS_MAX];
    uint64_t wall_ms[CLAIMS_MAX]; /* time of the last prepare in this slot, in Unix milliseconds */
    /* claims that were unprepared: their entries in status.devices must still be removed */
    struct claim_id gone[CLAIM_STATUS_GONE_MAX];
};

/*
 * claim_status_step starts the next write of a status when one is due; claim_status_deadline
 * returns when to call claim_status_step again.
 */
void claim_status_step(struct agent *a);
uint64_t claim_status_deadline(const struct agent *a);
/*
 * Queues the status of the claim in this slot, which was just prepared. The status is written only
 * once for each record of the claim, even if the kubelet prepares the claim again.
 */
void claim_status_prepared(struct agent *a, unsigned slot);
/*
 * Drops what is queued and known of the slot's status, because the record of its claim is a new
 * one: after the next claim_status_prepared the status is written again.
 */
void claim_status_changed(struct agent *a, unsigned slot);
/*
 * Queues the removal of the status of a claim that was just unprepared. Must be called while
 * ledger_id(slot) still names that claim.
 */
void claim_status_unprepared(struct agent *a, unsigned slot);
/* Stops all writing of claim statuses, because another agent owns the claims from now on. */
void claim_status_retire(struct agent *a);
/*
 * Handles the end of the request that writes a status: the write is complete, will be retried, or
 * is given up.
 */
void claim_status_end(struct agent *a, const struct api_result *r);

#endif
