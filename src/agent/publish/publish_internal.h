/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the publisher share: publish.c (rounds and requests), publish_records.c
 * (answers), publish_end.c (their ends), publish_plan.c (what is wanted and what has to be done for
 * it), slice_body.c (request bodies). Owns no state (struct publish in publish.h). Internal.
 */
#ifndef AGENT_PUBLISH_PUBLISH_INTERNAL_H
#define AGENT_PUBLISH_PUBLISH_INTERNAL_H

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

/* --- publish_plan.c --- */

/*
 * A stored slice may differ from the wanted one: a round begins after `wait_ms`, or follows the one
 * under way.
 */
void publish_hint(struct agent *a, uint64_t wait_ms);
/* What the server kept of one content tells nothing of another one. */
void publish_forget_losses(struct publish *p);
/* Takes over what the node has now as the wanted content; comparisons under way start anew. */
void publish_want(struct agent *a);
/* The list is complete: which slice is which part, what is deleted, what is written. */
void publish_plan(struct agent *a);
/* Cuts the pool into smaller slices; false: they are as small as they may be. */
bool publish_cut_smaller(struct agent *a);
/* Whether the content of a stored slice is what its part should be. */
bool publish_exact(const struct publish *p, const struct slice_part *part,
                   const struct slice_seen *s);
/* Whether it is that, or all that the server stores of it. */
bool publish_fits(const struct publish *p, const struct slice_part *part,
                  const struct slice_seen *s);
/* Index of the next slice to be deleted, or -1. */
int publish_doomed(const struct publish *p);
/* Index of the next part to be written, those first that only change; -1: none. */
int publish_unwritten(const struct publish *p);
/* The round did all that it could. */
void publish_round_over(struct agent *a);

/* --- slice_body.c: the wanted slice, or the preconditions of a delete, as a request body --- */

/* Length in bytes of envelope and object. */
uint32_t slice_body_len(struct agent *a);
/* Body bytes from `offset` on, at most `room` of them: an api_body_part. */
struct view slice_body_part(struct agent *a, uint32_t offset, size_t room);

#endif
