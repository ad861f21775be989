/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claim GETs (fetch.c). Owns struct fetch. Internal to src/agent.
 */
#ifndef AGENT_CLAIMS_FETCH_H
#define AGENT_CLAIMS_FETCH_H

#include "agent/agent.h"
#include "dra/claim.h"
#include "wire/kube.h"

/* One claim GET. */
struct fetch {
    bool used;
    uint16_t operation;
    struct claim_builder builder;
};

/* Begins the GET for an operation in WAITING; false: no free fetch, no room, no API version yet. */
bool fetch_begin(struct agent *a, unsigned operation);
void fetch_cancel(struct agent *a, unsigned fetch);
void fetch_record(struct agent *a, unsigned fetch, const struct kube_record *record);
void fetch_end(struct agent *a, unsigned fetch, enum status status);

#endif
