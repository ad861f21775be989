/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the publisher share: publish.c (rounds), publish_records.c (answers),
 * slice_body.c (request bodies). Owns no state
 * (struct publish in publish.h). Internal.
 */
#ifndef AGENT_PUBLISH_INTERNAL_H
#define AGENT_PUBLISH_INTERNAL_H

#include <string.h>

#include "agent/state.h"
#include "cfg/identity.h"

/*
 * A stored slice may differ from the wanted one: a round begins after `wait_ms`, or follows the one
 * under way.
 */
void publish_hint(struct agent *a, uint64_t wait_ms);
/* Takes over what the node has now as the wanted content; comparisons under way start anew. */
void publish_want(struct agent *a);
/* Index of the next slice to be deleted, or -1. */
int publish_doomed(const struct publish *p);

/* slice_body.c: the wanted slice as a request body */
/* Length in bytes of envelope and object. */
uint32_t slice_body_len(struct agent *a);
/*
 * Appends body bytes from `offset` until `out` is full or the body ends. STATUS_MORE: not one
 * byte was appended.
 */
MUST_USE enum status slice_body_part(struct agent *a, uint32_t offset, struct writer *out);

#endif
