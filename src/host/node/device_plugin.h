/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects other programs of this node that give out the same devices: a Neuron or EFA device
 * plugin, or another DRA driver of the same name. A device plugin has a unix socket, with a name of
 * its choice, in the kubelet's directory for device plugins (k8s.io/kubelet, deviceplugin/v1beta1).
 * So every served socket there with "neuron" in its name counts; for EFA devices one with "efa", as
 * in AWS's plugin (aws-efa-device-plugin.sock). dranet uses the names of
 * k8s.io/dynamic-resource-allocation without a pod's UID. Owns nothing; decides nothing and logs
 * nothing.
 *
 * A killed plugin leaves its socket behind. connect(2) distinguishes it from a served one: it fails
 * with ECONNREFUSED then, and in no other case (unix(7)). /proc/net/unix would show it too, but in
 * a pod it lists only the sockets of the pod's own network namespace. The connection is closed at
 * once: a server with Go's gRPC does not log it. A socket that cannot be connected (no right to
 * connect, a path too long for unix(7)) counts as served: a needless warning costs less than
 * devices that are given out twice.
 */
#ifndef HOST_NODE_DEVICE_PLUGIN_H
#define HOST_NODE_DEVICE_PLUGIN_H

#include "agent/settings.h"

/*
 * Scans for a device plugin of the driver's devices. `name`: result of the previous scan, empty
 * before the first; gets the name of one socket, cut to its room, or nothing. While a plugin runs,
 * the same socket is named. An absent directory holds none.
 *
 * Returns 0, or the errno of a directory that cannot be read; `name` is unchanged then. Bounded:
 * DIRECTORY_READS_MAX reads, DEVICE_PLUGIN_SOCKETS_MAX connections.
 */
MUST_USE int device_plugin_scan(const char *directory, enum driver_kind driver,
                                char name[SOCKET_PATH_CAP]);
/*
 * Whether another process serves the registration socket of a driver of this name, and its path.
 * `taken`: another process has replaced the agent's own file. Not detected: a process that started
 * before an agent without --pod-uid, which has replaced the other's file. Opens one connection.
 */
MUST_USE bool other_driver_scan(const struct settings *settings, enum driver_kind driver,
                                bool taken, char path[SOCKET_PATH_CAP]);

#endif
