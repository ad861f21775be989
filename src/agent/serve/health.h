/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health, Check and Watch (health.c). Owns struct watch, a stream of states.
 * Internal to src/agent.
 *
 * A watch is a state and no queue: its peer is told the present one at once, and again when it is
 * another; one that does not take a message in GRPC_REPLY_MS loses its watch, one that takes it
 * late is told the newest state. No time of ours ends an idle one: its grpc-timeout does, its peer,
 * or the agent's stop (UNAVAILABLE). It holds no buffer of a request, and a connection with nothing
 * else counts as idle: it gives way to the kubelet and to probes as links.c says, and its client
 * comes back.
 */
#ifndef AGENT_SERVE_HEALTH_H
#define AGENT_SERVE_HEALTH_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* One stream; whose call is not alive is a free entry. */
struct watch {
    struct grpc_call_id id;
    uint8_t service; /* which state it is told */
    uint8_t told;    /* the last one; 0: none yet, or a message is under way */
};

struct server_link;

/*
 * One complete request of a link, of which the call is alive: a check is answered, a watch begun. A
 * service that is not known, or a request that cannot be read: NOT_FOUND to a check, the state
 * SERVICE_UNKNOWN to a watch; more than WATCHES_PER_LINK watches: RESOURCE_EXHAUSTED.
 */
void health_check(struct agent *a, unsigned link, const struct grpc_event *event);
void health_watch(struct agent *a, unsigned link, const struct grpc_event *event);
/* Watches of a link that have not ended. */
unsigned health_watches(const struct server_link *l);
/* Tells the watches of all links what changed; when the agent stops it ends them. */
void health_step(struct agent *a);

#endif
