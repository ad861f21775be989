/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's side: registration and the gRPC methods (kubelet.c). Owns struct registration.
 * Internal to src/agent.
 */
#ifndef AGENT_SERVE_KUBELET_H
#define AGENT_SERVE_KUBELET_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* What the kubelet said of us. */
struct registration {
    bool registered;
    bool asked;          /* GetInfo was called at least once */
    uint64_t waiting_ms; /* since when no registration succeeded */
    uint64_t retry_ms;   /* wait before the socket is made anew; doubles */
    char last_error[CLAIM_ERROR_CAP];
};

/*
 * Whether a path is served on sockets of enum link_kind (kubelet.c). No line tells of others: the
 * kubelet asks for streams that we do not serve every 5 s.
 */
bool kubelet_serves(struct view path, unsigned kind);
/* One complete request of a link, of a path that is served there. */
void kubelet_call(struct agent *a, unsigned link, const struct grpc_event *event);
void kubelet_init(struct agent *a);
void kubelet_step(struct agent *a);
uint64_t kubelet_deadline(const struct agent *a);

#endif
