/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes Events on their way to the API server (recorder.c): each new note of event_notes.h is
 * posted as an Event of events.k8s.io/v1, each one that came again is told by a PATCH of its
 * series. Owns struct recorder. Internal to src/agent.
 *
 * Events of the Node stand in the namespace `default`, those of a claim in the claim's. A token
 * bucket bounds the requests (NOTE_BURST, NOTE_REFILL_MS); a lost connection loses nothing.
 */
#ifndef AGENT_REPORT_RECORDER_H
#define AGENT_REPORT_RECORDER_H

#include "agent/api/outgoing.h"

/* The request under way, and what bounds the next one. */
struct recorder {
    struct outgoing out;
    unsigned at;           /* index of the note that the request tells */
    uint32_t telling;      /* its count, as the request says it */
    uint64_t told_wall_ms; /* and its last time, Unix milliseconds */
    uint64_t bucket_ms;    /* when the token bucket will be full again */
    uint16_t refused_http; /* HTTP status of the refusal that was logged; 0: none since a success */
    uint32_t denied_sum;   /* of the first namespace refused (403) since a success; 0: none */
    uint64_t dropped_ms;   /* when dropped Events may be logged again */
};

/* The module's verbs, see state.h. */
void recorder_step(struct agent *a);
uint64_t recorder_deadline(const struct agent *a);
/* The answer to the request is complete, or will not come: the verdict on it. */
void recorder_end(struct agent *a, const struct api_result *r);

#endif
