#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes cluster, of one node unless more join, with the agent on simulated boards.

Owns the order in which a run comes up and goes down, and the file cluster.json by which every later
command finds it. Everything lives below one run folder and one short folder under /run/neuron-dra
(unix sockets have room for 107 bytes); the node's programs share a private mount namespace.
"""
import argparse
import json
import os
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402
import config  # noqa: E402
import images  # noqa: E402
import pki  # noqa: E402
import procs  # noqa: E402
import slots  # noqa: E402

NAMESPACE, ACCOUNT = "neuron-dra-driver", "neuron-dra-driver-sa"
# None of them holds anything that outlives the run, so none is asked to go gently.
CONTROL_PLANE = ("service", "kube-controller-manager", "kube-scheduler", "agent-apiserver",
                 "kube-apiserver", "etcd")


READY_SECONDS = 180  # longest wait for a program that lives; on an idle machine each is there within ten


class Failure(Exception):
    """What stops a command, in words for its user."""


class Cluster:
    """One run: its folders, ports and processes."""

    def __init__(self, name):
        self.name = name
        self.run = os.path.join(build.ROOT, "build", name)
        self.kubeconfig = self.path("kubeconfig")
        self.slot = self.started = None
        self.k8s, self.board, self.agent = build.DEFAULT_K8S, "trn2.48xlarge", ""
        self.driver_version = self.feature_gates = self.serve_group = ""
        self.kubelet = self.k8s
        # Versions of resource.k8s.io: of the API server, and of the one for the agent if there are two.
        self.served, self.agent_served = ["v1"], []
        self.programs, self.processes, self.made, self.sysctls = {}, {}, [], {}
        self.node_name = "neuron-node-0"
        self.head = {}  # slot and run folder of the cluster that this node joined; empty: its own

    KEPT = ("slot", "k8s", "kubelet", "board", "agent", "driver_version", "feature_gates", "serve_group",
            "served", "agent_served", "programs", "processes", "made", "sysctls", "node_name", "head")

    def path(self, *parts):
        """Below the run folder."""
        return os.path.join(self.run, *parts)

    def short(self, *parts):
        """Below the short folder, for sockets and what the kubelet nests deeply."""
        return os.path.join(slots.SHORT_ROOT, str(self.slot), *parts)

    def port(self, what, slot=None):
        """A port of this run's set, or of another slot's."""
        slot = self.slot if slot is None else slot
        return slots.FIRST_PORT + slot * len(slots.PORTS) + slots.PORTS.index(what)

    @property
    def head_slot(self):
        """The slot of the run that has the control plane."""
        return self.head.get("slot", self.slot)

    @property
    def secrets(self):
        """The keys of the run that has the control plane."""
        return os.path.join(self.head.get("run", self.run), "pki")

    @property
    def cgroup(self):
        """The node's root cgroup and pod network."""
        return f"neuron-dra-{self.slot}"

    @property
    def server(self):
        """The API server's address; by number, so that no name has to be resolved."""
        return f"https://127.0.0.1:{self.port('apiserver', self.head_slot)}"

    @property
    def agent_server(self):
        """The API server that the agent, kubectl and the tests talk to."""
        second = f"https://127.0.0.1:{self.port('agent-apiserver', self.head_slot)}"
        return second if self.agent_served else self.server

    @property
    def seen(self):
        """The versions of resource.k8s.io that the agent finds, newest first."""
        found = self.agent_served or self.served
        return [version for version in config.API_VERSIONS if version in found]

    def service_ip(self, number):
        """An address of the service range."""
        return f"10.202.{self.head_slot}.{number}"

    def save(self):
        """Writes cluster.json whole or not at all. It lies in the short folder, so that a run is
        found and ended even after its run folder was deleted; the run folder has a link to it."""
        content = {key: getattr(self, key) for key in self.KEPT}
        content.update(kubeconfig=self.kubeconfig, cdi=self.path("cdi"), name=self.name,
                       short=self.short(), log=self.path("logs", "agent.log"), run=self.run,
                       seen=self.seen, server=self.agent_server)
        pki.write_json(self.short("cluster.json.new"), content)
        os.replace(self.short("cluster.json.new"), self.short("cluster.json"))

    def load(self):
        """Finds this run's cluster.json among the slots; whether there was one."""
        for content in slots.taken_slots():
            if content["run"] == self.run:
                self.fill(content)
                return True
        return False

    def fill(self, content):
        """Takes over what a cluster.json says."""
        self.name, self.run = content["name"], content["run"]
        self.kubeconfig = content["kubeconfig"]
        for key in self.KEPT:
            setattr(self, key, content.get(key, getattr(self, key)))

    def environment(self):
        """What every program of the node sees: nothing of the caller's but the basics."""
        folders = [os.path.dirname(self.programs[name]) for name in ("containerd", "ptp", "runc")]
        return {"PATH": ":".join(folders) + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.run}

    def start(self, program, argv, namespace=True):
        """Starts one program and remembers it at once."""
        holder = self.processes.get("namespace")
        if namespace and holder:
            argv = ["nsenter", f"--mount=/proc/{holder['pid']}/ns/mnt", "--", *argv]
        self.processes[program] = procs.spawn(argv, self.path("logs", program + ".log"),
                                              self.environment())
        self.save()

    def kubectl(self, *args, text=None):
        """Runs kubectl as the cluster's administrator; its output."""
        done = subprocess.run([self.programs["kubectl"], "--kubeconfig", self.kubeconfig, *args],
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(self.environment(), KUBECACHEDIR=self.path("kube-cache")),
                              check=False)
        if done.returncode != 0:
            raise Failure(f"kubectl {' '.join(args[:3])}: {done.stderr.strip()}")
        return done.stdout

    def wait(self, what, program, check, seconds):
        """Waits until check() holds; the program's log is the error's text when it does not."""
        deadline = time.monotonic() + seconds
        while not check():
            record = self.processes[program]
            late = time.monotonic() > deadline
            if late or not procs.alive(record):
                reason = f"is not ready after {seconds} s" if late else procs.ending(record)
                raise Failure(f"{what}: {program} {reason}; the end of {record['log']}:\n"
                              + procs.tail(record["log"]))
            time.sleep(0.1)


