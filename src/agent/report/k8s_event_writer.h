/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the Kubernetes Events of the queue to the API server (k8s_event_writer.c): a new one is
 * created in events.k8s.io/v1; one that occurred again gets a PATCH of its series. Owns struct
 * k8s_event_writer. Internal to src/agent.
 *
 * Events of the Node are created in the namespace `default`, those of a claim in the claim's
 * namespace. A token bucket limits the requests (K8S_EVENT_BURST, K8S_EVENT_REFILL_MS). A lost
 * connection loses no Event.
 */
#ifndef AGENT_REPORT_K8S_EVENT_WRITER_H
#define AGENT_REPORT_K8S_EVENT_WRITER_H

#include "agent/api/outgoing.h"

/* The request under way, and what limits the next one. */
struct k8s_event_writer {
    struct outgoing out;
    unsigned at;           /* the Event of the request: its place in the queue */
    uint32_t count;        /* the count that the request has */
    uint64_t last_wall_ms; /* and its time of the last occurrence, Unix milliseconds */
    uint64_t bucket_ms;    /* when the token bucket will be full again */
    uint16_t refused_http; /* HTTP status of the refusal that was logged; 0: none since a success */
    uint32_t denied_sum;   /* of the first namespace refused (403) since a success; 0: none */
    uint64_t dropped_ms;   /* when dropped Events may be logged again */
};

/* The module's verbs, see state.h. */
void k8s_event_writer_step(struct agent *a);
uint64_t k8s_event_writer_deadline(const struct agent *a);
/* The request has ended: what becomes of its Event. */
void k8s_event_writer_end(struct agent *a, const struct api_result *r);

#endif
