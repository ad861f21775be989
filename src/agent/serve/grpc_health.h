/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health, Check and Watch (grpc_health.c). Owns struct grpc_health_subscription.
 * Internal to src/agent.
 *
 * A subscription is a call of Watch. Its peer gets the current state at once and then each change.
 * There is no queue: a slow peer gets only the newest state, and a peer that does not read a
 * message within GRPC_REPLY_MS loses the subscription. An idle subscription has no time limit: it
 * ends when the peer's grpc-timeout expires, when the peer ends it, or when the agent stops
 * (UNAVAILABLE). A subscription holds no request buffer. A connection that has only subscriptions
 * counts as idle, so that the agent may close it for a new connection of the kubelet or a probe
 * (links.c); its client then reconnects.
 */
#ifndef AGENT_SERVE_GRPC_HEALTH_H
#define AGENT_SERVE_GRPC_HEALTH_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One subscription to health states; unused if the call `id` has ended. */
struct grpc_health_subscription {
    struct grpc_call_id id;
    uint8_t service; /* index of the service whose state the peer gets */
    /* the state that was sent last; 0: no state was sent, or a message is being sent */
    uint8_t sent;
};

/*
 * Handles a complete request on a link. grpc_health_check responds to a check; grpc_health_watch
 * starts a subscription. For an unknown service or a malformed request, a check gets NOT_FOUND and
 * a subscription the state SERVICE_UNKNOWN. A link that has GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK
 * subscriptions gets RESOURCE_EXHAUSTED.
 */
void grpc_health_check(struct agent *a, unsigned link, const struct grpc_event *event);
/* Starts a subscription, see grpc_health_check. */
void grpc_health_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Number of open subscriptions of a link. */
unsigned grpc_health_subscriptions(const struct agent *a, unsigned link);
/*
 * Called when a new connection gets the link: drops the subscriptions of the link's earlier
 * connection.
 */
void grpc_health_forget(struct agent *a, unsigned link);
/* Sends changed states to the subscriptions of all links; ends them when the agent stops. */
void grpc_health_step(struct agent *a);

#endif
