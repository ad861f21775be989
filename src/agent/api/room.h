/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of src/agent/api for all drivers: the connection to the API server and its requests.
 * Only the files of this folder and agent/state.h include this header.
 */
#ifndef AGENT_API_ROOM_H
#define AGENT_API_ROOM_H

#include "agent/api/client.h"
#include "agent/api/connection.h"
#include "agent/api/version.h"

/* The connection, its requests, and the version of resource.k8s.io in use. */
struct api {
    struct api_connection connection;
    struct api_client client;
    struct version version;
};

#endif
