/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the queue of Kubernetes Events to the API server (k8s_event_writer.c). Creates new Events
 * in events.k8s.io/v1, and patches the series of an Event that has occurred again. Owns struct
 * k8s_event_writer. Internal to src/agent.
 *
 * Events about the Node go to the namespace `default`, Events about a claim to the namespace of the
 * claim. A token bucket limits the requests (K8S_EVENT_BURST, K8S_EVENT_REFILL_MS). A lost
 * connection does not lose Events.
 */
#ifndef AGENT_REPORT_K8S_EVENT_WRITER_H
#define AGENT_REPORT_K8S_EVENT_WRITER_H

#include "agent/api/outgoing.h"

/* The request that sends an Event, and the limits for the next request. */
struct k8s_event_writer {
    struct outgoing out;
    unsigned at;    /* index in the queue of the Event that the request sends */
    uint32_t count; /* count of the Event, as sent in the request */
    /* time of the Event's last occurrence, as sent in the request, in Unix milliseconds */
    uint64_t last_wall_ms;
    uint64_t bucket_ms; /* when the token bucket will be full again */
    /* HTTP status of the last refusal that was logged; 0: no refusal since the last success */
    uint16_t refused_http;
    /* checksum of the first namespace that was refused (403) since the last success; 0: none */
    uint32_t denied_sum;
    char node_uid[UID_CAP]; /* UID of the Node object; empty: unknown */
    uint64_t dropped_ms;    /* earliest time at which dropped Events may be logged again */
};

/*
 * k8s_event_writer_step starts the request that is due; k8s_event_writer_deadline returns when to
 * call it again (frame.h).
 */
void k8s_event_writer_step(struct agent *a);
uint64_t k8s_event_writer_deadline(const struct agent *a);
/* Sets the UID of the Node, which Events about the node contain; empty: unknown. */
void k8s_event_writer_node(struct agent *a, const char *uid);
/* Handles the end of a request that sent an Event: updates that Event according to the result. */
void k8s_event_writer_end(struct agent *a, const struct api_result *r);

#endif
