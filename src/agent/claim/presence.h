/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the devices of a claim are on the node at the time of its prepare (presence.c): the last
 * probe may be --health-interval old. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_PRESENCE_H
#define AGENT_CLAIM_PRESENCE_H

#include "agent/agent.h"
#include "dra/claim.h"

/*
 * STATUS_OK: each device of the record exists, and is the one that the last probe found.
 * PEER_NOT_FOUND: `why` names one that is not as `what` ("prepared", "requested"), and the reason.
 */
MUST_USE enum status presence_check(const struct agent *a, const struct claim_record *r,
                                    const char *what, struct writer *why);

#endif
