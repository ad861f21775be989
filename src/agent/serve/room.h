/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of src/agent/serve for one driver. Only the files of src/agent/serve and agent/state.h
 * include this header.
 */
#ifndef AGENT_SERVE_ROOM_H
#define AGENT_SERVE_ROOM_H

#include "agent/serve/device_streams.h"
#include "agent/serve/grpc_health.h"
#include "agent/serve/links.h"
#include "agent/serve/pages.h"
#include "agent/serve/peer_failures.h"
#include "agent/serve/registration.h"
#include "agent/serve/responses.h"

/* The connections to the server sockets, and the state of each service on them. */
struct serve {
    struct registration registration;
    struct grpc_buffers buffers;
    struct response response[RESPONSES_MAX];
    struct grpc_health_subscription grpc_health_subscription[GRPC_LINKS]
                                                            [GRPC_HEALTH_SUBSCRIPTIONS_PER_LINK];
    struct device_stream device_stream[SERVICE_LINKS][DEVICE_STREAMS_PER_LINK];
    struct server_link link[GRPC_LINKS];
    struct page_link page[METRICS_LINKS];
    struct peer_failures peer_failures;
};

#endif
