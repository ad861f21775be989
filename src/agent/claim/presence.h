/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the devices of a claim are on the node when it is prepared (presence.c), because the
 * last probe may be as old as --health-interval. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_PRESENCE_H
#define AGENT_CLAIM_PRESENCE_H

#include "agent/agent.h"
#include "dra/claim.h"

/*
 * Checks that each device of the record exists, and is the device that the last probe found.
 * PEER_NOT_FOUND: `why` names a device that is gone or was replaced, and the difference; the word
 * `what` ("prepared" or "requested") precedes the name. While the devices of the node are unknown,
 * nothing is checked and the result is STATUS_OK.
 */
MUST_USE enum status presence_check(const struct agent *a, const struct claim_record *r,
                                    const char *what, struct writer *why);

#endif
