/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim GETs (fetch.c). Owns struct fetch. Internal to src/agent.
 */
#ifndef AGENT_CLAIMS_FETCH_H
#define AGENT_CLAIMS_FETCH_H

#include "agent/api/client.h"
#include "dra/claim.h"

/* One claim GET. */
struct fetch {
    bool used;
    uint16_t operation;
    struct claim_builder builder;
};

/* Begins the GET for an operation in WAITING; false: no free fetch, no room, no API version yet. */
bool fetch_begin(struct agent *a, unsigned operation);
void fetch_cancel(struct agent *a, unsigned fetch);
/* A record, and the end, of the answer to a GET. */
void fetch_record(struct agent *a, const struct api_result *r, const struct kube_record *record);
void fetch_end(struct agent *a, const struct api_result *r);

#endif
