# SPDX-License-Identifier: Apache-2.0
"""Starts, remembers and ends the processes of one cluster, and what they leave in the kernel.

Owns pids (with their start time, so that a reused number is never taken for ours), the private
mount namespace of the node's programs, and the node's cgroups. It never ends a process it cannot
trace to this cluster: by record, by the mount namespace, or by the cgroup.
"""
import contextlib
import errno
import os
import shlex
import shutil
import signal
import subprocess
import time

CGROUPS = "/sys/fs/cgroup"
CHILDREN = {}               # started by this command, by pid: they alone have an exit status for us


def start_time(pid):
    """The kernel's start time of a living process, or None; a zombie does not live."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def alive(record):
    """Whether the recorded process still runs."""
    return start_time(record["pid"]) == record["start"]


def myself():
    """The record of this process."""
    return {"pid": os.getpid(), "start": start_time(os.getpid())}


def send(record, number):
    """Signals a recorded process if it still is the one recorded."""
    if alive(record):
        try:
            os.kill(record["pid"], number)
        except ProcessLookupError:
            pass


def wait_gone(records, seconds):
    """Waits until none of the recorded processes lives; whether that came true in time."""
    deadline = time.monotonic() + seconds
    while any(alive(record) for record in records):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def stop(records, number=signal.SIGTERM, seconds=8):
    """Ends recorded processes, by force those that do not go by themselves."""
    for record in records:
        send(record, number)
    if not wait_gone(records, seconds):
        for record in records:
            send(record, signal.SIGKILL)
        wait_gone(records, seconds)


def spawn(argv, log, environment):
    """Starts a program of its own session with its output appended to log; its record."""
    with open(log, "ab") as out:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,  # outlives us
                                 stderr=out, env=environment, start_new_session=True)
    CHILDREN[child.pid] = child
    return {"pid": child.pid, "start": start_time(child.pid) or 0, "log": log}


def ending(record):
    """How a recorded process ended, in words, as far as this command can know."""
    code = CHILDREN[record["pid"]].poll() if record["pid"] in CHILDREN else None
    if code is None:
        return "has ended"
    return f"was ended by signal {-code}" if code < 0 else f"has ended with status {code}"


def tail(path, lines=25):
    """The last lines of a log, for an error's text."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return "".join(stream.readlines()[-lines:])
    except OSError as error:
        return f"(no log: {error})\n"


def namespace_of(pid):
    """The identity of a process's mount namespace, or None."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return None


def in_namespace(name):
    """Records of all processes in a mount namespace: the node's programs, shims and plugins."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    found = [pid for pid in pids if namespace_of(pid) == name]
    return [{"pid": pid, "start": start_time(pid)} for pid in found if start_time(pid) is not None]


def hide_directories(holder_log, directories, environment):
    """Starts the process that holds a private mount namespace in which each of directories is an
    empty one of its own, so that two nodes and the machine never share one. Its record."""
    script = "".join(f"mount -t tmpfs -o mode=0755 neuron-dra {shlex.quote(path)}\n" for path in directories)
    record = spawn(["unshare", "--mount", "--propagation", "private", "sh", "-ec",
                    script + "exec sleep infinity"], holder_log, environment)
    deadline = time.monotonic() + 60
    while True:
        if not alive(record):
            raise RuntimeError("no private mount namespace:\n" + tail(holder_log))
        with open(f"/proc/{record['pid']}/cmdline", "rb") as stream:
            if stream.read().startswith(b"sleep\0"):
                return dict(record, namespace=namespace_of(record["pid"]))
        if time.monotonic() > deadline:
            raise RuntimeError("the private mount namespace is not ready after 60 s")
        time.sleep(0.01)


def _controllers():
    """The roots under which a cgroup is made: each v1 controller's (the hybrid layout's v2 tree is
    one more among them), or the one v2 tree."""
    if os.path.exists(os.path.join(CGROUPS, "cgroup.controllers")):
        return [CGROUPS]
    folders = [entry.path for entry in os.scandir(CGROUPS) if entry.is_dir(follow_symlinks=False)]
    return sorted(folders)


def _copy_down(parent, child, name):
    """A new v1 cpuset has no processors until they are written; v2 inherits them."""
    source, target = os.path.join(parent, name), os.path.join(child, name)
    if os.path.exists(source) and os.path.exists(target):
        with open(source, encoding="ascii") as stream:
            value = stream.read()
        with open(target, "w", encoding="ascii") as stream:
            stream.write(value)


def make_cgroup(name):
    """Makes the node's root cgroup under every controller."""
    for controller in _controllers():
        folder = os.path.join(controller, name)
        os.makedirs(folder, exist_ok=True)
        if os.path.basename(controller) == "cpuset":
            _copy_down(controller, folder, "cpuset.cpus")
            _copy_down(controller, folder, "cpuset.mems")


def _cgroup_folders(name):
    """The node's cgroup folders, children before their parents."""
    found = []
    for controller in _controllers():
        for folder, _, _ in os.walk(os.path.join(controller, name), topdown=False):
            found.append(folder)
    return found


def cgroup_pids(name):
    """Records of the processes in the node's cgroups: the containers'."""
    pids = set()
    for folder in _cgroup_folders(name):
        try:
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as stream:
                pids.update(int(line) for line in stream)
        except OSError:
            continue
    return [{"pid": pid, "start": start_time(pid)} for pid in pids if start_time(pid) is not None]


def thaw_cgroup(name):
    """Lets frozen processes take a signal: a test that was ended may have left some."""
    for folder in _cgroup_folders(name):
        with contextlib.suppress(OSError):     # no folder of the freezer, or gone by now
            with open(os.path.join(folder, "freezer.state"), "r+", encoding="ascii") as stream:
                stream.write("THAWED")


def remove_cgroup(name):
    """Removes the node's cgroups once their processes are gone; what is left, for the report."""
    for _ in range(50):
        folders = _cgroup_folders(name)
        if not folders:
            return []
        for folder in folders:
            try:
                os.rmdir(folder)
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOENT, errno.ENOTEMPTY):
                    raise
        time.sleep(0.05)
    return _cgroup_folders(name)


def unmount_below(folder):
    """Unmounts what this process sees mounted under folder."""
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        points = [line.split()[4].encode().decode("unicode_escape") for line in stream]
    for point in reversed(points):
        if point == folder or point.startswith(folder + "/"):
            subprocess.run(["umount", "--lazy", point], check=False)


def remove_tree(folder):
    """Removes a folder of a run with everything below it."""
    unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)
