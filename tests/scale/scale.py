#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many agents against one etcd and one API server, and what they cost.

Owns the surroundings of a run: programs, certificates, command lines of the control plane, the simulated tree, and
namespaces for network and processes, so that nothing outlives a run or meets another one's ports. What happens in a
run and what is measured is in fleet/, whose program this one starts. It needs root.

    scale.py --agents 200 --agent build/neuron-dra-agent --fleet build/scale/fleet
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools", "cluster"))
import build  # noqa: E402
import cluster as clusters  # noqa: E402
import config  # noqa: E402
import pki  # noqa: E402

INSIDE = "NEURON_DRA_SCALE_INSIDE"
OPEN_FILES = 20000          # of the API server: a connection of each agent and watches of etcd
SOCKET_PATH = 107           # sun_path without its end
# The longest below the run folder: the registration socket of the last node, with the UID of a third start.
LONGEST_SOCKET = "n/99999/r/neuron.aws.com-99-reg.sock"
STORE_MIB = 5               # of a node's files, most of it the claim store
LENGTHS = ("rest", "outage", "storm", "foreign_claims", "foreign_slices")  # of phases, and sizes; LONG=1 has others
MODULE = "2.30.2.0"         # the release of the kernel module that the simulated tree has the files of
# Health files of a device, and the files of the loopback in the kernel's sysfs that say the same of a healthy one. The
# agent keeps files of the kernel open, and opens those of a simulated tree for each look.
HEALTHY = {
    "reset": "ifindex",  # 1
    "stats/hardware/sram_ecc_uncorrected": "statistics/collisions",  # 0
    "stats/hardware/mem_ecc_uncorrected": "statistics/collisions",
    "stats/hardware/mem_ecc_repairable_uncorrected": "statistics/collisions",
    "stats/hardware/health_status/hw_error_event": "statistics/collisions",
    "stats/hardware/health_status/unhealthy_components": "ifalias",  # empty
}


def run_inside(program):
    """Starts this command once more as the first process of namespaces of its own, for one fleet; its exit status.
    When it ends, the kernel ends every process of that fleet. A shell as the first process reaps those that lost
    their parent."""
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
               '"$@"; exit $?', "sh", sys.executable, os.path.abspath(__file__), *sys.argv[1:]]
    return subprocess.run(command, env=dict(os.environ, **{INSIDE: program}), check=False).returncode


def audit_policy(path):
    """One line for each request of the agents' account, and one for the beginning of each of its watches."""
    user = f"system:serviceaccount:{clusters.NAMESPACE}:{clusters.ACCOUNT}"
    pki.write_json(path, {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                          "rules": [{"level": "Metadata", "users": [user]}, {"level": "None"}]})


def commit():
    """What the binary was built from, as far as git knows: the commit, and whether its sources have changed since."""
    git = ["git", "-C", ROOT]
    done = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "cfg", "proto", "generated"], check=False)
    return done.stdout.strip() + ("-dirty" if changed.returncode else "")


def health_of_kernel(tree):
    """Replaces the health files of each device of the tree by links to files of the kernel."""
    for device in glob.glob(os.path.join(tree, "sys/class/neuron_device/neuron*/")):
        for name, of_loopback in HEALTHY.items():
            os.remove(device + name)
            os.symlink("/sys/class/net/lo/" + of_loopback, device + name)


def own_level(path):
    """The priority level that the chart makes with flowControl.enabled; the path of the file."""
    helm = os.path.join(build.build(build.HELM), "helm")
    with open(path, "w", encoding="utf-8") as stream:
        subprocess.run([helm, "template", "agents", os.path.join(ROOT, "cfg", "deploy", "chart"), "--set",
                        "draDriver.flowControl.enabled=true", "--show-only", "templates/flow-control.yaml",
                        "--kube-version", "1.34.0"], stdout=stream, check=True)
    return path


def kind(arguments):
    """What tells the summary of this run from those of others with as many agents, in the name of its file."""
    parts = [arguments.kubelet] + ["level"] * arguments.own_level + ["kernel"] * arguments.kernel_files
    parts += ["long"] * arguments.long
    if arguments.phases:
        parts.append("only-" + re.sub(r"[^a-z0-9]+", "-", arguments.phases))
    return "-".join(parts)


