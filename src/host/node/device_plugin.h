/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks whether another program of this node gives away the same devices as the agent: a Neuron or
 * EFA device plugin, or another DRA driver of the same name. A device plugin has a unix socket in
 * the kubelet's directory for device plugins (k8s.io/kubelet, deviceplugin/v1beta1), whose name it
 * chooses. So every socket there with "neuron" in its name counts, if it is served; for EFA devices
 * one with "efa", as AWS's plugin has it (aws-efa-device-plugin.sock). dranet has the names of
 * k8s.io/dynamic-resource-allocation without a pod's UID. Owns nothing; decides nothing and logs
 * nothing.
 *
 * A plugin that was killed leaves its socket behind. Such a one is told from a served one by
 * connect(2), which fails with ECONNREFUSED then, and in no other case (unix(7)). /proc/net/unix
 * would say it too, but a pod sees only the sockets of its own network namespace there. The
 * connection is closed at once: a server that uses Go's gRPC has no line about it in its log. A
 * socket that cannot be asked (no right to connect, a path that is too long for unix(7)) counts as
 * served: a warning too many costs less than devices that are given away twice.
 */
#ifndef HOST_NODE_DEVICE_PLUGIN_H
#define HOST_NODE_DEVICE_PLUGIN_H

#include "agent/settings.h"

/*
 * Looks for a device plugin of the driver's devices. `name` is what the last look found, empty
 * before the first, and gets what is there now: the name of one socket, cut to its room, or
 * nothing. While a plugin runs, the same socket is named. A directory that is absent holds none.
 *
 * Returns 0, or the errno of a directory that cannot be read; `name` is unchanged then. Bounded:
 * DIRECTORY_READS_MAX reads, DEVICE_PLUGIN_SOCKETS_MAX connections.
 */
MUST_USE int device_plugin_look(const char *directory, enum driver_kind driver,
                                char name[SOCKET_PATH_CAP]);
/*
 * Whether another process serves the registration socket of a driver of this name, and its path.
 * `taken`: the agent's own file has been replaced by another process's. Not seen: one that came
 * before an agent without --pod-uid, which has taken that file. One connection.
 */
MUST_USE bool other_driver_look(const struct settings *settings, enum driver_kind driver,
                                bool taken, char path[SOCKET_PATH_CAP]);

#endif
