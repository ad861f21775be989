/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC methods (methods.c): which path is served on which socket, and by which function. Owns
 * no state. Internal to src/agent.
 */
#ifndef AGENT_SERVE_METHODS_H
#define AGENT_SERVE_METHODS_H

#include "agent/agent.h"
#include "wire/grpc.h"

/*
 * Number of the method that sockets of a kind (enum link_kind) serve at a path, for
 * struct grpc_event; -1: none. Nothing is logged for an unknown path: the kubelet asks every 5 s
 * for streams that the agent does not serve.
 */
int method_find(struct view path, unsigned kind);
/* Serves one complete request of a link. */
void method_call(struct agent *a, unsigned link, const struct grpc_event *event);

#endif
