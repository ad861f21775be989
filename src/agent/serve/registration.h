/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration with the kubelet (registration.c): the two methods of pluginregistration v1, and the
 * recreation of the socket when the kubelet does not register the driver. Owns struct registration.
 * Internal to src/agent.
 */
#ifndef AGENT_SERVE_REGISTRATION_H
#define AGENT_SERVE_REGISTRATION_H

#include "agent/agent.h"
#include "wire/grpc.h"

/*
 * What the kubelet last reported about the registration, and how long the agent waits for its
 * report.
 */
struct registration {
    bool registered;
    bool asked;          /* the kubelet has called GetInfo at least once */
    bool socket_wanted;  /* ORDER_RENEW_REGISTRATION must be given to the host */
    uint64_t waiting_ms; /* when the current wait for a registration began */
    uint64_t retry_ms;   /* wait until the socket is recreated; each wait is twice as long */
    char last_error[CLAIM_ERROR_CAP];
};

/*
 * Handles GetInfo: returns the driver's name, its service socket, and the gRPC services of that
 * socket with their versions.
 */
void registration_get_info(struct agent *a, unsigned link, const struct grpc_event *event);
/*
 * Handles NotifyRegistrationStatus: records whether the kubelet registered the driver, or why not.
 */
void registration_notify(struct agent *a, unsigned link, const struct grpc_event *event);
/* Whether the kubelet has called GetInfo at least once. */
bool registration_was_asked(const struct agent *a);
/* Whether the kubelet has registered the driver. */
bool registration_is_done(const struct agent *a);
/*
 * Whether the host must create the socket again (ORDER_RENEW_REGISTRATION); returns true once for
 * each socket to create.
 */
bool registration_wants_socket(struct agent *a);
/* The init, step and deadline functions of this module; see frame.h. */
void registration_init(struct agent *a);
void registration_step(struct agent *a);
uint64_t registration_deadline(const struct agent *a);

#endif
