/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GETs of ResourceClaims (fetch.c). Owns struct fetch. Whoever started a fetch looks at its state
 * with each step, takes the result and releases it; a fetch calls nobody. Internal to src/agent.
 */
#ifndef AGENT_CLAIM_FETCH_H
#define AGENT_CLAIM_FETCH_H

#include "agent/api/client.h"
#include "dra/claim.h"

/* How far a GET has come; `state` of struct fetch. */
enum {
    FETCH_FREE,
    FETCH_RUNNING,
    FETCH_DONE,   /* builder.record is the claim's record, complete and checked */
    FETCH_FAILED, /* builder.why says why in one line */
    FETCH_REPEAT, /* nothing was learned: to be started again, with `history` */
    FETCH_PASSES  /* the same after a wait; builder.why says what failed, and passes by itself */
};

/*
 * Bits of `history`: what earlier GETs of the same claim met. The others are 1 << enum api_version:
 * the server did not know the path in that version.
 */
#define FETCH_UNPROCESSED 0x80u /* the server refused the request without looking at it */

/* One claim GET. */
struct fetch {
    uint8_t state;           /* FETCH_… */
    uint8_t history;         /* see FETCH_UNPROCESSED */
    enum status failed;      /* FAILED: PEER_NOT_FOUND: there is no such claim for this node */
    bool whole;              /* FAILED: the claim was read to its end */
    uint64_t retry_after_ms; /* PASSES: what the server asks for; 0: nothing */
    struct claim_builder builder;
};

/*
 * Sends the GET of a claim alone, whose response goes where those of this kind go; `limit_ms` as in
 * struct api_request. false: it cannot be sent now.
 */
MUST_USE bool fetch_send(struct agent *a, unsigned slot, enum api_kind kind,
                         const struct claim_id *id, uint64_t limit_ms);
/*
 * Starts the GET of a claim, which ends within `limit_ms`, more than 0, and within CLAIM_GET_MS;
 * `id` is borrowed until fetch_release. Returns the index of the fetch, or -1 when it cannot start
 * now: all fetches are in use, the connection has no room, or the API version is not known yet.
 */
int fetch_start(struct agent *a, const struct claim_id *id, unsigned history, uint64_t limit_ms);
/*
 * Starts a request of another kind in the place of a fetch, whose builder the kind's owner fills,
 * claim after claim, until fetch_release. Returns the index of the fetch, or -1 as fetch_start
 * does.
 */
int fetch_lend(struct agent *a, const struct api_request *r);
/* The builder of a running fetch, for this claim; `id` is borrowed. */
struct claim_builder *fetch_begin(struct agent *a, unsigned fetch, const struct claim_id *id);
/* That builder, again. */
struct claim_builder *fetch_builder(struct agent *a, unsigned fetch);
/* A record of the claim that is built. */
void fetch_feed(struct claim_builder *b, const struct kube_record *record);
/* An annotation of a claim (KUBE_ANNOTATION), see metadata_annotation. */
void fetch_annotation(struct view message, char pod_claim[NAMESPACE_CAP]);
/* Whether a result record (KUBE_RESULT) is of this driver and of this node's pool. */
bool fetch_is_ours(const struct agent *a, struct view message);
/* Frees a fetch. A request that still runs is cancelled. */
void fetch_release(struct agent *a, unsigned fetch);
/* A record of the response to a GET that runs. */
void fetch_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
/* The response is complete, or will not come: decides the state of the fetch. */
void fetch_end(struct agent *a, const struct api_result *r);

#endif
