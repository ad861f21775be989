/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses N of /dev/neuronN for the devices of a claim in its containers (numbering.c), so that
 * claims in one container never use the same number; and the cores of a claim with a part of a
 * device. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_NUMBERING_H
#define AGENT_CLAIM_NUMBERING_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Claims that are prepared in one call. */
struct claim_group {
    unsigned count;
    const char *uid[CLAIMS_PER_CALL_MAX]; /* borrowed */
};

/*
 * Claims of one pod are prepared in one call: with --device-numbering=zero, the record's first
 * number becomes the lowest one that does not overlap with the claims of the same call or pod.
 * `call` is NULL if there is none. PEER_REFUSED: there is no such number, or the host's numbers
 * overlap with those that another claim counts from zero; `why` gets one line that names both.
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
 * If the record has a part of a device, sets its cores: those that its claim already holds, because
 * its containers may run on them, or else free ones. PEER_REFUSED: too few adjacent cores are free,
 * or the device is gone or unknown; `why` gets one line.
 */
MUST_USE enum status cores_choose(const struct agent *a, struct claim_record *r,
                                  struct writer *why);

#endif