def sweep():
    """Ends what nobody can use any more: runs whose folder was deleted, and dead ones. A run whose lock another
    command holds is on its way up or down: one without a process, too."""
    for content in slots.taken_slots():
        with build.if_nobody_holds((content.get("head") or content)["run"] + ".lock") as free:
            living = any(procs.alive(record) for record in content["processes"].values())
            if free and (not living or not os.path.isdir(content["run"])):
                lost = Cluster(content["name"])
                lost.fill(content)
                take_down(lost)


# --- up ------------------------------------------------------------------------------------------

def check_machine(arguments):
    """Says at once what would fail later."""
    if os.geteuid() != 0:
        raise Failure("a cluster needs root: mounts, namespaces and cgroups are made")
    for tool in ("openssl", "busybox", "ip", "unshare", "nsenter", "mount"):
        if shutil.which(tool) is None:
            raise Failure(f"no {tool} on PATH: run `make deps`")
    if arguments.agent and not os.access(arguments.agent, os.X_OK):
        raise Failure(f"{arguments.agent} is not there: run `make` first, or pass --no-agent")


def answers(cluster, address):
    """Whether the API server at this address says ok to a path."""
    context = ssl.create_default_context(cafile=cluster.path("pki", "ca.crt"))
    base = cluster.path("pki", "admin")
    context.load_cert_chain(base + ".crt", base + ".key")
    try:
        with urllib.request.urlopen(address, context=context, timeout=2) as reply:
            return reply.status == 200
    except (OSError, urllib.error.URLError):
        return False


def start_apiserver(cluster):
    """The API server, until it answers."""
    cluster.start("kube-apiserver", config.apiserver_args(cluster))
    cluster.wait("API server", "kube-apiserver",
                 lambda: answers(cluster, cluster.server + "/readyz"), READY_SECONDS)


def start_control_plane(cluster):
    """etcd, API server, controller manager and scheduler."""
    cluster.start("etcd", config.etcd_args(cluster))
    start_apiserver(cluster)
    if cluster.agent_served:
        cluster.start("agent-apiserver", config.agent_apiserver_args(cluster))
        cluster.wait("the agent's API server", "agent-apiserver",
                     lambda: answers(cluster, cluster.agent_server + "/readyz"), READY_SECONDS)
    cluster.start("kube-controller-manager", config.controller_manager_args(cluster))
    cluster.start("kube-scheduler", config.scheduler_args(cluster))


