/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls.c and replies.c share: the answer of a call. Owns no state (struct call in calls.h).
 * Internal to src/agent.
 */
#ifndef AGENT_CLAIMS_CALLS_INTERNAL_H
#define AGENT_CLAIMS_CALLS_INTERNAL_H

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

/* Ends one operation without success: `why` becomes its error and a log line. Not empty. */
void operation_fail(struct agent *a, struct operation *o, struct view why);
/*
 * Sends as much of the answer of a complete call as there is room for. true: all is out or its peer
 * is gone, and the call is over.
 */
bool call_reply(struct agent *a, unsigned index);

/* --- claim_words.c: each `why` gets one line with the remedy --- */

/* The record of a held claim could not be read. */
void say_unreadable(const struct agent *a, enum status s, struct writer *why);
/* A device of the record is held by the claim in `slot`. */
void say_conflict(const struct agent *a, unsigned slot, const struct claim_record *r,
                  struct writer *why);
/*
 * Whether the devices of a held claim are still on the node; after a reboot one may be gone, and
 * the container runtime would only say "no such file". PEER_NOT_FOUND: `why` names it.
 */
MUST_USE enum status devices_here(const struct agent *a, const struct claim_record *r,
                                  struct writer *why);
/* Logs a claim that was prepared, and the configuration of its requests. */
void log_prepared(struct agent *a, const struct claim_builder *b);

#endif
