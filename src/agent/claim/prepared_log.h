/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about a prepared claim (prepared_log.c): the claim, the configuration of its requests,
 * settings that contradict each other in a container, another allocation under the same UID, and a
 * claim whose record was lost and recovered; and the configuration of a claim that was refused.
 * Owns no state. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_PREPARED_LOG_H
#define AGENT_CLAIM_PREPARED_LOG_H

#include "agent/agent.h"
#include "dra/claim.h"

/* Logs the claim in the builder, which was prepared and is held in `slot` now. */
void prepared_log(struct agent *a, const struct claim_builder *b, unsigned slot);
/*
 * Logs the configurations of a claim that cannot be prepared: those that apply to its requests and,
 * if there is one, the configuration for which the claim was refused. Configurations behind a
 * refused one are not applied, so they may overrule one that is logged. Logs nothing of a claim
 * that was not read completely.
 */
void prepared_log_refused(struct agent *a, const struct claim_builder *b);
/* Logs that a held claim was allocated again: `before` is its earlier record, `r` the new one. */
void prepared_log_other(struct agent *a, const struct claim_record *before,
                        const struct claim_record *r);
/* Logs that a claim without a record is held again; `from`: where its record was found. */
void prepared_log_adopted(struct agent *a, const struct claim_record *r, const char *from);

#endif
