/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the number N of /dev/neuronN that each device of a claim has in its containers
 * (numbering.c), so that two claims in one container never use the same number. Also chooses the
 * cores of a claim that has a part of a device. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_NUMBERING_H
#define AGENT_CLAIM_NUMBERING_H

#include "agent/agent.h"
#include "dra/claim.h"

/* The claims that are prepared in one call. */
struct claim_group {
    unsigned count;
    const char *uid[CLAIMS_PER_CALL_MAX]; /* UIDs of the claims in the group; borrowed */
};

/*
 * With --device-numbering=zero, sets the record's first number to the lowest one with which the
 * numbers of its devices do not overlap with those of other claims of the same call or pod. `call`:
 * the claims of the call, which are those of one pod; NULL: no call. PEER_REFUSED: two claims would
 * have the same number; `why` gets one line that names both. Causes: no such first number exists;
 * one of the two claims has the host's numbers and the other has numbers that start at zero; or one
 * of them has a part of a device, and must then be the only claim of its pod.
 */
MUST_USE enum status numbering_choose(const struct agent *a, const struct claim_group *call,
                                      struct claim_record *r, struct writer *why);
/*
 * With --require-consecutive, checks that the record's devices are consecutive (claim_consecutive).
 * PEER_REFUSED: they are not; `why` gets one line.
 */
MUST_USE enum status consecutive_check(const struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/*
 * If the record has a part of a device, sets the cores of that part: the cores that the claim
 * already holds, because its containers may run on them, or else free cores. PEER_REFUSED: too few
 * adjacent cores are free, or the device is gone or unknown; `why` gets one line.
 */
MUST_USE enum status cores_choose(const struct agent *a, struct claim_record *r,
                                  struct writer *why);

#endif
