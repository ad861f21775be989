/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from the kubelet's checkpoint whether the kubelet will still unprepare a claim
 * (witness.c, with the format of dra/kubelet_state.h). Owns no state. Internal to src/agent.
 */
#ifndef AGENT_RECOVERY_WITNESS_H
#define AGENT_RECOVERY_WITNESS_H

#include "agent/agent.h"
#include "base/bytes.h"
#include "dra/claim.h"

/*
 * Whether the kubelet will never unprepare the claim: its checkpoint was written after
 * `since_wall_ms`, is complete, and does not list the claim. false: it may still unprepare the
 * claim, and `why` gets the reason. Reads the whole file, up to KUBELET_STATE_BYTES_MAX.
 */
bool witness_unlisted(struct agent *a, const char *uid, uint64_t since_wall_ms, struct writer *why);

/* Whether the kubelet's checkpoint is complete and lists the claim. Reads the whole file. */
bool witness_lists(struct agent *a, const char *uid);

/*
 * Whether there is a checkpoint of the kubelet that is complete and of a known version. false: no
 * deleted claim is released before its unprepare, or before the node is booted. Reads the whole
 * file.
 */
bool witness_exists(struct agent *a);

/*
 * Finds the next claim of this driver that the kubelet may use: of those in its checkpoint, the one
 * with the smallest UID above `after` ("" is below all). STATUS_OK: *next has it. PEER_NOT_FOUND:
 * the checkpoint is complete and lists no such claim. Any other status: the checkpoint may lack
 * claims, because it is absent, damaged, of an unknown version, not written since the node was
 * booted, or lists a claim without its name; *next has the claim that was found nevertheless, or an
 * empty UID. Reads the whole file.
 */
MUST_USE enum status witness_next(struct agent *a, const char *after, struct claim_id *next);

#endif
