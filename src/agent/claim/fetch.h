/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GETs of ResourceClaims (fetch.c). Owns struct fetch. The module that starts a fetch checks the
 * fetch's state in each step, uses the result and releases the fetch; a fetch makes no callbacks.
 * Internal to src/agent.
 */
#ifndef AGENT_CLAIM_FETCH_H
#define AGENT_CLAIM_FETCH_H

#include "agent/api/client.h"
#include "dra/claim.h"

/* Progress of a GET: the values of `state` in struct fetch. */
enum {
    FETCH_FREE,
    FETCH_RUNNING,
    FETCH_DONE,   /* builder.record, the record of the claim, is complete and checked */
    FETCH_FAILED, /* the GET failed; builder.why has the reason in one line */
    FETCH_REPEAT, /* no usable answer: start the GET again at once, with `history` of this fetch */
    FETCH_TRANSIENT /* transient failure: builder.why has the reason; repeat the GET later */
};

/*
 * Bits of `history` in struct fetch: what happened to earlier GETs of the same claim. Besides
 * FETCH_UNPROCESSED there is one bit for each API version V (enum api_version): bit 1 << V is set
 * if the server lacked the path of a GET in that version.
 */
#define FETCH_UNPROCESSED 0x80u /* the server refused a GET without processing it */

/* The GET of one claim. */
struct fetch {
    uint8_t state;   /* progress of the GET: FETCH_FREE to FETCH_TRANSIENT */
    uint8_t history; /* set of bits about earlier GETs of the claim, see FETCH_UNPROCESSED */
    /*
     * if FETCH_FAILED: the reason; PEER_NOT_FOUND: the claim is deleted or replaced, or its devices
     * are not of this node
     */
    enum status failed;
    bool whole;              /* if FETCH_FAILED: whether the claim was read completely */
    uint64_t retry_after_ms; /* if FETCH_TRANSIENT: the wait that the server asks for; 0: none */
    struct claim_builder builder;
};

/*
 * Sends the GET of a claim without using a fetch; the module that owns `kind` handles the response.
 * `limit_ms`: time for the complete response, if shorter than the limit of `kind`; 0: the limit of
 * `kind`. false: the GET cannot be sent now.
 */
MUST_USE bool fetch_send(struct agent *a, unsigned slot, enum api_kind kind,
                         const struct claim_id *id, uint64_t limit_ms);
/*
 * Starts the GET of a claim. The GET ends within `limit_ms`, which is more than 0, and within
 * CLAIM_GET_MS; `id` is borrowed until fetch_release. Returns the index of the fetch. -1: the GET
 * cannot start now, because all fetches are in use, the connection cannot take another request, or
 * the API version is unknown.
 */
int fetch_start(struct agent *a, const struct claim_id *id, unsigned history, uint64_t limit_ms);
/*
 * Starts a request of another kind on a free fetch. The module that owns that kind fills the
 * builder of the fetch, claim after claim, until fetch_release. Returns the index of the fetch; -1:
 * it cannot start now, as for fetch_start.
 */
int fetch_lend(struct agent *a, const struct api_request *r);
/*
 * Begins a claim in the builder of a running fetch, and returns the builder; `id` is borrowed until
 * another claim is begun or the fetch is released.
 */
struct claim_builder *fetch_begin(struct agent *a, unsigned fetch, const struct claim_id *id);
/* The builder of a running fetch, with the claim that was begun last. */
struct claim_builder *fetch_builder(struct agent *a, unsigned fetch);
/* Adds a record of a response to the claim in the builder. */
void fetch_feed(struct claim_builder *b, const struct kube_record *record);
/*
 * Reads one annotation of a claim (KUBE_ANNOTATION). If the annotation has the name by which the
 * pod's specification refers to the claim, copies that name to `pod_claim`.
 */
void fetch_annotation(struct view message, char pod_claim[NAMESPACE_CAP]);
/* Whether a result record (KUBE_RESULT) belongs to this driver and this node's pool. */
bool fetch_is_ours(const struct agent *a, struct view message);
/* Returns the fetch with this index, so that the module that started it can use its outcome. */
struct fetch *fetch_at(struct agent *a, unsigned fetch);
/* Number of fetches that are not in use. */
unsigned fetch_count_free(const struct agent *a);
/* Frees a fetch; cancels its request if it still runs. */
void fetch_release(struct agent *a, unsigned fetch);
/* Handles a record of the response to a running GET. */
void fetch_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
/* Handles the end of a GET, with or without a complete response: sets the state of the fetch. */
void fetch_end(struct agent *a, const struct api_result *r);

#endif