def start_service(cluster):
    """The address by which pods reach the API server. No kube-proxy runs; the machine itself has
    the address, which pods reach by their default route."""
    address, port = cluster.service_ip(1), "agent-apiserver" if cluster.agent_served else "apiserver"
    done = subprocess.run(["ip", "address", "replace", address + "/32", "dev", "lo"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failure(f"no address for the service kubernetes: {done.stdout.strip()}")
    cluster.start("service", [sys.executable, os.path.join(build.HERE, "forward.py"), address, "443",
                              str(cluster.port(port))], namespace=False)


def import_images(cluster):
    """Makes the two images and hands them to containerd."""
    folder = cluster.path("images")
    os.makedirs(folder, exist_ok=True)
    for tar in (images.make_pause(folder), images.make_busybox(folder)):
        done = subprocess.run(
            [cluster.programs["ctr"], "--address", cluster.short("containerd.sock"), "-n", "k8s.io",
             "images", "import", tar], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        if done.returncode != 0:
            raise Failure(f"ctr could not import {tar}: {done.stdout.strip()}")


def start_namespace(cluster):
    """The mount namespace of every program but the agent, which runs as on a host. Containers and etcd are in memory:
    that is faster than a disk, and to remove them later took minutes where the disk was busy."""
    memory = [cluster.path(name) for name in ("containerd", "etcd")]
    for folder in memory:
        os.makedirs(folder)
    cluster.processes["namespace"] = procs.hide_directories(
        cluster.path("logs", "namespace.log"), [*slots.HIDDEN, *memory], cluster.environment())
    cluster.save()


def start_containerd(cluster):
    """The container runtime, until its socket is there."""
    procs.make_cgroup(cluster.cgroup)
    cluster.start("containerd", config.containerd_args(cluster))
    sock = cluster.short("containerd.sock")
    cluster.wait("container runtime", "containerd", lambda: os.path.exists(sock), READY_SECONDS)


def node_is_ready(cluster):
    """Whether the node exists, says Ready, and pods can be made in the default namespace."""
    try:
        node = json.loads(cluster.kubectl("get", "node", cluster.node_name, "-o", "json"))
        cluster.kubectl("get", "serviceaccount", "default", "-n", "default")
    except Failure:
        return False
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in node["status"].get("conditions", []))


def start_kubelet(cluster):
    """The kubelet, until it answers its own health check."""
    cluster.start("kubelet", config.kubelet_args(cluster))

    def healthy():
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", cluster.port("kubelet-health"))) == 0
    cluster.wait("node", "kubelet", healthy, READY_SECONDS)


def make_agent_account(cluster):
    """What the chart installs beside the pods and the policies, and a kubeconfig with the service
    account's token."""
    manifests = os.path.join(build.ROOT, "cfg", "deploy", "manifests")
    for name in ("namespace.yaml", "rbac.yaml"):
        cluster.kubectl("apply", "-f", os.path.join(manifests, name))
    with open(os.path.join(manifests, "deviceclass.yaml"), encoding="utf-8") as stream:
        # A device class looks the same in all versions.
        text = stream.read().replace("resource.k8s.io/v1\n", f"resource.k8s.io/{cluster.seen[0]}\n")
    cluster.kubectl("apply", "-f", "-", text=text)
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE,
                            "--duration=720h").strip()
    pki.write_kubeconfig(cluster.path("agent.kubeconfig"), cluster.path("pki"),
                         cluster.agent_server, ACCOUNT, {"token": token})


def make_board(cluster):
    """A fresh simulated node of the cluster's board."""
    procs.remove_tree(cluster.path("node"))
    command = [sys.executable, os.path.join(build.ROOT, "tools", "simnode", "simnode.py"), "make",
               "--board", cluster.board, "--dir", cluster.path("node")]
    if cluster.driver_version:
        command += ["--driver-version", cluster.driver_version]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.strip()}")


def published(cluster):
    """How many devices the node's slices hold, or -1 while there is no slice."""
    found = json.loads(cluster.kubectl("get", "resourceslices", "-o", "json"))["items"]
    mine = [item["spec"] for item in found if item["spec"]["driver"] == config.DRIVER
            and item["spec"].get("nodeName") == cluster.node_name]
    return sum(len(spec.get("devices") or []) for spec in mine) if mine else -1


