/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the kubelet's socket pod-resources/kubelet.sock, for the agent's LINK_PODS: one
 * call at a time, no longer than the agent wants it. Owns its descriptor; decides nothing. Source:
 * k8s.io/kubelet, pkg/apis/podresources.
 *
 * The sandbox lets it connect: the system calls are those of the other unix sockets, and landlock's
 * rights that the agent handles concern files, not connecting to a socket.
 */
#ifndef HOST_PODS_LINK_H
#define HOST_PODS_LINK_H

#include "agent/agent.h"

/* The connection, open or not. */
struct pods_link {
    struct agent *agent;             /* the agent of the first driver; borrowed */
    const struct settings *settings; /* borrowed */
    int fd;                          /* -1: not open */
};

/*
 * Writes the path of the socket, which is in the kubelet's root directory, beside the plugins
 * directory. false: it is too long for a unix socket.
 */
MUST_USE bool pods_link_path(const struct settings *s, char path[SOCKET_PATH_CAP]);
void pods_link_init(struct pods_link *l, struct agent *agent, const struct settings *settings);
/* Carries out ORDER_CONNECT_PODS: connects, and reports the result to the agent. Does not wait. */
void pods_link_start(struct pods_link *l, uint64_t now_ms);
/* Carries out ORDER_CLOSE_PODS. */
void pods_link_end(struct pods_link *l);
/* Returns the descriptor to poll, and the events for which poll(2) waits; -1: none. */
int pods_link_interest(const struct pods_link *l, short *events);
/* Reads once, if poll(2) reported an event. */
void pods_link_turn(struct pods_link *l, short revents);
/* Sends the agent's output by at most one send(2). Returns whether bytes were sent. */
bool pods_link_write(struct pods_link *l);

#endif
