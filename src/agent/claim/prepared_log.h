/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about a claim that was prepared (prepared_log.c): the claim, what its requests were
 * configured with, settings that no container can have both of, another allocation under the same
 * UID, and a claim whose record was lost and found. Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_PREPARED_LOG_H
#define AGENT_CLAIM_PREPARED_LOG_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Logs the claim of the builder, which `slot` holds from now on. */
void prepared_log(struct agent *a, const struct claim_builder *b, unsigned slot);
/* A claim that is held, with the record `before`, has another allocation: that of `r`. */
void prepared_log_other(struct agent *a, const struct claim_record *before,
                        const struct claim_record *r);
/* A claim without a record is held again, by what `from` says of it. */
void prepared_log_adopted(struct agent *a, const struct claim_record *r, const char *from);

#endif
