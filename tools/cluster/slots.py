# SPDX-License-Identifier: Apache-2.0
"""The slots that the clusters of one machine share, and what a node changes on the machine.

Owns the short folder of each slot, its set of ports, and the kernel settings and folders that the
last node to go puts back. It starts and ends no program.
"""
import contextlib
import fcntl
import json
import os
import socket

import procs

SHORT_ROOT = "/run/neuron-dra"
SLOTS = 16
FIRST_PORT = 26000          # below the range from which the kernel hands out ports by itself
PORTS = ("etcd", "etcd-peer", "apiserver", "agent-apiserver", "kubelet", "kubelet-health",
         "agent-health")
# Folders that the kubelet, containerd and CNI use by fixed names: each node gets its own.
HIDDEN = ("/run/containerd", "/var/lib/kubelet", "/var/lib/cni", "/var/log/containers")
# What the kubelet and the CNI plugins set on the machine; the last node to go puts it back.
SYSCTLS = ("net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic",
           "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")


@contextlib.contextmanager
def slots_locked():
    """One command at a time looks for a free slot."""
    handle = os.open(os.path.dirname(SHORT_ROOT), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.makedirs(SHORT_ROOT, exist_ok=True)
        yield
    finally:
        os.close(handle)


def read_slot(folder):
    """What a slot's cluster.json says, or None when it has none that can be read."""
    try:
        with open(os.path.join(folder, "cluster.json"), encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def taken_slots():
    """The content of every slot's cluster.json."""
    if not os.path.isdir(SHORT_ROOT):
        return []
    found = [read_slot(os.path.join(SHORT_ROOT, name)) for name in sorted(os.listdir(SHORT_ROOT))]
    return [content for content in found if content is not None]


def ports_are_free(cluster):
    """Whether nobody listens on any port of the slot's set."""
    for what in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", cluster.port(what)))
            except OSError:
                return False
    return True


def remember_machine(cluster):
    """Notes the kernel settings that a node changes, and makes the folders it hides. A node that
    is not the first takes over the first one's notes: the last to go has to put all right."""
    others = taken_slots()
    if others:
        cluster.sysctls, cluster.made = others[0]["sysctls"], others[0]["made"]
        return
    for name in SYSCTLS:
        with contextlib.suppress(OSError), open("/proc/sys/" + name, encoding="ascii") as stream:
            cluster.sysctls[name] = stream.read().strip()
    for folder in HIDDEN:
        if not os.path.isdir(folder):
            os.makedirs(folder)
            cluster.made.append(folder)


def take_slot(cluster):
    """Finds a free slot and marks it as this run's."""
    with slots_locked():
        for cluster.slot in range(SLOTS):
            folder = cluster.short()
            if read_slot(folder) is not None or not ports_are_free(cluster):
                continue
            procs.remove_tree(folder)
            remember_machine(cluster)
            os.makedirs(folder)
            cluster.processes["runner"] = procs.myself()
            cluster.save()
            os.symlink(cluster.short("cluster.json"), cluster.path("cluster.json"))
            return
    raise RuntimeError(f"all {SLOTS} slots under {SHORT_ROOT} are taken: end a cluster first")


def restore_machine(cluster):
    """Gives the slot back. The last node puts kernel settings back and removes the folders that
    were made to be hidden; while another lives, removing one would unmount that one's."""
    with slots_locked():
        procs.remove_tree(cluster.short())
        if taken_slots():
            return
        for name, value in cluster.sysctls.items():
            with contextlib.suppress(OSError), open("/proc/sys/" + name, "w",
                                                    encoding="ascii") as stream:
                stream.write(value)
        for folder in cluster.made + [SHORT_ROOT]:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