def settings(run, arguments, program, binary, agents):
    """What the Go program needs to know. run: a Cluster of tools/cluster, for its command lines alone."""
    ip, port = run.service_ip(1), run.port("apiserver")
    audit = run.path("audit.log")
    # The address is given twice then; the last one counts.
    apiserver = [*config.apiserver_args(run), "--bind-address=0.0.0.0", f"--advertise-address={ip}",
                 f"--audit-policy-file={run.path('audit.json')}", f"--audit-log-path={audit}", "--audit-log-maxsize=0"]
    deploy = os.path.join(ROOT, "cfg", "deploy", "manifests")
    manifests = [os.path.join(deploy, name) for name in ("namespace.yaml", "rbac.yaml")]
    if arguments.own_level:
        manifests.append(own_level(run.path("flow-control.yaml")))
    output = os.path.join(ROOT, "build", "scale", f"{program}-{kind(arguments)}-{agents}.json")
    return {
        "agents": agents, "program": program, "binary": binary, "kubelet": arguments.kubelet,
        "own_level": arguments.own_level, "kernel_files": arguments.kernel_files, "long": arguments.long,
        "directory": run.run,
        "tree": run.path("node"), "output": output, "commit": commit(), "phases": arguments.phases,
        "etcd": config.etcd_args(run), "apiserver": apiserver, "kubectl": run.programs["kubectl"],
        "admin": run.kubeconfig, "authority": run.path("pki", "ca.crt"), "server": f"https://{ip}:{port}",
        "server_ip": ip,
        "agents_ip": run.service_ip(2), "audit": audit, "kubernetes": arguments.k8s,
        "manifests": manifests,
        "rest_seconds": arguments.rest, "outage_seconds": arguments.outage, "storm_seconds": arguments.storm,
        "foreign_claims": arguments.foreign_claims, "foreign_slices": arguments.foreign_slices,
        "patience_seconds": arguments.patience,
    }


def run_one(arguments, program, binary, agents):
    """One fleet with a control plane of its own; the exit status."""
    run = clusters.Cluster(os.path.join("scale", "run"))
    run.slot, run.k8s = 0, arguments.k8s
    for product in ("etcd-3.6.5", f"kubernetes-{arguments.k8s}"):
        folder = build.build(product)
        run.programs.update({name: os.path.join(folder, name) for name in build.product(product).programs})
    shutil.rmtree(run.run, ignore_errors=True)
    os.makedirs(run.path("logs"))
    os.makedirs(run.path("n"))
    # 4 MiB of claim store a node: thousands that are made at once would wait for the one disk of this machine.
    size = f"size={STORE_MIB * agents + 256}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "nodes", run.path("n")], check=True)
    if len(run.path(LONGEST_SOCKET)) > SOCKET_PATH:
        raise SystemExit(f"scale: the sockets below {run.run} would have more than {SOCKET_PATH} characters: clone the "
                         "repository to a folder with a shorter path")
    pki.make(run.path("pki"), run.node_name, run.service_ip(1))
    pki.write_kubeconfig(run.kubeconfig, run.path("pki"), run.server, "admin",
                         pki.certificate_credentials(run.path("pki"), "admin"))
    audit_policy(run.path("audit.json"))
    run.driver_version = MODULE
    clusters.make_board(run)
    if arguments.kernel_files:
        health_of_kernel(run.path("node"))
    pki.write_json(run.path("settings.json"), settings(run, arguments, program, binary, agents))
    print(f"scale: {agents} of {program}, kubelet {arguments.kubelet}, Kubernetes {arguments.k8s}", flush=True)
    command = ["sh", "-c", f'ulimit -n {OPEN_FILES}; exec "$@"', "sh", arguments.fleet, "run",
               "-config", run.path("settings.json")]
    return subprocess.run(command, check=False).returncode


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=200, help="agents, each a node of its own")
    parser.add_argument("--reference", type=int, default=0, help="then as many of the Go reference driver")
    parser.add_argument("--agent", required=True, help="the agent's binary")
    parser.add_argument("--reference-binary", default="", help="the binary of the Go reference driver")
    parser.add_argument("--fleet", required=True, help="the program of tests/scale/fleet")
    parser.add_argument("--k8s", default=build.DEFAULT_K8S, help="Kubernetes release")
    parser.add_argument("--kubelet", choices=("absent", "checkpoint", "registers"), default="registers",
                        help="absent: no kubelet; checkpoint: one that left a whole checkpoint without claims; "
                             "registers: that, and one that registers the driver")
    parser.add_argument("--own-level", action="store_true",
                        help="a priority level of its own for the agents, as the chart's flowControl.enabled")
    parser.add_argument("--kernel-files", action="store_true",
                        help="the health files of the simulated tree are files of the kernel, which stay open")
    parser.add_argument("--phases", default="", help="comma-separated; empty: all")
    parser.add_argument("--rest", type=int, default=30, help="seconds at rest")
    parser.add_argument("--outage", type=int, default=30, help="seconds of the longer outage")
    parser.add_argument("--storm", type=int, default=20, help="seconds of the storm of claims")
    parser.add_argument("--foreign-claims", type=int, default=2000)
    parser.add_argument("--foreign-slices", type=int, default=1000)
    parser.add_argument("--patience", type=int, default=120,
                        help="seconds until a phase gives up on those that are not right")
    arguments = parser.parse_args()
    arguments.long = any(getattr(arguments, name) != parser.get_default(name) for name in LENGTHS)
    return arguments


def main():
    arguments = parse()
    if os.geteuid() != 0:
        raise SystemExit("scale: run as root: network namespaces are made")
    fleets = {"agent": (arguments.agent, arguments.agents)}
    if arguments.reference:
        fleets["reference"] = (arguments.reference_binary, arguments.reference)
    if INSIDE in os.environ:
        program = os.environ[INSIDE]
        binary, agents = fleets[program]
        sys.exit(run_one(arguments, program, os.path.abspath(binary), agents))
    with build.one_at_a_time(os.path.join(ROOT, "build", "scale.lock")):
        sys.exit(max(run_inside(program) for program in fleets))


if __name__ == "__main__":
    main()