def start_agent(cluster, more=()):
    """The agent as a host process, until the kubelet has accepted its drivers and its slice is
    published. A kubelet that missed a new socket is given a second one after 30 s. more: further flags."""
    log = cluster.path("logs", "agent.log")
    drivers = [config.DRIVER] + ([config.EFA_DRIVER] if config.EFA_FLAG in more else [])
    earlier = os.path.getsize(log) if os.path.exists(log) else 0
    cluster.start("agent", [*config.agent_args(cluster), *more], namespace=False)

    def ready():
        with open(log, encoding="utf-8", errors="replace") as stream:
            stream.seek(earlier)
            text = stream.read()
        registered = all(f" event=registered driver={driver}" in text for driver in drivers)
        return registered and published(cluster) >= 0
    cluster.wait("agent", "agent", ready, READY_SECONDS)


def bring_up(cluster, with_agent):
    """Everything in order; the caller cleans up when it fails."""
    config.write_files(cluster)
    start_namespace(cluster)
    start_containerd(cluster)
    start_control_plane(cluster)
    start_service(cluster)
    start_kubelet(cluster)
    import_images(cluster)
    make_agent_account(cluster)
    cluster.wait("node", "kubelet", lambda: node_is_ready(cluster), READY_SECONDS)
    if with_agent:
        make_board(cluster)
        start_agent(cluster)


def bring_up_node(cluster, with_agent):
    """A node of its own beside the others of a cluster; the caller cleans up when it fails."""
    config.write_joined_files(cluster)
    shutil.copy2(os.path.join(cluster.head["run"], "agent.kubeconfig"), cluster.run)
    start_namespace(cluster)
    start_containerd(cluster)
    start_kubelet(cluster)
    import_images(cluster)
    cluster.wait("node", "kubelet", lambda: node_is_ready(cluster), READY_SECONDS)
    make_board(cluster)
    if with_agent:
        start_agent(cluster)


def next_steps(cluster):
    """What to type now."""
    examples = os.path.join(build.ROOT, "cfg", "deploy", "examples")
    kubectl = cluster.programs["kubectl"]
    quote = shlex.quote
    # The larger examples select a trn2.48xlarge; one device every board has.
    large = cluster.board == "trn2.48xlarge"
    example, pod = ("connected-4", "connected-4-test") if large else ("single-device",) * 2
    return "\n".join((
        f"The cluster runs Kubernetes {cluster.k8s} with the agent on a simulated {cluster.board}.",
        "Type next:",
        f"  export KUBECONFIG={quote(cluster.kubeconfig)}",
        f"  alias kubectl={quote(kubectl)}",
        "  kubectl get resourceslices -o yaml",
        f"  kubectl apply -f {quote(os.path.join(examples, example + '.yaml'))}",
        f"  kubectl wait --for=condition=Ready pod/{pod} --timeout=60s",
        f"  kubectl exec {pod} -- ls -l /dev",
        f"Logs are in {cluster.path('logs')}; `make cluster-down` ends it.", ""))


def command_up(cluster, arguments):
    """Brings a cluster up from nothing; what an earlier run left is taken down first."""
    check_machine(arguments)
    programs = build.programs(arguments.k8s, arguments.kubelet)
    with build.one_at_a_time(cluster.run + ".lock"):
        up_locked(cluster, arguments, programs)


def up_locked(cluster, arguments, programs):
    """The same, while no other command brings this run up or down."""
    sweep()
    if cluster.load():
        take_down(cluster)
    procs.remove_tree(cluster.run)
    os.makedirs(cluster.run)
    cluster = Cluster(cluster.name)
    cluster.k8s, cluster.board, cluster.programs = arguments.k8s, arguments.board, programs
    cluster.agent = os.path.abspath(arguments.agent) if arguments.agent else ""
    cluster.driver_version = arguments.driver_version
    cluster.kubelet = arguments.kubelet or arguments.k8s
    cluster.served, cluster.agent_served = arguments.serve, arguments.agent_serve
    cluster.feature_gates, cluster.serve_group = arguments.feature_gates, arguments.serve_group
    slots.take_slot(cluster)
    begin = time.monotonic()
    try:
        bring_up(cluster, bool(arguments.agent))
    except BaseException:
        take_down(cluster)
        raise
    del cluster.processes["runner"]
    cluster.save()
    print(f"cluster.py: {cluster.name} is up after {time.monotonic() - begin:.1f} s")
    if arguments.agent and not arguments.quiet:
        print(next_steps(cluster))


# --- down ----------------------------------------------------------------------------------------

