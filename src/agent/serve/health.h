/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health, Check and Watch (health.c). Owns struct health_subscription. Internal to
 * src/agent.
 *
 * A subscription is a call of Watch. It has a state and no queue: its peer gets the present state
 * at once and then each change; a peer that does not take a message in GRPC_REPLY_MS loses the
 * subscription, one that takes it late gets the newest state. The agent has no time limit for an
 * idle subscription: it ends by the peer's grpc-timeout, by the peer, or when the agent stops
 * (UNAVAILABLE). It holds no request buffer. A connection with nothing else counts as idle, so that
 * it gives way to the kubelet and to probes as links.c describes; its client connects again.
 */
#ifndef AGENT_SERVE_HEALTH_H
#define AGENT_SERVE_HEALTH_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One subscription; free when its call is not alive. */
struct health_subscription {
    struct grpc_call_id id;
    uint8_t service; /* whose state it gets */
    uint8_t sent;    /* the state sent last; 0: none yet, or a message is under way */
};

/*
 * One complete request of a link whose call is alive: a check gets its response, a subscription
 * starts. For a service that is not known, or a request that cannot be read, a check gets NOT_FOUND
 * and a subscription the state SERVICE_UNKNOWN; more than HEALTH_SUBSCRIPTIONS_PER_LINK get
 * RESOURCE_EXHAUSTED.
 */
void health_check(struct agent *a, unsigned link, const struct grpc_event *event);
/* See health_check. */
void health_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Subscriptions of a link that have not ended. */
unsigned health_subscriptions(const struct agent *a, unsigned link);
/* Drops those of the connection that a link had before. */
void health_forget(struct agent *a, unsigned link);
/* Sends changes to the subscriptions of all links; ends them when the agent stops. */
void health_step(struct agent *a);

#endif
