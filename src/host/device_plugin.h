/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks whether a Neuron device plugin runs on this node: it would give away the same devices as
 * the agent. A device plugin has a unix socket in the kubelet's directory for device plugins
 * (k8s.io/kubelet, deviceplugin/v1beta1), whose name it chooses. So every socket there with
 * "neuron" in its name counts, if it is served. Owns nothing; decides nothing and logs nothing.
 *
 * A plugin that was killed leaves its socket behind. Such a one is told from a served one by
 * connect(2), which fails with ECONNREFUSED then, and in no other case (unix(7)). /proc/net/unix
 * would say it too, but a pod sees only the sockets of its own network namespace there. The
 * connection is closed at once: a server that uses Go's gRPC has no line about it in its log. A
 * socket that cannot be asked (no right to connect, a path that is too long for unix(7)) counts as
 * served: a warning too many costs less than devices that are given away twice.
 */
#ifndef HOST_DEVICE_PLUGIN_H
#define HOST_DEVICE_PLUGIN_H

#include "base/bytes.h"
#include "cfg/limits.h"

/*
 * `name` is what the last look found, empty before the first, and gets what is there now: the name
 * of one socket, cut to its room, or nothing. While a plugin runs, the same socket is named. A
 * directory that is absent holds none.
 *
 * Returns 0, or the errno of a directory that cannot be read; `name` is unchanged then. Bounded:
 * DIRECTORY_READS_MAX reads, DEVICE_PLUGIN_SOCKETS_MAX connections.
 */
MUST_USE int device_plugin_look(const char *directory, char name[SOCKET_PATH_CAP]);

#endif