def end_processes(cluster):
    """First who would start something new, then the containers, then the rest of the node."""
    records = cluster.processes
    if "agent" in records:
        procs.stop([records["agent"]])
    procs.stop([records[name] for name in CONTROL_PLANE + ("kubelet",) if name in records],
               signal.SIGKILL)
    procs.thaw_cgroup(cluster.cgroup)
    for _ in range(50):
        containers = procs.cgroup_pids(cluster.cgroup)
        if not containers:
            break
        procs.stop(containers, signal.SIGKILL, 1)
    holder = records.get("namespace")
    if holder and holder.get("namespace"):
        procs.stop([holder], signal.SIGKILL)
        for _ in range(50):
            left = procs.in_namespace(holder["namespace"])
            if not left:
                break
            procs.stop(left, signal.SIGKILL, 1)


def joined_nodes(cluster):
    """The runs that are further nodes of this cluster."""
    found = []
    for content in slots.taken_slots():
        if content.get("head", {}).get("run") == cluster.run:
            found.append(Cluster(content["name"]))
            found[-1].fill(content)
    return found


def take_down(cluster):
    """Ends every process of a run and removes everything but its logs."""
    for node in joined_nodes(cluster):
        take_down(node)
    end_processes(cluster)
    left = procs.remove_cgroup(cluster.cgroup)
    if not cluster.head:
        subprocess.run(["ip", "address", "delete", cluster.service_ip(1) + "/32", "dev", "lo"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    slots.restore_machine(cluster)
    for entry in os.listdir(cluster.run) if os.path.isdir(cluster.run) else []:
        if entry != "logs":
            path = cluster.path(entry)
            if os.path.isdir(path) and not os.path.islink(path):
                procs.remove_tree(path)
            else:
                os.unlink(path)
    if left:
        print(f"cluster.py: cgroups that could not be removed: {' '.join(left)}", file=sys.stderr)


def command_down(cluster, _arguments):
    """Ends a cluster; saying so twice is no error."""
    with build.one_at_a_time(cluster.run + ".lock"):
        if not cluster.load():
            print(f"cluster.py: {cluster.name} is not up")
            return
        take_down(cluster)
        print(f"cluster.py: {cluster.name} is down")


# --- parts of a running cluster ------------------------------------------------------------------

def loaded(cluster):
    """The run's state, or an error that says what to do."""
    if not cluster.load():
        raise Failure(f"{cluster.name} is not up: `cluster.py up --name {cluster.name}`")


def command_status(cluster, _arguments):
    """One line per process."""
    loaded(cluster)
    for name, record in cluster.processes.items():
        print(f"{name} pid={record['pid']} {'running' if procs.alive(record) else 'ended'}")


def command_part(cluster, arguments):
    """Starts, stops (SIGTERM) or kills (SIGKILL) one program of a running cluster."""
    loaded(cluster)
    program, start = PARTS[arguments.command]
    if arguments.action == "start":
        start(cluster, *([arguments.flag] if getattr(arguments, "flag", None) else []))
    elif program in cluster.processes:
        number = signal.SIGTERM if arguments.action == "stop" else signal.SIGKILL
        procs.stop([cluster.processes[program]], number)


def command_board(cluster, arguments):
    """Puts another board under the agent: stop, new tree, new labels, start."""
    loaded(cluster)
    if "agent" in cluster.processes:
        procs.stop([cluster.processes["agent"]])
    cluster.board, cluster.driver_version = arguments.board, arguments.driver_version
    cluster.save()
    make_board(cluster)
    labels = [f"{key}={value}" for key, value in config.node_labels(cluster.board).items()]
    cluster.kubectl("label", "--overwrite", "node", cluster.node_name, *labels)
    cluster.kubectl("delete", "resourceslices", "--all")
    start_agent(cluster, arguments.flag)


def command_account(cluster, _arguments):
    """Makes the agent's account and the DeviceClass again, after a test took them away."""
    loaded(cluster)
    make_agent_account(cluster)


def node_run(cluster, number):
    """The run of a further node, by its number."""
    return Cluster(f"{cluster.name}-node-{number}")


def command_join(cluster, arguments):
    """Brings up one more node of a running cluster: kubelet, containerd, board and agent."""
    loaded(cluster)
    with build.one_at_a_time(cluster.run + ".lock"):
        join_locked(cluster, arguments)


def join_locked(cluster, arguments):
    """The same, while no other command brings a node of this cluster up or down."""
    node = node_run(cluster, arguments.node)
    if node.load():
        raise Failure(f"node {arguments.node} of {cluster.name} is there already")
    procs.remove_tree(node.run)
    os.makedirs(node.run)
    for key in ("k8s", "kubelet", "agent", "feature_gates", "served", "agent_served", "programs",
                "kubeconfig"):
        setattr(node, key, getattr(cluster, key))
    node.head = {"slot": cluster.slot, "run": cluster.run}
    node.node_name = f"neuron-node-{arguments.node}"
    node.board, node.driver_version = arguments.board, arguments.driver_version
    slots.take_slot(node)
    try:
        bring_up_node(node, arguments.agent)
    except BaseException:
        take_down(node)
        raise
    del node.processes["runner"]
    node.save()


def command_leave(cluster, arguments):
    """Takes a node out of the cluster that it joined; saying so twice is no error."""
    loaded(cluster)
    with build.one_at_a_time(cluster.run + ".lock"):
        node = node_run(cluster, arguments.node)
        if node.load():
            take_down(node)
            cluster.kubectl("delete", "node", node.node_name)


def api_versions(text):
    """A list of versions of resource.k8s.io from the command line."""
    found = text.split(",") if text else []
    unknown = [version for version in found if version not in config.API_VERSIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of "
                                         + ", ".join(config.API_VERSIONS))
    return found


def add_release_arguments(parser):
    """What a row of the matrix may choose."""
    parser.add_argument("--k8s", default=build.DEFAULT_K8S, help="Kubernetes release")
    parser.add_argument("--kubelet", default="", help="release of the kubelet if it is another")
    parser.add_argument("--feature-gates", default="", help="of all programs: NAME=true,…")
    parser.add_argument("--serve-group", default="", metavar="GROUP/VERSION",
                        help="another version that is served, of an alpha API")
    parser.add_argument("--serve", type=api_versions, default=["v1"], metavar="VERSION,…",
                        help="served versions of resource.k8s.io")
    parser.add_argument("--agent-serve", type=api_versions, default=[], metavar="VERSION,…",
                        help="a second API server on the same etcd, for the agent and kubectl, "
                             "that serves only these")


# What can be started and ended by itself: command -> name of the program, and how it is started.
PARTS = {"agent": ("agent", start_agent), "kubelet": ("kubelet", start_kubelet),
         "apiserver": ("kube-apiserver", start_apiserver)}


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="bring a cluster up and leave it running")
    add_release_arguments(up)
    up.add_argument("--agent", default=os.path.join(build.ROOT, "build", "neuron-dra-agent"))
    up.add_argument("--quiet", action="store_true", help="do not say what to type next")
    up.add_argument("--no-agent", dest="agent", action="store_const", const="")
    board = commands.add_parser("board", help="restart the agent on another board")
    join = commands.add_parser("join", help="bring up one more node of a running cluster")
    join.add_argument("--no-agent", dest="agent", action="store_false")
    leave = commands.add_parser("leave", help="take such a node away")
    for one in (join, leave):
        one.add_argument("--node", type=int, required=True, choices=range(1, slots.SLOTS),
                         help="number of the node; the first one is 0")
    for one in (up, board, join):
        one.add_argument("--board", default="trn2.48xlarge", help="EC2 instance type")
        one.add_argument("--driver-version", default="", help="version of the neuron module")
    others = [commands.add_parser(name) for name in ("down", "status", "account")]
    for name in PARTS:
        part = commands.add_parser(name, help=f"start, stop or kill the {name}")
        part.add_argument("action", choices=("start", "stop", "kill"))
        others.append(part)
    for one in (board, commands.choices["agent"]):
        one.add_argument("--flag", action="append", default=[],
                         help="a further flag that the agent starts with")
    for one in [up, board, join, leave] + others:
        one.add_argument("--name", default="cluster", help="run folder below build/")
    return parser.parse_args()


COMMANDS = {"up": command_up, "down": command_down, "status": command_status,
            "account": command_account, "board": command_board, "join": command_join,
            "leave": command_leave, **{name: command_part for name in PARTS}}


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        COMMANDS[arguments.command](Cluster(arguments.name), arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failure, RuntimeError) as error:
        sys.exit(f"cluster.py: {error}")


if __name__ == "__main__":
    main()
