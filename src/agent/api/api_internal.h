/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the connection to the API server share: requests.c (what is asked, and what
 * answers mean) and, above it, api.c (the connection's life). Owns no state (struct api in api.h).
 * Internal.
 */
#ifndef AGENT_API_API_INTERNAL_H
#define AGENT_API_API_INTERNAL_H

#include "agent/state.h"

/* No entry is used yet. */
void requests_init(struct api *api);
/* An event of the connection that concerns one of its streams. */
void requests_event(struct agent *a, const struct h2_event *e);
/* The next END or record that is owed; false: none. The entry that ended before is free again. */
bool requests_next(struct agent *a, struct api_event *event);
/* Every request is over with this verdict; ends are owed for all. */
void requests_end(struct api *api, enum status verdict);
/* Requests whose time is up are over. */
void requests_expire(struct agent *a);
/*
 * The host read the token again: requests refused for theirs are over, as if their connection had
 * ended when there is another token now, else refused. True: there was one; *shown is the sum of
 * its token. Does nothing while the token is not read.
 */
bool requests_reread(struct api *api, uint32_t *shown);
/* Whether an answer is awaited that ends by itself: not a watch's, but a refused one's. */
bool requests_waiting(const struct api *api);
/* When the next request of our own may go; may be in the past. */
uint64_t requests_free_ms(const struct api *api);
/* When requests_expire is due; UINT64_MAX: never. */
uint64_t requests_deadline(const struct api *api);

#endif
