/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registration with the kubelet (registration.c): the two methods of pluginregistration v1, and the
 * socket that is created again when the kubelet does not come. Owns struct registration. Internal
 * to src/agent.
 */
#ifndef AGENT_SERVE_REGISTRATION_H
#define AGENT_SERVE_REGISTRATION_H

#include "agent/agent.h"
#include "wire/grpc.h"

/* What the kubelet last reported to the agent. */
struct registration {
    bool registered;
    bool asked;          /* GetInfo was called at least once */
    bool socket_wanted;  /* ORDER_RENEW_REGISTRATION is pending */
    uint64_t waiting_ms; /* since when no registration succeeded */
    uint64_t retry_ms;   /* wait until the socket is created again; doubles */
    char last_error[CLAIM_ERROR_CAP];
};

/* GetInfo: the driver's name, its service socket and the versions of its API. */
void registration_get_info(struct agent *a, unsigned link, const struct grpc_event *event);
/* NotifyRegistrationStatus: whether the kubelet registered the driver, else its reason. */
void registration_notify(struct agent *a, unsigned link, const struct grpc_event *event);
/* The module's verbs, see state.h. */
void registration_init(struct agent *a);
void registration_step(struct agent *a);
uint64_t registration_deadline(const struct agent *a);

#endif
