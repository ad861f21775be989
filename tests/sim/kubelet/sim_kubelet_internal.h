/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the kubelet model share: sim_kubelet.c has life, links and registration,
 * sim_kubelet_calls.c the calls. Nobody else includes it.
 */
#ifndef TESTS_SIM_SIM_KUBELET_INTERNAL_H
#define TESTS_SIM_SIM_KUBELET_INTERNAL_H

#include "tests/sim/kubelet/sim_kubelet.h"

enum plugin_state {
    PLUGIN_FREE,
    PLUGIN_WAITING, /* for at_ms */
    PLUGIN_DIALLING,
    PLUGIN_ASKING, /* GetInfo is under way */
    PLUGIN_NOTIFYING,
    PLUGIN_REGISTERED,
    PLUGIN_FAILED /* for good, until the socket is made anew */
};

enum channel_phase { CHANNEL_CLOSED, CHANNEL_CONNECTING, CHANNEL_OPEN };
enum { REGISTRATION = 0, SERVICE = 1 };

/* Takes the result of a call; fills in the event. */
void sim_calls_answered(struct sim_kubelet *k, const struct sim_grpc_result *r,
                        struct sim_kubelet_event *e);
/* The service connection of a plugin is given up with all its calls. */
void sim_calls_lose(struct sim_kubelet *k, unsigned plugin);
/* The event of one lost call; false when there is none. */
bool sim_calls_lost(struct sim_kubelet *k, struct sim_kubelet_event *e);

#endif
