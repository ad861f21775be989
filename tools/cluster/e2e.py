#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the end-to-end tests of tests/e2e on a cluster of their own, which it always takes down.

Owns nothing but the order: up, go test, down. What the programs said stays in
build/e2e/<release>/logs.
"""
import argparse
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402

CLUSTER = os.path.join(build.HERE, "cluster.py")
LOGS = os.path.join(build.ROOT, "build", "test")
BOARD = ["--board", "trn2.48xlarge", "--driver-version", "2.26.5.0"]     # what the tests expect
# Real ones all, so that a proxy before the API server can show each alone.
SERVED = ["--serve", "v1,v1beta2,v1beta1"]
# Claims of groups of pods are alpha: a cluster of their own has them, and has off what another test needs off; the
# first one is as Kubernetes comes.
GROUPS = ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true,DRAConsumableCapacity=false",
          "--serve-group", "scheduling.k8s.io/v1alpha2"]
GROUPS_TESTS = ("TestCoreSharesOff", "TestEFASharesOff", "TestNoExecute", "TestPodGroups")
GROUPS_RELEASES = ("1.36.",)     # that have this version of the group


def reruns(name):
    """The file that names the tests of a cluster that ran twice."""
    return ("e2e-groups" if name.endswith("-groups") else name.split("/", maxsplit=1)[0]) + ".reruns"


def run_tests(name, pattern, out):
    """go test against the running cluster; its exit code. Up to four that fail run once more, as in the Makefile."""
    env = dict(build.go_environment(), NEURON_DRA_CLUSTER=os.path.join(build.ROOT, "build", name, "cluster.json"))
    env["PATH"] = os.path.dirname(build.find_go()) + os.pathsep + env["PATH"]
    os.makedirs(LOGS, exist_ok=True)
    command = ["go", "tool", "-modfile=" + os.path.join(build.ROOT, "tools/build/gotestsum/go.mod"), "gotestsum",
               "--format=standard-verbose", "--packages=.", "--rerun-fails=1", "--rerun-fails-max-failures=4",
               "--rerun-fails-run-root-test", "--rerun-fails-report=" + os.path.join(LOGS, reruns(name)),
               "--", "-count=1", "-timeout=40m"]
    if pattern:
        command.append("-run=" + pattern)
    return subprocess.run(command, cwd=os.path.join(build.ROOT, "tests", "e2e"), env=env,
                          stdout=out, stderr=out, check=False).returncode


def run(name, setup, pattern="", keep=False, out=None):
    """Up as setup (arguments of `cluster.py up`) says, tests, down; the exit code. All output goes
    to the file out, or to this command's own."""
    command = [sys.executable, CLUSTER, "up", "--name", name, *BOARD, "--quiet", *setup]
    if subprocess.run(command, stdout=out, stderr=out, check=False).returncode != 0:
        print("e2e.py: no cluster, no tests", file=out or sys.stderr, flush=True)
        return 1
    try:
        code = run_tests(name, pattern, out)
    finally:
        if not keep:
            subprocess.run([sys.executable, CLUSTER, "down", "--name", name], stdout=out,
                           stderr=out, check=False)
    if code != 0:
        print(f"e2e.py: failed; the programs' logs are in {build.ROOT}/build/{name}/logs",
              file=out or sys.stderr, flush=True)
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k8s", default=build.DEFAULT_K8S, help="Kubernetes release")
    parser.add_argument("--agent", default="", help="another agent than build/neuron-dra-agent")
    parser.add_argument("--run", default="", help="only tests that match, as go test -run")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    name = "e2e/" + arguments.k8s
    setup = ["--k8s", arguments.k8s, *SERVED] + (["--agent", arguments.agent] if arguments.agent else [])
    with build.one_at_a_time(os.path.join(build.ROOT, "build", name + ".e2e.lock")):
        code = 0
        if arguments.run not in GROUPS_TESTS:
            code = run(name, setup, arguments.run, arguments.keep)
        if arguments.run in ("", *GROUPS_TESTS) and arguments.k8s.startswith(GROUPS_RELEASES):
            pattern = "^(" + (arguments.run or "|".join(GROUPS_TESTS)) + ")$"
            code = run(name + "-groups", setup + GROUPS, pattern, arguments.keep) or code
        sys.exit(code)


if __name__ == "__main__":
    main()
