#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the end-to-end tests of tests/e2e on clusters of their own, which it always takes down.

Owns nothing but the order: up, go test, down. The tests of one cluster take turns, because they share its node, and
mostly wait. So a whole run has two clusters at a time: one with most tests; beside it one with those of SECOND_TESTS,
and after that one with ALPHA gates on. What the programs said stays in build/e2e/<release>*/logs.
"""
import argparse
import glob
import os
import shutil
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
# What a pod needs of the node for a device is alpha too, in a release that has groups in another version.
NEEDS = ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true,DRANodeAllocatableResources=true",
         "--serve-group", "scheduling.k8s.io/v1beta1"]
NEEDS_TESTS = ("TestNodeAllocatable", "TestPodGroups")
# By release: the set-up of the cluster with alpha gates, and its tests.
ALPHA = {"1.36.": (GROUPS, GROUPS_TESTS), "1.37.": (NEEDS, NEEDS_TESTS)}
# Half of the time with the tests of ALPHA. All tests that build the image are here, so that no two builds of it meet.
SECOND_TESTS = ("TestChart", "TestChartUpgrade", "TestHealth", "TestInstallAsDocumented", "TestManifests",
                "TestMigration", "TestUltraServer", "TestUltraServerNodes", "TestUninstall")
LAST_TESTS = ("TestZForm",)      # of each cluster
LEFT_OUT = "NEURON_DRA_LEFT_OUT"    # folder where each run of the tests writes what it has read nothing of


def only(tests):
    """These tests and no others, as go test takes them."""
    return "^(" + "|".join(tests) + ")$"


def run_tests(name, choice, out):
    """go test against the running cluster; its exit code. Up to two that fail run once more, alone."""
    env = dict(build.go_environment(), NEURON_DRA_CLUSTER=os.path.join(build.ROOT, "build", name, "cluster.json"))
    env["PATH"] = os.path.dirname(build.find_go()) + os.pathsep + env["PATH"]
    os.makedirs(LOGS, exist_ok=True)
    report = os.path.join(LOGS, name.replace("/", "-") + ".reruns")
    command = ["go", "tool", "-modfile=" + os.path.join(build.ROOT, "tools/build/gotestsum/go.mod"), "gotestsum",
               "--format=standard-verbose", "--packages=.", "--rerun-fails=1", "--rerun-fails-max-failures=2",
               "--rerun-fails-run-root-test", "--rerun-fails-report=" + report,
               "--", "-count=1", "-timeout=40m", *choice]
    return subprocess.run(command, cwd=os.path.join(build.ROOT, "tests", "e2e"), env=env,
                          stdout=out, stderr=out, check=False).returncode


def run(name, setup, choice=(), keep=False, out=None):
    """Up as setup (arguments of `cluster.py up`) says, the tests that choice (arguments of go test) lets run, down;
    the exit code. All output goes to the file out, or to this command's own."""
    command = [sys.executable, CLUSTER, "up", "--name", name, *BOARD, "--quiet", *setup]
    if subprocess.run(command, stdout=out, stderr=out, check=False).returncode != 0:
        print("e2e.py: no cluster, no tests", file=out or sys.stderr, flush=True)
        return 1
    try:
        code = run_tests(name, choice, out)
    finally:
        if not keep:
            subprocess.run([sys.executable, CLUSTER, "down", "--name", name], stdout=out,
                           stderr=out, check=False)
    if code != 0:
        print(f"e2e.py: failed; the programs' logs are in {build.ROOT}/build/{name}/logs",
              file=out or sys.stderr, flush=True)
    return code


def run_alpha(name, setup, alpha, tests, keep=False):
    return run(name + "-alpha", setup + alpha[0], ["-run=" + only(tests)], keep)


def run_beside(name, setup, alpha):
    """What a whole run has beside its first cluster."""
    code = run(name + "-second", setup, ["-run=" + only(SECOND_TESTS + LAST_TESTS)])
    return (run_alpha(name, setup, alpha, alpha[1]) if alpha else 0) or code


def left_out(folder):
    """The examples and blocks of commands that no test has read: each run wrote a list of what it had not."""
    lists = []
    for path in glob.glob(os.path.join(folder, "*")):
        with open(path, encoding="utf-8") as stream:
            lists.append(set(stream.read().splitlines()))
    return sorted(set.intersection(*lists)) if lists else ["no run of the tests has written what it left out"]


def run_whole(name, setup):
    """All tests, on two clusters at a time; the exit code. Output of the second one follows that of the first."""
    folder, log = (os.path.join(build.ROOT, "build", name + ending) for ending in ("-left-out", "-beside.log"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.environ[LEFT_OUT] = folder
    with open(log, "w", encoding="utf-8") as out, subprocess.Popen(
            [sys.executable, *sys.argv, "--beside"], stdout=out, stderr=out) as beside:
        try:
            code = run(name, setup, ["-skip=" + only(SECOND_TESTS)])
            code = beside.wait() or code
        finally:
            beside.terminate()      # it takes its cluster down; nothing happens to one that has ended
    with open(log, encoding="utf-8", errors="replace") as stream:
        shutil.copyfileobj(stream, sys.stdout)
    left = left_out(folder) if code == 0 else []
    print("".join(line + "\n" for line in left), end="", flush=True)
    return 1 if left else code


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k8s", default=build.DEFAULT_K8S, help="Kubernetes release")
    parser.add_argument("--agent", default="", help="another agent than build/neuron-dra-agent")
    parser.add_argument("--run", default="", help="only tests that match, as go test -run")
    parser.add_argument("--keep", action="store_true", help="leave the cluster of --run running")
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)    # the second half of a whole run
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    name = "e2e/" + arguments.k8s
    setup = ["--k8s", arguments.k8s, *SERVED] + (["--agent", arguments.agent] if arguments.agent else [])
    alpha = next((ALPHA[release] for release in ALPHA if arguments.k8s.startswith(release)), ())
    if arguments.beside:
        sys.exit(run_beside(name, setup, alpha))
    with build.one_at_a_time(os.path.join(build.ROOT, "build", name + ".e2e.lock")):
        if not arguments.run:
            code = run_whole(name, setup)
        elif alpha and arguments.run in alpha[1]:
            code = run_alpha(name, setup, alpha, [arguments.run], arguments.keep)
        else:
            code = run(name, setup, ["-run=" + arguments.run], arguments.keep)
    sys.exit(code)


if __name__ == "__main__":
    main()
