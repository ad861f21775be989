/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which /dev/neuronN the devices of a claim are in its containers (numbering.c), so that claims
 * that one container can use never have the same; and which cores of a device a claim has that has
 * a part of it. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_NUMBERING_H
#define AGENT_CLAIM_NUMBERING_H

#include "agent/agent.h"
#include "dra/claim.h"

struct call;

/*
 * Claims of one pod are prepared in one call: with --device-numbering=zero, the record's first
 * number becomes the lowest one that leaves the claims of the same call or pod their numbers.
 * `c`: NULL where there is none. PEER_REFUSED: there is no such number, or the host's numbers are
 * those that another claim counts from zero; `why` gets one line that names both.
 */
MUST_USE enum status numbering_choose(const struct agent *a, const struct call *c,
                                      struct claim_record *r, struct writer *why);
/*
 * With --require-consecutive, whether the record's devices are (claim_consecutive). PEER_REFUSED:
 * they are not; `why` gets one line.
 */
MUST_USE enum status consecutive_check(const struct agent *a, const struct claim_record *r,
                                       struct writer *why);
/*
 * If the record has a part of a device, its cores become those that its claim is held with, as its
 * containers may run on them, or else some that no other held claim has. PEER_REFUSED: not enough
 * of them are free side by side, or the device is gone or not known any more; `why` gets one line.
 */
MUST_USE enum status cores_choose(const struct agent *a, struct claim_record *r,
                                  struct writer *why);

#endif
