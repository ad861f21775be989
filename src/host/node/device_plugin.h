/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects other programs on this node that offer the same devices: a Neuron or EFA device plugin,
 * or another DRA driver of the same name. A device plugin has a unix socket in the kubelet's
 * directory for device plugins (k8s.io/kubelet, deviceplugin/v1beta1), and chooses the socket's
 * name. So a socket in this directory counts as a device plugin if a process serves the socket and
 * its name contains "neuron" or, for EFA devices, "efa", as in AWS's plugin
 * (aws-efa-device-plugin.sock). Another DRA driver is found by its socket too. The name of this
 * socket is known: k8s.io/dynamic-resource-allocation gives it a fixed name, to which a pod's UID
 * is appended only for rolling updates, and dranet uses the fixed name without a UID. Owns nothing
 * and logs nothing; the caller decides what to do.
 *
 * A killed plugin leaves its socket behind. connect(2) fails with ECONNREFUSED only for a socket
 * that no process serves (unix(7)). /proc/net/unix would also show served sockets, but in a pod it
 * lists only the sockets of the pod's network namespace. The test closes its connection at once; a
 * server with Go's gRPC does not log such a connection. A socket that cannot be tested (no right to
 * connect, a path too long for unix(7)) counts as served, because a needless warning costs less
 * than a device that two programs assign to different pods.
 */
#ifndef HOST_NODE_DEVICE_PLUGIN_H
#define HOST_NODE_DEVICE_PLUGIN_H

#include "agent/settings.h"

/*
 * Scans for a device plugin of the driver's devices. `name` is the result of the previous scan,
 * empty before the first scan. The scan sets `name` to the file name of one served socket, cut if
 * it is too long, or empties `name` if no device plugin is found. While a plugin serves its socket,
 * each scan returns the same name. If the directory is absent, there is no plugin.
 *
 * Returns 0, or the errno if the directory cannot be read; `name` is unchanged then. A scan makes
 * at most DIRECTORY_READS_MAX reads and DEVICE_PLUGIN_SOCKETS_MAX connections.
 */
MUST_USE int device_plugin_scan(const char *directory, enum driver_kind driver,
                                char name[SOCKET_PATH_CAP]);
/*
 * Whether another process serves a registration socket under the name of this driver; `path` gets
 * the path of that socket. `taken`: another process has replaced the agent's socket file. Opens one
 * connection. Limitation: without --pod-uid, the agent replaces the socket file of a process that
 * started earlier, and does not detect that process.
 */
MUST_USE bool other_driver_scan(const struct settings *settings, enum driver_kind driver,
                                bool taken, char path[SOCKET_PATH_CAP]);

#endif
